"""What `make bench` makes of its measurements, with made-up ones, and the service that it measures against."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
import requests

from environments.sandbox import Server
from tests.selftest import bench
from tests.selftest.services.paced import Pace, Paced, Window, apart, meeting_of
from tests.selftest.timings import Measured, Row, least, ratio, table

RUN = Measured(seconds=4.0, cpu=3.0, megabytes=120.0, requests=900)


def row(name, *seconds, at_once=1, **facts):
    return Row(name, at_once, [replace(RUN, seconds=each, **facts) for each in seconds])


def test_a_row_shows_medians():
    """One slow round in three changes nothing."""
    assert row("suite", 4.0, 90.0, 5.0).middle("seconds") == 5.0


def test_a_ratio_compares_the_runs_of_a_round():
    """Twice as slow in each round is 2, also where a round is slow as a whole."""
    assert ratio(row("suite", 2.0, 20.0, 4.0), row("st run", 1.0, 10.0, 2.0)) == 2.0


@pytest.mark.parametrize(
    ("at_once", "delay", "rate", "seconds"),
    [(1, 0.0, 0, 0.0), (1, 0.1, 0, 90.0), (4, 0.1, 0, 22.5), (4, 0.0, 20, 45.0), (1, 0.1, 20, 90.0)],
)
def test_what_a_run_takes_at_least(at_once, delay, rate, seconds):
    """The longer one of requests x delay / parallel and requests / rate."""
    assert least(900, at_once, delay=delay, rate=rate) == pytest.approx(seconds)


def test_the_table():
    """One line for each contestant; what was not measured, or has nothing to be compared with, is left empty."""
    rows = [
        row("suite", 25.0, 24.0, 27.0, at_once=4),
        row("st run", 50.0, 48.0, 60.0, requests=460, status=1),
        row("replay", 22.5, 23.0, 22.0, at_once=4, megabytes=0.0),
    ]

    assert table("100 ms", rows, delay=0.1) == [
        "| 100 ms | requests | refused | wall   | CPU   | memory | / st run | / st run -w 4 | / least | exit |",
        "| ---    | ---      | ---     | ---    | ---   | ---    | ---      | ---           | ---     | ---  |",
        "| suite  | 900      | 0       | 25.0 s | 3.0 s | 120 MB | 0.50     |               | 1.11    | 0    |",
        "| st run | 460      | 0       | 50.0 s | 3.0 s | 120 MB | 1.00     |               | 1.09    | 1    |",
        "| replay | 900      | 0       | 22.5 s | 3.0 s |        | 0.45     |               | 1.00    | 0    |",
    ]


def test_a_window_lets_so_many_through_in_any_second():
    """The third of two a second waits until the first is a second old."""
    times = iter([0.0, 0.9, 0.95, 1.0, 1.8, 2.0])
    window = Window(2, clock=lambda: next(times))

    assert [window.let_through() for _ in range(6)] == [True, True, False, True, False, True]


def asked(base_url, token):
    """The answer to a valid read."""
    return requests.get(f"{base_url}/v1/accounts", headers={"Authorization": f"Bearer {token}"})


def test_answers_are_delayed_side_by_side():
    """Two connections wait at the same time: a service that served one after the other would answer neither."""
    service = Paced(Pace(delay=0.1), wait=meeting_of(2))
    with Server(service) as server, ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda _: asked(server.base_url, service.token), range(2)))

    assert [answer.status_code for answer in answers] == [200, 200]


def test_the_service_is_in_a_process_of_its_own():
    """It pads what it answers, refuses what comes too fast, and says what it was sent."""
    with apart(Pace(rate=1, padding=1200)) as service:
        first, second = (asked(service.base_url, service.token) for _ in range(2))
        sent, refused = service.tally()

    assert (first.status_code, len(first.json()["padding"])) == (200, 1200)
    assert (second.status_code, second.headers["Retry-After"]) == (429, "1")
    assert ([request.path for request in sent], refused) == (["/v1/accounts"], 1)


def test_contestants():
    """The suite and `st run` always, the embedded sandbox on loopback."""
    limited = [row.name for row, _ in bench.contestants(Pace(rate=20), parallel=[2])]
    on_loopback = [row.name for row, _ in bench.contestants(Pace(), parallel=[])]

    assert limited == ["suite", "suite --parallel=2", "st run", "st run -w 4"]
    assert on_loopback == ["suite", "suite, embedded", "st run", "st run -w 4"]


def test_every_scenario_of_a_whole_bench_exists():
    """Those that run without being asked for can be asked for."""
    assert set(bench.USUAL) < set(bench.SCENARIOS)
