"""Counts of recorded traffic merge in any order."""

from functools import cache, reduce

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reports.recorded.counts import RecordedCounts, merged_counts
from reports.recorded.reading import counts_of_file
from reports.result.run_verdict import result_of_run
from tests.selftest.reports.recorded.test_reading import (
    NOT_JUDGED,
    PROFILE,
    entry,
    execution_without_digit,
    har_file,
    registration,
    run_of_counts,
)


@cache
def counts_of_sixteen_files(folder):
    """The counts of each of sixteen recorded files: for each file, how many of its entries show what.

    Each file is two of four parts, one after the other. All pairs are there, also those of a part with itself.
    """
    parts = (
        [entry()],
        [execution_without_digit()] * 2,
        [registration(), registration(pixKeyType="IBAN")],
        [NOT_JUDGED["without a response"]],
    )
    files = [[*first_part, *second_part] for first_part in parts for second_part in parts]
    return [
        counts_of_file(str(har_file(folder, *entries, name=f"{number}.har")), PROFILE)
        for number, entries in enumerate(files)
    ]


@pytest.mark.slow
@given(st.permutations(range(16)), st.integers(0, 16))
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_counts_merge_in_any_order(tmp_path_factory, order, cut):
    """The result of judging sixteen recorded files does not depend on the order and the groups in which they are
    merged.

    The counts say how many entries of a file of recorded traffic show what. Several processes may each judge a part
    of the files.
    """
    all_counts = counts_of_sixteen_files(tmp_path_factory.getbasetemp())
    merged_in_order = reduce(merged_counts, all_counts, RecordedCounts())
    in_another_order = [all_counts[number] for number in order]

    first_group = reduce(merged_counts, in_another_order[:cut], RecordedCounts())
    second_group = reduce(merged_counts, in_another_order[cut:], RecordedCounts())
    merged = merged_counts(first_group, second_group)

    assert merged == merged_in_order
    assert result_of_run(run_of_counts(merged)) == result_of_run(run_of_counts(merged_in_order))
