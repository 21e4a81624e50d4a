"""The kinds of the values in a request, such as "digits" and "long". Of requests with the same kinds, one is sent.

If a service is faulty for one value of a kind, it is probably faulty for all values of the kind.
"""

from __future__ import annotations

import json
from typing import Any

from spec.interface import SYNTHETIC_PREFIX
from tests.traffic.case import DOCUMENTED_MEMBERS, TYPES_EXCEPT_RANDOM, Case
from tests.traffic.unusual_texts import LENGTHS, ONE_DIGIT, SPECIAL

_SIZES = (0.001, 2**31, 2**63)
"""Limits between the sizes of numbers: less than a cent, 32 bits, 64 bits."""
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
        # The bodies true and false are one kind: a service that expects an object refuses both at the same place.
        kind_of_body = "a boolean" if isinstance(body, bool) else _kind_of_value(body)
        return {**kinds, "body": kind_of_body}
    missing = dict.fromkeys(DOCUMENTED_MEMBERS.get(case.operation, {}), "missing")
    return {**kinds, **missing, **{name: _kind_of_value(value) for name, value in body.items()}}


def _kind_of_value(value: Any) -> str:
    """The kind of a value of a JSON body or a path, such as "digits". Only one value of each kind is sent.

    If a service is faulty for one value of a kind, it is probably faulty for all values of the kind.
    """
    if isinstance(value, str):
        is_synthetic = value.startswith(SYNTHETIC_PREFIX)
        return _kind_of_text(value.replace(SYNTHETIC_PREFIX, ""), is_synthetic)
    if isinstance(value, bool):  # before numbers, because Python counts booleans among the integers
        return repr(value)
    if isinstance(value, int | float):
        return _kind_of_number(value)
    return type(value).__name__


def _kind_of_text(text: str, is_synthetic: bool) -> str:
    """The kind of a text, such as "digits". The first of these that applies. Only one text of each kind is sent.

    `text` is without the prefix `pixconf-`, which makes a text name nobody. `is_synthetic` says if it had the prefix.
    """
    if text in TYPES_EXCEPT_RANDOM or text in ("", ONE_DIGIT):  # a service may treat each of these in a way of its own
        return text
    if text.isalpha() and not is_synthetic:  # such as "AB" on a sandbox: perhaps a word that the service knows
        return "only letters, without the prefix"
    if len(text) >= min(LENGTHS):
        return "long"
    if text.isdecimal():  # such as "0123"
        return "digits"
    if not text.isprintable():  # such as a text with NUL
        return "with control characters"
    if not set(text).isdisjoint(SPECIAL):  # such as "a;b"
        return "with punctuation"
    return "other text with the prefix" if is_synthetic else "other text without the prefix"


def _kind_of_number(number: float) -> str:
    """The kind of a number: its sign, its type, and its size, such as "positive int of size 1".

    The size is the number of limits in `_SIZES` (less than a cent, 32 bits, 64 bits) that the number exceeds. For
    example, 12 exceeds one of them, and 2**64 exceeds all three.
    """
    if number == 0:
        return "zero"
    limits_exceeded = [limit for limit in _SIZES if abs(number) > limit]
    sign = "negative" if number < 0 else "positive"
    return f"{sign} {type(number).__name__} of size {len(limits_exceeded)}"
