"""The transfers that a run prepared: which answers hold one, the code in each, and which of them were not executed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from spec.answers import (
    NO_ANSWER_OF_THE_SERVICE,
    RefusalKind,
    execution_results,
    is_refusal,
    refusal_of_the_caller,
    refused_or_lost,
)
from spec.exchange import VALID, Exchange, FailureKind, Response
from spec.interface import PREPARING
from spec.json_text import leaves_of, pointer

PERHAPS_PREPARED = "the answer refuses it, and holds a code or a result: it was perhaps prepared"
_NOT_SENT = "its code was not sent"
_UNKNOWN = (None, RefusalKind.REDIRECT, RefusalKind.GATEWAY, RefusalKind.SERVER_ERROR)
"""Answers that do not refuse, and those after which a transfer may be there all the same."""


@dataclass
class Prepared:
    """Codes of the transfers that the run prepared to execute them, by the number of the exchange that gave each: ""
    where it gave none that may be sent."""

    codes: dict[int, str] = field(default_factory=dict)
    _outcomes: dict[str | None, str] = field(default_factory=lambda: {"": "no code at transactions.prepare.code_at"})
    """By code why it was not executed: "" where it was, or may have been."""

    def learn(self, number: int, code: str) -> None:
        """Remember the code that this exchange gave; "" if it gave none that may be sent."""
        self.codes[number] = code

    def settle(self, code: str, outcome: str) -> None:
        """Remember the outcome of an execution: a reason, or "" where it was executed. That is never taken back."""
        if self._outcomes.get(code) != "":
            self._outcomes[code] = outcome

    def has(self, code: str) -> bool:
        """True if the run prepared the code."""
        return code in self.codes.values()

    def codes_of(self, exchanges: Iterable[Exchange]) -> list[str]:
        """The codes in these answers that may be sent."""
        return [code for exchange in exchanges if (code := self.codes.get(exchange.number))]

    def not_executed(self, sent: Iterable[Exchange], code_at: str = "") -> Iterator[tuple[Exchange, str]]:
        """Each exchange that may have prepared a transfer, and why that was not executed: "" where it was, or may have
        been. `sent` is all that was sent."""
        for exchange in sent:
            if exchange.operation not in PREPARING or not may_have_prepared(exchange, code_at):
                continue
            if is_refused_with_a_transfer(exchange, code_at):
                yield exchange, PERHAPS_PREPARED
            else:
                yield exchange, self._outcomes.get(self.codes.get(exchange.number), _NOT_SENT)


def may_have_prepared(exchange: Exchange, code_at: str = "") -> bool:
    """True if a transfer may wait for its execution now: it was granted, the outcome is unknown, or the refusal
    contradicts itself."""
    how = refused_or_lost(exchange)
    if is_refused_with_a_transfer(exchange, code_at):
        return True
    if exchange.response is not None:
        is_let_in = exchange.credential == VALID or not refusal_of_the_caller(exchange.response)
        return is_let_in and (how in _UNKNOWN or exchange.response.status in NO_ANSWER_OF_THE_SERVICE)
    return exchange.number > 0 and how is not FailureKind.NO_CONNECTION


def is_refused_with_a_transfer(exchange: Exchange, code_at: str) -> bool:
    """True if a refusal carries what a refusal has no reason to carry: a result of the transfer, or a code."""
    response = exchange.response
    if response is None or not is_refusal(response):
        return False
    return bool(execution_results(response)) or bool(code_at and code_in(response, code_at))


def code_in(response: Response, code_at: str) -> str:
    """The text or number at this JSON pointer in an answer; empty if there is none."""
    there = [leaf for path, leaf in leaves_of(response.json.value) if pointer(*path) == code_at]
    return next((str(leaf) for leaf in there if not isinstance(leaf, dict | list | bool | None)), "")
