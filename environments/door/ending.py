"""How a run ends while requests are on their way: it winds down, or it is stopped."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from filelock import FileLock, Timeout

from environments.door.outgoing import NotSentError, Sending
from environments.door.watchdog import Timer
from spec.exchange import Failure, FailureKind, Response

STOPPED = "the run was stopped"
OVER = "the tests are over"
CUT = "the run was stopped before the answer came"
_CLEANS_UP = ("listPixKeys", "deletePixKey")


class Ending:
    """Whether the run still sends. It winds down when its tests are over: what it registered is deleted, and nothing
    else is begun. It is stopped when it is interrupted: nothing is sent any more, who waits wakes up, and what is on
    the wire is cut.
    """

    def __init__(self) -> None:
        self._is_over = False
        self._stopped = threading.Event()
        self._guard = threading.Lock()
        self._calls: list[Callable[[], object]] = []

    @property
    def is_stopped(self) -> bool:
        """Whether nothing is sent any more."""
        return self._stopped.is_set()

    def wind_down(self) -> None:
        """The tests are over: begin nothing but cleaning up."""
        self._is_over = True

    def stop(self) -> None:
        """Send nothing any more, and cut what is on the wire. Any thread may call it, but no signal handler."""
        with self._guard:
            self._stopped.set()
            calls, self._calls = self._calls, []
        for call in calls:
            call()

    def refuse(self, sending: Sending) -> None:
        """Raises NotSentError where the run begins nothing of that kind any more."""
        self.refuse_after_stop()
        if self._is_over and sending.intent.operation not in _CLEANS_UP:
            raise NotSentError(OVER)

    def refuse_after_stop(self) -> None:
        """Raises NotSentError where the run was stopped."""
        if self.is_stopped:
            raise NotSentError(STOPPED)

    def explain(self, result: Response | Failure) -> Response | Failure:
        """The same; a request that was cut failed for that. A connection that was refused says more."""
        if isinstance(result, Response) or not self.is_stopped or result.kind is FailureKind.NO_CONNECTION:
            return result
        return Failure(FailureKind.LIMIT, CUT)

    # -- what waits -------------------------------------------------------------------------------------------

    def sleep(self, seconds: float) -> None:
        """Wait so long, or until the run is stopped."""
        self._stopped.wait(max(0.0, seconds))

    @contextmanager
    def holding(self, lock: FileLock) -> Iterator[None]:
        """Wait for a lock that processes share, and keep it. Raises NotSentError where the run is stopped meanwhile."""
        try:
            lock.acquire(cancel_check=self._stopped.is_set)
        except Timeout:
            raise NotSentError(STOPPED) from None
        try:
            yield
        finally:
            lock.release()

    def when_stopped(self, call: Callable[[], object]) -> None:
        """Have this called when the run is stopped; at once where it was."""
        with self._guard:
            if not self.is_stopped:
                self._calls.append(call)
                return
        call()

    def forget(self, call: Callable[[], object]) -> None:
        """Do not call it; a call that has begun goes on."""
        with self._guard:
            if call in self._calls:
                self._calls.remove(call)

    def timer(self, seconds: float, call: Callable[[], object], of: Callable[..., Timer]) -> Timer:
        """A timer whose time is also up when the run is stopped."""
        return _CutShort(self, of(seconds, call), call)


class _CutShort:
    def __init__(self, ending: Ending, timer: Timer, call: Callable[[], object]) -> None:
        self._ending, self._timer, self._call = ending, timer, call

    def start(self) -> None:
        self._timer.start()
        self._ending.when_stopped(self._call)

    def cancel(self) -> None:
        self._ending.forget(self._call)
        self._timer.cancel()
