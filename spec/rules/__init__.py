"""The rules: each is a pure function that checks one exchange for one requirement.

All traffic is judged by the same rules, through the function `judge`: the requests of scenarios, generated requests,
and recorded traffic of a HAR file.

A deviation that was seen once may come from the network, or from other requests that were under way. So the run sends
such requests once more, while nothing else is under way. The class `Reproduction` judges with the knowledge of which
deviations showed again.

A request was alone if no other request of the run was under way at the same time; else it was beside others.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache

from spec.answers import ABOUT_THE_REQUEST, RefusalKind, grants_protected_result, refusal_or_failure
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
"""Kinds of refusals that may be the answer to another request which was under way at the same time. A conflict is none,
because a service may refuse a request with 409 just because another one is under way."""
_FEWEST_KINDS = 3
"""Fewest kinds of wrong refusals that show that a service mixes up its answers. A service that merely limits how many
requests may be under way refuses in one way, or in two."""


def judge(requirement_id: str, exchange: Exchange) -> Judgement:
    """Judge one exchange for one requirement: it holds, deviates, or is inconclusive.

    Raises KeyError if the requirement has no rule. It is inconclusive for an exchange with another operation.
    """
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


# -- deviations that showed again -------------------------------------------------------------------------------------


def robustness_of(operation: str) -> list[str]:
    """The robustness requirements of an operation; none for an undocumented path."""
    return [f"{operation}.{what}" for what in ROBUSTNESS] if operation else []


@dataclass(eq=False)
class Reproduction:
    """Judges exchanges with the knowledge of which deviations showed again when their requests were sent once more.

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
    """By the number of an exchange, the exchange of the same request sent once more, alone. The value is None if it
    could not be sent: that might move money, or a limit was reached."""

    def judge(self, requirement_id: str, exchange: Exchange) -> Judgement:
        """Judge an exchange. Unlike the function `judge`, a robustness requirement holds if no deviation counts.

        The docstring of the class says when one counts. A judgement that deviates says so if it shows only beside
        others.
        """
        judgement = judge(requirement_id, exchange)
        is_dropped = refusal_or_failure(exchange) is FailureKind.DROPPED
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
        """Requests to the operation that got a refusal of this kind, which seems to be the answer to another request.

        They were sent while others were under way, and were answered in another way when they were sent again, alone.
        Empty unless the service refused wrongly in more ways than a limit on simultaneous requests would explain.
        """
        refused = self.answered_otherwise_alone
        wrong_kinds = _KINDS_OF_ANOTHER_REQUEST & set(map(refusal_or_failure, refused))
        if len(wrong_kinds) < _FEWEST_KINDS:
            return []
        to_operation = [exchange for exchange in refused if exchange.operation == operation]
        return [exchange for exchange in to_operation if refusal_or_failure(exchange) is kind]

    @property
    def answered_otherwise_alone(self) -> list[Exchange]:
        """The exchanges whose request got another kind of answer when it was sent again, alone.

        Only exchanges whose first answer was doubtful, so that the second one took its place (`supersedes`).
        """
        superseded = numbers_superseded(self.exchanges)
        answered_otherwise = []
        for exchange in self.exchanges:
            is_replaced = not exchange.was_alone and exchange.number in superseded
            alone = self.again.get(exchange.number) if is_replaced else None
            if alone and refusal_or_failure(exchange) != refusal_or_failure(alone):
                answered_otherwise.append(exchange)
        return answered_otherwise

    @property
    def in_flight_at_the_end(self) -> list[Exchange]:
        """The requests that lost their connection when the service ended. Empty if the service did not end.

        It ended if the last connections of the run were not accepted, and no request was answered after that. A request
        was under way then if it lost its connection after the last request that was answered had been sent.
        """
        refused = [exchange for exchange in self.exchanges if refusal_or_failure(exchange) is FailureKind.NO_CONNECTION]
        answered = [exchange.started for exchange in self.exchanges if exchange.response]
        if not refused or not answered or refused[-1].started <= max(answered):
            return []
        dropped = [exchange for exchange in self.exchanges if refusal_or_failure(exchange) is FailureKind.DROPPED]
        return [exchange for exchange in dropped if exchange.started + exchange.elapsed_s >= max(answered)]

    def _was_in_flight_at_the_end(self, exchange: Exchange) -> bool:
        """True if this exchange lost its connection when the service ended."""
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
            dropped_alone = [exchange for exchange in cannot_be_repeated if exchange.was_alone]
            return _interruptions_alone(broken) >= 3 or len(dropped_alone) >= 2
        was_seen_twice = len(broken) >= 2
        return was_seen_twice or any(exchange.response for exchange in cannot_be_repeated)

    def _cannot_be_repeated(self, exchange: Exchange) -> bool:
        """True if the run tried to send the request again, and could not. False if it did not try yet."""
        return exchange.number in self.again and self.again[exchange.number] is None

    def _breaks_only_beside_others(self, requirement_id: str, exchange: Exchange) -> bool:
        """True if a request broke the requirement while others were under way, and comparable requests met it alone."""
        if exchange.was_alone:
            return False
        conclusions = {judge(requirement_id, alone).conclusion for alone in self._comparable_alone(exchange)}
        return Conclusion.HOLDS in conclusions and Conclusion.DEVIATES not in conclusions

    def _is_granted_only_beside_others(self, exchange: Exchange) -> bool:
        """True if a request was granted while others were under way, and comparable requests were not granted alone."""
        comparable_alone = self._comparable_alone(exchange)
        if exchange.was_alone or not comparable_alone:
            return False
        return not any(map(grants_protected_result, comparable_alone))

    def _comparable_alone(self, exchange: Exchange) -> list[Exchange]:
        """Exchanges with a comparable request that was sent while no other request was under way."""
        comparison_key = _comparison_key(exchange)
        alone = [candidate for candidate in self.exchanges if candidate.was_alone]
        return [candidate for candidate in alone if _comparison_key(candidate) == comparison_key]


def _interruptions_alone(dropped: list[Exchange]) -> int:
    """Number of interruptions: of dropped connections whose requests were alone, those in a row count once.

    Drops in a row have one reason, such as a restart of the service.
    """
    numbers = {exchange.number for exchange in dropped if exchange.was_alone}
    first_numbers = [number for number in numbers if number - 1 not in numbers]  # of each drop or row of drops
    return len(first_numbers)


def _breaks(requirement_id: str, exchange: Exchange) -> bool:
    """True if the rule of the requirement, if it has one, finds a deviation in the exchange."""
    return requirement_id in RULES and judge(requirement_id, exchange).deviates


def _is_wrongly_granted(exchange: Exchange) -> bool:
    """True if a request with a wrong token, or without one, got what only a valid token may get."""
    return exchange.credential != VALID and grants_protected_result(exchange)


def _comparison_key(exchange: Exchange) -> tuple[object, ...]:
    """Operation, path parameter, validity, credential and spelling: exchanges are comparable if these are equal.

    The path parameter is part of it because that of an execution is its transaction code, and the execution of another
    code says nothing about this one.
    """
    return exchange.operation, exchange.request.last_segment, exchange.valid, exchange.credential, exchange.spelling


def _marked(judgement: Judgement) -> Judgement:
    """The judgement, whose findings say that they show only beside other requests."""
    return replace(judgement, findings=tuple(replace(deviation, alone=False) for deviation in judgement.findings))
