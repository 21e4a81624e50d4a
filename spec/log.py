"""The log of a run: its exchanges, in their order, and which of their answers count.

The part of the suite that sends requests (`environments/door/`) adds exchanges to it. Scenarios (functions that send
requests for a purpose), judgements and tests read it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from spec.exchange import Exchange, Failure, FailureKind, Purpose
from spec.message import Text


def numbers_superseded(exchanges: Iterable[Exchange]) -> frozenset[int]:
    """Numbers of the exchanges whose answer does not count: it was doubtful, so the same request was sent again.

    The later exchange has the number of the earlier one as `supersedes`, which is 0 for all other exchanges.
    """
    return frozenset(exchange.supersedes for exchange in exchanges if exchange.supersedes)


SEQUENCES = "sequences"
"""Generator of the requests in drawn sequences (`Exchange.generator`)."""


class Log:
    """Everything that a run has sent, in order. A request that was not sent, or is disregarded, has the number 0.

    Exchanges are asked for by operation and by the purpose of the request. If a request was sent again because its
    answer was doubtful, the later exchange supersedes the earlier one, which is left out unless a method says so.
    """

    def __init__(self, exchanges: Iterable[Exchange] = ()) -> None:
        """Start with these exchanges. More can be added later."""
        self._exchanges: list[Exchange] = []
        # Numbers of exchanges whose answer was doubtful, so that the request was sent again. Only the second answer
        # counts.
        self._superseded: set[int] = set()
        # Exchanges that repeat an earlier request to see if the answer stays the same. Both answers count. By the
        # number of the earlier exchange.
        self._repetitions: dict[int, Exchange] = {}
        # The indexes of the exchanges in the list above. Stored, because a run looks up a purpose 500 times.
        self._indexes_by_purpose: dict[Purpose | None, list[int]] = {}
        for exchange in exchanges:
            self.add(exchange)

    def add(self, exchange: Exchange) -> None:
        """Add an exchange at the end, and note which earlier exchange with the same request it supersedes or repeats.

        If it supersedes an exchange, the earlier answer counts no more. If it repeats one, both answers count.
        """
        self._indexes_by_purpose.setdefault(exchange.purpose, []).append(len(self._exchanges))
        self._exchanges.append(exchange)
        if exchange.supersedes:
            self._superseded.add(exchange.supersedes)
        if exchange.repeats and exchange.number:  # a request that was not sent has the number 0, and repeats nothing
            self._repetitions[exchange.repeats] = exchange

    def disregard(self, numbers: Collection[int], why: Text) -> None:
        """Treat these exchanges as if their requests had not been sent, because their answers show nothing.

        For example, the token had expired. `why` is the reason that reports give for the missing answers.
        """
        for index, exchange in enumerate(self._exchanges):
            if exchange.number in numbers:
                not_sent = Failure(FailureKind.LIMIT, why)  # as if a limit of the suite had kept the request back
                self._exchanges[index] = replace(exchange, number=0, response=None, failure=not_sent)
        for number_of_first, repetition in list(self._repetitions.items()):
            if repetition.number in numbers:
                del self._repetitions[number_of_first]  # nothing is known of a second answer

    def __iter__(self) -> Iterator[Exchange]:
        """Every exchange in the order of sending, also those whose answer was replaced by a later one."""
        return iter(self._exchanges)

    def of(self, operation: str, *purposes: Purpose) -> list[Exchange]:
        """The exchanges with an operation that have one of these purposes, but no superseded (replaced) exchanges.

        `log.of("registerPixKey", Registration.SECOND_TIME)` are the answers to second registrations of a key.
        """
        return [exchange for exchange in self._having(purposes) if exchange.operation == operation]

    def with_purpose(self, *purposes: Purpose) -> list[Exchange]:
        """The exchanges with one of these purposes and with any operation, without superseded (replaced) exchanges."""
        return self._having(purposes)

    def sent(self, operation: str, *purposes: Purpose) -> list[Exchange]:
        """The exchanges with an operation and one of these purposes whose requests were really sent.

        `of` also returns requests that were not sent because a limit of the run was reached.
        """
        return [exchange for exchange in self.of(operation, *purposes) if exchange.number]  # 0 if it was not sent

    def valid(self, operation: str, generator: str = "") -> list[Exchange]:
        """The valid requests to an operation: for them the interface document promises a success.

        They are the requests that scenarios (functions that send requests for a purpose) sent. If `generator` is given,
        such as "sequences", they are the requests that were generated under this name instead.
        """
        of_operation = [exchange for exchange in self._exchanges if exchange.operation == operation]
        of_generator = [exchange for exchange in of_operation if exchange.generator == generator]
        return self._not_superseded([exchange for exchange in of_generator if exchange.valid])

    def sent_by_scenarios(self, operation: str | None = None) -> list[Exchange]:
        """The requests that scenarios sent to an operation (to any operation if it is None).

        A scenario is a function that sends requests for a purpose. Requests that were drawn at random are left out.
        """
        attempts = self._not_superseded(self.attempts(operation))
        return [exchange for exchange in attempts if not exchange.is_generated]

    def generated(self, operation: str) -> list[Exchange]:
        """The requests to an operation that Schemathesis drew, also those that were not sent.

        Their `generator` is the name of the operation. The requests in drawn sequences have the generator "sequences",
        so they are not in the result.
        """
        return self._not_superseded([exchange for exchange in self._exchanges if exchange.generator == operation])

    def attempts(self, operation: str | None = None) -> list[Exchange]:
        """Every request that was sent to an operation (to any operation if it is None).

        Also requests that were drawn at random, and requests whose answer was superseded (replaced) because it was
        doubtful.
        """
        sent = [exchange for exchange in self._exchanges if exchange.number]  # 0 if it was not sent
        return [exchange for exchange in sent if operation in (None, exchange.operation)]

    def repetition_of(self, exchange: Exchange) -> Exchange | None:
        """The later exchange with the same request, which was sent once more to see if its answer stays the same.

        None if the request was not sent once more.
        """
        return self._repetitions.get(exchange.number)

    def _having(self, purposes: Iterable[Purpose]) -> list[Exchange]:
        """The exchanges with one of these purposes, in the order of sending, but no superseded (replaced) exchanges."""
        indexes: list[int] = []
        for purpose in purposes:
            indexes += self._indexes_by_purpose.get(purpose, [])
        return self._not_superseded([self._exchanges[index] for index in sorted(indexes)])

    def _not_superseded(self, exchanges: Iterable[Exchange]) -> list[Exchange]:
        """The exchanges whose answer counts. A doubtful answer does not count if the same request was sent again."""
        return [exchange for exchange in exchanges if exchange.number not in self._superseded]
