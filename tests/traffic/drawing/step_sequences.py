"""Sequences of steps that Hypothesis draws, and shorter sequences that still show a finding.

A step is a request, such as a registration or a read. `sequences.py` has the steps and sends a sequence, and
`stateful.py` judges the answers.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

from hypothesis import strategies as st

from tests.traffic.drawing.with_hypothesis import IS_KEPT, distinct_values, search_for_smallest

T = TypeVar("T")
_FEWEST_STEPS, _MOST_STEPS = 4, 7
"""Steps of a sequence after its first one: enough to register, delete and register again, with reads in between."""
_DRAWN_FOR_EACH = 10
"""Sequences that are drawn for each one that is taken, so that there is a choice."""


def draw_sequences(
    seed: str,
    count: int,
    steps: Sequence[T],
    patterns: Callable[[Sequence[T]], set[Hashable]],
    *,
    without_impossible_steps: Callable[[Sequence[T]], tuple[T, ...]] = tuple,
    examples: Sequence[tuple[T, ...]] = (),
) -> list[tuple[T, ...]]:
    """Sequences of these steps, drawn at random: as many as `count`. Each begins with the first step.

    The `examples` are the first sequences. For the others, ten times as many sequences are drawn as needed. The chosen
    ones together have the largest number of different patterns. A pattern is, for example, a deletion right after
    a registration. `patterns` gives all patterns of a sequence. `without_impossible_steps` removes steps such as an
    execution before any preparation; by default all steps stay. The same `seed` gives the same sequences.
    """
    further_steps = st.lists(st.sampled_from(steps), min_size=_FEWEST_STEPS, max_size=_MOST_STEPS)
    strategy = further_steps.map(lambda further: without_impossible_steps((steps[0], *further)))
    drawn = distinct_values(strategy, seed, _DRAWN_FOR_EACH * count)
    return values_with_most_patterns(drawn, count, patterns, examples[:count])


def values_with_most_patterns(
    values: Iterable[T], count: int, patterns: Callable[[T], set[Hashable]], taken_first: Iterable[T] = ()
) -> list[T]:
    """The values that together have the most different patterns: as many as `count`, or all if there are fewer.

    `patterns` gives the patterns of a value. One value after the other is chosen: each time the value with the most new
    patterns, which no value chosen before has. The values in `taken_first` are chosen before all others.
    """
    chosen = list(taken_first)
    patterns_so_far: set[Hashable] = set()
    for value in chosen:
        patterns_so_far |= patterns(value)
    remaining = [(value, patterns(value)) for value in values]
    while remaining and len(chosen) < count:
        counts_of_new = [len(patterns_of_value - patterns_so_far) for _, patterns_of_value in remaining]
        index_of_best = counts_of_new.index(max(counts_of_new))
        best, patterns_of_best = remaining.pop(index_of_best)
        chosen.append(best)
        patterns_so_far |= patterns_of_best
    return chosen


def search_for_shorter_sequence(steps: Sequence[T], shows_finding: Callable[[Sequence[T]], bool]) -> None:
    """Have Hypothesis search for the shortest part of a sequence that still shows a finding, a deviation.

    A part has some of the steps. It ends with the last step, because the answer to this step shows the finding.
    Hypothesis calls `shows_finding` with one part after the other: it sends the part, and returns True if an answer
    shows the finding. It must return the same for equal parts.
    """

    @st.composite
    def parts(draw: st.DrawFn) -> tuple[T, ...]:
        """A Hypothesis strategy for parts of the sequence: some of the steps, and always the last one."""
        return (*(step for step in steps[:-1] if draw(IS_KEPT)), steps[-1])

    search_for_smallest(parts(), shows_finding)
