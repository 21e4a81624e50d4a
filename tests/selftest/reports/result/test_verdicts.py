"""Verdicts of requirements and runs are pure functions of results."""

from collections import Counter
from dataclasses import replace
from datetime import date, timedelta
from itertools import combinations

import pytest

from environments.profiles.model import KnownFailure
from reports.result.answer_counts import AnswersToValidToken
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
    "documented2": REQUIREMENTS["executePix.digit.type"],
    "implied": REQUIREMENTS["executePix.id.matches"],
    "robust": REQUIREMENTS["executePix.serverError"],
    "documented-untestable": next(row for row in REQUIREMENTS.values() if row.untestable and row.level == "documented"),
}
"""One requirement of each level, by a short word for the level: "robust" is "robustness". "documented2" is a second one."""
DOCUMENTED = REQUIREMENT_BY_WORD["documented"].id


def requirements_with_results(words):
    """Pairs of a requirement and its result, from words such as "documented pass, robust fail".

    These words are two results: the requirement that "documented" stands for passes, and that of "robust" fails.
    """
    requirements_and_results = []
    words_and_verdicts = words.split(", ") if words else []
    for word_and_verdict in words_and_verdicts:
        word, verdict = word_and_verdict.split()
        requirement = REQUIREMENT_BY_WORD[word]
        requirements_and_results.append((requirement, RequirementResult(requirement.id, Verdict(verdict))))
    return requirements_and_results


def verdict_and_reason(
    results, operations_that_succeeded=("executePix",), answered=None, profile=SANDBOX_PROFILE, **state
):
    """The verdict of a run with these results, and its reason; "" if the verdict needs no reason.

    `answered` has the numbers of answers by operation and status: {"executePix": {"401": 7}}. `state` are attributes of
    the run, such as `interrupted`. A run with drift gets the verdict "drifted", because the profile says `drift: fail`.
    """
    answered = answered or {}
    statuses_by_operation = {operation: Counter(statuses) for operation, statuses in answered.items()}
    answers = AnswersToValidToken(statuses_by_operation, succeeded=set(operations_that_succeeded))
    run = Run(replace(profile, drift="fail"), "http://127.0.0.1:1", answers_to_valid_token=answers, **state)
    verdict, reason = verdict_of(run, results)
    return str(verdict), str(reason)


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
    """The verdicts on a service are exactly the verdicts of a run with exit status 0 or 1.

    Any other verdict says that the run did not test enough to judge the service, such as "unreachable".
    """
    verdicts_with_status_0_or_1 = {verdict for verdict in RunVerdict if verdict.exit_status in (0, 1)}

    assert set(VERDICTS_ON_THE_SERVICE) == verdicts_with_status_0_or_1


@pytest.mark.parametrize(
    ("words", "verdict", "reason"),
    [
        ("documented pass, robust fail", "not-robust", ""),
        ("documented fail, robust fail", "non-conformant", ""),
        ("documented not-exercised", "incomplete", "nothing was tested"),
        (
            "documented not-exercised, documented2 pass",
            "incomplete",
            "1 documented requirement in scope was not exercised",
        ),
        ("documented not-exercised, robust fail", "not-robust", ""),
        ("documented pass, robust not-exercised", "incomplete", "1 robustness requirement in scope was not exercised"),
        ("documented pass, implied not-exercised", "conformant", ""),
        ("documented pass, implied out-of-scope", "conformant", ""),
        ("documented pass, documented2 out-of-scope", "partial", ""),
        ("documented pass, robust out-of-scope", "partial", ""),
        ("documented pass, documented-untestable untestable", "conformant", ""),
        ("documented out-of-scope", "incomplete", "nothing was tested"),
        ("documented out-of-scope, implied observed", "partial", ""),
        ("", "nothing-selected", ""),
    ],
)
def test_the_verdict_of_a_run_follows_from_its_results(words, verdict, reason):
    """The verdict of a run follows from the results of its requirements: a failure counts first, then what was not
    tested.

    `documented pass, robust fail` is a run in which a documented requirement passes and a robustness requirement
    fails. `documented2` is a second documented requirement, and `documented-untestable` is one that no exchange can
    show. A run that tested nothing is incomplete.
    """
    results = requirements_with_results(words)

    assert verdict_and_reason(results) == (verdict, reason)


CONDITIONS_OF_VERDICTS = {
    "internal-error": {"errors": ["of the suite"]},
    "interrupted": {"interrupted": True},
    "non-conformant": {"results": ["documented fail"]},
    "not-robust": {"results": ["robust fail"]},
    "drifted": {"drift": ["a place"]},
    "unreachable": {"unreachable": "gone"},
    "incomplete": {"journal_trouble": True},
    "partial": {"narrowed": True},
    "conformant": {},
}
"""What makes each verdict apply to a run, in the order of the verdicts.

Two verdicts need a failure (`results`, in the words of `requirements_with_results`), the others an attribute of the run.
"""


@pytest.mark.parametrize(("first_verdict", "later_verdict"), [*combinations(CONDITIONS_OF_VERDICTS, 2)])
def test_the_verdict_of_a_run_is_the_first_in_order_that_applies(first_verdict, later_verdict):
    """If the conditions of two verdicts hold for a run, the run gets the verdict that is first in their order.

    A failure ("non-conformant") is before "unreachable": if a requirement failed and then the service went away, the run
    is non-conformant. "interrupted" is before both: if the user stopped the run, that is its verdict.
    """
    conditions = CONDITIONS_OF_VERDICTS[first_verdict] | CONDITIONS_OF_VERDICTS[later_verdict]
    failures = [
        *CONDITIONS_OF_VERDICTS[first_verdict].get("results", []),
        *CONDITIONS_OF_VERDICTS[later_verdict].get("results", []),
    ]
    attributes_of_run = {name: value for name, value in conditions.items() if name != "results"}
    # "documented2 pass": a second documented requirement passes, so that the run tested something.
    results = requirements_with_results(", ".join([*failures, "documented2 pass"]))

    verdict, _ = verdict_and_reason(results, **attributes_of_run)

    assert verdict == first_verdict


def test_a_dropped_connection_is_no_fault_if_the_target_went_away():
    """If the service became unreachable, a connection that it dropped is no failure, because the service may have been
    stopped.
    """
    run = run_with_results(("executePix.connection", "fail", finding("dropped")), unreachable="gone")

    assert result_of_run(run).verdict == "unreachable"


SEVEN_REFUSALS = {"executePix": {"401": 7}}
LIMIT = "limits.duration (900 s) is reached"


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        ({"journal_trouble": True}, "the journal could not be used, which stopped executions"),
        ({"ended_by": LIMIT}, LIMIT),
        ({"operations_that_succeeded": ()}, "no operation succeeded"),
        (
            {"operations_that_succeeded": (), "journal_trouble": True, "answered": SEVEN_REFUSALS},
            "no operation succeeded",
        ),
    ],
    ids=[
        "trouble with the journal",
        "a limit",
        "no success",
        "no success, which counts before trouble with the journal",
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
    """A run is incomplete if it tested a smaller share of its requirements than `min_coverage` of the profile asks for.

    Here one of two requirements was tested, which is 0.5. The implied one does not count, because it cannot fail the run.
    The untestable one does not count, either.
    """
    results = requirements_with_results(
        "documented pass, robust out-of-scope, implied pass, documented-untestable untestable"
    )
    profile = replace(SANDBOX_PROFILE, min_coverage=min_coverage)

    assert verdict_and_reason(results, profile=profile) == (verdict, reason)


def test_coverage_and_counts_by_level():
    """Tested requirements and verdicts are counted for each level alone, and a verdict that nothing has is left out.

    A requirement that no exchange can show is not testable.
    """
    results = requirements_with_results(
        "implied warn, documented fail, documented2 out-of-scope, documented-untestable untestable"
    )

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
    """A deviation fails if `fail_on` of the profile lists the level of its requirement. If not, it is a warning.

    A deviation of the level "not-shown" is only observed.
    """
    levels = ("documented", "implied", "example", "robustness", "not-shown")
    fail_on = SANDBOX_PROFILE.fail_on

    verdicts = {level: str(verdict_on_deviation(level, fail_on)) for level in levels}

    assert fail_on == {"documented", "robustness"}
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
    of_the_shortest = ("short", (3,))
    of_all = ("long reason; short", (2, 3, 4))
    expected_message_and_exchanges = of_the_shortest if strong == "out-of-scope" else of_all

    result = merged_results(results_of_tests)["a"]

    assert result.verdict == strong
    assert (str(result.message), result.exchanges) == expected_message_and_exchanges


def test_the_share_of_deviating_answers_is_that_of_all_tests():
    """One test judged 9 answers, of which 2 deviate; another one judged 3 further answers, of which 1 deviates.

    The finding says "in 3 of 12 answers", because the report names all three exchanges beside it. A finding without a
    share, such as one of a generated request, gets none.
    """
    in_a_part = finding("missing", "/data/digit", name="digit")
    results_of_tests = [
        RequirementResult("a", Verdict.FAIL, exchanges=(1, 2), findings=(replace(in_a_part, share=(2, 9)),), judged=9),
        RequirementResult("a", Verdict.FAIL, exchanges=(5,), findings=(replace(in_a_part, times=1),)),
        RequirementResult("a", Verdict.PASS, exchanges=(6,), judged=2),
    ]

    shares = [merged.share for merged in merged_results(results_of_tests)["a"].findings]

    assert shares == [(3, 12), (0, 0)]


TODAY = date.today()
YESTERDAY = TODAY - timedelta(1)


def result_with_known_failure(monkeypatch, verdict, **entry):
    """The result of a run in which one requirement, which the profile lists in `known_failures`, has this verdict.

    `entry` are more members of the entry in `known_failures`, such as `until`, its last day. The message of the
    requirement is "digit is missing". If the verdict is "not selected", the run selects no requirement.
    """
    monkeypatch.setattr("reports.result.run_verdict.today", lambda: TODAY)  # midnight may have passed since the import
    profile = replace(SANDBOX_PROFILE, known_failures=(KnownFailure(DOCUMENTED, "fixed in 2.4", **entry),))
    run = Run(
        profile,
        "http://127.0.0.1:1",
        narrowed=True,
        answers_to_valid_token=AnswersToValidToken(succeeded={"executePix"}),
    )
    if verdict != "not selected":
        run.selected.add(DOCUMENTED)
        run.results.append(RequirementResult(DOCUMENTED, Verdict(verdict), "digit is missing", (1,)))
    run.close()
    return result_of_run(run)


def messages_of(result):
    """The messages of the requirements of a run."""
    return [str(requirement_result.message) for _, requirement_result in result.results]


def notes_about_known_failure(result):
    """The notes of a run about the requirement in `known_failures`, such as "passes: delete its entry".

    Their beginning, "known_failures: " and the id of the requirement, is left out.
    """
    texts = [str(note.text) for note in result.notes]
    return [text.removeprefix(f"known_failures: {DOCUMENTED}: ") for text in texts if DOCUMENTED in text]


@pytest.mark.parametrize("entry", [{"until": TODAY}, {"strict": True}], ids=["its last day is today", "strict"])
def test_a_known_failure_does_not_fail_a_run(entry, monkeypatch):
    """A failure that the profile lists in `known_failures` does not fail the run.

    The run is a selection of requirements, so its best verdict is partial.
    """
    result = result_with_known_failure(monkeypatch, "fail", **entry)

    assert result.verdict == "partial"
    assert messages_of(result) == ["digit is missing"]
    assert notes_about_known_failure(result) == []


def test_a_known_failure_fails_the_run_after_its_last_day(monkeypatch):
    """If the last day of an entry of `known_failures` has passed, the failure fails the run, and a note gives the day."""
    result = result_with_known_failure(monkeypatch, "fail", until=YESTERDAY)

    assert result.verdict == "non-conformant"
    assert messages_of(result) == ["digit is missing"]
    assert notes_about_known_failure(result) == [f"the last day of this known failure, {YESTERDAY}, has passed"]


def test_a_known_failure_that_passes_is_to_be_deleted(monkeypatch):
    """If a requirement in `known_failures` passes, its message and a note ask to delete the entry."""
    result = result_with_known_failure(monkeypatch, "pass", until=YESTERDAY)

    assert result.verdict == "partial"
    assert messages_of(result) == ["known_failures lists this requirement, and it passes: delete its entry"]
    assert notes_about_known_failure(result) == ["passes: delete its entry"]


def test_a_strict_known_failure_that_passes_fails_the_run(monkeypatch):
    """If a requirement passes and its entry in `known_failures` is strict, the run fails until the entry is deleted."""
    result = result_with_known_failure(monkeypatch, "pass", strict=True)

    assert result.verdict == "non-conformant"
    assert messages_of(result) == ["strict: known_failures lists this requirement, and it passes: delete its entry"]
    assert notes_about_known_failure(result) == ["passes: delete its entry"]


@pytest.mark.parametrize(
    ("verdict", "messages", "verdict_of_run"),
    [("not-exercised", ["digit is missing"], "incomplete"), ("not selected", [], "nothing-selected")],
)
def test_a_known_failure_that_was_not_tested_has_no_note(verdict, messages, verdict_of_run, monkeypatch):
    """If a requirement was not tested, there is no note about its entry in `known_failures`.

    This holds even if the last day of the entry has passed, and if the entry is strict, that is, must not pass.
    """
    result = result_with_known_failure(monkeypatch, verdict, strict=True, until=YESTERDAY)

    assert result.verdict == verdict_of_run
    assert messages_of(result) == messages
    assert notes_about_known_failure(result) == []


def test_known_failures_may_list_requirements_that_are_not_exercised():
    """A requirement that was not tested does not make the run incomplete if `known_failures` of the profile lists it."""
    profile = replace(SANDBOX_PROFILE, known_failures=(KnownFailure(DOCUMENTED, "fixed in 2.4"),))
    run = run_with_results((DOCUMENTED, "not-exercised"), ("executePix.id.type", "pass"), profile=profile)

    assert result_of_run(run).verdict == "partial"


def test_a_limit_as_a_reason_is_named_once():
    """The message of a requirement that was not tested because a limit of the profile was reached names the limit once.

    The limit is the reason of the requirement, and also the reason why the run did not send a request (`unsent`). So
    both might be in the message: "limits.requests (40) is spent; limits.requests (40) is spent".
    """
    limit = say("limits.{setting} ({most}) is spent", setting="requests", most=40)
    reason_of_requirement = say("no success to judge: {answer}", answer=limit)
    answers = AnswersToValidToken(succeeded={"executePix"})
    run = Run(SANDBOX_PROFILE, "http://127.0.0.1:1", unsent={limit: ["executePix"]}, answers_to_valid_token=answers)
    run.results = [RequirementResult(DOCUMENTED, Verdict.NOT_EXERCISED, why=reason_of_requirement)]

    message_by_id = {requirement.id: result.message for requirement, result in result_of_run(run).results}
    message = message_by_id[DOCUMENTED]
    names_of_limits_in_message = list(texts_in_values(message, "setting"))

    assert str(message) == "no success to judge: limits.requests (40) is spent"
    assert names_of_limits_in_message == ["requests"]
