"""Pauses and retries after a service asks to come back later, or does not answer.

A service that says "later" (423, 403 with Retry-After, 429), or whose gateway gives up (502, 503, 504), gets nothing
until the time that it names is over, or 1, 2 and 4 seconds. Beside other requests, that halves the number of places.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from environments.door.limits import Budget
from environments.door.outgoing import LimitError, NotSentError, Sending
from spec.answers import LATER, RefusalKind, refusal_kind, refused_or_lost, succeeded
from spec.exchange import VALID, FailureKind, Response
from spec.message import Text, say

WAITS_S = (1.0, 2.0, 4.0)
"""Seconds before each attempt after the first, where the service names no time."""
LONGEST_WAIT_S = 60.0
"""Seconds before one attempt."""
_RESTARTS_S = (0.3, 1.0, 4.0)
"""Seconds before each attempt after a connection was refused, or dropped: a service that restarts takes none for a
moment."""
PUT_OFF = LATER | {RefusalKind.GATEWAY}
IN_VAIN = (
    "the service asks to come back later: the suite waits three times for a request, and sends an execution once "
    "(set limits.rate or parallel: 1, or lower limits.wrong_tokens)"
)
OUTAGE = say("no answer but {statuses} for {seconds} s: run it again")
NOT_AGAIN = say("a gateway answered in the place of the service, and what may have moved money is not sent again")
_BETWEEN_OUTAGES_S = 5.0
"""Two operations share an outage if no more seconds lie between the last answer to one and the first to the other: a
run pauses up to 4 seconds."""
_WRONG_TOKEN = "", False
_MOST_LOCKS = 2


@dataclass
class _Outage:
    """A time in which nothing but a gateway answered for an operation, by the clock of the run. `in_vain` are the
    operations of the valid requests that waited in vain."""

    since: float
    until: float
    statuses: set[int] = field(default_factory=set)
    in_vain: set[str] = field(default_factory=set)

    def with_other(self, other: _Outage) -> _Outage:
        """The time from the beginning of the first to the end of the last."""
        until = max(self.until, other.until)
        return _Outage(self.since, until, self.statuses | other.statuses, self.in_vain | other.in_vain)

    @property
    def in_words(self) -> Text:
        """One line."""
        statuses = ", ".join(map(str, sorted(self.statuses)))
        return OUTAGE.of(statuses=statuses, seconds=round(self.until - self.since))


class Backoff:
    """Decides whether a request that was put off goes again. There is one pause for a whole run, and one number of
    places on the wire, `window` of `most`. `unsent` gets the operations that it gave up
    waiting for, by the reason."""

    def __init__(self, budget: Budget, unsent: dict[Text, set[str]]) -> None:
        self.most = self.window = budget.limits.parallel
        self._budget, self._ending, self._unsent = budget, budget.ending, unsent
        self._on_the_wire: list[Sending] = []
        self._want_it_empty, self._paused_until = 0, 0.0
        self._in_vain: set[tuple[str, bool]] = set()
        self._outages: dict[str, _Outage] = {}
        self._ended_outages: list[_Outage] = []
        self._locks = Counter[str]()

    def locks_out(self, operation: str) -> bool:
        """True after the second lock of who sends wrong tokens to the operation."""
        return self._locks[operation] >= _MOST_LOCKS

    def spare_the_caller(self, sending: Sending) -> None:
        """Raises NotSentError for a wrong token, or none, after the second lock."""
        if sending.intent.credential != VALID and self.locks_out(sending.intent.operation):
            raise NotSentError("the service locks the caller out")

    def spare_codes(self, sending: Sending) -> None:
        """Raises LimitError for an execution after a wrong token waited in vain, until a valid request succeeds: the
        caller may be locked out."""
        if sending.executes and _WRONG_TOKEN in self._in_vain:
            raise LimitError(IN_VAIN)

    @contextmanager
    def place(self, sending: Sending) -> Iterator[None]:
        """Wait for a place on the wire, for limits.rate and for the end of a pause; and keep the place. Raises
        LimitError where the run ends meanwhile."""
        self._ending.wait_for(self._has_room)
        sending.window, sending.beside = self.window, len(self._on_the_wire)
        for other in self._on_the_wire:
            other.beside += 1
        self._on_the_wire.append(sending)
        try:
            self._budget.wait_for_turn()
            while (rest := self._paused_until - self._ending.clock()) > 0:
                self._ending.sleep(rest)
                self._ending.refuse(sending)
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

    def decide(self, sending: Sending) -> bool:
        """True if a request goes again, when the pause is over: it was put off, dropped, or never left.

        Beside others, that halves the number of places, unless it was halved since the request left.
        """
        response = sending.exchange.response
        self._follow_outages(sending)
        if succeeded(sending.exchange):
            self._in_vain.discard(_WRONG_TOKEN)
        if response is None:
            goes_again = self._may_be_lost_again(sending)
        elif refusal_kind(response) in PUT_OFF:
            goes_again = self._may_be_put_off_again(sending, response)
        else:
            return False
        if sending.beside and sending.window == self.window:
            self.window = max(1, self.window // 2)
        return goes_again

    def _may_be_put_off_again(self, sending: Sending, response: Response) -> bool:
        """Pause, so that a request can go again: not an execution, nor what may have moved money behind a gateway. That
        may give up on every invalid request. After one that waited in vain none of its sort waits."""
        exchange, named = sending.exchange, _seconds_named(response)
        is_unknown = refusal_kind(response) is RefusalKind.GATEWAY
        waits = (0.0,) if is_unknown and not exchange.valid else WAITS_S
        sort = exchange.operation if exchange.valid else "", exchange.credential == VALID
        goes_again = False
        is_new = not is_unknown and not sending.put_off and self._ending.clock() >= self._paused_until
        # beside others it may be a limit of requests at the same time
        self._locks[exchange.operation] += is_new and not sending.beside and exchange.credential != VALID
        if sending.put_off >= len(waits) or (named or 0) > LONGEST_WAIT_S:
            self._in_vain.add(sort)
        elif sort not in self._in_vain:
            self._pause(waits[sending.put_off] if named is None else named)
            goes_again = sending.repeatable if is_unknown else not sending.executes
        sending.put_off += 1
        if exchange.valid and not goes_again:
            if not is_unknown:
                self._unsent[IN_VAIN].add(exchange.operation)
            elif sending.repeatable:
                self._outages[exchange.operation].in_vain.add(exchange.operation)
            else:
                self._unsent[NOT_AGAIN].add(exchange.operation)
        return goes_again

    def _follow_outages(self, sending: Sending) -> None:
        """Take note of how long nothing but a gateway answers for an operation. Another answer ends that."""
        exchange, now = sending.exchange, self._ending.clock()
        if exchange.response is None:
            return
        if refusal_kind(exchange.response) is RefusalKind.GATEWAY:
            outage = self._outages.setdefault(exchange.operation, _Outage(now - exchange.elapsed_s, now))
            outage.until = now
            outage.statuses.add(exchange.response.status)
        elif exchange.operation in self._outages:
            self._ended_outages.append(self._outages.pop(exchange.operation))

    @property
    def outages(self) -> dict[Text, set[str]]:
        """The operations whose valid requests waited in vain while nothing but a gateway answered, by how long that
        was."""
        merged: list[_Outage] = []
        for outage in sorted([*self._ended_outages, *self._outages.values()], key=lambda outage: outage.since):
            if merged and outage.since <= merged[-1].until + _BETWEEN_OUTAGES_S:
                merged[-1] = merged[-1].with_other(outage)
            else:
                merged.append(outage)
        return {outage.in_words: outage.in_vain for outage in merged if outage.in_vain}

    def _may_be_lost_again(self, sending: Sending) -> bool:
        """True for a connection that was refused, and for one that was dropped, where nothing can have moved. On a kept
        connection an answer that is not HTTP may be the rest of another one, so the request goes again over a fresh
        connection."""
        kind, failure = refused_or_lost(sending.exchange), sending.exchange.failure
        is_a_rest = kind is FailureKind.NOT_HTTP and failure is not None and failure.kept
        sending.lost += 1
        if kind is FailureKind.NO_CONNECTION and sending.lost <= len(_RESTARTS_S):
            self._pause(_RESTARTS_S[sending.lost - 1])
            return True
        is_dropped = kind is FailureKind.DROPPED or is_a_rest
        return is_dropped and sending.repeatable and sending.lost == 1

    def _pause(self, seconds: float) -> None:
        """Keep all threads from sending."""
        self._paused_until = max(self._paused_until, self._ending.clock() + seconds)


def _seconds_named(response: Response) -> float | None:
    """The seconds that Retry-After asks for (RFC 9110 section 10.2.3), None where it names no time. A date counts from
    the Date of the same answer, because the clocks of two machines differ; and as a date knows no parts of a second, it
    is at least one second away."""
    value = response.header("Retry-After").strip()
    if value.isdecimal():
        return float(value[:9])
    try:
        until, date = parsedate_to_datetime(value), response.header("Date")
        asked_at = parsedate_to_datetime(date) if date else datetime.now(UTC)
        return max(WAITS_S[0], (until - asked_at).total_seconds())
    except (TypeError, ValueError, OverflowError):  # no date, or one without its zone
        return None
