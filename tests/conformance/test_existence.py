"""The eleven endpoints exist, under the prefix /v1; what the document does not describe keeps the general rule."""

from __future__ import annotations

import pytest

from spec.interface import PREPARING, READS, operations
from spec.rules import ROBUSTNESS, deviates, holds, inconclusive
from tests.harness.judging import (
    NotExercised,
    OutOfScope,
    assert_found,
    assert_holds,
    each,
    judged_last,
    requirement,
    rows,
)

UNDESCRIBED = (*READS, *PREPARING)


@judged_last
@pytest.mark.parametrize("operation", each(operations(), "exists"))
def test_endpoint_exists(operation, endpoints):
    """The endpoint answers, and not like a path that nobody documented."""
    assert_found(endpoints.existence(operation))


@pytest.mark.parametrize("row", [row for op in UNDESCRIBED for row in rows(op, lambda what: what not in ROBUSTNESS)])
def test_general_rule_reaches_the_operation(row, traffic):
    """A successful answer has status 200 and the envelope."""
    assert_holds(*traffic.visit(row.split(".")[0]))


@judged_last
@requirement("general.versionPrefix")
def test_documented_paths_answer_under_v1(traffic, endpoints):
    """At least one documented path answers under /v1."""
    assert_found(_prefix(traffic, endpoints))


def _prefix(traffic, endpoints):
    if not traffic.profile.allow - {"fuzz"}:
        raise OutOfScope("needs any permission in allow")
    permitted = [op for op in operations() if traffic.permitted(op)]
    if not permitted:
        raise NotExercised("all that is permitted may move money: add read to allow, or select an operation")
    found = [endpoints.existence(op) for op in permitted]
    exchanges = tuple(seen for finding in found for seen in finding.exchanges[:1])
    if any(finding.holds for finding in found):
        return holds(*exchanges)
    if any(finding.deviates for finding in found):
        return deviates("no documented path answers under /v1", *exchanges)
    return inconclusive("no documented path can be told from an undocumented one", *exchanges)
