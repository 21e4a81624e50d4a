"""Requirements on a terminal: one explained, or many listed by section of the interface document."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from reports.explaining.explanation import Explanation
from reports.explaining.last_run import LastRun
from reports.verdicts import Verdict
from spec.requirements import Requirement

HEADING = "heading"
_NARROWEST = 20
_VERDICT = 15
"""Columns of a verdict."""


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
    for title, texts in (*before, ("What the last run saw", _seen(requirement, run)), fix):
        if texts:
            yield from (Line(), Line(title, 2, HEADING), *(Line(str(text), 4, _style(str(text))) for text in texts))


def _seen(requirement: Requirement, run: LastRun) -> list[str]:
    seen = run.seen.get(requirement.id)
    if seen is None:
        return [run.line, *[_left_out(run)] * bool(run.page)]
    return [run.line, seen.verdict, *(() if requirement.untestable else seen.lines), f"{run.page}#{requirement.id}"]


def _style(text: str) -> str:
    return text if text in list(Verdict) else ""


def _left_out(run: LastRun) -> str:
    why = f": it was narrowed to {run.selection}" if run.selection else ""
    return f"the run was not about this requirement{why}"


def list_lines(requirements: Iterable[Requirement], run: LastRun) -> Iterator[Line]:
    """The ids by section of the interface document, each with its verdict in the run; `-` where it has none."""
    yield Line(run.line)
    for heading, found in groupby(requirements, key=lambda requirement: requirement.heading):
        yield Line()
        yield Line(heading, style=HEADING)
        for requirement in found:
            verdict = run.verdict(requirement.id)
            yield Line(f"{verdict or '-':<{_VERDICT}}{requirement.id}", 2, verdict)
