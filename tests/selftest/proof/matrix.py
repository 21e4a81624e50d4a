"""The summary of a whole proof, reports/proof/summary.json, which is committed, and which every report quotes.

A pytest plugin of the process that the user started writes it. The tests send their results along with their reports, so
that the plugin sees those of all workers (pytest-xdist).
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
REGISTRIES = ("mutants", "variants", "borderline")
ServiceInSummary = Mapping[str, Any]
"""One service as a test shows it: name, registry, declared, parallel, and whether all was as declared (`right`)."""


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(ProofSummary(), "proof-matrix")


class ProofSummary:
    """A plugin that gathers the services of all workers, and writes the summary if every service was tried."""

    def __init__(self) -> None:
        self.shown: dict[str, ServiceInSummary] = {}
        self.expected: set[str] = set()
        self.started = time.monotonic()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the result of a service that the report of a test has."""
        if report.when != "call":
            return
        for name, value in report.user_properties:
            if name == PROPERTY:
                self.shown[value["name"]] = value
                self.expected |= set(value["expected"])

    def pytest_sessionfinish(self) -> None:
        """Write the summary if every service of the proof was tried."""
        if self.expected and self.expected == set(self.shown):
            summary = summary_of(self.shown.values(), seconds=time.monotonic() - self.started)
            write_private_file(SUMMARY, json.dumps(summary, indent=1) + "\n")


def summary_of(shown: Iterable[ServiceInSummary], *, seconds: float) -> dict[str, Any]:
    """The content of summary.json."""
    by_registry = {name: [service for service in shown if service["registry"] == name] for name in REGISTRIES}
    totals = {name: _figures(services) for name, services in by_registry.items()}
    caught, passed = totals["mutants"], totals["variants"]
    faults = by_registry["mutants"] + by_registry["borderline"]
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
        "by_level": {level: _figures(_of_level(faults, level)) for level in LEVELS if _of_level(faults, level)},
    }


def _figures(services: Iterable[ServiceInSummary]) -> dict[str, int]:
    """The number of services, and of those that were judged as declared."""
    services = list(services)
    return {"total": len(services), "right": sum(service["right"] for service in services)}


def _of_level(services: Iterable[ServiceInSummary], level: str) -> list[ServiceInSummary]:
    """The services that declare a requirement of this level."""
    ids = {row.id for row in requirements().values() if row.level == level}
    return [service for service in services if ids & set(service["declared"])]
