"""The transfers that a run prepared, and which of them it left as they are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from spec.exchange import Exchange, FailureKind
from spec.reading import is_refusal


@dataclass
class Prepared:
    """Prepared transfers by exchange, and by code why each was not executed: "" where it was, or nobody knows."""

    _exchanges: dict[int, Exchange] = field(default_factory=dict)
    _codes: dict[int, str | None] = field(default_factory=dict)
    _outcomes: dict[str, str] = field(default_factory=dict)

    def add(self, exchange: Exchange, code: str | None) -> None:
        """Remember what may have prepared a transfer, with the code that the answer held."""
        if may_have_prepared(exchange):
            self._exchanges[exchange.number] = exchange
            self._codes[exchange.number] = code

    def settle(self, code: str, outcome: str) -> None:
        """Remember what came of an execution. What was executed once stays so."""
        if self._outcomes.get(code) != "":
            self._outcomes[code] = outcome

    @property
    def without_a_code(self) -> bool:
        """Whether an answer did not hold the code where the profile says: then no other will."""
        return any(code is None and self._exchanges[number].response for number, code in self._codes.items())

    def not_executed(self) -> Iterator[str]:
        """One line for each transfer that was prepared and is left as it is."""
        for number, exchange in self._exchanges.items():
            code = self._codes[number]
            why = self._outcomes.get(code, "its code was not sent") if code else "transactions.prepare.code_at is wrong"
            if exchange.response is None:
                yield f"exchange {number}: {exchange.operation} may have prepared a transfer ({exchange.summary})"
            elif why:
                yield f"exchange {number}: {exchange.operation} prepared a transfer that was not executed: {why}"


def may_have_prepared(exchange: Exchange) -> bool:
    """Whether a transfer may wait for its execution now: granted, or nobody knows."""
    if exchange.response is not None:
        return not is_refusal(exchange.response)
    kind = exchange.failure.kind if exchange.failure else FailureKind.LIMIT
    return exchange.number > 0 and kind is not FailureKind.NO_CONNECTION
