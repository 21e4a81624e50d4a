"""What the tests of generated traffic say if there is nothing to judge."""

from types import SimpleNamespace

import pytest

from reports.result.grants import Generated
from spec.rules import ROBUSTNESS
from tests.conformance import test_property as module
from tests.harness.judging import NotExercised


@pytest.mark.parametrize(
    ("cut", "why"), [("", "nothing to send: supply accounts"), ("limits.requests", "limits.requests")]
)
def test_the_message_says_why_nothing_was_generated(cut, why):
    """The profile has no account, or a limit kept the generated requests back. The limit is also noted for the report."""
    findings = SimpleNamespace(cases_with_answers=[], why_incomplete=cut)
    generated = Generated()
    generation = SimpleNamespace(findings_of=lambda operation: findings)
    session = SimpleNamespace(run=SimpleNamespace(generated=generated))

    for end_of_id in ROBUSTNESS:
        with pytest.raises(NotExercised) as ended:
            module.test_generated_requests("listEntries", end_of_id, generation, None, session)
        assert str(ended.value.why) == why
    assert generated.cut == ([f"listEntries was cut after 0 requests: {cut}"] if cut else [])
