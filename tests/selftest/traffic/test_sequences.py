"""The steps of a sequence: which are possible, in which situations they come, and what they show of a key."""

from itertools import pairwise, product

import pytest

from environments.profiles.model import PixKey
from tests.selftest.exchanges import answer, execution
from tests.traffic.sequences import (
    SEQUENCE_OF_SEVERAL_TRANSFERS,
    STEPS_OF_KEYS,
    STEPS_OF_TRANSFERS,
    USUAL_SEQUENCE_OF_A_TRANSFER,
    executes,
    executions_after_which_a_key_is_missing,
    patterns_of_keys,
    patterns_of_transfers,
    possible_steps,
)

REGISTER, DELETE, LIST, BALANCE = STEPS_OF_KEYS
PREPARE, EXECUTE, EXECUTE_AGAIN, *_ = STEPS_OF_TRANSFERS


@pytest.mark.parametrize(
    ("drawn_steps", "steps_that_are_followed"),
    [
        ([EXECUTE, EXECUTE_AGAIN, LIST], (LIST,)),
        (
            [PREPARE, EXECUTE, EXECUTE, EXECUTE_AGAIN, EXECUTE_AGAIN],
            (PREPARE, EXECUTE, EXECUTE_AGAIN, EXECUTE_AGAIN),
        ),
        ([PREPARE, EXECUTE_AGAIN, PREPARE, EXECUTE, EXECUTE], (PREPARE, PREPARE, EXECUTE, EXECUTE)),
        (USUAL_SEQUENCE_OF_A_TRANSFER, USUAL_SEQUENCE_OF_A_TRANSFER),
    ],
    ids=["nothing is prepared", "one transfer, two executions", "nothing is executed yet", "the usual sequence"],
)
def test_an_execution_needs_a_transfer(drawn_steps, steps_that_are_followed):
    """A step that executes is left out of a drawn sequence if no transfer was prepared for it before.

    A step that executes a code a second time is left out if no code was executed before.
    """
    assert possible_steps(drawn_steps) == steps_that_are_followed


def is_reached(sequence, first, second, third):
    """True if the third step follows these two changes of the key, with reads between them at most."""
    changes = []
    for step in sequence:
        if changes[-2:] == [first, second] and step is third:
            return True
        if step in (REGISTER, DELETE):
            changes.append(step)
    return False


SEEDS = range(4)


@pytest.mark.parametrize(("number_of_sequences", "part_that_may_be_missed"), [(7, 0.05), (20, 0)])
def test_sequences_reach_most_faults_of_three_steps(number_of_sequences, part_that_may_be_missed):
    """Seven drawn sequences show 19 of 20 faults that need three steps, and twenty sequences show all of them.

    Such a fault shows in any step, such as the list of keys, after any two changes of a key (a registration or a
    deletion). Four seeds are tried.
    """
    from tests.traffic.drawing import draw_sequences

    faults = list(product((REGISTER, DELETE), (REGISTER, DELETE), STEPS_OF_KEYS))
    missed = []
    for seed in SEEDS:
        sequences = draw_sequences(f"{seed} sequences", number_of_sequences, STEPS_OF_KEYS, patterns_of_keys)
        missed += [fault for fault in faults if not any(is_reached(sequence, *fault) for sequence in sequences)]

    assert len(missed) <= part_that_may_be_missed * len(SEEDS) * len(faults)


@pytest.mark.parametrize(("number_of_sequences", "part_to_be_reached"), [(6, 0.5), (16, 0.8)])
def test_sequences_reach_most_faults_beside_an_execution(number_of_sequences, part_to_be_reached):
    """Six drawn sequences have half of all steps that can go right before or right after an execution, and sixteen
    sequences have eight of ten.

    The second execution of a code counts as an execution, too. Four seeds are tried.
    """
    from tests.traffic.drawing import draw_sequences

    pairs_with_an_execution = {pair for pair in product(STEPS_OF_TRANSFERS, repeat=2) if executes(pair)}
    number_reached = 0
    for seed in SEEDS:
        sequences = draw_sequences(
            f"{seed} sequences with transfers", number_of_sequences, STEPS_OF_TRANSFERS, patterns_of_transfers,
            without_impossible_steps=possible_steps, examples=(USUAL_SEQUENCE_OF_A_TRANSFER, SEQUENCE_OF_SEVERAL_TRANSFERS),
        )  # fmt: skip
        pairs_in_sequences = {pair for sequence in sequences for pair in pairwise(sequence)}
        number_reached += len(pairs_in_sequences & pairs_with_an_execution)

    assert number_reached >= part_to_be_reached * len(SEEDS) * len(pairs_with_an_execution)


def listing(number, *keys):
    """A list of keys with these ones."""
    return answer("listPixKeys", {"code": 0, "data": {"keys": [{"pixKey": key} for key in keys]}}, number=number)


KEY = PixKey("EMAIL", "pixconf-1@example.com")
LIST_WITH_KEY, LIST_WITHOUT_KEY = (LIST, listing(1, KEY.key)), (LIST, listing(2))
EXECUTION = (EXECUTE, execution(number=3))
DELETION = (DELETE, answer("deletePixKey", {"code": 0, "data": {}}, number=4))


def test_an_execution_may_lose_a_key():
    """An execution counts as losing a key if a list showed the key before it, and two lists in a row lack it after it."""
    steps = [LIST_WITH_KEY, EXECUTION, LIST_WITHOUT_KEY, LIST_WITHOUT_KEY]
    executions = executions_after_which_a_key_is_missing(steps, KEY, "/data/keys/*/pixKey")

    assert [exchange.number for exchange in executions] == [3]


@pytest.mark.parametrize(
    "steps",
    [
        [LIST_WITH_KEY, EXECUTION, LIST_WITHOUT_KEY, LIST_WITH_KEY, LIST_WITHOUT_KEY],
        [LIST_WITH_KEY, EXECUTION, LIST_WITHOUT_KEY],
        [EXECUTION, LIST_WITHOUT_KEY, LIST_WITHOUT_KEY],
        [LIST_WITH_KEY, EXECUTION, DELETION, LIST_WITHOUT_KEY, LIST_WITHOUT_KEY],
        [LIST_WITH_KEY, LIST_WITHOUT_KEY, LIST_WITHOUT_KEY],
    ],
    ids=[
        "a list in between shows it again",
        "only one list lacks it",
        "no list showed it before",
        "a deletion took it",
        "nothing was executed",
    ],
)
def test_an_execution_does_not_lose_a_key_that_may_be_gone_for_another_reason(steps):
    """An execution does not count as losing a key if something else may be the reason why a list lacks it."""
    executions = executions_after_which_a_key_is_missing(steps, KEY, "/data/keys/*/pixKey")

    assert [exchange.number for exchange in executions] == []
