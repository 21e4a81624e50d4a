"""Which requests without the valid token were let in: they passed the check of the token.

asking.py sends these requests, and stand_ins.py says what they have instead of the token. This module sends nothing:
its functions look at the answers in the log.

| word | meaning |
|---|---|
| synthetic | made up by the suite: a code, an account or a key that belongs to nobody |
| let in | answered as if the request had the valid token |
| stand-in | what some services trust instead of a token, such as a header that a gateway sets |
| series | one to three reads, and then three requests without the valid token, one after the other on one connection |
| position | which of these three requests it is, such as the one right after the last read |

No real code is needed to see that a request was let in. Without a token a synthetic code is refused in one way (401),
and with the valid token in another way: as unknown (404). So a request without the valid token was let in if it gets
the answer of the valid token.

That counts only if it happens each time, while comparable requests are refused each time, because some services answer
the same request sometimes in one way and sometimes in another: two servers in turn, for instance. There are three
comparisons:

| requests that are let in | requests that are refused |
|---|---|
| those at one position of a series, such as right after a success | those at another position of it |
| those without a token in the first second of the run | those without a token later in the run |
| those with a stand-in for a token | those without a token in between |
"""

from __future__ import annotations

from collections.abc import Sequence

from spec.answers import ABOUT_THE_CALLER, TEMPORARY_REFUSALS, grants_protected_result, refusal_kind
from spec.exchange import Exchange, Purpose
from spec.log import Log
from spec.observed import is_answered_like
from tests.traffic.keys.purposes import REGISTER, type_sent


class Trust(Purpose):
    """Why a request with a synthetic code or account is sent, to see what the check of the token lets in."""

    AT_THE_START = "a synthetic identifier without a token, in the first second"
    AFTER_THE_START = "a synthetic identifier without a token, later than in the first second"
    READ_BEFORE_A_SERIES = "a read right before a request without a token"
    RIGHT_AFTER_A_SUCCESS = "a synthetic identifier without a token, right behind a read that succeeds"
    RIGHT_AFTER_A_REFUSAL = "a synthetic identifier without a token, right behind a refusal"
    WRONG_TOKEN_AFTER_A_REFUSAL = "a synthetic identifier with a wrong token, right behind a refusal"
    READ_BEFORE_A_COMPARISON = "a read right before a request to compare with"
    WITH_THE_TOKEN = "a synthetic identifier with the token, to compare with"
    STAND_IN = "a synthetic identifier with a stand-in for the token"
    ONE_PART = "a synthetic identifier with one part of a stand-in that was answered otherwise"
    STAND_IN_AGAIN = "a synthetic identifier again, with the stand-in that was answered like the token"
    NO_TOKEN_IN_BETWEEN = "a synthetic identifier without a token, between requests with a stand-in"
    READ_WITH_STAND_IN = "a read with the stand-in that was answered like the token"


WITHOUT_THE_TOKEN = (
    Trust.AT_THE_START, Trust.AFTER_THE_START, Trust.RIGHT_AFTER_A_SUCCESS, Trust.RIGHT_AFTER_A_REFUSAL,
    Trust.WRONG_TOKEN_AFTER_A_REFUSAL, Trust.STAND_IN, Trust.ONE_PART, Trust.STAND_IN_AGAIN, Trust.NO_TOKEN_IN_BETWEEN,
)  # fmt: skip
"""Purposes of the requests without the valid token, all of which have a synthetic code or account."""
REQUESTS_AT_THE_START = 2
"""Requests without a token in the first second, to each operation: few, because some services lock a caller out after
three."""
PURPOSES_IN_A_SERIES = (Trust.RIGHT_AFTER_A_SUCCESS, Trust.RIGHT_AFTER_A_REFUSAL, Trust.WRONG_TOKEN_AFTER_A_REFUSAL)
"""A series has a request for each of these purposes, in this order. They are sent on one connection, right after one to
three reads that succeed."""
_PLAIN_REQUESTS = (Trust.AT_THE_START, Trust.AFTER_THE_START, *PURPOSES_IN_A_SERIES, Trust.NO_TOKEN_IN_BETWEEN)
"""Purposes of the requests without the valid token that have nothing in its place, and are written as documented."""
_PURPOSE_BY_SIGN = {"-": Trust.NO_TOKEN_IN_BETWEEN, "+": Trust.STAND_IN_AGAIN}  # for the order of the next constant
ORDER_OF_PROOF = tuple(_PURPOSE_BY_SIGN[sign] for sign in "-++-+--++--+-++-")
"""Requests without a token (-) and with a stand-in (+) that show whether the stand-in was let in.

The order is irregular because a service may have several nodes that take turns: such nodes, whatever their order, do
not answer all requests of one sort in one way, and all of the other sort in another way.
"""
TIMES_SENT_AGAIN = 5
"""How often a request is sent again. Only then the same answer each time counts as no accident."""


# -- one answer -----------------------------------------------------------------------------------------------------


def is_about_the_identifier(answer: Exchange) -> bool:
    """True if the answer seems to be about the identifier in the request: its code or account.

    Such an answer is, for example, a 404 for an unknown code, which the valid token gets, too, or a success. False for
    an answer about the caller, such as a 401, and for a temporary one, such as a server error or a rate limit.
    """
    if answer.response is None:
        return False
    return refusal_kind(answer.response) not in ABOUT_THE_CALLER | TEMPORARY_REFUSALS


def answer_with_the_token(answer: Exchange, log: Log) -> Exchange | None:
    """The exchange in which the same request was sent with the valid token; None if it was not sent.

    An answer is compared with it, to see whether a request without the token gets the same. A registration is the same
    only if its key has the same type, because a service may treat key types in different ways.
    """
    for with_the_token in log.of(answer.operation, Trust.WITH_THE_TOKEN):
        if key_type_of(with_the_token) == key_type_of(answer):
            return with_the_token
    return None


def key_type_of(exchange: Exchange) -> str:
    """The key type that a registration names, such as EMAIL; empty for an execution, which names no key."""
    return type_sent(exchange) if exchange.operation == REGISTER else ""


def is_answered_as_with_the_token(answer: Exchange, log: Log) -> bool:
    """True if a request without the valid token got the same answer as with it, so that it may have been let in.

    The answer must be about the code or account in the request, because a busy service gives everybody the same answer.
    """
    with_the_token = answer_with_the_token(answer, log)
    if with_the_token is None or not is_about_the_identifier(answer):
        return False
    return is_answered_like(answer, with_the_token)


def is_refused_for_the_token(answer: Exchange, log: Log) -> bool:
    """True if a request without the valid token was refused, and the valid token did not get the same answer.

    So the missing token is the reason. A temporary refusal, such as a 503, does not count.
    """
    if answer.response is None:
        return False
    kind = refusal_kind(answer.response)
    if kind is None or kind in TEMPORARY_REFUSALS:
        return False
    return not is_answered_as_with_the_token(answer, log)


def _are_all_answered_as_with_the_token(answers: Sequence[Exchange], log: Log) -> bool:
    """True if each of these requests without the valid token got the same answer as with it."""
    return all(is_answered_as_with_the_token(answer, log) for answer in answers)


def _are_all_refused_for_the_token(answers: Sequence[Exchange], log: Log) -> bool:
    """True if each of these requests was refused because it has no valid token: the valid token gets other answers."""
    return all(is_refused_for_the_token(answer, log) for answer in answers)


# -- a series -------------------------------------------------------------------------------------------------------


def are_all_refused_in_first_series(log: Log, operation: str) -> bool:
    """True if each request without the valid token in the first series to an operation was refused.

    This shows that the operation needs a token. A series is a read with the token, and then three requests without it,
    on one connection. Only these three requests are looked at.
    """
    first_series = log.of(operation, *PURPOSES_IN_A_SERIES)[: len(PURPOSES_IN_A_SERIES)]
    return bool(first_series) and _are_all_refused_for_the_token(first_series, log)


def are_only_some_refused_in_first_series(log: Log, operation: str) -> bool:
    """True if some requests of the first series to an operation were refused, and others were not.

    A series is a read with the token, and then three requests without it, on one connection. Only these three
    requests are looked at. If the service refuses some of them, more series are sent, to see whether the answer depends
    on what the connection carried before.
    """
    first_series = log.of(operation, *PURPOSES_IN_A_SERIES)[: len(PURPOSES_IN_A_SERIES)]
    refused = [answer for answer in first_series if is_refused_for_the_token(answer, log)]
    return 0 < len(refused) < len(first_series)


def let_in_by_their_position(log: Log, operation: str) -> list[Exchange]:
    """The requests without the valid token that were let in because of what their connection carried before.

    A series has one to three reads, and then three requests without the valid token, on one connection. Six series are
    sent. The requests at one of the three positions, such as right after the reads, were let in if each of them got the
    answer of the valid token, while each request at another position was refused.

    The result is empty if fewer than six series were sent, because a few series may be answered in this way by chance:
    several servers may take turns.
    """
    # Each of the three positions in a series has a purpose of its own.
    answers_by_position = [log.of(operation, purpose) for purpose in PURPOSES_IN_A_SERIES]
    number_of_series = min(len(answers) for answers in answers_by_position)
    if number_of_series < 1 + TIMES_SENT_AGAIN:
        return []
    is_one_position_always_refused = any(
        _are_all_refused_for_the_token(answers, log) for answers in answers_by_position
    )
    if not is_one_position_always_refused:
        return []
    let_in_each_time: list[Exchange] = []
    for answers in answers_by_position:
        if _are_all_answered_as_with_the_token(answers, log):
            let_in_each_time += answers
    return let_in_each_time


def is_refused_like_without_any_token(answer: Exchange, log: Log) -> bool:
    """True if a request with a stand-in was refused in the same way as the first request without any token.

    Then the service did not look at the stand-in (what some services trust instead of a token).
    """
    without_any_token = log.of(answer.operation, Trust.RIGHT_AFTER_A_SUCCESS)[0]  # sent before each stand-in
    if answer.response is None or without_any_token.response is None:
        return False
    return refusal_kind(answer.response) is refusal_kind(without_any_token.response)


# -- the first second -----------------------------------------------------------------------------------------------


def may_be_let_in_at_the_start(log: Log, operation: str) -> bool:
    """True if every request without a token in the first second of the run got the answer of the valid token.

    Then such requests are sent again later: a service may check no tokens until it is ready.
    """
    at_the_start = log.sent(operation, Trust.AT_THE_START)
    return len(at_the_start) == REQUESTS_AT_THE_START and _are_all_answered_as_with_the_token(at_the_start, log)


def let_in_at_the_start(log: Log, operation: str) -> list[Exchange]:
    """The requests without a token in the first second of the run, if they were let in, and later ones were refused.

    Empty if a later one was not refused: then the start of the run made no difference. Also empty if not all of the
    later ones were sent.
    """
    later = log.of(operation, Trust.AFTER_THE_START)
    are_later_ones_refused = len(later) == TIMES_SENT_AGAIN and _are_all_refused_for_the_token(later, log)
    if are_later_ones_refused and may_be_let_in_at_the_start(log, operation):
        return log.sent(operation, Trust.AT_THE_START)
    return []


# -- one of several servers -----------------------------------------------------------------------------------------


def answered_as_with_the_token_at_times(log: Log, operation: str) -> list[Exchange]:
    """The requests without the valid token that got an answer about the code or account, while equal ones are refused.

    Equal requests have the same credential, no stand-in, and made-up identifiers. Then one of several servers may not
    check tokens. But it may also look up the code or account before it checks the token, which no statement forbids. So
    these answers prove nothing: only a request for a real code or account shows whether it is let in.
    """
    plain = plain_requests(log, operation)
    credentials_refused = {answer.credential for answer in plain if is_refused_for_the_token(answer, log)}
    as_with_the_token = [answer for answer in plain if is_answered_as_with_the_token(answer, log)]
    return [answer for answer in as_with_the_token if answer.credential in credentials_refused]


def plain_requests(log: Log, operation: str) -> list[Exchange]:
    """The requests without the valid token that have made-up identifiers, and nothing in the place of the token."""
    return log.sent(operation, *_PLAIN_REQUESTS)


# -- stand-ins ------------------------------------------------------------------------------------------------------


def is_as_expected_if_let_in(answer: Exchange, log: Log) -> bool:
    """True if an answer is the one that is expected if a stand-in is let in: accepted as if it was the valid token.

    A stand-in is what some services trust instead of a token. Requests with it and requests without any token are sent
    in an irregular order (ORDER_OF_PROOF). With the stand-in the same answer is expected as with the valid token.
    Without any token a refusal is expected.
    """
    if answer.purpose is Trust.STAND_IN_AGAIN:
        return is_answered_as_with_the_token(answer, log)
    return is_refused_for_the_token(answer, log)


def is_stand_in_proved_by_last_answers(log: Log, operation: str) -> bool:
    """True if the last requests to an operation prove that the stand-in in them is let in, as if it was the token.

    A stand-in is what some services trust instead of a token, such as a header that a gateway sets. The last requests
    were sent with the stand-in and without any token, in an irregular order (ORDER_OF_PROOF).
    """
    answers = log.of(operation, Trust.STAND_IN_AGAIN, Trust.NO_TOKEN_IN_BETWEEN)
    return _is_stand_in_proved_by(answers[-len(ORDER_OF_PROOF) :], log)


def _is_stand_in_proved_by(answers: Sequence[Exchange], log: Log) -> bool:
    """True if these answers prove that a stand-in is let in: it gets the answer of the valid token each time.

    They must answer all requests with the stand-in and without any token, in ORDER_OF_PROOF. Each must be the answer
    that is expected if the stand-in is let in.
    """
    purposes = tuple(answer.purpose for answer in answers)
    return purposes == ORDER_OF_PROOF and all(is_as_expected_if_let_in(answer, log) for answer in answers)


def stand_ins_let_in(log: Log, operation: str) -> list[list[Exchange]]:
    """For each stand-in that an operation certainly let in (as if it was the token), the requests that had it.

    A stand-in is what some services trust instead of a token. After the requests of a proof, a read with the same
    stand-in was sent. It shows whether a filter in front of the service answers all such requests (`_is_filtered`).
    """
    requests_of_stand_ins: list[list[Exchange]] = []
    for answers, read in _answers_before_each_read(log):
        with_the_stand_in = [answer for answer in answers if answer.purpose is Trust.STAND_IN_AGAIN]
        is_of_the_operation = bool(with_the_stand_in) and with_the_stand_in[0].operation == operation
        if not is_of_the_operation or _is_filtered(with_the_stand_in[0], read):
            continue
        if _is_stand_in_proved_by(answers, log):
            requests_of_stand_ins.append(with_the_stand_in)
    return requests_of_stand_ins


def _answers_before_each_read(log: Log) -> list[tuple[list[Exchange], Exchange]]:
    """Pairs: the answers that may prove that a stand-in is let in, and the read with this stand-in that follows them.

    The answers are those in ORDER_OF_PROOF, to requests with the stand-in and without any token. The read is sent only
    if they prove it. So answers that no read follows prove nothing, and are left out.
    """
    pairs: list[tuple[list[Exchange], Exchange]] = []
    answers: list[Exchange] = []
    for exchange in log.with_purpose(Trust.STAND_IN_AGAIN, Trust.NO_TOKEN_IN_BETWEEN, Trust.READ_WITH_STAND_IN):
        if exchange.purpose is Trust.READ_WITH_STAND_IN:
            pairs.append((answers[-len(ORDER_OF_PROOF) :], exchange))  # the last ones: those right before the read
        else:
            answers.append(exchange)
    return pairs


def _is_filtered(answer: Exchange, read: Exchange) -> bool:
    """True if a read with a stand-in gets the same answer as the execution or registration with it.

    Then a filter in front of the service refuses any request with this stand-in, in the same words as an unknown code
    or account, and the stand-in was not let in. Also true if the read has no answer, because then nothing is proved.
    """
    return read.response is None or is_answered_like(read, answer)


# -- all of it ------------------------------------------------------------------------------------------------------


def requests_let_in_by_finding(log: Log, operation: str) -> tuple[tuple[str, list[Exchange]], ...]:
    """The requests without the valid token that an operation accepted as if they had it, in two pairs.

    Each pair has the code of the finding (the sentence in the report) and the requests that show it, if any:
    `(("let-in", [...]), ("let-in-at-first", []))`. The second pair is about the first second of the run, in which a
    service may not check tokens yet.
    """
    requests = let_in_by_their_position(log, operation)
    for with_the_stand_in in stand_ins_let_in(log, operation):
        requests += with_the_stand_in
    return ("let-in", requests), ("let-in-at-first", let_in_at_the_start(log, operation))


def results_without_valid_token(log: Log, operation: str) -> list[Exchange]:
    """The requests for made-up codes or accounts that got the result of an execution or registration without the token.

    Nobody may get such a result without the valid token, even if the code or account does not exist.
    """
    return [exchange for exchange in log.sent(operation, *WITHOUT_THE_TOKEN) if grants_protected_result(exchange)]
