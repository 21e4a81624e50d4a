"""What flows through the sandbox: a request, a response, and the refusal of a request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import quote_from_bytes

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

MAX_BODY = 1_048_576
"""Bytes of a request body that are accepted; more is refused with 413."""

Data = dict[str, object]
"""The object field `data` of the envelope, or the body of a request."""

Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Request:
    """One request. Its headers and its body stay out of the `repr`: they hold the token and personal data."""

    method: str
    path: str
    """As it came over the wire: still percent-encoded, without the query."""
    query: str
    headers: Mapping[str, str] = field(repr=False)
    """By name in lower case; a header that stands twice has both values, joined with a comma."""
    body: bytes = field(repr=False)
    """At most one byte more than MAX_BODY."""

    @classmethod
    def from_environ(cls, environ: WSGIEnvironment) -> Request:
        """The request of a WSGI environment, with its body read."""
        path, _, query = _target(environ).partition("?")
        return cls(environ["REQUEST_METHOD"], path, query, _headers(environ), _body(environ))

    def header(self, name: str) -> str:
        """The value of a header, or the empty string."""
        return self.headers.get(name.lower(), "")


@dataclass(frozen=True)
class Response:
    """One response, as bytes. The server adds Content-Length where `headers` has none."""

    status: int
    body: bytes
    headers: Headers = ()

    @property
    def status_line(self) -> str:
        """The status with its reason phrase, such as `404 Not Found`."""
        known = {status.value for status in HTTPStatus}
        return f"{self.status} {HTTPStatus(self.status).phrase if self.status in known else 'Unknown'}"


class Refusal(Exception):  # noqa: N818 - it is an answer, not an error
    """The sandbox says no: an HTTP status, a fixed text that repeats nothing of the request, and headers."""

    def __init__(self, status: int, error: str, headers: Headers = ()) -> None:
        super().__init__(status, error)
        self.status = status
        self.error = error
        self.headers = headers


def _target(environ: WSGIEnvironment) -> str:
    """The path and the query as they were sent; PATH_INFO is decoded and cannot tell %2F from a slash."""
    target = str(environ.get("REQUEST_URI") or quote_from_bytes(environ["PATH_INFO"].encode("latin-1")))
    if target.startswith("/"):
        return target
    return "/" + target.partition("://")[2].partition("/")[2]


def _headers(environ: WSGIEnvironment) -> dict[str, str]:
    headers = {name[5:].replace("_", "-").lower(): value for name, value in environ.items() if name[:5] == "HTTP_"}
    return headers | {"content-type": environ.get("CONTENT_TYPE", "")}


def _body(environ: WSGIEnvironment) -> bytes:
    length = environ.get("CONTENT_LENGTH") or "0"
    return bytes(environ["wsgi.input"].read(min(int(length), MAX_BODY + 1)))
