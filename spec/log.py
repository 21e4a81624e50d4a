"""The log of a run: its exchanges, in their order, and which of their answers count.

The door adds to it; scenarios, judgements and tests ask it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from spec.exchange import Exchange, Purpose


def numbers_superseded(exchanges: Iterable[Exchange]) -> frozenset[int]:
    """Numbers of the exchanges whose answer does not count, because the same request was sent again."""
    return frozenset(exchange.supersedes for exchange in exchanges if exchange.supersedes)


class Log:
    """Everything that a run has sent, in order. A request that a limit kept from being sent has the number 0.

    Exchanges are asked for by operation and by the purpose of the request. If a request was sent again because its
    answer was doubtful, only the last exchange is given.
    """

    def __init__(self, exchanges: Iterable[Exchange] = ()) -> None:
        self._exchanges: list[Exchange] = []
        self._superseded: set[int] = set()
        self._places_by_purpose: dict[Purpose | None, list[int]] = {}  # an index: a log is asked 500 times in a run
        for exchange in exchanges:
            self.add(exchange)

    def add(self, exchange: Exchange) -> None:
        """Add an exchange at the end."""
        self._places_by_purpose.setdefault(exchange.purpose, []).append(len(self._exchanges))
        self._exchanges.append(exchange)
        if exchange.supersedes:
            self._superseded.add(exchange.supersedes)

    def __iter__(self) -> Iterator[Exchange]:
        """Every exchange, the superseded ones included."""
        return iter(self._exchanges)

    def of(self, operation: str, *purposes: Purpose) -> list[Exchange]:
        """The exchanges with an operation that have one of these purposes."""
        return [exchange for exchange in self.with_purpose(*purposes) if exchange.operation == operation]

    def with_purpose(self, *purposes: Purpose) -> list[Exchange]:
        """The exchanges that have one of these purposes, of every operation."""
        places: list[int] = []
        for purpose in purposes:
            places += self._places_by_purpose.get(purpose, [])
        exchanges = [self._exchanges[place] for place in sorted(places)]
        return [exchange for exchange in exchanges if exchange.number not in self._superseded]

    def sent(self, operation: str, *purposes: Purpose) -> list[Exchange]:
        """The exchanges with an operation and one of these purposes, without requests that a limit kept back."""
        return [exchange for exchange in self.of(operation, *purposes) if exchange.number]

    def valid(self, operation: str, part: str = "") -> list[Exchange]:
        """The exchanges with an operation whose request is valid, of one part of the generated traffic.

        If `part` is empty, the exchanges that are not generated.
        """
        valid = [exchange for exchange in self._exchanges if exchange.valid and exchange.operation == operation]
        in_part = [exchange for exchange in valid if exchange.part == part]
        return [exchange for exchange in in_part if exchange.number not in self._superseded]
