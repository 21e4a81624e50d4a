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
    """What one run took."""

    seconds: float  # from its start to its end
    cpu: float  # seconds of processor time
    megabytes: float  # peak memory
    requests: int  # that the service answered
    status: int = 0  # the exit status


@dataclass
class Row:
    """The runs of one contestant, one of each round."""

    name: str
    runs: list[Measured] = field(default_factory=list)

    def middle(self, fact: str) -> float:
        """The median of one fact of the runs."""
        return median(getattr(run, fact) for run in self.runs)


def table(title: str, rows: Sequence[Row]) -> list[str]:
    """A Markdown table, one line for each row. The second row is that of `st run`.

    The ratio to `st run` is the median of the ratios of the rounds, because other work on the machine slows both runs of
    a round down.
    """
    header = (title, "requests", "wall", "CPU", "memory", "/ st run", "exit")
    lines = [header, ("---",) * len(header)]
    runs_of_schemathesis = rows[1].runs
    for row in rows:
        ratios = [run.seconds / other.seconds for run, other in zip(row.runs, runs_of_schemathesis, strict=True)]
        exit_statuses = sorted({run.status for run in row.runs})
        cells = (
            row.name,
            f"{row.middle('requests'):.0f}",
            f"{row.middle('seconds'):.1f} s",
            f"{row.middle('cpu'):.1f} s",
            f"{row.middle('megabytes'):.0f} MB",
            f"{median(ratios):.2f}",
            " ".join(map(str, exit_statuses)),
        )
        lines.append(cells)
    return ["| " + " | ".join(line) + " |" for line in lines]


def suite(service: ServiceProcess, seed: int) -> Measured:
    """Run the suite as it runs by default: targeted and generated requests, with reports."""
    with tempfile.TemporaryDirectory() as folder:
        profile = write_sandbox_profile(service.base_url, Path(folder))
        options = [f"--environment={profile}", f"--report-dir={folder}/report", f"--seed={seed}"]
        return _run([sys.executable, "-m", "pytest", "-q", *options], ROOT, {"PIX_SANDBOX_TOKEN": service.token})


def schemathesis(service: ServiceProcess, seed: int) -> Measured:
    """Run `st run` with all of its phases but the stateful one, in a folder that has the tables of Unicode already.

    It has as many workers (8) as the suite sends requests at once.
    """
    phases = ["--phases=examples,coverage,fuzzing", "-n", "20", "--continue-on-failure", "-w", "8"]
    command = [str(SCHEMATHESIS), "run", str(ROOT / "spec/openapi.yaml"), "--url", service.base_url, f"--seed={seed}"]
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(_tables().name, folder, dirs_exist_ok=True)
        return _run([*command, *phases, "-H", f"Authorization: Bearer {service.token}"], Path(folder), {})


@cache
def _tables() -> tempfile.TemporaryDirectory[str]:
    """A folder with the tables of Unicode, which Hypothesis makes in its first run there. That takes a second and 200 MB."""
    folder = tempfile.TemporaryDirectory()
    make = "from hypothesis.internal.charmap import charmap, intervals_from_codec; charmap(), intervals_from_codec('utf-8')"
    subprocess.run([sys.executable, "-c", make], cwd=folder.name, check=True)
    return folder


def _run(command: list[str], folder: Path, environment: dict[str, str]) -> Measured:
    """Run a command to its end, and measure it together with its children. Its output goes nowhere.

    Python may keep its compiled files, as it does by default. Otherwise each run would compile the checkout anew.
    """
    start = time.perf_counter()
    variables = {**os.environ, **environment, "PYTHONDONTWRITEBYTECODE": ""}
    process = subprocess.Popen(command, cwd=folder, env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - start
    cpu = usage.ru_utime + usage.ru_stime
    megabytes = usage.ru_maxrss / 1024
    return Measured(seconds, cpu, megabytes, requests=0, status=process.returncode)


def compare(scenario: str, rounds: int) -> list[str]:
    """The table of a scenario. Each run meets a fresh service, which counts its requests."""
    contestants = [(Row("suite"), suite), (Row("st run"), schemathesis)]
    for number_of_round in range(1, rounds + 1):
        for row, run_contestant in contestants:
            with paced_service_process(SCENARIOS[scenario]) as service:
                run = run_contestant(service, number_of_round)
                row.runs.append(replace(run, requests=service.number_of_answers()))
            print(f"{scenario}, round {number_of_round}: {row.name} {run.seconds:.2f} s", file=sys.stderr, flush=True)
    return table(scenario, [row for row, _ in contestants])


def judged(rounds: int) -> str:
    """The row of a recording of mixed traffic: what it takes to judge it, and to read its JSON alone.

    Each is done once in a round, in a process of its own, with its imports. The best round counts.
    """
    read_runs, judge_runs = [], []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "traffic.har")
        write_recording(file, EXCHANGES)
        for _ in range(rounds):
            for code, runs in ((READS, read_runs), (JUDGES, judge_runs)):
                run = _run([sys.executable, "-c", code, str(file)], ROOT, {"PYTHONPATH": str(ROOT)})
                assert run.status == 0
                runs.append(run)
    best_read = min(read_runs, key=lambda run: run.cpu)
    best_judge = min(judge_runs, key=lambda run: run.cpu)
    cells = (
        "mixed traffic",
        f"{EXCHANGES / best_judge.cpu:,.0f}",
        f"{best_judge.cpu:.1f} s",
        f"{best_read.cpu:.1f} s",
        f"{best_judge.cpu / best_read.cpu:.1f}",
        f"{best_judge.megabytes:.0f} MB",
    )
    return f"| {' | '.join(cells)} |"


def of_large_answers(shapes: Iterable[str]) -> Iterator[str]:
    """The rows of whole runs, each against a service that gives one large answer to every request, plain or with gzip."""
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
    """Print the tables of the scenarios that the command line names, or of all."""
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
    if LARGE in wanted:
        for row in of_large_answers(options.shape or SHAPES):
            print(row, flush=True)
    for scenario in wanted:
        if scenario in SCENARIOS:
            print(*compare(scenario, options.rounds), "", sep="\n", flush=True)


if __name__ == "__main__":
    main()
