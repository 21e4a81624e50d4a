"""Requirements for people: one explained, or many listed by section, with their verdicts in the last run."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

from reports.observed.comparison import met_the_service
from reports.observed.earlier_runs import UnreadableError, read_run, runs_of
from reports.outputs.writing import PAGE
from reports.result.document import EarlierRun
from reports.sentences.wording import needed_for
from spec.interface import operations
from spec.message import Date, Text, say
from spec.requirements import Requirement, read_yaml

FIXES = Path(__file__).with_name("fixes.yaml")


@cache
def fixes() -> tuple[Mapping[str, Any], ...]:
    """All entries of fixes.yaml, in their order: a fix, and the level or the patterns of ids that it is for."""
    return tuple(read_yaml(FIXES))


def fits(entry: Mapping[str, Any], requirement: Requirement) -> bool:
    """True if the entry is about the requirement."""
    patterns = entry.get("ids", ())
    return requirement.level == entry.get("level") or any(fnmatchcase(requirement.id, each) for each in patterns)


def fix_for(requirement: Requirement) -> Text:
    """The usual fix of a deviation from the requirement; empty where no exchange can show one."""
    if requirement.untestable:
        return ""
    text = next(entry["fix"] for entry in fixes() if fits(entry, requirement))
    operation, parts = operations().get(requirement.operation or ""), requirement.id.split(".")
    request = f"{operation.method} {operation.path}" if operation else ""
    field = parts[-1] if parts[1] == "body" else parts[-2]
    return say(text, field=field, type=parts[-1], request=request)


@dataclass(frozen=True)
class LastRun:
    """The verdicts of the last run by requirement. `line` says which run it was, or why there is none to tell of."""

    line: str
    verdicts: Mapping[str, str] = field(default_factory=dict)


def last_run(place: Path, clean: Callable[[str], str]) -> LastRun:
    """The run in that folder. The file is read as untrusted: `clean` is applied to what is shown of it."""
    try:
        return _shown(place, read_run(place), clean)
    except UnreadableError as error:
        return LastRun(f"no last run: {clean(str(error))}")


def last_run_about(ids: Collection[str], environment: Path, clean: Callable[[str], str]) -> LastRun:
    """The newest run in the folder of an environment that met the service and is about all these requirements. A run
    of others tells nothing of them. Without such a run it is the newest of all."""
    for folder, run in runs_of(environment):
        if met_the_service(run) and {entry.id for entry in run.requirements}.issuperset(ids):
            return _shown(folder, run, clean)
    newest = environment / "latest"
    return last_run(newest, clean) if newest.exists() else LastRun(f"no earlier run of {clean(environment.name)} yet")


def _shown(place: Path, run: EarlierRun, clean: Callable[[str], str]) -> LastRun:
    narrowed = f" (only {run.selection})" if run.selection else ""
    whom = clean(f"{run.environment.name} at {run.environment.base_url}{narrowed}")
    line = f"{whom}, {Date(run.started)}: {run.verdict}; {place / PAGE}"
    return LastRun(line, {entry.id: entry.verdict for entry in run.requirements})


def explanation(requirement: Requirement, sent_for_it: Sequence[str], run: LastRun) -> Iterator[str]:
    """A requirement explained. `sent_for_it` says which requests are sent, and why."""
    needed = [str(needed_for(operations()[requirement.operation]))] if requirement.operation else []
    why = requirement.untestable and f"no exchange can show it: {requirement.untestable}"
    parts = {
        f"{requirement.id} ({requirement.level})": [requirement.text, requirement.section],
        "How it is exercised": [why] if why else [*needed, *sent_for_it],
        "What the last run saw": [run.line, run.verdicts.get(requirement.id, "")],
        "What usually fixes it": [str(fix_for(requirement))] * (not requirement.untestable),
    }
    for title, lines in parts.items():
        yield from (title, *(f"  {line}" for line in lines if line), "") if lines else ()


def listing(requirements: Iterable[Requirement], run: LastRun) -> Iterator[str]:
    """The ids by section of the interface document, each with its verdict in the run; `-` where it has none."""
    yield run.line
    for heading, found in groupby(requirements, key=lambda requirement: requirement.heading):
        yield from ("", heading)
        yield from (f"  {run.verdicts.get(one.id, '-'):<15}{one.id}" for one in found)
