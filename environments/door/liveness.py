"""Whether the target is still there, and which of its operations do not answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from environments.door.outgoing import LimitError, NotSentError, Sending
from spec.exchange import FailureKind
from spec.message import say

NOT_CONNECTED = (FailureKind.NO_CONNECTION, FailureKind.TLS)
"""Failures before anything was sent."""
_MOST_TIMEOUTS = 2
_MOST_FAILED_IN_A_ROW = 5


class UnreachableError(NotSentError):
    """The target cannot be reached any more. The text says why."""


class Liveness:
    """Ends the run when the target is gone, and leaves an operation alone that does not answer. `unreachable` says why
    the target is gone; empty while it is there. `look_whether_gone` asks what was answered before."""

    def __init__(self, look_whether_gone: Callable[[], bool]) -> None:
        self.unreachable = ""
        self._look_whether_gone = look_whether_gone
        self._timeouts = Counter[str]()
        self._timed_out_alone: set[str] = set()
        self._failed_in_a_row = 0

    def refuse_the_dead(self, sending: Sending) -> None:
        """Raises UnreachableError if the target is gone, LimitError if the operation has timed out twice in a row.
        Beside others that may be the load, so one request goes once more alone."""
        if self.unreachable:
            raise UnreachableError(f"the target cannot be reached any more: {self.unreachable}")
        operation = sending.intent.operation
        may_be_the_load = sending.once_more and operation not in self._timed_out_alone
        if self._timeouts[operation] >= _MOST_TIMEOUTS and not may_be_the_load:
            raise LimitError(
                say(
                    "{operation} did not answer twice, so it gets no more requests: if it is slow, raise "
                    "limits.timeout",
                    operation=operation,
                )
            )

    def notice(self, sending: Sending) -> None:
        """Take note of an answer, or of none; a limit of the suite counts as an answer. After several of none, or
        without a connection, ask: a target that still answers only drops requests to some operations, or one
        handshake."""
        failure, operation = sending.exchange.failure, sending.intent.operation
        if failure is None or failure.kind is FailureKind.LIMIT:
            self._failed_in_a_row = self._timeouts[operation] = 0
            self._timed_out_alone.discard(operation)
            return
        self._failed_in_a_row += 1
        if failure.kind is FailureKind.TIMEOUT:
            self._timeouts[operation] += 1
            self._timed_out_alone |= {operation} if not sending.beside else set()
        if self._failed_in_a_row >= _MOST_FAILED_IN_A_ROW or failure.kind in NOT_CONNECTED:
            self._failed_in_a_row = 0
            if self._look_whether_gone():
                self.unreachable = str(failure.message)
