"""Parts of the traffic that are sent beside each other: each once, when it is first asked for or earlier.

A chain is a list of parts that follow one another in a thread of their own. Single requests that need no order go to a
pool, in the background: chains have the right of way on the wire. With one request at a time nothing is sent before it
is asked for.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, wait
from functools import partial
from queue import SimpleQueue
from types import TracebackType
from typing import Any, Generic, TypeVar

from environments.door.in_flight import InFlight

T = TypeVar("T")
_CHAINS = 4
"""Chains that are sent at a time."""
_LOOK_S = 1.0
_LONGEST_END_S = 10.0
"""How long the threads of a run that was stopped may take to end: what is on the wire is cut, but a host may be sought or
a connection be made for some seconds. Nothing was sent then."""


class Part(Generic[T]):
    """What `send` sends, once. Call it for what `send` gives, or raises."""

    def __init__(self, send: Callable[[], T]) -> None:
        self._send, self._sent = send, Future[T]()
        self._guard, self._is_begun, self._is_asked = threading.Lock(), False, False
        self._traceback: TracebackType | None = None

    def __call__(self) -> T:
        """Send it, or wait until it is sent."""
        self._is_asked = True
        self.run()
        if error := self._sent.exception():  # without what each test that asked before has added
            raise error.with_traceback(self._traceback)
        return self._sent.result()

    @property
    def is_begun(self) -> bool:
        """Whether it is being sent, or was sent."""
        return self._is_begun

    def run(self) -> None:
        """Send it, or wait until it is sent; what it raises is kept."""
        with self._guard:
            was_begun, self._is_begun = self._is_begun, True
        if was_begun:
            wait([self._sent])
            return
        try:
            self._sent.set_result(self._send())
        except BaseException as error:
            self._traceback = error.__traceback__
            self._sent.set_exception(error)

    @property
    def unheard(self) -> BaseException | None:
        """What was raised and nobody asked for."""
        return None if self._is_asked or not self._sent.done() else self._sent.exception()


class Lanes:
    """The threads of a run. `parallel`: parts may be sent before they are asked for."""

    def __init__(self, in_flight: InFlight) -> None:
        self.parallel = in_flight.most > 1
        self._in_flight = in_flight
        self._chains, self._pool = _Threads(_CHAINS), _Threads(in_flight.most)
        self._beside = _Threads(2 * in_flight.most + _CHAINS)
        self._parts: list[Part[Any]] = []
        self._is_closed = False

    def start_chain(self, parts: Iterable[Part[Any]]) -> None:
        """Send these parts one after the other."""
        chain = list(parts)
        self._parts += chain
        self._chains.submit(partial(self._run_all, chain))

    def start(self, parts: Iterable[Part[Any]]) -> None:
        """Send these parts in any order, behind all chains. Not where one request goes at a time: then each is sent
        when it is asked for."""
        for part in parts if self.parallel else ():
            self._parts.append(part)
            self._pool.submit(partial(self._run_behind, part))

    def send_side_by_side(self, sends: Sequence[Callable[[], T]]) -> list[T]:
        """Send these at the same time, and give what each of them gives; one after the other where one request goes at a
        time."""
        parts = [Part(send) for send in sends]
        for part in parts if self.parallel else ():
            self._beside.submit(part.run)
        return [part() for part in parts]

    def close(self) -> None:
        """Send no part that was not begun, and wait for those that were; not for long where the run was stopped."""
        self._is_closed = True
        threads = [thread for lane in (self._pool, self._beside, self._chains) for thread in lane.close()]
        until = math.inf
        while (alive := [thread for thread in threads if thread.is_alive()]) and time.monotonic() < until:
            if self._in_flight.ending.is_stopped:
                until = min(until, time.monotonic() + _LONGEST_END_S)
            alive[0].join(_LOOK_S)

    @property
    def unheard(self) -> list[BaseException]:
        """What parts raised that no test asked for."""
        return [error for part in self._parts if (error := part.unheard)]

    def _run_behind(self, part: Part[Any]) -> None:
        with self._in_flight.background():
            part.run()

    def _run_all(self, parts: Iterable[Part[Any]]) -> None:
        for part in parts:
            if not self._is_closed:
                part.run()


class _Threads:
    """Threads that are there once something is submitted. They are daemons: one that never ends does not keep the
    process from ending, as those of `concurrent.futures` would."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._acts: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._guard, self._is_closed = threading.Lock(), False

    def submit(self, act: Callable[[], None]) -> None:
        """Have a thread do this, unless the threads are closed by then."""
        with self._guard:
            if self._is_closed:
                return
            self._acts.put(act)
            if len(self._threads) < self._most:
                self._threads.append(threading.Thread(target=self._work, name="pix-lane", daemon=True))
                self._threads[-1].start()

    def close(self) -> list[threading.Thread]:
        """Begin nothing any more. Gives the threads, which end with what they have begun."""
        with self._guard:
            self._is_closed = True
        for _ in self._threads:
            self._acts.put(None)
        return self._threads

    def _work(self) -> None:
        while (act := self._acts.get()) is not None:
            if not self._is_closed:
                act()
