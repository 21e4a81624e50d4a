"""The journal of transaction codes: no code that moved money is ever sent again with the valid token.

The journal is a file with a line for each event of a code, such as `sent` or `success`. It has a key beside it, which
signs the lines, and a file with the number of lines. A later run reads it, and asks it before it sends a code.
"""

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
    """The journal in this folder, as the run of this name opens it. The profile of the run is called staging."""
    return Journal(folder / "journal.jsonl", LogKey(folder / "journal.key"), environment="staging", run=run)


def test_the_journal_has_a_digest_in_the_place_of_each_code(tmp_path):
    """No file beside the journal has a code in any letter case, because a code lets its reader move money."""
    journal = staging_journal(tmp_path)
    for code, event in ((CODE, "sent"), (CODE, "success"), (OTHER_CODE, "sent"), (OTHER_CODE, "refused")):
        journal.write(code, event)
    files = list(tmp_path.iterdir())
    text_of_files = b"".join(file.read_bytes() for file in files).lower()

    assert journal.path in files
    assert CODE.lower().encode() not in text_of_files
    assert OTHER_CODE.lower().encode() not in text_of_files


def test_only_the_owner_can_read_the_files_of_the_journal(tmp_path):
    """The journal, its key and its count have no permission for the group or for others."""
    journal = staging_journal(tmp_path)
    journal.write(CODE, "sent")
    modes = [stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()]

    assert len(modes) >= 3
    assert [mode for mode in modes if mode & 0o077] == []


def test_a_later_run_reads_the_last_event_of_each_code(tmp_path):
    """An entry has the environment, the run that wrote it, the outcome of the code, and the status of the answer."""
    journal = staging_journal(tmp_path, run="one")
    journal.write(CODE, "sent")
    journal.write(OTHER_CODE, "sent")
    journal.write(CODE, "success")
    journal.write(OTHER_CODE, "refused", status="404")
    entries = staging_journal(tmp_path, run="two").entries()

    assert [(entry.environment, entry.run, entry.outcome, entry.status) for entry in entries] == [
        ("staging", "one", "success", ""),
        ("staging", "one", "refused", "404"),
    ]


def test_a_run_that_was_killed_between_two_writes_leaves_a_whole_journal(tmp_path):
    """A line is written before its number, so a killed run may leave one line more than the number says.

    It may also leave the beginning of a line. That is cut off at the next write, because nothing was sent for it.
    """
    journal = staging_journal(tmp_path)
    journal.write(CODE, "sent")
    number_of_lines = journal.path.with_suffix(".count")
    number_before = number_of_lines.read_bytes()
    journal.write(CODE, "unknown")
    number_of_lines.write_bytes(number_before)
    with journal.path.open("a") as file:
        file.write('{"at": "2026-')

    assert journal.fault() == ""
    journal.write(CODE, "success")
    assert [json.loads(line)["event"] for line in journal.path.read_text().splitlines()] == [
        "sent",
        "unknown",
        "success",
    ]


# -- never twice --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("address", "spelling"),
    [
        ("http://bank.example:80", CODE),
        ("http://bank.example/prefix", CODE.lower()),
        ("http://other.example", CODE.replace("P", "Ｐ")),  # the wide letter P of East Asian fonts
    ],
    ids=["the port spelled out", "small letters", "a wide letter"],
)
def test_a_code_is_not_sent_again_with_another_profile_address_or_spelling(address, spelling, service, tmp_path):
    """One run executes the code, and sends it in another spelling. A later run has another profile and address.

    The service gets the code once. The journal finds its entry by a digest of the code alone, without letter case and
    width of letters, because a service may ignore both.
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


# Each of the following functions does what an accident or a person may do to the journal at this path. The journal has
# seven lines before.


def cut_last_line(path):
    """Remove the last line of the journal."""
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))


def cut_and_write_count(path):
    """Remove the last line, and write the new number of lines without a signature."""
    cut_last_line(path)
    path.with_suffix(".count").write_text("6")


def cut_and_edit_count(path):
    """Remove the last line, and change the number of lines before its signature."""
    cut_last_line(path)
    count = path.with_suffix(".count")
    count.write_text(count.read_text().replace("7 ", "6 ", 1))


def edit_a_line(path):
    """Change the outcome of a code."""
    path.write_text(path.read_text().replace("success", "offered"))


def delete_key(path):
    """Delete the key that signs the lines."""
    path.with_suffix(".key").unlink()


def delete_count(path):
    """Delete the file with the number of lines."""
    path.with_suffix(".count").unlink()


COUNT_FAULT = "journal.count is missing, edited, or not signed with the key of the journal"
# by name, what happens to the journal, and the fault that is found afterwards
ACCIDENTS = {
    "deleted": (Path.unlink, "it has 0 lines and had 7"),
    "cut at a line end": (cut_last_line, "it has 6 lines and had 7"),
    "edited": (edit_a_line, "line 4 was edited"),
    "without its key": (delete_key, COUNT_FAULT),
    "cut, and its count written": (cut_and_write_count, COUNT_FAULT),
    "cut, and its count edited": (cut_and_edit_count, COUNT_FAULT),
    "without its count": (delete_count, COUNT_FAULT),
}


@pytest.mark.parametrize(("do_damage", "fault"), ACCIDENTS.values(), ids=ACCIDENTS)
def test_no_code_of_the_profile_is_sent_after_an_accident(do_damage, fault, service, tmp_path):
    """A code of which a damaged journal says nothing may have been sent before the damage, so it is not sent.

    This holds with the valid token and without a token. Lines that are written after the damage do not repair the
    journal. The message says that the codes of the profile are not sent.
    """
    first_run = ManualRun(service, tmp_path)
    first_run.execute()
    first_run.execute(OTHER_CODE, credential="no header")
    first_run.execute(OTHER_CODE)
    do_damage(first_run.journal)

    later_run = ManualRun(service, tmp_path, name="two")
    later_run.secrets.learn("code", THIRD_CODE)
    fault_after_accident = staging_journal(tmp_path).fault()
    usable_codes = later_run.door.guard.open_journal([THIRD_CODE])
    staging_journal(tmp_path).write("TX-PREPARED", "sent")  # a line that is written after the damage
    unsent_exchanges = [
        later_run.execute(THIRD_CODE),
        later_run.execute(),
        later_run.execute(THIRD_CODE, credential="no header"),
    ]
    trouble_message = later_run.door.guard.supplied_trouble

    assert fault in fault_after_accident
    assert usable_codes == []
    assert {exchange.failure.message for exchange in unsent_exchanges} == {trouble_message}
    assert "transactions.codes are not sent" in trouble_message
    assert service.executions == [CODE, OTHER_CODE]


def test_no_code_of_the_profile_is_sent_with_a_journal_that_others_can_write(service, tmp_path):
    """Other users could replace the journal. The message says which permission to take away, and then codes are sent.

    `start`, which the option --new-journal calls, is refused with the same message.
    """
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
    """After --new-journal a run sends a new code, and no code that the damaged journal names.

    The option keeps the damaged file under another name. If the journal is not damaged, the option is refused.
    """
    first_run = ManualRun(service, tmp_path)
    first_run.execute()
    first_run.execute(OTHER_CODE)
    with pytest.raises(JournalError, match="can be read: leave the option out"):
        staging_journal(tmp_path).start()
    do_damage, _ = ACCIDENTS[accident]
    do_damage(first_run.journal)
    text_of_damaged_journal = first_run.journal.read_text()

    staging_journal(tmp_path).start()  # what --new-journal does
    later_run = ManualRun(service, tmp_path, name="two")
    later_run.secrets.learn("code", THIRD_CODE)
    for code in (CODE, OTHER_CODE, THIRD_CODE):
        later_run.execute(code)

    [kept_file] = tmp_path.glob("journal-until-*.jsonl")
    assert kept_file.read_text() == text_of_damaged_journal
    # the first run sent the first two codes, the later run the third one
    assert service.executions == [CODE, OTHER_CODE, THIRD_CODE]


def test_without_a_journal_no_code_of_the_profile_is_sent(tmp_path):
    """Only --new-journal starts a journal for the codes of the profile, and the note of the run says so.

    Both runs send a code that they prepared themselves. The first run begins a journal for it. That is not enough for
    the second run to send the code of the profile.
    """
    bank = FakeBank()
    profile = profile_off_sandbox(tmp_path, transactions={"codes": [CODE], "prepare": HOW_TO_PREPARE})
    notes_of_both_runs = [report_notes(run_suite_in_memory(bank, profile, ONLY_EXECUTIONS))[0] for _ in range(2)]

    [note] = set(notes_of_both_runs)
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


# -- trouble during a run ------------------------------------------------------------------------------------------


def test_a_journal_that_cannot_be_written_is_noticed_before_a_transfer_is_prepared(tmp_path):
    """The folder of the journal cannot be made, because there is a file of its name.

    No transfer is prepared, because its code could not be sent. The run is incomplete (exit status 6).
    """
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
    """During the first execution the journal becomes unusable. No further code is sent.

    That execution is counted, a note says why executions stopped, and the run is incomplete (exit status 6).
    """
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
def test_a_code_that_a_killed_run_sent_is_not_sent_again(credential, executions, service, tmp_path, monkeypatch):
    """The journal says what is about to be sent before the request leaves, so a later run knows it after a kill.

    A code that was about to be sent with the valid token is barred: the later run does not send it. A code that was
    about to be sent without it is only called offered, and the later run sends it.
    """

    def kill(*_):
        raise _KilledError

    killed_run = ManualRun(service, tmp_path)
    monkeypatch.setattr(killed_run.door.wire, "attempt", kill)  # sends the request
    monkeypatch.setattr(killed_run.door.guard, "_note_outcome", kill)  # writes the outcome into the journal
    with pytest.raises(_KilledError):
        killed_run.execute(credential=credential)
    later_run = ManualRun(service, tmp_path, name="two")
    usable_codes = later_run.door.guard.open_journal([CODE])
    later_run.execute(credential="no header")
    later_run.execute()

    assert service.executions == usable_codes == executions
    assert later_run.door.guard.offered == set(executions)
    assert set(later_run.door.guard.barred) == {CODE} - set(executions)


def test_the_outcome_of_an_execution_follows_from_its_answer():
    """A 4xx is a refusal, except for 408 and 499, with which a gateway may answer for the service.

    An answer that is neither a refusal nor a success may have moved money: its outcome is unknown. Without a connection
    nothing was sent.
    """
    outcomes = {status: outcome_of(execution({}, status=status), executes=True) for status in range(300, 600)}
    statuses_of_refusals = {status for status, outcome in outcomes.items() if outcome is Outcome.REFUSED}

    assert statuses_of_refusals == {*range(400, 500)} - {408, 499}
    assert set(outcomes.values()) == {Outcome.REFUSED, Outcome.UNKNOWN}
    assert outcome_of(execution(status=201), executes=True) is Outcome.SUCCESS
    assert outcome_of(unanswered(FailureKind.TIMEOUT), executes=True) is Outcome.UNKNOWN
    assert outcome_of(unanswered(FailureKind.NO_CONNECTION), executes=True) is Outcome.NOT_SENT


# Bodies of refusals with status 409. A body with parts of an execution result contradicts the refusal.
BODIES_WITH_A_RESULT = {
    "the result itself": EXECUTION_RESULT | {"status": "PENDING"},
    "a list in data": {"data": [{"bank": "341", "branch": "0001", "value": 10.5}]},
    "another name": {"transfer": {"account": "12345", "key": "a@b.example", "value": 10.5}},
    "behind a refusal": b'{"code": 409} {"code": 409, "data": {"id": "TX-1", "status": "PENDING", "value": 10.5}}',
    "three members": {"data": {"id": "TX-1", "status": "PENDING", "value": 10.5, "name": "", "error": None, "date": 0}},
}
BODIES_WITHOUT_A_RESULT = {
    "two members": {"data": {"id": "TX-1", "status": "EXPIRED", "error": None, "message": ""}},
    "an error in data": {"data": {"status": "REFUSED", "error": "expired", "message": "no", "type": "CODE"}},
    "an error of Spring": {
        "timestamp": "2026-01-01",
        "status": 409,
        "error": "Conflict",
        "message": "no",
        "path": "/v1",
    },
    "an error of RFC 9457": {"type": "https://bank.example/e", "status": 409, "title": "no", "detail": "no", "id": "1"},
    "an error with a name": {"name": "Conflict", "message": "no", "status": "error", "id": "7", "date": "2026-01-01"},
    "a result without values": {"data": dict.fromkeys(EXECUTION_RESULT)},
    "only an id and DONE": {"code": 409, "data": {"id": "TX-1", "status": "DONE"}},
}


def test_a_refusal_that_carries_a_result_has_an_unknown_outcome():
    """Money may have moved although the service refused.

    A body carries a result if `data` has three documented members with values, or if another part has three that no
    usual error has.
    """
    outcomes_with_result = {
        name: outcome_of(answer("executePix", body, status=409), executes=True)
        for name, body in BODIES_WITH_A_RESULT.items()
    }

    assert outcomes_with_result == dict.fromkeys(BODIES_WITH_A_RESULT, Outcome.UNKNOWN)


def test_a_refusal_without_a_result_is_refused():
    """Members that a usual error has, too, such as `id` or `message`, make no execution result."""
    outcomes_without_result = {
        name: outcome_of(answer("executePix", body, status=409), executes=True)
        for name, body in BODIES_WITHOUT_A_RESULT.items()
    }

    assert outcomes_without_result == dict.fromkeys(BODIES_WITHOUT_A_RESULT, Outcome.REFUSED)


def refusal_with_a_result(status, status_in_result):
    """An answer whose envelope refuses (code 17), although it has an execution result."""
    result = EXECUTION_RESULT | {"status": status_in_result}
    return answer("executePix", {"code": 17, "data": result}, status=status)


@pytest.mark.parametrize("status", [200, 302, 400, 409, 500])
def test_a_refusal_that_says_done_is_a_success_if_only_this_request_can_have_executed_the_code(status):
    """The run prepared the code itself (`is_own`) and sent it to nobody before, so the result is that of this request.

    This holds for a request with the valid token (`executes`) and without it. A result with another status than DONE
    leaves the outcome unknown.
    """
    done = refusal_with_a_result(status, "DONE")
    later = refusal_with_a_result(status, "LATER")

    assert outcome_of(done, executes=True, is_own=True) is Outcome.SUCCESS
    assert outcome_of(done, executes=True, is_own=True, before=Outcome.NOT_SENT) is Outcome.SUCCESS
    assert outcome_of(done, executes=False, is_own=True) is Outcome.SUCCESS
    assert outcome_of(later, executes=True, is_own=True) is Outcome.UNKNOWN


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (200, Outcome.SUCCESS),  # DONE in a 200 is a success, whatever the code in the envelope
        (302, Outcome.UNKNOWN),
        (400, Outcome.UNKNOWN),
        (409, Outcome.UNKNOWN),
        (500, Outcome.UNKNOWN),
    ],
)
def test_a_refusal_that_says_done_is_unknown_if_an_earlier_request_may_have_executed_the_code(status, outcome):
    """The run offered the code with a wrong token before, or it is a code of the profile, which others may have sent."""
    done = refusal_with_a_result(status, "DONE")

    assert outcome_of(done, executes=True, is_own=True, before=Outcome.OFFERED) is outcome
    assert outcome_of(done, executes=True) is outcome


@pytest.mark.parametrize("status", [400, 409])
def test_after_a_success_a_refusal_that_says_done_is_a_refusal(status):
    """The result is that of the first execution, which the refusal repeats."""
    done = refusal_with_a_result(status, "DONE")

    assert outcome_of(done, executes=True, is_own=True, before=Outcome.SUCCESS) is Outcome.REFUSED


# -- two runs at once ---------------------------------------------------------------------------------------------


def test_the_journal_is_locked_while_a_code_is_on_the_wire(manual_run):
    """No other process can lock the journal while a request with a code is sent, whatever its token.

    So two runs at the same time take turns. After the request the lock is free.
    """
    attempt = manual_run.door.wire.attempt
    sent_without_lock = []

    def attempt_and_note_whether_locked(sending):
        """Send the request. If the lock can be taken, nobody held it: note the address of the request."""
        with suppress(Timeout):
            FileLock(f"{manual_run.journal}.lock").acquire(blocking=False)
            sent_without_lock.append(sending.plain_request.url)
        return attempt(sending)

    manual_run.door.wire.attempt = attempt_and_note_whether_locked
    manual_run.execute(credential="a wrong token (of a JWT: another signature)")
    manual_run.execute()

    assert sent_without_lock == []
    assert manual_run.outcomes_in_journal[-1:] == ["success"]
    assert not manual_run.door.guard.journal.lock.is_locked


# -- prepared codes -----------------------------------------------------------------------------------------------


def test_a_later_run_may_send_a_code_that_was_only_prepared_or_offered(service, tmp_path):
    """A code that was prepared, or offered with a wrong token, moved no money. A code that succeeded is not sent.

    If the same code is prepared again after its success, the journal still says that it succeeded.
    """
    journal = staging_journal(tmp_path)
    journal.start()
    prepared_code, executed_code, offered_code = CODE, OTHER_CODE, THIRD_CODE
    journal.write(prepared_code, "prepared")
    for event in ("prepared", "sent", "success", "prepared"):
        journal.write(executed_code, event)
    for event in ("prepared", "offered"):
        journal.write(offered_code, event)
    later_run = ManualRun(service, tmp_path, name="two")
    usable_codes = later_run.door.guard.open_journal([prepared_code, executed_code, offered_code])

    assert [entry.outcome for entry in journal.entries()] == ["prepared", "success", "offered"]
    assert usable_codes == [prepared_code, offered_code]
    assert later_run.door.guard.offered == {offered_code}


def test_a_journal_that_breaks_while_a_transfer_is_prepared_leaves_no_executions(service, tmp_path):
    """The code of the transfer cannot be written into the journal, so no code may be sent from then on."""
    journal = staging_journal(tmp_path)
    journal.start()
    manual_run = ManualRun(service, tmp_path, name="two")
    manual_run.door.guard.open_journal([CODE])
    executions_before = manual_run.door.guard.count_possible_executions()
    journal.path.unlink()
    journal.path.mkdir()
    manual_run.client.send("createPix", json=HOW_TO_PREPARE["json"], valid=True)

    assert executions_before > 0
    assert manual_run.door.guard.count_possible_executions() == 0
    assert manual_run.door.guard.journal_trouble == f"{journal.path} is no file: name another place in journal"


CODES_THAT_MUST_NOT_BE_SENT = {
    "a dot, which changes the path": ".",
    "two dots, which change the path": "..",
    "the token, which would be written into logs as part of the path": "Tok-3n.Of-The_Service",
    "the token in small letters with a beginning": "x-tok-3n.of-the_service",
    "a blank": "a b",
    "a letter outside ASCII": "é",
    "more than 200 characters, which is rather a page": "1" * 201,
    "the id of a requirement, for which a report would take it": "executePix.id.type",
    "the code of the profile in small letters, which is sent anyway": CODE.lower(),
}


@pytest.mark.parametrize("code", CODES_THAT_MUST_NOT_BE_SENT.values(), ids=CODES_THAT_MUST_NOT_BE_SENT)
def test_an_impossible_prepared_code_is_not_sent(service, code, tmp_path):
    """The service gives this text as the code of a prepared transfer, and the run does not send it.

    The run notes why, and prepares one transfer instead of three, because the next code would be of the same sort.
    """
    service.sandbox.new_code = lambda: code
    manual_run = ManualRun(service, tmp_path)
    manual_run.execute_all(sandbox_profile(tmp_path, [CODE], prepare=HOW_TO_PREPARE | {"count": 3}))

    assert service.executions == [CODE]
    assert " is not sent: it " in manual_run.door.guard.notes[0]
    assert len([request for request in service.received if request.path == "/v1/pix"]) == 1


# -- what people do -----------------------------------------------------------------------------------------------


def test_a_code_that_succeeded_is_never_sent_again(service, tmp_path):
    """Of two codes in --resend-code, the run sends only the one that was refused, and not the one that succeeded.

    The option itself refuses a code that succeeded, a code that the profile does not have, and a code in the place of
    the path of a file. None of these messages repeats the code.
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
    """--new-journal starts a journal, and the run sends the code of the profile, which the service refuses.

    A second run with --resend-code sends it once more. The key of the journal is in a variable, as in a pipeline: it is
    not written beside the journal, and without the variable the journal cannot be started.
    """
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
