"""A total deadline for one attempt: a watchdog closes the socket when the time is up.

`requests` knows a deadline for the next byte only. The connections here name their socket to the watchdog, and read an
answer to its real end.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from http.client import HTTPResponse, IncompleteRead, parse_headers
from queue import Empty
from typing import Any

from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

from environments.door.watchdog import Timer, Watch

_local = threading.local()
KEPT_S = 3.0
"""A connection that was idle for longer may be closed by now: services keep one for seconds."""


class Deadline:
    """Shuts down the socket of this thread's request when `seconds` have passed; `sock` is None until there is one.

    `sending` says that the request may have left: there is a connection to the target, or a proxy that passes it on.
    `timer` counts the seconds."""

    def __init__(self, seconds: float, timer: Callable[..., Timer] = Watch) -> None:
        self.expired = False
        self.sending = False
        self.sock: socket.socket | None = None
        self._timer = timer(seconds, self._expire)

    def _expire(self) -> None:
        self.expired = True
        if self.sock is not None:
            _shut_down(self.sock)

    def __enter__(self) -> Deadline:
        _local.deadline = self
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        _local.deadline = None


def _watch(sock: socket.socket | None, *, sending: bool = False) -> None:
    deadline: Deadline | None = getattr(_local, "deadline", None)
    if deadline is not None and sock is not None:
        deadline.sock = sock
        deadline.sending |= sending
        if deadline.expired:  # while the connection was made
            _shut_down(sock)


def _shut_down(sock: Any) -> None:
    """Let nobody read or write any more. Not by the method of a TLS socket: what is written next would go in plain text
    if it came before the end of the connection."""
    inner = sock if isinstance(sock, socket.socket) else sock.socket  # `urllib3` wraps TLS within TLS
    with suppress(OSError):  # the peer has closed it already
        socket.socket.shutdown(inner, socket.SHUT_RDWR)


class _WholeLines:
    """A stream whose end among the headers is an error (RFC 9112 section 8); `http.client` takes it for their end."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)  # flush and close, once a proxy has answered a CONNECT

    def readline(self, limit: int = -1) -> bytes:
        line: bytes = self.stream.readline(limit)
        if not line:
            raise IncompleteRead(b"")
        return line


class _FinalResponse(HTTPResponse):
    """Reads past interim answers (RFC 9110 section 15.2), of which `http.client` knows 100 alone."""

    def begin(self) -> None:
        stream = self.fp
        try:
            super().begin()
        finally:
            self.fp = stream

    def _read_status(self) -> tuple[str, int, str]:
        stream = self.fp.stream if isinstance(self.fp, _WholeLines) else self.fp
        while True:
            self.fp = stream
            version, status, reason = super()._read_status()  # type: ignore[misc]
            self.fp = _WholeLines(stream)  # type: ignore[assignment]
            if status in (100, 101) or not 100 <= status < 200:
                return version, status, reason
            parse_headers(self.fp)


class _Watched:
    """A connection whose socket is watched from the start."""

    sock: socket.socket | None
    answered_at = 0.0

    def _new_conn(self) -> socket.socket:
        sock: socket.socket = super()._new_conn()  # type: ignore[misc]
        _watch(sock)
        return sock

    def connect(self) -> None:
        super().connect()  # type: ignore[misc]
        _watch(self.sock)

    def request(self, *args: Any, **kwargs: Any) -> None:
        if self.sock is None:
            self.connect()  # else `urllib3` connects while it sends
        _watch(self.sock, sending=True)
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
    """A pool whose connections answered a moment ago, or are new. With several in it, some lie idle for long."""

    def _get_conn(self, timeout: float | None = None) -> Any:
        connection = super()._get_conn(timeout)  # type: ignore[misc]
        if time.monotonic() - connection.answered_at > KEPT_S:
            connection.close()
        return connection

    def _put_conn(self, conn: Any) -> None:
        """Keep what is open, and nothing in the place of what is not: a request that could go over an open connection
        opens no further one. A service may take few."""
        if conn is not None and conn.sock is not None:
            super()._put_conn(conn)  # type: ignore[misc]

    def close_idle(self) -> None:
        """Close what no request goes over at the moment."""
        with suppress(Empty):
            while True:
                connection = self.pool.get(block=False)  # type: ignore[attr-defined]
                if connection is not None:
                    connection.close()


class _WatchedPool(_Fresh, HTTPConnectionPool):
    ConnectionCls = _WatchedConnection


class _WatchedTlsPool(_Fresh, HTTPSConnectionPool):
    ConnectionCls = _WatchedTlsConnection


def use_watched_pools(manager: Any) -> None:
    """Make a pool manager of `urllib3` open connections that are watched."""
    manager.pool_classes_by_scheme = {"http": _WatchedPool, "https": _WatchedTlsPool}
