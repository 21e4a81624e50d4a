"""What a format of test results says of one requirement, in plain lines."""

from __future__ import annotations

from collections.abc import Iterator

from reports.causes import by_requirement
from reports.formats.conformance_json import Document
from reports.headline import sent
from reports.observations.behaviour import facts_of_data, in_words
from reports.observations.drift import drift_in_words
from reports.verdicts import Entry
from reports.wording import exchanges_in_words


def reproduced_by(document: Document) -> dict[str, str]:
    """By requirement, the lines that reproduce the finding that it belongs to."""
    return by_requirement(document["findings"], "reproduce")


def explanation(entry: Entry, reproduce: str) -> str:
    """What was found: the message first, then expected and got, the statement and its place, how to reproduce it."""
    return "\n".join(_lines(entry, reproduce))


def _lines(entry: Entry, reproduce: str) -> Iterator[str]:
    yield str(entry["message"])
    if "expected" in entry:
        yield f"expected: {entry['expected']}"
        yield f"got: {entry['got']}"
    yield f"statement: {entry['text']} ({entry['section']})"
    if entry["exchanges"]:
        yield str(exchanges_in_words(entry["exchanges"]))
    if reproduce:
        yield "reproduce:"
        yield reproduce


def observations_of(document: Document) -> dict[str, list[str]]:
    """By requirement, a line for each situation in which something was observed, and the exchanges that show it."""
    shown = {entry["id"]: entry["exchanges"] for entry in document["requirements"]}
    return {
        requirement_id: [
            *(f"observed: {in_words({name: facts_of_data(places)})}" for name, places in situations.items()),
            *([str(exchanges_in_words(shown[requirement_id]))] if shown.get(requirement_id) else []),
        ]
        for requirement_id, situations in document["observed"].items()
    }


def figures(document: Document) -> Iterator[str]:
    """The run in a few lines, below its headline: what it sent, and what it said of itself."""
    yield from map(str, filter(None, (sent(document), drift_in_words(document), *document["notes"])))
    yield from (f"not cleaned up: {left}" for left in document["left_behind"])


def properties(entry: Entry, seed: int) -> dict[str, str]:
    """What tells a requirement from others, by name."""
    return {
        "statement": entry["text"],
        "section": entry["section"],
        "level": entry["level"],
        "verdict": entry["verdict"],
        "seed": str(seed),
    }


def provenance(document: Document) -> dict[str, str]:
    """What tells a run from others, by name; without what is not known."""
    shown = {name: value for name, value in document["provenance"].items() if isinstance(value, str | int)}
    return {"verdict": document["verdict"], **{name: str(value) for name, value in shown.items()}}
