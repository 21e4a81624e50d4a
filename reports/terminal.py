"""The last lines of a run on the terminal: verdict, counts, failing rows, where the report lies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reports.first import UNKNOWN
from reports.verdicts import FAIL, INCOMPLETE, NOT_EXERCISED, NOT_ROBUST, TESTED

HEADLINES = {
    "conformant": "CONFORMANT: every documented statement that was tested holds",
    "non-conformant": "NON-CONFORMANT: the service breaks what the document states",
    "not-robust": "NOT ROBUST: no documented statement fails, but a client's mistake breaks the service",
    "incomplete": "INCOMPLETE: nothing failed, but not everything in scope was tested",
    "unreachable": "UNREACHABLE: the target could not be spoken to; this is no verdict on the service",
    "interrupted": "INTERRUPTED: the run was stopped; what is below was found until then",
    "nothing-selected": "NOTHING SELECTED: no conformance test matches",
    "internal-error": "INTERNAL ERROR: the suite failed; this is no verdict on the service",
}


def scope(document: dict[str, Any]) -> str:
    """What the verdict covers, in one sentence."""
    environment, traffic = document["environment"], document["traffic"]
    tested = sum(row["verdict"] in TESTED for row in document["requirements"])
    allowed = ", ".join(environment["allow"]) or "nothing"
    selected = f"; only {document['selection']}" if document["selection"] else ""
    seed = f"; generated with --seed={document['generated']['seed']}" if document["generated"]["refused"] else ""
    return (
        f"{tested} of {len(document['requirements'])} statements tested at {environment['name']} "
        f"({environment['base_url']}) with {allowed} allowed: {traffic['requests']} requests, "
        f"{traffic['executions']} executions{seed}{selected}"
    )


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
