"""Trouble that is over soon: a 503 of a gateway, an outage, a service that ends, and a dropped connection.

No requirement fails because of such trouble, and a message names it as the reason why something was not tested. A
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
from spec.rules.reproduction import Reproduction
from tests.harness.selection import ids_selected_by
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
        """`path` is how the paths begin, and `times` the number of requests that get 503."""
        super().__init__()
        self.path = path
        self.times = times
        self.received = []

    def respond(self, request):
        """Answer a request, or say 503 to the first requests that count."""
        if request.path.startswith(self.path) and request.header("Authorization"):
            self.received.append(request)
            if len(self.received) <= self.times:
                return Response(503, b"", (("Retry-After", "0"),))
        return super().respond(request)


NOTE_ON_A_GATEWAY = "1 of the answers are those of a gateway (502, 503, 504): what the service did is not seen"


@pytest.mark.parametrize(
    ("path", "operation"), [("/v1/pix", "createPix"), ("/v1/transfer/internal", "transferInternal")]
)
def test_after_a_503_to_a_transfer_an_empty_body_shows_the_endpoint(path, operation):
    """If a gateway answers a valid transfer with 503, an empty object is sent to find out if the endpoint exists.

    The valid request itself is not sent again, because it may move money. The service refuses the empty object, which
    shows that the endpoint exists, so the requirement passes.
    """
    service = NotReady(path, 1)
    trial = try_in_memory(service, ids={f"{operation}.exists"})
    bodies = [request.body for request in service.received if request.path == path]
    number_of_empty_objects = bodies.count(b"{}")

    assert trial.exit_status == 0
    assert (len(bodies), number_of_empty_objects) == (2, 1)
    assert str(trial.notes[-1]) == NOTE_ON_A_GATEWAY


class IsDown(SocketService):
    """Answers 503 to every request for nine seconds, from the first registration of a phone number on."""

    SECONDS = 9.0

    def __init__(self):
        """The service is not down yet."""
        super().__init__()
        self.is_up_again = threading.Event()
        self.timer = threading.Timer(self.SECONDS, self.is_up_again.set)

    def answer(self, connection, request):
        """Send the answer of the sandbox, or 503 while the service is down."""
        has_begun = self.timer.ident is not None
        is_of_phone = b'"PHONE"' in request.body and self.has_valid_token(request)
        if is_of_phone and not has_begun:
            self.timer.start()
            has_begun = True
        if has_begun and not self.is_up_again.is_set():
            connection.sendall(response_bytes(Response(503, b"{}", (("Content-Type", "application/json"),))))
        else:
            super().answer(connection, request)


class IsKilled(SocketService):
    """Ends after ANSWERS answers: it resets its connections, and accepts no new one."""

    ANSWERS = 40

    def answer(self, connection, request):
        """Send the answer of the sandbox, and end after the last one."""
        super().answer(connection, request)
        if len(self.received) >= self.ANSWERS:
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
    """If every answer was 503 for some seconds, a message says for how many. The run is incomplete (exit status 6).

    No message blames limits.rate of the profile, which is how many requests a run sends in a second.
    """
    notes = result_after_outage.document["notes"]
    reasons = result_after_outage.messages_with_verdict("not-exercised").values()

    assert result_after_outage.status == 6, result_after_outage.output
    assert re.search(r"no answer but 503 for \d+ s: run it again", " ".join([*notes, *reasons]))
    assert "limits.rate" not in result_after_outage.output


def test_requirements_that_an_outage_left_untested_name_the_outage(result_after_outage):
    """Each requirement of registrations that an outage left untested has the outage as its reason.

    The service answered 503 to everything for nine seconds while keys were registered.
    """
    untested = result_after_outage.messages_with_verdict("not-exercised")
    reasons = {message for id, message in untested.items() if id.startswith("registerPixKey")}
    reasons_without_numbers = {re.sub(r"\d+ s", "N s", reason) for reason in reasons}

    assert reasons_without_numbers == {"no answer but 503 for N s: run it again"}


def test_requirements_that_a_killed_service_left_untested_say_that_connections_are_refused(tmp_path):
    """If the service ends during a run, each requirement that was not tested says that the connection is refused.

    The run is unreachable (exit status 7), and says after which request the service ended: exchange 1 is the first one.
    No line advises to supply anything.
    """
    with IsKilled() as service:
        result = run_suite(write_profile(tmp_path, service.base_url, limits={"timeout": 5, "parallel": 1}))
    reasons = set(result.messages_with_verdict("not-exercised").values())

    assert result.status == 7, result.output
    assert reasons == {"the target cannot be reached: the connection is refused"}
    assert "exchange 0" not in result.output  # the number of a request that was not sent
    assert "supply" not in result.output
    assert re.search(r"the service ended after exchange \d+ \(|the service ended while exchange", result.output)


CODE_44304 = Response(200, b'{"code": 44304, "data": {}}', (("Content-Type", "application/json"),))
UNSUPPORTED_MEDIA_TYPE = Response(415, b"{}", (("Content-Type", "application/json"),))
QUESTION = "; did an earlier run execute these codes? transactions.prepare makes new codes for each run"


@pytest.mark.parametrize(
    ("response", "answer_in_words"),
    [(CODE_44304, "200 with code 44304, not 0"), (UNSUPPORTED_MEDIA_TYPE, "415 application/json")],
    ids=["code 44304", "status 415"],
)
@pytest.mark.parametrize(
    ("is_sandbox", "end_of_note"), [(True, QUESTION), (False, "")], ids=["a sandbox", "no sandbox"]
)
def test_the_note_about_refused_codes_gives_the_answer(response, answer_in_words, is_sandbox, end_of_note, tmp_path):
    """If a service refuses each execution, a note and the messages of the requirements say how it answered.

    On a sandbox the note also asks if an earlier run executed the codes, because a run on a sandbox keeps no journal of
    the codes that it sent.
    """

    class RefusesExecutions(SocketService):
        """Answers each execution with the valid token with this response."""

        def answer(self, connection, request):
            """Send the answer of the sandbox, or the refusal to an execution with the valid token."""
            is_execution = has_real_code(request.path) and self.has_valid_token(request)
            connection.sendall(response_bytes(response if is_execution else self.sandbox.respond(request)))

    with RefusesExecutions() as service:
        changes = {} if is_sandbox else {"sandbox": None, "journal": str(tmp_path / "journal.jsonl")}
        started_journal(tmp_path)
        result = run_suite(write_profile(tmp_path, service.base_url, **changes), "-k", "executePix or listAccounts")
    messages = result.messages_with_verdict("not-exercised")

    assert f"1 of 1 transaction codes were refused: {answer_in_words}{end_of_note}" in result.document["notes"]
    assert messages["executePix.json"] == f"no success to judge: {answer_in_words}"
    assert answer_in_words in messages["executePix.request.sufficient"]
    assert answer_in_words in messages["executePix.token.accepted"]


def test_no_note_asks_about_earlier_runs_if_prepared_codes_are_refused_too(tmp_path):
    """If codes that the run itself prepared are refused, too, no note asks if an earlier run executed the codes.

    No earlier run had the prepared codes. No line advises to prepare more codes, because they would be refused, too. The
    service refuses the code of the profile and three prepared ones here.
    """

    class RefusesAll(FakeBank):
        """Refuses every execution with the valid token."""

        def execute(self, request):
            """The answer to an execution: 400. Nothing is executed."""
            return Response(400, b'{"code": 3, "data": {}}', (("Content-Type", "application/json"),))

    transactions = {"codes": [CODE], "prepare": HOW_TO_PREPARE | {"count": 3}}
    result = result_in_memory(RefusesAll(), tmp_path, selected="executePix", transactions=transactions)
    [note] = [note for note in result.document["notes"] if "transaction codes were refused" in note]
    messages = result.messages_with_verdict("not-exercised")

    assert re.fullmatch(r"(\d+) of \1 transaction codes were refused: 400 with code 3", note)
    assert "set transactions.prepare.count" not in result.output
    assert messages["executePix.request.sufficient"].endswith("(400 with code 3)")


class DropsRegistrations(Service):
    """Drops the connection of every registration, and answers every deletion like an undocumented path."""

    def serve(self, request, connection):
        """The answer to a request. None if it is a registration, so that its connection is dropped."""
        is_about_keys = request.path.startswith("/v1/pix/keys/")
        if is_about_keys and request.method == "POST":
            return None
        if is_about_keys and request.method == "DELETE":
            request = replace(request, path="/v1/nothing")
        return super().serve(request, connection)


def test_requirements_that_dropped_registrations_left_untested_say_that_connections_were_dropped():
    """If a service drops every registration, requirements that were not tested for that reason say so.

    To drop a request is to close the connection without an answer, and one requirement fails for it. No message advises
    to change the body or the profile.
    """
    trial = try_in_memory(DropsRegistrations(), ids=ids_selected_by("registerPixKey or deletePixKey"))
    messages = {name: str(trial.results[name].message) for name in trial.not_exercised}
    all_messages = " ".join(messages.values())

    assert "registerPixKey.connection" in trial.failing
    assert messages["registerPixKey.body.pixKey"] == "no registration was answered (connection dropped)"
    assert messages["deletePixKey.exists"] == "no key was registered: connection dropped"
    assert "expects another body" not in all_messages
    assert "requests.deletePixKey" not in all_messages


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
    """If a request was dropped beside other requests, it is sent again alone. If it is dropped again, a requirement fails.

    It is the requirement that requests are answered. A request is dropped if the connection is closed without an answer.
    A single drop beside other requests is no fault, because a service may allow one connection at a time.
    """
    drop_alone = replace(DROPPED, number=0)
    drop_beside_two_requests = replace(DROPPED, number=1, beside=2)
    drops = [drop_alone, drop_beside_two_requests]
    reproduction = Reproduction(exchanges=drops, sent_again={drop.number: second_answer for drop in drops})

    assert reproduction.judge("listEntries.connection", drop_alone).conclusion is conclusion
    assert reproduction.judge("listEntries.connection", drop_beside_two_requests).conclusion is conclusion


@pytest.mark.parametrize(
    ("number_of_drops", "conclusion"),
    [(1, Conclusion.HOLDS), (2, Conclusion.DEVIATES)],
    ids=["one request", "two requests"],
)
def test_two_drops_are_a_finding_if_the_requests_cannot_be_sent_again(number_of_drops, conclusion):
    """The requirement that requests are answered fails if two requests were dropped that cannot be sent again.

    They cannot be sent again if they may change something. A single drop may be the fault of the network. A request is
    dropped if the connection is closed without an answer.
    """
    drops = [replace(DROPPED, number=number) for number in range(number_of_drops)]
    reproduction = Reproduction(exchanges=drops, sent_again={drop.number: None for drop in drops})

    assert {reproduction.judge("listEntries.connection", drop).conclusion for drop in drops} == {conclusion}


@pytest.mark.parametrize(
    ("numbers_of_dropped_requests", "conclusion"),
    [((1, 3), Conclusion.HOLDS), ((1, 3, 5), Conclusion.DEVIATES), ((1, 2, 3, 4), Conclusion.HOLDS)],
    ids=["two requests", "three requests", "four requests in a row"],
)
def test_three_drops_with_answers_in_between_are_a_finding(numbers_of_dropped_requests, conclusion):
    """If three requests are dropped, with answered ones in between, the requirement that requests are answered fails.

    It fails although each is answered when it is sent again, because such a service drops requests at random. To drop is
    to close the connection without an answer. Drops in a row count as one outage, and two drops are too few.
    """
    drops = [replace(DROPPED, number=number) for number in numbers_of_dropped_requests]
    reproduction = Reproduction(exchanges=drops, sent_again=dict.fromkeys(numbers_of_dropped_requests, ANSWERED))

    assert reproduction.judge("listEntries.connection", drops[0]).conclusion is conclusion


@pytest.mark.parametrize(
    ("later_exchanges", "conclusion"),
    [
        ([NO_CONNECTION], Conclusion.INCONCLUSIVE),
        ([NO_CONNECTION, ANSWERED], Conclusion.HOLDS),
        ([DROPPED], Conclusion.HOLDS),
    ],
    ids=["no connection", "no connection, then an answer", "dropped"],
)
def test_a_drop_before_all_connections_are_refused_is_inconclusive(later_exchanges, conclusion):
    """If no request after a dropped one gets a connection, nobody can judge the dropped one.

    A request is dropped if the connection is closed without an answer. Perhaps somebody stopped the service. But if a
    later request arrives at the service, it still runs. Then the requirement holds, because the dropped request is
    answered when it is sent again.
    """
    before = replace(ANSWERED, number=1, started=0.0)
    drop = replace(DROPPED, number=2, valid=False, started=1.0, elapsed_s=1.0)
    after = [
        replace(exchange, number=number, started=float(number)) for number, exchange in enumerate(later_exchanges, 3)
    ]
    exchanges = [before, drop, *after]
    reproduction = Reproduction(exchanges=exchanges, sent_again={exchange.number: ANSWERED for exchange in exchanges})

    assert reproduction.judge("listEntries.connection", drop).conclusion is conclusion


def is_registration_of_null(request):
    """True if the request registers an e-mail key that is null."""
    body = request.body
    return request.method == "POST" and b'"pixKey": null' in body and b'"EMAIL"' in body


class EndsAtAKeyOfNull(SocketService):
    """Its process ends when a registration of an e-mail key with `"pixKey": null` arrives. RANDOM may have null as its key.

    Then all requests that are not answered yet are dropped, and no new connection is accepted.
    """

    def __init__(self):
        """No connection is open yet."""
        super().__init__()
        self.connections = set()

    def is_ready_to_read(self, connection):
        """Note the connection, and return True, so that the service reads the next request from it."""
        self.connections.add(connection)
        return True

    def answer(self, connection, request):
        """Send the answer of the sandbox, or end at a registration of null."""
        if is_registration_of_null(request) and self.has_valid_token(request):
            self.end()
        else:
            super().answer(connection, request)

    def end(self):
        """Stop accepting connections, and reset all that are open."""
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
        """Keep the address, at which the service is started again."""
        super().__init__()
        self.address = self._listener.getsockname()

    def end(self):
        """End, and have the service started again later."""
        super().end()
        timer = threading.Timer(self.AFTER_S, self.start_again)
        timer.daemon = True
        timer.start()

    def start_again(self):
        """Accept connections on the same port again, unless the test has ended."""
        if not self._stopped.is_set():
            self._listener = socket.create_server(self.address, backlog=64)
            self.__enter__()


def result_and_registrations_of_null(make, folder):
    """Run a few tests against a service of this class. Returns the result, and the registrations of null that arrived.

    A registration of null is one with `"pixKey": null`.
    """
    with make() as service:
        result = run_suite(
            write_profile(folder, service.base_url), "-k", "registerPixKey.connection or listAccounts.json"
        )
    return result, list(filter(is_registration_of_null, service.received))


def test_a_service_that_ended_once_has_no_failing_requirement(tmp_path):
    """If a service ends at a request and is not started again, no requirement fails, because nobody can try it again.

    The run is unreachable (exit status 7), and a note names the requests that were on their way. The service ends at a
    registration with null as its key here.
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
    """If a service ends while many requests are on their way, the run ends soon, and no requirement fails.

    It sends fewer than twice as many requests as the service answered, although many threads wait to send their request
    again: the check that finds out that the service ended goes first.
    """
    with IsKilled() as service:
        service.ANSWERS = 250
        result = run_suite(write_profile(tmp_path, service.base_url, limits={"timeout": 5}), "--examples=5")

    assert result.status == 7
    assert result.messages_with_verdict("fail") == {}
    assert result.document["traffic"]["requests"] < 2 * service.ANSWERS


def test_a_request_that_ends_the_service_again_is_a_failure(tmp_path):
    """If a service ends at a request, is started again, and ends at the same request once more, the requirement fails.

    The run waits until the service runs again, which is after 0.2 seconds here, and sends the request once more. Other
    operations are tested.
    """
    result, registrations_of_null = result_and_registrations_of_null(IsStartedAgain, tmp_path)

    assert (result.status, result.document["verdict"]) == (1, "not-robust")
    assert result.messages_with_verdict("fail").keys() == {"registerPixKey.connection"}
    assert result.messages_with_verdict("pass").keys() == {"listAccounts.json"}
    assert len(registrations_of_null) > 1
