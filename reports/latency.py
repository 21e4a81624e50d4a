"""How long each operation took to answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil

from reports.evidence import Evidence
from reports.wording import grouped
from spec.interface import operations

_SHARES = {"min_ms": 0.0, "p25_ms": 0.25, "median_ms": 0.5, "p75_ms": 0.75, "p95_ms": 0.95, "max_ms": 1.0}


def latency(exchanges: Iterable[Evidence]) -> dict[str, dict[str, float]]:
    """For each operation, in the order of the interface document, how many requests it answered, and the time that this
    share of them took at most (nearest rank). Refusals count, too."""
    answered = (seen for seen in exchanges if "response" in seen)
    by_operation = grouped(answered, lambda seen: seen["operation"])
    times = {name: sorted(one["elapsed_ms"] for one in group) for name, group in by_operation.items()}
    return {name: _figures(times[name]) for name in operations() if name in times}


def _figures(times: list[float]) -> dict[str, float]:
    return {"count": len(times), **{name: nearest_rank(times, share) for name, share in _SHARES.items()}}


def nearest_rank(times: Sequence[float], share: float) -> float:
    """What this share of the times, the shortest first, took at most."""
    return times[max(ceil(share * len(times)), 1) - 1]
