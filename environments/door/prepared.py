"""The transfers that a run prepared: which answers may have prepared one, its code, and if it was executed.

The guard notes codes and outcomes here, and the end of a run (tests/harness/finishing.py) asks which transfers were not
executed. The interface document does not show the answers to the operations that prepare, so the profile says where the
code is (transactions.prepare.code_at).

Self-tests: promises/test_transfers.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from spec.answers import (
    NO_ANSWER_OF_THE_SERVICE,
    RefusalKind,
    execution_results,
    is_refusal,
    refusal_of_the_caller,
    refusal_or_failure,
)
from spec.exchange import VALID, Exchange, FailureKind, Response
from spec.interface import PREPARING_OPERATIONS
from spec.json_text import leaves_of, pointer

PERHAPS_PREPARED = "the answer refuses it, and holds a code or a result: it was perhaps prepared"
_NOT_SENT = "its code was not sent"
_MAY_HAVE_PREPARED = (None, RefusalKind.REDIRECT, RefusalKind.GATEWAY, RefusalKind.SERVER_ERROR)
"""None for an answer that does not refuse, and the kinds of refusals after which a transfer may be prepared."""


@dataclass
class Prepared:
    """The codes of the transfers that the run prepared to execute them, and what became of each."""

    codes: dict[int, str] = field(default_factory=dict)
    """By number of the exchange that prepared, the code in its answer; empty if it has none that may be sent."""
    _reasons: dict[str | None, str] = field(default_factory=lambda: {"": "no code at transactions.prepare.code_at"})
    """By code, why it was not executed; an empty text if it was, or may have been."""

    def learn(self, number: int, code: str) -> None:
        """Note the transaction code in the answer of this exchange; empty if it has none that may be sent."""
        self.codes[number] = code

    def note_outcome(self, code: str, reason: str) -> None:
        """Note why a code was not executed, or an empty text if it was, or may have been. That is never taken back."""
        was_executed = self._reasons.get(code) == ""
        if not was_executed:
            self._reasons[code] = reason

    def has(self, code: str) -> bool:
        """True if the run prepared the code."""
        return code in self.codes.values()

    def codes_of(self, exchanges: Iterable[Exchange]) -> list[str]:
        """The transaction codes in the answers of these exchanges, without those that may not be sent."""
        codes = [self.codes.get(exchange.number, "") for exchange in exchanges]
        return [code for code in codes if code]

    def not_executed(self, exchanges: Iterable[Exchange], code_at: str = "") -> Iterator[tuple[Exchange, str]]:
        """Each exchange that may have prepared a transfer, and the reason why the transfer was not executed.

        The reason is empty if the transfer was executed, or may have been. `exchanges` are all exchanges of the run,
        `code_at` is the JSON pointer to the code.
        """
        for exchange in exchanges:
            if exchange.operation not in PREPARING_OPERATIONS or not may_have_prepared(exchange, code_at):
                continue
            if is_refused_with_a_transfer(exchange, code_at):
                yield exchange, PERHAPS_PREPARED
            else:
                yield exchange, self._reasons.get(self.codes.get(exchange.number), _NOT_SENT)


def may_have_prepared(exchange: Exchange, code_at: str = "") -> bool:
    """True if the exchange may have prepared a transfer. `code_at` is the JSON pointer to the transaction code.

    So it is if the answer is a success, if the answer does not say what the service did (none, a redirect, 5xx), or if
    a refusal contradicts itself. A refused wrong token has prepared nothing.
    """
    if is_refused_with_a_transfer(exchange, code_at):
        return True
    kind = refusal_or_failure(exchange)
    if exchange.response is None:
        return exchange.number > 0 and kind is not FailureKind.NO_CONNECTION
    token_is_accepted = exchange.credential == VALID or not refusal_of_the_caller(exchange.response)
    is_no_clear_refusal = kind in _MAY_HAVE_PREPARED or exchange.response.status in NO_ANSWER_OF_THE_SERVICE
    return token_is_accepted and is_no_clear_refusal


def is_refused_with_a_transfer(exchange: Exchange, code_at: str) -> bool:
    """True if a refusal carries an execution result or a code, which contradicts the refusal."""
    response = exchange.response
    if response is None or not is_refusal(response):
        return False
    return bool(execution_results(response)) or bool(code_at and code_in(response, code_at))


def code_in(response: Response, code_at: str) -> str:
    """The text or number at this JSON pointer in an answer; empty if there is none."""
    for path, leaf in leaves_of(response.json.value):
        if pointer(*path) == code_at and not isinstance(leaf, dict | list | bool | None):
            return str(leaf)
    return ""
