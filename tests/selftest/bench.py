"""How long a whole run takes, against `st run` on the same schema, service and machine: `make bench`. How long recorded
traffic takes, against `json.loads` of the same bytes: `make bench OPTIONS=--scenario=recorded`. What a run costs if every
answer is large: `make bench OPTIONS=--scenario=large`; of one shape alone: `python -m tests.selftest.bench --scenario=large
--shape="99,000 numbers"`.

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
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from statistics import median

from tests.selftest.recordings import BASE, write_recording
from tests.selftest.services.large import SHAPES, large_service_process
from tests.selftest.services.paced import ServiceProcess, paced_service_process
from tests.selftest.services.running import ROOT, write_sandbox_profile

SCHEMATHESIS = Path(sys.executable).with_name("st")
SCENARIOS = {"loopback": 0, "20 ms": 0.02, "100 ms": 0.1}
"""Seconds that the service takes for each answer."""
RECORDED, EXCHANGES = "recorded", 100_000
LARGE = "large"
READS = "import json, sys; json.loads(open(sys.argv[1], encoding='utf-8').read())"
JUDGES = f"""
import sys
from dataclasses import replace
from environments.profiles.loading import load
from reports.recorded.reading import tally_of
tally_of(sys.argv[1], replace(load("sandbox"), base_url="{BASE}"))
"""


@dataclass(frozen=True)
class Measured:
    """One run: seconds of wall time and of CPU time, peak memory in megabytes, the requests that were answered, and the
    exit status."""

    seconds: float
    cpu: float
    megabytes: float
    requests: int
    status: int = 0


@dataclass
class Row:
    """The runs of one contestant, one of each round."""

    name: str
    runs: list[Measured] = field(default_factory=list)

    def middle(self, fact: str) -> float:
        """The median of one fact of the runs."""
        return median(getattr(run, fact) for run in self.runs)


def table(title: str, rows: Sequence[Row]) -> list[str]:
    """A Markdown table, one line for each row. The ratio is the median of the rounds, as other work slows both of a round
    down."""
    header = (title, "requests", "wall", "CPU", "memory", "/ st run", "exit")
    lines = [header, ("---",) * len(header)]
    lines += [
        (
            row.name,
            f"{row.middle('requests'):.0f}",
            f"{row.middle('seconds'):.1f} s",
            f"{row.middle('cpu'):.1f} s",
            f"{row.middle('megabytes'):.0f} MB",
            f"{median(one.seconds / other.seconds for one, other in zip(row.runs, rows[1].runs, strict=True)):.2f}",
            " ".join(map(str, sorted({run.status for run in row.runs}))),
        )
        for row in rows
    ]
    return ["| " + " | ".join(line) + " |" for line in lines]


def suite(service: ServiceProcess, seed: int) -> Measured:
    """The default run: targeted and property tests, with reports."""
    with tempfile.TemporaryDirectory() as folder:
        profile = write_sandbox_profile(service.base_url, Path(folder))
        given = [f"--environment={profile}", f"--report-dir={folder}/report", f"--seed={seed}"]
        return _run([sys.executable, "-m", "pytest", "-q", *given], ROOT, {"PIX_SANDBOX_TOKEN": service.token})


def schemathesis(service: ServiceProcess, seed: int) -> Measured:
    """`st run` with all of its phases but the stateful one and as many workers as the suite sends requests at once, in a
    folder where it ran before, as the suite did here."""
    phases = ["--phases=examples,coverage,fuzzing", "-n", "20", "--continue-on-failure", "-w", "8"]
    command = [str(SCHEMATHESIS), "run", str(ROOT / "spec/openapi.yaml"), "--url", service.base_url, f"--seed={seed}"]
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(_tables().name, folder, dirs_exist_ok=True)
        return _run([*command, *phases, "-H", f"Authorization: Bearer {service.token}"], Path(folder), {})


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
    return Measured(seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, 0, process.returncode)


def compare(scenario: str, rounds: int) -> list[str]:
    """The table of a scenario. Each run meets a fresh service, which counts what it is sent."""
    running = [(Row("suite"), suite), (Row("st run"), schemathesis)]
    for number in range(1, rounds + 1):
        for row, act in running:
            with paced_service_process(SCENARIOS[scenario]) as service:
                run = act(service, number)
                row.runs.append(replace(run, requests=service.number_of_answers()))
            print(f"{scenario}, round {number}: {row.name} {run.seconds:.2f} s", file=sys.stderr, flush=True)
    return table(scenario, [row for row, _ in running])


def judged(rounds: int) -> str:
    """The row of a recording of mixed traffic: its best round, each in a process of its own, with what it imports."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "traffic.har")
        write_recording(file, EXCHANGES)
        codes = [READS, JUDGES] * rounds
        runs = [_run([sys.executable, "-c", code, str(file)], ROOT, {"PYTHONPATH": str(ROOT)}) for code in codes]
    assert not any(run.status for run in runs)
    reads, judges = (min(each, key=lambda run: run.cpu) for each in (runs[::2], runs[1::2]))
    cells = ("mixed traffic", f"{EXCHANGES / judges.cpu:,.0f}", f"{judges.cpu:.1f} s", f"{reads.cpu:.1f} s")
    return f"| {' | '.join(cells)} | {judges.cpu / reads.cpu:.1f} | {judges.megabytes:.0f} MB |"


def of_large_answers(shapes: Iterable[str]) -> Iterator[str]:
    """The rows of whole runs against services that give one large answer to everything, plain and packed."""
    yield "| every answer | coding | requests | CPU | memory | exit |"
    yield "|---" * 6 + "|"
    for shape in shapes:
        for packs in (False, True):
            with large_service_process(shape, packs=packs) as service:
                run = suite(service, seed=1)
                requests = service.number_of_answers()
            cells = (shape, "gzip" if packs else "none", str(requests), f"{run.cpu:.1f} s", f"{run.megabytes:.0f} MB")
            yield f"| {' | '.join(cells)} | {run.status} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--scenario", action="append", choices=(*SCENARIOS, RECORDED, LARGE), help="only this one")
    add("--shape", action="append", choices=SHAPES, metavar="SHAPE", help=f"only answers of: {', '.join(SHAPES)}")
    add("--rounds", type=int, default=3, help="runs of each contestant (default: %(default)s)")
    options = parser.parse_args()
    wanted = options.scenario or [*SCENARIOS, RECORDED, LARGE]
    if RECORDED in wanted:
        print("| recorded | exchanges a second | CPU | json.loads | ratio | memory |", "|---" * 6 + "|", sep="\n")
        print(judged(options.rounds), flush=True)
    for row in of_large_answers(options.shape or SHAPES) if LARGE in wanted else ():
        print(row, flush=True)
    for scenario in filter(SCENARIOS.__contains__, wanted):
        print(*compare(scenario, options.rounds), "", sep="\n", flush=True)


if __name__ == "__main__":
    main()
