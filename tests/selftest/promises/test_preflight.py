"""If something is wrong with the set-up, such as the token, the first note says so, and no requirement fails for it.

The preflight is the check before a run: a few requests that find out whether the service can be reached.
"""

import socket
from dataclasses import replace

import pytest

from environments.door.preflight import preflight
from environments.sandbox import Refusal, Response, Service
from reports.result.run_verdict import result_of_run
from reports.result.verdicts import TESTED, RunVerdict, Verdict
from spec.exchange import Failure, FailureKind
from spec.interface import READ_OPERATIONS, operations
from spec.rules.robustness import never_answered
from tests.selftest.exchanges import answer
from tests.selftest.proof.directly import try_in_memory
from tests.selftest.services.one_run import (
    ALL_TESTS,
    CODE,
    FakeBank,
    ManualRun,
    profile_of_bank,
    profile_of_sandbox,
    report_notes,
    run_suite_in_memory,
    started_journal,
)
from tests.selftest.services.running import run_suite, write_profile
from tests.selftest.services.serving import SocketService, has_real_code, reset_connection, response_bytes, served_by

NO_CERTIFICATE = Response(400, b"<html><center>No required SSL certificate was sent</center></html>")
REFUSALS_OF_THE_TOKEN = {
    "401": Response(401, b"{}"),
    "login page": Response(302, b"", (("Location", "/login"),)),
    "another code": Response(200, b'{"code": 401, "data": {}}'),
}


PATHS = {"listAccounts": "/v1/accounts", "getBalance": "/v1/accounts/balance/"}
"""The path of each operation, up to the account in it."""


class BreaksOneOperation(SocketService):
    """The sandbox, which breaks off requests to one operation: the list of accounts, or a balance.

    `break_off` of a subclass says how, such as by a reset of the connection.
    """

    def __init__(self, operation="listAccounts"):
        """`operation` is the one whose requests are broken off."""
        super().__init__()
        self.path_of_operation = PATHS[operation]

    def answer(self, connection, request):
        """Send the answer of the sandbox, or break the request off."""
        if self.is_broken(request):
            self.break_off(connection)
        else:
            super().answer(connection, request)

    def is_broken(self, request):
        """True if a request is one to that operation."""
        if self.path_of_operation.endswith("/"):
            return request.path.startswith(self.path_of_operation)
        return request.path == self.path_of_operation


class DropsOneOperation(BreaksOneOperation):
    """Resets the connection of requests to the operation."""

    def break_off(self, connection):
        """Reset the connection."""
        reset_connection(connection)


class HangsInOneOperation(BreaksOneOperation):
    """Never answers a request to the operation."""

    def break_off(self, connection):
        """Wait without an answer until the test stops the service."""
        self._stopped.wait()


class AnswersNoHttp(BreaksOneOperation):
    """Answers a request to the operation with something that is not HTTP."""

    def break_off(self, connection):
        """Send bytes that are no HTTP, and close the connection."""
        connection.sendall(b"garbage\r\n\r\n")
        connection.shutdown(socket.SHUT_RDWR)


class AnswersTheExecutionAlone(SocketService):
    """Answers only executions."""

    def answer(self, connection, request):
        """Send the answer of the sandbox to an execution. Reset the connection of any other request."""
        if request.path.startswith("/v1/execute/"):
            super().answer(connection, request)
        else:
            reset_connection(connection)


class RefusesTheToken(Service):
    """Refuses the valid token, except for requests with certain numbers. The first request has the number 0.

    `answer_to_refused` is the answer to a request whose token is refused.
    """

    def __init__(self, answer_to_refused, numbers_of_accepted_requests):
        """`numbers_of_accepted_requests` has the numbers of the requests whose token is accepted."""
        super().__init__()
        self.answer_to_refused = answer_to_refused
        self.numbers_of_accepted_requests = numbers_of_accepted_requests
        self.number_of_next_request = 0
        self.token_of_suite = self.token

    def respond(self, request):
        """Answer a request, with another token as the valid one if it is not to be accepted."""
        is_accepted = self.number_of_next_request in self.numbers_of_accepted_requests
        self.token = self.token_of_suite if is_accepted else "another"
        self.number_of_next_request += 1
        return super().respond(request)

    def finish(self, request, operation, response):
        """The answer of the sandbox. A 401 is replaced by `answer_to_refused`."""
        return self.answer_to_refused if response.status == 401 else response


@pytest.mark.parametrize(
    ("kind_of_service", "reason"),
    [(DropsOneOperation, "connection dropped"), (AnswersNoHttp, "not HTTP")],
    ids=["the connection is closed without an answer", "the answer is no HTTP"],
)
def test_one_operation_without_answers_is_a_finding(kind_of_service, reason, tmp_path):
    """If one operation gives no answer, a requirement of that operation fails, and the other operations are tested.

    Whether the operation exists is not exercised then, because no valid request succeeded.
    """
    with kind_of_service("listAccounts") as service:
        result = run_of_reads(service, tmp_path)

    assert result.status == 1, result.output
    assert verdicts_of("listAccounts", result)["listAccounts.connection"] == "fail"
    assert "not-exercised" not in verdicts_of_others("listAccounts", result)
    assert result.messages_with_verdict("not-exercised")["listAccounts.exists"].startswith(
        f"no valid request succeeded ({reason}"
    )


@pytest.mark.parametrize(
    ("operation", "beginning_of_message"),
    [
        ("listAccounts", "no valid request succeeded (no answer in time"),
        # a balance is read beside other requests, so an invalid one may be the first that hangs: the reason is not certain
        ("getBalance", "no valid request succeeded ("),
    ],
)
def test_one_operation_that_hangs_is_a_warning(operation, beginning_of_message, tmp_path):
    """If one operation never answers (it hangs), one of its requirements is a warning, and the run is incomplete.

    It does not fail, because the document does not say how long an answer takes. The output says how many requests were
    not answered. The other operations are tested.
    """
    with HangsInOneOperation(operation) as service:
        result = run_of_reads(service, tmp_path)
        unanswered = [request for request in service.received if service.is_broken(request)]

    assert result.status == 6, result.output
    assert verdicts_of(operation, result)[f"{operation}.connection"] == "warn"
    assert "not-exercised" not in verdicts_of_others(operation, result)
    assert result.messages_with_verdict("not-exercised")[f"{operation}.exists"].startswith(beginning_of_message)
    assert f"none of {len(unanswered)} requests was answered within limits.timeout" in result.output


def run_of_reads(service, folder):
    """The result of a run about two reads and registrations, which waits two seconds for an answer."""
    limits = {"timeout": 2, "parallel": 4}
    # each level, so that a requirement that was not tested makes the run incomplete, whatever its level is
    fail_on = ["documented", "implied", "example", "robustness"]
    profile = write_profile(folder, service.base_url, limits=limits, fail_on=fail_on)
    return run_suite(profile, "-k", "listAccounts or getBalance or registerPixKey.exists")


def verdicts_of(operation, result):
    """The verdicts of the requirements of an operation, by id."""
    requirements = result.document["requirements"]
    return {row["id"]: row["verdict"] for row in requirements if row["id"].startswith(operation)}


def verdicts_of_others(operation, result):
    """The verdicts that the requirements of all other operations have, each once."""
    return {row["verdict"] for row in result.document["requirements"] if not row["id"].startswith(operation)}


HANGS = {"failure": Failure(FailureKind.TIMEOUT, "late"), "response": None, "elapsed_s": 30.0}
"""Changes of an exchange: its request got no answer within 30 seconds."""
BALANCE = answer("getBalance", {})
FIRST_HANGS, SECOND_HANGS = replace(BALANCE, started=0.0, **HANGS), replace(BALANCE, started=40.0, **HANGS)
SECOND_IS_ANSWERED = replace(BALANCE, started=40.0)
OTHER_IS_ANSWERED_MEANWHILE = replace(answer("listEntries", {}), started=10.0)
OTHER_IS_ANSWERED_AFTERWARDS = replace(answer("listEntries", {}), started=50.0)


def test_an_operation_hangs_if_later_requests_are_answered():
    """An operation hangs if two of its requests get no answer, and another operation answers after both."""
    exchanges = [FIRST_HANGS, SECOND_HANGS, OTHER_IS_ANSWERED_AFTERWARDS]

    assert never_answered("getBalance", exchanges) == [FIRST_HANGS, SECOND_HANGS]


@pytest.mark.parametrize(
    "exchanges",
    [
        [FIRST_HANGS, OTHER_IS_ANSWERED_AFTERWARDS],
        [FIRST_HANGS, SECOND_HANGS],
        [OTHER_IS_ANSWERED_MEANWHILE, FIRST_HANGS, SECOND_HANGS],
        [replace(FIRST_HANGS, beside=1), replace(SECOND_HANGS, beside=1), OTHER_IS_ANSWERED_AFTERWARDS],
        [FIRST_HANGS, SECOND_IS_ANSWERED, OTHER_IS_ANSWERED_AFTERWARDS],
    ],
    ids=[
        "only one request gets no answer",
        "no other operation is called",
        "another operation answers only while the first request waits",
        "both requests were sent beside another one",
        "the second request is answered",
    ],
)
def test_an_operation_does_not_hang_if_its_requests_may_be_late_for_another_reason(exchanges):
    """A balance without an answer does not show that the operation hangs if there is another possible reason.

    The reason may be this one request, the whole service, or the load of requests beside it.
    """
    assert never_answered("getBalance", exchanges) == []


def test_executions_without_an_answer_do_not_count_as_an_operation_that_hangs():
    """Executions that get no answer have an unknown outcome, which the report says elsewhere: money may have moved."""
    executions = [replace(exchange, operation="executePix") for exchange in (FIRST_HANGS, SECOND_HANGS)]

    assert never_answered("executePix", [*executions, OTHER_IS_ANSWERED_AFTERWARDS]) == []


@served_by(AnswersTheExecutionAlone)
def test_a_target_that_executes_is_reached(service, manual_run):
    """A target that answers only executions counts as reachable.

    The preflight, the check before a run, sends reads first, and then an execution with a code that nobody has. It
    returns the reason why the target cannot be reached, which is empty here.
    """
    assert preflight(manual_run.client) == ""


def test_a_target_that_drops_all_connections_is_unreachable(tmp_path):
    """A target that closes all connections without an answer is unreachable, for the reason of the first request.

    The preflight, the check before a run, tries each read, and an execution with a code that nobody has.
    """
    with DropsOneOperation() as service:
        service.answer = lambda connection, request: reset_connection(connection)
        manual_run = ManualRun(service, tmp_path)
        reason = preflight(manual_run.client)
    operations_tried = {exchange.operation for exchange in manual_run.exchanges}

    assert reason == "the connection was dropped without an answer"
    assert operations_tried == {*READ_OPERATIONS, "executePix"}


def test_one_read_that_stops_answering_does_not_end_the_run(tmp_path):
    """If one read is not answered any more, the target does not count as unreachable, because another read is answered.

    The list of accounts is answered once, and then dropped twelve times.
    """
    with DropsOneOperation() as service:
        manual_run = ManualRun(service, tmp_path)
        service.break_off = lambda connection: connection.sendall(response_bytes(Response(200, b"{}")))
        manual_run.client.send("getBalance", "ac-0001", valid=True)
        manual_run.client.send("listAccounts", valid=True)
        del service.break_off  # from now on the list of accounts is dropped
        for _ in range(12):
            manual_run.client.send("listAccounts", valid=True)
        balance = manual_run.client.send("getBalance", "ac-0001")

    assert balance.response.status == 200
    assert manual_run.why_unreachable == ""


def test_a_fault_of_the_set_up_is_said_first():
    """If a gateway refuses the client certificate, the first note says which settings to check.

    No requirement fails. The gateway refuses every path alike, so its answers say nothing about the service.
    """
    service = Service()
    service.respond = lambda request: NO_CERTIFICATE
    trial = try_in_memory(service)
    first_note = trial.notes[0]

    assert first_note.startswith("the gateway refuses the client certificate: check tls.client_cert and tls.client_key")
    assert trial.failing == set()


@pytest.mark.parametrize(
    ("form_of_refusal", "accepted_requests"), [("login page", 30), ("another code", 90), ("401", 150)]
)
def test_an_expired_token_is_named_whatever_the_refusal(form_of_refusal, accepted_requests):
    """If a token that was accepted is refused from some request on, a note says that it expired during the run.

    The refusal may be a 401, a redirect to a login page, or the code 401 in an answer with 200. The run is incomplete,
    and no requirement fails.
    """
    service = RefusesTheToken(REFUSALS_OF_THE_TOKEN[form_of_refusal], range(accepted_requests))
    trial = try_in_memory(service)
    notes_on_the_token = [
        note for note in trial.notes if note.startswith("the token expired during the run (exchange ")
    ]

    assert notes_on_the_token != []
    assert trial.exit_status == RunVerdict.INCOMPLETE.exit_status
    assert trial.failing == set()


class ExpiresAfter(FakeBank):
    """Its token expires after so many requests: all later ones get 401. `refused` are the later requests."""

    def __init__(self, number_of_requests):
        """`number_of_requests` is the number of requests after which the token expires."""
        super().__init__()
        self.number_of_requests = number_of_requests

    def authorize(self, request, operation):
        """Check the token. Raises Refusal if it has expired."""
        super().authorize(request, operation)
        if self.refused:
            raise Refusal(401, "The token has expired.")

    @property
    def refused(self):
        """The requests that came after the token had expired."""
        return self.received[self.number_of_requests :]


@pytest.mark.parametrize("requests_before", [10, 110, 210])
def test_soon_after_a_token_expired_nothing_is_sent(requests_before, tmp_path):
    """Once reads were refused three times with a token that was accepted before, a run sends nothing more.

    So its last three requests are such reads. Before them, it sends at most five requests that write with the expired
    token, because it checks the token after each valid request that is refused, and after five invalid ones. Verdicts
    from before stay as they are, and no verdict cites a refused request.
    """
    service = ExpiresAfter(requests_before)
    run = run_suite_in_memory(service, profile_of_bank(tmp_path), tests=ALL_TESTS)
    result = result_of_run(run)
    judged = [row for _, row in result.results if row.verdict in TESTED]
    exchanges_of_verdicts = [number for row in judged for number in row.exchanges]
    reasons = {str(row.why).split(" (")[0] for _, row in result.results if row.verdict == Verdict.NOT_EXERCISED}
    refused_with_valid_token = [request for request in service.refused if service.has_valid_token(request)]
    refused_reads = [request for request in refused_with_valid_token if request.method == "GET"]
    refused_writes = [request for request in refused_with_valid_token if request.method != "GET"]

    assert len(service.refused) > 3
    assert len(refused_writes) <= 5
    assert service.refused[-3:] == refused_reads[-3:]
    assert result.verdict is RunVerdict.INCOMPLETE
    assert reasons == {"the token expired during the run"}
    assert max(exchanges_of_verdicts) <= requests_before


def test_a_token_that_is_refused_for_a_while_has_not_expired():
    """If a token is refused with 401 for a while, and accepted again, no note says that it expired.

    The requests from number 30 to number 33 are refused.
    """
    accepted_requests = {*range(30), *range(34, 999)}
    trial = try_in_memory(RefusesTheToken(REFUSALS_OF_THE_TOKEN["401"], accepted_requests))

    assert [note for note in trial.notes if "expired" in note] == []


class AcceptsTheTokenOnlyFor(FakeBank):
    """Accepts the token for these operations only, and answers 401 to all others."""

    def __init__(self, *operations):
        """`operations` are those that accept the token."""
        super().__init__()
        self.operations = operations

    def authorize(self, request, operation):
        """Check the token, and refuse the valid one for all other operations."""
        super().authorize(request, operation)
        if operation not in self.operations:
            raise Refusal(401, "A valid access token is required.")

    @property
    def methods(self):
        """The methods of the requests that arrived, such as GET."""
        return {request.method for request in self.received}


@pytest.mark.parametrize(("status", "body"), [(302, b""), (403, b""), (200, b"<html>"), (200, b'{"code": 401}')])
def test_only_reads_are_sent_if_a_wrong_token_gets_the_same_answer(status, body, tmp_path):
    """If each read is answered as with a wrong token, a run sends nothing but a few reads, and nothing that writes.

    The token of the profile is refused then, whatever status the service refuses with. The run calls each operation that
    reads once, the list of accounts once more at first and once with a wrong token, and the execution with a code that
    nobody has.
    """
    bank = AcceptsTheTokenOnlyFor()
    bank.finish = lambda *_: Response(status, body)
    run_suite_in_memory(bank, profile_of_bank(tmp_path), tests=ALL_TESTS)

    assert bank.methods == {"GET"}
    assert len(bank.received) == len(READ_OPERATIONS) + 3


def test_a_token_that_is_refused_everywhere_ends_the_run(tmp_path):
    """If the reads refuse the token with 401, a run registers, prepares and executes nothing, and one note says why.

    The run is incomplete, and no requirement fails. It tries the list of accounts twice more: at first, and with a
    wrong token.
    """
    service = AcceptsTheTokenOnlyFor()
    run = run_suite_in_memory(service, profile_of_bank(tmp_path), tests=ALL_TESTS)
    operations_tried = [name for name in operations() if name in (*READ_OPERATIONS, "executePix")]
    *first_names, last_name = operations_tried
    failing = [requirement.id for requirement, result in result_of_run(run).results if result.fails]

    assert service.methods == {"GET"}
    assert len(service.received) == 2 + len(operations_tried)
    assert (service.executions_with_valid_token, run.not_cleaned_up, run.transfers_not_executed) == ([], [], [])
    assert result_of_run(run).verdict is RunVerdict.INCOMPLETE
    assert failing == []
    assert report_notes(run) == [
        f"the token was refused with 401 by {', '.join(first_names)} and {last_name}: it is wrong, has expired, or is "
        "for another environment, check auth (PIX_TOKEN)"
    ]


@pytest.mark.parametrize(
    ("accepting_operation", "failing_requirements"),
    [
        ("listPixKeys", ["registerPixKey.token.accepted"]),
        ("getBalance", ["registerPixKey.token.accepted"]),
        ("listEntries", ["registerPixKey.token.accepted"]),
        ("executePix", []),
    ],
)
def test_a_token_that_one_operation_accepts_does_not_end_the_run(accepting_operation, failing_requirements, tmp_path):
    """If one operation accepts the token, the run sends everything, because other operations may want another scope.

    All others refuse it with 401. The requirement that a registration accepts the token fails then, because a read
    succeeded with that token. An execution does not succeed: its code is made up. So nothing shows that the token is
    valid, and its refusal is no fault.
    """
    service = AcceptsTheTokenOnlyFor(accepting_operation)
    run = run_suite_in_memory(service, profile_of_bank(tmp_path), selected="registerPixKey.token")
    failing = [requirement.id for requirement, result in result_of_run(run).results if result.fails]

    assert "POST" in service.methods
    assert failing == failing_requirements


class AnswersNotFoundTo(FakeBank):
    """Answers 404 to these operations, with the same page as for any undocumented path.

    With `words` each of these operations has a page of its own, which has these words and the name of the operation.
    """

    def __init__(self, operations, words=""):
        """`operations` are those that are answered 404. `words` are in their pages, if there are any."""
        super().__init__()
        self.operations = operations
        self.words = words

    @property
    def paths_with_a_real_code(self):
        """The paths of the executions of a code that the suite did not make up."""
        return [request.path for request in self.received if has_real_code(request.path)]

    @property
    def paths_of_changes_of_keys(self):
        """The paths of the registrations and deletions of keys."""
        changes = [request for request in self.received if request.method != "GET"]
        return [request.path for request in changes if "/pix/keys" in request.path]

    def finish(self, request, operation, response):
        """The answer, or a page with 404 for one of the operations and for an undocumented path."""
        is_undocumented_path = operation is None
        if not is_undocumented_path and operation not in self.operations:
            return response
        has_page_of_its_own = self.words and not is_undocumented_path
        text = f"{self.words} {operation}" if has_page_of_its_own else "no route"
        return Response(404, f"<html>{text}</html>".encode(), (("Content-Type", "text/html"),))


@pytest.mark.parametrize(
    ("changes", "operations_that_do_not_exist"),
    [
        ({}, ["listAccounts", "createPix", "transferExternal", "transferInternal", "transferP2p"]),
        ({"allow": ["read"]}, ["listAccounts"]),
    ],
    ids=["everything permitted", "only reads permitted"],
)
def test_if_no_path_is_known_no_code_and_no_key_is_sent(changes, operations_that_do_not_exist, tmp_path):
    """If each documented path gets the same 404 as an undocumented one, a run sends no code and no key.

    A note says that base_url may lead elsewhere. For an operation whose path has no account and no code, the requirement
    that it exists fails. For any other operation a 404 may also mean that the account is unknown.
    """
    bank = AnswersNotFoundTo(operations())
    profile = profile_of_bank(tmp_path, transactions={"codes": [CODE]}, **changes)
    started_journal(tmp_path)
    run = run_suite_in_memory(bank, profile, tests=ALL_TESTS)
    failing = {requirement.id for requirement, result in result_of_run(run).results if result.fails}
    ids_of_existence = {f"{name}.exists" for name in operations_that_do_not_exist}
    notes = " ".join(report_notes(run))

    assert (bank.paths_with_a_real_code, bank.paths_of_changes_of_keys) == ([], [])
    assert failing == {"general.versionPrefix"} | ids_of_existence
    assert "base_url may lead elsewhere" in notes


@pytest.mark.parametrize(
    "bank",
    [
        AnswersNotFoundTo(READ_OPERATIONS, words="no such account:"),
        AnswersNotFoundTo(frozenset(READ_OPERATIONS) - {"getBalance"}),
    ],
    ids=["each read has words of its own", "one read succeeds"],
)
def test_reads_that_are_not_found_do_not_end_the_run(bank, tmp_path):
    """If reads are answered 404, a run still sends keys and codes, unless that is the 404 of undocumented paths.

    Here the 404 of each read has its own words, or one read succeeds. So base_url leads to the right service.
    """
    profile = profile_of_bank(tmp_path, transactions={"codes": [CODE]})
    started_journal(tmp_path)
    run_suite_in_memory(bank, profile, selected="executePix.status or registerPixKey.status")

    assert bank.paths_with_a_real_code != []
    assert bank.paths_of_changes_of_keys != []


def test_an_account_that_everything_refuses_is_named(tmp_path):
    """If each operation refuses an account of the profile, a note says which one: the second of two here.

    The note is the reason why the run is not green.
    """
    profile = profile_of_bank(tmp_path, allow=["read", "fuzz"], accounts=["ac-0001", "unknown"])
    run = run_suite_in_memory(FakeBank(), profile, selected="getBalance or listEntries", tests=ALL_TESTS)
    note = "number 2 of accounts: refused by every operation (404 application/json): check accounts"

    assert report_notes(run) == [note]
    assert str(result_of_run(run).why) == note


class ReadsEndInASlash(Service):
    """The sandbox, which redirects a read to the same path with a slash at its end."""

    def respond(self, request):
        if request.method == "GET" and not request.path.startswith("/v1/execute"):
            return Response(307, b"", (("Location", f"{request.path}/"),))
        return super().respond(request)


def test_redirected_reads_are_named_and_no_account(tmp_path):
    """If each read of two accounts is redirected, a note says which operations are, and where they lead.

    No account is named, although every operation refuses the second one: the first one, which the service accepts for
    registrations, gets the same redirects.
    """
    profile = profile_of_sandbox(tmp_path, accounts=["ac-0001", "ac-0002"])
    notes = report_notes(run_suite_in_memory(ReadsEndInASlash(), profile))
    redirected = [note for note in notes if "is redirected" in note]

    assert not [note for note in notes if "of accounts" in note]
    assert redirected == [
        "listPixKeys, listAccounts, getBalance and listEntries: every valid request is redirected, and no redirect is "
        "followed, because it would take the token along: it leads to the same path with a slash at its end, which the "
        "interface document does not have"
    ]


class SaysSuccessWithCode1(Service):
    """The sandbox, which says with the code 1 that a deletion or a read of an account succeeded."""

    def envelope(self, operation, data, code=0):
        is_success = operation in ("deletePixKey", "listPixKeys", "getBalance", "listEntries")
        return super().envelope(operation, data, 1 if is_success else code)


def test_a_code_that_may_say_success_is_named(tmp_path):
    """If an operation answers 200 with the code 1 to each valid request, a note has the line by which that is a success.

    So has the note on an account that every read refuses. With the line in the profile there is no note, and the run
    tests all that is in scope.
    """
    model = run_suite_in_memory(SaysSuccessWithCode1(), profile_of_sandbox(tmp_path))
    line = "set other_success_codes: [1] if this code says success"
    names = "deletePixKey, listPixKeys, getBalance and listEntries"
    only_reads = profile_of_sandbox(tmp_path, allow=["read"])
    reads = "listAccounts or getBalance or listEntries"
    model_of_reads = run_suite_in_memory(SaysSuccessWithCode1(), only_reads, selected=reads)
    with_the_line = profile_of_sandbox(tmp_path, other_success_codes=[1])
    model_with_the_line = run_suite_in_memory(SaysSuccessWithCode1(), with_the_line)

    assert f"{names}: 200 with code 1 counts as a refusal: {line}" in report_notes(model)
    assert any(note.endswith(f"check accounts; or {line}") for note in report_notes(model_of_reads))
    assert not [note for note in report_notes(model_with_the_line) if "other_success_codes" in note]
    assert result_of_run(model_with_the_line).verdict is RunVerdict.PARTIAL


def test_an_account_list_of_another_scope_keeps_the_verdict(tmp_path):
    """If only the list of accounts answers 401, the other operations are judged and pass, and the run is partial.

    It is not conformant, because the list of accounts was not tested: the token may lack a scope for it.
    """
    service = AcceptsTheTokenOnlyFor(*(name for name in operations() if name != "listAccounts"))
    verdict = result_of_run(run_suite_in_memory(service, profile_of_sandbox(tmp_path))).verdict

    assert verdict is RunVerdict.PARTIAL
