"""Verdicts of requirements and of a run. Pure: results in, verdict and exit status out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from enum import StrEnum

from environments.profiles.model import KnownFailure
from reports.result.published import Count, Published
from reports.sentences.wording import capped, grouped
from spec.findings import Finding, merged_findings
from spec.message import Date, Text, joined, say
from spec.requirements import LEVELS, Requirement

MOST_SAID = 12
"""Findings of one requirement; those of generated traffic may be many."""


class Verdict(StrEnum):
    """Of a requirement. Over its tests a requirement takes the first of these."""

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
    """Result of one test, or of the whole run, for one requirement: findings, or why there are none."""

    id: str
    verdict: Verdict
    why: Text = ""
    exchanges: tuple[int, ...] = ()  # numbers of evidence
    known: str = ""  # the reason of the profile for a failure that it lists
    known_until: date | None = None  # the last day on which the profile lists it
    findings: tuple[Finding, ...] = ()

    @property
    def message(self) -> Text:
        """The findings in one text, or why there are none."""
        found = list(dict.fromkeys(each.in_full for each in self.findings))
        return joined(capped(found, MOST_SAID)) or self.why

    @property
    def expected(self) -> Text:
        """What its findings expected, in one text."""
        return joined(each.expected for each in self.findings)

    @property
    def got(self) -> Text:
        """What its findings got, in one text."""
        return joined(each.got for each in self.findings)

    @property
    def fails(self) -> bool:
        """True if it fails the run: a known failure does not."""
        return self.verdict == Verdict.FAIL and not self.known


Results = Sequence[tuple[Requirement, RequirementResult]]
"""Requirements in the document's order, each with its result."""


def deviation(level: str, fail_on: Collection[str]) -> Verdict:
    """The verdict on a deviation from a requirement of that level."""
    if level == "not-shown":
        return Verdict.OBSERVED
    return Verdict.FAIL if level in fail_on else Verdict.WARN


def merged(results: Iterable[RequirementResult]) -> dict[str, RequirementResult]:
    """One result for each requirement: the most severe verdict, its distinct messages and its exchanges."""
    groups = grouped(results, lambda result: result.id)
    return {requirement_id: _strongest(requirement_id, group) for requirement_id, group in groups.items()}


def counts(results: Results) -> dict[str, dict[Verdict, int]]:
    """Verdicts by level, levels and verdicts in their order."""
    tally: Counter[tuple[str, str]] = Counter((requirement.level, result.verdict) for requirement, result in results)
    return {
        level: {verdict: tally[level, verdict] for verdict in Verdict if tally[level, verdict]}
        for level in LEVELS
        if any(tally[level, verdict] for verdict in Verdict)
    }


class Coverage(Published):
    """Requirements of one level: how many were tested, and how many an exchange can show."""

    tested: Count
    testable: Count


def coverage(results: Results) -> dict[str, Coverage]:
    """Coverage by level."""
    by_level = grouped(results, lambda pair: pair[0].level)
    return {level: _coverage_of(by_level[level]) for level in LEVELS if level in by_level}


def _coverage_of(results: Results) -> Coverage:
    tested = [result for _, result in results if result.verdict in TESTED]
    testable = [requirement for requirement, _ in results if not requirement.untestable]
    return Coverage(tested=len(tested), testable=len(testable))


def tested_of(coverage: Mapping[str, Coverage], fail_on: Collection[str]) -> tuple[int, int]:
    """Number of testable requirements at failing levels that were tested, and of all of them, permitted or not."""
    failing_levels = [coverage[level] for level in fail_on if level in coverage]
    tested = sum(level.tested for level in failing_levels)
    testable = sum(level.testable for level in failing_levels)
    return tested, testable


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
    if result.verdict == Verdict.FAIL and entry.until and entry.is_past(today):
        return result, say("its last day {day} has passed", day=Date(entry.until.isoformat()))
    if result.verdict == Verdict.FAIL:
        return replace(result, known=entry.reason, known_until=entry.until), ""
    if result.verdict != Verdict.PASS:
        return result, ""
    if entry.strict:
        strict = replace(result, verdict=Verdict.FAIL, why=say("strict: {reason}", reason=_PASSES), exchanges=())
        return strict, _DELETE
    return replace(result, why=_PASSES), _DELETE


def _strongest(requirement_id: str, results: list[RequirementResult]) -> RequirementResult:
    verdict = next(verdict for verdict in Verdict if any(result.verdict == verdict for result in results))
    same = [result for result in results if result.verdict == verdict]
    if verdict == Verdict.OUT_OF_SCOPE:  # a test that needs less is enough
        same = [min(same, key=lambda result: len(str(result.why)))]
    numbers = dict.fromkeys(number for result in same for number in result.exchanges)
    found = merged_findings(each for result in same for each in result.findings)
    return RequirementResult(
        requirement_id, verdict, joined(result.why for result in same), tuple(numbers), findings=found
    )
