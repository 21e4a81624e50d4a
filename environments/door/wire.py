"""One attempt over the wire: a total deadline, a limit on the body, and a clear word for every failure.

Requests share kept connections, which stay open after an answer for the next request. A service may close such a
connection at any time, and then nobody knows if the request arrived. So some requests are sent over a new connection,
which no other request has used:

| request | needs a new connection |
|---|---|
| without a transaction code | if it may prepare a transfer, or is sent again after it got no answer |
| with the first transaction code of the run | always |
| with a later code | if the run uses a proxy, or the service has closed a kept connection unannounced |

Later codes are sent over kept connections on purpose: some services check the token only in the first request of a
connection, and the suite must find that fault.

Answers that would take too long to judge are not read to their end, see `MOST_WEIGHT_OF_LONG_BODIES`. The sockets and
their deadlines are in `sockets.py`.
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
from environments.door.outgoing import Sending, has_broken_percent_encoding
from environments.door.run_end import RunEnd
from environments.door.sockets import POOLS, ConnectedError, Deadline, MalformedHeaderError, Watchdog
from environments.profiles.model import Profile, ProfileError
from spec.exchange import HTTP_1_0, Failure, FailureKind, Response
from spec.json_text import MAX_VALUES
from spec.message import say

CONNECT_TIMEOUT_S = 5.0
"""Seconds that a connection may take, if limits.timeout is not shorter."""
_READ_AT_ONCE = 65_536
"""Bytes that are read of a body at once."""
_BYTES_OF_A_TOO_LONG_BODY = 4_096
"""Bytes that are kept of a body that is longer than the limit, for the report."""
_WAIT_FOR_CLOSING_S = 0.005
"""Seconds that a code waits before it goes over a kept connection. If the service closes connections after an answer,
the suite notices it by then."""
_CODINGS_NOT_ASKED_FOR = ("br", "zstd", "compress")
"""Content codings that an answer may name, although each request accepts gzip and deflate alone."""
_CODINGS = ("gzip", *_CODINGS_NOT_ASKED_FOR)
"""Content codings that are looked for in an answer. Without deflate, which counts if none of these is found."""
BYTES_ALWAYS_READ = 16_384
"""Bytes of a body that are read in any case. The weight of longer bodies is added up."""
MOST_WEIGHT_OF_LONG_BODIES = 30_000_000
"""Weight, in bytes, of the long bodies that a run reads. About six lists of 10,000 entries weigh as much."""
_WEIGHT_OF_A_VALUE = 100
"""Weight of a JSON value in bytes: to judge one takes as long as to judge 100 bytes of plain text."""


class Wire(HTTPAdapter):
    """Sends requests to the service, and reads their answers. It is a transport adapter of the library `requests`.

    It never repeats a request, follows no redirect, and reads no more of an answer than the limits of the settings (the
    profile) permit. `run_end` knows if the run ends: then requests that wait for an answer are cut off.
    """

    def __init__(self, profile: Profile, run_end: RunEnd) -> None:
        """Prepare to send to the address of the profile (the settings of the run); nothing is connected so far."""
        self._limits = profile.limits
        proxy = profile.proxy
        timeout = profile.limits.timeout
        self._watchdog = Watchdog(timeout, run_end)  # shuts a connection down when its deadline has passed
        needs_no_tls = profile.base_url.startswith("http:") and not proxy
        self._context = None if needs_no_tls else _tls_context(profile)
        self._send_options: Any = {
            "stream": True,  # do not read the body: `_read_body` reads it, up to its limit
            "timeout": (min(CONNECT_TIMEOUT_S, timeout), timeout),  # for the connection, and for each next byte
            "verify": str(profile.tls.ca_bundle) if profile.tls.ca_bundle else True,
            "proxies": {"http": proxy, "https": proxy},
        }
        # True while codes may go over kept connections. With a proxy they may not: the proxy may repeat a request whose
        # connection to the service broke, and so execute a code twice.
        self._codes_may_use_kept_connections = proxy is None
        self._first_code = ""  # the first transaction code that is sent; empty before that
        self._weight_of_long_bodies = 0  # in bytes, of those that were read so far (`_note_weight`)
        self._operations_with_long_bodies = set[str]()
        super().__init__(max_retries=0, pool_connections=1, pool_maxsize=profile.limits.parallel)

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        """Create the pools of connections to the service. Each of their requests has a deadline for its whole answer.

        `requests` calls this method. `POOLS` has the classes that know the deadlines (sockets.py).
        """
        super().init_poolmanager(*args, **kwargs, ssl_context=self._context)
        self.poolmanager.pool_classes_by_scheme = POOLS

    def proxy_manager_for(self, proxy: str, **kwargs: Any) -> Any:
        """The pools of connections through a proxy. Each of their requests has a deadline for its whole answer.

        `requests` calls this method if the run uses a proxy. `POOLS` has the classes that know the deadlines.
        """
        manager = super().proxy_manager_for(proxy, **kwargs, ssl_context=self._context)
        manager.pool_classes_by_scheme = POOLS
        return manager

    def connect(self, base_url: str) -> str:
        """Find out if the service can be reached: open a connection to it, send nothing, and close the connection.

        Returns the reason if it could not be opened, else an empty text. An address with https needs TLS as well.
        """
        deadline = Deadline(self._watchdog, sends=False)
        try:
            result = self._send_and_read(requests.Request("GET", base_url).prepare(), deadline)
        except ConnectedError:  # there is a connection: the error keeps the request from being sent
            return ""
        return str(result.message) if isinstance(result, Failure) else ""

    def close(self) -> None:
        """Close the connections that are still open, and end the thread that watches the deadlines of requests."""
        super().close()
        self._watchdog.close()

    def attempt(self, sending: Sending) -> Response | Failure:
        """Send the request once, and return its answer, or the failure if it got none.

        A failure on a kept connection (one that earlier requests used) has `on_reused_connection`, because the service
        may have closed that connection just before. After such a failure of a request with a transaction code, all
        later codes are sent over new connections.
        """
        code = sending.code
        if code and not self._first_code:
            self._first_code = code
        needs_new_connection = self._needs_new_connection(sending)
        if code and not needs_new_connection:
            time.sleep(_WAIT_FOR_CLOSING_S)  # if the service is about to close the connection, this shows it
        deadline = Deadline(
            self._watchdog,
            needs_new_connection=needs_new_connection,
            is_http_1_0=HTTP_1_0 in sending.intent.spelling,
        )
        if has_broken_percent_encoding(sending.request.path_url):
            deadline.target_as_it_is = sending.request.path_url
        result = self._send_and_read(sending.request, deadline, sending.intent.operation)
        # A new connection is also used if there is no kept one.
        if deadline.used_new_connection or not isinstance(result, Failure):
            return result
        if code:
            self._codes_may_use_kept_connections = False
        # TLS began when the kept connection was opened, so a failure of TLS means now that the connection was dropped.
        kind = FailureKind.DROPPED if result.kind is FailureKind.TLS else result.kind
        return replace(result, on_reused_connection=True, kind=kind)

    def _needs_new_connection(self, sending: Sending) -> bool:
        """True if the request must be sent over a new connection, and not over one that earlier requests used.

        The service may close a used connection at any moment, and then nobody knows whether the request arrived.

        | request | needs a new connection |
        |---|---|
        | with no real transaction code | if it may prepare a transfer, or its last attempt got no answer |
        | with the first code of the run | yes |
        | with a later code | if the service closes connections without `Connection: close`, or if there is a proxy |

        A proxy may send a request a second time if it gets no answer. Without a proxy, later codes are sent over kept
        connections on purpose: some services check the token only in the first request of a connection, and the suite
        must find that fault.
        """
        code = sending.code
        if not code:
            return sending.needs_new_connection or not sending.is_safe_to_repeat
        if code == self._first_code or not self._codes_may_use_kept_connections:
            return True
        pools = self.poolmanager.pools
        return any(pools[key].service_closes_unannounced for key in pools.keys())  # noqa: SIM118 - it has no __iter__

    def _send_and_read(
        self, request: requests.PreparedRequest, deadline: Deadline, operation: str = ""
    ) -> Response | Failure:
        """Send a request and read its answer. Returns a response, or a failure if there is none.

        If only the body is malformed, such as a body that breaks off, the result is a response whose `broken` says why.
        An answer that is not complete in time is always a failure. `operation` is the documented operation, by which
        the limit for the body is chosen.
        """
        raw: Any = None  # the answer as urllib3 has it
        body = b""
        limit_that_cut = ""
        why_body_is_broken = ""  # a template that may name {coding}; empty if the body can be read
        with deadline:
            try:
                raw = self.send(request, **self._send_options).raw
                most_bytes, limit_in_words = self._most_bytes_for(operation)
                body, limit_that_cut = _read_body(raw, most_bytes, limit_in_words)
                self._note_weight(operation, body)
                if deadline.expired:  # the answer ends where the watchdog shut the connection down
                    raise TimeoutError
            except _ERRORS as error:
                failure = _failure_of(error, deadline, self._limits.timeout)
                raw = deadline.head  # the status and the headers; None if they were not read
                only_the_body_is_malformed = raw is not None and failure.kind is FailureKind.NOT_HTTP
                if not only_the_body_is_malformed:
                    return failure
                why_body_is_broken = str(failure.message)
        coding = _content_coding_of(raw)
        if coding in _CODINGS_NOT_ASKED_FOR:
            body = b""
            why_body_is_broken = "the content coding is {coding}, which was not asked for"
        headers = tuple((str(name), str(value)) for name, value in raw.headers.items())
        broken = say(why_body_is_broken, coding=coding) if why_body_is_broken else ""
        return Response(raw.status, headers, body, limit_that_cut, broken)

    def _most_bytes_for(self, operation: str) -> tuple[int, str]:
        """The most bytes that are read of the next body of an operation, and the reason if a body is longer.

        An example is `(1000000, "longer than limits.response_bytes (1000000 bytes)")`; the report shows the reason.

        Usually that is limits.response_bytes. If the run has read very much already, it is less, so that a run ends in
        time. But at least one long answer to each operation is read whole, so that there is one to judge.
        """
        most_bytes = self._limits.response_bytes
        if self._weight_of_long_bodies > MOST_WEIGHT_OF_LONG_BODIES and operation in self._operations_with_long_bodies:
            return min(most_bytes, BYTES_ALWAYS_READ), "longer than the suite reads after many long answers"
        return most_bytes, f"longer than limits.response_bytes ({most_bytes} bytes)"

    def _note_weight(self, operation: str, body: bytes) -> None:
        """Add a long body to the weight of all bodies that were read, which estimates the work to judge them.

        The weight of a body is its bytes, and 100 for each of its JSON values: to judge one value takes as long as to
        judge 100 bytes of text. The number of values is estimated by the number of commas and opening brackets, because
        the body is not parsed here.
        """
        if len(body) > BYTES_ALWAYS_READ:
            about_values = body.count(b",") + body.count(b"[") + body.count(b"{")
            judged_values = min(about_values, MAX_VALUES)  # the suite judges no more values of a body
            self._weight_of_long_bodies += len(body) + _WEIGHT_OF_A_VALUE * judged_values
            self._operations_with_long_bodies.add(operation)


def _tls_context(profile: Profile) -> ssl.SSLContext:
    """The settings of TLS for connections to the service: the authorities that are trusted, and the client certificate.

    Both come from the profile (the settings of a run). Raises ProfileError if a file cannot be used.
    """
    tls = profile.tls
    try:
        context = ssl.create_default_context(cafile=tls.ca_bundle or DEFAULT_CA_BUNDLE_PATH)
    except (OSError, ValueError):
        raise ProfileError("tls.ca_bundle: no certificate of an authority in PEM") from None
    if tls.client_cert:
        try:
            passphrase = passphrase_of(profile)  # without one OpenSSL would ask the terminal
            context.load_cert_chain(tls.client_cert, tls.client_key, passphrase)
        except (OSError, ValueError):
            raise ProfileError(
                "tls.client_cert, tls.client_key: no certificate and key in PEM, or the passphrase is wrong or missing"
            ) from None
    return context


def _content_coding_of(raw: urllib3.BaseHTTPResponse) -> str:
    """The content coding of an answer, such as gzip: the first of `_CODINGS` that its header Content-Encoding names.

    "deflate" if the header names none of them. Only a message about a body that could not be decoded shows this name.
    Such a body was gzip or deflate, because no other coding is decoded here.
    """
    content_encoding = raw.headers.get("Content-Encoding", "").lower()
    for name in _CODINGS:
        if name in content_encoding:
            return name
    return "deflate"


def _read_body(raw: urllib3.BaseHTTPResponse, most_bytes: int, limit_in_words: str) -> tuple[bytes, str]:
    """Read the body of an answer, at most `most_bytes` after its content coding (such as gzip) is undone.

    Returns the body and an empty text, and the connection is kept for the next request. If the body is longer, returns
    its beginning and `limit_in_words`. Then the rest is not read, and the connection is closed.
    """
    body = bytearray()
    while len(body) <= most_bytes:
        chunk = raw.read(_READ_AT_ONCE, decode_content=True)
        if not chunk:  # the body ends here
            raw.release_conn()
            return bytes(body), ""
        body += chunk
    raw.close()
    return bytes(body[:_BYTES_OF_A_TOO_LONG_BODY]), limit_in_words


# -- failures -------------------------------------------------------------------------------------------------------

_ERRORS = (requests.RequestException, exceptions.HTTPError, HTTPException, OSError, ValueError)
"""Exceptions by which an attempt may fail."""
# What to check if TLS failed.
_WHAT_TO_CHECK = "check base_url, the certificate of the service, and ca_bundle, client_cert and client_key of tls"
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
"""Types of exceptions, each with the failure that it means and its message. The first one that fits counts."""


def _failure_of(error: BaseException, deadline: Deadline, seconds: float) -> Failure:
    """The failure that an exception means, with a message for the report. `seconds` is limits.timeout.

    The message is in words of the suite, because the text of an exception may have data that must not be shown. For TLS
    it has the reason of OpenSSL, which names no more than the host.

    If the request may have been sent, the failure is never "no connection", because that would say that nothing was
    sent: `urllib3` may report a fault of the proxy after the proxy has passed the request on.
    """
    causes = list(_error_and_its_causes(error))
    is_late = _is_any_of_type(causes, (exceptions.ReadTimeoutError, TimeoutError))
    was_connected = deadline.sock is not None  # without a connection, being late means "no connection in time"
    if deadline.expired or (is_late and was_connected):
        return Failure(FailureKind.TIMEOUT, f"no complete answer within limits.timeout ({seconds:g} s)")
    tls_errors = [cause for cause in causes if isinstance(cause, ssl.SSLError)]
    if tls_errors:
        return Failure(FailureKind.TLS, _message_of_tls_failure(tls_errors[-1]))
    for exception_type, kind, message in _FAILURES:
        says_nothing_was_sent = kind is _NO_CONNECTION
        if says_nothing_was_sent and deadline.may_have_left:
            continue
        if _is_any_of_type(causes, (exception_type,)):
            return Failure(kind, message)
    has_too_many_headers = any("got more than" in str(cause) for cause in causes)  # `http.client` has no class for it
    if has_too_many_headers:
        return Failure(FailureKind.LIMIT, "more headers than the suite reads (100)")
    return Failure(FailureKind.NOT_HTTP, "the answer is not HTTP")


def _is_any_of_type(errors: list[BaseException], types: tuple[type[BaseException], ...]) -> bool:
    """True if one of the exceptions has one of these types."""
    return any(isinstance(error, types) for error in errors)


def _error_and_its_causes(error: BaseException | None) -> Iterator[BaseException]:
    """An exception and all exceptions that led to it, by `raise … from …` or while another one was handled.

    `urllib3` wraps the error that tells most, such as an error of TLS, into several others.
    """
    if error is not None:
        yield error
        yield from _error_and_its_causes(error.__cause__)
        yield from _error_and_its_causes(error.__context__)


def _message_of_tls_failure(error: ssl.SSLError) -> str:
    """A message for the report: why TLS failed, in the words of OpenSSL, and what to check.

    The words of OpenSSL name no more than the host. Its text is `[SSL: CODE] message (_ssl.c:123)`. The code before the
    message, and the place in its source behind it, are left out.
    """
    text = getattr(error, "verify_message", "")  # only an error about a certificate has one
    if not text:
        text = re.sub(r"^\[[^]]*\] | \(_ssl\.c.*$", "", str(error.args[-1]))
    return f"TLS failed ({text.strip().removesuffix('.')}): {_WHAT_TO_CHECK}"
