"""One attempt over the wire: a total deadline, a limit on the body, and a clear word for every failure.

Requests share kept connections. A service may close one at any time, so a request that may move money has a fresh one.
Of transaction codes only the first does: a later one goes over a connection that carried an answer just before, since a
service may answer differently there; unless the service was seen to close one that it did not say it would.
"""

from __future__ import annotations

import re
import ssl
import time
from collections.abc import Iterator
from dataclasses import replace
from http.client import HTTPException, IncompleteRead, LineTooLong
from typing import Any

import requests
import urllib3
from requests.adapters import HTTPAdapter
from requests.utils import DEFAULT_CA_BUNDLE_PATH
from urllib3 import exceptions

from environments.credentials import passphrase_of
from environments.door.ending import Ending
from environments.door.outgoing import Sending
from environments.door.sockets import POOLS, ConnectedError, Deadline, MalformedHeaderError, Watchdog
from environments.profiles.model import Profile, ProfileError
from spec.exchange import HTTP_1_0, Failure, FailureKind, Response
from spec.json_text import MAX_VALUES
from spec.message import say

CONNECT_TIMEOUT_S = 5.0
_CHUNK = 65_536
_KEPT_OF_A_CUT_BODY = 4_096
_SETTLES_S = 0.005
"""A service that closes a connection after an answer has done so by then, and the connection is seen to be closed."""
_CODINGS = ("gzip", "br", "zstd", "compress")
"""Content codings that may be named; a request accepts deflate, and of these the first."""
ALWAYS_READ = 16_384
"""Bytes of a body that are read whatever the run has read before. What is longer has a weight."""
MOST_WEIGHT = 30_000_000
"""Weight of the long bodies that a run reads, in bytes. Some six lists of 10,000 entries weigh as much."""
_WEIGHT_OF_A_VALUE = 100
"""Bytes of a text without structure that cost as much time, when they are judged, as one value."""


class Wire(HTTPAdapter):
    """A transport adapter without retries, redirects or unbounded reads. `ending` cuts what is on the wire."""

    def __init__(self, profile: Profile, ending: Ending) -> None:
        self._limits, proxy, timeout = profile.limits, profile.proxy, profile.limits.timeout
        self._watchdog = Watchdog(timeout, ending)
        self._context = None if profile.base_url.startswith("http:") and not proxy else _tls_context(profile)
        self._how: Any = {
            "stream": True,
            "timeout": (min(CONNECT_TIMEOUT_S, timeout), timeout),  # connection, next byte
            "verify": str(profile.tls.ca_bundle) if profile.tls.ca_bundle else True,
            "proxies": {"http": proxy, "https": proxy},
        }
        self._keeps_codes = proxy is None  # a proxy may send again what it loses on a connection of its own
        self._first_code = ""
        self._weight, self._operations_with_long_bodies = 0, set[str]()
        super().__init__(max_retries=0, pool_connections=1, pool_maxsize=profile.limits.parallel)

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, **kwargs, ssl_context=self._context)
        self.poolmanager.pool_classes_by_scheme = POOLS

    def proxy_manager_for(self, proxy: str, **kwargs: Any) -> Any:
        manager = super().proxy_manager_for(proxy, **kwargs, ssl_context=self._context)
        manager.pool_classes_by_scheme = POOLS
        return manager

    def connect(self, base_url: str) -> str:
        """Open a connection, with TLS where the address asks for it, send nothing and close it. Gives the reason for
        which it could not be opened, else nothing."""
        deadline = Deadline(self._watchdog, sends=False)
        try:
            result = self._exchange(requests.Request("GET", base_url).prepare(), deadline)
        except ConnectedError:
            return ""
        return str(result.message) if isinstance(result, Failure) else ""

    def close(self) -> None:
        """Close the connections that are kept, and end the thread that watches them."""
        super().close()
        self._watchdog.close()

    def attempt(self, sending: Sending) -> Response | Failure:
        """Send once, over a fresh connection what may move money and what comes after a request that was lost."""
        afresh, code = sending.is_lost or not sending.repeatable, sending.code
        if code:
            self._first_code = self._first_code or code
            pools = self.poolmanager.pools
            found_closed = any(pools[key].found_closed for key in pools.keys())  # noqa: SIM118 - it has no __iter__
            afresh = code == self._first_code or not self._keeps_codes or found_closed
            if not afresh:
                time.sleep(_SETTLES_S)
        deadline = Deadline(self._watchdog, afresh=afresh, is_old=HTTP_1_0 in sending.intent.written)
        result = self._exchange(sending.request, deadline, sending.intent.operation)
        if not deadline.afresh and isinstance(result, Failure):
            self._keeps_codes &= not code
            broken = result.kind is FailureKind.TLS  # the handshake is long done: the connection was dropped
            return replace(result, kept=True, kind=FailureKind.DROPPED if broken else result.kind)
        return result

    def _exchange(
        self, request: requests.PreparedRequest, deadline: Deadline, operation: str = ""
    ) -> Response | Failure:
        raw: Any = None
        body, cut, broken = b"", "", ""
        with deadline:
            try:
                raw = self.send(request, **self._how).raw
                body, cut = _read(raw, *self._limit_for(operation))
                self._note_weight(operation, body)
                if deadline.expired:  # the end of the head or body is where the watchdog shut the connection down
                    raise TimeoutError
            except _ERRORS as error:
                failure, raw = _failure_of(error, deadline, self._limits.timeout), deadline.head
                if raw is None or failure.kind is not FailureKind.NOT_HTTP:
                    return failure
                broken = str(failure.message)
        named = raw.headers.get("Content-Encoding", "").lower()
        coding = next((one for one in _CODINGS if one in named), "deflate")
        if coding in _CODINGS[1:]:
            body, broken = b"", "the content coding is {coding}, which was not asked for"
        headers = tuple((str(name), str(value)) for name, value in raw.headers.items())
        return Response(raw.status, headers, body, cut, broken and say(broken, coding=coding))

    def _limit_for(self, operation: str) -> tuple[int, str]:
        """Bytes that are read of the next body, and the limit in words.

        The first long answer of each operation is read whole, whatever the weight of others: each operation is judged
        by one.
        """
        most = self._limits.response_bytes
        if self._weight > MOST_WEIGHT and operation in self._operations_with_long_bodies:
            return min(most, ALWAYS_READ), "longer than the suite reads after many long answers"
        return most, f"longer than limits.response_bytes ({most} bytes)"

    def _note_weight(self, operation: str, body: bytes) -> None:
        if len(body) > ALWAYS_READ:
            values = sum(map(body.count, (b",", b"[", b"{")))
            self._weight += len(body) + _WEIGHT_OF_A_VALUE * min(values, MAX_VALUES)
            self._operations_with_long_bodies.add(operation)


def _tls_context(profile: Profile) -> ssl.SSLContext:
    """The authorities and the client certificate of the profile. Raises ProfileError."""
    tls, why = profile.tls, "tls.ca_bundle: no certificate of an authority in PEM"
    try:
        context = ssl.create_default_context(cafile=tls.ca_bundle or DEFAULT_CA_BUNDLE_PATH)
        if tls.client_cert:
            why = (
                "tls.client_cert, tls.client_key: no certificate and key in PEM, or the passphrase is wrong or missing"
            )
            passphrase = passphrase_of(profile)  # without one OpenSSL would ask the terminal
            context.load_cert_chain(tls.client_cert, tls.client_key, passphrase)
    except (OSError, ValueError):
        raise ProfileError(why) from None
    return context


def _read(raw: urllib3.BaseHTTPResponse, most: int, limit: str) -> tuple[bytes, str]:
    """The body, decoded; or its beginning and the limit that cut it short."""
    body = bytearray()
    while part := raw.read(_CHUNK, decode_content=True):
        if len(body) + len(part) > most:
            raw.close()
            return bytes((body + part)[:_KEPT_OF_A_CUT_BODY]), limit
        body += part
    raw.release_conn()
    return bytes(body), ""


# -- failures -------------------------------------------------------------------------------------------------------

_ERRORS = (requests.RequestException, exceptions.HTTPError, HTTPException, OSError, ValueError)
"""Exceptions that an attempt may raise."""
_REMEDY = "check base_url, the certificate of the service, and ca_bundle, client_cert and client_key of tls"
_NO_CONNECTION = FailureKind.NO_CONNECTION
_FAILURES: tuple[tuple[type[BaseException], FailureKind, str], ...] = (
    (exceptions.ProxyError, _NO_CONNECTION, "the proxy cannot be reached: check proxy"),
    (exceptions.NameResolutionError, _NO_CONNECTION, "the host name is not known"),
    (exceptions.NewConnectionError, _NO_CONNECTION, "the connection is refused"),
    (exceptions.ConnectTimeoutError, _NO_CONNECTION, "no connection in time"),
    (IncompleteRead, FailureKind.NOT_HTTP, "the answer broke off before its end"),
    (exceptions.InvalidHeader, FailureKind.NOT_HTTP, "the content length is not one number"),
    (exceptions.DecodeError, FailureKind.NOT_HTTP, "the content coding is {coding}, the body is not"),
    (ConnectionError, FailureKind.DROPPED, "the connection was dropped without an answer"),
    (
        MalformedHeaderError,
        FailureKind.LIMIT,
        "a line of the headers is no header: the suite cannot read the lines after it",
    ),
    (LineTooLong, FailureKind.LIMIT, "headers longer than the suite reads (65536 bytes together)"),
)


def _failure_of(error: BaseException, deadline: Deadline, seconds: float) -> Failure:
    """The failure in our words: an exception's own text may hold data of the service or the profile. Of TLS the
    library's own reason is kept, which names no more than the host.

    What `urllib3` calls a fault of the proxy may come after the request was sent through it: then it is dropped.
    """
    chain = list(_causes(error))
    late = any(isinstance(cause, exceptions.ReadTimeoutError | TimeoutError) for cause in chain)
    if deadline.expired or (late and deadline.sock):
        return Failure(FailureKind.TIMEOUT, f"no complete answer within limits.timeout ({seconds:g} s)")
    if reasons := [cause for cause in chain if isinstance(cause, ssl.SSLError)]:
        return Failure(FailureKind.TLS, _tls_failure(reasons[-1]))
    for each, kind, message in _FAILURES:
        if any(isinstance(cause, each) for cause in chain) and not (deadline.sending and kind is _NO_CONNECTION):
            return Failure(kind, message)
    if any("got more than" in str(cause) for cause in chain):
        return Failure(FailureKind.LIMIT, "more headers than the suite reads (100)")
    return Failure(FailureKind.NOT_HTTP, "the answer is not HTTP")


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """An exception with all that led to it."""
    if error is not None:
        yield error
        yield from _causes(error.__cause__)
        yield from _causes(error.__context__)


def _tls_failure(error: ssl.SSLError) -> str:
    """Message of OpenSSL, without the line of its source: it names no more of the profile than the host."""
    text = getattr(error, "verify_message", "") or re.sub(r"^\[[^]]*\] | \(_ssl\.c.*$", "", str(error.args[-1]))
    return f"TLS failed ({text.strip().removesuffix('.')}): {_REMEDY}"
