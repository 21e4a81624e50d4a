"""The existence of each endpoint, and of the prefix of all.

The interface document names the endpoints and shows no answer of most of them. A success proves an endpoint. A refusal
is compared with the answers to two siblings: the same request to paths beside the documented one that no document
names. An endpoint that answers a valid request like its siblings does not exist.

A harmless request is one for a synthetic identifier, which can do nothing to anybody. It shows an endpoint if no valid
request can. Passing trouble is an answer that may be another one in a minute, such as a 503.
"""

from __future__ import annotations

from collections.abc import Sequence
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
    refusal_or_failure,
    succeeded,
)
from spec.exchange import VALID, Exchange, Purpose, Response, is_readable
from spec.findings import Judgement, deviates, finding, holds, inconclusive
from spec.interface import PREPARING_OPERATIONS, operations
from spec.message import Text, joined, say
from spec.observed import indistinguishable, is_temporary
from tests.harness.judging import NotExercised, not_exercised_unless, out_of_scope_unless
from tests.harness.selection import MAY_BE_OPEN
from tests.traffic.at_times import OPERATIONS_FOUND_ALWAYS_OR_NEVER, REFUSALS_OF_THE_PATH, refused_at_times
from tests.traffic.invalid import UNREADABLE
from tests.traffic.keys.purposes import Registering, valid_registrations
from tests.traffic.keys.registration import nothing_to_delete
from tests.traffic.money.executions import Execution
from tests.traffic.refused_credentials import MOST_CITED
from tests.traffic.scenario import Traffic, scenario
from tests.traffic.undescribed import reads_or_orders


class Existence(Purpose):
    """Why a request is sent to find out whether an endpoint exists."""

    HARMLESS = "a request for a synthetic identifier with an empty body, to see whether the endpoint answers"
    AFTER_TROUBLE = "a harmless request, because only passing trouble answered"
    UNREADABLE = "a request for a synthetic identifier with an unreadable body, to see whether the endpoint answers"
    UNDOCUMENTED_PATH = "to see how an unknown path is answered"


@scenario(serves=["*.exists", "general.versionPrefix"])
def send_requests_about_existence(traffic: Traffic) -> None:
    """Send what is needed to judge each endpoint, if the answers so far leave its existence open."""
    for operation in _operations_to_judge(traffic):
        _judgement_by(_EvidenceOnRequest(traffic), operation)


def _operations_to_judge(traffic: Traffic) -> list[str]:
    """The operations whose existence is a selected requirement, or may show that the prefix is served."""
    selects_any = traffic.selection.includes_any
    to_judge = []
    for operation in operations():
        shows_the_prefix = selects_any("general.versionPrefix") and traffic.may_send_to(operation)
        if selects_any(f"{operation}.exists") or shows_the_prefix:
            to_judge.append(operation)
    return to_judge


def endpoint_exists(traffic: Traffic, operation: str) -> Judgement:
    """The judgement that an endpoint exists, by the log."""
    return _judgement_by(_EvidenceInLog(traffic), operation)


def prefix_is_served(traffic: Traffic) -> Judgement:
    """The judgement that at least one of the documented paths exists.

    Raises OutOfScope if the profile permits nothing at all, and NotExercised if no operation can be judged.
    """
    out_of_scope_unless(traffic.profile.allow - {"fuzz"}, say("needs any permission in allow"))
    to_judge = _operations_to_judge(traffic) if traffic.selects(send_requests_about_existence) else []
    not_exercised_unless(
        to_judge, say("all that is permitted may move money: add read to allow, or select an operation")
    )
    judgements = [endpoint_exists(traffic, operation) for operation in to_judge]
    shown: list[Exchange] = []
    for judgement in judgements:
        shown += judgement.exchanges[:1]
    if any(judgement.holds for judgement in judgements):
        return holds(*shown)
    if any(judgement.deviates for judgement in judgements):
        return deviates(finding("no-prefix"), *shown)
    return inconclusive(say("no documented path can be told from an undocumented one"), *shown)


# -- what there is to judge by ----------------------------------------------------------------------------------------


class _EvidenceInLog:
    """The exchanges in the log that may show whether an endpoint exists."""

    def __init__(self, traffic: Traffic) -> None:
        self.log = traffic.log
        self._traffic = traffic

    def not_generated(self, operation: str | None = None) -> list[Exchange]:
        """What was sent with an operation, or with any, without generated requests: these are sent later."""
        return [exchange for exchange in self.log.attempts(operation) if exchange.part not in operations()]

    def best_answers(self, operation: str) -> list[Exchange]:
        """The exchanges that can show the endpoint although they were refused, the surest first.

        Raises NotExercised if no account is supplied.
        """
        if operation == "executePix":
            prepared = self.log.of(operation, Execution.PREPARED)
            return [*prepared, *self.log.of(operation, Execution.UNKNOWN_CODE)]
        if operation == "registerPixKey":
            return self.log.of(operation, Registering.FIRST_TIME)
        if operation == "deletePixKey":
            return self.log.valid(operation) or self.harmless(operation)
        return reads_or_orders(self.log, operation)[:1]

    def harmless(self, operation: str, purpose: Existence = Existence.HARMLESS) -> list[Exchange]:
        """The harmless request with this purpose; empty if there is none."""
        return self.log.of(operation, purpose)[:1]

    def siblings_of(self, exchange: Exchange) -> list[Exchange]:
        """Two requests that differ from an exchange in nothing but their undocumented path; empty if there are none."""
        to_undocumented_paths = self.log.of("", Existence.UNDOCUMENTED_PATH)
        return [candidate for candidate in to_undocumented_paths if _is_sibling(candidate, exchange)][:2]


class _EvidenceOnRequest(_EvidenceInLog):
    """Evidence that is sent for if the log does not have it."""

    def harmless(self, operation: str, purpose: Existence = Existence.HARMLESS) -> list[Exchange]:
        """The harmless request with this purpose. An unreadable body needs the permission `fuzz`."""
        is_permitted = purpose is not Existence.UNREADABLE or "fuzz" in self._traffic.profile.allow
        if is_permitted and not super().harmless(operation, purpose):
            body = _harmless_body(operation, purpose)
            self._traffic.client.send(operation, synthetic(), body=body, purpose=purpose)
        return super().harmless(operation, purpose)

    def siblings_of(self, exchange: Exchange) -> list[Exchange]:
        """The same request to two undocumented paths. A real code is never sent there."""
        if not super().siblings_of(exchange):
            is_execution = exchange.operation == "executePix"
            path_parameter = synthetic() if is_execution else _path_parameter_of(exchange)
            self._traffic.client.send_to_siblings(
                exchange.operation,
                path_parameter,
                body=exchange.request.body or None,
                purpose=Existence.UNDOCUMENTED_PATH,
            )
        return super().siblings_of(exchange)


def _harmless_body(operation: str, purpose: Existence) -> bytes | None:
    """The body of a harmless request: none for a GET, else an unreadable one or an empty object."""
    if operations()[operation].method == "GET":
        return None
    return UNREADABLE["cut short"] if purpose is Existence.UNREADABLE else b"{}"


def _is_sibling(candidate: Exchange, exchange: Exchange) -> bool:
    """True if a request to an undocumented path is the same as that of an exchange, except for one segment of the path.

    In the place of a real code the sibling has a synthetic one.
    """
    method_and_body = (exchange.request.method, exchange.request.body)
    if (candidate.request.method, candidate.request.body) != method_and_body:
        return False
    segments = urlsplit(exchange.request.url).path.split("/")
    sibling_segments = urlsplit(candidate.request.url).path.split("/")
    has_parameter = operations()[exchange.operation].path.endswith("}")
    undocumented_place = -2 if has_parameter else -1  # the segment before the parameter, or the last one
    begins_alike = sibling_segments[:undocumented_place] == segments[:undocumented_place]
    may_differ_at_the_end = not has_parameter or exchange.operation == "executePix"
    return begins_alike and (may_differ_at_the_end or sibling_segments[-1] == segments[-1])


def _path_parameter_of(exchange: Exchange) -> str | None:
    """The path parameter that a request names; None if the operation has none."""
    return exchange.request.last_segment if operations()[exchange.operation].path_parameter else None


# -- the judgement ----------------------------------------------------------------------------------------------------

_NOT_TOLD_APART = say("no answer of its own, so it cannot be told from an undocumented path")
_LEADS_ELSEWHERE = say("the token may lack the scope; or set base_url to the address that the redirect names")
_CALLER_IS_REFUSED = say(
    "the token may lack the scope; or wrong tokens locked the caller out for a while: lower limits.wrong_tokens"
)
_ALWAYS_MISSING = say("every request with the valid token got 404, so perhaps only a gateway knows the path")
_NEEDED = {
    operation: f"needs a body that is accepted in requests.{operation}" for operation in PREPARING_OPERATIONS
} | {
    "executePix": "needs a code that transactions.prepare prepares",
    "deletePixKey": "needs requests.deletePixKey, and a key that is not RANDOM and not registered yet",
}
"""By operation, what a profile has to supply so that the run can send a request which is surely valid."""


def _needed_for(operation: str) -> Text:
    """What a request to the operation needs if the service is to accept it."""
    return _NEEDED.get(operation, say("needs an account that exists"))


def _judgement_by(evidence: _EvidenceInLog, operation: str) -> Judgement:
    """The judgement that an endpoint exists. The first of these that there is decides:

    1. The endpoint is missing at times: it deviates.
    2. A request with the valid token was granted, and its answer is readable: it holds.
    3. An answer that is no passing trouble: it is compared with those of the siblings.
    4. The same with the answer to one more harmless request.
    """
    try:
        answers = evidence.best_answers(operation)
    except NotExercised as missing:
        return inconclusive(missing.why)
    missing_at_times = _missing_at_times(evidence, operation)
    if missing_at_times.deviates:
        return missing_at_times
    for exchange in evidence.not_generated(operation):
        is_success = exchange.credential == VALID and is_granted(exchange)
        if is_success and exchange.response and is_readable(exchange.response):
            return holds(exchange)
    for answer in answers:
        if not is_temporary(answer):
            return _judgement_by_difference(evidence, answer)
    harmless = evidence.harmless(operation, Existence.AFTER_TROUBLE)
    for answer in harmless:
        if not is_temporary(answer):
            return _judgement_by_difference(evidence, answer)
    exchanges = [*harmless, *answers, *evidence.not_generated(operation)]
    was_sent = [exchange for exchange in exchanges if exchange.number]
    shown = [*was_sent, *answers, *harmless][:1]
    return inconclusive(say("no valid request succeeded ({answer})", answer=answers_in_words(shown)), *shown)


def _missing_at_times(evidence: _EvidenceInLog, operation: str) -> Judgement:
    """The judgement that the endpoint is not missing at times, such as at one node of several."""
    if operation not in OPERATIONS_FOUND_ALWAYS_OR_NEVER:
        return holds()
    at_times = refused_at_times(evidence.log, operation, REFUSALS_OF_THE_PATH)
    if not at_times.refused:
        return holds()
    breach = finding("no-endpoint-at-times", answer=answer_in_words(at_times.refused[0]), number=len(at_times.refused))
    return deviates(breach, *at_times.refused[:MOST_CITED], *at_times.accepted)


def _judgement_by_difference(evidence: _EvidenceInLog, exchange: Exchange) -> Judgement:
    """The judgement by an answer that is compared with those of the siblings. The exchange must have a response.

    | answer | the endpoint |
    |---|---|
    | method not allowed, or not implemented | does not exist |
    | differs from those of the siblings, but every valid request got 404 | may exist |
    | differs from those of the siblings otherwise | exists |
    | is alike, and another caller may get another one | may exist |
    | is alike, to a request that may be invalid | may exist |
    | is alike, and an invalid request is answered otherwise than its siblings | exists |
    | is alike, to a valid request | does not exist |
    """
    assert exchange.response is not None
    kind = refusal_kind(exchange.response)
    if kind in (RefusalKind.METHOD, RefusalKind.NOT_IMPLEMENTED):
        return deviates(finding("no-endpoint", status=exchange.response.status), exchange)
    siblings = evidence.siblings_of(exchange)
    responses = [sibling.response for sibling in siblings if sibling.response]
    if not siblings or len(responses) < len(siblings):
        return inconclusive(say("no answer"), exchange, *siblings[:1])

    pages = set(map(_page_of_redirect, [exchange.response, *responses]))
    # A redirect may be that of a gateway, to log in. One that only adds a slash is the endpoint's own.
    is_its_own = kind is not RefusalKind.REDIRECT or f"{urlsplit(exchange.request.url).path}/" in pages
    if is_its_own and not indistinguishable(exchange, *siblings):
        is_always_missing = _find_out_if_always_missing(evidence, exchange, siblings)
        if is_always_missing:
            why = joined((_ALWAYS_MISSING, _needed_for(exchange.operation)))
            return inconclusive(why, exchange, siblings[0])
        return holds(exchange, siblings[0])
    all_lead_to_one_page = len(pages) == 1 and "" not in pages
    if kind in ABOUT_THE_CALLER and not all_lead_to_one_page:
        why_refused = _LEADS_ELSEWHERE if kind is RefusalKind.REDIRECT else _CALLER_IS_REFUSED
        return inconclusive(joined((_NOT_TOLD_APART, why_refused)), exchange, siblings[0])
    return _judgement_of_answer_like_siblings(evidence, exchange, siblings)


def _page_of_redirect(response: Response) -> str:
    """The path that a response redirects to; empty if it does not redirect."""
    return urlsplit(response.header("Location")).path


def _find_out_if_always_missing(evidence: _EvidenceInLog, exchange: Exchange, siblings: list[Exchange]) -> bool:
    """True if a request that must find its resource got 404, and so did every other one with the valid token.

    A gateway that knows the path answers so, in words of its own, if the endpoint behind it is not there.
    """
    if refusal_or_failure(exchange) is not RefusalKind.NOT_FOUND:
        return False
    is_valid = _find_out_if_valid(evidence, exchange, siblings)
    if not is_valid:
        return False
    candidates = [*evidence.not_generated(exchange.operation), *evidence.harmless(exchange.operation)]
    with_token = [candidate for candidate in candidates if candidate.credential == VALID]
    refusal_kinds = {refusal_kind(candidate.response) for candidate in with_token if candidate.response}
    return refusal_kinds <= {RefusalKind.NOT_FOUND}


def _judgement_of_answer_like_siblings(
    evidence: _EvidenceInLog, exchange: Exchange, siblings: list[Exchange]
) -> Judgement:
    """The judgement by a refusal that its siblings get, too. It deviates only if the request is surely valid."""
    assert exchange.response is not None
    is_valid = _find_out_if_valid(evidence, exchange, siblings)
    if not is_valid:
        registrations = valid_registrations(evidence.log) if exchange.operation == "deletePixKey" else []
        if registrations and not any(registration.response for registration in registrations):
            return inconclusive(nothing_to_delete(evidence.log), exchange, siblings[0])
        why = joined((_NOT_TOLD_APART, _needed_for(exchange.operation)))
        return inconclusive(why, exchange, siblings[0])
    told_apart = _invalid_request_told_apart(evidence, exchange.operation)
    if told_apart:
        return holds(*told_apart)
    return deviates(finding("like-undocumented", status=exchange.response.status), exchange, siblings[0])


def _invalid_request_told_apart(evidence: _EvidenceInLog, operation: str) -> tuple[Exchange, ...]:
    """A harmless invalid request that is not answered like its siblings, and one of them; empty if there is none.

    An endpoint that exists may answer a valid request like an unknown path: there is no such key, or no such payee. An
    invalid request shows such an endpoint. It is for a synthetic account, because the interface document does not show
    what a deletion without a key does to a real account.
    """
    purposes = []
    if operation == "deletePixKey":
        purposes.append(Existence.HARMLESS)
    if operation in MAY_BE_OPEN:
        purposes.append(Existence.UNREADABLE)
    for purpose in purposes:
        for exchange in evidence.harmless(operation, purpose):
            siblings = evidence.siblings_of(exchange)
            if siblings and _are_answered([exchange, *siblings]) and not indistinguishable(exchange, *siblings):
                return exchange, siblings[0]
    return ()


def _are_answered(exchanges: Sequence[Exchange]) -> bool:
    """True if each request was answered."""
    return all(exchange.response for exchange in exchanges)


def _find_out_if_valid(evidence: _EvidenceInLog, exchange: Exchange, siblings: list[Exchange]) -> bool:
    """True if a request is surely valid:

    - an execution, if the run prepared its code
    - a request for an account, if another operation accepts the account
    - a request without a path parameter, if another operation accepts the token, or it was answered 404: that is no
      answer to a wrong token

    A deletion is not surely valid if a registration is answered like the siblings, too: perhaps the key is not
    registered yet.
    """
    if not exchange.expects_success:
        return False
    if exchange.operation == "executePix":
        return exchange.purpose is Execution.PREPARED
    if exchange.operation == "deletePixKey":
        registrations = evidence.harmless("registerPixKey")
        if any(indistinguishable(registration, *siblings) for registration in registrations):
            return False
    accepted = _accepted_by_other_operations(evidence, exchange.operation)
    account = _path_parameter_of(exchange)
    if account is None:
        return bool(accepted) or refusal_or_failure(exchange) is RefusalKind.NOT_FOUND
    return account in map(_path_parameter_of, accepted)


def _accepted_by_other_operations(evidence: _EvidenceInLog, operation: str) -> list[Exchange]:
    """The requests to other operations that succeeded. A page for people, such as one to log in, is no success."""
    accepted = []
    for exchange in evidence.not_generated():
        is_page_for_people = exchange.response is not None and is_page(exchange.response)
        if exchange.operation != operation and succeeded(exchange) and not is_page_for_people:
            accepted.append(exchange)
    return accepted
