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
    """Only its execution is sent. So one code is executed even if the service breaks at the first wrong token."""
    first, *_ = purposes_by_code().values()

    assert first == [Execution.SUPPLIED]


def test_every_other_code_is_executed_last():
    """The last request of each other code has the valid token.

    All requests before it have a wrong one, and must not execute or spend the code. Some codes have none before it,
    because they are executed right behind an event, such as a deletion.
    """
    _, *others = purposes_by_code().values()
    before_the_last = [set(purposes[:-1]) for purposes in others]
    offered = [purposes for purposes in before_the_last if purposes == {Execution.UNAUTHORIZED_BEFORE_EXECUTION}]
    last = {purposes[-1] for purposes in others}

    assert all(purposes <= {Execution.UNAUTHORIZED_BEFORE_EXECUTION} for purposes in before_the_last)
    assert len(offered) >= 4
    assert last == {Execution.SUPPLIED, Execution.PREPARED}


def test_after_the_first_execution_come_an_offer_and_the_first_code_without_the_valid_token():
    """The first offer is the next request after the first execution: a service may remember whom it just granted one.

    Then the first code goes once without a token and once with a wrong one, because a cache may answer anybody.
    """
    log = sent_to_the_sandbox("sandbox").session.door.log
    execution = log.of("executePix", Execution.SUPPLIED)[0]
    following = [exchange.purpose for exchange in log if exchange.number > execution.number][:3]

    assert following == [
        Execution.UNAUTHORIZED_BEFORE_EXECUTION,
        Execution.UNAUTHORIZED_AFTER_EXECUTION,
        Execution.UNAUTHORIZED_AFTER_EXECUTION,
    ]
