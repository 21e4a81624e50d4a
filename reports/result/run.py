"""What happened in a run, as data (`Run`): results, observations, exchanges, notes and counts.

`tests/harness/watching.py` adds the results of each test. At the end of the run `tests/harness/finishing.py` adds the
exchanges and the notes. Nothing is decided or written here:

- `run_verdict.py` decides the verdict from a `Run`.
- `document.py` has the classes of the run's document, which all reports are made from.

Self-tests: reports/result/test_verdicts.py, reports/sentences/test_headline.py.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum

from environments.profiles.model import Profile
from reports.observed.behaviour import Drift, Record
from reports.result.answer_counts import AnswersToGeneratedRequests, AnswersToValidToken
from reports.result.provenance import Suite, suite
from reports.result.verdicts import RequirementResult
from reports.sentences.wording import exchanges_in_words
from reports.showing.evidence import ShownExchange
from spec.facts import Facts
from spec.message import Text, message_of, say


class NoteKind(StrEnum):
    """Kinds of notes, in the order in which a summary has them. Alerts are first: people must act on them."""

    # Alerts.
    OUTCOME_UNKNOWN = "the outcome of an execution is unknown"
    COSTLY_BEHAVIOUR = "the service does something that may cost money"
    KEY_GONE = "a key that was there before the run is gone"
    UNREACHABLE = "the target cannot be reached"
    SUITE_FAILED = "the suite itself failed"
    NO_OPERATION_SUCCEEDED = "no operation succeeded"
    WRONG_SET_UP = "something is wrong with the token, the codes or the journal"
    ACCOUNT_REFUSED = "an account of the profile is refused"
    NOT_CLEANED_UP = "keys that the run registered are left"
    REDIRECTED = "--base-url replaced the embedded sandbox"
    # Other notes.
    KNOWN_FAILURE = "a known failure has passed or expired"
    NOTHING_TESTED = "nothing was tested"
    REQUESTS_LEFT_OUT = "not all requests were sent"
    GENERATED_TRAFFIC = "no generated request was accepted"
    DIFFERENT_BESIDE_OTHERS = "requests sent at the same time were answered differently from requests sent alone"

    @property
    def is_alert(self) -> bool:
        """True if every summary shows notes of this kind before the findings, because people must act on them."""
        return self in ALERTS


ALERTS: Mapping[NoteKind, str] = {
    NoteKind.OUTCOME_UNKNOWN: "outcome-unknown",
    NoteKind.COSTLY_BEHAVIOUR: "observed-first",
    NoteKind.KEY_GONE: "key-gone",
    NoteKind.UNREACHABLE: "unreachable",
    NoteKind.SUITE_FAILED: "suite-failed",
    NoteKind.NO_OPERATION_SUCCEEDED: "nothing-granted",
    NoteKind.WRONG_SET_UP: "set-up",
    NoteKind.ACCOUNT_REFUSED: "account",
    NoteKind.NOT_CLEANED_UP: "left",
    NoteKind.REDIRECTED: "redirected",
}
"""The kinds of notes that are alerts, with their names in conformance.json. Programs read these names, so they stay."""


@dataclass(frozen=True)
class Note:
    """One line about the run as a whole, for people."""

    kind: NoteKind
    text: Text

    @property
    def is_alert(self) -> bool:
        """True if every summary shows the note before the findings, because people must act on it."""
        return self.kind.is_alert


def note_of_unknown_outcome(execution: Text, remedy: Text) -> Note:
    """The note about an execution that may have moved money, because no answer says whether it did.

    `execution` is a name for the execution, such as `exchange 7`, and `remedy` says what a person can do now.
    """
    text = say("OUTCOME UNKNOWN of {whose}: {remedy}", whose=message_of(execution), remedy=message_of(remedy))
    return Note(NoteKind.OUTCOME_UNKNOWN, text)


@dataclass(frozen=True)
class Observation:
    """Behaviour of the service that the interface document does not show."""

    id: str  # of the requirement
    facts: Facts
    situation: Text = ""  # what was sent, in the same words in each run; empty if the requirement has one situation
    may_cost_money: bool = False  # then the summary names the behaviour before all others


@dataclass(frozen=True)
class LeftKey:
    """A PIX key that the run registered at the service and did not delete again."""

    what: Text  # the key, as it may be shown
    why: str
    of_the_profile: bool  # the profile names the key
    exchanges: tuple[int, ...]

    @property
    def in_words(self) -> Text:
        """The key, why the run did not delete it, and the exchanges about it, in one line for a report."""
        return say(
            "{what}: {why} ({exchanges})",
            what=message_of(self.what),
            why=message_of(self.why),
            exchanges=exchanges_in_words(self.exchanges),
        )


@dataclass(frozen=True)
class Recording:
    """Recorded traffic that a run judges, in place of requests that it sends."""

    in_words: Text = ""  # how much traffic, and from when
    unjudged: Text = ""  # why not all of it could be judged; empty if it could
    has_a_success: bool = False  # at least one answer was judged as a success


@dataclass
class Run:
    """What happened in a run: the results of its tests, and what it sent.

    It is filled while the run lasts, and does not change after `close`. `result_of_run` in `run_verdict.py` decides the
    verdict from it.
    """

    profile: Profile
    base_url: str
    selection: str | None = None  # what -k, -m or paths select, in words; None for everything
    recorded: Recording | None = None  # None for a run that sends requests
    narrowed: bool = False  # the run is about the requirements in `selected` alone
    started: datetime = field(default_factory=lambda: datetime.now(UTC))
    suite: Suite = field(default_factory=suite)  # as it was when the run started
    ci_job: str | None = None  # address of the job
    record: Record | None = None  # what earlier runs observed and somebody accepted
    drift: list[Drift] = field(default_factory=list)
    acceptance_in_words: str = ""  # what --accept wrote, or why it wrote nothing, in one line; empty without --accept
    results: list[RequirementResult] = field(default_factory=list)  # one for each test and requirement
    observations: list[Observation] = field(default_factory=list)
    exchanges: dict[int, ShownExchange] = field(default_factory=dict)  # by number
    elapsed_s: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))  # of tests, by requirement
    not_cleaned_up: list[LeftKey] = field(default_factory=list)
    transfers_not_executed: list[Text] = field(default_factory=list)  # prepared transfers, in words
    notes: list[Note] = field(default_factory=list)  # on the run as a whole, from any part of the suite
    errors: list[Text] = field(default_factory=list)  # faults of the suite
    selected: set[str] = field(default_factory=set)  # ids of requirements
    seed: int = 0  # of generated traffic
    examples: int = 0  # generated requests for each operation
    generated: AnswersToGeneratedRequests = field(default_factory=AnswersToGeneratedRequests)
    answers_to_valid_token: AnswersToValidToken = field(default_factory=AnswersToValidToken)
    unsent: Mapping[Text, Sequence[str]] = field(default_factory=dict)  # operations that a limit cut short, by reason
    outages: Mapping[Text, Sequence[str]] = field(default_factory=dict)  # those in `unsent` because of a gateway
    ended_by: Text = ""  # the limit that ended the sending, or the token that expired
    requests: int = 0
    executions: int = 0  # unknown outcomes included
    unknown_outcomes: int = 0
    unreachable: str = ""  # why the target cannot be reached; empty if it can
    end_of_target: Text = ""  # sentence: after which exchange the target could not be reached; empty if not known
    journal_trouble: bool = False  # the file with the sent codes could not be used, so codes were kept back
    interrupted: bool = False  # by a signal
    stopped: Text = ""  # why pytest ran only some of the tests, such as -x
    finished: datetime | None = None

    def __setattr__(self, name: str, value: object) -> None:
        """Set a member. Raises AttributeError after `close`: reports are already written, and would lack the change."""
        if self.finished is not None:
            raise AttributeError(f"the run is over: {name} does not change any more")
        super().__setattr__(name, value)

    @property
    def not_cleaned_up_in_words(self) -> list[Text]:
        """What the run made at the service and did not undo: its keys, then its prepared transfers, in words."""
        return [*(key.in_words for key in self.not_cleaned_up), *self.transfers_not_executed]

    def close(self) -> None:
        """End the run and note the time. From now on, setting a member raises AttributeError."""
        self.finished = datetime.now(UTC)
