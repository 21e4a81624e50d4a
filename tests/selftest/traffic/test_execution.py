"""The order of the requests with real transaction codes.

An offer is a request with a real code and a wrong token, which must be refused. Its execution, with the valid token,
comes later, and shows that the code was good.
"""

from tests.selftest.proof.directly import sent_to_the_sandbox
from tests.traffic.money.executions import Execution

# purposes: an offer, the execution of a code of the profile, and that of a code that the run prepared
OF_A_REAL_CODE = (Execution.UNAUTHORIZED_BEFORE_EXECUTION, Execution.SUPPLIED, Execution.PREPARED)


def purposes_by_code():
    """By real code, the purposes of its requests, in the order in which they were sent to the sandbox."""
    purposes: dict[str, list[Execution]] = {}
    for exchange in sent_to_the_sandbox("sandbox").session.door.log.of("executePix", *OF_A_REAL_CODE):
        purposes.setdefault(exchange.request.last_segment, []).append(exchange.purpose)
    return purposes


def test_the_first_real_code_is_executed_before_any_wrong_token_is_sent_with_a_code():
    """The first code is executed before any code is sent with a wrong token, and no wrong token goes with it before.

    So one code is executed even if the service breaks at the first wrong token.
    """
    purposes_of_first_code, *_ = purposes_by_code().values()

    assert purposes_of_first_code == [Execution.SUPPLIED]


def test_every_other_code_is_executed_last():
    """The last request with each other code has the valid token, and all requests before it have a wrong one.

    These must not execute or spend the code. Some codes have none before their execution, because they are executed right
    behind an event, such as a deletion.
    """
    _, *purposes_of_other_codes = purposes_by_code().values()
    last_purposes = {purposes[-1] for purposes in purposes_of_other_codes}
    purposes_before_the_last = [purposes[:-1] for purposes in purposes_of_other_codes]
    codes_with_wrong_tokens = [purposes for purposes in purposes_before_the_last if purposes]

    assert last_purposes == {Execution.SUPPLIED, Execution.PREPARED}
    assert len(codes_with_wrong_tokens) >= 4
    for purposes in codes_with_wrong_tokens:
        assert set(purposes) == {Execution.UNAUTHORIZED_BEFORE_EXECUTION}


def test_after_the_first_execution_two_codes_are_sent_without_the_valid_token():
    """Right after the first execution another code is sent with a wrong token, before it is executed.

    A service may remember to which client it allowed an execution. Then the first code is sent once without a token and
    once with a wrong one, because a cache may answer anybody.
    """
    log = sent_to_the_sandbox("sandbox").session.door.log
    first_execution, *_ = log.of("executePix", Execution.SUPPLIED)
    purposes_after_it = [exchange.purpose for exchange in log if exchange.number > first_execution.number]

    assert purposes_after_it[:3] == [
        Execution.UNAUTHORIZED_BEFORE_EXECUTION,
        Execution.UNAUTHORIZED_AFTER_EXECUTION,
        Execution.UNAUTHORIZED_AFTER_EXECUTION,
    ]
