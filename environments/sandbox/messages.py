"""What flows through the sandbox: a request, a response, and the refusal of a request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

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

    def header(self, name: str) -> str:
        """The value of a header, or the empty string."""
        return self.headers.get(name.lower(), "")


@dataclass(frozen=True)
class Response:
    """One response, as bytes. The server adds Content-Length where `headers` has none."""

    status: int
    body: bytes
    headers: Headers = ()


class Refusal(Exception):  # noqa: N818 - it is an answer, not an error
    """The sandbox says no: an HTTP status, a fixed text that repeats nothing of the request, and headers."""

    def __init__(self, status: int, error: str, headers: Headers = ()) -> None:
        super().__init__(status, error)
        self.status = status
        self.error = error
        self.headers = headers
