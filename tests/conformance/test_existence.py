"""The eleven endpoints exist, under the prefix /v1; what the document does not describe keeps the general rule."""

from __future__ import annotations

import pytest

from spec.interface import PREPARING, READS, operations
from tests.harness.judging import assert_found, assert_holds, each, judged_last, requirement, rules_of
from tests.traffic.judgements import find_out_whether_the_prefix_is_served


@judged_last
@pytest.mark.parametrize("operation", each(operations(), "exists"))
def test_endpoint_exists(operation, endpoints):
    """The endpoint answers, and not like an undocumented path."""
    assert_found(endpoints.find_out_existence(operation))


@pytest.mark.parametrize("requirement_id", rules_of(*READS, *PREPARING))
def test_general_rule_reaches_the_operation(requirement_id, traffic):
    """A successful answer has status 200 and the envelope."""
    assert_holds(*traffic.valid_answers(requirement_id.split(".")[0]))


@judged_last
@requirement("general.versionPrefix")
def test_documented_paths_answer_under_v1(endpoints):
    """At least one documented path answers under /v1."""
    assert_found(find_out_whether_the_prefix_is_served(endpoints))
