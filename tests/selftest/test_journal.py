"""The journal: no code is sent twice with the valid token, by whatever spelling, profile, copy or accident."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from types import SimpleNamespace

import pytest
from filelock import FileLock, Timeout

from environments.door.event_log import JournalError, LogKey
from environments.door.journal import Journal, Outcome
from environments.sandbox import Response
from tests.selftest.services import trouble_with_money as trouble
from tests.selftest.services.forking import ROOT
from tests.selftest.services.one_run import CODE, OTHER, Run, journal_in, profile_of
from tests.selftest.services.running import TOKEN, environment, run, started, write_profile
from tests.selftest.services.serving import Raw, as_bytes, is_real, real_codes, served_by
from tests.selftest.services.waiting import await_event

ONLY_EXECUTIONS = ("-k", "executePix.document or executePix.token.required")
THIRD = "SBX-CPF-1"
PREPARE = {
    "operation": "createPix",
    "json": {"account": "ac-0001", "pixKey": "+5511955500101", "value": 10.5},
    "code_at": "/data/transactionId",
    "count": 1,
}


def bank(folder, service, name="profile", **changes):
    """A profile of a target that is no sandbox."""
    profile = write_profile(folder, service.base_url, **{"sandbox": None, **changes})
    return profile.rename(profile.with_name(f"{name}.yaml"))


def sent_by(profile, *options, selection=ONLY_EXECUTIONS, **variables):
    """A run of executions whose journal is that of one user, beside the profile: what it left, and what it said."""
    state = {"XDG_STATE_HOME": str(profile.parent / "state")}
    shutil.rmtree(profile.parent / "report", ignore_errors=True)
    result = run(profile, *selection, *options, **state | variables)
    document = result.document if (result.folder / "conformance.json").exists() else {"notes": []}
    return SimpleNamespace(status=result.status, output=result.output, document=document, notes=document["notes"])


def command(folder, *arguments):
    """`python -m environments journal`: exit status and lines."""
    variables = environment(**TOKEN, XDG_STATE_HOME=str(folder / "state"))
    whole = [sys.executable, "-m", "environments", "journal", *map(str, arguments)]
    ended = subprocess.run(whole, cwd=ROOT, env=variables, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return ended.returncode, (ended.stdout + ended.stderr).splitlines()


def file_with(folder, code):
    """A file that holds a code."""
    (folder / "code").write_text(f"{code}\n")
    return folder / "code"


# -- never twice ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "address", ["http://bank.example:80", "http://bank.example:8080", "http://bank.example/prefix"]
)
def test_another_spelling_of_the_address_meets_the_same_entry(address, service, tmp_path):
    """The entry is keyed by the code and nothing else."""
    Run(service, tmp_path, proxied=True).execute()
    again = Run(service, tmp_path, name="two", proxied=True, base_url=address, environment="other").execute()

    assert re.search(r"the journal says that this code was sent at 20.* \(success\)", again.failure.message)
    assert len(real_codes(service)) == 1


@pytest.mark.parametrize("spelling", [CODE.lower(), CODE.replace("P", "Ｐ")], ids=["letter case", "width"])
def test_another_spelling_of_the_code_meets_the_same_entry(spelling, service, tmp_path):
    """A service may ignore letter case and width: in the same run, and in a later one."""
    first, later = Run(service, tmp_path), Run(service, tmp_path, name="two")
    for a_run in (first, later):
        a_run.secrets.learn("code", spelling)
    first.execute()
    first.execute(spelling)
    later.execute(spelling)

    assert len(real_codes(service)) == 1


def test_other_profiles_copies_and_addresses_meet_the_same_entry(service, tmp_path):
    """A renamed profile, and --base-url with another spelling: the code goes out once in three runs."""
    profile = bank(tmp_path, service)
    first = sent_by(profile, "--new-journal")
    copy = shutil.copy(profile, tmp_path / "renamed.yaml")
    sent_by(copy)
    elsewhere = sent_by(profile, f"--base-url={service.base_url.replace('127.0.0.1', 'LOCALHOST')}")

    assert service.executions == [CODE]
    assert first.document["traffic"]["executions"] == 1
    assert elsewhere.notes[0].startswith(
        "1 of 1 transaction codes were sent by an earlier run according to the journal"
    )


ACCIDENTS = {
    "deleted": lambda path: path.unlink(),
    "emptied": lambda path: path.write_text(""),
    "cut at a line end": lambda path: path.write_text("".join(path.read_text().splitlines(keepends=True)[:1])),
    "damaged": lambda path: path.write_text(path.read_text().replace(Outcome.SUCCESS, Outcome.OFFERED)),
    "without its key": lambda path: path.with_suffix(".key").unlink(),
    "with an empty key": lambda path: path.with_suffix(".key").write_bytes(b""),
    "with another key": lambda path: path.with_suffix(".key").write_bytes(b"of another journal"),
    "without its count": lambda path: path.with_suffix(".count").unlink(),
}


@pytest.mark.parametrize("accident", ACCIDENTS.values(), ids=ACCIDENTS)
def test_no_code_of_the_profile_is_sent_after_an_accident(accident, service, tmp_path):
    """It may be any of them that was sent before; the line says what to do."""
    Run(service, tmp_path).execute()
    accident(tmp_path / "journal.jsonl")
    later = Run(service, tmp_path, name="two")
    refused = [later.execute(OTHER), later.execute(), later.execute(credential="no header")]

    assert {one.failure.message for one in refused} == {later.door.guard.supplied_trouble}
    assert "transactions.codes are not sent" in later.door.guard.supplied_trouble
    assert "--new-journal" in later.door.guard.supplied_trouble
    assert [code for code, _ in real_codes(service)] == [CODE]


@pytest.mark.parametrize("accident", ["damaged", "without its count", "cut at a line end"])
def test_what_can_be_read_of_a_damaged_journal_still_counts(accident, service, tmp_path):
    """--new-journal keeps the old file under another name."""
    first = Run(service, tmp_path)
    first.execute()
    first.execute(OTHER)
    ACCIDENTS[accident](first.journal)
    before = first.journal.read_text()
    said = journal_in(tmp_path).start()
    later = Run(service, tmp_path, name="two")
    later.secrets.learn("code", THIRD)
    later.execute(OTHER)
    later.execute(THIRD)

    [kept] = tmp_path.glob("journal-until-*.jsonl")
    assert kept.read_text() == before
    assert said.endswith(f"; the old one is kept as {kept.name}")
    assert service.executions == [CODE, OTHER, *([OTHER] if accident == "cut at a line end" else []), THIRD]


def test_a_journal_that_a_run_began_for_its_own_codes_is_not_enough(service, tmp_path):
    """The journal of before may be gone: two runs prepare and execute, and leave the codes of the profile alone."""
    profile = bank(tmp_path, service, transactions={"codes": [CODE], "prepare": PREPARE})
    results = [sent_by(profile), sent_by(profile)]

    assert len(service.executions) == 2
    assert CODE not in [code for code, _ in real_codes(service)]
    assert ["transactions.codes are not sent" in result.notes[0] for result in results] == [True, True]


# -- the first use, and --new-journal ---------------------------------------------------------------------------


def test_the_first_use_says_what_to_do(service, tmp_path):
    """No code is sent without a journal; --new-journal starts one, and is refused where one can be read."""
    profile = bank(tmp_path, service)
    first = sent_by(profile)
    before = real_codes(service)
    started_one, again = sent_by(profile, "--new-journal"), sent_by(profile, "--new-journal")

    path = tmp_path / "state" / "pix-conformance" / "journal.jsonl"
    assert first.status == 6
    assert first.notes[0] == (
        f"transactions.codes are not sent: {path} does not say which were sent (no --new-journal started it): start one with "
        "--new-journal, if this is the first use here; else bring it back, or start a new one: what can be read of the old "
        "one still counts, and the file is kept"
    )
    assert before == []
    assert started_one.notes[0] == f"a new journal was started: {path}"
    assert (again.status, again.output.strip()) == (
        4,
        f"ERROR: --new-journal: {path} can be read: leave the option out",
    )
    assert service.executions == [CODE]
    assert not (tmp_path / "report").exists()


def test_a_sandbox_keeps_no_journal(service, tmp_path):
    """Each run sends its codes, and nothing stands beside them."""
    profile = write_profile(tmp_path, service.base_url)
    sent_by(profile)
    sent_by(profile)

    assert service.executions == [CODE, CODE]
    assert not list((tmp_path / "state").rglob("journal.*"))
    assert sent_by(profile, "--new-journal").output.strip().endswith("a sandbox has no journal; leave it out")


def test_a_journal_that_cannot_be_written_is_noticed_before_a_transfer_is_prepared(service, tmp_path):
    """A file stands where its folder would be."""
    (tmp_path / "state").write_text("in the way")
    result = sent_by(bank(tmp_path, service, transactions={"prepare": PREPARE, "codes": [CODE]}))

    assert [seen.path for seen in service.seen if seen.path == "/v1/pix"] == []
    assert real_codes(service) == []
    assert result.notes[0].startswith("executions were stopped: the journal cannot be read or written")
    assert result.status == 6


# -- trouble in the middle --------------------------------------------------------------------------------------


class BreaksTheJournal(trouble.Trouble):
    """Executes, and meanwhile the folder of the journal takes no file any more."""

    journal = None

    def execute(self, connection, request):
        self.journal.unlink()
        self.journal.mkdir()
        connection.sendall(as_bytes(self.service.respond(request)))


@served_by(BreaksTheJournal)
def test_a_journal_that_breaks_in_the_middle_ends_executions(service, tmp_path):
    """The answer stands and is counted; no further code goes out, and the run is incomplete."""
    service.journal = tmp_path / "codes.jsonl"
    profile = bank(tmp_path, service, journal=str(service.journal), transactions={"codes": [CODE, OTHER, THIRD]})
    result = sent_by(profile, "--new-journal")

    assert service.executions == [CODE]
    assert result.document["traffic"]["executions"] == 1
    assert f"executions were stopped: {service.journal} is no file: name another place in journal" in result.notes
    assert (result.document["verdict"], result.status) == ("incomplete", 6)


@served_by(trouble.NeverAnswersAnExecution)
def test_a_run_that_was_killed_leaves_an_unknown_outcome(service, tmp_path):
    """Later runs of the environment repeat it, whatever they do, send the code never again, and suggest no such thing;
    until it is settled."""
    profile = bank(tmp_path, service)
    with started(profile, "--new-journal", *ONLY_EXECUTIONS, XDG_STATE_HOME=str(tmp_path / "state")) as process:
        await_event(service.silent, process)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    later = sent_by(profile)
    reads = bank(tmp_path, service, allow=["read"], transactions={})
    reading = {"selection": ("-k", "listAccounts.exists")}
    without_codes = sent_by(reads, **reading)
    another = sent_by(shutil.copy(reads, tmp_path / "another.yaml"), **reading)
    settled = command(tmp_path, f"--settle={CODE}")
    after = sent_by(reads, **reading)

    assert service.executions == [CODE]
    assert later.status == 6
    assert "resend-code" not in later.output
    assert without_codes.status == 0
    for result in (later, without_codes):
        assert result.notes[0].startswith("OUTCOME UNKNOWN of an execution of an earlier run (sent at 20")
        assert "python -m environments journal --settle CODE" in result.notes[0]
    assert settled[0] == 0
    assert settled[1][0].startswith("settled: profile, sent at 20")
    assert [note for result in (another, after) for note in result.notes if "OUTCOME UNKNOWN" in note] == []


@pytest.mark.parametrize("credential", ["a wrong token", "no header"])
def test_a_code_that_was_offered_by_a_run_that_was_killed_is_sent(credential, service, tmp_path, monkeypatch):
    """An entry that ends at `offered` bars nothing; the later run says that the code was offered."""
    killed = Run(service, tmp_path)
    _kill_on_the_wire(killed.door, monkeypatch)
    with pytest.raises(_KilledError):
        killed.execute(credential=credential)
    later = Run(service, tmp_path, name="two")
    usable = later.door.guard.open([CODE])
    later.execute()

    assert (usable, later.door.guard.offered) == ([CODE], {CODE})
    assert service.executions == [CODE]


def test_a_code_that_was_sent_by_a_run_that_was_killed_is_barred(service, tmp_path, monkeypatch):
    """It is written down before the send: the outcome is unknown until the answer."""
    killed = Run(service, tmp_path)
    _kill_on_the_wire(killed.door, monkeypatch)
    with pytest.raises(_KilledError):
        killed.execute()
    later = Run(service, tmp_path, name="two")
    later.execute(credential="no header")
    later.execute()

    assert real_codes(service) == []


class _KilledError(Exception):
    """Stands for the end of a process that could not write anything any more."""


def _kill_on_the_wire(door, monkeypatch):
    def killed(*_):
        raise _KilledError

    monkeypatch.setattr(door.wire, "attempt", killed)
    monkeypatch.setattr(door.guard, "_settle", killed)


# -- what an answer says ----------------------------------------------------------------------------------------


class ExecutesAndAnswers(trouble.Trouble):
    """Executes, and says so with a status that is no success."""

    status = 500

    def execute(self, connection, request):
        body = self.service.respond(request).body
        connection.sendall(as_bytes(Response(self.status, body)))


class AnswersWith302(ExecutesAndAnswers):
    """A redirect that is not followed."""

    status = 302


class AnswersWith408(ExecutesAndAnswers):
    """The service gave up waiting for the request, it says."""

    status = 408


@served_by(ExecutesAndAnswers, AnswersWith302, AnswersWith408)
def test_an_execution_whose_answer_says_nothing_may_have_moved_money(service, tmp_path):
    """It is counted, said first, and judged; after two in a row no further code is sent."""
    result = sent_by(bank(tmp_path, service, transactions={"codes": [CODE, OTHER, THIRD]}), "--new-journal")

    assert service.executions == [CODE, OTHER]
    assert {code for code, _ in real_codes(service)} == {CODE, OTHER}
    assert result.document["traffic"]["executions"] == 2
    assert [note.startswith("OUTCOME UNKNOWN of exchange ") for note in result.notes[:3]] == [True, True, False]
    assert "not executed" not in result.output
    assert any("in a row is unknown: no further transaction code was sent" in note for note in result.notes)


class Refuses(trouble.Trouble):
    """Refuses an execution with 404."""

    def execute(self, connection, request):
        connection.sendall(as_bytes(Response(404, b"{}")))


@served_by(Refuses)
def test_a_refusal_moves_no_money(service, a_run):
    """It is written down as one."""
    exchanges = [a_run.execute(), a_run.execute(OTHER)]

    assert a_run.events == ["sent", "refused", "sent", "refused"]
    assert a_run.door.guard.sent == 0
    assert [entry.status for entry in a_run.door.guard.journal.entries()] == ["404", "404"]
    assert all(exchange.number for exchange in exchanges)


# -- prepared codes ---------------------------------------------------------------------------------------------


class Prepares(Raw):
    """Prepares a transfer, and gives this code for it."""

    code = "."

    def answer(self, connection, request):
        if request.path != "/v1/pix":
            super().answer(connection, request)
            return
        body = json.dumps({"code": 0, "data": {"transactionId": self.code}}).encode()
        connection.sendall(as_bytes(Response(200, body)))


UNUSABLE = [
    ".",
    "..",
    "Tok-3n.Of-The_Service",
    "x-tok-3n.of-the_service",
    "a b",
    "é",
    "1" * 201,
    "executePix.document.masked",
]


@pytest.mark.parametrize("code", UNUSABLE)
def test_a_prepared_code_that_cannot_be_one_is_not_sent(code, tmp_path):
    """A dot would change the address, a token would be written into it; the run says what to look at."""
    with Prepares() as service:
        service.code = code
        a_run = Run(service, tmp_path)
        found = a_run.execute_all(profile_of(tmp_path, [], prepare=PREPARE | {"count": 3}))

    assert [seen.path for seen in service.seen if is_real(seen.path)] == []
    assert found.answers == []
    assert " is not sent: it " in a_run.door.guard.notes[0]
    assert len([seen for seen in service.seen if seen.path == "/v1/pix"]) == 1


def test_a_prepared_code_that_the_profile_names_is_sent_once(tmp_path):
    """As a code of the profile."""
    with Prepares() as service:
        service.code = CODE.lower()
        a_run = Run(service, tmp_path)
        a_run.execute_all(profile_of(tmp_path, [CODE], prepare=PREPARE))
        executions = service.executions

    assert executions == [CODE]
    assert "one of transactions.codes" in a_run.door.guard.notes[0]


def test_a_prepared_code_is_sent_without_a_journal_of_before(service, tmp_path):
    """A new one is begun for it, and it is barred by it."""
    a_run = Run(service, tmp_path)
    shutil.rmtree(tmp_path)
    tmp_path.mkdir()
    a_run.execute_all(profile_of(tmp_path, [], prepare=PREPARE))

    assert len(service.executions) == 1
    assert [entry.outcome for entry in a_run.door.guard.journal.entries()] == [Outcome.SUCCESS]


# -- two runs at once -------------------------------------------------------------------------------------------


def test_two_runs_at_once_send_a_code_once(service, tmp_path):
    """From the question whether it was sent to its outcome, the other run waits."""
    runs = [Run(service, tmp_path, name=name) for name in ("one", "two", "three")]
    threads = [threading.Thread(target=a_run.execute) for a_run in runs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert service.executions == [CODE]


class LooksAtTheLock(Raw):
    """Notes whether the journal is locked while a real code is on the wire."""

    journal = None

    def __init__(self):
        super().__init__()
        self.locked = []

    def answer(self, connection, request):
        if is_real(request.path):
            try:
                FileLock(f"{self.journal}.lock").acquire(blocking=False)
                self.locked.append(False)
            except Timeout:
                self.locked.append(True)
        super().answer(connection, request)


@served_by(LooksAtTheLock)
def test_the_journal_is_locked_while_a_code_is_on_the_wire(service, a_run):
    """With whatever credential."""
    service.journal = a_run.journal
    a_run.execute(credential="a wrong token")
    a_run.execute()

    assert service.locked == [True, True]
    assert not a_run.door.guard.journal.lock.is_locked


# -- what people do ---------------------------------------------------------------------------------------------


def test_the_journal_is_listed(service, tmp_path):
    """By environment, time and outcome; no code is shown."""
    (tmp_path / "state/pix-conformance").mkdir(parents=True)
    folder = tmp_path / "state/pix-conformance"
    a_run = Run(service, folder)
    a_run.execute()
    Run(service, folder, name="two", environment="qa").execute(OTHER, credential="no header")
    status, lines = command(tmp_path)

    assert (status, len(lines)) == (0, 3)
    assert lines[0][14:].startswith("staging  20")
    assert lines[0].endswith("  success 200")
    assert lines[1][14:].startswith("qa  20")
    assert lines[1].endswith("  offered")
    assert lines[2] == f"2 codes in {folder / 'journal.jsonl'}"


def test_the_code_of_a_prepared_transfer_is_settled_by_the_name_of_its_entry(tmp_path):
    """No report shows the code: the list names the entry."""
    path = tmp_path / "state/pix-conformance/journal.jsonl"
    journal = Journal(path, LogKey(path.with_suffix(".key")), environment="staging", run="one")
    journal.start()
    journal.write("TX-PREPARED-1", Outcome.SENT)
    unknown = command(tmp_path)[1][0]
    name = unknown.split()[0]

    assert unknown.endswith(f"  unknown: look the transfer up, then settle it with --settle {name}")
    assert command(tmp_path, f"--settle={name}")[0] == 0
    assert command(tmp_path)[1][0].endswith("  settled")
    assert journal.fault() == ""


def test_only_an_unknown_outcome_is_settled(service, tmp_path):
    """A code that nobody sent, and one that succeeded, are not."""
    folder = tmp_path / "state/pix-conformance"
    folder.mkdir(parents=True)
    Run(service, folder).execute()

    assert command(tmp_path, f"--settle={OTHER}")[1][0].endswith(" does not know it")
    assert command(tmp_path, f"--settle={CODE}") == (
        4, ["error: --settle: its outcome is not unknown: success 200"]
    )  # fmt: skip


@served_by(Refuses)
def test_one_code_is_sent_again_where_a_file_names_it(service, tmp_path):
    """It was refused; the other one stays barred."""
    profile = bank(tmp_path, service, transactions={"codes": [CODE, OTHER]})
    sent_by(profile, "--new-journal")
    sent_by(profile, f"--resend-code={file_with(tmp_path, OTHER)}")

    assert service.executions == [CODE, OTHER, OTHER]


def test_a_code_that_succeeded_is_never_sent_again(service, tmp_path):
    """Nor one that the profile does not have; the message does not repeat it, and a code on the command line is none."""
    profile = bank(tmp_path, service)
    sent_by(profile, "--new-journal")
    results = [
        sent_by(profile, f"--resend-code={file_with(tmp_path, CODE)}"),
        sent_by(profile, f"--resend-code={file_with(tmp_path, 'TX-OF-NOBODY')}"),
        sent_by(profile, "--resend-code=TX-OF-NOBODY"),
        sent_by(profile, "--resend-code=-"),
    ]

    assert service.executions == [CODE]
    assert [result.status for result in results] == [4, 4, 4, 4]
    assert "--resend-code: this code was executed at 20" in results[0].output
    assert "--resend-code: no such code in transactions.codes" in results[1].output
    assert all("--resend-code: expected a file that holds one code" in result.output for result in results[2:])
    assert not [result for result in results if "TX-OF-NOBODY" in result.output]


def test_a_code_that_succeeded_is_barred_at_the_door_too(service, tmp_path):
    """By any name of the environment."""
    Run(service, tmp_path).execute()
    Run(service, tmp_path, name="two", resend={CODE}).execute()

    assert service.executions == [CODE]


def test_a_whole_journal_is_not_started_anew(tmp_path):
    """It would forget nothing, and asking for it is a mistake."""
    with pytest.raises(JournalError, match="can be read: leave the option out"):
        journal_in(tmp_path).start()


def test_the_key_of_a_pipeline_is_not_written(service, tmp_path):
    """It comes from a variable; without it the run is refused in one line."""
    profile = bank(tmp_path, service, journal="kept/journal.jsonl", journal_key_env="PIX_JOURNAL_KEY")
    refused = sent_by(profile, "--new-journal")
    result = sent_by(profile, "--new-journal", PIX_JOURNAL_KEY="a-key-of-the-pipeline")
    sent_by(profile, PIX_JOURNAL_KEY="a-key-of-the-pipeline")
    wrong = sent_by(profile, PIX_JOURNAL_KEY="another-key")

    assert refused.status == 4
    assert "PIX_JOURNAL_KEY is not set in the environment" in refused.output
    assert service.executions == [CODE], result.output
    assert not (tmp_path / "kept" / "journal.key").exists()
    assert "line 1 was edited, or written with another key" in wrong.notes[0]
