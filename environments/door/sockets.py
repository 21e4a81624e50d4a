"""Connections of `urllib3` with a deadline for the whole answer.

`requests` has a timeout for the next byte alone, so a service that sends one byte a second could hold a run for hours.
Here the deadline of a request knows its socket, and a watchdog shuts the socket down when the time is up or the run
ends. `Wire` (wire.py) uses `POOLS`, `Watchdog` and `Deadline`.
"""

from __future__ import annotations

import re
import socket
import threading
import time
from contextlib import suppress
from http.client import HTTPException, HTTPResponse, LineTooLong, parse_headers
from typing import Any

from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import InvalidHeader

from environments.door.ending import Ending
from spec.exchange import HTTP_1_0

KEPT_S = 3.0
"""Seconds of idleness after which a connection is not used again. Node.js and uvicorn close one after 5 seconds."""
_HANGS_UP_S = 0.5
"""Seconds that the suite waits for a service to notice that a connection is closed, and to close its end."""
_CHECKS_EVERY_S = 0.05
"""Seconds between two checks of the watchdog. A timeout may be late by as much."""
MOST_HEAD = 65_536
"""Bytes of a status line and headers together. A run keeps the headers of every answer. Servers and proxies send and
accept 8 to 32 kB, as a rule."""


class ConnectedError(Exception):
    """There is a connection, and nothing is to be sent over it."""


class Watchdog:
    """Checks the deadlines of all requests, in one thread. A thread for each request would take a twentieth of the time
    of a run.

    `seconds` is the time of each request, unless `ending` cuts the requests on the wire.
    """

    def __init__(self, seconds: float, ending: Ending) -> None:
        self.seconds, self.ending = seconds, ending
        self.deadlines: list[Deadline] = []  # of the requests on the wire
        self._thread: threading.Thread | None = None
        self._is_over = threading.Event()

    def start(self) -> None:
        """Start the thread, unless it runs already."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="watchdog", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """End the thread."""
        self._is_over.set()
        if self._thread:
            self._thread.join()

    def _run(self) -> None:
        """What the thread does until `close`: it shuts down connections whose time is up."""
        while not self._is_over.wait(_CHECKS_EVERY_S):
            for deadline in list(self.deadlines):
                deadline.shut_down_if_over()


class Deadline:
    """Shuts down the socket of a request when its time is up. The request is sent within `with deadline:`.

    | argument | meaning |
    |---|---|
    | `afresh` | the request must go over a new connection; afterwards true if it did |
    | `sends` | false to open a connection and send nothing |
    | `is_http_1_0` | the request says that it is one of HTTP/1.0 |
    """

    head: Any = None
    """The response of `http.client`, as soon as its status and headers are read."""

    def __init__(
        self, watchdog: Watchdog, *, afresh: bool = False, sends: bool = True, is_http_1_0: bool = False
    ) -> None:
        self.afresh, self.sends = afresh, sends
        self.is_http_1_0 = is_http_1_0
        self.may_have_left = False
        """True once there is a connection to the target, or to a proxy that passes the request on."""
        self.expired = watchdog.ending.is_stopped  # after the stop of a run nothing is sent any more
        self.sock: socket.socket | None = None
        """The socket of the request; None until there is one."""
        self._until = time.monotonic() + min(watchdog.seconds, watchdog.ending.longest_answer_s)
        self._watchdog = watchdog

    def shut_down_if_over(self) -> None:
        """Shut down the socket if the time is up. If there is none yet, `watch` shuts it down as soon as it comes."""
        if time.monotonic() >= self._until or self._watchdog.ending.cuts_requests_off:
            self.expired = True
        if self.expired and self.sock is not None:
            _shut_down(self.sock)

    def watch(self, sock: socket.socket | None) -> None:
        """Shut down this socket when the time is up: at once, if it passed while the connection was made."""
        self.sock = sock
        self.shut_down_if_over()

    def __enter__(self) -> Deadline:
        _of_this_thread.deadline = self
        self._watchdog.deadlines.append(self)
        self._watchdog.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._watchdog.deadlines.remove(self)


_of_this_thread = threading.local()
"""Its member `deadline` is the deadline of the request that the thread sends."""


def _shut_down(sock: Any, how: int = socket.SHUT_RDWR) -> None:
    """Let nobody read from the socket or write to it any more.

    The method of a plain socket is called, because that of a TLS socket also takes the encryption away: bytes that
    another thread writes next would then go in plain text.
    """
    with suppress(OSError):  # the service has closed it already
        socket.socket.shutdown(_socket_below_tls(sock), how)


def _socket_below_tls(sock: Any) -> socket.socket:
    """The socket of the operating system that carries a connection.

    It is the socket itself, TLS or not. Only for TLS within TLS, through a proxy, `urllib3` has an object of its own
    with the socket in it.
    """
    below: socket.socket = sock if isinstance(sock, socket.socket) else sock.socket
    return below


def _hang_up(connection: Any) -> None:
    """Close a connection, and wait until the service has closed its end.

    A service may accept few connections at a time, and would refuse the next one while it still holds this one.
    """
    _of_this_thread.deadline.watch(connection.sock)  # ends the loop below if the service keeps sending
    _shut_down(connection.sock, socket.SHUT_WR)
    sock = _socket_below_tls(connection.sock)
    sock.settimeout(_HANGS_UP_S)
    with suppress(OSError):  # the service has reset it, or takes too long
        while socket.socket.recv(sock, 65_536):
            pass
    connection.close()
    _of_this_thread.deadline.sock = None


class MalformedHeaderError(HTTPException):
    """A line of the headers is no header. `http.client` silently ignores such a line and all lines after it."""


class _Head:
    """The lines before a body, interim answers included. Raises LineTooLong beyond MOST_HEAD bytes.

    `http.client` limits each line alone, and reads no header any more after a line with blanks before its colon. So
    these blanks are removed, as RFC 9112 section 5.1 asks of a proxy, and as curl and browsers do.
    """

    def __init__(self, file: Any) -> None:
        self._file = file
        self._bytes_left = MOST_HEAD

    def readline(self, limit: int = -1) -> bytes:
        """The next line, or `limit` bytes of it."""
        line = self._file.readline(limit)
        self._bytes_left -= len(line)
        if self._bytes_left < 0:
            raise LineTooLong("head")
        return _BLANKS_BEFORE_COLON.sub(rb"\1:", line)

    def __getattr__(self, name: str) -> Any:
        """Everything else is that of the file."""
        return getattr(self._file, name)


_BLANKS_BEFORE_COLON = re.compile(rb"^([!#$%&'*+.^_`|~0-9A-Za-z-]+)[ \t]+:")
"""The name of a header (RFC 9110 section 5.6.2), then the blanks before the colon."""


class _FinalResponse(HTTPResponse):
    """Reads the final answer, behind interim ones (RFC 9110 section 15.2), of which `http.client` knows 100 alone.

    It raises an error for a malformed header, and for a length that is no number. `http.client` ignores both.
    """

    def begin(self) -> None:
        """Read status and headers. Raises MalformedHeaderError or InvalidHeader."""
        file: Any = self.fp
        self.fp = _Head(file)  # type: ignore[assignment]  # limits the head, has the methods that reading it needs
        super().begin()
        self.fp = file  # the body is read without that limit
        _of_this_thread.deadline.head = self
        if self.headers.defects:
            raise MalformedHeaderError
        if not self.headers.get("Content-Length", "0").strip().isdigit():
            raise InvalidHeader

    def _read_status(self) -> tuple[str, int, str]:
        """The status line of the first answer that is not an interim one; `http.client` handles 100 and 101."""
        while True:
            version, status, reason = super()._read_status()  # type: ignore[misc]
            if not 102 <= status < 200:
                return version, status, reason
            parse_headers(self.fp)


class _Watched:
    """A connection whose socket is watched by the deadline of its request, from the start."""

    sock: socket.socket | None
    answered_at = 0.0
    """Time of its last answer, by the monotonic clock; 0 if there was none."""

    def _new_conn(self) -> socket.socket:
        """A new socket, which the deadline watches before anything is sent."""
        sock: socket.socket = super()._new_conn()  # type: ignore[misc]
        _of_this_thread.deadline.watch(sock)
        return sock

    def request(self, *args: Any, **kwargs: Any) -> None:
        """Connect if need be, and send the request. Raises ConnectedError if only a connection is asked for."""
        deadline = _of_this_thread.deadline
        if self.sock is None:
            self.connect()  # type: ignore[attr-defined] # else `urllib3` connects while it sends
        if not deadline.sends:
            raise ConnectedError
        deadline.may_have_left = True
        deadline.watch(self.sock)
        self._http_vsn_str = HTTP_1_0 if deadline.is_http_1_0 else "HTTP/1.1"
        super().request(*args, **kwargs)  # type: ignore[misc]

    def getresponse(self) -> Any:
        """The answer. Its time shows later if the connection was idle for too long."""
        response = super().getresponse()  # type: ignore[misc]
        self.answered_at = time.monotonic()
        return response


class _WatchedConnection(_Watched, HTTPConnection):
    """A watched connection without TLS."""

    response_class = _FinalResponse


class _WatchedTlsConnection(_Watched, HTTPSConnection):
    """A watched connection with TLS."""

    response_class = _FinalResponse


class _PoolOfRecentConnections:
    """A pool whose connections answered in the last `KEPT_S` seconds, or are new."""

    found_closed = False
    """True if the service closed a connection without having said that it would."""

    def _get_conn(self, timeout: float | None = None) -> Any:
        """A connection for the request of this thread. One without a socket gets a new one when it sends.

        A connection that was idle for too long is closed first, and so is any connection if the request needs a new
        one (`Deadline.afresh`). `found_closed` is set if the service closed a connection by itself.
        """
        connection = super()._get_conn(timeout)  # type: ignore[misc]
        deadline = _of_this_thread.deadline
        if connection.sock is None:  # it is new, or was found closed
            if connection.answered_at > 0:
                self.found_closed = True
        elif deadline.afresh or time.monotonic() - connection.answered_at > KEPT_S:
            _hang_up(connection)
        deadline.afresh = connection.sock is None
        return connection

    def _put_conn(self, conn: Any) -> None:
        """Return only open connections to the pool, so that the next request reuses one. Some services accept few."""
        if conn is not None and conn.sock is not None:
            super()._put_conn(conn)  # type: ignore[misc]


class _WatchedPool(_PoolOfRecentConnections, HTTPConnectionPool):
    ConnectionCls = _WatchedConnection


class _WatchedTlsPool(_PoolOfRecentConnections, HTTPSConnectionPool):
    ConnectionCls = _WatchedTlsConnection


POOLS = {"http": _WatchedPool, "https": _WatchedTlsPool}
"""Pools of connections that are watched, for a pool manager of `urllib3`."""
