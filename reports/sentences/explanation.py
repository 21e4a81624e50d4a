"""Requirements for people: one explained (--explain), or many listed by section (--list), with their verdicts in
the last run.
"""

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
    """All entries of fixes.yaml, in their order.

    An entry has a text `fix`, and either the `level` or the `ids` that it is for. The latter are patterns.
    """
    return tuple(read_yaml(FIXES))


def is_for(entry: Mapping[str, Any], requirement: Requirement) -> bool:
    """True if the entry of fixes.yaml is about the requirement."""
    patterns = entry.get("ids", ())
    return requirement.level == entry.get("level") or any(fnmatchcase(requirement.id, pattern) for pattern in patterns)


def fix_for(requirement: Requirement) -> Text:
    """The usual fix of a deviation from the requirement; empty if no exchange can show a deviation.

    The field and the type that a text names are parts of the id: `executePix.digit.type`,
    `registerPixKey.body.account`.
    """
    if requirement.untestable:
        return ""
    # An entry is always found, because the last entries are for whole levels.
    text = next(entry["fix"] for entry in fixes() if is_for(entry, requirement))
    operation = operations().get(requirement.operation or "")
    request = f"{operation.method} {operation.path}" if operation else ""
    parts = requirement.id.split(".")
    field = parts[-1] if parts[1] == "body" else parts[-2]
    return say(text, field=field, type=parts[-1], request=request)


@dataclass(frozen=True)
class LastRun:
    """The last run, as it may be shown."""

    line: str  # which run it was, or why there is none
    verdicts: Mapping[str, str] = field(default_factory=dict)  # by requirement id


def last_run(folder: Path, clean: Callable[[str], str]) -> LastRun:
    """The run in that folder. Anybody may have written its file, so `clean` is applied to the texts that are shown."""
    try:
        return _shown(folder, read_run(folder), clean)
    except UnreadableError as error:
        return LastRun(f"no last run: {clean(str(error))}")


def last_run_about(ids: Collection[str], environment: Path, clean: Callable[[str], str]) -> LastRun:
    """The newest run in the folder of an environment that met the service and is about all these requirements.

    A run that was narrowed to other requirements says nothing about these. Without such a run it is the newest of all.
    """
    for folder, run in runs_of(environment):
        ids_of_run = {entry.id for entry in run.requirements}
        if met_the_service(run) and ids_of_run.issuperset(ids):
            return _shown(folder, run, clean)
    newest = environment / "latest"
    return last_run(newest, clean) if newest.exists() else LastRun(f"no earlier run of {clean(environment.name)} yet")


def _shown(folder: Path, run: EarlierRun, clean: Callable[[str], str]) -> LastRun:
    """The run as it may be shown: target, moment, verdict, and the path of its page."""
    selection = f" (only {run.selection})" if run.selection else ""
    target = clean(f"{run.environment.name} at {run.environment.base_url}{selection}")
    line = f"{target}, {Date(run.started)}: {run.verdict}; {folder / PAGE}"
    return LastRun(line, {entry.id: entry.verdict for entry in run.requirements})


def explanation(requirement: Requirement, sent_for_it: Sequence[str], run: LastRun) -> Iterator[str]:
    """Lines that explain a requirement. `sent_for_it` has the purposes of the requests that are sent for it."""
    lines_about_requests = [*_needed(requirement), *sent_for_it]
    lines_about_fix = [str(fix_for(requirement))]
    if requirement.untestable:
        lines_about_requests = [f"no exchange can show it: {requirement.untestable}"]
        lines_about_fix = []
    parts = {
        f"{requirement.id} ({requirement.level})": [requirement.text, requirement.section],
        "How it is exercised": lines_about_requests,
        "What the last run saw": [run.line, run.verdicts.get(requirement.id, "")],
        "What usually fixes it": lines_about_fix,
    }
    for title, lines in parts.items():
        if lines:
            yield title
            yield from (f"  {line}" for line in lines if line)
            yield ""


def _needed(requirement: Requirement) -> Iterator[str]:
    """The permission that a requirement of an operation needs."""
    if requirement.operation:
        yield str(needed_for(operations()[requirement.operation]))


def listing(requirements: Iterable[Requirement], run: LastRun) -> Iterator[str]:
    """The ids by section of the interface document, each with its verdict in the run, or `-`."""
    yield run.line
    for heading, requirements_below in groupby(requirements, key=lambda requirement: requirement.heading):
        yield ""
        yield heading
        for requirement in requirements_below:
            yield f"  {run.verdicts.get(requirement.id, '-'):<15}{requirement.id}"
