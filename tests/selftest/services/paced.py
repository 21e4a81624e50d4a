"""The sandbox as it is met over a network: each answer takes a while, and a gateway lets so many requests a second
through. `apart` runs it in a process of its own, as a service under test does.
"""

import multiprocessing
import socket
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from threading import Lock

from environments.sandbox import Request, Response, Server, Service

TOO_MANY = Response(429, b'{"code": 429, "data": {"error": "Slow down."}}', (("Retry-After", "1"),))


@dataclass(frozen=True)
class Pace:
    """What the service does to each request: `delay` in seconds, `rate` in requests a second (0: no limit)."""

    delay: float = 0.0
    rate: int = 0


class Window:
    """At most `rate` requests in any second."""

    def __init__(self, rate: int, clock: Callable[[], float]) -> None:
        self._clock, self._guard = clock, Lock()
        self._passed: deque[float] = deque(maxlen=rate)

    def let_through(self) -> bool:
        """Count one request, unless a second has had its fill."""
        with self._guard:
            now, passed = self._clock(), self._passed
            if len(passed) == passed.maxlen and now - passed[0] < 1:
                return False
            passed.append(now)
            return True


class Paced(Service):
    """Waits in the thread of the connection, so that answers to several connections are delayed side by side."""

    def __init__(self, pace: Pace, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self.pace, self.answered, self.refused = pace, 0, 0
        self._window = Window(pace.rate, clock) if pace.rate else None

    def serve(self, request: Request, connection: socket.socket) -> Response | None:
        time.sleep(self.pace.delay)
        if self._window and not self._window.let_through():
            self.refused += 1
            return TOO_MANY
        self.answered += 1
        return self.respond(request)


@dataclass(frozen=True)
class Apart:
    """A service in another process: where it is, and the pipe to it."""

    base_url: str
    token: str
    _pipe: Connection

    def tally(self) -> tuple[int, int]:
        """How many requests it answered so far, and how many it refused because they came too fast."""
        self._pipe.send("tally")
        counts: tuple[int, int] = self._pipe.recv()
        return counts


@contextmanager
def apart(pace: Pace) -> Iterator[Apart]:
    """Serve in a process of its own: one that shares no interpreter with the run that is measured."""
    ours, theirs = multiprocessing.get_context("spawn").Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_serve, args=(theirs, pace), daemon=True)
    process.start()
    try:
        yield Apart(*ours.recv(), ours)
    finally:
        process.terminate()
        process.join()


def _serve(pipe: Connection, pace: Pace) -> None:
    service = Paced(pace)
    with Server(service) as server:
        pipe.send((server.base_url, service.token))
        while pipe.recv():
            pipe.send((service.answered, service.refused))
