"""Whether the target can be spoken to at all, asked once before the first test."""

from __future__ import annotations

from collections.abc import Set

from environments.client import Client
from environments.door import Door
from spec.exchange import FailureKind


def probe(door: Door, client: Client, allow: Set[str]) -> str:
    """Why the target cannot be spoken to; empty where it can. Sends a read, or only connects where none is allowed."""
    if "read" not in allow:
        return door.connect()
    exchange = client.send("listAccounts", good=True)
    return exchange.failure.message if exchange.failure and exchange.failure.kind is not FailureKind.LIMIT else ""
