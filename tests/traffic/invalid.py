"""Invalid requests: one case for each class of errors that a client makes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from environments.door.authorization import INVALID_CREDENTIALS
from spec.interface import MARK, operations
from tests.traffic.case import JSON, NAMED_TYPES, Case, as_bytes, synthetic_bytes, synthetic_text

LONG, LONGER, LONGEST = 300, 5_000, 70_000
"""Longer than a column of 255, than a buffer of 4 KiB, than a text of 64 KiB."""

ARGUMENTS: Mapping[str, str | bytes] = {
    "unknown": synthetic_text("0"),
    "over-long": synthetic_text("x" * LONG),
    "very long": synthetic_text("9" * LONGER),
    "with a slash": synthetic_text("a/b"),
    "with an encoded slash": synthetic_text("%2f%2F"),
    "with a percent sign": synthetic_text("%"),
    "percent-encoded twice": synthetic_text("%252f%00%0a"),
    "with NUL": synthetic_text("\0"),
    "with a line break": synthetic_text("\r\nX-Pixconf: 1"),
    "with a space": synthetic_text(" a "),
    "with a question mark": synthetic_text("?a=1#b"),
    "with quotes": synthetic_text("'\"`"),
    "with an injection": synthetic_text("' OR '1'='1' -- "),
    "with braces": synthetic_text("{0}${7*7}%s%n"),
    "with brackets": synthetic_text("<[(&;)]>"),
    "with a backslash": synthetic_text("\\..\\"),
    "with dots": synthetic_text(".."),
    "with accents": synthetic_text("ação"),
    "outside the basic plane": synthetic_text("🏦"),
    "right to left": synthetic_text("\u202e\u05e9\u05dc"),
    "that is no UTF-8": synthetic_bytes(b"\xff\xc0\x80"),
    "with half a surrogate pair": synthetic_bytes(b"\xed\xa0\x80"),
    "with reserved characters": synthetic_text(";,:@&=+$!'()*~"),
}
EVERYWHERE = (
    "unknown",
    "over-long",
    "very long",
    "with a slash",
    "percent-encoded twice",
    "with NUL",
    "with quotes",
    "with accents",
    "that is no UTF-8",
    "with reserved characters",
)
"""Those that every operation with a path parameter gets; the execution gets them all."""
RAW = "with reserved characters"
"""Its characters go as they are: a path segment may hold them."""
QUERIES: Mapping[str, str] = {
    "a query": f"?{MARK}=1&page=-1&limit=99999999999&sort[]=a&filter={{}}",
    "a query that is no UTF-8": "?a=%ff&a=%zz&&=",
}
_DEEP, _DEEPER = 200, 20_000
_M = MARK.encode()
TEXTS: Mapping[str, bytes] = {
    "empty": b"",
    "cut short": b'{"' + _M,
    "no JSON": _M,
    "two values": b"{}{}",
    "single quotes": b"{'account': '" + _M + b"'}",
    "a trailing comma": b'{"account": "' + _M + b'",}',
    "NaN": b'{"value": NaN, "pixKey": NaN}',
    "a huge exponent": b'{"value": 1e999999, "date": -1e400, "pixKey": -1e400}',
    "many digits": b'{"value": ' + b"9" * LONGER + b', "pixKey": -' + b"9" * LONGER + b"}",
    "a control character": b'{"pixKey": "' + _M + b'\x01\n"}',
    "no UTF-8": b'{"pixKey": "' + _M + b'\xff\xfe"}',
    "UTF-16": f'{{"pixKey": "{MARK}"}}'.encode("utf-16"),
    "a byte order mark": b"\xef\xbb\xbf{}",
    "NUL bytes": b"\0\0\0",
    "white space": b" \r\n\t",
    "an array": b"[]",
    "an array of objects": b"[{}, {}]",
    "a text": b'"' + _M + b'"',
    "null": b"null",
    "a boolean": b"true",
    "a number": b"0",
    "an empty object": b"{}",
    "deeply nested": b'{"a":' * _DEEP + b"1" + b"}" * _DEEP,
    "very deeply nested": b"[" * _DEEPER + b"]" * _DEEPER,
    "strange names": as_bytes({"": 1, "__proto__": {MARK: 1}, "$ref": MARK, "a.b[0]": 1, "ação": 1, "\0": 1}),
}
"""Bodies that are no object, no JSON or no text."""
ANYWHERE = (
    "empty", "cut short", "a trailing comma", "NaN", "no UTF-8", "a byte order mark", "an array", "a text", "null",
    "a number", "an empty object", "very deeply nested",
)  # fmt: skip
"""Those that every operation with a body gets; the registration gets them all."""
UNREADABLE = ("cut short", "no UTF-8")
"""Those that go to an account of the profile in a deletion, too. The others, read carelessly, ask to delete whatever is
there."""
VALUES: Mapping[str, Any] = {
    "null": None,
    "a boolean": True,
    "a number": -1,
    "text": f"{MARK}text",
    "an empty text": "",
    "an object": {},
    "an array": [],
    "zero": 0,
    "a huge number": 10**40,
}
"""Values of every JSON type."""
OTHER_TYPES: Mapping[bool, tuple[str, ...]] = {
    True: ("null", "a number", "text", "an empty text", "an object", "an array"),
    False: ("null", "a boolean", "a number", "zero", "a huge number", "text", "an empty text", "an object", "an array"),
}
"""What stands in place of a text, and of anything else."""
STRINGS: Mapping[str, str] = {
    "an over-long text": synthetic_text("x" * LONG),
    "a long text": synthetic_text("x" * LONGER),
    "a very long text": synthetic_text("x" * LONGEST),
    "text outside ASCII": f"{MARK}ação-π",
    "text outside the basic plane": f"{MARK}🏦",
    "text with NUL": f"{MARK}\0",
    "text with line breaks": f"{MARK}\r\n\u2028",
    "text with half a surrogate pair": f"{MARK}\ud800",
    "text with quotes": f"{MARK}'\"; DROP TABLE keys; --",
    "text with braces": f"{MARK}{{0}}${{7*7}}%s%n<b>",
    "a blank text": f"{MARK} ",
}
"""Texts that are hard to hold."""
HARDEST = (
    "an over-long text", "a very long text", "text outside ASCII", "text with NUL", "text with quotes",
    "text with half a surrogate pair",
)  # fmt: skip
"""Those that every operation with a body gets; the registration and the deletion get them all."""
OVERFLOWING = ("an over-long text", "text outside ASCII", "text with NUL", "text with quotes")
"""Those that every other member with a text gets: what a column cannot hold."""
CONTENT_TYPES: Mapping[str, str | None] = {
    "missing": None,
    "text/plain": "text/plain",
    "a form": "application/x-www-form-urlencoded",
    "a form without a boundary": "multipart/form-data",
    "XML": "application/xml",
    "another charset": f"{JSON}; charset=utf-16",
    "an unknown charset": f"{JSON}; charset={MARK}",
    "no media type": ";;;/",
    "over-long": f"{JSON}; a={'x' * LONG}",
}

COMMON_TYPES = ("missing", "text/plain", "a form", "XML")
"""Those that every operation with a body gets; the registration gets them all."""
CREDENTIALS = ("no header", "a wrong token", *INVALID_CREDENTIALS)
"""What stands in place of the valid token; the registration and the list of accounts get them all."""
COMMON_CREDENTIALS = CREDENTIALS[:3]
"""Those that every operation gets."""


def argument_cases(operation: str, body: bytes | None, names: Iterable[str] = ARGUMENTS) -> Iterator[Case]:
    """Synthetic path parameters, with a body that can be read: a service may read that first."""
    name = operations()[operation].path_parameter or ""
    for what in names:
        yield Case(operation, name, what, ARGUMENTS[what], body, raw=what == RAW)


def query_cases(operation: str, argument: str | None, body: bytes | None) -> Iterator[Case]:
    """Undocumented queries."""
    for what, query in QUERIES.items():
        yield Case(operation, "query", what, argument, body, query=query)


def text_cases(operation: str, argument: str | None, names: Iterable[str] = TEXTS) -> Iterator[Case]:
    """Bodies that are no object, no JSON or no text."""
    for name in names:
        yield Case(operation, "body", name, argument, TEXTS[name])


def missing_cases(operation: str, argument: str | None, body: Mapping[str, Any]) -> Iterator[Case]:
    """The body without one of its members."""
    for name in body:
        rest = {other: value for other, value in body.items() if other != name}
        yield Case(operation, name, "missing", argument, as_bytes(rest))


def value_cases(
    operation: str, argument: str | None, body: Mapping[str, Any], values: Iterable[str] = VALUES
) -> Iterator[Case]:
    """The body with one member of another type: text in place of a number and so on."""
    for name, valid in body.items():
        for what in OTHER_TYPES[isinstance(valid, str)]:
            if what in values:
                yield Case(operation, name, what, argument, as_bytes({**body, name: VALUES[what]}))


def string_cases(
    operation: str, argument: str | None, body: Mapping[str, Any], name: str, texts: Iterable[str] = STRINGS
) -> Iterator[Case]:
    """The body with the named member a text that is hard to hold."""
    for what in texts:
        yield Case(operation, name, what, argument, as_bytes({**body, name: STRINGS[what]}))


def key_type_cases(operation: str, argument: str | None, body: Mapping[str, Any]) -> Iterator[Case]:
    """The body with a key that is none of its type, for each type."""
    for name in NAMED_TYPES:
        yield Case(operation, "pixKey", f"no {name}", argument, as_bytes({**body, "pixKeyType": name}))


def shape_cases(operation: str, argument: str | None, body: Mapping[str, Any]) -> Iterator[Case]:
    """The body with members that stand twice or that are not documented."""
    text = as_bytes(body)
    yield Case(operation, "body", "members that stand twice", argument, text[:-1] + b", " + text[1:])
    yield Case(operation, "body", "a member that is not documented", argument, as_bytes({**body, MARK: {MARK: [None]}}))
    yield Case(operation, "body", "a large member beside it", argument, as_bytes({**body, MARK: "x" * 3 * LONGEST}))


def content_type_cases(
    operation: str, argument: str | None, body: bytes, names: Iterable[str] = CONTENT_TYPES
) -> Iterator[Case]:
    """The body under a Content-Type that does not fit, or under none."""
    for name in names:
        yield Case(operation, "Content-Type", name, argument, body, CONTENT_TYPES[name])


def credential_cases(
    operation: str, argument: str | None, body: bytes | None, names: Iterable[str] = CREDENTIALS
) -> Iterator[Case]:
    """A request that is harmless with the valid token, without it."""
    for name in names:
        yield Case(operation, "Authorization", name, argument, body, credential=name)
