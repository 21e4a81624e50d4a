"""What the plots of the page share: words for times, positions in percent, and bars as one path.

A plot is drawn in percent of its width, so that its lines and texts keep their size on every screen.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from math import log10
from typing import NamedTuple

_LEAST_MS = 0.1
_STEPS = (1, 2, 5)
_MOST_TICKS = 7
HEIGHT = 20
"""Of a lane of bars, in steps."""
_LOWEST = 3
"""What is more than nothing is at least this high."""


class Tick(NamedTuple):
    """A value of an axis. `anchor` keeps its text within the plot."""

    at: float
    text: str
    anchor: str


def duration(milliseconds: float) -> str:
    """`0.4 ms`, `12 ms`, `1.5 s`: two digits or three."""
    amount, unit = (milliseconds / 1000, "s") if milliseconds >= 1000 else (milliseconds, "ms")
    return f"{amount:.{0 if amount >= 10 else 1}f}".removesuffix(".0") + f" {unit}"


class LogScale:
    """Positions in percent of times between two round ones, by their logarithm."""

    def __init__(self, least: float, most: float) -> None:
        rounds = [step * 10.0**power for power in range(-1, 8) for step in _STEPS]
        low = max((each for each in rounds if each <= least), default=_LEAST_MS)
        high = min((each for each in rounds if each >= most and each > low), default=rounds[-1])
        self._values = [each for each in rounds if low <= each <= high]

    def at(self, milliseconds: float) -> float:
        low, high = log10(self._values[0]), log10(self._values[-1])
        share = (log10(max(milliseconds, _LEAST_MS)) - low) / (high - low)
        return round(100 * min(max(share, 0), 1), 2)

    def ticks(self) -> list[Tick]:
        """Round times: powers of ten where there are many of them."""
        decades = [each for each in self._values if round(log10(each), 6) % 1 == 0]
        shown = self._values if len(self._values) <= _MOST_TICKS else decades
        return [_tick(self.at(each), duration(each)) for each in shown]


def linear_ticks(most_ms: float) -> list[Tick]:
    """The start, the middle and the end of a time that begins with 0."""
    return [_tick(share * 100, duration(share * most_ms) if share else "0") for share in (0, 0.5, 1)]


def _tick(at: float, text: str) -> Tick:
    return Tick(at, text, "start" if at < 10 else "end" if at > 90 else "middle")


def bars(counts: Sequence[int], most: int) -> str:
    """Bars that stand side by side as the data of one path, `most` as high as HEIGHT: one step wide each."""
    drawn, at = [], 0
    for height, group in groupby(_height(count, most) for count in counts):
        width = len(list(group))
        drawn += [f"M{at} {HEIGHT}v-{height}h{width}v{height}z"] * bool(height)
        at += width
    return "".join(drawn)


def _height(count: int, most: int) -> int:
    return max(round(HEIGHT * count / most), _LOWEST) if count else 0
