"""Requirements on a terminal: one explained, or many listed by section, with their verdicts in the last run."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

from reports.comparing.reading import UnreadableError, read
from reports.explaining.explanation import Explanation
from reports.formats.conformance_json import FILE
from reports.formats.outputs import PAGE
from reports.moments import moment_in_words
from reports.verdicts import Verdict
from reports.writing import RUNS
from spec.requirements import Requirement

HEADING = "heading"
_NARROWEST = 20
_VERDICT = 15
"""Columns of a verdict."""


@dataclass(frozen=True)
class LastRun:
    """The verdicts of the last run by requirement. `line` says which run it was, or why there is none to tell of;
    `page` is its report."""

    line: str
    page: str = ""
    selection: str = ""
    verdicts: Mapping[str, str] = field(default_factory=dict)


def last_run(environment: str, folder: Path | None, clean: Callable[[str], str]) -> LastRun:
    """The run in `folder`, or else the last one of the environment. The file is read as untrusted: `clean` is applied
    to what is shown of it."""
    place = folder or RUNS / environment / "latest"
    try:
        document = read(place)
    except UnreadableError as error:
        return LastRun(f"no run of {environment} to tell of: {place / FILE}: {error}")
    asked = document["environment"]
    whom = clean(f"{asked['name']} at {asked['base_url']}")
    return LastRun(
        f"{whom}, {moment_in_words(document['started'])}: {document['verdict']}",
        str(place / PAGE),
        clean(document["selection"] or ""),
        {entry["id"]: entry["verdict"] for entry in document["requirements"]},
    )


@dataclass(frozen=True)
class Line:
    """A line before it is wrapped. `style` is HEADING, a verdict, or empty."""

    text: str = ""
    indent: int = 0
    style: str = ""

    def wrapped(self, width: int | None) -> Iterator[str]:
        """The line in pieces that fit into so many columns, None for any number; a word stays whole."""
        margin = " " * self.indent
        if width is None or not self.text:
            yield margin + self.text if self.text else ""
            return
        columns = max(width, _NARROWEST + self.indent)
        yield from textwrap.wrap(
            self.text,
            columns,
            initial_indent=margin,
            subsequent_indent=margin,
            break_long_words=False,
            break_on_hyphens=False,
        )


def explanation_lines(explanation: Explanation, run: LastRun) -> Iterator[Line]:
    """A requirement, explained."""
    requirement = explanation.requirement
    yield Line(f"{requirement.id} ({requirement.level})", style=HEADING)
    yield from (Line(text, 2) for text in (requirement.text, requirement.section))
    *before, fix = explanation.parts.items()
    for title, texts in (*before, ("What the last run saw", _seen(requirement.id, run)), fix):
        if texts:
            yield from (Line(), Line(title, 2, HEADING), *(Line(str(text), 4, _style(str(text))) for text in texts))


def _seen(requirement_id: str, run: LastRun) -> list[str]:
    if verdict := run.verdicts.get(requirement_id):
        return [run.line, verdict, f"{run.page}#{requirement_id}"]
    why = f": it was narrowed to {run.selection}" if run.selection else ""
    return [run.line, *[f"the run was not about this requirement{why}"] * bool(run.page)]


def _style(text: str) -> str:
    return text if text in list(Verdict) else ""


def list_lines(requirements: Iterable[Requirement], run: LastRun) -> Iterator[Line]:
    """The ids by section of the interface document, each with its verdict in the run; `-` where it has none."""
    yield Line(run.line)
    for heading, found in groupby(requirements, key=lambda requirement: requirement.heading):
        yield Line()
        yield Line(heading, style=HEADING)
        for requirement in found:
            verdict = run.verdicts.get(requirement.id, "")
            yield Line(f"{verdict or '-':<{_VERDICT}}{requirement.id}", 2, verdict)
