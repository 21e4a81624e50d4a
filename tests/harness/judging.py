"""The functions that a conformance test calls: the marker of its requirement, and the assertions about requirements.

Each assertion names its requirement and adds a result to `ASSERTIONS`, which watching.py reads after each test. An
exchange is a request with its answer. A judgement says of one exchange, or of several together, whether a requirement
is met; if not, it has findings. A result is conclusive if the exchanges could show whether the requirement is met.

| assertion | if the requirement is not met | if it cannot be judged |
|---|---|---|
| `assert_holds`, `assert_judgement` | raises `DeviationError` | raises `NotExercised` |
| `assert_requirements` | records given results; a failing one fails the test | raises `NotExercised` or `OutOfScope` |
| `warn` | a warning, and the test goes on | a pass |
| `report_observation`, `remark` | nothing is judged: they only record | nothing is judged |
| `not_exercised_unless`, `out_of_scope_unless` | never | raises `NotExercised`, `OutOfScope` |
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
    """The pytest marker that names the requirement of a test. The result of the test becomes its verdict."""
    return pytest.mark.requirement(requirement_id)


def rules_of(*operations: str, but: Collection[str] = ()) -> list[object]:
    """The requirements of these operations as parameters of a test: all for which there is a rule in spec/rules.

    A rule decides from one exchange whether a requirement is met. Robustness requirements are left out, because a test
    of their own judges them. `but` names others to leave out, by the end of their ids, such as `status`.
    """
    left_out = {*ROBUSTNESS, *but}
    requirement_ids = []
    for requirement_id in requirements():
        operation, _, end_of_id = requirement_id.partition(".")
        is_judged_by_rule = requirement_id in RULES and operation in operations
        if is_judged_by_rule and end_of_id not in left_out:
            requirement_ids.append(requirement_id)
    return requirements_named(*requirement_ids)


def requirements_named(*requirement_ids: str) -> list[object]:
    """These requirements as parameters of a test: pytest runs the test once for each, under the id of the requirement.

    Each parameter has the marker `requirement`, so that the result becomes the verdict of that requirement.
    """
    return [pytest.param(name, marks=requirement(name), id=name) for name in requirement_ids]


def operations_with_requirement(end_of_id: str, operations: Iterable[str]) -> list[object]:
    """Operations as parameters of a test: pytest runs the test once for each operation.

    The requirement of each is `<operation>.<end_of_id>`, such as `listAccounts.refusal` for the end `refusal`.
    """
    parameters: list[object] = []
    for operation in operations:
        requirement_id = f"{operation}.{end_of_id}"
        parameters.append(pytest.param(operation, marks=requirement(requirement_id), id=requirement_id))
    return parameters


def operations_with_each_requirement(ends_of_ids: Iterable[str], operations: Iterable[str]) -> list[object]:
    """Pairs of an operation and the end of a requirement id as parameters of a test: all combinations.

    The requirement of each pair is `<operation>.<end_of_id>`, such as `listAccounts.refusal`.
    """
    parameters: list[object] = []
    for operation, end_of_id in product(operations, ends_of_ids):
        requirement_id = f"{operation}.{end_of_id}"
        parameters.append(pytest.param(operation, end_of_id, marks=requirement(requirement_id), id=requirement_id))
    return parameters


class Untested(Skipped):
    """The running test cannot judge its requirement. `why` says what is missing."""

    verdict: ClassVar[Verdict]
    """The verdict that the requirement gets."""

    def __init__(self, why: Text) -> None:
        """End the test for this reason. If `why` is empty, the reason is "no answer that could show it"."""
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
        """End the test because these judgements of exchanges say that the requirement is not met.

        The messages of the judgements are the text of the error.
        """
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
        """Remove the results of the last test, because another test begins."""
        self.results = []
        self.observations = []
        self.remarks = {}
        self.judged = Counter()

    def add(
        self, requirement_id: str, verdict: Verdict, exchanges: Iterable[Exchange], findings: Sequence[Finding] = ()
    ) -> None:
        """Record a verdict on the requirement, with the numbers of the exchanges (requests with answers) that show it.

        An exchange with the number 0 was not sent by this run, so the report cannot refer to it.
        """
        numbers = tuple(exchange.number for exchange in exchanges if exchange.number)
        self.results.append(RequirementResult(requirement_id, verdict, exchanges=numbers, findings=tuple(findings)))


ASSERTIONS = _Assertions()
"""The results of the test that is running now."""


@dataclass
class JudgedTest:
    """A test, the result of its own requirement, and the results of other requirements that it judged, too."""

    node_id: str
    own_result: RequirementResult
    others: list[RequirementResult] = field(default_factory=list)
    observations: list[Observation] = field(default_factory=list)
    error: str = ""  # the failure of the suite itself that ended the test; empty if there is none
    elapsed_s: float = 0.0

    @property
    def results(self) -> list[RequirementResult]:
        """All results of the test: first the result of its own requirement, then the results of other requirements."""
        return [self.own_result, *self.others]

    @property
    def failing(self) -> list[RequirementResult]:
        """The results whose verdict is a failure, of the test's own requirement and of others."""
        return [result for result in self.results if result.verdict == Verdict.FAIL]

    def leave_untested(self, untested: Untested) -> None:
        """Record that the requirement of the test could not be judged.

        `untested` is the exception that ended the test. It has the reason, and the verdict that the requirement gets.
        """
        self.own_result = replace(self.own_result, verdict=untested.verdict, why=untested.why)


def not_exercised_unless(supplied: object, missing: Text) -> None:
    """End the test as "not exercised" (not tested) if `supplied` is empty or false. Raises NotExercised.

    `supplied` is what the test needs, such as a list of answers. `missing` tells the user what to supply.
    """
    if not supplied:
        raise NotExercised(missing)


def out_of_scope_unless(permitted: object, missing: Text) -> None:
    """End the test as "out of scope" if `permitted` is empty or false. Raises OutOfScope.

    `missing` tells the user which permission the profile lacks.
    """
    if not permitted:
        raise OutOfScope(missing)


def warn(requirement_id: str, finding: Finding, exchanges: Sequence[Exchange]) -> None:
    """Record a warning for the requirement if there are exchanges (requests with answers) that show the finding.

    Without such exchanges a pass is recorded. A failure is never recorded, because the interface document does not
    promise the behaviour. For example, it does not say that a registered key appears in the list, or from when on.
    """
    if exchanges:
        ASSERTIONS.add(requirement_id, Verdict.WARN, exchanges, [finding])
    else:
        ASSERTIONS.add(requirement_id, Verdict.PASS, ())


def remark(requirement_id: str, text: Text) -> None:
    """Add a text to what the report says about the requirement. The verdict is not changed."""
    ASSERTIONS.remarks[requirement_id] = text


ObservedFacts = Mapping[Text, Iterable[Facts | str]]
"""By situation, the facts of the answers in it. A text is a fact in words."""


def report_observation(
    requirement_id: str,
    values: ObservedFacts | str,
    exchanges: Iterable[Exchange] = (),
    *,
    may_cost_money: bool = False,
) -> None:
    """Record how the service behaves in a point that the interface document leaves open. There is no right or wrong.

    `values` are the facts of the answers in each situation, such as `{"without a token": [facts]}`, or one fact in
    words if there is only one situation. `exchanges` show the behaviour. If `may_cost_money` is true, the report lists
    the behaviour before all other observations.
    """
    ASSERTIONS.add(requirement_id, Verdict.OBSERVED, exchanges)
    values_by_situation: ObservedFacts = {"": [values]} if isinstance(values, str) else values
    for situation, values_in_situation in values_by_situation.items():
        for value in values_in_situation:
            facts = words_as_facts(value) if isinstance(value, str) else value
            ASSERTIONS.observations.append(Observation(requirement_id, facts, situation, may_cost_money))


def assert_holds(requirement_id: str, exchanges: Iterable[Exchange]) -> None:
    """Assert that the requirement is met in every exchange (request with its answer) that can show it, at least one.

    Every deviation becomes a finding, not only the first. If only a part of the answers deviates, each finding says how
    many, because perhaps one server of several is faulty. Raises DeviationError if an answer deviates, and NotExercised
    if no exchange can show whether the requirement is met.
    """
    judgements = [judge(requirement_id, exchange) for exchange in exchanges]
    deviating = [judgement for judgement in judgements if judgement.deviates]
    holding = [judgement for judgement in judgements if judgement.holds]
    judged = len(deviating) + len(holding)
    ASSERTIONS.judged[requirement_id] += judged
    only_a_part_deviates = deviating and holding
    if only_a_part_deviates:
        deviating = [_with_share(judgement, (len(deviating), judged)) for judgement in deviating]
    if deviating:
        raise DeviationError(requirement_id, deviating)
    if not holding:
        reasons = dict.fromkeys(judgement.why for judgement in judgements)
        raise NotExercised(joined_reasons(list(reasons)[:_MOST_REASONS]))
    for judgement in holding[:_MOST_CITED]:  # the exchanges that the report cites as examples
        ASSERTIONS.add(requirement_id, Verdict.PASS, judgement.exchanges)


def _with_share(judgement: Judgement, share: tuple[int, int]) -> Judgement:
    """The judgement with findings that say how many of the answers deviate. `share` is `(2, 5)` for 2 of 5 answers."""
    findings = [replace(finding, share=share) for finding in judgement.findings]
    return replace(judgement, findings=tuple(findings))


def assert_requirements(requirement_id: str, results: Iterable[RequirementResult]) -> None:
    """Record results that were found out elsewhere, for several requirements.

    `requirement_id` is the requirement of the test itself. A failure among the results does not end the test here:
    after the test, `judge_test` (watching.py) reads the results, and makes the test fail if the user selected a
    requirement that failed. Raises NotExercised if there is no result for the test's own requirement, and OutOfScope if
    that result is out of scope.
    """
    results = list(results)  # an iterable can be read only once, and the results are read twice
    ASSERTIONS.results += results
    for result in results:
        ASSERTIONS.judged[result.id] += result.judged
    own_results = [result for result in results if result.id == requirement_id]
    if not own_results:
        raise NotExercised(say("no answer to judge"))
    for result in own_results:
        out_of_scope_unless(result.verdict != Verdict.OUT_OF_SCOPE, result.why)


def assert_judgement(requirement_id: str, judgement: Judgement) -> None:
    """Assert that the requirement is met, according to one judgement that was made of several exchanges together.

    Raises DeviationError if it is not met, and NotExercised if the exchanges do not show whether it is met.
    """
    if judgement.deviates:
        raise DeviationError(requirement_id, [judgement])
    ASSERTIONS.judged[requirement_id] += len(judgement.exchanges)
    # An inconclusive judgement (the exchanges do not show whether the requirement is met) is recorded as a pass first,
    # so that its exchanges are cited. The exception below then replaces the verdict.
    ASSERTIONS.add(requirement_id, Verdict.PASS, judgement.exchanges[:_MOST_CITED])
    if judgement.conclusion is Conclusion.INCONCLUSIVE:
        raise NotExercised(judgement.why)
    if judgement.why:
        remark(requirement_id, judgement.why)
