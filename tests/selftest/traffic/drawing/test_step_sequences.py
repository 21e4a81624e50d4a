"""Drawn sequences of steps: few of them reach most faults, and a shorter one still shows a finding."""

from itertools import pairwise, product

import pytest

from tests.traffic.drawing.step_sequences import draw_sequences, search_for_shorter_sequence
from tests.traffic.sequences import (
    SEQUENCE_OF_SEVERAL_TRANSFERS,
    STEPS_WITH_TRANSFERS,
    STEPS_WITHOUT_TRANSFERS,
    USUAL_SEQUENCE_OF_A_TRANSFER,
    executes,
    patterns_with_transfers,
    patterns_without_transfers,
    possible_steps,
)

REGISTER, DELETE, *_ = STEPS_WITHOUT_TRANSFERS


def shows_fault(sequence, first_change, second_change, failing_step):
    """True if a sequence shows a fault that comes at the failing step after these two changes of the key.

    A change is a registration or a deletion. Only reads may stand between the three steps.
    """
    changes = []
    for step in sequence:
        if changes[-2:] == [first_change, second_change] and step is failing_step:
            return True
        if step in (REGISTER, DELETE):
            changes.append(step)
    return False


def number_of_missed_faults(faults, sequences):
    """How many of these faults none of the sequences shows. A fault is three steps, the arguments of `shows_fault`."""
    missed = 0
    for fault in faults:
        sequences_that_show_it = [sequence for sequence in sequences if shows_fault(sequence, *fault)]
        if not sequences_that_show_it:
            missed += 1
    return missed


SEEDS = range(4)


@pytest.mark.parametrize(("number_of_sequences", "part_that_may_be_missed"), [(7, 0.05), (20, 0)])
def test_sequences_reach_most_faults_of_three_steps(number_of_sequences, part_that_may_be_missed):
    """Seven drawn sequences show 19 of 20 faults that need three steps, and twenty sequences show all of them.

    Such a fault shows in any step, such as the list of keys, after any two changes of a key (a registration or a
    deletion). Four seeds are tried.
    """
    faults = list(product((REGISTER, DELETE), (REGISTER, DELETE), STEPS_WITHOUT_TRANSFERS))
    missed = 0
    for seed in SEEDS:
        sequences = draw_sequences(
            f"{seed} sequences", number_of_sequences, STEPS_WITHOUT_TRANSFERS, patterns_without_transfers
        )
        missed += number_of_missed_faults(faults, sequences)
    faults_of_all_seeds = len(SEEDS) * len(faults)

    assert missed <= part_that_may_be_missed * faults_of_all_seeds


@pytest.mark.parametrize(("number_of_sequences", "part_to_be_reached"), [(6, 0.5), (16, 0.8)])
def test_sequences_reach_most_faults_beside_an_execution(number_of_sequences, part_to_be_reached):
    """A fault may show in the step right before or right after an execution. So the pairs of neighbouring steps are
    counted of which one is an execution.

    Six drawn sequences have half of all such pairs, and sixteen sequences have eight of ten. The second execution of a
    code counts as an execution, too. Four seeds are tried.
    """
    pairs_with_an_execution = {pair for pair in product(STEPS_WITH_TRANSFERS, repeat=2) if executes(pair)}
    number_reached = 0
    for seed in SEEDS:
        sequences = draw_sequences(
            f"{seed} sequences with transfers", number_of_sequences, STEPS_WITH_TRANSFERS, patterns_with_transfers,
            without_impossible_steps=possible_steps, examples=(USUAL_SEQUENCE_OF_A_TRANSFER, SEQUENCE_OF_SEVERAL_TRANSFERS),
        )  # fmt: skip
        pairs_in_sequences = set()
        for sequence in sequences:
            pairs_in_sequences |= set(pairwise(sequence))
        number_reached += len(pairs_in_sequences & pairs_with_an_execution)
    pairs_of_all_seeds = len(SEEDS) * len(pairs_with_an_execution)

    assert number_reached >= part_to_be_reached * pairs_of_all_seeds


def test_the_search_ends_at_the_shortest_sequence():
    """The shortest part of a sequence that the search tries has only the steps that show the finding: three of seven.

    The service of this example fails at a read after two registrations of the same key, with any steps in between.
    """
    steps = ("register", "read", "delete", "read", "register", "delete", "read")
    sequences_that_fail = []

    def fails(part):
        """True if the service fails at the end of this part of the sequence. Notes each such part."""
        is_failure = part.count("register") == 2 and part[-1] == "read"
        if is_failure:
            sequences_that_fail.append(part)
        return is_failure

    search_for_shorter_sequence(steps, fails)

    assert min(sequences_that_fail, key=len) == ("register", "register", "read")
