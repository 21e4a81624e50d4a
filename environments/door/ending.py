"""The end of a run: its time is over, or it is stopped.

Every thread that waits for something waits here, so that it wakes up when the run ends. The policies of the door ask
`refuse` before they begin something.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from filelock import FileLock, Timeout

from environments.door.outgoing import LimitError, Sending
from spec.exchange import Failure, FailureKind, Response
from spec.message import Text, say

STOPPED = "the run was stopped"
CUT = "{}, and no answer came in time"
_LAST_ANSWERS_S = 1.0
"""Seconds in which requests on the wire may still be answered when the run ends: the outcome of an execution without an
answer is unknown."""
_RESERVE, _MOST_RESERVED_S = 0.1, 60.0
"""Share of limits.duration that is kept for cleaning up, and the most seconds of it: a minute is enough to delete the
few keys of a run."""


class Ending:
    """Knows whether the run still sends requests, and has a thread that waits wake up when it does not.

    | event | what follows |
    |---|---|
    | limits.duration is over but for a reserve | nothing begins but requests that clean up |
    | limits.duration is over | nothing is sent any more |
    | the run is stopped | the same; waiting threads wake up; requests on the wire have one more second |
    """

    def __init__(self, duration_s: float = math.inf, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.lock = threading.Condition()
        """Guards the bookkeeping of all policies. A thread that waits releases it."""
        self.is_stopped = False
        self.clock = clock
        self._duration_s = duration_s
        self._until = clock() + duration_s
        self._reserve_s = min(_RESERVE * duration_s, _MOST_RESERVED_S)
        self._cuts_at = math.inf  # by the clock, when requests on the wire are cut

    @property
    def limit(self) -> Text:
        """The reason why the run begins nothing more; empty while it sends."""
        if self.is_stopped:
            return STOPPED
        if self._seconds_left > self._reserve_s:
            return ""
        return say("limits.{setting} ({limit} s) is over", setting="duration", limit=f"{self._duration_s:g}")

    def stop(self) -> None:
        """Send nothing more, and wake all threads that wait. Any thread may call it, but no signal handler: it takes
        the lock."""
        self._cuts_at = min(self._cuts_at, self.clock() + _LAST_ANSWERS_S)
        self.is_stopped = True
        self.wake()

    def refuse(self, sending: Sending) -> None:
        """Raises LimitError if the run has ended. While the time for cleaning up lasts, requests that clean up pass."""
        may_clean_up = self._seconds_left > 0 and not self.is_stopped
        if self.limit and not (sending.cleans_up and may_clean_up):
            raise LimitError(self.limit)

    def explain(self, result: Response | Failure) -> Response | Failure:
        """The result of a request. If it timed out because the run ended, the failure says so."""
        timed_out = isinstance(result, Failure) and result.kind is FailureKind.TIMEOUT
        if timed_out and self.limit:
            return Failure(FailureKind.LIMIT, CUT.format(self.limit))
        return result

    # -- how threads wait -------------------------------------------------------------------------------------

    def wake(self) -> None:
        """Have each thread that waits ask again if its condition holds."""
        with self.lock:
            self.lock.notify_all()

    def wait_for(self, condition: Callable[[], bool]) -> None:
        """Wait until a condition holds. Raises LimitError if the run is stopped meanwhile."""
        with self.lock:
            self.lock.wait_for(lambda: self.is_stopped or condition())
        if self.is_stopped:
            raise LimitError(STOPPED)

    def sleep(self, seconds: float) -> None:
        """Wait for this time, or until the run ends."""
        with self.lock:
            self.lock.wait_for(lambda: self.is_stopped, max(0.0, min(seconds, self._seconds_to_next_end)))

    @contextmanager
    def holding(self, lock: FileLock) -> Iterator[None]:
        """Wait for a lock that processes share, and keep it. Raises LimitError if the run ends meanwhile."""
        try:
            lock.acquire(cancel_check=lambda: bool(self.limit))
        except Timeout:
            raise LimitError(self.limit) from None
        try:
            yield
        finally:
            lock.release()

    @property
    def longest_answer_s(self) -> float:
        """Seconds that the answer to a request may take which is sent now."""
        return self._seconds_to_next_end + _LAST_ANSWERS_S

    @property
    def cuts(self) -> bool:
        """True if requests on the wire are cut, and no answer is waited for any more."""
        return self.clock() >= self._cuts_at

    @property
    def _seconds_left(self) -> float:
        """Seconds until limits.duration is over, with the time for cleaning up."""
        return self._until - self.clock()

    @property
    def _seconds_to_next_end(self) -> float:
        """Seconds that a thread may wait at most: until only cleaning up is permitted.

        During the time for cleaning up, seconds until limits.duration is over.
        """
        seconds_left = self._seconds_left
        if seconds_left > self._reserve_s:
            return seconds_left - self._reserve_s
        return max(0.0, seconds_left)
