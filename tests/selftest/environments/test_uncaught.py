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


def caught(act):
    """The exception that an act raises."""
    try:
        act()
    except BaseException as error:
        return error
    raise AssertionError("nothing was raised")


def fails():
    raise ValueError("t0ken")


def is_full():
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize(
    ("act", "status", "line"),
    [
        (fails, 3, "error: ValueError (tests/selftest/environments/test_uncaught.py:"),
        (lambda: read_yaml("no such file"), 3, "error: AttributeError (spec/requirements.py:"),
        (is_full, 3, "error: the output cannot be written: No space left on device\n"),
        (lambda: (_ for _ in ()).throw(KeyboardInterrupt), 2, "error: interrupted\n"),
    ],
)
def test_an_uncaught_exception_is_one_line_and_no_verdict_on_the_service(act, status, line, capsys):
    """The line names the last place in the files of the suite, and not the message."""
    error = caught(act)

    with pytest.raises(SystemExit) as ended:
        _end_with_one_line(type(error), error, error.__traceback__)
    said = capsys.readouterr().err
    assert ended.value.code == status
    assert said.startswith(line)
    assert said.count("\n") == 1
    assert "t0ken" not in said


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a disk that is full")
@pytest.mark.parametrize("command", ["environments check sandbox", "environments journal", "spec"])
def test_a_command_whose_output_has_no_room_says_so(command, tmp_path):
    """In one line. It is no fault of the suite, and no file that has no name."""
    with open("/dev/full", "w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", *command.split()],
            cwd=ROOT, env=clean_environment(XDG_STATE_HOME=str(tmp_path)), stdout=full, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    assert (ended.returncode, ended.stderr) == (
        3,
        "error: the output cannot be written: No space left on device\n",
    )


def test_without_a_place_in_our_files_none_is_named():
    """An exception without a traceback has no such place."""
    assert place_of(None) == ""
