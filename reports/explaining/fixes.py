"""What usually fixes a deviation, for each kind of requirement. Source: `fixes.yaml`."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

from spec.interface import operations
from spec.message import Text, say
from spec.requirements import Requirement, read_yaml

FIXES = Path(__file__).with_name("fixes.yaml")


@dataclass(frozen=True)
class Fix:
    """One entry of the file: the requirements of a level, or those whose ids fit a pattern."""

    fix: str
    level: str = ""
    ids: tuple[str, ...] = ()

    def fits(self, requirement: Requirement) -> bool:
        """Whether the entry is about the requirement."""
        return requirement.level == self.level or any(fnmatchcase(requirement.id, pattern) for pattern in self.ids)


@cache
def fixes() -> tuple[Fix, ...]:
    """All entries, in their order. Raises TypeError for one with another member."""
    return tuple(Fix(**entry) for entry in read_yaml(FIXES))


def fix_for(requirement: Requirement) -> Text:
    """What usually fixes a deviation from the requirement; empty where no exchange can show one."""
    if requirement.untestable:
        return ""
    text = next(entry.fix for entry in fixes() if entry.fits(requirement))
    operation, parts = operations().get(requirement.operation or ""), requirement.id.split(".")
    request = f"{operation.method} {operation.path}" if operation else ""
    field = parts[-1] if parts[1] == "body" else parts[-2]
    return say(text, field=field, type=parts[-1], request=request)
