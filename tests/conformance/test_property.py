"""Generated requests, which are judged by the same rules as the requests of scenarios."""

from __future__ import annotations

import pytest

from spec.interface import operations
from tests.harness.judging import assert_requirements, operations_with, require_supplied
from tests.harness.session import Session
from tests.traffic.phases import RunTraffic
from tests.traffic.property import Generation
from tests.traffic.robustness import with_untested_out_of_scope

pytestmark = [pytest.mark.property, pytest.mark.needs("fuzz")]


@pytest.fixture(scope="session")
def generation(run_traffic: RunTraffic) -> Generation:
    """The generated requests of this run, with their answers."""
    return run_traffic.generation


@pytest.mark.parametrize("operation", operations_with("serverError", operations()))
def test_generated_requests(operation: str, generation: Generation, run_traffic: RunTraffic, session: Session):
    """The answer to a valid generated request keeps every rule of its operation, and an invalid one breaks nothing.

    To break something is to cause a server error, a stack trace or a dropped connection.
    """
    findings = generation.judge(operation)
    generated = session.run.generated
    generated.take(operation, [exchange for _, exchange in findings.taken])
    if findings.cut:
        generated.cut.append(f"{operation} was cut after {len(findings.taken)} requests: {findings.cut}")
    require_supplied(findings.taken, findings.cut or "nothing to send: supply accounts")

    results = findings.results(session.run.seed, session.profile.fail_on)
    assert_requirements(
        f"{operation}.serverError", with_untested_out_of_scope(results, run_traffic.traffic.log, session.profile)
    )
