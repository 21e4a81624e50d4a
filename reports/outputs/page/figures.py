"""The figures on the page: requirements by level, verdict and section; requests over time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable
from dataclasses import dataclass
from http import HTTPStatus

from reports.result.document import ListedExchange, ReportedRequirement, RunDocument
from reports.result.verdicts import ON_THE_SERVICE, Coverage, RunVerdict, Verdict
from reports.sentences.headline import known_failures_in_words
from reports.sentences.wording import grouped
from reports.showing.evidence import UNDOCUMENTED
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
    is_robustness = level == "robustness"
    entries = [entry for entry in document.requirements if (entry.level == "robustness") == is_robustness]
    known = sum(entry.is_known for entry in entries)
    failing = Counter(entry.level for entry in entries if entry.fails)
    covered = {name: coverage for name, coverage in document.coverage.items() if coverage.tested}
    said = [_of_level(name, failing[name], covered[name]) for name in covered if name == level or failing[name]]
    if not said:
        return Verdict.NOT_EXERCISED, _NONE_TESTED[level]
    whole = level in covered and covered[level].tested == covered[level].testable
    passes = whole and document.verdict in {*ON_THE_SERVICE} - {RunVerdict.PARTIAL}
    verdict = Verdict.FAIL if failing else Verdict.PASS if passes else Verdict.NOT_EXERCISED
    return verdict, joined(said + ([known_failures_in_words(known)] if known else []))


def _of_level(level: str, failed: int, coverage: Coverage) -> Text:
    failing = say_many("{n} fails", "{n} fail", n=failed) if failed else say("none fails")
    return say_many(
        "{tested} of {n} testable {level} requirement tested, {failing}",
        "{tested} of {n} testable {level} requirements tested, {failing}",
        tested=coverage.tested,
        n=coverage.testable,
        level=say(level),
        failing=failing,
    )


@dataclass(frozen=True)
class Chapter:
    """Requirements under one heading of the interface document, with the tally of their verdicts: `12 documented
    pass`."""

    heading: str
    rows: list[ReportedRequirement]
    tally: list[tuple[Verdict, Text]]


def by_heading(entries: Iterable[ReportedRequirement]) -> list[Chapter]:
    """The requirements by the heading of the interface document, in its order."""
    groups = grouped(entries, lambda entry: requirements()[entry.id].heading)
    return [Chapter(heading, rows, _tally(rows)) for heading, rows in groups.items()]


def _tally(entries: list[ReportedRequirement]) -> list[tuple[Verdict, Text]]:
    tally = Counter((entry.verdict, entry.level) for entry in entries)
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


@dataclass(frozen=True)
class Strokes:
    """Requests of which the same became: how many there are, and one path of SVG on a lane of 1,000 units."""

    number: int
    path: str


@dataclass(frozen=True)
class Lane:
    """Requests of one operation: strokes by what became of a request, and the times of those that were answered."""

    operation: str
    sent: int
    median: str
    p95: str
    strokes: dict[str, Strokes]


@dataclass(frozen=True)
class Timeline:
    """A lane for each operation, and the time of the last request."""

    lanes: list[Lane]
    end: str


def timeline(document: RunDocument) -> Timeline:
    """The requests of a run over time."""
    failing = {number for entry in document.requirements if entry.fails for number in entry.exchanges}
    known = operations()
    by_operation = grouped(
        document.exchanges, lambda exchange: exchange.operation if exchange.operation in known else ""
    )
    end = max((exchange.at_ms for exchange in document.exchanges), default=0) or 1
    lanes = []
    for operation in (*known, ""):
        exchanges = by_operation.get(operation, [])
        if not exchanges:
            continue
        groups = grouped(exchanges, lambda exchange: _became(exchange, failing))
        latency = document.latency.get(operation)
        lane = Lane(
            operation=operation or UNDOCUMENTED,
            sent=len(exchanges),
            median=duration(latency.median_ms) if latency else "",
            p95=duration(latency.p95_ms) if latency else "",
            strokes={kind: _strokes(kind, groups.get(kind, []), end) for kind in _STROKES},
        )
        lanes.append(lane)
    return Timeline(lanes, duration(end))


def _strokes(kind: str, exchanges: list[ListedExchange], end: float) -> Strokes:
    top, foot = _STROKES[kind]
    path = "".join(f"M{1000 * exchange.at_ms / end:.0f} {top}V{foot}" for exchange in exchanges)
    return Strokes(len(exchanges), path)


def _became(exchange: ListedExchange, failing: Container[int]) -> str:
    if exchange.number in failing or not isinstance(exchange.result, int):
        return "failed"
    return "succeeded" if exchange.result < HTTPStatus.MULTIPLE_CHOICES else "refused"
