"""What came of an attempt without an answer, in our words: an exception's own text may hold data of the service or the
profile. Of TLS the library's own reason is kept, which names no more than the host."""

from __future__ import annotations

import re
import ssl
from collections.abc import Iterable
from http.client import HTTPException, IncompleteRead, LineTooLong
from typing import Any

import requests
import urllib3

from environments.door.deadline import Deadline
from spec.exchange import Failure, FailureKind

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
    """One line for what came of a handshake; of the exceptions that led to it the last one knows most."""
    error = [cause for cause in chain if isinstance(cause, ssl.SSLError)][-1:]
    reason = _reason(error[0]) if error else ""
    remedies = _OF_THEIR_CERTIFICATE if error and isinstance(error[0], ssl.CertificateError) else _OF_THE_HANDSHAKE
    remedy = next(remedy for pattern, remedy in remedies.items() if re.search(pattern, reason.lower()))
    return f"TLS failed ({reason}): {remedy}" if reason else f"TLS failed: {remedy}"


def _reason(error: ssl.SSLError) -> str:
    """What OpenSSL says, without the line of its source: it names no more of the profile than the host."""
    text = getattr(error, "verify_message", "") or re.sub(r"^\[[^]]*\] | \(_ssl\.c.*$", "", str(error.args[-1]))
    return text.strip().removesuffix(".")
