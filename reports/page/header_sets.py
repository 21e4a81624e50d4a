"""The headers that many requests or responses have alike: a page shows each set of them once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from reports.handover import Evidence

MANY = 10
"""This many messages share a header that is shown once."""
FEW = 3
"""A header with more values than these, such as a date, a length or a credential, stays with its message."""

Header = tuple[str, str]


class HeaderSets:
    """The sets that were needed so far, numbered from 1."""

    def __init__(self, exchanges: Iterable[Evidence]) -> None:
        messages = [seen[side] for seen in exchanges for side in ("request", "response") if side in seen]
        times = Counter((name, value) for message in messages for name, value in message["headers"])
        values = Counter(name.lower() for name, _ in times)
        self._frequent = {header for header, many in times.items() if many >= MANY and values[header[0].lower()] <= FEW}
        self.sets: dict[tuple[Header, ...], int] = {}

    def split(self, headers: Sequence[Sequence[str]], apart: Collection[str]) -> tuple[list[Header], int, int]:
        """The headers that a message has for itself; the number of the set of the others and their count, 0 for none.
        `apart`: names, in lower case, of headers that stay with the message."""
        pairs = [(name, value) for name, value in headers]
        shared = tuple(pair for pair in pairs if pair in self._frequent and pair[0].lower() not in apart)
        if len(shared) < 2:
            return pairs, 0, 0
        number = self.sets.setdefault(shared, len(self.sets) + 1)
        return [pair for pair in pairs if pair not in shared], number, len(shared)
