"""One attempt over the wire: a total deadline, a cap on the body, and a clear word for every failure.

`requests` knows a deadline for the next byte only, so a watchdog closes the socket when the time is up.
"""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.client import HTTPException, HTTPResponse, IncompleteRead, LineTooLong, parse_headers
from types import TracebackType
from typing import Any

import requests
import urllib3
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

from environments.schema.reading import ProfileError
from spec.exchange import Failure, FailureKind, Response

CONNECT_TIMEOUT_S = 5.0
_CHUNK = 65_536
_KEPT_OF_A_CUT_BODY = 4_096
_local = threading.local()


class Deadline:
    """Shuts the socket of this thread's request down when `seconds` have passed. `sending` says that the request may
    have left: a connection is there, to the target or to a proxy that is told what to pass on. `timer` counts."""

    def __init__(self, seconds: float, timer: Callable[..., threading.Timer] = threading.Timer) -> None:
        self.expired = False
        self.sending = False
        self._sock: socket.socket | None = None
        self._timer = timer(seconds, self._expire)
        self._timer.daemon = True

    def watch(self, sock: socket.socket | None) -> None:
        """Name the socket that the request goes over."""
        self._sock = sock

    def _expire(self) -> None:
        self.expired = True
        try:
            if self._sock is not None:
                self._sock.shutdown(socket.SHUT_RDWR)
        except OSError:  # the peer was faster
            return

    def __enter__(self) -> Deadline:
        _local.deadline = self
        self._timer.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self._timer.cancel()
        _local.deadline = None


def _watch(sock: socket.socket | None, *, sending: bool = False) -> None:
    deadline: Deadline | None = getattr(_local, "deadline", None)
    if deadline is not None and sock is not None:
        deadline.watch(sock)
        deadline.sending |= sending


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

    def _new_conn(self) -> socket.socket:
        sock: socket.socket = super()._new_conn()  # type: ignore[misc]
        _watch(sock)
        return sock

    def connect(self) -> None:
        super().connect()  # type: ignore[misc]
        _watch(self.sock)

    def request(self, *args: Any, **kwargs: Any) -> None:
        if self.sock is None:
            self.connect()  # else it would be made among the sending
        _watch(self.sock, sending=True)
        super().request(*args, **kwargs)  # type: ignore[misc]


class _WatchedConnection(_Watched, HTTPConnection):
    response_class = _FinalResponse


class _WatchedTlsConnection(_Watched, HTTPSConnection):
    response_class = _FinalResponse


class _WatchedPool(HTTPConnectionPool):
    ConnectionCls = _WatchedConnection


class _WatchedTlsPool(HTTPSConnectionPool):
    ConnectionCls = _WatchedTlsConnection


@dataclass(frozen=True)
class WireSettings:
    """How the target is spoken to: seconds, bytes, and paths of TLS files."""

    timeout_s: float
    response_bytes: int
    verify: bool | str = True
    client_cert: str | None = None
    client_key: str | None = None
    client_key_passphrase: str | None = None
    proxy: str | None = None
    timer: Callable[..., threading.Timer] = field(default=threading.Timer, repr=False)


class Wire(HTTPAdapter):
    """A transport adapter without retries, redirects or unbounded reads."""

    def __init__(self, settings: WireSettings) -> None:
        self._settings = settings
        super().__init__(max_retries=0, pool_connections=1, pool_maxsize=4)

    def init_poolmanager(self, connections: int, maxsize: int, block: bool = False, **kwargs: Any) -> None:
        super().init_poolmanager(connections, maxsize, block, **kwargs, **self._tls())
        _use_watched_pools(self.poolmanager)

    def proxy_manager_for(self, proxy: str, **kwargs: Any) -> Any:
        manager = super().proxy_manager_for(proxy, **kwargs, **self._tls())
        _use_watched_pools(manager)
        return manager

    def _tls(self) -> dict[str, Any]:
        settings = self._settings
        if settings.client_cert is None:
            return {}
        context = ssl.create_default_context()
        passphrase = settings.client_key_passphrase or ""  # without one OpenSSL would ask the terminal
        try:
            context.load_cert_chain(settings.client_cert, settings.client_key, passphrase)
        except (OSError, ValueError):
            reason = "not a certificate and its key in PEM, or the passphrase is wrong or missing"
            raise ProfileError(f"tls.client_cert, tls.client_key: {reason}") from None
        return {"ssl_context": context}

    def attempt(self, request: requests.PreparedRequest) -> tuple[requests.Response | None, Response | Failure]:
        """Send once. Gives the `requests` response with its body read, and ours; or None and the failure."""
        settings = self._settings
        with Deadline(settings.timeout_s, settings.timer) as deadline:
            try:
                raw = super().send(
                    request,
                    stream=True,
                    timeout=(min(CONNECT_TIMEOUT_S, settings.timeout_s), settings.timeout_s),
                    verify=settings.verify,
                    proxies={"http": settings.proxy, "https": settings.proxy} if settings.proxy else {},
                )
                body, cut = _read(raw.raw, settings.response_bytes)
            except (
                requests.RequestException,
                urllib3.exceptions.HTTPError,
                HTTPException,
                OSError,
                ValueError,
            ) as error:
                return None, _failure(error, deadline, settings.timeout_s)
        raw._content = body
        raw._content_consumed = True  # type: ignore[attr-defined]
        headers = tuple((str(name), str(value)) for name, value in raw.raw.headers.items())
        return raw, Response(raw.status_code, headers, body, cut)


def _use_watched_pools(manager: Any) -> None:
    manager.pool_classes_by_scheme = {"http": _WatchedPool, "https": _WatchedTlsPool}


def _read(raw: urllib3.BaseHTTPResponse, most: int) -> tuple[bytes, str]:
    """The body, decoded; or its beginning and the limit that cut it short."""
    parts: list[bytes] = []
    size = 0
    while size <= most:
        part = raw.read(_CHUNK, decode_content=True)
        if not part:
            raw.release_conn()
            return b"".join(parts), ""
        size += len(part)
        if size <= most:
            parts.append(part)
    raw.close()
    return b"".join(parts)[:_KEPT_OF_A_CUT_BODY], f"longer than limits.response_bytes ({most} bytes)"


def _failure(error: BaseException, deadline: Deadline, seconds: float) -> Failure:
    """The failure in our words; an exception's own text may hold data of the service or the profile.

    What `urllib3` calls a fault of the proxy may come after the request was sent through it: then it is dropped.
    """
    chain = list(_causes(error))
    if deadline.expired or any(
        isinstance(cause, requests.ReadTimeout | urllib3.exceptions.ReadTimeoutError) for cause in chain
    ):
        return Failure(FailureKind.TIMEOUT, f"no complete answer within limits.timeout ({seconds:g} s)")
    for kinds, kind, message in _FAILURES:
        if any(isinstance(cause, kinds) for cause in chain) and not (deadline.sending and kind is _NO_CONNECTION):
            return Failure(kind, message)
    if any(isinstance(cause, LineTooLong) for cause in chain):
        return Failure(FailureKind.LIMIT, "a header longer than the suite reads (65536 bytes)")
    if any("got more than" in str(cause) for cause in chain):
        return Failure(FailureKind.LIMIT, "more headers than the suite reads (100)")
    return Failure(FailureKind.NOT_HTTP, "the answer is not HTTP")


_NO_CONNECTION = FailureKind.NO_CONNECTION
_TLS = (requests.exceptions.SSLError, urllib3.exceptions.SSLError, ssl.SSLError)
_PROXY = (requests.exceptions.ProxyError, urllib3.exceptions.ProxyError)
_LATE = (requests.ConnectTimeout, urllib3.exceptions.ConnectTimeoutError)
_FAILURES: tuple[tuple[tuple[type[BaseException], ...], FailureKind, str], ...] = (
    (_TLS, FailureKind.TLS, "TLS failed: check tls.ca_bundle, tls.client_cert and the host name"),
    (_PROXY, _NO_CONNECTION, "the proxy cannot be spoken to: check proxy"),
    ((urllib3.exceptions.NameResolutionError,), _NO_CONNECTION, "the host name is not known"),
    ((urllib3.exceptions.NewConnectionError,), _NO_CONNECTION, "the connection is refused"),
    (_LATE, _NO_CONNECTION, "no connection in time"),
    ((IncompleteRead,), FailureKind.NOT_HTTP, "the answer broke off before its end"),
    ((urllib3.exceptions.DecodeError,), FailureKind.NOT_HTTP, "the content coding of the answer is broken"),
    ((ConnectionError,), FailureKind.DROPPED, "the connection was dropped without an answer"),
)


def _causes(error: BaseException | None) -> Any:
    seen: set[int] = set()
    queue: list[Any] = [error]
    while queue:
        cause = queue.pop(0)
        if not isinstance(cause, BaseException) or id(cause) in seen:
            continue
        seen.add(id(cause))
        yield cause
        queue += [cause.__cause__, cause.__context__, getattr(cause, "reason", None), *cause.args]
