"""Trouble that passes: a 503 of a gateway, an outage, a service that ends, and a dropped connection.

A requirement does not fail because of them, and a message names them as the reason why something was not tested. A
request is dropped if the service closes its connection without an answer.
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
    """Answers 503 to the first `times` requests with a token to paths that begin with `path`.

    `received` are the requests with a token to these paths.
    """

    def __init__(self, path, times):
        super().__init__()
        self.path = path
        self.times = times
        self.received = []

    def respond(self, request):
        if request.path.startswith(self.path) and request.header("Authorization"):
            self.received.append(request)
            if len(self.received) <= self.times:
                return Response(503, b"", (("Retry-After", "0"),))
        return super().respond(request)


BY_A_GATEWAY = "1 of the answers are those of a gateway (502, 503, 504): what the service did is not seen"


@pytest.mark.parametrize(
    ("path", "operation"), [("/v1/pix", "createPix"), ("/v1/transfer/internal", "transferInternal")]
)
def test_after_a_503_to_a_transfer_an_empty_body_shows_the_endpoint(path, operation):
    """A gateway answers the valid request with 503, so nobody knows if the endpoint exists.

    The valid request is not sent again, because it may move money. An empty object is sent instead: the service refuses
    it, which shows that the endpoint exists.
    """
    service = NotReady(path, 1)
    trial = try_in_memory(service, ids={f"{operation}.exists"})
    bodies = [request.body for request in service.received if request.path == path]

    assert trial.exit_status == 0
    assert len(bodies) == 2
    assert bodies.count(b"{}") == 1
    assert str(trial.notes[-1]) == BY_A_GATEWAY


class IsDown(SocketService):
    """Answers 503 to every request for nine seconds, from the first registration of a phone number on."""

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
    """Ends after a number of answers: it resets its connections, and accepts no new one."""

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
    """A message says for how many seconds every answer was 503. No message blames limits.rate of the profile."""
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


def test_requirements_that_a_killed_service_left_untested_name_it(tmp_path):
    """Every requirement that is not exercised has as its reason that the service accepts no connection.

    The run ends with exit status 7, and says after which request the service ended. No line advises to supply anything.
    """
    with IsKilled() as service:
        result = run_suite(write_profile(tmp_path, service.base_url, limits={"timeout": 5, "parallel": 1}))
    reasons = set(result.messages_with_verdict("not-exercised").values())

    assert result.status == 7, result.output
    assert reasons == {"the target cannot be reached: the connection is refused"}
    assert "exchange 0" not in result.output
    assert "supply" not in result.output
    assert re.search(r"the service ended after exchange \d+ \(|the service ended while exchange", result.output)


CODE_44304 = Response(200, b'{"code": 44304, "data": {}}', (("Content-Type", "application/json"),))
UNSUPPORTED_MEDIA_TYPE = Response(415, b"{}", (("Content-Type", "application/json"),))


@pytest.mark.parametrize(
    ("response", "answer_in_words"),
    [(CODE_44304, "200 with code 44304, not 0"), (UNSUPPORTED_MEDIA_TYPE, "415 application/json")],
)
@pytest.mark.parametrize("is_sandbox", [True, False], ids=["a sandbox", "no sandbox"])
def test_the_note_about_refused_codes_gives_the_answer(response, answer_in_words, is_sandbox, tmp_path):
    """The service refuses each execution. A note, and the messages of the requirements, say how it answered.

    On a sandbox the note also asks if an earlier run executed the codes, because a sandbox has no journal of them.
    """

    class RefusesExecutions(SocketService):
        """Answers each execution with the valid token with this response."""

        def answer(self, connection, request):
            is_execution = has_real_code(request.path) and self.is_granted(request)
            connection.sendall(response_bytes(response if is_execution else self.sandbox.respond(request)))

    with RefusesExecutions() as service:
        changes = {} if is_sandbox else {"sandbox": None, "journal": str(tmp_path / "journal.jsonl")}
        started_journal(tmp_path)
        result = run_suite(write_profile(tmp_path, service.base_url, **changes), "-k", "executePix or listAccounts")
    question = "; did an earlier run execute these codes? transactions.prepare makes new codes for each run"
    messages = result.messages_with_verdict("not-exercised")

    note = f"1 of 1 transaction codes were refused: {answer_in_words}" + (question if is_sandbox else "")

    assert note in result.document["notes"]
    assert messages["executePix.json"] == f"no success to judge: {answer_in_words}"
    assert answer_in_words in messages["executePix.request.sufficient"]
    assert answer_in_words in messages["executePix.token.accepted"]


def test_no_note_asks_about_earlier_runs_if_prepared_codes_are_refused_too(tmp_path):
    """The service refuses the code of the profile and three codes that the run prepared itself.

    No earlier run had the prepared codes, so the note does not ask if one executed them. No line advises to prepare more
    codes, because they would be refused, too.
    """

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


def test_requirements_that_dropped_registrations_left_untested_name_them():
    """The service drops every registration, and one requirement fails for that.

    All others that could not be tested say that registrations were dropped. None advises to change the body or the
    profile.
    """
    trial = try_in_memory(DropsRegistrations(), ids=ids_of("registerPixKey or deletePixKey"))
    messages = {str(trial.rows[name].message) for name in trial.not_exercised}

    assert "registerPixKey.connection" in trial.failing
    assert str(trial.rows["registerPixKey.body.pixKey"].message) == "no registration was answered (connection dropped)"
    assert str(trial.rows["deletePixKey.exists"].message) == "no key was registered: connection dropped"
    assert not [
        message for message in messages if "expects another body" in message or "requests.deletePixKey" in message
    ]


# exchanges of one read: with an answer, dropped, and without a connection because the service refused to accept one
ANSWERED = answer("listEntries", {"code": 0, "data": {}})
DROPPED = unanswered(FailureKind.DROPPED, "listEntries")
NO_CONNECTION = unanswered(FailureKind.NO_CONNECTION, "listEntries")


@pytest.mark.parametrize(
    ("second_answer", "conclusion"),
    [(ANSWERED, Conclusion.HOLDS), (DROPPED, Conclusion.DEVIATES)],
    ids=["then answered", "then dropped again"],
)
def test_a_drop_beside_other_requests_is_a_finding_if_the_request_is_dropped_alone_too(second_answer, conclusion):
    """Two requests are dropped, one of them while others were on the wire. Then each is sent again alone.

    If they are answered now, the requirement holds, because a service may allow one connection at a time.
    """
    drops = [replace(DROPPED, number=number, beside=2 * number) for number in (0, 1)]
    reproduction = Reproduction(drops, {drop.number: second_answer for drop in drops})

    assert {reproduction.judge("listEntries.connection", drop).conclusion for drop in drops} == {conclusion}


@pytest.mark.parametrize(
    ("number_of_drops", "conclusion"), [(1, Conclusion.HOLDS), (2, Conclusion.DEVIATES)], ids=["one", "two"]
)
def test_two_drops_are_a_finding_if_the_requests_cannot_be_sent_again(number_of_drops, conclusion):
    """A request that may change something is not sent again. One drop may be the fault of the network, two are not."""
    drops = [replace(DROPPED, number=number) for number in range(number_of_drops)]
    reproduction = Reproduction(drops, {drop.number: None for drop in drops})

    assert {reproduction.judge("listEntries.connection", drop).conclusion for drop in drops} == {conclusion}


@pytest.mark.parametrize(
    ("numbers", "outcome"),
    [((1, 3), Conclusion.HOLDS), ((1, 3, 5), Conclusion.DEVIATES), ((1, 2, 3, 4), Conclusion.HOLDS)],
    ids=["two", "three", "in a row"],
)
def test_three_drops_with_answers_in_between_are_a_finding(numbers, outcome):
    """Requests with these numbers are dropped while nothing else is on the wire, and answered when they are sent again.

    Three of them are a finding, because the service drops at random. Drops in a row are one outage, and none.
    """
    drops = [replace(DROPPED, number=number) for number in numbers]
    reproduction = Reproduction(drops, dict.fromkeys(numbers, ANSWERED))

    assert reproduction.judge("listEntries.connection", drops[0]).conclusion is outcome


@pytest.mark.parametrize(
    ("later", "outcome"),
    [
        ([NO_CONNECTION], Conclusion.INCONCLUSIVE),
        ([NO_CONNECTION, ANSWERED], Conclusion.HOLDS),
        ([DROPPED], Conclusion.HOLDS),
    ],
    ids=["no connection", "no connection, then an answer", "dropped"],
)
def test_a_drop_before_all_connections_are_refused_is_inconclusive(later, outcome):
    """A request is dropped, and `later` is how the following ones end. If none gets a connection, nobody can judge.

    Somebody may have stopped the service then. If a later request arrives at the service, it runs. Because the dropped
    request is answered when it is sent again, the requirement holds in that case.
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
    """Its process ends when a registration with `"pixKey": null` arrives.

    Then all requests on the wire are dropped, and no new connection is accepted.
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
    """The service ends at a registration with null, and is not started again. So that request cannot be tried again.

    No requirement fails, the run ends with exit status 7, and a note names the requests that were on the wire.
    """
    result, _ = result_and_registrations_of_null(EndsAtAKeyOfNull, tmp_path)
    [cause] = [note for note in result.document["notes"] if "cannot be reached" in note]

    assert result.status == 7
    assert result.document["verdict"] == "unreachable"
    assert result.messages_with_verdict("fail") == {}
    assert re.search(
        r"the service ended while exchanges? [\d, and]+ was on its way \(.*registerPixKey, an invalid", cause
    )


def test_a_run_whose_service_ends_while_many_requests_are_on_the_wire_ends_too(tmp_path):
    """Many threads wait to send their request again. The check that finds out that the service ended goes first.

    So the run ends soon: fewer than twice as many requests were sent as the service answered.
    """
    with IsKilled() as service:
        service.AFTER = 250
        result = run_suite(write_profile(tmp_path, service.base_url, limits={"timeout": 5}), "--examples=5")

    assert result.status == 7
    assert result.messages_with_verdict("fail") == {}
    assert result.document["traffic"]["requests"] < 2 * service.AFTER


def test_a_request_that_ends_the_service_again_is_a_failure(tmp_path):
    """The service ends at a registration with null, and is started again 0.2 seconds later.

    The run waits for it, and sends that request once more. The service ends again, so the requirement fails.
    """
    result, registrations_of_null = result_and_registrations_of_null(IsStartedAgain, tmp_path)

    assert result.status == 1
    assert result.document["verdict"] == "not-robust"
    assert result.messages_with_verdict("fail").keys() == {"registerPixKey.connection"}
    assert result.messages_with_verdict("pass").keys() == {"listAccounts.json"}
    assert len(registrations_of_null) > 1
