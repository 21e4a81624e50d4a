"""An assertion names its requirement, and the test of this requirement gets the verdict of all that it asserted."""

from types import SimpleNamespace

import pytest

from reports.result.verdicts import RequirementResult, Verdict
from spec.findings import finding, holds, inconclusive
from spec.rules import Reproduction
from tests.harness.judging import (
    ASSERTIONS,
    DeviationError,
    JudgedTest,
    Untested,
    assert_found,
    assert_holds,
    assert_requirements,
    observe,
    remark,
    warn,
)
from tests.harness.watching import JUDGED, collect_results
from tests.selftest.exchanges import EXECUTION_RESULT, execution
from tests.selftest.hand_made import SANDBOX_PROFILE

RIGHT = execution()
WRONG = execution(EXECUTION_RESULT | {"digit": 6})
OWN = "executePix.digit.type"


def judge_test(*assertions, own=OWN, wanted="", exchanges=(RIGHT, WRONG)):
    """What a test of the requirement `own` found with these assertions. `wanted` is the expression of -k."""
    session = SimpleNamespace(profile=SANDBOX_PROFILE, reproduction=Reproduction(list(exchanges)))
    config = SimpleNamespace(option=SimpleNamespace(ids=wanted, last_failed=False))
    test = JudgedTest("test_x", RequirementResult(own, Verdict.NOT_EXERCISED))
    item = SimpleNamespace(config=config, stash={JUDGED: test})
    ASSERTIONS.clear()
    try:
        for assertion in assertions:
            assertion()
    except (DeviationError, Untested) as outcome:
        return collect_results(item, session, outcome)
    return collect_results(item, session)


def verdicts(test):
    """The verdict of each requirement that a test judged, by its id."""
    return {result.id: str(result.verdict) for result in test.results}


@pytest.mark.parametrize(
    ("assertions", "verdict", "exchanges"),
    [
        ([lambda: assert_holds(OWN, [RIGHT])], "pass", (1,)),
        ([lambda: assert_holds(OWN, [RIGHT, WRONG])], "fail", (1,)),
        ([lambda: assert_holds(OWN, [])], "not-exercised", ()),
        ([lambda: assert_found(OWN, holds(RIGHT)), lambda: assert_holds(OWN, [WRONG])], "fail", (1, 1)),
        ([lambda: assert_found(OWN, inconclusive("nothing", RIGHT))], "not-exercised", (1,)),
        ([lambda: assert_found(OWN, holds(RIGHT)), lambda: warn(OWN, finding("lost"), [RIGHT])], "warn", (1, 1)),
        ([lambda: warn(OWN, finding("lost"), [RIGHT]), lambda: warn(OWN, finding("kept"), [])], "warn", (1,)),
        ([lambda: warn(OWN, finding("kept"), [])], "pass", ()),
        ([lambda: observe(OWN, "in this way", [RIGHT])], "observed", (1,)),
    ],
)  # fmt: skip
def test_the_most_severe_assertion_gives_the_verdict(assertions, verdict, exchanges):
    """The result cites every exchange that an assertion names."""
    test = judge_test(*assertions)

    assert str(test.own.verdict) == verdict
    assert test.own.exchanges == exchanges


@pytest.mark.parametrize(
    ("exchanges", "rests_on", "message"),
    [
        ([RIGHT, RIGHT, RIGHT, RIGHT], 4, ""),
        ([WRONG, WRONG], 2, "expected digit of type string, got an integer"),
        ([RIGHT, WRONG, RIGHT], 3, "expected digit of type string, got an integer (in 1 of 3 answers)"),
    ],
)
def test_a_finding_counts_the_answers_that_deviate(exchanges, rests_on, message):
    """If some answers hold, a finding says how many deviate."""
    test = judge_test(lambda: assert_holds(OWN, exchanges))

    assert test.own.rests_on == rests_on
    assert str(test.own.message) == message


def test_a_remark_leaves_the_verdict():
    """A remark adds a reason to the requirement that it names."""
    test = judge_test(lambda: remark(OWN, "three forms were tried"), lambda: assert_holds(OWN, [RIGHT]))

    assert str(test.own.verdict) == "pass"
    assert test.own.why == "three forms were tried"


@pytest.mark.parametrize(
    "assertion", [lambda: remark(OWN, "more"), lambda: assert_holds("executePix.id.type", [RIGHT])]
)
def test_a_test_asserts_something_of_its_own_requirement(assertion):
    """A test that asserts only about another requirement, by mistake, is an error of the suite and no pass."""
    with pytest.raises(LookupError, match=r"names executePix\.digit\.type, and asserts nothing of it"):
        judge_test(assertion)


@pytest.mark.parametrize(
    ("results", "wanted", "expected_verdicts"),
    [
        ({OWN: "pass", "executePix.id.type": "fail"}, "", {OWN: "pass", "executePix.id.type": "fail"}),
        ({OWN: "pass", "executePix.id.type": "fail"}, OWN, {OWN: "pass"}),
        ({"executePix.id.type": "fail"}, "", {OWN: "not-exercised", "executePix.id.type": "fail"}),
    ],
)
def test_results_of_others_count_if_the_run_is_about_them(results, wanted, expected_verdicts):
    """A test of generated traffic judges many requirements; those that the run selects count.

    The requirement of the test itself did not pass if the test did not judge it.
    """
    results_of_test = [
        RequirementResult(requirement_id, Verdict(verdict)) for requirement_id, verdict in results.items()
    ]

    assert verdicts(judge_test(lambda: assert_requirements(OWN, results_of_test), wanted=wanted)) == expected_verdicts


@pytest.mark.parametrize(("alone", "shows_alone"), [(RIGHT, False), (WRONG, True)])
def test_a_finding_of_parallel_requests_says_if_one_alone_deviates(alone, shows_alone):
    """The finding says if the same request, sent alone, deviates from the rule, too."""
    beside = execution(EXECUTION_RESULT | {"digit": 6}, beside=1)
    test = judge_test(lambda: assert_holds(OWN, [beside]), exchanges=[beside, alone])

    assert [finding.alone for finding in test.own.findings] == [shows_alone]
