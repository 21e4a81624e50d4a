"""The findings of generated traffic: each deviation from a requirement once, with the smallest request that shows it.

`property.py` and `stateful.py` hand in the exchanges, and the conformance tests ask for the results.

Generated requests are of two sorts. A named request of `invalid.py` has a known invalid part, such as "pixKey". A drawn
request has none: Schemathesis made it at random. Both sorts may show the same deviation. Then only the named requests
are reported, because their name explains the deviation.

Self-tests: promises/test_generated_traffic.py.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import chain

from reports.result.verdicts import RequirementResult, Verdict, verdict_on_deviation
from spec.answers import answer_in_words, refusal_or_failure
from spec.exchange import Exchange, FailureKind
from spec.findings import Finding, Judgement
from spec.message import Text, joined_keeping_repeats, say
from spec.requirements import requirements
from spec.rules import RULES, robustness_of
from spec.rules.reproduction import Reproduction
from tests.traffic.case import Case

_FindingKey = tuple[str, str, Finding]
"""The requirement, the invalid part of the request (empty for a drawn one), and the deviation. Two exchanges with equal
keys show the same finding."""
_Judged = tuple[Case, Exchange, str, Judgement]
"""An exchange with its case, and the judgement of one requirement on it."""
_CasesByFinding = dict[_FindingKey, list[tuple[Case, Exchange]]]
"""By finding, the cases that show it with their exchanges, the smallest first."""
_OF_A_SEQUENCE = say("in a sequence ({steps})")
"""How the report names a sequence that shows a deviation."""
_OF_AN_EXECUTION = say(
    "in a sequence ({steps}; no shorter one was looked for, because it would execute another transfer)"
)
"""The same for a sequence that executes a transfer."""
_MOST_CITED_OF_A_PASS = 3
"""Exchanges that a passing result cites: enough for a reader to see what was sent."""


@dataclass
class JudgedAnswers:
    """Answers to generated requests, judged by the rules of their operation. No deviation in them ends the run.

    A case is a request before it is sent. An exchange is a request with its answer.
    """

    reproduction: Reproduction
    """Judges an exchange. It knows which deviations were seen again when the same request was sent once more."""
    cases_with_answers: list[tuple[Case, Exchange]] = field(default_factory=list)
    further_judgements: Callable[[Exchange], Iterable[tuple[str, Judgement]]] | None = None
    """Further requirements with their judgements, which count only if they deviate: for accepted registrations."""
    why_incomplete: str = ""  # why a request was not sent, such as a limit of the profile; empty if all were sent
    _judged: list[_Judged] | None = None  # None if an exchange was added since

    def add(self, case: Case, exchange: Exchange) -> None:
        """Add an exchange (a request with its answer), and the case from which it was made. It is judged later.

        If no connection was accepted, the exchange of each attempt to send the request is added, because each of them
        may show that the service accepts no connection. If a limit kept the request from being sent, only the reason
        is kept.
        """
        self._judged = None  # the judgements so far lack this exchange
        was_sent = exchange.number > 0  # only requests that are sent have a number
        if refusal_or_failure(exchange) is FailureKind.NO_CONNECTION:
            all_of_the_run = self.reproduction.exchanges
            attempts = [other for other in all_of_the_run if other.request == exchange.request]
            self.cases_with_answers += [(case, attempt) for attempt in attempts]
        elif was_sent:
            self.cases_with_answers.append((case, exchange))
        else:
            self.why_incomplete = self.why_incomplete or str(answer_in_words(exchange))

    def results(self, seed: int, fail_on: Collection[str]) -> list[RequirementResult]:
        """A result for each requirement that an exchange could show: passed, or with its findings (deviations).

        If the same deviation is shown by a request with a known invalid part and by requests that were drawn at random,
        only the first is reported, because the name of its part explains the deviation. The report says with which
        `seed` the requests were drawn. `fail_on` are the levels of requirements at which a deviation fails the run.
        """
        passing: dict[str, list[int]] = {}  # by requirement, the numbers of the exchanges that meet it
        for _, exchange, requirement_id, judgement in self._judgements():
            if judgement.holds:
                passing.setdefault(requirement_id, []).append(exchange.number)

        deviating = self._reported_findings(seed)
        results = []
        for requirement_id, numbers in passing.items():
            if requirement_id not in deviating:
                cited = tuple(numbers[:_MOST_CITED_OF_A_PASS])
                judged = len(numbers)
                results.append(RequirementResult(requirement_id, Verdict.PASS, exchanges=cited, judged=judged))
        for requirement_id, findings in deviating.items():
            results.append(_deviating_result(requirement_id, tuple(findings), fail_on))
        return results

    def found_by_drawn_requests_alone(self) -> list[tuple[str, Finding, Case]]:
        """Deviations that only randomly drawn requests show.

        For each deviation: the requirement, the finding that describes it, and the smallest request (case) that shows
        it. For these alone a smaller request is searched. A request with a known invalid part needs none, because the
        name of the part explains the deviation.
        """
        cases_by_finding = self._cases_by_finding()
        shown_with_a_known_part = _shown_with_a_known_invalid_part(cases_by_finding)
        found_by_drawn_alone = []
        for (requirement_id, _, finding), cases in cases_by_finding.items():
            if (requirement_id, finding) not in shown_with_a_known_part:
                smallest_case, _ = cases[0]  # they are sorted by size
                found_by_drawn_alone.append((requirement_id, finding, smallest_case))
        return found_by_drawn_alone

    def _reported_findings(self, seed: int) -> dict[str, list[Finding]]:
        """By requirement, the findings (deviations) for the report, each with the smallest request that shows it.

        A finding of randomly drawn requests is left out if a request with a known invalid part shows the same
        deviation, because the name of that part explains it.
        """
        cases_by_finding = self._cases_by_finding()
        shown_with_a_known_part = _shown_with_a_known_invalid_part(cases_by_finding)
        reported: dict[str, list[Finding]] = {}
        for (requirement_id, invalid_part, finding), cases in cases_by_finding.items():
            has_known_invalid_part = invalid_part != ""
            if has_known_invalid_part or (requirement_id, finding) not in shown_with_a_known_part:
                # The cases that surely show the deviation because of the steps before them are first.
                surely_first = sorted(cases, key=self._is_not_surely_shown)
                reported.setdefault(requirement_id, []).append(_with_smallest_case(finding, surely_first, seed))
        return reported

    def _is_not_surely_shown(self, case_with_answer: tuple[Case, Exchange]) -> bool:
        """False for the last step of a sequence that surely shows a deviation because of the steps before it."""
        _, exchange = case_with_answer
        return exchange.number not in self.reproduction.shown_after_steps

    def _judgements(self) -> list[_Judged]:
        """Each exchange with the judgement of each requirement that applies to it, the smallest request first.

        They are stored until another exchange is added, because several tests ask for them.
        """
        if self._judged is None:
            self._judged = []
            for case, exchange in sorted(self.cases_with_answers, key=_size_of_case):
                for requirement_id in requirements_of(case.operation, case.valid):
                    judgement = self.reproduction.judge(requirement_id, exchange)
                    self._judged.append((case, exchange, requirement_id, judgement))
                if self.further_judgements is not None:
                    for requirement_id, judgement in self.further_judgements(exchange):
                        if judgement.deviates:
                            self._judged.append((case, exchange, requirement_id, judgement))
        return self._judged

    def _cases_by_finding(self) -> _CasesByFinding:
        """For each finding (a deviation), the requests (cases) that show it with their exchanges, the smallest first.

        A finding is identified by its requirement, the invalid part of the request, and the deviation.
        """
        cases_by_finding: _CasesByFinding = {}
        for case, exchange, requirement_id, judgement in self._judgements():  # the smallest request comes first
            # Without the numbers of exchanges, the findings of two exchanges are equal if their deviations are.
            deviations = {replace(finding, exchanges=()) for finding in judgement.findings}
            for deviation in deviations:
                cases_by_finding.setdefault((requirement_id, case.unusual_part, deviation), []).append((case, exchange))
        return cases_by_finding


def _shown_with_a_known_invalid_part(cases_by_finding: _CasesByFinding) -> set[tuple[str, Finding]]:
    """The requirements and deviations that a request with a known invalid part, such as "pixKey", shows.

    A request that was drawn at random has no such part: `invalid_part` is empty.
    """
    return {(requirement_id, finding) for requirement_id, invalid_part, finding in cases_by_finding if invalid_part}


def _size_of_case(case_with_answer: tuple[Case, Exchange]) -> int:
    """The size of the case in such a pair, to sort by: characters of the request, or steps of a sequence."""
    case, _ = case_with_answer
    return case.size


def _with_smallest_case(finding: Finding, cases: list[tuple[Case, Exchange]], seed: int) -> Finding:
    """The finding (a deviation) with a description of the smallest request that shows it, and the number of requests.

    `cases` are the requests that show it, the smallest first. Requests that were sent only to find a smaller case
    are not counted, because their number depends on the search. The description of a request is "pixKey, missing", or
    the steps of a sequence. It is empty for a single request that was drawn at random.
    """
    case, exchange = cases[0]
    shown_by: Text = ""
    is_of_a_sequence = bool(case.steps)
    if is_of_a_sequence:
        steps = (say("{number}. {step}", number=number, step=say(step)) for number, step in enumerate(case.steps, 1))
        template = _OF_AN_EXECUTION if case.executes_a_transfer else _OF_A_SEQUENCE
        # The template with its {steps} filled in.
        shown_by = template.with_values(steps=joined_keeping_repeats(list(steps), ", "))
    elif case.unusual_part:
        shown_by = say("{where}, {what}", where=say(case.unusual_part), what=say(case.how_unusual))
    not_of_the_search = [shown for shown, _ in cases if not shown.is_of_the_search]
    times = len(not_of_the_search)
    return replace(finding, exchanges=(exchange.number,), shown_by=shown_by, times=times, seed=seed)


def _deviating_result(
    requirement_id: str, findings: tuple[Finding, ...], fail_on: Collection[str]
) -> RequirementResult:
    """The result of a requirement with these deviations (findings): it fails, or it is a warning.

    It fails if `fail_on` has the level of the requirement, such as "documented".
    """
    verdict = verdict_on_deviation(requirements()[requirement_id].level, fail_on)
    numbers = tuple(chain.from_iterable(finding.exchanges for finding in findings))
    return RequirementResult(requirement_id, verdict, exchanges=numbers, findings=findings)


@cache
def requirements_of(operation: str, valid: bool) -> tuple[str, ...]:
    """The requirements that apply to an exchange with this operation. `valid` says if its request is valid.

    Each requirement of the operation that has a rule applies to a valid request. A requirement at the level `example`
    (a value that the interface document only shows) is left out: generated registrations also register a key a second
    time, and may get another value then. The other tests judge it. For an invalid request the document promises
    nothing, so only the robustness requirements apply, such as "no server error".
    """
    if not valid:
        return tuple(robustness_of(operation))
    of_the_operation = (requirement_id for requirement_id in RULES if requirement_id.startswith(f"{operation}."))
    return tuple(name for name in of_the_operation if requirements()[name].level != "example")
