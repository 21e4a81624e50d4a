"""What deviates is sent once more, alone, before it is reported: what was seen once may have been the network, or shows
only while other requests are under way.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace

from environments.door.authorization import VALID
from environments.door.outgoing import Sending
from spec.answers import grants_protected_result
from spec.exchange import Exchange
from spec.findings import Judgement, Outcome, holds
from spec.message import say
from spec.rules import ROBUSTNESS, RULES, judge

_CONNECTION = "connection"


def robustness_of(operation: str) -> list[str]:
    """The robustness requirements of an operation; none for an undocumented path."""
    return [f"{operation}.{what}" for what in ROBUSTNESS] if operation else []


class Reproduction:
    """Listens to a door and reproduces what it finds, through `alone`.

    A robustness requirement is broken where a deviation was seen twice; what cannot be sent again, as it may have moved
    money or a limit is reached, counts at once where it was answered. A service may drop connections while it is under load, and count one as
    open that was closed just now: a drop counts where it was seen alone, and alone again at once. Every other deviation
    counts at once; `judge` and `marked` say where it shows in company only.
    """

    def __init__(self, alone: Callable[[], AbstractContextManager[None]] = nullcontext) -> None:
        self._alone = alone
        self._reproduced: set[int] = set()
        self._seen: dict[str, set[int]] = {}
        self._seen_alone: dict[Outcome, set[str]] = {outcome: set() for outcome in Outcome}
        self._drops: Counter[str] = Counter()
        self._guard = threading.Lock()

    def listen(self, sending: Sending) -> None:
        """Judge the answer that stands, and send a request again that broke a rule."""
        counts_at_once = sending.exchange.response is not None and sending.intent.may_move_money
        if sending.doubted:
            self._remember(sending.doubted)
        if not sending.repeatable:
            self._count_drops(_dropped_alone(sending.exchange))
        broken = self._remember(sending.exchange, counts_at_once)
        if broken or (sending.exchange.beside and Outcome.DEVIATES in _judged(sending.exchange).values()):
            with self._alone():
                second = sending.reproduce()
            if second is None and sending.repeatable:
                self._remember(sending.exchange, sending.exchange.response is not None)
            elif second is not None:
                self._count_drops(2 * (_dropped_alone(sending.exchange) and _dropped_alone(second)))
                self._remember(second)

    def _count_drops(self, requirement_ids: list[str]) -> None:
        """Count drops that did not pass: two of one request, or those of two that cannot be sent again."""
        with self._guard:
            self._drops.update(requirement_ids)

    def judge(self, requirement_id: str, exchange: Exchange) -> Judgement:
        """Judge an exchange. A robustness requirement holds where a deviation was seen once and not again."""
        judgement = judge(requirement_id, exchange)
        if not judgement.deviates:
            return judgement
        is_robustness = requirement_id in robustness_of(exchange.operation)
        with self._guard:
            if is_robustness and exchange.number not in self._reproduced:
                return holds(why=say("seen once and not again: {finding}", finding=judgement.message))
        in_company = self._shows_in_company(requirement_id, exchange, is_robustness=is_robustness)
        return _in_company(judgement) if in_company else judgement

    def marked(self, judgement: Judgement) -> Judgement:
        """The judgement; it says so where requests with a bad credential were granted in company only."""
        granted = [seen for seen in judgement.exchanges if seen.credential != VALID and grants_protected_result(seen)]
        in_company = granted and all(self._shows_in_company(_granted(seen), seen) for seen in granted)
        return _in_company(judgement) if in_company else judgement

    def _shows_in_company(self, what: str, exchange: Exchange, *, is_robustness: bool = False) -> bool:
        """Whether it was seen in company, and not alone. A server error may stay away alone; all else has to hold."""
        with self._guard:
            held = is_robustness or what in self._seen_alone[Outcome.HOLDS]
            return bool(exchange.beside) and held and what not in self._seen_alone[Outcome.DEVIATES]

    def _remember(self, exchange: Exchange, counts_at_once: bool = False) -> bool:
        """Remember what an exchange keeps and breaks. False where it breaks no robustness rule."""
        broken = {id for id in robustness_of(exchange.operation) if judge(id, exchange).deviates}
        alone = {} if exchange.beside else _judged(exchange) | dict.fromkeys(broken, Outcome.DEVIATES)
        with self._guard:
            for what, outcome in alone.items():
                self._seen_alone[outcome].add(what)
            for requirement_id in broken:
                seen = self._seen.setdefault(requirement_id, set())
                seen.add(exchange.number)
                may_be_load = requirement_id.endswith(_CONNECTION) and self._drops[requirement_id] < 2
                if counts_at_once or (len(seen) > 1 and not may_be_load):
                    self._reproduced |= seen
        return bool(broken)


def _in_company(judgement: Judgement) -> Judgement:
    return replace(judgement, findings=tuple(replace(each, alone=False) for each in judgement.findings))


def _dropped_alone(exchange: Exchange) -> list[str]:
    """The requirement that the exchange breaks by a drop, with nothing beside it."""
    mine = [id for id in robustness_of(exchange.operation) if id.endswith(_CONNECTION)]
    return [id for id in mine if not exchange.beside and judge(id, exchange).deviates]


def _granted(exchange: Exchange) -> str:
    """Stands for a requirement: no bad credential is granted anything."""
    return f"{exchange.operation}: bad credential"


def _judged(exchange: Exchange) -> dict[str, Outcome]:
    """What an exchange shows by itself, without the requirements of robustness."""
    if exchange.credential != VALID:
        granted = Outcome.DEVIATES if grants_protected_result(exchange) else Outcome.HOLDS
        return {} if exchange.response is None else {_granted(exchange): granted}
    mine = (id for id in RULES if id.startswith(f"{exchange.operation}.")) if exchange.valid else ()
    return {id: judge(id, exchange).outcome for id in mine if id not in robustness_of(exchange.operation)}
