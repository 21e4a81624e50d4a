"""Why requests are sent that name nobody, and which of them passed the check of the token, as the log shows it.

A real code is not needed to see that. Without a token a synthetic code is refused in one way, with the valid token in
another one: as unknown. A request without the valid token that is answered in that other way passed the check.

That counts only if it happens each time, while comparable requests are refused each time, because some services answer
the same request now this way, now that way: two nodes in turn, for instance. There are three comparisons:

| let in | while refused |
|---|---|
| the requests at one place of a chain, right behind a success for instance | those at another place of it |
| the plain requests of the first second | plain requests later in the run |
| the requests with a stand-in for a token | plain requests in between |
"""

from __future__ import annotations

from collections.abc import Sequence

from spec.answers import ABOUT_THE_CALLER, PASSING, grants_protected_result, refusal_kind
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
    APART = "a synthetic identifier with one part of a stand-in that was answered otherwise"
    SHOWS_IT = "a synthetic identifier again, with the stand-in that was answered like the token"
    IN_BETWEEN = "a synthetic identifier without a token, between requests with a stand-in"
    OF_A_READ = "a read with the stand-in that was answered like the token"


WITHOUT_THE_TOKEN = (
    Trust.AT_THE_START, Trust.AFTER_THE_START, Trust.BEHIND_A_SUCCESS, Trust.BEHIND_A_REFUSAL,
    Trust.ANOTHER_TOKEN_BEHIND, Trust.STAND_IN, Trust.APART, Trust.SHOWS_IT, Trust.IN_BETWEEN,
)  # fmt: skip
"""Purposes of the requests that name nobody and have no valid token."""
PLAIN_AT_THE_START = 2
"""Plain requests in the first second, to each operation: few, because some services lock a caller out after three."""
CHAIN = (Trust.BEHIND_A_SUCCESS, Trust.BEHIND_A_REFUSAL, Trust.ANOTHER_TOKEN_BEHIND)
"""The places of a chain: requests one behind the other, over one connection, right behind a read."""
_IN_TURN = {"-": Trust.IN_BETWEEN, "+": Trust.SHOWS_IT}
ORDER = tuple(_IN_TURN[sign] for sign in "-++-+--++--+-++-")
"""Requests without a token (-) and with a stand-in (+) that show whether the stand-in was let in.

Nodes that take turns, in whatever order, do not answer all of the one kind in one way, and all of the other kind in
another way.
"""
TIMES = 5
"""How often a request is sent again before it counts that it is answered in one way each time."""


# -- one answer -----------------------------------------------------------------------------------------------------


def tells_of_the_identifier(answer: Exchange) -> bool:
    """True if the answer may be the one that the valid token gets: it is not about the caller, nor of the moment."""
    if answer.response is None:
        return False
    return refusal_kind(answer.response) not in ABOUT_THE_CALLER | PASSING


def answer_with_the_token(answer: Exchange, log: Log) -> Exchange | None:
    """The answer to the same request with the token, for a key of the same type; None if it was not sent."""
    for with_the_token in log.of(answer.operation, Trust.WITH_THE_TOKEN):
        if key_type_of(with_the_token) == key_type_of(answer):
            return with_the_token
    return None


def key_type_of(exchange: Exchange) -> str:
    """The key type of a registration; empty for an execution."""
    return type_sent(exchange) if exchange.operation == REGISTER else ""


def is_like_with_the_token(answer: Exchange, log: Log) -> bool:
    """True for the answer that the valid token gets, if that tells of the identifier and not of the caller."""
    with_the_token = answer_with_the_token(answer, log)
    if with_the_token is None or not tells_of_the_identifier(answer):
        return False
    return indistinguishable(answer, with_the_token)


def is_refused(answer: Exchange, log: Log) -> bool:
    """True for a refusal that the valid token does not get."""
    if answer.response is None:
        return False
    kind = refusal_kind(answer.response)
    if kind is None or kind in PASSING:
        return False
    return not is_like_with_the_token(answer, log)


def _are_all_like_with_the_token(answers: Sequence[Exchange], log: Log) -> bool:
    return all(is_like_with_the_token(answer, log) for answer in answers)


def _are_all_refused(answers: Sequence[Exchange], log: Log) -> bool:
    return all(is_refused(answer, log) for answer in answers)


# -- a chain --------------------------------------------------------------------------------------------------------


def is_refused_at_each_place(log: Log, operation: str) -> bool:
    """True if a token makes a difference: each request of the first chain is refused."""
    first_chain = log.of(operation, *CHAIN)[: len(CHAIN)]
    return bool(first_chain) and _are_all_refused(first_chain, log)


def is_refused_at_some_place(log: Log, operation: str) -> bool:
    """True if some requests of the first chain are refused and others are not: further chains show what decides."""
    first_chain = log.of(operation, *CHAIN)[: len(CHAIN)]
    refused = [answer for answer in first_chain if is_refused(answer, log)]
    return 0 < len(refused) < len(first_chain)


def let_in_by_their_place(log: Log, operation: str) -> list[Exchange]:
    """The requests at those places of the chain that are let in each time, if another place never is."""
    places = [log.of(operation, place) for place in CHAIN]
    if any(len(answers) <= TIMES for answers in places):
        return []
    if not any(_are_all_refused(answers, log) for answers in places):
        return []
    let_in_each_time: list[Exchange] = []
    for answers in places:
        if _are_all_like_with_the_token(answers, log):
            let_in_each_time += answers
    return let_in_each_time


def is_refused_like_the_plain_request(answer: Exchange, log: Log) -> bool:
    """True for a refusal of the same kind as that of the first request without a token."""
    plain = log.of(answer.operation, Trust.BEHIND_A_SUCCESS)[0]
    if answer.response is None or plain.response is None:
        return False
    return refusal_kind(answer.response) is refusal_kind(plain.response)


# -- the first second -----------------------------------------------------------------------------------------------


def may_be_let_in_at_the_start(log: Log, operation: str) -> bool:
    """True if every plain request of the first second is answered as with the token."""
    at_the_start = log.sent(operation, Trust.AT_THE_START)
    return len(at_the_start) == PLAIN_AT_THE_START and _are_all_like_with_the_token(at_the_start, log)


def let_in_at_the_start(log: Log, operation: str) -> list[Exchange]:
    """The plain requests of the first second, if they were let in while later ones are refused."""
    later = log.of(operation, Trust.AFTER_THE_START)
    are_later_ones_refused = len(later) == TIMES and _are_all_refused(later, log)
    if not are_later_ones_refused or not may_be_let_in_at_the_start(log, operation):
        return []
    return log.sent(operation, Trust.AT_THE_START)


# -- stand-ins ------------------------------------------------------------------------------------------------------


def fits_if_let_in(answer: Exchange, log: Log) -> bool:
    """True for an answer in ORDER that shows that the stand-in is let in: one with it, or a refusal in between."""
    if answer.purpose is Trust.SHOWS_IT:
        return is_like_with_the_token(answer, log)
    return is_refused(answer, log)


def last_answers_show_it(log: Log, operation: str) -> bool:
    """True if the last answers to an operation show that a stand-in is let in."""
    answers = log.of(operation, Trust.SHOWS_IT, Trust.IN_BETWEEN)
    return _answers_show_it(answers[-len(ORDER) :], log)


def _answers_show_it(answers: Sequence[Exchange], log: Log) -> bool:
    """True if these are all that ORDER asks for, and each shows that the stand-in is let in."""
    purposes = tuple(answer.purpose for answer in answers)
    return purposes == ORDER and all(fits_if_let_in(answer, log) for answer in answers)


def stand_ins_let_in(log: Log, operation: str) -> list[list[Exchange]]:
    """The requests with each stand-in that was let in: several for each."""
    let_in_each_time: list[list[Exchange]] = []
    for answers, read in _answers_before_each_read(log):
        with_the_stand_in = [answer for answer in answers if answer.purpose is Trust.SHOWS_IT]
        is_of_the_operation = bool(with_the_stand_in) and with_the_stand_in[0].operation == operation
        if not is_of_the_operation or _is_filtered(with_the_stand_in[0], read):
            continue
        if _answers_show_it(answers, log):
            let_in_each_time.append(with_the_stand_in)
    return let_in_each_time


def _answers_before_each_read(log: Log) -> list[tuple[list[Exchange], Exchange]]:
    """Each read with a stand-in, and before it the answers in ORDER, which it follows at once."""
    pairs: list[tuple[list[Exchange], Exchange]] = []
    answers: list[Exchange] = []
    for exchange in log.with_purpose(Trust.SHOWS_IT, Trust.IN_BETWEEN, Trust.OF_A_READ):
        if exchange.purpose is Trust.OF_A_READ:
            pairs.append((answers[-len(ORDER) :], exchange))
        else:
            answers.append(exchange)
    return pairs


def _is_filtered(answer: Exchange, read: Exchange) -> bool:
    """True if a read with the same stand-in is answered alike: then a filter refuses what is unusual, in the same words
    as an unknown identifier."""
    return read.response is None or indistinguishable(read, answer)


# -- all of it ------------------------------------------------------------------------------------------------------


def let_in(log: Log, operation: str) -> tuple[tuple[str, list[Exchange]], ...]:
    """The requests that passed the check of the token, by the finding that says so."""
    requests = let_in_by_their_place(log, operation)
    for with_the_stand_in in stand_ins_let_in(log, operation):
        requests += with_the_stand_in
    return ("let-in", requests), ("let-in-at-first", let_in_at_the_start(log, operation))


def granted_to_anybody(log: Log, operation: str) -> list[Exchange]:
    """The requests that name nobody, have no valid token, and got a result all the same."""
    return [exchange for exchange in log.sent(operation, *WITHOUT_THE_TOKEN) if grants_protected_result(exchange)]
