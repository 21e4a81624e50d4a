"""The figures of the page: what a run left out, and the plot of latency."""

import re
from pathlib import Path

import pytest

from environments.profiles.loading import load
from reports.formats.conformance_json import document_of
from reports.headline import left_out
from reports.page.figures import duration, latency_plot
from reports.page.rendering import summary_html
from reports.run import Run
from reports.verdicts import RequirementResult, Verdict
from spec.message import say

SANDBOX = load("sandbox", folder=Path(__file__).parents[2] / "environments")
FIGURES = {"count": 3, "min_ms": 2.0, "p25_ms": 3.0, "median_ms": 10.0, "p75_ms": 20.0, "p95_ms": 90.0, "max_ms": 180.0}


def needs(permission):
    return say("needs {needed} in allow", needed=permission)


@pytest.mark.parametrize(
    ("verdict", "reasons", "why"),
    [
        (Verdict.OUT_OF_SCOPE, [needs("transfer"), needs("fuzz")], "not in allow: fuzz, transfer"),
        (Verdict.NOT_EXERCISED, ["supply a code", "ask the bank"], "ask the bank; 1 more reason"),
        (Verdict.PASS, [""], None),
    ],
)
def test_what_was_left_out(verdict, reasons, why):
    """Permissions by name; of what was missing the first reason, and how many there are; or nothing."""
    run = Run(SANDBOX, "http://127.0.0.1:1", narrowed=True)
    for id_, reason in zip(("getBalance.exists", "executePix.exists"), reasons, strict=False):
        run.selected.add(id_)
        run.results.append(RequirementResult(id_, verdict, reason))
    run.close()
    told = {entry["verdict"]: str(entry["why"]) for entry in left_out(document_of(run))}

    assert told == ({verdict: why} if why else {})
    assert bool(re.search(r"Left out</b>\s*<dl>\s*<dt>Nothing</dt>", summary_html(run))) is (why is None)


def test_durations():
    """A time has two digits or three."""
    said = {0.4: "0.4 ms", 3.0: "3 ms", 12.4: "12 ms", 999.4: "999 ms", 1500: "1.5 s", 30_000: "30 s"}

    assert {milliseconds: duration(milliseconds) for milliseconds in said} == said


@pytest.mark.parametrize(("least", "most"), [(0, 0), (0, 1e12), (5, 5), (7, 7.1)])
def test_any_times(least, most):
    """Whatever the times are, they stand within the plot, whose axis goes from a power of ten to another one."""
    figures = FIGURES | dict.fromkeys(FIGURES, most) | {"count": 3, "min_ms": least, "p25_ms": least}
    found = latency_plot({"latency": {"getBalance": figures}})
    at, ticks = found["latency_rows"][0]["at"], found["latency_ticks"]

    assert 0 <= at["min"] <= at["max"] <= 100
    assert [ticks[0]["at"], ticks[-1]["at"]] == [0, 100]


def test_latency():
    """Each operation has its figures in words, and where they stand; a run that sent nothing has none."""
    (row,) = latency_plot({"latency": {"getBalance": FIGURES}})["latency_rows"]

    assert [*row["said"].values()] == ["2 ms", "3 ms", "10 ms", "20 ms", "90 ms", "180 ms"]
    assert (row["answers"], row["at"]["min"], row["at"]["median"]) == (3, 10.03, 33.33)
    assert latency_plot({"latency": {}})["latency_rows"] == []
