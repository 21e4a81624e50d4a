"""The matrix: what the whole proof showed, as JSON and as a page. A pytest plugin of the process that the user
started; the tests send their results along with their reports, so that it sees those of all workers.
"""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from jinja2 import Environment

from reports.conformance_json import VERSION
from reports.writing import write
from spec.requirements import LEVELS, ledger

FOLDER = Path(__file__).parents[3] / "reports" / "proof"
PROPERTY = "proof"
EVERY_SERVICE = "every service"
"""The choice of specimens whose totals are committed."""
REGISTRIES = ("mutants", "variants", "borderline")
TOTALS = ("line", "choice", "version", "date", "seconds", *REGISTRIES, "by_level")
"""The part of proof.json that summary.json repeats."""
Shown = Mapping[str, Any]
"""One specimen as a test shows it: name, declared_at, registry, operator, description, declared, problems, and its choice."""


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
        f" and passes {passed['right']} of {passed['total']} lawful services",
        "choice": ", ".join(sorted(chosen)),
        "version": VERSION,
        "date": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "seconds": round(seconds, 1),
        **totals,
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
    rows = {row.id for row in ledger().values() if row.level == level}
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
        for row in ledger().values()
        if row.level != "not-shown"
    ]


def page(found: Mapping[str, Any]) -> str:
    """The content of proof.html: one file, without scripts, that needs nothing else."""
    about = {one["name"]: one for one in found["specimens"]}
    template = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(_PAGE)
    return template.render(found, about=about)


_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>The proof of the PIX conformance suite</title>
<style>
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 78rem; padding: 0 1rem; color: #1b1f24 }
table { border-collapse: collapse; margin: 1rem 0; width: 100% } th, td { text-align: left; padding: .25rem .6rem;
vertical-align: top; border-bottom: 1px solid #d8dee4 } .n { text-align: right; white-space: nowrap }
code { font-size: .9em } .yes { background: #dafbe1 } .no { background: #ffd7d5 }
.fault { display: inline-block; padding: 0 .4rem; margin: .1rem; border-radius: .4rem; font-size: .8em }
small { color: #57606a }
</style>
<h1>{{ line[0] | upper }}{{ line[1:] }}.</h1>
<p>Version {{ version }}, {{ date }}, {{ seconds }} s, {{ choice }}. Each fault is the sandbox with one requirement
broken; it is caught if the requirements that it breaks fail or warn, and no others. Each lawful service differs in what
the interface document does not show; it passes if nothing fails and every requirement is exercised.
{{ borderline.right }} of {{ borderline.total }} borderline services get a warning and do not fail.</p>
{% macro figures(title, rows) %}
<table><tr><th>{{ title }}<th class="n">caught<th class="n">faults</tr>
{% for name, figure in rows.items() %}
<tr{% if figure.right < figure.total %} class="no"{% endif %}><td>{{ name }}
<td class="n">{{ figure.right }}<td class="n">{{ figure.total }}</tr>
{% endfor %}</table>
{% endmacro %}
{% macro service(one) %}
<tr{% if one.problems %} class="no"{% endif %}><td>{{ one.name }}<td>{{ one.operator }}<td>{{ one.description }}
{% for problem in one.problems %}<br><b>{{ problem }}</b>{% endfor %}<td><code>{{ one.declared_at }}</code></tr>
{% endmacro %}
<h2>By level</h2>{{ figures("level", by_level) }}
<h2>By sort of fault</h2>{{ figures("sort", by_operator) }}
<h2>Requirement by fault</h2>
<table><tr><th>requirement<th>level<th>faults that break it</tr>
{% for row in requirements %}
<tr><td><code>{{ row.id }}</code><br><small>{{ row.text }}</small><td>{{ row.level }}
<td>{% for name, caught in row.faults.items() %}
<span class="fault {{ 'yes' if caught else 'no' }}" title="{{ about[name].description }} {{ about[name].declared_at }}">{{ name }}</span>
{% else %}<small>{{ row.untestable or "none" }}</small>{% endfor %}</tr>
{% endfor %}</table>
<h2>Lawful and borderline services</h2>
<table><tr><th>service<th>sort<th>what it does<th>declared at</tr>
{% for one in specimens if one.registry != "mutants" %}{{ service(one) }}{% endfor %}</table>
<h2>Faults</h2>
<table><tr><th>fault<th>sort<th>what it does<th>declared at</tr>
{% for one in specimens if one.registry == "mutants" %}{{ service(one) }}{% endfor %}</table>
</html>
"""
