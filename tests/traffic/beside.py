"""Requests that are sent beside each other on purpose: some faults show only then.

A check of the token may fail open while a valid request is under way, and an answer may be that of another request. So
valid requests that do nothing are under way beside those that must be refused.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from environments.door.client import NOTHING, Client
from environments.door.in_flight import Meeting
from environments.door.liveness import UnreachableError
from environments.door.permission import synthetic
from spec.answers import is_refusal
from spec.exchange import Exchange
from tests.harness.lanes import Lanes, Part

T = TypeVar("T")
Send = Callable[[], Exchange]
MOST_COMPANIONS = 3
"""How many requests come and go beside one that must be refused."""
TRIES = 3
"""How often a request that must be refused is sent, until it has met a companion; for requests that few others are like."""


class Beside:
    """Sends requests beside each other, where the run sends several at a time; else one after the other, and alone.

    A companion is a request that does nothing, to the same operation with a valid token: one that the run sends anyway
    and `offer` names, as far as there are any, or an execution of a synthetic code, or an empty registration for a
    synthetic account.
    """

    def __init__(self, client: Client, lanes: Lanes | None = None) -> None:
        self._client, self._lanes, self._in_flight = client, lanes, client.door.in_flight
        self._offered: dict[str, deque[Part[Exchange]]] = {}

    @property
    def is_possible(self) -> bool:
        """Whether several requests may be on the wire at once."""
        return self._lanes is not None and self._lanes.parallel

    def offer(self, operation: str, parts: Iterable[Part[Exchange]]) -> None:
        """Have these sent as companions of others, as far as they were not sent before."""
        self._offered.setdefault(operation, deque()).extend(parts)

    def send_all(self, sends: Sequence[Callable[[], T]]) -> list[T]:
        """Send these at the same time."""
        return self._lanes.send_side_by_side(sends) if self._lanes else [send() for send in sends]

    def send_each_with_companions(self, operation: str, *sends: Send, tries: int = 1) -> list[Exchange]:
        """Send these, each while one companion after the other comes and goes. The first leaves at the same moment. What
        met no companion and was refused is sent again, `tries` times in all."""
        if not self.is_possible:
            return self.send_all(sends)
        at_once = max(1, self._in_flight.most // 2 - 1)  # a pair needs two places, and other chains send, too
        batches = [sends[first : first + at_once] for first in range(0, len(sends), at_once)]
        return [answer for batch in batches for answer in self._send_batch(operation, batch, tries)]

    def _send_batch(self, operation: str, sends: Sequence[Send], tries: int) -> list[Exchange]:
        meetings = [Meeting() for _ in sends]
        pairs = [self._with_companions(operation, *each) for each in zip(sends, meetings, strict=True)]
        answers: list[Exchange] = self.send_all([act for pair in pairs for act in pair])[::2]
        for place, (send, meeting) in enumerate(zip(sends, meetings, strict=True)):
            if tries > 1 and not meeting.took_place and _is_refused(answers[place]):
                [answers[place]] = self._send_batch(operation, [send], tries - 1)
        return answers

    def _with_companions(self, operation: str, send: Send, meeting: Meeting) -> tuple[Callable[[], Any], ...]:
        answered = threading.Event()

        def send_companions() -> None:
            for _ in range(MOST_COMPANIONS):
                with self._in_flight.meeting(meeting):
                    self._send_companion(operation)
                if answered.is_set():
                    return

        def send_and_tell() -> Exchange:
            try:
                with self._in_flight.meeting(meeting):
                    return send()
            finally:
                answered.set()

        return send_and_tell, send_companions

    def meeting(self, *sends: Send) -> list[Send]:
        """Two requests as `send_all` takes them, alone or among others, so that they leave at the same moment."""
        meeting = Meeting()

        def met(send: Send) -> Exchange:
            with self._in_flight.meeting(meeting):
                return send()

        return [partial(met, send) for send in sends]

    def send_beside(self, send: Send, other: Send) -> Exchange:
        """Send a request that has no other company on the wire than one, which leaves at the same moment."""
        with self._in_flight.alone():
            one, two = self.meeting(send, other)
            part = Part(partial(self._in_flight.send_beside, threading.get_ident(), two))
            thread = threading.Thread(target=part.run, name="pix-beside", daemon=True)
            thread.start()
            try:
                return one()
            finally:
                thread.join()

    def _send_companion(self, operation: str) -> None:
        offered = self._offered.get(operation, deque())
        with suppress(IndexError):  # other threads take from it, too
            while (part := offered.popleft()).is_begun:
                pass
            part.run()
            return
        with suppress(UnreachableError):  # the other request may have its answer
            self._client.send(operation, synthetic(), json=NOTHING if operation == "executePix" else {})


def _is_refused(exchange: Exchange) -> bool:
    return exchange.response is not None and is_refusal(exchange.response)
