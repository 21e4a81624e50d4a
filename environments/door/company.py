"""Whether other requests on the wire may have caused an answer.

A lawful service may lock, limit or slow down while several requests are under way, and say so with any status, or by a
connection that it drops. What it answers to a request that is alone is what counts.
"""

from __future__ import annotations

from environments.door.authorization import VALID
from environments.door.backoff import Backoff
from environments.door.outgoing import Again, Sending
from spec.answers import ABOUT_THE_CALLER, ABOUT_THE_REQUEST, RefusalKind, is_refusal, refusal_kind
from spec.exchange import Exchange

_Sign = tuple[str, str, str, object]
_OF_ANOTHER = ABOUT_THE_REQUEST - {RefusalKind.CONFLICT} | {RefusalKind.TOKEN}
"""What a refusal may be about that belongs to another request."""
_WAYS = 3
"""A service that limits requests at the same time says so in one of these ways, or in two."""


class Company:
    """Doubts a failure, the refusal of a valid request, and a refusal of the caller although the token is valid: has
    the request sent once more, alone. What is the same alone is not doubted again.

    A failure makes room on the wire. A refusal does not: it may be the answer to one of the other requests, and a
    service that mixes them up shows it only while it has several. `otherwise_alone` has what was not the same.
    """

    def __init__(self, backoff: Backoff) -> None:
        self._backoff = backoff
        self.otherwise_alone: list[Exchange] = []
        self._same_alone: set[_Sign] = set()

    def doubt(self, sending: Sending) -> Again | None:
        """Have the request sent alone, where company may have caused its answer; then that answer stands."""
        seen = sending.exchange
        if sending.doubted or not (seen.beside and sending.repeatable and _is_doubtful(seen)):
            return None
        if _sign(seen) in self._same_alone:
            return None
        sending.doubted = seen
        return Again(alone=True)

    def compare(self, sending: Sending) -> None:
        """See whether the answer that stands is the one that was doubted."""
        seen = sending.doubted
        if seen is None or sending.exchange.beside or seen.number in seen.excused:
            return
        if _sign(sending.exchange) == _sign(seen):
            self._same_alone.add(_sign(seen))
            return
        self.otherwise_alone.append(seen)
        if seen.response is None or seen.response.status >= 500:
            self._backoff.slow_down(sending)

    @property
    def are_mixed_up(self) -> bool:
        """Whether requests were refused for what is wrong with others, in more ways than a limit has."""
        seen = {refusal_kind(one.response) for one in list(self.otherwise_alone) if one.response}
        return len(seen & _OF_ANOTHER) >= _WAYS

    def mixed_up(self, operation: str, kind: RefusalKind) -> list[Exchange]:
        """Requests to the operation that were refused in this way for what is wrong with others."""
        seen = list(self.otherwise_alone) if self.are_mixed_up else []
        mine = [one for one in seen if one.operation == operation]
        return [one for one in mine if one.response and refusal_kind(one.response) is kind]


def _is_doubtful(exchange: Exchange) -> bool:
    response = exchange.response
    if response is None or not is_refusal(response):
        return response is None
    return exchange.valid or (exchange.credential == VALID and refusal_kind(response) in ABOUT_THE_CALLER)


def _sign(exchange: Exchange) -> _Sign:
    """What tells one outcome from another."""
    named = exchange.request.last_segment if exchange.valid else ""
    outcome: object = exchange.failure and exchange.failure.kind
    if exchange.response is not None:
        outcome = (exchange.response.status, refusal_kind(exchange.response))
    return exchange.operation, named, exchange.credential, outcome
