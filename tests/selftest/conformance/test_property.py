"""What the tests of generated traffic say if there is nothing to judge."""

from types import SimpleNamespace

import pytest

from reports.result.answer_counts import AnswersToGeneratedRequests
from tests.conformance.test_property import test_generated_requests as call_test_of_generated_requests
from tests.harness.judging import NotExercised


@pytest.mark.parametrize("robustness", ["serverError", "stackTrace", "connection"])
@pytest.mark.parametrize(
    ("limit_that_stopped_it", "message", "notes"),
    [
        ("", "nothing to send: supply accounts", []),
        ("limits.requests", "limits.requests", ["listEntries was cut after 0 requests: limits.requests"]),
    ],
    ids=["the profile has no account", "a limit of the profile"],
)
def test_the_message_says_why_nothing_was_generated(limit_that_stopped_it, message, notes, robustness):
    """If no request was generated for an operation, each of its robustness tests says why: no account, or a limit.

    A limit is also noted for the report.
    """
    no_answers = SimpleNamespace(cases_with_answers=[], why_incomplete=limit_that_stopped_it)
    notes_of_run = AnswersToGeneratedRequests()

    with pytest.raises(NotExercised) as not_exercised:
        call_test_of_generated_requests(
            operation="listEntries",
            end_of_id=robustness,
            generation=SimpleNamespace(judged_answers_to=lambda operation: no_answers),
            run_traffic=None,
            session=SimpleNamespace(run=SimpleNamespace(generated=notes_of_run)),
        )

    assert str(not_exercised.value.why) == message
    assert notes_of_run.cut == notes
