"""Waiting where the service asks for it, and places on the wire: one pause and one number of places for a whole run.

A service that says "later" (423, 403 with Retry-After, 429), or whose gateway gives up (502, 503, 504), gets nothing
until the time that it names is over, or 1, 2 and 4 seconds. Beside other requests, that halves the number of places.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from environments.door.ending import Ending
from environments.door.outgoing import NotSentError, Policy, Sending
from spec.answers import LATER, RefusalKind, refusal_kind
from spec.exchange import VALID, Exchange, FailureKind, Response

WAITS_S = (1.0, 2.0, 4.0)
"""Seconds before each attempt after the first, where the service names no time."""
LONGEST_WAIT_S, WHOLE_RUN_S = 60.0, 300.0
"""Seconds before one attempt, and seconds that a run pauses in all: a service that always says "later" must not hold it
up for ever."""
_NO_CONNECTION_S, _CONNECTS = 0.3, 2
"""A service that restarts refuses connections for a moment."""
PUT_OFF = LATER | {RefusalKind.GATEWAY}
IN_VAIN = "the suite waits three times for a request, and the service asked for more (set limits.rate, or parallel: 1)"
LOCKED = (
    "the service locks its callers out ({}), longer than the suite waits: codes were kept back, and can be used later; "
    "set a lower limits.wrong_tokens"
)


class Backoff:
    """Decides whether a request that was put off goes again. `window` is the number of places on the wire, of `most`.
    `waited_s` is how long the run paused in all. `turn` waits for limits.rate. `unsent` gets the operations that it
    gave up waiting for, by the reason. `harmless` executes a synthetic code; the client of the door knows how. `notes`
    are said first."""

    def __init__(
        self,
        ending: Ending,
        most: int,
        turn: Policy = lambda sending: None,
        unsent: dict[str, set[str]] | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.most = self.window = most
        self.waited_s = 0.0
        self.unsent = {} if unsent is None else unsent
        self.notes: list[str] = []
        self.harmless: Callable[[], Exchange] | None = None
        self._ending, self._turn, self._clock = ending, turn, clock
        self._on_the_wire: list[Sending] = []
        self._want_it_empty = self._halved_after = 0
        self._paused_until = self._slept_until = self._between_executions_s = 0.0
        self._may_be_locked = False
        self._in_vain: set[tuple[str, bool]] = set()

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

    @contextmanager
    def place(self, sending: Sending) -> Iterator[None]:
        """Wait for a place on the wire, for the end of a pause and for limits.rate; and keep the place. Raises
        LimitError where the run is stopped."""
        self._ending.wait_for(self._has_room)
        sending.beside = len(self._on_the_wire)
        for other in self._on_the_wire:
            other.beside += 1
        self._on_the_wire.append(sending)
        try:
            self._turn(sending)
            self.wait_out_pause()
            yield
        finally:
            self._on_the_wire.remove(sending)
            self._ending.wake()

    def _has_room(self) -> bool:
        return not self._on_the_wire or (not self._want_it_empty and len(self._on_the_wire) < self.window)

    def clear_the_wire(self) -> None:
        """Wait until nothing is on the wire. Who has the lock then, and keeps it, is alone there."""
        self._want_it_empty += 1
        try:
            self._ending.wait_for(lambda: not self._on_the_wire)
        finally:
            self._want_it_empty -= 1

    def wait_out_pause(self) -> None:
        """Wait until no pause is on."""
        while (rest := self._paused_until - self._now()) > 0:
            end = self._paused_until
            self._ending.sleep(rest)
            self._slept_until = max(self._slept_until, end)

    def _now(self) -> float:
        """A sleep lasts as long as it was asked to, whatever the clock says."""
        return max(self._clock(), self._slept_until)

    # -- after it was answered --------------------------------------------------------------------------------

    def notice(self, sending: Sending) -> None:
        """See each attempt. One that was put off or dropped beside others halves the number of places, unless it left
        before the last time."""
        self._may_be_locked |= sending.intent.credential != VALID
        response = sending.exchange.response
        put_off = response is None or refusal_kind(response) in PUT_OFF
        if put_off and sending.beside and sending.exchange.number > self._halved_after:
            self._halved_after = max(each.number for each in self._on_the_wire)
            self.window = max(1, self.window // 2)

    def decide(self, sending: Sending) -> bool:
        """True if a request goes again, when the pause is over: it was put off, dropped, or never left. One whose
        outcome is unknown does not if it may have moved money, and an execution only if it never left."""
        exchange, response = sending.exchange, sending.exchange.response
        if response is None:
            return self._decide_on_failure(sending)
        refusal = refusal_kind(response)
        if refusal not in PUT_OFF:
            self._in_vain.discard(_sort(exchange))
            return False
        if _sort(exchange) in self._in_vain or not self._pause_for(sending, response):
            return False
        sending.put_off += 1
        return not sending.executes and (refusal is not RefusalKind.GATEWAY or sending.repeatable)

    def _pause_for(self, sending: Sending, response: Response) -> bool:
        """Keep all threads from sending. False where the request has waited often enough, or would wait too long."""
        waits = _waits(sending.exchange, response)
        wait = waits[sending.put_off] if sending.put_off < len(waits) else math.inf
        if wait > LONGEST_WAIT_S or not self._pause(wait):
            self._in_vain.add(_sort(sending.exchange))
            if sending.exchange.valid:
                self.unsent.setdefault(IN_VAIN, set()).add(sending.exchange.operation)
            return False
        if refusal_kind(response) is RefusalKind.RATE_LIMIT and not sending.beside:
            self._between_executions_s = max(self._between_executions_s, wait)
        return True

    def _pause(self, seconds: float) -> bool:
        """Keep all threads from sending. What several wait for at the same time counts once. False past WHOLE_RUN_S."""
        now = self._now()
        added = max(0.0, now + seconds - max(now, self._paused_until))
        if self.waited_s + added > WHOLE_RUN_S:
            return False
        self.waited_s += added
        self._paused_until = max(self._paused_until, now + seconds)
        return True

    def _decide_on_failure(self, sending: Sending) -> bool:
        """A connection that was refused is tried again, and one that was dropped, where nothing can have moved."""
        kind = sending.exchange.failure.kind if sending.exchange.failure else None
        sending.lost += 1
        if kind is FailureKind.NO_CONNECTION:
            return sending.lost <= _CONNECTS and self._pause(_NO_CONNECTION_S)
        return kind is FailureKind.DROPPED and sending.repeatable and sending.lost == 1


def _waits(exchange: Exchange, response: Response) -> tuple[float, ...]:
    """Seconds before each further attempt. A gateway may give up on every invalid request, and not for a moment."""
    if (named := retry_after(response)) is not None:
        return (named,) * len(WAITS_S)
    return (0.0,) if refusal_kind(response) is RefusalKind.GATEWAY and not exchange.valid else WAITS_S


def _sort(exchange: Exchange) -> tuple[str, bool]:
    """Requests that a service may put off alike: valid ones to one operation, all invalid ones, all wrong tokens. After
    one that waited in vain none of its sort waits, until one is let in."""
    return (exchange.operation if exchange.valid else ""), exchange.credential == VALID


def retry_after(response: Response) -> float | None:
    """Seconds named by Retry-After (RFC 9110 section 10.2.3); None without one, or for a date."""
    value = response.header("Retry-After").strip()
    return float(value[:9]) if value.isdecimal() else None
