"""How much traffic a run generates, and from what."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256

import pytest

from environments.profiles.model import Profile
from tests.harness.options import examples_of

DEFAULT_READS = 12
"""Valid requests for each read. A fault in one answer of four is then missed once in 30 runs; it is a warning at most."""
DEFAULT_DRAWN = 10
"""Requests that Hypothesis draws for each operation. They look for faults that no listed class covers."""

MOST_SEQUENCES, STEPS = 3, 8
"""Sequences of operations on keys and money, and the steps of each."""


@dataclass(frozen=True)
class GenerationSettings:
    """`registrations` of a run, as many deletions, and `reads` for each operation are valid; `drawn` for each need not be."""

    seed: int
    registrations: int
    reads: int
    drawn: int

    def derived_seed(self, name: str) -> int:
        """The seed of what is drawn under a name."""
        return int.from_bytes(sha256(f"{self.seed} {name}".encode()).digest()[:8])


def settings_of(config: pytest.Config, profile: Profile, *, seed: int) -> GenerationSettings:
    """What the command line and the profile ask for."""
    return GenerationSettings(
        seed=seed,
        registrations=examples_of(config, profile),
        reads=examples_of(config, profile, DEFAULT_READS),
        drawn=examples_of(config, profile, DEFAULT_DRAWN),
    )
