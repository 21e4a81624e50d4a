"""The plot of the page: what it is computed from."""

import pytest

from reports.page.figures import duration, latency_plot

FIGURES = {"count": 3, "min_ms": 2.0, "p25_ms": 3.0, "median_ms": 10.0, "p75_ms": 20.0, "p95_ms": 90.0, "max_ms": 180.0}
SLOWER = ("median_ms", "p75_ms", "p95_ms", "max_ms")


@pytest.mark.parametrize(
    ("milliseconds", "said"),
    [(0.4, "0.4 ms"), (3.0, "3 ms"), (12.4, "12 ms"), (999.4, "999 ms"), (1500, "1.5 s"), (30_000, "30 s")],
)
def test_durations(milliseconds, said):
    """A time has two digits or three."""
    assert duration(milliseconds) == said


@pytest.mark.parametrize(("least", "most"), [(0, 0), (0, 1e12), (5, 5), (0.01, 0.02), (7, 7.1), (1, 100)])
def test_any_times(least, most):
    """Whatever the times are, they stand within the plot, whose axis goes from a power of ten to another one."""
    figures = FIGURES | dict.fromkeys(("min_ms", "p25_ms"), least) | dict.fromkeys(SLOWER, most)
    found = latency_plot({"latency": {"getBalance": figures}})
    at, ticks = found["latency_rows"][0]["at"], found["latency_ticks"]

    assert 0 <= at["min"] <= at["max"] <= 100
    assert [ticks[0]["at"], ticks[-1]["at"]] == [0, 100]


def test_latency():
    """Each operation has its figures in words, and where they stand."""
    found = latency_plot({"latency": {"getBalance": FIGURES}})

    row = found["latency_rows"][0]
    assert (row["operation"], row["answers"]) == ("getBalance", 3)
    assert row["said"] == {
        "min": "2 ms",
        "p25": "3 ms",
        "median": "10 ms",
        "p75": "20 ms",
        "p95": "90 ms",
        "max": "180 ms",
    }
    assert list(row["at"].values()) == sorted(row["at"].values())
    assert (row["at"]["min"], row["at"]["median"]) == (10.03, 33.33)


def test_nothing_sent():
    """A run that sent nothing has no latency."""
    assert latency_plot({"latency": {}})["latency_rows"] == []
