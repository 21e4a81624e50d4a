"""Values from tests to reports: what a test found, what a run sent, and notes on it, the most important kind first.

All of it may be shown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum, auto
from typing import Any

from reports.grants import Generated, Grants
from reports.verdicts import RequirementResult
from spec.facts import Facts, renamed
from spec.message import Text, message_of, say, say_many


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
    RECORD = auto()
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


Evidence = dict[str, Any]
"""An exchange as reports/evidence.py gives it."""


@dataclass(frozen=True)
class Observation:
    """Something that the interface document does not show, as the service does it. `situation`: what was sent, always
    the same for the same request; empty where the requirement has one alone. `first`: it is said before all others."""

    id: str
    facts: Facts
    situation: str = ""
    first: bool = False

    def redacted(self, redact: Callable[[str], str]) -> Observation:
        """The observation without known values in what a service may have a part in."""
        return replace(self, facts=renamed(self.facts, redact))


@dataclass(frozen=True)
class FoundByTest:
    """`results`: the first one is that of the test's own requirement. `answers_for` are the requirements that the test
    judged itself. `error` says what failed in the suite."""

    results: tuple[RequirementResult, ...]
    answers_for: tuple[str, ...]
    observations: tuple[Observation, ...] = ()
    exchanges: tuple[Evidence, ...] = ()
    error: str = ""


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
        numbers = ", ".join(map(str, self.exchanges))
        exchanges = say_many("exchange {numbers}", "exchanges {numbers}", n=len(self.exchanges), numbers=numbers)
        return say("{what}: {why} ({exchanges})", what=self.what, why=message_of(self.why), exchanges=exchanges)


@dataclass(frozen=True)
class Handover:
    """`executions` are transfers that were executed, or may have been: `unknown_outcomes` of them.
    `not_executed` are lines about prepared transfers, `unsent` the operations that were not sent every request, by
    the reason; `errors` say what failed in the suite where no test asked for it."""

    requests: int = 0
    executions: int = 0
    unknown_outcomes: int = 0
    unreachable: str = ""
    journal_trouble: bool = False
    notes: tuple[Note, ...] = ()
    not_cleaned_up: tuple[LeftKey, ...] = ()
    not_executed: tuple[str, ...] = ()
    generated: Generated = field(default_factory=Generated)
    grants: Grants = field(default_factory=Grants)
    unsent: Mapping[str, list[str]] = field(default_factory=dict)
    exchanges: tuple[Evidence, ...] = ()
