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


class Paced(Service):
    """Waits in the thread of the connection, so that answers to several connections are delayed side by side. At most
    `rate` requests pass in any second."""

    def __init__(self, pace: Pace, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self.pace, self.answered = pace, 0
        self._clock, self._guard = clock, Lock()
        self._passed: deque[float] = deque(maxlen=pace.rate)

    def serve(self, request: Request, connection: socket.socket) -> Response | None:
        time.sleep(self.pace.delay)
        with self._guard:
            now, passed = self._clock(), self._passed
            if passed and len(passed) == passed.maxlen and now - passed[0] < 1:
                return TOO_MANY
            passed.append(now)
            self.answered += 1
        return self.respond(request)


@dataclass(frozen=True)
class Apart:
    """A service in another process: where it is, and the pipe to it."""

    base_url: str
    token: str
    _pipe: Connection

    def tally(self) -> int:
        """How many requests it answered so far; those that came too fast do not count."""
        self._pipe.send("tally")
        count: int = self._pipe.recv()
        return count


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
            pipe.send(service.answered)
