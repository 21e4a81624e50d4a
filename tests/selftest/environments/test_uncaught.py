"""An exception that nobody catches ends with one line and exit status 3; its message is not shown."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from environments.uncaught import _end_with_one_line, place_of
from spec.requirements import read_yaml
from tests.selftest.services.running import ROOT, clean_environment


def exception_of(act):
    """The exception that the function raises."""
    try:
        act()
    except BaseException as error:
        return error
    raise AssertionError("nothing was raised")


def raise_value_error():
    """Raise an error whose message is a secret."""
    raise ValueError("t0ken")


def raise_disk_is_full():
    """Raise the error of a full disk."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize(
    ("act", "status", "line"),
    [
        (raise_value_error, 3, "error: ValueError (tests/selftest/environments/test_uncaught.py:"),
        (lambda: read_yaml("no such file"), 3, "error: AttributeError (spec/requirements.py:"),
        (raise_disk_is_full, 3, "error: the output cannot be written: No space left on device\n"),
        (lambda: (_ for _ in ()).throw(KeyboardInterrupt), 2, "error: interrupted\n"),
    ],
)
def test_an_uncaught_exception_is_one_line_and_no_verdict_on_the_service(act, status, line, capsys):
    """The process prints the last place in the files of the suite, and not the message of the exception."""
    error = exception_of(act)

    with pytest.raises(SystemExit) as exit_info:
        _end_with_one_line(type(error), error, error.__traceback__)
    printed = capsys.readouterr().err
    assert exit_info.value.code == status
    assert printed.startswith(line)
    assert printed.count("\n") == 1
    assert "t0ken" not in printed


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a disk that is full")
@pytest.mark.parametrize("command", ["environments check sandbox", "environments journal", "spec"])
def test_a_full_disk_behind_the_output_prints_one_line(command, tmp_path):
    """A full disk is no fault of the suite."""
    with open("/dev/full", "w") as full:
        process = subprocess.run(
            [sys.executable, "-m", *command.split()],
            cwd=ROOT, env=clean_environment(XDG_STATE_HOME=str(tmp_path)), stdout=full, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    assert process.returncode == 3
    assert process.stderr == "error: the output cannot be written: No space left on device\n"


def test_an_exception_without_a_traceback_has_no_place():
    """An exception without a traceback has no such place."""
    assert place_of(None) == ""
