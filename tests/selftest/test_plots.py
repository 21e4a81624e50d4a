"""The plots of the page: what they are computed from, and that a long run does not make them larger."""

import re

import pytest

from reports.page.latency_plot import latency_plot
from reports.page.plots import HEIGHT, LogScale, bars, duration
from reports.page.timeline_plot import BINS, on_the_wire, timeline_plot

FIGURES = {"count": 3, "min_ms": 2.0, "p25_ms": 3.0, "median_ms": 10.0, "p75_ms": 20.0, "p95_ms": 90.0, "max_ms": 180.0}


def sent(at_ms, elapsed_ms, operation="getBalance", **more):
    return {"at_ms": at_ms, "elapsed_ms": elapsed_ms, "operation": operation, **more}


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


def test_bars():
    """Bars stand on one line; equal neighbours are one bar, and one request among many is still seen."""
    assert bars([0, 100, 100, 1], 100) == f"M1 20v-{HEIGHT}h2v{HEIGHT}zM3 20v-3h1v3z"


class TestTimeline:
    def test_lanes(self):
        """A lane for each operation, in the order of their first requests; the targeted ones are told apart."""
        found = timeline_plot({"exchanges": [sent(900, 100, part="fuzzing"), sent(0, 10), sent(500, 20, "executePix")]})

        first, second = found["lanes"]
        assert (first.operation, first.requests, first.first, first.last) == ("getBalance", 2, "0 ms", "900 ms")
        assert (first.bars.count("M"), first.targeted.count("M")) == (2, 1)
        assert second.operation == "executePix"

    def test_on_the_wire(self):
        """Requests that overlap are on the wire at once; one that follows another is not."""
        assert set(on_the_wire([sent(0, 500), sent(500, 500)], 1000)) == {1}
        assert max(on_the_wire([sent(0, 500), sent(400, 500), sent(450, 10)], 1000)) == 3
        assert on_the_wire([sent(0, 1), sent(999, 1)], 1000)[1:-1] == [0] * (BINS - 2)

    def test_nothing_sent(self):
        """A run that sent nothing has no timeline and no latency."""
        assert timeline_plot({"exchanges": []})["lanes"] == []
        assert latency_plot({"latency": {}})["latency_rows"] == []

    def test_long_run(self):
        """However many requests there were, the paths stay small."""
        lanes = timeline_plot({"exchanges": [sent(at, at % 700) for at in range(0, 200_000, 10)]})["lanes"]

        assert len(lanes[0].bars) < BINS * 30

    def test_ends(self):
        """Nothing is drawn outside the lane."""
        found = timeline_plot({"exchanges": [sent(-5, 1), sent(10, 90)]})

        ends = [int(at) + int(width) for at, width in re.findall(r"M(\d+) \d+v-\d+h(\d+)", found["wire"]["bars"])]
        assert max(ends) <= BINS
