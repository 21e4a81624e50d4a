"""The rules: each a pure function of one exchange that answers for a requirement.

Targeted, generated and recorded traffic are judged by the same rules, through `judge` alone.
`Reproduction` calls it, and takes into account which deviations showed again when a request was sent once more, alone.
A deviation that was seen once may come from the network, or from the other requests in flight.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache

from spec.answers import ABOUT_THE_REQUEST, RefusalKind, grants_protected_result, refused_or_lost
from spec.exchange import SMALL, VALID, Exchange, FailureKind
from spec.findings import Conclusion, Judgement, deviates, holds, inconclusive
from spec.log import numbers_superseded
from spec.message import say
from spec.rules import results, robustness, success
from spec.rules.robustness import ROBUSTNESS
from spec.rules.table import RULES, InconclusiveError

__all__ = ["ROBUSTNESS", "RULES"]
_MODULES = (success, results, robustness)
"""Imported for their rules."""
_KINDS_OF_ANOTHER_REQUEST = ABOUT_THE_REQUEST - {RefusalKind.CONFLICT} | {RefusalKind.TOKEN}
"""Kinds of refusals that may belong to another request."""
_FEWEST_KINDS = 3
"""Kinds of wrong refusals from which on answers are mixed up. A service that limits requests at the same time refuses
in one way, or in two."""


def judge(requirement_id: str, exchange: Exchange) -> Judgement:
    """Judge one exchange for one requirement. KeyError if no rule answers for it."""
    if exchange.operation != requirement_id.split(".")[0]:
        return inconclusive(say("another operation"), exchange)
    if exchange.response is None or exchange.response.size <= SMALL:
        return _judge(requirement_id, exchange)
    # The JSON of a larger body is dropped soon after it was read. So all requirements of the operation are judged at
    # once, and the judgements are kept in the attributes of the exchange.
    judgements: dict[tuple[str, bool], Judgement] = vars(exchange).setdefault("judgements", {})
    expects_success = exchange.expects_success
    if (requirement_id, expects_success) not in judgements:
        for id_of_operation in _ids_with_a_rule(exchange.operation):
            judgements[id_of_operation, expects_success] = _judge(id_of_operation, exchange)
    return judgements[requirement_id, expects_success]


@cache
def _ids_with_a_rule(operation: str) -> list[str]:
    """Ids of the requirements of an operation that a rule answers for."""
    return [id for id in RULES if id.partition(".")[0] == operation]


def _judge(requirement_id: str, exchange: Exchange) -> Judgement:
    """The judgement by the rule of the requirement."""
    rule = RULES[requirement_id]
    try:
        deviation = rule(exchange)
    except InconclusiveError as error:
        return inconclusive(error.why, exchange)
    if deviation is None:
        return holds(exchange)
    return deviates(replace(deviation, requirement=requirement_id), exchange)


# -- what showed again ------------------------------------------------------------------------------------------------


def robustness_of(operation: str) -> list[str]:
    """The robustness requirements of an operation; none for an undocumented path."""
    return [f"{operation}.{what}" for what in ROBUSTNESS] if operation else []


@dataclass(eq=False)
class Reproduction:
    """Judges exchanges with the knowledge of which deviations showed again.

    A deviation from a robustness requirement counts if it was seen twice, or if its request cannot be sent again. A
    dropped connection needs more, because a service may drop connections under load, and may close one just when the
    next request leaves. It counts in three cases:

    - the same request was dropped again, alone;
    - three requests were dropped alone, with answers in between;
    - two requests that cannot be sent again were dropped alone.

    If no connection is accepted after a drop, nobody can tell whether the request has ended the service: somebody may
    have stopped it.

    Every other deviation counts at once. Its findings say so if it shows only beside other requests.
    """

    exchanges: list[Exchange] = field(default_factory=list)
    """The exchanges of the run."""
    again: dict[int, Exchange | None] = field(default_factory=dict)
    """Exchanges of requests that were sent once more, by the number of the first one. None if sending the request again
    might move money, or if a limit was reached."""

    def judge(self, requirement_id: str, exchange: Exchange) -> Judgement:
        """Judge an exchange. A robustness requirement holds if no deviation was seen again, alone."""
        judgement = judge(requirement_id, exchange)
        is_dropped = refused_or_lost(exchange) is FailureKind.DROPPED
        if requirement_id.endswith(".connection") and is_dropped and self._was_in_flight_at_the_end(exchange):
            return inconclusive(say("no connection is accepted since, so it could not be sent again"), exchange)
        if not judgement.deviates:
            return judgement
        if requirement_id in robustness_of(exchange.operation) and not self._robustness_is_broken(requirement_id):
            return holds(why=say("not seen again with nothing else in flight: {finding}", finding=judgement.message))
        return self.marked_if_only_beside_others(requirement_id, judgement)

    def marked_if_only_beside_others(self, requirement_id: str, judgement: Judgement) -> Judgement:
        """The judgement. Its findings say so if the same requests did not deviate when they were sent alone.

        A request deviates if its answer breaks the rule of the requirement, or grants a request with a bad credential.
        """
        broken = [exchange for exchange in judgement.exchanges if _breaks(requirement_id, exchange)]
        granted = [exchange for exchange in judgement.exchanges if _is_wrongly_granted(exchange)]
        if broken:
            is_marked = all(self._breaks_only_beside_others(requirement_id, exchange) for exchange in broken)
        else:
            is_marked = bool(granted) and all(map(self._is_granted_only_beside_others, granted))
        return _marked(judgement) if is_marked else judgement

    def mixed_up(self, operation: str, kind: RefusalKind) -> list[Exchange]:
        """Requests to the operation that got a refusal of this kind which belongs to another request.

        None unless the service refused wrongly in more ways than a limit on requests at the same time would.
        """
        refused = self.otherwise_alone
        wrong_kinds = _KINDS_OF_ANOTHER_REQUEST & set(map(refused_or_lost, refused))
        if len(wrong_kinds) < _FEWEST_KINDS:
            return []
        to_operation = [exchange for exchange in refused if exchange.operation == operation]
        return [exchange for exchange in to_operation if refused_or_lost(exchange) is kind]

    @property
    def otherwise_alone(self) -> list[Exchange]:
        """The exchanges beside others that were superseded by another kind of answer to the same request alone."""
        superseded = numbers_superseded(self.exchanges)
        answered_otherwise = []
        for exchange in self.exchanges:
            was_beside_others = exchange.beside > 0 and exchange.number in superseded
            alone = self.again.get(exchange.number) if was_beside_others else None
            if alone and refused_or_lost(exchange) != refused_or_lost(alone):
                answered_otherwise.append(exchange)
        return answered_otherwise

    @property
    def in_flight_at_the_end(self) -> list[Exchange]:
        """The requests that were dropped when the service ended: after them no connection was accepted any more."""
        refused = [exchange for exchange in self.exchanges if refused_or_lost(exchange) is FailureKind.NO_CONNECTION]
        answered = [exchange.started for exchange in self.exchanges if exchange.response]
        if not refused or not answered or refused[-1].started <= max(answered):
            return []
        dropped = [exchange for exchange in self.exchanges if refused_or_lost(exchange) is FailureKind.DROPPED]
        return [exchange for exchange in dropped if exchange.started + exchange.elapsed_s >= max(answered)]

    def _was_in_flight_at_the_end(self, exchange: Exchange) -> bool:
        return exchange.number in [dropped.number for dropped in self.in_flight_at_the_end]

    @cache  # noqa: B019 - one object for each run
    def _robustness_is_broken(self, requirement_id: str) -> bool:
        """True if a deviation from this requirement counts. The docstring of the class says when one does."""
        operation = requirement_id.partition(".")[0]
        exchanges = [exchange for exchange in self.exchanges if exchange.operation == operation]
        broken = [exchange for exchange in exchanges if judge(requirement_id, exchange).deviates]
        for exchange in broken:
            second = self.again.get(exchange.number)
            if second and judge(requirement_id, second).deviates:
                return True
        cannot_be_repeated = [exchange for exchange in broken if self._cannot_be_repeated(exchange)]
        if requirement_id.endswith(".connection"):
            final_drops_alone = sum(not exchange.beside for exchange in cannot_be_repeated)
            return _interruptions_alone(broken) >= 3 or final_drops_alone >= 2
        return len(broken) >= 2 or any(exchange.response for exchange in cannot_be_repeated)

    def _cannot_be_repeated(self, exchange: Exchange) -> bool:
        """True if the request was to be sent again, and could not be. False if nobody tried yet."""
        return exchange.number in self.again and self.again[exchange.number] is None

    def _breaks_only_beside_others(self, requirement_id: str, exchange: Exchange) -> bool:
        """True if a request broke the requirement beside others, and comparable requests met it alone."""
        if not exchange.beside:
            return False
        conclusions = {judge(requirement_id, alone).conclusion for alone in self._same_request_alone(exchange)}
        return Conclusion.HOLDS in conclusions and Conclusion.DEVIATES not in conclusions

    def _is_granted_only_beside_others(self, exchange: Exchange) -> bool:
        """True if a request was granted beside others, and no comparable request was granted alone."""
        alone = self._same_request_alone(exchange)
        return bool(exchange.beside and alone) and not any(map(grants_protected_result, alone))

    def _same_request_alone(self, exchange: Exchange) -> list[Exchange]:
        """Exchanges of comparable requests that were on the wire alone."""
        alone = [candidate for candidate in self.exchanges if not candidate.beside]
        return [candidate for candidate in alone if _comparable(candidate) == _comparable(exchange)]


def _interruptions_alone(dropped: list[Exchange]) -> int:
    """How often connections were dropped that were alone. Drops in a row are one interruption, such as a restart."""
    numbers = {exchange.number for exchange in dropped if not exchange.beside}
    return len([number for number in numbers if number - 1 not in numbers])


def _breaks(requirement_id: str, exchange: Exchange) -> bool:
    """True if the rule of the requirement, if it has one, finds a deviation in the exchange."""
    return requirement_id in RULES and judge(requirement_id, exchange).deviates


def _is_wrongly_granted(exchange: Exchange) -> bool:
    return exchange.credential != VALID and grants_protected_result(exchange)


def _comparable(exchange: Exchange) -> tuple[object, ...]:
    """Exchanges are comparable if operation, path parameter, validity, credential and spelling are equal.

    For an execution the path parameter is its code: the execution of another code says nothing about this one.
    """
    return exchange.operation, exchange.request.last_segment, exchange.valid, exchange.credential, exchange.written


def _marked(judgement: Judgement) -> Judgement:
    """The judgement, whose findings say that they show only beside other requests."""
    return replace(judgement, findings=tuple(replace(deviation, alone=False) for deviation in judgement.findings))
