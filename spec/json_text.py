"""Reading of JSON to the letter of RFC 8259.

What `json.loads` forgives, such as NaN, is an error here. A text that is too large for the suite is no error: it names
the limit. Numbers become `Decimal`, so that integers of any size and `1.0` can be told from `1.5`.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property, lru_cache
from typing import Any

from spec.message import Text, say

JsonPath = tuple[str | int, ...]
"""The names and places that lead to a value."""
MAX_DEPTH = 100
"""Levels of a text. Each costs several calls wherever a value is read, and Python stops at 1,000 of them."""
MAX_DEPTH_OF_A_REQUEST = 500
"""Levels of a body that the suite sends. Deeper ones are sent to see how a service takes them, and are not parsed."""
MAX_DIGITS = 1_000
"""Digits of a number that is computed with. Of a longer number only its being an integer matters."""
MAX_VALUES = 100_000
"""Values of a text. More of them would take hundreds of megabytes of memory."""
_LARGEST_EXPONENT_DIGITS = 3
"""Digits of an exponent that is computed with: 1e9999999 would have millions of digits."""
_STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[\]{}]', re.DOTALL)
"""A string, which may end with the text, or a bracket. Possessive, so that no stack grows with the text."""

_HOLDERS = (dict, list)
"""Types of the values that hold others. A tuple, because a union is made anew for each value that is asked about."""


@dataclass(frozen=True)
class HugeNumber:
    """A JSON number of more digits than are worth computing with."""

    integral: bool
    """True if it is an integer."""


class JsonObject(dict[str, Any]):
    """A JSON object that also finds its members by misspelled names."""

    @cached_property
    def by_folded_name(self) -> dict[str, str]:
        """The first name that stands for each folded name."""
        names = list(reversed(self))  # of equal ones, the last one written stays
        folded_names = _without_case_and_separators("\n".join(names)).split("\n")
        if len(folded_names) != len(names):  # a name has a line end
            folded_names = list(map(folded, names))
        return dict(zip(folded_names, names, strict=True))


@lru_cache(10_000)
def folded(name: str) -> str:
    """A member name without letter case and separators, which is the same for a name and its misspellings."""
    return _without_case_and_separators(name)


def _without_case_and_separators(text: str) -> str:
    """Text without letter case and separators. One text of 50,000 names takes a tenth of the time of 50,000 texts."""
    return text.casefold().replace("_", "").replace("-", "").replace(" ", "")


@dataclass(frozen=True)
class JsonText:
    """A body read as JSON: the value, or why there is none."""

    value: Any = None
    error: Text = ""
    """Why the text is not JSON, which is a deviation. If only NaN or Infinity is wrong, there is a value nevertheless,
    with null in its place."""
    limit: Text = ""
    """The limit of the suite that the text exceeds, which is no deviation."""
    repeated: tuple[str, ...] = ()
    """Names that an object has twice."""
    byte_order_mark: bool = False

    @property
    def readable(self) -> bool:
        """True if it is JSON, and no limit is exceeded."""
        return not self.error and not self.limit


def read_json(body: bytes) -> JsonText:
    """Read a whole body as one JSON text (RFC 8259 sections 2 to 8)."""
    has_byte_order_mark = body.startswith(b"\xef\xbb\xbf")
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if body.startswith(b"\x1f\x8b"):  # the first bytes of gzip (RFC 1952 section 2.3.1)
            return JsonText(error=say("the body is gzip, not text"))
        return JsonText(error=say("byte {position} is not UTF-8", position=error.start))
    if not text.strip(" \t\r\n"):
        return JsonText(error=say("the body is empty"))
    limit = _exceeded_limit(text)
    if limit:
        return JsonText(limit=limit)
    return _parse(text, has_byte_order_mark=has_byte_order_mark)


def is_integer(value: object) -> bool:
    """True for an integer in the sense of JSON Schema: `1`, `1.0` and `1e2`, not `true`, not `"1"`."""
    if isinstance(value, HugeNumber):
        return value.integral
    if not isinstance(value, Decimal):
        return False
    _, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):  # a letter stands there for NaN and Infinity
        return False
    return exponent >= 0 or not any(digits[exponent:])  # a negative exponent counts the digits after the point


def is_number(value: object) -> bool:
    """True for a JSON number of any size."""
    return isinstance(value, Decimal | HugeNumber)


def leaves_of(value: Any, path: JsonPath = ()) -> list[tuple[JsonPath, Any]]:
    """Every value inside that holds no other, with the names and places that lead to it from `path` on.

    Empty objects and arrays are leaves, too.
    """
    leaves: list[tuple[JsonPath, Any]] = []
    _add_leaves(leaves, value, path)
    return leaves


def _add_leaves(leaves: list[tuple[JsonPath, Any]], value: Any, path: JsonPath) -> None:
    """Add the leaves of a value. One list takes all of them: a list for each level would copy a deep leaf each time."""
    if not value or not isinstance(value, _HOLDERS):
        leaves.append((path, value))
        return
    members = value.items() if isinstance(value, dict) else enumerate(value)
    for name, member in members:
        if member and isinstance(member, _HOLDERS):
            _add_leaves(leaves, member, (*path, name))
        else:  # the most frequent case, without a call
            leaves.append(((*path, name), member))


def texts_in(value: Any) -> Iterator[str]:
    """Every string inside that is no name of a member."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, _HOLDERS):
        members = value.values() if isinstance(value, dict) else value
        for member in members:
            if isinstance(member, str):
                yield member
            elif isinstance(member, _HOLDERS):
                yield from texts_in(member)


def pointer(*path: str | int) -> str:
    """The JSON pointer of a path (RFC 6901): `pointer("data", "keys", 0)` is `/data/keys/0`."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


def parts_of_pointer(pointer: str) -> list[str]:
    """The names and places of a JSON pointer (RFC 6901)."""
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


def _parse(text: str, *, has_byte_order_mark: bool) -> JsonText:
    """Parse a text that exceeds no limit."""
    repeated_names: list[str] = []
    constants: list[str] = []  # NaN and Infinity. `append` returns None, which takes their place in the value

    def object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members = JsonObject(pairs)
        if len(members) < len(pairs):
            times = Counter(name for name, _ in pairs)
            repeated_names.extend(sorted(name for name in times if times[name] > 1))
        return members

    try:
        value = json.loads(
            text, object_pairs_hook=object_of, parse_int=_integer, parse_float=_number, parse_constant=constants.append
        )
    except json.JSONDecodeError as error:
        return JsonText(error=say("{error} at character {position}", error=say(error.msg), position=error.pos))
    error_of_constant = say("{name} is not a JSON value", name=constants[0]) if constants else ""
    return JsonText(value, error_of_constant, repeated=tuple(repeated_names), byte_order_mark=has_byte_order_mark)


def _integer(text: str) -> Decimal | HugeNumber:
    """A number without fraction and exponent. Lists hold thousands of them."""
    return Decimal(text) if len(text) <= MAX_DIGITS else HugeNumber(integral=True)


def _number(text: str) -> Decimal | HugeNumber:
    """The number that a text in the form of JSON stands for."""
    mantissa, _, exponent = text.lower().partition("e")
    is_long = len(mantissa) > MAX_DIGITS
    if not is_long and len(exponent.lstrip("+-0")) <= _LARGEST_EXPONENT_DIGITS:
        return Decimal(text)
    has_fraction = bool(mantissa.partition(".")[2].strip("0"))
    return HugeNumber(integral=not has_fraction and not exponent.startswith("-"))


def is_nested_deeper_than(levels: int, body: bytes) -> bool:
    """True if arrays and objects of a body stand in one another deeper than this.

    Such a body is not to be parsed. CPython 3.11 ends the process if a parser reaches the end of its stack while
    another thread changes the limit of the stack, as Hypothesis does ("Cannot recover from stack overflow").
    """
    if body.count(b"[") + body.count(b"{") <= levels:
        return False  # most bodies, without a look at their structure
    depth = 0
    for match in _STRING_OR_BRACKET.finditer(body.decode("utf-8", "replace")):
        if match[0] in "[{":
            depth += 1
        elif match[0] in "]}":
            depth -= 1
        if depth > levels:
            return True
    return False


def _exceeded_limit(text: str) -> Text:
    """The limit that a text exceeds, found before the text is parsed; empty if there is none."""
    has_few_values = text.count('"') <= 2 * MAX_VALUES and text.count(",") <= MAX_VALUES
    if has_few_values and text.count("[") + text.count("{") <= MAX_DEPTH:
        return ""  # most texts, without a look at their structure
    too_many_values = say("more than {most} values", most=MAX_VALUES)
    depth = 0
    for count, match in enumerate(_STRING_OR_BRACKET.finditer(text)):
        token = match[0]
        if token in "[{":
            depth += 1
        elif token in "]}":
            depth -= 1
        if depth > MAX_DEPTH:
            return say("nested deeper than {most} levels", most=MAX_DEPTH)
        if count > 2 * MAX_VALUES:  # a member has two strings
            return too_many_values
    return too_many_values if text.count(",") > MAX_VALUES else ""


def as_bytes(value: Any) -> bytes:
    """The JSON text of a value in UTF-8. Halves of surrogate pairs, which UTF-8 cannot hold, are escaped."""
    try:
        return json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return json.dumps(value).encode()
