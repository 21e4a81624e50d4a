"""The exit status of the process. Status 1 is a verdict on the service, so nothing else may end the process with it.

Python ends with 1 after an exception that nobody catches, and pytest after a pipe that nobody reads. From the import of
this module on:

- output that cannot be written raises nothing: it is lost, and `reason_of_lost_output` says why
- an exception that nobody catches ends the process with another status, and one line says which it is

It is the first plugin that pytest loads (`addopts` in pyproject.toml). PYTEST_DONT_REWRITE keeps pytest from a warning,
because self-tests may have imported the module before.
"""

from __future__ import annotations

import errno
import io
import os
import select
import sys
import warnings
from types import TracebackType
from typing import Any, NoReturn, TextIO

import pytest

from environments.uncaught import place_of

# Exit statuses. They are the numbers of pytest.ExitCode.
INTERRUPTED = 2
INTERNAL_ERROR = 3
WRONG_USE = 4


class _Output(io.FileIO):
    """Standard output or error. Writing raises nothing, even if nobody reads the pipe or the disk is full."""

    lost: OSError | None = None
    """The first error with which something was not written; None if everything was."""

    def write(self, data: Any) -> int:
        """Write the data. Returns the number of bytes that were written, or of all bytes if they cannot be written.

        In the second case they are dropped, and `lost` keeps the first error.
        """
        try:
            number_of_bytes = super().write(data)
            while number_of_bytes is None:  # a parent process made the pipe non-blocking, and it is full
                select.select([], [self], [])  # waits until there is room
                number_of_bytes = super().write(data)
        except OSError as error:
            self.lost = self.lost or error
            number_of_bytes = len(data)
        return number_of_bytes


def _guarded(stream: Any) -> TextIO:
    """A stream in the place of sys.stdout or sys.stderr. It raises nothing, whatever characters are written to it."""
    stream.flush()
    return io.TextIOWrapper(
        io.BufferedWriter(_Output(stream.fileno(), "wb", closefd=False)),
        encoding=stream.encoding,
        errors="backslashreplace",
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )


def _open_closed_descriptors() -> None:
    """Connect closed standard descriptors to the null device.

    Otherwise the next file that is opened would get their number, and with it the output.
    """
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            null_device = os.open(os.devnull, os.O_RDWR)
            os.dup2(null_device, descriptor)
            if null_device != descriptor:
                os.close(null_device)


def guard_output() -> None:
    """Replace the standard output and error by streams that raise nothing.

    A stream that is not the interpreter's own belongs to a self-test, and stays.
    """
    _open_closed_descriptors()
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - as long as the process
        elif stream is getattr(sys, f"__{name}__"):
            setattr(sys, name, _guarded(stream))


def _first_output_error() -> OSError | None:
    """The first error with which standard output could not be written; None if there was none."""
    sys.stdout.flush()
    raw = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    return raw.lost if isinstance(raw, _Output) else None


def reason_of_lost_output() -> str:
    """Reason why a part of the output could not be written; empty if all of it was."""
    error = _first_output_error()
    return f"the output cannot be written: {error.strerror}" if error else ""


def end_without_a_verdict(session: pytest.Session) -> None:
    """Give a session such as --plan the status of an error if its output was lost.

    A reader that closed the pipe, such as `head`, has read enough: that is no error.
    """
    error = _first_output_error()
    if error and error.errno != errno.EPIPE:
        print(f"ERROR: {reason_of_lost_output()}", file=sys.stderr)
        session.exitstatus = INTERNAL_ERROR


def _status_of(error: BaseException) -> int:
    """The exit status for an exception that nobody caught.

    A missing plugin and a warning about the command line are wrong use. Everything else is a fault of the suite.
    """
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    return WRONG_USE if isinstance(error, ImportError | Warning) else INTERNAL_ERROR


def _end_with_one_line(error_type: type[BaseException], error: BaseException, trace: TracebackType | None) -> NoReturn:
    """Print which exception nobody caught, and end the process. Python takes the status from this SystemExit."""
    reason = "interrupted"
    if error_type is not KeyboardInterrupt:
        message = " ".join(str(error).split())
        reason = f"{error_type.__name__}: {message}{place_of(trace)}"
    print(f"ERROR: {reason}; this is no verdict on the service", file=sys.stderr, flush=True)
    warnings.simplefilter("ignore")  # else the interpreter warns of open files when it ends
    raise SystemExit(_status_of(error))


guard_output()
sys.excepthook = _end_with_one_line
