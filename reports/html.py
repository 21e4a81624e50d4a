"""report.html: what a QA manager reads in a minute and an engineer acts on, placed into pytest-html's page.

Nothing here trusts what it shows: the template escapes every value, and what cannot be seen is made visible.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from functools import cache
from operator import itemgetter
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from reports.comparison import WORDS
from reports.conformance_json import Document, document_of
from reports.handover import NoteKind
from reports.headline import headline, permitted, remedy, run_line
from reports.page.exchange_list import exchange_list
from reports.page.figures import by_heading, levels, tile
from reports.run import Run
from reports.verdicts import TESTED, Verdict, fails
from reports.wording import by_level, grouped

TEMPLATES = Path(__file__).with_name("templates")
CHECKOUT = Path(__file__).parents[1]
REQUIREMENTS = CHECKOUT / "spec" / "requirements.md"
_UNSEEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")

Entry = dict[str, Any]
"""A requirement or a finding of conformance.json."""


def summary_html(run: Run, requirements: str = "") -> str:
    """The requirement-first part of the report as HTML; every value that is not our own is escaped.

    `requirements` is the page that each requirement links to; without one there are no such links.
    """
    document = document_of(run)
    parts = {**_first_minute(run, document), **_by_requirement(run, document), **exchange_list(run, document)}
    return visible(_template().render(document=document, requirements=requirements, **parts))


def _first_minute(run: Run, document: Document) -> dict[str, Any]:
    """What a QA manager reads: the verdict, the findings, the figures."""
    return {
        "notes": _notes(run),
        "headline": headline(document),
        "run_line": run_line(document),
        "permitted": permitted(document["environment"]["allow"]),
        "findings": _findings(document["findings"]),
        "tested": any(one["verdict"] in TESTED for one in document["requirements"]),
        "tiles": {"Conformance": tile(document, "documented"), "Robustness": tile(document, "robustness")},
        "levels": levels(document, run.profile.fail_on),
        "verdicts": Verdict,
        "not_executed": run.not_executed,
        "remedy": list(remedy(document)),
        "proof": document["suite"]["proof"],
        "changes": WORDS,
    }


def _by_requirement(run: Run, document: Document) -> dict[str, Any]:
    """Every requirement: what is missing, what is out of scope, and all of them by section."""
    found: list[Entry] = document["requirements"]
    failing_first = sorted(found, key=lambda one: one["level"] not in run.profile.fail_on)
    return {
        "missing": _by_message(failing_first, Verdict.NOT_EXERCISED),
        "out_of_scope": _by_message(found, Verdict.OUT_OF_SCOPE),
        "sections": by_heading(one for one in found if one["level"] != "robustness"),
        "robustness": by_heading(one for one in found if one["level"] == "robustness"),
        "counted_by_level": lambda entries: by_level(one["level"] for one in entries),
    }


def requirements_from(folder: Path) -> str:
    """The relative path to spec/requirements.md; empty for a folder outside the checkout."""
    folder = folder.resolve()
    return os.path.relpath(REQUIREMENTS, folder) if folder.is_relative_to(CHECKOUT) else ""


def _notes(run: Run) -> dict[str, list[str]]:
    """The notes by their place on the page: above the verdict, below it, and beside what was observed."""
    places: dict[str, list[str]] = {"above": [], "below": [], "observed": []}
    for note in run.notes():
        above = "above" if note.kind == NoteKind.OUTCOME_UNKNOWN else "below"
        places["observed" if note.kind == NoteKind.GENERATED_TRAFFIC else above].append(note.text)
    return places


def visible(text: str) -> str:
    """Characters that are not seen, that reorder what is read, or that UTF-8 has no bytes for, as escapes."""
    return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


@cache
def _template() -> Template:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("report.html")


def _findings(findings: list[Entry]) -> dict[str, list[Entry]]:
    """The findings under the headline that each belongs to; without the empty headlines."""
    new = [finding for finding in findings if fails(finding)]
    groups = {
        "Failing": [one for one in new if one["level"] != "robustness"],
        "Failing: robustness, apart from conformance": [one for one in new if one["level"] == "robustness"],
        "Failing, and known": [finding for finding in findings if "known_failure" in finding],
        "Warnings": [finding for finding in findings if finding["verdict"] == Verdict.WARN],
    }
    return {title: found for title, found in groups.items() if found}


def _by_message(entries: Iterable[Entry], verdict: Verdict) -> dict[str, list[Entry]]:
    """The requirements of that verdict by what is missing."""
    return grouped([one for one in entries if one["verdict"] == verdict], itemgetter("message"))
