"""Pauses and retries after a service asks to come back later, or does not answer.

| answer | what follows |
|---|---|
| "later": 423, 429, or 403 with Retry-After | all threads pause for the time that it names, else 1, 2 and 4 seconds |
| of a gateway: 502, 503, 504 | the same; a request that may have moved money is not sent again |
| none, as the connection was refused | all threads pause as `_RESTARTS_S` says, and the request is sent again |
| none, as the connection was dropped | the request is sent again once, if it cannot move money |

After each of these, if other requests were on the wire, half as many requests may be there at the same time.
The interface document shows no such answers (Errors 5, Limits); the statuses are those of RFC 9110 and RFC 6585.
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
from spec.answers import REFUSED_FOR_NOW, RefusalKind, refusal_kind, refusal_or_failure, succeeded
from spec.exchange import VALID, Exchange, FailureKind, Response
from spec.message import Text, say

WAITS_S = (1.0, 2.0, 4.0)
"""Seconds before each attempt after the first, if the service names no time."""
LONGEST_WAIT_S = 60.0
"""Most seconds that the suite waits before one attempt. If the service names a longer time, the answer is final."""
_RESTARTS_S = (0.3, 1.0, 4.0)
"""Seconds before each attempt after a connection was refused, because a service that restarts accepts none for a
moment."""
WORTH_A_RETRY = REFUSED_FOR_NOW | {RefusalKind.GATEWAY}
"""Kinds of refusals after which the same request may succeed later."""
ASKED_TO_COME_BACK_LATER = (
    "the service asks to come back later: the suite waits three times for a request, and sends an execution once "
    "(set limits.rate or parallel: 1, or lower limits.wrong_tokens)"
)
OUTAGE = say("no answer but {statuses} for {seconds} s: run it again")
GATEWAY_ANSWERED = say(
    "a gateway answered in the place of the service, and what may have moved money is not sent again"
)
_BETWEEN_OUTAGES_S = 5.0
"""Two operations share an outage if no more seconds lie between the last answer to one and the first to the other: a
run pauses up to 4 seconds."""
_WRONG_TOKEN = "", False
"""Kind of the invalid requests without the valid token, see `_kind_of`."""
_MOST_LOCKS = 2
"""Locks after which an operation gets no more wrong tokens. A single one may have another cause."""


@dataclass
class _Outage:
    """A time in which nothing but a gateway answered for an operation."""

    since: float  # by the clock of the run, like `until`
    until: float
    statuses: set[int] = field(default_factory=set)
    in_vain: set[str] = field(default_factory=set)  # operations whose valid requests waited in vain

    def joined_with(self, later: _Outage) -> _Outage:
        """One outage that lasts from the beginning of this one to the end of both."""
        until = max(self.until, later.until)
        return _Outage(self.since, until, self.statuses | later.statuses, self.in_vain | later.in_vain)

    @property
    def in_words(self) -> Text:
        """The statuses and the duration, in one line for the report."""
        statuses = ", ".join(map(str, sorted(self.statuses)))
        return OUTAGE.of(statuses=statuses, seconds=round(self.until - self.since))


class Backoff:
    """Decides whether a request is sent again, and when.

    All threads of a run share one pause, and one number of places on the wire: so many requests may be sent at the same
    time. The methods are called under the lock of the door. `unsent` gets each operation whose valid request is not
    sent again, by the reason.
    """

    def __init__(self, budget: Budget, unsent: dict[Text, set[str]]) -> None:
        self.most_at_start = self.most_at_once = budget.limits.parallel
        """The number of places on the wire: at the start, and now."""
        self._budget, self._ending = budget, budget.ending
        self._unsent = unsent
        self._on_the_wire: list[Sending] = []
        self._wanting_it_empty = 0  # threads that wait for an empty wire
        self._paused_until = 0.0  # by the clock of the run
        self._in_vain: set[tuple[str, bool]] = set()  # kinds of requests of which one waited in vain, see `_kind_of`
        self._outages: dict[str, _Outage] = {}  # that last, by operation
        self._ended_outages: list[_Outage] = []
        self._locks = Counter[str]()  # answers "later" to wrong tokens, by operation

    def has_locked_out_caller(self, operation: str) -> bool:
        """True if the operation locked out the sender of wrong tokens twice."""
        return self._locks[operation] >= _MOST_LOCKS

    def refuse_if_locked_out(self, sending: Sending) -> None:
        """Raises NotSentError for a request without the valid token, if its operation locked the sender out twice."""
        if sending.intent.credential != VALID and self.has_locked_out_caller(sending.intent.operation):
            raise NotSentError("the service locks the caller out")

    def refuse_code_if_locked_out(self, sending: Sending) -> None:
        """Raises LimitError for an execution after a wrong token waited in vain, until a valid request succeeds.

        The service may have locked the caller out, so that the code would be spent for nothing.
        """
        if sending.executes and _WRONG_TOKEN in self._in_vain:
            raise LimitError(ASKED_TO_COME_BACK_LATER)

    @contextmanager
    def place(self, sending: Sending) -> Iterator[None]:
        """Wait until a request may be sent: for a place on the wire, for limits.rate, and for the end of a pause.

        The place is kept until the `with` block ends. Raises LimitError if the run ends meanwhile.
        """
        self._ending.wait_for(self._has_free_place)
        sending.most_at_once = self.most_at_once
        sending.beside = len(self._on_the_wire)
        for sending_beside in self._on_the_wire:
            sending_beside.beside += 1
        self._on_the_wire.append(sending)
        try:
            self._budget.wait_for_rate_limit()
            while self._pause_left_s > 0:  # another thread may have prolonged the pause meanwhile
                self._ending.sleep(self._pause_left_s)
                self._ending.refuse_if_over(sending)
            yield
        finally:
            self._on_the_wire.remove(sending)
            self._ending.wake_waiting_threads()

    @property
    def _pause_left_s(self) -> float:
        """Seconds until the pause of all threads is over; 0 or less if there is none."""
        return self._paused_until - self._ending.clock()

    def _has_free_place(self) -> bool:
        """True if one more request may go on the wire. None may while a thread waits for an empty wire."""
        if not self._on_the_wire:
            return True
        return not self._wanting_it_empty and len(self._on_the_wire) < self.most_at_once

    def wait_for_empty_wire(self) -> None:
        """Wait until nothing is on the wire. The caller is alone there for as long as it keeps the lock."""
        self._wanting_it_empty += 1
        try:
            self._ending.wait_for(lambda: not self._on_the_wire)
        finally:
            self._wanting_it_empty -= 1

    def pause_and_retry(self, sending: Sending) -> bool:
        """Pause all threads if the answer asks for it. True if the request goes again when the pause is over.

        If other requests were on the wire meanwhile, the number of places is halved, because the load may be the cause.
        It is not halved a second time for requests that left before the first halving.
        """
        response = sending.exchange.response
        self._note_outage(sending)
        if succeeded(sending.exchange):
            self._in_vain.discard(_WRONG_TOKEN)
        if response is None:
            goes_again = self._retry_lost(sending)
        elif refusal_kind(response) in WORTH_A_RETRY:
            goes_again = self._retry_put_off(sending, response)
        else:
            return False
        has_left_since_halving = sending.most_at_once == self.most_at_once
        if sending.beside and has_left_since_halving:
            self.most_at_once = max(1, self.most_at_once // 2)
        return goes_again

    def _retry_put_off(self, sending: Sending, response: Response) -> bool:
        """Pause after an answer that puts the request off. True if the request goes again.

        An execution is never sent again, nor a request that may have moved money behind a gateway. Once a request of a
        kind waited in vain, later requests of that kind do not wait. An invalid request is sent to a gateway once more
        and without a pause, because a gateway may refuse every invalid request in this way.
        """
        exchange = sending.exchange
        is_of_gateway = refusal_kind(response) is RefusalKind.GATEWAY
        seconds_named = _seconds_named(response)
        waits = (0.0,) if is_of_gateway and not exchange.valid else WAITS_S
        kind = _kind_of(exchange)
        if not is_of_gateway:
            self._count_lock(sending)
        goes_again = False
        if sending.times_asked_to_wait >= len(waits) or (seconds_named or 0) > LONGEST_WAIT_S:
            self._in_vain.add(kind)
        elif kind not in self._in_vain:
            self._pause(waits[sending.times_asked_to_wait] if seconds_named is None else seconds_named)
            goes_again = sending.is_safe_to_repeat if is_of_gateway else not sending.executes
        sending.times_asked_to_wait += 1
        if exchange.valid and not goes_again:
            self._note_given_up(sending, is_of_gateway=is_of_gateway)
        return goes_again

    def _count_lock(self, sending: Sending) -> None:
        """Count an answer "later" to a wrong token as a lock of the caller.

        It is no lock if the request was sent again, if a pause already holds, or if other requests were on the wire:
        then the service may limit requests at the same time.
        """
        is_first_answer = not sending.times_asked_to_wait and self._ending.clock() >= self._paused_until
        was_alone = not sending.beside
        if is_first_answer and was_alone and sending.exchange.credential != VALID:
            self._locks[sending.exchange.operation] += 1

    def _note_given_up(self, sending: Sending, *, is_of_gateway: bool) -> None:
        """Note for the report why a valid request is not sent again."""
        operation = sending.exchange.operation
        if not is_of_gateway:
            self._unsent[ASKED_TO_COME_BACK_LATER].add(operation)
        elif sending.is_safe_to_repeat:
            self._outages[operation].in_vain.add(operation)
        else:
            self._unsent[GATEWAY_ANSWERED].add(operation)

    def _note_outage(self, sending: Sending) -> None:
        """Note how long nothing but a gateway answers for an operation. An answer of the service ends the outage."""
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
        """The operations whose valid requests waited in vain for an answer of the service, by the outage in words."""
        merged: list[_Outage] = []
        for outage in sorted([*self._ended_outages, *self._outages.values()], key=lambda outage: outage.since):
            if merged and outage.since <= merged[-1].until + _BETWEEN_OUTAGES_S:
                merged[-1] = merged[-1].joined_with(outage)
            else:
                merged.append(outage)
        return {outage.in_words: outage.in_vain for outage in merged if outage.in_vain}

    def _retry_lost(self, sending: Sending) -> bool:
        """Pause after a connection that was refused. True if the request, which got no answer, goes again.

        A dropped request goes again once, if it cannot move money. On a kept connection, an answer that is not HTTP may
        be the rest of an earlier answer, so it counts as dropped, and the request goes again over a fresh connection.
        """
        kind, failure = refusal_or_failure(sending.exchange), sending.exchange.failure
        is_rest_of_earlier_answer = (
            kind is FailureKind.NOT_HTTP and failure is not None and failure.on_reused_connection
        )
        sending.times_unanswered += 1
        if kind is FailureKind.NO_CONNECTION and sending.times_unanswered <= len(_RESTARTS_S):
            self._pause(_RESTARTS_S[sending.times_unanswered - 1])
            return True
        is_dropped = kind is FailureKind.DROPPED or is_rest_of_earlier_answer
        return is_dropped and sending.is_safe_to_repeat and sending.times_unanswered == 1

    def _pause(self, seconds: float) -> None:
        """Keep all threads from sending for this time. A longer pause that holds already stays."""
        self._paused_until = max(self._paused_until, self._ending.clock() + seconds)


def _kind_of(exchange: Exchange) -> tuple[str, bool]:
    """Kind of request: the operation, empty for all invalid requests, and whether it has the valid token."""
    operation = exchange.operation if exchange.valid else ""
    return operation, exchange.credential == VALID


def _seconds_named(response: Response) -> float | None:
    """The seconds that Retry-After asks for (RFC 9110 section 10.2.3). None if it names no time.

    A date counts from the Date of the same answer, because the clocks of two machines differ. It is at least one second
    away, because a date has no parts of a second.
    """
    value = response.header("Retry-After").strip()
    if value.isdecimal():
        return float(value[:9])  # nine digits are more than 30 years; thousands of digits would be no float
    try:
        until, date = parsedate_to_datetime(value), response.header("Date")
        asked_at = parsedate_to_datetime(date) if date else datetime.now(UTC)
        return max(WAITS_S[0], (until - asked_at).total_seconds())
    except (TypeError, ValueError, OverflowError):  # no date, or a date without its zone
        return None
