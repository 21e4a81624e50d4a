"""When a target, or one operation of it, does not answer any more."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from environments.door.outgoing import LimitError, NotSentError, Sending
from spec.answers import is_refusal
from spec.exchange import Failure, FailureKind, Response

if TYPE_CHECKING:
    import requests

    from environments.door.outgoing import Intent

GONE = "the target cannot be reached any more: {}"
_MOST_TIMEOUTS = 2
_MOST_FAILED_IN_A_ROW = 5


class UnreachableError(NotSentError):
    """The target cannot be reached any more. The text says why."""


class Liveness:
    """Ends the run when the target is gone, and leaves an operation alone that does not answer. `unreachable` says why
    the target is gone; empty while it is there. What is asked of the target then is asked `alone`."""

    def __init__(self, alone: Callable[[], AbstractContextManager[None]] = nullcontext) -> None:
        self.unreachable = ""
        self._alone, self._guard = alone, threading.Lock()
        self._timeouts: Counter[str] = Counter()
        self._failed_in_a_row = 0
        self._answered: tuple[requests.PreparedRequest, Intent] | None = None

    def refuse_the_dead(self, sending: Sending) -> None:
        """Raises UnreachableError where the target is gone, LimitError where the operation has timed
        out twice in a row."""
        if self.unreachable:
            raise UnreachableError(GONE.format(self.unreachable))
        operation = sending.intent.operation
        if self._timeouts[operation] >= _MOST_TIMEOUTS:
            raise LimitError(f"{operation} did not answer twice, so it gets no more requests")

    def notice(self, sending: Sending) -> None:
        """Take note of an answer, or of none. After several of none, send a request that was answered before."""
        failure, response = sending.exchange.failure, sending.exchange.response
        with self._guard:
            self._count(sending.intent.operation, failure)
            if response is not None:
                self._remember(sending, response)
        if failure is not None and failure.kind in (FailureKind.NO_CONNECTION, FailureKind.TLS):
            self.unreachable = failure.message
        elif failure is not None and self._failed_in_a_row >= _MOST_FAILED_IN_A_ROW:
            self._see_whether_it_is_there(sending, failure)

    def _count(self, operation: str, failure: Failure | None) -> None:
        """A limit of the suite counts as an answer."""
        if failure is None or failure.kind is FailureKind.LIMIT:
            self._failed_in_a_row = self._timeouts[operation] = 0
            return
        self._failed_in_a_row += 1
        self._timeouts[operation] += failure.kind is FailureKind.TIMEOUT

    def _see_whether_it_is_there(self, sending: Sending, failure: Failure) -> None:
        with self._alone():
            if self._failed_in_a_row < _MOST_FAILED_IN_A_ROW:
                return  # another thread has asked meanwhile
            if not self._resend_answered(sending):
                self.unreachable = failure.message
            with self._guard:
                self._failed_in_a_row = 0

    def _remember(self, sending: Sending, response: Response) -> None:
        """Keep the last request that was answered and changes nothing: it only reads, or was refused."""
        if sending.repeatable and (sending.request.method == "GET" or is_refusal(response)):
            self._answered = sending.request, sending.intent

    def _resend_answered(self, sending: Sending) -> bool:
        """Resend the last request that got an answer. A target that still answers it is up; it only drops invalid
        requests."""
        exchange = sending.send_other(*self._answered) if self._answered else None
        return exchange is not None and (exchange.failure is None or exchange.failure.kind is FailureKind.LIMIT)
