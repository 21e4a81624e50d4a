"""Whether the target can still be reached, and which of its operations do not answer.

The door asks before each request, so that a run against a target that is gone ends soon, and an operation that does not
answer costs few waits of limits.timeout.

Self-tests: environments/door/test_backoff.py.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable

from environments.door.ending import Ending
from environments.door.outgoing import LimitError, NotSentError, Sending
from spec.exchange import FailureKind
from spec.message import say

NOT_CONNECTED = (FailureKind.NO_CONNECTION, FailureKind.TLS)
"""Kinds of failures before anything was sent."""
_MOST_TIMEOUTS = 2
"""Timeouts in a row after which an operation gets no more requests. A single one may be a passing trouble."""
_MOST_FAILED_IN_A_ROW = 5
"""Requests in a row without an answer after which the suite finds out if the target is gone."""
_RESTART_S = (0.5, 1.0, 2.0)
"""Seconds between the looks for a service that answered before and accepts no connection now: a supervisor may start it
again."""


class UnreachableError(NotSentError):
    """The target cannot be reached any more. The text says why."""


class Liveness:
    """Ends the run when the target is gone, and sends no more to an operation that does not answer.

    `find_out_if_gone` sends requests that were answered before, and gives true if none is answered any more. Nothing
    else is sent meanwhile.
    """

    def __init__(self, find_out_if_gone: Callable[[], bool], ending: Ending) -> None:
        self.unreachable = ""
        """Reason why the target is gone; empty while it can be reached."""
        self._find_out_if_gone = find_out_if_gone
        self._ending = ending
        self._has_answered = False
        self._looking: int | None = None  # the thread that finds out if the target is gone
        self._timeouts = Counter[str]()  # in a row, by operation
        self._timed_out_alone: set[str] = set()  # operations of which a request timed out with nothing beside it
        self._failed_in_a_row = 0  # requests to any operation

    def wait_for_a_look(self, sending: Sending) -> None:
        """Wait while another thread finds out if the target is gone, so that no request is lost while it starts
        again."""
        this_thread = threading.get_ident()
        self._ending.wait_for(lambda: self._looking in (None, this_thread))

    def refuse_unreachable(self, sending: Sending) -> None:
        """Raises UnreachableError if the target is gone, LimitError if the operation has timed out twice in a row.

        If each of these requests went beside others, the load may be the cause: then a request that is sent once more,
        alone, may pass.
        """
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
        """Count a request without an answer, and start to count anew after an answer. A limit of the suite that cut the
        answer counts as an answer.

        After several requests without an answer, or without a connection, find out if the target is gone. A target that
        still answers drops only requests to some operations, or dropped one handshake.
        """
        failure, operation = sending.exchange.failure, sending.intent.operation
        if failure is None or failure.kind is FailureKind.LIMIT:
            self._has_answered = True
            self._failed_in_a_row = self._timeouts[operation] = 0
            self._timed_out_alone.discard(operation)
            return
        self._failed_in_a_row += 1
        if failure.kind is FailureKind.TIMEOUT:
            self._timeouts[operation] += 1
            if not sending.beside:
                self._timed_out_alone.add(operation)
        is_doubtful = self._failed_in_a_row >= _MOST_FAILED_IN_A_ROW or failure.kind in NOT_CONNECTED
        if is_doubtful and self._looking is None and not self.unreachable:
            self._failed_in_a_row = 0
            has_ended = self._has_answered and failure.kind is FailureKind.NO_CONNECTION
            if self._is_gone(_RESTART_S if has_ended else ()):
                self.unreachable = str(failure.message)

    def _is_gone(self, pauses_s: Iterable[float]) -> bool:
        """True if the target is gone, after each of these pauses too."""
        self._looking = threading.get_ident()
        try:
            is_gone = self._find_out_if_gone()
            for pause_s in pauses_s:
                if is_gone:
                    self._ending.sleep(pause_s)
                    is_gone = self._find_out_if_gone()
            return is_gone
        finally:
            self._looking = None
            self._ending.wake()
