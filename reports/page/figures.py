"""The figures on the page: requirements counted by level and verdict, and by section of the interface document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from typing import Any

from reports.formats.conformance_json import Document
from reports.headline import counts_of, known_failures, known_in_words
from reports.verdicts import ON_THE_SERVICE, Entry, RunVerdict, Verdict, deviation, fails
from reports.wording import grouped
from spec.message import Message, Text, joined, say, say_many
from spec.requirements import LEVELS, ledger

MEANING = {
    "documented": "stated",
    "implied": "follows from what is stated",
    "example": "one example value",
    "not-shown": "stated to be not shown",
    "robustness": "policy of the suite",
}


def tile(document: Document, level: str) -> tuple[Verdict, Text]:
    """The verdict of a tile, and one sentence for each level: the tile's own, and each other level that has failures.

    A pass: all of the level was tested, in a run that came to a verdict on the service.
    """
    found = [one for one in document["requirements"] if (one["level"] == "robustness") == (level == "robustness")]
    known = sum("known_failure" in one for one in found)
    failing = Counter(one["level"] for one in found if fails(one))
    covered = {name: tested for name, tested in document["coverage"].items() if tested["tested"]}
    said = [_of_level(name, failing[name], **covered[name]) for name in covered if name == level or failing[name]]
    if not said:
        return Verdict.NOT_EXERCISED, _NONE_TESTED[level]
    whole = document["coverage"][level]["tested"] == document["coverage"][level]["testable"]
    passes = whole and document["verdict"] in {*ON_THE_SERVICE} - {RunVerdict.PARTIAL}
    verdict = Verdict.FAIL if failing else Verdict.PASS if passes else Verdict.NOT_EXERCISED
    return verdict, joined(said + ([known_in_words(known)] if known else []))


_NONE_TESTED = {
    "documented": say("No documented requirement was tested"),
    "robustness": say("No robustness requirement was tested"),
}


def _of_level(level: str, failed: int, *, tested: int, testable: int) -> Text:
    failures = say_many("{n} failure", "{n} failures", n=failed) if failed else say("No failures")
    return say_many(
        "{failures} in {tested} of {n} testable {level} requirement",
        "{failures} in {tested} of {n} testable {level} requirements",
        failures=failures,
        tested=tested,
        level=say(level),
        n=testable,
    )


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


_OF_SEVERAL_WORDS = {Verdict.NOT_EXERCISED: say("not exercised"), Verdict.OUT_OF_SCOPE: say("out of scope")}


def _said(verdict: Verdict) -> Message:
    return _OF_SEVERAL_WORDS.get(verdict) or say(verdict.value)


def _tally(entries: list[Entry]) -> list[tuple[str, Text]]:
    """The requirements counted by verdict, and by level within it: `12 documented pass`."""
    tally = Counter((one["verdict"], one["level"]) for one in entries)
    return [
        (
            verdict,
            say("{number} {level} {verdict}", number=tally[verdict, level], level=say(level), verdict=_said(verdict)),
        )
        for verdict in Verdict
        for level in LEVELS
        if tally[verdict, level]
    ]
