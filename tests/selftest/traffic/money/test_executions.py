"""Which executions in the log are judged as repetitions of one that succeeded."""

import pytest

from spec.log import Log
from tests.selftest.exchanges import EXECUTION_RESULT, execution
from tests.traffic.money.executions import repeated_executions


@pytest.mark.parametrize(
    ("second_execution", "is_judged"),
    [
        (execution(number=2, valid=False), True),
        (execution(number=2, valid=False, status=409, data={"message": "executed before"}), False),
        (execution(number=2, valid=False, credential="no header"), False),
        (execution(number=2, valid=False, path="/v1/execute/pix/TX-2"), False),
    ],
    ids=["says success", "is refused", "has no token", "is another code"],
)
def test_a_repetition_that_says_success_is_judged_as_an_execution(second_execution, is_judged):
    """If a code is executed a second time, the second answer is judged like the first one only if it says success, too.

    The interface document does not say how a service refuses a repetition, so a refusal is not judged. A request
    without a token, or with another code, is no repetition. `repeated_executions` returns the repetitions that are
    judged.
    """
    log = Log([execution(EXECUTION_RESULT, number=1), second_execution])
    judged_repetitions = [second_execution] if is_judged else []

    assert repeated_executions(log) == judged_repetitions
