"""Measured times in conformance.json: latency by operation, and when each exchange was sent."""

from datetime import UTC, datetime

from reports.formats.conformance_json import document_of, latency
from reports.run import Run
from tests.selftest.hand_made import SANDBOX
from tests.selftest.schemas import problems

STARTED = datetime(2026, 11, 21, 12, 0, 0, tzinfo=UTC)
FIGURES = ("count", "min_ms", "p25_ms", "median_ms", "p75_ms", "p95_ms", "max_ms")


def exchange(number, operation="getBalance", elapsed_ms=1.0, **more):
    """An exchange as reports/evidence.py gives it."""
    answered = {} if "failure" in more else {"response": {"status": 200, "headers": []}}
    return {
        "number": number, "operation": operation, "elapsed_ms": elapsed_ms, "beside": 2, "part": "", "curl": "",
        "request": {"method": "GET", "url": "/"}, "started": STARTED.timestamp() + number, **answered, **more,
    }  # fmt: skip


def test_shares_of_the_answers():
    """The time that a share of them took at most, by the nearest rank."""
    seen = [exchange(number, elapsed_ms=number) for number in range(100, 0, -1)]

    assert latency(seen) == {"getBalance": dict(zip(FIGURES, (100, 1, 25, 50, 75, 95, 100), strict=True))}


def test_an_exchange_tells_when_it_was_sent():
    """From the start of the run on."""
    run = Run(SANDBOX, "http://127.0.0.1:1", started=STARTED)
    run.exchanges = {1: exchange(1), 2: exchange(2)}
    run.close()
    document = document_of(run)

    assert problems(document) == []
    assert [seen["at_ms"] for seen in document["exchanges"]] == [1000.0, 2000.0]
