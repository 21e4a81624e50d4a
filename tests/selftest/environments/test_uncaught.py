"""An exception that nobody catches ends with one line and exit status 3; its message is not shown."""

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from environments.uncaught import _end_with_one_line, place_of
from spec.requirements import read_yaml
from tests.selftest.services.running import ROOT, clean_environment


def exception_of(function):
    """The exception that the function raises. AssertionError if it raises none."""
    try:
        function()
    except BaseException as error:
        return error
    raise AssertionError("nothing was raised")


def raise_value_error():
    """Raise an error whose message is a secret."""
    raise ValueError("t0ken")


def raise_in_another_file_of_the_suite():
    """Raise an error in spec/requirements.py: `read_yaml` expects a Path, so a text makes it fail."""
    read_yaml("t0ken")


def raise_in_the_standard_library():
    """Raise an error in the module json, which this file calls."""
    json.loads("t0ken")


def raise_disk_is_full():
    """Raise the error of a full disk."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def raise_keyboard_interrupt():
    """Raise what Ctrl-C raises."""
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("function_that_raises", "exit_status", "beginning_of_line"),
    [
        (raise_value_error, 3, "error: ValueError (tests/selftest/environments/test_uncaught.py:"),
        (raise_in_another_file_of_the_suite, 3, "error: AttributeError (spec/requirements.py:"),
        (raise_in_the_standard_library, 3, "error: JSONDecodeError (tests/selftest/environments/test_uncaught.py:"),
        (raise_disk_is_full, 3, "error: the output cannot be written: No space left on device\n"),
        (raise_keyboard_interrupt, 2, "error: interrupted\n"),
    ],
    ids=[
        "an error in this file",
        "an error in another file of the suite",
        "an error in a library",
        "a full disk",
        "Ctrl-C",
    ],
)
def test_an_exception_that_nobody_catches_is_printed_as_one_line(
    function_that_raises, exit_status, beginning_of_line, capsys
):
    """An exception that nobody catches ends the process with one line: its type, and the last place in the files of the
    suite.

    It does not have the message of the exception, which may hold a secret (here t0ken). The exit status is no verdict
    on the service.
    """
    error = exception_of(function_that_raises)
    with pytest.raises(SystemExit) as exit_info:
        _end_with_one_line(type(error), error, error.__traceback__)
    printed = capsys.readouterr().err

    assert exit_info.value.code == exit_status
    assert printed.startswith(beginning_of_line)
    assert printed.count("\n") == 1
    assert "t0ken" not in printed


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a disk that is full")
@pytest.mark.parametrize("command", ["environments check sandbox", "environments journal", "spec"])
def test_a_command_whose_output_goes_to_a_full_disk_prints_one_line(command, tmp_path):
    """The standard output of the command is /dev/full, which is always full.

    The command prints one line on standard error that says so, without a traceback.
    """
    with open("/dev/full", "w") as full:
        process = subprocess.run(
            [sys.executable, "-m", *command.split()],
            cwd=ROOT, env=clean_environment(XDG_STATE_HOME=str(tmp_path)), stdout=full, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    assert process.returncode == 3
    assert process.stderr == "error: the output cannot be written: No space left on device\n"


def test_an_exception_without_a_traceback_has_no_place():
    """`place_of` gives the file and line at which an exception was raised, as its traceback has it. Here there is none."""
    assert place_of(None) == ""
