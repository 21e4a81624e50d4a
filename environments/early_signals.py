"""Ctrl-C and SIGTERM while the suite still starts: they end the process with one line and exit status 2.

The import of this module installs the handlers, so every start of the suite imports it before all other modules of the
suite. From then on a signal ends the process in that way, until a run or a command replaces the handlers. Without them,
SIGINT would print a traceback, and SIGTERM nothing.

Not covered is the time before that import: the start of Python, and the imports of pytest and its plugins.
"""

from __future__ import annotations

import os
import signal
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_INTERRUPTED = 2
"""Exit status of an interrupted run, as in pytest."""


def _end(number: int, frame: FrameType | None) -> None:
    """The handler of both signals: it writes one line, only the first time, and ends the process.

    It raises SystemExit and does not call os._exit, because pytest holds back what is written during imports, and
    prints it only when an exception comes through.
    """
    global _was_interrupted
    if not _was_interrupted:
        _was_interrupted = True
        os.write(2, b"error: interrupted: nothing was sent\n")
    raise SystemExit(_INTERRUPTED)


def end_if_interrupted() -> None:
    """End the process if a signal came before.

    The handler has raised SystemExit then, but a module that was being imported may have caught it.
    """
    if _was_interrupted:
        raise SystemExit(_INTERRUPTED)


def raise_from_now_on() -> None:
    """Have both signals raise KeyboardInterrupt from now on, because a command catches it and says what it left."""
    end_if_interrupted()
    for number in _SIGNALS:
        signal.signal(number, signal.default_int_handler)


def restore() -> None:
    """Restore the handlers that were there before the import, unless other code has set its own meanwhile."""
    end_if_interrupted()
    for number, handler in _handlers_before.items():
        if signal.getsignal(number) is _end:
            signal.signal(number, handler)


_was_interrupted = False
_handlers_before = {number: signal.getsignal(number) for number in _SIGNALS}
for _number in _SIGNALS:
    signal.signal(_number, _end)
