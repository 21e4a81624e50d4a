"""The matrix: what the whole proof showed, as JSON and as a page. A pytest plugin of the process that the user
started; the tests send their results along with their reports, so that it sees those of all workers.
"""

import json
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from jinja2 import Environment

from reports.provenance import VERSION
from reports.writing import write
from spec.requirements import LEVELS, requirements

FOLDER = Path(__file__).parents[3] / "reports" / "proof"
_PAGE = Path(__file__).with_name("proof.html")
"""The template of the page."""
PROPERTY = "proof"
EVERY_SERVICE = "every service"
"""The choice of specimens whose totals are committed."""
REGISTRIES = ("mutants", "variants", "borderline")
TOTALS = ("line", "choice", "version", "date", "seconds", *REGISTRIES, "parallel", "by_level")
"""The part of proof.json that summary.json repeats."""
Shown = Mapping[str, Any]
"""One specimen as a test shows it: name, declared_at, registry, operator, description, declared, problems,
parallel, and its choice."""


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Matrix(), "proof-matrix")


class Matrix:
    """Gathers what the tests show, and writes it where all of it was shown."""

    def __init__(self) -> None:
        self.shown: dict[str, Shown] = {}
        self.expected: set[str] = set()
        self.started = time.monotonic()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for name, value in report.user_properties if report.when == "call" else ():
            if name == PROPERTY:
                self.shown[value["name"]] = value
                self.expected |= set(value.get("expected", ()))

    def pytest_sessionfinish(self) -> None:
        if self.shown and self.expected == set(self.shown):
            write_proof(proof_of(self.shown.values(), seconds=time.monotonic() - self.started), FOLDER)


def write_proof(proof: Mapping[str, Any], folder: Path) -> None:
    """Write proof.json and proof.html, and summary.json, which is committed, where every service was tried."""
    folder.mkdir(parents=True, exist_ok=True)
    write(folder / "proof.json", as_json(proof))
    write(folder / "proof.html", page(proof))
    if proof["choice"] == EVERY_SERVICE:
        write(folder / "summary.json", as_json({name: proof[name] for name in TOTALS}))


def as_json(content: Mapping[str, Any]) -> str:
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def proof_of(shown: Iterable[Shown], *, seconds: float) -> dict[str, Any]:
    """The content of proof.json."""
    specimens = sorted(shown, key=lambda one: (one["registry"], one["operator"], one["name"]))
    by_registry = {name: [one for one in specimens if one["registry"] == name] for name in REGISTRIES}
    totals = {name: _figures(found) for name, found in by_registry.items()}
    caught, passed = totals["mutants"], totals["variants"]
    faults = by_registry["mutants"] + by_registry["borderline"]
    chosen = {one["choice"] for one in specimens}
    return {
        "line": f"this suite catches {caught['right']} of {caught['total']} seeded faults"
        f" and passes {passed['right']} of {passed['total']} conforming services",
        "choice": ", ".join(sorted(chosen)),
        "version": VERSION,
        "date": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "seconds": round(seconds, 1),
        **totals,
        "parallel": {name: _figures(one for one in found if one["parallel"]) for name, found in by_registry.items()},
        "by_level": {level: _figures(_of_level(faults, level)) for level in LEVELS if _of_level(faults, level)},
        "by_operator": {name: _figures(found) for name, found in _by_operator(faults).items()},
        "requirements": _requirements(faults),
        "specimens": specimens,
    }


def _figures(specimens: Iterable[Shown]) -> dict[str, int]:
    """How many there are, and how many of them were judged as declared."""
    specimens = list(specimens)
    return {"total": len(specimens), "right": sum(not one["problems"] for one in specimens)}


def _of_level(specimens: Iterable[Shown], level: str) -> list[Shown]:
    rows = {row.id for row in requirements().values() if row.level == level}
    return [one for one in specimens if rows & set(one["declared"])]


def _by_operator(specimens: Iterable[Shown]) -> dict[str, list[Shown]]:
    found: dict[str, list[Shown]] = defaultdict(list)
    for one in specimens:
        found[one["operator"]].append(one)
    return dict(sorted(found.items()))


def _requirements(specimens: list[Shown]) -> list[dict[str, Any]]:
    return [
        {
            "id": row.id,
            "level": row.level,
            "text": row.text,
            "untestable": row.untestable,
            "faults": {one["name"]: not one["problems"] for one in specimens if row.id in one["declared"]},
        }
        for row in requirements().values()
        if row.level != "not-shown"
    ]


def page(found: Mapping[str, Any]) -> str:
    """The content of proof.html: one file, without scripts, that needs nothing else."""
    about = {one["name"]: one for one in found["specimens"]}
    template = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(_PAGE.read_text("utf-8"))
    return template.render(found, about=about)
