"""report.html: what a QA manager reads in a minute and an engineer acts on, placed into pytest-html's page.

Nothing here trusts what it shows: the template escapes every value, and what cannot be seen is made visible.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from operator import itemgetter
from pathlib import Path
from typing import Any

from reports.behaviour import drift_in_words
from reports.comparison import CHANGES
from reports.explanation import fix_for
from reports.formats.conformance_json import Document, document_of
from reports.headline import headline, permitted, result_line, run_line
from reports.notes import NoteKind
from reports.page.exchange_list import exchange_list
from reports.page.figures import by_heading, latency_plot, left_out, levels, tile
from reports.page.marked import excerpt
from reports.page.templating import template
from reports.provenance import CHECKOUT
from reports.run import Run
from reports.show import printable
from reports.verdicts import TESTED, Entry, RunVerdict, Verdict, fails
from reports.wording import grouped, level_by_level
from spec.interface import operations
from spec.message import Message, Text, say

REQUIREMENTS = CHECKOUT / "spec" / "requirements.md"
DIGESTED = {"Requirements": "ledger_sha256", "Schema": "schema_sha256", "Profile": "profile_sha256"}
"""The digests of the provenance."""
_GENERAL = "general"
"""The filter of what belongs to no operation."""


def summary_html(run: Run, requirements: str = "") -> str:
    """The requirement-first part of the report as HTML; every value that is not our own is escaped.

    `requirements` is the page that each requirement links to; without one there are no such links.
    """
    document = document_of(run)
    parts = {**_verdict(run, document), **_requirements(document), **exchange_list(run, document)}
    parts |= {**latency_plot(document), "requirements": requirements}
    parts["fixes"] = {one.id: fix_for(one) for one, _ in run.requirements()}
    page = template("report.html", run.profile.language)
    return printable(page.render(document=document, title=page_title(run), **parts))


def page_title(run: Run) -> Message:
    """The title of the page: whom the run asked, and the verdict."""
    verdict: str = run.result().verdict
    told = result_line(document_of(run)) if verdict == RunVerdict.PARTIAL else say(verdict)
    return say("PIX conformance: {name}: {verdict}", name=printable(run.profile.name), verdict=told)


def requirements_from(folder: Path) -> str:
    """The relative path to spec/requirements.md; empty for a folder outside the checkout."""
    folder = folder.resolve()
    return os.path.relpath(REQUIREMENTS, folder) if folder.is_relative_to(CHECKOUT) else ""


def _verdict(run: Run, document: Document) -> dict[str, Any]:
    """The first screen: the verdict, what it rests on, what was left out, and who says so; then the findings."""
    return {
        "notes": _notes(run),
        "headline": headline(document),
        "run_line": run_line(document),
        "permitted": permitted(document["environment"]["allow"]),
        "tiles": {"Conformance": tile(document, "documented"), "Robustness": tile(document, "robustness")},
        "left_out": left_out(document),
        "comparison": document["comparison"],
        "drift": drift_in_words(document),
        "proof": document["suite"]["proof"],
        "changes": CHANGES,
        "digests": {name: document["provenance"][member] for name, member in DIGESTED.items()},
        "findings": _findings(document["findings"]),
        "excerpt": excerpt,
        "not_executed": run.not_executed,
        "remedy": [alert["text"] for alert in document["alerts"] if alert["kind"] == "left"],
    }


def _requirements(document: Document) -> dict[str, Any]:
    """Every requirement: by id, by what is missing, and by section; and what the filters offer."""
    found: list[Entry] = document["requirements"]
    failing_first = sorted(found, key=lambda one: one["level"] not in document["environment"]["fail_on"])
    asked = {one["operation"] or _GENERAL for one in found}
    return {
        "by_id": {one["id"]: one for one in found},
        "tested": any(one["verdict"] in TESTED for one in found),
        "choices": {
            "verdicts": {one["verdict"] for one in found},
            "operations": [name for name in (*operations(), _GENERAL) if name in asked],
        },
        "verdicts": Verdict,
        "levels": levels(document),
        "missing": _by_message(failing_first, Verdict.NOT_EXERCISED),
        "out_of_scope": _by_message(found, Verdict.OUT_OF_SCOPE),
        "sections": by_heading(one for one in found if one["level"] != "robustness"),
        "robustness": by_heading(one for one in found if one["level"] == "robustness"),
        "counted_by_level": lambda entries: level_by_level(one["level"] for one in entries),
    }


def _notes(run: Run) -> dict[str, list[Text]]:
    """The notes by their place on the page: the alerts below the verdict, the others below these, and beside what was
    observed."""
    places: dict[str, list[Text]] = {"alerts": [], "below": [], "observed": []}
    for note in run.notes():
        below = "alerts" if note.is_alert else "below"
        places["observed" if note.kind >= NoteKind.GENERATED_TRAFFIC else below].append(note.text)
    return places


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
