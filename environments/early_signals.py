"""SIGINT and SIGTERM while Python still imports: they end the process with one line and exit status 2.

Without this module SIGINT would print a traceback, and SIGTERM nothing. Importing it installs the handlers, so whoever
starts the suite imports it first. It cannot act before that, during the start of the interpreter and the imports of
pytest and its plugins.
"""

from __future__ import annotations

import os
import signal
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_INTERRUPTED = 2
"""Exit status of an interrupted run, as in pytest."""


def _end(number: int, frame: FrameType | None) -> None:
    """Say that the process is interrupted, once, and end it.

    It ends by SystemExit, because pytest captures what is written while it imports, and prints it if an exception
    passes.
    """
    global _was_interrupted
    if not _was_interrupted:
        _was_interrupted = True
        os.write(2, b"error: interrupted: nothing was sent\n")
    raise SystemExit(_INTERRUPTED)


def end_if_interrupted() -> None:
    """End the process if a signal came, and a module that was being imported has caught its SystemExit."""
    if _was_interrupted:
        raise SystemExit(_INTERRUPTED)


def raise_from_now_on() -> None:
    """Have both signals raise KeyboardInterrupt, for a command that says more when it is interrupted."""
    end_if_interrupted()
    for number in _SIGNALS:
        signal.signal(number, signal.default_int_handler)


def restore() -> None:
    """Restore the handlers that were there before, unless somebody else has taken over."""
    end_if_interrupted()
    for number, handler in _handlers_before.items():
        if signal.getsignal(number) is _end:
            signal.signal(number, handler)


_was_interrupted = False
_handlers_before = {number: signal.getsignal(number) for number in _SIGNALS}
for _number in _SIGNALS:
    signal.signal(_number, _end)
