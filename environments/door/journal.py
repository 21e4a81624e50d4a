"""The journal of executions: which codes were sent, so that no later run sends one again.

It is one file for each user of a machine, or the one that the profile names. A code stands in it by a digest of
nothing else, so another spelling of the address, another profile or a copy meets the same entry.
"""

from __future__ import annotations

import os
import shutil
import unicodedata
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from environments.door.budget import Ending
from environments.door.event_log import MISSING, Event, EventLog, JournalError, LogKey, as_journal_error
from spec.answers import NO_ANSWER_OF_THE_SERVICE, RefusalKind, grants_protected_result, refusal_kind
from spec.exchange import Exchange, FailureKind

_STARTED = "started by --new-journal"
_KEEPS = (
    "restore it, or start a new one with --new-journal: the old file is kept, and what can be read of it still counts"
)


class Outcome(StrEnum):
    """What became of a code."""

    OFFERED = "offered"  # written before it is first sent, with any credential
    SENT = "sent"  # written before it is sent with the valid token
    NOT_SENT = "not sent"  # closes SENT where there was no connection, or the run was stopped before
    SUCCESS = "success"
    REFUSED = "refused"
    UNKNOWN = "unknown"
    SETTLED = "settled"  # somebody has looked an unknown outcome up


@dataclass(frozen=True)
class JournalEntry:
    """What the journal says of one code: the last outcome, by whom, where and when, and the status of the answer."""

    digest: str
    environment: str
    at: str
    run: str
    outcome: Outcome
    status: str = ""

    @property
    def name(self) -> str:
        """Names an entry whose code is not at hand: no report shows a code that a run prepared."""
        return self.digest[:12]

    @property
    def is_unknown(self) -> bool:
        """True where money may have moved, and nobody has looked it up. A run that was killed ends at SENT."""
        return self.outcome in (Outcome.SENT, Outcome.UNKNOWN)

    @property
    def bars(self) -> bool:
        """True where no later run sends the code."""
        return self.outcome is not Outcome.OFFERED

    def __str__(self) -> str:
        """For people, as the end of a sentence about the code."""
        if self.outcome is Outcome.SUCCESS:
            return f"was executed at {self.at}: prepare a new one"
        if self.outcome is Outcome.REFUSED:
            with_another = "with another token, " if self.status == "401" else ""
            refused = f"was refused {self.status} at {self.at}".replace("  ", " ")
            return f"{refused}: prepare a new one, or {with_another}name it in --resend-code"
        unknown = "; nobody has looked the transfer up" if self.is_unknown else ""
        return f"was sent at {self.at} with an unknown outcome{unknown}: prepare a new one"


class Journal(EventLog):
    """Codes sent by all runs. `resend` has the code that this run may send although an earlier one did."""

    def __init__(
        self, path: Path, key: LogKey, *, environment: str = "", run: str = "", resend: Container[str] = ()
    ) -> None:
        super().__init__(path, key, environment=environment, run=run)
        self.ending, self._resend = Ending(), resend

    @contextmanager
    def turn(self) -> Iterator[None]:
        """While a code is sent, no other thread or process sends one, from its entry to its outcome. NotSentError where
        the run is stopped meanwhile; JournalError where the folder cannot be written."""
        with ExitStack() as held:
            with as_journal_error():
                self._make_folder()
                held.enter_context(self.ending.holding(self.lock))
            yield

    @as_journal_error()
    def open(self) -> None:
        """See that it can be written, before there is anything to write. A new one is begun where there is none: it is
        enough for codes that a run prepares. Raises JournalError."""
        with self.turn():
            if self.fault() == MISSING:
                self.begin_anew([])
            os.close(os.open(self.path, os.O_RDWR | os.O_NOFOLLOW | os.O_CREAT, 0o600))

    def refusal(self) -> str:
        """Why the codes of a profile are not sent; empty where they are. Raises JournalError."""
        fault = self.fault()
        if fault and fault != MISSING:
            return f"transactions.codes are not sent: the journal {self.path} cannot be relied on ({fault}): {_KEEPS}"
        if fault or not any(event["event"] == _STARTED for event in self.events()):
            return (
                f"transactions.codes are not sent: no journal says which codes earlier runs sent ({self.path}): if "
                "this is the first use here, start one with --new-journal; else bring the journal back"
            )
        return ""

    @as_journal_error()
    def start(self) -> str:
        """Start a journal, with all that can be read of one that is damaged. Gives a line about it. Raises JournalError
        where the journal is whole."""
        with self.turn():
            if not self.refusal():
                raise JournalError(f"--new-journal: {self.path} can be read: leave the option out")
            self.path.touch(mode=0o600)
            kept, events = self._kept(), self.events() if self.is_of_this_key() else []
            self.begin_anew([event for event in events if event["event"] != _STARTED])
            super().write("", _STARTED)
        old = f"; the old one is kept as {kept.name}, and its {len(events)} readable lines still count" if kept else ""
        return f"a new journal was started: {self.path}{old}"

    def _kept(self) -> Path | None:
        """A copy of a journal that holds anything."""
        if not self.path.stat().st_size:
            return None
        numbers = (self.path.with_name(f"{self.path.stem}-old-{n}{self.path.suffix}") for n in range(1, 10_000))
        kept = next(path for path in numbers if not path.exists())
        return Path(shutil.copy2(self.path, kept))

    def write(self, subject: str, event: str, **clear: str) -> None:
        """Write down what becomes of a code. Raises JournalError."""
        super().write(canonical(subject), event, **clear)

    def entry(self, code: str) -> JournalEntry | None:
        """What the journal says of a code. Raises JournalError."""
        return _entry(self.events_of(canonical(code)))

    def barring(self, code: str) -> JournalEntry | None:
        """Where an earlier run, or another one, sent the code, and --resend-code does not name it, or cannot. Raises
        JournalError."""
        entry = self.entry(code)
        if entry is None or not entry.bars or entry.run == self.run:
            return None
        return None if code in self._resend and entry.outcome is not Outcome.SUCCESS else entry

    def entries(self) -> list[JournalEntry]:
        """What the journal says of every code, the oldest first. Raises JournalError."""
        by_digest: defaultdict[str, list[Event]] = defaultdict(list)
        for event in self.events():
            by_digest[event["digest"]].append(event)
        found = filter(None, map(_entry, by_digest.values()))
        return sorted(found, key=lambda entry: entry.at)


class ReadJournal(Journal):
    """A journal that is read and never written."""

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Nothing is sent, so nobody has to wait."""
        yield

    def open(self) -> None:
        """Nothing is begun."""

    def write(self, subject: str, event: str, **clear: str) -> None:
        """Nothing is written."""


def canonical(code: str) -> str:
    """A code in the one form by which it is known: services may ignore letter case and width."""
    return unicodedata.normalize("NFKC", code).casefold()


def _entry(events: Iterable[Event]) -> JournalEntry | None:
    """The entry that these events of one code leave."""
    stands: list[JournalEntry] = []
    for event in events:
        if event["event"] not in list(Outcome):
            continue
        outcome, run = Outcome(event["event"]), event.get("run", "")
        if outcome is Outcome.NOT_SENT:
            stands = stands[:-1] if stands and stands[-1].outcome is Outcome.SENT else stands
        elif outcome is not Outcome.OFFERED or not stands:
            status = event.get("status", "")
            stands.append(JournalEntry(event["digest"], event["environment"], event["at"], run, outcome, status))
    return stands[-1] if stands else None


def outcome_of(exchange: Exchange, *, executes: bool) -> Outcome:
    """What the answer to a real code says of the transfer. With a wrong token, a code that is neither executed nor lost
    was only offered."""
    response = exchange.response
    if response is None:
        is_unsent = exchange.failure is not None and exchange.failure.kind is FailureKind.NO_CONNECTION
        return Outcome.NOT_SENT if is_unsent else Outcome.UNKNOWN
    kind = refusal_kind(response)
    if not executes:
        granted = Outcome.SUCCESS if grants_protected_result(exchange) else Outcome.OFFERED
        return Outcome.UNKNOWN if kind is RefusalKind.GATEWAY else granted
    if kind is None:
        return Outcome.SUCCESS
    is_certain = 400 <= response.status < 500 and response.status not in NO_ANSWER_OF_THE_SERVICE
    return Outcome.REFUSED if is_certain or kind is RefusalKind.ENVELOPE else Outcome.UNKNOWN
