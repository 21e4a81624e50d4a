"""Figures on the page: the two tiles, the number of verdicts under each heading, and the requests over time.

A tile is a coloured box at the top of the page with a verdict and a text. A lane is the horizontal strip of one
operation in the picture of the requests over time, and a stroke is the short vertical line of one request in a lane.

Self-tests: reports/outputs/page/test_rendering.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from http import HTTPStatus

from reports.result.document import Latency, ListedExchange, ReportedRequirement, RunDocument
from reports.result.verdicts import VERDICTS_ON_THE_SERVICE, Coverage, RunVerdict, Verdict
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
"""Text of a tile without a tested requirement, by its level."""


def tile(document: RunDocument, level: str) -> tuple[Verdict, Text]:
    """The verdict and the text of a tile, which is one of the two coloured boxes at the top of the page.

    The tile `documented` is about all levels except robustness, the tile `robustness` about that level. The text has a
    sentence on the level itself, and a sentence on each other level that has failures. The verdict is one of three:

    - FAIL if a requirement fails.
    - PASS if none fails, all testable requirements of the level were tested, and the run tested the service completely.
    - NOT_EXERCISED, which is grey on the page, if none fails but something was not tested.
    """
    entries = _entries_of_tile(document, level)
    failures = Counter(entry.level for entry in entries if entry.fails)
    sentences: list[Text] = []
    for name, coverage in document.coverage.items():
        gets_a_sentence = name == level or failures[name]
        if coverage.tested and gets_a_sentence:
            sentences.append(_level_in_words(name, failures[name], coverage))
    if not sentences:
        return Verdict.NOT_EXERCISED, _NONE_TESTED[level]
    number_of_known = len([entry for entry in entries if entry.is_known])
    if number_of_known:
        sentences.append(known_failures_in_words(number_of_known))
    verdict = Verdict.NOT_EXERCISED
    if failures:
        verdict = Verdict.FAIL
    elif _is_completely_tested(document, level):
        verdict = Verdict.PASS
    return verdict, joined(sentences)


def _entries_of_tile(document: RunDocument, level: str) -> list[ReportedRequirement]:
    """The requirements that a tile (a box with a verdict at the top of the page) is about.

    The tile `robustness` is about the requirements of this level, and the tile `documented` about all others.
    """
    if level == "robustness":
        return [entry for entry in document.requirements if entry.level == "robustness"]
    return [entry for entry in document.requirements if entry.level != "robustness"]


def _is_completely_tested(document: RunDocument, level: str) -> bool:
    """True if each testable requirement of a level was tested, in a run with a complete verdict on the service.

    A partial verdict is not complete, because permissions or a selection left out requests.
    """
    coverage = document.coverage.get(level)
    if coverage is None or coverage.tested == 0:
        return False
    is_complete_verdict = document.verdict in VERDICTS_ON_THE_SERVICE and document.verdict != RunVerdict.PARTIAL
    return is_complete_verdict and coverage.tested == coverage.testable


def _level_in_words(level: str, number_of_failures: int, coverage: Coverage) -> Text:
    """A sentence for a tile of the page: `9 of 10 testable documented requirements tested, 1 fails`."""
    failing = say("none fails")
    if number_of_failures:
        failing = say_many("{n} fails", "{n} fail", n=number_of_failures)
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
    """The requirements under one heading of the interface document, with their number by verdict and level."""

    heading: str
    rows: list[ReportedRequirement]
    numbers_in_words: list[tuple[Verdict, Text]]  # for each verdict and level a number in words: `12 documented pass`


def chapters(entries: Iterable[ReportedRequirement]) -> list[Chapter]:
    """The requirements in groups, by their heading in the interface document. A group counts its verdicts in words."""
    groups = grouped(entries, lambda entry: requirements()[entry.id].heading)
    return [Chapter(heading, rows, _numbers_in_words(rows)) for heading, rows in groups.items()]


def _numbers_in_words(entries: list[ReportedRequirement]) -> list[tuple[Verdict, Text]]:
    """For each combination of verdict and level that occurs, the verdict and the number in words: `12 documented pass`.

    The page shows the words in the colour of the verdict.
    """
    numbers = Counter((entry.verdict, entry.level) for entry in entries)
    numbers_in_words = []
    for verdict in Verdict:
        for level in LEVELS:
            number = numbers[verdict, level]
            if number:
                numbers_in_words.append((verdict, _number_in_words(number, level, verdict)))
    return numbers_in_words


def _number_in_words(number: int, level: str, verdict: Verdict) -> Text:
    """Number of requirements of a level with a verdict: `12 documented pass`."""
    verdict_in_words = say(verdict.replace("-", " "))
    return say("{number} {level} {verdict}", number=number, level=say(level), verdict=verdict_in_words)


# -- requests over time -------------------------------------------------------------------------------------------

_STROKES = {"succeeded": (5, 15), "refused": (9, 15), "failed": (1, 19)}
"""Upper and lower end of the vertical line of a request, in a strip 20 pixels high, by the outcome of the request. The
ends differ, because colours cannot be told apart in a black-and-white print."""


def duration(milliseconds: float) -> str:
    """A time with two digits or three: `0.4 ms`, `12 ms`, `1.5 s`."""
    amount = milliseconds
    unit = "ms"
    if milliseconds >= 1000:
        amount = milliseconds / 1000
        unit = "s"
    number_of_decimals = 0 if amount >= 10 else 1
    digits = f"{amount:.{number_of_decimals}f}".removesuffix(".0")
    return f"{digits} {unit}"


@dataclass(frozen=True)
class Strokes:
    """The vertical lines for the requests of one operation with one outcome, such as "refused"."""

    number: int
    path: str  # of SVG, on a lane of 1,000 units


@dataclass(frozen=True)
class Lane:
    """The horizontal strip for the requests of one operation, in the picture of all requests over time."""

    operation: str
    number: int
    median: str  # of the times of answers, in words; empty if none was answered
    p95: str
    strokes: dict[str, Strokes]  # by outcome


@dataclass(frozen=True)
class Timeline:
    """The picture of all requests of a run over time, as data for the page."""

    lanes: list[Lane]  # one for each operation, and one for undocumented paths
    end: str  # time of the last request, in words


def timeline(document: RunDocument) -> Timeline:
    """The requests of a run over time, for the picture on the page: one lane (a horizontal strip) for each operation.

    Operations without a request have no lane. The last lane is for requests to undocumented paths.
    """
    failing: set[int] = set()  # numbers of the requests that show a failure
    for entry in document.requirements:
        if entry.fails:
            failing.update(entry.exchanges)
    end_ms = max((exchange.at_ms for exchange in document.exchanges), default=0)
    end_ms = end_ms or 1  # never 0, because the times of the requests are divided by it
    by_operation = grouped(document.exchanges, _operation_or_nothing)
    lanes = []
    for operation in (*operations(), ""):
        exchanges = by_operation.get(operation, [])
        if exchanges:
            strokes = _strokes_by_outcome(exchanges, failing, end_ms)
            lanes.append(_lane(operation, strokes, document.latency.get(operation)))
    return Timeline(lanes, duration(end_ms))


def _lane(operation: str, strokes: dict[str, Strokes], latency: Latency | None) -> Lane:
    """The lane of an operation in the picture of requests over time: its label, its numbers, and its lines.

    An empty `operation` means requests to undocumented paths.
    """
    return Lane(
        operation=operation or UNDOCUMENTED,
        number=sum(strokes_of_outcome.number for strokes_of_outcome in strokes.values()),
        median=duration(latency.median_ms) if latency else "",
        p95=duration(latency.p95_ms) if latency else "",
        strokes=strokes,
    )


def _strokes_by_outcome(
    exchanges: Sequence[ListedExchange], failing: Container[int], end_ms: float
) -> dict[str, Strokes]:
    """The vertical lines for the requests of one operation, by the outcome of the request (`succeeded`, `refused` …).

    `failing` has the numbers of the requests that show a failure. `end_ms` is the time of the last request of the run.
    """
    by_outcome = grouped(exchanges, lambda exchange: _outcome_of_request(exchange, failing))
    return {outcome: _strokes(outcome, by_outcome.get(outcome, []), end_ms) for outcome in _STROKES}


def _operation_or_nothing(exchange: ListedExchange) -> str:
    """The operation of a request; empty if its path is not documented. Requests are grouped by this."""
    return exchange.operation if exchange.operation in operations() else ""


def _strokes(outcome: str, exchanges: list[ListedExchange], end_ms: float) -> Strokes:
    """An SVG path with a vertical line for each request, at the time when it was sent. All have the same outcome.

    In an SVG path, `M8 5` moves the pen to x = 8 and y = 5, and `V15` draws a vertical line to y = 15. The strip of an
    operation is 1,000 units wide, from the start of the run to the last request at `end_ms`.
    """
    upper_end, lower_end = _STROKES[outcome]
    path = ""
    for exchange in exchanges:
        x = 1000 * exchange.at_ms / end_ms
        path += f"M{x:.0f} {upper_end}V{lower_end}"
    return Strokes(len(exchanges), path)


def _outcome_of_request(exchange: ListedExchange, failing: Container[int]) -> str:
    """The outcome of a request: `succeeded` (a status below 300), `refused`, or `failed`.

    A request has failed if it got no answer, or if its answer shows that a requirement is not met. `failing` has the
    numbers of these requests. `result` is the status, or a text if there was no answer.
    """
    if exchange.number in failing or not isinstance(exchange.result, int):
        return "failed"
    return "succeeded" if exchange.result < HTTPStatus.MULTIPLE_CHOICES else "refused"
