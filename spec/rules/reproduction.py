"""Judgements with the knowledge of the whole run: which deviations showed again when a request was sent once more.

A deviation that was seen once may come from the network, or from other requests that were on the wire. So the run sends
such requests once more, while nothing else is on the wire. The function `judge` of `spec.rules` judges one exchange by
itself; the class here judges it with the knowledge of all other exchanges.

| word | meaning |
|---|---|
| alone | no other request of the run was on the wire at the same time |
| in parallel | other requests of the run were on the wire at the same time |
| dropped | the connection of a request was closed without a response |
| granted | answered with what only a valid token may get |

Self-tests: promises/test_passing_trouble.py, traffic/test_judgements.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from spec.answers import ABOUT_THE_REQUEST, RefusalKind, grants_protected_result, refusal_or_failure
from spec.exchange import VALID, Exchange, FailureKind
from spec.findings import Conclusion, Judgement, holds, inconclusive
from spec.log import numbers_superseded
from spec.message import say
from spec.rules import RULES, judge, robustness_of

_REFUSALS_THAT_SHOW_A_MIX_UP = ABOUT_THE_REQUEST - {RefusalKind.CONFLICT} | {RefusalKind.TOKEN}
"""Kinds of refusals that a request gets if the service mixes up answers, such as "not found" for a key that exists. The
answer belongs to another request on the wire. TOKEN is one of them, because the other request may have a wrong token.
CONFLICT is not, because a service may refuse a request with 409 just because other requests are on the wire."""
_FEWEST_KINDS_OF_A_MIX_UP = 3
"""Fewest kinds of wrong refusals that show that a service mixes up its answers. A service that merely limits how many
requests may be on the wire refuses in one way, or in two."""
_FEWEST_INTERRUPTIONS = 3
"""Fewest interruptions of the service (dropped connections with answers in between) that are no chance of the network.
A choice."""
_FEWEST_DROPS_WITHOUT_REPETITION = 2
"""Fewest dropped connections that are no chance of the network, if their requests cannot be sent again. A choice."""


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

    Every other deviation counts at once. Its findings say so if it shows only in parallel with other requests.
    """

    exchanges: list[Exchange] = field(default_factory=list)
    """The exchanges of the run."""
    sent_again: dict[int, Exchange | None] = field(default_factory=dict)
    """By the number of an exchange, the exchange in which the same request was sent once more, alone. The value is None
    if it could not be sent once more, because that might move money, or a limit was reached."""
    steps_before: dict[int, tuple[Exchange, ...]] = field(default_factory=dict)
    """By the number of an exchange, the earlier steps without which its request may be answered otherwise, in order.
    Whoever sends the steps of a sequence notes them here, so that the report can list them."""
    shown_after_steps: set[int] = field(default_factory=set)
    """Numbers of the exchanges that surely deviate because of the steps before them: these were sent alone, twice."""

    def judge(self, requirement_id: str, exchange: Exchange) -> Judgement:
        """The judgement of an exchange, with the knowledge of which deviations of the run showed again.

        It differs from the function `judge` of `spec.rules` in three ways:

        - A dropped connection is inconclusive if the service ended at that time.
        - A robustness requirement holds if its deviations were probably chance (the docstring of the class says when).
        - If a deviation showed only in parallel with other requests, its finding says so.
        """
        judgement = judge(requirement_id, exchange)
        is_about_dropped_connections = requirement_id.endswith(".connection")
        if is_about_dropped_connections and self._was_in_flight_at_the_end(exchange):
            # Perhaps the request ended the service, and perhaps somebody stopped it.
            why = say("no connection was accepted after that, so the request could not be sent again")
            return inconclusive(why, exchange)
        if not judgement.deviates:
            return judgement
        if requirement_id in robustness_of(exchange.operation) and not self._robustness_is_broken(requirement_id):
            return holds(why=say("not seen again with nothing else in flight: {finding}", finding=judgement.message))
        return self.with_remark_if_only_in_parallel(requirement_id, judgement)

    def note_shown_after_steps(self, exchange: Exchange) -> None:
        """Note that an exchange surely deviates because of the steps before it. These were sent twice, alone.

        Deviations from robustness requirements may count now that did not count before.
        """
        self.shown_after_steps.add(exchange.number)
        Reproduction._robustness_is_broken.cache_clear()

    def same_request_without_deviation(self, exchange: Exchange) -> Exchange | None:
        """Another exchange with the same request that meets a requirement from which this one deviates.

        If there is one, the request alone does not show the deviation: earlier requests or chance matter. None if there
        is none, or if the exchange surely deviates because of the steps before it (`shown_after_steps`).
        """
        if exchange.number in self.shown_after_steps:
            return None
        deviating_from = [
            requirement_id
            for requirement_id in RULES
            if requirement_id.startswith(f"{exchange.operation}.") and _deviates(requirement_id, exchange)
        ]
        for candidate in self.exchanges:
            is_the_same_request = (
                candidate.request.url == exchange.request.url
                and candidate.request.body == exchange.request.body
                and _comparison_key(candidate) == _comparison_key(exchange)
            )
            if is_the_same_request and any(judge(id, candidate).holds for id in deviating_from):
                return candidate
        return None

    def with_remark_if_only_in_parallel(self, requirement_id: str, judgement: Judgement) -> Judgement:
        """The judgement, which says that the service deviates from the requirement.

        If the deviation shows only in requests that were sent in parallel with others, its findings get the remark
        "only with other requests in flight".
        """
        shows_only_in_parallel = self._shows_only_in_parallel(requirement_id, judgement.exchanges)
        return _with_remark_on_parallel_requests(judgement) if shows_only_in_parallel else judgement

    def _shows_only_in_parallel(self, requirement_id: str, exchanges: Sequence[Exchange]) -> bool:
        """True if these exchanges show a deviation only because their requests were sent in parallel with others.

        It is so if comparable requests that were sent alone do not show it. Requests are comparable if operation, path
        parameter, validity, credential and spelling are equal.
        """
        deviating = [exchange for exchange in exchanges if _deviates(requirement_id, exchange)]
        if deviating:
            return all(self._deviates_only_in_parallel(requirement_id, exchange) for exchange in deviating)
        # No exchange breaks a rule: the requirement is one without a rule, such as "a token is required". Then an
        # exchange shows the deviation if its request got a protected result without the valid token.
        granted = [exchange for exchange in exchanges if _is_wrongly_granted(exchange)]
        return bool(granted) and all(map(self._is_granted_only_in_parallel, granted))

    def refused_by_mix_up(self, operation: str, kind: RefusalKind) -> list[Exchange]:
        """Requests to an operation that were refused in this way, and seem to have got the answer to another request.

        They were sent in parallel with others, and got another kind of answer when they were sent again, alone. For
        example, a key that exists was "not found".

        The list is empty unless the run has at least three kinds of such refusals (_REFUSALS_THAT_SHOW_A_MIX_UP). One
        or two kinds show no mix-up: a service that only limits the number of parallel requests refuses some of them.
        """
        answered_differently = self.answered_differently_alone
        kinds_in_parallel = set(map(refusal_or_failure, answered_differently))
        wrong_kinds = kinds_in_parallel & _REFUSALS_THAT_SHOW_A_MIX_UP
        if len(wrong_kinds) < _FEWEST_KINDS_OF_A_MIX_UP:
            return []
        to_operation = [exchange for exchange in answered_differently if exchange.operation == operation]
        return [exchange for exchange in to_operation if refusal_or_failure(exchange) is kind]

    @property
    def answered_differently_alone(self) -> list[Exchange]:
        """The exchanges whose request got a different kind of answer when it was sent again, alone.

        A request that was sent in parallel with others is sent again, alone, if it was refused or deviates. The second
        answer counts then: it supersedes the first one. The list has the exchanges with the first answers.
        """
        superseded = numbers_superseded(self.exchanges)
        answered_differently = []
        for exchange in self.exchanges:
            if exchange.was_alone or exchange.number not in superseded:
                continue
            alone = self.sent_again.get(exchange.number)
            if alone and refusal_or_failure(exchange) != refusal_or_failure(alone):
                answered_differently.append(exchange)
        return answered_differently

    @property
    def in_flight_at_the_end(self) -> list[Exchange]:
        """The requests that lost their connection when the service ended. Empty if the service did not end.

        | moment | what is known |
        |---|---|
        | the last answered request was sent | the service was still running |
        | later, a request lost its connection | it was on the wire when the service ended |
        | later, a request got no connection, and no further one was answered | the service has ended |
        """
        without_connection = [
            exchange for exchange in self.exchanges if refusal_or_failure(exchange) is FailureKind.NO_CONNECTION
        ]
        answered = [exchange for exchange in self.exchanges if exchange.response]
        if not without_connection or not answered:
            return []
        was_running_at = max(exchange.started for exchange in answered)
        has_ended = without_connection[-1].started > was_running_at
        if not has_ended:
            return []
        dropped = [exchange for exchange in self.exchanges if refusal_or_failure(exchange) is FailureKind.DROPPED]
        return [exchange for exchange in dropped if exchange.started + exchange.elapsed_s >= was_running_at]

    def _was_in_flight_at_the_end(self, exchange: Exchange) -> bool:
        """True if the request of this exchange lost its connection when the service ended.

        Numbers are compared, because an exchange may be a changed copy of one of the run.
        """
        if refusal_or_failure(exchange) is not FailureKind.DROPPED:
            return False
        return exchange.number in [dropped.number for dropped in self.in_flight_at_the_end]

    @cache  # noqa: B019 - there is one object for each run, so the cache keeps nothing alive too long
    def _robustness_is_broken(self, requirement_id: str) -> bool:
        """True if a deviation from this robustness requirement counts, because it was not seen by chance.

        It counts if it showed again in the same request, if it was seen in two requests, or if its request cannot be
        sent again. Dropped connections need more (`_connections_are_dropped_often`).
        """
        operation = requirement_id.partition(".")[0]
        exchanges = [exchange for exchange in self.exchanges if exchange.operation == operation]
        deviating = [exchange for exchange in exchanges if judge(requirement_id, exchange).deviates]
        for exchange in deviating:
            repetition = self.sent_again.get(exchange.number)
            if repetition and judge(requirement_id, repetition).deviates:
                return True
        if requirement_id.endswith(".connection"):
            return self._connections_are_dropped_often(deviating)
        was_seen_twice = len(deviating) >= 2
        return was_seen_twice or any(map(self._cannot_be_repeated, deviating))

    def _connections_are_dropped_often(self, dropped: list[Exchange]) -> bool:
        """True if the requests of an operation that lost their connections are too many to be chance.

        Only requests that were sent alone count, because a service may drop connections under load. Three interruptions
        of the service are too many (_FEWEST_INTERRUPTIONS), and so are two requests that cannot be sent again
        (_FEWEST_DROPS_WITHOUT_REPETITION).
        """
        dropped_alone = [exchange for exchange in dropped if exchange.was_alone]
        cannot_be_repeated = [exchange for exchange in dropped_alone if self._cannot_be_repeated(exchange)]
        if _number_of_interruptions(dropped_alone) >= _FEWEST_INTERRUPTIONS:
            return True
        return len(cannot_be_repeated) >= _FEWEST_DROPS_WITHOUT_REPETITION

    def _cannot_be_repeated(self, exchange: Exchange) -> bool:
        """True if the run wanted to send the request again, and could not, such as an execution, which moves money.

        False if the request was sent again, and if the run did not try so far.
        """
        return exchange.number in self.sent_again and self.sent_again[exchange.number] is None

    def _deviates_only_in_parallel(self, requirement_id: str, exchange: Exchange) -> bool:
        """True if a request deviated in parallel with others, and comparable requests met the requirement alone.

        Comparable requests have the same operation, path parameter, validity and credential, and are spelled alike.
        """
        if exchange.was_alone:
            return False
        conclusions = {judge(requirement_id, alone).conclusion for alone in self._comparable_alone(exchange)}
        return Conclusion.HOLDS in conclusions and Conclusion.DEVIATES not in conclusions

    def _is_granted_only_in_parallel(self, exchange: Exchange) -> bool:
        """True if a request got a protected result in parallel with others, but comparable requests alone did not.

        A protected result is one that only a valid token may get. If no comparable request was sent alone, nothing is
        known, and the answer is False.
        """
        comparable_alone = self._comparable_alone(exchange)
        if exchange.was_alone or not comparable_alone:
            return False
        return not any(map(grants_protected_result, comparable_alone))

    def _comparable_alone(self, exchange: Exchange) -> list[Exchange]:
        """Exchanges whose request is comparable to this one, and was sent while no other request was on the wire.

        Comparable requests have the same operation, path parameter, validity and credential, and are spelled alike.
        """
        comparison_key = _comparison_key(exchange)
        alone = [candidate for candidate in self.exchanges if candidate.was_alone]
        return [candidate for candidate in alone if _comparison_key(candidate) == comparison_key]


def _number_of_interruptions(dropped: list[Exchange]) -> int:
    """How often the service was interrupted, as the exchanges with dropped connections show.

    Drops of consecutive requests count as one interruption, because they have one reason, such as a restart of the
    service. So the drops of the exchanges 4, 5, 6 and 9 are two.
    """
    numbers = {exchange.number for exchange in dropped}
    first_of_each_interruption = [number for number in numbers if number - 1 not in numbers]
    return len(first_of_each_interruption)


def _deviates(requirement_id: str, exchange: Exchange) -> bool:
    """True if the requirement has a rule, and the rule finds a deviation in the exchange.

    Requirements about several exchanges have no rule.
    """
    return requirement_id in RULES and judge(requirement_id, exchange).deviates


def _is_wrongly_granted(exchange: Exchange) -> bool:
    """True if a request with a wrong token, or without one, got what only a valid token may get."""
    return exchange.credential != VALID and grants_protected_result(exchange)


def _comparison_key(exchange: Exchange) -> tuple[object, ...]:
    """Operation, path parameter, validity, credential and spelling: requests are comparable if these are equal.

    The path parameter is part of the key, because an execution of another transaction code may be answered differently.
    The spelling are the unusual ways in which the request is written, such as two slashes in the path.
    """
    return exchange.operation, exchange.request.last_segment, exchange.valid, exchange.credential, exchange.spelling


def _with_remark_on_parallel_requests(judgement: Judgement) -> Judgement:
    """The judgement, with findings that say that they show only with other requests in flight."""
    return replace(judgement, findings=tuple(replace(deviation, alone=False) for deviation in judgement.findings))
