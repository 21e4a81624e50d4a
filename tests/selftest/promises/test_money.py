"""A transaction code moves money at most once in all runs, and only if the profile or the run itself supplied it.

An execution is a request with the code of a prepared transfer. With the valid token it moves the money. Its outcome is
unknown if no answer tells whether the money moved.

- `manual_run` is a run whose requests the test sends one by one.
- `guard.unknown_outcomes` has the numbers of the exchanges with an unknown outcome.
- `service.executions_with_valid_token` has the codes that arrived with the valid token.
- The journal is a file with the codes that runs sent, each with its outcome.
"""

import re
from itertools import product

import pytest
import requests

from environments.door.outgoing import Intent
from environments.door.permission import ForbiddenError
from environments.door.wrong_tokens import RESTORABLE_FORMS
from environments.profiles.model import ProfileError
from environments.sandbox import Response
from reports.result.run_verdict import result_of_run
from spec.interface import operations, operations_reached
from tests.harness.starting import code_to_resend, start_journal
from tests.selftest.services import trouble_with_money as trouble
from tests.selftest.services.one_run import (
    ALL_PERMISSIONS,
    CODE,
    HOW_TO_PREPARE,
    OTHER_CODE,
    FakeBank,
    ManualRun,
    profile_of_bank,
    profile_of_sandbox,
    profile_with_codes,
    report_notes,
    run_suite_in_memory,
    started_journal,
)
from tests.selftest.services.serving import real_codes_received, served_by
from tests.selftest.shared_runs import run_in_this_process
from tests.traffic.money.executions import Execution, answers_to_real_codes, executed_and_refused

ONLY_EXECUTIONS = "executePix.document or executePix.token.required"
THIRD_CODE = "SBX-CPF-1"
CODES = (CODE, OTHER_CODE, THIRD_CODE)
WRONG_TOKEN = "another-Tok3n.of-Nobody"


# -- sent once ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("proxied", [False, True], ids=["direct", "through a proxy"])
@served_by(
    trouble.NeverAnswersAnExecution, trouble.ResetsAnExecution, trouble.DropsAnExecution, trouble.GatewayTimesOut
)
def test_an_execution_without_an_answer_reaches_the_service_once(service, proxied, tmp_path):
    """An execution that gets no answer is sent once only: neither the suite nor its HTTP library sends it again.

    Nobody knows whether money moved, so the outcome is unknown. HTTP libraries tend to repeat a request if a connection
    that was kept alive turns out to be closed.
    """
    manual_run = ManualRun(service, tmp_path, proxied=proxied)
    manual_run.client.send("listAccounts")  # opens the connection, which is kept alive for the execution
    exchange = manual_run.execute()
    repeated = manual_run.execute()

    assert service.executions_with_valid_token == [CODE]
    assert manual_run.executions_of_unknown_outcome == [exchange.number]
    assert manual_run.outcomes_in_journal == ["sent", "unknown"]
    assert "is not sent again" in repeated.failure.message


@served_by(trouble.CutsAnExecutionShort)
def test_an_execution_whose_success_breaks_off_has_a_known_outcome(service, manual_run):
    """If only half of the answer to an execution arrives and its status is 200, the code counts as executed.

    It is not sent again, because its transfer is done.
    """
    exchange = manual_run.execute()
    repeated = manual_run.execute()

    assert exchange.response.status == 200
    assert exchange.response.broken
    assert repeated.response is None
    assert service.executions_with_valid_token == [CODE]
    assert manual_run.executions_of_unknown_outcome == []


@served_by(trouble.ExecutesAndBreaksA400Off)
def test_an_execution_whose_refusal_breaks_off_has_an_unknown_outcome(service, manual_run):
    """If only half of the answer to an execution arrives and its status is 400, nobody knows whether money moved.

    The part that did not arrive may be an execution result. So the code is not sent again.
    """
    exchange = manual_run.execute()
    repeated = manual_run.execute()

    assert exchange.response.status == 400
    assert exchange.response.broken
    assert repeated.response is None
    assert service.executions_with_valid_token == [CODE]
    assert manual_run.executions_of_unknown_outcome == [exchange.number]


CONTRADICTIONS = (trouble.ExecutesAndAnswers400, trouble.ExecutesAndAnswers409, trouble.ExecutesAndAnswersCode1)
"""Services that execute a code and answer that it is refused. Nevertheless the answer has the execution result."""


@served_by(*CONTRADICTIONS)
def test_a_refusal_that_carries_a_result_bars_the_code(service, manual_run, tmp_path):
    """After a refusal with an execution result no later run sends the code, because its transfer may be executed.

    The option --resend-code, which asks a run to send a code again, is refused, too. That stays so after a person has
    settled the entry in the journal. (To settle an entry means to say that the outcome was looked up at the bank.)
    """
    profile = profile_of_bank(tmp_path, transactions={"codes": [CODE]})

    def error_after_a_later_run():
        """Try to execute the code in a later run. Returns the error of --resend-code."""
        ManualRun(service, tmp_path, name="later", codes_to_resend={CODE}).execute()
        with pytest.raises(ProfileError) as caught:
            code_to_resend(profile, CODE)
        return str(caught.value)

    exchange = manual_run.execute()
    error_before_settling = error_after_a_later_run()
    started_journal(tmp_path).write(CODE, "settled")
    error_after_settling = error_after_a_later_run()

    assert service.executions_with_valid_token == [CODE]
    assert manual_run.executions_of_unknown_outcome == [exchange.number]
    assert manual_run.outcomes_in_journal[:2] == ["sent", "unknown"]
    for error in (error_before_settling, error_after_settling):
        assert error.startswith("--resend-code: this code was sent at 20")  # the year of the execution
        assert "it may have moved money, so it is not sent again" in error


@served_by(trouble.ExecutesAndAnswers400, trouble.ExecutesAndAnswers409)
def test_a_refusal_with_the_status_done_counts_as_executed_if_no_request_had_the_code_before(service, tmp_path):
    """A refusal whose result has the status DONE says that the transfer is executed: by this request, if it is the first.

    The run prepares two codes, and sends wrong tokens with the second one only. So the request with the valid token is
    the first one with the first code, which counts as executed. The second code may have been executed by a wrong token,
    so its outcome is unknown.
    """
    manual_run = ManualRun(service, tmp_path)
    log = manual_run.execute_all(profile_with_codes(tmp_path, [], prepare=HOW_TO_PREPARE | {"count": 2}))
    answer_to_first_code, _ = answers_to_real_codes(log)

    assert manual_run.door.guard.executed == 1
    assert len(manual_run.executions_of_unknown_outcome) == 1
    assert executed_and_refused(log) == [answer_to_first_code]
    assert manual_run.outcomes_in_journal == ["sent", "success", "sent", "unknown"]


@served_by(trouble.ExecutesAndAnswers400, trouble.ExecutesAndAnswers409)
def test_a_refusal_with_the_status_done_of_the_only_code_has_an_unknown_outcome(service, tmp_path):
    """If a run has a single code, it sends wrong tokens with it before its execution, and one may have executed it.

    So a refusal of the execution whose result has the status DONE does not say which request executed the transfer.
    """
    manual_run = ManualRun(service, tmp_path)
    log = manual_run.execute_all(profile_with_codes(tmp_path, [], prepare=HOW_TO_PREPARE | {"count": 1}))

    assert executed_and_refused(log) == []
    assert manual_run.outcomes_in_journal == ["sent", "unknown"]


def bank_that_contradicts_itself(kind):
    """A service in this process that executes a code and answers that it is refused.

    `kind` is one of CONTRADICTIONS, which do the same over sockets.
    """

    class Contradicts(FakeBank):
        """The sandbox in memory, with the contradicting answers of that service."""

        def execute(self, request):
            """Execute a code, and answer that it is refused."""
            return kind.contradicting(self.respond(request))

    return Contradicts()


@pytest.mark.parametrize("kind", CONTRADICTIONS)
def test_the_report_counts_transfers_that_may_have_been_executed(kind, tmp_path):
    """The report counts an execution whose refusal has a result, because its transfer may be executed nevertheless.

    For each such execution an alert says that its outcome is unknown. After two unknown outcomes in a row no code is
    sent, so the third code of the profile is left for the next run. No note advises to send a code again.
    """
    profile = profile_of_bank(tmp_path, transactions={"codes": list(CODES)})
    start_journal(profile)
    first_bank = bank_that_contradicts_itself(kind)
    second_bank = bank_that_contradicts_itself(kind)
    first_run = run_suite_in_memory(first_bank, profile, selected="executePix")
    second_run = run_suite_in_memory(second_bank, profile, selected="executePix")
    alerts = [note for note in report_notes(first_run) if note.startswith("OUTCOME UNKNOWN")]

    notes_of_both_runs = [*report_notes(first_run), *report_notes(second_run)]

    assert first_bank.executions_with_valid_token == [CODE, OTHER_CODE]
    assert second_bank.executions_with_valid_token == [THIRD_CODE]
    assert first_run.executions == first_run.unknown_outcomes == len(alerts) == 2
    assert [alert for alert in alerts if "it may have moved money" not in alert] == []
    assert "resend" not in str(notes_of_both_runs)


@pytest.mark.parametrize(
    ("kind", "is_failure", "known_executions"),
    [
        (trouble.ExecutesAndAnswers400, True, 1),
        (trouble.ExecutesAndAnswers409, True, 1),
        (trouble.ExecutesAndAnswersCode1, False, 0),  # its result is PENDING
    ],
)
def test_a_refusal_with_the_status_done_fails_the_requirement_of_the_status(
    kind, is_failure, known_executions, tmp_path
):
    """If a refusal has a result with the status DONE, the requirement that an execution is answered with 200 fails.

    The run prepares its codes itself, so no earlier request can have executed the first one. If the status of the result
    is not DONE, nobody knows whether the transfer was executed, and the requirement does not fail. All other executions
    have unknown outcomes.
    """
    profile = profile_of_bank(tmp_path, transactions={"prepare": HOW_TO_PREPARE | {"count": 3}})
    run = run_suite_in_memory(bank_that_contradicts_itself(kind), profile, selected="executePix")
    verdicts = {row.id: result.verdict for row, result in result_of_run(run).results}

    assert (verdicts["executePix.status"] == "fail") is is_failure
    assert run.executions == run.unknown_outcomes + known_executions
    assert "resend" not in str(report_notes(run))


@served_by(trouble.RedirectsToAnExecution)
def test_a_redirected_execution_is_not_followed(service, manual_run):
    """A redirect to the execution of a code is not followed, so the suite executes no code because a service says so.

    This service redirects each request in that way. The code arrives once: with the execution that the test itself
    sends, and not with the list of accounts.
    """
    answer_to_list = manual_run.client.send("listAccounts")
    answer_to_execution = manual_run.execute()

    assert (answer_to_list.response.status, answer_to_execution.response.status) == (307, 307)
    assert service.executions_with_valid_token == [CODE]


@served_by(trouble.SlowsAnExecutionDown)
def test_an_execution_that_is_answered_429_is_not_sent_again(service, manual_run):
    """An execution that is answered 429, which asks the client to come later, is not sent again.

    The next code is executed, and no outcome is unknown, because a 429 is a refusal.
    """
    first = manual_run.execute()
    repeated = manual_run.execute()
    with_another_code = manual_run.execute(OTHER_CODE)

    assert first.response.status == 429
    assert repeated.response is None
    assert with_another_code.response.status == 200
    assert service.executions_with_valid_token == [CODE, OTHER_CODE]
    assert manual_run.executions_of_unknown_outcome == []


@served_by(trouble.NeverAnswersARefusal, trouble.BreaksOnARefusal)
def test_a_wrong_token_without_an_answer_spends_the_code(service, manual_run, tmp_path):
    """If a code was sent with a wrong token and the answer is missing or a 500, no run sends it with the valid token.

    The service may have executed the code although the token was wrong.
    """
    with_wrong_token = manual_run.execute(credential="a wrong token (of a JWT: another signature)")
    manual_run.execute()
    ManualRun(service, tmp_path, name="two").execute()

    assert manual_run.executions_of_unknown_outcome == [with_wrong_token.number]
    assert service.executions_with_valid_token == []


@served_by(trouble.BreaksOnARefusal)
def test_a_500_to_a_wrong_token_costs_one_code(service, tmp_path):
    """If a service answers 500 to wrong tokens, which leaves the outcome unknown, only one of three codes is lost by it.

    The first code is executed before any wrong token is sent. The second one is sent with a wrong token first, and is
    lost. So the third one is sent with the valid token only, and executed.
    """
    manual_run = ManualRun(service, tmp_path)
    log = manual_run.execute_all(profile_with_codes(tmp_path, CODES))
    [with_wrong_token] = log.sent("executePix", Execution.UNAUTHORIZED_BEFORE_EXECUTION)
    statuses_of_executions = [answer.response.status for answer in answers_to_real_codes(log)]

    assert service.executions_with_valid_token == [CODE, THIRD_CODE]
    assert manual_run.executions_of_unknown_outcome == [with_wrong_token.number]
    assert statuses_of_executions == [200, 200]


@served_by(trouble.RedirectsARefusal)
def test_a_redirect_of_a_wrong_token_costs_no_code(service, tmp_path):
    """If a service redirects a wrong token to a login page, each code is executed afterwards with the valid token.

    Such a redirect is a refusal, so the wrong token executed nothing.
    """
    manual_run = ManualRun(service, tmp_path)
    manual_run.execute_all(profile_with_codes(tmp_path, CODES))

    assert service.executions_with_valid_token == list(CODES)
    assert manual_run.executions_of_unknown_outcome == []


@pytest.mark.parametrize(
    ("is_sandbox", "unknown_outcomes", "is_permitted"),
    [(False, [], False), (True, [], True), (True, [1], False)],
    ids=["no sandbox", "a sandbox", "a sandbox, and an outcome is unknown"],
)
def test_a_code_is_executed_a_second_time_on_a_sandbox_only(
    is_sandbox, unknown_outcomes, is_permitted, service, tmp_path
):
    """Only on a sandbox, where money is worth nothing, a code may be executed a second time, and never a third time.

    If the outcome of any execution is unknown, it may not be executed a second time either.
    """
    manual_run = ManualRun(service, tmp_path, has_journal=not is_sandbox)  # only a sandbox has no journal
    manual_run.execute()
    manual_run.door.guard.unknown_outcomes += unknown_outcomes
    permission = manual_run.door.guard.permit_again(CODE)
    second_exchange = manual_run.execute()
    third_exchange = manual_run.execute()

    assert permission is is_permitted
    assert bool(second_exchange.response) is is_permitted
    assert third_exchange.response is None


class RefusesExecutionsWith404(FakeBank):
    """Answers each execution with the valid token with 404."""

    def execute(self, request):
        """The answer to an execution: 404. Nothing is executed."""
        return Response(404, b"")


CODES_OF_PROFILE = {"codes": [CODE, OTHER_CODE]}
CODES_OF_PROFILE_AND_PREPARED_ONES = {"codes": [CODE, OTHER_CODE], "prepare": HOW_TO_PREPARE}


@pytest.mark.parametrize(
    ("profile_of", "transactions", "is_asked"),
    [
        (profile_of_sandbox, CODES_OF_PROFILE, True),
        (profile_of_sandbox, CODES_OF_PROFILE_AND_PREPARED_ONES, False),
        (profile_of_bank, CODES_OF_PROFILE, False),
    ],
    ids=["a sandbox", "a sandbox, and prepared codes are refused, too", "a bank"],
)
def test_a_sandbox_asks_whether_an_earlier_run_executed_its_codes(profile_of, transactions, is_asked, tmp_path):
    """If a sandbox refuses all codes of the profile, a note asks if an earlier run executed them.

    A run on a sandbox keeps no journal of the codes that it sent. The note does not ask if codes that the run itself
    prepared are refused, too, because no earlier run had these. It does not ask at a bank, because the journal would know.
    """
    profile = profile_of(tmp_path, transactions=transactions)
    if not profile.is_sandbox:
        start_journal(profile)
    run = run_suite_in_memory(RefusesExecutionsWith404(), profile, "executePix")
    notes_on_refused_codes = str([note for note in report_notes(run) if "refused" in note])
    question = "did an earlier run execute these codes? transactions.prepare makes new codes for each run"

    assert (question in notes_on_refused_codes) is is_asked


# -- only what was supplied, and is permitted -----------------------------------------------------------------------


def requests_let_through(manual_run, service, paths, methods=("GET",)):
    """Send a request with each method to each path, through the door. The door checks every request of a run.

    Returns the pairs of method and path that the door did not refuse, and the requests that arrived at the service. The
    list is empty if the door refused everything.
    """
    let_through = []
    for method, path in product(methods, paths):
        request = requests.Request(method, service.base_url + path).prepare()
        request.url = service.base_url + path  # as it is, because `prepare` tidies the path up
        try:
            manual_run.door.send(request, Intent(""))
        except ForbiddenError:
            continue
        let_through.append((method, path))
    return let_through + service.received


def test_a_code_that_nobody_supplied_is_not_sent(service, manual_run):
    """No request executes a code that neither the profile nor the run supplied, however its path is written.

    TX9 is such a code here, and a lenient server may read each of these paths as its execution; the last one may lead to
    another host. All requests of a run go through the door, which refuses these.
    """
    paths = (
        "/v1/execute/pix/TX9", "/V1/EXECUTE/PIX/TX9", "/v1/execute//pix/TX9", "/v1/execute/pix/TX9/",
        "/v1/%65xecute/pix/TX9", "/v1/pixconf-/../execute/pix/TX9", "/v1/execute/pix/pixconf-1%2F..%2FTX9",
        f"/v1/execute/pix/{CODE}%2F..%2FTX9", "@127.0.0.2:1/v1/accounts",
    )  # fmt: skip

    assert requests_let_through(manual_run, service, paths, ("GET", "HEAD", "POST")) == []


@pytest.mark.parametrize(
    ("missing_permission", "method", "path"),
    [
        ("execute", "GET", f"/v1/execute/pix/{CODE}"),
        ("execute", "HEAD", f"/v1/accounts/../execute/pix/{CODE}"),
        ("create-pix", "POST", "/v1/pix/keys/%2e%2e"),
        ("read", "GET", "/v1/accounts"),
    ],
)
def test_permission_is_decided_on_the_final_path(missing_permission, method, path, service, tmp_path):
    """A request whose path may lead to an operation is not sent if the run lacks the permission for that operation.

    A server may understand `..`, and `%2e%2e`, as the folder above, so that `/v1/pix/keys/%2e%2e` leads to `/v1/pix`.
    """
    manual_run = ManualRun(service, tmp_path, allow=ALL_PERMISSIONS - {missing_permission})

    assert requests_let_through(manual_run, service, [path], [method]) == []


def test_a_token_that_can_be_restored_needs_fuzz(service, tmp_path):
    """A wrong token from which the valid token can be restored is not sent without the permission `fuzz`.

    Such a wrong token is made from the valid one. A service may write it to a log, where somebody could read it.
    """
    manual_run = ManualRun(service, tmp_path, allow=ALL_PERMISSIONS - {"fuzz"})
    any_restorable_form = min(RESTORABLE_FORMS)

    with pytest.raises(ForbiddenError, match="needs fuzz in allow"):
        manual_run.execute(credential=any_restorable_form)


def permissions_used_by_run(bank, profile):
    """The permissions of the operations to which a whole run with this profile sent requests, such as {"read"}.

    The run must end without an error of the suite.
    """
    run = run_suite_in_memory(bank, profile)
    assert result_of_run(run).verdict in ("partial", "incomplete")
    assert not run.errors
    names_of_operations = set()
    for request in bank.received:
        names_of_operations |= operations_reached(request.method, request.path)
    return {operations()[name].permission for name in names_of_operations}


@pytest.mark.parametrize("permission", sorted(ALL_PERMISSIONS - {"fuzz"}))
def test_with_one_permission_a_run_reaches_the_operations_of_that_permission_alone(permission, tmp_path):
    """If the profile allows one permission, a run reaches the operations of that permission, and no other operation.

    `fuzz`, the permission for invalid requests, is allowed, too.
    """
    profile = profile_of_sandbox(tmp_path, allow=[permission, "fuzz"])

    assert permissions_used_by_run(FakeBank(), profile) == {permission}


def test_with_fuzz_alone_a_run_reaches_no_operation(tmp_path):
    """`fuzz` is the permission for invalid requests. It reaches no operation without the permission of the operation."""
    profile = profile_of_sandbox(tmp_path, allow=["fuzz"])

    assert permissions_used_by_run(FakeBank(), profile) == set()


# -- a refused token, and unknown outcomes --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("codes", "codes_sent", "number_of_preparations"),
    [(CODES, [CODE], 0), ((), [], 1)],
    ids=["with codes in the profile", "without"],
)
def test_with_a_wrong_token_at_most_one_code_is_sent(codes, codes_sent, number_of_preparations, service, tmp_path):
    """If the token of the profile is wrong, a run sends no further code after the first 401.

    It prepares no transfer then, either. If the profile has no codes, the first preparation of a transfer gets the 401.
    """
    manual_run = ManualRun(service, tmp_path, token=WRONG_TOKEN)
    manual_run.execute_all(profile_with_codes(tmp_path, codes, prepare=HOW_TO_PREPARE))
    preparations = [request for request in service.received if request.path == "/v1/pix"]

    assert real_codes_received(service) == [(code, f"Bearer {WRONG_TOKEN}") for code in codes_sent]
    assert len(preparations) == number_of_preparations


@served_by(trouble.RefusesEveryExecution, trouble.RefusesEveryExecutionIn200)
def test_executions_end_with_the_second_401(service, manual_run):
    """After a 401 to an execution no code is sent until the service accepts a new token. A second 401 ends all executions.

    A new token counts as accepted once a read succeeds with it. The suite itself sends that read before the execution.
    This service answers 401 to each execution, and accepts its token for reads.
    """

    def execute_with_new_token(code, token):
        """Execute a code with a token that the service accepts from now on for reads."""
        service.sandbox.token = token
        manual_run.secrets.learn_token(token)
        return manual_run.execute(code)

    manual_run.secrets.learn("code", *CODES)
    manual_run.client.send("listAccounts", valid=True)
    manual_run.execute(CODE)  # the first 401
    unsent = [manual_run.execute(OTHER_CODE), manual_run.execute(OTHER_CODE, credential="no header")]
    manual_run.secrets.learn_token("a-token-that-the-service-does-not-know")
    unsent.append(manual_run.execute(OTHER_CODE))  # the read with this token is refused
    execute_with_new_token(CODE, "first.Tok-4n.Of-The_Service")  # not sent, because CODE was sent before
    execute_with_new_token(OTHER_CODE, "second.Tok-4n.Of-The_Service")  # sent: the second 401
    execute_with_new_token(THIRD_CODE, "third.Tok-4n.Of-The_Service")  # not sent, because of the second 401
    message = "an execution was answered 401: no more codes are sent with this token"

    assert {exchange.failure.message for exchange in unsent} == {message}
    assert [code for code, _ in real_codes_received(service)] == [CODE, OTHER_CODE]
    assert manual_run.outcomes_in_journal == ["sent", "refused", "sent", "refused"]


@pytest.mark.parametrize("status", [None, 500, 302], ids=["no answer", "500", "302"])
def test_after_two_unknown_outcomes_in_a_row_no_code_is_sent(status, tmp_path):
    """After two executions in a row whose outcome is unknown, the third code is not sent.

    This service executes each code, and its answer does not say so. Both executions count as made. The report begins
    with an alert for each, and says why no further code was sent.
    """
    bank = FakeBank()

    def execute_without_saying_so(request):
        """Execute a code, and answer with the status alone; None, which drops the connection, without a status."""
        bank.respond(request)
        return Response(status, b"") if status else None

    bank.execute = execute_without_saying_so
    profile = profile_of_bank(tmp_path, transactions={"codes": list(CODES)})
    start_journal(profile)
    run = run_suite_in_memory(bank, profile, selected=ONLY_EXECUTIONS)
    codes_sent = {code for code, _ in real_codes_received(bank)}
    first_note, second_note, *other_notes = report_notes(run)

    assert bank.executions_with_valid_token == [CODE, OTHER_CODE]
    assert codes_sent == {CODE, OTHER_CODE}
    assert run.executions == 2
    assert first_note.startswith("OUTCOME UNKNOWN of exchange ")
    assert second_note.startswith("OUTCOME UNKNOWN of exchange ")
    assert "OUTCOME UNKNOWN" not in str(other_notes)
    assert "in a row is unknown: no further transaction code was sent" in str(other_notes)


# -- the limit of executions ----------------------------------------------------------------------------------------


@served_by(trouble.ExecutesForAnybody)
def test_a_code_that_was_executed_without_the_token_is_not_sent_again(service, manual_run, tmp_path):
    """A code that a request without the valid token executed is sent again neither by this run nor by a later one.

    This service checks no token. So the second code, which is sent with wrong tokens first, is executed at once. It
    counts as one of three executions. The third code is sent with the valid token alone.
    """
    manual_run.execute_all(profile_with_codes(tmp_path, CODES))
    ManualRun(service, tmp_path, name="two").execute(OTHER_CODE)

    assert [code for code, _ in real_codes_received(service)] == list(CODES)
    assert service.executions_with_valid_token == [CODE, THIRD_CODE]
    assert manual_run.door.guard.executions == 3


@served_by(trouble.ExecutesForAnybody)
def test_an_execution_without_a_token_counts_against_limits_executions(service, tmp_path):
    """If a service executes a code without a token, that execution counts against limits.executions.

    So with a limit of 1 the next code, with the valid token, is not sent.
    """
    manual_run = ManualRun(service, tmp_path, executions=1)
    manual_run.execute(CODE, credential="no header")
    with_valid_token = manual_run.execute(OTHER_CODE)

    assert str(with_valid_token.failure.message) == "limits.executions (1) is spent"
    assert service.executions_with_valid_token == []


def test_only_executed_codes_count_against_limits_executions(tmp_path):
    """Only codes that a run itself executes count against its limits.executions.

    With a limit of 1, each of three runs executes the next one of three codes. Requests with a code and a wrong token do
    not count, and neither do codes that earlier runs executed. A note says how many codes a run leaves out. The last run
    leaves out none.
    """
    profile = profile_of_bank(tmp_path, transactions={"codes": list(CODES)}, limits={"executions": 1, "requests": 400})
    start_journal(profile)
    bank = FakeBank()
    runs = [run_suite_in_memory(bank, profile, selected=ONLY_EXECUTIONS) for _ in CODES]
    notes_on_codes_left_out = [note for run in runs for note in report_notes(run) if "leaves out" in note]
    wrong_tokens_received = len(real_codes_received(bank)) - len(bank.executions_with_valid_token)

    assert bank.executions_with_valid_token == list(CODES)
    assert [run.executions for run in runs] == [1, 1, 1]
    assert wrong_tokens_received > 3
    assert notes_on_codes_left_out == [
        "limits.executions (1) leaves out 2 of 3 transaction codes: not all requests to executePix were sent",
        "limits.executions (1) leaves out 1 of 2 transaction codes: not all requests to executePix were sent",
    ]


# -- prepared transfers are not forgotten ---------------------------------------------------------------------------


def run_that_prepares(bank, folder, only=ONLY_EXECUTIONS, **changes):
    """Run the suite with a profile that prepares a transfer.

    Returns two lists: the notes of the report, and its lines about transfers that were not executed. `only` is an
    expression of -k. `changes` are changes of transactions.prepare in the profile.
    """
    transactions = {"prepare": HOW_TO_PREPARE | changes}
    profile = profile_of_bank(folder, transactions=transactions, requests=None)
    run = run_suite_in_memory(bank, profile, selected=only)
    lines_about_transfers = [str(line) for line in run.transfers_not_executed]
    return report_notes(run), lines_about_transfers


class Declines(FakeBank):
    """Declines instead of refusing: it answers 200 and code 0, and says `Success: "false"` in the data."""

    def refusal(self, refusal):
        """The answer to any request that the sandbox refuses: a success whose member Success is "false"."""
        return self.render(200, self.envelope(None, {"Success": "false", "Message": ""}))


def test_transfers_that_were_perhaps_declined_are_counted(tmp_path):
    """Transfers that were answered 200 with `Success: "false"` are counted in one line of the report, not one line each.

    The interface document does not say that such an answer declines a transfer. So each of these transfers may exist at
    the bank, and wait for its execution.
    """
    profile = profile_of_sandbox(tmp_path, allow=["read", "transfer", "fuzz"])
    run = run_suite_in_memory(Declines(), profile, selected="transferInternal")
    [line_of_declined] = [str(line) for line in run.not_cleaned_up_in_words if "Success" in str(line)]

    assert re.match(
        r"\d+ transfers \(exchanges \d+, \d+, \d+ and \d+ more\), each not executed: the answer", line_of_declined
    )


def test_the_first_note_says_that_code_at_matches_nothing(tmp_path):
    """If code_at of the profile points to no member, the first note says so, and names the members that the answer has.

    code_at says where the transaction code is in the answer that prepares a transfer. The note gives types, and no
    value. Instead of three transfers only one is prepared, and the report lists it as not executed.
    """
    bank = FakeBank()
    [first_note, *_], not_executed = run_that_prepares(bank, tmp_path, code_at="/data/id", count=3)
    number = first_note.partition("(exchange ")[2].partition(")")[0]

    assert first_note == (
        "transactions.prepare.code_at (/data/id) matches no text and no number in the answer to createPix (exchange "
        f"{number}), which holds /code number, /data/date number, /data/status string, /data/transactionId "
        "string, /data/value number: correct code_at; the transfer is not executed"
    )
    assert not_executed == [f"1 transfer (exchange {number}), not executed: no code at transactions.prepare.code_at"]


class AnswersCreatePixWithoutData(FakeBank):
    """Answers createPix, which prepares a transfer, with 200 and the code 200, and without data."""

    def finish(self, request, operation, response):
        """The answer of the sandbox, or an answer without data to createPix."""
        return Response(200, b'{"code": 200}') if operation == "createPix" else response


def test_an_answer_that_holds_no_code_is_no_fault_of_the_profile(tmp_path):
    """If the answer that prepares a transfer has no data, no note advises to correct code_at of the profile.

    code_at says where the transaction code is in that answer, and no other value would help here. The message of a
    requirement of executePix says how the service answered.
    """
    profile = profile_of_bank(tmp_path, transactions={"prepare": HOW_TO_PREPARE})
    run = run_suite_in_memory(AnswersCreatePixWithoutData(), profile, selected="executePix.json")
    messages = [str(result.message) for _, result in result_of_run(run).results if result.message]
    first_message, *_ = messages

    assert "no transfer was prepared: 200 with code 200, not 0" in first_message
    assert "code_at" not in str(report_notes(run))


def test_nothing_is_listed_as_left_on_the_embedded_sandbox():
    """A run against the embedded sandbox lists nothing to clean up, because the sandbox ends with the run."""
    result = run_in_this_process("--environment=sandbox", "--no-report", "-k", "createPix.exists")

    assert "not cleaned up" not in result.output


@pytest.mark.parametrize(
    ("execute", "selected", "reasons_in_the_report"),
    [
        (lambda _: Response(404, b""), ONLY_EXECUTIONS, ["its execution was refused (404 without a media type)"]),
        (lambda _: None, ONLY_EXECUTIONS, []),
        (None, ONLY_EXECUTIONS, []),
        (None, "createPix.shape", ["its code was not sent"]),
    ],
    ids=["refused", "unknown", "executed", "not selected"],
)
def test_a_transfer_that_was_not_executed_is_listed(execute, selected, reasons_in_the_report, tmp_path):
    """The report lists a transfer that the run prepared and did not execute, with the reason: somebody may execute it.

    A transfer that was executed, or whose outcome is unknown because the service did not answer, is not listed.
    """
    bank = FakeBank()
    bank.execute = execute or bank.execute
    _, not_executed = run_that_prepares(bank, tmp_path, selected)

    assert [line.partition("not executed: ")[2] for line in not_executed] == reasons_in_the_report
