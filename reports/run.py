"""One run as a result model: what every report is written from."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from environments.profiles.profile import Profile, today
from reports.causes import findings
from reports.cuts import Cuts
from reports.generated import Generated
from reports.grants import Grants
from reports.handover import Evidence, FoundByTest, Handover, LeftKey, Observation
from reports.headline import headline
from reports.notes import Note, NoteKind, in_order
from reports.proven import proof_line
from reports.reproducing import MOVES_MONEY
from reports.verdicts import (
    NOTHING_TESTED,
    RequirementResult,
    RunResult,
    Verdict,
    counts,
    coverage,
    merged,
    run_result,
    with_known_failures,
)
from spec.interface import operations
from spec.requirements import Requirement, ledger

VERSION = "0.1.0"


@dataclass
class Run:
    """Collects what the tests of a run found, in one process or several, and gives the verdict."""

    profile: Profile
    base_url: str
    selection: str | None = None
    narrowed: bool = False
    started: datetime = field(default_factory=lambda: datetime.now(UTC))
    results: list[RequirementResult] = field(default_factory=list)
    observations: list[Observation] = field(default_factory=list)
    exchanges: dict[int, Evidence] = field(default_factory=dict)
    not_cleaned_up: list[LeftKey] = field(default_factory=list)
    not_executed: list[str] = field(default_factory=list)
    said: list[Note] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    selected: set[str] = field(default_factory=set)
    seed: int = 0
    examples: int = 0
    generated: Generated = field(default_factory=Generated)
    grants: Grants = field(default_factory=Grants)
    cuts: Cuts = field(default_factory=Cuts)
    requests: int = 0
    executions: int = 0
    unreachable: str = ""
    interrupted: bool = False
    unwritten: str = ""
    finished: datetime | None = None

    def rows(self) -> list[tuple[Requirement, RequirementResult]]:
        """Every row of the run in the document's order, with its result."""
        return [(row, self._final[0][row.id]) for row in ledger().values() if row.id in self._final[0]]

    def result(self) -> RunResult:
        """The verdict, and why it is incomplete."""
        return run_result(
            self.rows(),
            fail_on=self.profile.fail_on,
            unreachable=self.unreachable,
            interrupted=self.interrupted,
            errors=len(self.errors),
            ungranted=self.grants.lacking(self.operations),
            min_coverage=self.profile.min_coverage,
        )

    def notes(self) -> tuple[Note, ...]:
        """What is said of the run as a whole."""
        nothing_tested = f"{NOTHING_TESTED}: see what is out of scope, and what to add to allow"
        found = {
            NoteKind.UNREACHABLE: [f"{self.base_url} cannot be reached: {self.unreachable}"] * bool(self.unreachable),
            NoteKind.SUITE_FAILED: self.errors,
            NoteKind.NOTHING_GRANTED: () if self.unreachable else self.grants.notes(self.profile.auth),
            NoteKind.KNOWN_FAILURE: self._final[1],
            NoteKind.NOTHING_TESTED: [nothing_tested] * (self.result().why == NOTHING_TESTED),
            NoteKind.CUT: self.cuts.notes(),
            NoteKind.GENERATED_TRAFFIC: self.generated.notes(self.grants.granted),
        }
        return in_order([*self.said, *(Note(kind, text) for kind, texts in found.items() for text in texts)])

    @property
    def operations(self) -> set[str]:
        """The operations that the run is about: those of its rows, or all of them for a row of no operation."""
        named = {row.operation for row, _ in self.rows()}
        return set(operations()) if None in named else {operation for operation in named if operation}

    @property
    def left_behind(self) -> list[str]:
        """What was not cleaned up, in words."""
        return [*map(str, self.not_cleaned_up), *self.not_executed]

    def add_found(self, found: FoundByTest, test: str) -> None:
        """Take over what a test found."""
        self.selected.update(found.answers_for)
        self.results += found.results
        self.errors += [f"the suite failed at {test}: {found.error}"] * bool(found.error)
        for seen in found.observations:
            self.observations.insert(0 if seen.first else len(self.observations), seen)
        self._add_exchanges(found.exchanges)

    def add(self, handover: Handover) -> None:
        """Take over what one process sent."""
        self.requests += handover.requests
        self.executions += handover.executions
        self.unreachable = self.unreachable or handover.unreachable
        self.said += handover.notes
        self.not_cleaned_up += handover.not_cleaned_up
        self.not_executed += handover.not_executed
        self.generated.add(handover.generated)
        self.grants.add(handover.grants)
        self.cuts.add(handover.unsent)
        self._add_exchanges(handover.exchanges)

    def _add_exchanges(self, exchanges: Iterable[Evidence]) -> None:
        self.exchanges |= {exchange["number"]: exchange for exchange in exchanges}

    def close(self) -> None:
        """The tests are over; the results stand."""
        self.finished = datetime.now(UTC)
        self.__dict__.pop("_final", None)

    @cached_property
    def _final(self) -> tuple[dict[str, RequirementResult], list[str]]:
        return with_known_failures(self._merged(), self.profile.known_failures, today())

    def _merged(self) -> dict[str, RequirementResult]:
        found = merged(result for result in self.results if not self.narrowed or result.id in self.selected)
        rows = [row for row in ledger().values() if not self.narrowed or row.id in self.selected]
        results = ((row, found.get(row.id) or self._without_a_test(row)) for row in rows)
        return {row.id: self.cuts.explain(row, result) for row, result in results}

    def _without_a_test(self, row: Requirement) -> RequirementResult:
        """What a row is when nothing was found for it: the weakest verdict that is true."""
        if row.untestable:
            return RequirementResult(row.id, Verdict.UNTESTABLE, row.untestable)
        if missing := missing_permission(row, self.profile.allow):
            return RequirementResult(row.id, Verdict.OUT_OF_SCOPE, missing)
        why = f"the target cannot be reached: {self.unreachable}" if self.unreachable else "no test reached it"
        return RequirementResult(row.id, Verdict.NOT_EXERCISED, why)

    def document(self) -> dict[str, Any]:
        """The content of conformance.json."""
        result, rows = self.result(), self.rows()
        shown = [_row(row, result) for row, result in rows]
        finished = self.finished or datetime.now(UTC)
        document: dict[str, Any] = {
            "suite": {"version": VERSION, "proof": proof_line()},
            "environment": {
                "name": self.profile.name,
                "base_url": self.base_url,
                "allow": sorted(self.profile.allow),
            },
            "started": self.started.isoformat(timespec="seconds").replace("+00:00", "Z"),
            "duration_s": round((finished - self.started).total_seconds(), 2),
            "verdict": result.verdict,
            "incomplete": result.why,
            "exit_status": result.verdict.exit_status,
            "selection": self.selection,
            "notes": [note.text for note in self.notes()],
            "traffic": {"requests": self.requests, "executions": self.executions},
            "generated": {"seed": self.seed, "examples": self.examples, **self._generated()},
            "counts": counts(rows),
            "coverage": coverage(rows),
            "cut": self.cuts.data(),
            "granted": sorted(self.grants.granted),
            "granted_nothing": [name for name in self.grants.asked(self.operations) if name not in self.grants.granted],
            "findings": self._findings(shown),
            "requirements": shown,
            "observations": [_observation(seen) for seen in self.observations],
            "left_behind": self.left_behind,
            "not_cleaned_up": [{**vars(key), "exchanges": list(key.exchanges)} for key in self.not_cleaned_up],
            "exchanges": [_outline(self.exchanges[number]) for number in sorted(self.exchanges)],
        }
        return document | {"headline": str(headline(document))}

    def _findings(self, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The findings, each with a line that sends again what shows it, where the evidence has one."""
        inputs = {number: str(seen.get("input", "")) for number, seen in self.exchanges.items()}
        found = findings(rows, inputs)
        for finding in found:
            lines = [self.exchanges[number].get("curl") for number in finding["exchanges"] if number in self.exchanges]
            harmless = sorted(filter(None, lines), key=lambda line: line.startswith(MOVES_MONEY))
            finding["reproduce"] = harmless[0] if harmless else ""
        return found

    def _generated(self) -> dict[str, Any]:
        return {**self.generated.data(), "notes": list(self.generated.notes(self.grants.granted))}


def _observation(seen: Observation) -> dict[str, Any]:
    return {"id": seen.id, "value": seen.value, "exchanges": list(seen.exchanges)}


def missing_permission(row: Requirement, allow: Collection[str]) -> str:
    """Why the profile keeps a row out of scope, with what would have been sent; empty where it does not."""
    operation = operations().get(row.operation or "")
    if operation is None or operation.permission in allow:
        return ""
    return f"would have sent {operation.method} {operation.path}; needs {operation.permission} in allow"


def _row(row: Requirement, result: RequirementResult) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "id": row.id,
        "section": row.section,
        "level": row.level,
        "operation": row.operation,
        "text": row.text,
        "verdict": result.verdict,
        "message": result.message,
        "exchanges": list(result.exchanges),
    }
    if result.known:
        shown["known_failure"] = result.known
    return shown


def _outline(exchange: Mapping[str, Any]) -> dict[str, Any]:
    status = exchange.get("response", {}).get("status")
    return {
        "number": exchange["number"],
        "operation": exchange["operation"],
        "request": f"{exchange['request']['method']} {exchange['request']['url']}",
        "result": status if status is not None else exchange.get("failure"),
        "elapsed_ms": exchange["elapsed_ms"],
    }
