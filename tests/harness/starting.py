"""The start of a run, before its session exists: SIGINT and SIGTERM are one line and exit status 2, as nothing was sent,
and the garbage collector looks seldom at what is imported, and after the start never, as that stays. Nor does it look at
anything when the process ends.

The first module that the root conftest.py imports: the others take a second. pytest's own start comes before, and is
Python's: a traceback.
"""

from __future__ import annotations

import atexit
import gc
import os
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
        """Not in a worker of a parallel run, which the process that the user started stops; and no signal that is ignored,
        or that something beside Python handles."""
        if threading.current_thread() is threading.main_thread() and "PYTEST_XDIST_WORKER" not in os.environ:
            heard = [number for number in SIGNALS if signal.getsignal(number) not in (signal.SIG_IGN, None)]
            self._before = {number: signal.signal(number, self._take) for number in heard}

    def end(self) -> None:
        """The start is over: restore the handlers that were there before; what is there stays."""
        if not gc.get_freeze_count():  # not again in a process that runs several sessions
            gc.freeze()
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


gc.set_threshold(10_000, 20, 20)
atexit.register(gc.freeze)  # pytest has looked for what leaks by then
starting = Starting()
starting.listen()
