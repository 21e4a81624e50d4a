"""The robustness rules, applied in one place: every request answers for them, and a finding is reproduced first."""

from __future__ import annotations

from environments.door.outgoing import Sending
from spec.exchange import Exchange
from spec.rules import ROBUSTNESS, Judgement, Outcome, judge


def robustness_of(operation: str) -> list[str]:
    """The robustness requirements of an operation; none for an undocumented path."""
    return [f"{operation}.{what}" for what in ROBUSTNESS] if operation else []


class Robustness:
    """Listens to a door and reproduces what it finds: what was seen once may have been the network.

    What cannot be sent again, as it may have moved money, counts at once where it was answered.
    """

    def __init__(self) -> None:
        self._reproduced: set[int] = set()
        self._seen: dict[str, set[int]] = {}

    def listen(self, sending: Sending) -> None:
        """Judge the answer that stands, and send a request again that broke a rule."""
        counts_at_once = sending.exchange.response is not None and sending.intent.may_move_money
        if self._remember_broken(sending.exchange, counts_at_once) and (second := sending.reproduce()):
            self._remember_broken(second)

    def judge(self, requirement_id: str, exchange: Exchange) -> Judgement:
        """Judge an exchange. A robustness requirement holds where a deviation was seen once and not again."""
        judgement = judge(requirement_id, exchange)
        is_certain = exchange.number in self._reproduced or requirement_id not in robustness_of(exchange.operation)
        if is_certain or not judgement.deviates:
            return judgement
        return Judgement(Outcome.HOLDS, f"seen once and not again: {judgement.message}")

    def _remember_broken(self, exchange: Exchange, counts_at_once: bool = False) -> bool:
        """Remember the rules that the exchange breaks. False where it breaks none."""
        ids = robustness_of(exchange.operation)
        broken = [id for id in ids if judge(id, exchange).deviates]
        for requirement_id in broken:
            seen = self._seen.setdefault(requirement_id, set())
            seen.add(exchange.number)
            if len(seen) > 1 or counts_at_once:
                self._reproduced |= seen
        return bool(broken)
