"""Which executions in the log are judged as repetitions of one that succeeded."""

import pytest

from spec.log import Log
from tests.selftest.exchanges import EXECUTION_RESULT, execution
from tests.traffic.money.executions import repeated_executions


@pytest.mark.parametrize(
    ("second", "is_judged"),
    [
        (execution(number=2, valid=False), True),
        (execution(number=2, valid=False, status=409, data={"message": "executed before"}), False),
        (execution(number=2, valid=False, credential="no header"), False),
        (execution(number=2, valid=False, path="/v1/execute/pix/TX-2"), False),
    ],
    ids=["says success", "is refused", "has no token", "is another code"],
)
def test_a_repetition_that_says_success_is_judged_as_an_execution(second, is_judged):
    """A code was executed, and is sent once more. If the second answer says success, too, it is judged.

    The interface document does not say how a service refuses a repetition, so a refusal is not judged. A request without
    a token, or with another code, is no repetition.
    """
    log = Log([execution(EXECUTION_RESULT, number=1), second])

    assert repeated_executions(log) == ([second] if is_judged else [])
