"""Hypothesis as a run uses it: its profile, the cases of an operation, and one pass over them.

Import it where something is drawn: with what it needs that takes most of a second.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from unittest import SkipTest

import hypothesis
from hypothesis import HealthCheck, Phase, Verbosity, given, settings
from hypothesis import strategies as st
from hypothesis.database import DirectoryBasedExampleDatabase
from hypothesis.errors import Flaky
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants
from hypothesis.strategies import SearchStrategy

from spec.interface import operations
from spec.json_text import as_bytes
from tests.traffic.case import Case, Form
from tests.traffic.generation import drawn, schema
from tests.traffic.generation.tuning import tune

PROFILE = "conformance"


def strategy_of(operation: str, places: Sequence[str], form: Form | None) -> SearchStrategy[Case]:
    """The cases of the fuzzing phase. `places` are the path parameters that they may go to."""
    found = [schema.fuzzing_cases(operation, places if form else (), form)]
    if operations()[operation].path_parameter:
        found.append(drawn.path_parameters(operation, as_bytes(form) if form else None))
    if form:
        found += [drawn.bodies(operation, places, form)] * 2
    else:
        found.append(drawn.queries(operation, places))
    return st.one_of(found)


def try_each(
    strategy: SearchStrategy[Case],
    body: Callable[[Case], None],
    *phases: Phase,
    name: str,
    seed: int,
    most: int,
    kept: Path | None,
) -> None:
    """Call `body` with what is drawn in these phases. `kept` has the choices of what failed before, under the name."""
    register_profile()
    store = DirectoryBasedExampleDatabase(kept) if kept else None

    @settings(settings.get_profile(PROFILE), phases=phases, database=store, max_examples=most)
    @hypothesis.seed(seed)
    @given(strategy)
    def tried(case: Case) -> None:
        body(case)

    tried._hypothesis_internal_database_key = name.encode()  # type: ignore[attr-defined]
    with suppress(BaseExceptionGroup, Flaky, SkipTest):  # what was found is known; nothing kept, nothing to try
        tried()


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
        report_multiple_bugs=True,
        verbosity=Verbosity.quiet,
        suppress_health_check=list(HealthCheck),
    )
