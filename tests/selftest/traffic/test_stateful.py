"""Sequences of steps on a key: registrations, deletions and reads in any order, drawn at random."""

from itertools import product

import pytest

from environments.sandbox import Service
from tests.selftest.services.one_run import GENERATED_TESTS, result_in_memory
from tests.traffic.stateful import Step, situations_in


def test_sequences_need_only_one_account(tmp_path):
    """The profile has one account. The sequences are sent for it, and their requirement passes."""
    result = result_in_memory(
        Service(), tmp_path, "registerPixKey.status or getBalance.exists", GENERATED_TESTS, accounts=["ac-0001"],
        allow=["read", "register-keys", "delete-keys", "fuzz"], transactions=None, limits={"examples": 20},
    )  # fmt: skip

    assert result.run.errors == []
    assert "registerPixKey.status" in result.messages_with_verdict("pass")


REGISTER, DELETE, LIST, BALANCE = Step.REGISTER, Step.DELETE, Step.LIST, Step.BALANCE


def is_reached(sequence, first, second, third):
    """True if the third step comes after these two changes of the key in a row.

    A change is a registration or a deletion. Reads may stand between them.
    """
    changes = []
    for step in sequence:
        if changes[-2:] == [first, second] and step is third:
            return True
        if step in (REGISTER, DELETE):
            changes.append(step)
    return False


@pytest.mark.parametrize(("examples", "most_missed"), [(20, 0.25), (50, 0.05)])
def test_sequences_reach_most_faults_of_three_steps(examples, most_missed):
    """A service may answer a step wrongly only after two certain changes of the key, such as two registrations.

    The sequences of a run reach most of these situations: with 20 examples at most a quarter is missed, with 50 at most
    a twentieth. Both shares are a choice, and are measured over four seeds.
    """
    from tests.traffic.drawing import draw_sequences

    faults = list(product((REGISTER, DELETE), (REGISTER, DELETE), Step))
    missed = []
    for seed in range(4):
        sequences = draw_sequences(seed, examples // 4, list(Step), situations_in)
        missed += [fault for fault in faults if not any(is_reached(sequence, *fault) for sequence in sequences)]

    assert len(missed) <= most_missed * 4 * len(faults)
