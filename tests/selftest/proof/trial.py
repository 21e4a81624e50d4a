"""A trial: the result of the suite against one service, here over real HTTP, in this process and without reports."""

import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
ADDOPTS = (
    "--import-mode=importlib --disable-plugin-autoload -p pytest_base_url.plugin -p pytest_html.plugin "
    "-p pytest_metadata.plugin"
)
_OFF = (
    "terminal", "cacheprovider", "junitxml", "logging", "faulthandler", "threadexception", "unraisableexception",
    "doctest", "pastebin", "stepwise", "unittest", "legacypath", "setuponly", "setupplan", "debugging",
)  # fmt: skip
"""Plugins that a trial does not need."""
QUIET_PYTEST = ["-o", f"addopts={ADDOPTS}", "--capture=no", *(part for name in _OFF for part in ("-p", f"no:{name}"))]
TARGETED_OPTIONS = ("--no-report", "-m", "not property")
"""The options of a trial."""

_OF_GENERATED_TRAFFIC = frozenset({"executePix.repeated"})
"""Requirements that only the property tests answer for, which a trial leaves out."""


@dataclass(frozen=True)
class Trial:
    """The result of a run against one service: exit status, result by requirement, requests sent, errors of the
    suite, findings, and the notes of the report.
    """

    exit_status: int
    results: Mapping[str, RequirementResult]
    requests: int
    errors: tuple[str, ...]
    findings: tuple[Mapping[str, Any], ...] = ()
    notes: tuple[str, ...] = ()

    def with_verdict(self, verdict: str) -> set[str]:
        """The ids of the requirements with this verdict."""
        return {id for id, result in self.results.items() if result.verdict == verdict}

    @property
    def failing(self) -> set[str]:
        return self.with_verdict(Verdict.FAIL)

    @property
    def warned(self) -> set[str]:
        return self.with_verdict(Verdict.WARN)

    @property
    def not_exercised(self) -> set[str]:
        return self.with_verdict(Verdict.NOT_EXERCISED)


class RunKeeper:
    """A plugin of pytest that keeps the model of a run."""

    run: Run | None = None

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Keep the model, which the plugin of the suite has. After a wrong command line there is no such plugin."""
        conformance_run = session.config.pluginmanager.get_plugin("conformance-run")
        self.run = conformance_run.run if conformance_run else None


def status_and_run(*arguments: str, quiet: Sequence[str] = QUIET_PYTEST) -> tuple[int, Run]:
    """Run the suite in this process. Returns its exit status and its model. RuntimeError if there is no model.

    All conformance tests are run, unless an argument is the path of some of them.
    """
    keeper = RunKeeper()
    names_tests = any(argument.startswith(str(CONFORMANCE)) for argument in arguments)
    paths = [] if names_tests else [str(CONFORMANCE)]
    status = pytest.main([*quiet, *arguments, *paths], plugins=[keeper])
    if keeper.run is None:
        raise RuntimeError(f"the run ended with {status!r} and no verdict")
    return int(status), keeper.run


def try_service(service: Service, *arguments: str, environment: str = "sandbox") -> Trial:
    """Run the targeted tests against the service over HTTP. RuntimeError if the run gave no verdict."""
    with getattr(service, "SERVER", Server)(service) as server:
        return try_target(server.base_url, service.token, *arguments, environment=environment)


def try_target(base_url: str, token: str, *arguments: str, environment: str = "sandbox") -> Trial:
    """Run the targeted tests against an address, as a sandbox. RuntimeError if the run gave no verdict."""
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
    """The result of each requirement, by its id."""
    return {row.id: verdict for row, verdict in result.results if row.id not in _OF_GENERATED_TRAFFIC}
