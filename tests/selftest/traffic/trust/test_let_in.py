"""Which requests without the valid token passed the check of it, by logs that are written by hand.

A request is let in if it has no valid token and is answered as if it had one. Its code or account is made up, so the
answer to the valid token is 404 (not found), and a refusal of the caller is 401. A stand-in is what some services trust
in the place of a token, such as a header that a gateway sets.
"""

from dataclasses import replace

import pytest

from environments.door.wrong_tokens import NO_HEADER, WRONG_TOKEN
from spec.exchange import VALID, FailureKind
from spec.log import Log
from tests.selftest.exchanges import EXECUTION_RESULT, answer, execution, unanswered
from tests.traffic.trust.let_in import (
    ORDER_OF_PROOF,
    PURPOSES_IN_A_SERIES,
    Trust,
    are_all_refused_in_first_series,
    are_only_some_refused_in_first_series,
    is_about_the_identifier,
    requests_let_in_by_finding,
    results_without_valid_token,
    stand_ins_let_in,
)

NOT_FOUND, UNAUTHORIZED, BUSY = 404, 401, 503
WITHOUT_A_TOKEN = {Trust.AT_THE_START, Trust.AFTER_THE_START, Trust.RIGHT_AFTER_A_SUCCESS, Trust.RIGHT_AFTER_A_REFUSAL}
NUMBER_OF_SERIES = 6


def exchange_for(purpose, status, operation="executePix", **changes):
    """A request with a made-up code or account that is sent for this purpose, and its answer with this status."""
    changes.setdefault("credential", NO_HEADER if purpose in WITHOUT_A_TOKEN else VALID)
    body = {"code": status, "data": {"error": f"Error {status}"}}
    return answer(operation, body, status=status, purpose=purpose, valid=False, **changes)


def read_with_a_stand_in(status=UNAUTHORIZED):
    """A read with a stand-in, and its refusal with this status."""
    return exchange_for(Trust.READ_WITH_STAND_IN, status, "listAccounts")


def sixteen_answers_of_a_proof(**changes):
    """Answers to requests with a stand-in (404) and without any token (401), eight of each, in an irregular order.

    They show that the stand-in was let in each time.
    """
    statuses = {Trust.STAND_IN_AGAIN: NOT_FOUND, Trust.NO_TOKEN_IN_BETWEEN: UNAUTHORIZED}
    return [exchange_for(purpose, statuses[purpose], **changes) for purpose in ORDER_OF_PROOF]


def log_of(*exchanges):
    """A log of these exchanges, with the numbers 1, 2 and so on."""
    return Log(replace(exchange, number=number) for number, exchange in enumerate(exchanges, 1))


def numbers_let_in(log, operation="executePix"):
    """The numbers of the requests that were let in.

    They are given by the code of their finding: "let-in", or "let-in-at-first" for those in the first second of a run.
    """
    numbers_by_code = {}
    for code, exchanges in requests_let_in_by_finding(log, operation):
        numbers_by_code[code] = [exchange.number for exchange in exchanges]
    return numbers_by_code


WITH_THE_TOKEN = exchange_for(Trust.WITH_THE_TOKEN, NOT_FOUND)
NONE_LET_IN = {"let-in": [], "let-in-at-first": []}


# -- one answer -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("exchange", "is_about_it"),
    [
        (exchange_for(Trust.STAND_IN, NOT_FOUND), True),
        (execution(), True),
        (exchange_for(Trust.STAND_IN, UNAUTHORIZED), False),
        (exchange_for(Trust.STAND_IN, BUSY), False),
        (unanswered(FailureKind.TIMEOUT), False),
    ],
    ids=["404: it is unknown", "an execution result", "401: the caller is refused", "503: busy", "no answer"],
)
def test_what_tells_of_the_identifier(exchange, is_about_it):
    """An answer is about the code in the request if it is a result, or says that the code is unknown.

    A refusal of the caller, a busy service and no answer say nothing about the code.
    """
    assert is_about_the_identifier(exchange) is is_about_it


def test_a_result_for_anybody_is_named():
    """A request has a stand-in, which some services trust in the place of a token, and gets an execution result.

    Its number (2) is found, because it has no valid token. The request with the valid token (1) has the same answer,
    and is not found. The other requests of the run are refused.
    """
    with_a_stand_in = execution(EXECUTION_RESULT, purpose=Trust.STAND_IN, credential=WRONG_TOKEN, valid=False)
    with_the_token = replace(with_a_stand_in, purpose=Trust.WITH_THE_TOKEN)
    log = log_of(with_the_token, with_a_stand_in, *sixteen_answers_of_a_proof())

    assert [exchange.number for exchange in results_without_valid_token(log, "executePix")] == [2]


# -- stand-ins ------------------------------------------------------------------------------------------------------


def test_a_stand_in_that_is_let_in_each_time_is_named():
    """A stand-in is what some services trust in the place of a token. It is let in if its eight requests are answered
    as with the token, and eight requests without any token in between are refused.

    The service could have a filter that answers 404 to every request with the stand-in. The read with the stand-in is
    answered 401, so there is no such filter. A finding has the numbers of the eight requests with the stand-in.
    """
    log = log_of(WITH_THE_TOKEN, *sixteen_answers_of_a_proof(), read_with_a_stand_in())
    number_of_first_answer = 2  # WITH_THE_TOKEN has the number 1
    numbers_with_the_stand_in = [
        number
        for number, purpose in enumerate(ORDER_OF_PROOF, number_of_first_answer)
        if purpose is Trust.STAND_IN_AGAIN
    ]

    assert numbers_let_in(log) == {"let-in": numbers_with_the_stand_in, "let-in-at-first": []}
    assert numbers_with_the_stand_in == [3, 4, 6, 9, 10, 13, 15, 16]
    assert numbers_let_in(log, "registerPixKey") == NONE_LET_IN


@pytest.mark.parametrize("index_of_odd_answer", range(len(ORDER_OF_PROOF)))
def test_one_answer_that_does_not_fit_shows_nothing(index_of_odd_answer):
    """Eight requests have a stand-in, which some services trust in the place of a token, and eight have no token.

    If one of the sixteen answers does not fit, nothing counts as let in, because it may be chance which server answers.
    Either the stand-in is refused once, or a request without any token is answered once as with the token.
    """
    odd_statuses = {Trust.STAND_IN_AGAIN: UNAUTHORIZED, Trust.NO_TOKEN_IN_BETWEEN: NOT_FOUND}
    purpose = ORDER_OF_PROOF[index_of_odd_answer]
    answers = sixteen_answers_of_a_proof()
    answers[index_of_odd_answer] = exchange_for(purpose, odd_statuses[purpose])
    log = log_of(WITH_THE_TOKEN, *answers, read_with_a_stand_in())

    assert numbers_let_in(log) == NONE_LET_IN


PROOF = sixteen_answers_of_a_proof()
READ_WITHOUT_AN_ANSWER = replace(read_with_a_stand_in(), response=None)


@pytest.mark.parametrize(
    "exchanges",
    [
        pytest.param([WITH_THE_TOKEN, *PROOF], id="no read"),
        pytest.param([WITH_THE_TOKEN, *PROOF, read_with_a_stand_in(NOT_FOUND)], id="a read that is filtered"),
        pytest.param([WITH_THE_TOKEN, *PROOF, READ_WITHOUT_AN_ANSWER], id="a read without an answer"),
        pytest.param([WITH_THE_TOKEN, *PROOF[1:], read_with_a_stand_in()], id="one answer too few"),
        pytest.param([*PROOF, read_with_a_stand_in()], id="no request with the token to compare with"),
        pytest.param([read_with_a_stand_in()], id="a read alone"),
        pytest.param([], id="an empty log"),
    ],
)
def test_what_shows_no_stand_in(exchanges):
    """A stand-in is what some services trust in the place of a token. It counts as let in only if all sixteen answers
    are there, an answer to the valid token, and the answer to a read with the stand-in.

    That read must be refused in another way (401). Otherwise a filter may answer 404 to each request with the stand-in.
    """
    assert numbers_let_in(log_of(*exchanges)) == NONE_LET_IN


def test_each_read_is_about_the_answers_right_before_it():
    """A stand-in is what some services trust in the place of a token. A filter may answer 404 to each request with it.

    A read with the stand-in shows whether a filter gave the answers right before it, and says nothing of another
    operation. The read after the executions gets 404, so none of them counts as let in. The read after the
    registrations gets 401, so they count.
    """
    registrations = sixteen_answers_of_a_proof(operation="registerPixKey", sent={"pixKeyType": "EMAIL"})
    with_the_token = exchange_for(Trust.WITH_THE_TOKEN, NOT_FOUND, "registerPixKey", sent={"pixKeyType": "EMAIL"})
    filtered_executions = [WITH_THE_TOKEN, *PROOF, read_with_a_stand_in(NOT_FOUND)]
    log = log_of(*filtered_executions, with_the_token, *registrations, read_with_a_stand_in())
    numbers_of_requests = [len(exchanges) for exchanges in stand_ins_let_in(log, "registerPixKey")]

    assert stand_ins_let_in(log, "executePix") == []
    assert numbers_of_requests == [8]


@pytest.mark.parametrize(("key_type_with_the_token", "stand_ins"), [("CPF", 1), ("EMAIL", 0)])
def test_a_registration_is_compared_with_one_of_its_type(key_type_with_the_token, stand_ins):
    """A stand-in is what some services trust in the place of a token. Here it is sent with registrations of a CPF.

    They are compared only with a registration of a CPF with the token, and not with one of an e-mail key. So the
    stand-in counts as let in only in the first case.
    """
    sent_with_the_token = {"pixKeyType": key_type_with_the_token}
    with_the_token = exchange_for(Trust.WITH_THE_TOKEN, NOT_FOUND, "registerPixKey", sent=sent_with_the_token)
    answers = sixteen_answers_of_a_proof(operation="registerPixKey", sent={"pixKeyType": "CPF"})
    log = log_of(with_the_token, *answers, read_with_a_stand_in())

    assert len(stand_ins_let_in(log, "registerPixKey")) == stand_ins


# -- a series --------------------------------------------------------------------------------------------------------


def series(*statuses):
    """Three requests without the valid token, one after the other on one connection, with these statuses.

    The first goes right after a read that succeeds, and the second after a refusal. The third has a wrong token.
    """
    return [exchange_for(purpose, status) for purpose, status in zip(PURPOSES_IN_A_SERIES, statuses, strict=True)]


@pytest.mark.parametrize(
    ("statuses", "all_are_refused", "only_some_are_refused"),
    [
        ((UNAUTHORIZED, UNAUTHORIZED, UNAUTHORIZED), True, False),
        ((UNAUTHORIZED, NOT_FOUND, UNAUTHORIZED), False, True),
        ((NOT_FOUND, NOT_FOUND, NOT_FOUND), False, False),
        ((BUSY, UNAUTHORIZED, UNAUTHORIZED), False, True),
    ],
    ids=["401 three times", "404 in the middle", "404 three times", "503 at first"],
)
def test_whether_a_token_makes_a_difference(statuses, all_are_refused, only_some_are_refused):
    """A series has three requests without the valid token. A request counts as refused for its token only if it gets
    401.

    The valid token is answered 404 (not found). If only some are refused, more such series are sent to find out why.
    """
    log = log_of(WITH_THE_TOKEN, *series(*statuses))

    assert are_all_refused_in_first_series(log, "executePix") is all_are_refused
    assert are_only_some_refused_in_first_series(log, "executePix") is only_some_are_refused


def test_without_a_series_nothing_makes_a_difference():
    """If no series of requests without the valid token was sent, neither all nor some of them count as refused."""
    log = log_of(WITH_THE_TOKEN)

    assert are_all_refused_in_first_series(log, "executePix") is False
    assert are_only_some_refused_in_first_series(log, "executePix") is False


def test_a_place_that_is_let_in_each_time_is_named():
    """A service may let a request in because of the requests before it on the connection. So six equal series are sent.

    Each has three requests without the valid token. Here the first one is refused each time. The second one, right
    behind a refusal, and the third one, with a wrong token, are answered like the valid token each time. So these two
    count as let in.
    """
    log = log_of(WITH_THE_TOKEN, *series(UNAUTHORIZED, NOT_FOUND, NOT_FOUND) * NUMBER_OF_SERIES)
    right_behind_a_refusal, with_a_wrong_token = [3, 6, 9, 12, 15, 18], [4, 7, 10, 13, 16, 19]

    assert numbers_let_in(log) == {"let-in": [*right_behind_a_refusal, *with_a_wrong_token], "let-in-at-first": []}


@pytest.mark.parametrize(
    "requests",
    [
        pytest.param(series(UNAUTHORIZED, NOT_FOUND, UNAUTHORIZED) * (NUMBER_OF_SERIES - 1), id="one series too few"),
        pytest.param(series(NOT_FOUND, NOT_FOUND, NOT_FOUND) * NUMBER_OF_SERIES, id="no position is refused"),
        pytest.param(
            [
                *series(UNAUTHORIZED, NOT_FOUND, UNAUTHORIZED) * (NUMBER_OF_SERIES - 1),
                *series(UNAUTHORIZED, UNAUTHORIZED, UNAUTHORIZED),
            ],
            id="refused once",
        ),
        pytest.param(
            [
                *series(UNAUTHORIZED, NOT_FOUND, NOT_FOUND) * (NUMBER_OF_SERIES // 2),
                *series(NOT_FOUND, UNAUTHORIZED, UNAUTHORIZED) * (NUMBER_OF_SERIES // 2),
            ],
            id="two servers in turn",
        ),
    ],
)
def test_what_shows_no_place(requests):
    """A position in a series of three requests counts as let in only if it is let in each time, in six series, while
    another position is refused each time.

    Otherwise it may be chance which server answers.
    """
    assert numbers_let_in(log_of(WITH_THE_TOKEN, *requests)) == NONE_LET_IN


# -- the first second -----------------------------------------------------------------------------------------------


def requests_in_the_first_second(*statuses):
    """Requests without a token in the first second of a run, with these statuses."""
    return [exchange_for(Trust.AT_THE_START, status) for status in statuses]


def later_requests(*statuses):
    """Requests without a token later in the run, with these statuses."""
    return [exchange_for(Trust.AFTER_THE_START, status) for status in statuses]


FOUR_REFUSED_LATER = later_requests(*[UNAUTHORIZED] * 4)
FIVE_REFUSED_LATER = later_requests(*[UNAUTHORIZED] * 5)


def test_what_was_let_in_at_first_is_named():
    """A service may check no token until it has started whole. So two requests without a token are sent in the first
    second.

    If both are answered like the valid token (404), and five later ones are refused (401), the two were let in at
    first.
    """
    log = log_of(*requests_in_the_first_second(NOT_FOUND, NOT_FOUND), WITH_THE_TOKEN, *FIVE_REFUSED_LATER)

    assert numbers_let_in(log) == {"let-in": [], "let-in-at-first": [1, 2]}


@pytest.mark.parametrize(
    "exchanges",
    [
        pytest.param(
            [*requests_in_the_first_second(NOT_FOUND, NOT_FOUND), *FOUR_REFUSED_LATER], id="one later request too few"
        ),
        pytest.param(
            [*requests_in_the_first_second(NOT_FOUND, NOT_FOUND), *FOUR_REFUSED_LATER, *later_requests(NOT_FOUND)],
            id="one is let in later, too",
        ),
        pytest.param(
            [*requests_in_the_first_second(NOT_FOUND, UNAUTHORIZED), *FIVE_REFUSED_LATER],
            id="one is refused at first, too",
        ),
        pytest.param([*requests_in_the_first_second(NOT_FOUND), *FIVE_REFUSED_LATER], id="one request at first"),
    ],
)
def test_what_shows_nothing_of_the_first_second(exchanges):
    """A request without a token is let in if it is answered like the valid token (404), and refused if it gets 401.

    Two such requests in the first second of a run count only if both are let in, and five later ones are refused.
    """
    assert numbers_let_in(log_of(WITH_THE_TOKEN, *exchanges)) == NONE_LET_IN
