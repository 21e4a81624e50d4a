"""`python -m environments journal` lists the codes that runs sent, and settles unknown outcomes.

The journal is the file of the transaction codes that runs sent. To settle an outcome is to note that a person looked it
up.
"""

import sys
from dataclasses import replace
from subprocess import PIPE, Popen

import pytest

from environments.__main__ import main
from tests.selftest.services.forking import ROOT
from tests.selftest.services.one_run import (
    CODE,
    OTHER_CODE,
    FakeBank,
    profile_of_bank,
    report_notes,
    run_suite_in_memory,
    started_journal,
)

EXECUTED_CODE = "SBX-CPF-1"


def journal_command(capsys, *arguments):
    """Run `python -m environments journal` with these arguments. Returns its exit status, and the lines that it prints."""
    status = main(["journal", *map(str, arguments)])
    out, err = capsys.readouterr()
    return status, (out + err).splitlines()


def test_a_missing_journal_is_in_order(tmp_path, capsys, monkeypatch):
    """A profile (the settings of a run) without transaction codes needs no journal (the file of the codes that runs
    sent), so exit status 0.
    """
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    status, lines = journal_command(capsys)

    assert status == 0
    assert lines == [f"codes in {tmp_path / 'pix-conformance/journal.jsonl'}: 0"]


def test_a_damaged_journal_is_an_error(tmp_path, capsys, monkeypatch):
    """A file says that the journal (the file of the codes that runs sent) has two lines, but there is no journal.

    So it was deleted or moved. The command says that the codes of the profile (the settings of the run) are not sent,
    and ends with exit status 6.
    """
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    path = tmp_path / "pix-conformance/journal.jsonl"
    path.parent.mkdir(mode=0o700)
    path.with_suffix(".count").write_text("2")
    status, [_, line] = journal_command(capsys)

    assert status == 6
    assert line.startswith(f"error: transactions.codes are not sent: {path}")


def test_a_reader_that_closes_the_pipe_has_enough():
    """In `python -m environments journal | head` the reader stops reading early. The command prints no error about
    that.
    """
    arguments = [sys.executable, "-m", "environments", "journal"]
    with Popen(arguments, cwd=ROOT, stdout=PIPE, stderr=PIPE) as process:
        process.stdout.close()
        errors = process.stderr.read()

    assert errors == b""


@pytest.fixture
def journal(tmp_path, monkeypatch):
    """A journal, the file of the codes that runs sent. One code succeeded, and CODE and OTHER_CODE have an unknown
    outcome.
    """
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    journal = started_journal(tmp_path / "pix-conformance", environment="profile")
    journal.start()
    for code, outcome in ((EXECUTED_CODE, "success"), (CODE, "sent"), (OTHER_CODE, "unknown")):
        journal.write(code, outcome)
    return journal


@pytest.fixture
def reading_profile(tmp_path):
    """A profile that only reads, and whose journal is at its usual place."""
    return profile_of_bank(tmp_path, allow=["read"], transactions=None, journal=None)


def alerts_of_run(profile):
    """The alerts about unknown outcomes in the report of a run with this profile."""
    notes = report_notes(run_suite_in_memory(FakeBank(), profile, selected="listAccounts.exists"))
    return [note for note in notes if "OUTCOME UNKNOWN" in note]


def test_each_later_run_warns_of_an_unknown_outcome(journal, reading_profile):
    """Two codes were sent and got no clear answer, so money may have moved. A later run has an alert about each.

    To settle an outcome is to note that a person looked it up. The alert says how to do that, and not how to send the
    code again. A run with another profile (other settings) has none.
    """
    [first_alert, second_alert] = alerts_of_run(reading_profile)
    how_to_settle = f"python -m environments journal {reading_profile.path} lists the entries, and with --settle ENTRY "

    assert how_to_settle in first_alert
    assert "resend" not in first_alert + second_alert
    assert alerts_of_run(replace(reading_profile, name="another")) == []


def test_an_unknown_outcome_is_settled_by_the_name_of_its_entry(journal, capsys):
    """An unknown outcome is settled with --settle and the name of its entry, which the command lists.

    The entry has a name because a transaction code must not be shown. Its line says how to settle it.
    """
    _, [_, _, line_of_unknown_outcome, *_] = journal_command(capsys)
    name = line_of_unknown_outcome.split()[0]
    status_of_settling, _ = journal_command(capsys, f"--settle={name}")

    assert line_of_unknown_outcome.endswith(
        f"  unknown: look the transfer up; then python -m environments journal --settle {name}"
    )
    assert status_of_settling == 0
    assert journal.fault() == ""


def test_after_both_outcomes_are_settled_a_run_does_not_warn(journal, reading_profile, capsys):
    """Two codes have an unknown outcome. Both are settled with --settle, which also takes the code itself.

    A later run with the same journal (the file of the codes that runs sent) then has no alert about them.
    """
    first_status, _ = journal_command(capsys, f"--settle={CODE}")
    second_status, _ = journal_command(capsys, f"--settle={OTHER_CODE}")

    assert (first_status, second_status) == (0, 0)
    assert alerts_of_run(reading_profile) == []
    assert journal.path.parent.stat().st_mode & 0o077 == 0  # others cannot read the folder


def test_only_an_unknown_outcome_can_be_settled(journal, capsys):
    """The code was executed, so there is nothing to settle. The line does not show the code."""
    status, lines = journal_command(capsys, f"--settle={EXECUTED_CODE}")

    assert status == 4
    assert lines == [f"error: --settle: {journal.path} has no unknown outcome of this code"]
