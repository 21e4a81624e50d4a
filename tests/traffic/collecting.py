"""The findings of generated traffic: each deviation from a requirement once, with the smallest request that shows
it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from functools import cache

from reports.result.verdicts import RequirementResult, Verdict, deviation
from spec.answers import answer_in_words, refused_or_lost
from spec.exchange import Exchange, FailureKind
from spec.findings import Finding, Judgement
from spec.message import Text, in_a_row, say
from spec.requirements import requirements
from spec.rules import RULES, Reproduction, robustness_of
from tests.traffic.case import SMALLER, Case

Sign = tuple[str, str, Finding]
"""The requirement, the part of the request, and the deviation: what tells one finding from another."""
Judged = tuple[Case, Exchange, str, Judgement]
"""An exchange, and what it says of a requirement."""


@dataclass
class Findings:
    """Judges exchanges by the rules of their operation, softly: every finding is kept, none ends the run."""

    reproduction: Reproduction
    taken: list[tuple[Case, Exchange]] = field(default_factory=list)
    cut: str = ""  # why a request was not sent
    _judged: list[Judged] | None = None  # None if an exchange was taken since

    def take(self, case: Case, exchange: Exchange) -> None:
        """Keep an exchange to judge; where no connection was accepted, the attempts before it, too."""
        self._judged = None
        if refused_or_lost(exchange) is FailureKind.NO_CONNECTION:
            self.taken += [(case, seen) for seen in self.reproduction.exchanges if seen.request == exchange.request]
        elif exchange.number:
            self.taken.append((case, exchange))
        else:
            self.cut = self.cut or str(answer_in_words(exchange))

    def results(self, seed: int, fail_on: Collection[str]) -> list[RequirementResult]:
        """A result for each requirement that an exchange could show; of what a class of requests shows, only that it
        shows it."""
        held: dict[str, list[int]] = {}
        for _, exchange, requirement, judgement in self._judgements():
            if judgement.holds:
                held.setdefault(requirement, []).append(exchange.number)
        shown = self._shown()
        of_classes = {(requirement, one) for requirement, where, one in shown if where}
        deviating: dict[str, list[Finding]] = {}
        for (requirement, where, one), seen in shown.items():
            if where or (requirement, one) not in of_classes:
                deviating.setdefault(requirement, []).append(_of_generated(one, seen, seed))
        return [
            *(_held(id, numbers) for id, numbers in held.items() if id not in deviating),
            *(_deviating(id, tuple(findings), fail_on) for id, findings in deviating.items()),
        ]

    def signs_of_drawn_requests(self) -> list[tuple[str, Finding, Case]]:
        """Requirements and deviations that only drawn requests show, with the smallest of these."""
        shown = self._shown()
        of_classes = {(requirement, one) for requirement, where, one in shown if where}
        return [
            (requirement, one, seen[0][0])
            for (requirement, _, one), seen in shown.items()
            if (requirement, one) not in of_classes
        ]

    def _judgements(self) -> list[Judged]:
        """Each exchange with each requirement that it answers for, the smallest request first."""
        if self._judged is None:
            by_size = sorted(self.taken, key=lambda taken: taken[0].size)
            self._judged = [
                (case, exchange, requirement, self.reproduction.judge(requirement, exchange))
                for case, exchange in by_size
                for requirement in _requirements(case.operation, case.valid)
            ]
        return self._judged

    def _shown(self) -> dict[Sign, list[tuple[Case, Exchange]]]:
        """By sign, the requests that show it, the smallest first."""
        shown: dict[Sign, list[tuple[Case, Exchange]]] = {}
        for case, exchange, requirement, judgement in self._judgements():
            for one in {replace(each, exchanges=()) for each in judgement.findings}:
                shown.setdefault((requirement, case.where, one), []).append((case, exchange))
        return shown


def _of_generated(one: Finding, seen: list[tuple[Case, Exchange]], seed: int) -> Finding:
    """The finding with the first of the requests that show it."""
    case, exchange = seen[0]
    shown_by: Text = say("{where}, {what}", where=say(case.where), what=say(case.what)) if case.where else ""
    if case.steps:
        steps = (say("{number}. {step}", number=number, step=say(step)) for number, step in enumerate(case.steps, 1))
        shown_by = say("in a sequence ({steps})", steps=in_a_row(list(steps), ", "))
    times = sum(case.what != SMALLER for case, _ in seen)
    return replace(one, exchanges=(exchange.number,), shown_by=shown_by, times=times, seed=seed)


def _held(requirement: str, numbers: list[int]) -> RequirementResult:
    return RequirementResult(requirement, Verdict.PASS, exchanges=tuple(numbers[:3]), judged=len(numbers))


def _deviating(requirement: str, findings: tuple[Finding, ...], fail_on: Collection[str]) -> RequirementResult:
    verdict = deviation(requirements()[requirement].level, fail_on)
    numbers = tuple(number for each in findings for number in each.exchanges)
    return RequirementResult(requirement, verdict, exchanges=numbers, findings=findings)


@cache
def _requirements(operation: str, valid: bool) -> tuple[str, ...]:
    """The requirements that an exchange answers for; those of examples are about a first registration."""
    mine = [id for id in RULES if id.startswith(f"{operation}.") and requirements()[id].level != "example"]
    return tuple(mine if valid else robustness_of(operation))
