"""How long a whole run takes, against `st run` on the same schema, service and machine, and against a replay of the
run's own traffic with plain `requests`, without rules, evidence or reports: `make bench`.

All of them are run in turn, as other work on the machine slows each of them down. The service is in a process of its
own.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from threading import local

import requests

from environments.profiles.loading import load
from environments.sandbox import Request
from tests.selftest.services.paced import Apart, Pace, apart
from tests.selftest.services.running import ROOT, sandbox_at
from tests.selftest.timings import Measured, Row, table

SCHEMATHESIS = Path(sys.executable).with_name("st")
SCENARIOS = {
    "loopback": Pace(),
    "20 ms": Pace(delay=0.02),
    "100 ms": Pace(delay=0.1),
    "20 a second": Pace(rate=20),
}
PARALLEL = load("sandbox").limits.parallel
"""Requests that the default run has on the wire at once."""

Act = Callable[[Apart, int], Measured]
"""Measures one run against a service; the number is that of the round."""


def suite(service: Apart, seed: int, *options: str) -> Measured:
    """The default run: targeted and property tests, with reports."""
    with tempfile.TemporaryDirectory() as folder:
        profile = sandbox_at(service.base_url, Path(folder))
        given = [f"--environment={profile}", f"--report-dir={folder}/report", f"--seed={seed}", *options]
        return _run([sys.executable, "-m", "pytest", "-q", *given], ROOT, {"PIX_SANDBOX_TOKEN": service.token})


def schemathesis(service: Apart, seed: int, *options: str) -> Measured:
    """`st run` with all of its phases but the stateful one, in a folder where it ran before, as the suite did here."""
    phases = ["--phases=examples,coverage,fuzzing", "-n", "20", "--continue-on-failure"]
    command = [str(SCHEMATHESIS), "run", str(ROOT / "spec/openapi.yaml"), "--url", service.base_url, f"--seed={seed}"]
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(_tables().name, folder, dirs_exist_ok=True)
        return _run([*command, *phases, *options, "-H", f"Authorization: Bearer {service.token}"], Path(folder), {})


@cache
def _tables() -> tempfile.TemporaryDirectory[str]:
    """The tables of Unicode that Hypothesis makes in the first run of a folder, in a second and 200 MB."""
    folder = tempfile.TemporaryDirectory()
    make = "from hypothesis.internal.charmap import charmap, intervals_from_codec; charmap(), intervals_from_codec('utf-8')"
    subprocess.run([sys.executable, "-c", make], cwd=folder.name, check=True)
    return folder


def _run(command: list[str], folder: Path, environment: dict[str, str]) -> Measured:
    """A process, with what it and its children used. The output goes nowhere.

    Python keeps what it compiles, as it does unless it is told not to: libraries are compiled when they are installed, and
    a checkout would be compiled anew in each run.
    """
    start = time.perf_counter()
    variables = {**os.environ, **environment, "PYTHONDONTWRITEBYTECODE": ""}
    process = subprocess.Popen(command, cwd=folder, env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - start
    return Measured(seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, 0, status=process.returncode)


def replay(service: Apart, seed: int, sent: Sequence[Request]) -> Measured:
    """The same requests with plain `requests`, each as often as it takes to be let through."""
    kept = local()

    def send(request: Request) -> None:
        if not hasattr(kept, "session"):
            kept.session = requests.Session()
            kept.session.trust_env = False
        while _send(kept.session, service, request) == 429:
            time.sleep(1)

    start, spent = time.perf_counter(), time.process_time()
    with ThreadPoolExecutor(PARALLEL) as pool:
        list(pool.map(send, sent))
    return Measured(time.perf_counter() - start, time.process_time() - spent, 0, 0)


def _send(session: requests.Session, service: Apart, request: Request) -> int:
    left_out = ("host", "content-length", "connection")
    headers = {name: value for name, value in request.headers.items() if name not in left_out}
    headers["authorization"] = f"Bearer {service.token}"
    url = f"{service.base_url}{request.path}" + (f"?{request.query}" if request.query else "")
    return session.request(request.method, url, headers=headers, data=request.body or None).status_code


def contestants(pace: Pace, parallel: Sequence[int]) -> list[tuple[Row, Act]]:
    """Who runs in a scenario. `st run` waits for the rate that a limit permits: it does not repeat what was refused."""

    def with_options(act: Callable[..., Measured], *options: str) -> Act:
        return lambda service, seed: act(service, seed, *options)

    rate = [f"--rate-limit={pace.rate}/s"] if pace.rate else []
    return [
        (Row("suite", PARALLEL), suite),
        *((Row(f"suite --parallel={n}", n), with_options(suite, f"--parallel={n}")) for n in parallel),
        (Row("st run"), with_options(schemathesis, *rate, "-w", "1")),
        (Row("st run -w 4", 4), with_options(schemathesis, *rate, "-w", "4")),
    ]


def measured(act: Act, pace: Pace, number: int) -> tuple[Measured, list[Request]]:
    """One run against a fresh service, and what the service was sent."""
    with apart(pace) as service:
        run = act(service, number)
        sent, refused = service.tally()
    return replace(run, requests=len(sent), refused=refused), sent


def compare(scenario: str, rounds: int, parallel: Sequence[int]) -> list[str]:
    """The table of a scenario. The replay is of what the first contestant, the suite, sent in the same round."""
    pace = SCENARIOS[scenario]
    running, floor = contestants(pace, parallel), Row("replay", PARALLEL)
    for number in range(1, rounds + 1):
        traffic: list[Request] = []
        for row, act in running:
            run, sent = measured(act, pace, number)
            row.runs.append(run)
            traffic = traffic or sent
            print(f"{scenario}, round {number}: {row.name} {run.seconds:.2f} s", file=sys.stderr, flush=True)
        floor.runs.append(measured(partial(replay, sent=traffic), pace, number)[0])
    return table(scenario, [*(row for row, _ in running), floor], delay=pace.delay, rate=pace.rate)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--scenario", action="append", choices=tuple(SCENARIOS), help="only this one")
    add("--rounds", type=int, default=3, help="runs of each contestant (default: %(default)s)")
    add("--parallel", type=int, nargs="+", default=(), metavar="N", help="also the suite with --parallel=N")
    options = parser.parse_args()
    if not shutil.which(SCHEMATHESIS):
        sys.exit(f"{SCHEMATHESIS} is not there: install schemathesis into this environment")
    for scenario in options.scenario or SCENARIOS:
        print(*compare(scenario, options.rounds, options.parallel), "", sep="\n", flush=True)


if __name__ == "__main__":
    main()
