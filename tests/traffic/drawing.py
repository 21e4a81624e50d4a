"""Schemathesis and Hypothesis as a run uses them: cases of each operation from `spec/openapi.yaml`, and steps of sequences.

Of a case of Schemathesis only the path parameter, the body and the Content-Type are taken, with synthetic identifiers:
credentials are the targeted tests' to vary, and other methods and headers are never sent. What its coverage phase lists
repeats the classes of `classes.py`, so it is not sent.

Import it where something is drawn: with what it needs that takes most of a second.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, TypeVar
from urllib.parse import unquote

import hypothesis
import schemathesis
from hypothesis import HealthCheck, Phase, Verbosity, given, settings
from hypothesis import strategies as st
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants
from hypothesis.strategies import SearchStrategy
from schemathesis import Case as SchemaCase
from schemathesis import GenerationMode
from schemathesis.core import NotSet
from schemathesis.core.result import Ok
from schemathesis.generation.feedback import NO_FEEDBACK
from schemathesis.schemas import APIOperation

from reports.writing import RUNS
from spec.interface import OPENAPI, operations
from spec.json_text import as_bytes
from tests.traffic.case import JSON, Case, Form, harmless, synthetic_text
from tests.traffic.settings import MOST_SEQUENCES, STEPS, GenerationSettings
from tests.traffic.stateful import Step, StepKind

PROFILE = "conformance"
NEGATIVE_IS_POSSIBLE = ("registerPixKey", "transferExternal", "transferInternal", "transferP2p")
"""Operations whose schema can be broken. To search for what breaks the others takes long, and finds nothing."""
Drawn = TypeVar("Drawn")


def draw_cases(operation: str, places: Sequence[str], form: Form | None, wanted: GenerationSettings) -> list[Case]:
    """Cases of positive data, and of negative data where the schema can be broken. `places` are the path parameters that
    those with a body may go to; the others get one that is drawn."""
    source = _operations()[operation]
    modes = list(GenerationMode) if operation in NEGATIVE_IS_POSSIBLE else [GenerationMode.POSITIVE]
    drawn = st.one_of([source.as_strategy(generation_mode=mode, feedback=NO_FEEDBACK) for mode in modes])
    place = st.sampled_from(places) if places and form else st.none()
    cases = st.builds(lambda case, where: _case(operation, case, where, form), drawn, place)
    return list(dict.fromkeys(_draw(cases, seed=wanted.derived_seed(f"{operation}.fuzzing"), most=wanted.drawn)))


def draw_steps(wanted: GenerationSettings, keys: int) -> list[Step]:
    """The steps of all sequences over so many keys. Which step comes when depends on the seed alone."""
    kinds = st.sampled_from([kind for kind in StepKind if kind is not StepKind.TIDY])
    steps = st.lists(st.builds(Step, kinds, st.sampled_from(range(keys or 1))), min_size=STEPS, max_size=STEPS)
    drawn = _draw(steps, seed=wanted.derived_seed("stateful"), most=min(MOST_SEQUENCES, wanted.drawn))
    return [step for sequence in drawn for step in (*sequence, Step(StepKind.TIDY))]


@cache
def _operations() -> dict[str, APIOperation[Any, Any, Any, Any]]:
    schema = schemathesis.openapi.from_path(OPENAPI)
    schema.config.generation.with_security_parameters = False
    found = (result.ok() for result in schema.get_all_operations() if isinstance(result, Ok))
    return {operation.definition.raw["operationId"]: operation for operation in found}


def _case(operation: str, case: SchemaCase[Any], place: str | None, form: Form | None) -> Case:
    if place is None and case.path_parameters:
        place = synthetic_text(unquote(str(next(iter(case.path_parameters.values())))))
    headers = {name.lower(): value for name, value in (case.headers or {}).items()}
    content_type = headers.get("content-type", JSON)
    if not (content_type.isascii() and content_type.isprintable()):
        content_type = JSON
    where = _unusual(case.body, form) if form else operations()[operation].path_parameter or "query"
    return Case(operation, where, "of the schema", place, _body(case.body), content_type)


def _unusual(body: Any, form: Form) -> str:
    """The members that are missing, or of another type than in a valid body; else the body as a whole."""
    sent = body if isinstance(body, dict) else {}
    names = [name for name, valid in form.items() if name not in sent or type(sent[name]) is not type(valid)]
    return ", ".join(sorted(names)) if sent and names else "body"


def _body(body: Any) -> bytes | None:
    if isinstance(body, NotSet):
        return None
    return body if isinstance(body, bytes) else as_bytes(harmless(body))


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


@cache
def register_profile() -> None:
    """A profile of our own, in place of the `ci` profile, which always tries the same."""
    hypothesis.configuration.set_hypothesis_home_dir(RUNS / ".hypothesis")
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
