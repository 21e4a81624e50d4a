"""How a conformance test names its requirement and is judged, and what it finds: verdict, evidence, observations."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field

import pytest
from _pytest.outcomes import Skipped

from reports.handover import Observation
from reports.observations.behaviour import said
from reports.verdicts import RequirementResult, Verdict
from spec.exchange import Exchange
from spec.facts import Facts
from spec.findings import Finding, Judgement, Outcome
from spec.message import Text, joined, say
from spec.requirements import Requirement, ledger
from spec.rules import ROBUSTNESS, RULES
from tests.harness.reproduction import Reproduction


def requirement(requirement_id: str) -> pytest.MarkDecorator:
    """The requirement that a test answers for."""
    return pytest.mark.requirement(requirement_id)


def rules_of(*operations: str, but: Collection[str] = ()) -> list[object]:
    """The requirements of the operations that a rule answers for, as parameters; those of robustness are judged apart.
    `but` names others to leave out, without the operation."""
    left_out = {f"{operation}.{what}" for operation in operations for what in (*ROBUSTNESS, *but)}
    mine = [id for id in ledger() if id in RULES and id.partition(".")[0] in operations]
    return named(*(id for id in mine if id not in left_out))


def named(*requirement_ids: str) -> list[object]:
    """Requirements as parameters."""
    return [pytest.param(id, marks=requirement(id), id=id) for id in requirement_ids]


def each(operations: Iterable[str], what: str) -> list[object]:
    """The requirement `<operation>.<what>` of each operation, as parameters."""
    return [pytest.param(op, marks=requirement(f"{op}.{what}"), id=f"{op}.{what}") for op in operations]


class NotExercised(Skipped):
    """The requirement is in scope, but something was missing. `why` says what to supply."""

    def __init__(self, why: Text) -> None:
        self.why = why or say("no answer that could show it")
        super().__init__(str(self.why))


class OutOfScope(Skipped):
    """The profile does not permit what the requirement needs. `why` says which permission would."""

    def __init__(self, why: Text) -> None:
        self.why = why
        super().__init__(str(why))


class DeviationError(AssertionError):
    """The requirement of the running test is not met."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        self.findings = tuple(findings)
        super().__init__(str(joined(each.statement for each in findings)))


def supplied(what: object, missing: Text) -> None:
    """Raises NotExercised where there is nothing; `missing` says what to supply."""
    if not what:
        raise NotExercised(missing)


def require_permission(permitted: object, missing: Text) -> None:
    """Raises OutOfScope where the profile does not permit it; `missing` says which permission would."""
    if not permitted:
        raise OutOfScope(missing)


class RequirementsFailError(AssertionError):
    """A requirement that the running test judged fails, its own or another one. `Recording` holds the results."""


@dataclass
class Recording:
    """What one test found for its requirement. `others` are results of other requirements, `judged` the numbers of
    exchanges that were judged for all requirements, `error` says what failed in the suite. `reproduction` judges, as it
    knows what showed again."""

    requirement: Requirement
    reproduction: Reproduction = field(default_factory=Reproduction)
    verdict: Verdict = Verdict.PASS
    why: Text = ""
    findings: tuple[Finding, ...] = ()
    error: str = ""
    exchanges: list[int] = field(default_factory=list)
    observations: list[Observation] = field(default_factory=list)
    others: list[RequirementResult] = field(default_factory=list)
    judged: set[int] = field(default_factory=set)

    @property
    def results(self) -> tuple[RequirementResult, ...]:
        """Every result, that of the test's own requirement first."""
        own = RequirementResult(
            self.requirement.id, self.verdict, self.why, tuple(self.exchanges), findings=self.findings
        )
        return own, *self.others

    @property
    def cited(self) -> set[int]:
        """The exchanges that the results name."""
        return {number for result in self.results for number in result.exchanges}

    @property
    def failing(self) -> list[RequirementResult]:
        """The results that fail."""
        return [result for result in self.results if result.verdict == Verdict.FAIL]


current: ContextVar[Recording] = ContextVar("recording")


def cite(*exchanges: Exchange) -> None:
    """Name the exchanges that the running test judges."""
    current.get().exchanges += [exchange.number for exchange in exchanges if exchange.number]


def warn(found: Finding, *exchanges: Exchange) -> None:
    """Give the requirement of the running test a warning."""
    cite(*exchanges)
    recording = current.get()
    recording.verdict, recording.findings = Verdict.WARN, (found,)


def remark(text: Text) -> None:
    """Say something about the requirement of the running test that leaves its verdict as it is."""
    current.get().why = text


Seen = Mapping[str, Iterable[Facts | str]]
"""By situation, the facts of the answers that were seen in it; a text stands for what is said."""


def observe(seen: Seen | str, *exchanges: Exchange, first: bool = False) -> None:
    """Record how the service does what the interface document does not show: `{"without a token": [answer]}`, or a text
    where there is one situation. `exchanges` show it; `first` has it said before all others."""
    recording = current.get()
    recording.verdict = Verdict.OBSERVED
    cite(*exchanges)
    for situation, values in ({"": [seen]} if isinstance(seen, str) else seen).items():
        for facts in (said(value) if isinstance(value, str) else value for value in values):
            recording.observations.append(Observation(recording.requirement.id, facts, situation, first))


def assert_holds(*exchanges: Exchange) -> None:
    """The rule of the running test's requirement holds in every exchange that can show it, and in at least one.

    Every deviation is in the message of the AssertionError, not only the first.
    """
    recording = current.get()
    judged = [recording.reproduction.judge(recording.requirement.id, exchange) for exchange in exchanges]
    deviating = [judgement for judgement in judged if judgement.deviates]
    for judgement in deviating:
        cite(*judgement.exchanges)
    if deviating:
        raise DeviationError([each for judgement in deviating for each in judgement.findings])

    holding = [judgement for judgement in judged if judgement.holds]
    for judgement in holding[:3]:
        cite(*judgement.exchanges)
    if not holding:
        reasons = dict.fromkeys(judgement.why for judgement in judged)
        raise NotExercised(joined(list(reasons)[:3]))


def assert_requirements(results: Iterable[RequirementResult], *, judged: Collection[int]) -> None:
    """Record results for the requirement of the running test and for others. The test fails where one of them fails."""
    recording = current.get()
    recording.judged |= set(judged)
    by_id = {result.id: result for result in results}
    own = by_id.pop(recording.requirement.id, None)
    recording.others += by_id.values()
    if own is not None:
        recording.verdict, recording.findings, recording.exchanges = own.verdict, own.findings, list(own.exchanges)
    if recording.failing:
        raise RequirementsFailError(str(joined(result.message for result in recording.failing)))
    if own is None:
        raise NotExercised(say("no answer to judge"))


def assert_found(judgement: Judgement) -> None:
    """The judgement holds. An inconclusive one leaves the requirement of the running test unexercised."""
    cite(*judgement.exchanges)
    if judgement.outcome is Outcome.INCONCLUSIVE:
        raise NotExercised(judgement.why)

    if judgement.deviates:
        raise DeviationError(current.get().reproduction.marked(judgement).findings)
