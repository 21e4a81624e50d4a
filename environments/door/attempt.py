"""One attempt over the wire: a total deadline, a cap on the body, and a clear word for every failure.

`requests` knows a deadline for the next byte only, so a watchdog closes the socket when the time is up.
"""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from http.client import HTTPResponse, IncompleteRead, parse_headers
from types import TracebackType
from typing import Any

import requests
import urllib3
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

from environments.door.failures import ERRORS, NO_PROXY, failure_of
from environments.profiles.profile import ProfileError
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

    @property
    def is_connected(self) -> bool:
        """Whether there is a socket, to the target or to a proxy."""
        return self._sock is not None

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
        if isinstance(settings.verify, str):
            _check_bundle(settings.verify)
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

    @property
    def _timeouts(self) -> tuple[float, float]:
        """Seconds for the connection, and for the next byte."""
        return min(CONNECT_TIMEOUT_S, self._settings.timeout_s), self._settings.timeout_s

    @property
    def _proxies(self) -> dict[str, str]:
        return dict.fromkeys(("http", "https"), self._settings.proxy) if self._settings.proxy else {}

    def connect(self, base_url: str) -> str:
        """Open a connection, with TLS where the address asks for it, send nothing and close it. Why that fails; empty
        where it does not."""
        settings, request = self._settings, requests.Request("GET", base_url).prepare()
        with Deadline(settings.timeout_s, settings.timer) as deadline:
            try:
                pool: Any = self.get_connection_with_tls_context(request, settings.verify, self._proxies)
                self.cert_verify(pool, base_url, settings.verify, None)  # type: ignore[no-untyped-call]
                pool.timeout = urllib3.Timeout(connect=self._timeouts[0])
                with closing(pool._new_conn()) as connection:
                    tunnels = pool.proxy is not None and base_url.startswith("https:")
                    pool._prepare_proxy(connection) if tunnels else connection.connect()
            except ERRORS as error:
                failure = failure_of(error, deadline, settings.timeout_s)
                through = settings.proxy and failure.kind is not FailureKind.TLS
                return NO_PROXY if through else failure.message
        return ""

    def attempt(self, request: requests.PreparedRequest) -> tuple[requests.Response | None, Response | Failure]:
        """Send once. Gives the `requests` response with its body read, and ours; or None and the failure."""
        settings = self._settings
        with Deadline(settings.timeout_s, settings.timer) as deadline:
            try:
                raw = super().send(
                    request, stream=True, timeout=self._timeouts, verify=settings.verify, proxies=self._proxies
                )
                body, cut = _read(raw.raw, settings.response_bytes)
            except ERRORS as error:
                return None, failure_of(error, deadline, settings.timeout_s)
        raw._content = body
        raw._content_consumed = True  # type: ignore[attr-defined]
        headers = tuple((str(name), str(value)) for name, value in raw.raw.headers.items())
        return raw, Response(raw.status_code, headers, body, cut)


def _check_bundle(path: str) -> None:
    try:
        ssl.create_default_context(cafile=path)
    except (OSError, ValueError):
        raise ProfileError("tls.ca_bundle: no certificate of an authority in PEM") from None


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
