"""Rules of robustness: stack traces and dropped connections."""

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spec.exchange import FailureKind
from spec.requirements import read_yaml
from spec.rules import judge
from spec.rules.robustness import _TEXTS_IN_TRACES, _TRACES
from tests.selftest.exchanges import answer, unanswered

CASES = read_yaml(Path(__file__).parents[1] / "rules.yaml")


def test_a_dropped_connection_deviates_from_a_requirement():
    """The service closed the connection in the place of an answer. The message says to which sort of request."""
    judgement = judge("executePix.connection", unanswered(FailureKind.DROPPED))

    assert str(judgement.message) == "expected a response to a valid request (GET), got a dropped connection"


def shows_a_stack_trace(body):
    """True if an execution that is refused with this body deviates because of a stack trace."""
    return judge("executePix.stackTrace", answer("executePix", body.encode(), status=400)).deviates


@pytest.mark.parametrize("body", CASES["stack traces"])
def test_a_refusal_with_a_stack_trace_deviates(body):
    """A stack trace is recognised by its frames in several languages, with any line breaks."""
    assert shows_a_stack_trace(body)


@pytest.mark.parametrize("body", CASES["no stack traces"])
def test_a_refusal_that_only_looks_like_a_stack_trace_does_not_deviate(body):
    """A refusal may say at which place of the request the mistake is. Such a text is no stack trace, so it breaks no
    rule.
    """
    assert not shows_a_stack_trace(body)


@given(st.one_of([st.from_regex(re.compile(trace, re.MULTILINE)) for trace in _TRACES]))
@settings(deadline=None)
def test_each_stack_trace_has_one_of_the_texts_that_are_looked_for_first(text):
    """To save time, a body is searched for stack traces only if it has one of a few short texts (_TEXTS_IN_TRACES).

    Here Hypothesis draws texts that are stack traces by the regular expressions in _TRACES. Each has such a short text.
    """
    hints_in_text = [hint for hint in _TEXTS_IN_TRACES if hint in text]

    assert hints_in_text != []
