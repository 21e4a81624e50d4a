"""How much traffic a run generates, and from what."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from environments.profiles.profile import Profile
from reports.writing import RUNS

if TYPE_CHECKING:
    import pytest

DEFAULT_READS = 12
"""Valid requests for each read. A fault in one answer of four is then missed once in 30 runs; it is a warning at most."""
DEFAULT_DRAWN = 10
"""Requests that Hypothesis draws for each operation. They look for faults that no listed class covers."""

MOST_SEQUENCES, STEPS = 3, 8
"""Sequences of the state machine, and the steps of each."""


@dataclass(frozen=True)
class GenerationSettings:
    """`registrations` of a run, as many deletions, and `reads` for each operation are valid; `drawn` for each need not be.

    `database` keeps the choices of failing examples, None for none; `replay` tries them first, which a run that repeats
    another one does not.
    """

    seed: int
    registrations: int
    reads: int
    drawn: int
    database: Path | None
    replay: bool


def settings_of(config: pytest.Config, profile: Profile, *, seed: int) -> GenerationSettings:
    """What the command line and the profile ask for."""
    from tests.harness.options import examples_of  # the process that draws needs no pytest

    return GenerationSettings(
        seed=seed,
        registrations=examples_of(config, profile),
        reads=examples_of(config, profile, DEFAULT_READS),
        drawn=examples_of(config, profile, DEFAULT_DRAWN),
        database=None if config.getoption("no_report") else RUNS / profile.name / ".hypothesis",
        replay=config.getoption("seed") is None,
    )
