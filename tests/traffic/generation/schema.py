"""What Schemathesis draws from `spec/openapi.yaml`, with synthetic identifiers: its fuzzing phase.

What its coverage phase lists repeats the classes of `tests/traffic/classes.py`, so it is not sent.

Of its cases only the path parameter, the body and the Content-Type are taken: credentials are the targeted tests'
to vary, and other methods and headers are never sent.
"""

from __future__ import annotations

import gc
from collections.abc import Sequence
from functools import cache
from typing import Any
from urllib.parse import unquote

import schemathesis
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from schemathesis import Case as SchemaCase
from schemathesis import GenerationMode
from schemathesis.core import NotSet
from schemathesis.core.result import Ok
from schemathesis.generation.feedback import NO_FEEDBACK
from schemathesis.schemas import APIOperation

from spec.interface import OPENAPI, operations
from spec.json_text import as_bytes
from tests.traffic.case import JSON, Case, Form, harmless, synthetic_text
from tests.traffic.generation.tuning import tune

NEGATIVE_IS_POSSIBLE = ("registerPixKey", "transferExternal", "transferInternal", "transferP2p")
"""Operations whose schema can be broken. To search for what breaks the others takes long, and finds nothing."""


@cache
def _operations() -> dict[str, APIOperation[Any, Any, Any, Any]]:
    tune()
    schema = schemathesis.openapi.from_path(OPENAPI)
    schema.config.generation.with_security_parameters = False
    gc.freeze()  # what was imported stays: a garbage collection need not walk it each time
    found = (result.ok() for result in schema.get_all_operations() if isinstance(result, Ok))
    return {operation.definition.raw["operationId"]: operation for operation in found}


def fuzzing_cases(operation: str, places: Sequence[str], form: Form | None) -> SearchStrategy[Case]:
    """The fuzzing phase: positive data, and negative data where the schema can be broken."""
    source = _operations()[operation]
    modes = list(GenerationMode) if operation in NEGATIVE_IS_POSSIBLE else [GenerationMode.POSITIVE]
    drawn = st.one_of([source.as_strategy(generation_mode=mode, feedback=NO_FEEDBACK) for mode in modes])
    path_parameter = st.sampled_from(places) if places else st.none()
    return st.builds(lambda case, where: _case(operation, case, where, form), drawn, path_parameter)


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
