"""What deviates is sent once more, alone, before it is reported: what was seen once may have been the network, or shows
only while other requests are under way. The robustness rules are applied here and nowhere else.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable
from contextlib import AbstractContextManager, nullcontext

from environments.door.authorization import VALID
from environments.door.outgoing import Sending
from spec.answers import grants_protected_result
from spec.exchange import Exchange
from spec.rules import ROBUSTNESS, RULES, Judgement, Outcome, judge

IN_COMPANY = " (only with other requests in flight)"
_GRANTED = "granted to a bad credential"
"""Stands beside the requirements that an exchange breaks by itself."""
_CONNECTION = "connection"


def robustness_of(operation: str) -> list[str]:
    """The robustness requirements of an operation; none for an undocumented path."""
    return [f"{operation}.{what}" for what in ROBUSTNESS] if operation else []


class Robustness:
    """Listens to a door and reproduces what it finds, through `alone`.

    A robustness requirement is broken where a deviation was seen twice; what cannot be sent again, as it may have moved
    money, counts at once where it was answered. A service may drop connections while it is under load: a drop counts
    where it was seen alone. Every other deviation counts at once; `judge` and `remark` say where it shows in company only.
    """

    def __init__(self, alone: Callable[[], AbstractContextManager[None]] = nullcontext) -> None:
        self._alone = alone
        self._reproduced: set[int] = set()
        self._seen: dict[str, set[int]] = {}
        self._shown_alone: set[str] = set()
        self._in_company: set[tuple[str, int]] = set()
        self._guard = threading.Lock()

    def listen(self, sending: Sending) -> None:
        """Judge the answer that stands, and send a request again that broke a rule."""
        counts_at_once = sending.exchange.response is not None and sending.intent.may_move_money
        if sending.doubted:
            self._remember_broken(sending.doubted)
        broken = self._remember_broken(sending.exchange, counts_at_once)
        deviating = _deviating(sending.exchange) if sending.exchange.beside else ()
        if broken or deviating:
            with self._alone():
                second = sending.reproduce()
            if second is not None:
                self._remember_broken(second)
                self._compare(deviating, sending.exchange, second)

    def judge(self, requirement_id: str, exchange: Exchange) -> Judgement:
        """Judge an exchange. A robustness requirement holds where a deviation was seen once and not again."""
        judgement = judge(requirement_id, exchange)
        if not judgement.deviates:
            return judgement
        is_robustness = requirement_id in robustness_of(exchange.operation)
        with self._guard:
            if is_robustness and exchange.number not in self._reproduced:
                return Judgement(Outcome.HOLDS, f"seen once and not again: {judgement.message}")
            shown_alone = requirement_id in self._shown_alone or not exchange.beside
            in_company = not shown_alone if is_robustness else (requirement_id, exchange.number) in self._in_company
        message = judgement.message + IN_COMPANY * in_company
        return Judgement(judgement.outcome, message, judgement.exchanges)

    def remark(self, exchanges: Iterable[Exchange]) -> str:
        """What to add where a request with a bad credential was granted in company only; else empty."""
        granted = [seen for seen in exchanges if _GRANTED in _deviating(seen)]
        with self._guard:
            in_company = granted and all((_GRANTED, seen.number) in self._in_company for seen in granted)
        return IN_COMPANY if in_company else ""

    def _remember_broken(self, exchange: Exchange, counts_at_once: bool = False) -> bool:
        """Remember the robustness rules that the exchange breaks. False where it breaks none."""
        broken = [id for id in robustness_of(exchange.operation) if judge(id, exchange).deviates]
        with self._guard:
            for requirement_id in broken:
                self._shown_alone |= set() if exchange.beside else {requirement_id}
                seen = self._seen.setdefault(requirement_id, set())
                seen.add(exchange.number)
                may_be_load = requirement_id.endswith(_CONNECTION) and requirement_id not in self._shown_alone
                if counts_at_once or (len(seen) > 1 and not may_be_load):
                    self._reproduced |= seen
        return bool(broken)

    def _compare(self, deviating: Collection[str], first: Exchange, alone: Exchange) -> None:
        """Remember what the first exchange broke, and the one that was alone keeps."""
        kept = {id for id in deviating if id in RULES and judge(id, alone).holds}
        kept |= {_GRANTED} if _GRANTED in deviating and alone.response and _GRANTED not in _deviating(alone) else set()
        with self._guard:
            self._in_company |= {(id, first.number) for id in kept}


def _deviating(exchange: Exchange) -> list[str]:
    """The requirements that an exchange breaks by itself, without those of robustness."""
    if exchange.credential != VALID:
        return [_GRANTED] if grants_protected_result(exchange) else []
    mine = (id for id in RULES if id.startswith(f"{exchange.operation}.")) if exchange.valid else ()
    return [id for id in mine if id not in robustness_of(exchange.operation) and judge(id, exchange).deviates]
