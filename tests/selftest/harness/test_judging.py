"""How the assertions of a conformance test become the verdict of its requirement.

Each assertion, such as `assert_holds`, names a requirement and the exchanges that it judged. The most severe one gives
the verdict: fail before warn, warn before pass.
"""

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
    assert_holds,
    assert_judgement,
    assert_requirements,
    observe,
    remark,
    warn,
)
from tests.harness.watching import JUDGED, collect_results
from tests.selftest.exchanges import EXECUTION_RESULT, execution
from tests.selftest.hand_made import SANDBOX_PROFILE

OWN = "executePix.digit.type"
"""The requirement of the test that is judged: `digit` is a text."""
RIGHT = execution()
WRONG = execution(EXECUTION_RESULT | {"digit": 6})


def judge_test(*assertions, own=OWN, wanted="", exchanges=(RIGHT, WRONG)):
    """The judged test of the requirement `own`, after these assertions.

    `wanted` is the expression of -k. `exchanges` are those of the run.
    """
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
        ([lambda: assert_judgement(OWN, holds(RIGHT)), lambda: assert_holds(OWN, [WRONG])], "fail", (1, 1)),
        ([lambda: assert_judgement(OWN, inconclusive("nothing", RIGHT))], "not-exercised", (1,)),
        ([lambda: assert_judgement(OWN, holds(RIGHT)), lambda: warn(OWN, finding("lost"), [RIGHT])], "warn", (1, 1)),
        ([lambda: warn(OWN, finding("lost"), [RIGHT]), lambda: warn(OWN, finding("kept"), [])], "warn", (1,)),
        ([lambda: warn(OWN, finding("kept"), [])], "pass", ()),
        ([lambda: observe(OWN, "in this way", [RIGHT])], "observed", (1,)),
    ],
)  # fmt: skip
def test_the_most_severe_assertion_gives_the_verdict(assertions, verdict, exchanges):
    """The result has the number of each exchange that an assertion judged. Each exchange here has the number 1."""
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
    """The message says in how many answers the deviation is, unless it is in all of them.

    `rests_on` is the number of answers that were judged.
    """
    test = judge_test(lambda: assert_holds(OWN, exchanges))

    assert test.own.rests_on == rests_on
    assert str(test.own.message) == message


def test_a_remark_does_not_change_the_verdict():
    """A remark adds a reason to the result of its requirement, such as which forms of a token were tried."""
    test = judge_test(lambda: remark(OWN, "three forms were tried"), lambda: assert_holds(OWN, [RIGHT]))

    assert str(test.own.verdict) == "pass"
    assert test.own.why == "three forms were tried"


@pytest.mark.parametrize(
    "assertion", [lambda: remark(OWN, "more"), lambda: assert_holds("executePix.id.type", [RIGHT])]
)
def test_a_test_that_asserts_nothing_about_its_own_requirement_is_an_error(assertion):
    """The test makes only a remark, or asserts about another requirement by mistake. It does not pass."""
    with pytest.raises(LookupError, match=r"names executePix\.digit\.type, and asserts nothing of it"):
        judge_test(assertion)


@pytest.mark.parametrize(
    ("results", "expression_of_k", "expected_verdicts"),
    [
        ({OWN: "pass", "executePix.id.type": "fail"}, "", {OWN: "pass", "executePix.id.type": "fail"}),
        ({OWN: "pass", "executePix.id.type": "fail"}, OWN, {OWN: "pass"}),
        ({"executePix.id.type": "fail"}, "", {OWN: "not-exercised", "executePix.id.type": "fail"}),
    ],
)
def test_results_of_other_requirements_count_if_the_run_selects_them(results, expression_of_k, expected_verdicts):
    """A test of generated traffic judges many requirements beside its own. Those that -k leaves out do not count.

    If the test judged only others, its own requirement is not exercised.
    """
    results_of_test = [
        RequirementResult(requirement_id, Verdict(verdict)) for requirement_id, verdict in results.items()
    ]

    test = judge_test(lambda: assert_requirements(OWN, results_of_test), wanted=expression_of_k)

    assert verdicts(test) == expected_verdicts


@pytest.mark.parametrize(("exchange_alone", "deviates_alone"), [(RIGHT, False), (WRONG, True)])
def test_a_finding_of_parallel_requests_says_if_the_request_deviates_alone_too(exchange_alone, deviates_alone):
    """A request deviates while another one is on the wire. The same request was also sent alone.

    A deviation that shows only beside other requests may be a fault of how the service handles several at once.
    """
    exchange_beside_another = execution(EXECUTION_RESULT | {"digit": 6}, beside=1)
    test = judge_test(
        lambda: assert_holds(OWN, [exchange_beside_another]), exchanges=[exchange_beside_another, exchange_alone]
    )

    assert [finding.alone for finding in test.own.findings] == [deviates_alone]
