"""An execution happens once, with a code that was supplied, and never again when its outcome is unknown."""

import json
import re
from itertools import chain

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
def test_an_execution_without_an_answer_is_seen_once(service, proxied, tmp_path):
    """Neither the suite nor urllib3 sends the code again: not over a kept connection, and not through a proxy."""
    manual_run = ManualRun(service, tmp_path, proxied=proxied)
    manual_run.client.send("listAccounts")
    exchange = manual_run.execute()
    repeated = manual_run.execute()

    assert service.executions == [CODE]
    assert manual_run.door.guard.unknown == [exchange.number]
    assert manual_run.outcomes_in_journal == ["sent", "unknown"]
    assert "is not sent again" in repeated.failure.message


@served_by(trouble.CutsAnExecutionShort)
def test_a_broken_answer_to_an_execution_is_an_answer(service, manual_run):
    """The status line arrived, so the outcome is known. The code is not sent again."""
    exchange = manual_run.execute()
    repeated = manual_run.execute()

    assert exchange.response.status == 200
    assert exchange.response.broken
    assert repeated.response is None
    assert service.executions == [CODE]
    assert manual_run.door.guard.unknown == []


@served_by(trouble.ExecutesAndBreaksA400Off)
def test_a_refusal_that_breaks_off_may_carry_a_result(service, manual_run):
    """The part that did not arrive may be the result, so the outcome is unknown."""
    exchange = manual_run.execute()
    repeated = manual_run.execute()

    assert exchange.response.status == 400
    assert exchange.response.broken
    assert repeated.response is None
    assert service.executions == [CODE]
    assert manual_run.door.guard.unknown == [exchange.number]


CONTRADICTIONS = (trouble.ExecutesAndAnswers400, trouble.ExecutesAndAnswers409, trouble.ExecutesAndAnswersCode1)


@served_by(*CONTRADICTIONS)
def test_a_refusal_that_carries_a_result_bars_the_code(service, manual_run, tmp_path):
    """The transfer may have been executed.

    No later run sends the code, and --resend-code refuses it, before and after somebody settled the entry.
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
def test_an_own_code_that_is_refused_as_done_was_executed(service, tmp_path):
    """The run prepared the code and had not sent it before, so this request executed it.

    After wrong tokens one of those may have executed it, so the outcome is unknown.
    """
    manual_run = ManualRun(service, tmp_path)
    profile = sandbox_profile(tmp_path, [], prepare=HOW_TO_PREPARE | {"count": 2})
    log = manual_run.execute_all(profile)
    log_of_single_code = ManualRun(service, tmp_path, name="two").execute_all(
        sandbox_profile(tmp_path, [], prepare=HOW_TO_PREPARE)
    )

    assert manual_run.door.guard.executed == 1
    assert len(manual_run.door.guard.unknown) == 1
    assert executed_and_refused(log) == answers_to_real_codes(log)[:1]
    assert executed_and_refused(log_of_single_code) == []
    assert manual_run.outcomes_in_journal == ["sent", "success", "sent", "unknown", "sent", "unknown"]


@pytest.mark.parametrize("service", CONTRADICTIONS)
def test_what_is_executed_is_told(service, tmp_path):
    """The headline counts transfers that were executed or may have been, alerts name the unknown outcomes, and no
    line suggests to send a code again. A refusal with status DONE fails executePix.status.
    """

    class Contradicts(FakeBank):
        """The same service in this process."""

        def execute(self, request):
            answer = self.respond(request)
            envelope = json.loads(answer.body)
            envelope["data"] |= service.changes.get("data", {})
            body = json.dumps(envelope | {"code": service.changes.get("code", 400)}).encode()
            return Response(service.status, body, answer.headers)

    supplied = profile_off_sandbox(tmp_path, transactions={"codes": list(CODES)})
    start_journal(supplied)
    first_bank, second_bank = Contradicts(), Contradicts()
    models = [run_suite_in_memory(bank, supplied, "executePix") for bank in (first_bank, second_bank)]
    model_of_own_codes = run_suite_in_memory(
        Contradicts(),
        profile_off_sandbox(tmp_path, transactions={"prepare": HOW_TO_PREPARE | {"count": 3}}),
        "executePix",
    )
    verdicts = {row.id: result.verdict for row, result in result_of_run(model_of_own_codes).results}
    status_verdict = verdicts["executePix.status"]
    alerts = [note for note in report_notes(models[0]) if note.startswith("OUTCOME UNKNOWN")]

    assert first_bank.executions == [CODE, OTHER_CODE]
    assert second_bank.executions == [THIRD_CODE]
    assert models[0].executions == models[0].unknown_outcomes == len(alerts) == 2
    assert all("it may have moved money" in note for note in alerts)
    assert "resend" not in str([report_notes(model) for model in (*models, model_of_own_codes)])
    assert (status_verdict == "fail") == (service is not trouble.ExecutesAndAnswersCode1)
    assert model_of_own_codes.executions == model_of_own_codes.unknown_outcomes + (status_verdict == "fail")


@served_by(trouble.RedirectsToAnExecution)
def test_a_redirected_execution_is_not_followed(service, manual_run):
    """A redirect is an answer like any other, even if it leads from a read to an execution."""
    answers = [manual_run.client.send("listAccounts"), manual_run.execute()]

    assert [answer.response.status for answer in answers] == [307, 307]
    assert service.executions == [CODE]


@served_by(trouble.SlowsAnExecutionDown)
def test_an_execution_that_is_put_off_is_not_sent_again(service, manual_run):
    """After a 429 the next code waits as long as the answer says. The code that got the 429 is not sent again."""
    exchanges = [manual_run.execute(), manual_run.execute(), manual_run.execute(OTHER_CODE)]

    assert [exchange.response and exchange.response.status for exchange in exchanges] == [429, None, 200]
    assert service.executions == [CODE, OTHER_CODE]
    assert manual_run.door.guard.unknown == []


@served_by(trouble.NeverAnswersARefusal, trouble.BreaksOnARefusal)
def test_a_wrong_token_without_an_answer_spends_the_code(service, manual_run, tmp_path):
    """The service may have executed the code without the token, so the code is not sent with the token.

    A 500 counts like no answer.
    """
    offer = manual_run.execute(credential="a wrong token (of a JWT: another signature)")
    manual_run.execute()
    ManualRun(service, tmp_path, name="two").execute()

    assert manual_run.door.guard.unknown == [offer.number]
    assert service.executions == []


@served_by(trouble.BreaksOnARefusal)
def test_a_500_to_a_wrong_token_costs_one_code(service, tmp_path):
    """The first code is executed before any wrong token, and no code after the lost one is offered.

    The alert names the lost one.
    """
    manual_run = ManualRun(service, tmp_path)
    log = manual_run.execute_all(sandbox_profile(tmp_path, CODES))
    [lost_offer] = log.sent("executePix", Execution.OFFERED)

    assert service.executions == [CODE, THIRD_CODE]
    assert manual_run.door.guard.unknown == [lost_offer.number]
    assert [answer.response.status for answer in answers_to_real_codes(log)] == [200, 200]


@served_by(trouble.RedirectsARefusal)
def test_a_redirect_of_a_wrong_token_costs_no_code(service, tmp_path):
    """A redirect to a login page is a refusal."""
    manual_run = ManualRun(service, tmp_path)
    manual_run.execute_all(sandbox_profile(tmp_path, CODES))

    assert service.executions == list(CODES)
    assert manual_run.door.guard.unknown == []


@pytest.mark.parametrize(("is_prepared", "unknown"), [(False, []), (True, []), (True, [1])])
def test_a_code_is_executed_a_second_time_on_a_sandbox_only(is_prepared, unknown, service, tmp_path):
    """A code that the run prepared is sent once more if that is permitted and no outcome is unknown.

    It is not sent a third time.
    """
    manual_run = ManualRun(service, tmp_path, has_journal=not is_prepared)
    manual_run.execute()
    manual_run.door.guard.unknown += unknown
    permission = manual_run.door.guard.permit_again(CODE)
    answers = [manual_run.execute(), manual_run.execute()]

    assert permission is (is_prepared and not unknown)
    assert [bool(answer.response) for answer in answers] == [permission, False]


def test_a_sandbox_asks_whether_an_earlier_run_executed_its_codes(tmp_path):
    """A sandbox has no journal, so the line asks if an earlier run executed the refused codes.

    It asks nothing if prepared codes are refused, too, or if a journal knows.
    """

    def notes_on_refused_codes(**changes):
        bank = FakeBank()
        bank.execute = lambda request: Response(404, b"")
        return [
            note
            for note in report_notes(run_suite_in_memory(bank, profile_off_sandbox(tmp_path, **changes), "executePix"))
            if "refused" in note
        ]

    codes = {"codes": [CODE, OTHER_CODE]}
    own = {**codes, "prepare": HOW_TO_PREPARE}
    question = "did an earlier run execute these codes? transactions.prepare makes new codes for each run"

    assert question in str(notes_on_refused_codes(sandbox=UNUSED_ADDRESS, transactions=codes))
    assert question not in str(notes_on_refused_codes(sandbox=UNUSED_ADDRESS, transactions=own))
    profile = profile_off_sandbox(tmp_path, transactions=codes)
    start_journal(profile)
    assert question not in str(notes_on_refused_codes(transactions=codes))


# -- only what was supplied, and is permitted -----------------------------------------------------------------------


def requests_let_through(manual_run, service, paths, methods=("GET",)):
    """The requests that the door lets through, and those that arrive at the service."""
    passed = []
    for method, path in ((method, path) for method in methods for path in paths):
        request = requests.Request(method, service.base_url + path).prepare()
        request.url = service.base_url + path
        try:
            manual_run.door.send(request, Intent(""))
        except ForbiddenError:
            continue
        passed.append((method, path))
    return passed + service.received


def test_a_code_that_nobody_supplied_is_not_sent(service, manual_run):
    """A lenient server may read each of these paths as an execution of TX9, or as another origin.

    The door refuses them all.
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
    """A request needs the permission of every operation that its path may reach."""
    manual_run = ManualRun(service, tmp_path, allow=ALL_PERMISSIONS - {permission})

    assert requests_let_through(manual_run, service, [path], [method]) == []


def test_a_token_that_can_be_restored_needs_fuzz(service, tmp_path):
    """A wrong token that shows most of the token is not sent without the permission `fuzz`."""
    manual_run = ManualRun(service, tmp_path, allow=ALL_PERMISSIONS - {"fuzz"})

    with pytest.raises(ForbiddenError, match="needs fuzz in allow"):
        manual_run.execute(credential=min(RESTORABLE))


@pytest.mark.parametrize("permission", sorted(ALL_PERMISSIONS))
def test_a_permission_alone_is_enough_for_a_run(permission, tmp_path):
    """Requests that need another permission are not sent, and that is no error of the suite."""
    bank = FakeBank()
    model = run_suite_in_memory(bank, profile_off_sandbox(tmp_path, allow=[permission, "fuzz"], sandbox=UNUSED_ADDRESS))
    reached = set().union(*(operations_reached(request.method, request.path) for request in bank.received))

    assert result_of_run(model).verdict in ("partial", "incomplete")
    assert not model.errors
    assert {operations()[name].permission for name in reached} == {permission} - {"fuzz"}


# -- a refused token, and unknown outcomes --------------------------------------------------------------------------


@pytest.mark.parametrize("codes", [CODES, ()], ids=["codes", "prepared alone"])
def test_with_a_wrong_token_at_most_one_code_is_sent(codes, service, tmp_path):
    """After the 401 no code is sent and no transfer is prepared. Without codes one prepared transfer shows the 401."""
    manual_run = ManualRun(service, tmp_path, token=WRONG_TOKEN)
    manual_run.execute_all(sandbox_profile(tmp_path, codes, prepare=HOW_TO_PREPARE))

    assert real_codes_received(service) == [(code, f"Bearer {WRONG_TOKEN}") for code in codes[:1]]
    assert len([request for request in service.received if request.path == "/v1/pix"]) == (0 if codes else 1)


@served_by(trouble.RefusesEveryExecution, trouble.RefusesEveryExecutionIn200)
def test_executions_end_with_the_second_401(service, manual_run):
    """After a 401 to an execution no code is sent with that token.

    With a new token that reads accept, one more code is sent; after its 401 none.
    """
    manual_run.secrets.learn("code", *CODES)
    manual_run.client.send("listAccounts", valid=True)
    manual_run.execute(CODE)
    unsent = [manual_run.execute(OTHER_CODE), manual_run.execute(OTHER_CODE, credential="no header")]
    manual_run.secrets.learn_token("a-token-as-dead-as-before")
    unsent.append(manual_run.execute(OTHER_CODE))
    for code in (CODE, OTHER_CODE, THIRD_CODE):
        service.sandbox.token = f"{code}.Tok-4n.Of-The_Service"
        manual_run.secrets.learn_token(service.sandbox.token)
        manual_run.execute(code)

    message = "an execution was answered 401: no more codes are sent with this token"
    assert {exchange.failure.message for exchange in unsent} == {message}
    assert [code for code, _ in real_codes_received(service)] == [CODE, OTHER_CODE]
    assert manual_run.outcomes_in_journal == ["sent", "refused"] * 2


@pytest.mark.parametrize("answer", [None, 500, 302])
def test_after_two_unknown_outcomes_in_a_row_no_code_is_sent(answer, tmp_path):
    """Both executions count as made, and the report begins with their alerts."""
    bank = FakeBank()
    bank.execute = lambda request: bank.respond(request) and (answer and Response(answer, b""))
    profile = profile_off_sandbox(tmp_path, transactions={"codes": list(CODES)})
    start_journal(profile)
    model = run_suite_in_memory(bank, profile, ONLY_EXECUTIONS)

    assert bank.executions == [CODE, OTHER_CODE]
    assert {code for code, _ in real_codes_received(bank)} == {CODE, OTHER_CODE}
    assert model.executions == 2
    assert [note.startswith("OUTCOME UNKNOWN of exchange ") for note in report_notes(model)[:3]] == [True, True, False]
    assert any("in a row is unknown: no further transaction code was sent" in note for note in report_notes(model))


# -- executions are counted by effect -------------------------------------------------------------------------------


@served_by(trouble.ExecutesForAnybody)
def test_a_code_that_was_executed_without_the_token_is_not_sent_again(service, manual_run, tmp_path):
    """Neither this run nor a later one executes the code again.

    It counts as an execution, and no further code is offered with wrong tokens.
    """
    manual_run.execute_all(sandbox_profile(tmp_path, CODES))
    ManualRun(service, tmp_path, name="two").execute(OTHER_CODE)

    assert [code for code, _ in real_codes_received(service)] == list(CODES)
    assert service.executions == [CODE, THIRD_CODE]
    assert manual_run.door.guard.executions == 3


@served_by(trouble.ExecutesForAnybody)
def test_an_execution_without_a_token_counts_against_limits_executions(service, tmp_path):
    """With `limits.executions: 1` the next code is not sent, although no code was executed with the token."""
    manual_run = ManualRun(service, tmp_path, executions=1)
    manual_run.execute(CODE, credential="no header")

    assert str(manual_run.execute(OTHER_CODE).failure.message) == "limits.executions (1) is spent"
    assert service.executions == []


def test_only_executed_codes_count_against_limits_executions(tmp_path):
    """Offers with wrong tokens, and the codes of earlier runs, do not count against limits.executions.

    A note says how many codes are left out.
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
    assert len(real_codes_received(bank)) > 6
    assert [note for note in chain.from_iterable(map(report_notes, models)) if "leaves out" in note] == [
        note_on_limit.format(2, 3), note_on_limit.format(1, 2),
    ]  # fmt: skip


# -- prepared transfers are not forgotten ---------------------------------------------------------------------------


def run_that_prepares(bank, folder, only=ONLY_EXECUTIONS, **changes):
    """A run that prepares a transfer: its notes, and the transfers that were not executed."""
    transactions = {"prepare": HOW_TO_PREPARE | changes}
    model = run_suite_in_memory(bank, profile_off_sandbox(folder, transactions=transactions, requests=None), only)
    return report_notes(model), [*map(str, model.not_executed)]


class Declines(FakeBank):
    """Refuses with the code 0 and `Success: "false"`."""

    def refusal(self, refusal):
        return self.render(200, self.envelope(None, {"Success": "false", "Message": ""}))


def test_transfers_that_were_perhaps_declined_are_counted(tmp_path):
    """The document does not say what the answer of a declined transfer holds, so each may be prepared.

    One line counts them.
    """
    profile = profile_off_sandbox(tmp_path, sandbox=UNUSED_ADDRESS, allow=["read", "transfer", "fuzz"])
    lines = [str(line) for line in run_suite_in_memory(Declines(), profile, "transferInternal").not_cleaned_up_in_words]
    lines_of_declined = [line for line in lines if "Success" in line]

    assert len(lines_of_declined) == 1
    assert re.match(
        r"\d+ transfers \(exchanges \d+, \d+, \d+ and \d+ more\), each not executed: the answer", lines_of_declined[0]
    )


def test_a_code_at_that_matches_nothing_is_said_first(tmp_path):
    """The first note gives the facts of the answer and none of its values.

    One transfer is prepared, and listed as not executed.
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
    """No note asks to correct code_at. The message says how the preparation was answered."""
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
    """The embedded sandbox ends with the run, and its keys and transfers with it."""
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
    """The line says why the run did not execute it. A transfer with an unknown outcome is not listed."""
    bank = FakeBank()
    bank.execute = execute or bank.execute

    _, not_executed = run_that_prepares(bank, tmp_path, only)

    assert [line.partition("not executed: ")[2] for line in not_executed] == left
