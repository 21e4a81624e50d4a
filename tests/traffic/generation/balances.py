"""What readings of balances show of an execution between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from spec.answers import data_of, grants_protected_result
from spec.exchange import Exchange
from spec.facts import Facts
from spec.json_text import JsonPath, leaves_of
from tests.traffic.answered import answer_of, counts

Numbers = Mapping[JsonPath, Decimal]


def numbers(value: Any) -> Iterator[tuple[JsonPath, Decimal]]:
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


MOVED_TWICE = "MONEY MOVED TWICE: a second execution of a code changes the balance again"


@dataclass(frozen=True)
class Repeated:
    """Two executions of one code: `moved` is what the first changed in the balances, `again` what the second did."""

    first: Exchange
    second: Exchange
    moved: Numbers
    again: Numbers

    @property
    def moves_money_twice(self) -> bool:
        """Whether the second execution changed a balance as the first one did."""
        return any(self.again.get(place) == amount for place, amount in self.moved.items())

    @property
    def answers(self) -> list[Facts | str]:
        """How the second execution is answered."""
        if not counts(self.second):
            return []
        if not grants_protected_result(self.second):
            return [answer_of(self.second)]
        results = [data_of(seen.response) for seen in (self.first, self.second) if seen.response]
        return ["the same result" if results[0] == results[1] else "another result"]

    @property
    def balances(self) -> list[str]:
        """Whether money moved again, where a balance shows that it moved at all."""
        return [MOVED_TWICE if self.moves_money_twice else "does not change again"] if self.moved else []
