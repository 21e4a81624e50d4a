"""Breaks one module of the product, one change at a time, and prints the changes that its own self-tests do not notice.

`make breakages MODULE=spec/facts.py SAMPLE=20 SEED=7`. The changes are those of cosmic-ray, made in a copy of the tree.
This runs in the Python of cosmic-ray, and the self-tests in that of the project.
"""

import argparse
import ast
import os
import random
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from cosmic_ray.work_db import WorkDB, use_db
from cosmic_ray.work_item import MutationSpec, TestOutcome, WorkerOutcome, WorkItem, WorkResult

from tests.selftest.mirror import ROOT, tests_of

PYTHON = ROOT / ".venv" / "bin" / "python"
LIMIT_S = 10
"""Seconds for the self-tests of a broken module, beyond what they take of the whole one; and for each of them."""
NOT_COPIED = shutil.ignore_patterns(".git", ".venv", ".*cache", "__pycache__", "runs", "node_modules")
CONFIG = """\
[cosmic-ray]
module-path = "{module}"
timeout = {timeout:.1f}
excluded-modules = []
test-command = {command}

[cosmic-ray.distributor]
name = "local"
"""
Place = tuple[int, int]
"""A place in a file: its line, from 1, and its column, from 0."""


def main() -> None:
    """Break the module that the command line names, and print the changes that its self-tests do not notice."""
    parser = argparse.ArgumentParser(prog="make breakages")
    parser.add_argument("module", help="a module of the product, such as spec/facts.py")
    parser.add_argument("--sample", type=int, default=0, help="so many changes, drawn at random; 0: all")
    parser.add_argument("--seed", type=int, default=0, help="what draws them")
    options = parser.parse_args()
    if not (ROOT / options.module).is_file() or not tests_of(options.module):
        parser.error(f"{options.module} is no module with a self-test of its own")

    with tempfile.TemporaryDirectory(prefix="breakages-") as folder:
        copy = Path(folder, "tree")
        shutil.copytree(ROOT, copy, ignore=NOT_COPIED)
        (copy / ".venv").symlink_to(ROOT / ".venv")
        results = break_module(copy, options.module, options.sample, options.seed)
        print(*report(options.module, results), sep="\n")


def break_module(copy: Path, module: str, sample: int, seed: int) -> list[tuple[MutationSpec, WorkResult]]:
    """Break the module in the copy of the project, one change at a time, and try its self-tests each time.

    Returns each change with the outcome of the self-tests. cosmic-ray keeps the changes in a database (`session`).
    """
    command, seconds = quick_tests(copy, module)
    config, session = copy.parent / "config.toml", copy.parent / "session.sqlite"
    text = CONFIG.format(module=module, timeout=seconds + LIMIT_S, command=_quoted(shlex.join(command)))
    config.write_text(text, "utf-8")
    _cosmic_ray("init", str(config), str(session), folder=copy)
    with use_db(str(session), WorkDB.Mode.open) as database:
        drawn = draw(database.work_items, (copy / module).read_text("utf-8"), sample, seed)
        left_out = {item.job_id for item in database.work_items} - {item.job_id for item in drawn}
        database.set_multiple_results(left_out, WorkResult(worker_outcome=WorkerOutcome.SKIPPED))
    print(
        f"{module}: {len(drawn)} changes; unbroken, its tests take {seconds:.0f} s: {shlex.join(command[3:])}",
        flush=True,
    )
    _cosmic_ray("exec", str(config), str(session), folder=copy)
    with use_db(str(session), WorkDB.Mode.open) as database:
        results = dict(database.results)
        return [(item.mutations[0], results[item.job_id]) for item in drawn]


def quick_tests(copy: Path, module: str) -> tuple[list[str], float]:
    """The command that runs the self-tests of a module, and how many seconds it takes.

    Slow tests are left out, unless all are slow. The command is tried here, and must succeed.
    """
    tests = [str(test) for test in tests_of(module)]
    command = [str(PYTHON), "-m", "pytest", *tests, "-x", "-q", "-p", "no:cacheprovider"]
    command += ["-p", "pytest_timeout", f"--timeout={LIMIT_S}", "-m"]
    for choice in ("not slow", "slow"):
        start = time.monotonic()
        process = subprocess.run([*command, choice], cwd=copy, env=_environment(), capture_output=True, text=True)
        if process.returncode == 0:
            return [*command, choice], time.monotonic() - start
        no_test_was_collected = process.returncode == 5
        if not no_test_was_collected:
            output = process.stdout[-3000:] + process.stderr[-3000:]
            sys.exit(f"the self-tests of {module} fail before it is broken:\n{output}")
    sys.exit(f"{module}: none of {', '.join(tests)} was collected")


def draw(items: Iterable[WorkItem], source: str, sample: int, seed: int) -> list[WorkItem]:
    """The changes to be tried, in the order of the file: `sample` of them, drawn at random, or all if `sample` is 0.

    Changes of annotations are left out, because nearly all of them have no effect in a run. The same `seed` draws the same changes.
    """
    annotations = list(_annotations(source))
    candidates = [item for item in items if not _is_in_any(item.mutations[0], annotations)]
    candidates.sort(key=_place)
    all_are_tried = sample == 0 or sample >= len(candidates)
    if all_are_tried:
        return candidates
    drawn = random.Random(seed).sample(candidates, sample)
    return sorted(drawn, key=_place)


def _place(item: WorkItem) -> tuple[Place, str, int]:
    """The place of a change in the file, by which changes are sorted. Several changes may have the same line and column."""
    change = item.mutations[0]
    return tuple(change.start_pos), change.operator_name, change.occurrence


def _annotations(source: str) -> Iterator[tuple[Place, Place]]:
    """The begin and the end of each annotation in a source text, such as the `int` of `x: int`."""
    for node in ast.walk(ast.parse(source)):
        for name in ("annotation", "returns"):
            annotation = getattr(node, name, None)
            if annotation is not None:
                yield (annotation.lineno, annotation.col_offset), (annotation.end_lineno, annotation.end_col_offset)


def _is_in_any(change: MutationSpec, places: list[tuple[Place, Place]]) -> bool:
    """True if a change is in one of these places, each from its begin to its end."""
    return any(start <= tuple(change.start_pos) < end for start, end in places)


def report(module: str, results: list[tuple[MutationSpec, WorkResult]]) -> Iterator[str]:
    """Lines about the changes that the self-tests did not notice, and how many changes there were."""
    survivors = [(change, result) for change, result in results if result.test_outcome is TestOutcome.SURVIVED]
    too_long = [change for change, result in results if result.output == "timeout"]
    for change, result in survivors:
        yield f"\n{module}:{change.start_pos[0]}: not noticed ({change.operator_name.removeprefix('core/')})"
        for line in (result.diff or "").splitlines():
            is_name_of_file = line.startswith(("+++", "---"))
            if line.startswith(("+", "-")) and not is_name_of_file:
                yield f"    {line}"
    for change in too_long:
        yield f"\n{module}:{change.start_pos[0]}: took too long ({change.operator_name})"
    noticed = len(results) - len(survivors)
    yield f"\n{module}: {noticed} of {len(results)} changes were noticed, {len(too_long)} of them as they took too long"


def _cosmic_ray(*arguments: str, folder: Path) -> None:
    """Run cosmic-ray with these arguments in this folder. CalledProcessError if it fails."""
    command = [str(Path(sys.executable).with_name("cosmic-ray")), *arguments]
    subprocess.run(command, cwd=folder, env=_environment(), check=True)


def _environment() -> dict[str, str]:
    """The variables of this process for the self-tests of the copy.

    PYTHONPATH is left out, because it leads to the original tree, and so are the variables that choose other tests.
    """
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PIX_PROOF", "PIX_CASES")}


def _quoted(text: str) -> str:
    """A text as a string of TOML."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


if __name__ == "__main__":
    main()
