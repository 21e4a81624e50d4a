"""Hypothesis as a run uses it: its profile, the cases of an operation, and the steps of sequences.

Import it where something is drawn: with what it needs that takes most of a second.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import hypothesis
from hypothesis import HealthCheck, Phase, Verbosity, given, settings
from hypothesis import strategies as st
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants
from hypothesis.strategies import SearchStrategy

from spec.interface import operations
from spec.json_text import as_bytes
from tests.traffic.case import Case, Form
from tests.traffic.generation import drawn, schema
from tests.traffic.generation.settings import MOST_SEQUENCES, STEPS, GenerationSettings
from tests.traffic.generation.tuning import tune
from tests.traffic.stateful import Step, StepKind

PROFILE = "conformance"
Drawn = TypeVar("Drawn")


def draw_cases(operation: str, places: Sequence[str], form: Form | None, wanted: GenerationSettings) -> list[Case]:
    """The cases of the fuzzing phase. `places` are the path parameters that they may go to."""
    found = [schema.fuzzing_cases(operation, places if form else (), form)]
    if operations()[operation].path_parameter:
        found.append(drawn.path_parameters(operation, as_bytes(form) if form else None))
    if form:
        found += [drawn.bodies(operation, places, form)] * 2
    else:
        found.append(drawn.queries(operation, places))
    seed = wanted.derived_seed(f"{operation}.fuzzing")
    return list(dict.fromkeys(_draw(st.one_of(found), seed=seed, most=wanted.drawn)))


def draw_steps(wanted: GenerationSettings, keys: int) -> list[Step]:
    """The steps of all sequences over so many keys. Which step comes when depends on the seed alone."""
    kinds = st.sampled_from([kind for kind in StepKind if kind is not StepKind.TIDY])
    steps = st.lists(st.builds(Step, kinds, st.sampled_from(range(keys or 1))), min_size=STEPS, max_size=STEPS)
    drawn = _draw(steps, seed=wanted.derived_seed("stateful"), most=min(MOST_SEQUENCES, wanted.drawn))
    return [step for sequence in drawn for step in (*sequence, Step(StepKind.TIDY))]


def _draw(strategy: SearchStrategy[Drawn], *, seed: int, most: int) -> list[Drawn]:
    """At most so many examples. The same seed draws the same ones, whatever the answers are."""
    register_profile()
    found: list[Drawn] = []

    @settings(settings.get_profile(PROFILE), phases=(Phase.generate,), database=None, max_examples=most)
    @hypothesis.seed(seed)
    @given(strategy)
    def keep(example: Drawn) -> None:
        found.append(example)

    keep()
    return found


def register_profile() -> None:
    """A profile of our own, in place of the `ci` profile, which always tries the same."""
    tune()
    if hasattr(providers, "_get_local_constants"):  # else which modules are loaded would decide what a seed gives
        providers._get_local_constants = Constants
    settings.register_profile(
        PROFILE,
        settings.get_profile("default"),
        deadline=None,
        derandomize=False,
        print_blob=False,
        verbosity=Verbosity.quiet,
        suppress_health_check=list(HealthCheck),
    )
