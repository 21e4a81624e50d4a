"""Sequences of operations on keys and balances."""

from itertools import product

import pytest

from environments.sandbox import Service
from tests.selftest.services.one_run import GENERATED_TESTS, result_in_memory
from tests.traffic.stateful import Step, situations_in


def test_one_account_is_enough(tmp_path):
    """Its list and its balance are read, because a profile need not name a second one."""
    result = result_in_memory(
        Service(), tmp_path, "registerPixKey.status or getBalance.exists", GENERATED_TESTS, accounts=["ac-0001"],
        allow=["read", "register-keys", "delete-keys", "fuzz"], transactions=None, limits={"examples": 20},
    )  # fmt: skip

    assert result.run.errors == []
    assert "registerPixKey.status" in result.messages_with_verdict("pass")


REGISTER, DELETE, LIST, BALANCE = Step.REGISTER, Step.DELETE, Step.LIST, Step.BALANCE


def is_reached(sequence, first, second, third):
    """True if the third step follows these two changes of the key, with reads between them at most."""
    changes = []
    for step in sequence:
        if changes[-2:] == [first, second] and step is third:
            return True
        if step in (REGISTER, DELETE):
            changes.append(step)
    return False


@pytest.mark.parametrize(("examples", "most_missed"), [(20, 0.25), (50, 0.05)])
def test_sequences_reach_most_faults_of_three_steps(examples, most_missed):
    """Every two changes of a key, and every step after them, over four seeds."""
    from tests.traffic.drawing import draw_sequences

    faults = list(product((REGISTER, DELETE), (REGISTER, DELETE), Step))
    missed = []
    for seed in range(4):
        sequences = draw_sequences(seed, examples // 4, list(Step), situations_in)
        missed += [fault for fault in faults if not any(is_reached(sequence, *fault) for sequence in sequences)]

    assert len(missed) <= most_missed * 4 * len(faults)
