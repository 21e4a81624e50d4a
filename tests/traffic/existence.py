"""The existence of each endpoint, and of the prefix of all.

The interface document names the endpoints and shows no answer of most of them. A success proves an endpoint. A refusal
is compared with that of its sibling, a path that is not documented: an endpoint that answers a valid request like such
a path does not exist.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from environments.door.permission import synthetic
from spec.answers import (
    ABOUT_THE_CALLER,
    RefusalKind,
    answer_in_words,
    answers_in_words,
    is_granted,
    is_page,
    refusal_kind,
    refused_or_lost,
    succeeded,
)
from spec.exchange import VALID, Exchange, Purpose, is_readable
from spec.findings import Judgement, deviates, finding, holds, inconclusive
from spec.interface import PREPARING, operations
from spec.message import Text, joined, say
from spec.observed import indistinguishable, is_passing
from tests.harness.judging import NotExercised, require_permission, require_supplied
from tests.harness.selection import MAY_BE_OPEN
from tests.traffic.at_times import FOR_THE_PATH, MAY_MISS_A_PATH, refused_at_times
from tests.traffic.execution import Execution
from tests.traffic.invalid import UNREADABLE
from tests.traffic.keys.purposes import Registering, valid_registrations
from tests.traffic.keys.registration import nothing_to_delete
from tests.traffic.refused_credentials import MOST_CITED
from tests.traffic.scenario import Traffic, scenario
from tests.traffic.undescribed import visit


class Existence(Purpose):
    """Why a request is sent to find out whether an endpoint exists."""

    HARMLESS = "a request for a synthetic identifier with an empty body, to see whether the endpoint answers"
    AFTER_TROUBLE = "a harmless request, because only passing trouble answered"
    UNREADABLE = "a request for a synthetic identifier with an unreadable body, to see whether the endpoint answers"
    UNDOCUMENTED_PATH = "to see how an unknown path is answered"


_BODIES = {Existence.UNREADABLE: UNREADABLE["cut short"]}
"""Bodies of harmless requests that are not an empty object."""


@scenario(serves=["*.exists", "general.versionPrefix"])
def find_out(traffic: Traffic) -> None:
    """Ask of each endpoint what the answers leave open."""
    for operation in _operations_asked(traffic):
        _judgement_by(_Questions(traffic), operation)


def _operations_asked(traffic: Traffic) -> list[str]:
    wants = traffic.reach.wants
    asked = []
    for operation in operations():
        shows_the_prefix = wants("general.versionPrefix") and traffic.permitted(operation)
        if wants(f"{operation}.exists") or shows_the_prefix:
            asked.append(operation)
    return asked


def endpoint_exists(traffic: Traffic, operation: str) -> Judgement:
    """The judgement that an endpoint exists, by the log."""
    return _judgement_by(_Evidence(traffic), operation)


def prefix_is_served(traffic: Traffic) -> Judgement:
    """The judgement that one of the documented paths answers. OutOfScope where the profile permits nothing at all."""
    require_permission(traffic.profile.allow - {"fuzz"}, say("needs any permission in allow"))
    asked = _operations_asked(traffic) if traffic.selects(find_out) else []
    require_supplied(asked, say("all that is permitted may move money: add read to allow, or select an operation"))
    judgements = [endpoint_exists(traffic, operation) for operation in asked]
    exchanges = [seen for judgement in judgements for seen in judgement.exchanges[:1]]
    if any(judgement.holds for judgement in judgements):
        return holds(*exchanges)
    if any(judgement.deviates for judgement in judgements):
        return deviates(finding("no-prefix"), *exchanges)
    return inconclusive(say("no documented path can be told from an undocumented one"), *exchanges)


# -- what there is to judge by ----------------------------------------------------------------------------------------


class _Evidence:
    """The exchanges in the log that may show whether an endpoint exists."""

    def __init__(self, traffic: Traffic) -> None:
        self.log, self._traffic = traffic.log, traffic

    def not_generated(self, operation: str | None = None) -> list[Exchange]:
        """What was sent with an operation, or with any, but for generated requests, which are sent later."""
        return [exchange for exchange in self.log.attempts(operation) if exchange.part not in operations()]

    def that_can_show(self, operation: str) -> list[Exchange]:
        """The exchanges that can show the operation where none was granted, the surest first.

        Raises NotExercised if no account is supplied.
        """
        if operation == "executePix":
            executions = self.log.of(operation, Execution.PREPARED)
            return [*executions, *self.log.of(operation, Execution.UNKNOWN_CODE)]
        if operation == "registerPixKey":
            return self.log.of(operation, Registering.FIRST_TIME)
        if operation == "deletePixKey":
            return self.log.valid(operation) or self.harmless(operation)
        return visit(self.log, operation)[:1]

    def harmless(self, operation: str, purpose: Existence = Existence.HARMLESS) -> list[Exchange]:
        """The request of this purpose that can do nothing to anybody; empty if there is none."""
        return self.log.of(operation, purpose)[:1]

    def siblings_of(self, exchange: Exchange) -> list[Exchange]:
        """Two requests that are the same but for their undocumented path; empty if there are none."""
        paths = self.log.of("", Existence.UNDOCUMENTED_PATH)
        return [other for other in paths if _is_sibling(other, exchange)][:2]


class _Questions(_Evidence):
    """Evidence that is asked for if it is not in the log."""

    def harmless(self, operation: str, purpose: Existence = Existence.HARMLESS) -> list[Exchange]:
        """The request of this purpose: for a synthetic identifier. An unreadable body needs permission."""
        is_permitted = purpose is not Existence.UNREADABLE or "fuzz" in self._traffic.profile.allow
        if is_permitted and not super().harmless(operation, purpose):
            body = None if operations()[operation].method == "GET" else _BODIES.get(purpose, b"{}")
            self._traffic.client.send(operation, synthetic(), body=body, purpose=purpose)
        return super().harmless(operation, purpose)

    def siblings_of(self, exchange: Exchange) -> list[Exchange]:
        """The same request to two siblings of the endpoint; never with a real code."""
        if not super().siblings_of(exchange):
            is_execution = exchange.operation == "executePix"
            self._traffic.client.send_to_siblings(
                exchange.operation,
                synthetic() if is_execution else _path_parameter_of(exchange),
                body=exchange.request.body or None,
                purpose=Existence.UNDOCUMENTED_PATH,
            )
        return super().siblings_of(exchange)


def _is_sibling(other: Exchange, exchange: Exchange) -> bool:
    """True if a request to an undocumented path is the same as another one, but for that path and a real code."""
    documented = operations()[exchange.operation].path.split("/")
    path, sibling_path = (urlsplit(each.request.url).path.split("/") for each in (exchange, other))
    has_parameter = documented[-1].startswith("{")
    name_place = -2 if has_parameter else -1  # of the segment in whose place the undocumented name stands
    begins_alike = sibling_path[:name_place] == path[:name_place]
    ends_alike = not has_parameter or exchange.operation == "executePix" or sibling_path[-1] == path[-1]
    is_same_request = (other.request.method, other.request.body) == (exchange.request.method, exchange.request.body)
    return begins_alike and ends_alike and is_same_request


# -- the judgement ----------------------------------------------------------------------------------------------------

_NOT_TOLD_APART = say("no answer of its own, so it cannot be told from an undocumented path")
_ALWAYS_MISSING = say("every request with the valid token got 404, so perhaps only a gateway knows the path")
_NEEDED = {operation: f"needs a body that is accepted in requests.{operation}" for operation in PREPARING} | {
    "executePix": "needs a code that transactions.prepare prepares",
    "deletePixKey": "needs requests.deletePixKey, and a key that is not RANDOM and not registered yet",
}


def _needed_for(operation: str) -> Text:
    """What a request to the operation needs if the service is to accept it."""
    return _NEEDED.get(operation, say("needs an account that exists"))


def _judgement_by(evidence: _Evidence, operation: str) -> Judgement:
    """The judgement that an endpoint exists. If passing trouble answered, another harmless request is asked for."""
    try:
        answers = evidence.that_can_show(operation)
    except NotExercised as missing:
        return inconclusive(missing.why)
    missing_at_times = _missing_at_times(evidence, operation)
    if missing_at_times.deviates:
        return missing_at_times
    for seen in evidence.not_generated(operation):
        is_shown = seen.credential == VALID and is_granted(seen)
        if is_shown and seen.response and is_readable(seen.response):
            return holds(seen)
    for answer in answers:
        if not is_passing(answer):
            return _by_difference(evidence, answer)
    harmless = evidence.harmless(operation, Existence.AFTER_TROUBLE)
    for answer in harmless:
        if not is_passing(answer):
            return _by_difference(evidence, answer)
    was_sent = [answer for answer in (*harmless, *answers, *evidence.not_generated(operation)) if answer.number]
    shown = [*was_sent, *answers, *harmless][:1]
    return inconclusive(say("no valid request succeeded ({answer})", answer=answers_in_words(shown)), *shown)


def _missing_at_times(evidence: _Evidence, operation: str) -> Judgement:
    """Deviates if the endpoint is missing at times, as at one node of several."""
    if operation not in MAY_MISS_A_PATH:
        return holds()
    at_times = refused_at_times(evidence.log, operation, FOR_THE_PATH)
    if not at_times.refused:
        return holds()
    breach = finding("no-endpoint-at-times", answer=answer_in_words(at_times.refused[0]), number=len(at_times.refused))
    return deviates(breach, *at_times.refused[:MOST_CITED], *at_times.taken)


def _by_difference(evidence: _Evidence, seen: Exchange) -> Judgement:
    """The judgement by an answer that proves nothing alone: the first line that applies counts. A redirect may be that
    of a gateway, to log in; one that only adds a slash is the endpoint's own."""
    assert seen.response is not None
    kind, status = refusal_kind(seen.response), seen.response.status
    if kind in (RefusalKind.METHOD, RefusalKind.NOT_IMPLEMENTED):
        return deviates(finding("no-endpoint", status=status), seen)
    siblings = evidence.siblings_of(seen)
    pages = {urlsplit(each.response.header("Location")).path for each in (seen, *siblings) if each.response}
    if not siblings or not all(each.response for each in siblings):
        return inconclusive(say("no answer"), seen, *siblings[:1])
    sibling = siblings[0]
    is_its_own = kind is not RefusalKind.REDIRECT or f"{urlsplit(seen.request.url).path}/" in pages
    if is_its_own and not indistinguishable(seen, *siblings):
        if _is_always_missing(evidence, seen, siblings):
            return inconclusive(joined((_ALWAYS_MISSING, _needed_for(seen.operation))), seen, sibling)
        return holds(seen, sibling)
    if kind in ABOUT_THE_CALLER and (len(pages) > 1 or "" in pages):  # no redirect to one page, such as to log in
        return inconclusive(
            joined(
                (
                    _NOT_TOLD_APART,
                    say("the token may lack the scope; or set base_url to the address that the redirect names"),
                )
            ),
            seen,
            sibling,
        )
    if not _is_known_to_be_valid(evidence, seen, siblings):
        registrations = valid_registrations(evidence.log) if seen.operation == "deletePixKey" else []
        if registrations and not any(registration.response for registration in registrations):
            return inconclusive(nothing_to_delete(evidence.log), seen, sibling)
        return inconclusive(joined((_NOT_TOLD_APART, _needed_for(seen.operation))), seen, sibling)
    if told_apart := _refuses_what_is_invalid(evidence, seen.operation):
        return holds(*told_apart)
    return deviates(finding("like-undocumented", status=status), seen, sibling)


def _is_always_missing(evidence: _Evidence, seen: Exchange, siblings: list[Exchange]) -> bool:
    """True if a request that must find its resource got 404, and so did every other one with the valid token.

    A gateway that knows the path answers so, in words of its own, if the endpoint behind it is not there.
    """
    assert seen.response is not None
    is_missing = refusal_kind(seen.response) is RefusalKind.NOT_FOUND
    if not is_missing or not _is_known_to_be_valid(evidence, seen, siblings):
        return False
    answers = [*evidence.not_generated(seen.operation), *evidence.harmless(seen.operation)]
    kinds = {refusal_kind(answer.response) for answer in answers if answer.credential == VALID and answer.response}
    return kinds <= {RefusalKind.NOT_FOUND}


def _refuses_what_is_invalid(evidence: _Evidence, operation: str) -> tuple[Exchange, ...]:
    """An invalid request that is not answered like an unknown path, and its comparison: a valid request may be (no such
    key, no such payee). For a synthetic account: what a deletion without a key does to a real one is not shown."""
    purposes = [Existence.HARMLESS] if operation == "deletePixKey" else []
    purposes += [Existence.UNREADABLE] if operation in MAY_BE_OPEN else []
    for purpose in purposes:
        for seen in evidence.harmless(operation, purpose):
            siblings = evidence.siblings_of(seen)
            are_answered = bool(siblings) and all(each.response for each in (seen, *siblings))
            if are_answered and not indistinguishable(seen, *siblings):
                return seen, siblings[0]
    return ()


def _is_known_to_be_valid(evidence: _Evidence, seen: Exchange, siblings: list[Exchange]) -> bool:
    """True for a prepared code, or an account that a read or another operation accepts. Where nothing was granted the
    token may be wrong, and a 404 alone says that there is no such path."""
    if not seen.expects_success:
        return False
    if seen.operation == "executePix":
        return seen.purpose is Execution.PREPARED
    if seen.operation == "deletePixKey":
        registrations = evidence.harmless("registerPixKey")
        if any(indistinguishable(registration, *siblings) for registration in registrations):
            return False  # an endpoint that exists is answered so, too: perhaps the key is not registered yet
    accepted = [
        other
        for other in evidence.not_generated()
        if other.operation != seen.operation and succeeded(other) and other.response and not is_page(other.response)
    ]
    if (account := _path_parameter_of(seen)) is None:
        return bool(accepted) or refused_or_lost(seen) is RefusalKind.NOT_FOUND
    return account in map(_path_parameter_of, accepted)


def _path_parameter_of(exchange: Exchange) -> str | None:
    return exchange.request.last_segment if operations()[exchange.operation].path_parameter else None
