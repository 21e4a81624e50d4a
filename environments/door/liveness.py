"""Whether the target is still there, and which of its operations do not answer."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable

from environments.door.ending import Ending
from environments.door.outgoing import LimitError, NotSentError, Sending
from spec.exchange import FailureKind
from spec.message import say

NOT_CONNECTED = (FailureKind.NO_CONNECTION, FailureKind.TLS)
"""Failures before anything was sent."""
_MOST_TIMEOUTS = 2
_MOST_FAILED_IN_A_ROW = 5
_RESTART_S = (0.5, 1.0, 2.0)
"""Seconds between the looks for a service that answered before and accepts no connection now: a supervisor may start it
again."""


class UnreachableError(NotSentError):
    """The target cannot be reached any more. The text says why."""


class Liveness:
    """Ends the run when the target is gone, and leaves an operation alone that does not answer. `unreachable` says why
    the target is gone; empty while it is there. `look_whether_gone` asks what was answered before. Nothing else is sent
    while somebody looks."""

    def __init__(self, look_whether_gone: Callable[[], bool], ending: Ending) -> None:
        self.unreachable = ""
        self._look_whether_gone, self._ending = look_whether_gone, ending
        self._has_answered = False
        self._looking: int | None = None  # the thread that looks
        self._timeouts = Counter[str]()
        self._timed_out_alone: set[str] = set()
        self._failed_in_a_row = 0

    def wait_for_a_look(self, sending: Sending) -> None:
        """Wait while another thread looks whether the target is gone: no request is lost while it starts again."""
        this_thread = threading.get_ident()
        self._ending.wait_for(lambda: self._looking in (None, this_thread))

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
            self._has_answered = True
            self._failed_in_a_row = self._timeouts[operation] = 0
            self._timed_out_alone.discard(operation)
            return
        self._failed_in_a_row += 1
        if failure.kind is FailureKind.TIMEOUT:
            self._timeouts[operation] += 1
            self._timed_out_alone |= {operation} if not sending.beside else set()
        is_doubtful = self._failed_in_a_row >= _MOST_FAILED_IN_A_ROW or failure.kind in NOT_CONNECTED
        if is_doubtful and self._looking is None and not self.unreachable:
            self._failed_in_a_row = 0
            is_ended = self._has_answered and failure.kind is FailureKind.NO_CONNECTION
            if self._is_gone(_RESTART_S if is_ended else ()):
                self.unreachable = str(failure.message)

    def _is_gone(self, pauses_s: Iterable[float]) -> bool:
        """True if the target is gone, after each of these pauses too."""
        self._looking = threading.get_ident()
        try:
            is_gone = self._look_whether_gone()
            for pause_s in pauses_s:
                if is_gone:
                    self._ending.sleep(pause_s)
                    is_gone = self._look_whether_gone()
            return is_gone
        finally:
            self._looking = None
            self._ending.wake()
