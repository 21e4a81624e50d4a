"""The words for what pydantic does not take: each problem with its place in one line.

No message repeats a value, because any value may be a secret or personal data.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from pydantic import ValidationError

from environments.profiles.checked_yaml import Document
from environments.profiles.explained import in_flow, rule_of
from environments.profiles.kinds import nearest, printable

_KINDS = {
    "string_type": "text",
    "bool_type": "true or false",
    "int_type": "a whole number",
    "float_type": "a number",
    "tuple_type": "a list",
    "frozen_set_type": "a list",
    "dict_type": "a mapping",
    "dataclass_type": "a mapping",
    "too_short": "a list",
    "string_too_short": "text",
}
_HINTS = {
    r"auth\..*": "secrets are named, never written: use token_env, token_command or token_file",
    r"requests\.registerPixKey": "the suite makes this body from accounts and pix_keys",
    r"fail_on\..*not-shown": "what the interface document does not show (not-shown) is observed and can never fail",
}
"""The remedies, by place and value, where the nearest known name would mislead."""


_UNKNOWN = "unexpected_keyword_argument"


def lines_of(error: ValidationError, read: Document) -> list[str]:
    """The problems, such as ``:7: limits.rate: expected a number``. Unknown keys come before what is missing because of
    them."""
    told = sorted(error.errors(include_url=False), key=lambda each: each["type"] != _UNKNOWN)
    return list(dict.fromkeys(_line(each, read) for each in told))


def _line(error: Any, read: Document) -> str:
    place = _place(error)
    steps = (f"[{step}]" if isinstance(step, int) else f".{printable(step)}" for step in place)
    shown = "".join(steps).removeprefix(".")
    return f"{read.line_of(place)}: {shown}{': ' if shown else ''}{_in_words(error, place)}"


def _place(error: Any) -> tuple[str | int, ...]:
    """Without what pydantic adds: which form of a header is meant, and [key] for a key that is wrong itself."""
    place: tuple[str | int, ...] = error["loc"]
    if place[:1] == ("headers",):
        return place[:2]
    return place[:-1] if place[-1:] == ("[key]",) and error["type"] != _UNKNOWN else place


def _in_words(error: Any, place: tuple[str | int, ...]) -> str:
    kind, value = error["type"], error["input"]
    around, rule = rule_of(*place[:-1]), rule_of(*place)
    names = around.get("propertyNames", {})
    known = around.get("properties") or names.get("enum")
    if kind == "json_invalid":
        return "nested too deeply; write it flatter"
    if known and (kind == _UNKNOWN or error["loc"][-1] == "[key]"):
        return f"unknown key; {_remedy(place, known)}"
    if kind == "literal_error":
        return f"unknown value; {_remedy((*place, value), rule['enum'])}"
    if kind == "value_error" and (words := str(error["ctx"]["error"])):
        return words
    expected = _expectation(kind, names if error["loc"][-1] == "[key]" else rule)
    if kind == "missing" and place == error["loc"]:
        return "; ".join(filter(None, ["missing", expected]))
    quotes = "text" in expected and isinstance(value, bool | int | float)
    hint = "; YAML reads 0001 as a number and NO as false: write it in quotes" if quotes else ""
    return (expected or error["msg"].removeprefix("Input ")) + hint


def _remedy(place: tuple[Any, ...], known: Any) -> str:
    where = ".".join(map(str, place))
    hints = (hint for pattern, hint in _HINTS.items() if re.fullmatch(pattern, where))
    return next(hints, nearest(str(place[-1]), known, _one_of(known)))


def _one_of(names: Iterable[str]) -> str:
    """The remedy where no known name is near."""
    return f"expected one of {', '.join(names)}"


def _expectation(kind: str, rule: dict[str, Any]) -> str:
    """In the words of the rule, or by type and example; empty where neither says it."""
    if "enum" in rule:
        return _one_of(rule["enum"])
    words = rule.get("errorMessage") or (f"expected {_KINDS[kind]}" if kind in _KINDS else "")
    example = rule.get("examples", [{}])[0]
    return words if not words or isinstance(example, bool | dict) else f"{words}, such as {in_flow(example)}"
