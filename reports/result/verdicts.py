"""Verdicts of requirements and of runs, and the rules that merge and count them. Pure: results in, verdicts out.

`run_verdict.py` decides the verdict of a run. docs/verdicts.md explains levels and verdicts to users.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from enum import StrEnum
from itertools import chain

from environments.profiles.model import KnownFailure
from reports.result.published import Count, Published
from reports.sentences.wording import capped, grouped
from spec.findings import Finding, merged_findings
from spec.message import Date, Text, joined, say
from spec.requirements import LEVELS, Requirement

MOST_SAID = 12
"""Findings that the message of one requirement has, because generated traffic may find many."""


class Verdict(StrEnum):
    """Verdict of a requirement. If its tests have several, the requirement takes the one that stands first here."""

    FAIL = "fail"
    WARN = "warn"
    PASS = "pass"
    OBSERVED = "observed"
    NOT_EXERCISED = "not-exercised"
    OUT_OF_SCOPE = "out-of-scope"
    UNTESTABLE = "untestable"


TESTED = (Verdict.FAIL, Verdict.WARN, Verdict.PASS, Verdict.OBSERVED)
"""Verdicts of requirements that at least one exchange tested."""


class RunVerdict(StrEnum):
    """Verdict of a run, with the exit status of the process. If several apply, the run takes the first one here."""

    exit_status: int

    def __new__(cls, word: str, exit_status: int) -> RunVerdict:
        """A member is its word, which is written to files, and has an exit status besides."""
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
"""Verdicts of runs that tested the service to the end. The other verdicts say nothing about the service."""


@dataclass(frozen=True)
class RequirementResult:
    """Result of one test, or of the whole run, for one requirement."""

    id: str  # of the requirement
    verdict: Verdict
    why: Text = ""  # reason for the verdict if there is no finding
    exchanges: tuple[int, ...] = ()  # numbers of the exchanges that are evidence
    known_failure: str = ""  # reason that the profile gives, if it lists this failure in known_failures
    known_until: date | None = None  # last day of that entry of the profile
    findings: tuple[Finding, ...] = ()
    judged: int = 0  # exchanges that show whether the requirement is met, also those that are not cited

    @property
    def rests_on(self) -> int:
        """Number of exchanges that the verdict rests on."""
        return max(self.judged, len(self.exchanges))

    @property
    def message(self) -> Text:
        """The findings in one text, or the reason for the verdict if there is no finding."""
        texts = list(dict.fromkeys(finding.in_full for finding in self.findings))
        return joined(capped(texts, MOST_SAID)) or self.why

    @property
    def expected(self) -> Text:
        """The expectations of all findings in one text."""
        return joined(finding.expected for finding in self.findings)

    @property
    def got(self) -> Text:
        """The observations of all findings in one text."""
        return joined(finding.got for finding in self.findings)

    @property
    def fails(self) -> bool:
        """True if the result fails the run. A known failure does not."""
        return self.verdict == Verdict.FAIL and not self.known_failure


Results = Sequence[tuple[Requirement, RequirementResult]]
"""Requirements in the order of the interface document, each with its result."""


def verdict_on_deviation(level: str, fail_on: Collection[str]) -> Verdict:
    """Verdict on a deviation from a requirement of that level. `fail_on` has the levels that fail a run."""
    if level == "not-shown":
        return Verdict.OBSERVED
    return Verdict.FAIL if level in fail_on else Verdict.WARN


def merged_results(results: Iterable[RequirementResult]) -> dict[str, RequirementResult]:
    """One result for each requirement, by its id: the most severe verdict, and all findings that have it."""
    groups = grouped(results, lambda result: result.id)
    return {requirement_id: _merged(requirement_id, group) for requirement_id, group in groups.items()}


def _merged(requirement_id: str, results: list[RequirementResult]) -> RequirementResult:
    """One result of all results of a requirement. Results of weaker verdicts are left out."""
    most_severe = min((result.verdict for result in results), key=list(Verdict).index)  # it stands first in Verdict
    decisive = [result for result in results if result.verdict == most_severe]
    if most_severe == Verdict.OUT_OF_SCOPE:
        # Each test names the permissions that it needs. The test that needs least is enough, and has the shortest text.
        decisive = [min(decisive, key=lambda result: len(str(result.why)))]
    numbers = chain(*(result.exchanges for result in decisive))
    return RequirementResult(
        requirement_id,
        most_severe,
        why=joined(result.why for result in decisive),
        exchanges=tuple(dict.fromkeys(numbers)),
        findings=merged_findings(chain(*(result.findings for result in decisive))),
        judged=sum(result.rests_on for result in results),
    )


def counts(results: Results) -> dict[str, dict[Verdict, int]]:
    """Number of requirements by level and verdict, both in their order, without zeros."""
    by_level = grouped(results, lambda pair: pair[0].level)
    return {level: _counts_of(by_level[level]) for level in LEVELS if level in by_level}


def _counts_of(results: Results) -> dict[Verdict, int]:
    """Number of requirements by verdict, without zeros."""
    tally = Counter(result.verdict for _, result in results)
    return {verdict: tally[verdict] for verdict in Verdict if verdict in tally}


class Coverage(Published):
    """Requirements of one level: how many were tested, and how many an exchange can show."""

    tested: Count
    testable: Count


def coverage(results: Results) -> dict[str, Coverage]:
    """Coverage by level, in the order of levels. Levels without a requirement are left out."""
    by_level = grouped(results, lambda pair: pair[0].level)
    return {level: _coverage_of(by_level[level]) for level in LEVELS if level in by_level}


def _coverage_of(results: Results) -> Coverage:
    """Number of requirements that were tested, and that an exchange can show."""
    tested = [result for _, result in results if result.verdict in TESTED]
    testable = [requirement for requirement, _ in results if not requirement.untestable]
    return Coverage(tested=len(tested), testable=len(testable))


def tested_of(coverage: Mapping[str, Coverage], fail_on: Collection[str]) -> tuple[int, int]:
    """Number of tested requirements, and of testable ones, at the levels that fail a run.

    A requirement is testable even if the profile does not permit its requests.
    """
    failing_levels = [coverage[level] for level in fail_on if level in coverage]
    tested = sum(level.tested for level in failing_levels)
    testable = sum(level.testable for level in failing_levels)
    return tested, testable


def with_known_failures(
    results: Mapping[str, RequirementResult], entries: Iterable[KnownFailure], today: date
) -> tuple[dict[str, RequirementResult], list[Text]]:
    """The results by requirement id after `known_failures` of the profile, and a line for each entry that is outdated.

    A failure that an entry lists is marked as known. A listed requirement that passes gets a message, and it fails if
    its entry is strict. `entries` are those of the profile.
    """
    marked = dict(results)
    notes = list[Text]()
    for entry in entries:
        if entry.id not in results:
            continue
        marked[entry.id], trouble = _as_known(results[entry.id], entry, today)
        if trouble:
            notes.append(say("known_failures: {id}: {why}", id=entry.id, why=trouble))
    return marked, notes


_DELETE = say("passes: delete its entry")
"""What is wrong with an entry whose requirement passes."""
_PASSES = say("known_failures lists this requirement, and it passes: delete its entry")


def _as_known(result: RequirementResult, entry: KnownFailure, today: date) -> tuple[RequirementResult, Text]:
    """The result of a requirement that an entry lists, and what is wrong with the entry; empty if it holds.

    | verdict | entry | then |
    |---|---|---|
    | fail | past its last day | a failure like any other |
    | fail | holds | a known failure |
    | pass | strict | fails and cites no exchange, because the profile is wrong |
    | pass | not strict | passes, with a message |
    """
    fails = result.verdict == Verdict.FAIL
    last_day = entry.until
    if fails and last_day and entry.is_past(today):
        return result, say("the last day of this known failure, {day}, has passed", day=Date(last_day.isoformat()))
    if fails:
        return replace(result, known_failure=entry.reason, known_until=entry.until), ""
    if result.verdict != Verdict.PASS:
        return result, ""
    if entry.strict:
        strict = replace(result, verdict=Verdict.FAIL, why=say("strict: {reason}", reason=_PASSES), exchanges=())
        return strict, _DELETE
    return replace(result, why=_PASSES), _DELETE
