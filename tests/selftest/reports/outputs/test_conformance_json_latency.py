"""Latency by operation in conformance.json."""

from dataclasses import replace

from reports.outputs.conformance_json import latency
from tests.selftest.reports.outputs.page.test_rendering import exchange

FIGURES = ("count", "min_ms", "p25_ms", "median_ms", "p75_ms", "p95_ms", "max_ms")


def test_latency_has_the_nearest_rank_of_each_share():
    """A percentile is the time that this share of the answers took at most."""
    answered = exchange(1)
    exchanges = [replace(answered, operation="getBalance", elapsed_ms=number) for number in range(100, 0, -1)]

    assert dict(latency(exchanges)["getBalance"]) == dict(zip(FIGURES, (100, 1, 25, 50, 75, 95, 100), strict=True))
