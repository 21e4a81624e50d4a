"""When a target, or one operation of it, says nothing any more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from spec.exchange import Exchange, FailureKind

_MOST_SILENT = 2
_MOST_FAILED_IN_A_ROW = 5


class Liveness:
    """Keeps count, so that a dead target ends the run and a dead operation is left alone."""

    def __init__(self) -> None:
        self.unreachable = ""
        self._silent: Counter[str] = Counter()
        self._failed_in_a_row = 0

    def is_dead(self, operation: str) -> bool:
        """Whether the operation gave no answer in time twice running."""
        return self._silent[operation] >= _MOST_SILENT

    def notice(self, exchange: Exchange, still_answers: Callable[[], bool]) -> None:
        """Take note of an answer, or of none. After several of none, ask whether the target answers anything."""
        failure = exchange.failure
        if failure is None:
            self._failed_in_a_row = self._silent[exchange.operation] = 0
            return
        self._failed_in_a_row += 1
        if failure.kind is FailureKind.TIMEOUT:
            self._silent[exchange.operation] += 1
        gone = failure.kind in (FailureKind.NO_CONNECTION, FailureKind.TLS)
        if not gone and self._failed_in_a_row < _MOST_FAILED_IN_A_ROW:
            return
        if gone or not still_answers():
            self.unreachable = failure.message
        self._failed_in_a_row = 0
