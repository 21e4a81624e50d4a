"""How much traffic a run generates, and from what."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from environments.profiles.profile import Profile
from reports.writing import RUNS
from tests.harness.options import examples_of

DEFAULT_DRAWN = 12
"""Requests that Hypothesis draws for each operation. They look for faults that no listed class covers."""

MOST_SEQUENCES, STEPS = 3, 8
"""Sequences of the state machine, and the steps of each."""


@dataclass(frozen=True)
class GenerationSettings:
    """`examples` valid requests and `drawn` ones for each operation.

    `database` keeps the choices of failing examples, None for none; `replay` tries them first, which a run that repeats
    another one does not.
    """

    seed: int
    examples: int
    drawn: int
    database: Path | None
    replay: bool


def settings_of(config: pytest.Config, profile: Profile, *, seed: int) -> GenerationSettings:
    """What the command line and the profile ask for."""
    return GenerationSettings(
        seed=seed,
        examples=examples_of(config, profile),
        drawn=examples_of(config, profile, DEFAULT_DRAWN),
        database=None if config.getoption("no_report") else RUNS / profile.name / ".hypothesis",
        replay=config.getoption("seed") is None,
    )
