"""The guard of real transaction codes: each is executed once, and never again after an unknown outcome."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from environments.budget import Budget
from environments.journal import AlreadySentError, Journal, JournalError
from spec.exchange import Exchange, FailureKind
from spec.reading import gives_result

_UNKNOWN = "outcome unknown"
_NOT_FROM_THE_SERVICE = (502, 503, 504)


class ExecutionGuard:
    """Counts executions and writes the journal. `unknown` are the exchanges whose outcome nobody knows."""

    def __init__(self, budget: Budget, journal: Journal) -> None:
        self.codes: set[str] = set()
        self.count = 0
        self.unknown: list[int] = []
        self.refused_by_journal: set[str] = set()
        self.journal_trouble = ""
        self._budget, self._journal = budget, journal
        self._spent: set[str] = set()
        self._once_more: set[str] = set()
        self._asked_twice: set[str] = set()

    def refuse(self, code: str) -> None:
        """Raises AlreadySentError for a code that an earlier run sent, or whose outcome is unknown; JournalError."""
        if code in self._spent:
            raise AlreadySentError(
                "this code is spent: it was executed, or its outcome is unknown; it is not sent again"
            )
        try:
            self._journal.refuse_if_sent_before(code)
        except AlreadySentError:
            self.refused_by_journal.add(code)
            raise

    def claim(self, code: str) -> None:
        """Count an execution and write it down. Raises OverBudgetError, JournalError or OSError."""
        once_more = code in self._once_more
        self._once_more.discard(code)
        if not once_more:
            self._journal.refuse_if_sent_before(code, in_this_run=True)
        self._budget.take_execution()
        self._journal.claim(code, once_more=once_more)
        self.count += 1

    def permit_once_more(self, code: str) -> bool:
        """Let a code be executed a second time, to see whether money moves again. Whether that is permitted: only at a
        loopback target, and only after an answer. For a code that the run prepared itself; the caller sees to that."""
        settled = code in self._spent and code not in self._asked_twice and not self.unknown
        if self._journal.across_runs or not settled:
            return False
        self._asked_twice.add(code)
        self._once_more.add(code)
        self._spent.discard(code)
        return True

    def unanswered(self) -> int:
        """How many codes of the run, all its processes taken together, were sent without a known outcome."""
        try:
            return self._journal.unanswered()
        except (JournalError, OSError):  # a journal that cannot be read stops every execution
            return 0

    @contextmanager
    def sending(self, code: str, number: int, executes: bool, answer: Callable[[], Exchange]) -> Iterator[None]:
        """While a real code is on the wire its outcome is unknown, whatever stops us."""
        self.unknown.append(number)
        self._spent.add(code)
        try:
            yield
        except BaseException:
            self._journal.settle(code, _UNKNOWN)
            raise
        exchange = answer()
        if _is_unknown(exchange):
            self._journal.settle(code, _UNKNOWN)
            return
        self.unknown.remove(number)
        if executes or gives_result(exchange):
            self._journal.settle(code, exchange.summary)
        if not gives_result(exchange):
            self._spent.discard(code)


def _is_unknown(exchange: Exchange) -> bool:
    """No answer, or one that a gateway gave in the service's place: only a refused connection did nothing."""
    if exchange.response is not None:
        return exchange.response.status in _NOT_FROM_THE_SERVICE
    return exchange.failure is None or exchange.failure.kind is not FailureKind.NO_CONNECTION
