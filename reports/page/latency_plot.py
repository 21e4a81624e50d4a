"""Latency by operation: one row for each, with its figures and a line from its fastest to its slowest answer.

The plot is drawn in percent of its width, on a logarithmic scale, so that its lines and texts keep their size on every
screen.
"""

from __future__ import annotations

from math import ceil, floor, log10
from typing import Any

from reports.formats.conformance_json import Document

_LEAST_MS = 0.1
_FIGURES = ("min_ms", "p25_ms", "median_ms", "p75_ms", "p95_ms", "max_ms")


def duration(milliseconds: float) -> str:
    """`0.4 ms`, `12 ms`, `1.5 s`: two digits or three."""
    amount, unit = (milliseconds / 1000, "s") if milliseconds >= 1000 else (milliseconds, "ms")
    return f"{amount:.{0 if amount >= 10 else 1}f}".removesuffix(".0") + f" {unit}"


def latency_plot(document: Document) -> dict[str, Any]:
    """The rows of the plot, and the ticks of its axis at powers of ten; no rows where nothing was answered."""
    found: dict[str, dict[str, float]] = document["latency"]
    powers = [log10(max(figures[name], _LEAST_MS)) for figures in found.values() for name in _FIGURES]
    low = floor(min(powers, default=0))
    high = max(low + 1, ceil(max(powers, default=1)))

    def at(milliseconds: float) -> float:
        return round(100 * (log10(max(milliseconds, _LEAST_MS)) - low) / (high - low), 2)

    ticks = [10.0**power for power in range(low, high + 1)]
    return {
        "latency_ticks": [{"at": at(tick), "text": duration(tick), "anchor": _anchor(at(tick))} for tick in ticks],
        "latency_rows": [
            {
                "operation": operation,
                "answers": int(figures["count"]),
                "said": {name.removesuffix("_ms"): duration(figures[name]) for name in _FIGURES},
                "at": {name.removesuffix("_ms"): at(figures[name]) for name in _FIGURES},
            }
            for operation, figures in found.items()
        ],
    }


def _anchor(at: float) -> str:
    """The side of its text at which a tick stands, so that the text stays within the plot."""
    return {0.0: "start", 100.0: "end"}.get(at, "middle")
