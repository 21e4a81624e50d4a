"""Requests that are refused at times, although the service accepts the same request before and after them.

One node of several may refuse a token, or lack a path. A conforming service may refuse for a while, too: it locks a
caller out after wrong tokens, or is full. So a refusal counts only under all of these conditions:

- No other request of the run was under way.
- The same request was accepted before it and after it. If a service keeps a 401 for a code (in a cache, for instance),
  it accepts no request with that code any more. So for a 401 it is enough that the same request was accepted before it,
  and some request to the operation after it.
- The request to the operation right before it, or right after it, was accepted.
- A key that is registered already is answered in another way.
- There are two such refusals.

If answers disagree, the run asks more: it sends the same request sixteen times, one after the other.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import partial

from environments.door.permission import synthetic
from spec.answers import RefusalKind, refusal_kind, refusal_of_the_caller
from spec.exchange import VALID, Exchange, Purpose
from spec.interface import READ_OPERATIONS, operations
from spec.log import Log
from spec.observed import indistinguishable
from tests.traffic.kept_refusals import KeptRefusal
from tests.traffic.keys.purposes import Registering, repeated_registrations
from tests.traffic.keys.registrar import Registrar
from tests.traffic.money.executions import Execution, answers_to_real_codes
from tests.traffic.neighbours import Neighbour
from tests.traffic.scenario import Traffic, scenario
from tests.traffic.together import Send

FOR_THE_TOKEN = (RefusalKind.TOKEN, RefusalKind.FORBIDDEN)
"""Refusals that say that the token is not accepted."""
FOR_THE_PATH = (RefusalKind.NOT_FOUND, RefusalKind.METHOD, RefusalKind.NOT_IMPLEMENTED)
"""Refusals that say that there is no such endpoint."""
_FEWEST = 2
"""Refusals from which on they count, because a single one may come from the network."""
_MORE = 16
"""Times that a request is sent again if answers disagree. If one node of three is at fault, 69 runs of 70 have two
refusals among sixteen answers."""
MAY_MISS_A_PATH = ("registerPixKey", "listAccounts", "getBalance", "listEntries")
"""Operations of which the same request is found each time or never. A list without keys may be answered like an unknown
path."""


class Disagreement(Purpose):
    """Why a request is sent again and again."""

    ONCE_MORE = "the same request again, because answers disagree"
    ANOTHER_CODE = "another code that does not exist, because answers disagree"


_PURPOSES_OF_EQUAL_REQUESTS: dict[str, tuple[Purpose, ...]] = {
    "executePix": (
        Execution.UNKNOWN_CODE,
        Neighbour.UNKNOWN_CODE,
        Disagreement.ONCE_MORE,
        KeptRefusal.WITH_THE_TOKEN,
    ),
    "registerPixKey": (
        Registering.FIRST_TIME,
        Registering.BESIDE_OTHERS,
        Registering.ONCE_MORE,
        Disagreement.ONCE_MORE,
        KeptRefusal.WITH_THE_TOKEN,
    ),
}
"""By operation, the purposes of requests that must all be answered in the same way. Of a read, all valid requests must.
"""


# -- what is sent -------------------------------------------------------------------------------------------------


@scenario(serves=["*.token.accepted", "*.exists"])
def ask_where_answers_disagree(traffic: Traffic) -> None:
    """Send the same request again and again to each operation whose answers disagree about the token or the path."""
    for operation in ("executePix", *MAY_MISS_A_PATH):
        if not traffic.may_send_to(operation) or not _answers_disagree(traffic.log, operation):
            continue
        send = _same_request(traffic, operation)
        if send is None:
            continue
        for _ in range(_MORE):
            send()
        if operation == "executePix":
            _send_beside_another_code(traffic, send)


def _send_beside_another_code(traffic: Traffic, send: Send) -> None:
    """Send the code again, and another code that does not exist right after it; twice.

    A service may keep a 401 for the first code. That the other code is accepted then shows that the caller is not
    locked out.
    """
    for _ in range(_FEWEST):
        send()
        traffic.client.send("executePix", synthetic(), purpose=Disagreement.ANOTHER_CODE)


def _answers_disagree(log: Log, operation: str) -> bool:
    """True if some answers to an operation refuse the valid token, or say that the path is unknown, and others do not.

    A 403 counts for the two documented operations only, because a service may forbid a read.
    """
    kinds = [RefusalKind.TOKEN]
    if operation in _PURPOSES_OF_EQUAL_REQUESTS:
        kinds += FOR_THE_TOKEN
    if operation in MAY_MISS_A_PATH:
        kinds += FOR_THE_PATH
    requests = log.attempts(operation)
    with_the_token = [exchange for exchange in requests if exchange.credential == VALID and not exchange.spelling]
    should_be_accepted = [exchange for exchange in with_the_token if exchange.valid or operation == "executePix"]
    one_is_accepted = any(_is_accepted(exchange, kinds) for exchange in should_be_accepted)
    one_is_refused = any(_kind_of(exchange) in kinds for exchange in should_be_accepted)
    return one_is_accepted and one_is_refused


def _same_request(traffic: Traffic, operation: str) -> Send | None:
    """A function that sends the request which is compared; None if the run may not send it so often."""
    purpose = Disagreement.ONCE_MORE
    if operation == "executePix":
        codes = [exchange.request.last_segment for exchange in traffic.log.of(operation, Execution.UNKNOWN_CODE)]
        return partial(traffic.client.send, operation, codes[0], purpose=purpose) if codes else None
    account = next(iter(traffic.profile.accounts), None)
    if operation != "registerPixKey":
        place = account if operations()[operation].path_parameter else None
        return partial(traffic.client.send, operation, place, valid=True, purpose=purpose)
    return _registration_that_is_deleted(Registrar(traffic.client, traffic.profile)) if account else None


def _registration_that_is_deleted(registrar: Registrar) -> Send | None:
    """A function that registers a synthetic key and deletes it; None if the run may not delete keys."""
    key = registrar.key_for_deletions()
    if key is None:
        return None

    def register_and_delete() -> Exchange:
        """Register the key, delete it, and return the exchange of the registration."""
        answer = registrar.register(key, Disagreement.ONCE_MORE)
        registrar.delete_key_of(answer)
        return answer

    return register_and_delete


# -- what the log says --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AtTimes:
    """Requests that were refused at times, although the same request was accepted before and after."""

    refused: Sequence[Exchange] = ()
    compared: int = 0
    """Number of the requests that must all be answered in the same way."""
    taken: Sequence[Exchange] = field(default=())
    """One exchange of the same request that was accepted; empty if there is none."""


def refused_at_times(log: Log, operation: str, kinds: Collection[RefusalKind]) -> AtTimes:
    """The requests to an operation that were refused at times in one of these ways.

    Empty if they do not count by the conditions in the docstring of the module.
    """
    sent = [exchange for exchange in log.attempts(operation) if exchange.response and exchange.was_alone]
    compared = _equal_requests(log, operation)
    taken = [exchange for exchange in sent if _is_accepted(exchange, kinds)]
    refused = []
    for exchange in compared:
        if exchange in sent and _kind_of(exchange) in kinds and _is_refused_between_accepted(exchange, sent, taken):
            refused.append(exchange)
    if RefusalKind.TOKEN in kinds and refused:
        refused += _real_codes_refused(log, operation)
    if len(refused) < _FEWEST:
        return AtTimes()
    same = [exchange for exchange in taken if _is_same_request(exchange, refused[0])]
    return AtTimes(sorted(refused, key=lambda exchange: exchange.number), len(compared), same[:1])


def _equal_requests(log: Log, operation: str) -> list[Exchange]:
    """The requests to an operation that must all be answered in the same way.

    A registration that is answered like the second registration of a key is left out: its key may be registered.
    """
    if operation in READ_OPERATIONS:
        return log.valid(operation)
    sent = log.of(operation, *_PURPOSES_OF_EQUAL_REQUESTS.get(operation, ()))
    answers = [exchange for exchange in sent if exchange.credential == VALID]
    if operation != "registerPixKey":
        return answers
    return [answer for answer in answers if not _may_be_refused_as_registered(answer, log)]


def _may_be_refused_as_registered(answer: Exchange, log: Log) -> bool:
    """True if a registration may be refused because its key is registered: a second registration gets the same answer.

    A registration that cannot be read (KeptRefusal.WITH_THE_TOKEN) names no key, so it is not refused for that.
    """
    repeated = repeated_registrations(log)
    if not repeated or answer.purpose is KeptRefusal.WITH_THE_TOKEN:
        return False
    return all(indistinguishable(answer, other) for other in repeated)


def _kind_of(exchange: Exchange) -> RefusalKind | None:
    """The kind of the refusal; None if there is none. OTHER if there is no answer, or if the token had expired."""
    if exchange.response is None:
        return RefusalKind.OTHER
    of_the_caller = refusal_of_the_caller(exchange.response)
    if of_the_caller and exchange.number in exchange.excused:
        return RefusalKind.OTHER
    return of_the_caller or refusal_kind(exchange.response)


def _is_accepted(exchange: Exchange, kinds: Collection[RefusalKind]) -> bool:
    """True if the token was accepted, and the request was not refused in one of these ways."""
    kind = _kind_of(exchange)
    is_about_the_request = kind is None or kind in _ABOUT_A_REQUEST
    return exchange.credential == VALID and is_about_the_request and kind not in kinds


_ABOUT_A_REQUEST = frozenset(
    (RefusalKind.CONTENT, RefusalKind.NOT_FOUND, RefusalKind.CONFLICT, RefusalKind.ENVELOPE, RefusalKind.MEDIA_TYPE)
)
"""Refusals that a service gives only after it accepted the token."""


def _is_refused_between_accepted(exchange: Exchange, sent: list[Exchange], taken: list[Exchange]) -> bool:
    """True if a refusal counts by the conditions in the docstring of the module, except that two are needed.

    `sent` are the answered requests to the operation that were alone, in order, and `taken` those that were accepted.
    """
    place = sent.index(exchange)
    right_before_and_after = [*sent[max(0, place - 1) : place], *sent[place + 1 : place + 2]]
    if not any(neighbour in taken for neighbour in right_before_and_after):
        return False
    same_request = [accepted.number for accepted in taken if _is_same_request(accepted, exchange)]
    is_accepted_before = any(number < exchange.number for number in same_request)
    is_accepted_after = any(number > exchange.number for number in same_request)
    if _kind_of(exchange) is not RefusalKind.TOKEN:
        return is_accepted_before and is_accepted_after
    another_is_accepted_after = any(accepted.number > exchange.number for accepted in taken)
    return is_accepted_before and another_is_accepted_after


def _is_same_request(one: Exchange, other: Exchange) -> bool:
    """True if two requests have the same address and body."""
    return (one.request.url, one.request.body) == (other.request.url, other.request.body)


def _real_codes_refused(log: Log, operation: str) -> list[Exchange]:
    """The executions of real codes that were refused for the token; empty for another operation.

    A real code is sent only once, so no same request was accepted before and after. So they count only if other
    requests count already.
    """
    executions = answers_to_real_codes(log) if operation == "executePix" else []
    return [execution for execution in executions if _kind_of(execution) is RefusalKind.TOKEN]
