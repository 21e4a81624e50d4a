"""Runs that feed the tests of every report: each is made once for all processes of a session, when a test asks for it."""

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
    """The tax document is not masked, members are missing, of another type or too many, with markup in names and
    values; a list fails with a page of markup, another is answered with 201."""

    def execution_result(self, transfer):
        changes = {"document": UNMASKED_DOCUMENT, "digit": 6, "message": HOSTILE_TEXT, HOSTILE_TEXT: [1.0, {}]}
        result = super().execution_result(transfer) | changes
        del result["bank"]
        return result

    def finish(self, request, operation, response):
        if operation == "listAccounts":
            return replace(response, status=500, headers=(), body=HOSTILE_TEXT.encode())
        return replace(response, status=201) if operation == "getBalance" and response.status == 200 else response


class StopsItsRun(Service):
    """It answers like the sandbox; with the tenth answer the user presses Ctrl-C."""

    answers = 0

    def finish(self, request, operation, response):
        self.answers += 1
        if self.answers == 10:
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
TARGETED_PROFILE = WHOLE_PROFILE | {"allow": [each for each in _DATA["allow"] if each != "fuzz"]}
"""Nothing is generated: `failing` has what that adds."""
SHARED_RUNS: dict[str, tuple[type[Service] | None, str, dict[str, Any]]] = {
    "clean": (Service, "", TARGETED_PROFILE),
    "failing": (FailsInManyWays, "executePix or listAccounts or getBalance", {"limits": WHOLE_PROFILE["limits"]}),
    "incomplete": (Service, "executePix or listAccounts", {"transactions": None}),
    "unreachable": (None, "", {}),
    "interrupted": (StopsItsRun, "", TARGETED_PROFILE),
    "partial": (Service, "", {"allow": ["read"], "language": "pt-BR", "sandbox": None}),
}
"""Each with its service, the requirements that it is about, all of them by default, and changes of the profile. `partial`
asks no sandbox, and its page is in Portuguese."""


@cache
def shared_run(name: str) -> RunResult:
    """The run of this name in RUNS."""
    folder = Path(os.environ[_SHARED], name)
    kept = folder / "kept"
    with FileLock(f"{folder}.lock"):
        if not kept.exists():
            service, selection, changes = SHARED_RUNS[name]
            folder.mkdir()
            run = run_with_files(folder, service, *(("-k", selection) if selection else ()), **changes)
            kept.write_bytes(pickle.dumps(run))
        return pickle.loads(kept.read_bytes())


def run_with_files(folder: Path, service: type[Service] | None, *options: str, **changes: Any) -> RunResult:
    """A run in this process, with all its files, against the service, or against nobody. `changes` are those of its
    profile, whose name is staging."""
    with _serving(service) as base_url:
        profile = write_profile(folder, changes.pop("base_url", base_url), **changes).rename(folder / "staging.yaml")
        return run_in_this_process(
            f"--environment={profile}", f"--report-dir={folder / 'report'}", "--seed=1", *options
        )


def run_in_this_process(*options: str) -> RunResult:
    """Run pytest in this process. A command line that is wrong gives a result without a model."""
    keeps = RunKeeper()
    paths = [] if any(option.startswith(str(CONFORMANCE)) for option in options) else [str(CONFORMANCE)]
    folder = next((Path(one.partition("=")[2]) for one in options if one.startswith("--report-dir=")), Path())
    with tempfile.NamedTemporaryFile("w", encoding="utf-8") as printed, mock.patch.dict(os.environ, VARIABLES):
        with redirect_stdout(printed), redirect_stderr(printed):
            status = pytest.main([*PYTEST_OPTIONS, *options, *paths], plugins=[keeps])
        printed.flush()
        return RunResult(int(status), Path(printed.name).read_text("utf-8"), folder, run=keeps.run)


@contextmanager
def _serving(service: type[Service] | None) -> Iterator[str]:
    """The address of a service; without one, an address at which nobody can listen meanwhile."""
    if service is not None:
        with Server(service(token=TOKEN_VARIABLES["PIX_TOKEN"])) as server:
            yield server.base_url
    else:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            yield f"http://127.0.0.1:{taken.getsockname()[1]}"
