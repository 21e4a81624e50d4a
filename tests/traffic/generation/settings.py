"""How much traffic a run generates, and from what."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

DEFAULT_EXAMPLES = 20
"""Good requests for each operation: one wrong answer in four is missed in one run of three hundred."""
DEFAULT_DRAWN = 12
"""Requests that Hypothesis draws for each operation: no input class that was tried needs them, the unknown ones do."""

MOST_SEQUENCES, STEPS = 3, 8
"""Sequences of the state machine, and the steps of each."""


@dataclass(frozen=True)
class GenerationSettings:
    """`examples` good requests and `drawn` ones for each operation.

    `cache` is where Hypothesis keeps its tables of Unicode. `database` keeps the choices of failing examples, None
    for none; `replay` tries them first, which a run that repeats another one does not.
    """

    seed: int
    examples: int
    drawn: int
    cache: Path
    database: Path | None
    replay: bool
