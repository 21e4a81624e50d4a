"""Generated requests, which are judged by the same rules as the requests of scenarios.

The run makes these requests up: some are drawn at random from the OpenAPI schema, some come from tables of invalid
values. A scenario is a function that sends requests for chosen requirements.
"""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from reports.result.verdicts import RequirementResult
from spec.interface import operations
from spec.rules import ROBUSTNESS
from tests.harness.judging import assert_requirements, not_exercised_unless, operations_with_each_requirement
from tests.harness.session import Session
from tests.traffic.phases import RunTraffic
from tests.traffic.property import Generation
from tests.traffic.robustness import results_with_untested_out_of_scope

pytestmark = [pytest.mark.property, pytest.mark.needs("fuzz")]


@pytest.fixture(scope="session")
def generation(run_traffic: RunTraffic) -> Generation:
    """The requests that the run made up by itself (drawn at random, or from tables of invalid values), with answers."""
    return run_traffic.generation


@pytest.mark.parametrize(("operation", "end_of_id"), operations_with_each_requirement(ROBUSTNESS, operations()))
def test_generated_requests(
    operation: str, end_of_id: str, generation: Generation, run_traffic: RunTraffic, session: Session
):
    """The answer to a valid generated request keeps every rule of its operation, and an invalid one breaks nothing.

    To break something is to cause a server error, a stack trace or a dropped connection. `end_of_id` is one of these
    three, such as "serverError". Each has its own test.
    """
    requirement_id = f"{operation}.{end_of_id}"
    judged_answers = generation.judged_answers_to(operation)  # with the results of all its requirements
    answers = [exchange for _, exchange in judged_answers.cases_with_answers]
    why_incomplete = judged_answers.why_incomplete
    session.run.generated.count_answers(operation, answers, why_incomplete)  # the report shows the numbers
    not_exercised_unless(answers, why_incomplete or "nothing to send: supply accounts")

    all_results = judged_answers.results(session.run.seed, session.profile.fail_on)
    results = _results_of_test(requirement_id, all_results)
    # A requirement must not pass if all invalid requests were refused because their account is made up.
    assert_requirements(
        requirement_id, results_with_untested_out_of_scope(results, run_traffic.traffic.log, session.profile)
    )


def _results_of_test(requirement_id: str, results: Iterable[RequirementResult]) -> list[RequirementResult]:
    """The results that one test adds to the report: the result of its own requirement.

    Valid generated requests also give results for requirements that have no test here, such as "listAccounts.status".
    The test of the first robustness requirement (a server error) adds these, so that each result is added once.
    """
    is_first_test_of_operation = requirement_id.endswith(f".{ROBUSTNESS[0]}")
    ends_of_robustness_ids = tuple(f".{end_of_id}" for end_of_id in ROBUSTNESS)
    results_of_test = []
    for result in results:
        is_about_robustness = result.id.endswith(ends_of_robustness_ids)
        has_no_test_of_its_own = not is_about_robustness
        if result.id == requirement_id or (is_first_test_of_operation and has_no_test_of_its_own):
            results_of_test.append(result)
    return results_of_test
