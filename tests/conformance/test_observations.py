"""What the document does not show, as the traffic of the run shows it anyway."""

from __future__ import annotations

from collections import Counter

import pytest

from environments.door.authorization import VALID
from spec.answers import RefusalKind, code_of, is_refusal, refusal_kind
from spec.interface import PREPARING, READS, operations
from tests.harness.judging import NotExercised, each, observe, requirement


@pytest.mark.parametrize("operation", each(READS + PREPARING, "shape"))
def test_shape_of_an_answer(operation, traffic):
    """What an operation answers whose answer is not shown."""
    seen = traffic.visit(operation)[0]
    value = seen.response.json.value if seen.response else None
    members = ", ".join(sorted(value)) if isinstance(value, dict) else "no object"
    observe(f"{seen.summary}: {members}", seen)


@pytest.mark.parametrize("operation", each(READS, "token"))
def test_token_of_a_read(operation, traffic):
    """Whether a read is answered without a token."""
    seen = traffic.visit(operation)[1]
    observe(f"without a token: {seen.summary}", seen)


@pytest.mark.parametrize("operation", each(operations(), "refusal"))
def test_refusals(operation, endpoints):
    """How requests are refused."""
    refused = [
        seen
        for seen in endpoints.whole
        if seen.operation == operation and seen.response is not None and is_refusal(seen.response)
    ]
    if not refused:
        raise NotExercised("nothing was refused")
    tally = Counter(f"{_sent_with(seen)}: {seen.summary}" for seen in refused)
    observe("; ".join(f"{what} ({_times(count)})" for what, count in sorted(tally.items())), *refused[:5])


@requirement("general.codeValues")
def test_codes(endpoints):
    """Which values of code are seen."""
    codes = {code_of(seen.response) for seen in endpoints.whole if seen.response is not None} - {None}
    if not codes:
        raise NotExercised("no envelope with a code was seen")
    observe(", ".join(str(code) for code in sorted(codes)[:20]))


@requirement("general.rateLimit")
def test_rate_limits(endpoints):
    """Whether the service asked the suite to slow down."""
    limited = _refused(endpoints, RefusalKind.RATE_LIMIT)
    observe(f"429 for {len(limited)} of {len(endpoints.whole)} requests", *limited[:3])


@requirement("general.sizeLimit")
def test_size_limits(endpoints):
    """Whether a request was too large for the service."""
    large = _refused(endpoints, RefusalKind.SIZE)
    observe(f"413, 414 or 431 for {len(large)} requests", *large[:3])


def _refused(endpoints, kind):
    return [seen for seen in endpoints.whole if seen.response is not None and refusal_kind(seen.response) is kind]


def _sent_with(seen):
    return "with the valid token" if seen.credential == VALID else "without a valid token"


def _times(count):
    return "once" if count == 1 else f"{count} times"
