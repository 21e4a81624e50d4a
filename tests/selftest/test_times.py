"""Measured times in conformance.json: latency by operation, and when each exchange was sent."""

from datetime import UTC, datetime

import pytest

from environments.profiles.loading import load
from reports.formats.conformance_json import document_of, latency
from reports.run import Run
from tests.selftest.schemas import ROOT, problems
from tests.selftest.services.running import run, write_profile
from tests.selftest.services.serving import Raw

STARTED = datetime(2026, 11, 21, 12, 0, 0, tzinfo=UTC)


def exchange(number, operation="getBalance", elapsed_ms=1.0, answered=True, **more):
    """An exchange as reports/evidence.py gives it."""
    outcome = {"response": {"status": 200, "headers": []}} if answered else {"failure": "no answer in time"}
    sent = {"request": {"method": "GET", "url": "/"}, "started": STARTED.timestamp() + number, "curl": ""}
    return {
        "number": number,
        "operation": operation,
        "elapsed_ms": elapsed_ms,
        "beside": 2,
        "part": "",
        **sent,
        **outcome,
        **more,
    }


def figures(count, *shares):
    return dict(
        zip(("count", "min_ms", "p25_ms", "median_ms", "p75_ms", "p95_ms", "max_ms"), (count, *shares), strict=True)
    )


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ([4.5], figures(1, 4.5, 4.5, 4.5, 4.5, 4.5, 4.5)),
        ([3, 1, 2, 4], figures(4, 1, 1, 2, 3, 4, 4)),
        (range(100, 0, -1), figures(100, 1, 25, 50, 75, 95, 100)),
    ],
    ids=["one", "four", "a hundred"],
)
def test_shares_of_the_answers(times, expected):
    """The time that a share of them took at most, by the nearest rank."""
    seen = [exchange(number, elapsed_ms=time) for number, time in enumerate(times, 1)]

    assert latency(seen) == {"getBalance": expected}


def test_what_was_not_answered_has_no_latency():
    """Nor has an undocumented path; operations are in the order of the interface document."""
    seen = [
        exchange(1, "getBalance"),
        exchange(2, "executePix"),
        exchange(3, "createPix", answered=False),
        exchange(4, "(an undocumented path)"),
    ]

    assert list(latency(seen)) == ["executePix", "getBalance"]


def test_an_exchange_tells_when_it_was_sent():
    """From the start of the run on; what it was part of is said where there is a name."""
    run = Run(load("sandbox", folder=ROOT / "environments", base_url=None), "http://127.0.0.1:1", started=STARTED)
    run.exchanges = {1: exchange(1), 2: exchange(2, part="getBalance.drawn")}
    run.close()
    document = document_of(run)

    assert problems(document) == []
    assert [seen["at_ms"] for seen in document["exchanges"]] == [1000.0, 2000.0]
    assert [seen.get("part") for seen in document["exchanges"]] == [None, "getBalance.drawn"]


def test_the_times_of_a_run(tmp_path):
    """Each exchange was sent within the run."""
    with Raw() as raw:
        document = run(write_profile(tmp_path, raw.base_url), "-k", "executePix.document").document
    lasted_ms = document["duration_s"] * 1000

    assert document["exchanges"]
    assert [seen for seen in document["exchanges"] if not 0 <= seen["at_ms"] <= lasted_ms + 10] == []
    assert document["latency"]["executePix"]["count"] == sum(
        seen["operation"] == "executePix" and isinstance(seen["result"], int) for seen in document["exchanges"]
    )
