"""The last lines of a run on the terminal: verdict, counts, failing rows, where the report lies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reports.first import UNKNOWN
from reports.headline import HEADLINES, scope
from reports.verdicts import FAIL, INCOMPLETE, NOT_EXERCISED, NOT_ROBUST


def summary(document: dict[str, Any], report: str) -> Iterator[str]:
    """The lines that close a run."""
    unknown = [note for note in document["notes"] if note.startswith(UNKNOWN)]
    yield from (f"! {note}" for note in unknown)
    yield HEADLINES[document["verdict"]]
    yield scope(document)
    yield from (f"! {note}" for note in document["notes"] if note not in unknown)
    for level, verdicts in document["counts"].items():
        yield f"  {level:<12} " + ", ".join(f"{count} {verdict}" for verdict, count in verdicts.items())
    for row in document["requirements"]:
        if row["verdict"] == FAIL:
            known = f" [known: {row['known_failure']}]" if "known_failure" in row else ""
            yield f"FAIL {row['id']}{known}"
            yield f"     {row['text']} ({row['section']})"
            yield f"     {row['message']}"
    if document["verdict"] in (INCOMPLETE, NOT_ROBUST):
        yield from _untested(document)
    yield from (f"left behind: {item}" for item in document["left_behind"])
    if report:
        yield f"report: {report}"


def _untested(document: dict[str, Any]) -> Iterator[str]:
    rows = [row for row in document["requirements"] if row["verdict"] == NOT_EXERCISED]
    reasons: dict[str, list[str]] = {}
    for row in rows:
        if row["level"] in ("documented", "robustness"):
            reasons.setdefault(row["message"] or "no test reached it", []).append(row["id"])
    for reason, ids in reasons.items():
        more = f" and {len(ids) - 3} more" if len(ids) > 3 else ""
        yield f"not exercised: {', '.join(ids[:3])}{more}: {reason}"
