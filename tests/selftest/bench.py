"""How long a whole run takes, against `st run` on the same schema, service and machine, and against a replay of the
run's own traffic with plain `requests`, without rules, evidence or reports: `make bench`.

All of them are run in turn, as other work on the machine slows each of them down. The service is in a process of its
own; "embedded" is the run that needs no options, in whose process the sandbox is a few threads. `showing` is how long
showing large answers takes, against reading them with `json.loads`, and against a replay that receives them
and reads them.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from base64 import b64encode
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from random import Random
from threading import local

import requests

from environments.profiles.loading import load
from environments.sandbox import Request, Response, Server
from environments.secret_values import listed_secrets
from reports.show import Display
from tests.selftest.services.paced import Apart, Pace, apart
from tests.selftest.services.running import sandbox_at
from tests.selftest.timings import Measured, Row, table

ROOT = Path(__file__).parents[2]
SCHEMATHESIS = Path(sys.executable).with_name("st")
SCENARIOS = {
    "loopback": Pace(),
    "20 ms": Pace(delay=0.02),
    "100 ms": Pace(delay=0.1),
    "20 a second": Pace(rate=20),
    "1 MB": Pace(padding=1_000_000),
}
SHOWING = "showing"
USUAL = ("loopback", "20 ms", "100 ms", "20 a second")
PARALLEL: int | None = getattr(load("sandbox", folder=ROOT / "environments").limits, "parallel", None)
"""Requests that the default run has on the wire at once; None where the suite has no such option."""

Act = Callable[[Apart, int], Measured]
"""Measures one run against a service; the number is that of the round."""


def suite(service: Apart, seed: int, *options: str) -> Measured:
    """The default run: targeted and property tests, with reports."""
    with tempfile.TemporaryDirectory() as folder:
        profile = sandbox_at(service.base_url, Path(folder))
        return _pytest({"PIX_SANDBOX_TOKEN": service.token}, f"--environment={profile}", f"--seed={seed}", *options)


def embedded(service: Apart, seed: int) -> Measured:
    """The same against the sandbox of its own process."""
    return _pytest({}, f"--seed={seed}")


def _pytest(environment: dict[str, str], *options: str) -> Measured:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pytest", "-q", f"--report-dir={folder}", *options]
        found = _run(command, ROOT, environment)
        report = json.loads(Path(folder, "conformance.json").read_text("utf-8"))
    return replace(found, requests=report["traffic"]["requests"])


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


def replay(service: Apart, seed: int, sent: Sequence[Request], at_once: int) -> Measured:
    """The same requests with plain `requests`, each as often as it takes to be let through."""
    kept = local()

    def send(seen: Request) -> None:
        if not hasattr(kept, "session"):
            kept.session = requests.Session()
            kept.session.trust_env = False
        while _send(kept.session, service, seen) == 429:
            time.sleep(1)

    start, spent = time.perf_counter(), time.process_time()
    with ThreadPoolExecutor(at_once) as pool:
        list(pool.map(send, sent))
    return Measured(time.perf_counter() - start, time.process_time() - spent, 0, 0)


def _send(session: requests.Session, service: Apart, seen: Request) -> int:
    left_out = ("host", "content-length", "connection")
    headers = {name: value for name, value in seen.headers.items() if name not in left_out}
    headers["authorization"] = f"Bearer {service.token}"
    url = f"{service.base_url}{seen.path}" + (f"?{seen.query}" if seen.query else "")
    return session.request(seen.method, url, headers=headers, data=seen.body or None).status_code


def answers() -> dict[str, bytes]:
    """Answers of about a megabyte."""
    people = [{"name": f"Maria{n} Silva", "account": f"{n:07d}", "document": "***.456.789-**"} for n in range(12_000)]
    shapes = {
        "people": {"code": 0, "data": {"list": people}},
        "one text": {"code": 0, "data": {"text": "lorem ipsum " * 80_000}},
        "one personal text": {"code": 0, "data": {"name": "Maria Silva " * 80_000}},
        "base64": {"data": b64encode(Random(1).randbytes(750_000)).decode()},
        "escapes": {"text": "João da Conceição" * 40_000},
        "many texts": [f"abc{n}" for n in range(100_000)],
        "numbers": [n * 7919 for n in range(100_000)],
    }
    return {
        **{name: json.dumps(shape).encode() for name, shape in shapes.items()},
        "brackets and blanks": b"[" * 900 + b" " * 1_000_000 + b"]" * 900,
        "100,000 brackets (no JSON to Python)": b"[" * 100_000 + b"]" * 100_000,
        "HTML (no JSON)": b"<p>lorem ipsum</p>\n" * 53_000,
        "random bytes (no JSON)": Random(1).randbytes(1_000_000),
    }


class Answering:
    """A service that gives one answer to everything."""

    def __init__(self, body: bytes) -> None:
        self._answer = Response(200, body, (("Content-Type", "application/json"),))

    def serve(self, request: Request, connection: object) -> Response:
        return self._answer


def showing(name: str, body: bytes, times: int = 20) -> str:
    """CPU time that showing an answer takes, beside reading it and beside receiving it too."""
    secrets = listed_secrets(load("sandbox", folder=ROOT / "environments"))
    secrets.learn_token("s3cr3t-T0ken/with+odd=Chars.9xQ")
    display = Display(secrets)

    def shown() -> None:
        display.body(body, "application/json")

    def read(received: bytes) -> None:
        with suppress(ValueError, RecursionError):
            json.loads(received)

    with Server(Answering(body)) as server, requests.Session() as session:
        session.trust_env = False
        received = _cpu(lambda: read(session.get(server.base_url).content), times)
    cost, loads = _cpu(shown, times), _cpu(lambda: read(body), times)
    ratios = f"{cost / loads:6.2f} times json.loads, {cost / received:5.2f} times a replay"
    return f"showing {name:<36} {cost / times * 1000:6.2f} ms: {ratios}"


def _cpu(act: Callable[[], object], times: int) -> float:
    """CPU seconds of this thread; the service has others."""
    start = time.thread_time()
    for _ in range(times):
        act()
    return time.thread_time() - start


def contestants(pace: Pace, parallel: Sequence[int]) -> list[tuple[Row, Act]]:
    """Who runs in a scenario. `st run` waits for the rate that a limit permits: it does not repeat what was refused."""
    rate = [f"--rate-limit={pace.rate}/s"] if pace.rate else []
    usual = PARALLEL or 1
    found: list[tuple[Row, Act]] = [(Row("suite", usual), suite)]
    found += [(Row(f"suite --parallel={n}", n), partial(_with, suite, [f"--parallel={n}"])) for n in parallel]
    found += [(Row("suite, embedded", usual), embedded)] if pace == Pace() else []
    found += [(Row("st run"), partial(_with, schemathesis, [*rate, "-w", "1"]))]
    found += [(Row("st run -w 4", 4), partial(_with, schemathesis, [*rate, "-w", "4"]))]
    return found


def _with(act: Callable[..., Measured], options: Sequence[str], service: Apart, seed: int) -> Measured:
    return act(service, seed, *options)


def measured(act: Act, pace: Pace, number: int) -> tuple[Measured, list[Request]]:
    """One run against a fresh service, and what the service was sent."""
    with apart(pace) as service:
        found = act(service, number)
        sent, refused = service.tally()
    return replace(found, requests=len(sent) or found.requests, refused=refused), sent


def compare(scenario: str, rounds: int, parallel: Sequence[int]) -> list[str]:
    """The table of a scenario. The replay is of what the first contestant, the suite, sent in the same round."""
    pace = SCENARIOS[scenario]
    running, floor = contestants(pace, parallel), Row("replay", PARALLEL or 1)
    for number in range(1, rounds + 1):
        traffic: list[Request] = []
        for row, act in running:
            found, sent = measured(act, pace, number)
            row.runs.append(found)
            traffic = traffic or sent
            _progress(scenario, number, row)
        again = partial(replay, sent=traffic, at_once=floor.at_once)
        floor.runs.append(measured(again, pace, number)[0])
        _progress(scenario, number, floor)
    return table(scenario, [*(row for row, _ in running), floor], delay=pace.delay, rate=pace.rate)


def _progress(scenario: str, number: int, row: Row) -> None:
    print(f"{scenario}, round {number}: {row.name} {row.runs[-1].seconds:.2f} s", file=sys.stderr, flush=True)


def main() -> None:
    options = _parser().parse_args()
    if options.parallel and PARALLEL is None:
        sys.exit("--parallel: this version of the suite does not have the option")
    if not shutil.which(SCHEMATHESIS):
        sys.exit(f"{SCHEMATHESIS} is not there: install schemathesis into this environment")
    for scenario in options.scenario or (*USUAL, SHOWING):
        if scenario == SHOWING:
            lines = [showing(name, body) for name, body in answers().items()]
        else:
            lines = compare(scenario, options.rounds, options.parallel)
        print(*lines, "", sep="\n", flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    named = ", ".join((*SCENARIOS, SHOWING))
    parser.add_argument(
        "--scenario", action="append", choices=(*SCENARIOS, SHOWING), metavar="NAME", help=f"only this one: {named}"
    )
    parser.add_argument("--rounds", type=int, default=3, help="runs of each contestant (default: %(default)s)")
    parser.add_argument(
        "--parallel", type=int, nargs="+", default=(), metavar="N", help="also the suite with --parallel=N"
    )
    return parser


if __name__ == "__main__":
    main()
