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
from tests.selftest.exchanges import EXECUTION, answer, execution, failed
from tests.selftest.proof.trial import run_of
from tests.selftest.services import trouble_with_money as trouble
from tests.selftest.services.one_run import (
    ADDRESS,
    CODE,
    OTHER,
    PREPARE,
    Bank,
    Run,
    bank_profile,
    notes_of,
    profile_of,
    whole_run,
)
from tests.selftest.services.running import write_profile
from tests.selftest.services.serving import is_real, served_by

ONLY_EXECUTIONS = "executePix.document or executePix.token.required"
THIRD = "SBX-CPF-1"


# -- the file -----------------------------------------------------------------------------------------------------


def log_in(folder, run="one"):
    """The journal of a run."""
    return Journal(folder / "journal.jsonl", LogKey(folder / "journal.key"), environment="staging", run=run)


@pytest.fixture
def log(tmp_path):
    """A journal with three events of two codes."""
    log = log_in(tmp_path)
    for code, event in ((CODE, "sent"), (OTHER, "sent"), (CODE, "success")):
        log.write(code, event)
    return log


def test_a_code_stands_in_the_journal_by_its_digest_alone(log, tmp_path):
    """Environment, time, run and what is given stand beside it. All files are their owner's alone."""
    log.write(OTHER, "refused", status="404")
    entries = [(one.environment, one.run, one.outcome, one.status) for one in log_in(tmp_path, run="two").entries()]
    files = list(tmp_path.iterdir())

    assert entries == [("staging", "one", "success", ""), ("staging", "one", "refused", "404")]
    assert not [file for file in files if CODE.casefold().encode() in file.read_bytes().lower()]
    assert {stat.S_IMODE(file.stat().st_mode) & 0o077 for file in files} == {0}


def test_a_run_that_was_killed_between_two_writes_leaves_a_whole_journal(log):
    """One line more than the count is right; half a line is cut, because nothing was sent for it."""
    count = log.path.with_suffix(".count")
    before = count.read_bytes()
    log.write(OTHER, "unknown")
    count.write_bytes(before)
    with log.path.open("a") as file:
        file.write('{"at": "2026-')

    assert log.fault() == ""
    log.write(OTHER, "success")
    assert [bool(json.loads(line)) for line in log.path.read_text().splitlines()] == [True] * 5


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
    """The entry is keyed by the code and nothing else; a service may ignore letter case and width."""
    runs = [Run(service, tmp_path, proxied=True)]
    runs.append(Run(service, tmp_path, name="two", proxied=True, base_url=address, environment="other"))
    for each in runs:
        each.secrets.learn("code", spelling)
    runs[0].execute()
    runs[0].execute(spelling)
    again = runs[1].execute(spelling)

    assert "the journal says that this code was sent at 20" in again.failure.message
    assert again.failure.message.endswith(" (success)")
    assert service.executions == [CODE]


def cut(path):
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))


def cut_and_count(path):
    """Cut the journal, and write a number that fits."""
    cut(path)
    path.with_suffix(".count").write_text("6")


def cut_and_edit_the_count(path):
    """Cut the journal, and put a number that fits before the signature."""
    cut(path)
    count = path.with_suffix(".count")
    count.write_text(count.read_text().replace("7 ", "6 ", 1))


COUNT = "journal.count is missing, edited, or not signed with the key of the journal"
ACCIDENTS = {
    "deleted": (Path.unlink, "it has 0 lines and had 7"),
    "cut at a line end": (cut, "it has 6 lines and had 7"),
    "edited": (lambda path: path.write_text(path.read_text().replace("success", "offered")), "line 4 was edited"),
    "without its key": (lambda path: path.with_suffix(".key").unlink(), COUNT),
    "cut, and its count written": (cut_and_count, COUNT),
    "cut, and its count edited": (cut_and_edit_the_count, COUNT),
    "without its count": (lambda path: path.with_suffix(".count").unlink(), COUNT),
}


@pytest.mark.parametrize(("accident", "said"), ACCIDENTS.values(), ids=ACCIDENTS)
def test_no_code_of_the_profile_is_sent_after_an_accident(accident, said, service, tmp_path):
    """It may be any of them that was sent before; the line says what to do. It stays so when more is written."""
    first = Run(service, tmp_path)
    first.execute()
    first.execute(OTHER, credential="no header")
    first.execute(OTHER)
    accident(first.journal)
    later = Run(service, tmp_path, name="two")
    later.secrets.learn("code", THIRD)
    fault, usable = log_in(tmp_path).fault(), later.door.guard.open_journal([THIRD])
    log_in(tmp_path).write("TX-PREPARED", "sent")
    refused = [later.execute(THIRD), later.execute(), later.execute(THIRD, credential="no header")]

    assert (said in fault, usable) == (True, [])
    assert {one.failure.message for one in refused} == {later.door.guard.supplied_trouble}
    assert "transactions.codes are not sent" in later.door.guard.supplied_trouble
    assert service.executions == [CODE, OTHER]


def test_no_code_of_the_profile_is_sent_with_a_journal_that_others_can_write(service, tmp_path):
    """They could put another one in its place. --new-journal does not help: the line says what does."""
    Run(service, tmp_path).execute(OTHER)
    tmp_path.chmod(0o770)
    later = Run(service, tmp_path, name="two")
    usable = later.door.guard.open_journal([CODE])
    said = f"transactions.codes are not sent: others can write to {tmp_path}, which holds the journal: chmod go-w it"
    with pytest.raises(JournalError, match=re.escape(said)):
        log_in(tmp_path).start()
    refused = later.execute()
    tmp_path.chmod(0o700)

    assert (usable, refused.failure.message) == ([], said)
    assert Run(service, tmp_path, name="three").door.guard.open_journal([CODE]) == [CODE]


@pytest.mark.parametrize("accident", ["without its count", "cut at a line end"])
def test_what_can_be_read_of_a_damaged_journal_still_counts(accident, service, tmp_path):
    """--new-journal keeps the old file under another name; it is refused where the journal is whole."""
    first = Run(service, tmp_path)
    first.execute()
    first.execute(OTHER)
    with pytest.raises(JournalError, match="can be read: leave the option out"):
        log_in(tmp_path).start()
    ACCIDENTS[accident][0](first.journal)
    before = first.journal.read_text()
    log_in(tmp_path).start()
    later = Run(service, tmp_path, name="two")
    later.secrets.learn("code", THIRD)
    for code in (CODE, OTHER, THIRD):
        later.execute(code)

    [kept] = tmp_path.glob("journal-until-*.jsonl")
    assert kept.read_text() == before
    assert service.executions == [CODE, OTHER, THIRD]


def test_the_first_use_says_what_to_do(tmp_path):
    """Nor is a journal enough that a run began for codes of its own: the one of before may be gone."""
    bank = Bank()
    profile = bank_profile(tmp_path, transactions={"codes": [CODE], "prepare": PREPARE})
    notes = [notes_of(whole_run(bank, profile, ONLY_EXECUTIONS))[0] for _ in range(2)]

    [said] = set(notes)
    assert said.startswith(f"transactions.codes are not sent: {profile.journal} does not say which were sent")
    assert "start one with --new-journal, if this is the first use here; else bring it back" in said
    assert len(bank.executions) == 2
    assert not [seen for seen in bank.seen if seen.path.endswith(CODE)]


def test_a_sandbox_keeps_no_journal(tmp_path):
    """Each run sends its codes, and nothing stands beside them."""
    bank, profile = Bank(), bank_profile(tmp_path, sandbox=ADDRESS)
    for _ in range(2):
        whole_run(bank, profile, "executePix.document")

    assert bank.executions == [CODE, CODE]
    assert not list(tmp_path.glob("journal.*"))
    with pytest.raises(ProfileError, match="a sandbox has no journal; leave it out"):
        start_journal(profile)


# -- trouble in the middle ----------------------------------------------------------------------------------------


def test_a_journal_that_cannot_be_written_is_noticed_before_a_transfer_is_prepared(tmp_path):
    """A file stands where its folder would be."""
    (tmp_path / "state").write_text("in the way")
    bank = Bank()
    transactions = {"prepare": PREPARE, "codes": [CODE]}
    profile = bank_profile(tmp_path, journal=str(tmp_path / "state" / "j"), transactions=transactions)
    model = whole_run(bank, profile, ONLY_EXECUTIONS)

    assert {seen.path for seen in bank.seen if is_real(seen.path) or seen.path == "/v1/pix"} == set()
    assert notes_of(model)[0].startswith("executions were stopped: the journal cannot be read or written")
    assert result_of_run(model).verdict.exit_status == 6


def test_a_journal_that_breaks_in_the_middle_ends_executions(tmp_path):
    """The answer stands and is counted; no further code goes out, and the run is incomplete."""
    profile = bank_profile(tmp_path, transactions={"codes": [CODE, OTHER, THIRD]})
    start_journal(profile)

    class BreaksTheJournal(Bank):
        """Executes, and meanwhile a folder comes to stand in the place of the journal."""

        def execute(self, request):
            profile.journal.unlink()
            profile.journal.mkdir()
            return self.respond(request)

    bank = BreaksTheJournal()
    model = whole_run(bank, profile, ONLY_EXECUTIONS)

    assert (bank.executions, model.executions) == ([CODE], 1)
    assert f"executions were stopped: {profile.journal} is no file: name another place in journal" in notes_of(model)
    assert result_of_run(model).verdict.exit_status == 6


class _KilledError(Exception):
    """Stands for the end of a process that could not write anything any more."""


@pytest.mark.parametrize(
    ("credential", "executions"),
    [("a wrong token (of a JWT: another signature)", [CODE]), ("no header", [CODE]), ("valid", [])],
)
def test_a_code_of_a_run_that_was_killed_is_barred_where_it_was_sent(
    credential, executions, service, tmp_path, monkeypatch
):
    """It is written down before the send. One that was only offered bars nothing; the later run says so."""

    def killed(*_):
        raise _KilledError

    first = Run(service, tmp_path)
    monkeypatch.setattr(first.door.wire, "attempt", killed)
    monkeypatch.setattr(first.door.guard, "_note_outcome", killed)
    with pytest.raises(_KilledError):
        first.execute(credential=credential)
    later = Run(service, tmp_path, name="two")
    usable = later.door.guard.open_journal([CODE])
    later.execute(credential="no header")
    later.execute()

    assert service.executions == usable == executions
    assert (later.door.guard.offered, set(later.door.guard.barred)) == (set(executions), {CODE} - set(executions))


def test_an_answer_has_one_outcome():
    """Every 4xx but 408 and 499 is a refusal; what is neither a refusal nor a success may have moved money."""
    of_status = {status: outcome_of(execution({}, status=status), executes=True) for status in range(300, 600)}

    assert {status for status, outcome in of_status.items() if outcome is not Outcome.UNKNOWN} == {*range(400, 500)} - {
        408,
        499,
    }
    assert outcome_of(execution(status=201), executes=True) is Outcome.SUCCESS
    assert outcome_of(failed(FailureKind.TIMEOUT), executes=True) is Outcome.UNKNOWN
    assert outcome_of(failed(FailureKind.NO_CONNECTION), executes=True) is Outcome.NOT_SENT


ELSEWHERE = {
    "the result itself": EXECUTION | {"status": "PENDING"},
    "a list in data": {"data": [{"bank": "341", "branch": "0001", "value": 10.5}]},
    "another name": {"transfer": {"account": "12345", "key": "a@b.example", "value": 10.5}},
    "behind a refusal": b'{"code": 409} {"code": 409, "data": {"id": "TX-1", "status": "PENDING", "value": 10.5}}',
    "three members": {"data": {"id": "TX-1", "status": "PENDING", "value": 10.5, "name": "", "error": None, "date": 0}},
}
REFUSALS = {
    "two members": {"data": {"id": "TX-1", "status": "EXPIRED", "error": None, "message": ""}},
    "an error in data": {"data": {"status": "REFUSED", "error": "expired", "message": "no", "type": "CODE"}},
    "that of Spring": {"timestamp": "2026-01-01", "status": 409, "error": "Conflict", "message": "no", "path": "/v1"},
    "that of RFC 9457": {"type": "https://bank.example/e", "status": 409, "title": "no", "detail": "no", "id": "1"},
    "a name of an error": {"name": "Conflict", "message": "no", "status": "error", "id": "7", "date": "2026-01-01"},
    "a skeleton": {"data": dict.fromkeys(EXECUTION)},
    "done, and no more": {"code": 409, "data": {"id": "TX-1", "status": "DONE"}},
}


def test_a_refusal_that_carries_a_result_has_an_unknown_outcome():
    """A result has three documented members that are filled, under `data`; elsewhere three that no error has. With fewer
    it is a refusal, in whatever form services refuse."""
    carrying = {
        name: outcome_of(answer("executePix", body, status=409), executes=True) for name, body in ELSEWHERE.items()
    }
    refusing = {
        name: outcome_of(answer("executePix", body, status=409), executes=True) for name, body in REFUSALS.items()
    }

    assert carrying == dict.fromkeys(ELSEWHERE, Outcome.UNKNOWN)
    assert refusing == dict.fromkeys(REFUSALS, Outcome.REFUSED)


@pytest.mark.parametrize("status", [200, 302, 400, 409, 500])
def test_a_refusal_as_done_was_executed_if_the_run_alone_had_the_code(status):
    """It prepared the code, and had not sent it before. The result of a code that it saw succeed is that of the first
    execution."""
    done = answer("executePix", {"code": 17, "data": EXECUTION | {"status": "DONE"}}, status=status)
    later = answer("executePix", {"code": 17, "data": EXECUTION | {"status": "LATER"}}, status=status)
    is_success = status == 200  # DONE in a 200 is one, whatever its code
    told = [
        outcome_of(done, executes=True, is_own=True),
        outcome_of(done, executes=True, is_own=True, before=Outcome.NOT_SENT),
        outcome_of(done, executes=False, is_own=True),
        outcome_of(done, executes=True, is_own=True, before=Outcome.OFFERED),
        outcome_of(done, executes=True),
        outcome_of(later, executes=True, is_own=True),
    ]

    assert told[:3] == [Outcome.SUCCESS] * 3
    assert told[3:5] == [Outcome.SUCCESS if is_success else Outcome.UNKNOWN] * 2
    assert told[5] is Outcome.UNKNOWN
    if status in (400, 409):
        assert outcome_of(done, executes=True, is_own=True, before=Outcome.SUCCESS) is Outcome.REFUSED


# -- two runs at once ---------------------------------------------------------------------------------------------


def test_the_journal_is_locked_while_a_code_is_on_the_wire(a_run):
    """With whatever credential, so that two runs at once take turns."""
    attempt, free = a_run.door.wire.attempt, []

    def look(sending):
        with suppress(Timeout):
            FileLock(f"{a_run.journal}.lock").acquire(blocking=False)
            free.append(sending.sent.url)
        return attempt(sending)

    a_run.door.wire.attempt = look
    a_run.execute(credential="a wrong token (of a JWT: another signature)")
    a_run.execute()

    assert (free, a_run.events[-1:]) == ([], ["success"])
    assert not a_run.door.guard.journal.lock.is_locked


# -- prepared codes -----------------------------------------------------------------------------------------------


def test_a_prepared_code_bars_nothing(service, tmp_path):
    """It is written down before it is sent, without an outcome; a later run may be given it, and does not say that it
    was offered. An outcome is never taken back by it. Without a journal that can be written no code is sent."""
    log = log_in(tmp_path)
    log.start()
    for code, event in (
        (CODE, "prepared"),
        (OTHER, "prepared"),
        (OTHER, "sent"),
        (OTHER, "success"),
        (OTHER, "prepared"),
    ):
        log.write(code, event)
    log.write(THIRD, "prepared")
    log.write(THIRD, "offered")
    later = Run(service, tmp_path, name="two")
    usable = later.door.guard.open_journal([CODE, OTHER, THIRD])
    outcomes = [entry.outcome for entry in log.entries()]
    log.path.unlink()
    log.path.mkdir()
    later.client.send("createPix", json=PREPARE["json"], valid=True)

    assert usable == [CODE, THIRD]
    assert outcomes == ["prepared", "success", "offered"]
    assert later.door.guard.offered == {THIRD}
    assert later.door.guard.journal_trouble == f"{log.path} is no file: name another place in journal"
    assert later.door.guard.room == 0


UNUSABLE = [".", "..", "Tok-3n.Of-The_Service", "x-tok-3n.of-the_service", "a b", "é", "1" * 201, "executePix.id.type"]


@pytest.mark.parametrize("code", [*UNUSABLE, CODE.lower()])
def test_a_prepared_code_that_cannot_be_one_is_not_sent(service, code, tmp_path):
    """A dot would change the address, a token would be written into it, and a code of the profile is sent once. The run
    says what to look at, and prepares no more."""
    service.service.new_code = lambda: code
    a_run = Run(service, tmp_path)
    a_run.execute_all(profile_of(tmp_path, [CODE], prepare=PREPARE | {"count": 3}))

    assert service.executions == [CODE]
    assert " is not sent: it " in a_run.door.guard.notes[0]
    assert len([seen for seen in service.seen if seen.path == "/v1/pix"]) == 1


# -- what people do -----------------------------------------------------------------------------------------------


def test_a_code_that_succeeded_is_never_sent_again(service, tmp_path):
    """Nor one that the profile does not have; one that was refused is, where --resend-code names it. No message repeats
    the code."""
    profile = bank_profile(tmp_path, transactions={"codes": [CODE, OTHER]})
    start_journal(profile)
    Run(service, tmp_path).execute()
    Run(service, tmp_path, token="another-Tok3n.of-Nobody").execute(OTHER)
    skipped = Run(service, tmp_path, name="two").execute(OTHER)
    again = Run(service, tmp_path, name="three", resend={CODE, OTHER})
    again.execute()
    again.execute(OTHER)

    assert skipped.failure.message.endswith(" (refused)")
    assert service.executions == [CODE, OTHER]
    for code, said in (
        (CODE, "the journal says that this code was executed at 20"),
        ("TX-OF-NOBODY", "the code is not in transactions.codes"),
    ):
        with pytest.raises(ProfileError, match=f"^--resend-code: {said}(?!.*{code})"):
            code_to_resend(profile, code)
    with pytest.raises(ProfileError, match=r"expected a file that holds one code(?!.*TX-OF-NOBODY)"):
        code_in_file("TX-OF-NOBODY")


@served_by(trouble.RefusesEveryExecution)
def test_the_options_start_a_journal_and_send_one_code_again(service, tmp_path, monkeypatch):
    """The key of a pipeline comes from a variable, and nothing is sent without it."""
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
        monkeypatch.setenv("PIX_TOKEN", service.service.token)
        monkeypatch.setenv("PIX_JOURNAL_KEY", "a-key-of-the-pipeline")
        notes += notes_of(run_of(*options, option)[1])

    assert f"a new journal was started: {tmp_path / 'kept/journal.jsonl'}; an old one is kept beside it" in notes
    assert service.executions == [CODE, CODE]
    assert not (tmp_path / "kept" / "journal.key").exists()
