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

REQUIREMENTS = requirements()
REQUIREMENT_BY_WORD = {
    "documented": REQUIREMENTS["executePix.digit.present"],
    "other": REQUIREMENTS["executePix.digit.type"],
    "implied": REQUIREMENTS["executePix.id.matches"],
    "robust": REQUIREMENTS["executePix.serverError"],
    "untestable": next(row for row in REQUIREMENTS.values() if row.untestable and row.level == "documented"),
}
DOCUMENTED = REQUIREMENT_BY_WORD["documented"].id


def requirements_with_results(words):
    """Pairs of requirement and result, from words such as `documented pass, robust fail`."""
    return [
        (REQUIREMENT_BY_WORD[name], RequirementResult(REQUIREMENT_BY_WORD[name].id, Verdict(verdict)))
        for name, verdict in (pair.split() for pair in words.split(", ") if pair)
    ]


def verdict_and_reason(rows, granted=("executePix",), answered=(), profile=SANDBOX_PROFILE, **state):
    """The verdict of a run with these results in this state, and its reason."""
    grants = Grants({name: Counter(answers) for name, answers in dict(answered).items()}, granted=set(granted))
    run = Run(replace(profile, drift="fail"), "http://127.0.0.1:1", grants=grants, **state)
    verdict, why = verdict_of(run, rows)
    return str(verdict), str(why)


def test_a_run_that_is_over_does_not_change():
    """A change of a run after its end raises AttributeError, because it would be missing in the report."""
    run = run_with_results((DOCUMENTED, "pass"))
    run.unreachable = "gone"
    run.close()

    with pytest.raises(AttributeError, match=r"^the run is over: unreachable does not change any more$"):
        run.unreachable = ""


def test_each_verdict_has_its_exit_status():
    """Each verdict of a run has a fixed exit status, because pipelines rely on these numbers."""
    exit_statuses = {str(verdict): verdict.exit_status for verdict in RunVerdict}

    assert exit_statuses == {
        "internal-error": 3, "interrupted": 2, "non-conformant": 1, "not-robust": 1, "drifted": 1, "unreachable": 7,
        "nothing-selected": 5, "incomplete": 6, "partial": 0, "conformant": 0,
    }  # fmt: skip


def test_a_verdict_on_the_service_ends_with_0_or_1():
    """The verdicts on a service are exactly those with exit status 0 or 1.

    Any other verdict says that the run broke off.
    """
    verdicts_with_status_0_or_1 = {verdict for verdict in RunVerdict if verdict.exit_status in (0, 1)}

    assert set(VERDICTS_ON_THE_SERVICE) == verdicts_with_status_0_or_1


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
    """The verdict of a run follows from the results of its requirements: a failure counts first, then what was not
    tested.

    `documented pass, robust fail` is a run in which a documented requirement passes and a robustness requirement
    fails. A run that tested nothing is incomplete.
    """
    results = requirements_with_results(words)

    assert verdict_and_reason(results) == (verdict, reason)


STATES_BY_VERDICT = {
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
RESULTS_BY_VERDICT = {"non-conformant": "documented fail, ", "not-robust": "robust fail, "}


@pytest.mark.parametrize(("first_verdict", "later_verdict"), [*combinations(STATES_BY_VERDICT, 2)])
def test_the_verdict_of_a_run_is_the_first_in_order_that_applies(first_verdict, later_verdict):
    """If two verdicts apply to a run, the one that is first in the order of verdicts is its verdict.

    So an unreachable service never hides a failure, and a run of a part of the requirements is never conformant.
    """
    results = [RESULTS_BY_VERDICT.get(verdict, "") for verdict in (first_verdict, later_verdict)]
    state = STATES_BY_VERDICT[first_verdict] | STATES_BY_VERDICT[later_verdict]

    verdict, _ = verdict_and_reason(requirements_with_results("".join([*results, "other pass"])), **state)

    assert verdict == first_verdict


def test_a_dropped_connection_is_no_fault_if_the_target_went_away():
    """If the service became unreachable, a connection that it dropped is no failure, because the service may have been
    stopped.
    """
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
    """A run that was stopped is incomplete and names the reason.

    If a requirement fails, the run is non-conformant instead.
    """
    without_failure = verdict_and_reason(requirements_with_results("documented pass"), **state)
    with_failure = verdict_and_reason(requirements_with_results("documented fail"), **state)

    assert without_failure == ("incomplete", reason)
    assert with_failure == ("non-conformant", "")


@pytest.mark.parametrize(
    ("min_coverage", "verdict", "reason"),
    [
        (None, "partial", ""),
        (0.5, "partial", ""),
        (0.51, "incomplete", "min_coverage (0.51) is not reached"),
    ],
)
def test_a_run_below_min_coverage_is_incomplete(min_coverage, verdict, reason):
    """A run that tested fewer of its requirements than `min_coverage` of the profile asks for is incomplete.

    Here one of two counts as tested: implied requirements never fail a run, and untestable ones never count.
    """
    results = requirements_with_results("documented pass, robust out-of-scope, implied pass, untestable untestable")
    profile = replace(SANDBOX_PROFILE, min_coverage=min_coverage)

    assert verdict_and_reason(results, profile=profile) == (verdict, reason)


def test_coverage_and_counts_by_level():
    """Tested requirements and verdicts are counted for each level alone, and a verdict that nothing has is left out.

    A requirement that no exchange can show is not testable.
    """
    results = requirements_with_results("implied warn, documented fail, other out-of-scope, untestable untestable")

    coverage_by_level = coverage(results)
    verdicts_by_level = counts(results)

    assert coverage_by_level == {
        "documented": Coverage(tested=1, testable=2),
        "implied": Coverage(tested=1, testable=1),
    }
    assert verdicts_by_level == {
        "documented": {"fail": 1, "out-of-scope": 1, "untestable": 1},
        "implied": {"warn": 1},
    }


def test_fail_on_decides_which_levels_fail():
    """A deviation fails if `fail_on` of the profile lists the level of the requirement, and is a warning or an
    observation if not.
    """
    levels = ("documented", "implied", "example", "robustness", "not-shown")

    verdicts = {level: str(verdict_on_deviation(level, SANDBOX_PROFILE.fail_on)) for level in levels}

    assert SANDBOX_PROFILE.fail_on == {"documented", "robustness"}
    assert verdicts == {
        "documented": "fail", "implied": "warn", "example": "warn", "robustness": "fail", "not-shown": "observed",
    }  # fmt: skip


def test_the_level_not_shown_never_fails():
    """A requirement about what the document does not show is only observed, even if `fail_on` lists that level."""
    assert verdict_on_deviation("not-shown", {"not-shown"}) == "observed"


def test_only_levels_of_fail_on_must_be_tested():
    """A run is conformant although a documented requirement was not tested, if `fail_on` has robustness alone."""
    profile = replace(SANDBOX_PROFILE, fail_on=frozenset({"robustness"}))
    results = requirements_with_results("documented not-exercised, robust pass")

    verdict, _ = verdict_and_reason(results, profile=profile)

    assert verdict == "conformant"


@pytest.mark.parametrize(("strong", "weak"), [*combinations(Verdict, 2)], ids=str)
def test_a_requirement_takes_the_strongest_verdict_of_its_tests(strong, weak):
    """If several tests judge one requirement, its verdict is the strongest, with all messages and exchanges of that verdict.

    Verdicts are listed from strong to weak. `out-of-scope` takes only the shortest reason, because the test that needs
    the fewest permissions is enough.
    """
    results_of_tests = [
        RequirementResult("a", weak, "weak", (1,)),
        RequirementResult("a", strong, "long reason", (2,)),
        RequirementResult("a", strong, "short", (3,)),
        RequirementResult("a", strong, "long reason", (4,)),
    ]
    message, exchanges = ("short", (3,)) if strong == "out-of-scope" else ("long reason; short", (2, 3, 4))

    result = merged_results(results_of_tests)["a"]

    assert result.verdict == strong
    assert (str(result.message), result.exchanges) == (message, exchanges)


TODAY = date.today()
PASSES_ALTHOUGH_LISTED, PASSES_ALTHOUGH_LISTED_AS_STRICT = (
    f"{strict}known_failures lists this requirement, and it passes: delete its entry" for strict in ("", "strict: ")
)
UNTIL_YESTERDAY = {"until": TODAY - timedelta(1)}
DELETE, LAST_DAY_HAS_PASSED = (
    "passes: delete its entry",
    f"the last day of this known failure, {UNTIL_YESTERDAY['until']}, has passed",
)


@pytest.mark.parametrize(
    ("entry", "verdict", "message", "note", "verdict_of_run"),
    [
        ({"until": TODAY}, "fail", "m", "", "partial"),
        ({"strict": True}, "fail", "m", "", "partial"),
        (UNTIL_YESTERDAY, "fail", "m", LAST_DAY_HAS_PASSED, "non-conformant"),
        (UNTIL_YESTERDAY, "pass", PASSES_ALTHOUGH_LISTED, DELETE, "partial"),
        ({"strict": True}, "pass", PASSES_ALTHOUGH_LISTED_AS_STRICT, DELETE, "non-conformant"),
        ({"strict": True, **UNTIL_YESTERDAY}, "not-exercised", "m", "", "incomplete"),
        ({"strict": True, **UNTIL_YESTERDAY}, "not selected", "m", "", "nothing-selected"),
    ],
)
def test_a_known_failure_does_not_fail_a_run(entry, verdict, message, note, verdict_of_run, monkeypatch):
    """A failure that the profile lists in `known_failures` does not fail the run, unless its last day has passed.

    If the requirement passes, a note asks to delete the entry, and a strict entry fails the run.
    """
    monkeypatch.setattr("reports.result.run_verdict.today", lambda: TODAY)  # midnight may have passed since the import
    profile = replace(SANDBOX_PROFILE, known_failures=(KnownFailure(DOCUMENTED, "fixed in 2.4", **entry),))
    run = Run(profile, "http://127.0.0.1:1", narrowed=True, grants=Grants(granted={"executePix"}))
    if verdict != "not selected":
        run.selected.add(DOCUMENTED)
        run.results.append(RequirementResult(DOCUMENTED, Verdict(verdict), "m", (1,)))
    run.close()

    notes = [str(run_note.text) for run_note in result_of_run(run).notes]
    expected_notes = [f"known_failures: {DOCUMENTED}: {note}"] if note else []

    notes_about_the_failure = [text for text in notes if DOCUMENTED in text]
    messages = [str(result.message) for _, result in result_of_run(run).results]
    expected_messages = [] if verdict == "not selected" else [message]

    assert notes_about_the_failure == expected_notes
    assert messages == expected_messages
    assert result_of_run(run).verdict == verdict_of_run


def test_known_failures_may_list_requirements_that_are_not_exercised():
    """A requirement that was not tested does not make the run incomplete if `known_failures` of the profile lists it."""
    profile = replace(SANDBOX_PROFILE, known_failures=(KnownFailure(DOCUMENTED, "fixed in 2.4"),))
    run = run_with_results((DOCUMENTED, "not-exercised"), ("executePix.id.type", "pass"), profile=profile)

    assert result_of_run(run).verdict == "partial"


def test_a_reason_is_not_repeated():
    """A requirement that was not tested because a limit was reached names the limit once, although two messages name
    it.

    Both the answer that was never sent and the run have the limit as their reason.
    """
    limit = say("limits.{setting} ({most}) is spent", setting="requests", most=40)
    in_words = say("no success to judge: {answer}", answer=limit)
    granted = Grants(granted={"executePix"})
    run = Run(SANDBOX_PROFILE, "http://127.0.0.1:1", unsent={limit: ["executePix"]}, grants=granted)
    run.results = [RequirementResult(DOCUMENTED, Verdict.NOT_EXERCISED, why=in_words)]

    message = {requirement.id: result.message for requirement, result in result_of_run(run).results}[DOCUMENTED]

    assert str(message) == "no success to judge: limits.requests (40) is spent"
    assert list(texts_in_values(message, "setting")) == ["requests"]
