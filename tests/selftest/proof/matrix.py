"""The summary of a whole proof: how many services got the verdicts that they declare.

The file reports/proof/summary.json is committed, and every report quotes its first line. A plugin of pytest writes the
file. The plugin works in the process that the user started. Each test adds the result of its service to its report, so
the plugin also gets the results of the workers of pytest-xdist.
"""

import json
import time
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from reports.outputs.writing import write_private_file
from reports.result.provenance import VERSION
from spec.requirements import LEVELS, requirements

SUMMARY = Path(__file__).parents[3] / "reports" / "proof" / "summary.json"
PROPERTY = "proof"
"""The name under which the report of a test has the result of a service."""
REGISTRIES = ("mutants", "variants", "borderline")
ServiceInSummary = Mapping[str, Any]
"""The result of one service, as the report of a test has it.

It has the name of the service, its registry, the requirements that it declares, whether it is parallel, and whether it
got the verdicts that it declares (`right`). `expected` names all services of the proof in one of the results.
"""


def pytest_configure(config: pytest.Config) -> None:
    """Register the plugin that writes the summary, unless this process is a worker of pytest-xdist."""
    is_worker = hasattr(config, "workerinput")
    if not is_worker:
        config.pluginmanager.register(ProofSummary(), "proof-matrix")


class ProofSummary:
    """A plugin of pytest that collects the results of all services, and writes the summary if every service was tried."""

    def __init__(self) -> None:
        """There is no result yet, and the time of the proof starts."""
        self.results: dict[str, ServiceInSummary] = {}  # by name of the service
        self.expected: set[str] = set()  # the names of all services of the proof; empty if not all are to be tried
        self.started = time.monotonic()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the result of a service, if the report of a test has one. pytest calls this for each report."""
        if report.when != "call":  # a test also has reports of its set-up and of its end
            return
        for name, value in report.user_properties:
            if name == PROPERTY:
                self.results[value["name"]] = value
                self.expected |= set(value["expected"])

    def pytest_sessionfinish(self) -> None:
        """Write the summary if every service of the proof was tried. pytest calls this at the end."""
        was_every_service_tried = self.expected == set(self.results)
        if self.expected and was_every_service_tried:
            summary = summary_of(self.results.values(), seconds=time.monotonic() - self.started)
            write_private_file(SUMMARY, json.dumps(summary, indent=1) + "\n")


def summary_of(results: Iterable[ServiceInSummary], *, seconds: float) -> dict[str, Any]:
    """The content of summary.json: how many services got the verdicts that they declare, in all and by level.

    `results` has the result of each service, and `seconds` is how long the proof took.
    """
    by_registry = {name: [service for service in results if service["registry"] == name] for name in REGISTRIES}
    totals = {name: _figures(services) for name, services in by_registry.items()}
    caught, passed = totals["mutants"], totals["variants"]
    faults = by_registry["mutants"] + by_registry["borderline"]
    by_level = {}
    for level in LEVELS:
        services_of_level = _services_that_declare(level, faults)
        if services_of_level:
            by_level[level] = _figures(services_of_level)
    return {
        "line": f"this suite catches {caught['right']} of {caught['total']} seeded faults"
        f" and passes {passed['right']} of {passed['total']} conforming services",
        "choice": "every service",
        "version": VERSION,
        "date": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "seconds": round(seconds, 1),
        **totals,
        "parallel": {
            name: _figures(service for service in services if service["parallel"])
            for name, services in by_registry.items()
        },
        "by_level": by_level,
    }


def _figures(services: Iterable[ServiceInSummary]) -> dict[str, int]:
    """The number of these services (`total`), and the number of those that got the verdicts that they declare (`right`).

    For example {"total": 12, "right": 12}.
    """
    services = list(services)
    as_declared = [service for service in services if service["right"]]
    return {"total": len(services), "right": len(as_declared)}


def _services_that_declare(level: str, services: Iterable[ServiceInSummary]) -> list[ServiceInSummary]:
    """The services, of these, that declare to break a requirement at this level, such as "documented"."""
    ids = {requirement.id for requirement in requirements().values() if requirement.level == level}
    return [service for service in services if not ids.isdisjoint(service["declared"])]
