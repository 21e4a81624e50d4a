"""The ledger: every statement of the document as one row of `requirements.yaml`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

LEDGER = Path(__file__).with_name("requirements.yaml")
LEVELS = ("documented", "implied", "example", "robustness", "not-shown")
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True)
class Requirement:
    """One row: a statement, where it stands and what a deviation from it means."""

    id: str
    section: str
    level: str
    text: str
    untestable: str = ""

    @property
    def operation(self) -> str | None:
        """The operationId that the row belongs to; None for a row of no operation."""
        prefix = self.id.split(".")[0]
        return None if prefix == "general" else prefix

    @property
    def heading(self) -> str:
        """The heading of the document under which the row first stands."""
        return self.section.split(";")[0].split(",")[0]


@cache
def ledger() -> Mapping[str, Requirement]:
    """All rows by id, in the document's order. Raises ValueError on a repeated id or an unknown level."""
    rows: dict[str, Requirement] = {}
    for item in yaml.load(LEDGER.read_text("utf-8"), Loader=_LOADER):
        row = Requirement(**item)
        if row.id in rows or row.level not in LEVELS:
            raise ValueError(f"{LEDGER.name}: {row.id}: repeated id, or level {row.level!r} is unknown")
        rows[row.id] = row
    return rows
