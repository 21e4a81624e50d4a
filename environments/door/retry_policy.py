"""When a request is sent again: the service asks for it, and nothing was done."""

from __future__ import annotations

import threading
from collections import Counter
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from environments.door.authorization import VALID
from environments.door.congestion import Congestion
from environments.door.outgoing import NotSentError, Sending
from spec.answers import LATER, RefusalKind, refusal_kind
from spec.exchange import Exchange, FailureKind, Response

ATTEMPTS = 8
MOST_SENT = 2 * ATTEMPTS
"""How often a request is sent, with the attempts whose room other requests of the run took."""
_FEW_ATTEMPTS = 6
"""For a 429 or a gateway: the service does not say that the caller is locked out."""
_INVALID_ATTEMPTS = 4
"""For a lock, where the request is invalid: the service may refuse it in this way."""
_ENOUGH_IN_VAIN = 3
"""Requests that a gateway refused until the end, since waiting helped one: it helps no more."""
_MOST_NAMED = 3
"""How often the suite waits for a lock that names its end and lasts longer."""
LONGEST_WAIT_S = 60.0
WHOLE_RUN_S = 300.0
"""How long one process waits in all: a service that always says "later" must not hold a run up for ever. What several
threads wait for at the same time counts once."""
_INVALID, _WRONG_TOKEN = "invalid", "wrong-token"
_LAST = "the last answer, of whatever operation"


class RetryPolicy:
    """Decides how long to wait before the same request goes again; meanwhile no thread sends. `unsent` gets the
    operations that it gave up waiting for, by the limit that was reached.

    A service may lock a caller out after wrong tokens: 423, or 403 with Retry-After, to valid requests, too. The policy
    waits for that as for a 429. Requests with wrong tokens may take half of the time in all; then no more of them are
    sent, so that valid requests are let in again.
    """

    def __init__(self, congestion: Congestion | None = None, unsent: dict[str, set[str]] | None = None) -> None:
        self.unsent = {} if unsent is None else unsent
        self._between_executions_s = 0.0
        self._locks = False
        self._locked: dict[str, int] = {}
        self._plain_refusals: set[int] = set()
        self._wrong_tokens_in_vain = False
        self._at_the_gateway: Counter[str] = Counter()
        self._congestion = congestion or Congestion()
        self._guard = threading.Lock()

    @property
    def waited_s(self) -> float:
        """How long the process waited so far."""
        return self._congestion.paused_s

    # -- policies ---------------------------------------------------------------------------------------------

    def spare_wrong_tokens(self, sending: Sending) -> None:
        """Raises NotSentError for a wrong token that would keep the service from answering the right one."""
        if sending.intent.credential != VALID and self._locks and not self._wrong_tokens_have_time:
            raise NotSentError("the service locks its callers out: no more wrong tokens are sent")

    def slow_executions(self, sending: Sending) -> None:
        """Wait before an execution, where the service has limited the rate."""
        if sending.executes:
            wait = min(self._between_executions_s, max(0.0, WHOLE_RUN_S - self.waited_s))
            self._congestion.make_room(wait, WHOLE_RUN_S)

    def repeat(self, sending: Sending) -> None:
        """Wait and send the request again, as long as the service asks for it and nothing was done. An attempt does not
        count where the service let other requests in meanwhile: they took the room."""
        attempt = sent = 0
        may = {"repeatable": sending.repeatable, "executes": sending.executes}
        while sent < MOST_SENT and self.plan_wait(sending.exchange, attempt, **may) is not None:
            let_in = self._congestion.let_in
            self._congestion.wait_out_pause()
            if not sending.send_again():
                break
            sent += 1
            attempt += not (self._congestion.let_in > let_in and _is_put_off(sending.exchange))
        if sending.exchange.response is not None:
            self._learn(sending.exchange, sending.exchange.response, waited=sent > 0)

    # -- how long ---------------------------------------------------------------------------------------------

    def plan_wait(self, exchange: Exchange, attempt: int, *, repeatable: bool, executes: bool = False) -> float | None:
        """Plan a wait, and count it: seconds until the request may go again. None where it must not, need not, or was
        repeated often enough.

        A refused connection, a 429 and a lock say that nothing was done, so they count for every request but an
        execution: that goes again only where it never left. The executions after a 429 are slowed down.
        """
        with self._guard:
            wait = self._wanted(exchange, attempt, repeatable)
            if wait is None or attempt >= ATTEMPTS - 1 or (executes and exchange.response is not None):
                return None
            if limit := self._pause(wait):
                self.unsent.setdefault(limit, set()).add(exchange.operation)
                return None
            return wait

    def _pause(self, wait: float) -> str:
        """Keep all threads from sending for so long. Gives the limit that this would exceed, or an empty text."""
        if wait > LONGEST_WAIT_S:
            return f"the suite waits {LONGEST_WAIT_S:g} s at most before a request, and the service asked for more"
        if not self._congestion.pause(wait, WHOLE_RUN_S):
            return f"the suite waits {WHOLE_RUN_S:g} s at most in all, and the service asked for more"
        return ""

    def _wanted(self, exchange: Exchange, attempt: int, repeatable: bool) -> float | None:
        response = exchange.response
        if response is None:
            return _after_a_failure(exchange, attempt, repeatable)
        refusal = refusal_kind(response)
        if refusal in LATER:
            return self._put_off(exchange, response, attempt)
        asked = retry_after(response)
        if refusal is RefusalKind.GATEWAY and not repeatable:
            self._pause(asked or 0.0)  # its outcome is unknown; what comes next need not share its fate
        most = _FEW_ATTEMPTS - 1 if asked is not None else self._most_at_a_gateway(exchange)
        if refusal is not RefusalKind.GATEWAY or not repeatable or attempt >= most:
            return None
        return 0.1 * 2**attempt if asked is None else asked

    def _most_at_a_gateway(self, exchange: Exchange) -> int:
        """How often a request is repeated where no time is named. A gateway may give up on every invalid request of a
        sort, and an operation may be down as long as the run lasts."""
        sort = _sort(exchange)
        in_vain = self._at_the_gateway[sort] >= _ENOUGH_IN_VAIN
        if sort == _INVALID:
            return 0 if in_vain else 1
        return 1 if in_vain else _FEW_ATTEMPTS - 1

    def _put_off(self, exchange: Exchange, response: Response, attempt: int) -> float | None:
        asked = retry_after(response)
        wait = 0.5 * 2**attempt if asked is None else asked
        rate_limited = refusal_kind(response) is RefusalKind.RATE_LIMIT
        if rate_limited and (wait <= LONGEST_WAIT_S or exchange.operation == "executePix"):
            # a longer one is of another operation alone, or waiting for a part of it is in vain
            self._between_executions_s = max(self._between_executions_s, min(wait, LONGEST_WAIT_S))
        if exchange.credential != VALID:
            return self._of_a_wrong_token(wait, attempt, named=asked is not None)
        if rate_limited:
            return wait if attempt < _FEW_ATTEMPTS - 1 else None
        if response.status in self._plain_refusals or (not exchange.valid and attempt >= _INVALID_ATTEMPTS):
            return None
        self._locks = True
        in_vain = {exchange.operation, _LAST} & self._locked.keys() or (asked is not None and attempt >= _MOST_NAMED)
        return None if in_vain else wait

    def _of_a_wrong_token(self, wait: float, attempt: int, *, named: bool) -> float | None:
        """While the caller is locked out, an answer shows nothing of a wrong token. So the request goes again: once
        where the service names a time, else twice, and not at all where that did not help the last time."""
        most = 1 if named else 2
        return wait if attempt < most and not self._wrong_tokens_in_vain and self._wrong_tokens_have_time else None

    @property
    def _wrong_tokens_have_time(self) -> bool:
        return self.waited_s < WHOLE_RUN_S / 2

    # -- whether waiting helped ---------------------------------------------------------------------------------

    def _learn(self, exchange: Exchange, response: Response, *, waited: bool) -> None:
        """An operation that stayed locked until the end is not waited for again, nor is the next request to any other.

        A lock that outlasted all waiting and does not hold for the next request to the operation was none: some
        services refuse with that status, and it is not waited for any more.
        """
        refusal = refusal_kind(response)
        with self._guard:
            if refusal is RefusalKind.GATEWAY:
                self._at_the_gateway[_sort(exchange)] += 1
            elif waited:
                del self._at_the_gateway[_sort(exchange)]
            if exchange.credential != VALID:
                self._wrong_tokens_in_vain = refusal in LATER
                return
            before = self._locked.pop(exchange.operation, 0)
            self._locked.pop(_LAST, 0)
            if refusal is RefusalKind.LOCK:
                self._locked[exchange.operation] = self._locked[_LAST] = response.status
            elif before and not waited and refusal not in LATER:
                self._plain_refusals.add(before)
                self._locks = False


def _sort(exchange: Exchange) -> str:
    """What a gateway may refuse alike: valid requests to one operation, all invalid ones, all with a wrong token."""
    if exchange.credential != VALID:
        return _WRONG_TOKEN
    return exchange.operation if exchange.valid else _INVALID


def _after_a_failure(exchange: Exchange, attempt: int, repeatable: bool) -> float | None:
    kind = exchange.failure.kind if exchange.failure else None
    if kind is FailureKind.NO_CONNECTION:
        return 0.3 if attempt < 2 else None
    return 0.0 if kind is FailureKind.DROPPED and attempt == 0 and repeatable else None


def _is_put_off(exchange: Exchange) -> bool:
    """Whether a request with the right token was told to come back later, or a valid one got no further than a gateway:
    a gateway may give up on an invalid one for what it is."""
    refusal = refusal_kind(exchange.response) if exchange.response else None
    return exchange.credential == VALID and (refusal in LATER or (refusal is RefusalKind.GATEWAY and exchange.valid))


def retry_after(response: Response) -> float | None:
    """Seconds named by Retry-After, as a number or a date (RFC 9110 section 10.2.3); None without one.

    A date is one by the clock of the service, which its header Date tells.
    """
    value = response.header("Retry-After").strip()
    if value.isdecimal():
        return float(value[:9])
    until = http_date(value)
    if until is None:
        return None
    return max(0.0, (until - (http_date(response.header("Date")) or datetime.now(UTC))).total_seconds())


def http_date(value: str) -> datetime | None:
    """A date of a header (RFC 9110 section 5.6.7); None for another text."""
    try:
        date = parsedate_to_datetime(value)
    except (ValueError, TypeError):
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)
