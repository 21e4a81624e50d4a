"""The rules: each is a pure function that checks one exchange for one requirement.

All traffic is judged by the same rules, through the function `judge`: the requests of scenarios, generated requests,
and recorded traffic of a HAR file.

A deviation that was seen once may come from the network, or from other requests that were under way. So the run sends
such requests once more, while nothing else is under way. The class `Reproduction` knows which deviations showed again,
and judges with that knowledge.

| word | meaning |
|---|---|
| alone | no other request of the run was under way at the same time |
| beside others | other requests of the run were under way at the same time |
| dropped | the connection of a request was closed without a response |
| granted | answered with what only a valid token may get |
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
"""The modules with the rules. Importing them puts their rules into RULES."""
_KINDS_THAT_DEPEND_ON_THE_REQUEST = ABOUT_THE_REQUEST - {RefusalKind.CONFLICT} | {RefusalKind.TOKEN}
"""Kinds of refusals that may be the answer to another request which was under way at the same time. A conflict is none,
because a service may refuse a request with 409 just because another one is under way."""
_NO_CONNECTION = FailureKind.NO_CONNECTION
"""The failure of a request whose connection was not accepted."""
_FEWEST_KINDS_OF_A_MIX_UP = 3
"""Fewest kinds of wrong refusals that show that a service mixes up its answers. A service that merely limits how many
requests may be under way refuses in one way, or in two."""
_FEWEST_INTERRUPTIONS = 3
"""Fewest interruptions of the service (dropped connections with answers in between) that are no chance of the network.
A choice."""
_FEWEST_DROPS_WITHOUT_REPETITION = 2
"""Fewest dropped connections that are no chance of the network, if their requests cannot be sent again. A choice."""


def judge(requirement_id: str, exchange: Exchange) -> Judgement:
    """The judgement of one exchange by the rule of a requirement: the requirement holds, deviates, or is inconclusive.

    It is inconclusive if the exchange is with another operation than the requirement is about. Raises KeyError if the
    requirement has no rule.
    """
    if exchange.operation != requirement_id.split(".")[0]:
        return inconclusive(say("another operation"), exchange)
    if exchange.response is None or exchange.response.size <= SMALL:
        return _judge(requirement_id, exchange)
    # The parsed JSON of a larger body is dropped soon, and parsing it again takes time. So all requirements of the
    # operation are judged at once, and the judgements are stored in the attributes of the exchange.
    judgements: dict[tuple[str, bool], Judgement] = vars(exchange).setdefault("judgements", {})
    expects_success = exchange.expects_success  # part of the key, because the run may learn later that a token expired
    if (requirement_id, expects_success) not in judgements:
        for id_of_operation in _ids_with_a_rule(exchange.operation):
            judgements[id_of_operation, expects_success] = _judge(id_of_operation, exchange)
    return judgements[requirement_id, expects_success]


@cache
def _ids_with_a_rule(operation: str) -> list[str]:
    """Ids of the requirements of an operation for which there is a rule, such as `executePix.json`."""
    return [id for id in RULES if id.partition(".")[0] == operation]


def _judge(requirement_id: str, exchange: Exchange) -> Judgement:
    """Call the rule of the requirement, and make a judgement of what it returns or raises."""
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
    """Ids of the robustness requirements of an operation, such as `executePix.serverError`.

    None for an undocumented path, whose operation is the empty text.
    """
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
    sent_again: dict[int, Exchange | None] = field(default_factory=dict)
    """By the number of an exchange, the exchange in which the same request was sent once more, alone. The value is None
    if it could not be sent once more, because that might move money, or a limit was reached."""

    def judge(self, requirement_id: str, exchange: Exchange) -> Judgement:
        """The judgement of an exchange, with the knowledge of which deviations of the run showed again.

        It differs from the function `judge` of this module in two ways. A robustness requirement holds if its
        deviations were probably chance (the docstring of the class says when). And if a deviation showed only while
        other requests were under way, its finding says so.
        """
        judgement = judge(requirement_id, exchange)
        is_dropped = refusal_or_failure(exchange) is FailureKind.DROPPED
        service_ended = is_dropped and self._was_in_flight_at_the_end(exchange)
        if requirement_id.endswith(".connection") and service_ended:  # perhaps somebody stopped the service
            return inconclusive(say("no connection is accepted since, so it could not be sent again"), exchange)
        if not judgement.deviates:
            return judgement
        if requirement_id in robustness_of(exchange.operation) and not self._robustness_is_broken(requirement_id):
            return holds(why=say("not seen again with nothing else in flight: {finding}", finding=judgement.message))
        return self.marked_if_only_beside_others(requirement_id, judgement)

    def marked_if_only_beside_others(self, requirement_id: str, judgement: Judgement) -> Judgement:
        """The judgement. If comparable requests did not deviate when they were sent alone, its findings say so.

        So a reader knows that the deviation shows only while several requests are under way. A request deviates if its
        answer breaks the rule of the requirement, or grants what only a valid token may get.
        """
        broken = [exchange for exchange in judgement.exchanges if _breaks(requirement_id, exchange)]
        granted = [exchange for exchange in judgement.exchanges if _is_wrongly_granted(exchange)]
        if broken:
            only_beside_others = all(self._breaks_only_beside_others(requirement_id, exchange) for exchange in broken)
        else:
            only_beside_others = bool(granted) and all(map(self._is_granted_only_beside_others, granted))
        return _marked_as_beside_others(judgement) if only_beside_others else judgement

    def mixed_up(self, operation: str, kind: RefusalKind) -> list[Exchange]:
        """Requests to an operation that were refused in this way, and seem to have got the answer to another request.

        They were sent while others were under way, and got another kind of answer when they were sent again, alone. A
        service that limits the number of simultaneous requests refuses some of them, too, but it does so with the same
        one or two statuses. So the list is empty unless there were at least three kinds of such refusals.
        """
        answered_otherwise = self.answered_otherwise_alone
        wrong_kinds = _KINDS_THAT_DEPEND_ON_THE_REQUEST & set(map(refusal_or_failure, answered_otherwise))
        if len(wrong_kinds) < _FEWEST_KINDS_OF_A_MIX_UP:
            return []
        to_operation = [exchange for exchange in answered_otherwise if exchange.operation == operation]
        return [exchange for exchange in to_operation if refusal_or_failure(exchange) is kind]

    @property
    def answered_otherwise_alone(self) -> list[Exchange]:
        """The exchanges whose request got another kind of answer when it was sent again without others beside it.

        A request that was sent together with others is sent again, alone, if it was refused or deviates. The second
        answer counts then: it supersedes the first one. These exchanges are the first ones.
        """
        superseded = numbers_superseded(self.exchanges)
        answered_otherwise = []
        for exchange in self.exchanges:
            if exchange.was_alone or exchange.number not in superseded:
                continue
            alone = self.sent_again.get(exchange.number)
            if alone and refusal_or_failure(exchange) != refusal_or_failure(alone):
                answered_otherwise.append(exchange)
        return answered_otherwise

    @property
    def in_flight_at_the_end(self) -> list[Exchange]:
        """The requests that lost their connection when the service ended. Empty if the service did not end.

        The service ended if the last connection of the run was not accepted, and no later request was answered. A
        request was under way at that time if it lost its connection after the last answered request had been sent,
        because until then the service was running.
        """
        unconnected = [exchange for exchange in self.exchanges if refusal_or_failure(exchange) is _NO_CONNECTION]
        answered = [exchange for exchange in self.exchanges if exchange.response]
        if not unconnected or not answered:
            return []
        last_answered_start = max(exchange.started for exchange in answered)
        was_answered_later = unconnected[-1].started <= last_answered_start
        if was_answered_later:
            return []
        dropped = [exchange for exchange in self.exchanges if refusal_or_failure(exchange) is FailureKind.DROPPED]
        return [exchange for exchange in dropped if exchange.started + exchange.elapsed_s >= last_answered_start]

    def _was_in_flight_at_the_end(self, exchange: Exchange) -> bool:
        """True if the request of this exchange lost its connection when the service ended.

        Numbers are compared, because an exchange may be a changed copy of one of the run.
        """
        return exchange.number in [dropped.number for dropped in self.in_flight_at_the_end]

    @cache  # noqa: B019 - there is one object for each run, so the cache keeps nothing alive too long
    def _robustness_is_broken(self, requirement_id: str) -> bool:
        """True if a deviation from this robustness requirement counts, because it was not seen by chance.

        It counts if it showed again in the same request, if it was seen in two requests, or if its request cannot be
        sent again. Dropped connections need more, because a service may drop connections under load.
        """
        operation = requirement_id.partition(".")[0]
        exchanges = [exchange for exchange in self.exchanges if exchange.operation == operation]
        broken = [exchange for exchange in exchanges if judge(requirement_id, exchange).deviates]
        for exchange in broken:
            second = self.sent_again.get(exchange.number)
            if second and judge(requirement_id, second).deviates:
                return True
        cannot_be_repeated = [exchange for exchange in broken if self._cannot_be_repeated(exchange)]
        if requirement_id.endswith(".connection"):
            dropped_alone = [exchange for exchange in cannot_be_repeated if exchange.was_alone]
            was_interrupted_often = _interruptions_alone(broken) >= _FEWEST_INTERRUPTIONS
            return was_interrupted_often or len(dropped_alone) >= _FEWEST_DROPS_WITHOUT_REPETITION
        was_seen_twice = len(broken) >= 2
        return was_seen_twice or bool(cannot_be_repeated)

    def _cannot_be_repeated(self, exchange: Exchange) -> bool:
        """True if the run wanted to send the request again, and could not, such as an execution, which moves money.

        False if the request was sent again, and if the run did not try so far.
        """
        return exchange.number in self.sent_again and self.sent_again[exchange.number] is None

    def _breaks_only_beside_others(self, requirement_id: str, exchange: Exchange) -> bool:
        """True if a request broke the requirement while others were under way, and comparable requests met it alone.

        Comparable requests have the same operation, path parameter, validity and credential, and are spelled alike.
        """
        if exchange.was_alone:
            return False
        conclusions = {judge(requirement_id, alone).conclusion for alone in self._comparable_alone(exchange)}
        return Conclusion.HOLDS in conclusions and Conclusion.DEVIATES not in conclusions

    def _is_granted_only_beside_others(self, exchange: Exchange) -> bool:
        """True if a request got a protected result while others were under way, but comparable requests alone did not.

        A protected result is one that only a valid token may get. If no comparable request was sent alone, nothing is
        known, and the answer is False.
        """
        comparable_alone = self._comparable_alone(exchange)
        if exchange.was_alone or not comparable_alone:
            return False
        return not any(map(grants_protected_result, comparable_alone))

    def _comparable_alone(self, exchange: Exchange) -> list[Exchange]:
        """Exchanges whose request is comparable to this one, and was sent while no other request was under way.

        Comparable requests have the same operation, path parameter, validity and credential, and are spelled alike.
        """
        comparison_key = _comparison_key(exchange)
        alone = [candidate for candidate in self.exchanges if candidate.was_alone]
        return [candidate for candidate in alone if _comparison_key(candidate) == comparison_key]


def _interruptions_alone(dropped: list[Exchange]) -> int:
    """How often the service was interrupted: the number of dropped connections whose requests were sent alone.

    Drops of consecutive requests count as one interruption, because they have one reason, such as a restart of the
    service. So the drops of the exchanges 4, 5, 6 and 9 are two.
    """
    numbers = {exchange.number for exchange in dropped if exchange.was_alone}
    first_of_each_interruption = [number for number in numbers if number - 1 not in numbers]
    return len(first_of_each_interruption)


def _breaks(requirement_id: str, exchange: Exchange) -> bool:
    """True if the requirement has a rule, and the rule finds a deviation in the exchange.

    Requirements about several exchanges have no rule.
    """
    return requirement_id in RULES and judge(requirement_id, exchange).deviates


def _is_wrongly_granted(exchange: Exchange) -> bool:
    """True if a request with a wrong token, or without one, got what only a valid token may get."""
    return exchange.credential != VALID and grants_protected_result(exchange)


def _comparison_key(exchange: Exchange) -> tuple[object, ...]:
    """Operation, path parameter, validity, credential and spelling: requests are comparable if these are equal.

    The path parameter is part of the key, because an execution of another transaction code may be answered otherwise.
    The spelling are the unusual ways in which the request is written, such as two slashes in the path.
    """
    return exchange.operation, exchange.request.last_segment, exchange.valid, exchange.credential, exchange.spelling


def _marked_as_beside_others(judgement: Judgement) -> Judgement:
    """The judgement, with findings that say that they show only while other requests are under way."""
    return replace(judgement, findings=tuple(replace(deviation, alone=False) for deviation in judgement.findings))
