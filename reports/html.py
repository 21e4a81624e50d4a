"""report.html: what a QA manager reads in a minute and an engineer acts on, placed into pytest-html's page.

Nothing here trusts what it shows: the template escapes every value, and what cannot be seen is made visible.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Collection, Iterable
from functools import cache
from operator import itemgetter
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from reports.conformance_json import Document, document_of
from reports.handover import NoteKind
from reports.headline import counts_of, headline, known_failures, permitted, remedy, run_line
from reports.run import Run
from reports.verdicts import ON_THE_SERVICE, TESTED, Verdict, deviation, fails
from reports.wording import by_level, counted, grouped
from spec.requirements import LEVELS, ledger

TEMPLATES = Path(__file__).with_name("templates")
CHECKOUT = Path(__file__).parents[1]
REQUIREMENTS = CHECKOUT / "spec" / "requirements.md"
MEANING = {
    "documented": "stated",
    "implied": "follows from what is stated",
    "example": "one example value",
    "not-shown": "stated to be not shown",
    "robustness": "policy of the suite",
}
WHOLE = 400
"""How many exchanges are shown whole although no finding cites them: a report stays below some megabytes."""
_UNSEEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")

Entry = dict[str, Any]
"""A requirement or a finding of conformance.json."""


def summary_html(run: Run, requirements: str = "") -> str:
    """The requirement-first part of the report as HTML; every value that is not our own is escaped.

    `requirements` is the page that each requirement links to; without one there are no such links.
    """
    document = document_of(run)
    parts = {**_first_minute(run, document), **_by_requirement(run, document), **_evidence(run, document)}
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
        "tiles": {"Conformance": _tile(document, "documented"), "Robustness": _tile(document, "robustness")},
        "levels": _levels(document, run.profile.fail_on),
        "verdicts": Verdict,
        "not_executed": run.not_executed,
        "remedy": list(remedy(document)),
        "proof": document["suite"]["proof"],
    }


def _by_requirement(run: Run, document: Document) -> dict[str, Any]:
    """Every requirement: what is missing, what is out of scope, and all of them by section."""
    found: list[Entry] = document["requirements"]
    failing_first = sorted(found, key=lambda one: one["level"] not in run.profile.fail_on)
    return {
        "missing": _by_message(failing_first, Verdict.NOT_EXERCISED),
        "out_of_scope": _by_message(found, Verdict.OUT_OF_SCOPE),
        "sections": _by_heading(one for one in found if one["level"] != "robustness"),
        "robustness": _by_heading(one for one in found if one["level"] == "robustness"),
        "counted_by_level": lambda entries: by_level(one["level"] for one in entries),
    }


def _evidence(run: Run, document: Document) -> dict[str, Any]:
    """The exchanges, whole where a finding cites them and for the first WHOLE; and what deviates in them."""
    found: list[Entry] = document["requirements"]
    cited = {number for one in found for number in one["exchanges"]}
    deviating = [one for one in found if one["verdict"] in (Verdict.FAIL, Verdict.WARN)]
    failures_first = sorted(deviating, key=lambda one: one["verdict"] != Verdict.FAIL)
    shows = [(number, one) for one in failures_first for number in one["exchanges"]]
    return {
        "exchanges": run.exchanges,
        "shown": set(run.exchanges) & {*sorted(run.exchanges)[:WHOLE], *cited},
        "deviating": {number: [one for _, one in group] for number, group in grouped(shows, itemgetter(0)).items()},
        "causes": {
            requirement_id: finding["cause"]
            for finding in document["findings"]
            for requirement_id in (*finding["requirements"], *finding["follows"])
        },
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


def _tile(document: Document, level: str) -> tuple[Verdict, str]:
    """The verdict of a tile, and one sentence for each level: the tile's own, and each other level that has failures. A
    run that came to no verdict on the service shows no pass."""
    found = [one for one in document["requirements"] if (one["level"] == "robustness") == (level == "robustness")]
    known = sum("known_failure" in one for one in found)
    failing = Counter(one["level"] for one in found if fails(one))
    covered = {name: tested for name, tested in document["coverage"].items() if tested["tested"]}
    said = [_of_level(name, failing[name], **covered[name]) for name in covered if name == level or failing[name]]
    if not said:
        return Verdict.NOT_EXERCISED, f"No {level} requirement was tested"
    passes = Verdict.PASS if document["verdict"] in ON_THE_SERVICE else Verdict.NOT_EXERCISED
    return (Verdict.FAIL if failing else passes), "; ".join(said + ([counted(known, "known failure")] if known else []))


def _of_level(level: str, failed: int, *, tested: int, testable: int) -> str:
    failures = counted(failed, "failure", none="No")
    return f"{failures} in {tested} of {counted(testable, f'testable {level} requirement')}"


def _levels(document: Document, fail_on: Collection[str]) -> list[dict[str, Any]]:
    """The table of counts, one entry for each level; robustness last, apart from conformance."""
    return [
        {
            "name": level,
            "meaning": MEANING[level],
            "deviation": deviation(level, fail_on),
            "known": known_failures(document, level),
            "shown": counts_of(document, level),
        }
        for level in sorted(document["counts"], key=lambda level: level == "robustness")
    ]


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


def _by_heading(entries: Iterable[Entry]) -> list[dict[str, Any]]:
    """The requirements by the heading of the interface document, in its order, with the tally of their verdicts."""
    groups = grouped(entries, lambda one: ledger()[one["id"]].heading)
    return [{"heading": heading, "rows": found, "tally": _tally(found)} for heading, found in groups.items()]


def _tally(entries: list[Entry]) -> list[tuple[str, str]]:
    """The requirements counted by verdict, and by level within it: `12 documented pass`."""
    tally = Counter((one["verdict"], one["level"]) for one in entries)
    return [
        (verdict, f"{tally[verdict, level]} {level} {verdict.replace('-', ' ')}")
        for verdict in Verdict
        for level in LEVELS
        if tally[verdict, level]
    ]
