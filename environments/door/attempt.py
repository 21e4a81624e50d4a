"""One attempt over the wire: a total deadline, a limit on the body, and a clear word for every failure.

The words are ours: an exception's own text may hold data of the service or the profile. Of TLS the library's own reason
is kept, which names no more than the host.
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from http.client import HTTPException, IncompleteRead, LineTooLong
from typing import Any

import requests
import urllib3
from requests.adapters import HTTPAdapter

from environments.door.deadline import Deadline, Watchdog, use_watched_pools
from environments.door.ending import Ending
from environments.profiles.profile import ProfileError
from spec.exchange import Failure, FailureKind, Response

ERRORS = (requests.RequestException, urllib3.exceptions.HTTPError, HTTPException, OSError, ValueError)
"""What an attempt may raise."""


def failure_of(error: BaseException, deadline: Deadline, seconds: float) -> Failure:
    """The failure in our words; an exception's own text may hold data of the service or the profile.

    What `urllib3` calls a fault of the proxy may come after the request was sent through it: then it is dropped.
    """
    chain = list(_causes(error))
    kinds_of_late: tuple[type[BaseException], ...] = (requests.ReadTimeout, urllib3.exceptions.ReadTimeoutError)
    if deadline.sock:
        kinds_of_late += (TimeoutError,)
    if deadline.expired or any(isinstance(cause, kinds_of_late) for cause in chain):
        return Failure(FailureKind.TIMEOUT, _late(deadline, seconds))
    if any(isinstance(cause, _TLS) for cause in chain):
        return Failure(FailureKind.TLS, _tls_failure(chain))
    for kinds, kind, message in _FAILURES:
        if any(isinstance(cause, kinds) for cause in chain) and not (deadline.sending and kind is _NO_CONNECTION):
            return Failure(kind, message)
    if any("got more than" in str(cause) for cause in chain):
        return Failure(FailureKind.LIMIT, "more headers than the suite reads (100)")
    return Failure(FailureKind.NOT_HTTP, "the answer is not HTTP")


def _late(deadline: Deadline, seconds: float) -> str:
    """What was missing when the time was up. There is a connection and nothing was sent: that is TLS, or a tunnel."""
    if deadline.sock and not deadline.sending:
        return f"TLS failed (no handshake within limits.timeout, {seconds:g} s): check the port of base_url, and proxy"
    return f"no complete answer within limits.timeout ({seconds:g} s)"


_NO_CONNECTION, NO_PROXY = FailureKind.NO_CONNECTION, "the proxy cannot be reached: check proxy"
_TLS = (requests.exceptions.SSLError, urllib3.exceptions.SSLError, ssl.SSLError)
_PROXY = (requests.exceptions.ProxyError, urllib3.exceptions.ProxyError)
_LATE = (requests.ConnectTimeout, urllib3.exceptions.ConnectTimeoutError)
_FAILURES: tuple[tuple[tuple[type[BaseException], ...], FailureKind, str], ...] = (
    (_PROXY, _NO_CONNECTION, NO_PROXY),
    ((urllib3.exceptions.NameResolutionError,), _NO_CONNECTION, "the host name is not known"),
    ((urllib3.exceptions.NewConnectionError,), _NO_CONNECTION, "the connection is refused"),
    (_LATE, _NO_CONNECTION, "no connection in time"),
    ((IncompleteRead,), FailureKind.NOT_HTTP, "the answer broke off before its end"),
    ((urllib3.exceptions.DecodeError,), FailureKind.NOT_HTTP, "the content coding of the answer is broken"),
    ((ConnectionError,), FailureKind.DROPPED, "the connection was dropped without an answer"),
    ((LineTooLong,), FailureKind.LIMIT, "a header longer than the suite reads (65536 bytes)"),
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


_AUTHORITY = "name the authority that signed it in tls.ca_bundle"
_OF_THEIR_CERTIFICATE = {
    "self-signed|issuer|first certificate": _AUTHORITY,
    "mismatch": "use the name that its certificate has in base_url",
    "expired|not yet valid": "the service has to renew its certificate, or the clock of this machine is wrong",
    "": "check the certificate of the service, and tls.ca_bundle",
}
_OF_THE_HANDSHAKE = {
    "protocol version|unsupported protocol": "the service does not support TLS 1.2 or later",
    "wrong version|http request|packet length|record layer": (
        "this port speaks no TLS; check the port of base_url, or write http:// if it is plain HTTP"
    ),
    "certificate|unknown ca|access denied|handshake failure|violation": (
        "the service may want another client certificate; check tls.client_cert and tls.client_key"
    ),
    "": "check tls.ca_bundle, tls.client_cert and the host name",
}
"""By what a reason holds; the first that fits."""


def _tls_failure(chain: Iterable[BaseException]) -> str:
    """One line for the outcome of a handshake; of the exceptions that led to it the last one knows most."""
    error = [cause for cause in chain if isinstance(cause, ssl.SSLError)][-1:]
    reason = _reason(error[0]) if error else ""
    remedies = _OF_THEIR_CERTIFICATE if error and isinstance(error[0], ssl.CertificateError) else _OF_THE_HANDSHAKE
    remedy = next(remedy for pattern, remedy in remedies.items() if re.search(pattern, reason.lower()))
    return f"TLS failed ({reason}): {remedy}" if reason else f"TLS failed: {remedy}"


def _reason(error: ssl.SSLError) -> str:
    """What OpenSSL says, without the line of its source: it names no more of the profile than the host."""
    text = getattr(error, "verify_message", "") or re.sub(r"^\[[^]]*\] | \(_ssl\.c.*$", "", str(error.args[-1]))
    return text.strip().removesuffix(".")


CONNECT_TIMEOUT_S = 5.0
_CHUNK = 65_536
_KEPT_OF_A_CUT_BODY = 4_096


@dataclass(frozen=True)
class WireSettings:
    """How the target is reached: seconds, bytes, and paths of TLS files."""

    timeout_s: float
    response_bytes: int
    verify: bool | str = True
    client_cert: str | None = None
    client_key: str | None = None
    client_key_passphrase: str | None = None
    proxy: str | None = None


@dataclass(frozen=True)
class Handshake:
    """How a connection was opened. `failure`: why it was not, "" where it was. Of TLS, `protocol` is the version, and
    `valid_until` the end of the service's certificate in seconds since 1970; None without TLS."""

    failure: str = ""
    protocol: str = ""
    valid_until: float | None = None


class Wire(HTTPAdapter):
    """A transport adapter without retries, redirects or unbounded reads. `ending` cuts what is on the wire."""

    def __init__(self, settings: WireSettings, parallel: int = 1, ending: Ending | None = None) -> None:
        self._settings, self._ending, self._watchdog = settings, ending or Ending(), Watchdog()
        self._timeouts = min(CONNECT_TIMEOUT_S, settings.timeout_s), settings.timeout_s  # connection, next byte
        self._proxies = dict.fromkeys(("http", "https"), settings.proxy) if settings.proxy else {}
        super().__init__(max_retries=0, pool_connections=1, pool_maxsize=parallel)

    def init_poolmanager(self, connections: int, maxsize: int, block: bool = False, **kwargs: Any) -> None:
        super().init_poolmanager(connections, maxsize, block, **kwargs, **self._tls())
        use_watched_pools(self.poolmanager)

    def proxy_manager_for(self, proxy: str, **kwargs: Any) -> Any:
        manager = super().proxy_manager_for(proxy, **kwargs, **self._tls())
        use_watched_pools(manager)
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

    def connect(self, base_url: str) -> Handshake:
        """Open a connection, with TLS where the address asks for it, send nothing and close it."""
        settings, request = self._settings, requests.Request("GET", base_url).prepare()
        with Deadline(settings.timeout_s, self._ending, self._watchdog) as deadline:
            try:
                pool: Any = self.get_connection_with_tls_context(request, settings.verify, self._proxies)
                self.cert_verify(pool, base_url, settings.verify, None)  # type: ignore[no-untyped-call]
                pool.timeout = urllib3.Timeout(connect=self._timeouts[0])
                with closing(pool._new_conn()) as connection:
                    tunnels = pool.proxy is not None and base_url.startswith("https:")
                    pool._prepare_proxy(connection) if tunnels else connection.connect()
                    return _handshake_on(connection.sock)
            except ERRORS as error:
                failure = failure_of(error, deadline, settings.timeout_s)
                through = settings.proxy and failure.kind is not FailureKind.TLS
                return Handshake(NO_PROXY if through else failure.message)

    def close(self) -> None:
        """Close the connections that are kept, and end the thread that watches them."""
        super().close()
        self._watchdog.close()

    @property
    def closes_soon(self) -> bool:
        """Whether the service has closed a kept connection right after an answer, and did not say that it would."""
        pools = self.poolmanager.pools
        return any(pools[key].closes_soon for key in pools.keys())  # noqa: SIM118 - it cannot be iterated over

    def attempt(self, request: requests.PreparedRequest, *, afresh: bool = False) -> Response | Failure:
        """Send once; `afresh` over a connection that carried no other request."""
        settings = self._settings
        with Deadline(settings.timeout_s, self._ending, self._watchdog, afresh=afresh) as deadline:
            try:
                raw = (
                    super()
                    .send(request, stream=True, timeout=self._timeouts, verify=settings.verify, proxies=self._proxies)
                    .raw
                )
                body, cut = _read(raw, settings.response_bytes)
            except ERRORS as error:
                return failure_of(error, deadline, settings.timeout_s)
        headers = tuple((str(name), str(value)) for name, value in raw.headers.items())
        return Response(raw.status, headers, body, cut)


def _handshake_on(sock: Any) -> Handshake:
    """What TLS on a socket shows; nothing where it speaks none."""
    certificate = sock.getpeercert() if isinstance(sock, ssl.SSLSocket) else None
    if not certificate:
        return Handshake()
    return Handshake(protocol=sock.version() or "", valid_until=ssl.cert_time_to_seconds(str(certificate["notAfter"])))


def _check_bundle(path: str) -> None:
    try:
        ssl.create_default_context(cafile=path)
    except (OSError, ValueError):
        raise ProfileError("tls.ca_bundle: no certificate of an authority in PEM") from None


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
