"""The log of a run: exchanges by operation and purpose, and which of their answers count."""

from dataclasses import replace

import pytest

from spec.exchange import Exchange, Failure, FailureKind, Purpose
from spec.log import Log, numbers_superseded
from tests.selftest.exchanges import answer
from tests.traffic.money.executions import Execution, executed_and_refused, perhaps_spent
from tests.traffic.undescribed import Reading

FIRST, SECOND = Reading.WITH_TOKEN, Reading.AFTER_CHANGES


def exchange(number: int, operation: str = "listAccounts", purpose: Purpose | None = FIRST, **changes) -> Exchange:
    """The exchange of that number."""
    return replace(answer(operation, {"code": 0, "data": {}}, **changes), number=number, purpose=purpose)


ONE, OTHER, THIRD = exchange(1), exchange(2, purpose=SECOND), exchange(3, "getBalance")


def test_exchanges_are_asked_for_by_operation_and_purpose():
    """The exchanges are given in the order in which they were sent."""
    log = Log([ONE, OTHER, THIRD])

    assert log.of("listAccounts", FIRST) == [ONE]
    assert log.of("listAccounts", SECOND, FIRST) == [ONE, OTHER]
    assert log.with_purpose(FIRST) == [ONE, THIRD]
    assert log.of("listAccounts") == []
    assert list(log) == [ONE, OTHER, THIRD]


def test_the_last_answer_to_a_request_that_was_sent_again_counts():
    """The earlier exchanges stay in the log, and no question about a purpose or about valid requests gives them."""
    second, last = replace(ONE, number=4, supersedes=1), replace(ONE, number=5, supersedes=4)
    log = Log([ONE, OTHER, second, last])

    assert log.of("listAccounts", FIRST) == [last]
    assert log.valid("listAccounts") == [OTHER, last]
    assert numbers_superseded(log) == {1, 4}


def test_a_request_that_was_not_sent_has_a_purpose_too():
    """A test that lacks its answer can say which limit kept the request back."""
    kept = Exchange(
        0, "listAccounts", ONE.request, failure=Failure(FailureKind.LIMIT, "limits.requests"), purpose=FIRST
    )
    log = Log([kept, ONE])

    assert log.of("listAccounts", FIRST) == [kept, ONE]
    assert log.sent("listAccounts", FIRST) == [ONE]


def test_valid_requests_of_a_part_are_apart():
    """Generated traffic is judged by other tests."""
    generated, invalid = exchange(2, part="sequences"), exchange(3, valid=False)
    log = Log([ONE, generated, invalid])

    assert log.valid("listAccounts") == [ONE]
    assert log.valid("listAccounts", "sequences") == [generated]


# -- what several executions show -----------------------------------------------------------------------------------

DONE = {"code": 0, "data": {"id": "TX-1", "status": "DONE", "date": 1, "bank": "1"}}


def executions(*sent: tuple[str, int, Execution]) -> Log:
    """The log of executions. Each is given by its code, the status of its answer and its purpose."""
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
    """That is certain only if the run prepared the code, and had not sent it before."""
    log = executions((offered, 401, Execution.OFFERED), ("TX-1", 409, purpose))

    assert bool(executed_and_refused(log)) is is_certain


@pytest.mark.parametrize(
    ("confirmed", "is_spent"), [(Execution.SUPPLIED, True), (Execution.PREPARED, False)], ids=["alike", "not alike"]
)
def test_a_code_is_perhaps_spent_if_one_alike_was_confirmed_without_a_wrong_token(confirmed, is_spent):
    """Supplied codes may have expired, so a prepared one says nothing of them."""
    log = executions(
        ("TX-1", 200, confirmed), ("TX-2", 401, Execution.OFFERED), ("TX-2", 404, Execution.SUPPLIED)
    )  # fmt: skip

    assert [answer.number for answer in perhaps_spent(log)] == ([3] if is_spent else [])


def test_what_a_test_is_about_that_looks_at_everything_sent():
    """Targeted requests with the answers that count, every attempt, or what was generated."""
    generated, kept = exchange(2, part="listAccounts"), exchange(0)
    again = replace(ONE, number=4, supersedes=1)
    log = Log([kept, ONE, generated, THIRD, again])

    assert log.targeted("listAccounts") == [again]
    assert log.targeted() == [THIRD, again]
    assert log.attempts("listAccounts") == [ONE, generated, again]
    assert log.attempts() == [ONE, generated, THIRD, again]
    assert log.generated("listAccounts") == [generated]
    assert log.generated("getBalance") == []


def test_a_request_that_was_sent_once_more_is_found_by_the_first():
    """Both count: the second shows whether the answer stays the same. One that a limit kept shows nothing."""
    once_more = exchange(5, purpose=None, repeats=1)
    log = Log([ONE, OTHER, once_more, exchange(0, repeats=2)])

    assert log.repetition_of(ONE) == once_more
    assert log.repetition_of(OTHER) is None
    assert log.targeted("listAccounts") == [ONE, OTHER, once_more]
