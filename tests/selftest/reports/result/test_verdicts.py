"""Verdicts of requirements and runs are pure functions of results."""

from collections import Counter
from dataclasses import replace
from datetime import date, timedelta
from itertools import combinations

import pytest

from environments.profiles.model import KnownFailure
from reports.result.grants import Grants
from reports.result.run import Run
from reports.result.run_verdict import result_of_run, verdict_of
from reports.result.verdicts import (
    VERDICTS_ON_THE_SERVICE,
    Coverage,
    RequirementResult,
    RunVerdict,
    Verdict,
    counts,
    coverage,
    merged_results,
    verdict_on_deviation,
)
from spec.findings import finding
from spec.message import say, texts_in_values
from spec.requirements import requirements
from tests.selftest.hand_made import SANDBOX_PROFILE, run_with_results

KNOWN = requirements()
ROWS = {
    "documented": KNOWN["executePix.digit.present"],
    "other": KNOWN["executePix.digit.type"],
    "implied": KNOWN["executePix.id.matches"],
    "robust": KNOWN["executePix.serverError"],
    "untestable": next(row for row in KNOWN.values() if row.untestable and row.level == "documented"),
}
DOCUMENTED = ROWS["documented"].id


def rows_with_results(words):
    """Pairs of requirement and result, from words such as `documented pass, robust fail`."""
    return [
        (ROWS[name], RequirementResult(ROWS[name].id, Verdict(verdict)))
        for name, verdict in (pair.split() for pair in words.split(", ") if pair)
    ]


def verdict_and_reason(rows, granted=("executePix",), answered=(), profile=SANDBOX_PROFILE, **state):
    """The verdict of a run with these results in this state, and its reason."""
    grants = Grants({name: Counter(answers) for name, answers in dict(answered).items()}, granted=set(granted))
    run = Run(replace(profile, drift="fail"), "http://127.0.0.1:1", grants=grants, **state)
    verdict, why = verdict_of(run, rows)
    return str(verdict), str(why)


def test_a_run_that_is_over_does_not_change():
    """A change after the end would be missing in the report, so it raises AttributeError."""
    run = run_with_results((DOCUMENTED, "pass"))
    run.unreachable = "gone"
    run.close()

    with pytest.raises(AttributeError, match=r"^the run is over: unreachable does not change any more$"):
        run.unreachable = ""


def test_each_verdict_has_its_exit_status():
    """Pipelines rely on these numbers."""
    assert {str(verdict): verdict.exit_status for verdict in RunVerdict} == {
        "internal-error": 3, "interrupted": 2, "non-conformant": 1, "not-robust": 1, "drifted": 1, "unreachable": 7,
        "nothing-selected": 5, "incomplete": 6, "partial": 0, "conformant": 0,
    }  # fmt: skip


def test_a_verdict_on_the_service_ends_with_0_or_1():
    """Any other verdict says that the run did not come to its end."""
    assert set(VERDICTS_ON_THE_SERVICE) == {verdict for verdict in RunVerdict if verdict.exit_status in (0, 1)}


UNTESTED = "1 documented requirement in scope was not exercised"


@pytest.mark.parametrize(
    ("words", "verdict", "reason"),
    [
        ("documented pass, robust fail", "not-robust", ""),
        ("documented fail, robust fail", "non-conformant", ""),
        ("documented not-exercised", "incomplete", "nothing was tested"),
        ("documented not-exercised, other pass", "incomplete", UNTESTED),
        ("documented not-exercised, robust fail", "not-robust", ""),
        ("documented pass, robust not-exercised", "incomplete", UNTESTED.replace("documented", "robustness")),
        ("documented pass, implied not-exercised", "conformant", ""),
        ("documented pass, implied out-of-scope", "conformant", ""),
        ("documented pass, other out-of-scope", "partial", ""),
        ("documented pass, robust out-of-scope", "partial", ""),
        ("documented pass, untestable untestable", "conformant", ""),
        ("documented out-of-scope", "incomplete", "nothing was tested"),
        ("documented out-of-scope, implied observed", "partial", ""),
        ("", "nothing-selected", ""),
    ],
)
def test_the_verdict_of_a_run_follows_from_its_results(words, verdict, reason):
    """A run that tested nothing is not green."""
    assert verdict_and_reason(rows_with_results(words)) == (verdict, reason)


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
"""The state of a run that leads to each verdict. Two verdicts follow from results alone, which are below."""
LEADS_TO = {"non-conformant": "documented fail, ", "not-robust": "robust fail, "}


def test_the_verdict_of_a_run_is_the_first_in_order_that_applies():
    """TROUBLE has the verdicts in their order.

    Trouble of the suite never hides a failure, and a partial run is never conformant.
    """
    for first, later in combinations(TROUBLE, 2):
        rows = rows_with_results(LEADS_TO.get(first, "") + LEADS_TO.get(later, "") + "other pass")

        assert verdict_and_reason(rows, **TROUBLE[first], **TROUBLE[later])[0] == first, later


def test_a_dropped_connection_is_no_fault_if_the_target_went_away():
    """The connection was dropped because the target was stopped."""
    run = run_with_results(("executePix.connection", "fail", finding("dropped")), unreachable="gone")

    assert result_of_run(run).verdict == "unreachable"


LIMIT = "limits.duration (900 s) is reached"


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        ({"journal_trouble": True}, "the journal could not be used, which stopped executions"),
        ({"ended_by": LIMIT}, LIMIT),
        ({"granted": ()}, "no operation succeeded"),
        ({"granted": (), "journal_trouble": True, "answered": {"executePix": {"401": 7}}}, "no operation succeeded"),
    ],
)
def test_what_stopped_a_run_is_named(state, reason):
    """A run that was stopped is incomplete, unless a requirement fails."""
    assert verdict_and_reason(rows_with_results("documented pass"), **state) == ("incomplete", reason)
    assert verdict_and_reason(rows_with_results("documented fail"), **state) == ("non-conformant", "")


@pytest.mark.parametrize(("least", "verdict"), [(None, "partial"), (0.5, "partial"), (0.51, "incomplete")])
def test_a_run_below_min_coverage_is_incomplete(least, verdict):
    """The share counts selected, testable requirements at failing levels, whether the profile permits them or not."""
    rows = rows_with_results("documented pass, robust out-of-scope, implied pass, untestable untestable")
    reason = "min_coverage (0.51) is not reached" if verdict == "incomplete" else ""

    assert verdict_and_reason(rows, profile=replace(SANDBOX_PROFILE, min_coverage=least)) == (verdict, reason)


def test_coverage_and_counts_by_level():
    """Levels are counted apart, untestable requirements do not count as testable, and there are no zeros."""
    rows = rows_with_results("implied warn, documented fail, other out-of-scope, untestable untestable")

    assert coverage(rows) == {"documented": Coverage(tested=1, testable=2), "implied": Coverage(tested=1, testable=1)}
    assert counts(rows) == {"documented": {"fail": 1, "out-of-scope": 1, "untestable": 1}, "implied": {"warn": 1}}


def test_fail_on_decides_which_levels_fail():
    """`fail_on` also decides which requirements may stay untested. The level not-shown never fails a run."""
    levels = ("documented", "implied", "example", "robustness", "not-shown")
    only_robust = replace(SANDBOX_PROFILE, fail_on=frozenset({"robustness"}))

    assert [verdict_on_deviation(level, SANDBOX_PROFILE.fail_on) for level in levels] == [
        "fail",
        "warn",
        "warn",
        "fail",
        "observed",
    ]
    assert verdict_on_deviation("not-shown", {"not-shown"}) == "observed"
    assert (
        verdict_and_reason(rows_with_results("documented not-exercised, robust pass"), profile=only_robust)[0]
        == "conformant"
    )


def test_a_requirement_takes_the_strongest_verdict_of_its_tests():
    """The result has the messages and exchanges of the tests with that verdict.

    Out of scope takes the shortest reason, because the test that needs least is enough.
    """
    for strong, weak in combinations(Verdict, 2):
        verdicts_and_reasons = [(weak, "w"), (strong, "xx"), (strong, "y"), (strong, "xx")]
        message_and_exchanges = ("y", (2,)) if strong == "out-of-scope" else ("xx; y", (1, 2, 3))
        results_of_tests = [
            RequirementResult("a", verdict, why, (number,))
            for number, (verdict, why) in enumerate(verdicts_and_reasons)
        ]
        result = merged_results(results_of_tests)["a"]

        assert result.verdict == strong
        assert (str(result.message), result.exchanges) == message_and_exchanges


TODAY = date.today()
PASSES, STRICT = (
    f"{strict}known_failures lists this requirement, and it passes: delete its entry" for strict in ("", "strict: ")
)
PAST = {"until": TODAY - timedelta(1)}
DELETE, OVER = "passes: delete its entry", f"the last day of this known failure, {PAST['until']}, has passed"


@pytest.mark.parametrize(
    ("entry", "verdict", "message", "note", "verdict_of_run"),
    [
        ({"until": TODAY}, "fail", "m", "", "partial"),
        ({"strict": True}, "fail", "m", "", "partial"),
        (PAST, "fail", "m", OVER, "non-conformant"),
        (PAST, "pass", PASSES, DELETE, "partial"),
        ({"strict": True}, "pass", STRICT, DELETE, "non-conformant"),
        ({"strict": True, **PAST}, "not-exercised", "m", "", "incomplete"),
        ({"strict": True, **PAST}, "not selected", "m", "", "nothing-selected"),
    ],
)
def test_a_known_failure_does_not_fail_a_run(entry, verdict, message, note, verdict_of_run, monkeypatch):
    """An entry that no longer holds has a note. It fails the run if it is strict or its last day has passed."""
    monkeypatch.setattr("reports.result.run_verdict.today", lambda: TODAY)  # midnight may have passed since the import
    profile = replace(SANDBOX_PROFILE, known_failures=(KnownFailure(DOCUMENTED, "fixed in 2.4", **entry),))
    run = Run(profile, "http://127.0.0.1:1", narrowed=True, grants=Grants(granted={"executePix"}))
    if verdict != "not selected":
        run.selected.add(DOCUMENTED)
        run.results.append(RequirementResult(DOCUMENTED, Verdict(verdict), "m", (1,)))
    run.close()

    notes = [str(run_note.text) for run_note in result_of_run(run).notes]
    expected_notes = [f"known_failures: {DOCUMENTED}: {note}"] if note else []

    assert [text for text in notes if DOCUMENTED in text] == expected_notes
    assert [str(row.message) for _, row in result_of_run(run).results] == [message] * len(run.selected)
    assert result_of_run(run).verdict == verdict_of_run


def test_known_failures_may_list_requirements_that_are_not_exercised():
    """A requirement that `known_failures` lists does not make the run incomplete if it is not exercised."""
    profile = replace(SANDBOX_PROFILE, known_failures=(KnownFailure(DOCUMENTED, "fixed in 2.4"),))
    run = run_with_results((DOCUMENTED, "not-exercised"), ("executePix.id.type", "pass"), profile=profile)

    assert result_of_run(run).verdict == "partial"


def test_a_reason_is_not_repeated():
    """The limit is named once, although the message of the answer names it, too."""
    limit = say("limits.{setting} ({most}) is spent", setting="requests", most=40)
    in_words = say("no success to judge: {answer}", answer=limit)
    profile, message = SANDBOX_PROFILE, "no success to judge: limits.requests (40) is spent"
    run = Run(profile, "http://127.0.0.1:1", unsent={limit: ["executePix"]}, grants=Grants(granted={"executePix"}))
    run.results = [RequirementResult(DOCUMENTED, Verdict.NOT_EXERCISED, why=in_words)]
    result = {row.id: result for row, result in result_of_run(run).results}[DOCUMENTED]

    assert str(result.message) == message
    assert list(texts_in_values(result.message, "setting")) == ["requests"]
