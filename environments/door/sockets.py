"""Connections of `urllib3` with a deadline for the whole answer.

`requests` has a timeout for the next byte alone, so a service that sends one byte a second could hold a run for hours.
Here the deadline of a request knows its socket, and a watchdog shuts the socket down when the time is up or the run
ends. `Wire` (wire.py) uses `POOLS`, `Watchdog` and `Deadline`.

| word | meaning |
|---|---|
| connection | the object of `urllib3` that sends requests over one socket, one after the other |
| to shut a socket down | to end reading and writing, so that a thread which waits for its bytes gets an error |
| kept connection | a connection that stays open after an answer, for the next request |
| pool | the kept connections to one address |
| head | the status line and the headers of an answer |
| interim answer | an answer with a status from 100 to 199, which another answer follows |
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

from environments.door.run_end import RunEnd
from spec.exchange import HTTP_1_0

LONGEST_IDLE_S = 3.0
"""Seconds of idleness after which a connection is not used again. Node.js and uvicorn close one after 5 seconds."""
_CLOSES_WITHIN_S = 0.5
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

    `seconds` is the time for the whole answer to each request. `run_end` knows if the run ends, and so cuts it short.
    """

    def __init__(self, seconds: float, run_end: RunEnd) -> None:
        """Begin without requests to watch. The thread is started with the first request."""
        self.seconds = seconds
        self.run_end = run_end
        self.deadlines: list[Deadline] = []  # of the requests on the wire
        self._thread: threading.Thread | None = None
        self._is_over = threading.Event()

    def start(self) -> None:
        """Start the thread that shuts down sockets whose time is up. If it runs already, nothing happens."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="watchdog", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """End the thread that shuts down sockets whose time is up, and wait until it has ended, at the end of a run."""
        self._is_over.set()
        if self._thread:
            self._thread.join()

    def _run(self) -> None:
        """Shut down, again and again until `close`, the sockets of requests whose time is up. The thread runs this."""
        while not self._is_over.wait(_CHECKS_EVERY_S):
            for deadline in list(self.deadlines):
                deadline.shut_down_if_over()


class Deadline:
    """The time by which a request must be answered. Then its socket is shut down, so that its thread waits no longer.

    The request is sent within `with deadline:`.

    It also tells the connection what the request needs, and learns there what became of it.
    """

    head: Any = None
    """The response of `http.client`, as soon as its status and headers are read. So they can be reported if the body
    cannot be read."""

    def __init__(
        self, watchdog: Watchdog, *, needs_new_connection: bool = False, sends: bool = True, is_http_1_0: bool = False
    ) -> None:
        """Begin the time for the answer to a request: `watchdog.seconds`, or less if the run ends before.

        If the run is stopped already, the time is up at once, because nothing may be sent any more.

        `needs_new_connection` asks for a connection that no other request has used. `sends` is false if a connection is
        only opened, to see whether the target can be reached. `is_http_1_0` is true for a request in HTTP/1.0.
        """
        self.needs_new_connection = needs_new_connection
        self.used_new_connection = needs_new_connection
        """True if the request was sent over a connection that no other request had used. If the attempt failed before
        there was a connection, this is what the request needed."""
        self.sends = sends
        self.is_http_1_0 = is_http_1_0
        self.target_as_it_is = ""
        """The path and query that are sent, if `urllib3` would change them; else empty."""
        self.may_have_left = False
        """True once there is a connection to the target, or to a proxy that passes the request on. Before
        that, the request cannot have moved money."""
        self.expired = watchdog.run_end.is_stopped  # after the stop of a run nothing is sent any more
        self.sock: socket.socket | None = None
        """The socket of the request; None until there is one."""
        self._until = time.monotonic() + min(watchdog.seconds, watchdog.run_end.longest_answer_s)
        self._watchdog = watchdog

    def shut_down_if_over(self) -> None:
        """Shut down the socket of the request if its time is up, or if the run ends.

        If there is no socket so far, `expired` is noted, and `watch` shuts the socket down as soon as there is one.
        """
        if time.monotonic() >= self._until or self._watchdog.run_end.cuts_requests_off:
            self.expired = True
        if self.expired and self.sock is not None:
            _shut_down(self.sock)

    def watch(self, sock: socket.socket | None) -> None:
        """Watch the socket of the request, so that it is shut down when the time of the request is up.

        If the time passed while the connection was made, the socket is shut down at once.
        """
        self.sock = sock
        self.shut_down_if_over()

    def __enter__(self) -> Deadline:
        """Begin to watch the request: its connection finds this deadline in the data of its thread."""
        _thread_data.deadline = self
        self._watchdog.deadlines.append(self)
        self._watchdog.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End the watching of the request, because it is answered or has failed."""
        self._watchdog.deadlines.remove(self)


class _ThreadData(threading.local):
    """Data of which each thread has its own."""

    deadline: Deadline
    """The deadline of the request that the thread sends."""
    last_connection: Any = None
    """The connection of its last request; None before the first one."""


_thread_data = _ThreadData()


def _shut_down(sock: Any, how: int = socket.SHUT_RDWR) -> None:
    """Shut a socket down, so that a thread which waits for its bytes gets an error. `how` may be writing only.

    The method `shutdown` of a plain socket is called. The same method of a TLS socket also removes the encryption, so
    that bytes which another thread writes next would be sent in plain text.
    """
    with suppress(OSError):  # the service has closed it already
        socket.socket.shutdown(_plain_socket_of(sock), how)


def _plain_socket_of(sock: Any) -> socket.socket:
    """The socket of Python for a connection of `urllib3`.

    It is `sock` itself, with TLS or without. Only for TLS within TLS (to a service through a proxy) `sock` is an object
    of `urllib3`, which has the socket in its member `socket`.
    """
    plain_socket: socket.socket = sock if isinstance(sock, socket.socket) else sock.socket
    return plain_socket


def _close_at_both_ends(connection: Any) -> None:
    """Close a connection, and wait for at most half a second until the service has closed its end of it, too.

    A service may accept few connections at a time, and would refuse the next one while this one is still open there.
    To wait is to read until the end: `recv` returns no bytes as soon as the service has closed its end.
    """
    _thread_data.deadline.watch(connection.sock)  # ends the loop below if the service keeps sending
    _shut_down(connection.sock, socket.SHUT_WR)
    sock = _plain_socket_of(connection.sock)
    sock.settimeout(_CLOSES_WITHIN_S)
    with suppress(OSError):  # the service has reset it, or takes too long
        while socket.socket.recv(sock, 65_536):
            pass
    connection.close()
    _thread_data.deadline.sock = None


class MalformedHeaderError(HTTPException):
    """A line of the headers of an answer is no header, because it has no colon or the like.

    `http.client` silently ignores such a line and all lines after it, so the suite cannot read them.
    """


class _Head:
    """The lines of an answer before its body. Raises LineTooLong if they have more than MOST_HEAD bytes together.

    `http.client` reads from this object instead of the file. The object corrects two things. `http.client` limits each
    line alone. And it reads no header after a line with blanks before its colon. So these blanks are removed, as RFC
    9112 section 5.1 asks of a proxy, and as curl and browsers do.
    """

    def __init__(self, file: Any) -> None:
        """Read from `file`, the answer of the service as `http.client` has it."""
        self._file = file
        self._bytes_left = MOST_HEAD

    def readline(self, limit: int = -1) -> bytes:
        """The next line of the answer, or `limit` bytes of it.

        Blanks between the name of a header and its colon are removed, because `http.client` cannot read them. Raises
        LineTooLong if the lines so far are longer than MOST_HEAD bytes.
        """
        line = self._file.readline(limit)
        self._bytes_left -= len(line)
        if self._bytes_left < 0:
            raise LineTooLong("head")
        return _BLANKS_BEFORE_COLON.sub(rb"\1:", line)

    def __getattr__(self, name: str) -> Any:
        """Any other method or member of the file, unchanged, because `http.client` uses this object as that file."""
        return getattr(self._file, name)


_BLANKS_BEFORE_COLON = re.compile(rb"^([!#$%&'*+.^_`|~0-9A-Za-z-]+)[ \t]+:")
"""The name of a header (RFC 9110 section 5.6.2) at the start of a line, then blanks and the colon: `Content-Type :`."""


class _FinalResponse(HTTPResponse):
    """The answer of the service, without interim ones such as 103 (RFC 9110 section 15.2) before it.

    `http.client` skips the status 100 alone, and takes another interim answer for the final one. This class also raises
    an error for a malformed header, and for a Content-Length that is no number. `http.client` ignores both.
    """

    def begin(self) -> None:
        """Read the status and the headers of the answer, at most MOST_HEAD bytes.

        Raises MalformedHeaderError if a line is no header, InvalidHeader if the Content-Length is no number.
        """
        file: Any = self.fp
        self.fp = _Head(file)  # type: ignore[assignment]  # no file, but it has the methods that `http.client` calls
        super().begin()
        self.fp = file  # the body is read without that limit
        _thread_data.deadline.head = self  # so that the status and the headers are known if the body cannot be read
        if self.headers.defects:  # lines that the parser of `http.client` could not read
            raise MalformedHeaderError
        if not self.headers.get("Content-Length", "0").strip().isdigit():
            raise InvalidHeader

    def _read_status(self) -> tuple[str, int, str]:
        """The status line of the final answer: version, status and reason.

        Interim answers from 102 to 199, which come before it, are read and thrown away. `http.client` skips 100 itself,
        and 101 is a final answer (it changes the protocol).
        """
        while True:
            version, status, reason = super()._read_status()  # type: ignore[misc]
            is_interim_answer = 102 <= status < 200
            if not is_interim_answer:
                return version, status, reason
            parse_headers(self.fp)  # reads the headers of the interim answer, so that the next status line follows


class _Watched:
    """A connection whose socket is shut down when the time of its request is up (`Deadline`)."""

    sock: socket.socket | None
    answered_at = 0.0
    """Time of its last answer, by the monotonic clock; 0 if there was none."""

    def _new_conn(self) -> socket.socket:
        """A new socket to the service or the proxy. It is watched from now on, so also while TLS begins."""
        sock: socket.socket = super()._new_conn()  # type: ignore[misc]
        _thread_data.deadline.watch(sock)
        return sock

    def request(self, method: str, url: str, *args: Any, **kwargs: Any) -> None:
        """Connect if there is no connection so far, and send the request.

        Raises ConnectedError if only a connection was asked for (`Deadline.sends`). It connects first, so that
        `may_have_left` is set only if there is a connection: before that, nothing can have reached the service.
        """
        deadline = _thread_data.deadline
        if self.sock is None:
            self.connect()  # type: ignore[attr-defined]
        if not deadline.sends:
            raise ConnectedError
        deadline.may_have_left = True
        deadline.watch(self.sock)
        self._http_vsn_str = HTTP_1_0 if deadline.is_http_1_0 else "HTTP/1.1"  # what `http.client` writes
        target = url
        is_path = url.startswith("/")  # to a proxy, the whole address is sent
        if deadline.target_as_it_is and is_path:
            target = deadline.target_as_it_is
        super().request(method, target, *args, **kwargs)  # type: ignore[misc]

    def getresponse(self) -> Any:
        """The answer to the request. Its time is noted, because a connection that is idle too long is not reused."""
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
    """A pool that gives a request only a connection which was used in the last `LONGEST_IDLE_S` seconds, or a new one.

    A service closes a connection that is idle, and a request that is sent at that moment is lost.

    A thread gets the connection of its last request again, if it is free. So requests that one thread sends in order go
    over one connection, although other threads send at the same time.
    """

    pool: Any
    """The free connections of `urllib3`, as a queue whose last one is taken first; None once it is closed."""
    service_closes_unannounced = False
    """True once the service has closed a connection without having announced it (by the header `Connection: close`)."""
    _taking = threading.Lock()
    """Lets one thread at a time take a connection."""

    def _get_conn(self, timeout: float | None = None) -> Any:
        """A connection for the request of this thread: that of its last request if it is free, else another one.

        A connection without a socket is a new one: it connects when it sends. A connection that was idle for too long
        is closed first, and so loses its socket. If the request needs a new connection
        (`Deadline.needs_new_connection`), any connection is closed first.

        If a connection answered before and has no socket now, the service has closed it without announcing that
        (`service_closes_unannounced`): a connection whose end was announced is not kept in the pool.
        """
        with self._taking:
            self._put_first_in_line(_thread_data.last_connection)  # the connection that `urllib3` takes next
            connection = super()._get_conn(timeout)  # type: ignore[misc]
        _thread_data.last_connection = connection
        deadline = _thread_data.deadline
        has_no_socket = connection.sock is None  # it is new, or `urllib3` found it closed by the service
        if has_no_socket:
            has_answered_before = connection.answered_at > 0
            if has_answered_before:
                self.service_closes_unannounced = True
        elif deadline.needs_new_connection or _is_idle_for_too_long(connection):
            _close_at_both_ends(connection)
        deadline.used_new_connection = connection.sock is None
        return connection

    def _put_first_in_line(self, connection: Any) -> None:
        """Move a free connection to the end of the queue of the pool, from which `urllib3` takes connections.

        Nothing is moved if `connection` is None (the thread has sent nothing so far), if another thread uses it, or if
        it was idle for too long.
        """
        if connection is None or self.pool is None or _is_idle_for_too_long(connection):
            return
        with self.pool.mutex:
            if connection in self.pool.queue:
                self.pool.queue.remove(connection)
                self.pool.queue.append(connection)

    def _put_conn(self, conn: Any) -> None:
        """Return a connection to the pool after its request, if it is open.

        A closed connection is not returned. The pool gives the connection that was returned last to the next request.
        If a closed connection were given to it, a new one would be opened while open ones are idle, and some services
        accept only few connections.
        """
        if conn is not None and conn.sock is not None:
            super()._put_conn(conn)  # type: ignore[misc]


def _is_idle_for_too_long(connection: Any) -> bool:
    """True if the last answer over a connection is more than 3 seconds ago: the service may close it right now."""
    answered_at: float = connection.answered_at
    return time.monotonic() - answered_at > LONGEST_IDLE_S


class _WatchedPool(_PoolOfRecentConnections, HTTPConnectionPool):
    """A pool of connections without TLS."""

    ConnectionCls = _WatchedConnection


class _WatchedTlsPool(_PoolOfRecentConnections, HTTPSConnectionPool):
    """A pool of connections with TLS."""

    ConnectionCls = _WatchedTlsConnection


POOLS = {"http": _WatchedPool, "https": _WatchedTlsPool}
"""Pools of connections that are watched, for a pool manager of `urllib3`."""
