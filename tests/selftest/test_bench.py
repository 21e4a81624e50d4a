"""What `make bench` makes of its measurements, with made-up ones, and the service that it measures against."""

from dataclasses import replace

import requests

from environments.sandbox import Request
from tests.selftest.services.paced import Pace, Paced, apart
from tests.selftest.timings import Measured, Row, table

RUN = Measured(seconds=4.0, cpu=3.0, megabytes=120.0, requests=900)


def row(name, *seconds, **facts):
    return Row(name, [replace(RUN, seconds=each, **facts) for each in seconds])


def test_the_table():
    """One line for each contestant, with medians; a ratio compares the runs of a round. What has nothing to be compared
    with is left empty."""
    rows = [row("suite", 25.0, 90.0, 27.0), row("st run", 50.0, 180.0, 60.0, requests=460, status=1)]

    assert table("100 ms", rows)[2:] == [
        "| suite | 900 | 27.0 s | 3.0 s | 120 MB | 0.50 |  | 0 |",
        "| st run | 460 | 60.0 s | 3.0 s | 120 MB | 1.00 |  | 1 |",
    ]


def test_what_comes_too_fast_is_refused():
    """The third of two a second has to wait until the first is a second old."""
    times, request = iter([0.0, 0.9, 0.95, 1.0, 1.8, 2.0]), Request("GET", "/v1/accounts", "", {}, b"")
    service = Paced(Pace(rate=2), clock=lambda: next(times))
    statuses = [service.serve(request, None).status for _ in range(6)]

    assert (statuses, service.answered) == ([401, 401, 429, 401, 429, 401], 4)


def test_a_service_in_a_process_of_its_own_counts():
    """It answers like the sandbox."""
    with apart(Pace()) as service:
        answered = requests.get(f"{service.base_url}/v1/accounts", headers={"Authorization": f"Bearer {service.token}"})

        assert (answered.status_code, service.tally()) == (200, 1)
