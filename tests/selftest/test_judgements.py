"""What several executions show together: whether an execution needs more than is documented."""

from dataclasses import replace

import pytest

from spec.findings import Conclusion
from tests.selftest.exchanges import answer, execution
from tests.traffic.execution import Executions
from tests.traffic.judgements import needs_more

REFUSED = answer("executePix", {"error": "more is needed"}, status=400)
GENEROUS = replace(execution(), number=9)
MORE = "no code was executed as documented: supply more, or set transactions.prepare.count to 3 or more"


def executions(*, supplied=0, prepared=0, generous=()):
    """Every code is refused as documented; the `generous` ones were sent with a query, a body and further headers."""
    answers = [replace(REFUSED, number=number) for number in range(1, supplied + prepared + 1)]
    return Executions(answers=answers, prepared=set(range(supplied + 1, len(answers) + 1)), generous=list(generous))


@pytest.mark.parametrize(
    ("seen", "outcome", "message"),
    [
        (executions(supplied=5), Conclusion.INCONCLUSIVE, MORE),
        (executions(supplied=5, prepared=2), Conclusion.INCONCLUSIVE, MORE),
        (executions(supplied=5, prepared=1, generous=[GENEROUS]), Conclusion.INCONCLUSIVE, MORE),
        (
            executions(prepared=2, generous=[GENEROUS]),
            Conclusion.DEVIATES,
            "prepared codes are refused as documented, and executed with a query, a body and further headers",
        ),
    ],
    ids=["supplied", "prepared", "one more is needed", "refused again"],
)
def test_a_code_that_is_executed_with_more_decides_where_one_is_refused_after_it(seen, outcome, message):
    """Until then the message says what to supply."""
    found = needs_more(seen)

    assert (found.conclusion, str(found.message)) == (outcome, message)
