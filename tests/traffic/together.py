"""Requests that are sent together: many at once, or two at the same moment. Some faults show only then.

A service may let a wrong token pass while a valid request is under way, or give a request the answer to another one.
So a companion (a valid request that does nothing) is sent at the same moment as a request that must be refused.

A conforming service may lock, limit or slow down while several requests are under way. It may say so with any status,
or by dropping a connection. Such an answer is doubtful: a refusal of a valid request or of the valid token, no answer,
or a server error (`_kind_of_doubt`). A request with a doubtful answer is sent again when all others have their answer,
and only the second answer counts. A success that deviates counts without a second request, because no load explains it.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import zip_longest
from typing import Any, TypeVar

from environments.door.client import NOTHING, Client
from environments.door.door import Door
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


class Companion(Purpose):
    """Why a companion is sent: a valid request that does nothing, and only has to be under way."""

    COMPANION = "a request that does nothing, at the same moment as one that is refused"


class Together:
    """Sends requests at the same time, if the run may send several at once; else one after the other.

    A companion is a request to the same operation, with the valid token, that does nothing: an execution of a synthetic
    code, or a registration with an empty body for a synthetic account. (Synthetic: made up by the suite.)
    """

    def __init__(self, client: Client) -> None:
        """`client` sends the companions. Its door sends every request of the run."""
        self._client = client
        self._door = client.door  # sends every request, and keeps all exchanges of the run
        self._count_examined = 0  # exchanges of the run that `send_deviating_again` has examined
        self._times_by_kind = Counter[Hashable]()  # by kind of deviation, how many of these exchanges have it

    @property
    def may_send_several(self) -> bool:
        """True if the profile lets the run wait for the answers to several requests at once (`limits.parallel`)."""
        return self._door.backoff.most_at_start > 1

    def send_all(self, sends: Sequence[Callable[[], T]], *, go_first: bool = False) -> list[T]:
        """Call these functions at the same time, and return their results in order. Each sends one request or several.

        If the run may send only one request at a time, they are called one after the other.

        An answer is doubtful if the other requests may be its reason, such as a dropped connection. A request with a
        doubtful answer is sent once more, alone, when all functions have returned. If a result is the exchange of such
        a request, its second exchange is returned in the place of the first one.

        With `go_first`, the requests go before those of other threads that wait for their turn. It is for functions
        that send several requests, of which each waits for the answer to the one before.
        """
        if not self.may_send_several:
            return [_call(send) for send in sends]
        exchanges = _ExchangesOfThreads(self._door, goes_first=go_first)
        # Twice as many threads as requests that may be under way, because some threads wait: for the other request of
        # a pair that is sent at the same moment, or until the door permits one more request.
        count_of_threads = min(len(sends), 2 * self._door.backoff.most_at_start)
        if count_of_threads < 2:
            results = [exchanges.call_and_collect(send) for send in sends]
        else:
            with ThreadPoolExecutor(count_of_threads, "pix-together") as pool:
                results = list(pool.map(exchanges.call_and_collect, sends))
        self._send_doubtful_again(exchanges.in_order())
        return self._with_later_answers(results)

    def send_side_by_side(self, functions: Sequence[Callable[[], object]]) -> None:
        """Call these functions at the same time, and wait until all have returned. Each sends many requests in order.

        If a function raises an error, this method raises the same error.
        """
        with ThreadPoolExecutor(len(functions), "pix-side-by-side") as pool:
            running = [pool.submit(function) for function in functions]
            for future in running:
                future.result()  # waits for the function, and raises its error if it failed

    def _with_later_answers(self, results: Iterable[T]) -> list[T]:
        """The results, in which each exchange that was sent again is replaced by its later exchange.

        Results that are no exchanges, and exchanges that were not sent again, stay as they are.
        """
        superseded = numbers_superseded(self._door.exchanges)  # of exchanges whose later exchange counts instead
        with_later_answers: list[Any] = []
        for result in results:
            later_exchange = None
            if isinstance(result, Exchange) and result.number in superseded:
                later_exchange = self._door.sent_again.get(result.number)
            with_later_answers.append(later_exchange or result)
        return with_later_answers

    def send_all_mixed(self, lists: Sequence[Sequence[Send]]) -> None:
        """Send the requests of several lists at the same time.

        They start in this order: the first request of each list, the second request of each list, and so on. So
        requests to different operations are mixed, because each list is usually about one operation.
        """
        mixed: list[Send] = []
        for one_of_each_list in zip_longest(*lists):
            for send in one_of_each_list:
                if send is not None:  # `zip_longest` gives None for a list that has no more requests
                    mixed.append(send)
        self.send_all(mixed)

    def pair_at_same_moment(self, *sends: Send) -> list[Send]:
        """Two functions that send these two requests at the same moment: each waits until the other is also ready.

        They must be called in two threads, as `send_all` does, because each of them waits for the other.
        """
        barrier = threading.Barrier(2)  # lets two threads continue when both have reached it
        return [partial(self._door.send_at_same_moment, barrier, send) for send in sends]

    def send_with_companion(self, send: Send, send_companion: Send) -> Exchange:
        """Send a request and a companion at the same moment, and return the exchange of the request.

        A companion is another request that only has to be under way meanwhile. The request itself is sent in the thread
        of the caller: if it names a real transaction code, this thread holds the lock that is needed to send the code.

        If the answer is doubtful, such as a refusal or a lost connection, the other request may be the reason. Then the
        request is sent again, alone, and that exchange is returned. The execution of a real code is never sent again.
        """
        exchanges = _ExchangesOfThreads(self._door)
        send_in_this_thread, send_in_the_pool = self.pair_at_same_moment(send, send_companion)
        with ThreadPoolExecutor(1, "pix-beside") as pool:
            pool.submit(exchanges.call_and_collect, send_in_the_pool)
            answer = exchanges.call_and_collect(send_in_this_thread)
        self._send_doubtful_again(exchanges.in_order())
        [answer_or_later_one] = self._with_later_answers([answer])
        return answer_or_later_one

    def send_each_with_a_companion(self, operation: str, *sends: Send) -> list[Exchange]:
        """Send each of these requests at the same moment as a companion of its own. Returns their exchanges in order.

        A companion is a valid request to the same operation that does nothing. A service may accept a wrong token while
        it processes a valid request, and this would show it. There are no companions if the run may send only one
        request at a time.
        """
        if not self.may_send_several:
            return self.send_all(sends)
        # Each pair has two requests under way, so half as many pairs as requests are permitted at once.
        pairs_at_once = max(1, self._door.backoff.most_at_start // 2)
        answers: list[Exchange] = []
        for first in range(0, len(sends), pairs_at_once):
            requests_and_companions: list[Send] = []  # in turn: a request, its companion, the next request
            for send in sends[first : first + pairs_at_once]:
                requests_and_companions += self._with_companion(operation, send)
            answers_of_pairs = self.send_all(requests_and_companions)
            answers += answers_of_pairs[::2]  # without the answers to the companions
        return answers

    def _with_companion(self, operation: str, send: Send) -> list[Send]:
        """Two functions that send a request, and a companion (a valid request that does nothing), at the same moment.

        The companion has the valid token, and the request has no token or a wrong one. A service at fault may check the
        valid token of the companion, and then give a good answer to the request with the wrong token.

        If the companion has its answer before the request, a second companion is sent, because a slow service perhaps
        begins to process the request only now.
        """
        request_is_answered = threading.Event()
        # An execution has no body. A registration with an empty object as its body registers no key.
        body = NOTHING if operation == "executePix" else {}
        send_companion = partial(self._client.send, operation, json=body, purpose=Companion.COMPANION)

        def send_request() -> Exchange:
            """Send the request. When it has its answer, or none comes, set the event that the companions wait for."""
            try:
                return send()
            finally:
                request_is_answered.set()

        def send_companions() -> Exchange:
            """Send a companion (a valid request that does nothing), and a second one if the request has no answer yet.

            Returns the exchange of the last one, because each function that sends a request returns its exchange.
            """
            answer = send_companion(synthetic())
            if request_is_answered.wait(_STILL_UNDER_WAY_S):
                return answer
            return send_companion(synthetic())

        return self.pair_at_same_moment(send_request, send_companions)

    # -- once more, alone -----------------------------------------------------------------------------------------

    def _send_doubtful_again(self, batch: Sequence[Exchange]) -> None:
        """Send the doubtful requests of a batch again, one at a time, so that each gets its answer alone.

        A request is doubtful if the other requests of the batch may be the reason for its answer. Of doubtful requests
        of one kind (the same operation, refused in the same way) only the first few are sent again.
        """
        superseded = numbers_superseded(batch)  # exchanges that the door itself has sent again, such as after a 429
        times_by_kind = Counter[Hashable]()
        for exchange in batch:
            kind = _kind_of_doubt(exchange)
            is_doubtful = kind is not None
            if not is_doubtful or exchange.number in superseded:
                continue
            times_by_kind[kind] += 1
            if times_by_kind[kind] <= _MOST_SENT_AGAIN:
                self._door.send_again(exchange, supersedes=True)

    def send_deviating_again(self) -> None:
        """Send requests again whose answers deviate from a rule, to see whether the deviation shows again.

        A robustness requirement, such as "no server error", is broken only by a deviation that shows twice. A deviation
        of a successful answer counts in any case, and its message says whether it also shows if the request is alone.

        Only the requests since the last call are examined. Of many with the same deviation, only the first few are sent
        again.
        The method is called when no other request is under way.
        """
        not_examined = self._door.exchanges[self._count_examined :]
        numbers_of_second_answers = {answer.number for answer in self._door.sent_again.values() if answer}
        for exchange in not_examined:
            if exchange.number in numbers_of_second_answers:  # a request is sent again only once
                continue
            kinds = set(_kinds_of_deviations(exchange))
            self._times_by_kind.update(kinds)  # counts each kind once more
            has_a_kind_seen_seldom = any(self._times_by_kind[kind] <= _MOST_SENT_AGAIN for kind in kinds)
            if has_a_kind_seen_seldom and exchange.number not in self._door.sent_again:
                self._door.send_again(exchange)
        self._count_examined = len(self._door.exchanges)


@dataclass
class _ExchangesOfThreads:
    """Collects the exchanges that some functions make in several threads, apart from those of all other threads."""

    door: Door
    goes_first: bool = False
    """True if their requests are sent before those of other threads that wait for their turn."""
    collected: list[Exchange] = field(default_factory=list)

    def call_and_collect(self, function: Callable[[], T]) -> T:
        """Call the function, return its result, and collect the exchanges that it makes, also if it raises an error."""
        with self.door.collecting(goes_first=self.goes_first) as exchanges:
            try:
                return function()
            finally:
                self.collected += exchanges

    def in_order(self) -> list[Exchange]:
        """The exchanges collected so far, in the order of sending."""
        return sorted(self.collected, key=lambda exchange: exchange.number)


def _call(function: Callable[[], T]) -> T:
    """Call a function, and return its result. `map` calls it with each function that sends a request."""
    return function()


# -- which exchanges are sent again -------------------------------------------------------------------------------


def _kind_of_doubt(exchange: Exchange) -> Hashable | None:
    """The kind of a doubtful exchange, as a value that is equal for exchanges of one kind. None if it is not doubtful.

    An exchange is doubtful if its request may get another answer when it is sent alone. That is so if other requests
    were under way, and if one of these is true:

    - A valid request was refused.
    - The caller was refused (such as a 401), although the token is valid.
    - There is no answer, because the connection was lost.
    - The answer deviates from a robustness requirement, such as a server error.

    Generated requests to one operation are of one kind if they are refused in the same way: ("getBalance", TOKEN,
    "getBalance"), for example. Any other request is of a kind of its own, so that each of them is sent again:
    ("registerPixKey", CONFLICT, 17), with the number of the exchange.
    """
    if exchange.was_alone or is_judged_as_success(exchange):
        return None
    outcome = refusal_or_failure(exchange)  # None for an answer that neither refuses nor fails
    is_lost = exchange.response is None
    is_valid_token_refused = exchange.credential == VALID and not exchange.valid and outcome in ABOUT_THE_CALLER
    is_doubtful = is_lost or exchange.expects_success or is_valid_token_refused
    if outcome and is_doubtful:
        # `generator` names what generated the request. It is empty for any other request.
        return exchange.operation, outcome, exchange.generator or exchange.number
    # Otherwise the kind is the first deviation, such as ("getBalance.serverError", "server-error").
    deviations_from_robustness = _deviations(exchange, robustness_of(exchange.operation))
    return next(deviations_from_robustness, None)  # None if there is no deviation


def _kinds_of_deviations(exchange: Exchange) -> Iterator[Hashable]:
    """Each deviation of an exchange for which its request is sent again, as a value that is equal for equal deviations.

    A value is a requirement and the code of a deviation, such as ("executePix.status", "status"). The deviations are:

    - If other requests were under way: any deviation of a valid request, because it may be a mistake under load. For
      the same reason a result that was granted without the valid token: ("executePix", "granted").
    - In any case: a deviation from a robustness requirement (a server error, a stack trace, a dropped connection),
      because it must show twice.
    """
    requirement_ids = robustness_of(exchange.operation)
    was_beside_others = not exchange.was_alone
    if was_beside_others and exchange.expects_success:
        # All requirements of the operation that have a rule: these include the robustness requirements.
        requirement_ids = [name for name in RULES if name.startswith(f"{exchange.operation}.")]
    yield from _deviations(exchange, requirement_ids)
    if was_beside_others and exchange.credential != VALID and grants_protected_result(exchange):
        yield exchange.operation, "granted"


def _deviations(exchange: Exchange, requirement_ids: Iterable[str]) -> Iterator[Hashable]:
    """Each deviation of an exchange from these requirements: the requirement, and the code that names the deviation."""
    for requirement_id in requirement_ids:
        for finding in judge(requirement_id, exchange).findings:
            yield requirement_id, finding.code
