"""Verdicts of requirements and runs are pure functions of results."""

from dataclasses import replace
from datetime import date
from itertools import combinations
from pathlib import Path

import pytest

from environments.profiles.loading import load
from environments.profiles.model import KnownFailure
from reports.grants import Grants
from reports.run import Run
from reports.verdicts import (
    RequirementResult,
    Verdict,
    counts,
    coverage,
    deviation,
    merged,
    with_known_failures,
)
from spec.requirements import requirements

DEFAULT = frozenset({"documented", "robustness"})
SANDBOX = load("sandbox", folder=Path(__file__).parents[2] / "environments")
DOCUMENTED, OTHER = requirements()["executePix.digit.present"], requirements()["executePix.digit.type"]
IMPLIED = requirements()["executePix.id.matches"]
ROBUST = requirements()["executePix.serverError"]
UNTESTABLE = next(row for row in requirements().values() if row.untestable and row.level == "documented")
ORDER = list(Verdict)
TODAY = date(2026, 11, 21)


def verdict_of(*results, fail_on=DEFAULT, min_coverage=None, granted=("executePix",), **state):
    """The verdict of a run with these results, in this state."""
    profile = replace(SANDBOX, fail_on=frozenset(fail_on), min_coverage=min_coverage, drift="fail")
    run = Run(profile, "http://127.0.0.1:1", grants=Grants(granted=set(granted)), **state)
    run.requirements = lambda: results
    return run.result()


def result(row, verdict, **changes):
    return row, RequirementResult(row.id, verdict, **changes)


@pytest.mark.parametrize(
    ("results", "name", "status"),
    [
        ([result(DOCUMENTED, "pass")], "conformant", 0),
        ([result(DOCUMENTED, "fail")], "non-conformant", 1),
        ([result(DOCUMENTED, "pass"), result(ROBUST, "fail")], "not-robust", 1),
        ([result(DOCUMENTED, "fail"), result(ROBUST, "fail")], "non-conformant", 1),
        ([result(DOCUMENTED, "not-exercised")], "incomplete", 6),
        ([result(DOCUMENTED, "not-exercised"), result(ROBUST, "fail")], "not-robust", 1),
        ([result(DOCUMENTED, "pass"), result(ROBUST, "not-exercised")], "incomplete", 6),
        ([result(IMPLIED, "not-exercised"), result(IMPLIED, "warn")], "conformant", 0),
        ([result(DOCUMENTED, "pass"), result(IMPLIED, "out-of-scope")], "conformant", 0),
        ([result(DOCUMENTED, "pass"), result(OTHER, "out-of-scope")], "partial", 0),
        ([result(DOCUMENTED, "pass"), result(ROBUST, "out-of-scope")], "partial", 0),
        ([result(DOCUMENTED, "fail", known="fixed in 2.4"), result(OTHER, "out-of-scope")], "partial", 0),
        ([result(DOCUMENTED, "pass"), result(UNTESTABLE, "untestable")], "conformant", 0),
        ([result(DOCUMENTED, "out-of-scope")], "incomplete", 6),
        ([], "nothing-selected", 5),
    ],
)
def test_verdict_of_a_run(results, name, status):
    """The verdict and the exit status follow from the requirements."""
    found = verdict_of(*results)

    assert (found.verdict, found.verdict.exit_status) == (name, status)


def test_a_run_that_tested_nothing_is_not_green():
    """A profile, or a selection, that leaves everything out of scope ends without a verdict on the service."""
    assert str(verdict_of(result(DOCUMENTED, "out-of-scope")).why) == "nothing was tested"
    assert verdict_of(result(IMPLIED, "observed"), result(DOCUMENTED, "out-of-scope")).verdict == "partial"


def test_a_selection_is_at_best_partial():
    """Also where every requirement that was selected was tested."""
    assert verdict_of(result(DOCUMENTED, "pass"), narrowed=True).verdict == "partial"
    assert verdict_of(result(DOCUMENTED, "fail"), narrowed=True).verdict == "non-conformant"


TROUBLE = {
    "internal-error": {"errors": ["of the suite"]},
    "interrupted": {"interrupted": True},
    "non-conformant": {},
    "not-robust": {},
    "drifted": {"drift": ["a place"]},
    "unreachable": {"unreachable": "gone"},
    "incomplete": {"journal_trouble": True},
    "partial": {"narrowed": True},
    "conformant": {},
}
"""The verdicts in their order, and what leads to each. The two that follow from requirements have these below."""
LEADS_TO = {"non-conformant": result(DOCUMENTED, "fail"), "not-robust": result(ROBUST, "fail")}


@pytest.mark.parametrize(("first", "later"), [*combinations(TROUBLE, 2)])
def test_where_two_verdicts_fit_a_run_takes_the_first(first, later):
    """What failed is never hidden by what the suite could not do, and what is not whole is never green."""
    rows = [LEADS_TO[name] for name in (first, later) if name in LEADS_TO]

    assert verdict_of(*rows, result(OTHER, "pass"), **TROUBLE[first], **TROUBLE[later]).verdict == first


def test_trouble_with_the_journal_is_incomplete():
    """With the exit status 6 and a line that says why."""
    found = verdict_of(result(DOCUMENTED, "pass"), journal_trouble=True)

    assert (found.verdict.exit_status, str(found.why)) == (6, "the journal could not be used, which stopped executions")


def test_a_run_that_a_limit_ended_is_incomplete():
    """The limit is named; it hides no failure."""
    limit = {"ended_by": "limits.duration (900 s) is reached"}
    found = verdict_of(result(DOCUMENTED, "pass"), **limit)

    assert (found.verdict, str(found.why)) == ("incomplete", limit["ended_by"])
    assert verdict_of(result(DOCUMENTED, "fail"), **limit).verdict == "non-conformant"


def test_a_run_in_which_nothing_was_granted_is_not_green():
    """What passes by difference alone is no verdict; a failure stays one."""
    nothing = {"granted": ()}
    found = verdict_of(result(DOCUMENTED, "pass"), **nothing)

    assert (found.verdict, found.verdict.exit_status, str(found.why)) == (
        "incomplete",
        6,
        "no operation granted anything",
    )
    assert verdict_of(result(DOCUMENTED, "fail"), **nothing).verdict == "non-conformant"


@pytest.mark.parametrize(("least", "name"), [(None, "partial"), (0.5, "partial"), (0.51, "incomplete")])
def test_a_run_below_min_coverage_is_incomplete(least, name):
    """The share is of the selected requirements at failing levels that an exchange can show, permitted or not."""
    rows = [result(DOCUMENTED, "pass"), result(ROBUST, "out-of-scope"), result(IMPLIED, "pass")]
    found = verdict_of(*rows, result(UNTESTABLE, "untestable"), min_coverage=least)

    assert (found.verdict, str(found.why)) == (
        name,
        "min_coverage (0.51) is not reached" if name == "incomplete" else "",
    )


def test_coverage_by_level():
    """Levels are never counted together, and what no exchange can show is not testable."""
    rows = [result(DOCUMENTED, "fail"), result(OTHER, "out-of-scope"), result(IMPLIED, "warn")]

    assert coverage([*rows, result(UNTESTABLE, "untestable")]) == {
        "documented": {"tested": 1, "testable": 2},
        "implied": {"tested": 1, "testable": 1},
    }


def test_fail_on_decides_what_incomplete_means():
    """A requirement at a level that does not fail may stay untested."""
    rows = [result(DOCUMENTED, "not-exercised"), result(ROBUST, "pass")]

    assert verdict_of(*rows, fail_on={"robustness"}).verdict == "conformant"
    assert str(verdict_of(*rows).why) == "1 documented requirement in scope was not exercised"


@pytest.mark.parametrize(
    ("level", "verdict"),
    [
        ("documented", "fail"),
        ("implied", "warn"),
        ("example", "warn"),
        ("robustness", "fail"),
        ("not-shown", "observed"),
    ],
)
def test_deviation_by_level(level, verdict):
    """What a deviation is depends on the level of its requirement."""
    assert deviation(level, DEFAULT) == verdict


def test_what_is_not_shown_never_fails():
    """Not even a profile can make it."""
    assert deviation("not-shown", {"not-shown"}) == "observed"


@pytest.mark.parametrize("index", range(len(ORDER) - 1))
def test_a_row_takes_the_first_verdict(index):
    """Over its exchanges a requirement takes the strongest verdict, with the evidence of that verdict alone."""
    weak, strong = (
        RequirementResult("a", ORDER[index + 1], "weak", (1,)),
        RequirementResult("a", ORDER[index], "strong", (2,)),
    )

    assert merged([weak, strong]) == {"a": RequirementResult("a", ORDER[index], "strong", (2,))}


def test_messages_are_joined_once():
    """Every distinct message of the verdict is kept, each once."""
    results = [RequirementResult("a", "fail", text, (number,)) for number, text in enumerate(["x", "y", "x"])]

    found = merged(results)["a"]

    assert (found.verdict, str(found.message), found.exchanges) == ("fail", "x; y", (0, 1, 2))


def test_counts_by_level():
    """Levels and verdicts come in their order, without zeros."""
    assert counts([result(IMPLIED, "warn"), result(DOCUMENTED, "pass"), result(DOCUMENTED, "fail")]) == {
        "documented": {"fail": 1, "pass": 1},
        "implied": {"warn": 1},
    }


def known(verdict, **options):
    """One known failure of a requirement with that verdict: the requirement, and what is said of the entry."""
    rows = {DOCUMENTED.id: RequirementResult(DOCUMENTED.id, verdict, "m", (1,))}
    marked, notes = with_known_failures(rows, [KnownFailure(DOCUMENTED.id, "fixed in 2.4", **options)], TODAY)
    return marked[DOCUMENTED.id], notes


def test_known_failure_does_not_fail_the_run():
    """A listed failure is marked with its reason and counts as conformant."""
    row, notes = known("fail", until=TODAY)

    assert (row.known, notes) == ("fixed in 2.4", [])
    assert verdict_of((DOCUMENTED, row)).verdict == "conformant"


def test_known_failure_that_passes_is_a_warning():
    """The entry to delete is named, and the run is conformant."""
    row, notes = known("pass", until=date(2026, 11, 20))

    assert list(map(str, notes)) == [f"known_failures: {DOCUMENTED.id}: passes; delete the entry"]
    assert (row.verdict, str(row.message)) == ("pass", "known_failures lists it, and it passes; delete the entry")
    assert verdict_of((DOCUMENTED, row)).verdict == "conformant"


def test_strict_known_failure_that_passes_fails_the_run():
    """As with a strict xfail of pytest, in every report."""
    row, notes = known("pass", strict=True)

    assert list(map(str, notes)) == [f"known_failures: {DOCUMENTED.id}: passes; delete the entry"]
    assert (row.verdict, str(row.message)) == (
        "fail",
        "strict: known_failures lists it, and it passes; delete the entry",
    )
    assert verdict_of((DOCUMENTED, row)).verdict == "non-conformant"


def test_strict_known_failure_that_fails_is_known():
    """Strict is about the entry that is out of date."""
    assert known("fail", strict=True)[0].known == "fixed in 2.4"


def test_known_failure_past_its_day_fails_the_run():
    """After its last day a listed failure is a failure."""
    row, notes = known("fail", until=date(2026, 11, 20))

    assert list(map(str, notes)) == [f"known_failures: {DOCUMENTED.id}: its last day 2026-11-20 has passed"]
    assert row.known == ""
    assert verdict_of((DOCUMENTED, row)).verdict == "non-conformant"


@pytest.mark.parametrize("verdict", ["not-exercised", "out-of-scope"])
def test_known_failure_that_was_not_tested_is_left_alone(verdict):
    """An entry for a requirement that was not tested proves nothing, whatever its last day."""
    assert known(verdict, until=date(2026, 11, 20)) == (RequirementResult(DOCUMENTED.id, verdict, "m", (1,)), [])


def test_known_failure_that_was_not_selected_says_nothing():
    """The run is about other requirements."""
    entries = [KnownFailure(DOCUMENTED.id, "fixed in 2.4", date(2026, 11, 20))]

    assert with_known_failures({}, entries, TODAY) == ({}, [])
