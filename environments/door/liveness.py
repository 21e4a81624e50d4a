"""When a target, or one operation of it, does not answer any more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from environments.door.outgoing import LimitError, NotSentError, Sending
from spec.answers import is_refusal
from spec.exchange import Exchange, FailureKind

GONE = "the target cannot be reached any more: {}"
_MOST_TIMEOUTS = 2
_MOST_FAILED_IN_A_ROW = 5


class UnreachableError(NotSentError):
    """The target cannot be reached any more. The text says why."""


class Liveness:
    """Ends the run when the target is gone, and leaves an operation alone that does not answer. `unreachable` says why
    the target is gone; empty while it is there. `ask` sends a request once more."""

    def __init__(self, ask: Callable[[Exchange], Exchange | None]) -> None:
        self.unreachable = ""
        self._ask = ask
        self._timeouts: Counter[str] = Counter()
        self._failed_in_a_row = 0
        self._answered: Exchange | None = None

    def refuse_the_dead(self, sending: Sending) -> None:
        """Raises UnreachableError where the target is gone, LimitError where the operation has timed
        out twice in a row."""
        if self.unreachable:
            raise UnreachableError(GONE.format(self.unreachable))
        operation = sending.intent.operation
        if self._timeouts[operation] >= _MOST_TIMEOUTS:
            raise LimitError(f"{operation} did not answer twice, so it gets no more requests")

    def notice(self, sending: Sending) -> None:
        """Take note of an answer, or of none; a limit of the suite counts as an answer. After several of none, send the
        last request that was answered and changes nothing: a target that still answers it only drops invalid ones."""
        exchange, operation = sending.exchange, sending.intent.operation
        if not _failed(exchange):
            self._failed_in_a_row = self._timeouts[operation] = 0
            response = exchange.response
            if response and sending.repeatable and (sending.request.method == "GET" or is_refusal(response)):
                self._answered = exchange
            return
        failure = exchange.failure
        assert failure is not None
        self._failed_in_a_row += 1
        self._timeouts[operation] += failure.kind is FailureKind.TIMEOUT
        if failure.kind in (FailureKind.NO_CONNECTION, FailureKind.TLS):
            self.unreachable = failure.message
        elif self._failed_in_a_row >= _MOST_FAILED_IN_A_ROW:
            self._failed_in_a_row = 0
            again = self._answered and self._ask(self._answered)
            if again is None or _failed(again):
                self.unreachable = failure.message


def _failed(exchange: Exchange) -> bool:
    return exchange.failure is not None and exchange.failure.kind is not FailureKind.LIMIT
