"""Smaller requests, parts of a request that shows a finding. Hypothesis searches among them for the smallest one.

A part has some of the members, items and characters of the request. `collecting.py` says for which findings the search
is done.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from environments.profiles.model import Profile
from spec.interface import SYNTHETIC_PREFIX
from tests.traffic.case import (
    Case,
    body_as_bytes,
    synthetic_path_parameter,
    texts_of_usual_transfer,
    with_synthetic_identifiers,
)
from tests.traffic.drawing.schema import example_of_path_parameter
from tests.traffic.drawing.with_hypothesis import IS_KEPT

_LONG = 8
"""Length from which a text is cut at its end and its start, because a choice for each character takes more requests
than a search may send. With 80 instead of 8, a percent sign among 44 characters was left with two others."""


def parts_of(case: Case, profile: Profile) -> st.SearchStrategy[Case]:
    """A Hypothesis strategy for smaller requests: parts of `case`, with some of its members, items and characters.

    A part of a text may name somebody, so each text gets the prefix `pixconf-` again. On a sandbox a usual
    transfer names the payer and the payee of the profile. They stay whole, because the service may look them up before
    it reads the rest. For the same reason a path parameter stays whole if it is the usual one.
    """
    whole = texts_of_usual_transfer(case.operation, profile)

    @st.composite
    def parts(draw: st.DrawFn) -> Case:
        """One smaller request: the case with a part of its path parameter and a part of its body."""
        path_parameter, body = case.path_parameter, case.body
        if isinstance(path_parameter, str) and path_parameter != example_of_path_parameter(case.operation, profile):
            path_parameter = synthetic_path_parameter(case.operation, _part_of(draw, path_parameter), profile)
        if body:
            part_of_body = _part_of(draw, json.loads(body), whole)
            body = body_as_bytes(with_synthetic_identifiers(part_of_body, case.operation, profile))
        return replace(case, path_parameter=path_parameter, body=body)

    return parts()


def _part_of(draw: st.DrawFn, value: Any, whole: Collection[str] = ()) -> Any:
    """A part of a JSON value, as Hypothesis draws it: some of the members, of the items and of the characters.

    Numbers, booleans, null and the texts in `whole` (accounts of the profile) stay as they are. The prefix that marks a
    text as made up is removed here, because the caller adds it to each text again.
    """
    if isinstance(value, dict):
        names = [name for name in value if draw(IS_KEPT)]  # before any text, so that shrinking drops members first
        return {name: _part_of(draw, value[name], whole) for name in names}
    if isinstance(value, list):
        return [_part_of(draw, item, whole) for item in value if draw(IS_KEPT)]
    if isinstance(value, str) and value not in whole:
        return _part_of_text(draw, value.replace(SYNTHETIC_PREFIX, ""))
    return value


def _part_of_text(draw: st.DrawFn, text: str) -> str:
    """A part of a text, as Hypothesis draws it.

    Of a short text it has some of the characters. A long text is cut at its end and at its start. If it is short
    afterwards, only some of its characters are kept.
    """
    if len(text) >= _LONG:
        # A number beyond the length keeps everything, and three of four numbers are beyond it: most parts are long, so
        # that they probably show the finding. Then Hypothesis makes the numbers smaller, by a half each time. So it
        # needs few requests to find a single character in a long text.
        numbers = st.integers(0, 4 * len(text))
        end = min(draw(numbers), len(text))
        length = min(draw(numbers), end)
        text = text[end - length : end]
    if len(text) >= _LONG:
        return text
    return "".join(character for character in text if draw(IS_KEPT))
