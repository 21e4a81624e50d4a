"""The Hypothesis state machine over keys and money. It never fails by itself: what it sees goes into its world."""

from __future__ import annotations

import hypothesis
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from tests.traffic.generation.search import PROFILE, derived, register_profile
from tests.traffic.generation.settings import MOST_SEQUENCES, STEPS, GenerationSettings
from tests.traffic.generation.world import World


def run_sequences(world: World, wanted: GenerationSettings) -> None:
    """Run the machine. Which step comes when depends on the seed alone, never on an answer."""
    register_profile()
    machine = hypothesis.seed(derived(wanted.seed, "stateful"))(_machine(world))
    bounds = settings(
        settings.get_profile(PROFILE),
        phases=(Phase.generate,),
        database=None,
        max_examples=min(MOST_SEQUENCES, wanted.drawn),
        stateful_step_count=STEPS,
    )
    for key in world.keys[:1]:  # whatever the machine draws, one key comes and goes
        world.register(key)
        world.tidy()
    run_state_machine_as_test(machine, settings=bounds)
    world.execute_twice()


def _machine(world: World) -> type[RuleBasedStateMachine]:
    places = st.sampled_from(range(len(world.keys) or 1))

    class KeysAndMoney(RuleBasedStateMachine):
        """Register, list, delete, prepare, execute, read the balance, in any order."""

        @rule(place=places)
        def register(self, place: int) -> None:
            for key in world.keys[place : place + 1]:
                world.register(key)

        @rule(place=places)
        def delete(self, place: int) -> None:
            for key in world.keys[place : place + 1]:
                world.delete(key)

        @rule()
        def list_keys(self) -> None:
            world.list()

        @rule()
        def read_the_balance(self) -> None:
            world.read_balance()

        @rule()
        def execute_twice(self) -> None:
            world.execute_twice()

        def teardown(self) -> None:
            world.tidy()

    return KeysAndMoney
