"""The rules: each a pure function of one exchange that answers for a requirement.

Targeted, generated and recorded traffic are judged by the same rules, through `judge` alone.
`Reproduction` calls it, and judges by what showed again: answers to requests that were sent once more, alone. What was
seen once may have been the network, or shows only while other requests are under way.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache

from spec.answers import ABOUT_THE_REQUEST, RefusalKind, grants_protected_result, refused_or_lost
from spec.exchange import SMALL, VALID, Exchange, FailureKind
from spec.findings import Conclusion, Judgement, deviates, finding, holds, inconclusive
from spec.log import numbers_superseded
from spec.message import say
from spec.rules import results, robustness, success
from spec.rules.robustness import ROBUSTNESS, sent
from spec.rules.table import RULES, InconclusiveError

__all__ = ["ROBUSTNESS", "RULES"]
_MODULES = (success, results, robustness)
"""Imported for their rules."""
_OF_ANOTHER = ABOUT_THE_REQUEST - {RefusalKind.CONFLICT} | {RefusalKind.TOKEN}
"""Kinds of refusals that may belong to another request."""
_WAYS = 3
"""A service that limits requests at the same time says so in one of these ways, or in two."""


def judge(requirement_id: str, exchange: Exchange) -> Judgement:
    """Judge one exchange for one requirement. KeyError where no rule answers for it."""
    if exchange.operation != requirement_id.split(".")[0]:
        return inconclusive(say("another operation"), exchange)
    if exchange.response is None or exchange.response.size <= SMALL:
        return _judge(requirement_id, exchange)
    judgements: dict[tuple[str, bool], Judgement] = vars(exchange).setdefault("judgements", {})
    key = (requirement_id, exchange.expects_success)
    if key not in judgements:  # for all its requirements at once: its JSON is not kept
        judgements |= {(other, key[1]): _judge(other, exchange) for other in _rules_of(exchange.operation)}
    return judgements[key]


@cache
def _rules_of(operation: str) -> list[str]:
    """Ids of the requirements of an operation that a rule answers for."""
    return [id for id in RULES if id.partition(".")[0] == operation]


def _judge(requirement_id: str, exchange: Exchange) -> Judgement:
    rule = RULES[requirement_id]
    try:
        found = rule(exchange)
    except InconclusiveError as error:
        return inconclusive(error.why, exchange)
    return deviates(replace(found, requirement=requirement_id), exchange) if found else holds(exchange)


# -- what showed again ------------------------------------------------------------------------------------------------


def robustness_of(operation: str) -> list[str]:
    """The robustness requirements of an operation; none for an undocumented path."""
    return [f"{operation}.{what}" for what in ROBUSTNESS] if operation else []


@dataclass(eq=False)
class Reproduction:
    """Judges exchanges by what showed again. `exchanges` are those of the run. `again` has the answers of requests that
    were sent once more, by the number of the first; None where that might move money, or a limit is reached.

    A robustness requirement is broken where a deviation was seen twice, or in an answer to what cannot be sent again. A
    service may drop connections under load, and count one as open that was closed just now: a drop counts where it
    showed again alone, or three times alone with answers in between, and one of an invalid request where no connection
    is accepted after it. Every other deviation counts at once, and says where it shows beside others only.
    """

    exchanges: list[Exchange] = field(default_factory=list)
    again: dict[int, Exchange | None] = field(default_factory=dict)

    def judge(self, requirement_id: str, exchange: Exchange) -> Judgement:
        """Judge an exchange. A robustness requirement holds where no deviation was seen again, alone."""
        judgement = judge(requirement_id, exchange)
        if requirement_id.endswith(".connection") and self._has_ended_the_service(exchange):
            return deviates(finding("ended", request=sent(exchange)), exchange)
        if not judgement.deviates:
            return judgement
        if requirement_id in robustness_of(exchange.operation) and not self._shows_again(requirement_id):
            return holds(why=say("not seen again with nothing else in flight: {finding}", finding=judgement.message))
        return self.marked(requirement_id, judgement)

    def marked(self, requirement_id: str, judgement: Judgement) -> Judgement:
        """The judgement. Its findings say so if the same requests did not deviate when they were sent alone.

        A request deviates if its answer breaks the rule of the requirement, or grants a request with a bad credential.
        """
        broken = [exchange for exchange in judgement.exchanges if _breaks(requirement_id, exchange)]
        granted = [exchange for exchange in judgement.exchanges if _is_wrongly_granted(exchange)]
        if broken:
            shows_beside_others_only = all(self._is_broken_in_company(requirement_id, exchange) for exchange in broken)
        else:
            shows_beside_others_only = bool(granted) and all(map(self._is_granted_in_company, granted))
        return _in_company(judgement) if shows_beside_others_only else judgement

    def mixed_up(self, operation: str, kind: RefusalKind) -> list[Exchange]:
        """Requests to the operation that were refused in this way for what is wrong with others: in more ways than a
        limit has."""
        seen = self.otherwise_alone
        are_mixed_up = len(_OF_ANOTHER & set(map(refused_or_lost, seen))) >= _WAYS
        return [one for one in seen if are_mixed_up and one.operation == operation and refused_or_lost(one) is kind]

    @property
    def otherwise_alone(self) -> list[Exchange]:
        """The exchanges beside others that were superseded by another kind of answer to the same request alone."""
        superseded = numbers_superseded(self.exchanges)
        answered_otherwise = []
        for exchange in self.exchanges:
            alone = self.again.get(exchange.number)
            was_beside_others = exchange.beside > 0 and exchange.number in superseded
            if alone and was_beside_others and refused_or_lost(exchange) != refused_or_lost(alone):
                answered_otherwise.append(exchange)
        return answered_otherwise

    def _has_ended_the_service(self, exchange: Exchange) -> bool:
        """True for an invalid request that was dropped, after which no connection was accepted any more."""
        if refused_or_lost(exchange) is not FailureKind.DROPPED or exchange.expects_success:
            return False
        until = exchange.started + exchange.elapsed_s
        since = {refused_or_lost(seen) for seen in self.exchanges if seen.started >= until}
        return FailureKind.NO_CONNECTION in since and since <= {*FailureKind}

    @cache  # noqa: B019 - one object for each run
    def _shows_again(self, requirement_id: str) -> bool:
        mine = (seen for seen in self.exchanges if seen.operation == requirement_id.partition(".")[0])
        broken = [seen for seen in mine if judge(requirement_id, seen).deviates]
        again = [self.again.get(seen.number) for seen in broken]
        if any(seen and judge(requirement_id, seen).deviates for seen in again):
            return True
        final = [seen for seen in broken if self.again.get(seen.number, seen) is None]
        if requirement_id.endswith(".connection"):
            alone = {seen.number for seen in broken if not seen.beside}
            apart = [number for number in alone if number - 1 not in alone]  # in a row: one restart, or one outage
            return len(apart) > 2 or sum(not seen.beside for seen in final) > 1
        return len(broken) > 1 or any(seen.response for seen in final)

    def _is_broken_in_company(self, requirement_id: str, exchange: Exchange) -> bool:
        if not exchange.beside:
            return False
        alone = {judge(requirement_id, like).conclusion for like in self._alone_like(exchange)}
        return Conclusion.HOLDS in alone and Conclusion.DEVIATES not in alone

    def _is_granted_in_company(self, exchange: Exchange) -> bool:
        alone = self._alone_like(exchange)
        return bool(exchange.beside and alone) and not any(map(grants_protected_result, alone))

    def _alone_like(self, exchange: Exchange) -> list[Exchange]:
        return [seen for seen in self.exchanges if not seen.beside and _sort(seen) == _sort(exchange)]


def _breaks(requirement_id: str, exchange: Exchange) -> bool:
    return requirement_id in RULES and judge(requirement_id, exchange).deviates


def _is_wrongly_granted(exchange: Exchange) -> bool:
    return exchange.credential != VALID and grants_protected_result(exchange)


def _sort(exchange: Exchange) -> tuple[object, ...]:
    """With the account, the credential and how it was written; of an execution with its code: another one says nothing
    of it, and it is not sent again."""
    return exchange.operation, exchange.request.last_segment, exchange.valid, exchange.credential, exchange.written


def _in_company(judgement: Judgement) -> Judgement:
    return replace(judgement, findings=tuple(replace(each, alone=False) for each in judgement.findings))
