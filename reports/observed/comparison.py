"""Changes from one run to another. Pure: the documents of two runs in, a comparison out.

Nothing is judged anew: a requirement changed where the two runs gave it verdicts of different standing. One that only
one of them is about did not change.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass

from environments.profiles.model import EMBEDDED
from reports.result.document import (
    ComparableRun,
    ComparedRun,
    Comparison,
    EarlierRequirement,
    EarlierRun,
    ReportedRequirement,
)
from reports.result.verdicts import ON_THE_SERVICE, TESTED, RunVerdict, Verdict
from reports.sentences.wording import listed, moment_in_words, read_moment
from spec.message import Text, in_a_row, say

BASES = (*ON_THE_SERVICE, RunVerdict.INCOMPLETE)
"""Verdicts of runs that are compared unasked: the others came to no end, or met no service."""
_NAME = re.compile(r"[A-Za-z0-9._-]{1,40}")
_VERSION = re.compile(r"[0-9]{1,4}(\.[0-9]{1,4}){0,4}")
"""What is repeated of another run: the name of a profile, and a version of the suite."""
FAILS, WARNS, HOLDS, UNTESTED = "fails", "warns", "holds", "untested"
CHANGES: Mapping[str, Text] = {
    "newly_failing": say("newly failing"),
    "fixed": say("fixed"),
    "newly_exercised": say("newly exercised"),
    "no_longer_exercised": say("no longer exercised"),
    "newly_warning": say("newly warning"),
    "no_longer_warning": say("no longer warning"),
}
"""Every list of requirements in a comparison, as people say it."""


def follows(was: EarlierRun, now: ComparableRun) -> bool:
    """True if the earlier run is one to compare with unasked: it met the service, in the same scope."""
    met = met_the_service(was) and met_the_service(now)
    return met and _scope(was) == _scope(now) and read_moment(was.started) <= read_moment(now.started)


def met_the_service(run: ComparableRun) -> bool:
    """True if the run came to its end and the service answered."""
    return run.verdict in BASES


def lists_of(comparison: Comparison) -> Mapping[Text, Sequence[str]]:
    """Every list of requirements in a comparison, under the words for it."""
    return {words: getattr(comparison, name) for name, words in CHANGES.items()}


def result_line(was: ComparableRun, now: ComparableRun, comparison: Comparison) -> str:
    """What became worse, in one line of plain text: `nothing newly fails; drift differs in 2 places`."""
    failing, warning = len(comparison.newly_failing), len(comparison.newly_warning)
    untested = len(comparison.no_longer_exercised)
    parts = [f"{failing or 'nothing'} newly {'fail' if failing > 1 else 'fails'}"]
    if untested:
        parts.append(f"{untested} {'are' if untested > 1 else 'is'} no longer exercised")
    if warning:
        parts.append(f"{warning} newly {'warn' if warning > 1 else 'warns'}")
    if places := _places_of_drift(was) ^ _places_of_drift(now):
        count = len({place for place, _ in places})
        parts.append(f"drift differs in {count} {'places' if count > 1 else 'place'}")
    return "; ".join(parts)


def _places_of_drift(run: ComparableRun) -> set[tuple[tuple[str, ...], str]]:
    """Each place where what was observed contradicts the record, with what is there."""
    return {((drift.id, drift.situation, drift.place), drift.now) for drift in run.drift}


def compared(was: EarlierRun, now: ComparableRun, clean: Callable[[str], str]) -> Comparison:
    """What changed from one run to the other. `clean` is applied to free texts of the two runs."""
    changes = _changes(was, now)
    lost = {entry.level for entry in now.requirements if entry.id in changes["no_longer_exercised"]}
    before, after = asdict(_scope(was)), asdict(_scope(now))
    differs = [name for name in before if before[name] != after[name]]
    counted = {CHANGES[name]: len(ids) for name, ids in changes.items() if ids}
    said = [say("{number} {change}", number=number, change=change) for change, number in counted.items()]
    environment = _if_of_the_form(_NAME, clean(was.environment.name))
    parts: dict[str, Text] = {
        "environment": environment,
        "when": moment_in_words(was.started),
        "differs": listed(list(map(say, differs))),
        "changes": in_a_row(said or [say("no change")], ", "),
    }
    line = say("since {when}: {changes}", when=parts["when"], changes=parts["changes"])
    if differs:
        line = say("compared with {environment}, {when} (other {differs}): {changes}", **parts)
    return Comparison(
        compared_with=ComparedRun(
            environment=environment,
            started=was.started,
            suite_version=_if_of_the_form(_VERSION, clean(was.suite.version)),
            verdict=was.verdict,
        ),
        comparable=not differs,
        differs=tuple(differs),
        newly_failing=tuple(changes["newly_failing"]),
        fixed=tuple(changes["fixed"]),
        newly_exercised=tuple(changes["newly_exercised"]),
        no_longer_exercised=tuple(changes["no_longer_exercised"]),
        newly_warning=tuple(changes["newly_warning"]),
        no_longer_warning=tuple(changes["no_longer_warning"]),
        worse=bool(changes["newly_failing"]) or not lost.isdisjoint(now.environment.fail_on),
        line=line,
    )


def _if_of_the_form(form: re.Pattern[str], text: str) -> str:
    """The text of another run, which anybody may have written, if it has this form; else an ellipsis."""
    return text if form.fullmatch(text) else "…"


@dataclass(frozen=True)
class _Scope:
    """Everything that must be the same for two runs to be comparable."""

    environment: str
    origin: str
    selection: str | None
    permissions: list[str]


def _scope(run: ComparableRun) -> _Scope:
    environment = run.environment
    origin = EMBEDDED if environment.embedded else environment.base_url
    return _Scope(environment.name, origin, run.selection, sorted(environment.allow))


def _changes(was: EarlierRun, now: ComparableRun) -> dict[str, list[str]]:
    """The requirements by what they are now, in the order of the later run."""
    before = {entry.id: _standing(entry) for entry in was.requirements}
    changes: dict[str, list[str]] = {name: [] for name in CHANGES}
    for entry in now.requirements:
        standing = _standing(entry)
        if change := _change(before.get(entry.id, standing), standing):
            changes[change].append(entry.id)
    return changes


def _standing(entry: EarlierRequirement | ReportedRequirement) -> str:
    """Standing of a requirement after a run. A known failure stands with the warnings: it fails no run."""
    if entry.verdict in (Verdict.FAIL, Verdict.WARN):
        return FAILS if entry.fails else WARNS
    return HOLDS if entry.verdict in TESTED else UNTESTED


def _change(was: str, now: str) -> str:
    """The name of a change; empty where there is none."""
    if was == now:
        return ""
    if now in (UNTESTED, FAILS):
        return "no_longer_exercised" if now == UNTESTED else "newly_failing"
    if was == UNTESTED:
        return "newly_exercised"
    if now == WARNS:
        return "newly_warning"
    return "fixed" if was == FAILS else "no_longer_warning"
