"""Requests that are sent together: any of them at once, or two at the same moment, as some faults show only then. What
deviates, or was refused beside others, is sent once more, alone.

A check of the token may fail open while a valid request is under way, and an answer may be that of another request. So
valid requests that do nothing are under way beside those that must be refused. A conforming service may lock, limit or
slow down while several requests are under way, and say so with any status, or by a connection that it drops. What it
answers to a request that is alone is what counts.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import zip_longest
from typing import TypeVar

from environments.door.client import NOTHING, Client
from environments.door.door import Door
from environments.door.permission import synthetic
from spec.answers import ABOUT_THE_CALLER, grants_protected_result, refused_or_lost
from spec.exchange import VALID, Exchange
from spec.rules import RULES, Reproduction, judge, robustness_of

T = TypeVar("T")
_STILL_UNDER_WAY_S = 0.1
"""After so long without an answer, a request gets a second companion: the first one may have been gone too soon."""
_MOST = 3
"""Exchanges with one sign that are sent once more."""
Send = Callable[[], Exchange]


class Together:
    """Sends requests beside each other, where the run sends several at a time; else one after the other, and alone.

    A companion is a request that does nothing, to the same operation with a valid token: an execution of a synthetic
    code, or an empty registration for a synthetic account.
    """

    def __init__(self, client: Client) -> None:
        self._client, self._door = client, client.door

    @property
    def is_possible(self) -> bool:
        """True if several requests may be on the wire at once."""
        return self._door.backoff.most > 1

    def send_all(self, sends: Sequence[Callable[[], T]]) -> list[T]:
        """Send these at the same time, and give what each of them gives."""
        if not self.is_possible or len(sends) < 2:
            return [send() for send in sends]
        with ThreadPoolExecutor(min(len(sends), 2 * self._door.backoff.most), "pix-together") as pool:
            return list(pool.map(lambda send: send(), sends))

    def send_in_turns(self, lists: Sequence[Sequence[Send]]) -> list[list[Exchange]]:
        """Send these together, one of each list in turn. The answers to each list."""
        turns = [(at, send) for turn in zip_longest(*lists) for at, send in enumerate(turn) if send is not None]
        found: list[list[Exchange]] = [[] for _ in lists]
        for (at, _), answer in zip(turns, self.send_all([send for _, send in turns]), strict=True):
            found[at].append(answer)
        return found

    def meeting(self, *sends: Send) -> list[Send]:
        """Two requests as `send_all` takes them, alone or among others, so that they leave at the same moment."""
        meeting = threading.Barrier(2)
        return [partial(self._door.meet, meeting, send) for send in sends]

    def send_beside(self, send: Send, other: Send) -> Exchange:
        """Send a request in this thread, which may hold the turn of the journal, and another one at the same moment."""
        one, two = self.meeting(send, other)
        with ThreadPoolExecutor(1, "pix-beside") as pool:
            pool.submit(two)
            return one()

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

    def _with_companion(self, operation: str, send: Send) -> list[Send]:
        """A request and its companion; a second one comes where the first is gone and the request is still under
        way."""
        answered, body = threading.Event(), NOTHING if operation == "executePix" else {}
        send_companion = partial(self._client.send, operation, json=body)

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


def send_once_more(door: Door, reproduction: Reproduction) -> None:
    """Send once more, of all that was sent, the first few exchanges with each sign; nothing else may be under way.
    Executions are not, nor what else may move money; wrong tokens and transfers count against their limits."""
    again, times = reproduction.again, Counter[Hashable]()
    answers = {answer.number for answer in again.values() if answer}
    for exchange in [seen for seen in door.exchanges if seen.number not in answers]:
        doubts = set(_doubts(exchange))
        signs = {*_deviations(exchange), *doubts}
        times.update(signs)
        if exchange.number not in again and any(times[sign] <= _MOST for sign in signs):
            answer = again[exchange.number] = door.send_again(exchange)
            if doubts and answer:
                reproduction.stands[exchange.number] = answer


def _deviations(exchange: Exchange) -> Iterator[Hashable]:
    """Each deviation; without those of robustness only where others were under way."""
    applying = robustness_of(exchange.operation)
    if exchange.beside and exchange.expects_success:
        applying = [id for id in RULES if id.startswith(f"{exchange.operation}.")]
    for requirement_id in applying:
        for finding in judge(requirement_id, exchange).findings:
            yield requirement_id, finding.code
    if exchange.beside and exchange.credential != VALID and grants_protected_result(exchange):
        yield exchange.operation, "granted"


def _doubts(exchange: Exchange) -> Iterator[Hashable]:
    """The refusal of a valid request beside others, or of the caller although the token is valid; or no answer. Of
    targeted requests each is a sign of its own."""
    how = refused_or_lost(exchange)
    of_caller = exchange.credential == VALID and how in ABOUT_THE_CALLER
    is_lost = exchange.response is None
    if exchange.beside and how and (is_lost or exchange.expects_success or (of_caller and not exchange.valid)):
        yield exchange.operation, how, exchange.part or exchange.number
