"""The Hypothesis state machine over keys and money. It draws sequences of steps; `world` takes them."""

from __future__ import annotations

import hypothesis
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from tests.traffic.generation.search import derived
from tests.traffic.generation.settings import MOST_SEQUENCES, STEPS, GenerationSettings
from tests.traffic.generation.steps import Step, StepKind
from tests.traffic.generation.strategies import PROFILE, register_profile


def draw_steps(wanted: GenerationSettings, keys: int) -> list[Step]:
    """The steps of all sequences over so many keys. Which step comes when depends on the seed alone."""
    register_profile()
    steps: list[Step] = []
    machine = hypothesis.seed(derived(wanted.seed, "stateful"))(_machine(steps, keys))
    bounds = settings(
        settings.get_profile(PROFILE),
        phases=(Phase.generate,),
        database=None,
        max_examples=min(MOST_SEQUENCES, wanted.drawn),
        stateful_step_count=STEPS,
    )
    run_state_machine_as_test(machine, settings=bounds)
    return steps


def _machine(steps: list[Step], keys: int) -> type[RuleBasedStateMachine]:
    places = st.sampled_from(range(keys or 1))

    class KeysAndMoney(RuleBasedStateMachine):
        """Register, list, delete, prepare, execute, read the balance, in any order."""

        @rule(place=places)
        def register(self, place: int) -> None:
            steps.append(Step(StepKind.REGISTER, place))

        @rule(place=places)
        def delete(self, place: int) -> None:
            steps.append(Step(StepKind.DELETE, place))

        @rule()
        def list_keys(self) -> None:
            steps.append(Step(StepKind.LIST))

        @rule()
        def read_the_balance(self) -> None:
            steps.append(Step(StepKind.READ_BALANCE))

        @rule()
        def execute_twice(self) -> None:
            steps.append(Step(StepKind.EXECUTE_TWICE))

        def teardown(self) -> None:
            steps.append(Step(StepKind.TIDY))

    return KeysAndMoney
