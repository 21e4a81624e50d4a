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

from environments.door.event_log import DigestKey, JournalError
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
    FakeBank,
    ManualRun,
    profile_of_bank,
    profile_of_sandbox,
    profile_with_codes,
    report_notes,
    run_suite_in_memory,
)
from tests.selftest.services.running import write_profile
from tests.selftest.services.serving import has_real_code, served_by

ONLY_EXECUTIONS = "executePix.document or executePix.token.required"
THIRD_CODE = "SBX-CPF-1"


# -- the file -----------------------------------------------------------------------------------------------------


def staging_journal(folder, run="one"):
    """The journal in this folder, as the run of this name opens it. The profile of the run is called staging."""
    return Journal(folder / "journal.jsonl", DigestKey(folder / "journal.key"), environment="staging", run=run)


def test_the_journal_does_not_show_the_codes(tmp_path):
    """The journal has a digest of each transaction code that was sent, because a code lets its reader move money.

    No file of the journal has a code in any letter case.
    """
    journal = staging_journal(tmp_path)
    for code, event in ((CODE, "sent"), (CODE, "success"), (OTHER_CODE, "sent"), (OTHER_CODE, "refused")):
        journal.write(code, event)
    files = list(tmp_path.iterdir())
    text_of_files = b"".join(file.read_bytes() for file in files).lower()

    assert journal.path in files
    assert CODE.lower().encode() not in text_of_files
    assert OTHER_CODE.lower().encode() not in text_of_files


def test_only_the_owner_can_read_the_files_of_the_journal(tmp_path):
    """The journal, the key that signs it, and the file with the number of its lines have no permission for others
    (0o077).
    """
    journal = staging_journal(tmp_path)
    journal.write(CODE, "sent")
    permissions_of_others = {file.name: stat.S_IMODE(file.stat().st_mode) & 0o077 for file in tmp_path.iterdir()}

    assert {"journal.jsonl", "journal.key", "journal.count"} <= set(permissions_of_others)
    assert set(permissions_of_others.values()) == {0}


def test_a_later_run_reads_the_last_event_of_each_code(tmp_path):
    """One run sends two transaction codes: one succeeds, and the other one is refused with status 404.

    For each code a later run reads the environment, the run that wrote it, the last event, and the status of a refusal.
    """
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
    """The journal has a line for each event of a transaction code, and another file has the number of lines.

    A line is written before the number, so a killed run may leave one line more than the number says. It may also leave
    the beginning of a line, which is cut off at the next write, because nothing was sent for it. Both are no fault.
    """
    journal = staging_journal(tmp_path)
    journal.write(CODE, "sent")
    file_with_number_of_lines = journal.path.with_suffix(".count")
    number_of_lines_before = file_with_number_of_lines.read_bytes()
    journal.write(CODE, "unknown")
    file_with_number_of_lines.write_bytes(number_of_lines_before)
    with journal.path.open("a") as file:
        file.write('{"at": "2026-')
    fault_after_kill = journal.fault()
    journal.write(CODE, "success")
    events = [json.loads(line)["event"] for line in journal.path.read_text().splitlines()]

    assert fault_after_kill == ""
    assert events == ["sent", "unknown", "success"]


# -- never twice --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("address_of_later_run", "spelling"),
    [
        ("http://bank.example:80", CODE),
        ("http://bank.example/prefix", CODE.lower()),
        ("http://other.example", CODE.replace("P", "Ｐ")),  # the wide letter P of East Asian fonts
    ],
    ids=[
        "the port spelled out, the same spelling",
        "another path, small letters",
        "another host, a wide letter",
    ],
)
def test_a_code_is_not_sent_again_with_another_profile_address_or_spelling(
    address_of_later_run, spelling, service, tmp_path
):
    """A run executes SBX-PHONE-1. Then sbx-phone-1 is not sent, because a service may take it for the same code.

    The first run executes the code at http://bank.example, and then tries to execute it once more, as `spelling` writes it. A later run with
    other settings and another address tries that, too. The service gets the code once, because the journal (a file of
    the codes that were sent) has a digest of the code alone, without letter case and width of letters.

    Both runs reach the service through a proxy, so the addresses need not exist.
    """
    first_run = ManualRun(service, tmp_path, proxied=True, base_url="http://bank.example")
    later_run = ManualRun(
        service, tmp_path, name="two", proxied=True, base_url=address_of_later_run, environment="other"
    )
    for manual_run in (first_run, later_run):
        manual_run.secrets.learn("code", spelling)  # a run executes only codes that its secrets have
    first_run.execute(CODE)
    first_run.execute(spelling)
    unsent = later_run.execute(spelling)

    assert re.fullmatch(r".*the journal says that this code was sent at \d{4}-.* \(success\)", unsent.failure.message)
    assert service.executions_with_valid_token == [CODE]


# Each of the following functions does what an accident or a person may do to the journal at this path. The journal has
# seven lines before.


def cut_last_line(path):
    """Remove the last line of the journal, the file of the codes that runs sent."""
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:-1]))


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


@pytest.mark.parametrize(
    ("do_damage", "fault"),
    [
        (Path.unlink, "it has 0 lines and had 7"),
        (cut_last_line, "it has 6 lines and had 7"),
        (edit_a_line, "line 4 was edited"),
        (delete_key, COUNT_FAULT),
        (cut_and_write_count, COUNT_FAULT),
        (cut_and_edit_count, COUNT_FAULT),
        (delete_count, COUNT_FAULT),
    ],
    ids=[
        "deleted",
        "cut at a line end",
        "edited",
        "without its key",
        "cut, and its count written",
        "cut, and its count edited",
        "without its count",
    ],
)
def test_no_code_of_the_profile_is_sent_after_an_accident(do_damage, fault, service, tmp_path):
    """A run sends two codes, and then the journal (a file of the codes that runs sent) is damaged. For example somebody
    deletes or edits it, or restores an older copy, which lacks the last line. It has seven lines before.

    A third code, of which the damaged journal says nothing, may have been sent before the damage. So a later run does
    not send it, with the valid token or without one. The message says that no code of the profile (the settings of the
    run) is sent.
    """
    first_run = ManualRun(service, tmp_path)
    first_run.execute(CODE)
    first_run.execute(OTHER_CODE, credential="no header")  # so that the journal has a line of this kind, too
    first_run.execute(OTHER_CODE)
    do_damage(first_run.journal)
    fault_after_accident = staging_journal(tmp_path).fault()

    later_run = ManualRun(service, tmp_path, name="two")
    later_run.secrets.learn("code", THIRD_CODE)
    codes_that_may_be_sent = later_run.codes_that_may_be_sent([THIRD_CODE])
    staging_journal(tmp_path).write("TX-PREPARED", "sent")  # a line after the damage, which does not repair the journal
    unsent_exchanges = [
        later_run.execute(THIRD_CODE),
        later_run.execute(CODE),
        later_run.execute(THIRD_CODE, credential="no header"),
    ]
    [message] = {exchange.failure.message for exchange in unsent_exchanges}

    assert fault in fault_after_accident
    assert codes_that_may_be_sent == []
    assert "transactions.codes are not sent" in message
    assert service.executions_with_valid_token == [CODE, OTHER_CODE]  # both are of the first run


def test_no_code_of_the_profile_is_sent_with_a_journal_that_others_can_write(service, tmp_path):
    """If others can write to its folder, they could replace the journal (the file of the codes that runs sent).

    So no code is sent. The message says which permission to take away, and after that the code may be sent.
    """
    ManualRun(service, tmp_path).execute(OTHER_CODE)
    tmp_path.chmod(0o770)
    run_with_open_folder = ManualRun(service, tmp_path, name="two")
    codes_with_open_folder = run_with_open_folder.codes_that_may_be_sent([CODE])
    unsent = run_with_open_folder.execute(CODE)
    tmp_path.chmod(0o700)
    codes_afterwards = ManualRun(service, tmp_path, name="three").codes_that_may_be_sent([CODE])

    assert codes_with_open_folder == []
    assert codes_afterwards == [CODE]
    assert unsent.failure.message == message_if_others_can_write(tmp_path)


def message_if_others_can_write(folder):
    """The message if others can write to the folder of the journal, the file of the codes that runs sent."""
    return f"transactions.codes are not sent: others can write to {folder}, which holds the journal: chmod go-w it"


def test_no_journal_is_started_in_a_folder_that_others_can_write(service, tmp_path):
    """The option --new-journal calls `start`, which makes the journal, the file of the codes that runs sent.

    If others can write to its folder, that is refused. The message says which permission to take away.
    """
    ManualRun(service, tmp_path).execute(OTHER_CODE)
    tmp_path.chmod(0o770)

    with pytest.raises(JournalError, match=re.escape(message_if_others_can_write(tmp_path))):
        staging_journal(tmp_path).start()


@pytest.mark.parametrize("do_damage", [delete_count, cut_last_line], ids=["without its count", "cut at a line end"])
def test_after_a_damage_the_codes_that_the_old_journal_names_are_not_sent_again(do_damage, service, tmp_path):
    """A run sends two transaction codes, and then the journal (the file of the codes that were sent) is damaged.

    The option --new-journal starts another one, and keeps the damaged file under another name. After that a run sends a
    new code, and neither of the two that the damaged journal names.
    """
    first_run = ManualRun(service, tmp_path)
    first_run.execute(CODE)
    first_run.execute(OTHER_CODE)
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
    assert service.executions_with_valid_token == [CODE, OTHER_CODE, THIRD_CODE]


def test_no_journal_is_started_beside_one_that_can_be_read(service, tmp_path):
    """The option --new-journal calls `start`, which makes the journal, the file of the codes that runs sent.

    It is refused if there is a journal without a fault, because that journal says which codes must not be sent again.
    """
    ManualRun(service, tmp_path).execute(CODE)

    with pytest.raises(JournalError, match="can be read: leave the option out"):
        staging_journal(tmp_path).start()


def test_without_a_journal_no_code_of_the_profile_is_sent(tmp_path):
    """The profile (the settings of the run) has a transaction code, and there is no journal that says if it was sent.

    Only --new-journal starts a journal for that code, as a note says. Both runs send a code that they prepared
    themselves, and the first one begins a journal for it. That is not enough for the second run to send the other code.
    """
    bank = FakeBank()
    profile = profile_of_bank(tmp_path, transactions={"codes": [CODE], "prepare": HOW_TO_PREPARE})
    first_notes = []
    for _ in range(2):
        run = run_suite_in_memory(bank, profile, selected=ONLY_EXECUTIONS)
        first_notes.append(report_notes(run)[0])
    note, note_of_second_run = first_notes

    assert note_of_second_run == note
    assert note.startswith(f"transactions.codes are not sent: {profile.journal} does not say which were sent")
    assert "start one with --new-journal, if this is the first use here; else bring it back" in note
    assert len(bank.executions_with_valid_token) == 2
    assert [request for request in bank.received if request.path.endswith(CODE)] == []


def test_a_sandbox_keeps_no_journal(tmp_path):
    """On a sandbox (a test system) two runs send the same transaction code. Neither writes a journal, the file of the
    codes that runs sent.
    """
    bank, profile = FakeBank(), profile_of_sandbox(tmp_path)
    for _ in range(2):
        run_suite_in_memory(bank, profile, selected="executePix.document")
    files_of_a_journal = list(tmp_path.glob("journal.*"))

    assert bank.executions_with_valid_token == [CODE, CODE]
    assert files_of_a_journal == []


def test_the_option_for_a_new_journal_is_refused_on_a_sandbox(tmp_path):
    """A sandbox is a test system, whose codes may be sent again and again. So it needs no journal (the file of sent
    codes).
    """
    profile = profile_of_sandbox(tmp_path)

    with pytest.raises(ProfileError, match="a sandbox has no journal; leave it out"):
        start_journal(profile)


# -- trouble during a run ------------------------------------------------------------------------------------------


def test_a_journal_that_cannot_be_written_is_noticed_before_a_transfer_is_prepared(tmp_path):
    """The folder of the journal (the file of the codes that runs sent) cannot be made: there is a file of its name.

    No transfer is prepared, because its code could not be sent. The run is incomplete (exit status 6).
    """
    (tmp_path / "state").write_text("in the way")
    bank = FakeBank()
    transactions = {"prepare": HOW_TO_PREPARE, "codes": [CODE]}
    profile = profile_of_bank(tmp_path, journal=str(tmp_path / "state" / "j"), transactions=transactions)
    run = run_suite_in_memory(bank, profile, selected=ONLY_EXECUTIONS)

    paths = [request.path for request in bank.received]
    first_note = report_notes(run)[0]

    assert "/v1/pix" not in paths  # which prepares a transfer
    assert [path for path in paths if has_real_code(path)] == []
    assert first_note.startswith("executions were stopped: the journal cannot be read or written")
    assert result_of_run(run).verdict.exit_status == 6


def test_a_journal_that_breaks_in_the_middle_ends_executions(tmp_path):
    """During the first of three executions the journal (the file of the codes that runs sent) becomes unusable.

    No further code is sent. The one execution is counted, a note says why executions stopped, and the run is incomplete
    (exit status 6).
    """
    profile = profile_of_bank(tmp_path, transactions={"codes": [CODE, OTHER_CODE, THIRD_CODE]})
    start_journal(profile)

    class BreaksTheJournal(FakeBank):
        """Executes, and puts a folder in the place of the journal."""

        def execute(self, request):
            """Execute the code, after the journal was replaced by a folder."""
            profile.journal.unlink()
            profile.journal.mkdir()
            return self.respond(request)

    bank = BreaksTheJournal()
    run = run_suite_in_memory(bank, profile, selected=ONLY_EXECUTIONS)

    note = f"executions were stopped: {profile.journal} is no file: name another place in journal"

    assert bank.executions_with_valid_token == [CODE]
    assert run.executions == 1
    assert note in report_notes(run)
    assert result_of_run(run).verdict.exit_status == 6


class _KilledError(Exception):
    """Raised in the place of the end of a process, which then writes nothing any more."""


@pytest.mark.parametrize(
    ("credential", "codes_sent_later"),
    [("a wrong token (of a JWT: another signature)", [CODE]), ("no header", [CODE]), ("valid", [])],
    ids=["killed with a wrong token", "killed without a token", "killed with the valid token"],
)
def test_a_code_that_a_killed_run_sent_with_the_valid_token_is_not_sent_again(
    credential, codes_sent_later, service, tmp_path, monkeypatch
):
    """A run is killed while it sends a transaction code. The journal (the file of the codes that runs sent) has the
    code, because it is written before the request is sent.

    If the code was sent with the valid token, money may have moved, so a later run does not send it. If it was sent
    with a wrong token or without one ("offered"), a later run may send it.
    """

    def kill(*_):
        """End the run, as if its process were killed."""
        raise _KilledError

    killed_run = ManualRun(service, tmp_path)
    monkeypatch.setattr(killed_run.door.wire, "attempt", kill)  # sends the request
    monkeypatch.setattr(killed_run.door.guard, "_note_outcome", kill)  # writes the outcome into the journal
    with pytest.raises(_KilledError):
        killed_run.execute(credential=credential)
    later_run = ManualRun(service, tmp_path, name="two")
    codes_that_may_be_sent = later_run.codes_that_may_be_sent([CODE])
    later_run.execute(CODE, credential="no header")
    later_run.execute(CODE)
    guard = later_run.door.guard  # what the later run knows from the journal

    assert service.executions_with_valid_token == codes_sent_later
    assert codes_that_may_be_sent == codes_sent_later
    assert guard.sent_with_wrong_token == set(codes_sent_later)
    assert set(guard.codes_sent_before) == {CODE} - set(codes_sent_later)  # the codes that are never sent


def outcome_of_execution(exchange, *, has_valid_token=True, **circumstances):
    """The outcome of an execution, as its answer shows it, such as SUCCESS.

    Two circumstances may count, too. `before` is the outcome of an earlier execution of the same code, and
    `was_prepared_by_this_run` says that the run prepared the code itself.
    """
    return outcome_of(exchange, executes=has_valid_token, **circumstances)


def test_an_execution_is_refused_if_the_service_answers_with_a_4xx():
    """A 4xx says that no money moved, except for 408 and 499, with which a gateway may answer for the service.

    After any other status from 300 on money may have moved, so the outcome is unknown.
    """
    outcomes = {status: outcome_of_execution(execution({}, status=status)) for status in range(300, 600)}
    statuses_of_refusals = {status for status, outcome in outcomes.items() if outcome is Outcome.REFUSED}
    statuses_of_unknown_outcome = {status for status, outcome in outcomes.items() if outcome is Outcome.UNKNOWN}

    assert statuses_of_refusals == {*range(400, 500)} - {408, 499}
    assert statuses_of_unknown_outcome == {*range(300, 400), 408, 499, *range(500, 600)}


@pytest.mark.parametrize(
    ("exchange", "outcome"),
    [
        (execution(status=201), Outcome.SUCCESS),
        (unanswered(FailureKind.TIMEOUT), Outcome.UNKNOWN),
        (unanswered(FailureKind.NO_CONNECTION), Outcome.NOT_SENT),
    ],
    ids=["a result with status 201", "a time-out", "no connection"],
)
def test_the_outcome_of_an_execution_is_unknown_if_it_was_sent_and_not_answered(exchange, outcome):
    """After a time-out money may have moved, so the outcome is unknown. Without a connection nothing was sent.

    An answer with a result is a success, even with status 201.
    """
    assert outcome_of_execution(exchange) is outcome


@pytest.mark.parametrize(
    "body",
    [
        EXECUTION_RESULT | {"status": "PENDING"},
        {"data": [{"bank": "341", "branch": "0001", "value": 10.5}]},
        {"transfer": {"account": "12345", "key": "a@b.example", "value": 10.5}},
        b'{"code": 409} {"code": 409, "data": {"id": "TX-1", "status": "PENDING", "value": 10.5}}',
        {"data": {"id": "TX-1", "status": "PENDING", "value": 10.5, "name": "", "error": None, "date": 0}},
    ],
    ids=[
        "a result without an envelope",
        "three members in a list in data",
        "three members outside of data",
        "a second JSON text behind a refusal",
        "three members with values, and three without",
    ],
)
def test_a_refusal_that_carries_a_result_has_an_unknown_outcome(body):
    """The execution is refused with status 409, but the body has an execution result, so money may have moved.

    A part of the body counts as a result if it has three members of a result with values, such as `bank`, `branch` and
    `value`. One or two of them may stand in an error by chance. Outside of `data` members of usual errors, such as `id`
    and `message`, do not count.
    """
    assert outcome_of_execution(answer("executePix", body, status=409)) is Outcome.UNKNOWN


@pytest.mark.parametrize(
    "body",
    [
        {"data": {"id": "TX-1", "status": "EXPIRED", "error": None, "message": ""}},
        {"data": {"status": "REFUSED", "error": "expired", "message": "no", "type": "CODE"}},
        {
            "timestamp": "2026-01-01",
            "status": 409,
            "error": "Conflict",
            "message": "no",
            "path": "/v1",
        },
        {"type": "https://bank.example/e", "status": 409, "title": "no", "detail": "no", "id": "1"},
        {"name": "Conflict", "message": "no", "status": "error", "id": "7", "date": "2026-01-01"},
        {"data": dict.fromkeys(EXECUTION_RESULT)},
        {"code": 409, "data": {"id": "TX-1", "status": "DONE"}},
    ],
    ids=[
        "two members with values, and two without",
        "an error in data, with members that errors have, too",
        "an error of Spring",
        "an error of RFC 9457",
        "an error with a name",
        "a result without values",
        "only an id and DONE",
    ],
)
def test_a_refusal_without_a_result_is_refused(body):
    """The execution is refused with status 409. Members such as `id` or `message` are part of usual errors, too.

    So they make no execution result, and no money moved.
    """
    assert outcome_of_execution(answer("executePix", body, status=409)) is Outcome.REFUSED


def refusal_with_a_result(status, status_in_result):
    """An answer whose envelope refuses (code 17), although it has an execution result."""
    result = EXECUTION_RESULT | {"status": status_in_result}
    return answer("executePix", {"code": 17, "data": result}, status=status)


@pytest.mark.parametrize("status", [200, 302, 400, 409, 500])
@pytest.mark.parametrize("before", [None, Outcome.NOT_SENT], ids=["never tried before", "tried without a connection"])
def test_a_refusal_that_says_done_is_a_success_if_only_this_request_can_have_executed_the_code(before, status):
    """The envelope refuses (code 17), but the result in it has the status DONE. The money moved.

    The run prepared the code itself and sent it to nobody before. So only this request can have led to the result.
    """
    refusal_that_says_done = refusal_with_a_result(status, "DONE")
    outcome = outcome_of_execution(refusal_that_says_done, was_prepared_by_this_run=True, before=before)

    assert outcome is Outcome.SUCCESS


@pytest.mark.parametrize("status", [200, 302, 400, 409, 500])
def test_a_refusal_of_a_wrong_token_that_says_done_is_a_success(status):
    """The run prepared a code and sends it with a wrong token. The envelope refuses (code 17), but its result says
    DONE.

    So the service has executed the code although the token is wrong, and the money moved.
    """
    refusal_that_says_done = refusal_with_a_result(status, "DONE")
    outcome = outcome_of_execution(refusal_that_says_done, has_valid_token=False, was_prepared_by_this_run=True)

    assert outcome is Outcome.SUCCESS


@pytest.mark.parametrize("status", [200, 302, 400, 409, 500])
def test_a_refusal_with_a_result_that_is_not_done_has_an_unknown_outcome(status):
    """The envelope refuses (code 17), but it has a result with the status LATER. The money may move later."""
    refusal_that_says_later = refusal_with_a_result(status, "LATER")

    assert outcome_of_execution(refusal_that_says_later, was_prepared_by_this_run=True) is Outcome.UNKNOWN


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
@pytest.mark.parametrize(
    "circumstances",
    [{"was_prepared_by_this_run": True, "before": Outcome.OFFERED}, {"was_prepared_by_this_run": False}],
    ids=["the run sent the code with a wrong token before", "others may have sent the code before"],
)
def test_a_refusal_that_says_done_is_unknown_if_an_earlier_request_may_have_executed_the_code(
    circumstances, status, outcome
):
    """The envelope refuses (code 17), but its result has the status DONE. An earlier request may have led to this
    result.

    The run sent the code with a wrong token before, or it did not prepare the code itself (`was_prepared_by_this_run`).
    """
    refusal_that_says_done = refusal_with_a_result(status, "DONE")

    assert outcome_of_execution(refusal_that_says_done, **circumstances) is outcome


@pytest.mark.parametrize("status", [400, 409])
def test_after_a_success_a_refusal_that_says_done_is_a_refusal(status):
    """The code was executed before. The envelope refuses (code 17) and repeats the result of that first execution."""
    refusal_that_says_done = refusal_with_a_result(status, "DONE")
    outcome = outcome_of_execution(refusal_that_says_done, was_prepared_by_this_run=True, before=Outcome.SUCCESS)

    assert outcome is Outcome.REFUSED


# -- two runs at once ---------------------------------------------------------------------------------------------


def test_the_journal_is_locked_while_a_code_is_on_the_wire(manual_run):
    """The journal is the file of the transaction codes that runs sent. No other process can lock it while a code is
    sent.

    So two runs at the same time take turns, whatever the token of the request. Afterwards the lock is free.
    """
    send_over_the_wire = manual_run.door.wire.attempt
    sent_without_lock = []

    def try_to_lock_and_send(sending):
        """Send the request. If the lock can be taken, the run does not hold it: note the address of the request."""
        with suppress(Timeout):
            FileLock(f"{manual_run.journal}.lock").acquire(blocking=False)
            sent_without_lock.append(sending.plain_request.url)
        return send_over_the_wire(sending)

    manual_run.door.wire.attempt = try_to_lock_and_send
    manual_run.execute(credential="a wrong token (of a JWT: another signature)")
    manual_run.execute()

    last_outcome = manual_run.outcomes_in_journal[-1]

    assert sent_without_lock == []
    assert last_outcome == "success"
    assert not manual_run.door.guard.journal.lock.is_locked


# -- prepared codes -----------------------------------------------------------------------------------------------


def test_a_later_run_may_send_a_code_that_was_only_prepared_or_offered(service, tmp_path):
    """A code that was only prepared, or sent with a wrong token ("offered"), moved no money. A later run may send it.

    A code that was executed is not sent again. If the service prepares the same code again, the journal (the file of
    the codes that runs sent) still says that the code succeeded.
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
    codes_that_may_be_sent = later_run.codes_that_may_be_sent([prepared_code, executed_code, offered_code])

    assert [entry.outcome for entry in journal.entries()] == ["prepared", "success", "offered"]
    assert codes_that_may_be_sent == [prepared_code, offered_code]
    assert later_run.door.guard.sent_with_wrong_token == {offered_code}


def test_a_journal_that_breaks_while_a_transfer_is_prepared_leaves_no_executions(service, tmp_path):
    """The journal (the file of the codes that runs sent) becomes a folder. Then the run prepares a transfer.

    Its code cannot be written into the journal, so no code may be sent from then on.
    """
    journal = staging_journal(tmp_path)
    journal.start()
    manual_run = ManualRun(service, tmp_path, name="two")
    manual_run.codes_that_may_be_sent([CODE])
    possible_executions_before = manual_run.door.guard.count_possible_executions()
    journal.path.unlink()
    journal.path.mkdir()
    manual_run.client.send("createPix", json=HOW_TO_PREPARE["json"], valid=True)

    assert possible_executions_before > 0
    assert manual_run.door.guard.count_possible_executions() == 0
    assert manual_run.door.guard.journal_trouble == f"{journal.path} is no file: name another place in journal"


@pytest.mark.parametrize(
    "code",
    [
        ".",
        "..",
        "Tok-3n.Of-The_Service",
        "x-tok-3n.of-the_service",
        "a b",
        "é",
        "1" * 201,
        "executePix.id.type",
        CODE.lower(),
    ],
    ids=[
        "a dot, which changes the path",
        "two dots, which change the path",
        "the token, which would be written into logs as part of the path",
        "the token in small letters with a beginning",
        "a blank",
        "a letter outside ASCII",
        "more than 200 characters, which is rather a page",
        "the id of a requirement, for which a report would take it",
        "the code of the profile in small letters, which is sent anyway",
    ],
)
def test_an_impossible_prepared_code_is_not_sent(service, code, tmp_path):
    """The service prepares a transfer and answers with a text that cannot be its code. The run does not send that text.

    A note says why. The run prepares one transfer instead of three, because the next code would be like the first one.
    """
    service.sandbox.new_code = lambda: code
    manual_run = ManualRun(service, tmp_path)
    manual_run.execute_all(profile_with_codes(tmp_path, [CODE], prepare=HOW_TO_PREPARE | {"count": 3}))

    first_note = manual_run.notes[0]
    paths = [request.path for request in service.received]

    assert service.executions_with_valid_token == [CODE]  # the code of the profile
    assert " is not sent: it " in first_note
    assert paths.count("/v1/pix") == 1  # the path that prepares a transfer


# -- what people do -----------------------------------------------------------------------------------------------


def test_a_code_that_succeeded_is_never_sent_again(service, tmp_path):
    """One transaction code was executed, and another one was refused, because the token was wrong. Later runs know both
    codes from the journal, a file.

    A run with the option --resend-code, which names both codes, sends only the refused one. A run without the option
    sends neither.
    """
    executed_code, refused_code = CODE, OTHER_CODE
    ManualRun(service, tmp_path).execute(executed_code)
    ManualRun(service, tmp_path, token="another-Tok3n.of-Nobody").execute(refused_code)
    unsent = ManualRun(service, tmp_path, name="two").execute(refused_code)
    resending_run = ManualRun(service, tmp_path, name="three", codes_to_resend={executed_code, refused_code})
    resending_run.execute(executed_code)
    resending_run.execute(refused_code)

    assert unsent.failure.message.endswith(" (refused)")
    assert service.executions_with_valid_token == [executed_code, refused_code]


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (CODE, r"the journal says that this code was executed at \d{4}-"),
        ("TX-OF-NOBODY", "the code is not in transactions.codes"),
    ],
    ids=["a code that was executed", "a code that the profile does not have"],
)
def test_the_option_to_send_a_code_again_refuses_a_code_without_repeating_it(code, reason, service, tmp_path):
    """--resend-code is for a code of the profile (the settings of the run) that was refused. The message does not show
    the code, which moves money.
    """
    profile = profile_of_bank(tmp_path, transactions={"codes": [CODE, OTHER_CODE]})
    start_journal(profile)
    ManualRun(service, tmp_path).execute(CODE)

    with pytest.raises(ProfileError, match=f"^--resend-code: {reason}(?!.*{code})"):
        code_to_resend(profile, code)


def test_the_option_to_send_a_code_again_wants_the_path_of_a_file():
    """--resend-code gets a code in the place of the path of a file with the code. The message does not show the code."""
    with pytest.raises(ProfileError, match=r"expected a file that holds one code(?!.*TX-OF-NOBODY)"):
        code_in_file("TX-OF-NOBODY")


def profile_with_journal_key_in_a_variable(folder, base_url):
    """The path of a profile that is no sandbox, whose key of the journal is in a variable, as in a pipeline."""
    return write_profile(
        folder, base_url, sandbox=None, journal="kept/journal.jsonl", journal_key_env="PIX_JOURNAL_KEY",
        allow=["execute"],
    )  # fmt: skip


def test_without_its_key_no_journal_is_started(service, tmp_path):
    """The profile (the settings of the run) says that the key of the journal is in a variable, and the variable is not
    set.
    """
    profile = load(str(profile_with_journal_key_in_a_variable(tmp_path, service.base_url)))

    with pytest.raises(ProfileError, match="PIX_JOURNAL_KEY is not set in the environment"):
        start_journal(profile)


@served_by(trouble.RefusesEveryExecution)
def test_the_options_start_a_journal_and_send_one_code_again(service, tmp_path, monkeypatch):
    """--new-journal starts a journal, and the run sends the transaction code of the profile (the settings of the run).
    The service notes that it got the code, and refuses it.

    A second run with --resend-code sends it once more. The key of the journal is in a variable, as in a pipeline, so it
    is not written beside the journal.
    """
    profile = profile_with_journal_key_in_a_variable(tmp_path, service.base_url)
    options = ["--no-report", "-k", "executePix.document", f"--environment={profile}"]
    (tmp_path / "code").write_text(f"{CODE}\n")
    notes = []
    for option in ("--new-journal", f"--resend-code={tmp_path / 'code'}"):
        monkeypatch.setenv("PIX_TOKEN", service.sandbox.token)
        monkeypatch.setenv("PIX_JOURNAL_KEY", "a-key-of-the-pipeline")
        notes += report_notes(status_and_run(*options, option)[1])

    assert f"a new journal was started: {tmp_path / 'kept/journal.jsonl'}; an old one is kept beside it" in notes
    assert service.executions_with_valid_token == [CODE, CODE]
    assert not (tmp_path / "kept" / "journal.key").exists()
