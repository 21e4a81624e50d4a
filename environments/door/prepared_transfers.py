"""The transfers that a run prepared, and which of them were not executed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

from spec.answers import NO_ANSWER_OF_THE_SERVICE, RefusalKind, is_granted, refusal_kind
from spec.exchange import Exchange, FailureKind
from spec.interface import PREPARING

_NOT_SENT = "its code was not sent"
_UNKNOWN = (None, RefusalKind.REDIRECT, RefusalKind.GATEWAY, RefusalKind.SERVER_ERROR)
"""Answers that do not refuse, and those after which a transfer may be there all the same."""


@dataclass
class Prepared:
    """Prepared transfers with their codes, and by code why each was not executed: "" where it was, or may have been."""

    _transfers: list[tuple[Exchange, str | None]] = field(default_factory=list)
    _outcomes: dict[str, str] = field(default_factory=dict)

    def add(self, exchange: Exchange, code: str | None) -> None:
        """Remember what may have prepared a transfer, with the code that the answer held."""
        if may_have_prepared(exchange):
            self._transfers.append((exchange, code))

    def settle(self, code: str, outcome: str) -> None:
        """Remember the outcome of an execution: a reason, or "" where it was executed. That is never taken back."""
        if self._outcomes.get(code) != "":
            self._outcomes[code] = outcome

    def has(self, code: str) -> bool:
        """Whether the run prepared the code."""
        return any(known == code for _, known in self._transfers)

    def codes_of(self, exchanges: Collection[Exchange]) -> list[str]:
        """The codes in these answers that may be sent."""
        numbers = {exchange.number for exchange in exchanges}
        return [code for exchange, code in self._transfers if code and exchange.number in numbers]

    @property
    def without_a_code(self) -> bool:
        """Whether an answer did not have the code where the profile says: then no other will."""
        return any(code is None and is_granted(exchange) for exchange, code in self._transfers)

    def not_executed(self, sent: Iterable[Exchange] = ()) -> Iterator[str]:
        """One line for each transfer with a body of the profile that was prepared and not executed, and one for all
        others, whose accounts are synthetic. `sent` is all that may have prepared one."""
        for exchange, code in self._transfers:
            why = self._outcomes.get(code, _NOT_SENT) if code else "transactions.prepare.code_at is wrong"
            if why:
                yield _line_of(exchange, why)
        remembered = {exchange.number for exchange, _ in self._transfers}
        prepared = (seen for seen in sent if seen.operation in PREPARING and may_have_prepared(seen))
        others = [seen for seen in prepared if seen.number not in remembered]
        yield from (_line_of(seen, _NOT_SENT) for seen in others if seen.valid)
        if synthetic := [seen.number for seen in others if not seen.valid]:
            yield f"transfers of synthetic accounts: {len(synthetic)} (the first one is exchange {synthetic[0]})"


def _line_of(exchange: Exchange, why: str) -> str:
    operation, number = exchange.operation, exchange.number
    if is_granted(exchange):
        return f"a transfer that {operation} prepared (exchange {number}): not executed: {why}"
    return f"a transfer that {operation} may have prepared (exchange {number}): {exchange.summary}"


def may_have_prepared(exchange: Exchange) -> bool:
    """Whether a transfer may wait for its execution now: it was granted, or the outcome is unknown."""
    if exchange.response is not None:
        status = exchange.response.status
        return refusal_kind(exchange.response) in _UNKNOWN or status in NO_ANSWER_OF_THE_SERVICE
    kind = exchange.failure.kind if exchange.failure else FailureKind.LIMIT
    return exchange.number > 0 and kind is not FailureKind.NO_CONNECTION
