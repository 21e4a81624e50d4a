"""Runs of pytest that start with everything imported.

Each run is forked from a process that has run conformance tests before. A process that is not forked would import the
same modules again, which takes a second of processor time.
"""

import atexit
import contextlib
import gc
import importlib
import io
import json
import os
import sys
import tempfile
from functools import cache
from pathlib import Path
from subprocess import PIPE, Popen

import pytest

from tests.harness.process import guard_output

ROOT = Path(__file__).parents[3]


def run_pytest(arguments: list[str], environment: dict[str, str], stdout: str = "") -> tuple[int, str, float]:
    """Run `python -m pytest` with these arguments and variables, in the checkout, to its end.

    Returns its exit status, its output (stdout and then stderr), and its peak memory in MB. `stdout` is a file that
    takes the place of stdout, such as /dev/full. The output that goes to this file is not returned.
    """
    forking_process = _forking_process()
    with tempfile.TemporaryDirectory() as folder:
        stdout_file, stderr_file = Path(folder, "stdout"), Path(folder, "stderr")
        paths_of_output = [stdout or str(stdout_file), str(stderr_file)]
        print(json.dumps([arguments, environment, paths_of_output]), file=forking_process.stdin, flush=True)
        exit_status, peak_kb = json.loads(forking_process.stdout.readline())
        output = ""
        for file in (stdout_file, stderr_file):
            if file.exists():
                output += file.read_text(errors="replace")
    return exit_status, output, peak_kb / 1024


@cache
def _forking_process() -> Popen[str]:
    """The process from which runs are forked, started once. It ends with this process."""
    process = Popen([sys.executable, "-m", __name__], cwd=ROOT, stdin=PIPE, stdout=PIPE, text=True)
    atexit.register(process.communicate)
    return process


def fork_runs() -> None:
    """Fork a process for each line of stdin, and print its exit status and its peak memory in KiB.

    A line is JSON with the arguments of `_become_pytest`. Before the first line is read, one short run imports all
    modules.
    """
    with contextlib.redirect_stdout(io.StringIO()), tempfile.TemporaryDirectory() as folder:
        options_of_short_run = ["-k", "listAccounts.status", f"--report-dir={folder}", "-p", "no:cacheprovider"]
        pytest.main([*options_of_short_run, str(ROOT / "tests" / "conformance")])
    # a run that has imported this module draws requests itself; otherwise it starts another process for that
    importlib.import_module("tests.traffic.drawing.cases")
    gc.collect()
    gc.freeze()
    for line in sys.stdin:
        process_id = os.fork()
        is_forked_process = process_id == 0
        if is_forked_process:
            _become_pytest(*json.loads(line))
        _, status, usage = os.wait4(process_id, 0)
        print(json.dumps([os.waitstatus_to_exitcode(status), usage.ru_maxrss]), flush=True)


def _become_pytest(arguments: list[str], environment: dict[str, str], paths_of_output: list[str]) -> None:
    """Run pytest in this forked process, with these variables, and end the process with its exit status.

    stdin is empty. stdout and stderr go to the two files in `paths_of_output`.
    """
    os.environ.clear()
    os.environ.update(environment)
    stdout, stderr = paths_of_output
    for descriptor, path in ((0, os.devnull), (1, stdout), (2, stderr)):
        os.dup2(os.open(path, os.O_RDWR | os.O_CREAT), descriptor)
    guard_output()
    sys.argv = ["pytest", *arguments]
    sys.exit(pytest.main(arguments))


if __name__ == "__main__":
    fork_runs()
