"""The existence of each endpoint, and of the prefix of all.

The interface document names the endpoints and shows no answer of most of them. A success proves that an endpoint
exists. A refusal does not prove it, because a service also refuses a path that it does not know. So a refusal is
compared with the answers to two siblings.

| word | meaning |
|---|---|
| sibling | the same request to a path that differs from the documented one in one segment, and that no document names |
| harmless request | a request for a made-up account or code, with an empty or unreadable body: it can do nothing |
| temporary answer | an answer that may be another one in a minute, such as a 503, or no answer |
| evidence | the exchanges (requests with their answers) that may show whether an endpoint exists |

An endpoint that answers a valid request like its siblings does not exist. If no valid request can be sent, a harmless
one may show the endpoint.
"""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

from environments.door.permission import synthetic
from spec.answers import (
    ABOUT_THE_CALLER,
    RefusalKind,
    adds_a_slash,
    answer_in_words,
    answers_in_words,
    is_granted,
    is_page,
    path_of_redirect,
    refusal_kind,
    refusal_or_failure,
    succeeded,
)
from spec.exchange import VALID, Exchange, Purpose, Response, is_readable
from spec.findings import Judgement, deviates, finding, holds, inconclusive
from spec.interface import PREPARING_OPERATIONS, operations
from spec.log import Log
from spec.message import Text, joined, say
from spec.observed import is_answered_like, is_temporary
from tests.harness.judging import NotExercised, not_exercised_unless, out_of_scope_unless
from tests.traffic.at_times import refusals_of_the_path, refused_at_times
from tests.traffic.invalid import UNREADABLE
from tests.traffic.keys.purposes import Registering, valid_registrations
from tests.traffic.keys.registration import why_nothing_was_deleted
from tests.traffic.money.executions import Execution
from tests.traffic.refused_credentials import MOST_CITED
from tests.traffic.scenario import Traffic, scenario
from tests.traffic.undescribed import requests_of_undescribed_operation


class Existence(Purpose):
    """Why a request is sent to find out whether an endpoint exists."""

    HARMLESS = "a request for a synthetic identifier with an empty body, to see whether the endpoint answers"
    AFTER_TROUBLE = "a harmless request, because all earlier answers were temporary, such as a 503"
    UNREADABLE = "a request for a synthetic identifier with an unreadable body, to see whether the endpoint answers"
    UNDOCUMENTED_PATH = "to see how an unknown path is answered"


@scenario(serves=["*.exists", "general.versionPrefix"])
def send_requests_about_existence(traffic: Traffic) -> None:
    """Send the requests that are still needed to judge whether each endpoint exists.

    Most endpoints are proved by answers to earlier requests. For the others, the judgement is made here once for its
    side effect: `_EvidenceSentIfMissing` sends each request that the judgement asks for and that the log does not have.
    The tests make the same judgement later, from the log alone.
    """
    for operation in _operations_to_judge(traffic):
        _judgement_of_existence(_EvidenceSentIfMissing(traffic), operation)


def _operations_to_judge(traffic: Traffic) -> list[str]:
    """The operations whose existence is judged: because that is a selected requirement, or because of the prefix /v1.

    The requirement on the prefix is met if any documented path exists, so it needs each operation that is permitted.
    """
    selects_any = traffic.selection.includes_any
    to_judge = []
    for operation in operations():
        may_show_the_prefix = selects_any("general.versionPrefix") and traffic.may_send_to(operation)
        if selects_any(f"{operation}.exists") or may_show_the_prefix:
            to_judge.append(operation)
    return to_judge


def endpoint_exists(traffic: Traffic, operation: str) -> Judgement:
    """The judgement whether an endpoint exists, by the requests that the run has sent. Nothing is sent."""
    return _judgement_of_existence(_EvidenceInLog(traffic), operation)


def prefix_is_served(traffic: Traffic) -> Judgement:
    """The judgement whether the service has the prefix /v1: at least one of the documented paths must exist.

    Nothing is sent. Raises OutOfScope if the profile permits nothing at all, and NotExercised if no operation can be
    judged. (The permission `fuzz` alone permits no operation.)
    """
    out_of_scope_unless(traffic.profile.allow - {"fuzz"}, say("needs any permission in allow"))
    # Empty if the profile permits only executions and transfers: this requirement alone sends none of them, because
    # they may move money. If the user also selects such an operation, its answers show the prefix.
    to_judge = _operations_to_judge(traffic) if traffic.selects(send_requests_about_existence) else []
    not_exercised_unless(
        to_judge, say("all that is permitted may move money: add read to allow, or select an operation")
    )
    judgements = [endpoint_exists(traffic, operation) for operation in to_judge]
    shown: list[Exchange] = []  # one exchange for each operation, for the report
    for judgement in judgements:
        shown += judgement.exchanges[:1]
    if any(judgement.holds for judgement in judgements):
        return holds(*shown)
    if any(judgement.deviates for judgement in judgements):
        return deviates(finding("no-prefix"), *shown)
    return inconclusive(say("no documented path can be told from an undocumented one"), *shown)


# -- the exchanges that the judgement compares ------------------------------------------------------------------------


class _EvidenceInLog:
    """The exchanges that the run has sent and that may show whether an endpoint exists."""

    def __init__(self, traffic: Traffic) -> None:
        """`traffic` has the log: all requests of the run with their answers."""
        self.log = traffic.log
        self._traffic = traffic

    def not_generated(self, operation: str | None = None) -> list[Exchange]:
        """Every request that was sent to an operation, or to any operation if none is given, without generated ones.

        The judgement is made twice: while the run sends requests, and later in a test. Requests that Schemathesis
        generates are sent in between. They are left out, so that both judgements are the same. Their `generator` is the
        name of their operation.
        """
        return [exchange for exchange in self.log.attempts(operation) if exchange.generator not in operations()]

    def best_answers(self, operation: str) -> list[Exchange]:
        """The exchanges that can show that an endpoint exists even if they were refused, the most reliable first.

        An endpoint that exists answers a valid request in another way than an unknown path does. For an execution and a
        deletion there may be no valid request, so another request comes last or takes its place.

        Raises NotExercised if the operation needs an account and the profile has none (by
        `requests_of_undescribed_operation`).
        """
        if operation == "executePix":  # last, an execution of a code that does not exist
            prepared = self.log.of(operation, Execution.PREPARED)
            return [*prepared, *self.log.of(operation, Execution.UNKNOWN_CODE)]
        if operation == "registerPixKey":  # valid if the profile has an account
            return self.log.of(operation, Registering.FIRST_TIME)
        if operation == "deletePixKey":  # without a valid one, a deletion for a made-up account with an empty body
            return self.log.valid(operation) or self.harmless(operation)
        # A read or a preparation, whose answers the document does not describe. Only the first one is certainly valid:
        # the read with the token, which comes before the read without it.
        return requests_of_undescribed_operation(self.log, operation)[:1]

    def harmless(self, operation: str, purpose: Existence = Existence.HARMLESS) -> list[Exchange]:
        """The harmless request (for a made-up code or account) with this purpose; empty if none was sent."""
        return self.log.of(operation, purpose)[:1]

    def siblings_of(self, exchange: Exchange) -> list[Exchange]:
        """The two siblings of a request: they differ from it only in their path, which is not documented.

        Empty if they were not sent.
        """
        to_undocumented_paths = self.log.of("", Existence.UNDOCUMENTED_PATH)
        return [candidate for candidate in to_undocumented_paths if _is_sibling(candidate, exchange)][:2]


class _EvidenceSentIfMissing(_EvidenceInLog):
    """Sends a request that the judgement asks for, if the log does not have it."""

    def harmless(self, operation: str, purpose: Existence = Existence.HARMLESS) -> list[Exchange]:
        """The harmless request (for a made-up code or account) with this purpose. It is sent if the log has none.

        Empty if it has an unreadable body and the profile does not permit that (`fuzz`).
        """
        is_permitted = purpose is not Existence.UNREADABLE or "fuzz" in self._traffic.profile.allow
        if is_permitted and not super().harmless(operation, purpose):
            body = _harmless_body(operation, purpose)
            self._traffic.client.send(operation, synthetic(), body=body, purpose=purpose)
        return super().harmless(operation, purpose)

    def siblings_of(self, exchange: Exchange) -> list[Exchange]:
        """The two siblings of a request: the same request to two undocumented paths. They are sent if the log has none.

        A real transaction code is never sent to such a path: a made-up code replaces it.
        """
        if not super().siblings_of(exchange):
            is_execution = exchange.operation == "executePix"
            path_parameter = synthetic() if is_execution else _path_parameter_of(exchange)
            self._traffic.client.send_to_undocumented_paths(
                exchange.operation,
                path_parameter,
                body=exchange.request.body or None,
                purpose=Existence.UNDOCUMENTED_PATH,
            )
        return super().siblings_of(exchange)


def _harmless_body(operation: str, purpose: Existence) -> bytes | None:
    """The body of a harmless request, which can do nothing: none for a GET, else JSON cut short or an empty object."""
    if operations()[operation].method == "GET":
        return None
    return UNREADABLE["cut short"] if purpose is Existence.UNREADABLE else b"{}"


def _is_sibling(candidate: Exchange, exchange: Exchange) -> bool:
    """True if `candidate`, a request to an undocumented path, is a sibling of `exchange`.

    Method, body and path must be the same, except for the last fixed segment of the path. For example, a sibling of
    `/v1/pix/keys/ac-0001` is `/v1/pix/pixconf-123/ac-0001`. The sibling of an execution has a made-up code in the place
    of the real one, so its last segment may also differ.
    """
    method_and_body = (exchange.request.method, exchange.request.body)
    if (candidate.request.method, candidate.request.body) != method_and_body:
        return False
    segments = urlsplit(exchange.request.url).path.split("/")
    sibling_segments = urlsplit(candidate.request.url).path.split("/")
    has_parameter = operations()[exchange.operation].path.endswith("}")
    index_that_differs = -2 if has_parameter else -1  # the segment before the parameter, or the last one
    begins_alike = sibling_segments[:index_that_differs] == segments[:index_that_differs]
    may_differ_at_the_end = not has_parameter or exchange.operation == "executePix"
    return begins_alike and (may_differ_at_the_end or sibling_segments[-1] == segments[-1])


def _path_parameter_of(exchange: Exchange) -> str | None:
    """The path parameter in a request, such as the account; None if the path of its operation has no parameter."""
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
"""By operation, what a profile has to have so that the run can send a request that is certainly valid."""
_MAY_NAME_AN_UNKNOWN_KEY_OR_PAYEE = ("deletePixKey", *PREPARING_OPERATIONS)
"""Operations whose valid requests an endpoint may answer with 404, although the endpoint exists."""


def _needed_for(operation: str) -> Text:
    """What the profile must have so that the service accepts a request to this operation, as a sentence for a verdict.

    The verdict cannot say whether the endpoint exists, because no such request was sent.
    """
    return _NEEDED.get(operation, say("needs an account that exists"))


def _judgement_of_existence(evidence: _EvidenceInLog, operation: str) -> Judgement:
    """The judgement whether an endpoint exists. The first of these that applies decides:

    1. The endpoint is missing at times: the service deviates.
    2. A request with the valid token was granted, and its answer is readable: the endpoint exists.
    3. A refused request has an answer that is not temporary (a 503 is temporary): the answer is compared with those to
       the siblings, which are the same request to undocumented paths.
    4. The same with the answer to one more harmless request (for a made-up code or account).
    5. Otherwise it is unknown.

    `evidence` gives the exchanges. If it is an `_EvidenceSentIfMissing`, it also sends a request that is missing.
    """
    try:
        answers = evidence.best_answers(operation)
    except NotExercised as missing:
        return inconclusive(missing.why)
    found_each_time = _judgement_of_being_found_each_time(evidence, operation)
    if found_each_time.deviates:
        return found_each_time
    granted = [exchange for exchange in evidence.not_generated(operation) if _shows_an_endpoint(exchange)]
    if granted:
        return holds(*granted)
    for answer in answers:
        if not is_temporary(answer):
            return _judgement_by_siblings(evidence, answer)
    harmless = evidence.harmless(operation, Existence.AFTER_TROUBLE)
    for answer in harmless:
        if not is_temporary(answer):
            return _judgement_by_siblings(evidence, answer)
    shown = _exchange_to_show(harmless, answers, evidence.not_generated(operation))
    return inconclusive(say("no valid request succeeded ({answer})", answer=answers_in_words(shown)), *shown)


def _shows_an_endpoint(exchange: Exchange) -> bool:
    """True if an exchange shows that its endpoint exists: it was granted with the valid token, in a readable answer."""
    is_success = exchange.credential == VALID and is_granted(exchange)
    return is_success and exchange.response is not None and is_readable(exchange.response)


def _exchange_to_show(harmless: list[Exchange], answers: list[Exchange], others: list[Exchange]) -> list[Exchange]:
    """The exchange that a verdict names if nothing shows whether an endpoint exists, in a list; empty if there is none.

    It is the first exchange that was really sent: a harmless one, or one of the best answers, or any other. If nothing
    was sent, it is an exchange that a limit of the run kept back: its answer in words is that limit.
    """
    sent = [exchange for exchange in (*harmless, *answers, *others) if exchange.number]  # 0: it was kept back
    return [*sent, *answers, *harmless][:1]


def _judgement_of_being_found_each_time(evidence: _EvidenceInLog, operation: str) -> Judgement:
    """The judgement whether an endpoint is found each time. One server of several may not know its path.

    The service deviates if it answers a request like an unknown path, such as with a 404, and accepts the same request
    before and after. If it answers all requests so, this judgement holds, because another one is about that.
    """
    requests = refused_at_times(evidence.log, operation, refusals_of_the_path(operation))
    if not requests.refused:
        return holds()
    breach = finding("no-endpoint-at-times", answer=answer_in_words(requests.refused[0]), number=len(requests.refused))
    return deviates(breach, *requests.refused[:MOST_CITED], *requests.accepted)


def _judgement_by_siblings(evidence: _EvidenceInLog, exchange: Exchange) -> Judgement:
    """The judgement whether an endpoint exists, by an answer that is compared with those to its siblings.

    A sibling is the same request to an undocumented path. The exchange must have a response.

    | answer | the endpoint |
    |---|---|
    | It says that the method is not allowed, or not implemented. | does not exist |
    | A sibling got no answer. | may exist |
    | It differs from the answers to the siblings, but every valid request got 404. | may exist |
    | It differs from the answers to the siblings in any other way. | exists |
    | It equals them, and refuses the caller, such as a 401: a caller with more rights may get a result. | may exist |
    | It equals them, and is about something else. | as `_judgement_of_answer_like_siblings` says |

    A redirect counts as equal if it may come from a gateway that sends every caller to another page, such as to log in.
    """
    assert exchange.response is not None
    kind = refusal_kind(exchange.response)
    if kind in (RefusalKind.METHOD, RefusalKind.NOT_IMPLEMENTED):
        return deviates(finding("no-endpoint", status=exchange.response.status), exchange)
    siblings = evidence.siblings_of(exchange)
    responses = [sibling.response for sibling in siblings if sibling.response]
    if not siblings or len(responses) < len(siblings):
        return inconclusive(say("no answer"), exchange, *siblings[:1])

    is_from_the_endpoint = kind is not RefusalKind.REDIRECT or _is_redirect_of_an_endpoint(exchange, responses)
    if is_from_the_endpoint and not is_answered_like(exchange, *siblings):
        every_valid_request_got_404 = _find_out_if_every_valid_request_got_404(evidence, exchange, siblings)
        if every_valid_request_got_404:
            why = joined((_ALWAYS_MISSING, _needed_for(exchange.operation)))
            return inconclusive(why, exchange, siblings[0])
        return holds(exchange, siblings[0])
    # A caller with more rights may not get such a refusal (401, 403, a redirect). But if the endpoint and its siblings
    # redirect to the same page, each caller is redirected.
    if kind in ABOUT_THE_CALLER and not _all_redirect_to_one_page([exchange.response, *responses]):
        why_refused = _LEADS_ELSEWHERE if kind is RefusalKind.REDIRECT else _CALLER_IS_REFUSED
        return inconclusive(joined((_NOT_TOLD_APART, why_refused)), exchange, siblings[0])
    return _judgement_of_answer_like_siblings(evidence, exchange, siblings)


def _is_redirect_of_an_endpoint(exchange: Exchange, responses_of_siblings: list[Response]) -> bool:
    """True if a redirect comes from the endpoint, and not from a gateway that sends every caller to a page to log in.

    A sibling is the same request to an undocumented path. Two sorts of redirects come from the endpoint:

    - One leads to the same path with a slash behind it.
    - One leads to the same path at another address of the service, and no sibling is redirected.
    """
    assert exchange.response is not None
    path = urlsplit(exchange.request.url).path
    page = path_of_redirect(exchange.response)
    is_sibling_redirected = any(refusal_kind(response) is RefusalKind.REDIRECT for response in responses_of_siblings)
    changes_the_address = page == path and not is_sibling_redirected
    return adds_a_slash(exchange) or changes_the_address


def _all_redirect_to_one_page(responses: list[Response]) -> bool:
    """True if each of these responses is a redirect, and all lead to the same path."""
    pages = set(map(path_of_redirect, responses))
    return len(pages) == 1 and "" not in pages  # empty: a response that does not redirect


def _find_out_if_every_valid_request_got_404(
    evidence: _EvidenceInLog, exchange: Exchange, siblings: list[Exchange]
) -> bool:
    """Find out whether every request with the valid token to an endpoint got 404, although one is certainly valid.

    Then a gateway may know the path, and answer 404 in words of its own because the service behind it is missing. So an
    answer that differs from those to the siblings (the same request to undocumented paths) does not prove the endpoint.
    May send requests, if `evidence` sends what is missing.
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
    """The judgement whether an endpoint exists if its answer is the same as those to undocumented paths (`siblings`).

    | the request | the endpoint |
    |---|---|
    | It is not certainly valid, so the service may refuse it just like an unknown path. | may exist |
    | It is valid, and a harmless invalid request gets another answer than its siblings. | exists |
    | It is valid, and no such request is answered in another way. | does not exist |
    """
    assert exchange.response is not None
    is_valid = _find_out_if_valid(evidence, exchange, siblings)
    if not is_valid:
        if exchange.operation == "deletePixKey" and _no_registration_was_answered(evidence.log):
            # Then no key could be deleted, whatever the profile has. The reason says so.
            return inconclusive(why_nothing_was_deleted(evidence.log), exchange, siblings[0])
        why = joined((_NOT_TOLD_APART, _needed_for(exchange.operation)))
        return inconclusive(why, exchange, siblings[0])
    invalid_request_and_sibling = _invalid_request_unlike_its_sibling(evidence, exchange.operation)
    if invalid_request_and_sibling:
        return holds(*invalid_request_and_sibling)
    return deviates(finding("like-undocumented", status=exchange.response.status), exchange, siblings[0])


def _no_registration_was_answered(log: Log) -> bool:
    """True if the run sent registrations, and none of them has an answer."""
    registrations = valid_registrations(log)
    return bool(registrations) and not any(registration.response for registration in registrations)


def _invalid_request_unlike_its_sibling(evidence: _EvidenceInLog, operation: str) -> tuple[Exchange, ...]:
    """An invalid request and its sibling (the same request to an undocumented path) that got different answers.

    Empty if there are none. An endpoint that exists may answer a valid request like an unknown path, with a 404:
    because there is no such key, or no such payee. It may answer an invalid request in another way, such as with a 400.
    The invalid request is for a made-up account, because the interface document does not show what a deletion without a
    key does to a real account.
    """
    purposes = []
    if operation == "deletePixKey":  # an empty object as the body: it names no key, and prepares no transfer
        purposes.append(Existence.HARMLESS)
    if operation in _MAY_NAME_AN_UNKNOWN_KEY_OR_PAYEE:
        purposes.append(Existence.UNREADABLE)
    for purpose in purposes:
        for exchange in evidence.harmless(operation, purpose):
            siblings = evidence.siblings_of(exchange)
            if siblings and _are_answered([exchange, *siblings]) and not is_answered_like(exchange, *siblings):
                return exchange, siblings[0]
    return ()


def _are_answered(exchanges: Sequence[Exchange]) -> bool:
    """True if each of these requests has an answer: without it nothing can be compared."""
    return all(exchange.response for exchange in exchanges)


def _find_out_if_valid(evidence: _EvidenceInLog, exchange: Exchange, siblings: list[Exchange]) -> bool:
    """Find out whether a request is certainly valid, so that an endpoint that exists must not refuse it. These are:

    - an execution, if the run prepared its code
    - a request for an account, if another operation accepts the account
    - a request without a path parameter, if another operation accepts the token; or if its answer is a 404, because
      that is no answer to a wrong token

    But a deletion is not certainly valid if a registration is answered like the siblings (the same request to
    undocumented paths): then perhaps no key was registered, so no key could be deleted. To see that, a harmless
    registration is sent if `evidence` sends what is missing.
    """
    if not exchange.expects_success:
        return False
    if exchange.operation == "executePix":
        return exchange.purpose is Execution.PREPARED
    if exchange.operation == "deletePixKey":
        registrations = evidence.harmless("registerPixKey")
        if any(is_answered_like(registration, *siblings) for registration in registrations):
            return False
    accepted = _accepted_by_other_operations(evidence, exchange.operation)
    account = _path_parameter_of(exchange)
    if account is None:
        return bool(accepted) or refusal_or_failure(exchange) is RefusalKind.NOT_FOUND
    return account in map(_path_parameter_of, accepted)


def _accepted_by_other_operations(evidence: _EvidenceInLog, operation: str) -> list[Exchange]:
    """The requests to other operations than this one that succeeded, so that token and account are good.

    An HTML page for people, such as one to log in, is no success.
    """
    accepted = []
    for exchange in evidence.not_generated():
        is_page_for_people = exchange.response is not None and is_page(exchange.response)
        if exchange.operation != operation and succeeded(exchange) and not is_page_for_people:
            accepted.append(exchange)
    return accepted
