"""Fields of request bodies. What is not as it should be is refused with 400, and never repeated."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from environments.sandbox.messages import Refusal

MAX_VALUE = 10**12
"""The largest amount, in reais: far below where a float, or an integer of SQLite, loses cents."""


def text(body: Mapping[str, object], name: str, default: str | None = None) -> str:
    """A string; without a default it is required."""
    value = body.get(name, default)
    if not isinstance(value, str) or not _is_unicode(value):
        raise Refusal(400, f"The field {name} holds a string.")
    return value


def cents(body: Mapping[str, object], name: str = "value") -> int:
    """A positive amount in reais with at most two decimals, as cents."""
    value = body.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= MAX_VALUE:
        raise Refusal(400, f"The field {name} holds a positive number, at most {MAX_VALUE}.")
    amount = Decimal(str(value)) * 100
    if amount % 1:
        raise Refusal(400, f"The field {name} has at most two decimals.")
    return int(amount)


def milliseconds(body: Mapping[str, object], name: str = "date") -> int:
    """A point in time in milliseconds since 1970, as the execution result has it."""
    value = body.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**53:
        raise Refusal(400, f"The field {name} holds milliseconds since 1970 as an integer.")
    return value


def _is_unicode(value: str) -> bool:
    """JSON can escape half of a surrogate pair, which neither UTF-8 nor SQLite can hold."""
    return not any("\ud800" <= character <= "\udfff" for character in value)
