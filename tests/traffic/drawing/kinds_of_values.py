"""The kinds of the values in a request, such as "zero" and "missing". Of requests with the same kinds, one is sent.

If a service is faulty for one value of a kind, it is probably faulty for all values of the kind.
"""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Any

from spec.interface import SYNTHETIC_PREFIX
from tests.traffic.case import DOCUMENTED_MEMBERS, TYPES_EXCEPT_RANDOM, Case
from tests.traffic.unusual_texts import LENGTHS

_BOUNDS = (
    0.005,  # less than a cent
    1_000,
    2**31,  # 32 bits
    4_102_444_800_000,  # the year 2100 in milliseconds
    253_402_300_799_999,  # the end of the year 9999 in milliseconds
    2**53 - 1,  # the largest integer that a double holds exactly
    2**63,  # 64 bits
)
"""Bounds between the sizes of numbers: a number has another size if it is above another bound."""
_SHORT_NUMBER_OR_DATE = re.compile(r"[0-9][0-9.,/:TZ+-]{0,29}")
"""A number or a date as text: digits with signs between them. At most 30 characters is a choice."""
_Kinds = dict[str, str]
"""By member of the body, the kind of its value, such as "zero" or "missing". The empty name stands for the path
parameter."""


def kinds_of_values(case: Case) -> _Kinds:
    """The kind of each value in a case (a request), by member: {"": "zero", "value": "negative", "account": "missing"}.

    The empty name means the path parameter. If the body is no object, its kind stands under the name "body". Of
    requests whose values are of the same kinds, only the first is sent.
    """
    kinds = {"": _kind_of_value(case.path_parameter)}
    body = json.loads(case.body) if case.body else None
    if not isinstance(body, dict):
        # Numbers and booleans are one kind, and all texts: a service that expects an object refuses them alike.
        if isinstance(body, str):
            return {**kinds, "body": "a text"}
        kind_of_body = "a number or a boolean" if isinstance(body, int | float) else _kind_of_value(body)
        return {**kinds, "body": kind_of_body}
    missing = dict.fromkeys(DOCUMENTED_MEMBERS.get(case.operation, {}), "missing")
    kinds_of_members = {name: _kind_of_value(value) for name, value in body.items()}
    return {**kinds, **missing, **kinds_of_members}


def _kind_of_value(value: Any) -> str:
    """The kind of a value of a JSON body or a path, such as "zero" or "list with content" (an array with items).

    Only one value of each kind is sent, because a service that is faulty for one of them is probably faulty for all.
    """
    if isinstance(value, str):
        return _kind_of_text(value)
    if isinstance(value, bool):  # before numbers, because Python counts booleans among the integers
        return repr(value)
    if isinstance(value, int | float):
        return _kind_of_number(value)
    ending = " with content" if value else ""
    return f"{type(value).__name__}{ending}"  # "NoneType" is null, "list" an empty array, "dict" an empty object


def _kind_of_text(text: str) -> str:
    """The kind of a text. Only one text of each kind is sent.

    - A key type, the empty text, a short number or a date is a kind of its own, because a service may treat each of
      them in its own way. Such a kind is the text itself: "PHONE", "7", "2026-02-30".
    - The kind of any other text tells whether it has the prefix, which sorts of characters it has, and which of the
      lengths in `LENGTHS` it reaches: "pixconf-Ll in ASCII, at least 255 characters" for 255 small letters, whose
      category in Unicode is Ll.
    """
    if text in TYPES_EXCEPT_RANDOM or text == "" or _SHORT_NUMBER_OR_DATE.fullmatch(text):
        return text
    prefix = SYNTHETIC_PREFIX if text.startswith(SYNTHETIC_PREFIX) else ""
    sorts_of_characters = {_sort_of_character(character) for character in text.replace(SYNTHETIC_PREFIX, "")}
    lengths_reached = [length for length in LENGTHS if len(text) >= length]
    ending = f", at least {max(lengths_reached)} characters" if lengths_reached else ""
    return prefix + " and ".join(sorted(sorts_of_characters)) + ending


def _sort_of_character(character: str) -> str:
    """The sort of a character: its category in Unicode (such as "Lu" for a capital letter), and if it is in ASCII."""
    return f"{unicodedata.category(character)} {'in' if character.isascii() else 'beyond'} ASCII"


def _kind_of_number(number: float) -> str:
    """The kind of a number: "zero", "negative", or the type and size of a positive one, such as "int of size 1".

    The size is the number of bounds in `_BOUNDS` below the number. The first bound is 0.005, and the second one is
    1,000. So 0.001 has the size 0, and 12 has the size 1. The type is "int", "float" or, for a number such as 0.125
    that is not in whole cents, "fraction of a cent".
    """
    if number == 0:
        return "zero"
    if number < 0:
        return "negative"
    type_of_number = type(number).__name__
    if number != round(number, 2):
        type_of_number = "fraction of a cent"
    bounds_below = [bound for bound in _BOUNDS if bound < number]
    return f"{type_of_number} of size {len(bounds_below)}"
