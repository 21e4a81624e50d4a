"""Calls what is due, from one thread for all requests: a thread for each of them would cost a twentieth of a run."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from heapq import heappop, heappush
from typing import Protocol


class Timer(Protocol):
    """Counts the seconds of one request, as `threading.Timer` does."""

    def start(self) -> None:
        """Count from now."""

    def cancel(self) -> None:
        """Do not call what was to be called; a call that has begun goes on."""


class Watch:
    """Calls a function some seconds after `start`, unless it is cancelled before: a Timer."""

    def __init__(self, seconds: float, call: Callable[[], object]) -> None:
        self._seconds = seconds
        self._call: Callable[[], object] | None = call
        self.due = 0.0

    def start(self) -> None:
        """Count from now."""
        self.due = time.monotonic() + self._seconds
        _watchdog.add(self)

    def cancel(self) -> None:
        """Do not call, and keep nothing of the request."""
        self._call = None

    def end(self) -> None:
        """The time is up."""
        if call := self._call:
            call()

    def is_cancelled(self) -> bool:
        """Whether nothing is to be called any more."""
        return self._call is None

    def __lt__(self, other: Watch) -> bool:
        return self.due < other.due


class _Watchdog:
    def __init__(self) -> None:
        self._watches: list[Watch] = []
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def add(self, watch: Watch) -> None:
        with self._changed:
            heappush(self._watches, watch)
            if self._watches[0] is watch:  # it is due before what the thread waits for
                self._changed.notify()
            if self._thread is None or not self._thread.is_alive():  # a forked process has not got the thread
                self._thread = threading.Thread(target=self._run, name="watchdog", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while watch := self._next():
            watch.end()

    def _next(self) -> Watch | None:
        """Wait until a watch is due. None where the thread is to end."""
        with self._changed:
            while self._thread is threading.current_thread():
                while self._watches and self._watches[0].is_cancelled():
                    heappop(self._watches)
                left = self._watches[0].due - time.monotonic() if self._watches else None
                if left is not None and left <= 0:
                    return heappop(self._watches)
                self._changed.wait(left)
            return None

    def rest(self) -> None:
        with self._changed:
            self._watches = sorted(watch for watch in self._watches if not watch.is_cancelled())
            if self._watches:
                return
            thread, self._thread = self._thread, None
            self._changed.notify()
        if thread:
            thread.join()


_watchdog = _Watchdog()


def rest() -> None:
    """End the thread where no request is under way. It comes back with the next one."""
    _watchdog.rest()
