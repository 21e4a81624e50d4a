"""Requests that Schemathesis draws from `spec/openapi.yaml`, with synthetic identifiers in all of them.

Of its cases only the path parameter and the body are taken: credentials and Content-Types are those of `invalid.py`,
and other methods and headers are never sent. What its coverage phase lists repeats the classes there, so it is not
sent.

Import it where something is drawn: with what it needs that takes most of a second.
"""

from __future__ import annotations

import gc
from functools import cache
from typing import Any
from urllib.parse import unquote

import hypothesis
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants
from schemathesis import Case as SchemaCase
from schemathesis import GenerationMode
from schemathesis.core import NotSet

from environments.profiles.model import Profile
from reports.writing import RUNS
from spec.interface import OPENAPI
from spec.json_text import as_bytes
from tests.traffic.case import Case, form_of, harmless, place_of, synthetic_text

NEGATIVE_IS_POSSIBLE = ("registerPixKey", "transferExternal", "transferInternal", "transferP2p")
"""Operations whose schema can be broken. To search for what breaks the others takes long, and finds nothing."""


def draw_cases(operation: str, profile: Profile, seed: str, most: int) -> list[Case]:
    """Cases of positive data, and of negative data where the schema can be broken. The path parameter is drawn where
    there is no body. The same seed draws the same cases."""
    form, source = form_of(operation, profile), _schema().find_operation_by_id(operation)
    modes = list(GenerationMode) if operation in NEGATIVE_IS_POSSIBLE else [GenerationMode.POSITIVE]
    place = place_of(operation, profile) if form else None
    cases: dict[Case, None] = {}

    @settings(
        phases=(Phase.generate,),
        database=None,
        deadline=None,
        derandomize=False,  # the profile that Hypothesis takes where CI is set always draws the same
        max_examples=most,
        suppress_health_check=list(HealthCheck),
    )
    @hypothesis.seed(seed)
    @hypothesis.given(hypothesis.strategies.one_of([source.as_strategy(generation_mode=mode) for mode in modes]))
    def keep(case: SchemaCase[Any]) -> None:
        cases[_case(operation, case, place)] = None

    keep()
    return list(cases)


@cache
def _schema() -> Any:
    hypothesis.configuration.set_hypothesis_home_dir(RUNS / ".hypothesis")
    providers._get_local_constants = Constants  # else which modules are loaded would decide what a seed gives
    schema = schemathesis.openapi.from_path(OPENAPI)
    schema.config.generation.with_security_parameters = False
    gc.freeze()  # all is imported, and stays: that no collection walks it again saves a tenth of a run on loopback
    return schema


def _case(operation: str, case: SchemaCase[Any], place: str | None) -> Case:
    if place is None and case.path_parameters:
        place = synthetic_text(unquote(str(next(iter(case.path_parameters.values())))))
    body = None if isinstance(case.body, NotSet) else case.body
    return Case(
        operation, path_parameter=place, body=body if isinstance(body, bytes | None) else as_bytes(harmless(body))
    )
