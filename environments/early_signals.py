"""SIGINT and SIGTERM while Python still imports: one line and exit status 2, in the place of a traceback or of no word.

Whoever starts the suite imports this module first. What comes before, the start of the interpreter and the imports of
pytest and its plugins, ends as Python and pytest have it.
"""

from __future__ import annotations

import os
import signal
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_INTERRUPTED = 2
"""Exit status, as that of an interrupted run."""


def _end(number: int, frame: FrameType | None) -> None:
    """End with SystemExit: pytest captures what is written while it imports, and prints it if an exception passes."""
    global _was_asked
    if not _was_asked:
        _was_asked = True
        os.write(2, b"error: interrupted: nothing was sent\n")
    raise SystemExit(_INTERRUPTED)


def end_if_asked() -> None:
    """End late if a module that was being imported has caught the exception."""
    if _was_asked:
        raise SystemExit(_INTERRUPTED)


def raise_from_now_on() -> None:
    """Have both signals raise KeyboardInterrupt, for a command that says more when it is interrupted."""
    end_if_asked()
    for number in _SIGNALS:
        signal.signal(number, signal.default_int_handler)


def restore() -> None:
    """Restore the handlers that were there before, unless somebody else has taken over."""
    end_if_asked()
    for number, handler in _before.items():
        if signal.getsignal(number) is _end:
            signal.signal(number, handler)


_was_asked = False
_before = {number: signal.getsignal(number) for number in _SIGNALS}
for _number in _SIGNALS:
    signal.signal(_number, _end)
