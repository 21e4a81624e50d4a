"""What pytest prints while tests run, and beside it a line that changes: on a terminal below it, elsewhere now and then.

pytest's line is unfinished most of the time: a dot for each test. So the line is put where pytest's own stays whole.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, ClassVar, TextIO

from rich.console import Console, ConsoleOptions, RenderResult
from rich.control import Control
from rich.live import Live
from rich.segment import ControlType, Segment
from rich.text import Text

_COLUMNS, _LINES = 80, 24
"""Of a terminal that does not know its size."""


class Screen:
    """The file that pytest prints to; between `start` and `stop` a thread has `line` printed, too.

    Both write to a descriptor of their own, as pytest turns its standard output aside while a test runs.
    """

    every_s: ClassVar[float]

    def __init__(self, file: TextIO, line: Callable[[], str]) -> None:
        self._file, self._line = file, line
        self._lock, self._stopped = threading.Lock(), threading.Event()
        self._started, self._unfinished = False, ""

    def write(self, text: str) -> int:
        """Print what pytest says. Gives its length, as files do."""
        with self._lock:
            finished, newline, self._unfinished = (self._unfinished + text).rpartition("\n")
            if self._started:
                self._print(text, finished + newline)
            else:
                self._file.write(text)
        return len(text)

    def start(self) -> None:
        """Print the line from now on."""
        self._file.flush()
        self._out = os.fdopen(os.dup(self._file.fileno()), "w", encoding=self._file.encoding, errors="replace")
        self._begin(self._look())
        self._started = True
        self._thread = threading.Thread(target=self._keep_showing, name="pix-progress", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Print it no longer, and leave what pytest has printed; without effect where it does not run."""
        if not self._started:
            return
        self._stopped.set()
        self._thread.join()
        with self._lock:
            self._end()
            self._started = False
            self._out.close()

    def _keep_showing(self) -> None:
        while not self._stopped.wait(self.every_s):
            line = self._look()
            with self._lock, suppress(OSError):  # nobody looks any more
                self._show(line)

    def _look(self) -> str:
        """The line. What only shows how a run goes must not end it: a line that cannot be made is empty."""
        try:
            return self._line()
        except Exception:
            return ""

    def _begin(self, line: str) -> None:
        """Prepare for the line."""

    def _print(self, text: str, finished: str) -> None:
        """Print a text of pytest, which finishes lines of it or none."""
        raise NotImplementedError

    def _show(self, line: str) -> None:
        """Print the line."""
        raise NotImplementedError

    def _end(self) -> None:
        """Take the line away."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


class Log(Screen):
    """Not a terminal: a line of its own now and then. What pytest prints goes on below, where it would have gone on."""

    every_s = 15.0

    def _print(self, text: str, finished: str) -> None:
        self._out.write(text)
        self._out.flush()

    def _show(self, line: str) -> None:
        column = Text.from_ansi(self._unfinished).cell_len
        if line:
            self._print(f"\n{line}\n{' ' * column}" if column else f"{line}\n", "")


class Terminal(Screen):
    """The line is the last one on the terminal. Rich draws it, and pytest's unfinished line above it."""

    every_s = 0.25

    def _begin(self, line: str) -> None:
        self._text = line
        self._console = Console(file=self._out, force_terminal=True, force_interactive=True)
        self._live = Live(
            self,
            console=self._console,
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._fit()
        if self._unfinished:  # Rich begins a line
            self._console.control(Control(ControlType.CARRIAGE_RETURN, (ControlType.ERASE_IN_LINE, 2)))
        self._live.start()
        self._console.show_cursor()  # Rich hides it, and a run that is killed could not bring it back

    def _print(self, text: str, finished: str) -> None:
        if finished:
            self._console.print(_AsItIs(finished), crop=False)

    def _show(self, line: str) -> None:
        self._text = line
        self._fit()
        self._live.refresh()

    def _end(self) -> None:
        self._live.stop()
        self._out.write(self._unfinished)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """What Rich draws."""
        yield Text.from_ansi(self._unfinished.rpartition("\r")[2])
        yield Text(self._text, no_wrap=True, overflow="crop")

    def _fit(self) -> None:
        """Take the size of the terminal: Rich asks the standard streams, which pytest has turned aside."""
        columns, lines = os.get_terminal_size(self._out.fileno())
        self._console.size = columns or _COLUMNS, lines or _LINES


class _AsItIs:
    """A text with pytest's own colours and line ends."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Segment(self._text)
