"""What `make bench` makes of its measurements, with made-up ones, and the service that it measures against."""

from dataclasses import replace

import requests

from environments.sandbox import Request
from tests.selftest import bench
from tests.selftest.services.paced import Pace, Paced, Window, apart
from tests.selftest.timings import Measured, Row, table

RUN = Measured(seconds=4.0, cpu=3.0, megabytes=120.0, requests=900)


def row(name, *seconds, at_once=1, **facts):
    return Row(name, at_once, [replace(RUN, seconds=each, **facts) for each in seconds])


def test_the_table():
    """One line for each contestant, with medians; a ratio compares the runs of a round. What was not measured, or has
    nothing to be compared with, is left empty. The least is the longer one of delay and rate."""
    rows = [
        row("suite", 25.0, 90.0, 27.0, at_once=4),
        row("st run", 50.0, 180.0, 60.0, requests=460, status=1),
        row("alone", 22.5, 23.0, 22.0, at_once=4, megabytes=0.0),
    ]

    assert table("100 ms", rows, delay=0.1) == [
        "| 100 ms | requests | refused | wall   | CPU   | memory | / st run | / st run -w 4 | / least | exit |",
        "| ---    | ---      | ---     | ---    | ---   | ---    | ---      | ---           | ---     | ---  |",
        "| suite  | 900      | 0       | 27.0 s | 3.0 s | 120 MB | 0.50     |               | 1.20    | 0    |",
        "| st run | 460      | 0       | 60.0 s | 3.0 s | 120 MB | 1.00     |               | 1.30    | 1    |",
        "| alone  | 900      | 0       | 22.5 s | 3.0 s |        | 0.37     |               | 1.00    | 0    |",
    ]
    assert "| 0.60    |" in table("20 a second", rows[:1], delay=0.01, rate=20)[2]


def test_a_window_lets_so_many_through_in_any_second():
    """The third of two a second waits until the first is a second old."""
    times = iter([0.0, 0.9, 0.95, 1.0, 1.8, 2.0])
    window = Window(2, clock=lambda: next(times))

    assert [window.let_through() for _ in range(6)] == [True, True, False, True, False, True]


def test_a_service_in_a_process_of_its_own_counts():
    """It answers like the sandbox."""
    with apart(Pace()) as service:
        answered = requests.get(f"{service.base_url}/v1/accounts", headers={"Authorization": f"Bearer {service.token}"})

        assert (answered.status_code, service.tally()) == (200, (1, 0))


def test_what_comes_too_fast_is_refused():
    """With 429."""
    service, request = Paced(Pace(rate=1), clock=lambda: 0.0), Request("GET", "/v1/accounts", "", {}, b"")
    statuses = [service.serve(request, None).status for _ in range(2)]

    assert (statuses, service.answered, service.refused) == ([401, 429], 1, 1)


def test_contestants():
    """The suite also with other numbers of requests at once; `st run` keeps to the rate."""
    assert [row.name for row, _ in bench.contestants(Pace(rate=20), [2])] == [
        "suite", "suite --parallel=2", "st run", "st run -w 4",
    ]  # fmt: skip
