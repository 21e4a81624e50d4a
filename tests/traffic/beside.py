"""Requests that are sent beside each other on purpose: some faults show only then.

A check of the token may fail open while a valid request is under way, and an answer may be that of another request. So
valid requests that do nothing are under way beside those that must be refused.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, TypeVar

from environments.door.client import Client
from environments.door.permission import synthetic
from spec.exchange import Exchange
from tests.harness.lanes import Lanes, Part

T = TypeVar("T")
Send = Callable[[], Exchange]


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
        company = [each for _ in sends if self.is_possible and (each := self._company(operation))]
        pairs: list[Callable[[], Any]] = [each for pair in zip(company, sends, strict=False) for each in pair]
        answers = self.send_all([*pairs, *sends[len(company) :]])
        return answers[1 : 2 * len(company) : 2] + answers[2 * len(company) :]

    def _company(self, operation: str) -> Callable[[], Any] | None:
        offered = self._offered.get(operation, deque())
        while offered:
            if not (part := offered.popleft()).is_begun:
                return part.run
        return partial(self._client.send, operation, synthetic()) if operation == "executePix" else None
