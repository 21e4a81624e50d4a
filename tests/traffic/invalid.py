"""Invalid requests: one case for each class of errors that a client makes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from environments.door.authorization import INVALID_CREDENTIALS
from spec.interface import MARK, operations
from spec.json_text import as_bytes
from tests.traffic.case import JSON, Case, Form, synthetic_bytes, synthetic_text

LONG, LONGER, LONGEST = 300, 5_000, 110_000
"""Longer than a column of 255, than a buffer of 4 KiB, than a text of 64 KiB and the 100 kB that some read of a body."""

PATH_PARAMETERS: Mapping[str, str | bytes] = {
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
    "a query that is no UTF-8": "?a=%ff&a=&&=",
}
LONG_QUERY = f"?{MARK}=" + "x" * 2 * LONGER
"""Longer than the 8 KiB that many servers take of the first line of a request."""
COMMON_QUERIES = tuple(QUERIES)[:1]
"""Those that every operation gets."""
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
    "long, and cut short": b'{"' + _M + b"x" * LONGEST,
    "no UTF-8": b'{"pixKey": "' + _M + b'\xff\xfe"}',
    "UTF-16": f'{{"pixKey": "{MARK}"}}'.encode("utf-16"),
    "a byte order mark": b"\xef\xbb\xbf{}",
    "NUL bytes": b"\0\0\0",
    "white space": b" \r\n\t",
    "an array": b"[]",
    "a full array": b"[{}, null]",
    "a text": b'"' + _M + b'"',
    "null": b"null",
    "a boolean": b"true",
    "a number": b"-1",
    "an empty object": b"{}",
    "deeply nested": b'{"a":' * _DEEP + b"1" + b"}" * _DEEP,
    "very deeply nested": b"[" * _DEEPER + b"]" * _DEEPER,
    "strange names": as_bytes({"": 1, "__proto__": {MARK: 1}, "$ref": MARK, "a.b[0]": 1, "ação": 1, "\0": 1}),
}
"""Bodies that are no object, no JSON or no text."""
ANYWHERE = (
    "empty", "cut short", "a trailing comma", "NaN", "no UTF-8", "a byte order mark", "an array", "a full array",
    "a text", "null", "a number", "an empty object", "very deeply nested",
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
    True: ("null", "a number", "an empty text", "an object", "an array"),
    False: ("null", "a boolean", "a number", "zero", "a huge number", "text", "an object", "an array"),
}
"""What stands in place of a text, and of anything else. An empty text in place of a number is read as text, null or 0."""
COMMON_VALUES = ("null", "a number", "a huge number", "text", "an empty text", "an object")
"""Those that every member gets; the members of a registration, an amount, and the hardest member get them all."""
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

COMMON_TYPES = ("missing", "a form", "a form without a boundary", "XML")
"""Those that every operation with a body gets; the registration gets them all."""
COMMON_SHAPES = ("members that stand twice", "a member that is not documented")
"""Those that every operation with a body gets: how large a body may be is the same for all of them."""
CREDENTIALS = {name: name for name in ("no header", "a wrong token", *INVALID_CREDENTIALS)}
"""What stands in place of the valid token; the registration and the list of accounts get them all."""
COMMON_CREDENTIALS = tuple(CREDENTIALS)[:3]
"""Those that every operation gets."""


def with_each(
    case: Case, part: str, field: str, values: Mapping[str, Any], names: Iterable[str] | None = None
) -> Iterator[Case]:
    """The case with one part of the request replaced by each of the values, or by those that are named."""
    for what in values if names is None else names:
        yield replace(case, where=part, what=what, **{field: values[what]})


def with_member(
    case: Case, form: Form, member: str, values: Mapping[str, Any], names: Iterable[str] | None = None
) -> Iterator[Case]:
    """The case with one member of its body replaced by each of the values, or by those that are named."""
    bodies = {
        what: as_bytes({**form, member: value}) for what, value in values.items() if names is None or what in names
    }
    return with_each(case, member, "body", bodies)


def with_parameter(case: Case, names: Iterable[str]) -> Iterator[Case]:
    """The case with synthetic path parameters, and with its body: a service may read that first."""
    for each in with_each(
        case, operations()[case.operation].path_parameter or "", "path_parameter", PATH_PARAMETERS, names
    ):
        yield replace(each, raw=each.what == RAW)


def without_each_member(case: Case, form: Form) -> Iterator[Case]:
    """The case without one of the members of its body."""
    for name in form:
        rest = {other: value for other, value in form.items() if other != name}
        yield replace(case, where=name, what="missing", body=as_bytes(rest))


def with_other_type(case: Case, form: Form, member: str, names: Iterable[str]) -> Iterator[Case]:
    """The case with a member of another type: text in place of a number and so on."""
    chosen = [name for name in OTHER_TYPES[isinstance(form[member], str)] if name in names]
    return with_member(case, form, member, VALUES, chosen)


def with_other_shapes(case: Case, form: Form, names: Iterable[str] | None) -> Iterator[Case]:
    """The case with members that stand twice or that are not documented."""
    text = as_bytes(form)
    bodies = {
        "members that stand twice": text[:-1] + b", " + text[1:],
        "a member that is not documented": as_bytes({**form, MARK: {MARK: [None]}}),
        "a large member beside it": as_bytes({**form, MARK: "x" * 2 * LONGEST}),
    }
    return with_each(case, "body", "body", bodies, names)
