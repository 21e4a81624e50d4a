"""The order of the requests with real transaction codes.

An offer is a request with a real code and a wrong token, which must be refused. Its execution, with the valid token,
comes later, and shows that the code was good.
"""

from tests.selftest.proof.directly import sent_to_the_sandbox
from tests.traffic.money.executions import Execution

# why a real code is sent: with a wrong token, or to execute a code of the profile or one that the run prepared
PURPOSES_WITH_A_REAL_CODE = (Execution.UNAUTHORIZED_BEFORE_EXECUTION, Execution.SUPPLIED, Execution.PREPARED)


def purposes_by_code():
    """For each real transaction code, why its requests were sent in a run on the sandbox, in their order.

    A purpose is, for example, `Execution.SUPPLIED`: a code of the profile is executed.
    """
    purposes: dict[str, list[Execution]] = {}
    log = sent_to_the_sandbox("sandbox").log
    for exchange in log.of("executePix", *PURPOSES_WITH_A_REAL_CODE):
        code = exchange.request.last_segment
        purposes.setdefault(code, []).append(exchange.purpose)
    return purposes


def test_the_first_real_code_is_executed_before_any_wrong_token_is_sent_with_a_code():
    """The first code is executed before any code is sent with a wrong token, and no wrong token goes with it before.

    So one code is executed even if the service breaks at the first wrong token.
    """
    purposes_of_first_code, *_ = purposes_by_code().values()

    assert purposes_of_first_code == [Execution.SUPPLIED]


def test_every_other_code_is_executed_last():
    """The last request with each code but the first one has the valid token, and all requests before it have a wrong
    one.

    A wrong token must not execute or spend the code. Some codes are sent with no wrong token, because they are executed
    right behind an event, such as a deletion.
    """
    _, *purposes_of_other_codes = purposes_by_code().values()
    last_purposes = {purposes[-1] for purposes in purposes_of_other_codes}
    earlier_purposes = set()
    codes_with_a_wrong_token = 0
    for purposes in purposes_of_other_codes:
        earlier_purposes |= set(purposes[:-1])
        if len(purposes) > 1:
            codes_with_a_wrong_token += 1

    assert last_purposes == {Execution.SUPPLIED, Execution.PREPARED}
    assert earlier_purposes == {Execution.UNAUTHORIZED_BEFORE_EXECUTION}
    assert codes_with_a_wrong_token >= 4


def test_after_the_first_execution_two_codes_are_sent_without_the_valid_token():
    """Right after the first execution another code is sent with a wrong token. A service may remember the client that
    executed, and let it execute another code.

    Then the executed code is sent once without a token and once with a wrong one, because a cache may give its result
    to anybody.
    """
    log = sent_to_the_sandbox("sandbox").log
    first_execution, *_ = log.of("executePix", Execution.SUPPLIED)
    purposes_after_it = [exchange.purpose for exchange in log if exchange.number > first_execution.number]

    assert purposes_after_it[:3] == [
        Execution.UNAUTHORIZED_BEFORE_EXECUTION,
        Execution.UNAUTHORIZED_AFTER_EXECUTION,
        Execution.UNAUTHORIZED_AFTER_EXECUTION,
    ]
