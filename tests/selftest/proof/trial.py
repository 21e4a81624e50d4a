"""A trial: a run of the suite against one service of the proof, and the result of such a run (`Trial`).

The trials of this module are whole runs of pytest in this process, over real HTTP and without reports. `directly.py`
has faster ones.
"""

import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from environments.sandbox import Server, Service
from reports.outputs.conformance_json import document_of
from reports.result.run import Run
from reports.result.run_verdict import RunResult, result_of_run
from reports.result.verdicts import RequirementResult, Verdict
from tests.selftest.schemas import schema_deviations
from tests.selftest.services.running import write_sandbox_profile

CONFORMANCE = Path(__file__).parents[2] / "conformance"
"""The folder of the conformance tests."""
ADDOPTS = (
    "--import-mode=importlib --disable-plugin-autoload -p pytest_base_url.plugin -p pytest_html.plugin "
    "-p pytest_metadata.plugin"
)
"""Options that replace those of pyproject.toml: without the plugins that only self-tests need."""
_OFF = (
    "terminal", "cacheprovider", "junitxml", "logging", "faulthandler", "threadexception", "unraisableexception",
    "doctest", "pastebin", "stepwise", "unittest", "legacypath", "setuponly", "setupplan", "debugging",
)  # fmt: skip
"""Plugins that a trial does not need."""
_OPTIONS_OFF = list(chain.from_iterable(("-p", f"no:{name}") for name in _OFF))
QUIET_PYTEST = ["-o", f"addopts={ADDOPTS}", "--capture=no", *_OPTIONS_OFF]
"""Options with which pytest prints nothing, and loads only the plugins that a trial needs."""
TARGETED_OPTIONS = ("--no-report", "-m", "not property")
"""The options of a trial: no reports, and no tests of generated requests."""

_OF_GENERATED_TRAFFIC = frozenset({"executePix.repeated"})
"""Requirements that only tests of generated requests judge. A trial leaves them out."""


@dataclass(frozen=True)
class Trial:
    """The result of a run against one service."""

    exit_status: int
    results: Mapping[str, RequirementResult]
    """The results by the ids of their requirements."""
    requests: int
    """The number of requests that were sent."""
    errors: tuple[str, ...]
    """Errors of the suite itself."""
    findings: tuple[Mapping[str, Any], ...] = ()
    """The deviations, as conformance.json has them."""
    notes: tuple[str, ...] = ()
    """The notes of the report, such as about a limit that was reached."""

    def with_verdict(self, verdict: str) -> set[str]:
        """The ids of the requirements with this verdict."""
        return {requirement_id for requirement_id, result in self.results.items() if result.verdict == verdict}

    @property
    def failing(self) -> set[str]:
        """The ids of the requirements that failed."""
        return self.with_verdict(Verdict.FAIL)

    @property
    def warned(self) -> set[str]:
        """The ids of the requirements with a warning."""
        return self.with_verdict(Verdict.WARN)

    @property
    def not_exercised(self) -> set[str]:
        """The ids of the requirements that were not exercised: no answer could show whether they are met."""
        return self.with_verdict(Verdict.NOT_EXERCISED)


class RunKeeper:
    """A plugin of pytest that keeps the record of a run (`Run`) in its attribute `run`."""

    run: Run | None = None

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Keep the record, which another plugin, that of the suite, has. pytest calls this at the end.

        If pytest refused its options, that plugin does not exist, and `run` stays None.
        """
        conformance_run = session.config.pluginmanager.get_plugin("conformance-run")
        self.run = conformance_run.run if conformance_run else None


def status_and_run(*arguments: str, quiet: Sequence[str] = QUIET_PYTEST) -> tuple[int, Run]:
    """Run the conformance tests in this process, and return the exit status and the record of the run.

    `arguments` are options of pytest, or paths of tests. Without a path all conformance tests are run. `quiet` are
    further options. RuntimeError if there is no record, because pytest refused the options.
    """
    keeper = RunKeeper()
    names_tests = any(argument.startswith(str(CONFORMANCE)) for argument in arguments)
    paths = [] if names_tests else [str(CONFORMANCE)]
    status = pytest.main([*quiet, *arguments, *paths], plugins=[keeper])
    if keeper.run is None:
        raise RuntimeError(f"the run ended with {status!r} and no verdict")
    return int(status), keeper.run


def try_service(service: Service, *arguments: str, environment: str = "sandbox") -> Trial:
    """Run the tests of requests of scenarios against a service over HTTP, and return the result.

    `arguments` are options of pytest. RuntimeError if pytest refused the options.
    """
    server_class = getattr(service, "SERVER", Server)  # some services need a server of their own
    with server_class(service) as server:
        return try_target(server.base_url, service.token, *arguments, environment=environment)


def try_target(base_url: str, token: str, *arguments: str, environment: str = "sandbox") -> Trial:
    """Run the tests of requests of scenarios against the service at an address, and return the result.

    The profile (the copy of the one named `environment`) calls the address a sandbox, which is a service without real
    money. RuntimeError if pytest refused the options, or if conformance.json would not be valid.
    """
    os.environ |= {"PIX_SANDBOX_TOKEN": token, "PIX_TOKEN": token}
    with tempfile.TemporaryDirectory() as folder:
        profile = write_sandbox_profile(base_url, Path(folder), environment)
        status, run = status_and_run(*TARGETED_OPTIONS, f"--environment={profile}", *arguments)
    document = document_of(run)
    deviations_from_schema = schema_deviations(document)
    if deviations_from_schema:
        raise RuntimeError(f"conformance.json is not valid: {deviations_from_schema[:3]}")
    return Trial(
        status,
        results_by_requirement(result_of_run(run)),
        run.requests,
        tuple(run.errors),
        findings=document.findings,
        notes=tuple(map(str, document.notes)),
    )


def results_by_requirement(result: RunResult) -> dict[str, RequirementResult]:
    """The result of each requirement by its id. Requirements that need generated requests are left out."""
    results = {}
    for requirement, requirement_result in result.results:
        if requirement.id not in _OF_GENERATED_TRAFFIC:
            results[requirement.id] = requirement_result
    return results
