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
    """A log has the exchanges of a run: each request with its answer. A purpose says why a request was sent.

    READ and BALANCE have the purpose WITH_TOKEN. The exchanges are given in the order in which they were sent. Who asks
    for no purpose gets no exchange, because each test judges exchanges of chosen purposes.
    """
    log = Log([READ, READ_AFTER_CHANGES, BALANCE])

    assert log.of("listAccounts", WITH_TOKEN) == [READ]
    assert log.of("listAccounts", AFTER_CHANGES, WITH_TOKEN) == [READ, READ_AFTER_CHANGES]
    assert log.of("listAccounts") == []
    assert log.with_purpose(WITH_TOKEN) == [READ, BALANCE]


def test_the_last_answer_to_a_request_that_was_sent_again_counts():
    """A read (exchange 1) was sent again twice, because its answers were doubtful. Only the last exchange counts.

    The log still has the earlier exchanges, and knows their numbers.
    """
    second_try = replace(READ, number=4, supersedes=1)
    third_try = replace(READ, number=5, supersedes=4)
    log = Log([READ, READ_AFTER_CHANGES, second_try, third_try])

    assert log.of("listAccounts", WITH_TOKEN) == [third_try]
    assert log.valid("listAccounts") == [READ_AFTER_CHANGES, third_try]
    assert numbers_superseded(log) == {1, 4}


def test_a_disregarded_request_counts_as_not_sent():
    """A run disregards exchanges if their answers say nothing of the service, for example because the token had
    expired.

    They stay in the log with the number 0 and the reason in the place of the answer. A repetition that is disregarded
    is not found any more.
    """
    repetition = replace(BALANCE, number=4, repeats=3)
    log = Log([READ, BALANCE, repetition])
    log.disregard({1, 4}, "the token expired")
    [disregarded] = log.of("listAccounts", WITH_TOKEN)

    assert (disregarded.number, disregarded.response, disregarded.request) == (0, None, READ.request)
    assert disregarded.failure == Failure(FailureKind.LIMIT, "the token expired")
    assert log.attempts() == [BALANCE]
    assert log.repetition_of(BALANCE) is None


def test_a_request_that_was_not_sent_has_a_purpose_too():
    """A limit of the run kept a request back (number 0). It is in the log, so that a test can say why it has no answer.

    A question for the requests that were sent does not give it.
    """
    not_sent = Exchange(
        0, "listAccounts", READ.request, failure=Failure(FailureKind.LIMIT, "limits.requests"), purpose=WITH_TOKEN
    )
    log = Log([not_sent, READ])

    assert log.of("listAccounts", WITH_TOKEN) == [not_sent, READ]
    assert log.sent("listAccounts", WITH_TOKEN) == [READ]


def test_valid_requests_are_given_apart_from_generated_ones():
    """`valid` gives the valid requests that no property test drew. Property tests judge the generated requests
    themselves.

    A generated request has the name of its generator, such as "sequences". With that name, `valid` gives the valid
    requests of this generator.
    """
    generated, invalid = exchange(2, generator="sequences"), exchange(3, valid=False)
    log = Log([READ, generated, invalid])

    assert log.valid("listAccounts") == [READ]
    assert log.valid("listAccounts", "sequences") == [generated]


# -- what several executions show -----------------------------------------------------------------------------------

DONE = {"code": 0, "data": {"id": "TX-1", "status": "DONE", "date": 1, "bank": "1"}}


def log_of_executions(*executions: tuple[str, int, Execution]) -> Log:
    """A log of executions, each given by its code, the status of its answer and its purpose. Each answer says DONE.

    The exchanges have the numbers 1, 2 and so on.
    """
    exchanges = []
    for number, (code, status, purpose) in enumerate(executions, 1):
        executed = answer("executePix", DONE, status=status, path=f"/v1/execute/pix/{code}")
        exchanges.append(replace(executed, number=number, purpose=purpose))
    return Log(exchanges)


@pytest.mark.parametrize(
    ("code_sent_without_token_before", "purpose", "was_executed"),
    [
        ("TX-2", Execution.PREPARED, True),
        ("TX-1", Execution.PREPARED, False),
        ("TX-2", Execution.SUPPLIED, False),
    ],
    ids=["nobody sent it before", "the run sent it before without a token", "others may have sent it before"],
)
def test_a_refusal_that_says_done_was_executed_if_nobody_can_have_sent_the_code_before(
    code_sent_without_token_before, purpose, was_executed
):
    """The execution of TX-1 is refused (409), but the result in it has the status DONE: the money moved.

    This request moved it only if the run prepared the code itself (PREPARED) and had not sent it before. A code from
    the settings of the run (SUPPLIED) may have been executed by others.
    """
    log = log_of_executions(
        (code_sent_without_token_before, 401, Execution.UNAUTHORIZED_BEFORE_EXECUTION), ("TX-1", 409, purpose)
    )
    numbers_of_executed = [exchange.number for exchange in executed_and_refused(log)]
    expected_numbers = [2] if was_executed else []

    assert numbers_of_executed == expected_numbers


@pytest.mark.parametrize(
    ("origin_of_executed_code", "is_perhaps_spent"),
    [
        (Execution.SUPPLIED, True),
        (Execution.PREPARED, False),
        (Execution.PREPARED_WITH_EXTRA_PARTS, False),
    ],
    ids=[
        "both codes are of the profile",
        "the executed code was prepared by the run",
        "the executed code was prepared by the run and sent with extra parts",
    ],
)
def test_a_wrong_token_perhaps_spent_a_code_if_another_code_of_the_profile_was_executed(
    origin_of_executed_code, is_perhaps_spent
):
    """TX-2 is sent with a wrong token, and then its execution with the valid one is refused (exchange 4).

    Perhaps the service spent TX-2 on the wrong token. TX-1, which was not sent with a wrong token, was executed. If
    both are codes of the profile (the settings of the run), then such codes work, and TX-2 was perhaps spent. If the
    run prepared TX-1 itself, TX-2 may just have expired.
    """
    log = log_of_executions(
        ("TX-0", 400, Execution.PREPARED),  # refused without a wrong token before, and in another way than TX-2
        ("TX-1", 200, origin_of_executed_code),
        ("TX-2", 401, Execution.UNAUTHORIZED_BEFORE_EXECUTION),
        ("TX-2", 404, Execution.SUPPLIED),
    )

    numbers = [exchange.number for exchange in perhaps_spent_by_wrong_tokens(log)]
    expected_numbers = [4] if is_perhaps_spent else []

    assert numbers == expected_numbers


def test_requests_of_scenarios_sent_requests_and_generated_ones_are_asked_for_apart():
    """A log has a request that was not sent, a read that was sent again (exchange 4), a generated read and a balance.

    `generated` gives the requests that property tests drew. `sent_by_scenarios` gives the other requests that were sent
    and whose answer counts, and `attempts` each request that was sent. A read that was sent again counts by its last
    answer.
    """
    generated = exchange(2, generator="listAccounts")
    not_sent = exchange(0)
    sent_again = replace(READ, number=4, supersedes=1)
    log = Log([not_sent, READ, generated, BALANCE, sent_again])

    assert log.sent_by_scenarios("listAccounts") == [sent_again]
    assert log.sent_by_scenarios() == [BALANCE, sent_again]
    assert log.attempts("listAccounts") == [READ, generated, sent_again]
    assert log.attempts() == [READ, generated, BALANCE, sent_again]
    assert log.generated("listAccounts") == [generated]
    assert log.generated("getBalance") == []


def test_the_repetition_of_a_request_is_found_by_the_first_request():
    """A read is repeated to see if its answer stays the same, so both answers count.

    The second read here was to be repeated, too, but a limit kept the repetition back (number 0), so it has none.
    """
    repetition = exchange(5, purpose=None, repeats=1)
    repetition_that_was_not_sent = exchange(0, repeats=2)
    log = Log([READ, READ_AFTER_CHANGES, repetition, repetition_that_was_not_sent])

    assert log.repetition_of(READ) == repetition
    assert log.repetition_of(READ_AFTER_CHANGES) is None
    assert log.sent_by_scenarios("listAccounts") == [READ, READ_AFTER_CHANGES, repetition]
