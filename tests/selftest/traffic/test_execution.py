"""What is sent with each real code, by its place."""

from tests.selftest.proof.directly import sent_to_the_sandbox
from tests.traffic.money.executions import Execution

OF_A_REAL_CODE = (Execution.OFFERED, Execution.SUPPLIED, Execution.PREPARED)


def purposes_by_code():
    """By real code, the purposes of its requests, in the order in which they were sent to the sandbox."""
    purposes: dict[str, list[Execution]] = {}
    for exchange in sent_to_the_sandbox("sandbox").session.door.log.of("executePix", *OF_A_REAL_CODE):
        purposes.setdefault(exchange.request.last_segment, []).append(exchange.purpose)
    return purposes


def test_the_first_real_code_is_executed_before_any_wrong_token_is_sent_with_a_code():
    """So a service that breaks after a wrong token has executed one code."""
    first, *_ = purposes_by_code().values()

    assert first == [Execution.SUPPLIED]


def test_every_other_code_is_executed_last():
    """The last request of each other code has the valid token.

    All requests before it have a wrong one, and must not execute or spend the code. Some codes have none before it,
    because they are executed right behind an event, such as a deletion.
    """
    _, *others = purposes_by_code().values()
    before_the_last = [set(purposes[:-1]) for purposes in others]
    offered = [purposes for purposes in before_the_last if purposes == {Execution.OFFERED}]
    last = {purposes[-1] for purposes in others}

    assert all(purposes <= {Execution.OFFERED} for purposes in before_the_last)
    assert len(offered) >= 4
    assert last == {Execution.SUPPLIED, Execution.PREPARED}


def test_the_first_code_is_sent_again_behind_the_first_offer():
    """The first offer leaves right behind the first execution, when the service has just granted one."""
    log = sent_to_the_sandbox("sandbox").session.door.log
    execution = log.of("executePix", Execution.SUPPLIED)[0]
    following = [exchange.purpose for exchange in log if exchange.number > execution.number][:3]

    assert following == [Execution.OFFERED, Execution.AFTER_EXECUTION, Execution.AFTER_EXECUTION]
