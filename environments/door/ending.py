"""The end of a run: its time is over, or it is stopped. Whatever waits, waits here."""

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
"""Time for the answers to what is on the wire when the run ends: an execution that is cut has an unknown outcome."""
_RESERVE, _MOST_RESERVED_S = 0.1, 60.0
"""Share of limits.duration that is kept for cleaning up, and the most seconds of it."""


class Ending:
    """Tells whether the run still sends. When limits.duration is over but for a reserve, it cleans up and begins no
    more. When it is stopped, it sends nothing more, who waits wakes up, and what is on the wire has a last second to be
    answered.

    `lock` is the one that guards the bookkeeping of all policies. A thread gives it away while it waits, and while its
    request is on the wire. A policy that sends a request of its own keeps it, so that nothing else leaves meanwhile.
    """

    def __init__(self, duration_s: float = math.inf, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.lock, self.is_stopped = threading.Condition(), False
        self._duration_s, self.clock, self._until = duration_s, clock, clock() + duration_s
        self._reserve_s = min(_RESERVE * duration_s, _MOST_RESERVED_S)
        self._cuts_at = math.inf

    @property
    def limit(self) -> Text:
        """The reason why the run has ended before its tests; empty while it sends."""
        if self.is_stopped:
            return STOPPED
        if self._rest_s > self._reserve_s:
            return ""
        return say("limits.{setting} ({limit} s) is over", setting="duration", limit=f"{self._duration_s:g}")

    def stop(self) -> None:
        """Send nothing any more, and wake who waits. Any thread may call it, but no signal handler."""
        self._cuts_at = min(self._cuts_at, self.clock() + _LAST_ANSWERS_S)
        self.is_stopped = True
        self.wake()

    def refuse(self, sending: Sending) -> None:
        """Raises NotSentError where the run begins nothing of that kind any more."""
        cleans_up = sending.cleans_up and self._rest_s > 0 and not self.is_stopped
        if self.limit and not cleans_up:
            raise LimitError(self.limit)

    def explain(self, result: Response | Failure) -> Response | Failure:
        """The same; a request that was cut failed for the end of the run."""
        late = isinstance(result, Failure) and result.kind is FailureKind.TIMEOUT
        return Failure(FailureKind.LIMIT, CUT.format(self.limit)) if late and self.limit else result

    # -- what waits -------------------------------------------------------------------------------------------

    def wake(self) -> None:
        """Have everybody who waits look again."""
        with self.lock:
            self.lock.notify_all()

    def wait_for(self, is_so: Callable[[], bool]) -> None:
        """Wait until something is so. Raises LimitError where the run is stopped meanwhile."""
        with self.lock:
            self.lock.wait_for(lambda: self.is_stopped or is_so())
        if self.is_stopped:
            raise LimitError(STOPPED)

    def sleep(self, seconds: float) -> None:
        """Wait so long, or until the run ends."""
        with self.lock:
            self.lock.wait_for(lambda: self.is_stopped, max(0.0, min(seconds, self._left_s)))

    @contextmanager
    def holding(self, lock: FileLock) -> Iterator[None]:
        """Wait for a lock that processes share, and keep it. Raises LimitError where the run ends meanwhile."""
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
        """Seconds that an answer may take which is asked for now."""
        return self._left_s + _LAST_ANSWERS_S

    @property
    def cuts(self) -> bool:
        """True where no answer is waited for any more."""
        return self.clock() >= self._cuts_at

    @property
    def _rest_s(self) -> float:
        """Seconds of limits.duration, those for cleaning up included."""
        return self._until - self.clock()

    @property
    def _left_s(self) -> float:
        """Seconds until nothing but cleaning up is sent, then those until its end."""
        rest = self._rest_s
        return rest - self._reserve_s if rest > self._reserve_s else max(0.0, rest)
