"""Why requests are sent that name nobody, and which of them were let in: they passed the check of the token without it.

A request names nobody if its code, its account and its key are made up by the suite (synthetic). A stand-in is anything
that some services trust in the place of a token, such as a header that a gateway sets. A plain request has neither.

A real code is not needed to see that. Without a token a synthetic code is refused in one way, with the valid token in
another one: as unknown. A request without the valid token that is answered in that other way was let in.

That counts only if it happens each time, while comparable requests are refused each time, because some services answer
the same request now this way, now that way: two nodes in turn, for instance. There are three comparisons:

| let in | while refused |
|---|---|
| the requests at one place of a chain (`CHAIN`), right after a success for instance | those at another place of it |
| the plain requests of the first second | plain requests later in the run |
| the requests with a stand-in for a token | plain requests in between |
"""

from __future__ import annotations

from collections.abc import Sequence

from spec.answers import ABOUT_THE_CALLER, TEMPORARY_REFUSALS, grants_protected_result, refusal_kind
from spec.exchange import Exchange, Purpose
from spec.log import Log
from spec.observed import indistinguishable
from tests.traffic.keys.purposes import REGISTER, type_sent


class Trust(Purpose):
    """Why a request is sent that names nobody, to see what the check of the token lets in."""

    AT_THE_START = "a synthetic identifier without a token, in the first second"
    AFTER_THE_START = "a synthetic identifier without a token, later than in the first second"
    BEFORE = "a read right before a request without a token"
    BEHIND_A_SUCCESS = "a synthetic identifier without a token, right behind a read that succeeds"
    BEHIND_A_REFUSAL = "a synthetic identifier without a token, right behind a refusal"
    ANOTHER_TOKEN_BEHIND = "a synthetic identifier with a wrong token, right behind a refusal"
    WITH_THE_TOKEN = "a synthetic identifier with the token, to compare with"
    STAND_IN = "a synthetic identifier with a stand-in for the token"
    ONE_PART = "a synthetic identifier with one part of a stand-in that was answered otherwise"
    STAND_IN_AGAIN = "a synthetic identifier again, with the stand-in that was answered like the token"
    NO_TOKEN_IN_BETWEEN = "a synthetic identifier without a token, between requests with a stand-in"
    OF_A_READ = "a read with the stand-in that was answered like the token"


WITHOUT_THE_TOKEN = (
    Trust.AT_THE_START, Trust.AFTER_THE_START, Trust.BEHIND_A_SUCCESS, Trust.BEHIND_A_REFUSAL,
    Trust.ANOTHER_TOKEN_BEHIND, Trust.STAND_IN, Trust.ONE_PART, Trust.STAND_IN_AGAIN, Trust.NO_TOKEN_IN_BETWEEN,
)  # fmt: skip
"""Purposes of the requests that name nobody and have no valid token."""
PLAIN_AT_THE_START = 2
"""Requests without a token in the first second, to each operation: few, because some services lock a caller out after
three."""
CHAIN = (Trust.BEHIND_A_SUCCESS, Trust.BEHIND_A_REFUSAL, Trust.ANOTHER_TOKEN_BEHIND)
"""A chain: these requests one after the other, on one connection, right after a read that succeeds."""
_IN_TURN = {"-": Trust.NO_TOKEN_IN_BETWEEN, "+": Trust.STAND_IN_AGAIN}
ORDER_OF_PROOF = tuple(_IN_TURN[sign] for sign in "-++-+--++--+-++-")
"""Requests without a token (-) and with a stand-in (+) that show whether the stand-in was let in.

The order is irregular because a service may have several nodes that take turns: such nodes, whatever their order, do
not answer all requests of one sort in one way, and all of the other sort in another way.
"""
TIMES = 5
"""How often a request is sent again before it counts that it is answered in one way each time."""


# -- one answer -----------------------------------------------------------------------------------------------------


def depends_on_the_identifier(answer: Exchange) -> bool:
    """True if the answer seems to be about the code or account in the request.

    It is then no refusal of the caller, such as 401, and nothing temporary, such as a server error or a rate limit. The
    valid token may get the same answer.
    """
    if answer.response is None:
        return False
    return refusal_kind(answer.response) not in ABOUT_THE_CALLER | TEMPORARY_REFUSALS


def answer_with_the_token(answer: Exchange, log: Log) -> Exchange | None:
    """The answer to the same request with the token, for a key of the same type; None if it was not sent."""
    for with_the_token in log.of(answer.operation, Trust.WITH_THE_TOKEN):
        if key_type_of(with_the_token) == key_type_of(answer):
            return with_the_token
    return None


def key_type_of(exchange: Exchange) -> str:
    """The key type of a registration; empty for an execution."""
    return type_sent(exchange) if exchange.operation == REGISTER else ""


def is_answered_as_with_the_token(answer: Exchange, log: Log) -> bool:
    """True if the answer is the same as with the valid token, and is about the code or account in the request."""
    with_the_token = answer_with_the_token(answer, log)
    if with_the_token is None or not depends_on_the_identifier(answer):
        return False
    return indistinguishable(answer, with_the_token)


def is_refused(answer: Exchange, log: Log) -> bool:
    """True if the answer is a refusal that will stay, and the valid token gets another answer."""
    if answer.response is None:
        return False
    kind = refusal_kind(answer.response)
    if kind is None or kind in TEMPORARY_REFUSALS:
        return False
    return not is_answered_as_with_the_token(answer, log)


def _are_all_answered_as_with_the_token(answers: Sequence[Exchange], log: Log) -> bool:
    """True if each answer is the same as with the valid token."""
    return all(is_answered_as_with_the_token(answer, log) for answer in answers)


def _are_all_refused(answers: Sequence[Exchange], log: Log) -> bool:
    """True if each answer is a refusal that the valid token does not get."""
    return all(is_refused(answer, log) for answer in answers)


# -- a chain --------------------------------------------------------------------------------------------------------


def is_refused_at_each_place(log: Log, operation: str) -> bool:
    """True if each request of the first chain is refused, which shows that the operation wants a token."""
    first_chain = log.of(operation, *CHAIN)[: len(CHAIN)]
    return bool(first_chain) and _are_all_refused(first_chain, log)


def is_refused_at_some_place(log: Log, operation: str) -> bool:
    """True if some requests of the first chain are refused and others are not. Then more chains are sent, to see why.

    A chain is a read and three requests without the valid token, one after the other on one connection.
    """
    first_chain = log.of(operation, *CHAIN)[: len(CHAIN)]
    refused = [answer for answer in first_chain if is_refused(answer, log)]
    return 0 < len(refused) < len(first_chain)


def let_in_by_their_place(log: Log, operation: str) -> list[Exchange]:
    """The requests without the valid token that were let in because of what their connection carried before.

    The requests of a chain (`CHAIN`) go one after the other on one connection. Those at one place of it count if each
    of them is answered as with the token, and at another place each is refused. Empty unless the chain was sent more
    often than TIMES, because a service of several nodes may answer so by chance.
    """
    answers_by_place = [log.of(operation, place) for place in CHAIN]
    if any(len(answers) <= TIMES for answers in answers_by_place):
        return []
    if not any(_are_all_refused(answers, log) for answers in answers_by_place):
        return []
    let_in_each_time: list[Exchange] = []
    for answers in answers_by_place:
        if _are_all_answered_as_with_the_token(answers, log):
            let_in_each_time += answers
    return let_in_each_time


def is_refused_like_the_plain_request(answer: Exchange, log: Log) -> bool:
    """True if the answer is a refusal of the same kind as the answer to the first request without a token."""
    plain = log.of(answer.operation, Trust.BEHIND_A_SUCCESS)[0]
    if answer.response is None or plain.response is None:
        return False
    return refusal_kind(answer.response) is refusal_kind(plain.response)


# -- the first second -----------------------------------------------------------------------------------------------


def may_be_let_in_at_the_start(log: Log, operation: str) -> bool:
    """True if every request without a token in the first second was answered as with the token."""
    at_the_start = log.sent(operation, Trust.AT_THE_START)
    return len(at_the_start) == PLAIN_AT_THE_START and _are_all_answered_as_with_the_token(at_the_start, log)


def let_in_at_the_start(log: Log, operation: str) -> list[Exchange]:
    """The requests without a token in the first second, if they were let in and later ones are refused."""
    later = log.of(operation, Trust.AFTER_THE_START)
    are_later_ones_refused = len(later) == TIMES and _are_all_refused(later, log)
    if not are_later_ones_refused or not may_be_let_in_at_the_start(log, operation):
        return []
    return log.sent(operation, Trust.AT_THE_START)


# -- stand-ins ------------------------------------------------------------------------------------------------------


def agrees_with_let_in(answer: Exchange, log: Log) -> bool:
    """True if an answer in ORDER_OF_PROOF is the one that is expected if the stand-in is let in.

    With the stand-in it is the same as with the token. In between, without a token, it is a refusal.
    """
    if answer.purpose is Trust.STAND_IN_AGAIN:
        return is_answered_as_with_the_token(answer, log)
    return is_refused(answer, log)


def last_answers_prove_it(log: Log, operation: str) -> bool:
    """True if the last answers to an operation prove that the stand-in in them is let in.

    A stand-in is something that some services trust in the place of a token, such as a header that a gateway sets.
    """
    answers = log.of(operation, Trust.STAND_IN_AGAIN, Trust.NO_TOKEN_IN_BETWEEN)
    return _answers_prove_it(answers[-len(ORDER_OF_PROOF) :], log)


def _answers_prove_it(answers: Sequence[Exchange], log: Log) -> bool:
    """True if these answer all requests of ORDER_OF_PROOF, and each is as expected if the stand-in is let in."""
    purposes = tuple(answer.purpose for answer in answers)
    return purposes == ORDER_OF_PROOF and all(agrees_with_let_in(answer, log) for answer in answers)


def stand_ins_let_in(log: Log, operation: str) -> list[list[Exchange]]:
    """For each stand-in that was proved to be let in, the requests with it."""
    let_in_each_time: list[list[Exchange]] = []
    for answers, read in _answers_before_each_read(log):
        with_the_stand_in = [answer for answer in answers if answer.purpose is Trust.STAND_IN_AGAIN]
        is_of_the_operation = bool(with_the_stand_in) and with_the_stand_in[0].operation == operation
        if not is_of_the_operation or _is_filtered(with_the_stand_in[0], read):
            continue
        if _answers_prove_it(answers, log):
            let_in_each_time.append(with_the_stand_in)
    return let_in_each_time


def _answers_before_each_read(log: Log) -> list[tuple[list[Exchange], Exchange]]:
    """Pairs of the answers in ORDER_OF_PROOF to one stand-in, and the read with this stand-in that follows them."""
    pairs: list[tuple[list[Exchange], Exchange]] = []
    answers: list[Exchange] = []
    for exchange in log.with_purpose(Trust.STAND_IN_AGAIN, Trust.NO_TOKEN_IN_BETWEEN, Trust.OF_A_READ):
        if exchange.purpose is Trust.OF_A_READ:
            pairs.append((answers[-len(ORDER_OF_PROOF) :], exchange))
        else:
            answers.append(exchange)
    return pairs


def _is_filtered(answer: Exchange, read: Exchange) -> bool:
    """True if a read with the same stand-in gets the same answer as the operation.

    Then a filter in front of the service refuses any unusual request, in the same words as an unknown code or account,
    and the stand-in was not let in.
    """
    return read.response is None or indistinguishable(read, answer)


# -- all of it ------------------------------------------------------------------------------------------------------


def let_in(log: Log, operation: str) -> tuple[tuple[str, list[Exchange]], ...]:
    """By code of a finding, as pairs, the requests without the valid token that show it because they were let in."""
    requests = let_in_by_their_place(log, operation)
    for with_the_stand_in in stand_ins_let_in(log, operation):
        requests += with_the_stand_in
    return ("let-in", requests), ("let-in-at-first", let_in_at_the_start(log, operation))


def granted_to_anybody(log: Log, operation: str) -> list[Exchange]:
    """The requests that name nobody, have no valid token, and got a result all the same."""
    return [exchange for exchange in log.sent(operation, *WITHOUT_THE_TOKEN) if grants_protected_result(exchange)]
