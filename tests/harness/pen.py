"""The pen hides known values (tokens, accounts, keys, codes) in everything that pytest, plugins and libraries print.

It covers the terminal, log records, and the traceback of a crash. It also keeps pytest silent: without -v, nothing of
pytest's own is printed unless something failed, because the suite prints the result.

Self-tests: promises/test_canary.py.
"""

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

_COLOUR_OR_CARRIAGE_RETURN = re.compile(r"(\x1b\[[0-9;]*[mK]|\r)")
"""Escape sequences for colours (ECMA-48) and carriage returns, which pytest writes to a terminal. In brackets, so that
`split` keeps them."""


class LineOfSuite(str):
    """A line that the suite itself prints. No values are hidden in it, because the suite has done so already.

    If they were hidden a second time, a word of the suite that has the same text as a code would be replaced, too.
    """


class Pen:
    """Hides known values from its creation until `restore`. With `quiet`, it can silence pytest."""

    def __init__(self, display: Display, *, quiet: bool) -> None:
        """Hide values in log records and crashes from now on. `display` knows the values. `quiet` is false with -v."""
        self._display = display
        self._quiet = quiet
        self._terminal: _GuardedFile | None = None  # where pytest prints; None with `-p no:terminal`: it prints nothing
        self._original_record_factory = logging.getLogRecordFactory()
        self._original_excepthook = sys.excepthook
        logging.setLogRecordFactory(self._clean_record)
        sys.excepthook = self._print_crash

    def restore(self) -> None:
        """Restore the log records and the hook for crashes (`sys.excepthook`) that were there before.

        The hook stays if an exception is being raised now, because the hook is to print that exception.
        """
        logging.setLogRecordFactory(self._original_record_factory)
        if sys.exc_info()[0] is None:
            sys.excepthook = self._original_excepthook

    def hide_values_in(self, writer: Any) -> None:
        """Hide tokens, codes and other known values in everything that pytest writes to the terminal.

        `writer` is the `TerminalWriter` of pytest. Its file is replaced by one that hides the values.
        """
        writer._file = _GuardedFile(writer._file, self._display.without_known_values, coloured=writer.hasmarkup)
        self._terminal = writer._file

    def silence_pytest(self) -> None:
        """From now on drop what pytest and its plugins print, so that only lines of the suite are printed.

        Two runs drop nothing: a run with -v, and a run with `-p no:terminal`, in which pytest prints nothing at all.
        """
        if self._terminal is not None:
            self._terminal.prints_only_suite = self._quiet

    def let_pytest_print(self) -> None:
        """From now on print lines of pytest and its plugins as well, for example because something failed in pytest."""
        if self._terminal is not None:  # it is None with `-p no:terminal`, and then pytest prints nothing
            self._terminal.prints_only_suite = False

    def _clean_record(self, *args: Any, **kwargs: Any) -> logging.LogRecord:
        """Make a log record in whose texts tokens, codes and other known values are hidden.

        `logging` calls this method for each record that any library logs.
        """
        record = self._original_record_factory(*args, **kwargs)
        if isinstance(record.args, tuple):  # a library may log what a service wrote
            record.args = tuple(map(self._clean_argument, record.args))
        try:
            text = record.getMessage()
        except (TypeError, ValueError):  # the values do not fit the template, which is a fault of the library
            text = str(record.msg)
        record.msg = self._display.without_known_values(text)
        record.args = ()  # the text has them already
        if record.exc_info:
            record.exc_text = self._traceback_in_log(record.exc_info)
            record.exc_info = None
        return record

    def _clean_argument(self, argument: object) -> object:
        """An argument of a log record as it may be shown: a number is unchanged, a text keeps only its ordinary words.

        Libraries log parts of an answer, and these parts may have personal data.
        """
        if isinstance(argument, int | float):
            return argument
        return self._display.shown_text(str(argument))

    def _traceback_in_log(self, exc_info: Any) -> str:
        """The text of a logged exception: traceback, name and message, without tokens, codes and other known values.

        `exc_info` is the triple of `sys.exc_info()`. The message may quote an answer: urllib3 logs the headers that it
        cannot parse in this way. Therefore only ordinary words of the message are shown, as of any text of a service.
        """
        error_type, error, trace = exc_info
        if error is None:  # it was logged outside of an exception handler
            return ""
        lines = [*traceback.format_tb(trace), f"{error_type.__name__}: {self._display.shown_text(str(error))}"]
        return self._display.without_known_values("".join(lines))

    def _print_crash(self, error_type: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        """Print the traceback of an exception that nobody caught, without known values, and end the process.

        Python calls this, because it is set as `sys.excepthook`.
        """
        lines = traceback.format_exception(error_type, error, trace)
        sys.stderr.write(self._display.without_known_values("".join(lines)))
        raise SystemExit(INTERNAL_ERROR)  # Python would end with 1, which is a verdict on the service


class _GuardedFile:
    """A text file that hides known values in everything that is written to it."""

    prints_only_suite = False
    """True while only lines of the suite are written, and others are dropped."""

    def __init__(self, file: TextIO, clean: Callable[[str], str], *, coloured: bool) -> None:
        """Write to this file from now on, and hide values in what is written.

        `clean` returns a text without known values. `coloured` is true if pytest writes colours to the file.
        """
        self._file = file
        self._clean = clean
        self._coloured = coloured

    def write(self, text: str) -> int:
        """Write a text without tokens, codes and other known values. Returns a length, as every file does.

        A line of the suite is written unchanged, because the suite has hidden the values already. While pytest must be
        silent, any other text is dropped.
        """
        if isinstance(text, LineOfSuite):
            # pytest writes the line end by a call of its own, which is dropped below: so it is added here.
            line_end = "\n" if self.prints_only_suite else ""
            return self._file.write(printable(text) + line_end)
        if self.prints_only_suite:
            return len(text)
        pieces = _COLOUR_OR_CARRIAGE_RETURN.split(text) if self._coloured else [text]
        for index in range(0, len(pieces), 2):  # every second piece is a colour, which is not changed
            pieces[index] = self._clean(pieces[index])
        self._file.write("".join(pieces))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        """Any other attribute, such as `flush`, is the attribute of the file itself."""
        return getattr(self._file, name)
