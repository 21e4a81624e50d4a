"""Requests that are sent together: any of them at once, or two at the same moment, as some faults show only then.

A check of the token may fail open while a valid request is under way, and an answer may be that of another request. So
valid requests that do nothing are under way beside those that must be refused.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import zip_longest
from typing import TypeVar

from environments.door.client import NOTHING, Client
from environments.door.permission import synthetic
from spec.exchange import Exchange

T = TypeVar("T")
_STILL_UNDER_WAY_S = 0.1
"""After so long without an answer, a request gets a second companion: the first one may have been gone too soon."""
Send = Callable[[], Exchange]


class Together:
    """Sends requests beside each other, where the run sends several at a time; else one after the other, and alone.

    A companion is a request that does nothing, to the same operation with a valid token: an execution of a synthetic code,
    or an empty registration for a synthetic account.
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
        """A request and its companion; a second one comes where the first is gone and the request is still under way."""
        answered, body = threading.Event(), NOTHING if operation == "executePix" else {}

        def send_and_tell() -> Exchange:
            try:
                return send()
            finally:
                answered.set()

        def send_companions() -> Exchange:
            first = self._client.send(operation, synthetic(), json=body)
            return first if answered.wait(_STILL_UNDER_WAY_S) else self._client.send(operation, synthetic(), json=body)

        return self.meeting(send_and_tell, send_companions)
