"""Requests that are refused at times, although the service takes the same request before and after them.

One node of several may refuse a token, or lack a path. A conforming service may refuse for a while, too: it locks a
caller out after wrong tokens, or is full. So a refusal counts only under all of these conditions:

- nothing else was on the wire;
- the same request was taken before it and after it. If a service keeps a 401 for a code, no request with that code is
  taken any more: then one of the two is enough;
- the request to the operation right before it, or right after it, was taken;
- a key that is registered already is not answered like that;
- there are two of them.

Where answers disagree, the run asks more: the same request goes sixteen times, one after the other.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import partial

from environments.door.permission import synthetic
from spec.answers import RefusalKind, refusal_kind, refusal_of_the_caller
from spec.exchange import VALID, Exchange, Purpose
from spec.interface import READS, operations
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
_MORE = 16
"""Times that a request goes where answers disagree. If one node of three is at fault, two of them show it in 69 runs of
70."""
MAY_MISS_A_PATH = ("registerPixKey", "listAccounts", "getBalance", "listEntries")
"""Operations of which the same request is found each time or never. A list without keys may be answered like an unknown
path."""


class Disagreement(Purpose):
    """Why a request is sent again and again."""

    ONCE_MORE = "the same request again, because answers disagree"
    ANOTHER_CODE = "another code that does not exist, because answers disagree"


_EQUAL: dict[str, tuple[Purpose, ...]] = {
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
"""Purposes of requests that are sent several times without a difference. Of a read each valid request is one."""


# -- what is sent -------------------------------------------------------------------------------------------------


@scenario(serves=["*.token.accepted", "*.exists"])
def ask_where_answers_disagree(traffic: Traffic) -> None:
    """Send the same request again and again to each operation whose answers disagree about the token or the path."""
    for operation in ("executePix", *MAY_MISS_A_PATH):
        if not traffic.permitted(operation) or not _answers_disagree(traffic.log, operation):
            continue
        send = _same_request(traffic, operation)
        if send is None:
            continue
        for _ in range(_MORE):
            send()
        if operation == "executePix":
            _send_beside_another_code(traffic, send)


def _send_beside_another_code(traffic: Traffic, send: Send) -> None:
    """Send the code again, each time before another one that does not exist: a service may keep a 401 for a code."""
    for _ in range(_FEWEST):
        send()
        traffic.client.send("executePix", synthetic(), purpose=Disagreement.ANOTHER_CODE)


def _answers_disagree(log: Log, operation: str) -> bool:
    """True if a valid token was refused, or a path was not found, although another answer took it. Only a documented
    operation accepts each valid token: a read may be forbidden."""
    kinds = [RefusalKind.TOKEN]
    if operation in _EQUAL:
        kinds += FOR_THE_TOKEN
    if operation in MAY_MISS_A_PATH:
        kinds += FOR_THE_PATH
    requests = log.attempts(operation)
    with_the_token = [exchange for exchange in requests if exchange.credential == VALID and not exchange.written]
    promising = [exchange for exchange in with_the_token if exchange.valid or operation == "executePix"]
    are_taken = any(_is_taken(exchange, kinds) for exchange in promising)
    return are_taken and any(_kind_of(exchange) in kinds for exchange in promising)


def _same_request(traffic: Traffic, operation: str) -> Send | None:
    """Sends the request that is compared; None if the run may not send it so often."""
    purpose = Disagreement.ONCE_MORE
    if operation == "executePix":
        codes = [seen.request.last_segment for seen in traffic.log.of(operation, Execution.UNKNOWN_CODE)]
        return partial(traffic.client.send, operation, codes[0], purpose=purpose) if codes else None
    account = next(iter(traffic.profile.accounts), None)
    if operation != "registerPixKey":
        place = account if operations()[operation].path_parameter else None
        return partial(traffic.client.send, operation, place, valid=True, purpose=purpose)
    return _registration_that_is_deleted(Registrar(traffic.client, traffic.profile)) if account else None


def _registration_that_is_deleted(registrar: Registrar) -> Send | None:
    """Registers a synthetic key, and deletes it; None if the run may not delete keys."""
    key = registrar.key_for_deletions()
    if key is None:
        return None

    def register_and_delete() -> Exchange:
        answer = registrar.register(key, Disagreement.ONCE_MORE)
        registrar.delete_key_of(answer)
        return answer

    return register_and_delete


# -- what the log says --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AtTimes:
    """Requests that were refused at times, and the number of those that were compared."""

    refused: Sequence[Exchange] = ()
    compared: int = 0
    taken: Sequence[Exchange] = field(default=())
    """One of the same requests that was taken."""


def refused_at_times(log: Log, operation: str, kinds: Collection[RefusalKind]) -> AtTimes:
    """The requests to an operation that were refused at times in one of these ways; none if they do not count."""
    sent = [exchange for exchange in log.attempts(operation) if exchange.response and not exchange.beside]
    compared = _compared(log, operation)
    taken = [exchange for exchange in sent if _is_taken(exchange, kinds)]
    refused = []
    for exchange in compared:
        if exchange in sent and _kind_of(exchange) in kinds and _is_refused_at_times(exchange, sent, taken):
            refused.append(exchange)
    if RefusalKind.TOKEN in kinds and refused:
        refused += _real_codes_refused(log, operation)
    if len(refused) < _FEWEST:
        return AtTimes()
    same = [exchange for exchange in taken if _is_same_request(exchange, refused[0])]
    return AtTimes(sorted(refused, key=lambda exchange: exchange.number), len(compared), same[:1])


def _compared(log: Log, operation: str) -> list[Exchange]:
    """The requests that are sent several times, but for those that are answered like each key which is registered."""
    if operation in READS:
        return log.valid(operation)
    sent = log.of(operation, *_EQUAL.get(operation, ()))
    answers = [exchange for exchange in sent if exchange.credential == VALID]
    if operation != "registerPixKey":
        return answers
    return [answer for answer in answers if not _may_be_refused_because_it_is_there(answer, log)]


def _may_be_refused_because_it_is_there(answer: Exchange, log: Log) -> bool:
    """True if a registration is answered like each key that is registered already. A body that cannot be read names no
    key."""
    repeated = repeated_registrations(log)
    if not repeated or answer.purpose is KeptRefusal.WITH_THE_TOKEN:
        return False
    return all(indistinguishable(answer, other) for other in repeated)


def _kind_of(exchange: Exchange) -> RefusalKind | None:
    """The way in which a request was refused; OTHER if there is no answer, or the token had expired."""
    if exchange.response is None:
        return RefusalKind.OTHER
    of_the_caller = refusal_of_the_caller(exchange.response)
    if of_the_caller and exchange.number in exchange.excused:
        return RefusalKind.OTHER
    return of_the_caller or refusal_kind(exchange.response)


def _is_taken(exchange: Exchange, kinds: Collection[RefusalKind]) -> bool:
    """True if the token was accepted, and the request was not refused in one of these ways."""
    kind = _kind_of(exchange)
    is_about_the_request = kind is None or kind in _ABOUT_A_REQUEST
    return exchange.credential == VALID and is_about_the_request and kind not in kinds


_ABOUT_A_REQUEST = frozenset(
    (RefusalKind.CONTENT, RefusalKind.NOT_FOUND, RefusalKind.CONFLICT, RefusalKind.ENVELOPE, RefusalKind.MEDIA_TYPE)
)
"""Refusals that a service gives only after it accepted the token."""


def _is_refused_at_times(exchange: Exchange, sent: list[Exchange], taken: list[Exchange]) -> bool:
    """True if the same request was taken before and after a refusal, and one right beside it was taken."""
    place = sent.index(exchange)
    beside_it = [*sent[max(0, place - 1) : place], *sent[place + 1 : place + 2]]
    if not any(other in taken for other in beside_it):
        return False
    same = [other.number for other in taken if _is_same_request(other, exchange)]
    before, after = any(number < exchange.number for number in same), any(number > exchange.number for number in same)
    if _kind_of(exchange) is not RefusalKind.TOKEN:
        return before and after
    is_taken_later = any(other.number > exchange.number for other in taken)
    return before and is_taken_later


def _is_same_request(one: Exchange, other: Exchange) -> bool:
    return (one.request.url, one.request.body) == (other.request.url, other.request.body)


def _real_codes_refused(log: Log, operation: str) -> list[Exchange]:
    """The executions that were refused for the token. A code goes once, so they count only beside others that do."""
    executions = answers_to_real_codes(log) if operation == "executePix" else []
    return [execution for execution in executions if _kind_of(execution) is RefusalKind.TOKEN]
