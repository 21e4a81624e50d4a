"""report.html: what a QA manager reads in a minute and an engineer acts on, placed into pytest-html's page.

Nothing here trusts what it shows: the template escapes every value, and what cannot be seen is made visible.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from reports.headline import headline, known_failures, permitted, remedy, run_line
from reports.notes import NoteKind
from reports.run import Run
from reports.verdicts import ON_THE_SERVICE, TESTED, Verdict, deviation
from reports.wording import by_level, counted
from spec.requirements import LEVELS, ledger

TEMPLATES = Path(__file__).with_name("templates")
CHECKOUT = Path(__file__).parents[1]
REQUIREMENTS = CHECKOUT / "spec" / "requirements.md"
MEANING = {
    "documented": "stated",
    "implied": "follows from what is stated",
    "example": "one example value",
    "not-shown": "said to be not shown",
    "robustness": "policy of the suite",
}
WHOLE = 400
"""How many exchanges are shown whole although no statement cites them: a report stays below some megabytes."""
_UNSEEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")

Row = dict[str, Any]


def summary_html(run: Run, requirements: str = "") -> str:
    """The requirement-first part of the report as HTML; every value that is not our own is escaped.

    `requirements` is the page that each requirement links to; without one there are no such links.
    """
    document = run.document()
    rows: list[Row] = document["requirements"]
    robustness = [row for row in rows if row["level"] == "robustness"]
    conformance = [row for row in rows if row["level"] != "robustness"]
    weightiest_first = sorted(rows, key=lambda row: row["level"] not in run.profile.fail_on)
    page = _template().render(
        document=document,
        requirements=requirements,
        notes=_notes(run),
        headline=headline(document),
        run_line=run_line(document),
        permitted=permitted(document["environment"]["allow"]),
        tiles={
            "Conformance": _tile(document, conformance, "documented"),
            "Robustness": _tile(document, robustness, "robustness"),
        },
        levels=_levels(document, run.profile.fail_on),
        verdicts=Verdict,
        proof=document["suite"]["proof"],
        findings=_findings(document["findings"]),
        causes=_causes(document["findings"]),
        fail_on=[level for level in LEVELS if level in run.profile.fail_on],
        missing=_by_message(weightiest_first, Verdict.NOT_EXERCISED),
        tested=any(row["verdict"] in TESTED for row in rows),
        out_of_scope=_by_message(rows, Verdict.OUT_OF_SCOPE),
        sections=_by_heading(conformance),
        robustness=_by_heading(robustness),
        exchanges=run.exchanges,
        not_executed=run.not_executed,
        remedy=list(remedy(document)),
        shown=_shown(run, rows),
        deviating=_deviating(rows),
        counted_by_level=lambda found: by_level(row["level"] for row in found),
    )
    return visible(page)


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


def _tile(document: dict[str, Any], rows: list[Row], level: str) -> tuple[str, str]:
    """Whether any of the rows failed, as the word of a verdict, and the same in one sentence for each level: that one,
    and others that have failures. A run that came to no verdict on the service shows no pass."""
    known = sum("known_failure" in row for row in rows)
    failing = Counter(row["level"] for row in rows if row["verdict"] == Verdict.FAIL and "known_failure" not in row)
    covered = {name: tested for name, tested in document["coverage"].items() if tested["tested"]}
    said = [_of_level(name, failing[name], **covered[name]) for name in covered if name == level or failing[name]]
    if not said:
        return Verdict.NOT_EXERCISED, f"No {level} requirement was tested"
    good = Verdict.PASS if document["verdict"] in ON_THE_SERVICE else Verdict.NOT_EXERCISED
    return (Verdict.FAIL if failing else good), "; ".join(said + ([counted(known, "known failure")] if known else []))


def _of_level(level: str, failed: int, *, tested: int, testable: int) -> str:
    failures = counted(failed, "failure", none="No")
    return f"{failures} in {tested} of {counted(testable, f'testable {level} requirement')}"


def _levels(document: dict[str, Any], fail_on: Iterable[str]) -> list[dict[str, Any]]:
    """The table of counts: one entry a level that has rows, robustness last, apart from conformance."""
    counts = document["counts"]
    return [
        {
            "name": name,
            "meaning": MEANING[name],
            "deviation": deviation(name, list(fail_on)),
            "shown": _less_the_known(counts[name], known_failures(document, name)),
            "known": known_failures(document, name),
        }
        for name in sorted(counts, key=lambda name: name == "robustness")
    ]


def _less_the_known(counts: dict[str, int], known: int) -> dict[str, int]:
    """Every verdict of a level with its count; failures that are known stand beside."""
    return {verdict: counts.get(verdict, 0) - (known if verdict == Verdict.FAIL else 0) for verdict in Verdict}


def _findings(findings: list[Row]) -> dict[str, list[Row]]:
    """The findings under the headline that each belongs to; without the empty headlines."""
    failed = [finding for finding in findings if finding["verdict"] == Verdict.FAIL]
    new = [finding for finding in failed if "known_failure" not in finding]
    groups = {
        "Failing": [one for one in new if one["level"] != "robustness"],
        "Failing: robustness, apart from conformance": [one for one in new if one["level"] == "robustness"],
        "Failing, and known": [finding for finding in failed if "known_failure" in finding],
        "Warnings": [finding for finding in findings if finding["verdict"] == Verdict.WARN],
    }
    return {title: found for title, found in groups.items() if found}


def _causes(findings: list[Row]) -> dict[str, str]:
    """The leading requirement of the finding that each deviating requirement is in."""
    return {row: finding["cause"] for finding in findings for row in (*finding["requirements"], *finding["follows"])}


def _by_message(rows: list[Row], verdict: Verdict) -> dict[str, list[Row]]:
    """The rows of that verdict by what is missing."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        if row["verdict"] == verdict:
            groups.setdefault(row["message"], []).append(row)
    return groups


def _by_heading(rows: list[Row]) -> list[dict[str, Any]]:
    """The rows by the heading of the document, in its order, with the tally of their verdicts."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(ledger()[row["id"]].heading, []).append(row)
    return [{"heading": heading, "rows": found, "tally": _tally(found)} for heading, found in groups.items()]


def _tally(rows: list[Row]) -> list[tuple[str, str]]:
    """The rows counted by verdict, and by level within it: `12 documented pass`."""
    tally = Counter((row["verdict"], row["level"]) for row in rows)
    return [
        (verdict, f"{tally[verdict, level]} {level} {verdict.replace('-', ' ')}")
        for verdict in Verdict
        for level in LEVELS
        if tally[verdict, level]
    ]


def _deviating(rows: list[Row]) -> dict[int, list[Row]]:
    """The failing rows, and then the warning ones, by the exchanges that show them."""
    found: dict[int, list[Row]] = {}
    for row in sorted(rows, key=lambda row: list(Verdict).index(row["verdict"])):
        for number in row["exchanges"] if row["verdict"] in (Verdict.FAIL, Verdict.WARN) else ():
            found.setdefault(number, []).append(row)
    return found


def _shown(run: Run, rows: list[Row]) -> set[int]:
    """The exchanges that are shown whole: the first WHOLE of them, and all that a statement cites."""
    cited = {number for row in rows for number in row["exchanges"]}
    return set(run.exchanges) & {*sorted(run.exchanges)[:WHOLE], *cited}
