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


def _end_process(number: int, frame: FrameType | None) -> None:
    """The handler of Ctrl-C and SIGTERM: write one line, only for the first signal, and end the process.

    It raises SystemExit instead of calling os._exit, because pytest collects what is written during imports, and prints
    it only if an exception reaches pytest.
    """
    global _was_interrupted
    if not _was_interrupted:
        _was_interrupted = True
        os.write(2, b"error: interrupted: nothing was sent\n")
    raise SystemExit(_INTERRUPTED)


def end_if_interrupted() -> None:
    """End the process if Ctrl-C or SIGTERM came before this call.

    The handler raised SystemExit at that moment, but a module that was being imported may have caught the exception.
    """
    if _was_interrupted:
        raise SystemExit(_INTERRUPTED)


def raise_from_now_on() -> None:
    """Make Ctrl-C and SIGTERM raise KeyboardInterrupt from now on.

    The start is over, and a command of `python -m environments` catches KeyboardInterrupt and prints a line of its own.
    """
    end_if_interrupted()
    for number in _SIGNALS:
        signal.signal(number, signal.default_int_handler)


def restore() -> None:
    """Restore the signal handlers that were set before this module was imported.

    A handler that other code has set meanwhile, such as the handler of a run, is not replaced.
    """
    end_if_interrupted()
    for number, handler in _handlers_before.items():
        if signal.getsignal(number) is _end_process:
            signal.signal(number, handler)


_was_interrupted = False
_handlers_before = {number: signal.getsignal(number) for number in _SIGNALS}
for _number in _SIGNALS:
    signal.signal(_number, _end_process)
