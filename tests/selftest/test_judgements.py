"""What several executions show together: whether an execution needs more than is documented."""

from dataclasses import replace

import pytest

from spec.findings import Conclusion
from tests.selftest.exchanges import answer, execution
from tests.traffic.execution import Executions
from tests.traffic.judgements import needs_more

REFUSED = answer("executePix", {"error": "more is needed"}, status=400)
GENEROUS = (replace(execution(), number=9),)
MORE = "no code was executed as documented: supply more, or set transactions.prepare.count to 3 or more"


@pytest.mark.parametrize(
    ("supplied", "prepared", "generous", "outcome", "message"),
    [
        (5, 2, (), Conclusion.INCONCLUSIVE, MORE),
        (5, 1, GENEROUS, Conclusion.INCONCLUSIVE, MORE),
        (
            *(0, 2, GENEROUS, Conclusion.DEVIATES),
            "prepared codes are refused as documented, and executed with a query, a body and further headers",
        ),
    ],
    ids=["prepared", "one more is needed", "refused again"],
)
def test_a_code_that_is_executed_with_more_decides_where_one_is_refused_after_it(
    supplied, prepared, generous, outcome, message
):
    """Every code is refused as documented, and the generous one is sent with more. Until then the message says what to
    supply."""
    answers = [replace(REFUSED, number=number) for number in range(1, supplied + prepared + 1)]
    made = {seen.number for seen in answers[supplied:]}
    found = needs_more(Executions(answers=answers, prepared=made, generous=list(generous)))

    assert (found.conclusion, str(found.message)) == (outcome, message)
