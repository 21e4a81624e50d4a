"""Whether the target can still be reached, and which of its operations do not answer.

The target is the service that a run tests. The door asks before each request, so that a run against a target that is
gone ends soon, and an operation that does not answer costs few waits of limits.timeout.

Self-tests: environments/door/test_backoff.py.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from environments.door.outgoing import LimitError, NotSentError, Sending
from environments.door.run_end import RunEnd
from spec.exchange import FailureKind
from spec.message import say

NOT_CONNECTED = (FailureKind.NO_CONNECTION, FailureKind.TLS)
"""Kinds of failures before anything was sent."""
_MOST_TIMEOUTS = 2
"""Timeouts in a row after which an operation gets no more requests. A single one may have a cause that is over soon."""
_MOST_FAILED_IN_A_ROW = 5
"""Requests in a row without an answer after which the suite finds out if the target is gone."""
_PAUSES_FOR_A_RESTART_S = (0.5, 1.0, 2.0)
"""Seconds before each further check of a service that answered before and accepts no connection now: a supervisor may
start it again."""


class UnreachableError(NotSentError):
    """The target cannot be reached any more. The text says why."""


class Liveness:
    """Ends the run when the target is gone, and sends no more to an operation that does not answer.

    The target is gone if it could be reached before and cannot be reached any more. While the suite finds
    that out, nothing else is sent.
    """

    def __init__(self, find_out_if_gone: Callable[[], bool], run_end: RunEnd) -> None:
        """Begin with a target that has not answered so far, and that counts as reachable.

        `find_out_if_gone` sends requests that were answered before, and returns true if none of them is answered now.
        `run_end` knows when the run ends, and until then lets threads wait.
        """
        self.why_unreachable = ""
        """Reason why the target is gone; empty while it can be reached."""
        self._find_out_if_gone = find_out_if_gone
        self._run_end = run_end
        self._has_answered = False
        # Identifier of the thread that checks now if the target is gone; None if none does. A check if the token has
        # expired is noted here, too (`Door` does it), because all other threads have to wait during both.
        self._thread_that_checks: int | None = None
        self._timeouts = Counter[str]()  # timeouts in a row, by operation
        # Operations that timed out although no other request was on the wire, so that the load cannot be the reason. As
        # soon as a request to the operation gets an answer, the operation is removed.
        self._timed_out_without_load: set[str] = set()
        self._failed_in_a_row = 0  # requests in a row that got no answer, to whatever operation

    @property
    def others_are_waiting(self) -> bool:
        """True while one thread checks the target or the token, and all other threads wait for the result."""
        return self._thread_that_checks is not None

    def wait_for_check_of_target(self, sending: Sending) -> None:
        """Wait while another thread finds out if the target is gone (cannot be reached any more).

        A request that is sent meanwhile might be lost, because the target may be starting again. The thread that checks
        calls this method, too, because it sends requests; it must not wait for itself.
        """
        this_thread = threading.get_ident()
        self._run_end.wait_for(lambda: self._thread_that_checks in (None, this_thread))

    def refuse_unreachable(self, sending: Sending) -> None:
        """Refuse a request to a target that cannot be reached any more, or to an operation that does not answer.

        Raises UnreachableError in the first case. Raises LimitError in the second case, which begins after two timeouts
        of the operation in a row: each further request would cost the time of limits.timeout.

        If other requests were under way during each of these timeouts, the load may be the cause. Then a repetition of
        an earlier request is permitted, because it is sent while no other request is under way.
        """
        if self.why_unreachable:
            raise UnreachableError(f"the target cannot be reached any more: {self.why_unreachable}")
        operation = sending.intent.operation
        may_be_the_load = sending.is_repetition and operation not in self._timed_out_without_load
        if self._timeouts[operation] >= _MOST_TIMEOUTS and not may_be_the_load:
            raise LimitError(
                say(
                    "{operation} did not answer twice, so it gets no more requests: if it is slow, raise "
                    "limits.timeout",
                    operation=operation,
                )
            )

    def note_result(self, sending: Sending) -> None:
        """Count whether a request got an answer, and end the run if the target cannot be reached any more.

        An answer sets the counts to zero. So does a request that the suite itself cut short, because that is no fault
        of the target.

        After five requests in a row without an answer, or after one that could not connect, this method sends requests
        to check the target. If it answers one of them, it is not gone: then only some operations do not answer, or one
        connection failed by chance.
        """
        failure = sending.exchange.failure
        operation = sending.intent.operation
        was_cut_by_suite = failure is not None and failure.kind is FailureKind.LIMIT  # no fault of the target
        if failure is None or was_cut_by_suite:
            self._has_answered = True
            self._failed_in_a_row = 0
            self._timeouts[operation] = 0
            self._timed_out_without_load.discard(operation)
            return
        self._failed_in_a_row += 1
        if failure.kind is FailureKind.TIMEOUT:
            self._timeouts[operation] += 1
            other_requests_on_wire = sending.beside
            if other_requests_on_wire == 0:
                self._timed_out_without_load.add(operation)
        may_be_gone = self._failed_in_a_row >= _MOST_FAILED_IN_A_ROW or failure.kind in NOT_CONNECTED
        is_known_already = self.why_unreachable != ""
        if may_be_gone and not self.others_are_waiting and not is_known_already:
            self._failed_in_a_row = 0  # so that the next check comes after five more failures, and not after each
            # Only a service that answered before can be about to start again. If it never answered, there is no pause.
            may_be_restarting = self._has_answered and failure.kind is FailureKind.NO_CONNECTION
            pauses_s = _PAUSES_FOR_A_RESTART_S if may_be_restarting else ()
            target_is_gone = self._check_target(pauses_s)
            if target_is_gone:
                self.why_unreachable = str(failure.message)

    def _check_target(self, pauses_s: Iterable[float]) -> bool:
        """Ask the target once, and once more after each of these pauses as long as it does not answer.

        Returns true if it never answered, so that it counts as gone. The pauses give a service time to start again. All
        other threads wait meanwhile (`wait_for_check_of_target`), and go on afterwards.
        """
        with self.keeping_others_waiting():
            is_gone = self._find_out_if_gone()
            for pause_s in pauses_s:
                if is_gone:
                    self._run_end.sleep(pause_s)
                    is_gone = self._find_out_if_gone()
            return is_gone

    @contextmanager
    def keeping_others_waiting(self) -> Iterator[None]:
        """Keep all other threads from sending until the `with` block ends, in which this thread checks something.

        Only one thread at a time may do so. The caller makes sure of that by a look at `others_are_waiting`.
        """
        self._thread_that_checks = threading.get_ident()
        try:
            yield
        finally:
            self._thread_that_checks = None
            self._run_end.wake_waiting_threads()  # the threads that wait for the end of the check
