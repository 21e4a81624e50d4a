"""Requests that are sent beside each other on purpose: some faults show only then.

A check of the token may fail open while a valid request is under way, and an answer may be that of another request. So
valid requests that do nothing are under way beside those that must be refused.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, TypeVar

from environments.door.client import Client
from environments.door.in_flight import Meeting
from environments.door.permission import synthetic
from spec.exchange import Exchange
from tests.harness.lanes import Lanes, Part

T = TypeVar("T")
Send = Callable[[], Exchange]


MOST_COMPANY = 4
_COMES_EVERY_S = 0.02
"""How many requests come and go beside an execution, and how long after the one before was answered."""


def _nothing() -> None:
    """Stands for the company that a request does not have."""


class Beside:
    """Sends requests beside each other, where the run sends several at a time; else one after the other, without company.

    `offer` names requests that the run sends anyway, and that may be company for others of their operation.
    """

    def __init__(self, client: Client, lanes: Lanes | None = None) -> None:
        self._client, self._lanes = client, lanes
        self._offered: dict[str, deque[Part[Exchange]]] = {}

    @property
    def is_possible(self) -> bool:
        """Whether several requests may be on the wire at once."""
        return self._lanes is not None and self._lanes.parallel

    def offer(self, operation: str, parts: Iterable[Part[Exchange]]) -> None:
        """Have these sent as company of others, as far as they were not sent before."""
        self._offered.setdefault(operation, deque()).extend(parts)

    def send_all(self, sends: Sequence[Callable[[], T]]) -> list[T]:
        """Send these at the same time."""
        return self._lanes.send_side_by_side(sends) if self._lanes else [send() for send in sends]

    def send_with_company(self, operation: str, *sends: Send) -> list[Exchange]:
        """Send these, each beside a valid token or a valid request that does nothing, to the same operation."""
        sent: list[Callable[[], Any]] = []
        for send in sends:
            company = self._company(operation) if self.is_possible else None
            sent += self._meeting(company, send) if company else [_nothing, send]
        return self.send_all(sent)[1::2]

    def send_in_company(self, operation: str, send: Send) -> Exchange:
        """Send it while requests of the same operation come and go that do nothing."""
        if not self.is_possible:
            return send()
        answered = threading.Event()

        def keep_company() -> None:
            for _ in range(MOST_COMPANY):
                if company := self._company(operation):
                    company()
                if answered.wait(_COMES_EVERY_S):
                    return

        def send_and_tell() -> Exchange:
            try:
                return send()
            finally:
                answered.set()

        exchange: Exchange = self.send_all(self._meeting(send_and_tell, keep_company))[0]
        return exchange

    def send_together(self, *sends: Send) -> list[Exchange]:
        """Send two requests so that they leave at the same moment."""
        return self.send_all(self._meeting(*sends))

    def _meeting(self, *sends: Callable[[], Any]) -> list[Any]:
        meeting, in_flight = Meeting(), self._client.door.in_flight

        def met(send: Callable[[], Any]) -> Any:
            with in_flight.meeting(meeting):
                return send()

        return [partial(met, send) for send in sends]

    def _company(self, operation: str) -> Callable[[], Any] | None:
        offered = self._offered.get(operation, deque())
        while offered:
            if not (part := offered.popleft()).is_begun:
                return part.run
        return partial(self._client.send, operation, synthetic()) if operation == "executePix" else None
