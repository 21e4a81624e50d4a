"""The figures on the page: requirements counted by level and verdict, and by section of the interface document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from typing import Any

from reports.formats.conformance_json import Document
from reports.headline import counts_of, known_failures
from reports.verdicts import ON_THE_SERVICE, Entry, RunVerdict, Verdict, deviation, fails
from reports.wording import counted, grouped
from spec.requirements import LEVELS, ledger

MEANING = {
    "documented": "stated",
    "implied": "follows from what is stated",
    "example": "one example value",
    "not-shown": "stated to be not shown",
    "robustness": "policy of the suite",
}


def tile(document: Document, level: str) -> tuple[Verdict, str]:
    """The verdict of a tile, and one sentence for each level: the tile's own, and each other level that has failures.

    A pass: all of the level was tested, in a run that came to a verdict on the service.
    """
    found = [one for one in document["requirements"] if (one["level"] == "robustness") == (level == "robustness")]
    known = sum("known_failure" in one for one in found)
    failing = Counter(one["level"] for one in found if fails(one))
    covered = {name: tested for name, tested in document["coverage"].items() if tested["tested"]}
    said = [_of_level(name, failing[name], **covered[name]) for name in covered if name == level or failing[name]]
    if not said:
        return Verdict.NOT_EXERCISED, f"No {level} requirement was tested"
    whole = document["coverage"][level]["tested"] == document["coverage"][level]["testable"]
    passes = whole and document["verdict"] in {*ON_THE_SERVICE} - {RunVerdict.PARTIAL}
    verdict = Verdict.FAIL if failing else Verdict.PASS if passes else Verdict.NOT_EXERCISED
    return verdict, "; ".join(said + ([counted(known, "known failure")] if known else []))


def _of_level(level: str, failed: int, *, tested: int, testable: int) -> str:
    failures = counted(failed, "failure", none="No")
    return f"{failures} in {tested} of {counted(testable, f'testable {level} requirement')}"


def levels(document: Document, fail_on: Collection[str]) -> list[dict[str, Any]]:
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


def by_heading(entries: Iterable[Entry]) -> list[dict[str, Any]]:
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
