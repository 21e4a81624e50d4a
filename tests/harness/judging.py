"""The words of a conformance test: the marker of its requirement, and the assertions about requirements.

Each assertion names its requirement and adds a result to `ASSERTIONS`, which watching.py takes over after each test. A
judgement says of one exchange, or of several together, whether a requirement holds; it has findings if they deviate.

| assertion | if the requirement is not met | if it cannot be judged |
|---|---|---|
| `assert_holds`, `assert_found` | `DeviationError` | `NotExercised` |
| `warn` | a warning, and the test goes on | |
| `observe`, `remark` | | |
| `not_exercised_unless`, `out_of_scope_unless` | | `NotExercised`, `OutOfScope` |
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import ClassVar

import pytest
from _pytest.outcomes import Skipped

from reports.result.run import Observation
from reports.result.verdicts import RequirementResult, Verdict
from spec.exchange import Exchange
from spec.facts import Facts, words_as_facts
from spec.findings import Conclusion, Finding, Judgement
from spec.message import Text, joined, joined_reasons, say
from spec.requirements import requirements
from spec.rules import ROBUSTNESS, RULES, judge

_MOST_CITED = 3
"""Most exchanges that are cited for a requirement that holds: a reader needs an example or two."""
_MOST_REASONS = 3
"""Most reasons that are given why no exchange can show a requirement."""


def requirement(requirement_id: str) -> pytest.MarkDecorator:
    """The marker of the requirement that a test answers for."""
    return pytest.mark.requirement(requirement_id)


def rules_of(*operations: str, but: Collection[str] = ()) -> list[object]:
    """The requirements of the operations that a rule judges, as parameters of a test.

    Robustness requirements are left out, because a test of their own judges them. `but` names others to leave out, by
    the part that follows the operation, such as `status`.
    """
    left_out = {*ROBUSTNESS, *but}
    requirement_ids = []
    for requirement_id in requirements():
        operation, _, end_of_id = requirement_id.partition(".")
        is_judged_by_rule = requirement_id in RULES and operation in operations
        if is_judged_by_rule and end_of_id not in left_out:
            requirement_ids.append(requirement_id)
    return named(*requirement_ids)


def named(*requirement_ids: str) -> list[object]:
    """These requirements as parameters of a test, each with the marker `requirement` that names it."""
    return [pytest.param(name, marks=requirement(name), id=name) for name in requirement_ids]


def operations_with(end_of_id: str, operations: Iterable[str]) -> list[object]:
    """Operations as parameters of a test, each with the marker of its requirement `<operation>.<end_of_id>`."""
    parameters: list[object] = []
    for operation in operations:
        requirement_id = f"{operation}.{end_of_id}"
        parameters.append(pytest.param(operation, marks=requirement(requirement_id), id=requirement_id))
    return parameters


def operations_with_each(ends_of_ids: Iterable[str], operations: Iterable[str]) -> list[object]:
    """Each operation with each end of an id, as parameters of a test with the marker `<operation>.<end_of_id>`."""
    parameters: list[object] = []
    for operation, end_of_id in product(operations, ends_of_ids):
        requirement_id = f"{operation}.{end_of_id}"
        parameters.append(pytest.param(operation, end_of_id, marks=requirement(requirement_id), id=requirement_id))
    return parameters


class Untested(Skipped):
    """The running test cannot judge its requirement. `why` says what is missing."""

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
    """A requirement is not met. The level of the requirement decides if the test fails.

    `judgements` are the judgements of exchanges that deviate.
    """

    def __init__(self, requirement_id: str, judgements: Sequence[Judgement]) -> None:
        self.requirement_id = requirement_id
        self.judgements = judgements
        super().__init__(f"{requirement_id}: {joined(judgement.message for judgement in judgements)}")


@dataclass
class _Assertions:
    """The results of the assertions in the running test.

    There is one object for all tests (`ASSERTIONS`), because pytest runs one test at a time.
    """

    results: list[RequirementResult] = field(default_factory=list)
    observations: list[Observation] = field(default_factory=list)
    remarks: dict[str, Text] = field(default_factory=dict)  # by requirement
    judged: Counter[str] = field(default_factory=Counter)  # by requirement, exchanges that show whether it is met

    def clear(self) -> None:
        """Remove everything, because another test begins."""
        self.results = []
        self.observations = []
        self.remarks = {}
        self.judged = Counter()

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
    error: str = ""  # the failure of the suite itself that ended the test; empty if there is none
    elapsed_s: float = 0.0

    @property
    def results(self) -> list[RequirementResult]:
        """Every result. The result of the test's own requirement comes first."""
        return [self.own, *self.others]

    @property
    def failing(self) -> list[RequirementResult]:
        """The results that fail."""
        return [result for result in self.results if result.verdict == Verdict.FAIL]

    def leave_untested(self, gap: Untested) -> None:
        """Note that the test's own requirement could not be judged. `gap` has the reason and the verdict."""
        self.own = replace(self.own, verdict=gap.verdict, why=gap.why)


def not_exercised_unless(supplied: object, missing: Text) -> None:
    """Raises NotExercised if `supplied` is empty or false; `missing` says what the user has to supply."""
    if not supplied:
        raise NotExercised(missing)


def out_of_scope_unless(permitted: object, missing: Text) -> None:
    """Raises OutOfScope if `permitted` is empty or false; `missing` says which permission the profile lacks."""
    if not permitted:
        raise OutOfScope(missing)


def warn(requirement_id: str, finding: Finding, exchanges: Sequence[Exchange]) -> None:
    """Give the requirement a warning if exchanges show the finding, else a pass.

    It is no failure, because the interface document does not promise the behaviour: it does not say when a granted
    request takes effect, or that it does.
    """
    if exchanges:
        ASSERTIONS.add(requirement_id, Verdict.WARN, exchanges, [finding])
    else:
        ASSERTIONS.add(requirement_id, Verdict.PASS, ())


def remark(requirement_id: str, text: Text) -> None:
    """Add a text to the report of the requirement. Its verdict stays as it is."""
    ASSERTIONS.remarks[requirement_id] = text


ObservedFacts = Mapping[Text, Iterable[Facts | str]]
"""By situation, the facts of the answers in it. A text is a fact in words."""


def observe(
    requirement_id: str, values: ObservedFacts | str, exchanges: Iterable[Exchange] = (), *, first: bool = False
) -> None:
    """Record a behaviour of the service that the interface document does not show.

    `values` are facts by situation, such as `{"without a token": [answer]}`, or a text if there is one situation.
    `exchanges` show them. With `first` the report puts them before all other observations.
    """
    ASSERTIONS.add(requirement_id, Verdict.OBSERVED, exchanges)
    values_by_situation: ObservedFacts = {"": [values]} if isinstance(values, str) else values
    for situation, values_in_situation in values_by_situation.items():
        for value in values_in_situation:
            facts = words_as_facts(value) if isinstance(value, str) else value
            ASSERTIONS.observations.append(Observation(requirement_id, facts, situation, first))


def assert_holds(requirement_id: str, exchanges: Iterable[Exchange]) -> None:
    """Assert that the rule of the requirement holds in every exchange that can show it, and in at least one.

    Every deviation is a finding, not only the first. If other answers hold, each finding says how many deviate, because
    one node of several may be at fault. Raises DeviationError, or NotExercised if no exchange can show it.
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
        raise NotExercised(joined_reasons(list(reasons)[:_MOST_REASONS]))
    for judgement in holding[:_MOST_CITED]:  # the exchanges that the report cites as examples
        ASSERTIONS.add(requirement_id, Verdict.PASS, judgement.exchanges)


def _with_share(judgement: Judgement, share: tuple[int, int]) -> Judgement:
    """The judgement, with findings that say how many answers deviate: `share` is (deviating, judged)."""
    return replace(judgement, findings=tuple(replace(finding, share=share) for finding in judgement.findings))


def assert_requirements(requirement_id: str, results: Iterable[RequirementResult]) -> None:
    """Add results for several requirements; `requirement_id` is the requirement of the test.

    The test fails if one of them fails and the run is about that requirement. Raises NotExercised if there is no result
    for the test's own requirement, OutOfScope if its result is out of scope.
    """
    results = list(results)  # they are needed twice
    ASSERTIONS.results += results
    own_results = [result for result in results if result.id == requirement_id]
    if not own_results:
        raise NotExercised(say("no answer to judge"))
    for result in own_results:
        out_of_scope_unless(result.verdict != Verdict.OUT_OF_SCOPE, result.why)


def assert_found(requirement_id: str, judgement: Judgement) -> None:
    """Assert that a judgement, which several exchanges gave together, holds.

    Raises DeviationError if it deviates, NotExercised if it is inconclusive.
    """
    if judgement.deviates:
        raise DeviationError(requirement_id, [judgement])
    # If the judgement is inconclusive, its exchanges are cited all the same. The verdict is replaced then.
    ASSERTIONS.add(requirement_id, Verdict.PASS, judgement.exchanges)
    if judgement.conclusion is Conclusion.INCONCLUSIVE:
        raise NotExercised(judgement.why)
    if judgement.why:
        remark(requirement_id, judgement.why)
