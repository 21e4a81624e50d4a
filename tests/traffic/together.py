"""Requests that are sent together: many at once, or two at the same moment. Some faults show only then.

A service may let a wrong token pass while a valid request is under way, or give a request the answer to another one.
So valid requests that do nothing are sent beside those that must be refused.

A conforming service may lock, limit or slow down while several requests are under way. It may say so with any status,
or by dropping a connection. So a doubtful request is sent again when all others have their answer, and only the answer
that it gets alone counts. A success that deviates counts at once, because no load explains it.
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
from spec.answers import ABOUT_THE_CALLER, grants_protected_result, is_judged_as_success, refusal_or_failure
from spec.exchange import VALID, Exchange, Purpose
from spec.log import numbers_superseded
from spec.rules import RULES, judge, robustness_of

T = TypeVar("T")
_STILL_UNDER_WAY_S = 0.1
"""A request without an answer after this time gets a second companion, because the first one may have been answered
before the request was processed. Most services answer a refused request faster."""
_MOST_SENT_AGAIN = 3
"""Exchanges of one kind that are sent again: more than one, because the service may be busy again."""
Send = Callable[[], Exchange]
"""Sends one request, and gives its exchange."""


class Company(Purpose):
    """Why a request is sent only to be under way."""

    COMPANION = "a request that does nothing, at the same moment as one that is refused"


class Together:
    """Sends requests at the same time, if the run may send several at once; else one after the other.

    A companion is a request to the same operation, with the valid token, that does nothing: an execution of a synthetic
    code, or a registration with an empty body for a synthetic account.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._door = client.door
        self._count_examined = 0  # exchanges of the run that `send_deviating_again` has examined
        self._times_by_kind = Counter[Hashable]()  # in these exchanges

    @property
    def is_possible(self) -> bool:
        """True if several requests may be on the wire at once."""
        return self._door.backoff.most_at_start > 1

    def send_all(self, sends: Sequence[Callable[[], T]]) -> list[T]:
        """Call these functions at the same time, each of which sends a request. Returns their results, in order.

        An answer that may have suffered from the other requests is doubtful. Such a request is sent once more when all
        others have their answer. Then the exchange of that second time is returned in the place of the first one.
        """
        if not self.is_possible or len(sends) < 2:
            return list(map(_call, sends))
        count_before = len(self._door.exchanges)
        # Twice as many threads as requests that may be under way, because some threads wait: for the other request of
        # a pair that leaves at the same moment, or until the door lets one more request out.
        threads = min(len(sends), 2 * self._door.backoff.most_at_start)
        with ThreadPoolExecutor(threads, "pix-together") as pool:
            results = list(pool.map(_call, sends))
        self._send_doubtful_again(self._door.exchanges[count_before:])  # after the pool: nothing else is on the wire
        return self._with_later_answers(results)

    def _with_later_answers(self, results: Iterable[T]) -> list[T]:
        """The results, in which each exchange that was sent again is replaced by its later exchange.

        Results that are no exchanges, and exchanges that were not sent again, stay as they are.
        """
        superseded = numbers_superseded(self._door.exchanges)
        with_later_answers: list[Any] = []
        for result in results:
            later_exchange = None
            if isinstance(result, Exchange) and result.number in superseded:
                later_exchange = self._door.sent_again.get(result.number)
            with_later_answers.append(later_exchange or result)
        return with_later_answers

    def send_in_turns(self, lists: Sequence[Sequence[Send]]) -> None:
        """Send the requests of several lists at the same time: first those at the head of each list, and so on."""
        in_order: list[Send] = []
        for turn in zip_longest(*lists):
            in_order += filter(None, turn)  # None stands for a list that is shorter
        self.send_all(in_order)

    def meeting(self, *sends: Send) -> list[Send]:
        """Functions that send these two requests at the same moment: each waits until the other one is ready, too.

        They must be called in two threads, as `send_all` does.
        """
        barrier = threading.Barrier(2)
        return [partial(self._door.send_at_same_moment, barrier, send) for send in sends]

    def send_beside(self, send: Send, send_companion: Send) -> Exchange:
        """Send a request and a companion at the same moment, and return the exchange of the request.

        The request is sent in the thread of the caller, because this thread may hold the lock of the journal, without
        which no real code is sent.
        """
        count_before = len(self._door.exchanges)
        send_in_this_thread, send_in_the_pool = self.meeting(send, send_companion)
        with ThreadPoolExecutor(1, "pix-beside") as pool:
            pool.submit(send_in_the_pool)
            answer = send_in_this_thread()
        self._send_doubtful_again(self._door.exchanges[count_before:])
        [answer_or_later_one] = self._with_later_answers([answer])
        return answer_or_later_one

    def send_each_with_a_companion(self, operation: str, *sends: Send) -> list[Exchange]:
        """Send each of these requests at the same moment as a companion of its own. Returns their exchanges in order.

        Without companions if the run may send only one request at a time.
        """
        if not self.is_possible:
            return self.send_all(sends)
        # A pair is two of the requests that may be under way.
        pairs_at_once = max(1, self._door.backoff.most_at_start // 2)
        answers: list[Exchange] = []
        for first in range(0, len(sends), pairs_at_once):
            requests_and_companions: list[Send] = []
            for send in sends[first : first + pairs_at_once]:
                requests_and_companions += self._with_companion(operation, send)
            answers += self.send_all(requests_and_companions)[::2]  # every second answer is that of a companion
        return answers

    def _with_companion(self, operation: str, send: Send) -> list[Send]:
        """Functions that send a request and its companion at the same moment.

        If the companion has its answer and the request is still under way, a second companion is sent.
        """
        request_is_answered = threading.Event()
        body = NOTHING if operation == "executePix" else {}
        send_companion = partial(self._client.send, operation, json=body, purpose=Company.COMPANION)

        def send_request() -> Exchange:
            """Send the request, and say when it has its answer."""
            try:
                return send()
            finally:
                request_is_answered.set()

        def send_companions() -> Exchange:
            """Send one companion, and a second one if the request has no answer yet."""
            answer = send_companion(synthetic())
            if request_is_answered.wait(_STILL_UNDER_WAY_S):
                return answer
            return send_companion(synthetic())

        return self.meeting(send_request, send_companions)

    # -- once more, alone -----------------------------------------------------------------------------------------

    def _send_doubtful_again(self, batch: Sequence[Exchange]) -> None:
        """Send the doubtful requests of a batch again, one at a time; of requests that are alike only the first few.

        `_kind_of_doubt` says which are doubtful, and which are alike.
        """
        superseded = numbers_superseded(batch)  # the door itself has sent those again
        times_by_kind = Counter[Hashable]()
        for exchange in batch:
            kind = _kind_of_doubt(exchange)
            if kind is None or exchange.number in superseded:
                continue
            times_by_kind[kind] += 1
            if times_by_kind[kind] <= _MOST_SENT_AGAIN:
                self._door.send_again(exchange, supersedes=True)

    def send_deviating_again(self) -> None:
        """Send requests again whose answers deviate from a rule, to see whether the deviation shows again.

        It is called when nothing else is under way. Of the requests since the last call, it sends the first few with
        each kind of deviation. A robustness requirement is broken only by a deviation that shows twice. A deviation of
        a success counts in any case; its message says whether it shows also if the request is alone.
        """
        not_examined = self._door.exchanges[self._count_examined :]
        second_answers = {answer.number for answer in self._door.sent_again.values() if answer}
        for exchange in not_examined:
            if exchange.number in second_answers:
                continue
            kinds = set(_kinds_of_deviations(exchange))
            self._times_by_kind.update(kinds)
            is_among_the_first = any(self._times_by_kind[kind] <= _MOST_SENT_AGAIN for kind in kinds)
            if is_among_the_first and exchange.number not in self._door.sent_again:
                self._door.send_again(exchange)
        self._count_examined = len(self._door.exchanges)


def _call(function: Callable[[], T]) -> T:
    """Call a function, and return its result. For `map`, which needs a function with one argument."""
    return function()


# -- which exchanges are sent again -------------------------------------------------------------------------------


def _kind_of_doubt(exchange: Exchange) -> Hashable | None:
    """What kind of doubtful exchange it is: equal for exchanges that are alike. None if it is not doubtful.

    A request is doubtful if it may get another answer when it is sent alone. That is so if other requests were under
    way, and if its answer is one of these:

    - the refusal of a valid request
    - a refusal of the caller, although the token is valid
    - none: the connection was lost
    - a deviation from a robustness requirement

    Generated requests to one operation are alike if they are refused in the same way. A targeted request is like no
    other.
    """
    if exchange.was_alone or is_judged_as_success(exchange):
        return None
    outcome = refusal_or_failure(exchange)
    is_lost = exchange.response is None
    refuses_the_caller = exchange.credential == VALID and not exchange.valid and outcome in ABOUT_THE_CALLER
    is_doubtful = is_lost or exchange.expects_success or refuses_the_caller
    if outcome and is_doubtful:
        return exchange.operation, outcome, exchange.part or exchange.number
    return next(_deviations(exchange, robustness_of(exchange.operation)), None)


def _kinds_of_deviations(exchange: Exchange) -> Iterator[Hashable]:
    """Each deviation of an exchange for which its request is sent again, as a value that is equal for equal deviations.

    - If other requests were under way: any deviation of a valid request, and a result that was granted without the
      valid token.
    - In any case: a deviation from a robustness requirement.
    """
    requirement_ids = robustness_of(exchange.operation)
    was_beside_others = not exchange.was_alone
    if was_beside_others and exchange.expects_success:
        requirement_ids = [name for name in RULES if name.startswith(f"{exchange.operation}.")]
    yield from _deviations(exchange, requirement_ids)
    if was_beside_others and exchange.credential != VALID and grants_protected_result(exchange):
        yield exchange.operation, "granted"


def _deviations(exchange: Exchange, requirement_ids: Iterable[str]) -> Iterator[Hashable]:
    """The requirement and the code of each deviation of an exchange."""
    for requirement_id in requirement_ids:
        for finding in judge(requirement_id, exchange).findings:
            yield requirement_id, finding.code
