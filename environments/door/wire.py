"""One attempt over the wire: a total deadline, a limit on the body, and a clear word for every failure.

Requests share kept connections. A service may close one at any time, so a request that may move money has a fresh one.
Of transaction codes only the first does: a later one goes over a connection that carried an answer just before, since a
service may answer differently there; unless the service was seen to close one that it did not say it would.
"""

from __future__ import annotations

import re
import ssl
import time
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from http.client import HTTPException, IncompleteRead, LineTooLong
from typing import Any

import requests
import urllib3
from requests.adapters import HTTPAdapter
from urllib3 import exceptions

from environments.door.budget import Ending
from environments.door.outgoing import Sending
from environments.door.sockets import KEPT_S, Deadline, Watchdog, use_watched_pools
from environments.profiles.model import ProfileError
from spec.exchange import Failure, FailureKind, Response

CONNECT_TIMEOUT_S = 5.0
_CHUNK = 65_536
_KEPT_OF_A_CUT_BODY = 4_096
_SETTLES_S = 0.005
"""A service that closes a connection after an answer has done so by then, and the connection is seen to be closed."""
MOST_KEPT = 100_000_000
"""Bytes of large bodies, compressed, that a run keeps in memory."""


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


class Wire(HTTPAdapter):
    """A transport adapter without retries, redirects or unbounded reads. `ending` cuts what is on the wire."""

    def __init__(self, settings: WireSettings, parallel: int = 1, ending: Ending | None = None) -> None:
        self._settings, self._ending, self._watchdog = settings, ending or Ending(), Watchdog()
        self._timeouts = min(CONNECT_TIMEOUT_S, settings.timeout_s), settings.timeout_s  # connection, next byte
        self._proxies = dict.fromkeys(("http", "https"), settings.proxy) if settings.proxy else {}
        self._keeps_codes = settings.proxy is None  # a proxy may send again what it loses on a connection of its own
        self._first_code, self._answered_at, self._kept = "", float("-inf"), 0
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
        try:
            if isinstance(settings.verify, str):
                ssl.create_default_context(cafile=settings.verify)
        except (OSError, ValueError):
            raise ProfileError("tls.ca_bundle: no certificate of an authority in PEM") from None
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

    def connect(self, base_url: str) -> str:
        """Open a connection, with TLS where the address asks for it, send nothing and close it. Gives the reason for
        which it could not be opened, else nothing."""
        settings, request = self._settings, requests.Request("GET", base_url).prepare()
        with Deadline(settings.timeout_s, self._ending, self._watchdog) as deadline:
            try:
                pool: Any = self.get_connection_with_tls_context(request, settings.verify, self._proxies)
                self.cert_verify(pool, base_url, settings.verify, None)  # type: ignore[no-untyped-call]
                pool.timeout = urllib3.Timeout(connect=self._timeouts[0])
                with closing(pool._new_conn()) as connection:
                    tunnels = pool.proxy is not None and base_url.startswith("https:")
                    pool._prepare_proxy(connection) if tunnels else connection.connect()
                    return ""
            except _ERRORS as error:
                failure = _failure_of(error, deadline, settings.timeout_s)
                through = settings.proxy and failure.kind is not FailureKind.TLS
                return _NO_PROXY if through else failure.message

    def close(self) -> None:
        """Close the connections that are kept, and end the thread that watches them."""
        super().close()
        self._watchdog.close()

    def attempt(self, sending: Sending) -> Response | Failure:
        """Send once, over a fresh connection what may move money and what comes after a request that was lost."""
        code = sending.code
        afresh = not self._may_be_kept(code) if code else sending.is_lost or not sending.repeatable
        if code and afresh:
            self._first_code = self._first_code or code
        elif code:
            time.sleep(_SETTLES_S)
        result = self._attempt(sending.request, afresh=afresh)
        self._answered_at = time.monotonic() if isinstance(result, Response) else float("-inf")
        if code and not afresh and isinstance(result, Failure):
            self._keeps_codes = False
            broken = result.kind is FailureKind.TLS  # the handshake is long done: the connection was dropped
            return replace(result, kept=True, kind=FailureKind.DROPPED if broken else result.kind)
        return self._within_memory(result)

    def _may_be_kept(self, code: str) -> bool:
        pools = self.poolmanager.pools
        found_closed = any(pools[key].found_closed for key in pools.keys())  # noqa: SIM118 - it cannot be iterated over
        is_later = self._first_code not in ("", code) and time.monotonic() - self._answered_at < KEPT_S
        return self._keeps_codes and is_later and not found_closed

    def _attempt(self, request: requests.PreparedRequest, *, afresh: bool) -> Response | Failure:
        settings = self._settings
        how: Any = {"stream": True, "timeout": self._timeouts, "verify": settings.verify, "proxies": self._proxies}
        with Deadline(settings.timeout_s, self._ending, self._watchdog, afresh=afresh) as deadline:
            try:
                raw = super().send(request, **how).raw
                body, cut = _read(raw, settings.response_bytes)
            except _ERRORS as error:
                return _failure_of(error, deadline, settings.timeout_s)
        headers = tuple((str(name), str(value)) for name, value in raw.headers.items())
        return Response(raw.status, headers, body, cut)

    def _within_memory(self, result: Response | Failure) -> Response | Failure:
        """The result, or the limit that it exceeds: past MOST_KEPT a large answer is not kept."""
        size = len(result.kept[0]) if isinstance(result, Response) and result.kept[1] else 0
        if self._kept + size > MOST_KEPT:
            return Failure(FailureKind.LIMIT, f"more answers than the suite keeps ({MOST_KEPT} bytes of large ones)")
        self._kept += size
        return result


def _read(raw: urllib3.BaseHTTPResponse, most: int) -> tuple[bytes, str]:
    """The body, decoded; or its beginning and the limit that cut it short."""
    body = bytearray()
    while part := raw.read(_CHUNK, decode_content=True):
        if len(body) + len(part) > most:
            raw.close()
            return bytes((body + part)[:_KEPT_OF_A_CUT_BODY]), f"longer than limits.response_bytes ({most} bytes)"
        body += part
    raw.release_conn()
    return bytes(body), ""


# -- failures -------------------------------------------------------------------------------------------------------

_ERRORS = (requests.RequestException, exceptions.HTTPError, HTTPException, OSError, ValueError)
"""What an attempt may raise."""
_NO_CONNECTION, _NO_PROXY = FailureKind.NO_CONNECTION, "the proxy cannot be reached: check proxy"
_FAILURES: tuple[tuple[type[BaseException], FailureKind, str], ...] = (
    (exceptions.ProxyError, _NO_CONNECTION, _NO_PROXY),
    (exceptions.NameResolutionError, _NO_CONNECTION, "the host name is not known"),
    (exceptions.NewConnectionError, _NO_CONNECTION, "the connection is refused"),
    (exceptions.ConnectTimeoutError, _NO_CONNECTION, "no connection in time"),
    (IncompleteRead, FailureKind.NOT_HTTP, "the answer broke off before its end"),
    (exceptions.DecodeError, FailureKind.NOT_HTTP, "the content coding of the answer is broken"),
    (ConnectionError, FailureKind.DROPPED, "the connection was dropped without an answer"),
    (LineTooLong, FailureKind.LIMIT, "a header longer than the suite reads (65536 bytes)"),
)


def _failure_of(error: BaseException, deadline: Deadline, seconds: float) -> Failure:
    """The failure in our words: an exception's own text may hold data of the service or the profile. Of TLS the
    library's own reason is kept, which names no more than the host.

    What `urllib3` calls a fault of the proxy may come after the request was sent through it: then it is dropped.
    """
    chain = list(_causes(error, set()))
    late = any(isinstance(cause, exceptions.ReadTimeoutError | TimeoutError) for cause in chain)
    if deadline.expired or (late and deadline.sock):
        return Failure(FailureKind.TIMEOUT, _late(deadline, seconds))
    if any(isinstance(cause, exceptions.SSLError | ssl.SSLError) for cause in chain):
        return Failure(FailureKind.TLS, _tls_failure(chain))
    for each, kind, message in _FAILURES:
        if any(isinstance(cause, each) for cause in chain) and not (deadline.sending and kind is _NO_CONNECTION):
            return Failure(kind, message)
    if any("got more than" in str(cause) for cause in chain):
        return Failure(FailureKind.LIMIT, "more headers than the suite reads (100)")
    return Failure(FailureKind.NOT_HTTP, "the answer is not HTTP")


def _late(deadline: Deadline, seconds: float) -> str:
    """What was missing when the time was up. There is a connection and nothing was sent: that is TLS, or a tunnel."""
    if deadline.sock and not deadline.sending:
        return f"TLS failed (no handshake within limits.timeout, {seconds:g} s): check the port of base_url, and proxy"
    return f"no complete answer within limits.timeout ({seconds:g} s)"


def _causes(error: object, known: set[int]) -> Iterator[BaseException]:
    """An exception with all that led to it, and what it holds."""
    if isinstance(error, BaseException) and id(error) not in known:
        known.add(id(error))
        yield error
        for cause in (error.__cause__, error.__context__, getattr(error, "reason", None), *error.args):
            yield from _causes(cause, known)


_REMEDIES = {
    "protocol version|unsupported protocol": "the service does not support TLS 1.2 or later",
    "wrong version|http request|packet length|record layer": (
        "this port speaks no TLS; check the port of base_url, or write http:// if it is plain HTTP"
    ),
    "self-signed|issuer|first certificate": "name the authority that signed it in tls.ca_bundle",
    "mismatch": "use the name that its certificate has in base_url",
    "expired|not yet valid": "the service has to renew its certificate, or the clock of this machine is wrong",
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
    remedy = next(remedy for pattern, remedy in _REMEDIES.items() if re.search(pattern, reason.lower()))
    return f"TLS failed ({reason}): {remedy}" if reason else f"TLS failed: {remedy}"


def _reason(error: ssl.SSLError) -> str:
    """What OpenSSL says, without the line of its source: it names no more of the profile than the host."""
    text = getattr(error, "verify_message", "") or re.sub(r"^\[[^]]*\] | \(_ssl\.c.*$", "", str(error.args[-1]))
    return text.strip().removesuffix(".")
