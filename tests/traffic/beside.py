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

from environments.door.client import Client
from environments.door.in_flight import Meeting
from environments.door.liveness import UnreachableError
from environments.door.permission import synthetic
from spec.exchange import Exchange
from tests.harness.lanes import Lanes, Part

T = TypeVar("T")
Send = Callable[[], Exchange]
MOST_COMPANIONS = 3
"""How many requests come and go beside one that must be refused."""


class Beside:
    """Sends requests beside each other, where the run sends several at a time; else one after the other, and alone.

    A companion is a request that does nothing, to the same operation with a valid token. `offer` names requests that the
    run sends anyway, and that may be companions.
    """

    def __init__(self, client: Client, lanes: Lanes | None = None) -> None:
        self._client, self._lanes = client, lanes
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

    def send_each_with_companions(self, operation: str, *sends: Send) -> list[Exchange]:
        """Send these, each while one companion after the other comes and goes, as far as there are any. The first leaves
        at the same moment."""
        if not self.is_possible:
            return self.send_all(sends)
        pairs = (self._with_companions(operation, send) for send in sends)
        return self.send_all([each for pair in pairs for each in pair])[::2]

    def _with_companions(self, operation: str, send: Send) -> list[Any]:
        answered = threading.Event()

        def send_companions() -> None:
            for _ in range(MOST_COMPANIONS):
                companion = self._companion(operation)
                if companion is None:
                    return
                companion()
                if answered.is_set():
                    return

        def send_and_tell() -> Exchange:
            try:
                return send()
            finally:
                answered.set()

        return self._to_meet(send_and_tell, send_companions)

    def send_together(self, *sends: Send) -> list[Exchange]:
        """Send two requests so that they leave at the same moment."""
        return self.send_all(self._to_meet(*sends))

    def _to_meet(self, *sends: Callable[[], Any]) -> list[Any]:
        """What sends two requests so that they leave at the same moment, called in two threads."""
        meeting, in_flight = Meeting(), self._client.door.in_flight

        def met(send: Callable[[], Any]) -> Any:
            with in_flight.meeting(meeting):
                return send()

        return [partial(met, send) for send in sends]

    def _companion(self, operation: str) -> Callable[[], Any] | None:
        """What sends the next companion; None where there is none."""
        offered = self._offered.get(operation, deque())
        with suppress(IndexError):  # other threads take from it, too
            while (part := offered.popleft()).is_begun:
                pass
            return part.run
        return self._execute_synthetic_code if operation == "executePix" else None

    def _execute_synthetic_code(self) -> None:
        with suppress(UnreachableError):  # the other request may have its answer
            self._client.send("executePix", synthetic())
