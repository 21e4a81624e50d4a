"""The transfers that a run prepared: which answers may have prepared one, its code, and if it was executed.

The guard notes codes and outcomes here, and the end of a run (tests/harness/finishing.py) asks which transfers were not
executed. The interface document does not show the answers to the operations that prepare, so the profile (the settings
of the run) says where the code is: transactions.prepare.code_at.

To prepare a transfer is to send a request such as POST /v1/transfer/p2p. Its answer has a transaction code. To execute
the transfer is to send GET /v1/execute/pix/{transactionId} with this code, which moves the money.

Self-tests: promises/test_transfers.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from spec.answers import (
    TIMEOUT_STATUSES,
    RefusalKind,
    execution_results,
    is_refusal,
    refusal_about_the_caller,
    refusal_or_failure,
)
from spec.exchange import VALID, Exchange, FailureKind, Response
from spec.interface import PREPARING_OPERATIONS
from spec.json_text import leaves_of, pointer

PERHAPS_PREPARED = "the answer refuses it, and holds a code or a result: it was perhaps prepared"
_CODE_NOT_SENT = "its code was not sent"
_NO_CODE = ""
"""Stands for the code of an answer that has none, or none that the run may send."""
_MAY_HAVE_HAD_EFFECT = (None, RefusalKind.REDIRECT, RefusalKind.GATEWAY, RefusalKind.SERVER_ERROR)
"""Kinds of answers after which a transfer may be prepared: refusals that do not say that the service did nothing, and
None for an answer that is no refusal."""


@dataclass
class Prepared:
    """The transaction codes of the transfers that the run prepared, and what became of each."""

    codes: dict[int, str] = field(default_factory=dict)
    """By number of the exchange that prepared, the code in its answer, or `_NO_CODE`."""
    _reasons: dict[str, str] = field(default_factory=lambda: {_NO_CODE: "no code at transactions.prepare.code_at"})
    """By code, why it was not executed; an empty text if it was, or may have been."""

    def note_code(self, number: int, code: str) -> None:
        """Note the transaction code in the answer of the exchange with this number.

        The code is empty if the answer has none, or none that the run may send.
        """
        self.codes[number] = code

    def note_outcome(self, code: str, reason: str) -> None:
        """Note why the transfer of a transaction code was not executed; `reason` is empty if it was, or may have been.

        A later reason does not replace an empty one: what was executed stays executed, even if the code is sent again
        and refused.
        """
        was_executed = self._reasons.get(code) == ""
        if not was_executed:
            self._reasons[code] = reason

    def has(self, code: str) -> bool:
        """True if this run prepared the transfer of this transaction code.

        Otherwise people prepared it, and an earlier run may have executed it.
        """
        return code in self.codes.values()

    def codes_of(self, exchanges: Iterable[Exchange]) -> list[str]:
        """The transaction codes in the answers of these exchanges, which prepared transfers.

        An exchange is left out if its answer has no code, or none that the run may send.
        """
        codes = [self.codes.get(exchange.number, _NO_CODE) for exchange in exchanges]
        return [code for code in codes if code != _NO_CODE]

    def outcomes_of_preparations(
        self, exchanges: Iterable[Exchange], code_at: str = ""
    ) -> Iterator[tuple[Exchange, str]]:
        """Each exchange that may have prepared a transfer, with the reason why the transfer was not executed.

        The reason is an empty text if the transfer was executed, or may have been. The report names the transfers that
        have a reason, because somebody may still execute them. `exchanges` are all exchanges of the run. `code_at` is
        the JSON pointer to the transaction code in an answer.
        """
        for exchange in exchanges:
            has_perhaps_prepared = exchange.operation in PREPARING_OPERATIONS and may_have_prepared(exchange, code_at)
            if not has_perhaps_prepared:
                continue
            if is_refused_with_a_transfer(exchange, code_at):
                yield exchange, PERHAPS_PREPARED
            elif exchange.number not in self.codes:
                # Nobody looked for a code in this answer, so no code of it was sent.
                yield exchange, _CODE_NOT_SENT
            else:
                code = self.codes[exchange.number]
                yield exchange, self._reasons.get(code, _CODE_NOT_SENT)  # `_NO_CODE` has its own reason


def may_have_prepared(exchange: Exchange, code_at: str = "") -> bool:
    """True if this request to prepare a transfer may have prepared one. `code_at` is the JSON pointer to its code.

    | answer | may it have prepared a transfer? |
    |---|---|
    | a refusal that has a transaction code or an execution result in it, which contradicts the refusal | yes |
    | none, although the request was sent and there was a connection | yes |
    | a refusal of a wrong token | no |
    | a success, a redirect, 408, 499 or 5xx: none of them says that the service did nothing | yes |
    | any other refusal | no |
    """
    if is_refused_with_a_transfer(exchange, code_at):
        return True
    kind = refusal_or_failure(exchange)
    if exchange.response is None:
        was_sent = exchange.number > 0  # a request that a limit kept back has the number 0
        return was_sent and kind is not FailureKind.NO_CONNECTION
    token_is_accepted = exchange.credential == VALID or not refusal_about_the_caller(exchange.response)
    # 408 and 499 are refusals by their status, but a gateway sends them while the service may go on.
    gateway_gave_up = exchange.response.status in TIMEOUT_STATUSES
    may_have_had_effect = kind in _MAY_HAVE_HAD_EFFECT or gateway_gave_up
    return token_is_accepted and may_have_had_effect


def is_refused_with_a_transfer(exchange: Exchange, code_at: str) -> bool:
    """True if the answer is a refusal, but has an execution result or a transaction code in it.

    It contradicts itself, so the transfer was perhaps prepared. `code_at` is the JSON pointer to the code; empty if the
    settings of the run name none.
    """
    response = exchange.response
    if response is None or not is_refusal(response):
        return False
    has_result = bool(execution_results(response))
    has_code = code_at != "" and code_in(response, code_at) != ""
    return has_result or has_code


def code_in(response: Response, code_at: str) -> str:
    """The transaction code in an answer, as a text: the text or number at the JSON pointer `code_at`.

    Empty if nothing is there, or another value, such as an object.
    """
    for path, leaf in leaves_of(response.json.value):
        is_text_or_number = not isinstance(leaf, dict | list | bool | None)
        if pointer(*path) == code_at and is_text_or_number:
            return str(leaf)
    return ""
