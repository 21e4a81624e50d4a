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
    executions_that_lose_a_key,
    possible_steps,
    situations_of_keys,
    situations_of_transfers,
)

REGISTER, DELETE, LIST, BALANCE = STEPS_OF_KEYS
PREPARE, EXECUTE, AGAIN, *_ = STEPS_OF_TRANSFERS


@pytest.mark.parametrize(
    ("sequence", "possible"),
    [
        ([EXECUTE, AGAIN, LIST], (LIST,)),
        ([PREPARE, EXECUTE, EXECUTE, AGAIN, AGAIN], (PREPARE, EXECUTE, AGAIN, AGAIN)),
        ([PREPARE, AGAIN, PREPARE, EXECUTE, EXECUTE], (PREPARE, PREPARE, EXECUTE, EXECUTE)),
        (USUAL_SEQUENCE_OF_A_TRANSFER, USUAL_SEQUENCE_OF_A_TRANSFER),
    ],
)
def test_an_execution_needs_a_transfer(sequence, possible):
    """One that was prepared before; a second execution needs a first one."""
    assert possible_steps(sequence) == possible


def is_reached(sequence, first, second, third):
    """True if the third step follows these two changes of the key, with reads between them at most."""
    changes = []
    for step in sequence:
        if changes[-2:] == [first, second] and step is third:
            return True
        if step in (REGISTER, DELETE):
            changes.append(step)
    return False


@pytest.mark.parametrize(("count", "most_missed"), [(7, 0.05), (20, 0)])
def test_sequences_reach_most_faults_of_three_steps(count, most_missed):
    """Every two changes of a key, and every step after them, over four seeds."""
    from tests.traffic.drawing import draw_sequences

    faults = list(product((REGISTER, DELETE), (REGISTER, DELETE), STEPS_OF_KEYS))
    missed = []
    for seed in range(4):
        sequences = draw_sequences(f"{seed} sequences", count, STEPS_OF_KEYS, situations_of_keys)
        missed += [fault for fault in faults if not any(is_reached(sequence, *fault) for sequence in sequences)]

    assert len(missed) <= most_missed * 4 * len(faults)


@pytest.mark.parametrize(("count", "least"), [(6, 0.5), (16, 0.8)])
def test_sequences_reach_most_faults_beside_an_execution(count, least):
    """Every step right before or right after an execution, the second one included, over four seeds."""
    from tests.traffic.drawing import draw_sequences

    pairs = [pair for pair in product(STEPS_OF_TRANSFERS, repeat=2) if executes(pair)]
    reached = 0
    for seed in range(4):
        sequences = draw_sequences(
            f"{seed} sequences with transfers", count, STEPS_OF_TRANSFERS, situations_of_transfers,
            possible=possible_steps, examples=(USUAL_SEQUENCE_OF_A_TRANSFER, SEQUENCE_OF_SEVERAL_TRANSFERS),
        )  # fmt: skip
        steps_in_pairs = {pair for sequence in sequences for pair in pairwise(sequence)}
        reached += len(steps_in_pairs.intersection(pairs))

    assert reached >= least * 4 * len(pairs)


def listing(number, *keys):
    """A list of keys with these ones."""
    return answer("listPixKeys", {"code": 0, "data": {"keys": [{"pixKey": key} for key in keys]}}, number=number)


KEY = PixKey("EMAIL", "pixconf-1@example.com")
WITH_IT, WITHOUT = (LIST, listing(1, KEY.key)), (LIST, listing(2))
EXECUTION = (EXECUTE, execution(number=3))
DELETION = (DELETE, answer("deletePixKey", {"code": 0, "data": {}}, number=4))


@pytest.mark.parametrize(
    ("followed", "losing"),
    [
        ([WITH_IT, EXECUTION, WITHOUT, WITHOUT], 1),
        ([WITH_IT, EXECUTION, WITHOUT, WITH_IT, WITHOUT], 0),
        ([WITH_IT, EXECUTION, WITHOUT], 0),
        ([EXECUTION, WITHOUT, WITHOUT], 0),
        ([WITH_IT, EXECUTION, DELETION, WITHOUT, WITHOUT], 0),
        ([WITH_IT, WITHOUT, WITHOUT], 0),
    ],
)
def test_an_execution_may_lose_a_key(followed, losing):
    """Two lists lack a key that a list showed before, and nothing deleted it."""
    executions = executions_that_lose_a_key(followed, KEY, "/data/keys/*/pixKey")

    assert [exchange.number for exchange in executions] == [3] * losing
