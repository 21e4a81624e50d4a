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

THIRD = "SBX-CPF-1"


def command(capsys, *arguments):
    """`python -m environments journal`: exit status and lines."""
    status = main(["journal", *map(str, arguments)])
    out, err = capsys.readouterr()
    return status, (out + err).splitlines()


def test_a_journal_that_nothing_needs_is_in_order(tmp_path, capsys, monkeypatch):
    """A profile without codes needs no journal. A journal that is damaged is not in order."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    path = tmp_path / "pix-conformance/journal.jsonl"
    untouched = command(capsys)
    path.parent.mkdir(mode=0o700)
    path.with_suffix(".count").write_text("2")
    status, lines = command(capsys)

    assert untouched == (0, [f"codes in {path}: 0"])
    assert (status, lines[1].startswith(f"error: transactions.codes are not sent: {path}")) == (6, True)


def test_a_reader_that_closes_the_pipe_has_enough():
    """`python -m environments journal | head` ends with nothing on standard error."""
    arguments = [sys.executable, "-m", "environments", "journal"]
    with Popen(arguments, cwd=ROOT, stdout=PIPE, stderr=PIPE) as process:
        process.stdout.close()

        assert process.stderr.read() == b""


def test_an_unknown_outcome_is_repeated_until_it_is_settled(tmp_path, capsys, monkeypatch):
    """By each later run of the environment, whatever it may do. It is listed without its code, and settled by the code
    or by the name of its entry; no other outcome is."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    journal = started_journal(tmp_path / "pix-conformance", environment="profile")
    journal.start()
    for code, outcome in ((THIRD, "success"), (CODE, "sent"), (OTHER_CODE, "unknown")):
        journal.write(code, outcome)
    reads = profile_off_sandbox(tmp_path, allow=["read"], transactions=None, journal=None)
    models = [run_suite_in_memory(FakeBank(), reads, "listAccounts.exists")]
    models.append(run_suite_in_memory(FakeBank(), replace(reads, name="another"), "listAccounts.exists"))
    listed = command(capsys)[1][2]
    name = listed.split()[0]
    settled = [command(capsys, f"--settle={each}") for each in (CODE, name, THIRD)]
    models.append(run_suite_in_memory(FakeBank(), reads, "listAccounts.exists"))

    assert [len([note for note in report_notes(model) if "OUTCOME UNKNOWN" in note]) for model in models] == [2, 0, 0]
    assert (
        f"python -m environments journal {reads.path} prints its name, and with --settle NAME "
        in report_notes(models[0])[0]
    )
    assert "resend" not in str(report_notes(models[0]))
    assert listed.endswith(f"  unknown: look the transfer up; then python -m environments journal --settle {name}")
    assert [status for status, _ in settled] == [0, 0, 4]
    assert journal.path.parent.stat().st_mode & 0o077 == 0
    assert settled[2][1] == [f"error: --settle: {journal.path} has no unknown outcome of this code"]
    assert journal.fault() == ""
