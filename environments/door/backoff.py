"""Pauses and retries after a service asks to come back later, or does not answer.

| answer | what follows |
|---|---|
| "later": 423, 429, or 403 with Retry-After | all threads pause for the time that it names, else 1, 2 and 4 seconds |
| of a gateway: 502, 503, 504 | the same; a request that may have moved money is not sent again |
| none, as the connection was refused | all threads pause for some seconds, and the request is sent again |
| none, as the connection was dropped | the request is sent again once, if it cannot move money |

After each of these, if other requests were on the wire, half as many requests may be there at the same time.
The interface document shows no such answers (Errors 5, Limits); the statuses are those of RFC 9110 and RFC 6585.

| word | meaning |
|---|---|
| on the wire | sent, or about to be sent, and not answered so far |
| `Sending` | a request on its way to the service (outgoing.py) |
| the answer "later" | 423, 429, or 403 with Retry-After |
| gateway | a server in front of the service, such as a load balancer, which answers 502, 503 or 504 for it |
| lockout | after some wrong tokens the service answers "later" to every request of the caller |
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

SECONDS_BEFORE_RETRIES = (1.0, 2.0, 4.0)
"""Seconds before each attempt after the first, if the service names no time."""
LONGEST_WAIT_S = 60.0
"""Most seconds that the suite waits before one attempt. If the service names a longer time, the answer is final."""
_SECONDS_BEFORE_RECONNECTING = (0.3, 1.0, 4.0)
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
_KIND_WITH_WRONG_TOKEN = "", False
"""The kind of request (`_kind_of_request`) of all invalid requests without the valid token."""
_MOST_LOCKOUTS = 2
"""Lockouts after which an operation gets no more wrong tokens. A single one may have another cause."""


@dataclass
class _Outage:
    """A time in which nothing but a gateway answered for an operation."""

    since: float  # by the clock of the run, like `until`
    until: float
    statuses: set[int] = field(default_factory=set)
    # operations whose valid requests waited for the service, and were answered by the gateway alone
    operations_without_answer: set[str] = field(default_factory=set)

    def joined_with(self, later: _Outage) -> _Outage:
        """This outage and a later one, which began before this one ended or soon afterwards, as a single outage."""
        until = max(self.until, later.until)
        operations = self.operations_without_answer | later.operations_without_answer
        return _Outage(self.since, until, self.statuses | later.statuses, operations)

    @property
    def in_words(self) -> Text:
        """A line for the report with the statuses and the duration, "no answer but 502, 503 for 12 s: run it again"."""
        statuses = ", ".join(str(status) for status in sorted(self.statuses))
        return OUTAGE.with_values(statuses=statuses, seconds=round(self.until - self.since))


class Backoff:
    """Decides whether a request is sent again, and when.

    All threads of a run share one pause: if the service answers "later" to one request, no thread sends. They also
    share the number of requests that may be on the wire (sent, and not answered so far) at the same time. Only one
    thread at a time calls the methods. The report names what is in `unsent`: by the reason, the operations whose valid
    request is not sent again.
    """

    def __init__(self, budget: Budget, unsent: dict[Text, set[str]]) -> None:
        """Begin without a pause. `budget` has the limits of the run.

        `unsent` is filled for the report: by the reason, the operations whose valid request is not sent again, such as
        `{"the service asks to come back later": {"getBalance"}}`.
        """
        self.most_at_start = self.most_at_once = budget.limits.parallel
        """Most requests that may be on the wire at the same time: at the start of the run, and now."""
        self._budget = budget
        self._run_end = budget.run_end  # has the clock of the run, and wakes waiting threads if the run is stopped
        self._unsent = unsent
        self._on_the_wire: list[Sending] = []  # requests that are sent, or about to be sent, and not answered so far
        self._threads_waiting_for_empty_wire = 0
        self._waiting_to_go_first = 0  # requests that are sent before all others that wait
        self._paused_until = 0.0  # by the clock of the run
        # Kinds of requests that are not repeated any more: one request of the kind was repeated as often as possible,
        # and the service asked to come back later each time. A kind is an operation, and true for the valid token:
        # ("getBalance", True).
        self._kinds_given_up: set[tuple[str, bool]] = set()
        self._outages: dict[str, _Outage] = {}  # outages that last, by operation
        self._ended_outages: list[_Outage] = []
        self._lockouts = Counter[str]()  # by operation, how often it answered "come back later" to a wrong token

    def has_locked_out_caller(self, operation: str) -> bool:
        """True if the operation has answered "come back later" to wrong tokens twice.

        Then the service locks out a caller who sends wrong tokens, so no more of them are sent to the operation.
        """
        return self._lockouts[operation] >= _MOST_LOCKOUTS

    def refuse_if_locked_out(self, sending: Sending) -> None:
        """Raises NotSentError for a request without the valid token, if its operation has locked such callers out.

        A further wrong token would show nothing, and might prolong the lockout.
        """
        if sending.intent.credential != VALID and self.has_locked_out_caller(sending.intent.operation):
            raise NotSentError("the service locks the caller out")

    def refuse_code_if_locked_out(self, sending: Sending) -> None:
        """Raises LimitError for an execution of a transfer if the service may have locked the caller out.

        The caller may be locked out if a wrong token was always answered "come back later", and no valid request has
        succeeded since. An execution would be refused then, and its transaction code may be sent only once.
        """
        if sending.executes and _KIND_WITH_WRONG_TOKEN in self._kinds_given_up:
            raise LimitError(ASKED_TO_COME_BACK_LATER)

    @contextmanager
    def on_the_wire(self, sending: Sending) -> Iterator[None]:
        """Wait until a request may be sent, and count it as on the wire until the `with` block ends.

        On the wire are requests that are sent, or about to be sent, and not answered so far. The request
        waits three times:

        1. until fewer requests than permitted are on the wire; then it counts as one of them
        2. for `limits.rate` (requests a second)
        3. until no thread pauses any more; all threads pause if the service asked to come back later

        Raises LimitError if the run ends meanwhile.
        """
        self._wait_for_turn(sending)
        sending.most_at_once = self.most_at_once
        # Each request notes how many others were on the wire beside it: the load may cause an unusual answer.
        sending.beside = len(self._on_the_wire)
        for sending_beside in self._on_the_wire:
            sending_beside.beside += 1
        self._on_the_wire.append(sending)
        try:
            self._budget.wait_for_rate_limit()
            while self._pause_left_s > 0:  # another thread may have prolonged the pause meanwhile
                self._run_end.sleep(self._pause_left_s)
                self._run_end.refuse_if_over(sending)
            yield
        finally:
            self._on_the_wire.remove(sending)
            self._run_end.wake_waiting_threads()

    def _wait_for_turn(self, sending: Sending) -> None:
        """Wait until one more request may be on the wire, and until no request waits that goes before this one.

        On the wire are requests that were sent and not answered so far. Raises LimitError if the run is stopped
        meanwhile.
        """
        if not sending.goes_first:
            self._run_end.wait_for(self._may_one_more_be_sent_after_others)
            return
        self._waiting_to_go_first += 1
        try:
            self._run_end.wait_for(self._may_one_more_be_sent)
        finally:
            self._waiting_to_go_first -= 1

    def _may_one_more_be_sent_after_others(self) -> bool:
        """True if one more request may be sent now, and no request waits that goes before all others."""
        return self._waiting_to_go_first == 0 and self._may_one_more_be_sent()

    @property
    def _pause_left_s(self) -> float:
        """Seconds until the pause of all threads is over; 0 or less if there is none."""
        return self._paused_until - self._run_end.clock()

    def _may_one_more_be_sent(self) -> bool:
        """True if one more request may be sent now, beside the requests that are not answered so far.

        False while a thread waits until all requests are answered: if more were sent meanwhile, that thread would wait
        for ever.
        """
        if not self._on_the_wire:
            return True
        if self._threads_waiting_for_empty_wire:
            return False
        return len(self._on_the_wire) < self.most_at_once

    def wait_for_empty_wire(self) -> None:
        """Wait until every request that was sent is answered. The caller has the lock of the door.

        Meanwhile no other thread begins to send, because `_may_one_more_be_sent` looks at the number of threads that
        wait here. Afterwards no other thread sends until the caller releases the lock or waits for something else.
        """
        self._threads_waiting_for_empty_wire += 1
        try:
            self._run_end.wait_for(lambda: not self._on_the_wire)
        finally:
            self._threads_waiting_for_empty_wire -= 1

    def pause_and_retry(self, sending: Sending) -> bool:
        """Pause all threads if the answer asks to come back later. Returns true if the request is to be sent again.

        If other requests were on the wire meanwhile, from now on only half as many may be there at the same time,
        because the load may be the cause. A request that was sent before the last halving does not halve the number
        again: its answer shows nothing about the smaller number.
        """
        response = sending.exchange.response
        self._note_outage(sending)
        if succeeded(sending.exchange):
            self._kinds_given_up.discard(_KIND_WITH_WRONG_TOKEN)  # a success shows that the caller is not locked out
        if response is None:
            is_sent_again = self._pause_after_no_answer(sending)
        elif refusal_kind(response) in WORTH_A_RETRY:
            is_sent_again = self._pause_as_asked(sending, response)
        else:
            return False
        others_were_on_the_wire = sending.beside > 0
        was_sent_after_last_halving = sending.most_at_once == self.most_at_once
        if others_were_on_the_wire and was_sent_after_last_halving:
            self.most_at_once = max(1, self.most_at_once // 2)
        return is_sent_again

    def _pause_as_asked(self, sending: Sending, response: Response) -> bool:
        """Pause all threads after the answer "come back later" (such as 429) or an answer of a gateway (such as 503).

        Returns true if the request is to be sent again. A request is sent again at most three times, after 1, 2 and 4
        seconds, or after the time that the answer names. After the answer of a gateway, an invalid request is sent only
        once more, and without a pause unless the answer names a time: a gateway may refuse every invalid request in
        this way.

        If all attempts of one request got such an answer, the following requests of its kind (`_kind_of_request`) are
        not repeated, because the run would wait for each of them. They are not repeated either if the named time is too
        long.
        """
        exchange = sending.exchange
        is_of_gateway = refusal_kind(response) is RefusalKind.GATEWAY
        seconds_named = _seconds_of_retry_after(response)
        waits: tuple[float, ...] = SECONDS_BEFORE_RETRIES
        if is_of_gateway and not exchange.valid:
            waits = (0.0,)
        kind = _kind_of_request(exchange)
        if not is_of_gateway:  # a service that says "later" after wrong tokens perhaps locks the caller out
            self._count_lockout(sending)
        is_sent_again = False
        has_used_all_waits = sending.times_asked_to_wait >= len(waits)
        named_time_is_too_long = seconds_named is not None and seconds_named > LONGEST_WAIT_S
        if has_used_all_waits or named_time_is_too_long:
            self._kinds_given_up.add(kind)
        elif kind not in self._kinds_given_up:
            seconds = waits[sending.times_asked_to_wait]
            if seconds_named is not None:
                seconds = seconds_named
            # Also if this request is not sent again, because the requests of other threads would get the same answer.
            self._pause(seconds)
            is_sent_again = _may_be_repeated(sending, is_of_gateway=is_of_gateway)
        sending.times_asked_to_wait += 1
        if exchange.valid and not is_sent_again:
            self._note_given_up(sending, is_of_gateway=is_of_gateway)
        return is_sent_again

    def _count_lockout(self, sending: Sending) -> None:
        """Count the answer "come back later" to a wrong token as a lockout, if the wrong token may be its only cause.

        In a lockout the service refuses all requests of a caller who sent wrong tokens.

        It is no lockout if the answer may have another cause:

        - It is not the first such answer to this request: the lockout was counted after the first one.
        - All threads pause already, because the service gave such an answer to another request just before: if it was a
          lockout, it was counted then.
        - Other requests were on the wire: perhaps the service limits how many it answers at the same time.
        """
        is_first_answer = sending.times_asked_to_wait == 0
        no_pause_lasts = self._run_end.clock() >= self._paused_until
        was_alone = sending.beside == 0
        has_wrong_token = sending.exchange.credential != VALID
        is_not_counted_yet = is_first_answer and no_pause_lasts
        if is_not_counted_yet and was_alone and has_wrong_token:
            self._lockouts[sending.exchange.operation] += 1

    def _note_given_up(self, sending: Sending, *, is_of_gateway: bool) -> None:
        """Note for the report that a valid request is not sent again, and why.

        | answer | reason |
        |---|---|
        | "later" (423, 429, 403 with Retry-After) | the service asks to come back later |
        | of a gateway (502, 503, 504) | the outage: how long only the gateway answered |
        | of a gateway, to a request that may have moved money | it must not move money a second time |
        """
        operation = sending.exchange.operation
        if not is_of_gateway:
            self._unsent[ASKED_TO_COME_BACK_LATER].add(operation)
        elif sending.is_safe_to_repeat:
            self._outages[operation].operations_without_answer.add(operation)
        else:
            self._unsent[GATEWAY_ANSWERED].add(operation)

    def _note_outage(self, sending: Sending) -> None:
        """Note how long only a gateway (502, 503, 504) answers for an operation. The report names such an outage.

        The outage begins with the first request that the gateway answers. Any other answer ends it. A request without
        an answer changes nothing.
        """
        exchange = sending.exchange
        if exchange.response is None:
            return
        now = self._run_end.clock()
        if refusal_kind(exchange.response) is RefusalKind.GATEWAY:
            sent_at = now - exchange.elapsed_s
            outage = self._outages.setdefault(exchange.operation, _Outage(sent_at, now))
            outage.until = now
            outage.statuses.add(exchange.response.status)
        elif exchange.operation in self._outages:
            self._ended_outages.append(self._outages.pop(exchange.operation))

    @property
    def outages(self) -> dict[Text, set[str]]:
        """By the outage in words, the operations whose valid requests were answered by a gateway alone; for the report.

        `{"no answer but 502 for 12 s: run it again": {"listPixKeys"}}`. Outages of several operations at nearly the
        same time are one outage, because they have one cause.
        """
        merged: list[_Outage] = []
        outages = [*self._ended_outages, *self._outages.values()]
        for outage in sorted(outages, key=lambda outage: outage.since):  # by their beginning
            continues_last_outage = bool(merged) and outage.since <= merged[-1].until + _BETWEEN_OUTAGES_S
            if continues_last_outage:
                merged[-1] = merged[-1].joined_with(outage)
            else:
                merged.append(outage)
        # An outage counts only if a valid request waited for its end.
        relevant_outages = [outage for outage in merged if outage.operations_without_answer]
        return {outage.in_words: outage.operations_without_answer for outage in relevant_outages}

    def _pause_after_no_answer(self, sending: Sending) -> bool:
        """Decide whether a request that got no answer is sent again. Returns true if so.

        All threads pause if no connection could be made.

        | what happened | what follows |
        |---|---|
        | no connection could be made | a pause, then it is sent again, three times: a service may be starting again |
        | the connection was dropped | it is sent again once, if it cannot move money |
        | an answer that is not HTTP, over a connection that earlier requests used | as if it was dropped |
        | another failure, such as a timeout | it is not sent again |

        In the third row the answer may be the rest of an earlier answer. The next attempt uses a new connection.
        """
        kind = refusal_or_failure(sending.exchange)
        failure = sending.exchange.failure
        connection_was_used_before = failure is not None and failure.on_reused_connection
        may_be_rest_of_earlier_answer = kind is FailureKind.NOT_HTTP and connection_was_used_before
        sending.times_unanswered += 1
        if kind is FailureKind.NO_CONNECTION and sending.times_unanswered <= len(_SECONDS_BEFORE_RECONNECTING):
            self._pause(_SECONDS_BEFORE_RECONNECTING[sending.times_unanswered - 1])
            return True
        counts_as_dropped = kind is FailureKind.DROPPED or may_be_rest_of_earlier_answer
        is_first_failure = sending.times_unanswered == 1
        is_sent_again = counts_as_dropped and is_first_failure and sending.is_safe_to_repeat
        if is_sent_again:
            sending.name_another_key(sending.exchange)
        return is_sent_again

    def _pause(self, seconds: float) -> None:
        """Keep all threads from sending for this time. A pause that ends later than this one is not shortened."""
        self._paused_until = max(self._paused_until, self._run_end.clock() + seconds)


def _may_be_repeated(sending: Sending, *, is_of_gateway: bool) -> bool:
    """True if a request may be sent again after the answer "come back later", or after the answer of a gateway.

    "Come back later" (such as 429) says that the service did nothing, so only an execution is not repeated: if the
    service is wrong, money moves twice. A gateway (such as 503) does not know what the service behind it did, so no
    request that may move money is repeated.
    """
    if is_of_gateway:
        return sending.is_safe_to_repeat
    return not sending.executes


def _kind_of_request(exchange: Exchange) -> tuple[str, bool]:
    """The kind of a request: its operation, and whether it has the valid token, such as `("listPixKeys", True)`.

    All invalid requests are of one kind, whatever the operation: `("", True)` or `("", False)`. If one request of a
    kind was answered "come back later" each time, the others of its kind are not sent again.
    """
    operation = exchange.operation if exchange.valid else ""
    return operation, exchange.credential == VALID


def _seconds_of_retry_after(response: Response) -> float | None:
    """The seconds to wait that the header Retry-After of an answer names (RFC 9110 section 10.2.3); None if none.

    The header has a number of seconds, or a date. A date is compared with the header Date of the same answer, because
    the clocks of two machines differ. For a date the result is at least one second, because a date is only exact to
    the second.
    """
    value = response.header("Retry-After").strip()
    if value.isdecimal():
        return float(value[:9])  # nine digits are more than 30 years; thousands of digits would be no float
    date = response.header("Date")
    try:
        until = parsedate_to_datetime(value)
        answered_at = parsedate_to_datetime(date) if date else datetime.now(UTC)
        seconds = (until - answered_at).total_seconds()
    except (TypeError, ValueError, OverflowError):  # the text is no date, or one of the dates has no time zone
        return None
    return max(1.0, seconds)
