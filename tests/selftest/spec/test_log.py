"""The log of a run: exchanges by operation and purpose, and which of their answers count."""

from dataclasses import replace

import pytest

from spec.exchange import Exchange, Failure, FailureKind, Purpose
from spec.log import Log, numbers_superseded
from tests.selftest.exchanges import answer
from tests.traffic.money.executions import Execution, executed_and_refused, perhaps_spent_by_wrong_tokens
from tests.traffic.undescribed import Reading

WITH_TOKEN, AFTER_CHANGES = Reading.WITH_TOKEN, Reading.AFTER_CHANGES


def exchange(number: int, operation: str = "listAccounts", purpose: Purpose | None = WITH_TOKEN, **changes) -> Exchange:
    """An exchange with this number."""
    return replace(answer(operation, {"code": 0, "data": {}}, **changes), number=number, purpose=purpose)


READ, READ_AFTER_CHANGES, BALANCE = exchange(1), exchange(2, purpose=AFTER_CHANGES), exchange(3, "getBalance")


def test_exchanges_are_asked_for_by_operation_and_purpose():
    """The exchanges are given in the order in which they were sent."""
    log = Log([READ, READ_AFTER_CHANGES, BALANCE])

    assert log.of("listAccounts", WITH_TOKEN) == [READ]
    assert log.of("listAccounts", AFTER_CHANGES, WITH_TOKEN) == [READ, READ_AFTER_CHANGES]
    assert log.with_purpose(WITH_TOKEN) == [READ, BALANCE]
    assert log.of("listAccounts") == []
    assert list(log) == [READ, READ_AFTER_CHANGES, BALANCE]


def test_the_last_answer_to_a_request_that_was_sent_again_counts():
    """The earlier exchanges stay in the log.

    Questions about a purpose or about valid requests give only the last one.
    """
    second, last = replace(READ, number=4, supersedes=1), replace(READ, number=5, supersedes=4)
    log = Log([READ, READ_AFTER_CHANGES, second, last])

    assert log.of("listAccounts", WITH_TOKEN) == [last]
    assert log.valid("listAccounts") == [READ_AFTER_CHANGES, last]
    assert numbers_superseded(log) == {1, 4}


def test_a_disregarded_request_counts_as_not_sent():
    """Its place in the log stays, and it has the reason in the place of its answer."""
    repetition = replace(BALANCE, number=4, repeats=3)
    log = Log([READ, BALANCE, repetition])
    log.disregard({1, 4}, "the token expired")
    [disregarded] = log.of("listAccounts", WITH_TOKEN)

    assert (disregarded.number, disregarded.response, disregarded.request) == (0, None, READ.request)
    assert disregarded.failure == Failure(FailureKind.LIMIT, "the token expired")
    assert log.attempts() == [BALANCE]
    assert log.repetition_of(BALANCE) is None


def test_a_request_that_was_not_sent_has_a_purpose_too():
    """Its purpose lets a test without an answer say which limit kept the request back."""
    not_sent = Exchange(
        0, "listAccounts", READ.request, failure=Failure(FailureKind.LIMIT, "limits.requests"), purpose=WITH_TOKEN
    )
    log = Log([not_sent, READ])

    assert log.of("listAccounts", WITH_TOKEN) == [not_sent, READ]
    assert log.sent("listAccounts", WITH_TOKEN) == [READ]


def test_valid_requests_of_a_part_are_apart():
    """Generated traffic is a part of its own, which other tests judge."""
    generated, invalid = exchange(2, part="sequences"), exchange(3, valid=False)
    log = Log([READ, generated, invalid])

    assert log.valid("listAccounts") == [READ]
    assert log.valid("listAccounts", "sequences") == [generated]


# -- what several executions show -----------------------------------------------------------------------------------

DONE = {"code": 0, "data": {"id": "TX-1", "status": "DONE", "date": 1, "bank": "1"}}


def executions(*sent: tuple[str, int, Execution]) -> Log:
    """A log of executions, each given by its code, the status of its answer and its purpose."""
    return Log(
        replace(
            answer("executePix", DONE, status=status, path=f"/v1/execute/pix/{code}"), number=number, purpose=purpose
        )
        for number, (code, status, purpose) in enumerate(sent, 1)
    )


@pytest.mark.parametrize(
    ("offered", "purpose", "is_certain"),
    [
        ("TX-2", Execution.PREPARED, True),
        ("TX-1", Execution.PREPARED, False),
        ("TX-2", Execution.SUPPLIED, False),
    ],
)
def test_a_refusal_with_done_was_executed_if_the_code_is_of_the_run_alone(offered, purpose, is_certain):
    """The execution is certain only if the run prepared the code and had not sent it before."""
    log = executions((offered, 401, Execution.UNAUTHORIZED_BEFORE_EXECUTION), ("TX-1", 409, purpose))

    assert bool(executed_and_refused(log)) is is_certain


@pytest.mark.parametrize(
    ("confirmed", "is_spent"),
    [(Execution.SUPPLIED, True), (Execution.PREPARED, False)],
    ids=["both supplied", "one prepared"],
)
def test_a_refused_code_is_perhaps_spent_if_a_code_like_it_was_executed(confirmed, is_spent):
    """TX-2 is refused after it went with a wrong token; TX-1 was executed without one.

    A supplied code may have expired, so the success of a prepared code says nothing about it.
    """
    log = executions(
        ("TX-1", 200, confirmed), ("TX-2", 401, Execution.UNAUTHORIZED_BEFORE_EXECUTION), ("TX-2", 404, Execution.SUPPLIED)
    )  # fmt: skip

    assert [exchange.number for exchange in perhaps_spent_by_wrong_tokens(log)] == ([3] if is_spent else [])


def test_targeted_attempted_and_generated_requests_are_asked_for_apart():
    """`targeted` gives the answers that count, `attempts` every request that was sent, and `generated` those of
    generated traffic.
    """
    generated = exchange(2, part="listAccounts")
    not_sent = exchange(0)
    sent_again = replace(READ, number=4, supersedes=1)
    log = Log([not_sent, READ, generated, BALANCE, sent_again])

    assert log.targeted("listAccounts") == [sent_again]
    assert log.targeted() == [BALANCE, sent_again]
    assert log.attempts("listAccounts") == [READ, generated, sent_again]
    assert log.attempts() == [READ, generated, BALANCE, sent_again]
    assert log.generated("listAccounts") == [generated]
    assert log.generated("getBalance") == []


def test_the_repetition_of_a_request_is_found_by_the_first_request():
    """Both answers count, because the second shows if the answer stays the same.

    A repetition that a limit kept back is not found.
    """
    once_more = exchange(5, purpose=None, repeats=1)
    log = Log([READ, READ_AFTER_CHANGES, once_more, exchange(0, repeats=2)])

    assert log.repetition_of(READ) == once_more
    assert log.repetition_of(READ_AFTER_CHANGES) is None
    assert log.targeted("listAccounts") == [READ, READ_AFTER_CHANGES, once_more]
