"""What Hypothesis is asked for: different values of a strategy, and the smallest value that shows a finding."""

from hypothesis import strategies as st

from tests.traffic.drawing.with_hypothesis import distinct_values, search_for_smallest


def test_a_seed_draws_the_same_values_again():
    """The same seed draws the same numbers in the same order, and another seed draws other numbers."""
    numbers = st.integers(0, 10**9)

    assert distinct_values(numbers, "seed 5", 8) == distinct_values(numbers, "seed 5", 8)
    assert distinct_values(numbers, "seed 5", 8) != distinct_values(numbers, "seed 6", 8)


def test_no_value_is_drawn_twice():
    """Three different values of four are drawn if one is excluded, although five are asked for."""
    letters = st.sampled_from("abcd")

    assert sorted(distinct_values(letters, seed="seed 5", count=5, excluded=["b"])) == ["a", "c", "d"]


def test_the_search_ends_at_the_smallest_value():
    """Each number from 1,000 on shows a finding here. The search tries smaller and smaller numbers, down to 1,000."""
    numbers_with_finding = []

    def shows_finding(number):
        """True if the number shows the finding. Notes each such number."""
        has_finding = number >= 1_000
        if has_finding:
            numbers_with_finding.append(number)
        return has_finding

    search_for_smallest(st.integers(0, 10**9), shows_finding)

    assert min(numbers_with_finding) == 1_000


def test_a_finding_that_no_first_value_shows_ends_the_search():
    """If none of the first ten values shows the finding, the search ends without an error. Here no value shows it."""
    values_tried = []

    def note_value(value):
        """Note the value. False, because it does not show the finding."""
        values_tried.append(value)
        return False

    search_for_smallest(st.integers(0, 10**9), note_value)

    assert 1 <= len(values_tried) <= 10
