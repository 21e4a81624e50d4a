"""The record of a run, as data."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from itertools import takewhile

from environments.profiles.model import Profile
from reports.observed.behaviour import Drift, Record
from reports.result.grants import Generated, Grants
from reports.result.provenance import Suite, suite
from reports.result.verdicts import RequirementResult
from reports.sentences.wording import exchanges_in_words
from reports.showing.evidence import Evidence
from spec.facts import Facts
from spec.message import Text, message_of, say


class NoteKind(StrEnum):
    """Kinds of notes in words, in the order in which notes are said. The first ones are alerts."""

    OUTCOME_UNKNOWN = "the outcome of an execution is unknown"
    OBSERVED_FIRST = "the service does something that may cost money"
    KEY_GONE = "a key that was there before the run is gone"
    UNREACHABLE = "the target cannot be reached"
    SUITE_FAILED = "the suite itself failed"
    NOTHING_GRANTED = "no operation succeeded"
    SET_UP = "something is wrong with the token, the codes or the journal"
    ACCOUNT = "an account of the profile is refused"
    LEFT = "keys that the run registered are left"
    REDIRECTED = "--base-url replaced the embedded sandbox"
    KNOWN_FAILURE = "a known failure has passed or expired"
    NOTHING_TESTED = "nothing was tested"
    CUT = "not all requests were sent"
    GENERATED_TRAFFIC = "no generated request was accepted"
    IN_COMPANY = "requests in flight together were answered otherwise"

    @property
    def is_alert(self) -> bool:
        """True for what the summary says before the findings."""
        return self in takewhile(NoteKind.KNOWN_FAILURE.__ne__, NoteKind)

    @property
    def published_name(self) -> str:
        """The kind in conformance.json: `outcome-unknown`."""
        return self.name.lower().replace("_", "-")


@dataclass(frozen=True)
class Note:
    """One line for people."""

    kind: NoteKind
    text: Text

    @property
    def is_alert(self) -> bool:
        """True for what the summary says before the findings."""
        return self.kind.is_alert


def outcome_unknown(whose: Text, remedy: Text) -> Note:
    """An execution of which no answer says whether money was moved."""
    text = say("OUTCOME UNKNOWN of {whose}: {remedy}", whose=message_of(whose), remedy=message_of(remedy))
    return Note(NoteKind.OUTCOME_UNKNOWN, text)


@dataclass(frozen=True)
class Observation:
    """Something that the interface document does not show, as the service does it. `situation`: what was sent, always
    the same for the same request; empty where the requirement has one alone. `first`: it is said before all others."""

    id: str
    facts: Facts
    situation: Text = ""
    first: bool = False


@dataclass(frozen=True)
class LeftKey:
    """A key that the run registered and did not clean up. `of_the_profile`: the profile names it."""

    what: Text
    why: str
    of_the_profile: bool
    exchanges: tuple[int, ...]

    @property
    def in_words(self) -> Text:
        """One line."""
        return say(
            "{what}: {why} ({exchanges})",
            what=message_of(self.what),
            why=message_of(self.why),
            exchanges=exchanges_in_words(self.exchanges),
        )


@dataclass(frozen=True)
class Recording:
    """Recorded traffic that a run judges in place of what a run sends: what it is, why not all of it could be judged,
    and whether an answer was judged as a success."""

    in_words: Text = ""
    unjudged: Text = ""
    has_a_success: bool = False


@dataclass
class Run:
    """The record of a run: what its tests found, and what it sent.

    It is filled while the run lasts, and does not change after that. `result_of_run` in `run_verdict.py` says what it
    shows.
    """

    profile: Profile
    base_url: str
    selection: str | None = None
    recorded: Recording | None = None
    narrowed: bool = False
    started: datetime = field(default_factory=lambda: datetime.now(UTC))
    suite: Suite = field(default_factory=suite)  # at the start
    ci_job: str | None = None
    record: Record | None = None
    drift: list[Drift] = field(default_factory=list)
    accepted: str = ""
    results: list[RequirementResult] = field(default_factory=list)
    observations: list[Observation] = field(default_factory=list)
    exchanges: dict[int, Evidence] = field(default_factory=dict)
    elapsed_s: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))  # of the tests
    not_cleaned_up: list[LeftKey] = field(default_factory=list)
    not_executed: list[Text] = field(default_factory=list)
    said: list[Note] = field(default_factory=list)
    errors: list[Text] = field(default_factory=list)
    selected: set[str] = field(default_factory=set)
    seed: int = 0
    examples: int = 0
    generated: Generated = field(default_factory=Generated)
    grants: Grants = field(default_factory=Grants)
    unsent: Mapping[Text, Sequence[str]] = field(default_factory=dict)  # what a limit cut short, by the limit
    outages: Mapping[Text, Sequence[str]] = field(default_factory=dict)  # those of `unsent` that a gateway answered
    ended_by: Text = ""  # the limit that ended the sending, or the token that expired
    requests: int = 0
    executions: int = 0
    unknown_outcomes: int = 0
    unreachable: str = ""
    journal_trouble: bool = False
    interrupted: bool = False
    stopped: Text = ""  # why pytest ran only some of the tests, such as -x
    finished: datetime | None = None

    def __setattr__(self, name: str, value: object) -> None:
        if self.finished is not None:
            raise AttributeError(f"the run is over: {name} does not change any more")
        super().__setattr__(name, value)

    @property
    def not_cleaned_up_in_words(self) -> list[Text]:
        """Keys and transfers not cleaned up, in words."""
        return [*(key.in_words for key in self.not_cleaned_up), *self.not_executed]

    def close(self) -> None:
        """The run is over."""
        self.finished = datetime.now(UTC)
