"""The steps of a sequence: which are possible, in which situations they come, and what they show of a key."""

import pytest

from environments.profiles.model import PixKey
from tests.selftest.exchanges import answer, execution
from tests.traffic.sequences import (
    STEPS_WITH_TRANSFERS,
    STEPS_WITHOUT_TRANSFERS,
    USUAL_SEQUENCE_OF_A_TRANSFER,
    executions_after_which_a_key_is_missing,
    possible_steps,
)

REGISTER, DELETE, LIST, BALANCE = STEPS_WITHOUT_TRANSFERS
PREPARE, EXECUTE, EXECUTE_AGAIN, *_ = STEPS_WITH_TRANSFERS


@pytest.mark.parametrize(
    ("drawn_steps", "steps_that_are_followed"),
    [
        ([EXECUTE, EXECUTE_AGAIN, LIST], (LIST,)),
        (
            [PREPARE, EXECUTE, EXECUTE, EXECUTE_AGAIN, EXECUTE_AGAIN],
            (PREPARE, EXECUTE, EXECUTE_AGAIN, EXECUTE_AGAIN),
        ),
        ([PREPARE, EXECUTE_AGAIN, PREPARE, EXECUTE, EXECUTE], (PREPARE, PREPARE, EXECUTE, EXECUTE)),
        (USUAL_SEQUENCE_OF_A_TRANSFER, USUAL_SEQUENCE_OF_A_TRANSFER),
    ],
    ids=["nothing is prepared", "one transfer, two executions", "nothing is executed yet", "the usual sequence"],
)
def test_an_execution_needs_a_transfer(drawn_steps, steps_that_are_followed):
    """A step that executes is left out of a drawn sequence if no transfer was prepared for it before.

    A step that executes a code a second time is left out if no code was executed before.
    """
    assert possible_steps(drawn_steps) == steps_that_are_followed


def list_that_shows(*keys, number):
    """The exchange with this number, a list of keys that shows these keys."""
    return answer("listPixKeys", {"code": 0, "data": {"keys": [{"pixKey": key} for key in keys]}}, number=number)


# a step and the exchange with which it was followed
KEY = PixKey("EMAIL", "pixconf-1@example.com")
LIST_WITH_KEY = (LIST, list_that_shows(KEY.key, number=1))
LIST_WITHOUT_KEY = (LIST, list_that_shows(number=2))
EXECUTION = (EXECUTE, execution(number=3))
DELETION = (DELETE, answer("deletePixKey", {"code": 0, "data": {}}, number=4))


def test_an_execution_may_lose_a_key():
    """An execution counts as losing a key if a list showed the key before the execution, and two lists in a row lack
    the key after it. The result has the execution, which is exchange 3.
    """
    steps = [LIST_WITH_KEY, EXECUTION, LIST_WITHOUT_KEY, LIST_WITHOUT_KEY]
    executions = executions_after_which_a_key_is_missing(steps, KEY, "/data/keys/*/pixKey")

    assert [exchange.number for exchange in executions] == [3]


@pytest.mark.parametrize(
    "steps",
    [
        [LIST_WITH_KEY, EXECUTION, LIST_WITHOUT_KEY, LIST_WITH_KEY, LIST_WITHOUT_KEY],
        [LIST_WITH_KEY, EXECUTION, LIST_WITHOUT_KEY],
        [EXECUTION, LIST_WITHOUT_KEY, LIST_WITHOUT_KEY],
        [LIST_WITH_KEY, EXECUTION, DELETION, LIST_WITHOUT_KEY, LIST_WITHOUT_KEY],
        [LIST_WITH_KEY, LIST_WITHOUT_KEY, LIST_WITHOUT_KEY],
    ],
    ids=[
        "a list in between shows it again",
        "only one list lacks it",
        "no list showed it before",
        "a deletion took it",
        "nothing was executed",
    ],
)
def test_an_execution_does_not_lose_a_key_that_may_be_gone_for_another_reason(steps):
    """An execution does not count as losing a key if something else may be the reason why a list lacks the key.

    It counts only if a list showed the key before, and two lists in a row lack the key after it, without a deletion.
    """
    executions = executions_after_which_a_key_is_missing(steps, KEY, "/data/keys/*/pixKey")

    assert [exchange.number for exchange in executions] == []
