"""The start of a run, before its session exists: SIGINT and SIGTERM are one line and exit status 2, as nothing was sent.

The first module that the root conftest.py imports: the others take a second. pytest's own start comes before, and is
Python's: a traceback.
"""

from __future__ import annotations

import signal
import sys
import threading
from types import FrameType
from typing import Any, NoReturn

import pytest

SIGNALS = (signal.SIGINT, signal.SIGTERM)
_SAID = "the run was stopped by a signal before it sent anything; there is no report"
_INTERRUPTED = int(pytest.ExitCode.INTERRUPTED)


class Starting:
    """Handles the signals from `listen` to `end`. `configuring`: pytest says the line itself."""

    def __init__(self) -> None:
        self.configuring = False
        self._before: dict[signal.Signals, Any] = {}

    def listen(self) -> None:
        """No signal that is ignored, or that something beside Python handles."""
        if threading.current_thread() is threading.main_thread():
            heard = [number for number in SIGNALS if signal.getsignal(number) not in (signal.SIG_IGN, None)]
            self._before = {number: signal.signal(number, self._take) for number in heard}

    def end(self) -> None:
        """The start is over: restore the handlers that were there before."""
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before = {}

    def _take(self, number: int, frame: FrameType | None) -> NoReturn:
        for one in self._before:
            signal.signal(one, signal.SIG_IGN)
        if self.configuring:
            pytest.exit(_SAID, returncode=_INTERRUPTED)
        print(f"Exit: {_SAID}", file=sys.stderr)
        raise SystemExit(_INTERRUPTED)


starting = Starting()
starting.listen()
