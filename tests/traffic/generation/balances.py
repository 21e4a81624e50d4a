"""What readings of balances show of an execution between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from decimal import Decimal, InvalidOperation
from typing import Any

from spec.exchange import Exchange
from spec.json_text import Path, leaves_of
from spec.rules import Judgement, Outcome, inconclusive

Numbers = Mapping[Path, Decimal]


def numbers(value: Any) -> Iterator[tuple[Path, Decimal]]:
    """Every number of a JSON value, as a number or as text, by its place."""
    for path, item in leaves_of(value):
        if isinstance(item, Decimal | str):
            with suppress(InvalidOperation):
                yield path, Decimal(item)


def changes(before: Numbers, after: Numbers) -> Numbers:
    """What changed, and by how much."""
    return {
        place: number - before[place]
        for place, number in after.items()
        if place in before and number.is_finite() and before[place].is_finite() and number != before[place]
    }


def second_execution(first: Exchange, second: Exchange, moved: Numbers, again: Numbers) -> Judgement:
    """What the second execution of a code did. It deviates from nothing; HOLDS says that money moved twice."""
    twice = any(again.get(place) == amount for place, amount in moved.items())
    answer = f"a second execution of a code is answered with {second.summary}"
    if twice:
        return Judgement(Outcome.HOLDS, f"MONEY MOVED TWICE: {answer}, and the balance changed again", (first, second))
    seen = "and the balance does not change again" if moved else "and no balance shows whether money moved again"
    return inconclusive(f"{answer}, {seen}", first, second)
