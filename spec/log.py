"""The log of a run: its exchanges, in their order, and which of their answers count."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from spec.exchange import Exchange, Purpose


def numbers_superseded(exchanges: Iterable[Exchange]) -> frozenset[int]:
    """Numbers of the exchanges whose request was sent again, so that a later answer counts in the place of theirs."""
    return frozenset(exchange.supersedes for exchange in exchanges if exchange.supersedes)


@dataclass(frozen=True)
class Log:
    """Everything that a run has sent, in order, and the requests that a limit kept from being sent.

    Scenarios, judgements and tests ask it by operation and by the purpose of a request.
    """

    exchanges: Sequence[Exchange]
    not_sent: Sequence[Exchange] = ()

    def of(self, operation: str, *purposes: Purpose) -> list[Exchange]:
        """The exchanges of these purposes whose answer counts, and behind them the requests that were not sent."""
        return [exchange for exchange in self.with_purpose(*purposes) if exchange.operation == operation]

    def with_purpose(self, *purposes: Purpose) -> list[Exchange]:
        """The same, of every operation."""
        superseded = numbers_superseded(self.exchanges)
        answers = [exchange for exchange in self.exchanges if exchange.number not in superseded]
        return [exchange for exchange in (*answers, *self.not_sent) if exchange.purpose in purposes]

    def sent(self, operation: str, *purposes: Purpose) -> list[Exchange]:
        """The exchanges of these purposes whose answer counts."""
        return [exchange for exchange in self.of(operation, *purposes) if exchange.number]
