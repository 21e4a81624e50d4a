"""Verdicts of requirements and of a run. Pure: results in, verdict and exit status out (design, Verdicts)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from enum import Enum, StrEnum, auto
from typing import Any

from environments.profiles.profile import KnownFailure
from reports.wording import grouped, level_by_level
from spec.findings import Finding, merged_findings
from spec.message import Text, joined, say, say_many
from spec.requirements import LEVELS, Requirement

NOTHING_TESTED = say("nothing was tested")
JOURNAL_TROUBLE = say("the journal could not be used, which stopped executions")
MOST_SAID = 12
"""Findings of one requirement; those of generated traffic may be many."""
UNWRITTEN = say("a part of the report cannot be written")
Entry = Mapping[str, Any]
"""A requirement or a finding of conformance.json."""


class Verdict(StrEnum):
    """Of a requirement. Over its exchanges a requirement takes the first of these."""

    FAIL = "fail"
    WARN = "warn"
    PASS = "pass"
    OBSERVED = "observed"
    NOT_EXERCISED = "not-exercised"
    OUT_OF_SCOPE = "out-of-scope"
    UNTESTABLE = "untestable"


TESTED = (Verdict.FAIL, Verdict.WARN, Verdict.PASS, Verdict.OBSERVED)
"""Verdicts of requirements that an exchange answered for."""


class RunVerdict(StrEnum):
    """Of a run, with the exit status of the process. Where several fit, a run takes the first of these."""

    exit_status: int

    def __new__(cls, word: str, exit_status: int) -> RunVerdict:
        member = str.__new__(cls, word)
        member._value_ = word
        member.exit_status = exit_status
        return member

    INTERNAL_ERROR = "internal-error", 3
    INTERRUPTED = "interrupted", 2
    NON_CONFORMANT = "non-conformant", 1
    NOT_ROBUST = "not-robust", 1
    DRIFTED = "drifted", 1
    UNREACHABLE = "unreachable", 7
    NOTHING_SELECTED = "nothing-selected", 5
    INCOMPLETE = "incomplete", 6
    PARTIAL = "partial", 0
    CONFORMANT = "conformant", 0


ON_THE_SERVICE = (
    *(RunVerdict.NON_CONFORMANT, RunVerdict.NOT_ROBUST, RunVerdict.DRIFTED),
    *(RunVerdict.PARTIAL, RunVerdict.CONFORMANT),
)
"""Verdicts of runs that came to their end. The others say nothing of the service."""


@dataclass(frozen=True)
class RequirementResult:
    """What one test, or the whole run, found for one requirement: findings, or why there are none."""

    id: str
    verdict: Verdict
    why: Text = ""
    exchanges: tuple[int, ...] = ()  # numbers of evidence
    known: str = ""  # the reason of the profile for a failure that it lists
    findings: tuple[Finding, ...] = ()

    @property
    def message(self) -> Text:
        """What was found, or why nothing was."""
        found = list(dict.fromkeys(each.in_full for each in self.findings))
        more = [say("{n} more", n=len(found) - MOST_SAID)] if len(found) > MOST_SAID else []
        return joined([*found[:MOST_SAID], *more]) or self.why

    @property
    def fails(self) -> bool:
        """Whether it fails the run: a known failure does not."""
        return self.verdict == Verdict.FAIL and not self.known


Results = Sequence[tuple[Requirement, RequirementResult]]
"""Requirements in the document's order, each with its result."""


class Incomplete(Enum):
    """Why a run in which nothing failed is no verdict on the service. The first that applies counts."""

    JOURNAL = auto()
    NOTHING_TESTED = auto()
    NOTHING_GRANTED = auto()
    NOT_EXERCISED = auto()
    CUT_SHORT = auto()
    COVERAGE = auto()


@dataclass(frozen=True)
class RunResult:
    """The verdict of a run. Where something is missing and nothing failed: the reason, and the same in words."""

    verdict: RunVerdict
    why: Text = ""
    reason: Incomplete | None = None


def fails(entry: Entry) -> bool:
    """Whether a requirement or a finding of conformance.json fails the run: a known failure does not."""
    return entry["verdict"] == Verdict.FAIL and "known_failure" not in entry


def is_told_by_none(document: Mapping[str, Any]) -> bool:
    """Whether no requirement of a conformance.json says why the run is not green: it gives no verdict on the service,
    or an entry of known_failures no longer holds."""
    if document["verdict"] not in ON_THE_SERVICE:
        return True
    return bool(document["exit_status"]) and not any(map(fails, document["requirements"]))


def deviation(level: str, fail_on: Collection[str]) -> Verdict:
    """What a deviation from a requirement of that level is."""
    if level == "not-shown":
        return Verdict.OBSERVED
    return Verdict.FAIL if level in fail_on else Verdict.WARN


def merged(results: Iterable[RequirementResult]) -> dict[str, RequirementResult]:
    """One result for each requirement: the most severe verdict, its distinct messages and its exchanges."""
    groups = grouped(results, lambda result: result.id)
    return {requirement_id: _strongest(requirement_id, group) for requirement_id, group in groups.items()}


def counts(results: Results) -> dict[str, dict[str, int]]:
    """Verdicts by level, levels and verdicts in their order."""
    tally: Counter[tuple[str, str]] = Counter((requirement.level, result.verdict) for requirement, result in results)
    return {
        level: {verdict.value: tally[level, verdict] for verdict in Verdict if tally[level, verdict]}
        for level in LEVELS
        if any(tally[level, verdict] for verdict in Verdict)
    }


def coverage(results: Results) -> dict[str, dict[str, int]]:
    """For each level how many requirements an exchange can show, and how many were tested."""
    return {
        level: {
            "tested": sum(requirement.level == level and result.verdict in TESTED for requirement, result in results),
            "testable": sum(requirement.level == level and not requirement.untestable for requirement, _ in results),
        }
        for level in LEVELS
        if any(requirement.level == level for requirement, _ in results)
    }


def tested_of(coverage: Mapping[str, Mapping[str, int]], fail_on: Collection[str]) -> tuple[int, int]:
    """How many of the testable requirements at failing levels were tested, and how many there are, permitted or not."""
    shares = [coverage[level] for level in fail_on if level in coverage]
    return sum(share["tested"] for share in shares), sum(share["testable"] for share in shares)


def run_result(
    results: Results,
    *,
    fail_on: Collection[str],
    narrowed: bool,
    unreachable: str,
    interrupted: bool,
    errors: int,
    ungranted: Text,
    journal_trouble: bool,
    cut_short: Text,
    min_coverage: float | None,
    drifted: bool,
) -> RunResult:
    """The verdict of a run over its requirements. `narrowed`: they were selected by id or path; `ungranted` says which
    operations granted nothing, where the verdict then has nothing to rest on; `cut_short` is the limit that ended the
    run; `min_coverage` is the share of the testable requirements at failing levels to be tested; `drifted`: there is
    drift, and the profile has that fail."""
    failed = {requirement.level for requirement, result in results if result.fails}
    tested, testable = tested_of(coverage(results), fail_on)
    least = min_coverage or 0
    missing = {
        Incomplete.JOURNAL: JOURNAL_TROUBLE if journal_trouble else "",
        Incomplete.NOTHING_TESTED: _untested(results),
        Incomplete.NOTHING_GRANTED: ungranted,
        Incomplete.NOT_EXERCISED: _not_exercised(results, fail_on),
        Incomplete.CUT_SHORT: cut_short,
        Incomplete.COVERAGE: _uncovered(least) if tested < least * testable else "",
    }
    reason, why = next(((reason, why) for reason, why in missing.items() if why), (None, ""))
    applies = {
        RunVerdict.INTERNAL_ERROR: errors,
        RunVerdict.INTERRUPTED: interrupted,
        RunVerdict.NON_CONFORMANT: failed - {"robustness"},
        RunVerdict.NOT_ROBUST: failed,
        RunVerdict.DRIFTED: drifted,
        RunVerdict.UNREACHABLE: unreachable,
        RunVerdict.NOTHING_SELECTED: not results,
        RunVerdict.INCOMPLETE: reason,
        RunVerdict.PARTIAL: narrowed or tested < testable,
        RunVerdict.CONFORMANT: True,
    }
    verdict = next(verdict for verdict in RunVerdict if applies[verdict])
    told = verdict in (RunVerdict.DRIFTED, RunVerdict.INCOMPLETE)
    return RunResult(verdict, why, reason) if told else RunResult(verdict)


def _uncovered(least: float) -> Text:
    return say("min_coverage ({share}) is not reached", share=f"{least:g}")


def _untested(results: Results) -> Text:
    return "" if any(result.verdict in TESTED for _, result in results) else NOTHING_TESTED


def _not_exercised(results: Results, fail_on: Collection[str]) -> Text:
    untested = [requirement for requirement, result in results if result.verdict == Verdict.NOT_EXERCISED]
    levels = [requirement.level for requirement in untested if requirement.level in fail_on]
    if not levels:
        return ""
    return say_many(
        "{levels} requirement in scope was not exercised",
        "{levels} requirements in scope were not exercised",
        **{"n": len(levels), "levels": level_by_level(levels)},
    )


def with_known_failures(
    results: Mapping[str, RequirementResult], entries: Iterable[KnownFailure], today: date
) -> tuple[dict[str, RequirementResult], list[Text]]:
    """Mark the failures that the profile lists, and give a line for each entry that no longer holds."""
    marked, notes = dict(results), list[Text]()
    for entry in entries:
        if entry.id in results:
            marked[entry.id], why = _as_known(results[entry.id], entry, today)
            notes += [say("known_failures: {id}: {why}", id=entry.id, why=why)] if why else []
    return marked, notes


_DELETE = say("passes; delete the entry")
_PASSES = say("known_failures lists it, and it passes; delete the entry")


def _as_known(result: RequirementResult, entry: KnownFailure, today: date) -> tuple[RequirementResult, Text]:
    """The result of a requirement that is listed, and what is wrong with the entry.

    A requirement that passes gets a message, and fails where its entry is strict: then it is the profile that is wrong,
    and no exchange shows it. Past its last day a failure is a failure.
    """
    if result.verdict == Verdict.FAIL and entry.is_past(today):
        return result, say("its last day {day} has passed", day=str(entry.until))
    if result.verdict == Verdict.FAIL:
        return replace(result, known=entry.reason), ""
    if result.verdict != Verdict.PASS:
        return result, ""
    if entry.strict:
        strict = replace(result, verdict=Verdict.FAIL, why=say("strict: {reason}", reason=_PASSES), exchanges=())
        return strict, _DELETE
    return replace(result, why=_PASSES), _DELETE


def _strongest(requirement_id: str, results: list[RequirementResult]) -> RequirementResult:
    verdict = next(verdict for verdict in Verdict if any(result.verdict == verdict for result in results))
    same = [result for result in results if result.verdict == verdict]
    numbers = dict.fromkeys(number for result in same for number in result.exchanges)
    found = merged_findings(each for result in same for each in result.findings)
    return RequirementResult(
        requirement_id, verdict, joined(result.why for result in same), tuple(numbers), findings=found
    )
