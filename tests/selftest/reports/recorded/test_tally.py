"""Tallies of recorded traffic merge in any order."""

from functools import cache, reduce

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reports.recorded.reading import tally_of
from reports.recorded.tally import Tally, merge
from reports.result.run_verdict import result_of_run
from tests.selftest.reports.recorded.test_reading import (
    NOT_JUDGED,
    PROFILE,
    entry,
    execution_without_digit,
    har,
    registration,
    run_of_tally,
)


@cache
def tallies(folder):
    """The tally of each of sixteen files."""
    parts = (
        [entry()],
        [execution_without_digit()] * 2,
        [registration(), registration(pixKeyType="IBAN")],
        [NOT_JUDGED["without a response"]],
    )
    files = [[*first_part, *second_part] for first_part in parts for second_part in parts]
    return [tally_of(str(har(folder, *entries, name=f"{at}.har")), PROFILE) for at, entries in enumerate(files)]


@pytest.mark.slow
@given(st.permutations(range(16)), st.integers(0, 16))
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_tallies_merge_in_any_order(tmp_path_factory, order, cut):
    """Files in any order and in any groups give the same tally."""
    parts = tallies(tmp_path_factory.getbasetemp())
    groups = [[parts[at] for at in order[:cut]], [parts[at] for at in order[cut:]]]
    merged = merge(*(reduce(merge, group, Tally()) for group in groups))

    assert merged == reduce(merge, parts, Tally())
    assert result_of_run(run_of_tally(merged)) == result_of_run(run_of_tally(reduce(merge, parts, Tally())))
