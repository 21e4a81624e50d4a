"""What is said of a run as a whole: notes, the most important kind first."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, auto


class NoteKind(IntEnum):
    """What a note is about, in the order in which notes are said."""

    OUTCOME_UNKNOWN = auto()
    UNREACHABLE = auto()
    SUITE_FAILED = auto()
    NOTHING_GRANTED = auto()
    SET_UP = auto()
    KNOWN_FAILURE = auto()
    NOTHING_TESTED = auto()
    CUT = auto()
    GENERATED_TRAFFIC = auto()


@dataclass(frozen=True)
class Note:
    """One line for people."""

    kind: NoteKind
    text: str


def outcome_unknown(whose: str, remedy: str) -> Note:
    """An execution of which no answer says whether money was moved."""
    return Note(NoteKind.OUTCOME_UNKNOWN, f"OUTCOME UNKNOWN of {whose}: {remedy}")
