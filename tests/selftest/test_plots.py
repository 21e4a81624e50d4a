"""The plot of the page: what it is computed from."""

import pytest

from reports.page.latency_plot import LogScale, duration, latency_plot

FIGURES = {"count": 3, "min_ms": 2.0, "p25_ms": 3.0, "median_ms": 10.0, "p75_ms": 20.0, "p95_ms": 90.0, "max_ms": 180.0}


@pytest.mark.parametrize(
    ("milliseconds", "said"),
    [(0.4, "0.4 ms"), (3.0, "3 ms"), (12.4, "12 ms"), (999.4, "999 ms"), (1500, "1.5 s"), (30_000, "30 s")],
)
def test_durations(milliseconds, said):
    """A time has two digits or three."""
    assert duration(milliseconds) == said


class TestScale:
    def test_positions(self):
        """The axis goes from a round time to a round time; equal factors are equal distances."""
        scale = LogScale(1, 100)

        assert [scale.at(each) for each in (1, 10, 100)] == [0, 50, 100]

    @pytest.mark.parametrize(("least", "most"), [(0, 0), (0, 1e12), (5, 5), (0.01, 0.02), (7, 7.1)])
    def test_any_times(self, least, most):
        """Whatever the times are, they stand within the plot, which has at least two ticks."""
        scale = LogScale(least, most)

        assert 0 <= scale.at(least) <= scale.at(most) <= 100
        assert len(scale.ticks()) >= 2

    def test_ticks(self):
        """Few round times have a tick each, many only the powers of ten."""
        assert [tick.text for tick in LogScale(3, 18).ticks()] == ["2 ms", "5 ms", "10 ms", "20 ms"]
        assert [tick.text for tick in LogScale(3, 900).ticks()] == ["10 ms", "100 ms", "1 s"]


def test_latency():
    """Each operation has its figures in words, and where they stand."""
    found = latency_plot({"latency": {"getBalance": FIGURES}})

    row = found["latency_rows"][0]
    assert (row.operation, row.answers) == ("getBalance", 3)
    assert row.said == {
        "min": "2 ms",
        "p25": "3 ms",
        "median": "10 ms",
        "p75": "20 ms",
        "p95": "90 ms",
        "max": "180 ms",
    }
    assert list(row.at.values()) == sorted(row.at.values())
    assert (row.at["min"], row.at["median"]) == (0, 34.95)


def test_nothing_sent():
    """A run that sent nothing has no latency."""
    assert latency_plot({"latency": {}})["latency_rows"] == []
