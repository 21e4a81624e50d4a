"""`python -m environments journal` lists entries and settles unknown outcomes."""

import sys
from dataclasses import replace
from subprocess import PIPE, Popen

from environments.__main__ import main
from tests.selftest.services.forking import ROOT
from tests.selftest.services.one_run import (
    CODE,
    OTHER_CODE,
    FakeBank,
    profile_off_sandbox,
    report_notes,
    run_suite_in_memory,
    started_journal,
)

THIRD_CODE = "SBX-CPF-1"


def journal_command(capsys, *arguments):
    """Run `python -m environments journal`: exit status and lines."""
    status = main(["journal", *map(str, arguments)])
    out, err = capsys.readouterr()
    return status, (out + err).splitlines()


def test_a_journal_that_nothing_needs_is_in_order(tmp_path, capsys, monkeypatch):
    """A profile without codes needs no journal, so exit status 0. A damaged journal is exit status 6."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    path = tmp_path / "pix-conformance/journal.jsonl"
    result_without_journal = journal_command(capsys)
    path.parent.mkdir(mode=0o700)
    path.with_suffix(".count").write_text("2")
    status, lines = journal_command(capsys)

    assert result_without_journal == (0, [f"codes in {path}: 0"])
    assert status == 6
    assert lines[1].startswith(f"error: transactions.codes are not sent: {path}")


def test_a_reader_that_closes_the_pipe_has_enough():
    """`python -m environments journal | head` prints nothing to standard error."""
    arguments = [sys.executable, "-m", "environments", "journal"]
    with Popen(arguments, cwd=ROOT, stdout=PIPE, stderr=PIPE) as process:
        process.stdout.close()

        assert process.stderr.read() == b""


def test_an_unknown_outcome_is_repeated_until_it_is_settled(tmp_path, capsys, monkeypatch):
    """Each later run of the environment has an alert.

    The list names the entry without its code, and --settle takes the code or the name of the entry. Only an unknown
    outcome can be settled.
    """
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    journal = started_journal(tmp_path / "pix-conformance", environment="profile")
    journal.start()
    for code, outcome in ((THIRD_CODE, "success"), (CODE, "sent"), (OTHER_CODE, "unknown")):
        journal.write(code, outcome)
    reading_profile = profile_off_sandbox(tmp_path, allow=["read"], transactions=None, journal=None)
    models = [run_suite_in_memory(FakeBank(), reading_profile, "listAccounts.exists")]
    models.append(run_suite_in_memory(FakeBank(), replace(reading_profile, name="another"), "listAccounts.exists"))
    _, lines = journal_command(capsys)
    line_of_entry = lines[2]
    name = line_of_entry.split()[0]
    results_of_settling = [journal_command(capsys, f"--settle={entry}") for entry in (CODE, name, THIRD_CODE)]
    models.append(run_suite_in_memory(FakeBank(), reading_profile, "listAccounts.exists"))

    alerts = ["; ".join(report_notes(model)).count("OUTCOME UNKNOWN") for model in models]

    assert alerts == [2, 0, 0]
    assert (
        f"python -m environments journal {reading_profile.path} prints its name, and with --settle NAME "
        in report_notes(models[0])[0]
    )
    assert "resend" not in str(report_notes(models[0]))
    assert line_of_entry.endswith(
        f"  unknown: look the transfer up; then python -m environments journal --settle {name}"
    )
    assert [status for status, _ in results_of_settling] == [0, 0, 4]
    assert journal.path.parent.stat().st_mode & 0o077 == 0
    assert results_of_settling[2][1] == [f"error: --settle: {journal.path} has no unknown outcome of this code"]
    assert journal.fault() == ""
