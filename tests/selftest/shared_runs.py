"""Runs that many tests of reports read. Each is made once for all processes of a session, when the first test asks for it."""

import atexit
import os
import pickle
import shutil
import signal
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from filelock import FileLock

from environments.sandbox import Server, Service
from spec.requirements import read_yaml
from tests.selftest.proof.trial import ADDOPTS, CONFORMANCE, RunKeeper
from tests.selftest.services.running import SANDBOX_YAML, TOKEN_VARIABLES, RunResult, write_profile

HOSTILE_TEXT = "</pre></details><script>x</script><!-- ]]> & &amp; \u202e \x01 {{ 1 }}"
UNMASKED_DOCUMENT = "12345678909"


class FailsInManyWays(Service):
    """The sandbox with several faults, so that a report has something to show.

    An execution result shows the whole tax document, lacks `bank`, has a number as `digit`, and markup in a name and a
    value. The list of accounts fails with 500 and markup, and a balance has status 201.
    """

    def execution_result(self, transfer):
        changes = {"document": UNMASKED_DOCUMENT, "digit": 6, "message": HOSTILE_TEXT, HOSTILE_TEXT: [1.0, {}]}
        result = super().execution_result(transfer) | changes
        del result["bank"]
        return result

    def finish(self, request, operation, response):
        """The answer, which is a server error for the list of accounts, and has status 201 for a balance."""
        if operation == "listAccounts":
            return replace(response, status=500, headers=(), body=HOSTILE_TEXT.encode())
        if operation == "getBalance" and response.status == 200:
            return replace(response, status=201)
        return response


class StopsItsRun(Service):
    """The sandbox, with whose tenth answer the user presses Ctrl-C. The run is in the same process."""

    number_of_answers = 0

    def finish(self, request, operation, response):
        """Send SIGINT to this process with the tenth answer."""
        self.number_of_answers += 1
        if self.number_of_answers == 10:
            os.kill(os.getpid(), signal.SIGINT)
        return response


_SHARED = "SELFTESTS_RECORDED"
"""Names the folder of these runs, to this process and those that it starts."""
if _SHARED not in os.environ:
    os.environ[_SHARED] = tempfile.mkdtemp(prefix="pix-conformance-recorded-")
    atexit.register(shutil.rmtree, os.environ[_SHARED], ignore_errors=True)
PYTEST_OPTIONS = ["-o", f"addopts={ADDOPTS}", "--capture=no", "--parallel=1", "-p", "no:cacheprovider"]
VARIABLES = TOKEN_VARIABLES | {"BUILD_NUMBER": "CI-4711", "JENKINS_URL": "https://ci.example"}
_DATA = read_yaml(SANDBOX_YAML)
WHOLE_PROFILE = {"transactions": _DATA["transactions"], "limits": _DATA["limits"] | {"examples": 1}}
TARGETED_PROFILE = WHOLE_PROFILE | {"allow": [permission for permission in _DATA["allow"] if permission != "fuzz"]}
"""A profile whose runs generate no traffic. The run `failing` has generated traffic."""
SHARED_RUNS: dict[str, tuple[type[Service] | None, str, dict[str, Any]]] = {
    "clean": (Service, "", TARGETED_PROFILE),
    "failing": (FailsInManyWays, "executePix or listAccounts or getBalance", {"limits": WHOLE_PROFILE["limits"]}),
    "incomplete": (Service, "executePix or listAccounts", {"transactions": None}),
    "unreachable": (None, "", {}),
    "interrupted": (StopsItsRun, "", TARGETED_PROFILE),
    "partial": (Service, "", {"allow": ["read"], "language": "pt-BR", "sandbox": None}),
}
"""Each run with its service, the expression of -k, and the changes of its profile. The target of `partial` is no sandbox,
and its page is in Portuguese."""


@cache
def shared_run(name: str) -> RunResult:
    """The result of the run with this name in SHARED_RUNS.

    The first call makes the run and writes its result to a file, from which all other processes of the session read it.
    """
    folder = Path(os.environ[_SHARED], name)
    pickled = folder / "pickled"
    with FileLock(f"{folder}.lock"):
        if not pickled.exists():
            service, selection, changes = SHARED_RUNS[name]
            folder.mkdir()
            run = run_with_files(folder, service, *(("-k", selection) if selection else ()), **changes)
            pickled.write_bytes(pickle.dumps(run))
        return pickle.loads(pickled.read_bytes())


def run_with_files(folder: Path, service: type[Service] | None, *options: str, **changes: Any) -> RunResult:
    """The result of a run in this process, with all its files in the folder.

    Without a service nobody listens at its address. `changes` are those of its profile, whose name is staging.
    """
    with _serving(service) as base_url:
        profile = write_profile(folder, changes.pop("base_url", base_url), **changes).rename(folder / "staging.yaml")
        return run_in_this_process(
            f"--environment={profile}", f"--report-dir={folder / 'report'}", "--seed=1", *options
        )


def run_in_this_process(*options: str) -> RunResult:
    """Run pytest in this process. After a wrong command line the result has no model.

    The conformance tests are run, unless an option is the path of some of them.
    """
    keeper = RunKeeper()
    names_tests = any(option.startswith(str(CONFORMANCE)) for option in options)
    paths = [] if names_tests else [str(CONFORMANCE)]
    report_folders = [option.partition("=")[2] for option in options if option.startswith("--report-dir=")]
    folder = Path(report_folders[0]) if report_folders else Path()
    with tempfile.NamedTemporaryFile("w", encoding="utf-8") as printed, mock.patch.dict(os.environ, VARIABLES):
        with redirect_stdout(printed), redirect_stderr(printed):
            status = pytest.main([*PYTEST_OPTIONS, *options, *paths], plugins=[keeper])
        printed.flush()
        return RunResult(int(status), Path(printed.name).read_text("utf-8"), folder, run=keeper.run)


@contextmanager
def _serving(service: type[Service] | None) -> Iterator[str]:
    """The address of a service. Without a service it is an address at which nobody can listen during the block."""
    if service is not None:
        with Server(service(token=TOKEN_VARIABLES["PIX_TOKEN"])) as server:
            yield server.base_url
    else:
        with socket.socket() as occupied:
            occupied.bind(("127.0.0.1", 0))
            yield f"http://127.0.0.1:{occupied.getsockname()[1]}"
