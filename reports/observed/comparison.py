"""Changes from one run to another. Pure: the documents of two runs in, a comparison out.

No exchange is judged a second time. For the comparison, the seven verdicts are four results: fails, warns, holds,
untested. A requirement changed if this result did. A requirement that only one of the runs is about did not change.

A run is compared automatically with the run before it, if both have the same scope: environment, address, selection and
permissions. With --compare-with the user may name any run.
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
from reports.sentences.wording import listed, read_moment
from spec.message import Date, Message, Text, joined_with_repeats, say

BASES = (*ON_THE_SERVICE, RunVerdict.INCOMPLETE)
"""Verdicts of runs that are compared automatically. Other runs were stopped, or reached no service."""
_NAME = re.compile(r"[A-Za-z0-9._-]{1,40}")
_VERSION = re.compile(r"[0-9]{1,4}(\.[0-9]{1,4}){0,4}")
"""The only texts of another run that are repeated: the name of a profile, and a version of the suite."""
FAILS = "fails"
WARNS = "warns"
HOLDS = "holds"
UNTESTED = "untested"
CHANGES: Mapping[str, Text] = {
    "newly_failing": say("newly failing"),
    "fixed": say("fixed"),
    "newly_exercised": say("newly exercised"),
    "no_longer_exercised": say("no longer exercised"),
    "newly_warning": say("newly warning"),
    "no_longer_warning": say("no longer warning"),
}
"""Every list of requirements in a comparison, with the words for it."""


def follows(was: EarlierRun, now: ComparableRun) -> bool:
    """True if `now` is compared with the run `was` automatically.

    Both must have reached the service, in the same scope, and `was` must not be the later one.
    """
    both_met_the_service = met_the_service(was) and met_the_service(now)
    is_no_later = read_moment(was.started) <= read_moment(now.started)
    have_one_scope = _scope(was) == _scope(now)
    return both_met_the_service and is_no_later and have_one_scope


def met_the_service(run: ComparableRun) -> bool:
    """True if the run came to its end and the service answered."""
    return run.verdict in BASES


def lists_of(comparison: Comparison) -> Mapping[Text, Sequence[str]]:
    """Every list of requirements in a comparison, under the words for it."""
    return {words: getattr(comparison, name) for name, words in CHANGES.items()}


def worsening_in_words(was: ComparableRun, now: ComparableRun, comparison: Comparison) -> str:
    """Number of requirements that became worse, in one line: `nothing newly fails; drift differs in 2 places`."""
    failing = len(comparison.newly_failing)
    warning = len(comparison.newly_warning)
    untested = len(comparison.no_longer_exercised)
    drifting = len(_places_that_drift_otherwise(was, now))
    parts = ["nothing newly fails"]
    if failing:
        parts = [f"{failing} newly {_by_number(failing, 'fails', 'fail')}"]
    if untested:
        parts.append(f"{untested} {_by_number(untested, 'is', 'are')} no longer exercised")
    if warning:
        parts.append(f"{warning} newly {_by_number(warning, 'warns', 'warn')}")
    if drifting:
        parts.append(f"drift differs in {drifting} {_by_number(drifting, 'place', 'places')}")
    return "; ".join(parts)


def _by_number(number: int, singular: str, plural: str) -> str:
    """The singular for the number 1, else the plural."""
    return singular if number == 1 else plural


def _places_that_drift_otherwise(was: ComparableRun, now: ComparableRun) -> set[tuple[str, ...]]:
    """The places that drifted in only one of two runs, or that drifted to different facts in each."""
    not_in_both_runs = _drifts_with_facts(was) ^ _drifts_with_facts(now)
    return {place for place, _ in not_in_both_runs}


def _drifts_with_facts(run: ComparableRun) -> set[tuple[tuple[str, ...], str]]:
    """Each place that drifted in a run, with the facts there. A place has a requirement, a situation, and a place in
    the answer."""
    return {((drift.id, drift.situation, drift.place), drift.now) for drift in run.drift}


def compared(was: EarlierRun, now: ComparableRun, clean: Callable[[str], str]) -> Comparison:
    """The comparison of the run `now` with the earlier run `was`. `clean` hides known values in texts of `was`.

    It is worse if a requirement newly fails, or if one whose failure would count is no longer exercised.
    """
    changes = _changes(was, now)
    levels_lost = {entry.level for entry in now.requirements if entry.id in changes["no_longer_exercised"]}
    loses_a_failing_level = not levels_lost.isdisjoint(now.environment.fail_on)
    scope_before = asdict(_scope(was))
    scope_now = asdict(_scope(now))
    differs = [name for name in scope_before if scope_before[name] != scope_now[name]]
    other_run = ComparedRun(
        environment=_if_of_the_form(_NAME, clean(was.environment.name)),
        started=was.started,
        suite_version=_if_of_the_form(_VERSION, clean(was.suite.version)),
        verdict=was.verdict,
    )
    return Comparison(
        compared_with=other_run,
        comparable=not differs,
        differs=tuple(differs),
        newly_failing=tuple(changes["newly_failing"]),
        fixed=tuple(changes["fixed"]),
        newly_exercised=tuple(changes["newly_exercised"]),
        no_longer_exercised=tuple(changes["no_longer_exercised"]),
        newly_warning=tuple(changes["newly_warning"]),
        no_longer_warning=tuple(changes["no_longer_warning"]),
        worse=bool(changes["newly_failing"]) or loses_a_failing_level,
        line=_line(other_run, changes, differs),
    )


def _line(other_run: ComparedRun, changes: Mapping[str, Sequence[str]], differs: list[str]) -> Message:
    """The change in one line. `differs` has the parts of the scope that differ."""
    numbers = {CHANGES[name]: len(ids) for name, ids in changes.items() if ids}
    counted = [say("{number} {change}", number=number, change=change) for change, number in numbers.items()]
    when = Date(other_run.started)
    changes_in_words = joined_with_repeats(counted or [say("no change")], ", ")
    if not differs:
        return say("since {when}: {changes}", when=when, changes=changes_in_words)
    return say(
        "compared with {environment}, {when} (other {differs}): {changes}",
        environment=other_run.environment,
        when=when,
        differs=listed(list(map(say, differs))),
        changes=changes_in_words,
    )


def _if_of_the_form(form: re.Pattern[str], text: str) -> str:
    """The text if it has this form, else an ellipsis, because anybody may have written the file of another run."""
    return text if form.fullmatch(text) else "…"


@dataclass(frozen=True)
class _Scope:
    """What must be the same in two runs that are compared automatically. Messages use the names of these fields."""

    environment: str
    origin: str
    selection: str | None
    permissions: list[str]


def _scope(run: ComparableRun) -> _Scope:
    """The scope of a run. Each start of the embedded sandbox has another address, so that it has no address here."""
    environment = run.environment
    origin = EMBEDDED if environment.embedded else environment.base_url
    return _Scope(environment.name, origin, run.selection, sorted(environment.allow))


def _changes(was: EarlierRun, now: ComparableRun) -> dict[str, list[str]]:
    """Ids of the requirements that changed, by the name of the change, in the order of the later run."""
    results_before = {entry.id: _result_for_comparison(entry) for entry in was.requirements}
    changes: dict[str, list[str]] = {name: [] for name in CHANGES}
    for entry in now.requirements:
        result = _result_for_comparison(entry)
        result_before = results_before.get(entry.id, result)  # a requirement that only this run is about is unchanged
        change = _change(result_before, result)
        if change:
            changes[change].append(entry.id)
    return changes


def _result_for_comparison(entry: EarlierRequirement | ReportedRequirement) -> str:
    """FAILS, WARNS, HOLDS or UNTESTED, by the verdict. A known failure is WARNS, because it does not fail the run."""
    if entry.verdict in (Verdict.FAIL, Verdict.WARN):
        return FAILS if entry.fails else WARNS
    return HOLDS if entry.verdict in TESTED else UNTESTED


def _change(was: str, now: str) -> str:
    """Name of the change between two of FAILS, WARNS, HOLDS and UNTESTED, as in CHANGES; empty if they are equal.

    If several names would fit, the first one in these lines counts.
    """
    if was == now:
        return ""
    if now == UNTESTED:
        return "no_longer_exercised"
    if now == FAILS:
        return "newly_failing"
    if was == UNTESTED:
        return "newly_exercised"
    if now == WARNS:
        return "newly_warning"
    return "fixed" if was == FAILS else "no_longer_warning"
