"""The log of a run: its exchanges, in their order, and which of their answers count.

The door adds to it; scenarios, judgements and tests ask it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from spec.exchange import Exchange, Failure, FailureKind, Purpose
from spec.message import Text


def numbers_superseded(exchanges: Iterable[Exchange]) -> frozenset[int]:
    """Numbers of the exchanges whose answer does not count, because the same request was sent again."""
    return frozenset(exchange.supersedes for exchange in exchanges if exchange.supersedes)


class Log:
    """Everything that a run has sent, in order. A request that was not sent, or is disregarded, has the number 0.

    Exchanges are asked for by operation and by the purpose of the request. If a request was sent again because its
    answer was doubtful, the later exchange supersedes the earlier one, which is left out unless a method says so.
    """

    def __init__(self, exchanges: Iterable[Exchange] = ()) -> None:
        self._exchanges: list[Exchange] = []
        self._superseded: set[int] = set()
        self._repetitions: dict[int, Exchange] = {}  # by the number of the first exchange
        self._places_by_purpose: dict[Purpose | None, list[int]] = {}  # an index: a log is asked 500 times in a run
        for exchange in exchanges:
            self.add(exchange)

    def add(self, exchange: Exchange) -> None:
        """Add an exchange at the end, and note which earlier one it supersedes or repeats."""
        self._places_by_purpose.setdefault(exchange.purpose, []).append(len(self._exchanges))
        self._exchanges.append(exchange)
        if exchange.supersedes:
            self._superseded.add(exchange.supersedes)
        if exchange.repeats and exchange.number:
            self._repetitions[exchange.repeats] = exchange

    def disregard(self, numbers: Collection[int], why: Text) -> None:
        """Replace these exchanges by requests that were not sent, because their answers tell nothing. `why` is the
        reason."""
        for place, exchange in enumerate(self._exchanges):
            if exchange.number in numbers:
                not_sent = Failure(FailureKind.LIMIT, why)
                self._exchanges[place] = replace(exchange, number=0, response=None, failure=not_sent)
        for first, repetition in list(self._repetitions.items()):
            if repetition.number in numbers:
                del self._repetitions[first]

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
        """The valid requests to an operation: those of scenarios, or those of one part of the generated traffic.

        `part` is the name of that part, such as an operation; empty for the requests of scenarios.
        """
        valid = [exchange for exchange in self._exchanges if exchange.valid and exchange.operation == operation]
        return [exchange for exchange in self._not_superseded(valid) if exchange.part == part]

    def targeted(self, operation: str | None = None) -> list[Exchange]:
        """The requests of scenarios that were sent to an operation, or to any operation."""
        return [exchange for exchange in self._not_superseded(self.attempts(operation)) if not exchange.is_generated]

    def generated(self, operation: str) -> list[Exchange]:
        """The generated requests to an operation, also those that were not sent."""
        return self._not_superseded([exchange for exchange in self._exchanges if exchange.part == operation])

    def attempts(self, operation: str | None = None) -> list[Exchange]:
        """Every request that was sent to an operation, or to any: also generated and superseded ones."""
        sent = [exchange for exchange in self._exchanges if exchange.number]
        return [exchange for exchange in sent if operation in (None, exchange.operation)]

    def repetition_of(self, exchange: Exchange) -> Exchange | None:
        """The exchange in which the request of this one was sent once more, to see if its answer stays the same.

        None if it was not sent once more.
        """
        return self._repetitions.get(exchange.number)

    def _having(self, purposes: Iterable[Purpose]) -> list[Exchange]:
        """The exchanges with one of these purposes, in order, without superseded ones."""
        places: list[int] = []
        for purpose in purposes:
            places += self._places_by_purpose.get(purpose, [])
        return self._not_superseded([self._exchanges[place] for place in sorted(places)])

    def _not_superseded(self, exchanges: Iterable[Exchange]) -> list[Exchange]:
        """The exchanges whose answer was not replaced by that of the same request, sent again."""
        return [exchange for exchange in exchanges if exchange.number not in self._superseded]
