"""The findings of generated traffic: each deviation from a requirement once, with the smallest request that shows it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from typing import NamedTuple

from environments.door.door import Door
from reports.verdicts import RequirementResult, Verdict, deviation
from spec.answers import is_granted, registered
from spec.exchange import Exchange, Request
from spec.findings import Finding, finding
from spec.interface import KEY_TYPES
from spec.json_text import read_json
from spec.message import say
from spec.requirements import ledger
from spec.rules import RULES
from tests.harness.reproduction import Reproduction, robustness_of
from tests.traffic.case import Case

UNDOCUMENTED_TYPE = "registerPixKey.pixKeyType.undocumented"


class Sign(NamedTuple):
    """What tells one finding from another: the requirement, the part of the request, the deviation."""

    requirement: str
    where: str
    finding: Finding


@dataclass
class Shown:
    """The smallest case that shows a finding, its exchange, and how many cases showed it."""

    case: Case
    exchange: Exchange
    times: int = 0


@dataclass
class Findings:
    """Judges exchanges by the rules of their operation, softly: every finding is kept, none ends the run. `part` names
    the part of the traffic that is judged."""

    door: Door
    reproduction: Reproduction
    part: str
    shown: dict[Sign, Shown] = field(default_factory=dict)
    held: dict[str, list[int]] = field(default_factory=dict)
    accepted: int = 0
    refused: dict[str, int] = field(default_factory=dict)
    cut: str = ""
    _requests: set[Request] = field(default_factory=set)

    @property
    def numbers(self) -> set[int]:
        """The exchanges that were judged, and those that reproduced them."""
        mine = (seen for seen in self.door.exchanges if seen.part == self.part)
        return {seen.number for seen in mine if seen.request in self._requests}

    def take(self, case: Case, exchange: Exchange) -> None:
        """Judge an exchange."""
        if not exchange.number:
            self.cut = self.cut or exchange.summary
            return
        self._requests.add(exchange.request)
        self._count(exchange)
        for sign in set(self._judged(case, exchange)):
            shown = self.shown.setdefault(sign, Shown(case, exchange))
            shown.times += 1
            if case.size < shown.case.size:
                shown.case, shown.exchange = case, exchange

    def results(self, seed: int, fail_on: Collection[str]) -> list[RequirementResult]:
        """What was found, a result for each requirement that an exchange could show."""
        found = [RequirementResult(id, Verdict.PASS, exchanges=tuple(numbers[:3])) for id, numbers in self.held.items()]
        broken = dict.fromkeys(sign.requirement for sign in self.shown)
        return found + [self._deviating(requirement, seed, fail_on) for requirement in broken]

    def _deviating(self, requirement: str, seed: int, fail_on: Collection[str]) -> RequirementResult:
        signs = sorted(self._distinct(requirement), key=lambda sign: self.shown[sign].case.size)
        found = tuple(self._finding(sign, seed) for sign in signs)
        numbers = tuple(self.shown[sign].exchange.number for sign in signs)
        verdict = deviation(ledger()[requirement].level, fail_on)
        return RequirementResult(requirement, verdict, exchanges=numbers, findings=found)

    def _distinct(self, requirement: str) -> list[Sign]:
        """The signs of a requirement; without what several members show together, where one of them shows it alone."""
        signs = [sign for sign in self.shown if sign.requirement == requirement]
        alone = {(sign.where, sign.finding) for sign in signs}
        parts = {sign: sign.where.split(", ") for sign in signs}
        return [
            sign
            for sign in signs
            if len(parts[sign]) == 1 or not any((part, sign.finding) in alone for part in parts[sign])
        ]

    def _finding(self, sign: Sign, seed: int) -> Finding:
        shown = self.shown[sign]
        shown_by = say("{where}, {what}", where=say(sign.where), what=say(shown.case.what)) if sign.where else ""
        numbers = (shown.exchange.number,)
        return replace(sign.finding, exchanges=numbers, shown_by=shown_by, times=shown.times, seed=seed)

    def _count(self, exchange: Exchange) -> None:
        if is_granted(exchange):
            self.accepted += 1
        else:
            self.refused[exchange.summary] = self.refused.get(exchange.summary, 0) + 1

    def _judged(self, case: Case, exchange: Exchange) -> Iterator[Sign]:
        for requirement in _requirements(case.operation, case.valid):
            judgement = self.reproduction.judge(requirement, exchange)
            if judgement.holds:
                self.held.setdefault(requirement, []).append(exchange.number)
            elif judgement.deviates:
                yield from (Sign(requirement, case.where, replace(each, exchanges=())) for each in judgement.findings)
        if _names_an_undocumented_type(case):
            if registered(exchange):
                yield Sign(UNDOCUMENTED_TYPE, case.where, finding("undocumented-type"))
            elif exchange.response is not None:
                self.held.setdefault(UNDOCUMENTED_TYPE, []).append(exchange.number)


@cache
def _requirements(operation: str, valid: bool) -> tuple[str, ...]:
    """The requirements that an exchange answers for; those of examples are about a first registration."""
    mine = [id for id in RULES if id.startswith(f"{operation}.") and ledger()[id].level != "example"]
    return tuple(mine if valid else robustness_of(operation))


def _names_an_undocumented_type(case: Case) -> bool:
    """Whether the key type is a text, no number, and none of the documented ones in any letter case."""
    if case.operation != "registerPixKey" or b'"pixKeyType"' not in (case.body or b""):
        return False
    sent = read_json(case.body or b"").value
    key_type = sent.get("pixKeyType") if isinstance(sent, dict) else None
    plain = key_type.strip().upper() if isinstance(key_type, str) else ""
    return bool(plain) and plain not in KEY_TYPES and not plain.isnumeric()
