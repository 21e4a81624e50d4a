"""The first plugin that pytest loads (`addopts` in pyproject.toml). Exit status 1 is a verdict on the service, so
nothing else may end the process with it.

Python ends with 1 after an exception that nobody catches, and pytest after a pipe that nobody reads. From the import of
this module on, output that cannot be written raises nothing: it is lost, and `lost_output` says why. An exception ends
the process with another status and one line. PYTEST_DONT_REWRITE: self-tests may have imported it before pytest does.
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

INTERRUPTED, INTERNAL_ERROR, WRONG_USE = 2, 3, 4
"""Exit statuses, as those of pytest."""


class _Output(io.FileIO):
    """A file descriptor that takes everything. `lost` is the first error with which something was not written."""

    lost: OSError | None = None

    def write(self, data: Any) -> int:
        """Write the data, or a part of it. Gives the number of bytes that are dealt with."""
        try:
            written = super().write(data)
            while written is None:  # a parent process made the pipe non-blocking, and it is full
                select.select([], [self], [])
                written = super().write(data)
        except OSError as error:
            self.lost = self.lost or error
            written = len(data)
        return written


def _guarded(stream: Any) -> TextIO:
    """A stream of the interpreter as one that raises nothing, whatever characters it gets."""
    stream.flush()
    return io.TextIOWrapper(
        io.BufferedWriter(_Output(stream.fileno(), "wb", closefd=False)),
        encoding=stream.encoding,
        errors="backslashreplace",
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )


def _open_closed_descriptors() -> None:
    """Lead closed standard descriptors to nowhere: else the next file that is opened gets their number and output."""
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            nowhere = os.open(os.devnull, os.O_RDWR)
            os.dup2(nowhere, descriptor)
            if nowhere != descriptor:
                os.close(nowhere)


def guard_output() -> None:
    """Replace the standard streams. One that is none of the interpreter belongs to a self-test."""
    _open_closed_descriptors()
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - as long as the process
        elif stream is getattr(sys, f"__{name}__"):
            setattr(sys, name, _guarded(stream))


def _lost() -> OSError | None:
    sys.stdout.flush()
    raw = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    return raw.lost if isinstance(raw, _Output) else None


def lost_output() -> str:
    """Reason why a part of the output could not be written; empty if all of it was."""
    error = _lost()
    return f"the output cannot be written: {error.strerror}" if error else ""


def end_without_a_verdict(session: pytest.Session) -> None:
    """End a session such as --plan, which is no success if its output is lost, unless its reader has enough."""
    error = _lost()
    if error and error.errno != errno.EPIPE:
        print(f"ERROR: {lost_output()}", file=sys.stderr)
        session.exitstatus = INTERNAL_ERROR


def _status_of(error: BaseException) -> int:
    """A plugin that is not there and a warning about the command line are wrong use; what else fails is our fault."""
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    return WRONG_USE if isinstance(error, ImportError | Warning) else INTERNAL_ERROR


def _end_with_one_line(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> NoReturn:
    """Say which exception nobody caught, and end the process: Python takes the status from a SystemExit of this
    hook."""
    what = "interrupted"
    if kind is not KeyboardInterrupt:
        what = f"{kind.__name__}: {' '.join(str(error).split())}{place_of(trace)}"
    print(f"ERROR: {what}; this is no verdict on the service", file=sys.stderr, flush=True)
    warnings.simplefilter("ignore")  # of files that nobody closed, when the interpreter ends
    raise SystemExit(_status_of(error))


guard_output()
sys.excepthook = _end_with_one_line
