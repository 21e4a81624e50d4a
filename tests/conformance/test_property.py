"""Generated traffic: cases that no targeted test names, judged by the same rules."""

from __future__ import annotations

import pytest

from tests.harness.judging import assert_requirements, requirement, supplied
from tests.harness.session import Session
from tests.traffic.property import EXAMPLES, Generation, items

pytestmark = [pytest.mark.property, pytest.mark.every_rule, pytest.mark.needs("fuzz")]


def _item(operation: str, phase: str) -> object:
    return pytest.param(operation, phase, marks=requirement(f"{operation}.serverError"), id=f"{operation}.{phase}")


@pytest.mark.parametrize(("operation", "phase"), [_item(*item) for item in items()])
def test_generated_requests(operation: str, phase: str, generation: Generation, session: Session):
    """A valid request keeps every rule of its operation, and an invalid one breaks nothing."""
    findings, generated = generation.judge(operation, phase), session.collector.generated
    generated.take(operation, findings.accepted, findings.refused, harmless=phase == EXAMPLES)
    generated.cut += [f"{operation}.{phase} was cut after {len(findings.numbers)} requests: {findings.cut}"] * bool(
        findings.cut
    )
    supplied(findings.numbers, findings.cut or "nothing to send: supply accounts and pix_keys")

    assert_requirements(findings.results(session.seed, session.profile.fail_on), judged=findings.numbers)
