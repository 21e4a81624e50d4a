"""Latency by operation: one row for each, with its figures and a line from its fastest to its slowest answer.

The plot is drawn in percent of its width, so that its lines and texts keep their size on every screen.
"""

from __future__ import annotations

from math import log10
from typing import Any, NamedTuple

from reports.formats.conformance_json import Document

_LEAST_MS = 0.1
_STEPS = (1, 2, 5)
_MOST_TICKS = 7
_FIGURES = ("min_ms", "p25_ms", "median_ms", "p75_ms", "p95_ms", "max_ms")


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


def _tick(at: float, text: str) -> Tick:
    return Tick(at, text, "start" if at < 10 else "end" if at > 90 else "middle")


class Row(NamedTuple):
    """An operation: how many of its answers came, its figures in words, and where they stand in percent."""

    operation: str
    answers: int
    said: dict[str, str]
    at: dict[str, float]


def latency_plot(document: Document) -> dict[str, Any]:
    """The rows of the plot, and the ticks of its axis; no rows where nothing was answered."""
    found: dict[str, dict[str, float]] = document["latency"]
    times = [figures[name] for figures in found.values() for name in _FIGURES]
    scale = LogScale(min(times, default=1), max(times, default=1))
    rows = [_row(operation, figures, scale) for operation, figures in found.items()]
    return {"latency_rows": rows, "latency_ticks": scale.ticks()}


def _row(operation: str, figures: dict[str, float], scale: LogScale) -> Row:
    times = {name.removesuffix("_ms"): figures[name] for name in _FIGURES}
    said = {name: duration(time) for name, time in times.items()}
    return Row(operation, int(figures["count"]), said, {name: scale.at(time) for name, time in times.items()})
