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


class _FileThatNeverFails(io.FileIO):
    """Standard output or error. Writing raises nothing, even if nobody reads the pipe or the disk is full."""

    lost: OSError | None = None
    """The first error with which something was not written; None if everything was."""

    def write(self, data: Any) -> int:
        """Write bytes to standard output or error, and return how many were written. Never raises an error.

        If the bytes cannot be written, because nobody reads the pipe or the disk is full, they are dropped. Then `lost`
        keeps the first error, and the number of all bytes is returned, so that the caller goes on.
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


def _stream_that_never_fails(stream: Any) -> TextIO:
    """A stream that writes to the same file as sys.stdout or sys.stderr, and never raises an error.

    An error would end the process with status 1, which is a verdict on the service. So bytes that cannot be written,
    because the disk is full or nobody reads the pipe, are dropped.
    """
    stream.flush()
    file = _FileThatNeverFails(stream.fileno(), "wb", closefd=False)
    return io.TextIOWrapper(
        io.BufferedWriter(file),
        encoding=stream.encoding,
        errors="backslashreplace",  # writes an escape for a character that the encoding lacks
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )


def _open_closed_descriptors() -> None:
    """Open standard input, output and error again, on the null device, if a parent process closed them.

    The operating system gives the next opened file the lowest free number. Without this, a report file could get the
    number 1, and everything that is printed would be written into it.
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
    """Replace standard output and error by streams that never raise an error when something is printed.

    An unhandled error would end the process with status 1, which is a verdict on the service. A stream that is not the
    interpreter's own was set by a self-test, and is not replaced.
    """
    _open_closed_descriptors()
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        own_stream_of_interpreter = getattr(sys, f"__{name}__")
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - as long as the process
        elif stream is own_stream_of_interpreter:
            setattr(sys, name, _stream_that_never_fails(stream))


def _first_output_error() -> OSError | None:
    """The first error with which something could not be printed; None if everything could be printed."""
    sys.stdout.flush()  # the buffer may have text whose writing fails only now
    buffer = getattr(sys.stdout, "buffer", None)
    file = getattr(buffer, "raw", None)  # the file to which standard output writes; None if a self-test replaced it
    if isinstance(file, _FileThatNeverFails):
        return file.lost  # such a file remembers the error instead of raising it
    return None


def reason_of_lost_output() -> str:
    """Why a part of what the suite printed could not be written, such as a full disk; empty if all was written."""
    error = _first_output_error()
    return f"the output cannot be written: {error.strerror}" if error else ""


def end_without_a_verdict(session: pytest.Session) -> None:
    """End a session that has no verdict, such as --plan: set an error status if a part of its output was lost.

    If the program that reads the output closed the pipe, such as `head`, it has read enough: that is no error.
    """
    error = _first_output_error()
    if error and error.errno != errno.EPIPE:  # EPIPE: the reader closed the pipe
        print(f"ERROR: {reason_of_lost_output()}", file=sys.stderr)
        session.exitstatus = INTERNAL_ERROR


def _status_of(error: BaseException) -> int:
    """The exit status of the process after an exception that nobody caught.

    Two exceptions are mistakes of the user. Every other one is a fault of the suite:

    - an ImportError: an option names a plugin that does not exist
    - a warning, which Python raises as an exception, because `filterwarnings` in pyproject.toml has "error". pytest
      catches the warnings of tests. Nobody catches those about its options, such as a wrong `testpaths`.
    """
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    is_mistake_of_user = isinstance(error, ImportError | Warning)
    return WRONG_USE if is_mistake_of_user else INTERNAL_ERROR


def _end_with_one_line(error_type: type[BaseException], error: BaseException, trace: TracebackType | None) -> NoReturn:
    """Print in one line which exception nobody caught, and end the process with a status that is no verdict.

    Python calls this, because it is set as `sys.excepthook`, and takes the status from the SystemExit. During a run the
    hook of `Pen` (pen.py) is set instead, which hides secrets in the message.
    """
    reason = "interrupted"
    if error_type is not KeyboardInterrupt:
        message = " ".join(str(error).split())
        reason = f"{error_type.__name__}: {message}{place_of(trace)}"
    print(f"ERROR: {reason}; this is no verdict on the service", file=sys.stderr, flush=True)
    warnings.simplefilter("ignore")  # otherwise the interpreter warns of open files when it ends
    raise SystemExit(_status_of(error))


guard_output()
sys.excepthook = _end_with_one_line
