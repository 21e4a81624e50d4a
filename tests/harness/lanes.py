"""Parts of the traffic that are sent beside each other: each once, when it is first asked for or earlier.

A chain is a list of parts that follow one another in a thread of their own. Single requests that need no order go to a
pool, in the background: chains have the right of way on the wire. With one request at a time nothing is sent before it
is asked for.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from typing import Any, Generic, TypeVar

from environments.door.in_flight import InFlight

T = TypeVar("T")
_CHAINS = 4
"""Chains that are sent at a time."""


class Part(Generic[T]):
    """What `send` sends, once. Call it for what `send` gives, or raises."""

    def __init__(self, send: Callable[[], T]) -> None:
        self._send, self._sent = send, Future[T]()
        self._guard, self._is_taken = threading.Lock(), False

    def __call__(self) -> T:
        """Send it, or wait until it is sent."""
        self.run()
        return self._sent.result()

    @property
    def is_begun(self) -> bool:
        """Whether it is being sent, or was sent."""
        return self._is_taken

    def run(self) -> None:
        """Send it, or wait until it is sent; what it raises is kept."""
        with self._guard:
            was_taken, self._is_taken = self._is_taken, True
        if was_taken:
            wait([self._sent])
            return
        try:
            self._sent.set_result(self._send())
        except BaseException as error:
            self._sent.set_exception(error)


class Lanes:
    """The threads of one process. `ahead`: parts may be sent before they are asked for."""

    def __init__(self, in_flight: InFlight, *, ahead: bool = True) -> None:
        self.parallel = in_flight.most > 1
        self.ahead = ahead and self.parallel
        self._in_flight = in_flight
        self._chains, self._pool = _Threads(_CHAINS), _Threads(in_flight.most)
        self._beside = _Threads(in_flight.most)

    def start_chain(self, parts: Iterable[Part[Any]]) -> None:
        """Send these parts one after the other."""
        self._chains.submit(self._run_all, list(parts))

    def start(self, parts: Iterable[Part[Any]]) -> None:
        """Send these parts in any order, behind all chains. Not where one request goes at a time: then each is sent
        when it is asked for."""
        for part in parts if self.parallel else ():
            self._pool.submit(self._run_behind, part)

    def send_side_by_side(self, sends: Sequence[Callable[[], T]]) -> list[T]:
        """Send these at the same time, and give what each of them gives; one after the other where one request goes at a
        time."""
        parts = [Part(send) for send in sends]
        for part in parts if self.parallel else ():
            self._beside.submit(Part.run, part)
        return [part() for part in parts]

    def close(self) -> None:
        """Send no part that was not begun, and wait for those that were."""
        self._pool.close()
        self._beside.close()
        self._chains.close()

    def _run_behind(self, part: Part[Any]) -> None:
        with self._in_flight.background():
            part.run()

    @staticmethod
    def _run_all(parts: Iterable[Part[Any]]) -> None:
        for part in parts:
            part.run()


class _Threads:
    """Threads that are there once something is submitted."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._executor: Executor | None = None
        self._guard = threading.Lock()

    def submit(self, run: Callable[..., None], argument: object) -> None:
        with self._guard:
            self._executor = self._executor or ThreadPoolExecutor(self._most, thread_name_prefix="pix-lane")
        with suppress(RuntimeError):  # it is closed: the run ends
            self._executor.submit(run, argument)

    def close(self) -> None:
        if self._executor is not None:
            self._executor.shutdown(cancel_futures=True)
