"""Waiting where the service asks for it: one pause, and one number of requests at once, for all threads of a run.

A service that says "later" (423, 403 with Retry-After, 429), or whose gateway gives up (502, 503, 504), gets nothing
until the time that it names is over, or 1, 2 and 4 seconds. Then the request goes again, the third time alone.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from environments.door.authorization import VALID
from environments.door.in_flight import InFlight
from environments.door.outgoing import Again, NotSentError, Policy, Sending
from spec.answers import LATER, RefusalKind, refusal_kind
from spec.exchange import Exchange, FailureKind, Response

WAITS_S = (1.0, 2.0, 4.0)
"""Seconds before each attempt after the first, where the service names no time."""
LONGEST_WAIT_S = 60.0
WHOLE_RUN_S = 300.0
"""How long a run pauses in all: a service that always says "later" must not hold it up for ever."""
_NO_CONNECTION_S, _CONNECTS = 0.3, 2
"""A service that restarts refuses connections for a moment."""
PUT_OFF = LATER | {RefusalKind.GATEWAY}
IN_VAIN = "the suite waits three times for a request, and the service asked for more (set limits.rate, or parallel: 1)"
TOO_LONG = f"the suite waits {LONGEST_WAIT_S:g} s at most before a request, and the service asked for more"
TOO_OFTEN = f"the suite waits {WHOLE_RUN_S:g} s at most in all, and the service asked for more (set limits.rate)"
LOCKED = (
    "the service locks its callers out ({}), longer than the suite waits: codes were kept back, and can be used later; "
    "set a lower limits.wrong_tokens"
)


class Backoff:
    """Decides whether a request that was put off goes again, and how many may be on the wire at once (`in_flight`).
    `waited_s` is how long the run paused in all. `turn` waits for limits.rate. `unsent` gets the operations that it
    gave up waiting for, by the reason. `harmless` executes a synthetic code; the client of the door knows how. `notes`
    are said first.

    Nothing is locked while a thread waits.
    """

    def __init__(
        self,
        in_flight: InFlight | None = None,
        turn: Policy = lambda sending: None,
        unsent: dict[str, set[str]] | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = lambda seconds: time.sleep(seconds),
    ) -> None:
        self._in_flight, self.waited_s = in_flight or InFlight(1), 0.0
        self.unsent = {} if unsent is None else unsent
        self.notes: list[str] = []
        self.harmless: Callable[[], Exchange] | None = None
        self._turn, self._clock, self._sleep = turn, clock, sleep
        self._guard = threading.Lock()
        self._paused_until = self._slept_until = 0.0
        self._departed = self._departed_when_halved = 0
        self._between_executions_s = 0.0
        self._may_be_locked = False
        self._in_vain: set[str] = set()

    # -- before a request leaves ------------------------------------------------------------------------------

    def spare_codes(self, sending: Sending) -> None:
        """Wait before an execution, which is sent once, where the rate is limited. After a wrong token, which may lock
        the caller out, send a harmless request first. Raises NotSentError where the service is locked."""
        if not sending.executes:
            return
        if self._may_be_locked and self.harmless:
            answer = self.harmless().response
            if answer is not None and refusal_kind(answer) in LATER:
                self.notes = [LOCKED.format(answer.status)]
                raise NotSentError(*self.notes)
            self._may_be_locked = False
        self._pause(self._between_executions_s)
        self.wait_out_pause()

    def wait_for_turn(self, sending: Sending) -> None:
        """Wait until no pause is on and limits.rate permits the request, which leaves then."""
        while True:
            self.wait_out_pause()
            self._turn(sending)
            with self._guard:
                if self._now() >= self._paused_until:
                    self._departed += 1
                    sending.departure = self._departed
                    return

    def wait_out_pause(self) -> None:
        """Wait until no pause is on."""
        while (rest := self._paused_until - self._now()) > 0:
            end = self._paused_until
            self._sleep(rest)
            self._slept_until = max(self._slept_until, end)

    def _now(self) -> float:
        """A sleep lasts as long as it was asked to, whatever the clock says."""
        return max(self._clock(), self._slept_until)

    # -- after it was answered --------------------------------------------------------------------------------

    def notice(self, sending: Sending) -> None:
        """See each attempt: one that was put off beside other requests leaves fewer places on the wire."""
        self._may_be_locked |= sending.intent.credential != VALID
        exchange = sending.exchange
        if exchange.beside and exchange.response is not None and refusal_kind(exchange.response) in PUT_OFF:
            self._in_flight.put_off_together += sending.meets
            self.slow_down(sending)

    def slow_down(self, sending: Sending) -> None:
        """Half as many requests at once. What left before that says nothing new."""
        with self._guard:
            if sending.departure > self._departed_when_halved:
                self._departed_when_halved = self._departed
                self._in_flight.window = max(1, self._in_flight.window // 2)

    def decide(self, sending: Sending) -> Again | None:
        """Have a request sent again that was put off, or never left, when the pause is over. One whose outcome is
        unknown is not sent again if it may have moved money, and an execution only if it never left."""
        exchange, response = sending.exchange, sending.exchange.response
        if response is None:
            return self._after_a_failure(sending)
        refusal = refusal_kind(response)
        if refusal not in PUT_OFF:
            self._in_vain.discard(_sort(exchange))
            return None
        if _sort(exchange) in self._in_vain or not self._pause_for(sending, refusal, retry_after(response)):
            return None
        if sending.executes or (refusal is RefusalKind.GATEWAY and not sending.repeatable):
            return None
        sending.put_off += 1
        return Again(alone=sending.put_off == len(WAITS_S))

    def _pause_for(self, sending: Sending, refusal: RefusalKind | None, named: float | None) -> bool:
        """Keep all threads from sending. False where the request has waited often enough, or would wait too long."""
        attempts = _waits(sending.exchange, refusal, named)
        if sending.put_off >= len(attempts):
            self._give_up(sending.exchange, IN_VAIN)
            return False
        wait = attempts[sending.put_off]
        if wait > LONGEST_WAIT_S or not self._pause(wait):
            self._give_up(sending.exchange, TOO_LONG if wait > LONGEST_WAIT_S else TOO_OFTEN)
            return False
        if refusal is RefusalKind.RATE_LIMIT:
            self._between_executions_s = max(self._between_executions_s, wait)
        return True

    def _give_up(self, exchange: Exchange, why: str) -> None:
        """Do not wait for requests of this sort any more, until one is let in."""
        self._in_vain.add(_sort(exchange))
        if exchange.valid:
            self.unsent.setdefault(why, set()).add(exchange.operation)

    def _pause(self, seconds: float) -> bool:
        """Keep all threads from sending. What several wait for at the same time counts once. False past WHOLE_RUN_S."""
        with self._guard:
            now = self._now()
            added = max(0.0, now + seconds - max(now, self._paused_until))
            if self.waited_s + added > WHOLE_RUN_S:
                return False
            self.waited_s += added
            self._paused_until = max(self._paused_until, now + seconds)
            return True

    def _after_a_failure(self, sending: Sending) -> Again | None:
        """A connection that was refused is tried again, and one that was dropped, where nothing can have moved."""
        kind = sending.exchange.failure.kind if sending.exchange.failure else None
        is_unsent = kind is FailureKind.NO_CONNECTION and sending.lost < _CONNECTS
        if not is_unsent and not (kind is FailureKind.DROPPED and sending.repeatable and not sending.lost):
            return None
        sending.lost += 1
        return Again() if not is_unsent or self._pause(_NO_CONNECTION_S) else None


def _waits(exchange: Exchange, refusal: RefusalKind | None, named: float | None) -> tuple[float, ...]:
    """Seconds before each further attempt. A gateway may give up on every invalid request, and not for a moment."""
    if named is not None:
        return (named,) * len(WAITS_S)
    return (0.0,) if refusal is RefusalKind.GATEWAY and not exchange.valid else WAITS_S


def _sort(exchange: Exchange) -> str:
    """Requests that a service may put off alike: valid ones to one operation, all invalid ones, all wrong tokens."""
    if exchange.credential != VALID:
        return "wrong token"
    return exchange.operation if exchange.valid else "invalid"


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
