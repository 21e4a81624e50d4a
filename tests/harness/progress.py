"""A line that says how far the sending is: on a terminal in its place, elsewhere one now and then."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

EVERY_S, EVERY_S_IN_PLACE = 15.0, 0.25
_NEW_LINE = "\r\x1b[K"
"""Carriage return, and a line without text (ECMA-48, EL)."""


@contextmanager
def progress(file: TextIO, line: Callable[[], str]) -> Iterator[None]:
    """Have a thread print the line while something else goes on that prints nothing; in the end nothing of it stays on a
    terminal."""
    in_place = file.isatty() and os.environ.get("TERM", "dumb") != "dumb"
    stopped = threading.Event()

    def show() -> None:
        while not stopped.wait(EVERY_S_IN_PLACE if in_place else EVERY_S):
            _print(file, f"{_NEW_LINE}{line()}" if in_place else f"{line()}\n")

    thread = threading.Thread(target=show, name="pix-progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()
        _print(file, _NEW_LINE * in_place)


def _print(file: TextIO, text: str) -> None:
    with suppress(OSError):  # nobody looks any more
        file.write(text)
        file.flush()
