"""What flows through the sandbox: a request, a response, the refusal of a request, and the fields of request bodies.

A field that is not as it should be is refused with 400, and never repeated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal

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


MAX_VALUE = 10**12
"""The largest amount, in reais: far below where a float, or an integer of SQLite, loses cents."""


def text(body: Mapping[str, object], name: str, default: str | None = None) -> str:
    """A string; without a default it is required."""
    value = body.get(name, default)
    if not isinstance(value, str) or not _is_unicode(value):
        raise Refusal(400, f"The field {name} holds a string.")
    return value


def cents(body: Mapping[str, object]) -> int:
    """A positive amount in reais with at most two decimals, as cents."""
    value = body.get("value")
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= MAX_VALUE:
        raise Refusal(400, f"The field value holds a positive number, at most {MAX_VALUE}.")
    amount = Decimal(str(value)) * 100
    if amount % 1:
        raise Refusal(400, "The field value has at most two decimals.")
    return int(amount)


def milliseconds(body: Mapping[str, object]) -> int:
    """A point in time in milliseconds since 1970, as the execution result has it."""
    value = body.get("date")
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**53:
        raise Refusal(400, "The field date holds milliseconds since 1970 as an integer.")
    return value


def _is_unicode(value: str) -> bool:
    """JSON can escape half of a surrogate pair, which neither UTF-8 nor SQLite can hold."""
    return value.isascii() or not any("\ud800" <= character <= "\udfff" for character in value)
