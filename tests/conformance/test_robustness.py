"""The policy of the suite: no request ends in a server error, a stack trace or a dropped connection.

Here all valid requests are judged, and the invalid ones that scenarios sent. test_property.py judges the generated
requests for the same requirements. So a requirement has two results, and the report shows the more severe one.

Self-tests: promises/test_unseen_off_a_sandbox.py.
"""

from __future__ import annotations

from itertools import product

import pytest

from spec.interface import operations
from spec.message import joined
from spec.rules import ROBUSTNESS
from tests.harness.judging import assert_judgement, out_of_scope_unless, requirements_named
from tests.traffic.judgements import never_broken
from tests.traffic.robustness import (
    kinds_of_invalid_requests_not_sent,
    kinds_of_invalid_requests_that_tested_nothing,
    why_invalid_requests_showed_nothing,
)

ROBUSTNESS_OF_EACH_OPERATION = [f"{name}.{end_of_id}" for end_of_id, name in product(ROBUSTNESS, operations())]
"""For each operation the three requirements that no request ends in a server error, a stack trace or a dropped
connection."""


@pytest.mark.parametrize("requirement_id", requirements_named(*ROBUSTNESS_OF_EACH_OPERATION))
def test_no_request_breaks_the_service(requirement_id, log, profile, reproduction):
    """No request, valid or invalid, ends in a server error, a stack trace or a dropped connection.

    A deviation is always reported. Without a deviation, the test is skipped as out of scope if no invalid request
    showed anything. On a sandbox (a test service without real money) they would, because they name an account of the
    profile there.
    """
    operation = requirement_id.partition(".")[0]  # such as "executePix" of "executePix.serverError"
    # Two sentences for the report about requests that show nothing. They are empty if there are no such requests.
    not_sent = kinds_of_invalid_requests_not_sent(log, operation)
    tested_nothing = kinds_of_invalid_requests_that_tested_nothing(log, profile, operation)
    # Empty if one of the invalid requests showed something.
    why_not_tested = why_invalid_requests_showed_nothing(log, profile, operation)

    judgement = never_broken(requirement_id, log, reproduction, joined([not_sent, tested_nothing]))
    was_tested = not why_not_tested
    out_of_scope_unless(judgement.deviates or was_tested, why_not_tested)
    assert_judgement(requirement_id, judgement)
