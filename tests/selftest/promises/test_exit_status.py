"""Exit status 1 is a verdict on the service, and nothing else; the last line, conformance.json and the process agree."""

import errno
import json
import os
import re
import resource
import subprocess
import sys
from textwrap import dedent

import pytest

from environments.door.opening import journal_of
from environments.profiles.model import ProfileError
from environments.sandbox import Service
from tests.harness import reporter
from tests.selftest.services.forking import run_pytest
from tests.selftest.services.running import ROOT, clean_environment
from tests.selftest.shared_runs import FailsInManyWays, run_with_files

FEW_TESTS = ("-q", "-p", "no:cacheprovider", "-k", "executePix.document")
"""Options of pytest for a run of a few tests."""


def run_in_own_process(folder, *options, options_of_python=(), stdout=subprocess.PIPE, before=None, **variables):
    """Run a few tests against the sandbox of the suite in a process of their own.

    Returns the process, which has ended, and the content of its conformance.json; None if it wrote no such file.
    `options` are options of pytest, `options_of_python` those of the interpreter, `variables` variables of the
    environment. `before` is a function that is called in the new process before Python starts.
    """
    process = subprocess.run(
        [sys.executable, *options_of_python, "-m", "pytest", *FEW_TESTS, f"--report-dir={folder / 'report'}", *options],
        cwd=ROOT, env=clean_environment(**variables), stdout=stdout, stderr=subprocess.PIPE, text=True, preexec_fn=before,
    )  # fmt: skip
    return process, document_in(folder)


def document_in(folder):
    """The content of the conformance.json that a run wrote below this folder; None if there is no such file."""
    path = folder / "report" / "conformance.json"
    return json.loads(path.read_text()) if path.exists() else None


def exit_status_in_last_line(output):
    """The exit status that the last line of the output names."""
    return int(re.fullmatch(r"verdict: .*, exit status (\d)", output.splitlines()[-1])[1])


# A start that fails

OPTIMIZED = "ERROR: Python leaves assertions out; unset PYTHONOPTIMIZE, and call python without -O"


def assert_nothing_but_one_line(process, line, folder):
    """Assert that a process ended with exit status 4, printed one line that begins like `line`, and wrote no file."""
    lines = process.stderr.strip().splitlines()
    assert (process.returncode, process.stdout.strip()) == (4, ""), lines
    assert len(lines) == 1, lines
    assert process.stderr.startswith(line)
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("options_of_pytest", "line"),
    [
        (("-p", "nowhere"), 'ERROR: ImportError: Error importing plugin "nowhere": '),
        (("-o", "testpaths=nowhere"), "ERROR: PytestConfigWarning: No files were found in testpaths"),
        (("tests/nowhere.py",), "ERROR: file or directory not found: tests/nowhere.py"),
    ],
    ids=["a plugin that is not there", "a warning of pytest", "a path that does not exist"],
)
def test_a_run_that_cannot_start_ends_with_exit_status_4(options_of_pytest, line, tmp_path):
    """If a run cannot start, it prints one line to standard error, and its exit status is 4, not 1.

    1 would say that the service has a fault. Nothing is printed to standard output, and no file is written.
    """
    process, _ = run_in_own_process(tmp_path, *options_of_pytest)

    assert_nothing_but_one_line(process, line, tmp_path)


@pytest.mark.parametrize(
    ("variables", "options_of_python"),
    [({"PYTHONOPTIMIZE": "1"}, ()), ({}, ("-OO",))],
    ids=["PYTHONOPTIMIZE=1", "python -OO"],
)
def test_a_run_without_assertions_does_not_start(variables, options_of_python, tmp_path):
    """If Python leaves assertions out, a run ends with exit status 4 and a line that says what to change.

    Its tests are assertions, so without them every test would pass.
    """
    process, _ = run_in_own_process(tmp_path, options_of_python=options_of_python, **variables)

    assert_nothing_but_one_line(process, OPTIMIZED, tmp_path)


def test_without_space_for_a_temporary_file_the_run_ends_with_exit_status_3(tmp_path):
    """If no temporary file can be written, the exit status is 3, which says that the suite itself failed.

    Here no file may be longer than 0 bytes, as on a full disk. The last line of standard error says what is missing.
    """

    def permit_only_empty_files():
        """Let this process write no file of more than 0 bytes."""
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    process, document = run_in_own_process(tmp_path, before=permit_only_empty_files)
    line = "ERROR: FileNotFoundError: [Errno 2] No usable temporary directory found in "

    assert (process.returncode, process.stdout, document) == (3, "", None), process.stderr
    assert process.stderr.splitlines()[-1].startswith(line)


def test_a_user_without_a_home_is_told_which_variable_to_set(monkeypatch):
    """If a user has no home folder, the error names the variables that say where the journal of sent codes may be.

    The journal is below the home folder. A user of a container may have neither HOME nor an entry in passwd.
    """
    for name in ("HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "getuid", lambda: 54_321)  # a number without an entry in passwd
    with pytest.raises(ProfileError) as error:
        journal_of(None)

    assert str(error.value) == "the journal has no place, as this user has no home; set XDG_STATE_HOME or HOME"


def test_an_option_of_a_plugin_that_is_not_loaded_ends_with_exit_status_4(tmp_path):
    """An option of a plugin of pytest that is not loaded ends the run with exit status 4.

    The message says how to load a plugin (-p), and names the installed ones. --maxprocesses is an option of
    pytest-xdist.
    """
    result = run_with_files(tmp_path, None, "--maxprocesses=2")
    line = (
        "ERROR: unrecognized arguments: --maxprocesses=2; pytest --help lists the options; those of an installed plugin "
        "need its name: -p "
    )

    assert result.status == 4, result.output
    assert result.output.strip().startswith(line)
    assert " -p xdist" in result.output


# Output that cannot be written


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
@pytest.mark.parametrize(
    ("options", "verdict_and_status_in_the_file"),
    [((), ("internal-error", 3)), (("--plan",), None)],
    ids=["a run", "a plan"],
)
def test_an_output_on_a_full_disk_ends_with_exit_status_3(options, verdict_and_status_in_the_file, tmp_path):
    """If the output cannot be printed because the disk is full, the exit status is 3, and one line says so.

    conformance.json of a run says the same. A plan, which says what a run would send, writes no such file.
    """
    arguments = [*FEW_TESTS, f"--report-dir={tmp_path / 'report'}", *options]
    returncode, printed, _ = run_pytest(arguments, clean_environment(), stdout="/dev/full")
    document = document_in(tmp_path)

    assert returncode == 3
    assert printed == "ERROR: the output cannot be written: No space left on device\n"
    assert (document and (document["verdict"], document["exit_status"])) == verdict_and_status_in_the_file


def test_a_full_disk_hides_no_failure(tmp_path):
    """A failing requirement is exit status 1, even if the output cannot be printed because the disk is full.

    The profile here names a requirement as a known failure, strictly: it must fail. But it passes, which is a failure.
    """
    profile_with_known_failure = tmp_path / "failing.yaml"
    text = (ROOT / "environments" / "sandbox.yaml").read_text()
    profile_with_known_failure.write_text(
        text + "known_failures: [{id: executePix.document.type, reason: it passes, strict: true}]\n"
    )
    arguments = [*FEW_TESTS, f"--report-dir={tmp_path / 'report'}", f"--environment={profile_with_known_failure}"]
    returncode, _, _ = run_pytest(arguments, clean_environment(), stdout="/dev/full")
    document = document_in(tmp_path)

    assert document["verdict"] == "non-conformant"
    assert returncode == document["exit_status"] == 1


def test_an_output_that_nobody_reads_ends_with_exit_status_3(tmp_path):
    """If the program that reads the output has ended, the run goes on to its end and writes its files.

    Its exit status is 3, because nobody saw the verdict. conformance.json has the same status.
    """
    reading, writing = os.pipe()
    os.close(reading)
    process, document = run_in_own_process(tmp_path, stdout=writing)
    os.close(writing)

    assert document["verdict"] == "internal-error"
    assert process.returncode == document["exit_status"] == 3
    assert process.stderr == "ERROR: the output cannot be written: Broken pipe\n"


def test_closed_descriptors_take_no_file(tmp_path):
    """If the caller closed stdin, stdout and stderr, no output is written into a file of the report by mistake.

    Otherwise a file of the run could get one of their numbers. The checksums show that each file is as it was written.
    """

    def close_stdin_stdout_and_stderr():
        """Close the three standard streams of this process."""
        for number in (0, 1, 2):
            os.close(number)

    _, document = run_in_own_process(tmp_path, before=close_stdin_stdout_and_stderr)
    checksums = subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=tmp_path / "report")

    assert (document["exit_status"], document["verdict"]) == (0, "partial")
    assert checksums.returncode == 0


def test_the_settings_of_the_machine_do_not_change_the_verdict(tmp_path):
    """Odd settings of the machine do not change the verdict of a run.

    The settings are the character set, the terminal, the time zone, the umask, the folder of temporary files, and what
    Python does with its warnings.
    """
    process, document = run_in_own_process(
        tmp_path, LANG="C", LC_ALL="C", PYTHONUTF8="0", PYTHONIOENCODING="ascii:strict", PYTHONWARNINGS="error",
        TERM="odd", COLUMNS="1", TZ="Odd/Zone", TMPDIR="/nowhere", before=lambda: os.umask(0o777),
    )  # fmt: skip

    assert process.returncode == exit_status_in_last_line(process.stdout) == document["exit_status"] == 0
    assert process.stderr == ""


# The last line, conformance.json and the process


@pytest.mark.parametrize(
    ("options", "verdict", "status"),
    [
        (("-m", "slow"), "nothing-selected", 5),
        (("-m", "property", "-k", "listAccounts"), "partial", 0),
        (("-k", "listAccounts", "--maxfail=1", "--max-warnings=0", "-v"), "partial", 0),
        (("-k", "listAccounts", "-p", "tests.selftest.services.meddling"), "partial", 0),
    ],
    ids=["a marker that no test has", "a marker", "limits of pytest", "another plugin"],
)
def test_last_line_document_and_process_have_one_exit_status(options, verdict, status, tmp_path):
    """The last line of the output, conformance.json and the process all have the exit status of the verdict.

    Limits of pytest do not change it, and neither does a plugin that sets another exit status.
    """
    result = run_with_files(tmp_path, Service, *options)
    document = result.document
    exit_statuses = {result.status, document["exit_status"], exit_status_in_last_line(result.output)}

    assert document["verdict"] == verdict, result.output
    assert exit_statuses == {status}
    assert "no test reached it" not in result.output  # that would be a requirement whose test did not run


def test_observations_that_cannot_be_written_end_with_exit_status_3(tmp_path, monkeypatch):
    """If --accept cannot write its file, the output says so, and the exit status is 3 everywhere.

    --accept keeps the observed behaviour of the service in the file staging.observed.yaml, beside the profile.
    """

    def refuse_to_write(path, record):
        """In the place of the function that writes the file: fail, as if the folder were not writable."""
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(reporter, "write_record", refuse_to_write)
    result = run_with_files(tmp_path, Service, "-k", "listAccounts", "--accept")
    exit_statuses = {result.status, result.document["exit_status"], exit_status_in_last_line(result.output)}

    assert "staging.observed.yaml cannot be written: Permission denied" in result.output
    assert exit_statuses == {3}


def test_after_the_first_failure_untested_requirements_still_count(tmp_path):
    """If pytest stops at the first failure (-x), later requirements still count as testable.

    The option -k selects three documented requirements here. The first one passes, the second one fails, and the message
    of the third says that pytest stopped before its test.
    """
    result = run_with_files(tmp_path, FailsInManyWays, "-x", "-k", "executePix.digit")
    documented = [row for row in result.document["requirements"] if row["level"] == "documented"]
    selected = [row for row in documented if row["id"].startswith("executePix.digit")]
    verdicts = [row["verdict"] for row in selected]
    untested = result.messages_with_verdict("not-exercised")

    assert result.status == 1
    assert verdicts == ["pass", "fail", "not-exercised"]
    assert result.document["coverage"]["documented"] == {"tested": 2, "testable": 3}
    assert set(untested.values()) == {"pytest stopped before its test: stopping after 1 failures"}


def test_without_pytest_html_the_summary_names_conformance_json(tmp_path):
    """Without the plugin pytest-html the last lines name conformance.json as the report, because there is no page."""
    result = run_with_files(tmp_path, Service, "-k", "listAccounts", "-p", "no:pytest_html.plugin")

    assert f"report: {tmp_path}/report/conformance.json\n" in result.output
    assert "report.html" not in result.output


OPTIONS_OF_A_PRINTING_PLUGIN = ("-p", "tests.selftest.services.meddling", "--meddle=77 % are covered")
"""Options that load the plugin, and make it print this line in its own part of the summary of pytest."""


def test_output_of_other_plugins_is_printed(tmp_path):
    """What other plugins of pytest print at the end, and --durations, is printed without -v, too.

    The last line is still that of the suite, with the exit status.
    """
    result = run_with_files(tmp_path, Service, "-k", "listAccounts", "--durations=1", *OPTIONS_OF_A_PRINTING_PLUGIN)

    assert "77 % are covered\n" in result.output
    assert "slowest 1 durations" in result.output
    assert exit_status_in_last_line(result.output) == 0


# Commands


@pytest.mark.parametrize(
    ("command", "module", "broken_function"),
    [
        (("environments", "check", "staging"), "environments.profiles.loading", "load"),
        (("reports", "compare", "a", "b"), "reports.observed.earlier_runs", "read_run"),
        (("spec",), "spec.requirements", "requirements"),
    ],
    ids=["environments", "reports", "spec"],
)
def test_an_exception_in_a_command_ends_with_exit_status_3(command, module, broken_function):
    """If a command of the suite meets an unexpected exception, it ends with exit status 3 and one line.

    The line has the place in the suite at which the exception happened, and not its text, which may be a secret. Here a
    function that the command calls raises it, so the place is that call in `__main__.py` of the command.
    """
    program = dedent(f"""
        import {module} as module_of_the_suite, runpy, sys
        def raise_with_a_secret(*_, **__):
            raise IndexError("Can4ry.t0ken")
        module_of_the_suite.{broken_function} = raise_with_a_secret
        sys.argv = {list(command)!r}
        runpy.run_module({command[0]!r}, run_name="__main__")
    """)
    process = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=clean_environment(), capture_output=True, text=True, check=False
    )
    lines = process.stderr.splitlines()

    assert process.returncode == 3, process.stderr
    assert len(lines) == 1
    assert re.fullmatch(
        rf"error: IndexError \({command[0]}/__main__\.py:\d+\): a fault of the suite, and no verdict on the service",
        lines[0],
    )
