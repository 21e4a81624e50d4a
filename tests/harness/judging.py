"""What a conformance test says: the requirement that it names, and what it asserts of it.

Each assertion names its requirement and hands a result over to `ASSERTIONS`, which watching.py empties after each test.
An assertion that ends its test raises: `DeviationError` if the requirement is not met, `NotExercised` or `OutOfScope`
if it cannot be judged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import pytest
from _pytest.outcomes import Skipped

from reports.result.run import Observation
from reports.result.verdicts import RequirementResult, Verdict
from spec.exchange import Exchange
from spec.facts import Facts, words_as_facts
from spec.findings import Conclusion, Finding, Judgement
from spec.message import Text, joined, said_once, say
from spec.requirements import requirements
from spec.rules import ROBUSTNESS, RULES, judge

_MOST_WITNESSES = 3
"""Exchanges that are cited for a requirement that holds."""


def requirement(requirement_id: str) -> pytest.MarkDecorator:
    """The requirement that a test answers for."""
    return pytest.mark.requirement(requirement_id)


def rules_of(*operations: str, but: Collection[str] = ()) -> list[object]:
    """Requirements of the operations that a rule answers for, as parameters.

    Those of robustness are left out, because they are judged apart. `but` names others to leave out, by the part that
    follows the operation, such as `status`.
    """
    left_out = {*ROBUSTNESS, *but}
    requirement_ids = []
    for requirement_id in requirements():
        operation, _, what = requirement_id.partition(".")
        if requirement_id in RULES and operation in operations and what not in left_out:
            requirement_ids.append(requirement_id)
    return named(*requirement_ids)


def named(*requirement_ids: str) -> list[object]:
    """Requirements as parameters."""
    return [pytest.param(name, marks=requirement(name), id=name) for name in requirement_ids]


def operations_with(what: str, operations: Iterable[str]) -> list[object]:
    """The operations as parameters, each for its requirement `<operation>.<what>`."""
    parameters: list[object] = []
    for operation in operations:
        requirement_id = f"{operation}.{what}"
        parameters.append(pytest.param(operation, marks=requirement(requirement_id), id=requirement_id))
    return parameters


class Untested(Skipped):
    """The running test cannot judge. `why` says what is missing."""

    verdict: ClassVar[Verdict]

    def __init__(self, why: Text) -> None:
        self.why = why or say("no answer that could show it")
        super().__init__(str(self.why))


class NotExercised(Untested):
    """The requirement is in scope, but something was missing. `why` says what to supply."""

    verdict = Verdict.NOT_EXERCISED


class OutOfScope(Untested):
    """The profile does not permit what the requirement needs. `why` says which permission would."""

    verdict = Verdict.OUT_OF_SCOPE


class DeviationError(AssertionError):
    """A requirement is not met. `judgements` are those that deviate. Its level decides whether the test fails."""

    def __init__(self, requirement_id: str, judgements: Sequence[Judgement]) -> None:
        self.requirement_id, self.judgements = requirement_id, judgements
        super().__init__(f"{requirement_id}: {joined(judgement.message for judgement in judgements)}")


@dataclass
class _Assertions:
    """What the assertions of the running test found. One object is enough, because pytest runs one test at a time."""

    results: list[RequirementResult] = field(default_factory=list)
    observations: list[Observation] = field(default_factory=list)
    remarks: dict[str, Text] = field(default_factory=dict)  # by requirement
    judged: Counter[str] = field(default_factory=Counter)  # by requirement, exchanges that show whether it is met

    def clear(self) -> None:
        """Forget what was found: another test begins."""
        self.results, self.observations, self.remarks, self.judged = [], [], {}, Counter()

    def add(
        self, requirement_id: str, verdict: Verdict, exchanges: Iterable[Exchange], findings: Sequence[Finding] = ()
    ) -> None:
        """Add a result for the requirement, with the exchanges that show it."""
        numbers = tuple(exchange.number for exchange in exchanges if exchange.number)
        self.results.append(RequirementResult(requirement_id, verdict, exchanges=numbers, findings=tuple(findings)))


ASSERTIONS = _Assertions()


@dataclass
class JudgedTest:
    """A test, the result of its own requirement, and the results of other requirements that it judged, too."""

    node_id: str
    own: RequirementResult
    others: list[RequirementResult] = field(default_factory=list)
    observations: list[Observation] = field(default_factory=list)
    error: str = ""  # what failed in the suite
    elapsed_s: float = 0.0

    @property
    def results(self) -> list[RequirementResult]:
        """Every result, that of the test's own requirement first."""
        return [self.own, *self.others]

    @property
    def failing(self) -> list[RequirementResult]:
        """The results that fail."""
        return [result for result in self.results if result.verdict == Verdict.FAIL]

    def leave_untested(self, gap: Untested) -> None:
        """Its own requirement could not be judged."""
        self.own = replace(self.own, verdict=gap.verdict, why=gap.why)


def require_supplied(what: object, missing: Text) -> None:
    """Raises NotExercised if `what` is empty; `missing` says what to supply."""
    if not what:
        raise NotExercised(missing)


def require_permission(permitted: object, missing: Text) -> None:
    """Raises OutOfScope if the profile does not permit it; `missing` says which permission would."""
    if not permitted:
        raise OutOfScope(missing)


def warn(requirement_id: str, finding: Finding, exchanges: Sequence[Exchange]) -> None:
    """The requirement gets a warning if there are exchanges that show the finding, and else passes.

    It is no failure, because no statement says when something that is granted takes effect, or that it does.
    """
    if exchanges:
        ASSERTIONS.add(requirement_id, Verdict.WARN, exchanges, [finding])
    else:
        ASSERTIONS.add(requirement_id, Verdict.PASS, ())


def remark(requirement_id: str, text: Text) -> None:
    """Say something about the requirement that leaves its verdict as it is."""
    ASSERTIONS.remarks[requirement_id] = text


Seen = Mapping[Text, Iterable[Facts | str]]
"""By situation, the facts of the answers that were seen in it. A text is a fact that is said in words."""


def observe(
    requirement_id: str, values: Seen | str, exchanges: Iterable[Exchange] = (), *, first: bool = False
) -> None:
    """Record how the service does what the interface document does not show.

    `values` are facts by situation, such as `{"without a token": [answer]}`, or a text if there is one situation.
    `exchanges` show it. With `first` it is said before all other observations.
    """
    ASSERTIONS.add(requirement_id, Verdict.OBSERVED, exchanges)
    by_situation: Seen = {"": [values]} if isinstance(values, str) else values
    for situation, values_there in by_situation.items():
        for value in values_there:
            facts = words_as_facts(value) if isinstance(value, str) else value
            ASSERTIONS.observations.append(Observation(requirement_id, facts, situation, first))


def assert_holds(requirement_id: str, exchanges: Iterable[Exchange]) -> None:
    """The rule of the requirement holds in every exchange that can show it, and in at least one.

    Every deviation is a finding, not only the first. If other answers hold, each finding says how many deviate: one
    node of several may be at fault.
    """
    judgements = [judge(requirement_id, exchange) for exchange in exchanges]
    deviating = [judgement for judgement in judgements if judgement.deviates]
    holding = [judgement for judgement in judgements if judgement.holds]
    judged = len(deviating) + len(holding)
    ASSERTIONS.judged[requirement_id] += judged
    if deviating and holding:
        deviating = [_with_share(judgement, (len(deviating), judged)) for judgement in deviating]
    if deviating:
        raise DeviationError(requirement_id, deviating)
    if not holding:
        reasons = dict.fromkeys(judgement.why for judgement in judgements)
        raise NotExercised(said_once(list(reasons)[:3]))
    for judgement in holding[:_MOST_WITNESSES]:
        ASSERTIONS.add(requirement_id, Verdict.PASS, judgement.exchanges)


def _with_share(judgement: Judgement, share: tuple[int, int]) -> Judgement:
    """The judgement, whose findings say how many of the answers deviate."""
    return replace(judgement, findings=tuple(replace(finding, share=share) for finding in judgement.findings))


def assert_requirements(requirement_id: str, results: Iterable[RequirementResult]) -> None:
    """Hand over results for several requirements, of which this one is that of the test.

    The test fails if one of them fails and the run is about it. Raises OutOfScope if its own requirement is that.
    """
    results = list(results)
    ASSERTIONS.results += results
    own_results = [result for result in results if result.id == requirement_id]
    if not own_results:
        raise NotExercised(say("no answer to judge"))
    for result in own_results:
        require_permission(result.verdict != Verdict.OUT_OF_SCOPE, result.why)


def assert_found(requirement_id: str, judgement: Judgement) -> None:
    """The judgement, which several exchanges gave together, holds. An inconclusive one leaves the requirement
    unexercised."""
    if judgement.deviates:
        raise DeviationError(requirement_id, [judgement])
    ASSERTIONS.add(requirement_id, Verdict.PASS, judgement.exchanges)
    if judgement.conclusion is Conclusion.INCONCLUSIVE:
        raise NotExercised(judgement.why)
    if judgement.why:
        remark(requirement_id, judgement.why)
