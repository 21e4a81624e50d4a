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
        self._repetitions: dict[int, Exchange] = {}  # by the number of the first exchange
        self._places_by_purpose: dict[Purpose | None, list[int]] = {}  # an index: a log is asked 500 times in a run
        for exchange in exchanges:
            self.add(exchange)

    def add(self, exchange: Exchange) -> None:
        """Add an exchange at the end."""
        self._places_by_purpose.setdefault(exchange.purpose, []).append(len(self._exchanges))
        self._exchanges.append(exchange)
        if exchange.supersedes:
            self._superseded.add(exchange.supersedes)
        if exchange.repeats and exchange.number:
            self._repetitions[exchange.repeats] = exchange

    def __iter__(self) -> Iterator[Exchange]:
        """Every exchange, the superseded ones included."""
        return iter(self._exchanges)

    def of(self, operation: str, *purposes: Purpose) -> list[Exchange]:
        """The exchanges with an operation that have one of these purposes."""
        return [exchange for exchange in self._having(purposes) if exchange.operation == operation]

    def with_purpose(self, *purposes: Purpose) -> list[Exchange]:
        """The exchanges that have one of these purposes, of every operation."""
        return self._having(purposes)

    def sent(self, operation: str, *purposes: Purpose) -> list[Exchange]:
        """The exchanges with an operation and one of these purposes, without requests that a limit kept back."""
        return [exchange for exchange in self.of(operation, *purposes) if exchange.number]

    def valid(self, operation: str, part: str = "") -> list[Exchange]:
        """The exchanges with an operation whose request is valid, of one part of the generated traffic.

        If `part` is empty, the exchanges that are not generated.
        """
        valid = [exchange for exchange in self._exchanges if exchange.valid and exchange.operation == operation]
        return [exchange for exchange in self._standing(valid) if exchange.part == part]

    def targeted(self, operation: str | None = None) -> list[Exchange]:
        """What was sent with an operation, or with any, without generated traffic."""
        return [exchange for exchange in self._standing(self.attempts(operation)) if not exchange.is_generated]

    def generated(self, operation: str) -> list[Exchange]:
        """The generated requests to an operation, also those that were not sent."""
        return self._standing([exchange for exchange in self._exchanges if exchange.part == operation])

    def attempts(self, operation: str | None = None) -> list[Exchange]:
        """Everything that was sent with an operation, or with any, also what is superseded or generated."""
        sent = [exchange for exchange in self._exchanges if exchange.number]
        return [exchange for exchange in sent if operation in (None, exchange.operation)]

    def repetition_of(self, exchange: Exchange) -> Exchange | None:
        """The last exchange whose request is that of another one, sent once more; None if there is none."""
        return self._repetitions.get(exchange.number)

    def _having(self, purposes: Iterable[Purpose]) -> list[Exchange]:
        places: list[int] = []
        for purpose in purposes:
            places += self._places_by_purpose.get(purpose, [])
        return self._standing([self._exchanges[place] for place in sorted(places)])

    def _standing(self, exchanges: Iterable[Exchange]) -> list[Exchange]:
        return [exchange for exchange in exchanges if exchange.number not in self._superseded]
