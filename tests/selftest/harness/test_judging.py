"""How the assertions of a conformance test become the verdict of its requirement.

Each assertion, such as `assert_holds`, names a requirement and the exchanges that it judged. The most severe one gives
the verdict: fail before warn, warn before pass.
"""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from reports.result.verdicts import RequirementResult, Verdict
from spec.findings import finding, holds, inconclusive
from spec.rules.reproduction import Reproduction
from tests.harness.judging import (
    ASSERTIONS,
    DeviationError,
    JudgedTest,
    Untested,
    assert_holds,
    assert_judgement,
    assert_requirements,
    remark,
    report_observation,
    warn,
)
from tests.harness.watching import JUDGED, collect_results
from tests.selftest.exchanges import EXECUTION_RESULT, execution
from tests.selftest.hand_made import SANDBOX_PROFILE

TESTED_REQUIREMENT = "executePix.digit.type"
"""The requirement that the conformance test names: the field `digit` is a text."""
CONFORMING = execution()
DEVIATING = replace(execution(EXECUTION_RESULT | {"digit": 6}), number=2)
"""Executions whose answers conform to the requirement and deviate from it. They have the numbers 1 and 2."""


def judged_test_of(*assertions, expression_of_k="", exchanges=(CONFORMING, DEVIATING)):
    """A conformance test of TESTED_REQUIREMENT after it made these assertions, which are functions without parameters.

    Its `results` has a result for each requirement that it judged, and its `own_result` is that of TESTED_REQUIREMENT.
    `expression_of_k` selects the requirements of the run, as the option -k does. `exchanges` are those of the run.
    """
    session = SimpleNamespace(profile=SANDBOX_PROFILE, reproduction=Reproduction(list(exchanges)))
    config = SimpleNamespace(option=SimpleNamespace(ids=expression_of_k, last_failed=False))
    test = JudgedTest("test_x", RequirementResult(TESTED_REQUIREMENT, Verdict.NOT_EXERCISED))
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


def the_answer_conforms():
    """An assertion that judges one answer, which conforms."""
    assert_holds(TESTED_REQUIREMENT, [CONFORMING])


def one_of_two_answers_deviates():
    """An assertion that judges two answers, and fails."""
    assert_holds(TESTED_REQUIREMENT, [CONFORMING, DEVIATING])


def the_answer_deviates():
    """An assertion that judges one answer, and fails."""
    assert_holds(TESTED_REQUIREMENT, [DEVIATING])


def there_is_no_answer():
    """An assertion that has no answer to judge."""
    assert_holds(TESTED_REQUIREMENT, [])


def the_judgement_holds():
    """An assertion about a judgement of several exchanges, which holds."""
    assert_judgement(TESTED_REQUIREMENT, holds(CONFORMING))


def the_judgement_is_inconclusive():
    """An assertion about a judgement that could not be made."""
    assert_judgement(TESTED_REQUIREMENT, inconclusive("nothing", CONFORMING))


def a_warning():
    """A warning that one exchange shows."""
    warn(TESTED_REQUIREMENT, finding("lost"), [CONFORMING])


def a_warning_that_no_exchange_shows():
    """A warning without an exchange."""
    warn(TESTED_REQUIREMENT, finding("lost"), [])


def an_observation():
    """What the service does, although the interface document does not say what is right."""
    report_observation(TESTED_REQUIREMENT, "in this way", [CONFORMING])


@pytest.mark.parametrize(
    ("assertions", "verdict", "exchanges"),
    [
        ([the_answer_conforms], "pass", (1,)),
        ([one_of_two_answers_deviates], "fail", (2,)),
        ([there_is_no_answer], "not-exercised", ()),
        ([the_judgement_holds, the_answer_deviates], "fail", (1, 2)),
        ([the_judgement_is_inconclusive], "not-exercised", (1,)),
        ([the_judgement_holds, a_warning], "warn", (1, 1)),
        ([a_warning, a_warning_that_no_exchange_shows], "warn", (1,)),
        ([a_warning_that_no_exchange_shows], "pass", ()),
        ([an_observation], "observed", (1,)),
    ],
    ids=lambda value: " and ".join(act.__name__ for act in value) if isinstance(value, list) else "",
)
def test_the_most_severe_assertion_gives_the_verdict(assertions, verdict, exchanges):
    """A conformance test makes these assertions about its requirement. Fail is more severe than warn, and warn than pass.

    A warning that no exchange shows does not count, so it is a pass. The result has the numbers of the exchanges
    (requests with their answers) that the assertions are about: 1 is the conforming one, 2 the deviating one. A failure is
    about the deviating one alone.
    """
    test = judged_test_of(*assertions)

    assert str(test.own_result.verdict) == verdict
    assert test.own_result.exchanges == exchanges


@pytest.mark.parametrize(
    ("exchanges", "number_of_judged_answers", "message"),
    [
        ([CONFORMING] * 4, 4, ""),
        ([DEVIATING, DEVIATING], 2, "expected digit of type string, got an integer"),
        ([CONFORMING, DEVIATING, CONFORMING], 3, "expected digit of type string, got an integer (in 1 of 3 answers)"),
    ],
)
def test_a_finding_counts_the_answers_that_deviate(exchanges, number_of_judged_answers, message):
    """A conformance test judges several answers. The field `digit` is a text in CONFORMING and an integer in DEVIATING.

    The message says in how many answers the type is wrong, unless it is wrong in all of them. All judged answers, also
    those that conform, count as exchanges that support the verdict.
    """
    test = judged_test_of(lambda: assert_holds(TESTED_REQUIREMENT, exchanges))

    assert test.own_result.number_of_supporting_exchanges == number_of_judged_answers
    assert str(test.own_result.message) == message


FIVE_EXECUTIONS = [replace(CONFORMING, number=number) for number in range(1, 6)]


@pytest.mark.parametrize(
    "assertion",
    [
        lambda: assert_judgement(TESTED_REQUIREMENT, holds(*FIVE_EXECUTIONS)),
        lambda: assert_requirements(
            TESTED_REQUIREMENT, [RequirementResult(TESTED_REQUIREMENT, Verdict.PASS, exchanges=(1, 2, 3), judged=5)]
        ),
    ],
    ids=["one judgement of several exchanges", "results that were found out elsewhere"],
)
def test_a_pass_cites_three_exchanges_and_counts_all(assertion):
    """If five exchanges show that a requirement is met, the report cites three of them as examples, and counts all five."""
    test = judged_test_of(assertion)

    assert test.own_result.exchanges == (1, 2, 3)
    assert test.own_result.number_of_supporting_exchanges == 5


def test_a_remark_does_not_change_the_verdict():
    """A conformance test makes a remark about its requirement, and its assertion holds.

    The result of the requirement is a pass, and has the text of the remark as its reason (`why`).
    """
    test = judged_test_of(
        lambda: remark(TESTED_REQUIREMENT, "three forms were tried"),
        lambda: assert_holds(TESTED_REQUIREMENT, [CONFORMING]),
    )

    assert str(test.own_result.verdict) == "pass"
    assert test.own_result.why == "three forms were tried"


@pytest.mark.parametrize(
    "assertion",
    [lambda: remark(TESTED_REQUIREMENT, "more"), lambda: assert_holds("executePix.id.type", [CONFORMING])],
    ids=["only a remark", "an assertion about another requirement"],
)
def test_a_test_that_asserts_nothing_about_its_own_requirement_is_an_error(assertion):
    """A conformance test names the requirement that it tests, but by mistake it does not judge that requirement.

    This is an error, because otherwise the requirement would pass untested.
    """
    with pytest.raises(LookupError, match=r"names executePix\.digit\.type, and asserts nothing of it"):
        judged_test_of(assertion)


@pytest.mark.parametrize(
    ("results", "expression_of_k", "expected_verdicts"),
    [
        (
            {TESTED_REQUIREMENT: "pass", "executePix.id.type": "fail"},
            "",
            {TESTED_REQUIREMENT: "pass", "executePix.id.type": "fail"},
        ),
        ({TESTED_REQUIREMENT: "pass", "executePix.id.type": "fail"}, TESTED_REQUIREMENT, {TESTED_REQUIREMENT: "pass"}),
        ({"executePix.id.type": "fail"}, "", {TESTED_REQUIREMENT: "not-exercised", "executePix.id.type": "fail"}),
    ],
    ids=["without -k", "-k selects its own requirement", "it judged only another requirement"],
)
def test_results_of_other_requirements_count_if_the_run_selects_them(results, expression_of_k, expected_verdicts):
    """A test of generated traffic judges many requirements beside its own. Those that the option -k leaves out do not count.

    If the test judged only others, its own requirement is not exercised.
    """
    results_of_test = [
        RequirementResult(requirement_id, Verdict(verdict)) for requirement_id, verdict in results.items()
    ]

    test = judged_test_of(
        lambda: assert_requirements(TESTED_REQUIREMENT, results_of_test), expression_of_k=expression_of_k
    )

    assert verdicts(test) == expected_verdicts


@pytest.mark.parametrize(
    ("exchange_alone", "deviates_alone"),
    [(CONFORMING, False), (DEVIATING, True)],
    ids=["alone it conforms", "alone it deviates, too"],
)
def test_a_finding_of_parallel_requests_says_if_the_request_deviates_alone_too(exchange_alone, deviates_alone):
    """A request deviates while another one is on the wire. The same request was also sent alone.

    The finding says whether the request deviates alone, too (`alone`). If it does not, the fault may be in how the
    service handles several requests at once.
    """
    exchange_beside_another = execution(EXECUTION_RESULT | {"digit": 6}, beside=1)
    test = judged_test_of(
        lambda: assert_holds(TESTED_REQUIREMENT, [exchange_beside_another]),
        exchanges=[exchange_beside_another, exchange_alone],
    )

    assert [finding.alone for finding in test.own_result.findings] == [deviates_alone]
