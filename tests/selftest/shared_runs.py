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
"""A text that would break a page, XML, a terminal or a template, if a report wrote it as it is."""
UNMASKED_DOCUMENT = "12345678909"
"""A tax document that should be masked."""


class FailsInManyWays(Service):
    """The sandbox with several faults, so that a report has something to show.

    An execution result shows the whole tax document, lacks `bank`, has a number as `digit`, and markup in a name and a
    value. The list of accounts fails with 500 and markup, and a balance has status 201.
    """

    def execution_result(self, transfer):
        """The execution result of the sandbox, with four members that are wrong and without `bank`."""
        wrong_members = {"document": UNMASKED_DOCUMENT, "digit": 6, "message": HOSTILE_TEXT, HOSTILE_TEXT: [1.0, {}]}
        result = super().execution_result(transfer) | wrong_members
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
    """The sandbox, which stops the run with its tenth answer, as if the user pressed Ctrl-C.

    The run must be in the same process.
    """

    number_of_answers = 0

    def finish(self, request, operation, response):
        """The answer of the sandbox. With the tenth one, SIGINT (the signal of Ctrl-C) is sent to this process."""
        self.number_of_answers += 1
        if self.number_of_answers == 10:
            os.kill(os.getpid(), signal.SIGINT)
        return response


_SHARED = "SELFTESTS_RECORDED"
"""The variable that names the folder of the shared runs, for this process and the processes that it starts.

The first process makes the folder, and deletes it at its end.
"""
if _SHARED not in os.environ:
    os.environ[_SHARED] = tempfile.mkdtemp(prefix="pix-conformance-recorded-")
    atexit.register(shutil.rmtree, os.environ[_SHARED], ignore_errors=True)
PYTEST_OPTIONS = ["-o", f"addopts={ADDOPTS}", "--capture=no", "--parallel=1", "-p", "no:cacheprovider"]
VARIABLES = TOKEN_VARIABLES | {"BUILD_NUMBER": "CI-4711", "JENKINS_URL": "https://ci.example"}
"""Variables of the environment during a run: the token, and those of a job of Jenkins."""
_SANDBOX = read_yaml(SANDBOX_YAML)
"""The profile of the sandbox."""
WHOLE_PROFILE = {"transactions": _SANDBOX["transactions"], "limits": _SANDBOX["limits"] | {"examples": 1}}
"""A profile whose runs also execute transfers and send a little generated traffic."""
_PERMISSIONS_WITHOUT_FUZZ = [permission for permission in _SANDBOX["allow"] if permission != "fuzz"]
TARGETED_PROFILE = WHOLE_PROFILE | {"allow": _PERMISSIONS_WITHOUT_FUZZ}
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
    """The result of the run with this name in SHARED_RUNS, such as "clean".

    The first call makes the run and writes its result to a file. Later calls, also those in other processes, read the
    result from the file. A process that comes meanwhile waits until the run has ended.
    """
    folder = Path(os.environ[_SHARED], name)
    file_of_result = folder / "pickled"
    with FileLock(f"{folder}.lock"):
        if not file_of_result.exists():
            service, selection, changes = SHARED_RUNS[name]
            options = ["-k", selection] if selection else []
            folder.mkdir()
            result = run_with_files(folder, service, *options, **changes)
            file_of_result.write_bytes(pickle.dumps(result))
        return pickle.loads(file_of_result.read_bytes())


def run_with_files(folder: Path, service: type[Service] | None, *options: str, **changes: Any) -> RunResult:
    """Run the suite in this process against a service of this class, and return the result of the run.

    All files of the run are in the folder. If `service` is None, nobody listens at the address. `changes` are members
    of the profile that differ from those of the sandbox. The profile has the name staging.
    """
    with _serving(service) as base_url:
        profile = write_profile(folder, changes.pop("base_url", base_url), **changes).rename(folder / "staging.yaml")
        return run_in_this_process(
            f"--environment={profile}", f"--report-dir={folder / 'report'}", "--seed=1", *options
        )


def run_in_this_process(*options: str) -> RunResult:
    """Run the conformance tests with these options of pytest in this process, and return the result of the run.

    All conformance tests are run, unless an option is the path of some of them. If pytest refuses the options, the
    result has no record of the run (`run` is None).
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
    """The address at which a service of this class answers during the block.

    If `service` is None, it is an address where nothing answers. A socket has the port, but does not listen there, so
    that no other program can take the port meanwhile.
    """
    if service is not None:
        with Server(service(token=TOKEN_VARIABLES["PIX_TOKEN"])) as server:
            yield server.base_url
    else:
        with socket.socket() as occupied:
            occupied.bind(("127.0.0.1", 0))
            _, port = occupied.getsockname()
            yield f"http://127.0.0.1:{port}"
