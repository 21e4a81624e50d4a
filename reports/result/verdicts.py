"""Verdicts of requirements and of runs, and the rules that merge and count them. Pure: results in, verdicts out.

This module knows requirements and their results, and never sees a `Run`. `run_verdict.py` decides the verdict of a run
with it. docs/verdicts.md explains levels and verdicts to users.
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
from spec.findings import Finding, distinct_deviations, merged_findings
from spec.message import Date, Text, joined, say
from spec.requirements import LEVELS, Requirement

_MOST_FINDINGS_NAMED = 12
"""Most findings that the message of one requirement names. Generated requests may find many. A choice."""


class Verdict(StrEnum):
    """Verdict of a requirement, the most severe first. If its tests differ, the requirement has the most severe one."""

    FAIL = "fail"
    """The service deviates, and the level of the requirement is in `fail_on` of the profile."""
    WARN = "warn"
    """The service deviates, and the level of the requirement is not in `fail_on`."""
    PASS = "pass"
    """Every answer that can show it met the requirement."""
    OBSERVED = "observed"
    """The interface document leaves the behaviour open, so the report only says what the service did."""
    NOT_EXERCISED = "not-exercised"
    """Not tested, although the profile permits it: something was missing, such as a transaction code."""
    OUT_OF_SCOPE = "out-of-scope"
    """Not tested, because the profile does not permit the requests."""
    UNTESTABLE = "untestable"
    """No request and no answer can show whether the requirement is met."""


TESTED = (Verdict.FAIL, Verdict.WARN, Verdict.PASS, Verdict.OBSERVED)
"""Verdicts of requirements that at least one exchange tested."""


class RunVerdict(StrEnum):
    """Verdict of a run, with the exit status of the process. If several are possible, the run has the first of them."""

    exit_status: int

    def __new__(cls, word: str, exit_status: int) -> RunVerdict:
        """Make a member: a string with its word, such as "partial", and the attribute `exit_status`.

        Enums call this for each pair below. Without it, the string would be made of both the word and the number.
        """
        member = str.__new__(cls, word)
        member._value_ = word  # what files have, and what `RunVerdict("partial")` finds
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


VERDICTS_ON_THE_SERVICE = (
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
    def number_of_supporting_exchanges(self) -> int:
        """Number of exchanges that support the verdict. A report names only some of them.

        `judged` is 0 for a result that was made without a judgement of exchanges. Then the exchanges that the result
        names are counted.
        """
        return max(self.judged, len(self.exchanges))

    @property
    def message(self) -> Text:
        """The findings in one text, or the reason for the verdict if there is no finding.

        At most 12 findings are named, and the others are counted.
        """
        distinct_texts = list(dict.fromkeys(finding.in_full for finding in self.findings))
        return joined(capped(distinct_texts, _MOST_FINDINGS_NAMED)) or self.why

    @property
    def expected(self) -> Text:
        """What the findings expected, in one text: "status 200"; empty if there is no finding."""
        return joined(finding.expected for finding in self.findings)

    @property
    def got(self) -> Text:
        """What the service answered instead, in one text: "204"; empty if there is no finding.

        A deviation that both a request of a scenario and a generated request show is named once.
        """
        return joined(finding.got for finding in distinct_deviations(self.findings))

    @property
    def fails(self) -> bool:
        """True if the result makes the run fail. A failure that the profile lists in known_failures does not."""
        return self.verdict == Verdict.FAIL and not self.known_failure


Results = Sequence[tuple[Requirement, RequirementResult]]
"""Requirements in the order of the interface document, each with its result."""


def verdict_on_deviation(level: str, fail_on: Collection[str]) -> Verdict:
    """The verdict on a deviation from a requirement of that level.

    It is a failure at the levels in `fail_on` (a setting of the profile), and a warning at other levels.
    """
    if level == "not-shown":  # the interface document says nothing, so nothing can be wrong
        return Verdict.OBSERVED
    return Verdict.FAIL if level in fail_on else Verdict.WARN


def most_severe(verdicts: Iterable[Verdict]) -> Verdict:
    """The most severe of these verdicts, such as FAIL of PASS and FAIL. There must be at least one."""
    order = list(Verdict)  # the enum has the most severe verdict first
    return min(verdicts, key=order.index)


def merged_results(results: Iterable[RequirementResult]) -> dict[str, RequirementResult]:
    """One result for each requirement, by its id, made of the results of all its tests.

    It has the most severe verdict of its tests, and the findings of the tests with that verdict.
    """
    groups = grouped(results, lambda result: result.id)
    return {requirement_id: _merged_result(requirement_id, group) for requirement_id, group in groups.items()}


def _merged_result(requirement_id: str, results: list[RequirementResult]) -> RequirementResult:
    """One result made of all results of a requirement. Results with a less severe verdict are left out."""
    verdict = most_severe(result.verdict for result in results)
    decisive = [result for result in results if result.verdict == verdict]
    if verdict == Verdict.OUT_OF_SCOPE:
        # Each test names the permissions that it needs. The user needs only those of one test, so the text of the test
        # that needs the fewest permissions is used. It is the shortest text.
        decisive = [min(decisive, key=_length_of_reason)]
    exchange_numbers = dict.fromkeys(chain(*(result.exchanges for result in decisive)))  # each number once
    findings = merged_findings(chain(*(result.findings for result in decisive)))
    # Counted for all results: also exchanges of the less severe ones were judged for this requirement.
    judged = sum(result.number_of_supporting_exchanges for result in results)
    return RequirementResult(
        requirement_id,
        verdict,
        why=joined(result.why for result in decisive),
        exchanges=tuple(exchange_numbers),
        findings=tuple(_with_share_of_all_tests(finding, len(exchange_numbers), judged) for finding in findings),
        judged=judged,
    )


def _with_share_of_all_tests(finding: Finding, deviating: int, judged: int) -> Finding:
    """The finding with the share of the answers in all tests of a requirement that deviate, if it has a share.

    One test knows only its own answers, but the report names the deviating exchanges of all tests beside the share.
    """
    _, judged_in_test = finding.share  # 0 if the finding has no share
    return replace(finding, share=(deviating, judged)) if judged_in_test else finding


def _length_of_reason(result: RequirementResult) -> int:
    """Number of characters of the reason that a result gives for its verdict."""
    return len(str(result.why))


def counts(results: Results) -> dict[str, dict[Verdict, int]]:
    """Number of requirements by level and verdict: `{"documented": {Verdict.PASS: 90, Verdict.FAIL: 2}, …}`.

    Levels and verdicts have their fixed order. Numbers that are 0 are left out.
    """
    by_level = _grouped_by_level(results)
    return {level: _counts_of(by_level[level]) for level in LEVELS if level in by_level}


def _grouped_by_level(results: Results) -> Mapping[str, Results]:
    """The results, which are pairs of a requirement and its result, by the level of the requirement."""
    return grouped(results, lambda pair: pair[0].level)


def _counts_of(results: Results) -> dict[Verdict, int]:
    """Number of requirements by verdict, such as `{Verdict.FAIL: 2, Verdict.PASS: 90}`, without zeros."""
    numbers = Counter(result.verdict for _, result in results)
    return {verdict: numbers[verdict] for verdict in Verdict if verdict in numbers}


class Coverage(Published):
    """Requirements of one level: how many were tested, and how many an exchange can show."""

    tested: Count
    testable: Count


def coverage(results: Results) -> dict[str, Coverage]:
    """By level, how many requirements were tested, and how many are testable. Levels without any are left out."""
    by_level = _grouped_by_level(results)
    return {level: _coverage_of(by_level[level]) for level in LEVELS if level in by_level}


def _coverage_of(results: Results) -> Coverage:
    """How many of these requirements were tested, and how many are testable, because an exchange can show them."""
    tested = [result for _, result in results if result.verdict in TESTED]
    testable = [requirement for requirement, _ in results if not requirement.untestable]
    return Coverage(tested=len(tested), testable=len(testable))


def tested_and_testable(coverage: Mapping[str, Coverage], fail_on: Collection[str]) -> tuple[int, int]:
    """Number of tested and of testable requirements at the levels that fail a run, such as (5, 117).

    `coverage` has the numbers of each level, and `fail_on` the levels that fail a run. A requirement is testable even
    if the profile does not permit its requests, because a reader must see what was left out.
    """
    failing_levels = [coverage[level] for level in fail_on if level in coverage]
    tested = sum(level.tested for level in failing_levels)
    testable = sum(level.testable for level in failing_levels)
    return tested, testable


def with_known_failures(
    results: Mapping[str, RequirementResult], entries: Iterable[KnownFailure], today: date
) -> tuple[dict[str, RequirementResult], list[Text]]:
    """The results by requirement id, changed by `known_failures` of the profile, and notes on entries to delete.

    `entries` are the entries of known_failures. If an entry lists a failure, the failure is marked as known, so that it
    does not make the run fail. If a listed requirement passes, it gets a message, because its entry is outdated; if the
    entry is strict, the requirement fails. There is one note for each entry that is outdated or has expired.
    """
    changed_results = dict(results)
    notes = list[Text]()
    for entry in entries:
        if entry.id not in results:  # the run is not about this requirement
            continue
        changed_results[entry.id], fault_of_entry = _result_and_fault_of_entry(results[entry.id], entry, today)
        if fault_of_entry:
            notes.append(say("known_failures: {id}: {why}", id=entry.id, why=fault_of_entry))
    return changed_results, notes


_NOTE_IF_IT_PASSES = say("passes: delete its entry")
"""What is wrong with an entry of `known_failures` if its requirement passes, for a note."""
_REASON_IF_IT_PASSES = say("known_failures lists this requirement, and it passes: delete its entry")
"""The same for the result of the requirement."""


def _result_and_fault_of_entry(
    result: RequirementResult, entry: KnownFailure, today: date
) -> tuple[RequirementResult, Text]:
    """The result of a requirement that an entry of known_failures lists, and what is wrong with the entry.

    The text is empty if nothing is wrong with the entry. An entry is wrong if its requirement passes, or still fails
    after the last day of the entry.

    | verdict | entry | result |
    |---|---|---|
    | fail | its last day has passed | a failure like any other |
    | fail | its last day has not passed | a known failure |
    | pass | strict | fails and names no exchange, because the profile is wrong and not the service |
    | pass | not strict | passes, with a message |
    | any other | any | unchanged |
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
        why = say("strict: {reason}", reason=_REASON_IF_IT_PASSES)
        failure = replace(result, verdict=Verdict.FAIL, why=why, exchanges=())
        return failure, _NOTE_IF_IT_PASSES
    return replace(result, why=_REASON_IF_IT_PASSES), _NOTE_IF_IT_PASSES
