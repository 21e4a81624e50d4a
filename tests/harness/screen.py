"""What pytest prints while tests run, and beside it a line that changes: on a terminal below it (`live_line.py`), elsewhere
now and then.

pytest's line is unfinished most of the time: a dot for each test. So the line is put where pytest's own stays whole.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, ClassVar, TextIO


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
        from rich.text import Text  # which a short run does not need

        column = Text.from_ansi(self._unfinished).cell_len
        if line:
            self._print(f"\n{line}\n{' ' * column}" if column else f"{line}\n", "")
