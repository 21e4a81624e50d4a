"""Verdicts of rows and of a run. Pure: results in, verdict and exit status out (design, Verdicts)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date

from environments.profiles.profile import KnownFailure
from spec.requirements import LEVELS, Requirement

FAIL, WARN, PASS, OBSERVED = "fail", "warn", "pass", "observed"
NOT_EXERCISED, OUT_OF_SCOPE, UNTESTABLE = "not-exercised", "out-of-scope", "untestable"
TESTED = (FAIL, WARN, PASS, OBSERVED)
"""Verdicts of rows that an exchange answered for."""
ORDER = (FAIL, WARN, PASS, OBSERVED, NOT_EXERCISED, OUT_OF_SCOPE, UNTESTABLE)
"""Over its exchanges a row takes the first of these."""

CONFORMANT, NON_CONFORMANT, NOT_ROBUST = "conformant", "non-conformant", "not-robust"
INCOMPLETE, UNREACHABLE, INTERRUPTED, INTERNAL_ERROR = (
    "incomplete",
    "unreachable",
    "interrupted",
    "internal-error",
)
NOTHING_SELECTED = "nothing-selected"
NOTHING_TESTED = "nothing was tested"
EXIT_STATUS = {
    CONFORMANT: 0,
    NON_CONFORMANT: 1,
    NOT_ROBUST: 1,
    INTERRUPTED: 2,
    INTERNAL_ERROR: 3,
    NOTHING_SELECTED: 5,
    INCOMPLETE: 6,
    UNREACHABLE: 7,
}


@dataclass(frozen=True)
class RequirementResult:
    """What one test, or the whole run, found for one row. `exchanges` are numbers of evidence."""

    id: str
    verdict: str
    message: str = ""
    exchanges: tuple[int, ...] = ()
    known: str = ""


@dataclass(frozen=True)
class RunVerdict:
    """The verdict of a run, the process' exit status, why it is incomplete, and the lines that are said first."""

    name: str
    exit_status: int
    why: str = ""
    notes: tuple[str, ...] = field(default=())


def deviation(level: str, fail_on: Collection[str]) -> str:
    """What a deviation from a row of that level is."""
    if level == "not-shown":
        return OBSERVED
    return FAIL if level in fail_on else WARN


def merged(results: Iterable[RequirementResult]) -> dict[str, RequirementResult]:
    """One result a row: the first verdict in ORDER, with every distinct message and all the evidence of it."""
    by_id: dict[str, list[RequirementResult]] = {}
    for result in results:
        by_id.setdefault(result.id, []).append(result)
    return {row_id: _strongest(row_id, group) for row_id, group in by_id.items()}


def counts(rows: Iterable[tuple[Requirement, RequirementResult]]) -> dict[str, dict[str, int]]:
    """Verdicts by level, levels and verdicts in their order."""
    tally: Counter[tuple[str, str]] = Counter((row.level, result.verdict) for row, result in rows)
    return {
        level: {verdict: tally[level, verdict] for verdict in ORDER if tally[level, verdict]}
        for level in LEVELS
        if any(tally[level, verdict] for verdict in ORDER)
    }


def coverage(rows: Iterable[tuple[Requirement, RequirementResult]]) -> dict[str, dict[str, int]]:
    """For each level how many rows an exchange can show, and how many were tested."""
    rows = list(rows)
    return {
        level: {
            "tested": sum(row.level == level and result.verdict in TESTED for row, result in rows),
            "testable": sum(row.level == level and not row.untestable for row, _ in rows),
        }
        for level in LEVELS
        if any(row.level == level for row, _ in rows)
    }


def run_verdict(
    rows: Iterable[tuple[Requirement, RequirementResult]],
    *,
    fail_on: Collection[str],
    unreachable: str = "",
    interrupted: bool = False,
    errors: int = 0,
    ungranted: str = "",
    min_coverage: float | None = None,
) -> RunVerdict:
    """The verdict of a run over its rows. `ungranted`: which operations granted nothing, where that leaves nothing to
    rest on; `min_coverage`: the share of the testable documented rows that are to be tested."""
    rows = list(rows)
    failed = [row for row, result in rows if result.verdict == FAIL and not result.known]
    name, why = CONFORMANT, ""
    if interrupted:
        name = INTERRUPTED
    elif errors:
        name = INTERNAL_ERROR
    elif unreachable:
        name = UNREACHABLE
    elif any(row.level != "robustness" for row in failed):
        name = NON_CONFORMANT
    elif failed:
        name = NOT_ROBUST
    elif why := _incomplete(rows, fail_on, ungranted=ungranted, min_coverage=min_coverage):
        name = INCOMPLETE
    elif not rows:
        name = NOTHING_SELECTED
    return RunVerdict(name, EXIT_STATUS[name], why)


def _incomplete(
    rows: Sequence[tuple[Requirement, RequirementResult]],
    fail_on: Collection[str],
    *,
    ungranted: str,
    min_coverage: float | None,
) -> str:
    """Why a run in which nothing failed is not complete; empty where it is."""
    if not rows:
        return ""
    if not any(result.verdict in TESTED for _, result in rows):
        return NOTHING_TESTED
    if ungranted:
        return ungranted
    untested = [
        row for row, result in rows if result.verdict == NOT_EXERCISED and not result.known and row.level in fail_on
    ]
    if untested:
        were = "was" if len(untested) == 1 else "were"
        return f"{by_level(row.level for row in untested)} in scope {were} not exercised"
    return _below(coverage(rows).get("documented", {}), min_coverage)


def _below(documented: Mapping[str, int], least: float | None) -> str:
    testable, tested = documented.get("testable", 0), documented.get("tested", 0)
    if least is None or tested >= least * testable:
        return ""
    return f"min_coverage ({least:g}) is not reached"


def by_level(levels: Iterable[str]) -> str:
    """Requirements counted level by level, never together: `2 documented and 1 implied requirements`."""
    tally = Counter(levels)
    parts = [f"{tally[level]} {level}" for level in LEVELS if tally[level]]
    return f"{listed(parts)} requirement{'' if sum(tally.values()) == 1 else 's'}"


def listed(parts: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))


def with_known_failures(
    rows: Mapping[str, RequirementResult], entries: Iterable[KnownFailure], today: date
) -> tuple[dict[str, RequirementResult], list[str]]:
    """Mark the failures that the profile lists, and give a line for each entry that no longer holds.

    A row that passes is a warning, and fails where its entry is strict; past its last day a failure is a failure.
    """
    marked, notes = dict(rows), []
    for entry in entries:
        result = rows.get(entry.id)
        if result is None:
            continue
        if result.verdict == FAIL and entry.is_past(today):
            notes.append(f"known_failures: {entry.id}: its last day {entry.until} has passed")
        elif result.verdict == FAIL:
            marked[entry.id] = replace(result, known=entry.reason)
        elif result.verdict == PASS:
            notes.append(f"known_failures: {entry.id}: passes; delete the entry")
            told = "known_failures lists it, and it passes; delete the entry"
            verdict, told = (FAIL, f"strict: {told}") if entry.strict else (PASS, told)
            shown = () if entry.strict else result.exchanges  # it is the profile that is wrong, and no answer
            marked[entry.id] = replace(result, verdict=verdict, message=told, exchanges=shown)
    return marked, notes


def _strongest(row_id: str, results: list[RequirementResult]) -> RequirementResult:
    verdict = next(name for name in ORDER if any(result.verdict == name for result in results))
    same = [result for result in results if result.verdict == verdict]
    messages = list(dict.fromkeys(result.message for result in same if result.message))
    numbers = dict.fromkeys(number for result in same for number in result.exchanges)
    return RequirementResult(row_id, verdict, "; ".join(messages), tuple(numbers))
