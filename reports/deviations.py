"""A requirement that fails or warns, taken apart: what it is about, and what was found in words without counts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from reports.verdicts import Verdict
from spec.requirements import LEVELS

Row = Mapping[str, Any]
"""A requirement as `Run.document` gives it."""

_COUNTED = re.compile(
    r" \(\d+ times?, smallest: exchange \d+\)"
    r"| \((?:kept from an earlier run, )?reproduce with(?:out)? --seed(?:=\d+)?\)"
)
_IN_SEQUENCE = re.compile(r"^in a sequence, (?:valid|again): ")


@dataclass(frozen=True)
class Deviation:
    """A requirement that fails or warns. `inputs` are the classes of the requests that show it."""

    row: Row
    inputs: frozenset[str]

    @property
    def id(self) -> str:
        return str(self.row["id"])

    @property
    def operation(self) -> str:
        return self.id.partition(".")[0]

    @property
    def what(self) -> str:
        """The id without its operation."""
        return self.id.partition(".")[2]

    @property
    def member(self) -> str:
        """What the requirement is about: `digit`, `envelope.code`, `pixKeyType`."""
        return self.what.rpartition(".")[0]

    @property
    def aspect(self) -> str:
        """What is said of it: `present`, `type`, `status`."""
        return self.what.rpartition(".")[2]

    @cached_property
    def exchanges(self) -> frozenset[int]:
        return frozenset(self.row["exchanges"])

    @cached_property
    def pieces(self) -> tuple[str, ...]:
        """What was found, without how often generated traffic saw it."""
        parts = _COUNTED.sub("", self.row["message"] or "").split("; ")
        return tuple(dict.fromkeys(_IN_SEQUENCE.sub("", part) for part in parts if part))

    @property
    def weight(self) -> tuple[bool, int]:
        """What leads comes first: failures, then the level."""
        return self.row["verdict"] != Verdict.FAIL, LEVELS.index(self.row["level"])


def seen_together(one: Deviation, other: Deviation) -> bool:
    """Seen in the same answers, or in none that is known."""
    return bool(one.exchanges & other.exchanges) or not (one.exchanges or other.exchanges)
