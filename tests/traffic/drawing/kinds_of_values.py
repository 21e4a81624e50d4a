"""The kinds of the values in a request, such as "digits" and "long". Of requests with the same kinds, one is sent.

If a service is faulty for one value of a kind, it is probably faulty for all values of the kind.
"""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Any

from spec.interface import SYNTHETIC_PREFIX
from tests.traffic.case import AMOUNT, DOCUMENTED_MEMBERS, TYPES_EXCEPT_RANDOM, Case
from tests.traffic.drawing.member_schemas import MEMBERS_OF_ANOTHER_OPERATION
from tests.traffic.unusual_texts import LENGTHS

_SIZES = (
    0.005,  # less than a cent
    1_000,
    2**31,  # 32 bits
    4_102_444_800_000,  # the year 2100 in milliseconds
    253_402_300_799_999,  # the end of the year 9999 in milliseconds
    2**53 - 1,  # the largest integer that a double holds exactly
    2**63,  # 64 bits
)
"""Limits between the sizes of numbers."""
_SHORT_NUMBER_OR_DATE = re.compile(r"[0-9][0-9.,/:TZ+-]{0,29}")
"""A number or a date as text: digits with signs between them. At most 30 characters is a choice."""
_Kinds = dict[str, str]
"""By member of the body, the kind of its value, such as "digits" or "zero". The empty name stands for the path
parameter."""


def kinds_of_values(case: Case) -> _Kinds:
    """The kind of each value in a case (a request): {"": "digits", "pixKey": "long", "account": "missing"}.

    The empty name means the path parameter. Of requests whose values are of the same kinds, only the first is sent.
    """
    kinds = {"": _kind_of_value(case.path_parameter)}
    body = json.loads(case.body) if case.body else None
    if not isinstance(body, dict):
        # Numbers and booleans are one kind: a service that expects an object refuses both at the same place.
        kind_of_body = "a number or a boolean" if isinstance(body, int | float) else _kind_of_value(body)
        return {**kinds, "body": kind_of_body}
    missing = dict.fromkeys(DOCUMENTED_MEMBERS.get(case.operation, {}), "missing")
    kinds_of_members = {name: _kind_of_member(case.operation, name, value) for name, value in body.items()}
    return {**kinds, **missing, **kinds_of_members}


def _kind_of_member(operation: str, name: str, value: Any) -> str:
    """The kind of the value of a member. All values of a wrong type are one kind if another operation gets each."""
    wrong_types = MEMBERS_OF_ANOTHER_OPERATION.get(operation, {})
    usual_type = str if name not in (AMOUNT, "date") else int | float
    is_of_wrong_type = value is not None and (isinstance(value, bool) or not isinstance(value, usual_type))
    if name in wrong_types and is_of_wrong_type:
        return "of a wrong type"
    return _kind_of_value(value)


def _kind_of_value(value: Any) -> str:
    """The kind of a value of a JSON body or a path, such as "digits". Only one value of each kind is sent.

    If a service is faulty for one value of a kind, it is probably faulty for all values of the kind.
    """
    if isinstance(value, str):
        return _kind_of_text(value)
    if isinstance(value, bool):  # before numbers, because Python counts booleans among the integers
        return repr(value)
    if isinstance(value, int | float):
        return _kind_of_number(value)
    has_content = " with content" if value else ""
    return f"{type(value).__name__}{has_content}"


def _kind_of_text(text: str) -> str:
    """The kind of a text, such as "digits". The first of these that applies. Only one text of each kind is sent."""
    if text in TYPES_EXCEPT_RANDOM or text == "" or _SHORT_NUMBER_OR_DATE.fullmatch(text):
        return text  # a service may treat each of these in a way of its own
    prefix = SYNTHETIC_PREFIX if text.startswith(SYNTHETIC_PREFIX) else ""
    sorts_of_characters = {_sort_of_character(character) for character in text.replace(SYNTHETIC_PREFIX, "")}
    limits_reached = [limit for limit in LENGTHS if len(text) >= limit]
    length = f", at least {max(limits_reached)} characters" if limits_reached else ""
    return prefix + " and ".join(sorted(sorts_of_characters)) + length


def _sort_of_character(character: str) -> str:
    """The sort of a character: its category in Unicode (such as "Lu" for a capital letter), and if it is in ASCII."""
    return f"{unicodedata.category(character)} {'in' if character.isascii() else 'beyond'} ASCII"


def _kind_of_number(number: float) -> str:
    """The kind of a number: "zero", "negative", or the type and size of a positive one, such as "int of size 1".

    The size is the number of limits in `_SIZES` (less than a cent, a thousand, 32 bits and so on) that the number
    exceeds. For example, 12 exceeds one of them, and 2**64 exceeds all. A fraction of a cent is of another type.
    """
    if number == 0:
        return "zero"
    if number < 0:
        return "negative"
    type_of_number = type(number).__name__
    if number != round(number, 2):
        type_of_number = "fraction of a cent"
    limits_exceeded = [limit for limit in _SIZES if number > limit]
    return f"{type_of_number} of size {len(limits_exceeded)}"
