"""When a request is sent again: where the service asks for it, and nothing was done."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from environments.authorization import VALID
from spec.exchange import Exchange, FailureKind, Response

ATTEMPTS = 6
LONGEST_WAIT_S = 60.0
WHOLE_RUN_S = 300.0
"""How long one process waits in all, so that a service that always asks for patience ends a run, too."""
_BUSY = (502, 503, 504)


class Patience:
    """Decides how long to wait before the same request goes again. `waited_s` is what was waited so far."""

    def __init__(self) -> None:
        self.waited_s = 0.0
        self.between_executions_s = 0.0

    def wait_before(
        self, exchange: Exchange, attempt: int, *, repeatable: bool, executes: bool = False
    ) -> float | None:
        """Seconds until the request may go again; None where it must not, need not, or was repeated often enough.

        A refused connection and a 429 say that nothing was done, so they count for every request but an execution: that
        goes again only where it never left. The executions after a 429 are slowed down.
        """
        wait = None if attempt >= ATTEMPTS - 1 else self._wanted(exchange, attempt, repeatable)
        if executes and exchange.response is not None:
            return None
        if wait is None or wait > LONGEST_WAIT_S or self.waited_s + wait > WHOLE_RUN_S:
            return None
        self.waited_s += wait
        return wait

    def _wanted(self, exchange: Exchange, attempt: int, repeatable: bool) -> float | None:
        if exchange.response is None:
            kind = exchange.failure.kind if exchange.failure else None
            if kind is FailureKind.NO_CONNECTION:
                return 0.3 if attempt < 2 else None
            return 0.0 if kind is FailureKind.DROPPED and attempt == 0 and repeatable else None
        status = exchange.response.status
        if status == 429:
            return self._slow_down(_or(retry_after(exchange.response), 0.5 * 2**attempt))
        if status not in _BUSY or not repeatable:
            return None
        asked, mistaken = retry_after(exchange.response), exchange.credential == VALID and not exchange.good
        if asked is None and mistaken and attempt:
            return None  # a gateway may give up on every mistake of a sort
        return _or(asked, 0.1 * 2**attempt)

    def _slow_down(self, wait: float) -> float:
        self.between_executions_s = max(self.between_executions_s, min(wait, LONGEST_WAIT_S))
        return wait

    def before_execution(self) -> float:
        """Seconds to wait before an execution, where the service has limited the rate."""
        wait = min(self.between_executions_s, max(0.0, WHOLE_RUN_S - self.waited_s))
        self.waited_s += wait
        return wait


def retry_after(response: Response) -> float | None:
    """Seconds named by Retry-After, as a number or a date (RFC 9110 section 10.2.3); None without one.

    A date is one by the clock of the service, which its header Date tells.
    """
    value = response.header("Retry-After").strip()
    if value.isdecimal():
        return float(value[:9])
    until = _date(value)
    if until is None:
        return None
    return max(0.0, (until - (_date(response.header("Date")) or datetime.now(UTC))).total_seconds())


def _date(value: str) -> datetime | None:
    try:
        date = parsedate_to_datetime(value)
    except (ValueError, TypeError):
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)


def _or(seconds: float | None, otherwise: float) -> float:
    return otherwise if seconds is None else seconds
