"""When a request is sent again, and how long that waits."""

import pytest

from environments.door.retry_policy import retry_after
from spec.exchange import Response

NOON = "Sat, 01 Jan 2000 12:00:00 GMT"
A_MINUTE_LATER = "Sat, 01 Jan 2000 12:01:00 GMT"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        pytest.param((("Retry-After", "7"),), 7.0, id="seconds"),
        pytest.param((("Retry-After", A_MINUTE_LATER), ("Date", NOON)), 60.0, id="a date"),
        pytest.param((("Retry-After", NOON), ("Date", A_MINUTE_LATER)), 0.0, id="a date that is past"),
        pytest.param((("Retry-After", NOON), ("Date", "soon")), 0.0, id="a date beside a broken one"),
        pytest.param((("Retry-After", NOON.replace("GMT", "-0000")), ("Date", NOON)), 0.0, id="a date without a zone"),
        pytest.param((("Retry-After", "soon"),), None, id="no time"),
        pytest.param((), None, id="nothing"),
    ],
)
def test_a_time_to_come_again_is_read_by_the_clock_of_the_service(headers, seconds):
    """Seconds, or a date that counts from the header Date: the clocks of two machines differ."""
    assert retry_after(Response(429, headers, b"")) == seconds
