"""Latency by operation in conformance.json."""

from dataclasses import replace

from reports.outputs.conformance_json import latency
from tests.selftest.reports.outputs.page.test_rendering import exchange


def test_latency_has_the_time_that_each_share_of_answers_took_at_most():
    """conformance.json has, for each operation, the time that 25, 50, 75, 95 and 100 % of the answers took at most.

    Here 100 answers took 1 to 100 ms, so the figure for a percentage is that number of milliseconds.
    """
    exchange_of_a_balance = replace(exchange(1), operation="getBalance")
    exchanges = [replace(exchange_of_a_balance, elapsed_ms=milliseconds) for milliseconds in range(100, 0, -1)]

    figures = latency(exchanges)["getBalance"]

    assert dict(figures) == {
        "count": 100, "min_ms": 1, "p25_ms": 25, "median_ms": 50, "p75_ms": 75, "p95_ms": 95, "max_ms": 100,
    }  # fmt: skip
