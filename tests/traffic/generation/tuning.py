"""What Hypothesis and Schemathesis would find out at length, told to them before they draw anything.

The names are private ones: where a version does not have one, it finds out by itself.
"""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

import hypothesis
from hypothesis.internal import charmap
from hypothesis.internal.intervalsets import IntervalSet
from schemathesis.specs.openapi.coverage import _schema

from reports.writing import RUNS

UTF_8 = IntervalSet([(0, 0xD7FF), (0xE000, sys.maxunicode)])
"""What UTF-8 encodes: everything but the surrogates (RFC 3629 section 3)."""


@cache
def tune() -> None:
    """Name the folder of their files, and answer what takes a fresh checkout 200 MB, or any run a quarter of a second."""
    hypothesis.configuration.set_hypothesis_home_dir(RUNS / ".hypothesis")
    _answer_for_utf_8()
    if hasattr(_schema, "_invalid_enum_candidates"):  # it draws 1375 values to take the first
        _schema._invalid_enum_candidates = tuple  # type: ignore[assignment]


def _answer_for_utf_8() -> None:
    """Hypothesis tries to encode each character, and remembers the outcome in a file."""
    find_out = getattr(charmap, "intervals_from_codec", None)
    if find_out is None:
        return

    def intervals(codec: str) -> Any:
        return (UTF_8, IntervalSet(())) if codec == "utf-8" else find_out(codec)

    charmap.intervals_from_codec = intervals  # type: ignore[assignment]
