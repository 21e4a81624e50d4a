"""Hides known values in what pytest, plugins and libraries print: the terminal, log records, the traceback of a
crash. Without -v nothing of pytest's own is printed while it has nothing to complain of: the suite says the result."""

from __future__ import annotations

import logging
import re
import sys
import traceback
from collections.abc import Callable
from types import TracebackType
from typing import Any, TextIO

from reports.showing.show import Display, printable
from tests.harness.process import INTERNAL_ERROR

_OF_PYTEST = re.compile(r"(\x1b\[[0-9;]*[mK]|\r)")
"""Colours and carriage returns, which pytest writes to a terminal."""


class OurLine(str):
    """A line of the suite. It is printed as it is: its own words may be a code."""


class Pen:
    """Hides known values from when it is made until `put_down`."""

    def __init__(self, display: Display, *, quiet: bool) -> None:
        self._display, self._quiet = display, quiet
        self._terminal: _GuardedFile | None = None
        self._records = logging.getLogRecordFactory()
        self._crash = sys.excepthook
        logging.setLogRecordFactory(self._record)
        sys.excepthook = self._crashed

    def put_down(self) -> None:
        """Restore logging and the hook for crashes; the hook stays while an exception is on its way to it."""
        logging.setLogRecordFactory(self._records)
        if sys.exc_info()[0] is None:
            sys.excepthook = self._crash

    def guard(self, writer: Any) -> None:
        """Stand before the terminal that pytest writes to with this writer."""
        writer._file = _GuardedFile(writer._file, self._display.foreign, coloured=writer.hasmarkup)
        self._terminal = writer._file

    def take_the_word(self) -> None:
        """From here on only the suite speaks."""
        if self._terminal:
            self._terminal.is_ours_alone = self._quiet

    def let_pytest_speak(self) -> None:
        """From here on pytest and its plugins speak, too."""
        if self._terminal:
            self._terminal.is_ours_alone = False

    def _record(self, *args: Any, **kwargs: Any) -> logging.LogRecord:
        record = self._records(*args, **kwargs)
        if isinstance(record.args, tuple):  # a library may log what a service wrote
            record.args = tuple(
                arg if isinstance(arg, int | float) else self._display.text(str(arg)) for arg in record.args
            )
        try:
            text = record.getMessage()
        except (TypeError, ValueError):
            text = str(record.msg)
        record.msg, record.args = self._display.foreign(text), ()
        if record.exc_info:
            record.exc_text = self._logged(record.exc_info)
            record.exc_info = None
        return record

    def _logged(self, exc_info: Any) -> str:
        """Where an exception that is logged was raised, and its name. Its message may quote what a service wrote:
        urllib3 logs headers that it cannot read in this way."""
        kind, error, trace = exc_info
        if error is None:  # logged outside of a handler
            return ""
        lines = [*traceback.format_tb(trace), f"{kind.__name__}: {self._display.text(str(error))}"]
        return self._display.foreign("".join(lines))

    def _crashed(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        sys.stderr.write(self._display.foreign("".join(traceback.format_exception(kind, error, trace))))
        raise SystemExit(INTERNAL_ERROR)  # Python would end with 1, which is a verdict on the service


class _GuardedFile:
    """A text file in which no known value is written; everything else is the file's own. Where it `is_ours_alone`, only
    lines of the suite are written."""

    is_ours_alone = False

    def __init__(self, file: TextIO, clean: Callable[[str], str], *, coloured: bool) -> None:
        self._file, self._clean, self._coloured = file, clean, coloured

    def write(self, text: str) -> int:
        """Write the text without known values, a line of the suite as it is. Gives its length, as files do."""
        if isinstance(text, OurLine):
            return self._file.write(printable(text) + "\n" * self.is_ours_alone)  # pytest's line end is left out, too
        if self.is_ours_alone:
            return len(text)
        pieces = _OF_PYTEST.split(text) if self._coloured else [text]
        self._file.write("".join(piece if at % 2 else self._clean(piece) for at, piece in enumerate(pieces)))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)
