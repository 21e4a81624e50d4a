"""When a request is sent again: where the service asks for it, and nothing was done."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from environments.door.authorization import VALID
from spec.answers import LATER, RefusalKind, refusal_kind
from spec.exchange import Exchange, FailureKind, Response

ATTEMPTS = 8
_FEW_ATTEMPTS = 6
"""Where the service does not say that the caller is locked out."""
_INVALID_ATTEMPTS = 4
"""Where it does say so to a request that it may refuse anyway: that may be how it refuses."""
_MOST_NAMED = 3
"""How often a lock is waited for that names its end, and lasts longer."""
LONGEST_WAIT_S = 60.0
WHOLE_RUN_S = 300.0
"""How long one process waits in all, so that a service that always asks for patience ends a run, too."""
_WRONG = "wrong tokens"


class RetryPolicy:
    """Decides how long to wait before the same request goes again. `waited_s` is what was waited so far, and `given_up`
    has the operations that were not waited for any longer, by the limit that was reached.

    A service may lock a caller out after wrong tokens: 423, or 403 with Retry-After, to right requests, too. That is
    waited for like 429. Wrong tokens may take half of the time in all: when it is spent, no more of them are sent, so
    that right requests are let in again.
    """

    def __init__(self) -> None:
        self.waited_s = 0.0
        self._locks = False
        self._in_vain: set[str] = set()
        self._has_waited = False
        self._locked: dict[str, int] = {}
        self._plain_refusals: set[int] = set()
        self.between_executions_s = 0.0
        self.given_up: dict[str, set[str]] = {}

    def wait_before(
        self, exchange: Exchange, attempt: int, *, repeatable: bool, executes: bool = False
    ) -> float | None:
        """Seconds until the request may go again; None where it must not, need not, or was repeated often enough.

        A refused connection, a 429 and a lock say that nothing was done, so they count for every request but an
        execution: that goes again only where it never left. The executions after a 429 are slowed down.
        """
        wait = None if attempt >= ATTEMPTS - 1 else self._wanted(exchange, attempt, repeatable)
        if executes and exchange.response is not None:
            return None
        if wait is None:
            return None
        if over := _over(wait, self.waited_s):
            self.given_up.setdefault(over, set()).add(exchange.operation)
            return None
        self.waited_s += wait
        self._has_waited = True
        return wait

    def _wanted(self, exchange: Exchange, attempt: int, repeatable: bool) -> float | None:
        if exchange.response is None:
            kind = exchange.failure.kind if exchange.failure else None
            if kind is FailureKind.NO_CONNECTION:
                return 0.3 if attempt < 2 else None
            return 0.0 if kind is FailureKind.DROPPED and attempt == 0 and repeatable else None
        refusal = refusal_kind(exchange.response)
        if refusal in LATER:
            return self._put_off(exchange, exchange.response, attempt)
        if attempt >= _FEW_ATTEMPTS - 1:
            return None
        if refusal is not RefusalKind.GATEWAY or not repeatable:
            return None
        asked, mistaken = retry_after(exchange.response), exchange.credential == VALID and not exchange.valid
        if asked is None and mistaken and attempt:
            return None  # a gateway may give up on every mistake of a sort
        return _or(asked, 0.1 * 2**attempt)

    def _put_off(self, exchange: Exchange, response: Response, attempt: int) -> float | None:
        asked = retry_after(response)
        wait = _or(asked, 0.5 * 2**attempt)
        limited = refusal_kind(response) is RefusalKind.RATE_LIMIT
        if limited:
            self._slow_down(wait)
        if exchange.credential != VALID:
            return self._of_a_wrong_token(wait, attempt, named=asked is not None)
        if limited:
            return wait if attempt < _FEW_ATTEMPTS - 1 else None
        if response.status in self._plain_refusals or (not exchange.valid and attempt >= _INVALID_ATTEMPTS):
            return None
        self._locks = True
        in_vain = {exchange.operation, ""} & self._in_vain or (asked is not None and attempt >= _MOST_NAMED)
        return None if in_vain else wait

    def _of_a_wrong_token(self, wait: float, attempt: int, *, named: bool) -> float | None:
        """It is refused anyway; that it was seen while the caller was locked out shows nothing, so it goes again once,
        where no time is named twice. A service that refuses every wrong token so is not waited for each time."""
        most = 1 if named else 2
        return wait if attempt < most and _WRONG not in self._in_vain and self._wrong_tokens_have_time else None

    def notice(self, exchange: Exchange) -> None:
        """See what came of waiting: whoever was put off until the end need not wait so long again."""
        has_waited, self._has_waited = self._has_waited, False
        if exchange.response is None:
            return
        if exchange.credential == VALID:
            self._tell_a_refusal_from_a_lock(exchange.operation, exchange.response, has_waited)
        wrong, refusal = exchange.credential != VALID, refusal_kind(exchange.response)
        if refusal is RefusalKind.LOCK or (wrong and refusal is RefusalKind.RATE_LIMIT):
            self._in_vain |= {_WRONG} if wrong else {exchange.operation, ""}
        else:
            self._in_vain -= {_WRONG} if wrong else {exchange.operation, ""}

    def _tell_a_refusal_from_a_lock(self, operation: str, response: Response, has_waited: bool) -> None:
        """A lock that outlasted all waiting and does not hold for the next request to the operation was none: some
        services refuse with that status, and it is not waited for any more."""
        locked = self._locked.pop(operation, 0)
        refusal = refusal_kind(response)
        if refusal is RefusalKind.LOCK:
            self._locked[operation] = response.status
        elif locked and not has_waited and refusal not in LATER:
            self._plain_refusals.add(locked)
            self._locks = False

    @property
    def spares_wrong_tokens(self) -> bool:
        """Whether no more wrong tokens are sent: they keep the service from answering the right one."""
        return self._locks and not self._wrong_tokens_have_time

    @property
    def _wrong_tokens_have_time(self) -> bool:
        return self.waited_s < WHOLE_RUN_S / 2

    def _slow_down(self, wait: float) -> None:
        self.between_executions_s = max(self.between_executions_s, min(wait, LONGEST_WAIT_S))

    def before_execution(self) -> float:
        """Seconds to wait before an execution, where the service has limited the rate."""
        wait = min(self.between_executions_s, max(0.0, WHOLE_RUN_S - self.waited_s))
        self.waited_s += wait
        return wait


class Admission:
    """Whether the execution lets the token in. `let_in`: it said something of a code that nobody has; `wrong_tokens`
    were sent since it last did; `put_off` is the status of an execution that was put off where it never did."""

    def __init__(self) -> None:
        self.let_in, self.wrong_tokens, self.put_off = False, False, 0
        self._always_off = False

    def notice(self, exchange: Exchange, *, valid: bool) -> None:
        """See how a request was answered, to whatever operation: a lock may be by address."""
        if not valid:
            self.wrong_tokens = True
        elif exchange.operation == "executePix" and exchange.response is not None:
            off = refusal_kind(exchange.response) in LATER
            self.wrong_tokens &= off
            if exchange.valid:
                self.put_off = exchange.response.status if off and self._always_off else 0
            else:
                self.let_in |= not off
                self._always_off = not self.let_in


def _over(wait: float, waited: float) -> str:
    """Which limit a wait exceeds; empty where it exceeds none."""
    if wait > LONGEST_WAIT_S:
        return f"the suite waits {LONGEST_WAIT_S:g} s at most before a request, and the service asked for more"
    if waited + wait > WHOLE_RUN_S:
        return f"the suite waits {WHOLE_RUN_S:g} s at most in all, and the service asked for more"
    return ""


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
