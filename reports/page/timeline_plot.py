"""The timeline of a run: when each operation was sent requests, and how many requests were on the wire at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from reports.formats.conformance_json import Document
from reports.page.plots import bars, duration, linear_ticks
from reports.verdicts import Entry
from reports.wording import grouped

BINS = 150
"""The time of the run is cut in as many pieces: a run of thousands of requests is as small as any other."""


class Lane(NamedTuple):
    """An operation: its requests, the first and the last, and the bars of all of them and of the targeted ones."""

    operation: str
    requests: int
    first: str
    last: str
    bars: str
    targeted: str


def timeline_plot(document: Document) -> dict[str, Any]:
    """The lanes by operation, and what was on the wire; no lanes where nothing was sent."""
    sent: list[Entry] = [one for one in document["exchanges"] if "at_ms" in one]
    end = max((_ended(one) for one in sent), default=0.0) or 1.0
    lanes = grouped(sorted(sent, key=_began), lambda one: one["operation"] or "(an undocumented path)")
    highest = max((max(_bins(group, end)) for group in lanes.values()), default=1)
    wire = on_the_wire(sent, end)
    return {
        "lanes": [_lane(operation, group, end, highest) for operation, group in lanes.items()],
        "wire": {"most": max(wire), "bars": bars(wire, max(*wire, 1))},
        "bins": BINS,
        "timeline_ticks": linear_ticks(end),
    }


def _lane(operation: str, sent: Sequence[Entry], end: float, highest: int) -> Lane:
    """The lane of an operation; its requests in the order in which they were sent."""
    targeted = [one for one in sent if not one.get("part")]
    times = (duration(_began(one)) for one in (sent[0], sent[-1]))
    return Lane(operation, len(sent), *times, *(bars(_bins(each, end), highest) for each in (sent, targeted)))


def on_the_wire(sent: Iterable[Entry], end: float) -> list[int]:
    """For each bin, how many requests were on the wire at most at one time of it."""
    changes = sorted(change for one in sent for change in ((_began(one), 1), (_ended(one), -1)))
    most, now, last = [0] * BINS, 0, 0
    for moment, change in changes:
        at = _bin(moment, end)
        most[last + 1 : at + 1] = [now] * (at - last)
        now, last = now + change, at
        most[at] = max(most[at], now)
    return most


def _bins(sent: Iterable[Entry], end: float) -> list[int]:
    counts = Counter(_bin(_began(one), end) for one in sent)
    return [counts[at] for at in range(BINS)]


def _bin(moment: float, end: float) -> int:
    return min(int(BINS * moment / end), BINS - 1)


def _began(one: Entry) -> float:
    return float(max(one["at_ms"], 0))


def _ended(one: Entry) -> float:
    return _began(one) + float(one["elapsed_ms"])
