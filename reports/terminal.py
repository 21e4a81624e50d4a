"""The last lines of a run on the terminal: what explains everything, the verdict, the findings, and then the rest."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reports import cleaning
from reports.first import UNKNOWN
from reports.headline import count_lines, counted, headline, run_line
from reports.verdicts import Verdict

MOST_FIRST = 5
"""Lines before the verdict: the first finding is to be seen on one screen with it."""
_MOST_NAMED = 3


def summary(document: dict[str, Any], report: str) -> Iterator[str]:
    """The lines that close a run."""
    first, later = _notes(document)
    yield from (f"! {note}" for note in first)
    yield str(headline(document))
    yield run_line(document)
    for finding in document["findings"]:
        if finding["verdict"] == Verdict.FAIL:
            yield from _finding(finding)
    for finding in document["findings"]:
        if finding["verdict"] == Verdict.WARN:
            yield f"WARN {finding['cause']}{_more(finding['requirements'][1:])}: {finding['message']}"
    yield from _untested(document)
    yield from cleaning.line(document)
    yield from (f"note: {note}" for note in later)
    yield from (f"  {line}" for line in count_lines(document))
    if report:
        yield f"report: {report}"


def _notes(document: dict[str, Any]) -> tuple[list[str], list[str]]:
    """What is said before the verdict, and what can wait: outcomes that nobody knows come before all else."""
    generated = document["generated"]["notes"]
    notes = sorted(document["notes"], key=lambda note: (note in generated, not note.startswith(UNKNOWN)))
    urgent = [note for note in notes if note not in generated][:MOST_FIRST]
    return urgent, notes[len(urgent) :]


def _finding(finding: dict[str, Any]) -> Iterator[str]:
    known = f" [known: {finding['known_failure']}]" if "known_failure" in finding else ""
    yield f"FAIL {finding['cause']}{known}"
    yield f"     {finding['text']} ({finding['section']})"
    yield f"     {finding['message']}"
    if finding["requirements"][1:]:
        yield f"     also: {', '.join(finding['requirements'][1:])}"
    if finding["exchanges"]:
        yield f"     {_exchanges(finding['exchanges'])}"
    if finding["reproduce"]:
        first, *others = finding["reproduce"].splitlines()
        yield f"     reproduce: {first}"
        yield from (f"     {line}" for line in others)
    if finding["follows"]:
        yield f"     follows from it: {', '.join(finding['follows'])}"


def _exchanges(numbers: list[int]) -> str:
    shown = ", ".join(str(number) for number in numbers[:_MOST_NAMED])
    more = f" and {len(numbers) - _MOST_NAMED} more" if len(numbers) > _MOST_NAMED else ""
    return f"exchange{'s' if numbers[1:] else ''} {shown}{more}"


def _more(ids: list[str]) -> str:
    return f" ({', '.join(ids[:_MOST_NAMED])}{_and_more(ids)})" if ids else ""


def _and_more(ids: list[str]) -> str:
    return f" and {len(ids) - _MOST_NAMED} more" if len(ids) > _MOST_NAMED else ""


def _untested(document: dict[str, Any]) -> Iterator[str]:
    rows = [row for row in document["requirements"] if row["verdict"] == Verdict.NOT_EXERCISED]
    reasons: dict[str, list[str]] = {}
    for row in rows:
        if row["level"] in ("documented", "robustness"):
            reasons.setdefault(row["message"] or "no test reached it", []).append(row["id"])
    if "granted anything" in document["incomplete"] and len(reasons) > 1:
        yield f"not exercised: {counted(sum(map(len, reasons.values())), 'requirement')}, as nothing was granted"
        return
    for reason, ids in reasons.items():
        yield f"not exercised: {', '.join(ids[:_MOST_NAMED])}{_and_more(ids)}: {reason}"
