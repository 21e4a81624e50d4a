"""The last run of an environment, as its conformance.json tells of it. The file is read as untrusted, and nothing is
judged anew.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reports.comparing.reading import UnreadableError, one_line, read
from reports.formats.conformance_json import FILE
from reports.formats.outputs import PAGE
from reports.moments import in_words
from reports.page.rendering import visible
from reports.verdicts import Entry
from reports.writing import RUNS

_LONGEST = 2000
"""Characters of a text of the file that are shown."""


@dataclass(frozen=True)
class LastRun:
    """What the last run saw. `line` says which run it was, or why there is none to tell of; `page` is its report."""

    line: str
    page: str = ""
    selection: str = ""
    entries: Mapping[str, Entry] = field(default_factory=dict)

    def verdict(self, requirement_id: str) -> str:
        """The verdict of a requirement; empty where the run has none."""
        return str(self.entries.get(requirement_id, {}).get("verdict", ""))


def last_run(environment: str, folder: Path | None, clean: Callable[[str], str]) -> LastRun:
    """The run in `folder`, or else the last one of the environment. `clean` redacts what is shown of it."""
    place = folder or RUNS / environment / "latest"
    try:
        document = read(place)
    except UnreadableError as error:
        return LastRun(_missing(environment, place, str(error)))
    return _told(document, place, lambda text: visible(one_line(clean(text))[:_LONGEST]))


def _missing(environment: str, place: Path, why: str) -> str:
    if not (place / FILE).exists():
        return f"no run of {environment} is known: there is no {place / FILE}"
    return f"the last run of {environment} cannot be read: {place / FILE}: {why}"


def _told(document: Mapping[str, Any], place: Path, clean: Callable[[str], str]) -> LastRun:
    environment = document["environment"]
    whom = clean(f"{environment['name']} at {environment['base_url']}")
    return LastRun(
        f"{whom}, {in_words(document['started'])}: {document['verdict']}",
        str(place / PAGE),
        clean(document["selection"] or ""),
        {entry["id"]: _cleaned(entry, clean) for entry in document["requirements"]},
    )


def _cleaned(entry: Entry, clean: Callable[[str], str]) -> Entry:
    texts = {name: clean(str(entry.get(name) or "")) for name in ("message", "known_failure")}
    return {"verdict": entry["verdict"], **texts}
