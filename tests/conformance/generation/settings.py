"""How much traffic a run generates, and from what."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

DEFAULT_EXAMPLES = 20
"""For each operation and phase."""


@dataclass(frozen=True)
class GenerationSettings:
    """`examples` for each operation and phase. `cache` is where Hypothesis keeps its tables of Unicode.

    `database` keeps the choices of failing examples, None for none; `replay` tries them first, which a run that
    repeats another one does not.
    """

    seed: int
    examples: int
    cache: Path
    database: Path | None
    replay: bool
