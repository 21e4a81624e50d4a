"""The steps that the state machine draws, and the world takes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class StepKind(Enum):
    """What the machine does."""

    REGISTER = "register"
    DELETE = "delete"
    LIST = "list"
    READ_BALANCE = "read_balance"
    EXECUTE_TWICE = "execute_twice"
    TIDY = "tidy"


@dataclass(frozen=True)
class Step:
    """One step; `place` is that of a key among those of the world."""

    kind: StepKind
    place: int = 0
