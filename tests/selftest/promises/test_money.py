"""An execution happens once, with a code that was supplied, and never again when its outcome is unknown."""

import json
import re

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
from tests.selftest.recorded_runs import run_here
from tests.selftest.services import trouble_with_money as trouble
from tests.selftest.services.one_run import (
    ADDRESS,
    CODE,
    EVERYTHING,
    OTHER,
    PREPARE,
    Bank,
    Run,
    bank_profile,
    journal_in,
    notes_of,
    profile_of,
    whole_run,
)
from tests.selftest.services.serving import real_codes, served_by
from tests.traffic.money.executions import Execution, answers_to_real_codes, executed_and_refused

ONLY_EXECUTIONS = "executePix.document or executePix.token.required"
THIRD = "SBX-CPF-1"
CODES = (CODE, OTHER, THIRD)
WRONG = "another-Tok3n.of-Nobody"


# -- sent once ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("proxied", [False, True], ids=["direct", "through a proxy"])
@served_by(
    trouble.NeverAnswersAnExecution, trouble.ResetsAnExecution, trouble.DropsAnExecution, trouble.GatewayTimesOut
)
def test_an_execution_without_an_answer_is_seen_once(service, proxied, tmp_path):
    """It is not sent again: not by us, not by urllib3, not on a connection that was kept alive, not by way of a proxy."""
    a_run = Run(service, tmp_path, proxied=proxied)
    a_run.client.send("listAccounts")
    exchange = a_run.execute()
    again = a_run.execute()

    assert service.executions == [CODE]
    assert a_run.door.guard.unknown == [exchange.number]
    assert a_run.events == ["sent", "unknown"]
    assert "is not sent again" in again.failure.message


@served_by(trouble.CutsAnExecutionShort)
def test_a_broken_answer_to_an_execution_is_an_answer(service, a_run):
    """A status line came: the outcome is not unknown, and the code is not sent again either."""
    seen, again = a_run.execute(), a_run.execute()

    assert (seen.response.status, bool(seen.response.broken), again.response) == (200, True, None)
    assert (service.executions, a_run.door.guard.unknown) == ([CODE], [])


@served_by(trouble.ExecutesAndBreaksA400Off)
def test_a_refusal_that_breaks_off_may_carry_a_result(service, a_run):
    """The outcome is unknown: what was not received may be the result."""
    seen, again = a_run.execute(), a_run.execute()

    assert (seen.response.status, bool(seen.response.broken), again.response) == (400, True, None)
    assert (service.executions, a_run.door.guard.unknown) == ([CODE], [seen.number])


CONTRADICTIONS = (trouble.ExecutesAndAnswers400, trouble.ExecutesAndAnswers409, trouble.ExecutesAndAnswersCode1)


@served_by(*CONTRADICTIONS)
def test_a_refusal_that_carries_a_result_bars_the_code(service, a_run, tmp_path):
    """The transfer may have been executed. No later run sends its code, whatever --resend-code names, and the option
    itself refuses it, before and after somebody has looked the transfer up."""
    profile = bank_profile(tmp_path, transactions={"codes": [CODE]})
    exchange = a_run.execute()
    refusals = []
    for _ in range(2):
        Run(service, tmp_path, name="two", resend={CODE}).execute()
        with pytest.raises(ProfileError) as caught:
            code_to_resend(profile, CODE)
        refusals.append(str(caught.value))
        journal_in(tmp_path).write(CODE, "settled")

    assert service.executions == [CODE]
    assert a_run.door.guard.unknown == [exchange.number]
    assert a_run.events[:2] == ["sent", "unknown"]
    assert {refusal.partition(" at 20")[0] for refusal in refusals} == {"--resend-code: this code was sent"}
    assert all("it may have moved money, so it is not sent again" in refusal for refusal in refusals)


@served_by(trouble.ExecutesAndAnswers400, trouble.ExecutesAndAnswers409)
def test_an_own_code_that_is_refused_as_done_was_executed(service, tmp_path):
    """The run prepared it, and had not sent it before: nobody else can have executed it. After wrong tokens it may have
    been executed by one of them, so the outcome is unknown."""
    a_run = Run(service, tmp_path)
    profile = profile_of(tmp_path, [], prepare=PREPARE | {"count": 2})
    log = a_run.execute_all(profile)
    alone = Run(service, tmp_path, name="two").execute_all(profile_of(tmp_path, [], prepare=PREPARE))

    assert (a_run.door.guard.executed, len(a_run.door.guard.unknown)) == (1, 1)
    assert executed_and_refused(log) == answers_to_real_codes(log)[:1]
    assert executed_and_refused(alone) == []
    assert a_run.events == ["sent", "success", "sent", "unknown", "sent", "unknown"]


@pytest.mark.parametrize("service", CONTRADICTIONS)
def test_what_is_executed_is_told(service, tmp_path):
    """The headline counts the transfers that were executed, or may have been; the alerts name those that are unknown;
    and nothing suggests to send a code again. A refusal as DONE fails executePix.status."""

    class Contradicts(Bank):
        """Answers so in this process."""

        def execute(self, request):
            answer = self.respond(request)
            envelope = json.loads(answer.body)
            envelope["data"] |= service.changes.get("data", {})
            body = json.dumps(envelope | {"code": service.changes.get("code", 400)}).encode()
            return Response(service.status, body, answer.headers)

    supplied = bank_profile(tmp_path, transactions={"codes": list(CODES)})
    start_journal(supplied)
    first, again = Contradicts(), Contradicts()
    models = [whole_run(bank, supplied, "executePix") for bank in (first, again)]
    own = whole_run(
        Contradicts(), bank_profile(tmp_path, transactions={"prepare": PREPARE | {"count": 3}}), "executePix"
    )
    status = {one.id: result.verdict for one, result in result_of_run(own).results}["executePix.status"]
    unknown = [note for note in notes_of(models[0]) if note.startswith("OUTCOME UNKNOWN")]

    assert (first.executions, again.executions) == ([CODE, OTHER], [THIRD])
    assert (models[0].executions, models[0].unknown_outcomes, len(unknown)) == (2, 2, 2)
    assert all("it may have moved money" in note for note in unknown)
    assert "resend" not in str([notes_of(model) for model in (*models, own)])
    assert (status == "fail") == (service is not trouble.ExecutesAndAnswersCode1)
    assert own.executions == own.unknown_outcomes + (status == "fail")


@served_by(trouble.RedirectsToAnExecution)
def test_a_redirected_execution_is_not_followed(service, a_run):
    """A redirect is an answer like any other, also that of a read to the execution of a code."""
    answers = [a_run.client.send("listAccounts"), a_run.execute()]

    assert [answer.response.status for answer in answers] == [307, 307]
    assert service.executions == [CODE]


@served_by(trouble.SlowsAnExecutionDown)
def test_an_execution_that_is_put_off_is_not_sent_again(service, a_run):
    """A 429 says that nothing was done, and when to come again: the next code waits for it, and this one never goes
    again."""
    first, again, other = a_run.execute(), a_run.execute(), a_run.execute(OTHER)

    assert [exchange.response and exchange.response.status for exchange in (first, again, other)] == [429, None, 200]
    assert (service.executions, a_run.door.guard.unknown) == ([CODE, OTHER], [])


@served_by(trouble.NeverAnswersARefusal, trouble.BreaksOnARefusal)
def test_a_wrong_token_without_an_answer_spends_the_code(service, a_run, tmp_path):
    """The service may have executed it without the token: it is not sent with the token any more. A 500 says as little
    as no answer."""
    probe = a_run.execute(credential="a wrong token (of a JWT: another signature)")
    a_run.execute()
    Run(service, tmp_path, name="two").execute()

    assert a_run.door.guard.unknown == [probe.number]
    assert service.executions == []


@served_by(trouble.BreaksOnARefusal)
def test_a_500_to_a_wrong_token_costs_one_code(service, tmp_path):
    """The first code is executed before, and no code after it is offered. The alert names the one that is lost."""
    a_run = Run(service, tmp_path)
    log = a_run.execute_all(profile_of(tmp_path, CODES))
    [lost] = log.sent("executePix", Execution.OFFERED)

    assert service.executions == [CODE, THIRD]
    assert a_run.door.guard.unknown == [lost.number]
    assert [answer.response.status for answer in answers_to_real_codes(log)] == [200, 200]


@served_by(trouble.RedirectsARefusal)
def test_a_redirect_of_a_wrong_token_costs_no_code(service, tmp_path):
    """It leads to a page to log in."""
    a_run = Run(service, tmp_path)
    a_run.execute_all(profile_of(tmp_path, CODES))

    assert (service.executions, a_run.door.guard.unknown) == (list(CODES), [])


@pytest.mark.parametrize(("prepared", "unknown"), [(False, []), (True, []), (True, [1])])
def test_a_code_is_executed_a_second_time_on_a_sandbox_only(prepared, unknown, service, tmp_path):
    """One that the run prepared, where that was permitted once, and no outcome is unknown; not a third time."""
    a_run = Run(service, tmp_path, outlives=not prepared)
    a_run.execute()
    a_run.door.guard.unknown += unknown
    permission = a_run.door.guard.permit_again(CODE)
    answers = [a_run.execute(), a_run.execute()]

    assert permission is (prepared and not unknown)
    assert [bool(answer.response) for answer in answers] == [permission, False]


def test_a_sandbox_asks_whether_an_earlier_run_executed_its_codes(tmp_path):
    """It keeps no journal. The line names what prepares new ones. Nobody asks if codes that this run prepared are refused,
    too, and elsewhere the journal knows."""

    def refused_codes(**changes):
        bank = Bank()
        bank.execute = lambda request: Response(404, b"")
        return [
            note
            for note in notes_of(whole_run(bank, bank_profile(tmp_path, **changes), "executePix"))
            if "refused" in note
        ]

    codes = {"codes": [CODE, OTHER]}
    own = {**codes, "prepare": PREPARE}
    asked = "did an earlier run execute these codes? transactions.prepare makes new codes for each run"

    assert asked in str(refused_codes(sandbox=ADDRESS, transactions=codes))
    assert asked not in str(refused_codes(sandbox=ADDRESS, transactions=own))
    elsewhere = bank_profile(tmp_path, transactions=codes)
    start_journal(elsewhere)
    assert asked not in str(refused_codes(transactions=codes))


# -- only what was supplied, and is permitted -----------------------------------------------------------------------


def let_through(a_run, service, paths, methods=("GET",)):
    """The requests that the door lets through, or sends."""
    passed = []
    for method, path in ((method, path) for method in methods for path in paths):
        request = requests.Request(method, service.base_url + path).prepare()
        request.url = service.base_url + path
        try:
            a_run.door.send(request, Intent(""))
        except ForbiddenError:
            continue
        passed.append((method, path))
    return passed + service.seen


def test_a_code_that_nobody_supplied_is_not_sent(service, a_run):
    """However a server reads the path, the code is a supplied one or carries the mark of the suite. Another origin gets
    nothing."""
    paths = (
        "/v1/execute/pix/TX9", "/V1/EXECUTE/PIX/TX9", "/v1/execute//pix/TX9", "/v1/execute/pix/TX9/",
        "/v1/%65xecute/pix/TX9", "/v1/pixconf-/../execute/pix/TX9", "/v1/execute/pix/pixconf-1%2F..%2FTX9",
        f"/v1/execute/pix/{CODE}%2F..%2FTX9", "@127.0.0.2:1/v1/accounts",
    )  # fmt: skip

    assert let_through(a_run, service, paths, ("GET", "HEAD", "POST")) == []


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
    """Whatever a request is meant for, it needs the permission of every operation that it may reach."""
    a_run = Run(service, tmp_path, allow=EVERYTHING - {permission})

    assert let_through(a_run, service, [path], [method]) == []


def test_a_token_that_can_be_restored_needs_fuzz(service, tmp_path):
    """Whatever asks for it."""
    a_run = Run(service, tmp_path, allow=EVERYTHING - {"fuzz"})

    with pytest.raises(ForbiddenError, match="needs fuzz in allow"):
        a_run.execute(credential=min(RESTORABLE))


@pytest.mark.parametrize("permission", sorted(EVERYTHING))
def test_a_permission_alone_is_enough_for_a_run(permission, tmp_path):
    """What would need another permission is not sent, and is no error of the suite."""
    bank = Bank()
    model = whole_run(bank, bank_profile(tmp_path, allow=[permission, "fuzz"], sandbox=ADDRESS))
    reached = {name for seen in bank.seen for name in operations_reached(seen.method, seen.path)}

    assert result_of_run(model).verdict in ("partial", "incomplete")
    assert not model.errors
    assert {operations()[name].permission for name in reached} == {permission} - {"fuzz"}


# -- a refused token, and unknown outcomes --------------------------------------------------------------------------


@pytest.mark.parametrize("codes", [CODES, ()], ids=["codes", "prepared alone"])
def test_a_wrong_token_spends_one_code(codes, service, tmp_path):
    """After the 401 no code goes out in any form, and no transfer is prepared; without codes one shows it."""
    a_run = Run(service, tmp_path, token=WRONG)
    a_run.execute_all(profile_of(tmp_path, codes, prepare=PREPARE))

    assert real_codes(service) == [(code, f"Bearer {WRONG}") for code in codes[:1]]
    assert len([seen for seen in service.seen if seen.path == "/v1/pix"]) == (0 if codes else 1)


@served_by(trouble.RefusesEveryExecution, trouble.RefusesEveryExecutionIn200)
def test_executions_end_with_the_second_401(service, a_run):
    """By status, or by the code of the envelope. Between them a new token was fetched, and a read succeeded with it;
    what reads accept shows nothing. With one that reads do not accept none goes on, in any form."""
    a_run.secrets.learn("code", *CODES)
    a_run.client.send("listAccounts", valid=True)
    a_run.execute(CODE)
    kept = [a_run.execute(OTHER), a_run.execute(OTHER, credential="no header")]
    a_run.secrets.learn_token("a-token-as-dead-as-before")
    kept.append(a_run.execute(OTHER))
    for code in (CODE, OTHER, THIRD):
        service.service.token = f"{code}.Tok-4n.Of-The_Service"
        a_run.secrets.learn_token(service.service.token)
        a_run.execute(code)

    said = "an execution was answered 401: no more codes are sent with this token"
    assert {one.failure.message for one in kept} == {said}
    assert [code for code, _ in real_codes(service)] == [CODE, OTHER]
    assert a_run.events == ["sent", "refused"] * 2


@pytest.mark.parametrize("answer", [None, 500, 302])
def test_after_two_unknown_outcomes_in_a_row_no_code_is_sent(answer, tmp_path):
    """They count as executed, and are said first."""
    bank = Bank()
    bank.execute = lambda request: bank.respond(request) and (answer and Response(answer, b""))
    profile = bank_profile(tmp_path, transactions={"codes": list(CODES)})
    start_journal(profile)
    model = whole_run(bank, profile, ONLY_EXECUTIONS)

    assert bank.executions == [CODE, OTHER]
    assert {code for code, _ in real_codes(bank)} == {CODE, OTHER}
    assert model.executions == 2
    assert [note.startswith("OUTCOME UNKNOWN of exchange ") for note in notes_of(model)[:3]] == [True, True, False]
    assert any("in a row is unknown: no further transaction code was sent" in note for note in notes_of(model))


# -- executions are counted by effect -------------------------------------------------------------------------------


@served_by(trouble.ExecutesForAnybody)
def test_a_code_that_was_executed_without_the_token_is_spent(service, a_run, tmp_path):
    """It is not executed again, by this run or a later one. One proof is enough; it counts as an execution."""
    a_run.execute_all(profile_of(tmp_path, CODES))
    Run(service, tmp_path, name="two").execute(OTHER)

    assert [code for code, _ in real_codes(service)] == list(CODES)
    assert service.executions == [CODE, THIRD]
    assert a_run.door.guard.executions == 3


@served_by(trouble.ExecutesForAnybody)
def test_a_code_that_anybody_executed_takes_its_room(service, tmp_path):
    """With room for one execution, the one that no token was needed for is the last."""
    a_run = Run(service, tmp_path, executions=1)
    a_run.execute(CODE, credential="no header")

    assert str(a_run.execute(OTHER).failure.message) == "limits.executions (1) is spent"
    assert service.executions == []


def test_limits_executions_counts_what_was_executed(tmp_path):
    """Refused credentials and the codes of earlier runs take no room; what is left out is said."""
    profile = bank_profile(tmp_path, transactions={"codes": list(CODES)}, limits={"executions": 1, "requests": 400})
    start_journal(profile)
    bank = Bank()
    models = [whole_run(bank, profile, ONLY_EXECUTIONS) for _ in CODES]
    said = "limits.executions (1) leaves out {} of {} transaction codes: not all requests to executePix were sent"

    assert bank.executions == list(CODES)
    assert [model.executions for model in models] == [1, 1, 1]
    assert len(real_codes(bank)) > 6
    assert [note for model in models for note in notes_of(model) if "leaves out" in note] == [
        said.format(2, 3), said.format(1, 2),
    ]  # fmt: skip


# -- prepared transfers are not forgotten ---------------------------------------------------------------------------


def prepared(bank, folder, only=ONLY_EXECUTIONS, **changes):
    """A run that prepares a transfer: its notes, and the transfers that it leaves."""
    transactions = {"prepare": PREPARE | changes}
    model = whole_run(bank, bank_profile(folder, transactions=transactions, requests=None), only)
    return notes_of(model), [*map(str, model.not_executed)]


class Declines(Bank):
    """Refuses with the code 0 and `Success: "false"`."""

    def refusal(self, refusal):
        return self.render(200, self.envelope(None, {"Success": "false", "Message": ""}))


def test_transfers_that_were_perhaps_declined_are_counted(tmp_path):
    """The document does not say what their answers hold, so they may be prepared. They are not listed one by one."""
    profile = bank_profile(tmp_path, sandbox=ADDRESS, allow=["read", "transfer", "fuzz"])
    lines = [str(line) for line in whole_run(Declines(), profile, "transferInternal").not_cleaned_up_in_words]
    declined = [line for line in lines if "Success" in line]

    assert len(declined) == 1
    assert re.match(
        r"\d+ transfers \(exchanges \d+, \d+, \d+ and \d+ more\), each not executed: the answer", declined[0]
    )


def test_a_code_at_that_matches_nothing_is_said_first(tmp_path):
    """With the facts of the answer and none of its values; one transfer is prepared, and listed as not executed."""
    bank = Bank()
    [first, *_], left = prepared(bank, tmp_path, code_at="/data/id", count=3)
    number = first.partition("(exchange ")[2].partition(")")[0]

    assert first == (
        "transactions.prepare.code_at (/data/id) matches no text and no number in the answer to createPix (exchange "
        f"{number}), which holds /code number, /data/date number, /data/status string, /data/transactionId "
        "string, /data/value number: correct code_at; the transfer is not executed"
    )
    assert left == [f"1 transfer (exchange {number}), not executed: no code at transactions.prepare.code_at"]


def test_an_answer_that_holds_no_code_is_no_fault_of_the_profile(tmp_path):
    """No note asks to correct code_at; what is not exercised says how the preparation was answered."""
    bank = Bank()
    bank.finish = lambda _, name, other: Response(200, b'{"code": 200}') if name == "createPix" else other
    model = whole_run(bank, bank_profile(tmp_path, transactions={"prepare": PREPARE}), "executePix.json")

    assert "no transfer was prepared: 200 with code 200, not 0" in str(
        next(result.message for _, result in result_of_run(model).results if result.message)
    )
    assert "code_at" not in str(notes_of(model))


def test_what_the_embedded_sandbox_holds_is_gone_with_it():
    """No line says that it is left."""
    ended = run_here("--environment=sandbox", "--no-report", "-k", "createPix.exists")

    assert "not cleaned up" not in ended.output


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
    """Whatever kept the run from executing it; where the outcome is unknown it does not wait."""
    bank = Bank()
    bank.execute = execute or bank.execute

    assert [line.partition("not executed: ")[2] for line in prepared(bank, tmp_path, only)[1]] == left
