"""The rows that every exchange answers for, and which of their findings were seen twice."""

from __future__ import annotations

from spec.exchange import Exchange
from spec.rules import judge

STANDING = ("serverError", "stackTrace", "connection")
"""The rows of every operation that all of its exchanges answer for."""


class Suspicions:
    """What was seen once may have been the network; what was seen twice is certain."""

    def __init__(self) -> None:
        self.reproduced: set[int] = set()
        self._seen: dict[str, set[int]] = {}

    def of(self, exchange: Exchange, *, once_is_enough: bool) -> list[str]:
        """The standing rows that the exchange breaks."""
        rows = [f"{exchange.operation}.{what}" for what in STANDING] if exchange.operation else []
        broken = [row for row in rows if judge(row, exchange).deviates]
        for row in broken:
            seen = self._seen.setdefault(row, set())
            seen.add(exchange.number)
            if len(seen) > 1 or once_is_enough:
                self.reproduced |= seen
        return broken
