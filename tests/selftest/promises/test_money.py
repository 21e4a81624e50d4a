"""A transaction code moves money at most once in all runs, and only if the profile or the run itself supplied it.

An execution is a request with a code of a prepared transfer; with the valid token it moves the money. Its outcome is
unknown if no answer tells whether it did. `manual_run` is a run whose requests the test sends one by one.
`guard.unknown` has the numbers of the exchanges with an unknown outcome. `service.executions` has the codes that
arrived with the valid token.
"""

import json
import re
from itertools import product

import pytest
import requests

from environments.door.outgoing import Intent
from environments.door.permission import ForbiddenError
from environments.door.wrong_tokens import RESTORABLE
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
    UNUSED_ADDRESS,
    FakeBank,
    ManualRun,
    profile_off_sandbox,
    report_notes,
    run_suite_in_memory,
    sandbox_profile,
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
    """Neither the suite nor its HTTP library sends the code again, and the outcome is unknown.

    This holds on a connection that is kept alive, and through a proxy.
    """
    manual_run = ManualRun(service, tmp_path, proxied=proxied)
    manual_run.client.send("listAccounts")  # opens the connection, which is kept alive for the execution
    exchange = manual_run.execute()
    repeated = manual_run.execute()

    assert service.executions == [CODE]
    assert manual_run.door.guard.unknown == [exchange.number]
    assert manual_run.outcomes_in_journal == ["sent", "unknown"]
    assert "is not sent again" in repeated.failure.message


@served_by(trouble.CutsAnExecutionShort)
def test_an_execution_whose_success_breaks_off_has_a_known_outcome(service, manual_run):
    """Half of the answer arrived, and its status line says 200. The code is not sent again."""
    exchange = manual_run.execute()
    repeated = manual_run.execute()

    assert exchange.response.status == 200
    assert exchange.response.broken
    assert repeated.response is None
    assert service.executions == [CODE]
    assert manual_run.door.guard.unknown == []


@served_by(trouble.ExecutesAndBreaksA400Off)
def test_an_execution_whose_refusal_breaks_off_has_an_unknown_outcome(service, manual_run):
    """The part of the 400 that did not arrive may be an execution result. The code is not sent again."""
    exchange = manual_run.execute()
    repeated = manual_run.execute()

    assert exchange.response.status == 400
    assert exchange.response.broken
    assert repeated.response is None
    assert service.executions == [CODE]
    assert manual_run.door.guard.unknown == [exchange.number]


# services that execute and refuse: the refusal has the result of the execution
CONTRADICTIONS = (trouble.ExecutesAndAnswers400, trouble.ExecutesAndAnswers409, trouble.ExecutesAndAnswersCode1)


@served_by(*CONTRADICTIONS)
def test_a_refusal_that_carries_a_result_bars_the_code(service, manual_run, tmp_path):
    """After a refusal with an execution result no later run sends the code, because its transfer may be executed.

    --resend-code, which asks to send a code again, is refused for it. That is so before and after a person settled the
    entry in the journal, which says that the person has looked the outcome up.
    """
    profile = profile_off_sandbox(tmp_path, transactions={"codes": [CODE]})
    exchange = manual_run.execute()
    refusals = []
    for _ in range(2):
        ManualRun(service, tmp_path, name="two", resend={CODE}).execute()
        with pytest.raises(ProfileError) as caught:
            code_to_resend(profile, CODE)
        refusals.append(str(caught.value))
        started_journal(tmp_path).write(CODE, "settled")

    assert service.executions == [CODE]
    assert manual_run.door.guard.unknown == [exchange.number]
    assert manual_run.outcomes_in_journal[:2] == ["sent", "unknown"]
    assert {refusal.partition(" at 20")[0] for refusal in refusals} == {"--resend-code: this code was sent"}
    assert all("it may have moved money, so it is not sent again" in refusal for refusal in refusals)


@served_by(trouble.ExecutesAndAnswers400, trouble.ExecutesAndAnswers409)
def test_a_refusal_with_the_status_done_counts_as_executed_if_the_code_was_sent_to_nobody_before(service, tmp_path):
    """The service refuses each execution, with a result whose status is DONE. Codes are prepared by the runs.

    The first run has two codes. The first code goes with the valid token at once, so that request executed it. The
    second code goes with wrong tokens before: one of them may have executed it, so the outcome is unknown. So it is
    with the only code of the second run.
    """
    manual_run = ManualRun(service, tmp_path)
    log = manual_run.execute_all(sandbox_profile(tmp_path, [], prepare=HOW_TO_PREPARE | {"count": 2}))
    log_of_single_code = ManualRun(service, tmp_path, name="two").execute_all(
        sandbox_profile(tmp_path, [], prepare=HOW_TO_PREPARE)
    )

    assert manual_run.door.guard.executed == 1
    assert len(manual_run.door.guard.unknown) == 1
    assert executed_and_refused(log) == answers_to_real_codes(log)[:1]
    assert executed_and_refused(log_of_single_code) == []
    # the two codes of the first run, and the one of the second
    assert manual_run.outcomes_in_journal == ["sent", "success", "sent", "unknown", "sent", "unknown"]


def bank_that_contradicts_itself(kind):
    """A service in this process that executes and refuses as this service over sockets does."""

    class Contradicts(FakeBank):
        def execute(self, request):
            answer = self.respond(request)
            envelope = json.loads(answer.body)
            envelope["data"] |= kind.changes.get("data", {})
            body = json.dumps(envelope | {"code": kind.changes.get("code", 400)}).encode()
            return Response(kind.status, body, answer.headers)

    return Contradicts()


@pytest.mark.parametrize("kind", CONTRADICTIONS)
def test_the_report_counts_transfers_that_may_have_been_executed(kind, tmp_path):
    """Two codes of the profile are sent, and the service refuses both with a result. The report counts both.

    An alert for each says that its outcome is unknown. After two unknown outcomes in a row no code is sent, so the third
    one is left for the next run. No note advises to send a code again with --resend-code.
    """
    profile = profile_off_sandbox(tmp_path, transactions={"codes": list(CODES)})
    start_journal(profile)
    first_bank = bank_that_contradicts_itself(kind)
    second_bank = bank_that_contradicts_itself(kind)
    first_run = run_suite_in_memory(first_bank, profile, "executePix")
    second_run = run_suite_in_memory(second_bank, profile, "executePix")
    alerts = [note for note in report_notes(first_run) if note.startswith("OUTCOME UNKNOWN")]

    assert first_bank.executions == [CODE, OTHER_CODE]
    assert second_bank.executions == [THIRD_CODE]
    assert first_run.executions == first_run.unknown_outcomes == len(alerts) == 2
    assert [alert for alert in alerts if "it may have moved money" not in alert] == []
    assert "resend" not in str([*report_notes(first_run), *report_notes(second_run)])


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
    """The run prepares its codes itself, so it knows that the first execution was made. Its answer should be 200.

    If the result is not DONE, nobody knows whether the transfer was executed, and the requirement does not fail. All
    other executions of the run have unknown outcomes.
    """
    profile = profile_off_sandbox(tmp_path, transactions={"prepare": HOW_TO_PREPARE | {"count": 3}})
    run = run_suite_in_memory(bank_that_contradicts_itself(kind), profile, "executePix")
    verdicts = {row.id: result.verdict for row, result in result_of_run(run).results}

    assert (verdicts["executePix.status"] == "fail") is is_failure
    assert run.executions == run.unknown_outcomes + known_executions
    assert "resend" not in str(report_notes(run))


@served_by(trouble.RedirectsToAnExecution)
def test_a_redirected_execution_is_not_followed(service, manual_run):
    """The service redirects each request to the execution of a code. No redirect is followed, so no money moves.

    The code arrives once: with the execution that the test itself sends.
    """
    answers = [manual_run.client.send("listAccounts"), manual_run.execute()]

    assert [answer.response.status for answer in answers] == [307, 307]
    assert service.executions == [CODE]


@served_by(trouble.SlowsAnExecutionDown)
def test_an_execution_that_is_answered_429_is_not_sent_again(service, manual_run):
    """429 asks the client to come later. The code that got it is not sent again, and the next code is executed."""
    exchanges = [manual_run.execute(), manual_run.execute(), manual_run.execute(OTHER_CODE)]

    assert [exchange.response and exchange.response.status for exchange in exchanges] == [429, None, 200]
    assert service.executions == [CODE, OTHER_CODE]
    assert manual_run.door.guard.unknown == []


@served_by(trouble.NeverAnswersARefusal, trouble.BreaksOnARefusal)
def test_a_wrong_token_without_an_answer_spends_the_code(service, manual_run, tmp_path):
    """A code goes with a wrong token, and the service answers nothing, or 500.

    It may have executed the code, so neither this run nor a later one sends it with the valid token.
    """
    offer = manual_run.execute(credential="a wrong token (of a JWT: another signature)")
    manual_run.execute()
    ManualRun(service, tmp_path, name="two").execute()

    assert manual_run.door.guard.unknown == [offer.number]
    assert service.executions == []


@served_by(trouble.BreaksOnARefusal)
def test_a_500_to_a_wrong_token_costs_one_code(service, tmp_path):
    """The service answers 500 to wrong tokens, which leaves the outcome unknown. Only one of three codes is lost by it.

    The first code is executed before any wrong token is sent. The second one is offered, which means that it is sent
    with a wrong token first, and is lost. So the third one is executed without being offered.
    """
    manual_run = ManualRun(service, tmp_path)
    log = manual_run.execute_all(sandbox_profile(tmp_path, CODES))
    [lost_offer] = log.sent("executePix", Execution.UNAUTHORIZED_BEFORE_EXECUTION)

    assert service.executions == [CODE, THIRD_CODE]
    assert manual_run.door.guard.unknown == [lost_offer.number]
    assert [answer.response.status for answer in answers_to_real_codes(log)] == [200, 200]


@served_by(trouble.RedirectsARefusal)
def test_a_redirect_of_a_wrong_token_costs_no_code(service, tmp_path):
    """The service redirects a wrong token to a login page. That is a refusal, so each code is executed afterwards."""
    manual_run = ManualRun(service, tmp_path)
    manual_run.execute_all(sandbox_profile(tmp_path, CODES))

    assert service.executions == list(CODES)
    assert manual_run.door.guard.unknown == []


@pytest.mark.parametrize(
    ("is_sandbox", "unknown_outcomes", "is_permitted"),
    [(False, [], False), (True, [], True), (True, [1], False)],
    ids=["no sandbox", "a sandbox", "a sandbox, and an outcome is unknown"],
)
def test_a_code_is_executed_a_second_time_on_a_sandbox_only(
    is_sandbox, unknown_outcomes, is_permitted, service, tmp_path
):
    """On a sandbox a code may be sent a second time, and no third time. If an outcome is unknown, it may not."""
    manual_run = ManualRun(service, tmp_path, has_journal=not is_sandbox)  # only a sandbox has no journal
    manual_run.execute()
    manual_run.door.guard.unknown += unknown_outcomes
    permission = manual_run.door.guard.permit_again(CODE)
    second_exchange = manual_run.execute()
    third_exchange = manual_run.execute()

    assert permission is is_permitted
    assert bool(second_exchange.response) is is_permitted
    assert third_exchange.response is None


def test_a_sandbox_asks_whether_an_earlier_run_executed_its_codes(tmp_path):
    """The service refuses all codes, and a sandbox has no journal. So the note asks if an earlier run executed them.

    It does not ask if codes that the run itself prepared are refused, too, because no earlier run had these. It does
    not ask off a sandbox, because the journal would know.
    """

    def notes_on_refused_codes(**changes):
        """The notes about refused codes of a run with these changes of the profile."""
        bank = FakeBank()
        bank.execute = lambda request: Response(404, b"")
        model = run_suite_in_memory(bank, profile_off_sandbox(tmp_path, **changes), "executePix")
        return str([note for note in report_notes(model) if "refused" in note])

    only_codes = {"codes": [CODE, OTHER_CODE]}
    codes_and_prepared_ones = {**only_codes, "prepare": HOW_TO_PREPARE}
    question = "did an earlier run execute these codes? transactions.prepare makes new codes for each run"

    assert question in notes_on_refused_codes(sandbox=UNUSED_ADDRESS, transactions=only_codes)
    assert question not in notes_on_refused_codes(sandbox=UNUSED_ADDRESS, transactions=codes_and_prepared_ones)
    start_journal(profile_off_sandbox(tmp_path, transactions=only_codes))
    assert question not in notes_on_refused_codes(transactions=only_codes)


# -- only what was supplied, and is permitted -----------------------------------------------------------------------


def requests_let_through(manual_run, service, paths, methods=("GET",)):
    """Send each method to each path through the door, which checks every request of a run.

    Returns those that the door did not refuse, and those that arrived at the service.
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
    """The run does not know the code TX9. A lenient server may read each of these paths as an execution of it.

    The last path may lead to another host. The door refuses all of them.
    """
    paths = (
        "/v1/execute/pix/TX9", "/V1/EXECUTE/PIX/TX9", "/v1/execute//pix/TX9", "/v1/execute/pix/TX9/",
        "/v1/%65xecute/pix/TX9", "/v1/pixconf-/../execute/pix/TX9", "/v1/execute/pix/pixconf-1%2F..%2FTX9",
        f"/v1/execute/pix/{CODE}%2F..%2FTX9", "@127.0.0.2:1/v1/accounts",
    )  # fmt: skip

    assert requests_let_through(manual_run, service, paths, ("GET", "HEAD", "POST")) == []


@pytest.mark.parametrize(
    ("permission", "method", "path"),
    [
        ("execute", "GET", f"/v1/execute/pix/{CODE}"),
        ("execute", "HEAD", f"/v1/accounts/../execute/pix/{CODE}"),
        ("create-pix", "POST", "/v1/pix/keys/%2e%2e"),
        ("read", "GET", "/v1/accounts"),
    ],
)
def test_permission_is_decided_on_the_final_path(permission, method, path, service, tmp_path):
    """The run lacks one permission, and a path may lead to the operation that needs it. The request is refused.

    A server may understand `..`, and `%2e%2e`, as the folder above.
    """
    manual_run = ManualRun(service, tmp_path, allow=ALL_PERMISSIONS - {permission})

    assert requests_let_through(manual_run, service, [path], [method]) == []


def test_a_token_that_can_be_restored_needs_fuzz(service, tmp_path):
    """A wrong token that shows most of the token is not sent without the permission `fuzz`."""
    manual_run = ManualRun(service, tmp_path, allow=ALL_PERMISSIONS - {"fuzz"})

    any_restorable_form = min(RESTORABLE)
    with pytest.raises(ForbiddenError, match="needs fuzz in allow"):
        manual_run.execute(credential=any_restorable_form)


@pytest.mark.parametrize("permission", sorted(ALL_PERMISSIONS))
def test_with_one_permission_a_run_reaches_the_operations_of_that_permission_alone(permission, tmp_path):
    """Whichever permission the profile allows, the run ends without an error of the suite.

    Requests that need another permission are not sent. `fuzz`, the permission for invalid requests, is allowed each
    time, and reaches no operation by itself.
    """
    bank = FakeBank()
    model = run_suite_in_memory(bank, profile_off_sandbox(tmp_path, allow=[permission, "fuzz"], sandbox=UNUSED_ADDRESS))
    reached = set().union(*(operations_reached(request.method, request.path) for request in bank.received))

    assert result_of_run(model).verdict in ("partial", "incomplete")
    assert not model.errors
    assert {operations()[name].permission for name in reached} == {permission} - {"fuzz"}


# -- a refused token, and unknown outcomes --------------------------------------------------------------------------


@pytest.mark.parametrize("codes", [CODES, ()], ids=["codes", "prepared alone"])
def test_with_a_wrong_token_at_most_one_code_is_sent(codes, service, tmp_path):
    """The token of the profile is wrong. The first 401 ends executions: no further code is sent, and none is prepared.

    If the profile has no codes, the first prepared transfer gets the 401.
    """
    manual_run = ManualRun(service, tmp_path, token=WRONG_TOKEN)
    manual_run.execute_all(sandbox_profile(tmp_path, codes, prepare=HOW_TO_PREPARE))

    preparations = [request for request in service.received if request.path == "/v1/pix"]

    assert real_codes_received(service) == [(code, f"Bearer {WRONG_TOKEN}") for code in codes[:1]]
    assert len(preparations) == (0 if codes else 1)


@served_by(trouble.RefusesEveryExecution, trouble.RefusesEveryExecutionIn200)
def test_executions_end_with_the_second_401(service, manual_run):
    """The service answers 401 to each execution, and accepts the token for reads.

    After the first 401 no code is sent with that token, nor with a new token that reads do not accept. With a new token
    that reads accept, one more code is sent. After its 401 no code is sent, whatever the token.
    """
    manual_run.secrets.learn("code", *CODES)
    manual_run.client.send("listAccounts", valid=True)
    manual_run.execute(CODE)
    unsent = [manual_run.execute(OTHER_CODE), manual_run.execute(OTHER_CODE, credential="no header")]
    manual_run.secrets.learn_token("a-token-as-dead-as-before")
    unsent.append(manual_run.execute(OTHER_CODE))
    # three times a new valid token, and an attempt to send a code with it
    for code in (CODE, OTHER_CODE, THIRD_CODE):
        service.sandbox.token = f"{code}.Tok-4n.Of-The_Service"
        manual_run.secrets.learn_token(service.sandbox.token)
        manual_run.execute(code)

    message = "an execution was answered 401: no more codes are sent with this token"
    assert {exchange.failure.message for exchange in unsent} == {message}
    assert [code for code, _ in real_codes_received(service)] == [CODE, OTHER_CODE]
    assert manual_run.outcomes_in_journal == ["sent", "refused"] * 2


@pytest.mark.parametrize("status", [None, 500, 302], ids=["no answer", "500", "302"])
def test_after_two_unknown_outcomes_in_a_row_no_code_is_sent(status, tmp_path):
    """The service executes each code, and its answer does not say so. The third code is not sent.

    Both executions count as made. The report begins with an alert for each, and says why no further code was sent.
    """
    bank = FakeBank()

    def execute_without_saying_so(request):
        bank.respond(request)
        return Response(status, b"") if status else None

    bank.execute = execute_without_saying_so
    profile = profile_off_sandbox(tmp_path, transactions={"codes": list(CODES)})
    start_journal(profile)
    model = run_suite_in_memory(bank, profile, ONLY_EXECUTIONS)

    assert bank.executions == [CODE, OTHER_CODE]
    assert {code for code, _ in real_codes_received(bank)} == {CODE, OTHER_CODE}
    assert model.executions == 2
    first_notes = report_notes(model)[:3]
    assert [note.startswith("OUTCOME UNKNOWN of exchange ") for note in first_notes] == [True, True, False]
    assert "in a row is unknown: no further transaction code was sent" in str(report_notes(model))


# -- the limit of executions ----------------------------------------------------------------------------------------


@served_by(trouble.ExecutesForAnybody)
def test_a_code_that_was_executed_without_the_token_is_not_sent_again(service, manual_run, tmp_path):
    """This service checks no token, so the second code is executed by a request without the valid token.

    Neither this run nor a later one sends that code again. It counts as an execution. The third code goes with the valid
    token alone.
    """
    manual_run.execute_all(sandbox_profile(tmp_path, CODES))
    ManualRun(service, tmp_path, name="two").execute(OTHER_CODE)

    assert [code for code, _ in real_codes_received(service)] == list(CODES)
    assert service.executions == [CODE, THIRD_CODE]
    assert manual_run.door.guard.executions == 3


@served_by(trouble.ExecutesForAnybody)
def test_an_execution_without_a_token_counts_against_limits_executions(service, tmp_path):
    """This service checks no token, so a code is executed without one. With limits.executions: 1 that is the only one."""
    manual_run = ManualRun(service, tmp_path, executions=1)
    manual_run.execute(CODE, credential="no header")

    assert str(manual_run.execute(OTHER_CODE).failure.message) == "limits.executions (1) is spent"
    assert service.executions == []


def test_only_executed_codes_count_against_limits_executions(tmp_path):
    """With three codes and limits.executions: 1, each of three runs executes the next code.

    Requests with a code and a wrong token do not count, and neither do codes that earlier runs executed. A note says how
    many codes are left out; the last run leaves out none.
    """
    profile = profile_off_sandbox(
        tmp_path, transactions={"codes": list(CODES)}, limits={"executions": 1, "requests": 400}
    )
    start_journal(profile)
    bank = FakeBank()
    models = [run_suite_in_memory(bank, profile, ONLY_EXECUTIONS) for _ in CODES]
    note_on_limit = (
        "limits.executions (1) leaves out {} of {} transaction codes: not all requests to executePix were sent"
    )

    assert bank.executions == list(CODES)
    assert [model.executions for model in models] == [1, 1, 1]
    assert len(real_codes_received(bank)) > 6  # more than the three executions: codes went with wrong tokens, too
    notes_of_all_runs = [note for model in models for note in report_notes(model)]
    assert [note for note in notes_of_all_runs if "leaves out" in note] == [
        note_on_limit.format(2, 3), note_on_limit.format(1, 2),
    ]  # fmt: skip


# -- prepared transfers are not forgotten ---------------------------------------------------------------------------


def run_that_prepares(bank, folder, only=ONLY_EXECUTIONS, **changes):
    """Run the suite with a profile that prepares a transfer. `changes` are those of transactions.prepare.

    Returns the notes of the report, and its lines about transfers that were not executed.
    """
    transactions = {"prepare": HOW_TO_PREPARE | changes}
    model = run_suite_in_memory(bank, profile_off_sandbox(folder, transactions=transactions, requests=None), only)
    return report_notes(model), [*map(str, model.not_executed)]


class Declines(FakeBank):
    """Declines instead of refusing: it answers 200 and code 0, and says `Success: "false"` in the data."""

    def refusal(self, refusal):
        return self.render(200, self.envelope(None, {"Success": "false", "Message": ""}))


def test_transfers_that_were_perhaps_declined_are_counted(tmp_path):
    """The interface document does not say that such an answer declines a transfer, so each may be prepared.

    One line of the report counts all of them, in the place of a line for each.
    """
    profile = profile_off_sandbox(tmp_path, sandbox=UNUSED_ADDRESS, allow=["read", "transfer", "fuzz"])
    lines = [str(line) for line in run_suite_in_memory(Declines(), profile, "transferInternal").not_cleaned_up_in_words]
    lines_of_declined = [line for line in lines if "Success" in line]

    assert len(lines_of_declined) == 1
    assert re.match(
        r"\d+ transfers \(exchanges \d+, \d+, \d+ and \d+ more\), each not executed: the answer", lines_of_declined[0]
    )


def test_the_first_note_says_that_code_at_matches_nothing(tmp_path):
    """code_at of the profile says where the code is in the answer that prepares. Here it points to no member.

    The first note names the members of the answer and their types, and no value. Instead of three transfers only one is
    prepared, and the report lists it as not executed.
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


def test_an_answer_that_holds_no_code_is_no_fault_of_the_profile(tmp_path):
    """The service answers createPix without data. The message says how it answered.

    No note advises to correct code_at, because no other value would help.
    """
    bank = FakeBank()
    bank.finish = lambda _, name, other: Response(200, b'{"code": 200}') if name == "createPix" else other
    model = run_suite_in_memory(
        bank, profile_off_sandbox(tmp_path, transactions={"prepare": HOW_TO_PREPARE}), "executePix.json"
    )

    assert "no transfer was prepared: 200 with code 200, not 0" in str(
        next(result.message for _, result in result_of_run(model).results if result.message)
    )
    assert "code_at" not in str(report_notes(model))


def test_nothing_is_listed_as_left_on_the_embedded_sandbox():
    """The embedded sandbox ends with the run, so its keys and transfers need no cleaning up. The report lists none."""
    result = run_in_this_process("--environment=sandbox", "--no-report", "-k", "createPix.exists")

    assert "not cleaned up" not in result.output


@pytest.mark.parametrize(
    ("execute", "only", "left"),
    [
        (lambda _: Response(404, b""), ONLY_EXECUTIONS, ["its execution was refused (404 without a media type)"]),
        (lambda _: None, ONLY_EXECUTIONS, []),
        (None, ONLY_EXECUTIONS, []),
        (None, "createPix.shape", ["its code was not sent"]),
    ],
    ids=["refused", "unknown", "executed", "not selected"],
)
def test_a_transfer_that_was_not_executed_is_listed(execute, only, left, tmp_path):
    """The line says why the run did not execute the transfer. It may still be executed by somebody.

    A transfer that was executed, or whose outcome is unknown because the service did not answer, is not listed.
    """
    bank = FakeBank()
    bank.execute = execute or bank.execute

    _, not_executed = run_that_prepares(bank, tmp_path, only)

    assert [line.partition("not executed: ")[2] for line in not_executed] == left
