"""Latency by operation: one row for each, with its figures and a line from its fastest to its slowest answer."""

from __future__ import annotations

from typing import Any, NamedTuple

from reports.formats.conformance_json import Document
from reports.page.plots import LogScale, duration

_FIGURES = ("min_ms", "p25_ms", "median_ms", "p75_ms", "p95_ms", "max_ms")


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
