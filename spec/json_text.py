"""Reading of JSON strictly as in RFC 8259.

Texts that `json.loads` accepts against this standard, such as NaN, are an error here. A text that is too large for the
suite is no error, because the service may be right: the result names the limit. Numbers become `Decimal`, so that an
integer of any size, or `1.0`, can be distinguished from `1.5`.
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
"""The member names and array indexes that lead to a value, from the outside."""
MAX_DEPTH = 100
"""Most levels of a text. Functions that read a value call themselves for each level, some of them several times, and
Python stops at 1,000 calls inside each other."""
MAX_DEPTH_OF_A_REQUEST = 500
"""Most levels of a body of the suite that is parsed. Deeper bodies are only sent, to see whether a service survives."""
MAX_DIGITS = 1_000
"""Most digits of a number that is computed with. Of a longer number only this is known: whether it is an integer."""
MAX_VALUES = 100_000
"""Most values of a text. More of them would take hundreds of megabytes of memory."""
_LARGEST_EXPONENT_DIGITS = 3
"""Most digits of an exponent that is computed with: 1e9999999 would have millions of digits."""
_STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[\]{}]', re.DOTALL)
"""A string, which may end with the text, or a bracket. Possessive, so that no stack grows with the text."""
_STRING_EMPTY_BRACKETS_BRACKET_OR_COMMA = re.compile(
    r'"(?:[^"\\]++|\\.)*+"?|\[[ \t\r\n]*+\]|\{[ \t\r\n]*+\}|[\[\]{},]', re.DOTALL
)
"""A string, an array or object without members, any other bracket, or a comma. Signs in a string are part of the
string."""

_OBJECT_OR_ARRAY = (dict, list)
"""Types of the values that hold other values. They are a tuple, because `dict | list` would be made again for each
value, which takes time."""


@dataclass(frozen=True)
class HugeNumber:
    """A JSON number of more digits than are worth computing with."""

    integral: bool
    """True if it is an integer."""


class JsonObject(dict[str, Any]):
    """A JSON object that also finds its members by misspelled names, such as `account_type` for `accountType`."""

    @cached_property
    def by_folded_name(self) -> dict[str, str]:
        """The names of the members by their folded names, that is, without letter case and separators.

        So `by_folded_name["accounttype"]` is `account_type` if the object has that member. If two names have the same
        folded name, the first one is returned.
        """
        names = list(reversed(self))  # so that of two equal folded names `dict` below keeps the first one
        # All names are folded as one text, with a line each, because that is ten times quicker.
        folded_names = _without_case_and_separators("\n".join(names)).split("\n")
        if len(folded_names) != len(names):  # a name with a line end in it became two lines
            folded_names = list(map(folded, names))
        return dict(zip(folded_names, names, strict=True))


@lru_cache(10_000)
def folded(name: str) -> str:
    """A member name without letter case and separators: `accounttype` for `accountType` and for `Account_Type`.

    It is the same for a documented name and its misspellings, so that these can be recognized.
    """
    return _without_case_and_separators(name)


def _without_case_and_separators(text: str) -> str:
    """The text in small letters, without underscores, hyphens and blanks."""
    return text.casefold().replace("_", "").replace("-", "").replace(" ", "")


@dataclass(frozen=True)
class JsonText:
    """A body read as JSON: the value, or why there is none."""

    value: Any = None
    error: Text = ""
    """Why the text is not JSON, which is a deviation. If only NaN or Infinity is wrong, there is a value nevertheless,
    with null in its place."""
    why_not_read: Text = ""
    """The limit of the suite that the text exceeds, which is no deviation."""
    repeated: tuple[str, ...] = ()
    """Names that an object has twice."""
    byte_order_mark: bool = False

    @property
    def readable(self) -> bool:
        """True if the text is JSON, and exceeds no limit of the suite."""
        return not self.error and not self.why_not_read


def read_json(body: bytes) -> JsonText:
    """Read a whole body as one JSON text (RFC 8259 sections 2 to 8). Raises nothing: errors are part of the result."""
    has_byte_order_mark = body.startswith(b"\xef\xbb\xbf")
    try:
        text = body.decode("utf-8-sig")  # without a byte order mark, about which another rule warns
    except UnicodeDecodeError as error:
        if body.startswith(b"\x1f\x8b"):  # the first bytes of gzip (RFC 1952 section 2.3.1)
            return JsonText(error=say("the body is gzip, not text"))
        return JsonText(error=say("byte {position} is not UTF-8", position=error.start))
    if not text.strip(" \t\r\n"):
        return JsonText(error=say("the body is empty"))
    limit = _exceeded_limit(text)
    if limit:
        return JsonText(why_not_read=limit)
    return _parse(text, has_byte_order_mark=has_byte_order_mark)


def is_integer(value: object) -> bool:
    """True for an integer in the sense of JSON Schema: `1`, `1.0` and `1e2`, not `true`, not `"1"`."""
    if isinstance(value, HugeNumber):
        return value.integral
    if not isinstance(value, Decimal):
        return False
    _, digits, exponent = value.as_tuple()  # 12.50 has the digits (1, 2, 5, 0) and the exponent -2
    if not isinstance(exponent, int):  # NaN and Infinity have a letter instead of an exponent
        return False
    digits_after_the_point = digits[exponent:] if exponent < 0 else ()
    return not any(digits_after_the_point)  # all of them are 0


def is_number(value: object) -> bool:
    """True for a JSON number of any size."""
    return isinstance(value, Decimal | HugeNumber)


def leaves_of(value: Any, path: JsonPath = ()) -> list[tuple[JsonPath, Any]]:
    """Every value inside a JSON value that holds no other value, with its path.

    A path has the member names and array indexes that lead to a value: the leaf of {"data": {"keys": ["a"]}} is
    (("data", "keys", 0), "a"). Each path begins with `path`. Empty objects and arrays are leaves, too.
    """
    leaves: list[tuple[JsonPath, Any]] = []
    _add_leaves(leaves, value, path)
    return leaves


def _add_leaves(leaves: list[tuple[JsonPath, Any]], value: Any, path: JsonPath) -> None:
    """Add the leaves of a value (the values inside that hold no other value) to a list.

    One list is filled for all levels, because lists of each level would be copied again and again.
    """
    if not value or not isinstance(value, _OBJECT_OR_ARRAY):
        leaves.append((path, value))
        return
    members = value.items() if isinstance(value, dict) else enumerate(value)
    for name, member in members:
        if member and isinstance(member, _OBJECT_OR_ARRAY):
            _add_leaves(leaves, member, (*path, name))
        else:  # the most frequent case, without a call
            leaves.append(((*path, name), member))


def texts_in(value: Any) -> Iterator[str]:
    """Every string inside a JSON value, without the names of members."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, _OBJECT_OR_ARRAY):
        members = value.values() if isinstance(value, dict) else value
        for member in members:
            if isinstance(member, str):
                yield member
            elif isinstance(member, _OBJECT_OR_ARRAY):
                yield from texts_in(member)


def pointer(*path: str | int) -> str:
    """The JSON pointer of a path (RFC 6901): `pointer("data", "keys", 0)` is `/data/keys/0`."""
    text = ""
    for part in path:
        escaped_part = str(part).replace("~", "~0").replace("/", "~1")
        text += "/" + escaped_part
    return text


def parts_of_pointer(pointer: str) -> list[str]:
    """The member names and array indexes of a JSON pointer (RFC 6901): `["data", "keys", "0"]` for /data/keys/0."""
    after_first_slash = pointer.split("/")[1:]  # a pointer begins with a slash, so its first part is always empty
    return [part.replace("~1", "/").replace("~0", "~") for part in after_first_slash]


def _parse(text: str, *, has_byte_order_mark: bool) -> JsonText:
    """Read a text that exceeds no limit of the suite as JSON.

    NaN, Infinity and repeated member names, which `json.loads` accepts, are noted in the result.
    """
    repeated_names: list[str] = []
    constants: list[str] = []  # NaN and Infinity. `append` returns None, so the value has null instead of them

    def object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        """The object with these members, each of which is a name and a value. Notes each name that two members have."""
        members = JsonObject(pairs)
        if len(members) < len(pairs):  # a name is repeated
            times_by_name = Counter(name for name, _ in pairs)
            names = [name for name, times in times_by_name.items() if times > 1]
            repeated_names.extend(sorted(names))
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
    """The value of a number without fraction and exponent; a HugeNumber if it has too many digits to compute with."""
    return Decimal(text) if len(text) <= MAX_DIGITS else HugeNumber(integral=True)


def _number(text: str) -> Decimal | HugeNumber:
    """The value of a number with a fraction or an exponent, such as 1.5 or 2e10.

    The result is a HugeNumber if the number has so many digits that computing with it would take long, such as
    1e9999999.
    """
    mantissa, _, exponent = text.lower().partition("e")  # "1.5e3" has the mantissa 1.5 and the exponent 3
    digits_of_exponent = exponent.lstrip("+-0")  # without leading zeros
    mantissa_is_short = len(mantissa) <= MAX_DIGITS
    exponent_is_short = len(digits_of_exponent) <= _LARGEST_EXPONENT_DIGITS
    if mantissa_is_short and exponent_is_short:
        return Decimal(text)
    digits_after_the_point = mantissa.partition(".")[2]
    has_fraction = bool(digits_after_the_point.strip("0"))
    return HugeNumber(integral=not has_fraction and not exponent.startswith("-"))


def is_nested_deeper_than(levels: int, body: bytes) -> bool:
    """True if the arrays and objects of a body are nested more than `levels` deep.

    Callers do not parse such a body. CPython 3.11 ends the process if a parser reaches the end of its stack while
    another thread changes the limit of the stack, as Hypothesis does ("Cannot recover from stack overflow").
    """
    if body.count(b"[") + body.count(b"{") <= levels:
        return False  # so few brackets cannot be nested deeper; this is quick, and enough for most bodies
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
    """The limit of the suite that a JSON text exceeds, such as "more than 100000 values"; empty if there is none.

    It is found before the text is parsed, because parsing would take the memory that the limit saves.
    """
    # A text has at most one value more than it has commas and opening brackets. Most texts have so few of them that
    # nothing else has to be counted.
    brackets = text.count("[") + text.count("{")
    if brackets <= MAX_DEPTH and text.count(",") + brackets < MAX_VALUES:
        return ""
    depth = 0
    values = 1  # the outermost one
    for match in _STRING_EMPTY_BRACKETS_BRACKET_OR_COMMA.finditer(text):
        token = match[0]
        is_empty_array_or_object = token[0] in "[{" and len(token) > 1
        is_opening_bracket = token in ("[", "{")
        if is_opening_bracket:
            depth += 1
        elif token in ("]", "}"):
            depth -= 1
        # The first value in an array or object follows its opening bracket, and each further one follows a comma.
        if is_opening_bracket or token == ",":
            values += 1
        levels = depth + 1 if is_empty_array_or_object else depth
        if levels > MAX_DEPTH:
            return say("nested deeper than {most} levels", most=MAX_DEPTH)
        if values > MAX_VALUES:
            return say("more than {most} values", most=MAX_VALUES)
    return ""


def as_bytes(value: Any) -> bytes:
    """The JSON text of a value in UTF-8, as the run sends it in the body of a request."""
    try:
        return json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:  # a half of a surrogate pair, which UTF-8 cannot hold
        return json.dumps(value).encode()  # with escapes such as \ud800
