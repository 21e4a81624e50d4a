"""Phase 5: what deviates, or was refused beside other requests, is sent once more, alone.

A conforming service may lock, limit or slow down while several requests are under way, and say so with any status, or
by a connection that it drops. What it answers to a request that is alone is what counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator

from environments.door.door import Door
from spec.answers import ABOUT_THE_CALLER, grants_protected_result
from spec.exchange import VALID, Exchange
from spec.reproduction import Reproduction, refused_or_lost, robustness_of
from spec.rules import RULES, judge

_MOST = 3
"""Exchanges with one sign that are sent once more."""


class OnceMore:
    """Sends once more, of all that was sent since the last time, the first few exchanges with each sign. Executions are
    not, nor what else may move money; wrong tokens and transfers count against their limits."""

    def __init__(self, door: Door, reproduction: Reproduction) -> None:
        self._door, self._reproduction = door, reproduction
        self._looked_at = 0
        self._times: Counter[Hashable] = Counter()

    def send(self) -> None:
        """Send what is due. Nothing else may be under way."""
        again, stands = self._reproduction.again, self._reproduction.stands
        for exchange in self._door.exchanges[self._looked_at :]:
            doubts = set(_doubts(exchange))
            signs = {*_deviations(exchange), *doubts}
            self._times.update(signs)
            if any(self._times[sign] <= _MOST for sign in signs):
                answer = again[exchange.number] = self._door.send_again(exchange)
                if doubts and answer:
                    stands[exchange.number] = answer
        self._looked_at = len(self._door.exchanges)


def _deviations(exchange: Exchange) -> Iterator[Hashable]:
    """Each deviation; without those of robustness only where others were under way."""
    robustness = robustness_of(exchange.operation)
    rules = [id for id in RULES if id.startswith(f"{exchange.operation}.")] if exchange.beside else []
    valid = [id for id in rules if id not in robustness] if exchange.expects_success else []
    for requirement_id in (*robustness, *valid):
        for finding in judge(requirement_id, exchange).findings:
            yield requirement_id, finding.code
    if exchange.beside and exchange.credential != VALID and grants_protected_result(exchange):
        yield exchange.operation, "granted"


def _doubts(exchange: Exchange) -> Iterator[Hashable]:
    """The refusal of a valid request beside others, or of the caller although the token is valid; or no answer. Of
    targeted requests each is a sign of its own."""
    how = refused_or_lost(exchange)
    of_caller = exchange.credential == VALID and how in ABOUT_THE_CALLER
    is_lost = exchange.response is None
    if exchange.beside and how and (is_lost or exchange.expects_success or (of_caller and not exchange.valid)):
        yield exchange.operation, how, exchange.part or exchange.number
