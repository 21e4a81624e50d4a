"""What a run spends: transaction codes, executions, and transfers that it prepared."""

import pytest

from tests.selftest.services import trouble_with_money as trouble
from tests.selftest.services.one_run import CODE, EVERYTHING, OTHER, Run, profile_of
from tests.selftest.services.running import run, write_profile
from tests.selftest.services.serving import Raw, real_codes, served_by

THIRD = "SBX-CPF-1"
CODES = (CODE, OTHER, THIRD)
WRONG = "another-Tok3n.of-Nobody"
PREPARE = {
    "operation": "createPix",
    "json": {"account": "ac-0001", "pixKey": "+5511955500101", "value": 10.5},
    "code_at": "/data/transactionId",
    "count": 3,
}
ONLY_EXECUTIONS = ("-k", "executePix.document or executePix.token.required")


def with_the_token(service, token):
    """The real codes that came with the token."""
    return [code for code, sent in real_codes(service) if sent == f"Bearer {token}"]


# -- a bad token spends little ----------------------------------------------------------------------------------


def test_a_wrong_token_spends_one_code(service, tmp_path):
    """After the 401 no code goes out in any form, and no transfer is prepared."""
    a_run = Run(service, tmp_path, token=WRONG)
    a_run.execute_all(profile_of(tmp_path, CODES, prepare=PREPARE))

    assert with_the_token(service, WRONG) == [CODE]
    assert {code for code, _ in real_codes(service)} == {CODE}
    assert [seen for seen in service.seen if seen.path == "/v1/pix"] == []
    assert a_run.events == ["sent", "refused"]


def test_a_wrong_token_prepares_one_transfer_at_most(service, tmp_path):
    """Without a supplied code the preparation shows that the token is refused."""
    a_run = Run(service, tmp_path, token=WRONG)
    a_run.execute_all(profile_of(tmp_path, (), prepare=PREPARE))

    assert len([seen for seen in service.seen if seen.path == "/v1/pix"]) == 1
    assert real_codes(service) == []


@served_by(trouble.RefusesEveryExecution, trouble.RefusesEveryExecutionIn200)
def test_an_execution_that_is_answered_401_is_the_last(service, a_run, tmp_path):
    """Although reads accept the token: by status, or by the code of the envelope."""
    a_run.client.send("listAccounts", valid=True)
    a_run.execute_all(profile_of(tmp_path, CODES))
    probe, again = a_run.execute(OTHER, credential="no header"), a_run.execute(THIRD)

    assert {code for code, _ in real_codes(service)} == {CODE}
    assert probe.failure.message == "an execution was answered 401: no more codes are sent with this token"
    assert again.failure.message == probe.failure.message
    assert a_run.events == ["sent", "refused"]


def test_codes_go_on_with_a_token_that_was_fetched_anew(service, tmp_path):
    """A read shows first that it is accepted. The code that was refused is spent; the others are executed."""
    a_run = Run(service, tmp_path, token=WRONG)
    a_run.execute(CODE)
    refused = a_run.execute(OTHER)
    a_run.secrets.learn_token(service.service.token)
    a_run.execute(OTHER)
    a_run.execute(CODE)

    assert [seen.operation for seen in a_run.door.exchanges] == ["executePix", "listAccounts", "executePix"]
    assert not refused.number
    assert with_the_token(service, WRONG) == [CODE]
    assert service.executions == [OTHER]


@pytest.mark.parametrize("allow", [EVERYTHING, EVERYTHING - {"read"}], ids=["refused", "not permitted"])
def test_no_code_goes_on_without_a_read_that_succeeds(allow, service, tmp_path):
    """Another token alone shows nothing: it may be as dead as the one before."""
    a_run = Run(service, tmp_path, token=WRONG, allow=allow)
    a_run.execute(CODE)
    a_run.secrets.learn_token("yet-another-Tok3n")
    kept = a_run.execute(OTHER)

    assert kept.failure.message == "an execution was answered 401: no more codes are sent with this token"
    assert {code for code, _ in real_codes(service)} == {CODE}


@served_by(trouble.RefusesEveryExecution)
def test_a_second_401_ends_executions(service, a_run):
    """Although each token was fetched anew, and reads accept it."""
    a_run.secrets.learn("code", *CODES)
    for number, code in enumerate(CODES):
        a_run.execute(code)
        service.service.token = f"Tok-{number}.Of-The_Service"
        a_run.secrets.learn_token(service.service.token)

    assert [code for code, _ in real_codes(service)] == [CODE, OTHER]


def test_a_later_run_skips_the_refused_code_alone(service, tmp_path):
    """Its journal says why, and --resend-code sends it again; the others are sent as ever."""
    Run(service, tmp_path, token=WRONG).execute_all(profile_of(tmp_path, CODES))
    later = Run(service, tmp_path, name="two")
    skipped = later.execute(CODE)
    later.execute_all(profile_of(tmp_path, CODES))
    Run(service, tmp_path, name="three", resend={CODE}).execute(CODE)

    assert skipped.failure.message.startswith("the journal says that this code was sent at ")
    assert skipped.failure.message.endswith(" (refused)")
    assert service.executions == [OTHER, THIRD, CODE]


def test_a_refused_token_is_said_once_and_the_next_run_says_which_code_it_skips(service, tmp_path):
    """First in the report: what happened, and what to do."""
    transactions = {"codes": list(CODES), "prepare": PREPARE}
    limits = {"executions": 6, "requests": 400}
    profile = write_profile(
        tmp_path, service.base_url, sandbox=None, transactions=transactions, limits=limits,
        allow=["execute", "create-pix"],
    )  # fmt: skip
    wrong = run(profile, *ONLY_EXECUTIONS, "--new-journal", PIX_TOKEN=WRONG).document
    right = run(profile, *ONLY_EXECUTIONS).document

    said = "no further transaction code was sent with this token: check auth; then name this one code in --resend-code"
    assert [said in note for note in wrong["notes"]].count(True) == 1
    assert wrong["notes"][0].startswith("no operation granted anything (401 to ")
    assert said in "".join(wrong["notes"][1:3])
    assert (wrong["verdict"], wrong["traffic"]["executions"], wrong["left_behind"]) == ("incomplete", 0, [])
    assert right["notes"][0] == (
        "1 of 6 transaction codes were sent by an earlier run according to the journal, and not by this one: prepare new "
        "ones; or name one that was refused in --resend-code; 1 of them got 401: the token was at fault"
    )
    assert service.executions[:2] == [OTHER, THIRD]
    assert len(service.executions) == 5


# -- executions are counted by effect ---------------------------------------------------------------------------


@served_by(trouble.ExecutesForAnybody)
def test_one_proof_is_enough(service, a_run, tmp_path):
    """A service that executes for anybody gets one bad credential with a real code; each code is executed once."""
    a_run.execute_all(profile_of(tmp_path, CODES))

    assert [code for code, _ in real_codes(service)] == list(CODES)
    assert service.executions == [CODE, THIRD]
    assert a_run.door.guard.sent == 3


@served_by(trouble.ExecutesForAnybody)
def test_executions_without_a_token_are_counted(service, tmp_path):
    """The report says how many transfers were confirmed, with whatever credential."""
    transactions = {"codes": list(CODES)}
    document = run(write_profile(tmp_path, service.base_url, transactions=transactions), *ONLY_EXECUTIONS).document

    assert document["traffic"]["executions"] == 3
    assert {row["id"]: row["verdict"] for row in document["requirements"]}["executePix.token.required"] == "fail"


@pytest.mark.parametrize(("service", "counted"), [(Raw, 0), (trouble.ResetsAnExecution, 1)], indirect=["service"])
def test_an_execution_counts_by_its_effect(a_run, counted):
    """A code that nobody prepared is refused and moves no money; an execution with an unknown outcome counts."""
    a_run.secrets.learn("code", "SBX-UNKNOWN")
    a_run.execute("SBX-UNKNOWN")

    assert a_run.door.guard.sent == counted


@pytest.mark.parametrize(("limit", "executed"), [(1, [CODE]), (2, [CODE, OTHER])])
def test_refused_credentials_take_no_room(limit, executed, service, tmp_path):
    """All refusals and the execution of a code fit into one; what is left out is said."""
    a_run = Run(service, tmp_path, executions=limit)
    found = a_run.execute_all(profile_of(tmp_path, CODES, executions=limit))

    assert service.executions == executed
    assert len(found.refusals) > limit
    assert list(a_run.door.unsent) == [f"limits.executions ({limit}) leaves out {3 - limit} of 3 transaction codes"]


@served_by(trouble.ExecutesForAnybody)
def test_a_code_that_anybody_executed_takes_its_room(service, tmp_path):
    """With room for one execution, the one that no token was needed for is the last."""
    a_run = Run(service, tmp_path, executions=1)
    a_run.execute(CODE, credential="no header")
    later = a_run.execute(OTHER)

    assert later.failure.message == "limits.executions (1) is spent"
    assert [code for code, _ in real_codes(service)] == [CODE]


def test_codes_of_earlier_runs_take_no_room(service, tmp_path):
    """Where the journal holds the first codes, the later ones are executed, up to the limit."""
    Run(service, tmp_path).execute_all(profile_of(tmp_path, (CODE, OTHER)))
    later = Run(service, tmp_path, name="two", executions=1)
    later.execute_all(profile_of(tmp_path, CODES, executions=1))

    assert service.executions == list(CODES)
    assert later.door.guard.notes == []


def test_a_code_that_another_run_executed_is_not_probed(service, tmp_path):
    """An executed code is not sent again, with a bad credential neither."""
    first, second = Run(service, tmp_path), Run(service, tmp_path, name="two")
    first.execute(CODE)
    probe = second.execute(CODE, credential="no header")

    assert probe.failure.message.endswith(" (success)")
    assert [code for code, _ in real_codes(service)] == [CODE]


# -- prepared transfers are not forgotten -----------------------------------------------------------------------


def test_a_code_at_that_matches_nothing_is_said_first(service, tmp_path):
    """With the facts of the answer and none of its values; one transfer is prepared, and listed as not cleaned up."""
    transactions = {"prepare": {**PREPARE, "code_at": "/data/id"}}
    limits = {"executions": 5, "requests": 400}
    profile = write_profile(tmp_path, service.base_url, transactions=transactions, limits=limits)
    document = run(profile, *ONLY_EXECUTIONS).document

    number = next(iter(seen["number"] for seen in document["exchanges"] if seen["operation"] == "createPix"))
    assert document["notes"][0] == (
        "transactions.prepare.code_at (/data/id) matches no text and no number in the answer to createPix (exchange "
        f"{number}), which holds /code number, /data/date number, /data/document string, /data/name string, /data/status "
        "string, /data/transactionId string, /data/value number: correct code_at; the transfer is not executed"
    )
    assert document["left_behind"] == [
        f"a transfer that createPix prepared (exchange {number}): not executed: transactions.prepare.code_at is wrong"
    ]
    assert len([seen for seen in service.seen if seen.path == "/v1/pix"]) == 1


@pytest.mark.parametrize(
    ("service_class", "limit", "why"),
    [
        pytest.param(trouble.RefusesEveryExecution, 5, "its execution was refused (401 application/json)", id="token"),
        pytest.param(trouble.VanishesAfterPreparing, 5, "its code was not sent", id="target gone"),
    ],
)
def test_a_transfer_that_was_not_executed_is_listed(service_class, limit, why, tmp_path):
    """Whatever kept the run from executing it; an unknown outcome is told apart."""
    with service_class() as service:
        a_run = Run(service, tmp_path, executions=limit)
        a_run.execute_all(profile_of(tmp_path, (), prepare={**PREPARE, "count": 2}))
    left = list(a_run.door.guard.prepared.not_executed(a_run.door.exchanges))

    assert 1 <= len(left) <= 2  # a target that goes may have been asked for one more
    assert left[0].startswith("a transfer that createPix ")
    assert left[0].endswith(f": not executed: {why}")


def test_a_transfer_that_a_selection_prepares_and_does_not_execute_is_listed(service, tmp_path):
    """Where only the operation that prepares is looked at; its code is hidden like any other."""
    transactions = {"prepare": {**PREPARE, "count": 1}}
    limits = {"executions": 5, "requests": 400}
    profile = write_profile(tmp_path, service.base_url, transactions=transactions, limits=limits, requests=None)
    result = run(profile, "-k", "createPix.shape")
    left = [line for line in result.document["left_behind"] if "createPix prepared" in line]

    assert len(left) == 1
    assert left[0].endswith(": not executed: its code was not sent")
    assert "SBX-" not in (result.folder / "report.html").read_text()


@served_by(Raw, trouble.ResetsAnExecution)
def test_executed_transfers_are_not_listed(a_run, tmp_path):
    """A transfer that was executed, or whose outcome is unknown, is not listed as waiting."""
    a_run.execute_all(profile_of(tmp_path, (), prepare={**PREPARE, "count": 1}))

    assert list(a_run.door.guard.prepared.not_executed(a_run.door.exchanges)) == []


def test_the_plan_and_the_run_say_what_is_left_out(service, tmp_path):
    """The headline says it, too."""
    transactions = {"codes": list(CODES), "prepare": PREPARE}
    limits = {"executions": 4, "requests": 400}
    profile = write_profile(tmp_path, service.base_url, transactions=transactions, limits=limits)
    plan = run(profile, "--plan", *ONLY_EXECUTIONS)
    document = run(profile, *ONLY_EXECUTIONS).document

    said = "limits.executions (4) leaves out 2 of 6 transaction codes"
    assert said in plan.output
    assert f"{said}: not all requests to executePix were sent" in document["notes"]
    assert f"; cut short, as {said} (executePix)" in document["headline"]
    assert len(service.executions) == 4
