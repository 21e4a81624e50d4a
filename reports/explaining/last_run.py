"""The last run of an environment, as its conformance.json tells of it. The file is read as untrusted, and nothing is
judged anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reports.comparing.reading import UnreadableError, read
from reports.formats.conformance_json import FILE, FORMAT
from reports.formats.outputs import PAGE
from reports.moments import moment_in_words
from reports.observations.behaviour import facts_of_data, in_words
from reports.verdicts import Entry
from reports.wording import shortened
from reports.writing import RUNS

_LONGEST = 2000
"""Characters of a text of the file that are shown."""


@dataclass(frozen=True)
class Seen:
    """What the run saw of one requirement: its verdict, and lines that say why, what was observed, and what drifted."""

    verdict: str
    lines: tuple[str, ...] = ()


@dataclass(frozen=True)
class LastRun:
    """What the last run saw. `line` says which run it was, or why there is none to tell of; `page` is its report."""

    line: str
    page: str = ""
    selection: str = ""
    seen: Mapping[str, Seen] = field(default_factory=dict)

    def verdict(self, requirement_id: str) -> str:
        """The verdict of a requirement; empty where the run has none."""
        return self.seen[requirement_id].verdict if requirement_id in self.seen else ""


def last_run(environment: str, folder: Path | None, clean: Callable[[str], str]) -> LastRun:
    """The run in `folder`, or else the last one of the environment. `clean` is applied to what is shown of it."""
    place = folder or RUNS / environment / "latest"
    try:
        document = read(place)
    except UnreadableError as error:
        return LastRun(_missing(environment, place, str(error)))
    return _told(document, place, lambda text: shortened(clean(text), _LONGEST))


def _missing(environment: str, place: Path, why: str) -> str:
    if _is_missing(place / FILE):
        return f"no run of {environment} is known: there is no {place / FILE}"
    return f"the last run of {environment} cannot be read: {place / FILE}: {why.removeprefix('cannot be read: ')}"


def _is_missing(file: Path) -> bool:
    """Whether there is surely no such file: where nobody may look, there may be one."""
    try:
        return not file.exists()
    except OSError:
        return False


def _told(document: Mapping[str, Any], place: Path, clean: Callable[[str], str]) -> LastRun:
    environment = document["environment"]
    whom = clean(f"{environment['name']} at {environment['base_url']}")
    return LastRun(
        f"{whom}, {moment_in_words(document['started'])}: {document['verdict']}",
        str(place / PAGE),
        clean(document["selection"] or ""),
        {
            entry["id"]: Seen(entry["verdict"], tuple(clean(line) for line in _lines(entry, document)))
            for entry in document["requirements"]
        },
    )


def _lines(entry: Entry, document: Mapping[str, Any]) -> Iterator[str]:
    yield from _observed(entry["id"], document) or filter(None, [str(entry.get("message") or "")])
    if reason := entry.get("known_failure"):
        yield f"known failure: {reason}"
    for drift in document.get("drift", ()) if document.get("format") == FORMAT else ():
        if drift["id"] == entry["id"]:
            place = " ".join(filter(None, (drift["situation"], drift["place"])))
            yield f"drift{place and f', {place}'}: was {drift['was']}, is {drift['is']}"


def _observed(requirement_id: str, document: Mapping[str, Any]) -> list[str]:
    """A line for each situation. A file of another version has all of them in the message."""
    situations = document.get("observed", {}).get(requirement_id, {})
    return [in_words({situation: facts_of_data(places)}) for situation, places in situations.items()]
