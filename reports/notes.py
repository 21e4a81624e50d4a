"""Notes on a run, the most important kind first; what was observed, and keys that are left.

All of it may be shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, auto

from reports.wording import exchanges_in_words
from spec.facts import Facts
from spec.message import Text, message_of, say


class NoteKind(IntEnum):
    """What a note is about, in the order in which notes are said. The first ones are alerts."""

    OUTCOME_UNKNOWN = auto()
    OBSERVED_FIRST = auto()
    UNREACHABLE = auto()
    SUITE_FAILED = auto()
    NOTHING_GRANTED = auto()
    SET_UP = auto()
    LEFT = auto()
    REDIRECTED = auto()
    KNOWN_FAILURE = auto()
    NOTHING_TESTED = auto()
    CUT = auto()
    GENERATED_TRAFFIC = auto()
    IN_COMPANY = auto()


@dataclass(frozen=True)
class Note:
    """One line for people."""

    kind: NoteKind
    text: Text

    @property
    def is_alert(self) -> bool:
        """True for what the summary says before the findings."""
        return self.kind <= NoteKind.REDIRECTED


def outcome_unknown(whose: Text, remedy: Text) -> Note:
    """An execution of which no answer says whether money was moved."""
    return Note(
        NoteKind.OUTCOME_UNKNOWN,
        say("OUTCOME UNKNOWN of {whose}: {remedy}", whose=message_of(whose), remedy=message_of(remedy)),
    )


@dataclass(frozen=True)
class Observation:
    """Something that the interface document does not show, as the service does it. `situation`: what was sent, always
    the same for the same request; empty where the requirement has one alone. `first`: it is said before all others."""

    id: str
    facts: Facts
    situation: str = ""
    first: bool = False


@dataclass(frozen=True)
class LeftKey:
    """A key that the run registered and did not clean up. `of_the_profile`: the profile names it."""

    what: str
    why: str
    of_the_profile: bool
    exchanges: tuple[int, ...]

    @property
    def in_words(self) -> Text:
        """One line."""
        exchanges = exchanges_in_words(self.exchanges)
        return say("{what}: {why} ({exchanges})", what=self.what, why=message_of(self.why), exchanges=exchanges)
