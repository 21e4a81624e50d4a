"""What is wrong with the set-up is said first, in one line with what to do, and no row fails for it."""

import socket
from dataclasses import replace

import pytest

from environments.door.preflight import preflight
from environments.sandbox import Refusal, Response, Service
from reports.result.run_verdict import result_of_run
from reports.result.verdicts import TESTED, RunVerdict, Verdict
from spec.exchange import Failure, FailureKind
from spec.interface import READ_OPERATIONS, operations
from spec.requirements import LEVELS
from spec.rules.robustness import never_answered
from tests.selftest.exchanges import answer
from tests.selftest.proof.directly import try_in_memory
from tests.selftest.services.one_run import (
    ALL_TESTS,
    CODE,
    UNUSED_ADDRESS,
    FakeBank,
    ManualRun,
    profile_off_sandbox,
    report_notes,
    run_suite_in_memory,
    started_journal,
)
from tests.selftest.services.running import run_suite, write_profile
from tests.selftest.services.serving import SocketService, has_real_code, reset_connection, response_bytes, served_by

CERTIFICATE = "the gateway refuses the client certificate: check tls.client_cert and tls.client_key"
NO_CERTIFICATE = Response(400, b"<html><center>No required SSL certificate was sent</center></html>")
EXPIRED = "the token expired during the run (exchange "
REFUSALS_OF_THE_TOKEN = {
    "401": Response(401, b"{}"),
    "login page": Response(302, b"", (("Location", "/login"),)),
    "another code": Response(200, b'{"code": 401, "data": {}}'),
}


class BreaksOneOperation(SocketService):
    """Answers every request except for those to the list of accounts."""

    broken = "/v1/accounts"

    def answer(self, connection, request):
        if self.is_broken(request):
            self.break_off(connection)
        else:
            super().answer(connection, request)

    def is_broken(self, request):
        return request.path == self.broken


class DropsOneOperation(BreaksOneOperation):
    """Resets the connection of requests to the list of accounts."""

    def break_off(self, connection):
        reset_connection(connection)


class HangsInOneOperation(BreaksOneOperation):
    """Never answers a request to the list of accounts."""

    def break_off(self, connection):
        self._stopped.wait()


class HangsInTheMiddle(HangsInOneOperation):
    """Never answers a request for a balance, which the run sends beside other reads."""

    broken = "/v1/accounts/balance/"

    def is_broken(self, request):
        return request.path.startswith(self.broken)


class AnswersNoHttp(BreaksOneOperation):
    """Answers a request to the list of accounts with something that is not HTTP."""

    def break_off(self, connection):
        connection.sendall(b"garbage\r\n\r\n")
        connection.shutdown(socket.SHUT_RDWR)


class AnswersTheExecutionAlone(SocketService):
    """Answers only executions."""

    def answer(self, connection, request):
        if request.path.startswith("/v1/execute/"):
            super().answer(connection, request)
        else:
            reset_connection(connection)


class RefusesTheToken(Service):
    """Refuses the token in this form, except for requests with these numbers."""

    def __init__(self, form, accepted):
        super().__init__()
        self.form, self.accepted, self.number, self.right = form, accepted, 0, self.token

    def respond(self, request):
        self.token = self.right if self.number in self.accepted else "another"
        self.number += 1
        return super().respond(request)

    def finish(self, request, operation, response):
        return self.form if response.status == 401 else response


@pytest.mark.parametrize(
    ("make", "operation", "verdict_on_connection", "reason"),
    [
        (DropsOneOperation, "listAccounts", "fail", "connection dropped"),
        (AnswersNoHttp, "listAccounts", "fail", "not HTTP"),
        (HangsInOneOperation, "listAccounts", "warn", "no answer in time"),
        (HangsInTheMiddle, "getBalance", "warn", ""),  # those that hang first are perhaps not the valid one
    ],
)
def test_one_operation_without_answers_is_a_finding(make, operation, verdict_on_connection, reason, tmp_path):
    """The other operations are tested.

    If the service hangs, the finding is a warning, because the document does not say how long an answer takes.
    """
    with make() as service:
        limits = {"timeout": 2, "parallel": 4}
        profile = write_profile(tmp_path, service.base_url, limits=limits, fail_on=[*LEVELS[:-1]])
        result = run_suite(profile, "-k", "listAccounts or getBalance or registerPixKey.exists")
        requests_to_it = sum(service.is_broken(request) for request in service.received)
    verdicts = {row["id"]: row["verdict"] for row in result.document["requirements"]}
    verdicts_of_others = {verdict for name, verdict in verdicts.items() if not name.startswith(operation)}

    assert result.status == (1 if verdict_on_connection == "fail" else 6), result.output
    assert verdicts[f"{operation}.connection"] == verdict_on_connection
    assert "not-exercised" not in verdicts_of_others
    assert result.messages_with_verdict("not-exercised")[f"{operation}.exists"].startswith(
        f"no valid request succeeded ({reason}"
    )
    assert (
        verdict_on_connection == "fail"
        or f"none of {requests_to_it} requests was answered within limits.timeout" in result.output
    )


def test_an_operation_hangs_if_later_requests_are_answered():
    """At least two of its requests must get no answer, one of them alone, and another operation must answer after both.

    An execution without an answer has an unknown outcome instead.
    """
    hangs = {"failure": Failure(FailureKind.TIMEOUT, "late"), "response": None, "elapsed_s": 30.0}
    first, second = (replace(answer("getBalance", {}), started=at, **hangs) for at in (0.0, 40.0))
    answered_later = replace(answer("listEntries", {}), started=50.0)
    executions = [replace(exchange, operation="executePix") for exchange in (first, second)]

    assert never_answered("getBalance", [first, second, answered_later]) == [first, second]
    for exchanges in (
        [first, answered_later],
        [first, second],
        [replace(answered_later, started=10.0), first, second],
        [replace(first, beside=1), replace(second, beside=1), answered_later],
        [first, replace(answer("getBalance", {}), started=40.0), answered_later],
    ):
        assert never_answered("getBalance", exchanges) == []
    assert never_answered("executePix", [*executions, answered_later]) == []


@served_by(AnswersTheExecutionAlone)
def test_a_target_that_executes_is_reached(service, manual_run):
    """No read is answered, and a synthetic code is."""
    assert preflight(manual_run.client) == ""


def test_a_target_that_drops_all_connections_is_unreachable(tmp_path):
    """The preflight tries the reads and a synthetic code, and gives the reason of the first request."""
    with DropsOneOperation() as service:
        service.answer = lambda connection, request: reset_connection(connection)
        manual_run = ManualRun(service, tmp_path)

        assert preflight(manual_run.client) == "the connection was dropped without an answer"
        assert {exchange.operation for exchange in manual_run.door.exchanges} == {*READ_OPERATIONS, "executePix"}


def test_one_read_that_stops_answering_does_not_end_the_run(tmp_path):
    """Another read is sent before the target counts as unreachable."""
    with DropsOneOperation() as service:
        manual_run = ManualRun(service, tmp_path)
        service.break_off = lambda connection: connection.sendall(response_bytes(Response(200, b"{}")))
        manual_run.client.send("getBalance", "ac-0001", valid=True)
        manual_run.client.send("listAccounts", valid=True)
        del service.break_off
        for _ in range(12):
            manual_run.client.send("listAccounts", valid=True)

        assert manual_run.client.send("getBalance", "ac-0001").response.status == 200
        assert manual_run.door.liveness.unreachable == ""


def test_a_fault_of_the_set_up_is_said_first():
    """The first note says what to check.

    The gateway refuses every path alike, so no requirement fails and the run goes on.
    """
    service = Service()
    service.respond = lambda request: NO_CERTIFICATE
    trial = try_in_memory(service)

    assert trial.notes[0].startswith(CERTIFICATE)
    assert not trial.failing


@pytest.mark.parametrize(("form", "after"), [("login page", 30), ("another code", 90), ("401", 150)])
def test_an_expired_token_is_named_whatever_the_refusal(form, after):
    """Requests are refused that were granted before, and so is a read that was granted. The run is incomplete."""
    trial = try_in_memory(RefusesTheToken(REFUSALS_OF_THE_TOKEN[form], range(after)))

    assert any(note.startswith(EXPIRED) for note in trial.notes)
    assert trial.exit_status == RunVerdict.INCOMPLETE.exit_status
    assert trial.failing == set()


class ExpiresAfter(FakeBank):
    """Answers 401 after so many requests. `refused` are the requests after them."""

    def __init__(self, requests):
        super().__init__()
        self.requests = requests

    def authorize(self, request, operation):
        super().authorize(request, operation)
        if self.refused:
            raise Refusal(401, "The token has expired.")

    @property
    def refused(self):
        return self.received[self.requests :]


@pytest.mark.parametrize("requests", [10, 110, 210])
def test_nothing_is_sent_with_a_token_that_expired(requests, tmp_path):
    """Nothing is sent without the token either, once each read was refused three times.

    What was tested before stays, and no verdict rests on what was refused afterwards.
    """
    service = ExpiresAfter(requests)
    profile = profile_off_sandbox(tmp_path)
    model = run_suite_in_memory(service, profile, among=ALL_TESTS)
    result = result_of_run(model)
    judged = [row for _, row in result.results if row.verdict in TESTED]
    causes = {str(row.why).split(" (")[0] for _, row in result.results if row.verdict == Verdict.NOT_EXERCISED}
    valid = [request for request in service.refused if request.header("Authorization") == f"Bearer {service.token}"]

    assert len(service.refused) > 3
    assert len([request for request in valid if request.method != "GET"]) <= 5
    assert service.refused[-3:] == [request for request in valid if request.method == "GET"][-3:]
    assert result.verdict is RunVerdict.INCOMPLETE
    assert causes == {"the token expired during the run"}
    assert judged
    assert max(number for row in judged for number in row.exchanges) <= requests


def test_a_token_that_is_refused_for_a_while_has_not_expired():
    """The token is accepted again, so no note says that it expired."""
    trial = try_in_memory(RefusesTheToken(REFUSALS_OF_THE_TOKEN["401"], {*range(30), *range(34, 999)}))

    assert not any("expired" in note for note in trial.notes)


class TakesTheTokenFor(FakeBank):
    """Accepts the token for these operations only, and answers 401 to all others."""

    def __init__(self, *operations):
        super().__init__()
        self.operations = operations

    def authorize(self, request, operation):
        super().authorize(request, operation)
        if operation not in self.operations:
            raise Refusal(401, "A valid access token is required.")

    @property
    def methods(self):
        return {request.method for request in self.received}


@pytest.mark.parametrize(("status", "body"), [(302, b""), (403, b""), (200, b"<html>"), (200, b'{"code": 401}')])
def test_only_reads_are_sent_if_a_wrong_token_gets_the_same_answer(status, body, tmp_path):
    """Nothing that writes is sent if every read is answered as with a wrong token."""
    bank = TakesTheTokenFor()
    bank.finish = lambda *_: Response(status, body)
    run_suite_in_memory(bank, profile_off_sandbox(tmp_path), among=ALL_TESTS)

    assert bank.methods == {"GET"}
    assert len(bank.received) == 3 + len(READ_OPERATIONS)


def test_a_token_that_is_refused_everywhere_ends_the_run(tmp_path):
    """At least two reads refuse the token with 401, so nothing is registered, prepared or executed, and one note
    says so.
    """
    service = TakesTheTokenFor()
    model = run_suite_in_memory(service, profile_off_sandbox(tmp_path), among=ALL_TESTS)
    operations_asked = [name for name in operations() if name in (*READ_OPERATIONS, "executePix")]
    *names, last = operations_asked
    requests_sent = ["listAccounts", "listAccounts", *operations_asked]  # at first, and with a wrong token

    assert service.methods == {"GET"}
    assert len(service.received) == len(requests_sent)
    assert (service.executions, model.not_cleaned_up, model.not_executed) == ([], [], [])
    assert result_of_run(model).verdict is RunVerdict.INCOMPLETE
    assert [row.id for row, result in result_of_run(model).results if result.fails] == []
    assert report_notes(model) == [
        f"the token was refused with 401 by {', '.join(names)} and {last}: it is wrong, has expired, or is for "
        "another environment, check auth (PIX_TOKEN)"
    ]


@pytest.mark.parametrize(
    ("accepting", "expected"),
    [(name, ["registerPixKey.token.accepted"]) for name in ("listPixKeys", "getBalance", "listEntries")]
    + [("executePix", [])],  # a synthetic code, which is not granted
)
def test_a_token_that_one_operation_accepts_does_not_end_the_run(accepting, expected, tmp_path):
    """The other operations may want another scope, so everything is sent. A 401 to a registration fails."""
    service = TakesTheTokenFor(accepting)
    model = run_suite_in_memory(service, profile_off_sandbox(tmp_path), "registerPixKey.token")
    failing = [row.id for row, result in result_of_run(model).results if result.fails]

    assert "POST" in service.methods
    assert failing == expected


class AnswersNotFoundTo(FakeBank):
    """Answers 404 to these operations. With `words` the 404 of each is its own, and no undocumented path has it."""

    def __init__(self, operations, words=""):
        super().__init__()
        self.operations, self.words = operations, words

    @property
    def codes_received(self):
        """The requests with a real code."""
        return [request.path for request in self.received if has_real_code(request.path)]

    @property
    def bodies_to_accounts(self):
        """The registrations and deletions."""
        return [request.path for request in self.received if "/pix/keys" in request.path and request.method != "GET"]

    def finish(self, request, operation, response):
        if operation is not None and operation not in self.operations:
            return response
        words_of_operation = f"{self.words} {operation}" if self.words and operation else "no route"
        return Response(404, f"<html>{words_of_operation}</html>".encode(), (("Content-Type", "text/html"),))


@pytest.mark.parametrize("permitted", [{}, {"allow": ["read"]}])
def test_where_no_path_is_known_no_code_and_no_key_is_sent(permitted, tmp_path):
    """Every path gets the 404 of an undocumented one, as if base_url led elsewhere. The missing endpoints fail."""
    bank = AnswersNotFoundTo(operations())
    profile = profile_off_sandbox(tmp_path, transactions={"codes": [CODE]}, **permitted)
    started_journal(tmp_path)
    result = result_of_run(run_suite_in_memory(bank, profile, among=ALL_TESTS))
    failing = {row.id for row, row_result in result.results if row_result.fails}
    without_account = {name for name, operation in operations().items() if operation.path_parameter is None}

    assert bank.codes_received == bank.bodies_to_accounts == []
    assert {"general.versionPrefix", "listAccounts.exists"} <= failing
    assert failing <= {"general.versionPrefix", *(f"{name}.exists" for name in without_account)}
    assert any("base_url may lead elsewhere" in str(note.text) for note in result.notes)


@pytest.mark.parametrize(
    "bank",
    [
        AnswersNotFoundTo(READ_OPERATIONS, words="no such account:"),
        AnswersNotFoundTo(frozenset(READ_OPERATIONS) - {"getBalance"}),
    ],
    ids=["in words of their own", "except one"],
)
def test_reads_that_are_not_found_do_not_end_the_run(bank, tmp_path):
    """Their 404 differs from that of an undocumented path, or one of them succeeds: keys and codes are sent."""
    profile = profile_off_sandbox(tmp_path, transactions={"codes": [CODE]})
    started_journal(tmp_path)
    run_suite_in_memory(bank, profile, "executePix.status or registerPixKey.status")

    assert bank.codes_received
    assert bank.bodies_to_accounts


def test_an_account_that_everything_refuses_is_named(tmp_path):
    """The note gives the place of the account in the profile, and the run is incomplete."""
    profile = profile_off_sandbox(tmp_path, allow=["read", "fuzz"], accounts=["ac-0001", "2"])
    model = run_suite_in_memory(FakeBank(), profile, "getBalance or listEntries", ALL_TESTS)

    note = "number 2 of accounts: refused by every operation (404 application/json): check accounts"
    assert report_notes(model) == [str(result_of_run(model).why)] == [note]


def test_an_account_list_of_another_scope_keeps_the_verdict(tmp_path):
    """Only the list of accounts answers 401. The other operations are judged, and pass."""
    service = TakesTheTokenFor(*(name for name in operations() if name != "listAccounts"))
    verdict = result_of_run(run_suite_in_memory(service, profile_off_sandbox(tmp_path, sandbox=UNUSED_ADDRESS))).verdict

    assert verdict is RunVerdict.PARTIAL
