"""Tallies of recorded traffic merge in any order."""

from functools import cache, reduce

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reports.recorded.reading import tally_of
from reports.recorded.tally import Tally, merged_tally
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
def tallies_of_sixteen_files(folder):
    """The tally of each of sixteen files. A file has two of four parts, in each order, also a part twice."""
    parts = (
        [entry()],
        [execution_without_digit()] * 2,
        [registration(), registration(pixKeyType="IBAN")],
        [NOT_JUDGED["without a response"]],
    )
    files = [[*first_part, *second_part] for first_part in parts for second_part in parts]
    return [tally_of(str(har(folder, *entries, name=f"{number}.har")), PROFILE) for number, entries in enumerate(files)]


@pytest.mark.slow
@given(st.permutations(range(16)), st.integers(0, 16))
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_tallies_merge_in_any_order(tmp_path_factory, order, cut):
    """The result of judging sixteen recorded files does not depend on the order and the groups in which they are
    merged.

    A tally is what is counted in one file of recorded traffic. Several processes may each judge a part of the files.
    """
    tallies = tallies_of_sixteen_files(tmp_path_factory.getbasetemp())
    merged_in_order = reduce(merged_tally, tallies, Tally())
    in_another_order = [tallies[number] for number in order]

    first_group = reduce(merged_tally, in_another_order[:cut], Tally())
    second_group = reduce(merged_tally, in_another_order[cut:], Tally())
    merged = merged_tally(first_group, second_group)

    assert merged == merged_in_order
    assert result_of_run(run_of_tally(merged)) == result_of_run(run_of_tally(merged_in_order))
