"""One run as a result model: every report is written from it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from functools import cached_property
from itertools import takewhile
from typing import Any

from environments.profiles.loading import named
from environments.profiles.model import FAIL, Profile, today
from reports.behaviour import Behaviour, Drift, PlainData, behaviour, facts_in_words, in_words
from reports.evidence import Evidence
from reports.grants import NOTHING_GRANTED, Generated, Grants
from reports.provenance import suite
from reports.verdicts import (
    TESTED,
    RequirementResult,
    Results,
    RunResult,
    RunVerdict,
    Verdict,
    coverage,
    merged,
    tested_of,
    with_known_failures,
)
from reports.wording import exchanges_in_words, level_by_level, missing_permission, operations_in_words
from spec.facts import Facts
from spec.interface import operations
from spec.message import Text, joined, message_of, said_once, say, say_many
from spec.requirements import Requirement, requirements

NOTHING_TESTED = say("nothing was tested")
UNWRITTEN = say("a part of the report cannot be written")


class NoteKind(StrEnum):
    """Kinds of notes in words, in the order in which notes are said. The first ones are alerts."""

    OUTCOME_UNKNOWN = "the outcome of an execution is unknown"
    OBSERVED_FIRST = "the service does something that may cost money"
    KEY_GONE = "a key that was there before the run is gone"
    UNREACHABLE = "the target cannot be reached"
    SUITE_FAILED = "the suite itself failed"
    NOTHING_GRANTED = "no operation succeeded"
    SET_UP = "something is wrong with the token, the codes or the journal"
    ACCOUNT = "an account of the profile is refused"
    LEFT = "keys that the run registered are left"
    REDIRECTED = "--base-url replaced the embedded sandbox"
    KNOWN_FAILURE = "a known failure has passed or expired"
    NOTHING_TESTED = "nothing was tested"
    CUT = "not all requests were sent"
    GENERATED_TRAFFIC = "no generated request was accepted"
    IN_COMPANY = "requests in flight together were answered otherwise"


@dataclass(frozen=True)
class Note:
    """One line for people."""

    kind: NoteKind
    text: Text

    @property
    def is_alert(self) -> bool:
        """True for what the summary says before the findings."""
        return self.kind in takewhile(NoteKind.KNOWN_FAILURE.__ne__, NoteKind)


def outcome_unknown(whose: Text, remedy: Text) -> Note:
    """An execution of which no answer says whether money was moved."""
    text = say("OUTCOME UNKNOWN of {whose}: {remedy}", whose=message_of(whose), remedy=message_of(remedy))
    return Note(NoteKind.OUTCOME_UNKNOWN, text)


@dataclass(frozen=True)
class Observation:
    """Something that the interface document does not show, as the service does it. `situation`: what was sent, always
    the same for the same request; empty where the requirement has one alone. `first`: it is said before all others."""

    id: str
    facts: Facts
    situation: Text = ""
    first: bool = False


@dataclass(frozen=True)
class LeftKey:
    """A key that the run registered and did not clean up. `of_the_profile`: the profile names it."""

    what: Text
    why: str
    of_the_profile: bool
    exchanges: tuple[int, ...]

    @property
    def in_words(self) -> Text:
        """One line."""
        return say(
            "{what}: {why} ({exchanges})",
            what=message_of(self.what),
            why=message_of(self.why),
            exchanges=exchanges_in_words(self.exchanges),
        )


@dataclass
class Run:
    """Results of the tests of a run, and what it sent; gives the verdict."""

    profile: Profile
    base_url: str
    selection: str | None = None
    recorded: Text = ""  # the recorded traffic that it judges, in place of what a run sends
    narrowed: bool = False
    started: datetime = field(default_factory=lambda: datetime.now(UTC))
    suite: Mapping[str, str | None] = field(default_factory=suite)  # at the start
    ci_job: str | None = None
    comparison: dict[str, Any] | None = None
    record: PlainData | None = None
    drift: list[Drift] = field(default_factory=list)
    accepted: str = ""
    results: list[RequirementResult] = field(default_factory=list)
    observations: list[Observation] = field(default_factory=list)
    exchanges: dict[int, Evidence] = field(default_factory=dict)
    elapsed_s: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))  # of the tests
    not_cleaned_up: list[LeftKey] = field(default_factory=list)
    not_executed: list[Text] = field(default_factory=list)
    said: list[Note] = field(default_factory=list)
    errors: list[Text] = field(default_factory=list)
    selected: set[str] = field(default_factory=set)
    seed: int = 0
    examples: int = 0
    generated: Generated = field(default_factory=Generated)
    grants: Grants = field(default_factory=Grants)
    unsent: Mapping[Text, Sequence[str]] = field(default_factory=dict)  # what a limit cut short, by the limit
    outages: Mapping[Text, Sequence[str]] = field(default_factory=dict)  # those of `unsent` that a gateway answered
    ended_by: Text = ""  # the limit that ended the sending, or the token that expired
    requests: int = 0
    executions: int = 0
    unknown_outcomes: int = 0
    unreachable: str = ""
    journal_trouble: bool = False
    interrupted: bool = False
    stopped: Text = ""  # why pytest ran only some of the tests, such as -x
    unwritten: str = ""
    finished: datetime | None = None

    def requirements(self) -> Results:
        """Every requirement that the run is about, in the order of the interface document, with its result."""
        return [(one, self._final[0][one.id]) for one in requirements().values() if one.id in self._final[0]]

    def result(self) -> RunResult:
        """The verdict, and why it is incomplete. Without a part of its report, a run is not green."""
        results = self.requirements()
        failed = {requirement.level for requirement, result in results if result.fails}
        tested, testable = tested_of(coverage(results), self.profile.fail_on)
        share = tested / testable if testable else 1
        missing = next((why for why in self._missing(results, share) if why), "")
        applies = {
            RunVerdict.INTERNAL_ERROR: self.errors,
            RunVerdict.INTERRUPTED: self.interrupted,
            RunVerdict.NON_CONFORMANT: failed - {"robustness"},
            RunVerdict.NOT_ROBUST: failed,
            RunVerdict.DRIFTED: self.drift and self.profile.drift == FAIL,
            RunVerdict.UNREACHABLE: self.unreachable,
            RunVerdict.NOTHING_SELECTED: not results,
            RunVerdict.INCOMPLETE: missing,
            RunVerdict.PARTIAL: self.narrowed or tested < testable,
            RunVerdict.CONFORMANT: True,
        }
        verdict = next(verdict for verdict in RunVerdict if applies[verdict])
        if self.unwritten and not verdict.exit_status:
            return RunResult(RunVerdict.INTERNAL_ERROR, UNWRITTEN)
        return RunResult(verdict, missing if verdict in (RunVerdict.DRIFTED, RunVerdict.INCOMPLETE) else "")

    def _missing(self, results: Results, share: float) -> Iterator[Text]:
        """Reasons why a run without a failure is no verdict on the service. The first that is not empty counts."""
        yield NOTHING_GRANTED if self.grants.refused_all else ""
        yield say("the journal could not be used, which stopped executions") if self.journal_trouble else ""
        yield "" if any(result.verdict in TESTED for _, result in results) else NOTHING_TESTED
        yield self.grants.lacking(self.operations)
        yield from (note.text for note in self.said if note.kind in (NoteKind.KEY_GONE, NoteKind.ACCOUNT))
        known = {entry.id for entry in self.profile.known_failures if not entry.is_past(today())}
        if levels := [
            one.level
            for one, result in results
            if result.verdict == Verdict.NOT_EXERCISED and one.level in self.profile.fail_on and one.id not in known
        ]:
            yield say_many(
                "{levels} requirement in scope was not exercised",
                "{levels} requirements in scope were not exercised",
                **{"n": len(levels), "levels": level_by_level(levels)},
            )
        yield self.ended_by
        least = self.profile.min_coverage or 0
        yield say("min_coverage ({share}) is not reached", share=f"{least:g}") if share < least else ""

    def notes(self) -> tuple[Note, ...]:
        """The notes on the run as a whole: each once, by kind."""
        found = {
            NoteKind.OBSERVED_FIRST: [
                say("{id}: {facts}", id=one.id, facts=message_of(facts_in_words(one.facts)))
                for one in self.observations
                if one.first
            ],
            NoteKind.UNREACHABLE: self._gone(),
            NoteKind.SUITE_FAILED: self.errors,
            NoteKind.NOTHING_GRANTED: () if self.unreachable else self.grants.notes(self.profile.auth),
            NoteKind.LEFT: self._left(),
            NoteKind.REDIRECTED: filter(None, [self.profile.redirected]),
            NoteKind.KNOWN_FAILURE: self._final[1],
            NoteKind.NOTHING_TESTED: [say("nothing was tested: see what is not exercised or out of scope, and why")]
            * (self.result().why == NOTHING_TESTED),
            NoteKind.CUT: () if self.unreachable else self._unsent(),
            NoteKind.GENERATED_TRAFFIC: self.generated.notes(self.grants.granted),
        }
        notes = dict.fromkeys((*self.said, *(Note(kind, text) for kind, texts in found.items() for text in texts)))
        return tuple(note for kind in NoteKind for note in notes if note.kind is kind)

    def _gone(self) -> Iterator[Text]:
        if self.unreachable:
            yield say("{base_url} cannot be reached: {why}", base_url=self.base_url, why=message_of(self.unreachable))

    def _unsent(self) -> Iterator[Text]:
        for why, names in self.unsent.items():
            yield say(
                "{why}: not all requests to {operations} were sent", why=why, operations=operations_in_words(names)
            )

    def _left(self) -> Iterator[Text]:
        """Number of keys not cleaned up, and the command that deletes them."""
        if self.not_cleaned_up:
            yield say(
                "{keys}: python -m environments cleanup {name} names them; with delete-keys, --yes deletes them",
                keys=say_many("{n} key not cleaned up", "{n} keys not cleaned up", n=len(self.not_cleaned_up)),
                name=named(self.profile),
            )

    @property
    def operations(self) -> set[str]:
        """The operations that the run is about: all of them where one of its requirements belongs to none."""
        named = {requirement.operation for requirement, _ in self.requirements()}
        return set(operations()) if None in named else {operation for operation in named if operation}

    @property
    def not_cleaned_up_in_words(self) -> list[Text]:
        """Keys and transfers not cleaned up, in words."""
        return [*(key.in_words for key in self.not_cleaned_up), *self.not_executed]

    def close(self) -> None:
        """The tests are over; the results stand."""
        self.finished = datetime.now(UTC)
        for name in ("_final", "behaviour"):
            self.__dict__.pop(name, None)

    @cached_property
    def _final(self) -> tuple[dict[str, RequirementResult], list[Text]]:
        return with_known_failures(self._merged(), self.profile.known_failures, today())

    @cached_property
    def behaviour(self) -> Behaviour:
        """The behaviour that was observed."""
        return behaviour((seen.id, str(seen.situation), seen.facts) for seen in self.observations)

    def _merged(self) -> dict[str, RequirementResult]:
        selected = [result for result in self.results if not self.narrowed or result.id in self.selected]
        found = merged(result for result in selected if not self._shows_the_end_alone(result))
        asked = [one for one in requirements().values() if not self.narrowed or one.id in self.selected]
        results = ((one, self._told(found[one.id]) if one.id in found else self._untested(one)) for one in asked)
        return {requirement.id: self._explained(requirement, result) for requirement, result in results}

    def _shows_the_end_alone(self, result: RequirementResult) -> bool:
        """True for a failure that only dropped connections show, in a run whose target went away: no fault of it."""
        return (
            self.unreachable != ""
            and {one.code for one in result.findings} == {"dropped"}
            and result.verdict == Verdict.FAIL
        )

    def _told(self, result: RequirementResult) -> RequirementResult:
        """The result; what was observed is said from all that was seen, in whichever test."""
        seen = self.behaviour.get(result.id)
        return replace(result, why=in_words(seen)) if seen and result.verdict == Verdict.OBSERVED else result

    def _explained(self, requirement: Requirement, result: RequirementResult) -> RequirementResult:
        """The result; where it was not exercised, with the reasons why not all requests were sent. That the target is
        gone, nothing was granted or a gateway answered alone stands alone: all else follows from it."""
        if result.verdict != Verdict.NOT_EXERCISED:
            return result
        if self.unreachable:
            return replace(result, why=self._cannot_be_reached)
        if self.grants.refused_all:
            return replace(result, why=NOTHING_GRANTED)
        outages = [why for why, names in self.outages.items() if requirement.operation in names]
        if outages and not self.ended_by:
            return replace(result, why=joined(outages))
        unsent = [why for why, names in self.unsent.items() if requirement.operation in {*names, None}]
        return replace(result, why=self.ended_by or said_once([result.why, *unsent]))

    def _untested(self, requirement: Requirement) -> RequirementResult:
        """The result of a requirement for which nothing was found: the weakest verdict that is true, and why."""
        if requirement.untestable:
            return RequirementResult(requirement.id, Verdict.UNTESTABLE, requirement.untestable)
        if missing := missing_permission(requirement, self.profile.allow):
            return RequirementResult(requirement.id, Verdict.OUT_OF_SCOPE, missing)
        return RequirementResult(requirement.id, Verdict.NOT_EXERCISED, self.stopped or say("no test reached it"))

    @property
    def _cannot_be_reached(self) -> Text:
        return say("the target cannot be reached: {why}", why=message_of(self.unreachable))
