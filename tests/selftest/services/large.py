"""A service that gives the same large answer to every request, in a process of its own. SHAPES has the answers."""

import gzip
import json
import socket
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from multiprocessing.connection import Connection
from threading import Lock

from environments.sandbox import Request, Response, Server, Service
from tests.selftest.exchanges import EXECUTION_RESULT
from tests.selftest.services.paced import ServiceProcess, service_process

SIZE = 4_990_000
"""Bytes, a little less than limits.response_bytes."""
_RESULT_WITHOUT_END = (
    json.dumps({"code": 0, "data": EXECUTION_RESULT | {"Success": "true"}}).encode().removesuffix(b"}}")
)


def _with_member_x(value: bytes) -> bytes:
    """The body of an answer to an execution, with this JSON value as one more member of its result."""
    return _RESULT_WITHOUT_END + b', "x": ' + value + b"}}"


def _array(item: bytes, length: int) -> bytes:
    """A JSON array that has the same item again and again: `[1,1,1]`."""
    return b"[" + b",".join([item] * length) + b"]"


def _members(count: int) -> bytes:
    """The body of an answer to an execution, with this number of further members: `"member0": 0, "member1": 1`."""
    return _RESULT_WITHOUT_END + b"".join(b', "member%d": %d' % (number, number) for number in range(count)) + b"}}"


SHAPES: dict[str, Callable[[], bytes]] = {
    "brackets": lambda: b"[" * SIZE,
    "nested objects": lambda: b'{"a":' * (SIZE // 5),
    "30,000 members": lambda: _members(30_000),
    "50,000 members": lambda: _members(50_000),
    "200,000 members": lambda: _members(200_000),
    "one member repeated": lambda: _RESULT_WITHOUT_END + b', "id": "TX-1"' * 30_000 + b"}}",
    "99,000 numbers": lambda: _with_member_x(_array(b"1", 99_000)),
    "10,000 objects": lambda: _with_member_x(_array(b'{"id": "%b"}' % (b"x" * 480), 10_000)),
    "deep and wide": lambda: _with_member_x(_array(b"[" * 90 + b"1" + b"]" * 90, 1_000)),
    "1,000,000 digits": lambda: _with_member_x(b"9" * 1_000_000),
    "50,000 members, never the same": lambda: _members(50_000),
    "one long string": lambda: _with_member_x(b'"%b"' % (b"x" * (SIZE - 1_000))),
    "one long string of digits": lambda: _with_member_x(b'"%b"' % (b"x1" * (SIZE // 2 - 1_000))),
    "10,000 times the same key": lambda: _with_member_x(_array(b'{"key": "qa@pix-conformance.example"}', 10_000)),
    "not JSON at its end": lambda: _with_member_x(_array(b'{"id": "%b"}' % (b"x" * 480), 10_000))[:-1] + b"!",
    "small": lambda: _RESULT_WITHOUT_END + b"}}",
    "90 headers": lambda: _RESULT_WITHOUT_END + b"}}",
    "90 headers of 60,000 bytes": lambda: _RESULT_WITHOUT_END + b"}}",
    "1 header of 60,000 bytes": lambda: _RESULT_WITHOUT_END + b"}}",
    "1,000 headers": lambda: _RESULT_WITHOUT_END + b"}}",
}
"""By its name, a function that makes the body of an answer."""
NEVER_THE_SAME = "never the same"
"""Each answer of a shape with these words in its name has another member at its end."""
_HEADERS = {
    "90 headers": (90, 20),
    "90 headers of 60,000 bytes": (90, 60_000),
    "1 header of 60,000 bytes": (1, 60_000),
    "1,000 headers": (1_000, 20),
}
"""Number of headers, and characters of each value, by shape."""


class GivesOneLargeAnswer(Service):
    """Gives the answer of this shape, a name in SHAPES, to every request. With `uses_gzip` its body is compressed."""

    def __init__(self, shape: str, *, uses_gzip: bool) -> None:
        """Make the answer of this shape, with its headers."""
        super().__init__()
        self._body = SHAPES[shape]()
        self._is_never_the_same = NEVER_THE_SAME in shape
        self._uses_gzip = uses_gzip
        number_of_headers, length = _HEADERS.get(shape, (0, 0))
        headers = [(f"X-Header-{number}", "x" * length) for number in range(number_of_headers)]
        headers.append(("Content-Type", "application/json"))
        if uses_gzip:
            headers.append(("Content-Encoding", "gzip"))
        self._response = Response(200, self._encoded(self._body), tuple(headers))
        self.answered = 0
        self._guard = Lock()

    def _encoded(self, body: bytes) -> bytes:
        """The body as it is sent: compressed, or as it is."""
        return gzip.compress(body) if self._uses_gzip else body

    def serve(self, request: Request, connection: socket.socket) -> Response | None:
        """The large answer. If no two answers are to be the same, it has the number of the request at its end."""
        with self._guard:
            self.answered += 1
            number = self.answered
        if not self._is_never_the_same:
            return self._response
        body = self._body.removesuffix(b"}}") + b', "number": %d}}' % number
        return replace(self._response, body=self._encoded(body))


def large_service_process(shape: str, *, uses_gzip: bool) -> AbstractContextManager[ServiceProcess]:
    """A service in a process of its own that gives answers of this shape. It ends with the `with` block."""
    return service_process(_serve, shape, uses_gzip)


def _serve(pipe: Connection, shape: str, uses_gzip: bool) -> None:
    """Run the service in this process, and tell the other end of the pipe about it.

    The address and the token are sent first. After that, the number of answers is sent for each message that arrives.
    """
    service = GivesOneLargeAnswer(shape, uses_gzip=uses_gzip)
    with Server(service) as server:
        pipe.send((server.base_url, service.token))
        while pipe.recv():
            pipe.send(service.answered)
