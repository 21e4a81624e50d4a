"""The documented endpoints exist under the prefix /v1, and undescribed operations keep the general rules.

Self-tests: promises/test_passing_trouble.py.
"""

from __future__ import annotations

import pytest

from reports.result.answer_counts import NO_OPERATION_SUCCEEDED
from spec.interface import PREPARING_OPERATIONS, READ_OPERATIONS, operations
from tests.harness.judging import (
    assert_holds,
    assert_judgement,
    not_exercised_unless,
    operations_with_requirement,
    requirement,
    rules_of,
)
from tests.traffic.existence import endpoint_exists, prefix_is_served, send_requests_about_existence
from tests.traffic.undescribed import valid_answers


@pytest.mark.parametrize("operation", operations_with_requirement("exists", operations()))
def test_endpoint_exists(operation, traffic):
    """The endpoint answers, and its answer differs from that of a path that does not exist.

    The test is skipped if the profile permits no request of the scenario `send_requests_about_existence`, which asks
    both paths.
    """
    not_exercised_unless(traffic.selects(send_requests_about_existence), NO_OPERATION_SUCCEEDED)

    assert_judgement(f"{operation}.exists", endpoint_exists(traffic, operation))


@pytest.mark.parametrize("requirement_id", rules_of(*READ_OPERATIONS, *PREPARING_OPERATIONS))
def test_general_rule_reaches_the_operation(requirement_id, traffic):
    """A successful answer has status 200 and the envelope: `code` and `data`.

    The document shows no answers of these operations. So only its general rules are judged.
    """
    operation = requirement_id.split(".")[0]  # such as "listAccounts" of "listAccounts.status"

    assert_holds(requirement_id, valid_answers(traffic, operation))


@requirement("general.versionPrefix")
def test_documented_paths_answer_under_v1(traffic):
    """At least one documented path answers under /v1."""
    assert_judgement("general.versionPrefix", prefix_is_served(traffic))
