"""What Hypothesis would find out at length, told to it before it draws anything.

The name is a private one: a version that does not have it finds out by itself.
"""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

import hypothesis
from hypothesis.internal import charmap
from hypothesis.internal.intervalsets import IntervalSet

from reports.writing import RUNS

UTF_8 = IntervalSet([(0, 0xD7FF), (0xE000, sys.maxunicode)])
"""What UTF-8 encodes: everything but the surrogates (RFC 3629 section 3)."""


@cache
def tune() -> None:
    """Name the folder of its files, and answer what takes the first run in a checkout 200 MB and a second."""
    hypothesis.configuration.set_hypothesis_home_dir(RUNS / ".hypothesis")
    _answer_for_utf_8()


def _answer_for_utf_8() -> None:
    """Hypothesis tries to encode each character, and remembers the outcome in a file."""
    find_out = getattr(charmap, "intervals_from_codec", None)
    if find_out is None:
        return

    def intervals(codec: str) -> Any:
        return (UTF_8, IntervalSet(())) if codec == "utf-8" else find_out(codec)

    charmap.intervals_from_codec = intervals  # type: ignore[assignment]
