"""Connections whose socket is known to the deadline of their request: a watchdog shuts it down when the time is up, or
the run ends. `requests` knows a deadline for the next byte only.
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
"""A connection that was idle for longer may be closed by now: services keep one for seconds."""
_HANGS_UP_S = 0.5
"""Seconds that a service may take to see that a connection is closed, and to close its end."""
_LOOKS_EVERY_S = 0.05
MOST_HEAD = 65_536
"""Bytes of a status line and headers together. A run keeps the headers of every answer. Servers and proxies send and
accept 8 to 32 kB, as a rule."""


class ConnectedError(Exception):
    """There is a connection, and nothing is to be sent over it."""


class Watchdog:
    """Looks at the deadlines of all requests, in one thread: a thread for each would cost a twentieth of a run. Each
    has so many seconds, unless `ending` cuts what is on the wire."""

    def __init__(self, seconds: float, ending: Ending) -> None:
        self.seconds, self.ending = seconds, ending
        self.deadlines: list[Deadline] = []
        self._thread: threading.Thread | None = None
        self._is_over = threading.Event()

    def start(self) -> None:
        """Watch from now on."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="watchdog", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """End the thread."""
        self._is_over.set()
        if self._thread:
            self._thread.join()

    def _run(self) -> None:
        while not self._is_over.wait(_LOOKS_EVERY_S):
            for deadline in list(self.deadlines):
                deadline.look()


class Deadline:
    """Shuts down the socket of this thread's request when its time is up; `sock` is None until there is one.

    `sending` says that the request may have left: there is a connection to the target, or a proxy that passes it on.
    `afresh`: the request goes over a connection that is opened for it. `sends`: False to open a connection alone.
    `is_old`: the request is one of HTTP/1.0. `head` is the answer so far, once its status and headers are there."""

    head: Any = None

    def __init__(self, watchdog: Watchdog, *, afresh: bool = False, sends: bool = True, is_old: bool = False) -> None:
        self.afresh, self.sends, self.sending, self.is_old = afresh, sends, False, is_old
        self.expired = watchdog.ending.is_stopped  # it was not sent yet, and is not
        self.sock: socket.socket | None = None
        self._until = time.monotonic() + min(watchdog.seconds, watchdog.ending.longest_answer_s)
        self._watchdog = watchdog

    def look(self) -> None:
        """Shut down the socket, also one that comes later, if the time is up."""
        self.expired |= time.monotonic() >= self._until or self._watchdog.ending.cuts
        if self.expired and self.sock is not None:
            _shut_down(self.sock)

    def watch(self, sock: socket.socket | None) -> None:
        """Shut down this socket. The time may have passed while the connection was made."""
        self.sock = sock
        self.look()

    def __enter__(self) -> Deadline:
        _of_this_thread.deadline = self
        self._watchdog.deadlines.append(self)
        self._watchdog.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._watchdog.deadlines.remove(self)


_of_this_thread = threading.local()
"""`deadline` is that of the request that the thread sends."""


def _shut_down(sock: Any, how: int = socket.SHUT_RDWR) -> None:
    """Let nobody read or write any more. Not by the method of a TLS socket: what is written next would go in plain text
    if it came before the end of the connection."""
    with suppress(OSError):  # the peer has closed it already
        socket.socket.shutdown(_inner(sock), how)


def _inner(sock: Any) -> socket.socket:
    """The socket below TLS; `urllib3` wraps TLS within TLS."""
    inner: socket.socket = sock if isinstance(sock, socket.socket) else sock.socket
    return inner


def _hang_up(connection: Any) -> None:
    """Close a connection, and see that the service has closed its end: it may take few at a time."""
    _of_this_thread.deadline.watch(connection.sock)  # a service that sends on is not listened to for ever
    _shut_down(connection.sock, socket.SHUT_WR)
    inner = _inner(connection.sock)
    inner.settimeout(_HANGS_UP_S)
    with suppress(OSError):  # the service has reset it, or takes too long
        while socket.socket.recv(inner, 65_536):
            pass
    connection.close()
    _of_this_thread.deadline.sock = None


class MalformedHeaderError(HTTPException):
    """A line of the headers is none. `http.client` reads no header after it, and takes no notice."""


class _Head:
    """The lines before a body, those of interim answers included: at most MOST_HEAD bytes, because `http.client` limits
    each line alone. Raises LineTooLong.

    The lines are without the blanks before the colon of a header: RFC 9112 section 5.1 has a proxy remove them, and
    curl and browsers do. `http.client` reads no header from such a line on."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self._bytes_left = MOST_HEAD

    def readline(self, limit: int = -1) -> bytes:
        """One line of at most so many bytes."""
        line = self._file.readline(limit)
        self._bytes_left -= len(line)
        if self._bytes_left < 0:
            raise LineTooLong("head")
        return _BLANKS_BEFORE_COLON.sub(rb"\1:", line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


_BLANKS_BEFORE_COLON = re.compile(rb"^([!#$%&'*+.^_`|~0-9A-Za-z-]+)[ \t]+:")
"""The name of a header (RFC 9110 section 5.6.2), and the blanks after it."""


class _FinalResponse(HTTPResponse):
    """Reads past interim answers (RFC 9110 section 15.2), of which `http.client` knows 100 alone; and no answer with a
    malformed header, nor with a length that is no number, which `http.client` ignores."""

    def begin(self) -> None:
        file: Any = self.fp
        self.fp = _Head(file)  # type: ignore[assignment]  # as much of a file as reads a head
        super().begin()
        self.fp = file
        _of_this_thread.deadline.head = self
        if self.headers.defects:
            raise MalformedHeaderError
        if not self.headers.get("Content-Length", "0").strip().isdigit():
            raise InvalidHeader

    def _read_status(self) -> tuple[str, int, str]:
        while True:
            version, status, reason = super()._read_status()  # type: ignore[misc]
            if not 102 <= status < 200:
                return version, status, reason
            parse_headers(self.fp)


class _Watched:
    """A connection whose socket is watched from the start."""

    sock: socket.socket | None
    answered_at = 0.0

    def _new_conn(self) -> socket.socket:
        sock: socket.socket = super()._new_conn()  # type: ignore[misc]
        _of_this_thread.deadline.watch(sock)
        return sock

    def request(self, *args: Any, **kwargs: Any) -> None:
        deadline = _of_this_thread.deadline
        if self.sock is None:
            self.connect()  # type: ignore[attr-defined] # else `urllib3` connects while it sends
        if not deadline.sends:
            raise ConnectedError
        deadline.sending = True
        deadline.watch(self.sock)
        self._http_vsn_str = HTTP_1_0 if deadline.is_old else "HTTP/1.1"
        super().request(*args, **kwargs)  # type: ignore[misc]

    def getresponse(self) -> Any:
        response = super().getresponse()  # type: ignore[misc]
        self.answered_at = time.monotonic()
        return response


class _WatchedConnection(_Watched, HTTPConnection):
    response_class = _FinalResponse


class _WatchedTlsConnection(_Watched, HTTPSConnection):
    response_class = _FinalResponse


class _Fresh:
    """A pool whose connections answered a moment ago, or are new. `found_closed`: the service has closed one that
    it did not say it would."""

    found_closed = False

    def _get_conn(self, timeout: float | None = None) -> Any:
        connection = super()._get_conn(timeout)  # type: ignore[misc]
        deadline = _of_this_thread.deadline
        if connection.sock is None:  # it is new, or was found closed
            self.found_closed |= connection.answered_at > 0
        elif deadline.afresh or time.monotonic() - connection.answered_at > KEPT_S:
            _hang_up(connection)
        deadline.afresh = connection.sock is None
        return connection

    def _put_conn(self, conn: Any) -> None:
        """Keep what is open, and nothing in the place of what is not: a request that could go over an open connection
        opens no further one. A service may take few."""
        if conn is not None and conn.sock is not None:
            super()._put_conn(conn)  # type: ignore[misc]


class _WatchedPool(_Fresh, HTTPConnectionPool):
    ConnectionCls = _WatchedConnection


class _WatchedTlsPool(_Fresh, HTTPSConnectionPool):
    ConnectionCls = _WatchedTlsConnection


POOLS = {"http": _WatchedPool, "https": _WatchedTlsPool}
"""Pools of connections that are watched, for a pool manager of `urllib3`."""
