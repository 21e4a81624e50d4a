"""Which requests without the valid token passed the check of it, by logs that are written by hand."""

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
    granted_to_anybody,
    is_about_the_identifier,
    let_in,
    stand_ins_let_in,
)

NOT_FOUND, UNAUTHORIZED, BUSY = 404, 401, 503
WITHOUT_A_TOKEN = {Trust.AT_THE_START, Trust.AFTER_THE_START, Trust.RIGHT_AFTER_A_SUCCESS, Trust.RIGHT_AFTER_A_REFUSAL}
NUMBER_OF_SERIES = 6


def asked(purpose, status, operation="executePix", **changes):
    """A request that names nobody, and its refusal with this status."""
    changes.setdefault("credential", NO_HEADER if purpose in WITHOUT_A_TOKEN else VALID)
    body = {"code": status, "data": {"error": f"Error {status}"}}
    return answer(operation, body, status=status, purpose=purpose, valid=False, **changes)


def read_with_a_stand_in(status=UNAUTHORIZED):
    """A read with a stand-in, and its refusal with this status."""
    return asked(Trust.READ_WITH_STAND_IN, status, "listAccounts")


def in_order(*, shown=NOT_FOUND, plain=UNAUTHORIZED, **changes):
    """The answers in ORDER_OF_PROOF: those with the stand-in and the plain ones in between have one status each."""
    statuses = {Trust.STAND_IN_AGAIN: shown, Trust.NO_TOKEN_IN_BETWEEN: plain}
    return [asked(purpose, statuses[purpose], **changes) for purpose in ORDER_OF_PROOF]


def log_of(*exchanges):
    """A log of these, numbered in their order."""
    return Log(replace(exchange, number=number) for number, exchange in enumerate(exchanges, 1))


def numbers_let_in(log, operation="executePix"):
    """The numbers of the requests that were let in, by the code of the finding."""
    return {code: [exchange.number for exchange in exchanges] for code, exchanges in let_in(log, operation)}


WITH_THE_TOKEN = asked(Trust.WITH_THE_TOKEN, NOT_FOUND)
NOTHING = {"let-in": [], "let-in-at-first": []}


# -- one answer -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("exchange", "tells"),
    [
        (asked(Trust.STAND_IN, NOT_FOUND), True),
        (execution(), True),
        (asked(Trust.STAND_IN, UNAUTHORIZED), False),
        (asked(Trust.STAND_IN, BUSY), False),
        (unanswered(FailureKind.TIMEOUT), False),
    ],
)
def test_what_tells_of_the_identifier(exchange, tells):
    """An unknown identifier and a result do; a refusal of the caller, a busy service and no answer do not."""
    assert is_about_the_identifier(exchange) is tells


def test_a_result_for_anybody_is_named():
    """Any request without the valid token counts that got a result. What was sent with the token does not."""
    with_a_stand_in = execution(EXECUTION_RESULT, purpose=Trust.STAND_IN, credential=WRONG_TOKEN, valid=False)
    log = log_of(replace(with_a_stand_in, purpose=Trust.WITH_THE_TOKEN), with_a_stand_in, *in_order())

    assert [exchange.number for exchange in granted_to_anybody(log, "executePix")] == [2]


# -- stand-ins ------------------------------------------------------------------------------------------------------


def test_a_stand_in_that_is_let_in_each_time_is_named():
    """Eight answers as with the token, eight refusals in between, and a read that is refused otherwise."""
    log = log_of(WITH_THE_TOKEN, *in_order(), read_with_a_stand_in())

    assert numbers_let_in(log) == {"let-in": [3, 4, 6, 9, 10, 13, 15, 16], "let-in-at-first": []}
    assert numbers_let_in(log, "registerPixKey") == NOTHING


@pytest.mark.parametrize("place", range(len(ORDER_OF_PROOF)))
def test_one_answer_that_does_not_fit_shows_nothing(place):
    """A stand-in that is refused once, or a plain request that is let in once."""
    answers = in_order()
    otherwise = {Trust.STAND_IN_AGAIN: UNAUTHORIZED, Trust.NO_TOKEN_IN_BETWEEN: NOT_FOUND}
    answers[place] = asked(ORDER_OF_PROOF[place], otherwise[ORDER_OF_PROOF[place]])
    log = log_of(WITH_THE_TOKEN, *answers, read_with_a_stand_in())

    assert numbers_let_in(log) == NOTHING


@pytest.mark.parametrize(
    "exchanges",
    [
        pytest.param([WITH_THE_TOKEN, *in_order()], id="no read"),
        pytest.param([WITH_THE_TOKEN, *in_order(), read_with_a_stand_in(NOT_FOUND)], id="a read that is filtered"),
        pytest.param(
            [WITH_THE_TOKEN, *in_order(), replace(read_with_a_stand_in(), response=None)], id="a read without an answer"
        ),
        pytest.param([WITH_THE_TOKEN, *in_order()[1:], read_with_a_stand_in()], id="one answer too few"),
        pytest.param([*in_order(), read_with_a_stand_in()], id="nothing to compare with"),
        pytest.param([read_with_a_stand_in()], id="a read alone"),
        pytest.param([], id="an empty log"),
    ],
)
def test_what_shows_no_stand_in(exchanges):
    """A stand-in counts only with all its answers, with those of the token, and with a read that is no filter's."""
    assert numbers_let_in(log_of(*exchanges)) == NOTHING


def test_each_read_is_about_the_answers_right_before_it():
    """What a filter answered is not let in, although a stand-in of the other operation is let in after it."""
    of_registrations = in_order(operation="registerPixKey", sent={"pixKeyType": "EMAIL"})
    with_the_token = asked(Trust.WITH_THE_TOKEN, NOT_FOUND, "registerPixKey", sent={"pixKeyType": "EMAIL"})
    filtered = [WITH_THE_TOKEN, *in_order(), read_with_a_stand_in(NOT_FOUND)]
    log = log_of(*filtered, with_the_token, *of_registrations, read_with_a_stand_in())

    assert stand_ins_let_in(log, "executePix") == []
    assert [len(exchanges) for exchanges in stand_ins_let_in(log, "registerPixKey")] == [8]


@pytest.mark.parametrize(("key_type", "number_let_in"), [("CPF", 1), ("EMAIL", 0)])
def test_a_registration_is_compared_with_one_of_its_type(key_type, number_let_in):
    """An answer to a CPF key is not compared with the answer that the token gets for an e-mail key."""
    with_the_token = asked(Trust.WITH_THE_TOKEN, NOT_FOUND, "registerPixKey", sent={"pixKeyType": key_type})
    answers = in_order(operation="registerPixKey", sent={"pixKeyType": "CPF"})
    log = log_of(with_the_token, *answers, read_with_a_stand_in())

    assert len(stand_ins_let_in(log, "registerPixKey")) == number_let_in


# -- a series --------------------------------------------------------------------------------------------------------


def series(*statuses):
    """The requests of a series, with these statuses."""
    return [asked(purpose, status) for purpose, status in zip(PURPOSES_IN_A_SERIES, statuses, strict=True)]


@pytest.mark.parametrize(
    ("statuses", "each", "some"),
    [
        ((UNAUTHORIZED, UNAUTHORIZED, UNAUTHORIZED), True, False),
        ((UNAUTHORIZED, NOT_FOUND, UNAUTHORIZED), False, True),
        ((NOT_FOUND, NOT_FOUND, NOT_FOUND), False, False),
        ((BUSY, UNAUTHORIZED, UNAUTHORIZED), False, True),
    ],
)
def test_whether_a_token_makes_a_difference(statuses, each, some):
    """It does if each request of the series is refused. If some are, further series show what decides."""
    log = log_of(WITH_THE_TOKEN, *series(*statuses))

    assert are_all_refused_in_first_series(log, "executePix") is each
    assert are_only_some_refused_in_first_series(log, "executePix") is some


def test_without_a_series_nothing_makes_a_difference():
    """A log without a series says neither."""
    log = log_of(WITH_THE_TOKEN)

    assert not are_all_refused_in_first_series(log, "executePix")
    assert not are_only_some_refused_in_first_series(log, "executePix")


def test_a_place_that_is_let_in_each_time_is_named():
    """Right behind a refusal, while what goes right behind a success is refused each time."""
    log = log_of(WITH_THE_TOKEN, *series(UNAUTHORIZED, NOT_FOUND, NOT_FOUND) * NUMBER_OF_SERIES)

    behind_a_refusal, another_token = [3, 6, 9, 12, 15, 18], [4, 7, 10, 13, 16, 19]
    assert numbers_let_in(log) == {"let-in": [*behind_a_refusal, *another_token], "let-in-at-first": []}


@pytest.mark.parametrize(
    "requests",
    [
        pytest.param(series(UNAUTHORIZED, NOT_FOUND, UNAUTHORIZED) * (NUMBER_OF_SERIES - 1), id="one series too few"),
        pytest.param(series(NOT_FOUND, NOT_FOUND, NOT_FOUND) * NUMBER_OF_SERIES, id="no place is refused"),
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
            id="nodes in turn",
        ),
    ],
)
def test_what_shows_no_place(requests):
    """A place counts only if it is let in each time, while another one is refused each time."""
    assert numbers_let_in(log_of(WITH_THE_TOKEN, *requests)) == NOTHING


# -- the first second -----------------------------------------------------------------------------------------------


def start(*statuses):
    """Plain requests of the first second, with these statuses."""
    return [asked(Trust.AT_THE_START, status) for status in statuses]


def later(*statuses):
    """Plain requests later in the run, with these statuses."""
    return [asked(Trust.AFTER_THE_START, status) for status in statuses]


LATER_REFUSED = later(*[UNAUTHORIZED] * 5)


def test_what_was_let_in_at_first_is_named():
    """Both plain requests of the first second, if the later ones are refused."""
    log = log_of(*start(NOT_FOUND, NOT_FOUND), WITH_THE_TOKEN, *LATER_REFUSED)

    assert numbers_let_in(log) == {"let-in": [], "let-in-at-first": [1, 2]}


@pytest.mark.parametrize(
    "exchanges",
    [
        pytest.param([*start(NOT_FOUND, NOT_FOUND), *LATER_REFUSED[1:]], id="one later request too few"),
        pytest.param([*start(NOT_FOUND, NOT_FOUND), *LATER_REFUSED[1:], *later(NOT_FOUND)], id="let in later, too"),
        pytest.param([*start(NOT_FOUND, UNAUTHORIZED), *LATER_REFUSED], id="refused at first, too"),
        pytest.param([*start(NOT_FOUND), *LATER_REFUSED], id="one request at first"),
    ],
)
def test_what_shows_nothing_of_the_first_second(exchanges):
    """Both requests of the first second have to be let in, and all five later ones refused."""
    assert numbers_let_in(log_of(WITH_THE_TOKEN, *exchanges)) == NOTHING
