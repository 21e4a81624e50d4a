"""Exit status 1 is a verdict on the service, and nothing else; the last line, conformance.json and the process agree."""

import errno
import json
import os
import re
import resource
import subprocess
import sys

import pytest

from environments.door.opening import journal_of
from environments.profiles.model import ProfileError
from environments.sandbox import Service
from tests.harness import reporter
from tests.selftest.services.forking import run_pytest
from tests.selftest.services.running import ROOT, clean_environment
from tests.selftest.shared_runs import FailsInManyWays, run_with_files

SHORT = ("-q", "-p", "no:cacheprovider", "-k", "executePix.document")


def suite(folder, *options, python=(), stdout=subprocess.PIPE, before=None, **variables):
    """A run against the embedded sandbox in a process of its own: how it ended, and its conformance.json, if any."""
    ended = subprocess.run(
        [sys.executable, *python, "-m", "pytest", *SHORT, f"--report-dir={folder / 'report'}", *options],
        cwd=ROOT, env=clean_environment(**variables), stdout=stdout, stderr=subprocess.PIPE, text=True, preexec_fn=before,
    )  # fmt: skip
    return ended, document_in(folder)


def document_in(folder):
    path = folder / "report" / "conformance.json"
    return json.loads(path.read_text()) if path.exists() else None


def said(output):
    """The exit status that the last line of a run names."""
    return int(re.fullmatch(r"verdict: .*, exit status (\d)", output.splitlines()[-1])[1])


# A start that fails

OPTIMIZED = "Python leaves assertions out; unset PYTHONOPTIMIZE, and call python without -O"
UNSTARTED = {
    "without assertions": ({"PYTHONOPTIMIZE": "1"}, (), (), OPTIMIZED),
    "without docstrings": ({}, ("-OO",), (), OPTIMIZED),
    "a plugin that is not there": ({}, (), ("-p", "nowhere"), 'ImportError: Error importing plugin "nowhere": '),
    "a warning": ({}, (), ("-o", "testpaths=nowhere"), "PytestConfigWarning: No files were found in testpaths"),
    "a path": ({}, (), ("tests/nowhere.py",), "file or directory not found: tests/nowhere.py"),
}


@pytest.mark.parametrize("what", UNSTARTED)
def test_a_start_that_fails(what, tmp_path):
    """Exit status 4, one line, and no file that tells of a verdict."""
    variables, python, options, line = UNSTARTED[what]
    ended, _ = suite(tmp_path, *options, python=python, **variables)
    lines = ended.stderr.strip().splitlines()

    assert (ended.returncode, ended.stdout.strip(), len(lines), list(tmp_path.iterdir())) == (4, "", 1, []), lines
    assert lines[0].startswith(f"ERROR: {line}")


def test_a_machine_that_has_no_room_for_a_start(tmp_path):
    """Without a temporary file pytest ends in the middle of its start: exit status 3 and one line."""
    ended, document = suite(tmp_path, before=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)))
    line = "ERROR: FileNotFoundError: [Errno 2] No usable temporary directory found in "

    assert (ended.returncode, ended.stdout, document) == (3, "", None), ended.stderr
    assert ended.stderr.splitlines()[-1].startswith(line)


def test_a_user_without_a_home(monkeypatch):
    """As in a container: neither HOME nor an entry in passwd. The line says what to set."""
    for name in ("HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "getuid", lambda: 54_321)
    with pytest.raises(ProfileError) as refused:
        journal_of(None)

    assert str(refused.value) == "the journal has no place, as this user has no home; set XDG_STATE_HOME or HOME"


def test_an_option_of_a_plugin_that_is_not_loaded(tmp_path):
    """The line says how a plugin is loaded, and names those that are installed."""
    ended = run_with_files(tmp_path, None, "--maxprocesses=2")
    line = (
        "ERROR: unrecognized arguments: --maxprocesses=2; pytest --help lists the options; those of an installed plugin "
        "need its name: -p "
    )

    assert (ended.status, ended.output.strip().startswith(line)) == (4, True), ended.output
    assert " -p xdist" in ended.output


# Output that cannot be written


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
@pytest.mark.parametrize(
    ("options", "status", "verdict"),
    [((), 3, "internal-error"), (("--plan",), 3, None)],
    ids=["a run", "a plan"],
)
def test_a_full_disk_behind_the_output(options, status, verdict, tmp_path):
    """A verdict or a plan that nobody can read is not green. The files of the run say so, too."""
    arguments = [*SHORT, f"--report-dir={tmp_path / 'report'}", *options]
    returncode, printed, _ = run_pytest(arguments, clean_environment(), stdout="/dev/full")
    document = document_in(tmp_path) or {}

    assert (returncode, document.get("verdict"), document.get("exit_status", status)) == (status, verdict, status)
    assert printed == "ERROR: the output cannot be written: No space left on device\n"


def test_a_full_disk_hides_no_failure(tmp_path):
    """A verdict on the service stands, whether it can be printed or not."""
    known = tmp_path / "failing.yaml"
    text = (ROOT / "environments" / "sandbox.yaml").read_text()
    known.write_text(text + "known_failures: [{id: executePix.document.type, reason: it passes, strict: true}]\n")
    arguments = [*SHORT, f"--report-dir={tmp_path / 'report'}", f"--environment={known}"]
    returncode, _, _ = run_pytest(arguments, clean_environment(), stdout="/dev/full")
    document = document_in(tmp_path)

    assert (returncode, document["exit_status"], document["verdict"]) == (1, 1, "non-conformant")


def test_a_pipe_that_nobody_reads(tmp_path):
    """The run goes on to its end. Its files are written, and say why it is not green."""
    reading, writing = os.pipe()
    os.close(reading)
    ended, document = suite(tmp_path, stdout=writing)
    os.close(writing)

    assert (ended.returncode, document["exit_status"], document["verdict"]) == (3, 3, "internal-error")
    assert ended.stderr == "ERROR: the output cannot be written: Broken pipe\n"


def test_closed_descriptors_take_no_file(tmp_path):
    """Who closes them wants no output, as with /dev/null: no file of the run gets their numbers, and what is printed."""
    _, document = suite(tmp_path, before=lambda: [os.close(number) for number in range(3)])
    checked = subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=tmp_path / "report")

    assert (document["exit_status"], document["verdict"], checked.returncode) == (0, "partial", 0)


def test_an_odd_machine_changes_nothing(tmp_path):
    """Characters, warnings, terminals, zones, umask and folders are those of the machine; the verdict is that of the
    service."""
    ended, document = suite(
        tmp_path, LANG="C", LC_ALL="C", PYTHONUTF8="0", PYTHONIOENCODING="ascii:strict", PYTHONWARNINGS="error",
        TERM="odd", COLUMNS="1", TZ="Odd/Zone", TMPDIR="/nowhere", before=lambda: os.umask(0o777),
    )  # fmt: skip

    assert (ended.returncode, said(ended.stdout), document["exit_status"], ended.stderr) == (0, 0, 0, "")


# Three places


@pytest.mark.parametrize(
    ("options", "verdict", "status"),
    [
        (("-m", "slow"), "nothing-selected", 5),
        (("-m", "property", "-k", "listAccounts"), "partial", 0),
        (("-k", "listAccounts", "--maxfail=1", "--max-warnings=0", "-v"), "partial", 0),
        (("-k", "listAccounts", "-p", "tests.selftest.services.meddling"), "partial", 0),
    ],
    ids=["a marker that none has", "a marker", "limits of pytest", "another plugin"],
)
def test_three_places_agree(options, verdict, status, tmp_path):
    """The last line, conformance.json and the process, whatever pytest and others make of it."""
    ended = run_with_files(tmp_path, Service, *options)
    document = ended.document

    assert (document["verdict"], document["exit_status"], ended.status) == (verdict, status, status), ended.output
    assert said(ended.output) == status
    assert "no test reached it" not in ended.output


def test_a_record_that_cannot_be_written(tmp_path, monkeypatch):
    """What --accept was asked for did not happen, so the run is not green."""

    def refuse(path, record):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(reporter, "write_record", refuse)
    ended = run_with_files(tmp_path, Service, "-k", "listAccounts", "--accept")

    assert "staging.observed.yaml cannot be written: Permission denied" in ended.output
    assert (ended.status, ended.document["exit_status"], said(ended.output)) == (3, 3, 3)


def test_the_first_failure_ends_the_tests_and_not_the_count(tmp_path):
    """What was not tested stays in the denominator, and says why."""
    ended = run_with_files(tmp_path, FailsInManyWays, "-x", "-k", "executePix.digit")
    left = ended.messages_with_verdict("not-exercised")

    assert (ended.status, ended.document["coverage"]["documented"]) == (1, {"tested": 2, "testable": 3})
    assert set(left.values()) == {"pytest stopped before its test: stopping after 1 failures"}


def test_the_summary_names_no_page_that_is_not_there(tmp_path):
    """Without pytest-html there is none, and conformance.json stands in its place."""
    ended = run_with_files(tmp_path, Service, "-k", "listAccounts", "-p", "no:pytest_html.plugin")

    assert f"report: {tmp_path}/report/conformance.json\n" in ended.output
    assert "report.html" not in ended.output


MEDDLES = "-p", "tests.selftest.services.meddling", "--meddle=77 % are covered"


def test_what_the_user_asks_others_for_is_printed(tmp_path):
    """What a plugin says, and --durations, before the verdict and without -v."""
    ended = run_with_files(tmp_path, Service, "-k", "listAccounts", "--durations=1", *MEDDLES)

    assert "77 % are covered\n" in ended.output
    assert "slowest 1 durations" in ended.output
    assert said(ended.output) == 0


# Commands


@pytest.mark.parametrize(
    ("command", "module", "name"),
    [
        (("environments", "check", "staging"), "environments.profiles.loading", "load"),
        (("reports", "compare", "a", "b"), "reports.observed.earlier_runs", "read_run"),
        (("spec",), "spec.requirements", "requirements"),
    ],
    ids=["environments", "reports", "spec"],
)
def test_a_fault_of_the_suite_in_a_command(command, module, name):
    """Exit status 3 and one line, which has the place, and nothing of what the exception holds."""
    program = f"""if True:
        import {module} as broken, runpy, sys
        def breaks(*_, **__):
            raise IndexError("Can4ry.t0ken")
        broken.{name} = breaks
        sys.argv = {list(command)!r}
        runpy.run_module({command[0]!r}, run_name="__main__")
    """
    ended = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=clean_environment(), capture_output=True, text=True, check=False
    )
    lines = ended.stderr.splitlines()

    assert (ended.returncode, len(lines)) == (3, 1), ended.stderr
    assert re.fullmatch(
        rf"error: IndexError \({command[0]}/__main__\.py:\d+\): a fault of the suite, and no verdict on the service",
        lines[0],
    )
