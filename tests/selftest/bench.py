"""Benchmarks of the suite. They print tables, and no test depends on them.

| command | measures |
|---|---|
| `make bench` | a whole run, beside `st run` (Schemathesis) on the same schema, service and machine |
| `make bench OPTIONS=--scenario=recorded` | judging recorded traffic, beside `json.loads` of the same bytes |
| `make bench OPTIONS=--scenario=large` | whole runs against services whose answers are large |

The runs to compare are made in turn, because other work on the machine slows each of them down. The service is in a
process of its own.
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
RECORDED = "recorded"
"""The scenario in which recorded traffic is judged."""
RECORDED_EXCHANGES = 100_000
LARGE = "large"
"""The scenario in which every answer is large."""
CODE_THAT_READS = "import json, sys; json.loads(open(sys.argv[1], encoding='utf-8').read())"
"""A Python program that only reads the JSON of the file that its argument names."""
CODE_THAT_JUDGES = f"""
import sys
from dataclasses import replace
from environments.profiles.loading import load
from reports.recorded.reading import counts_of_file
counts_of_file(sys.argv[1], replace(load("sandbox"), base_url="{BASE}"))
"""
"""A Python program that judges the recorded traffic in the file that its argument names."""
MAKE_TABLES_OF_UNICODE = """
from hypothesis.internal.charmap import charmap, intervals_from_codec
charmap()
intervals_from_codec("utf-8")
"""
"""A Python program with which Hypothesis writes its tables of Unicode into the current folder."""


@dataclass(frozen=True)
class Measured:
    """The time, the memory and the requests of one run."""

    seconds: float  # from its start to its end
    cpu: float  # seconds of processor time
    megabytes: float  # peak memory
    requests: int  # the number of requests that the service answered
    status: int = 0  # the exit status


@dataclass
class Row:
    """The runs of one program (the suite or `st run`): one run of each round."""

    name: str
    runs: list[Measured] = field(default_factory=list)

    def median_of(self, name: str) -> float:
        """The median of one field of `Measured` over the runs: `median_of("seconds")`."""
        return median(getattr(run, name) for run in self.runs)


def table(title: str, rows: Sequence[Row]) -> list[str]:
    """The lines of a Markdown table with these rows. The second row must be that of `st run`.

    The column "/ st run" has the time of a row divided by the time of `st run`: the median over all rounds. The two
    times of one round are divided by each other, because other work on the machine slows both of them down.
    """
    header = (title, "requests", "wall", "CPU", "memory", "/ st run", "exit")
    lines = [header, ("---",) * len(header)]
    runs_of_schemathesis = rows[1].runs
    for row in rows:
        ratios = [run.seconds / other.seconds for run, other in zip(row.runs, runs_of_schemathesis, strict=True)]
        exit_statuses = sorted({run.status for run in row.runs})
        cells = (
            row.name,
            f"{row.median_of('requests'):.0f}",
            f"{row.median_of('seconds'):.1f} s",
            f"{row.median_of('cpu'):.1f} s",
            f"{row.median_of('megabytes'):.0f} MB",
            f"{median(ratios):.2f}",
            " ".join(map(str, exit_statuses)),
        )
        lines.append(cells)
    return ["| " + " | ".join(line) + " |" for line in lines]


def measured_run_of_suite(service: ServiceProcess, seed: int) -> Measured:
    """Run the suite with its default settings against a service, and measure the run.

    By default a run sends the requests of scenarios and generated requests, and writes reports.
    """
    with tempfile.TemporaryDirectory() as folder:
        profile = write_sandbox_profile(service.base_url, Path(folder))
        options = [f"--environment={profile}", f"--report-dir={folder}/report", f"--seed={seed}"]
        command = [sys.executable, "-m", "pytest", "-q", *options]
        return _measured_run(command, ROOT, {"PIX_SANDBOX_TOKEN": service.token})


def measured_run_of_schemathesis(service: ServiceProcess, seed: int) -> Measured:
    """Run `st run` (Schemathesis) against a service, and measure the run.

    It has all phases of `st run` but the stateful one, and as many workers (8) as the suite sends requests at once. Its
    folder already has the tables of Unicode, which are otherwise made in the first run.
    """
    phases = ["--phases=examples,coverage,fuzzing", "-n", "20", "--continue-on-failure", "-w", "8"]
    command = [str(SCHEMATHESIS), "run", str(ROOT / "spec/openapi.yaml"), "--url", service.base_url, f"--seed={seed}"]
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(_folder_with_tables_of_unicode().name, folder, dirs_exist_ok=True)
        command += [*phases, "-H", f"Authorization: Bearer {service.token}"]
        return _measured_run(command, Path(folder), {})


@cache
def _folder_with_tables_of_unicode() -> tempfile.TemporaryDirectory[str]:
    """A folder with the tables of Unicode that Hypothesis uses, made by the first call.

    Hypothesis makes the tables in its first run in a folder. That takes a second and 200 MB, and is not measured.
    """
    folder = tempfile.TemporaryDirectory()
    subprocess.run([sys.executable, "-c", MAKE_TABLES_OF_UNICODE], cwd=folder.name, check=True)
    return folder


def _measured_run(command: list[str], folder: Path, environment: dict[str, str]) -> Measured:
    """Run a command to its end in this folder, and measure it together with its child processes.

    `environment` has variables of the environment. What the command prints is not kept. The number of requests is 0
    here, because only the service knows it: the caller sets it.
    """
    start = time.perf_counter()
    # Python may keep its compiled files. Otherwise each run would compile the whole project again.
    variables = {**os.environ, **environment, "PYTHONDONTWRITEBYTECODE": ""}
    process = subprocess.Popen(command, cwd=folder, env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - start
    cpu = usage.ru_utime + usage.ru_stime
    megabytes = usage.ru_maxrss / 1024  # Linux gives kilobytes
    return Measured(seconds, cpu, megabytes, requests=0, status=process.returncode)


def table_of_scenario(scenario: str, rounds: int) -> list[str]:
    """Run the suite and `st run` in turn, and return the table that compares them. `scenario` is such as "20 ms".

    Each run has a new service, which waits before each answer and counts its requests. The number of a round is also
    the seed of its runs.
    """
    rows_and_programs = [(Row("suite"), measured_run_of_suite), (Row("st run"), measured_run_of_schemathesis)]
    for number_of_round in range(1, rounds + 1):
        for row, measured_run in rows_and_programs:
            with paced_service_process(SCENARIOS[scenario]) as service:
                run = measured_run(service, number_of_round)
                row.runs.append(replace(run, requests=service.number_of_answers()))
            print(f"{scenario}, round {number_of_round}: {row.name} {run.seconds:.2f} s", file=sys.stderr, flush=True)
    return table(scenario, [row for row, _ in rows_and_programs])


def row_of_recorded_traffic(rounds: int) -> str:
    """Measure recorded traffic, and return the row of the table: the time to judge it, and to read its JSON alone.

    Both are done once in each round, in a process of their own, with its imports. The fastest round counts.
    """
    read_runs, judge_runs = [], []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "traffic.har")
        write_recording(file, RECORDED_EXCHANGES)
        for _ in range(rounds):
            for code, runs in ((CODE_THAT_READS, read_runs), (CODE_THAT_JUDGES, judge_runs)):
                run = _measured_run([sys.executable, "-c", code, str(file)], ROOT, {"PYTHONPATH": str(ROOT)})
                assert run.status == 0
                runs.append(run)
    best_read = min(read_runs, key=lambda run: run.cpu)
    best_judge = min(judge_runs, key=lambda run: run.cpu)
    cells = (
        "mixed traffic",
        f"{RECORDED_EXCHANGES / best_judge.cpu:,.0f}",
        f"{best_judge.cpu:.1f} s",
        f"{best_read.cpu:.1f} s",
        f"{best_judge.cpu / best_read.cpu:.1f}",
        f"{best_judge.megabytes:.0f} MB",
    )
    return f"| {' | '.join(cells)} |"


def lines_about_large_answers(shapes: Iterable[str]) -> Iterator[str]:
    """The lines of a table of whole runs, each against a service that gives the same large answer to every request.

    A shape is what the answer consists of, such as "99,000 numbers". For each shape there are two runs: in one of them
    the service compresses its answers with gzip.
    """
    yield "| every answer | coding | requests | CPU | memory | exit |"
    yield "|---" * 6 + "|"
    for shape in shapes:
        for uses_gzip in (False, True):
            with large_service_process(shape, uses_gzip=uses_gzip) as service:
                run = measured_run_of_suite(service, seed=1)
                requests = service.number_of_answers()
            coding = "gzip" if uses_gzip else "none"
            cells = (shape, coding, str(requests), f"{run.cpu:.1f} s", f"{run.megabytes:.0f} MB")
            yield f"| {' | '.join(cells)} | {run.status} |"


def main() -> None:
    """Print the tables of the scenarios that the command line names; without one, the tables of all scenarios."""
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--scenario", action="append", choices=(*SCENARIOS, RECORDED, LARGE), help="only this one")
    add("--shape", action="append", choices=SHAPES, metavar="SHAPE", help=f"only answers of: {', '.join(SHAPES)}")
    add("--rounds", type=int, default=3, help="runs of each program (default: %(default)s)")
    options = parser.parse_args()
    wanted = options.scenario or [*SCENARIOS, RECORDED, LARGE]
    if RECORDED in wanted:
        print("| recorded | exchanges a second | CPU | json.loads | ratio | memory |", "|---" * 6 + "|", sep="\n")
        print(row_of_recorded_traffic(options.rounds), flush=True)
    if LARGE in wanted:
        for line in lines_about_large_answers(options.shape or SHAPES):
            print(line, flush=True)
    for scenario in wanted:
        if scenario in SCENARIOS:
            print(*table_of_scenario(scenario, options.rounds), "", sep="\n", flush=True)


if __name__ == "__main__":
    main()
