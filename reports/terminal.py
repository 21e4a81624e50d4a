"""The last lines of a run on the terminal: what explains everything, the verdict, the findings, and then the rest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Any

from reports.headline import count_lines, headline, remedy, run_line
from reports.notes import Note, NoteKind
from reports.verdicts import Verdict
from reports.wording import counted, first_few, grouped

MOST_FIRST = 5
"""Lines before the verdict: the first finding is to be seen on one screen with it."""


def summary(document: dict[str, Any], notes: Sequence[Note], report: str) -> Iterator[str]:
    """The lines that close a run. `notes` are those of the document, with their kinds."""
    urgent = [note for note in notes if note.kind != NoteKind.GENERATED_TRAFFIC][:MOST_FIRST]
    yield from (f"! {note.text}" for note in urgent)
    yield str(headline(document))
    yield run_line(document)
    for finding in document["findings"]:
        yield from _failure(finding) if finding["verdict"] == Verdict.FAIL else _warning(finding)
    yield from _untested(document)
    yield from _not_cleaned_up(document)
    yield from (f"note: {note.text}" for note in notes if note not in urgent)
    yield from (f"  {line}" for line in count_lines(document))
    if report:
        yield f"report: {report}"


def _failure(finding: dict[str, Any]) -> Iterator[str]:
    known = f" [known: {finding['known_failure']}]" if "known_failure" in finding else ""
    yield f"FAIL {finding['cause']}{known}"
    yield f"     {finding['text']} ({finding['section']})"
    yield f"     {finding['message']}"
    if finding["requirements"][1:]:
        yield f"     also: {', '.join(finding['requirements'][1:])}"
    if numbers := finding["exchanges"]:
        yield f"     exchange{'s' * (len(numbers) > 1)} {first_few(numbers)}"
    if finding["reproduce"]:
        first, *others = finding["reproduce"].splitlines()
        yield f"     reproduce: {first}"
        yield from (f"     {line}" for line in others)
    if finding["follows"]:
        yield f"     follows from it: {', '.join(finding['follows'])}"


def _warning(finding: dict[str, Any]) -> Iterator[str]:
    others = first_few(finding["requirements"][1:])
    yield f"WARN {finding['cause']}{f' ({others})' if others else ''}: {finding['message']}"


def _untested(document: dict[str, Any]) -> Iterator[str]:
    weighty = [one for one in document["requirements"] if one["level"] in ("documented", "robustness")]
    missing = [one for one in weighty if one["verdict"] == Verdict.NOT_EXERCISED]
    reasons = grouped(missing, itemgetter("message"))
    if "granted anything" in document["incomplete"] and len(reasons) > 1:
        yield f"not exercised: {counted(len(missing), 'requirement')}, as nothing was granted"
        return
    for reason, group in reasons.items():
        yield f"not exercised: {first_few([one['id'] for one in group])}: {reason}"


def _not_cleaned_up(document: dict[str, Any]) -> Iterator[str]:
    if left := document["left_behind"]:
        named = [item.split(":")[0] for item in left]
        yield "; ".join((f"not cleaned up: {first_few(named)}", *remedy(document)))
