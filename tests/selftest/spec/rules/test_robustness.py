"""Rules of robustness: stack traces and dropped connections."""

import re
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from spec.exchange import FailureKind
from spec.requirements import read_yaml
from spec.rules import judge
from spec.rules.robustness import _HINTS, _TRACES
from tests.selftest.exchanges import answer, unanswered

CASES = read_yaml(Path(__file__).parents[1] / "rules.yaml")


def test_the_message_of_a_dropped_connection():
    """The message names the requests that got no response."""
    exchange = unanswered(FailureKind.DROPPED)
    said = "expected a response to a valid request (GET), got a dropped connection"

    assert str(judge("executePix.connection", exchange).message) == said


def test_stack_traces():
    """A stack trace is known by its frames, with any line breaks; a text that says where to look is none."""
    traces, others = CASES["stack traces"], CASES["no stack traces"]
    judged = {
        text: judge("executePix.stackTrace", answer("executePix", text.encode(), status=400)).deviates
        for text in (*traces, *others)
    }

    assert [text for text in traces if not judged[text]] == []
    assert [text for text in others if judged[text]] == []


@given(st.one_of([st.from_regex(re.compile(trace, re.MULTILINE)) for trace in _TRACES]))
@settings(deadline=None)
def test_each_trace_has_a_hint(text):
    """No trace is missed because it was not looked for."""
    assert any(hint in text for hint in _HINTS)
