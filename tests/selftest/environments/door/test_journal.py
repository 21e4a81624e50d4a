"""The journal: no code is sent twice with the valid token, by whatever spelling, profile, copy or accident."""

import json
import re
import stat
from contextlib import suppress
from pathlib import Path

import pytest
from filelock import FileLock, Timeout

from environments.door.event_log import JournalError, LogKey
from environments.door.journal import Journal, Outcome, outcome_of
from environments.profiles.loading import load
from environments.profiles.model import ProfileError
from reports.result.run_verdict import result_of_run
from spec.exchange import FailureKind
from tests.harness.starting import code_in_file, code_to_resend, start_journal
from tests.selftest.exchanges import EXECUTION_RESULT, answer, execution, unanswered
from tests.selftest.proof.trial import status_and_run
from tests.selftest.services import trouble_with_money as trouble
from tests.selftest.services.one_run import (
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
)
from tests.selftest.services.running import write_profile
from tests.selftest.services.serving import has_real_code, served_by

ONLY_EXECUTIONS = "executePix.document or executePix.token.required"
THIRD_CODE = "SBX-CPF-1"


# -- the file -----------------------------------------------------------------------------------------------------


def staging_journal(folder, run="one"):
    """The journal of a run in this folder."""
    return Journal(folder / "journal.jsonl", LogKey(folder / "journal.key"), environment="staging", run=run)


@pytest.fixture
def journal(tmp_path):
    """A journal with three events of two codes."""
    journal = staging_journal(tmp_path)
    for code, event in ((CODE, "sent"), (OTHER_CODE, "sent"), (CODE, "success")):
        journal.write(code, event)
    return journal


def test_a_code_stands_in_the_journal_by_its_digest_alone(journal, tmp_path):
    """Environment, run, outcome and status stand beside the digest. Only the owner can read the files."""
    journal.write(OTHER_CODE, "refused", status="404")
    entries = [
        (entry.environment, entry.run, entry.outcome, entry.status)
        for entry in staging_journal(tmp_path, run="two").entries()
    ]
    files = list(tmp_path.iterdir())

    assert entries == [("staging", "one", "success", ""), ("staging", "one", "refused", "404")]
    assert not [file for file in files if CODE.casefold().encode() in file.read_bytes().lower()]
    assert {stat.S_IMODE(file.stat().st_mode) & 0o077 for file in files} == {0}


def test_a_run_that_was_killed_between_two_writes_leaves_a_whole_journal(journal):
    """A journal may have one line more than the count says. Half a line is cut off, because nothing was sent for it."""
    count_file = journal.path.with_suffix(".count")
    count_before = count_file.read_bytes()
    journal.write(OTHER_CODE, "unknown")
    count_file.write_bytes(count_before)
    with journal.path.open("a") as file:
        file.write('{"at": "2026-')

    assert journal.fault() == ""
    journal.write(OTHER_CODE, "success")
    assert len([json.loads(line) for line in journal.path.read_text().splitlines()]) == 5


# -- never twice --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("address", "spelling"),
    [
        ("http://bank.example:80", CODE),
        ("http://bank.example/prefix", CODE.lower()),
        ("http://other.example", CODE.replace("P", "Ｐ")),
    ],
)
def test_other_profiles_copies_and_addresses_meet_the_same_entry(address, spelling, service, tmp_path):
    """The digest of an entry is made from the code alone, without letter case and width, because a service may
    ignore both.
    """
    first = ManualRun(service, tmp_path, proxied=True)
    later = ManualRun(service, tmp_path, name="two", proxied=True, base_url=address, environment="other")
    for manual_run in (first, later):
        manual_run.secrets.learn("code", spelling)
    first.execute()
    first.execute(spelling)
    skipped = later.execute(spelling)

    assert "the journal says that this code was sent at 20" in skipped.failure.message
    assert skipped.failure.message.endswith(" (success)")
    assert service.executions == [CODE]


def cut_last_line(path):
    """Remove the last line of the journal."""
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))


def cut_and_write_count(path):
    """Cut the journal, and write a count that fits, without a signature."""
    cut_last_line(path)
    path.with_suffix(".count").write_text("6")


def cut_and_edit_count(path):
    """Cut the journal, and put a count that fits before the signature."""
    cut_last_line(path)
    count = path.with_suffix(".count")
    count.write_text(count.read_text().replace("7 ", "6 ", 1))


COUNT_FAULT = "journal.count is missing, edited, or not signed with the key of the journal"
ACCIDENTS = {
    "deleted": (Path.unlink, "it has 0 lines and had 7"),
    "cut at a line end": (cut_last_line, "it has 6 lines and had 7"),
    "edited": (lambda path: path.write_text(path.read_text().replace("success", "offered")), "line 4 was edited"),
    "without its key": (lambda path: path.with_suffix(".key").unlink(), COUNT_FAULT),
    "cut, and its count written": (cut_and_write_count, COUNT_FAULT),
    "cut, and its count edited": (cut_and_edit_count, COUNT_FAULT),
    "without its count": (lambda path: path.with_suffix(".count").unlink(), COUNT_FAULT),
}


@pytest.mark.parametrize(("accident", "fault"), ACCIDENTS.values(), ids=ACCIDENTS)
def test_no_code_of_the_profile_is_sent_after_an_accident(accident, fault, service, tmp_path):
    """Any code may have been sent before the accident.

    The message says what to do. Lines that are written later do not mend the journal.
    """
    first = ManualRun(service, tmp_path)
    first.execute()
    first.execute(OTHER_CODE, credential="no header")
    first.execute(OTHER_CODE)
    accident(first.journal)
    later = ManualRun(service, tmp_path, name="two")
    later.secrets.learn("code", THIRD_CODE)
    fault_after_accident = staging_journal(tmp_path).fault()
    usable_codes = later.door.guard.open_journal([THIRD_CODE])
    staging_journal(tmp_path).write("TX-PREPARED", "sent")
    unsent = [later.execute(THIRD_CODE), later.execute(), later.execute(THIRD_CODE, credential="no header")]

    assert fault in fault_after_accident
    assert usable_codes == []
    assert {exchange.failure.message for exchange in unsent} == {later.door.guard.supplied_trouble}
    assert "transactions.codes are not sent" in later.door.guard.supplied_trouble
    assert service.executions == [CODE, OTHER_CODE]


def test_no_code_of_the_profile_is_sent_with_a_journal_that_others_can_write(service, tmp_path):
    """Others could replace the journal. --new-journal is refused, too, and the message says what helps."""
    ManualRun(service, tmp_path).execute(OTHER_CODE)
    tmp_path.chmod(0o770)
    later = ManualRun(service, tmp_path, name="two")
    usable_codes = later.door.guard.open_journal([CODE])
    trouble_message = (
        f"transactions.codes are not sent: others can write to {tmp_path}, which holds the journal: chmod go-w it"
    )
    with pytest.raises(JournalError, match=re.escape(trouble_message)):
        staging_journal(tmp_path).start()
    unsent = later.execute()
    tmp_path.chmod(0o700)

    assert usable_codes == []
    assert unsent.failure.message == trouble_message
    assert ManualRun(service, tmp_path, name="three").door.guard.open_journal([CODE]) == [CODE]


@pytest.mark.parametrize("accident", ["without its count", "cut at a line end"])
def test_the_readable_entries_of_a_damaged_journal_count(accident, service, tmp_path):
    """--new-journal keeps the damaged file under another name. With a whole journal the option is refused."""
    first = ManualRun(service, tmp_path)
    first.execute()
    first.execute(OTHER_CODE)
    with pytest.raises(JournalError, match="can be read: leave the option out"):
        staging_journal(tmp_path).start()
    do_damage, _ = ACCIDENTS[accident]
    do_damage(first.journal)
    text_before = first.journal.read_text()
    staging_journal(tmp_path).start()
    later = ManualRun(service, tmp_path, name="two")
    later.secrets.learn("code", THIRD_CODE)
    for code in (CODE, OTHER_CODE, THIRD_CODE):
        later.execute(code)

    [kept] = tmp_path.glob("journal-until-*.jsonl")
    assert kept.read_text() == text_before
    assert service.executions == [CODE, OTHER_CODE, THIRD_CODE]


def test_without_a_journal_no_code_of_the_profile_is_sent(tmp_path):
    """The message says how to start a journal. A journal that a run began for its own codes is not enough."""
    bank = FakeBank()
    profile = profile_off_sandbox(tmp_path, transactions={"codes": [CODE], "prepare": HOW_TO_PREPARE})
    notes = [report_notes(run_suite_in_memory(bank, profile, ONLY_EXECUTIONS))[0] for _ in range(2)]

    [note] = set(notes)
    assert note.startswith(f"transactions.codes are not sent: {profile.journal} does not say which were sent")
    assert "start one with --new-journal, if this is the first use here; else bring it back" in note
    assert len(bank.executions) == 2
    assert not [request for request in bank.received if request.path.endswith(CODE)]


def test_a_sandbox_keeps_no_journal(tmp_path):
    """On a sandbox each run sends its codes, and no journal is written."""
    bank, profile = FakeBank(), profile_off_sandbox(tmp_path, sandbox=UNUSED_ADDRESS)
    for _ in range(2):
        run_suite_in_memory(bank, profile, "executePix.document")

    assert bank.executions == [CODE, CODE]
    assert not list(tmp_path.glob("journal.*"))
    with pytest.raises(ProfileError, match="a sandbox has no journal; leave it out"):
        start_journal(profile)


# -- trouble in the middle ----------------------------------------------------------------------------------------


def test_a_journal_that_cannot_be_written_is_noticed_before_a_transfer_is_prepared(tmp_path):
    """A file stands in the place of the journal's folder. No transfer is prepared, and the run is incomplete."""
    (tmp_path / "state").write_text("in the way")
    bank = FakeBank()
    transactions = {"prepare": HOW_TO_PREPARE, "codes": [CODE]}
    profile = profile_off_sandbox(tmp_path, journal=str(tmp_path / "state" / "j"), transactions=transactions)
    model = run_suite_in_memory(bank, profile, ONLY_EXECUTIONS)

    assert [request.path for request in bank.received if has_real_code(request.path)] == []
    assert [request.path for request in bank.received if request.path == "/v1/pix"] == []
    assert report_notes(model)[0].startswith("executions were stopped: the journal cannot be read or written")
    assert result_of_run(model).verdict.exit_status == 6


def test_a_journal_that_breaks_in_the_middle_ends_executions(tmp_path):
    """The first answer is judged and counted. No further code is sent, and the run is incomplete."""
    profile = profile_off_sandbox(tmp_path, transactions={"codes": [CODE, OTHER_CODE, THIRD_CODE]})
    start_journal(profile)

    class BreaksTheJournal(FakeBank):
        """Executes, and puts a folder in the place of the journal."""

        def execute(self, request):
            profile.journal.unlink()
            profile.journal.mkdir()
            return self.respond(request)

    bank = BreaksTheJournal()
    model = run_suite_in_memory(bank, profile, ONLY_EXECUTIONS)

    assert (bank.executions, model.executions) == ([CODE], 1)
    assert f"executions were stopped: {profile.journal} is no file: name another place in journal" in report_notes(
        model
    )
    assert result_of_run(model).verdict.exit_status == 6


class _KilledError(Exception):
    """Stands for the end of a process that could not write anything any more."""


@pytest.mark.parametrize(
    ("credential", "executions"),
    [("a wrong token (of a JWT: another signature)", [CODE]), ("no header", [CODE]), ("valid", [])],
)
def test_a_code_that_a_killed_run_sent_is_barred(credential, executions, service, tmp_path, monkeypatch):
    """The entry is written before the request.

    A code that was only offered, with a wrong token, is not barred; the later run notes that it was offered.
    """

    def kill(*_):
        raise _KilledError

    first = ManualRun(service, tmp_path)
    monkeypatch.setattr(first.door.wire, "attempt", kill)
    monkeypatch.setattr(first.door.guard, "_note_outcome", kill)
    with pytest.raises(_KilledError):
        first.execute(credential=credential)
    later = ManualRun(service, tmp_path, name="two")
    usable_codes = later.door.guard.open_journal([CODE])
    later.execute(credential="no header")
    later.execute()

    assert service.executions == usable_codes == executions
    assert later.door.guard.offered == set(executions)
    assert set(later.door.guard.barred) == {CODE} - set(executions)


def test_the_outcome_of_an_execution_follows_from_its_answer():
    """A 4xx is a refusal, except for 408 and 499.

    An answer that is neither a refusal nor a success may have moved money.
    """
    outcomes = {status: outcome_of(execution({}, status=status), executes=True) for status in range(300, 600)}

    assert {status for status, outcome in outcomes.items() if outcome is not Outcome.UNKNOWN} == {*range(400, 500)} - {
        408,
        499,
    }
    assert outcome_of(execution(status=201), executes=True) is Outcome.SUCCESS
    assert outcome_of(unanswered(FailureKind.TIMEOUT), executes=True) is Outcome.UNKNOWN
    assert outcome_of(unanswered(FailureKind.NO_CONNECTION), executes=True) is Outcome.NOT_SENT


CARRY_A_RESULT = {
    "the result itself": EXECUTION_RESULT | {"status": "PENDING"},
    "a list in data": {"data": [{"bank": "341", "branch": "0001", "value": 10.5}]},
    "another name": {"transfer": {"account": "12345", "key": "a@b.example", "value": 10.5}},
    "behind a refusal": b'{"code": 409} {"code": 409, "data": {"id": "TX-1", "status": "PENDING", "value": 10.5}}',
    "three members": {"data": {"id": "TX-1", "status": "PENDING", "value": 10.5, "name": "", "error": None, "date": 0}},
}
CARRY_NO_RESULT = {
    "two members": {"data": {"id": "TX-1", "status": "EXPIRED", "error": None, "message": ""}},
    "an error in data": {"data": {"status": "REFUSED", "error": "expired", "message": "no", "type": "CODE"}},
    "that of Spring": {"timestamp": "2026-01-01", "status": 409, "error": "Conflict", "message": "no", "path": "/v1"},
    "that of RFC 9457": {"type": "https://bank.example/e", "status": 409, "title": "no", "detail": "no", "id": "1"},
    "a name of an error": {"name": "Conflict", "message": "no", "status": "error", "id": "7", "date": "2026-01-01"},
    "a skeleton": {"data": dict.fromkeys(EXECUTION_RESULT)},
    "done, and no more": {"code": 409, "data": {"id": "TX-1", "status": "DONE"}},
}


def test_a_refusal_that_carries_a_result_has_an_unknown_outcome():
    """A body carries a result if `data` has three documented members with values, or if another part has three that
    no usual error has.
    """
    outcomes_with_result = {
        name: outcome_of(answer("executePix", body, status=409), executes=True) for name, body in CARRY_A_RESULT.items()
    }
    outcomes_without_result = {
        name: outcome_of(answer("executePix", body, status=409), executes=True)
        for name, body in CARRY_NO_RESULT.items()
    }

    assert outcomes_with_result == dict.fromkeys(CARRY_A_RESULT, Outcome.UNKNOWN)
    assert outcomes_without_result == dict.fromkeys(CARRY_NO_RESULT, Outcome.REFUSED)


@pytest.mark.parametrize("status", [200, 302, 400, 409, 500])
def test_a_refusal_as_done_was_executed_if_the_run_alone_had_the_code(status):
    """A refusal with status DONE is a success if the run prepared the code and had not sent it before.

    After a success the same answer is a refusal, because its result is that of the first execution.
    """
    done = answer("executePix", {"code": 17, "data": EXECUTION_RESULT | {"status": "DONE"}}, status=status)
    later = answer("executePix", {"code": 17, "data": EXECUTION_RESULT | {"status": "LATER"}}, status=status)
    is_success = status == 200  # DONE in a 200 is one, whatever its code
    outcomes_of_own_code = [
        outcome_of(done, executes=True, is_own=True),
        outcome_of(done, executes=True, is_own=True, before=Outcome.NOT_SENT),
        outcome_of(done, executes=False, is_own=True),
    ]
    outcomes_of_code_others_had = [
        outcome_of(done, executes=True, is_own=True, before=Outcome.OFFERED),
        outcome_of(done, executes=True),
    ]

    assert outcomes_of_own_code == [Outcome.SUCCESS] * 3
    assert outcomes_of_code_others_had == [Outcome.SUCCESS if is_success else Outcome.UNKNOWN] * 2
    assert outcome_of(later, executes=True, is_own=True) is Outcome.UNKNOWN
    if status in (400, 409):
        assert outcome_of(done, executes=True, is_own=True, before=Outcome.SUCCESS) is Outcome.REFUSED


# -- two runs at once ---------------------------------------------------------------------------------------------


def test_the_journal_is_locked_while_a_code_is_on_the_wire(manual_run):
    """The lock is held for any credential, so that two runs at once take turns."""
    attempt = manual_run.door.wire.attempt
    sent_without_lock = []

    def attempt_if_locked(sending):
        with suppress(Timeout):
            FileLock(f"{manual_run.journal}.lock").acquire(blocking=False)
            sent_without_lock.append(sending.sent.url)
        return attempt(sending)

    manual_run.door.wire.attempt = attempt_if_locked
    manual_run.execute(credential="a wrong token (of a JWT: another signature)")
    manual_run.execute()

    assert sent_without_lock == []
    assert manual_run.outcomes_in_journal[-1:] == ["success"]
    assert not manual_run.door.guard.journal.lock.is_locked


# -- prepared codes -----------------------------------------------------------------------------------------------


def test_a_prepared_code_bars_nothing(service, tmp_path):
    """A prepared code is entered before it is sent, and a later run may send it.

    Its entry never takes back an outcome. If the journal cannot be written, no further code is sent.
    """
    journal = staging_journal(tmp_path)
    journal.start()
    for code, event in (
        (CODE, "prepared"),
        (OTHER_CODE, "prepared"),
        (OTHER_CODE, "sent"),
        (OTHER_CODE, "success"),
        (OTHER_CODE, "prepared"),
    ):
        journal.write(code, event)
    journal.write(THIRD_CODE, "prepared")
    journal.write(THIRD_CODE, "offered")
    later = ManualRun(service, tmp_path, name="two")
    usable_codes = later.door.guard.open_journal([CODE, OTHER_CODE, THIRD_CODE])
    outcomes = [entry.outcome for entry in journal.entries()]
    journal.path.unlink()
    journal.path.mkdir()
    later.client.send("createPix", json=HOW_TO_PREPARE["json"], valid=True)

    assert usable_codes == [CODE, THIRD_CODE]
    assert outcomes == ["prepared", "success", "offered"]
    assert later.door.guard.offered == {THIRD_CODE}
    assert later.door.guard.journal_trouble == f"{journal.path} is no file: name another place in journal"
    assert later.door.guard.executions_possible == 0


UNUSABLE = [".", "..", "Tok-3n.Of-The_Service", "x-tok-3n.of-the_service", "a b", "é", "1" * 201, "executePix.id.type"]


@pytest.mark.parametrize("code", [*UNUSABLE, CODE.lower()])
def test_an_impossible_prepared_code_is_not_sent(service, code, tmp_path):
    """A dot would change the path, the token would be written into it, and a code of the profile is sent once.

    The run notes what to look at, and prepares no further transfer.
    """
    service.sandbox.new_code = lambda: code
    manual_run = ManualRun(service, tmp_path)
    manual_run.execute_all(sandbox_profile(tmp_path, [CODE], prepare=HOW_TO_PREPARE | {"count": 3}))

    assert service.executions == [CODE]
    assert " is not sent: it " in manual_run.door.guard.notes[0]
    assert len([request for request in service.received if request.path == "/v1/pix"]) == 1


# -- what people do -----------------------------------------------------------------------------------------------


def test_a_code_that_succeeded_is_never_sent_again(service, tmp_path):
    """A refused code is sent again if --resend-code names it.

    A code that succeeded, or that the profile does not have, is not. No message repeats the code.
    """
    profile = profile_off_sandbox(tmp_path, transactions={"codes": [CODE, OTHER_CODE]})
    start_journal(profile)
    ManualRun(service, tmp_path).execute()
    ManualRun(service, tmp_path, token="another-Tok3n.of-Nobody").execute(OTHER_CODE)
    skipped = ManualRun(service, tmp_path, name="two").execute(OTHER_CODE)
    resending = ManualRun(service, tmp_path, name="three", resend={CODE, OTHER_CODE})
    resending.execute()
    resending.execute(OTHER_CODE)

    assert skipped.failure.message.endswith(" (refused)")
    assert service.executions == [CODE, OTHER_CODE]
    for code, reason in (
        (CODE, "the journal says that this code was executed at 20"),
        ("TX-OF-NOBODY", "the code is not in transactions.codes"),
    ):
        with pytest.raises(ProfileError, match=f"^--resend-code: {reason}(?!.*{code})"):
            code_to_resend(profile, code)
    with pytest.raises(ProfileError, match=r"expected a file that holds one code(?!.*TX-OF-NOBODY)"):
        code_in_file("TX-OF-NOBODY")


@served_by(trouble.RefusesEveryExecution)
def test_the_options_start_a_journal_and_send_one_code_again(service, tmp_path, monkeypatch):
    """A pipeline gives the key of the journal in a variable. Without that variable nothing is sent."""
    profile = write_profile(
        tmp_path, service.base_url, sandbox=None, journal="kept/journal.jsonl", journal_key_env="PIX_JOURNAL_KEY",
        allow=["execute"],
    )  # fmt: skip
    options = ["--no-report", "-k", "executePix.document", f"--environment={profile}"]
    (tmp_path / "code").write_text(f"{CODE}\n")
    notes = []
    with pytest.raises(ProfileError, match="PIX_JOURNAL_KEY is not set in the environment"):
        start_journal(load(str(profile)))
    for option in ("--new-journal", f"--resend-code={tmp_path / 'code'}"):
        monkeypatch.setenv("PIX_TOKEN", service.sandbox.token)
        monkeypatch.setenv("PIX_JOURNAL_KEY", "a-key-of-the-pipeline")
        notes += report_notes(status_and_run(*options, option)[1])

    assert f"a new journal was started: {tmp_path / 'kept/journal.jsonl'}; an old one is kept beside it" in notes
    assert service.executions == [CODE, CODE]
    assert not (tmp_path / "kept" / "journal.key").exists()
