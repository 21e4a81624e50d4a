"""The log of a run: its exchanges, in their order, and which of their answers count."""

from __future__ import annotations

from collections.abc import Iterable

from spec.exchange import Exchange


def numbers_superseded(exchanges: Iterable[Exchange]) -> frozenset[int]:
    """Numbers of the exchanges whose request was sent again, so that a later answer counts in the place of theirs."""
    return frozenset(exchange.supersedes for exchange in exchanges if exchange.supersedes)
