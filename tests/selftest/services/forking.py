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

    Returns its exit status, what it printed, and its peak memory in MB. `stdout` is a file that takes its output, such as
    /dev/full. What goes there is not returned.
    """
    server = _server()
    with tempfile.TemporaryDirectory() as folder:
        printed = [Path(folder, name) for name in ("stdout", "stderr")]
        paths_of_output = [stdout or str(printed[0]), str(printed[1])]
        print(json.dumps([arguments, environment, paths_of_output]), file=server.stdin, flush=True)
        exit_status, peak_kb = json.loads(server.stdout.readline())
        output = "".join(path.read_text(errors="replace") for path in printed if path.exists())
    return exit_status, output, peak_kb / 1024


@cache
def _server() -> Popen[str]:
    """The process from which runs are forked, started once. It ends with this process."""
    server = Popen([sys.executable, "-m", __name__], cwd=ROOT, stdin=PIPE, stdout=PIPE, text=True)
    atexit.register(server.communicate)
    return server


def serve() -> None:
    """Fork a process for each line of stdin, and answer with its exit status and its peak memory in KiB."""
    with contextlib.redirect_stdout(io.StringIO()), tempfile.TemporaryDirectory() as folder:
        once = ["-k", "listAccounts.status", f"--report-dir={folder}", "-p", "no:cacheprovider"]
        pytest.main([*once, str(ROOT / "tests" / "conformance")])
    importlib.import_module("tests.traffic.drawing.cases")  # a run that has it draws without another process
    gc.collect()
    gc.freeze()
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            _become_pytest(*json.loads(line))
        _, status, usage = os.wait4(child, 0)
        print(json.dumps([os.waitstatus_to_exitcode(status), usage.ru_maxrss]), flush=True)


def _become_pytest(arguments: list[str], environment: dict[str, str], paths_of_output: list[str]) -> None:
    """Run pytest in this forked process, with these variables, and end the process with its exit status.

    stdin is empty. stdout and stderr go to these two files.
    """
    os.environ.clear()
    os.environ.update(environment)
    for descriptor, path in enumerate((os.devnull, *paths_of_output)):
        os.dup2(os.open(path, os.O_RDWR | os.O_CREAT), descriptor)
    guard_output()
    sys.argv = ["pytest", *arguments]
    sys.exit(pytest.main(arguments))


if __name__ == "__main__":
    serve()
