"""Two questions to Hypothesis: different values of a strategy, and the smallest value that shows a finding.

The same seed draws the same values on every machine: no constants of loaded modules are drawn, and nothing is kept in a
database. `cases.py` and `step_sequences.py` have the strategies.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection
from contextlib import suppress
from random import Random
from typing import TypeVar

import hypothesis
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.errors import HypothesisWarning, NoSuchExample
from hypothesis.internal.conjecture.providers import AVAILABLE_PROVIDERS, HypothesisProvider
from hypothesis.internal.constants_ast import Constants

from reports.outputs.writing import RUNS

T = TypeVar("T")
IS_KEPT = st.integers(0, 3).map(bool)
"""Whether a character, or a part of a case, is kept: three of four are. 0 is the simplest value, so Hypothesis shrinks
towards texts and cases without any part."""


class _ReproducibleProvider(HypothesisProvider):
    """The provider of Hypothesis without the constants of loaded modules.

    Hypothesis draws them now and then, and which modules are loaded depends on the machine. Without them a seed draws
    the same everywhere. A provider is registered as a backend of Hypothesis.
    """

    _local_constants = Constants()


_BACKEND = "pixconf"
AVAILABLE_PROVIDERS[_BACKEND] = _ReproducibleProvider
hypothesis.configuration.set_hypothesis_home_dir(RUNS / ".hypothesis")
_PARTS_BEFORE_SHRINKING = 10
"""Parts of a case that are drawn before Hypothesis begins to shrink. If none of them shows the finding, the search
ends, so that a fault which shows only in the whole costs few requests."""
_ATTEMPTS = 3
"""Attempts to draw as many cases as are asked for, because some of the drawn ones are equal."""


_SETTINGS = settings(
    backend=_BACKEND,
    phases=(Phase.generate,),
    database=None,
    deadline=None,
    derandomize=False,  # if CI is set, Hypothesis has a profile that ignores the seed
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
)


def distinct_values(strategy: st.SearchStrategy[T], seed: str, count: int, excluded: Collection[T] = ()) -> list[T]:
    """As many different values as `count`, drawn from the strategy, without the excluded ones.

    There are fewer if several attempts draw no new value. The same `seed` gives the same values.
    """
    values: dict[T, None] = {}  # a dictionary instead of a set, because it keeps the order
    for attempt in range(_ATTEMPTS):

        @settings(_SETTINGS, max_examples=count + attempt)
        @hypothesis.seed(f"{seed} {attempt}")
        @hypothesis.given(strategy)
        def collect(value: T) -> None:
            """Keep a drawn value, unless it is excluded or there are enough."""
            if value not in excluded and len(values) < count:
                values[value] = None

        if len(values) < count:
            collect()
    return list(values)


def search_for_smallest(strategy: st.SearchStrategy[T], shows_finding: Callable[[T], bool]) -> None:
    """Have Hypothesis search for the smallest value of a strategy, such as a part of a request, that shows a finding.

    A finding is a deviation of the service. Hypothesis calls `shows_finding` with one value after the other: it sends
    the value, and returns True if the answer shows the finding. Nothing is returned here, because `shows_finding` has
    received the smallest value. If none of the first values shows the finding (`_PARTS_BEFORE_SHRINKING`), the search
    ends.
    """
    search = settings(_SETTINGS, phases=(Phase.generate, Phase.shrink), max_examples=_PARTS_BEFORE_SHRINKING)
    # `NoSuchExample` means that none of the first values shows the finding.
    with suppress(NoSuchExample), warnings.catch_warnings():
        warnings.simplefilter("ignore", HypothesisWarning)  # it warns of long texts
        hypothesis.find(strategy, shows_finding, settings=search, random=Random(0))
