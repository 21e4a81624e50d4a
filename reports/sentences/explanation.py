"""Texts of --explain and --list, which show requirements to a person with their verdicts in the last run.

--explain explains one requirement. --list has one line for each requirement, by section of the interface document.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

from reports.observed.comparison import came_to_its_end
from reports.observed.earlier_runs import UnreadableError, read_run, runs_of
from reports.outputs.writing import PAGE
from reports.result.document import EarlierRun
from reports.sentences.wording import permission_needed_for
from spec.interface import operations
from spec.message import Date, Text, say
from spec.requirements import Requirement, read_yaml

FIXES = Path(__file__).with_name("fixes.yaml")
"""The texts that say how a service usually repairs a deviation."""


@cache
def fixes() -> tuple[Mapping[str, Any], ...]:
    """All entries of fixes.yaml, in their order. An entry says what usually repairs a deviation of the service.

    An entry has the text `fix`. It also has `level` or `ids`, which tell for which requirements the text is: those of
    that level, or those whose ids match one of the patterns in `ids`.
    """
    return tuple(read_yaml(FIXES))


def entry_is_for(entry: Mapping[str, Any], requirement: Requirement) -> bool:
    """True if the entry of fixes.yaml tells how a deviation from this requirement is usually repaired.

    An entry is for some requirements, with ids such as `*.status`, or for a whole level. Entries for a level are
    general advice, such as "There is nothing to fix: the interface document leaves this open" for "not-shown".
    """
    is_for_its_level = entry.get("level") == requirement.level
    patterns_of_ids = entry.get("ids", ())
    return is_for_its_level or any(fnmatchcase(requirement.id, pattern) for pattern in patterns_of_ids)


def fix_for(requirement: Requirement) -> Text:
    """A text that says how a service usually repairs a deviation from the requirement.

    The text is empty if no request can show a deviation. It may name a field or a key type. Both are taken from the id
    of the requirement: `digit` from `executePix.digit.type`, `PHONE` from `registerPixKey.pixKeyType.PHONE`.
    """
    if requirement.untestable:
        return ""
    # There is an entry for every requirement that can be tested: test_explanation.py checks this.
    texts = [entry["fix"] for entry in fixes() if entry_is_for(entry, requirement)]
    text = texts[0]  # such as "Return the field {field}": the first entry counts
    operation = operations().get(requirement.operation or "")
    request = f"{operation.method} {operation.path}" if operation else ""
    parts = requirement.id.split(".")
    # The field is the last part of `registerPixKey.body.account`, and the part before the last in other ids.
    field = parts[-1] if parts[1] == "body" else parts[-2]
    return say(text, field=field, type=parts[-1], request=request)


@dataclass(frozen=True)
class LastRun:
    """The last run, as it may be shown."""

    line: str  # which run it was, or why there is none
    verdicts: Mapping[str, str] = field(default_factory=dict)  # by requirement id


def last_run(folder: Path, clean: Callable[[str], str]) -> LastRun:
    """The run whose conformance.json is in that folder, or a line that says why it cannot be read.

    Anybody may have written that file, so `clean` removes from its texts what may not be shown.
    """
    try:
        return _shown_last_run(folder, read_run(folder), clean)
    except UnreadableError as error:
        return LastRun(f"no last run: {clean(str(error))}")


def last_run_about(ids: Collection[str], environment: Path, clean: Callable[[str], str]) -> LastRun:
    """The newest run of an environment in which the service answered and all these requirements were selected.

    `environment` is the folder with the runs. A run of other requirements would not answer the question of the user.
    But if there is no run with these requirements, the newest run of all is returned. `clean` removes from its texts
    what may not be shown.
    """
    for folder, run in runs_of(environment):
        ids_of_run = {entry.id for entry in run.requirements}
        if came_to_its_end(run) and ids_of_run.issuperset(ids):
            return _shown_last_run(folder, run, clean)
    newest = environment / "latest"
    return last_run(newest, clean) if newest.exists() else LastRun(f"no earlier run of {clean(environment.name)} yet")


def _shown_last_run(folder: Path, run: EarlierRun, clean: Callable[[str], str]) -> LastRun:
    """One line about an earlier run (target, moment, verdict, path of its page), and the verdicts of its requirements.

    `clean` removes from the texts what may not be shown, because anybody may have written the file of that run.
    """
    selection = f" (only {run.selection})" if run.selection else ""
    target = clean(f"{run.environment.name} at {run.environment.base_url}{selection}")
    line = f"{target}, {Date(run.started)}: {run.verdict}; {folder / PAGE}"
    return LastRun(line, {entry.id: entry.verdict for entry in run.requirements})


def explanation(requirement: Requirement, sent_for_it: Sequence[str], run: LastRun) -> Iterator[str]:
    """Lines that explain a requirement to a person (--explain): statement, requests, last verdict, usual repair.

    `sent_for_it` says why requests are sent for this requirement. A part without lines is left out.
    """
    lines_about_requests = [*_line_about_permission(requirement), *sent_for_it]
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


def _line_about_permission(requirement: Requirement) -> Iterator[str]:
    """At most one line: the permission that the profile must have so that the requirement can be tested.

    No line for a requirement that is about no single operation.
    """
    if requirement.operation:
        yield str(permission_needed_for(operations()[requirement.operation]))


def listing(requirements: Iterable[Requirement], run: LastRun) -> Iterator[str]:
    """Lines of --list: for each section of the interface document its requirements, each with its verdict in a run.

    A requirement without a verdict in that run has `-`.
    """
    yield run.line
    for heading, requirements_below in groupby(requirements, key=lambda requirement: requirement.heading):
        yield ""
        yield heading
        for requirement in requirements_below:
            yield f"  {run.verdicts.get(requirement.id, '-'):<15}{requirement.id}"
