"""Changes from one run to another. Pure: the documents of two runs in, a comparison out.

No exchange is judged a second time. The seven verdicts of requirements become four results: fails, warns, holds,
untested. A requirement has changed if its result in the two runs differs. If only one of the runs is about a
requirement, it has not changed.

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
from reports.result.verdicts import TESTED, VERDICTS_ON_THE_SERVICE, RunVerdict, Verdict
from reports.sentences.wording import joined_with_and, read_moment
from spec.message import Date, Message, Text, joined_keeping_repeats, say

VERDICTS_THAT_CAN_BE_COMPARED = (*VERDICTS_ON_THE_SERVICE, RunVerdict.INCOMPLETE)
"""Verdicts of runs that are compared automatically. Other runs were stopped, or reached no service."""
_NAME = re.compile(r"[A-Za-z0-9._-]{1,40}")
"""The name of a profile. A name of another form is not shown, because anybody may have written the file."""
_VERSION = re.compile(r"[0-9]{1,4}(\.[0-9]{1,4}){0,4}")
"""A version of the suite. A version of another form is not shown, for the same reason."""
# The results of a requirement that are compared.
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
"""The names of the lists of requirements in a `Comparison`, one for each kind of change, with the words for each."""


def is_compared_automatically(earlier: EarlierRun, later: ComparableRun) -> bool:
    """True if a report of the run `later` shows automatically what has changed since the run `earlier`.

    There are three conditions. Both runs came to their end, and the service answered. Both have the same scope:
    environment, address, selection and permissions. And `earlier` started before `later`.
    """
    both_tested_the_service = came_to_its_end(earlier) and came_to_its_end(later)
    are_in_order = read_moment(earlier.started) <= read_moment(later.started)
    have_one_scope = _scope(earlier) == _scope(later)
    return both_tested_the_service and are_in_order and have_one_scope


def came_to_its_end(run: ComparableRun) -> bool:
    """True if the run was not stopped and the service answered, so that it can be compared with another run."""
    return run.verdict in VERDICTS_THAT_CAN_BE_COMPARED


def lists_of(comparison: Comparison) -> Mapping[Text, Sequence[str]]:
    """The lists of requirement ids in a comparison, by the words for each list, such as "newly failing"."""
    return {words: getattr(comparison, name) for name, words in CHANGES.items()}


def worsening_in_words(earlier: ComparableRun, later: ComparableRun, comparison: Comparison) -> str:
    """How much worse the run `later` is than the run `earlier`, in one line for the terminal.

    Such as `2 newly fail; 1 is no longer exercised`, or `nothing newly fails; drift differs in 2 places`. Drift is
    behaviour that contradicts the record of accepted behaviour.
    """
    failing = len(comparison.newly_failing)
    warning = len(comparison.newly_warning)
    untested = len(comparison.no_longer_exercised)
    drifting = len(_places_that_drift_differently(earlier, later))
    parts = ["nothing newly fails"]
    if failing:
        parts = [f"{failing} newly {_singular_or_plural(failing, 'fails', 'fail')}"]
    if untested:
        parts.append(f"{untested} {_singular_or_plural(untested, 'is', 'are')} no longer exercised")
    if warning:
        parts.append(f"{warning} newly {_singular_or_plural(warning, 'warns', 'warn')}")
    if drifting:
        parts.append(f"drift differs in {drifting} {_singular_or_plural(drifting, 'place', 'places')}")
    return "; ".join(parts)


def _singular_or_plural(number: int, singular: str, plural: str) -> str:
    """The word for this number of things: the singular for 1, else the plural."""
    return singular if number == 1 else plural


def _places_that_drift_differently(earlier: ComparableRun, later: ComparableRun) -> set[tuple[str, ...]]:
    """The places of answers at which two runs drifted differently: only one of them drifted, or each to other facts.

    To drift is to contradict the record of accepted behaviour. A place is a requirement, a situation (what was sent, in
    words) and a JSON pointer into the answer.
    """
    # ^ gives the pairs that are in only one of the two sets.
    not_in_both_runs = _drifts_with_facts(earlier) ^ _drifts_with_facts(later)
    return {place for place, _ in not_in_both_runs}


def _drifts_with_facts(run: ComparableRun) -> set[tuple[tuple[str, ...], str]]:
    """Each drift of a run as a pair: where it was, and what the service answered there.

    The first part is a requirement, a situation (what was sent, in words), and a JSON pointer into the answer. To drift
    is to contradict the record of accepted behaviour.
    """
    return {((drift.id, drift.situation, drift.place), drift.now) for drift in run.drift}


def comparison_of_two_runs(earlier: EarlierRun, later: ComparableRun, clean: Callable[[str], str]) -> Comparison:
    """What has changed from the run `earlier` to the run `later`.

    The member `worse` of the comparison is True in two cases: a requirement newly fails; or a requirement is no longer
    exercised, and its level is one that makes a run fail. `clean` redacts secrets in texts of the earlier run, because
    anybody may have written its file.
    """
    changes = _ids_by_change(earlier, later)
    no_longer_exercised = [entry for entry in later.requirements if entry.id in changes["no_longer_exercised"]]
    # A deviation from such a requirement would make the run fail, but nobody would notice that deviation now.
    not_exercised_at_failing_level = [
        entry.id for entry in no_longer_exercised if entry.level in later.environment.fail_on
    ]
    scope_before = asdict(_scope(earlier))
    scope_now = asdict(_scope(later))
    differs = [name for name in scope_before if scope_before[name] != scope_now[name]]  # such as "selection"
    other_run = ComparedRun(
        environment=_text_or_ellipsis(_NAME, clean(earlier.environment.name)),
        started=earlier.started,
        suite_version=_text_or_ellipsis(_VERSION, clean(earlier.suite.version)),
        verdict=earlier.verdict,
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
        worse=bool(changes["newly_failing"] or not_exercised_at_failing_level),
        line=_comparison_in_words(other_run, changes, differs),
    )


def _comparison_in_words(other_run: ComparedRun, changes: Mapping[str, Sequence[str]], differs: list[str]) -> Message:
    """The comparison in one line for people: `since 2026-11-20 09:30:00 UTC: 2 newly failing, 1 fixed`.

    `differs` has the parts of the scope in which the two runs differ, such as "selection". If it is not empty, the line
    names them and the other environment, because the user asked for a comparison that may be unfair.
    """
    numbers_in_words = []
    for name, ids in changes.items():
        if ids:
            numbers_in_words.append(say("{number} {change}", number=len(ids), change=CHANGES[name]))
    when = Date(other_run.started)
    changes_in_words = joined_keeping_repeats(numbers_in_words or [say("no change")], ", ")
    if not differs:
        return say("since {when}: {changes}", when=when, changes=changes_in_words)
    return say(
        "compared with {environment}, {when} (other {differs}): {changes}",
        environment=other_run.environment,
        when=when,
        differs=joined_with_and(list(map(say, differs))),
        changes=changes_in_words,
    )


def _text_or_ellipsis(pattern: re.Pattern[str], text: str) -> str:
    """The text if it matches the pattern, else "…".

    Anybody may have written the file of another run, so a report repeats only texts that are known to be harmless.
    """
    return text if pattern.fullmatch(text) else "…"


@dataclass(frozen=True)
class _Scope:
    """What must be the same in two runs that are compared automatically. Messages use the names of these fields."""

    environment: str
    origin: str
    selection: str | None
    permissions: list[str]


def _scope(run: ComparableRun) -> _Scope:
    """The scope of a run: what must be the same in two runs, so that they can be compared."""
    environment = run.environment
    # The embedded sandbox gets another port at each start, so its address makes no difference.
    origin = EMBEDDED if environment.embedded else environment.base_url
    return _Scope(environment.name, origin, run.selection, sorted(environment.allow))


def _ids_by_change(earlier: EarlierRun, later: ComparableRun) -> dict[str, list[str]]:
    """By the name of a change, such as "newly_failing", the ids of the requirements whose result changed in this way.

    The ids are in the order of the run `later`.
    """
    results_before = {entry.id: _result_for_comparison(entry) for entry in earlier.requirements}
    changes: dict[str, list[str]] = {name: [] for name in CHANGES}
    for entry in later.requirements:
        result = _result_for_comparison(entry)
        result_before = results_before.get(entry.id, result)  # unchanged if only this run is about the requirement
        change = _name_of_change(result_before, result)
        if change:
            changes[change].append(entry.id)
    return changes


def _result_for_comparison(entry: EarlierRequirement | ReportedRequirement) -> str:
    """The result of a requirement in one run as FAILS, WARNS, HOLDS or UNTESTED, which is all that is compared.

    A known failure (one that the profile lists) counts as WARNS, because it does not make the run fail.
    """
    if entry.verdict in (Verdict.FAIL, Verdict.WARN):
        return FAILS if entry.fails else WARNS
    return HOLDS if entry.verdict in TESTED else UNTESTED


def _name_of_change(before: str, after: str) -> str:
    """The name of a change from one result to another, such as "fixed" from FAILS to HOLDS; empty if both are equal.

    The results are FAILS, WARNS, HOLDS and UNTESTED. CHANGES has all names. The most important name is checked first,
    because a change may fit two names: from UNTESTED to FAILS is "newly_failing", and not "newly_exercised".
    """
    if before == after:
        return ""
    if after == UNTESTED:
        return "no_longer_exercised"
    if after == FAILS:
        return "newly_failing"
    if before == UNTESTED:
        return "newly_exercised"
    if after == WARNS:
        return "newly_warning"
    return "fixed" if before == FAILS else "no_longer_warning"
