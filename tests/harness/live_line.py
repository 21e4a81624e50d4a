"""On a terminal: the line of progress is the last one, and changes in place. Only a run that shows it needs Rich."""

from __future__ import annotations

import os

from rich.console import Console, ConsoleOptions, RenderResult
from rich.control import Control
from rich.live import Live
from rich.segment import ControlType, Segment
from rich.text import Text

from tests.harness.screen import Screen

_COLUMNS, _LINES = 80, 24
"""Of a terminal that does not know its size."""


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
