"""A 503 answers nothing: what else the run saw of the endpoint counts, and another harmless request is tried. A drop
that passes is no fault.
"""

import re
import socket
import threading
from contextlib import suppress
from dataclasses import replace

import pytest

from environments.sandbox import Response, Service
from spec.exchange import FailureKind
from spec.findings import Conclusion
from spec.rules import Reproduction
from tests.harness.selection import ids_of
from tests.selftest.exchanges import answer, unanswered
from tests.selftest.proof.directly import try_in_memory
from tests.selftest.services.one_run import CODE, HOW_TO_PREPARE, FakeBank, result_in_memory, started_journal
from tests.selftest.services.running import run_suite, write_profile
from tests.selftest.services.serving import SocketService, has_real_code, reset_connection, response_bytes


class NotReady(Service):
    """Answers 503 to the first `times` requests with a token to one path.

    `received` are the requests with a token to that path.
    """

    def __init__(self, path, times):
        super().__init__()
        self.path, self.answers_left, self.received = path, times, []

    def respond(self, request):
        if request.path.startswith(self.path) and request.header("Authorization"):
            self.received.append(request)
            self.answers_left -= 1
            if self.answers_left >= 0:
                return Response(503, b"", (("Retry-After", "0"),))
        return super().respond(request)


BY_A_GATEWAY = "1 of the answers are those of a gateway (502, 503, 504): what the service did is not seen"


@pytest.mark.parametrize(
    ("path", "operation"), [("/v1/pix", "createPix"), ("/v1/transfer/internal", "transferInternal")]
)
def test_after_a_503_to_a_transfer_an_empty_body_shows_the_endpoint(path, operation):
    """The valid request is not sent again, because it may move money."""
    service = NotReady(path, 1)
    trial = try_in_memory(service, ids={f"{operation}.exists"})
    bodies = [request.body for request in service.received if request.path == path]

    assert trial.exit_status == 0
    assert len(bodies) == 2
    assert bodies.count(b"{}") == 1
    assert str(trial.notes[-1]) == BY_A_GATEWAY


class IsDown(SocketService):
    """Answers 503 to every request for some seconds, from the first registration of a phone number on."""

    SECONDS = 9.0

    def __init__(self):
        super().__init__()
        self.is_up_again = threading.Event()
        self.timer = threading.Timer(self.SECONDS, self.is_up_again.set)

    def answer(self, connection, request):
        if self.timer.ident is None and b'"PHONE"' in request.body and self.is_granted(request):
            self.timer.start()
        if self.timer.ident is not None and not self.is_up_again.is_set():
            connection.sendall(response_bytes(Response(503, b"{}", (("Content-Type", "application/json"),))))
        else:
            super().answer(connection, request)


class IsKilled(SocketService):
    """Accepts no connection after a number of answers."""

    AFTER = 40

    def answer(self, connection, request):
        super().answer(connection, request)
        if len(self.received) >= self.AFTER:
            self._stopped.set()
            self._listener.close()
            reset_connection(connection)


@pytest.fixture(scope="module")
def result_after_outage(tmp_path_factory):
    """The result of a run whose service was down for nine seconds while keys were registered."""
    with IsDown() as service:
        return run_suite(
            write_profile(tmp_path_factory.mktemp("down"), service.base_url), "-k", "registerPixKey or getBalance"
        )


def test_an_outage_is_named_with_its_seconds(result_after_outage):
    """The message names the outage, and neither a limit nor the profile."""
    messages = " ".join(
        [*result_after_outage.document["notes"], *result_after_outage.messages_with_verdict("not-exercised").values()]
    )

    assert result_after_outage.status == 6, result_after_outage.output
    assert re.search(r"no answer but 503 for \d+ s: run it again", messages)
    assert "limits.rate" not in result_after_outage.output


def test_requirements_that_an_outage_left_untested_name_it(result_after_outage):
    """Every requirement of the operation that is not exercised has the outage as its reason."""
    reasons = {
        message
        for name, message in result_after_outage.messages_with_verdict("not-exercised").items()
        if name.startswith("registerPixKey")
    }

    assert {re.sub(r"\d+ s", "N s", reason) for reason in reasons} == {"no answer but 503 for N s: run it again"}


def test_a_killed_service_is_the_only_reason(tmp_path):
    """Every requirement that is not exercised has the killed service as its reason."""
    with IsKilled() as service:
        result = run_suite(write_profile(tmp_path, service.base_url, limits={"timeout": 5, "parallel": 1}))
    reasons = set(result.messages_with_verdict("not-exercised").values())

    assert result.status == 7, result.output
    assert reasons == {"the target cannot be reached: the connection is refused"}
    assert "exchange 0" not in result.output
    assert "supply" not in result.output
    assert re.search(r"the service ended after exchange \d+ \(|the service ended while exchange", result.output)


CODE_44304 = Response(200, b'{"code": 44304, "data": {}}', (("Content-Type", "application/json"),))
MEDIA_TYPE = Response(415, b"{}", (("Content-Type", "application/json"),))


@pytest.mark.parametrize(
    ("response", "answer_told"), [(CODE_44304, "200 with code 44304, not 0"), (MEDIA_TYPE, "415 application/json")]
)
@pytest.mark.parametrize("sandbox", [True, False], ids=["a sandbox", "no sandbox"])
def test_the_note_about_refused_codes_gives_the_answer(response, answer_told, sandbox, tmp_path):
    """The note gives the answer and no guess.

    On a sandbox it asks if an earlier run executed the codes, because a sandbox has no journal.
    """

    class Refuses(SocketService):
        def answer(self, connection, request):
            is_execution = has_real_code(request.path) and self.is_granted(request)
            connection.sendall(response_bytes(response if is_execution else self.sandbox.respond(request)))

    with Refuses() as service:
        changes = {} if sandbox else {"sandbox": None, "journal": str(tmp_path / "journal.jsonl")}
        started_journal(tmp_path)
        result = run_suite(write_profile(tmp_path, service.base_url, **changes), "-k", "executePix or listAccounts")
    question = "; did an earlier run execute these codes? transactions.prepare makes new codes for each run"
    messages = result.messages_with_verdict("not-exercised")

    line = f"1 of 1 transaction codes were refused: {answer_told}" + (question if sandbox else "")
    assert line in result.document["notes"]
    assert messages["executePix.json"] == f"no success to judge: {answer_told}"
    assert answer_told in messages["executePix.request.sufficient"]
    assert answer_told in messages["executePix.token.accepted"]


def test_codes_that_the_run_prepared_were_executed_by_no_earlier_run(tmp_path):
    """If prepared codes are refused like the supplied ones, the note asks nothing, and no line asks for more codes."""

    class RefusesAll(FakeBank):
        def execute(self, request):
            return Response(400, b'{"code": 3, "data": {}}', (("Content-Type", "application/json"),))

    transactions = {"codes": [CODE], "prepare": HOW_TO_PREPARE | {"count": 3}}
    result = result_in_memory(RefusesAll(), tmp_path, "executePix", transactions=transactions)
    line = next(note for note in result.document["notes"] if "transaction codes were refused" in note)

    assert re.fullmatch(r"(\d+) of \1 transaction codes were refused: 400 with code 3", line)
    assert "set transactions.prepare.count" not in result.output
    assert result.messages_with_verdict("not-exercised")["executePix.request.sufficient"].endswith("(400 with code 3)")


class DropsRegistrations(Service):
    """Answers no registration, and a deletion of an unknown key like an undocumented path."""

    def serve(self, request, connection):
        if request.path.startswith("/v1/pix/keys/") and request.method == "POST":
            return None
        if request.path.startswith("/v1/pix/keys/") and request.method == "DELETE":
            request = replace(request, path="/v1/nothing")
        return super().serve(request, connection)


def test_dropped_registrations_are_the_only_reason():
    """The messages do not ask for another body or for a line of the profile."""
    trial = try_in_memory(DropsRegistrations(), ids=ids_of("registerPixKey or deletePixKey"))
    messages = {str(trial.rows[name].message) for name in trial.not_exercised}

    assert "registerPixKey.connection" in trial.failing
    assert str(trial.rows["registerPixKey.body.pixKey"].message) == "no registration was answered (connection dropped)"
    assert str(trial.rows["deletePixKey.exists"].message) == "no key was registered: connection dropped"
    assert not [
        message for message in messages if "expects another body" in message or "requests.deletePixKey" in message
    ]


ANSWERED, DROPPED = answer("listEntries", {"code": 0, "data": {}}), unanswered(FailureKind.DROPPED, "listEntries")
REFUSED = unanswered(FailureKind.NO_CONNECTION, "listEntries")


@pytest.mark.parametrize(
    ("number", "answer_when_sent_again", "conclusion"),
    [
        (2, ANSWERED, Conclusion.HOLDS),
        (2, DROPPED, Conclusion.DEVIATES),
        (1, None, Conclusion.HOLDS),
        (2, None, Conclusion.DEVIATES),
    ],
    ids=["answered", "dropped again", "one that is not sent again", "two"],
)
def test_a_dropped_request_is_a_finding_if_it_is_dropped_alone_again(number, answer_when_sent_again, conclusion):
    """A request that is dropped and then answered alone is no finding, because a service may allow one connection.

    Of requests that cannot be sent again two drops count, because one may be the fault of the network.
    """
    has_company = answer_when_sent_again is not None
    drops = [replace(DROPPED, number=place, beside=2 * place if has_company else 0) for place in range(number)]
    reproduction = Reproduction(drops, dict.fromkeys(range(number), answer_when_sent_again))

    assert {reproduction.judge("listEntries.connection", drop).conclusion for drop in drops} == {conclusion}


@pytest.mark.parametrize(
    ("numbers", "outcome"),
    [((1, 3), Conclusion.HOLDS), ((1, 3, 5), Conclusion.DEVIATES), ((1, 2, 3, 4), Conclusion.HOLDS)],
    ids=["two", "three", "in a row"],
)
def test_three_drops_alone_count_although_each_is_answered_then(numbers, outcome):
    """Three drops with answers in between are a finding. Drops in a row are one outage."""
    drops = [replace(DROPPED, number=number) for number in numbers]
    reproduction = Reproduction(drops, dict.fromkeys(numbers, ANSWERED))

    assert reproduction.judge("listEntries.connection", drops[0]).conclusion is outcome


@pytest.mark.parametrize(
    ("later", "outcome"),
    [
        ([REFUSED], Conclusion.INCONCLUSIVE),
        ([REFUSED, ANSWERED], Conclusion.HOLDS),
        ([DROPPED], Conclusion.HOLDS),
    ],
    ids=["ended", "answered later", "dropped later"],
)
def test_a_drop_before_all_connections_are_refused_is_inconclusive(later, outcome):
    """Somebody may have stopped the service.

    If a later request arrives, and the same request is then answered alone, the requirement holds.
    """
    before = replace(ANSWERED, number=1, started=0.0)
    drop = replace(DROPPED, number=2, valid=False, started=1.0, elapsed_s=1.0)
    later_exchanges = [
        replace(exchange, number=number, started=float(number)) for number, exchange in enumerate(later, 3)
    ]
    exchanges = [before, drop, *later_exchanges]
    reproduction = Reproduction(exchanges, {exchange.number: ANSWERED for exchange in exchanges})

    assert reproduction.judge("listEntries.connection", drop).conclusion is outcome


class EndsAtAKeyOfNull(SocketService):
    """Its process ends when a registration of null arrives: requests on the wire are dropped, and no connection is
    accepted.
    """

    def __init__(self):
        super().__init__()
        self.connections = set()

    def greet(self, connection):
        self.connections.add(connection)
        return True

    def answer(self, connection, request):
        if request.method == "POST" and b'"pixKey": null' in request.body and self.is_granted(request):
            self.end()
        else:
            super().answer(connection, request)

    def end(self):
        with suppress(OSError):  # it has ended already
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for connection in tuple(self.connections):
            with suppress(OSError):
                reset_connection(connection)


class IsStartedAgain(EndsAtAKeyOfNull):
    """A supervisor starts the service again after 0.2 s, on the same port."""

    AFTER_S = 0.2

    def __init__(self):
        super().__init__()
        self.address = self._listener.getsockname()

    def end(self):
        super().end()
        timer = threading.Timer(self.AFTER_S, self.start_again)
        timer.daemon = True
        timer.start()

    def start_again(self):
        if not self._stopped.is_set():
            self._listener = socket.create_server(self.address, backlog=64)
            self.__enter__()


def result_and_registrations_of_null(make, folder):
    """The result of a run against this service, and the registrations of null that arrived."""
    with make() as service:
        result = run_suite(
            write_profile(folder, service.base_url), "-k", "registerPixKey.connection or listAccounts.json"
        )
    return result, [request for request in service.received if b'"pixKey": null' in request.body]


def test_a_service_that_ended_once_has_no_failing_requirement(tmp_path):
    """The request that it ended under cannot be sent again.

    The first alert names that request, and the others on the wire.
    """
    result, _ = result_and_registrations_of_null(EndsAtAKeyOfNull, tmp_path)
    [cause] = [note for note in result.document["notes"] if "cannot be reached" in note]

    assert result.status == 7
    assert result.document["verdict"] == "unreachable"
    assert result.messages_with_verdict("fail") == {}
    assert re.search(
        r"the service ended while exchanges? [\d, and]+ was on its way \(.*registerPixKey, an invalid", cause
    )


def test_a_run_whose_service_ends_beside_many_requests_ends_too(tmp_path):
    """Threads that wait to send again do not keep the check of the service from the wire."""
    with IsKilled() as service:
        service.AFTER = 250
        result = run_suite(write_profile(tmp_path, service.base_url, limits={"timeout": 5}), "--examples=5")

    assert result.status == 7
    assert result.messages_with_verdict("fail") == {}
    assert result.document["traffic"]["requests"] < 2 * service.AFTER


def test_a_request_that_ends_the_service_again_is_a_failure(tmp_path):
    """The run waits until the service was started again, and sends the request once more."""
    result, registrations_of_null = result_and_registrations_of_null(IsStartedAgain, tmp_path)

    assert result.status == 1
    assert result.document["verdict"] == "not-robust"
    assert result.messages_with_verdict("fail").keys() == {"registerPixKey.connection"}
    assert result.messages_with_verdict("pass").keys() == {"listAccounts.json"}
    assert len(registrations_of_null) > 1
