"""The end of a run: its time is over, or it is stopped.

Every thread that waits for something waits here, so that it wakes up when the run ends. The steps through which each
request passes before it is sent (door.py) ask `refuse_if_over` before they begin something.

| word | meaning |
|---|---|
| limits.duration | the most seconds that a run may take, as its settings (the profile) say |
| cleaning up | to delete the PIX keys that the run registered |
| a request cleans up | it deletes such a key, or reads the list of keys before and after a deletion |
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
_NO_ANSWER_IN_TIME = "{}, and no answer came in time"
_LAST_ANSWERS_S = 1.0
"""Seconds in which requests on the wire may still be answered when the run ends: the outcome of an execution without an
answer is unknown."""
_RESERVED_SHARE = 0.1
"""The part of limits.duration that is kept for cleaning up."""
_MOST_RESERVED_S = 60.0
"""Most seconds that are kept for cleaning up: a minute is enough to delete the few keys of a run."""


def failure_at_the_end(why_over: Text) -> Failure:
    """The failure of a request that was sent, and got no answer because the run ended; `why_over` says why it ended."""
    return Failure(FailureKind.LIMIT, _NO_ANSWER_IN_TIME.format(why_over))


class RunEnd:
    """Knows whether the run still sends requests, and wakes threads that wait when it does not.

    | event | what follows |
    |---|---|
    | the last tenth (or minute) of limits.duration begins | only requests that delete keys of the run are sent |
    | limits.duration is over | nothing is sent any more |
    | the run is stopped, such as by Ctrl-C | nothing is sent; waiting threads wake; one second for late answers |
    """

    def __init__(self, duration_s: float = math.inf, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin the time of the run, `duration_s` seconds by this clock, with a reserve at its end for cleaning up."""
        self.lock = threading.Condition()
        """The one lock of the run. It guards the data of all steps that a request passes before and after it is sent. A
        thread releases it while it waits."""
        self.is_stopped = False
        self.clock = clock
        self._duration_s = duration_s
        self._until = clock() + duration_s
        self._reserve_s = min(_RESERVED_SHARE * duration_s, _MOST_RESERVED_S)
        self._cuts_off_at = math.inf  # by the clock, when requests that wait for an answer are cut off

    @property
    def why_over(self) -> Text:
        """The reason why the run begins nothing more; empty while it sends requests.

        Its time counts as over while a reserve for cleaning up (deleting the keys of the run) is still left.
        """
        if self.is_stopped:
            return STOPPED
        if self._seconds_left > self._reserve_s:
            return ""
        return say("limits.{setting} ({limit} s) is over", setting="duration", limit=f"{self._duration_s:g}")

    def stop(self) -> None:
        """Stop the run: nothing more is sent, and all threads that wait wake up.

        Requests that were sent have one more second to be answered. Any thread may call this method, but no signal
        handler, because the method waits for a lock that the interrupted thread may have.
        """
        in_a_second = self.clock() + _LAST_ANSWERS_S
        self._cuts_off_at = min(self._cuts_off_at, in_a_second)  # a second stop does not prolong the time
        self.is_stopped = True
        self.wake_waiting_threads()

    def refuse_if_over(self, sending: Sending) -> None:
        """Raises LimitError if the run has ended, so that the request is not sent.

        The last part of the time is for requests that clean up (delete a key of the run): they pass until all of the
        time is over, or until the run is stopped.
        """
        if not self.why_over:
            return
        there_is_time_to_clean_up = self._seconds_left > 0 and not self.is_stopped
        if sending.cleans_up and there_is_time_to_clean_up:
            return
        raise LimitError(self.why_over)

    def with_end_as_cause(self, result: Response | Failure) -> Response | Failure:
        """The same result of a request, or another failure if the request timed out because the run ended.

        That failure names the end of the run as its cause, because such a timeout is no fault of the service.
        """
        timed_out = isinstance(result, Failure) and result.kind is FailureKind.TIMEOUT
        if timed_out and self.why_over:
            return failure_at_the_end(self.why_over)
        return result

    # -- how threads wait -------------------------------------------------------------------------------------

    def wake_waiting_threads(self) -> None:
        """Have each thread that waits in `wait_for` or `sleep` look again whether it may go on.

        It is called after a change that may be what a thread waits for, such as a request that got its answer.
        """
        with self.lock:
            self.lock.notify_all()

    def wait_for(self, condition: Callable[[], bool]) -> None:
        """Wait until a condition is true. Raises LimitError if the run is stopped meanwhile.

        The condition is looked at again whenever `wake_waiting_threads` is called. Other threads may work meanwhile.
        """
        with self.lock:
            self.lock.wait_for(lambda: self.is_stopped or condition())
        if self.is_stopped:
            raise LimitError(STOPPED)

    def sleep(self, seconds: float) -> None:
        """Wait for this time, or less: until the run is stopped, or until only cleaning up is permitted.

        Cleaning up is to delete the keys that the run registered, at its end.
        """
        longest_s = min(seconds, self._seconds_to_next_end)
        with self.lock:
            self.lock.wait_for(lambda: self.is_stopped, timeout=max(0.0, longest_s))

    @contextmanager
    def holding_file_lock(self, lock: FileLock) -> Iterator[None]:
        """Wait for a lock that several processes share, and keep it until the `with` block ends.

        Raises LimitError if the run ends before another process releases the lock.
        """
        try:
            lock.acquire(cancel_check=lambda: bool(self.why_over))
        except Timeout:
            raise LimitError(self.why_over) from None
        try:
            yield
        finally:
            lock.release()

    @property
    def longest_answer_s(self) -> float:
        """Most seconds that the answer to a request may take if the request is sent now.

        It is the time until the run ends, and one second more, in which requests that were just sent may be answered.
        """
        return self._seconds_to_next_end + _LAST_ANSWERS_S

    @property
    def cuts_requests_off(self) -> bool:
        """True if nobody waits any longer for answers to requests that were sent, because the run was stopped.

        It becomes true one second after the stop.
        """
        return self.clock() >= self._cuts_off_at

    @property
    def _seconds_left(self) -> float:
        """Seconds until limits.duration is over, the time that is kept for cleaning up included."""
        return self._until - self.clock()

    @property
    def _seconds_to_next_end(self) -> float:
        """Most seconds that a thread may wait: until the next moment at which fewer requests are permitted.

        First that is the beginning of the time for cleaning up (deleting the keys of the run). During this time it is
        the end of limits.duration. Afterwards the result is 0.
        """
        seconds_left = self._seconds_left
        if seconds_left > self._reserve_s:
            return seconds_left - self._reserve_s
        return max(0.0, seconds_left)
