"""Requests that are refused at times, although the service accepts the same request before and after them.

A service may consist of several nodes (servers that take turns). One of them may refuse a valid token, or not know a
path. But a conforming service may also refuse for a while: it locks a caller out after wrong tokens, or is full. So a
refusal counts only under all of these conditions:

- No other request of the run was under way, because a service may refuse a request that comes at the same moment.
- The same request was accepted before it and after it, because then nothing in the request is the reason. For a 401 it
  is enough that the same request was accepted before it, and some request to the operation after it: if the path has
  a transaction code, a service with a cache may answer this code with 401 for ever.
- The request to the same operation right before it, or right after it, was accepted, because a lock lasts longer.
- If the request is a registration, its refusal differs from the refusal of a key that is registered already, or is a
  401, which says nothing about a key.
- There are two such refusals, because a single refusal may come from the network.

If some answers to an operation are such refusals and others are not, the answers disagree. Then the run sends the same
request sixteen times more, one after the other.

A request is accepted if the service accepted its token, and found its path. Its content may still be refused.

Two modules send requests whose answers this module compares: `kept_refusals.py` (a service that repeats the refusal of
a wrong token) and `neighbours.py` (requests right before a valid request).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import partial

from environments.door.limits import OPERATIONS_WITH_DOCUMENTED_TOKEN
from environments.door.permission import synthetic
from environments.door.wrong_tokens import NO_HEADER, WRONG_TOKEN
from spec.answers import RefusalKind, refusal_about_the_caller, refusal_kind
from spec.exchange import VALID, Exchange, Purpose
from spec.interface import PREPARING_OPERATIONS, operations
from spec.log import Log
from spec.observed import is_answered_like, is_answered_like_each
from tests.traffic.kept_refusals import KeptRefusal
from tests.traffic.keys.purposes import Registering, is_answered_like_registered_keys
from tests.traffic.keys.registrar import Registrar
from tests.traffic.money.executions import Execution, answers_to_real_codes
from tests.traffic.neighbours import RightBefore
from tests.traffic.scenario import Traffic, scenario
from tests.traffic.together import Send

REFUSALS_OF_THE_TOKEN = (RefusalKind.TOKEN, RefusalKind.FORBIDDEN)
"""Refusals that say that the token is not accepted."""
_REFUSALS_OF_THE_METHOD = (RefusalKind.METHOD, RefusalKind.NOT_IMPLEMENTED)
"""Refusals that say that a path has no such method (405, 501): no account, key or code is their reason."""
_FEWEST_REFUSALS = 2
"""Smallest number of refusals that counts, because a single one may come from the network."""
_TIMES_OTHER_CODE = 2
"""Times that another code is sent right after the code that is compared: `_FEWEST_REFUSALS`, because a service with
such a fault refuses the first code each time."""
_TIMES_AGAIN = 16
"""Times that a request is sent again if answers disagree. If one node of three is at fault, 69 runs of 70 have two
refusals among sixteen answers."""
_TIMES_OTHER_SCHEME = 4
"""Times that the token is sent again under a scheme that seems to be accepted. If one server of three does not check
tokens, it gets all of these requests in one run of 81."""
_OPERATIONS_WITH_A_STABLE_404 = ("registerPixKey", "listAccounts", "getBalance", "listEntries", *PREPARING_OPERATIONS)
"""Operations whose valid requests a conforming service answers with 404 each time, or never.

For example, a node that does not know the path of listAccounts answers 404, and all other nodes answer 200.
listPixKeys is not among the operations: a service may answer 404 while an account has no keys. Of an operation that
prepares transfers, only requests with the same body are compared."""


class Disagreement(Purpose):
    """Why a request is sent again and again."""

    ONCE_MORE = "the same request again, because answers disagree"
    ANOTHER_CODE = "another code that does not exist, because answers disagree"
    UNDOCUMENTED_PATH = "to see how an unknown path is answered, because answers disagree"
    REFUSED_SCHEME = (
        "the token under another scheme, or a wrong token, once more, because it was answered like the token"
    )
    UNKNOWN_IDENTIFIER = "to see how an unknown account or code is answered, because answers disagree"


_PURPOSES_TO_COMPARE: dict[str, tuple[Purpose, ...]] = {
    "executePix": (
        Execution.UNKNOWN_CODE,
        RightBefore.UNKNOWN_CODE,
        Disagreement.ONCE_MORE,
        KeptRefusal.WITH_THE_TOKEN,
    ),
    "registerPixKey": (
        Registering.FIRST_TIME,
        Registering.SIMULTANEOUS,
        Registering.ONCE_MORE,
        Disagreement.ONCE_MORE,
        KeptRefusal.WITH_THE_TOKEN,
    ),
}
"""By operation, the purposes of the requests whose token and path must be accepted each time. Of a read, all valid
requests are compared, so reads are not in this table."""


def refusals_of_the_path(operation: str) -> tuple[RefusalKind, ...]:
    """The refusals by which a node of the service seems to say that it has no such endpoint: 405, 501, perhaps 404.

    They prove it only if other nodes (servers that take turns) answer the same request otherwise. The 404 is left out
    for an operation that may answer it at times for another reason, such as an account that has no keys now. Then a 404
    counts only if it is answered like an undocumented path (`_refusals`).
    """
    if operation in _OPERATIONS_WITH_A_STABLE_404:
        return (RefusalKind.NOT_FOUND, *_REFUSALS_OF_THE_METHOD)
    return _REFUSALS_OF_THE_METHOD


# -- what is sent -------------------------------------------------------------------------------------------------


@scenario(serves=["*.token.accepted", "*.exists"])
def repeat_where_answers_disagree(traffic: Traffic) -> None:
    """Send the same request sixteen times to each operation whose answers disagree about the token or the path.

    They disagree if some answers refuse the valid token (or say that there is no such path) and others do not. More
    answers show whether one server of several is at fault. Sixteen are enough to see the fault twice (`_TIMES_AGAIN`).
    For an execution, another code is sent afterwards, because the service may answer one code with 401 for ever.
    """
    for operation in filter(traffic.may_send_to, operations()):
        if _is_404_at_times(traffic.log, operation) and not _answers_of_undocumented_paths(traffic.log, operation):
            _send_to_undocumented_paths(traffic, operation)
        if not _answers_disagree(traffic.log, operation):
            continue
        send = _request_to_repeat(traffic, operation)
        if send is None:
            continue
        for _ in range(_TIMES_AGAIN):
            send()
        if operation == "executePix":
            _send_same_and_another_code_in_turn(traffic, send)


def _send_same_and_another_code_in_turn(traffic: Traffic, send: Send) -> None:
    """Send the same code again with `send`, and right after it a new code that does not exist. Do both twice.

    A service may answer the same code with 401 each time, because a cache keeps an old answer. If it accepts the token
    for the new code, it has not locked the caller out. So the 401 for the same code is a fault of the service.
    """
    for _ in range(_TIMES_OTHER_CODE):
        send()
        traffic.client.send("executePix", synthetic(), purpose=Disagreement.ANOTHER_CODE)


def _is_404_at_times(log: Log, operation: str) -> bool:
    """True if a request to an operation was answered 404, and an equal request was answered in another way.

    Then one node may not know the path. The answers of undocumented paths show whether the 404 says that.
    """
    exchanges = [exchange for exchange in _requests_that_should_be_accepted(log, operation) if exchange.response]
    not_found = [exchange for exchange in exchanges if _kind_of_refusal(exchange) is RefusalKind.NOT_FOUND]
    for refused in not_found:
        for exchange in exchanges:
            if _is_same_request(exchange, refused) and not is_answered_like(exchange, refused):
                return True
    return False


def _send_to_undocumented_paths(traffic: Traffic, operation: str) -> None:
    """Send a harmless request of an operation to two undocumented paths, to see how the service answers them.

    If the operation has an account or a code in its path, the same request is also sent to the documented path with a
    made-up one. Its answer shows whether the service has another 404 for what it does not know.
    """
    documented = operations()[operation]
    body = b"{}" if documented.method != "GET" else None
    send = traffic.client.send_to_undocumented_paths
    if documented.path_parameter is None:
        send(operation, None, body=body, purpose=Disagreement.UNDOCUMENTED_PATH)
        return
    send(operation, synthetic(), body=body, purpose=Disagreement.UNDOCUMENTED_PATH)
    traffic.client.send(operation, synthetic(), body=body, purpose=Disagreement.UNKNOWN_IDENTIFIER)


def _answers_disagree(log: Log, operation: str) -> bool:
    """True if some answers to an operation refuse the valid token, or say that the path is unknown, and others do not.

    Only valid requests are compared, and executions even if their code does not exist.
    """
    kinds = [RefusalKind.TOKEN]  # 401
    if operation in OPERATIONS_WITH_DOCUMENTED_TOKEN:  # executions and registrations
        kinds.append(RefusalKind.FORBIDDEN)  # 403; for other operations it does not count, a service may forbid a read
    refusals = _refusals(log, operation, (*kinds, *refusals_of_the_path(operation)))
    should_be_accepted = _requests_that_should_be_accepted(log, operation)
    one_is_accepted = any(_is_accepted(exchange, refusals) for exchange in should_be_accepted)
    one_is_refused = any(map(refusals.include, should_be_accepted))
    return one_is_accepted and one_is_refused


def _requests_that_should_be_accepted(log: Log, operation: str) -> list[Exchange]:
    """The valid requests to an operation, with the valid token and written in the usual way.

    Executions are among them even if their code does not exist, because their token and path must be accepted in any
    case.
    """
    requests = log.attempts(operation)
    with_the_token = [exchange for exchange in requests if exchange.credential == VALID and not exchange.spelling]
    return [exchange for exchange in with_the_token if exchange.valid or operation == "executePix"]


def _request_to_repeat(traffic: Traffic, operation: str) -> Send | None:
    """A function that sends the same request each time it is called, so that its answers can be compared.

    | operation | request |
    |---|---|
    | executePix | the code that does not exist, which was sent before |
    | registerPixKey, deletePixKey | a registration of a made-up key, which is deleted again each time |
    | one that prepares transfers | its first valid request once more, on a sandbox only |
    | one that reads | its read of the first account |

    None if there is no such request, or if the profile does not permit it.
    """
    client = traffic.client
    purpose = Disagreement.ONCE_MORE
    if operation == "executePix":
        codes = [exchange.request.last_segment for exchange in traffic.log.of(operation, Execution.UNKNOWN_CODE)]
        return partial(client.send, operation, codes[0], purpose=purpose) if codes else None
    if operation in ("registerPixKey", "deletePixKey"):
        return _registration_that_is_deleted(Registrar(client, traffic.profile)) if traffic.profile.accounts else None
    if operation in PREPARING_OPERATIONS:
        bodies = [exchange.request.body for exchange in traffic.log.valid(operation)]
        if not bodies or not traffic.profile.is_sandbox:
            return None
        return partial(client.send, operation, body=bodies[0], valid=True, purpose=purpose)
    # A read of an account has answers, so that they can disagree, only if the profile has an account.
    account = traffic.profile.accounts[0] if operations()[operation].path_parameter else None
    return partial(client.send, operation, account, valid=True, purpose=purpose)


def _registration_that_is_deleted(registrar: Registrar) -> Send | None:
    """A function that registers a synthetic key (made up by the suite) and deletes it, so that it can be called again.

    None if the run may not delete keys: a second registration of a key may be refused because the key is registered.
    """
    key = registrar.synthetic_key_for_deletions()  # None if the run may not delete it
    if key is None:
        return None

    def register_and_delete() -> Exchange:
        """Register the key, delete it, and return the exchange of the registration."""
        answer = registrar.register(key, Disagreement.ONCE_MORE)
        registrar.delete_key_of(answer)
        return answer

    return register_and_delete


@scenario(serves=["executePix.token.scheme"], needs="execute")
def repeat_schemes_that_seem_accepted(traffic: Traffic) -> None:
    """Send the token under another scheme, such as Digest, several times more if it was answered like the valid token.

    A wrong token is sent in between. One server of several may not check tokens at all, or look up the code before:
    then the first answer was a chance, and says nothing about the scheme. The order changes each time, because two
    servers may take turns: in one order, the same server would get all requests of one sort.
    """
    log = traffic.log
    refused_forms = log.of("executePix", Execution.UNKNOWN_CODE_REFUSED)
    with_the_token = log.of("executePix", Execution.UNKNOWN_CODE, RightBefore.UNKNOWN_CODE)
    for exchange in refused_forms:
        is_other_scheme = exchange.credential not in (NO_HEADER, WRONG_TOKEN)
        if not is_other_scheme or not is_answered_like_each(exchange, with_the_token):
            continue
        code = exchange.request.last_segment
        send = partial(traffic.client.send, "executePix", code, purpose=Disagreement.REFUSED_SCHEME)
        send_wrong_token = partial(send, credential=WRONG_TOKEN)
        for number in range(_TIMES_OTHER_SCHEME):
            is_wrong_token_first = number % 2 == 0
            if is_wrong_token_first:
                send_wrong_token()
            # As before, at the same moment as a valid request: some services accept another scheme only then.
            traffic.together.send_each_with_a_companion("executePix", partial(send, credential=exchange.credential))
            if not is_wrong_token_first:
                send_wrong_token()


# -- what the answers show ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RefusedAtTimes:
    """Requests that were refused at times, although the same request was accepted before and after them."""

    refused: Sequence[Exchange] = ()
    """Empty if no request was refused, and also if all were: then the service does not refuse them at times only."""
    compared: int = 0
    """Number of the requests that must all be answered in the same way."""
    accepted: Sequence[Exchange] = field(default=())
    """One exchange of the same request that was accepted; empty if there is none."""


def refused_at_times(log: Log, operation: str, kinds: Collection[RefusalKind]) -> RefusedAtTimes:
    """The requests to an operation that were refused at times, although the service accepted the same request.

    `kinds` are the refusals that count, such as those of the token (401, 403) or of the path (404, 405, 501). A refusal
    counts only if no other request was under way, and if the service accepted the same request before and after it. The
    result is empty if fewer than two refusals count.
    """
    refusals = _refusals(log, operation, kinds)
    sent_alone = [exchange for exchange in log.attempts(operation) if exchange.response and exchange.was_alone]
    accepted = [exchange for exchange in sent_alone if _is_accepted(exchange, refusals)]
    compared = _requests_to_compare(log, operation)
    refused = []
    for exchange in compared:
        is_refused = exchange in sent_alone and refusals.include(exchange)
        if is_refused and _is_refused_between_accepted(exchange, sent_alone, accepted):
            refused.append(exchange)
    if refused and RefusalKind.TOKEN in kinds:
        # A real code is executed only once, so its refusal cannot be compared. It counts only beside other refusals.
        refused += _real_codes_refused(log, operation)
    if len(refused) < _FEWEST_REFUSALS:
        return RefusedAtTimes()
    accepted_like_the_first = [exchange for exchange in accepted if _is_same_request(exchange, refused[0])]
    in_order = sorted(refused, key=lambda exchange: exchange.number)  # real codes were added at the end
    return RefusedAtTimes(in_order, len(compared), accepted_like_the_first[:1])


def _requests_to_compare(log: Log, operation: str) -> list[Exchange]:
    """The requests to an operation whose token and path the service must accept each time.

    They are the executions and registrations with the purposes in `_PURPOSES_TO_COMPARE`, and all valid requests to the
    other operations. A registration is left out if it may be refused because its key is registered already.
    """
    if operation not in _PURPOSES_TO_COMPARE:
        return log.valid(operation)
    exchanges = log.of(operation, *_PURPOSES_TO_COMPARE[operation])
    with_the_token = [exchange for exchange in exchanges if exchange.credential == VALID]
    if operation != "registerPixKey":
        return with_the_token
    return [exchange for exchange in with_the_token if not _may_be_refused_as_registered(exchange, log)]


def _may_be_refused_as_registered(registration: Exchange, log: Log) -> bool:
    """True if the answer to a registration may say that the key is registered already.

    That is so if it is the same as each answer to a second registration of a registered key. For example, the service
    answers 404 to all of them. A 401 says that about no key. It may answer all second registrations by chance, because
    there are few of them.
    """
    if _kind_of_refusal(registration) is RefusalKind.TOKEN:
        return False
    # A registration with this purpose has a body that cannot be read.
    names_a_key = registration.purpose is not KeptRefusal.WITH_THE_TOKEN
    return names_a_key and is_answered_like_registered_keys(registration, log)


def _kind_of_refusal(exchange: Exchange) -> RefusalKind | None:
    """The kind of the refusal, such as TOKEN for a 401; None if the answer refuses nothing.

    OTHER if there is no answer, or if the token was refused because it had expired: such an exchange counts neither as
    accepted nor as refused.
    """
    if exchange.response is None:
        return RefusalKind.OTHER
    about_the_caller = refusal_about_the_caller(exchange.response)  # such as TOKEN; None for any other answer
    if about_the_caller and exchange.token_had_expired:
        return RefusalKind.OTHER
    return about_the_caller or refusal_kind(exchange.response)


@dataclass(frozen=True)
class _Refusals:
    """The answers to an operation that count as refusals of the token or of the path."""

    kinds: Collection[RefusalKind]
    """Their kinds, such as TOKEN (401)."""
    of_undocumented_paths: Sequence[Exchange]
    """Requests to undocumented paths. A 404 that is answered like them says that the path is unknown, too."""

    def include(self, exchange: Exchange) -> bool:
        """True if the answer of this exchange refuses the token or the path."""
        kind = _kind_of_refusal(exchange)
        if kind in self.kinds:
            return True
        if kind is not RefusalKind.NOT_FOUND or not self.of_undocumented_paths:
            return False
        return is_answered_like_each(exchange, self.of_undocumented_paths)


def _refusals(log: Log, operation: str, kinds: Collection[RefusalKind]) -> _Refusals:
    """The refusals of an operation that count: those of these kinds, and a 404 that says that the path is unknown.

    A 404 says that if it is answered like an undocumented path, while another 404 of the operation is not. For example,
    the service has other words for an unknown code. Without such words, a 404 may be about the code or key. Such a 404
    is looked for only if `kinds` has the refusals of the path (405, 501).
    """
    is_about_the_path = set(_REFUSALS_OF_THE_METHOD) <= set(kinds)
    undocumented = _answers_of_undocumented_paths(log, operation) if is_about_the_path else []
    if not undocumented or not _has_another_404(log, operation, undocumented):
        return _Refusals(kinds, ())
    return _Refusals(kinds, undocumented)


def _has_another_404(log: Log, operation: str, undocumented: Sequence[Exchange]) -> bool:
    """True if a request to an operation was answered 404 in another way than the undocumented paths."""
    for exchange in log.attempts(operation):
        is_404 = _kind_of_refusal(exchange) is RefusalKind.NOT_FOUND
        if is_404 and not is_answered_like_each(exchange, undocumented):
            return True
    return False


def _answers_of_undocumented_paths(log: Log, operation: str) -> list[Exchange]:
    """The requests to undocumented paths that were answered 404, with the same HTTP method as this operation."""
    method = operations()[operation].method
    undocumented = [exchange for exchange in log.attempts("") if exchange.request.method == method]
    return [exchange for exchange in undocumented if _kind_of_refusal(exchange) is RefusalKind.NOT_FOUND]


def _is_accepted(exchange: Exchange, refusals: _Refusals) -> bool:
    """True if a request had the valid token, and the service accepted the token and found the path.

    The content of the request may still be refused: a 400 shows that the service accepted the token before it looked
    at the content. `refusals` says which answers refuse the token or the path, such as a 401 or 404.
    """
    kind = _kind_of_refusal(exchange)
    is_token_accepted = kind is None or kind in _REFUSALS_AFTER_THE_TOKEN_IS_ACCEPTED
    has_valid_token = exchange.credential == VALID
    return has_valid_token and is_token_accepted and not refusals.include(exchange)


_REFUSALS_AFTER_THE_TOKEN_IS_ACCEPTED = frozenset(
    (RefusalKind.CONTENT, RefusalKind.NOT_FOUND, RefusalKind.CONFLICT, RefusalKind.ENVELOPE, RefusalKind.MEDIA_TYPE)
)
"""Refusals that a service gives only after it accepted the token."""


def _is_refused_between_accepted(exchange: Exchange, sent_alone: list[Exchange], accepted: list[Exchange]) -> bool:
    """True if a request was refused although the service accepted the same request before and after it.

    `sent_alone` are the answered requests to the operation that were not sent at the same time as others, in order.
    `accepted` are the requests among them that were accepted. Two conditions must hold:

    - The request right before or right after it was accepted. Otherwise the service may have refused all requests for a
      while.
    - Equal requests were accepted before it and after it. Then nothing in the request is the reason.

    For two sorts of refusals any accepted request is enough in the place of an equal one:

    - before and after a 405 or 501, because these are about the method, and not about the key or code in the request
    - after a 401, because a cache may keep the answer 401 for one transaction code, and give it for ever
    """
    index = sent_alone.index(exchange)
    right_before_and_after = [*sent_alone[max(0, index - 1) : index], *sent_alone[index + 1 : index + 2]]
    if not any(adjacent in accepted for adjacent in right_before_and_after):
        return False
    equal_and_accepted = [candidate for candidate in accepted if _is_same_request(candidate, exchange)]
    kind = _kind_of_refusal(exchange)
    enough_before = accepted if kind in _REFUSALS_OF_THE_METHOD else equal_and_accepted
    enough_after = accepted if kind in (*_REFUSALS_OF_THE_METHOD, RefusalKind.TOKEN) else equal_and_accepted
    is_accepted_before = any(candidate.number < exchange.number for candidate in enough_before)
    is_accepted_after = any(candidate.number > exchange.number for candidate in enough_after)
    return is_accepted_before and is_accepted_after


def _is_same_request(exchange: Exchange, other: Exchange) -> bool:
    """True if two requests have the same address (path and query) and the same body."""
    return (exchange.request.url, exchange.request.body) == (other.request.url, other.request.body)


def _real_codes_refused(log: Log, operation: str) -> list[Exchange]:
    """The executions of real codes (of prepared transfers) whose valid token was refused; empty for another operation.

    A real code is executed only once, so the same request cannot be accepted before and after. So these refusals count
    only if other requests show already that the service refuses the token at times.
    """
    executions = answers_to_real_codes(log) if operation == "executePix" else []
    return [execution for execution in executions if _kind_of_refusal(execution) is RefusalKind.TOKEN]
