"""The figures on the page: requirements by level, verdict and section; requests over time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable
from http import HTTPStatus
from typing import Any

from reports.evidence import UNDOCUMENTED
from reports.formats.conformance_json import RunDocument
from reports.headline import known_in_words
from reports.verdicts import ON_THE_SERVICE, ReportEntry, RunVerdict, Verdict, fails
from reports.wording import grouped
from spec.interface import operations
from spec.message import Text, joined, say, say_many
from spec.requirements import LEVELS, requirements

_NONE_TESTED = {
    "documented": say("No documented requirement was tested"),
    "robustness": say("No robustness requirement was tested"),
}


def tile(document: RunDocument, level: str) -> tuple[Verdict, Text]:
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
    whole = level in covered and covered[level]["tested"] == covered[level]["testable"]
    passes = whole and document["verdict"] in {*ON_THE_SERVICE} - {RunVerdict.PARTIAL}
    verdict = Verdict.FAIL if failing else Verdict.PASS if passes else Verdict.NOT_EXERCISED
    return verdict, joined(said + ([known_in_words(known)] if known else []))


def _of_level(level: str, failed: int, *, tested: int, testable: int) -> Text:
    failing = say_many("{n} fails", "{n} fail", n=failed) if failed else say("none fails")
    return say_many(
        "{tested} of {n} testable {level} requirement tested, {failing}",
        "{tested} of {n} testable {level} requirements tested, {failing}",
        tested=tested,
        n=testable,
        level=say(level),
        failing=failing,
    )


def by_heading(entries: Iterable[ReportEntry]) -> list[dict[str, Any]]:
    """The requirements by the heading of the interface document, in its order, with the tally of their verdicts:
    `12 documented pass`."""
    groups = grouped(entries, lambda one: requirements()[one["id"]].heading)
    return [{"heading": heading, "rows": found, "tally": _tally(found)} for heading, found in groups.items()]


def _tally(entries: list[ReportEntry]) -> list[tuple[Verdict, Text]]:
    tally = Counter((one["verdict"], one["level"]) for one in entries)
    counted = [(verdict, level) for verdict in Verdict for level in LEVELS if tally[verdict, level]]
    return [(verdict, _counted(tally[verdict, level], level, verdict)) for verdict, level in counted]


def _counted(number: int, level: str, verdict: Verdict) -> Text:
    spelled = say(verdict.replace("-", " "))
    return say("{number} {level} {verdict}", number=number, level=say(level), verdict=spelled)


# -- requests over time -------------------------------------------------------------------------------------------

_STROKES = {"succeeded": (5, 15), "refused": (9, 15), "failed": (1, 19)}
"""Each end of a stroke on a lane of 20 pixels, by what became of the request."""


def duration(milliseconds: float) -> str:
    """`0.4 ms`, `12 ms`, `1.5 s`: two digits or three."""
    amount, unit = (milliseconds / 1000, "s") if milliseconds >= 1000 else (milliseconds, "ms")
    return f"{amount:.{0 if amount >= 10 else 1}f}".removesuffix(".0") + f" {unit}"


def timeline(document: RunDocument) -> dict[str, Any]:
    """A row for each operation, with the strokes of its requests by what became of them, each sort one path of SVG on
    a lane of 1,000 units. Times are those of the requests that were answered."""
    failing = {number for one in document["requirements"] if fails(one) for number in one["exchanges"]}
    known = operations()
    by_operation = grouped(document["exchanges"], lambda seen: seen["operation"] if seen["operation"] in known else "")
    end = max((seen["at_ms"] for seen in document["exchanges"]), default=0) or 1
    rows = []
    for operation, sent in ((name, by_operation.get(name, ())) for name in (*known, "")):
        if not sent:
            continue
        groups = grouped(sent, lambda seen: _became(seen, failing))
        times = document["latency"].get(operation)
        strokes = {
            kind: {
                "number": len(groups.get(kind, ())),
                "path": "".join(f"M{1000 * seen['at_ms'] / end:.0f} {top}V{foot}" for seen in groups.get(kind, ())),
            }
            for kind, (top, foot) in _STROKES.items()
        }
        shown = {name: duration(times[f"{name}_ms"]) if times else "" for name in ("median", "p95")}
        rows.append({"operation": operation or UNDOCUMENTED, "sent": len(sent), **shown, **strokes})
    return {"rows": rows, "end": duration(end)}


def _became(seen: ReportEntry, failing: Container[int]) -> str:
    if seen["number"] in failing or not isinstance(seen["result"], int):
        return "failed"
    return "succeeded" if seen["result"] < HTTPStatus.MULTIPLE_CHOICES else "refused"
