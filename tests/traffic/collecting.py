"""The findings of generated traffic: each deviation from a requirement once, with the smallest request that shows it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from functools import cache

from environments.door.door import Door
from reports.verdicts import RequirementResult, Verdict, deviation
from spec.answers import is_granted, registered
from spec.exchange import Exchange, Request
from spec.findings import Finding, finding
from spec.interface import KEY_TYPES
from spec.json_text import read_json
from spec.message import say
from spec.reproduction import Reproduction, robustness_of
from spec.requirements import requirements
from spec.rules import RULES
from tests.traffic.case import Case

UNDOCUMENTED_TYPE = "registerPixKey.pixKeyType.undocumented"
Sign = tuple[str, str, Finding]
"""The requirement, the part of the request, and the deviation: what tells one finding from another."""


@dataclass
class Findings:
    """Judges exchanges by the rules of their operation, softly: every finding is kept, none ends the run. `part` names
    the part of the traffic that is judged."""

    door: Door
    reproduction: Reproduction
    part: str
    shown: dict[Sign, tuple[Case, Exchange]] = field(default_factory=dict)
    times: Counter[Sign] = field(default_factory=Counter)
    held: dict[str, list[int]] = field(default_factory=dict)
    accepted: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    cut: str = ""
    _taken: list[tuple[Case, Exchange]] = field(default_factory=list)

    @property
    def numbers(self) -> set[int]:
        """The exchanges that were judged, and those that reproduced them."""
        requests: set[Request] = {exchange.request for _, exchange in self._taken}
        mine = (seen for seen in self.door.exchanges if seen.part == self.part)
        return {seen.number for seen in mine if seen.request in requests}

    def take(self, case: Case, exchange: Exchange) -> None:
        """Keep an exchange to judge."""
        if not exchange.number:
            self.cut = self.cut or exchange.summary
            return
        self._taken.append((case, exchange))
        self.accepted += is_granted(exchange)
        self.refused.update([exchange.summary] * (not is_granted(exchange)))

    def _judge(self, case: Case, exchange: Exchange) -> None:
        for sign in set(self._judged(case, exchange)):
            self.times[sign] += 1
            if sign not in self.shown or case.size < self.shown[sign][0].size:
                self.shown[sign] = case, exchange

    def results(self, seed: int, fail_on: Collection[str]) -> list[RequirementResult]:
        """A result for each requirement that an exchange could show; of what a class of requests shows, only that it shows
        it. To be asked once."""
        for case, exchange in self._taken:
            self._judge(case, exchange)
        found = [RequirementResult(id, Verdict.PASS, exchanges=tuple(numbers[:3])) for id, numbers in self.held.items()]
        of_classes = {(requirement, one) for requirement, where, one in self.shown if where}
        signs = [sign for sign in self.shown if sign[1] or (sign[0], sign[2]) not in of_classes]
        deviating: dict[str, list[Finding]] = {}
        for sign in sorted(signs, key=lambda sign: self.shown[sign][0].size):
            deviating.setdefault(sign[0], []).append(self._finding(sign, seed))
        return found + [_deviating(requirement, findings, fail_on) for requirement, findings in deviating.items()]

    def _finding(self, sign: Sign, seed: int) -> Finding:
        (case, exchange), (_, where, one) = self.shown[sign], sign
        shown_by = say("{where}, {what}", where=say(where), what=say(case.what)) if where else ""
        return replace(one, exchanges=(exchange.number,), shown_by=shown_by, times=self.times[sign], seed=seed)

    def _judged(self, case: Case, exchange: Exchange) -> Iterator[Sign]:
        for requirement in _requirements(case.operation, case.valid):
            judgement = self.reproduction.judge(requirement, exchange)
            if judgement.holds:
                self.held.setdefault(requirement, []).append(exchange.number)
            elif judgement.deviates:
                yield from ((requirement, case.where, replace(each, exchanges=())) for each in judgement.findings)
        if _names_an_undocumented_type(case):
            if registered(exchange):
                yield UNDOCUMENTED_TYPE, case.where, finding("undocumented-type")
            elif exchange.response is not None:
                self.held.setdefault(UNDOCUMENTED_TYPE, []).append(exchange.number)


def _deviating(requirement: str, findings: list[Finding], fail_on: Collection[str]) -> RequirementResult:
    numbers = tuple(number for each in findings for number in each.exchanges)
    verdict = deviation(requirements()[requirement].level, fail_on)
    return RequirementResult(requirement, verdict, exchanges=numbers, findings=tuple(findings))


@cache
def _requirements(operation: str, valid: bool) -> tuple[str, ...]:
    """The requirements that an exchange answers for; those of examples are about a first registration."""
    mine = [id for id in RULES if id.startswith(f"{operation}.") and requirements()[id].level != "example"]
    return tuple(mine if valid else robustness_of(operation))


def _names_an_undocumented_type(case: Case) -> bool:
    """True if the key type is a text, no number, and none of the documented ones in any letter case."""
    if case.operation != "registerPixKey":
        return False
    sent = read_json(case.body or b"").value
    key_type = sent.get("pixKeyType") if isinstance(sent, dict) else None
    plain = key_type.strip().upper() if isinstance(key_type, str) else ""
    return bool(plain) and plain not in KEY_TYPES and not plain.isnumeric()
