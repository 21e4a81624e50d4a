"""Requests that are sent together: any of them at once, or two at the same moment, because some faults show only then.

A check of the token may fail open while a valid request is under way, and an answer may be that of another request. So
valid requests that do nothing are under way beside those that must be refused.

A conforming service may lock, limit or slow down while several requests are under way, and say so with any status, or
by a connection that it drops. So a doubtful request is sent again when all others have their answer, and the answer
that it gets alone is the one that counts. A success that deviates is evidence: it counts although others were under
way.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import zip_longest
from typing import Any, TypeVar

from environments.door.client import NOTHING, Client
from environments.door.permission import synthetic
from spec.answers import ABOUT_THE_CALLER, grants_protected_result, is_judged_as_success, refused_or_lost
from spec.exchange import VALID, Exchange, Purpose
from spec.log import numbers_superseded
from spec.rules import RULES, judge, robustness_of

T = TypeVar("T")
_STILL_UNDER_WAY_S = 0.1
"""After so long without an answer, a request gets a second companion: the first one may have been gone too soon."""
_MOST_SENT_AGAIN = 3
"""Exchanges with the same sign that are sent again."""
Send = Callable[[], Exchange]


class Company(Purpose):
    """Why a request is sent only to be under way."""

    COMPANION = "a request that does nothing, at the same moment as one that is refused"


class Together:
    """Sends requests beside each other, where the run sends several at a time; else one after the other, and alone.

    A companion is a request that does nothing, to the same operation with a valid token: an execution of a synthetic
    code, or an empty registration for a synthetic account.
    """

    def __init__(self, client: Client) -> None:
        self._client, self._door = client, client.door
        self._looked_at = 0  # exchanges
        self._times = Counter[Hashable]()  # how often each sign was seen

    @property
    def is_possible(self) -> bool:
        """True if several requests may be on the wire at once."""
        return self._door.backoff.most > 1

    def send_all(self, sends: Sequence[Callable[[], T]]) -> list[T]:
        """Send these at the same time, and give what each of them gives: an exchange as it counts."""
        if not self.is_possible or len(sends) < 2:
            return [send() for send in sends]
        number_before = len(self._door.exchanges)
        with ThreadPoolExecutor(min(len(sends), 2 * self._door.backoff.most), "pix-together") as pool:
            results = list(pool.map(lambda send: send(), sends))
        self._send_doubtful_again(self._door.exchanges[number_before:])  # after the pool: nothing else is on the wire
        return self.that_count(results)

    def that_count(self, results: Iterable[T]) -> list[T]:
        """The results, with the answer that counts in the place of each superseded exchange."""
        superseded = numbers_superseded(self._door.exchanges)
        counting: list[Any] = []
        for result in results:
            answer = None
            if isinstance(result, Exchange) and result.number in superseded:
                answer = self._door.sent_again.get(result.number)
            counting.append(answer or result)
        return counting

    def send_in_turns(self, lists: Sequence[Sequence[Send]]) -> None:
        """Send these together, one of each list in turn."""
        turns: list[Send] = []
        for turn in zip_longest(*lists):
            turns += filter(None, turn)
        self.send_all(turns)

    def meeting(self, *sends: Send) -> list[Send]:
        """Two requests as `send_all` takes them, alone or among others, so that they leave at the same moment."""
        meeting = threading.Barrier(2)
        return [partial(self._door.meet, meeting, send) for send in sends]

    def send_beside(self, send: Send, other: Send) -> Exchange:
        """Send a request in this thread, which may hold the turn of the journal, and another one at the same moment."""
        number_before = len(self._door.exchanges)
        with_the_turn, beside_it = self.meeting(send, other)
        with ThreadPoolExecutor(1, "pix-beside") as pool:
            pool.submit(beside_it)
            answer = with_the_turn()
        self._send_doubtful_again(self._door.exchanges[number_before:])
        [answer_that_counts] = self.that_count([answer])
        return answer_that_counts

    def send_each_with_a_companion(self, operation: str, *sends: Send) -> list[Exchange]:
        """Send these, each at the same moment as a companion."""
        if not self.is_possible:
            return self.send_all(sends)
        at_once = max(1, self._door.backoff.most // 2)  # a pair needs two places
        answers: list[Exchange] = []
        for first in range(0, len(sends), at_once):
            pairs = [self._with_companion(operation, send) for send in sends[first : first + at_once]]
            answers += self.send_all([one for pair in pairs for one in pair])[::2]
        return answers

    def _send_doubtful_again(self, batch: Sequence[Exchange]) -> None:
        """Send each doubtful request of a batch again, of generated ones with the same sign the first few."""
        superseded = numbers_superseded(batch)  # the door itself has sent those again
        times = Counter[Hashable]()
        for exchange in batch:
            sign = _doubt(exchange)
            if sign is None or exchange.number in superseded:
                continue
            times[sign] += 1
            if times[sign] <= _MOST_SENT_AGAIN:
                self._door.send_again(exchange, supersedes=True)

    def send_deviating_again(self) -> None:
        """Send again what deviates, to see whether it shows again, alone: of all that this run has sent, the first few
        exchanges with each sign. Nothing else may be under way.

        A robustness requirement is broken by what was seen twice. A success beside others counts in any case, and its
        message says whether it shows alone.
        """
        sent_since = self._door.exchanges[self._looked_at :]
        second_answers = {answer.number for answer in self._door.sent_again.values() if answer}
        for exchange in sent_since:
            if exchange.number in second_answers:
                continue
            signs = set(_signs(exchange))
            self._times.update(signs)
            is_among_the_first = any(self._times[sign] <= _MOST_SENT_AGAIN for sign in signs)
            if is_among_the_first and exchange.number not in self._door.sent_again:
                self._door.send_again(exchange)
        self._looked_at = len(self._door.exchanges)

    def _with_companion(self, operation: str, send: Send) -> list[Send]:
        """A request and its companion; a second one comes where the first is gone and the request is still under
        way."""
        answered, body = threading.Event(), NOTHING if operation == "executePix" else {}
        send_companion = partial(self._client.send, operation, json=body, purpose=Company.COMPANION)

        def send_and_tell() -> Exchange:
            try:
                return send()
            finally:
                answered.set()

        def send_companions() -> Exchange:
            first = send_companion(synthetic())
            return first if answered.wait(_STILL_UNDER_WAY_S) else send_companion(synthetic())

        return self.meeting(send_and_tell, send_companions)


# -- once more, alone ---------------------------------------------------------------------------------------------


def _doubt(exchange: Exchange) -> Hashable | None:
    """The sign of an answer beside others that may be another one alone, or None. Each targeted request is a sign of
    its own.

    It is the refusal of a valid request, the refusal of the caller although the token is valid, a missing answer, or a
    deviation from a robustness requirement.
    """
    if not exchange.beside or is_judged_as_success(exchange):
        return None
    outcome = refused_or_lost(exchange)
    is_lost = exchange.response is None
    refuses_the_caller = exchange.credential == VALID and not exchange.valid and outcome in ABOUT_THE_CALLER
    if outcome and (is_lost or exchange.expects_success or refuses_the_caller):
        return exchange.operation, outcome, exchange.part or exchange.number
    return next(_deviations(exchange, robustness_of(exchange.operation)), None)


def _signs(exchange: Exchange) -> Iterator[Hashable]:
    """Each deviation from a robustness requirement, and each one of a success beside others."""
    requirement_ids = robustness_of(exchange.operation)
    if exchange.beside and exchange.expects_success:
        requirement_ids = [name for name in RULES if name.startswith(f"{exchange.operation}.")]
    yield from _deviations(exchange, requirement_ids)
    if exchange.beside and exchange.credential != VALID and grants_protected_result(exchange):
        yield exchange.operation, "granted"


def _deviations(exchange: Exchange, requirement_ids: Iterable[str]) -> Iterator[Hashable]:
    for requirement_id in requirement_ids:
        for finding in judge(requirement_id, exchange).findings:
            yield requirement_id, finding.code
