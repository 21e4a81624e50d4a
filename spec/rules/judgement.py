"""What one exchange says about one row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from spec.exchange import Exchange
from spec.json_text import is_integer, is_number


class Outcome(Enum):
    """What one exchange says about one row."""

    HOLDS = "holds"
    DEVIATES = "deviates"
    INCONCLUSIVE = "hidden"


@dataclass(frozen=True)
class Judgement:
    """The outcome and why: what came back and what was owed, without values of the service."""

    outcome: Outcome
    message: str = ""


Rule = Callable[[Exchange], Judgement]
HOLDS = Judgement(Outcome.HOLDS)


def deviates(message: str) -> Judgement:
    """The exchange breaks the row."""
    return Judgement(Outcome.DEVIATES, message)


def inconclusive(message: str) -> Judgement:
    """The exchange cannot show the row, and why."""
    return Judgement(Outcome.INCONCLUSIVE, message)


def kind_of(value: object) -> str:
    """The JSON type of a value as a noun: `an integer`, `a string`, `null`."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if is_number(value):
        return "an integer" if is_integer(value) else "a number with a fraction"
    if isinstance(value, str):
        return "a string"
    return "an array" if isinstance(value, list) else "an object"
