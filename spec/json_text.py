"""RFC 8259 to the letter: what `json.loads` forgives is a deviation here, what exceeds us is said.

Numbers become `Decimal`, so that integers of any size and `1.0` can be told from `1.5`.
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
MAX_DIGITS = 1_000
MAX_VALUES = 100_000
"""More of them would take hundreds of megabytes of memory."""
_STRING_OR_BRACKET = re.compile(
    r'"(?:[^"\\]++|\\.)*+"?|[\[\]{}]', re.DOTALL
)  # possessive: no stack that grows with a text


_HOLDERS = (dict, list)
"""Types of the values that hold others. A tuple, because a union is made anew for each value that is asked about."""


@dataclass(frozen=True)
class HugeNumber:
    """A JSON number of more digits than are worth computing with."""

    integral: bool


class JsonObject(dict[str, Any]):
    """A JSON object that also finds its members by misspelled names."""

    @cached_property
    def by_folded_name(self) -> dict[str, str]:
        """The first name as written, by folded name."""
        names = list(reversed(self))
        folded_names = _without_case_and_separators("\n".join(names)).split("\n")
        if len(folded_names) != len(names):  # a name has a line end
            folded_names = list(map(folded, names))
        return dict(zip(folded_names, names, strict=True))


@lru_cache(10_000)
def folded(name: str) -> str:
    """A member name without letter case and separators. A misspelled name and the right one have it in common."""
    return _without_case_and_separators(name)


def _without_case_and_separators(text: str) -> str:
    """Text without letter case and separators. One text of 50,000 names takes a tenth of the time of 50,000 texts."""
    return text.casefold().replace("_", "").replace("-", "").replace(" ", "")


@dataclass(frozen=True)
class JsonText:
    """A body read as JSON: the value, or why there is none.

    `error` says why the text is not JSON, which is a deviation; where that is NaN or Infinity alone, there is a value,
    which has null in its place. `limit` names the limit of the suite that the text exceeds, which is no deviation.
    """

    value: Any = None
    error: Text = ""
    limit: Text = ""
    repeated: tuple[str, ...] = ()
    byte_order_mark: bool = False

    @property
    def readable(self) -> bool:
        """True if it is JSON, and no limit is exceeded."""
        return not self.error and not self.limit


def read_json(body: bytes) -> JsonText:
    """Read a whole body as one JSON text (RFC 8259 sections 2 to 8)."""
    marked = body.startswith(b"\xef\xbb\xbf")
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if body.startswith(b"\x1f\x8b"):  # RFC 1952 section 2.3.1
            return JsonText(error=say("the body is gzip, not text"))
        return JsonText(error=say("byte {position} is not UTF-8", position=error.start))
    if not text.strip(" \t\r\n"):
        return JsonText(error=say("the body is empty"))
    if limit := _exceeded(text):
        return JsonText(limit=limit)
    return _parse(text, marked)


def is_integer(value: object) -> bool:
    """An integer in the sense of JSON Schema: `1`, `1.0` and `1e2`, not `true`, not `"1"`."""
    if not isinstance(value, Decimal):
        return isinstance(value, HugeNumber) and value.integral
    _, digits, exponent = value.as_tuple()
    return isinstance(exponent, int) and (exponent >= 0 or not any(digits[exponent:]))


def is_number(value: object) -> bool:
    """A JSON number of any size."""
    return isinstance(value, Decimal | HugeNumber)


def leaves_of(value: Any, path: JsonPath = ()) -> list[tuple[JsonPath, Any]]:
    """Every value inside that holds no other, with the names and places that lead to it."""
    leaves: list[tuple[JsonPath, Any]] = []
    _add_leaves(leaves, value, path)
    return leaves


def _add_leaves(leaves: list[tuple[JsonPath, Any]], value: Any, path: JsonPath) -> None:
    """Add the leaves of a value. One list takes all of them: a list for each level would copy a deep leaf each time."""
    if not value or not isinstance(value, _HOLDERS):
        leaves.append((path, value))
        return
    parts = value.items() if isinstance(value, dict) else enumerate(value)
    for name, part in parts:
        if part and isinstance(part, _HOLDERS):
            _add_leaves(leaves, part, (*path, name))
        else:
            leaves.append(((*path, name), part))


def texts_in(value: Any) -> Iterator[str]:
    """Every string inside that is no name of a member."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, _HOLDERS):
        for part in value.values() if isinstance(value, dict) else value:
            if isinstance(part, str):
                yield part
            elif isinstance(part, _HOLDERS):
                yield from texts_in(part)


def pointer(*path: str | int) -> str:
    """The JSON pointer that leads there (RFC 6901)."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


def parts_of_pointer(pointer: str) -> list[str]:
    """The names and places of a JSON pointer (RFC 6901)."""
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


def _parse(text: str, marked: bool) -> JsonText:
    repeated: list[str] = []
    constants: list[str] = []  # names of what is no value: appending gives None in its place

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = JsonObject(pairs)
        if len(found) < len(pairs):
            repeated.extend(sorted(name for name, times in Counter(name for name, _ in pairs).items() if times > 1))
        return found

    try:
        value = json.loads(
            text, object_pairs_hook=members, parse_int=_integer, parse_float=_number, parse_constant=constants.append
        )
    except json.JSONDecodeError as error:
        return JsonText(error=say("{error} at character {position}", error=say(error.msg), position=error.pos))
    wrong = say("{name} is not a JSON value", name=constants[0]) if constants else ""
    return JsonText(value, wrong, repeated=tuple(repeated), byte_order_mark=marked)


def _integer(text: str) -> Decimal | HugeNumber:
    """A number without fraction and exponent. Lists hold thousands of them."""
    return Decimal(text) if len(text) <= MAX_DIGITS else HugeNumber(integral=True)


def _number(text: str) -> Decimal | HugeNumber:
    mantissa, _, exponent = text.lower().partition("e")
    if len(mantissa) > MAX_DIGITS or len(exponent.lstrip("+-0")) > 3:
        fraction = mantissa.partition(".")[2]
        return HugeNumber(integral=not exponent.startswith("-") and not fraction.strip("0"))
    return Decimal(text)


def _exceeded(text: str) -> Text:
    """The limit that a text exceeds, found before the text is parsed; empty where there is none."""
    has_few_values = text.count('"') <= 2 * MAX_VALUES and text.count(",") <= MAX_VALUES
    if has_few_values and text.count("[") + text.count("{") <= MAX_DEPTH:
        return ""
    depth, many = 0, say("more than {most} values", most=MAX_VALUES)
    for count, match in enumerate(_STRING_OR_BRACKET.finditer(text)):
        mark = match[0]
        depth += (mark in "[{") - (mark in "]}")
        if depth > MAX_DEPTH:
            return say("nested deeper than {most} levels", most=MAX_DEPTH)
        if count > 2 * MAX_VALUES:  # a member has two strings
            return many
    return many if text.count(",") > MAX_VALUES else ""


def as_bytes(value: Any) -> bytes:
    """The JSON text of a value in UTF-8; what UTF-8 cannot hold (half a surrogate pair) is escaped."""
    try:
        return json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return json.dumps(value).encode()
