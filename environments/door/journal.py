"""The journal of executions: which codes were sent, so that no later run sends one again.

It is one file for each user of a machine, or the one that the profile names. A code stands in it by a digest of
nothing else, so another spelling of the address, another profile or a copy meets the same entry.
"""

from __future__ import annotations

import json
import stat
import unicodedata
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

from environments.door.event_log import (
    Event,
    EventLog,
    JournalError,
    as_journal_error,
    digest_of,
    event_in,
    replace_file,
)
from spec.answers import (
    NO_ANSWER_OF_THE_SERVICE,
    NOT_SUPPORTED,
    RefusalKind,
    execution_results,
    grants_protected_result,
    is_done,
    is_partly_unread,
    refused_or_lost,
    says_done_in_words,
)
from spec.exchange import Exchange, FailureKind

_STARTED = "started by --new-journal"
_UNSTARTED = "no --new-journal started it"
_WITHOUT_IT = (
    "start one with --new-journal, if this is the first use here; else bring it back, or start a new one: what can be "
    "read of the old one still counts, and the file is kept"
)


class Outcome(StrEnum):
    """State of a code in the journal."""

    PREPARING = "preparing"  # written before a valid request that prepares, for the request: it has no code so far
    ANSWERED = "answered"  # closes PREPARING where no code was given: the report of the run says what was prepared
    PREPARED = "prepared"  # closes PREPARING when the run has a code, which it has not sent so far
    OFFERED = "offered"  # written before it is first sent, with any credential
    SENT = "sent"  # written before it is sent with the valid token; an unknown outcome if nothing follows
    NOT_SENT = "not sent"  # closes SENT where there was no connection
    SUCCESS = "success"
    REFUSED = "refused"
    UNKNOWN = "unknown"
    SETTLED = "settled"  # somebody has looked an unknown outcome up


NEVER_SENT = (Outcome.PREPARING, Outcome.ANSWERED, Outcome.PREPARED, Outcome.OFFERED)
"""States of a code that was never sent with the valid token, as far as the journal knows: they bar nothing."""


@dataclass(frozen=True)
class JournalEntry:
    """Last outcome of one code, with its run, environment and time, and the status of the answer."""

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
    def is_perhaps_prepared(self) -> bool:
        """True for a request that prepared a transfer when its run was killed. It moved no money."""
        return self.outcome is Outcome.PREPARING


@dataclass(eq=False)
class Journal(EventLog):
    """Codes sent by all runs. `resend` has the code that this run may send although an earlier one did. Each line has a
    digest over the one before, and a file beside the journal has their number, signed with the key of the digests. So a
    journal that was edited, shortened or emptied is noticed."""

    resend: Container[str] = ()

    @property
    def _count(self) -> Path:
        return self.path.with_suffix(".count")

    # -- whether it can be relied on --------------------------------------------------------------------------

    def refusal(self) -> str:
        """Reason not to send the codes of a profile; empty if there is none. Raises JournalError."""
        if self._others_write_its_folder():
            folder = self.path.parent
            return (
                f"transactions.codes are not sent: others can write to {folder}, which holds the journal: chmod go-w it"
            )
        is_started = any(event["event"] == _STARTED for event in self.events())
        if fault := self.fault() or ("" if is_started else _UNSTARTED):
            return f"transactions.codes are not sent: {self.path} does not say which were sent ({fault}): {_WITHOUT_IT}"
        return ""

    @as_journal_error()
    def fault(self) -> str:
        """Reason not to rely on the journal; empty if it is whole. One line more than the count is right: the run was
        killed between the two."""
        lines, counted = self._lines(), self._counted()
        if counted is None:
            return f"{self._count} is missing, edited, or not signed with the key of the journal"
        if not counted <= len(lines) <= counted + 1:
            return f"it has {len(lines)} lines and had {counted}"
        for number, fits in enumerate(_links(self.key.read(), lines), 1):
            if not fits:
                return f"line {number} was edited, or written with another key"
        return ""

    @as_journal_error()
    def _others_write_its_folder(self) -> bool:
        """True if others than the owner can put another journal in the place of this one."""
        folder = self.path.parent
        return folder.exists() and bool(folder.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH))

    def _counted(self) -> int | None:
        """Number of lines that was signed last; None if the count is missing, or was not written by a run. The number
        alone, as versions before wrote it, could be edited to fit a journal that was cut."""
        if not self._count.exists():
            return None if self._lines() else 0
        count = self._count.read_text("utf-8", "replace").partition(" ")[0]
        is_signed = count.isdecimal() and self._count.read_text("utf-8", "replace") == self._signed(int(count))
        return int(count) if is_signed else None

    def _signed(self, count: int) -> str:
        """The number of lines, with its digest. No digest of a code or of a line is one of such a text."""
        return f"{count} {digest_of(self.key.read(), f'{count} lines')}"

    def _write_count(self, count: int) -> None:
        replace_file(self._count, self._signed(count).encode())

    # -- what is written --------------------------------------------------------------------------------------

    @as_journal_error()
    def write(self, code: str, event: str, **clear: str) -> None:
        """Write down what becomes of a code. Raises JournalError."""
        with self.turn():
            lines, counted = self._lines(), self._counted()
            self._chain(lines, self._new(canonical(code), event, **clear))
            self._write_lines(lines)
            if counted is not None:  # one that was shortened stays short
                self._write_count(max(counted + 1, len(lines)))

    @as_journal_error()
    def start(self) -> None:
        """Start a journal, with all that can be read of one that is damaged, which is kept. Raises JournalError where
        the journal is whole."""
        with self.turn():
            if self._others_write_its_folder():
                raise JournalError(self.refusal())
            if not self.refusal():
                raise JournalError(f"--new-journal: {self.path} can be read: leave the option out")
            events, lines = self.events(), list[str]()
            kept = self.path.with_name(f"{self.path.stem}-until-{datetime.now(UTC):%Y%m%dT%H%M%S%fZ}{self.path.suffix}")
            if self.path.exists():
                replace_file(kept, self.path.read_bytes())
            for event in (*events, self._new("", _STARTED)):
                self._chain(lines, event)
            self._write_lines(lines)
            self._write_count(len(lines))

    def _chain(self, lines: list[str], event: Event) -> None:
        before = event_in(lines[-1]) if lines else None
        lines.append(json.dumps(event | {"chain": _link(self.key.read(), before or {}, event)}))

    # -- what it says -----------------------------------------------------------------------------------------

    def entry(self, code: str) -> JournalEntry | None:
        """Entry of a code; None if the journal has none. Raises JournalError."""
        digest = self.digest(canonical(code))
        return next((entry for entry in self.entries() if entry.digest == digest), None)

    def barring(self, code: str) -> JournalEntry | None:
        """Entry that keeps this run from sending the code: another run sent it, unless it was refused and --resend-code
        names it. None if the code may be sent. Raises JournalError."""
        entry = self.entry(code)
        if entry is None or entry.outcome in NEVER_SENT or entry.run == self.run:
            return None
        is_sent_again = entry.outcome is Outcome.REFUSED and code in self.resend
        return None if is_sent_again else entry

    def entries(self) -> list[JournalEntry]:
        """Entries of all codes, the oldest first. Raises JournalError."""
        stands: defaultdict[str, list[JournalEntry]] = defaultdict(list)
        for event in self.events():
            if event["event"] in list(Outcome):
                _add(stands[event["digest"]], event)
                stands.pop(event.get("closes", ""), None)
        return [of_a_code[-1] for of_a_code in stands.values() if of_a_code]


class ReadJournal(Journal):
    """A journal that is read and never written."""

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Nothing is sent, so nobody has to wait."""
        yield

    def write(self, code: str, event: str, **clear: str) -> None:
        """Nothing is written."""


def canonical(code: str) -> str:
    """A code in the one form by which it is known: services may ignore letter case and width."""
    return unicodedata.normalize("NFKC", code).casefold()


def outcome_of(exchange: Exchange, *, executes: bool, is_own: bool = False, before: Outcome | None = None) -> Outcome:
    """Outcome of a transfer, by the answer to its code. With a wrong token, a code that is neither executed nor lost
    was only offered; a 5xx says as little as no answer, but for 501 and 505, and a redirect leads to a page to log in.
    `is_own`: the run prepared the code itself. `before` is its outcome until then in this run.

    A refusal that carries an execution result contradicts itself. It tells of the transfer that was just executed if
    its status is DONE and nothing else can have executed it. Otherwise the outcome is unknown, unless this run saw the
    code succeed before: then the result is that of the first execution. A refusal that is not read whole may carry a
    result, and one in words may say DONE. An answer that a limit of the suite cut may refuse in a 200, too.
    """
    response, kind = exchange.response, refused_or_lost(exchange)
    if response is None:
        unsent = Outcome.NOT_SENT if executes else Outcome.OFFERED
        return unsent if kind is FailureKind.NO_CONNECTION else Outcome.UNKNOWN
    if kind is not None and before is not Outcome.SUCCESS and (results := execution_results(response)):
        is_first = is_own and before in (None, Outcome.NOT_SENT)
        return Outcome.SUCCESS if is_first and any(map(is_done, results)) else Outcome.UNKNOWN
    may_say_more = is_partly_unread(response) or says_done_in_words(response)
    is_unread = bool(response.json.limit) or (kind is not None and may_say_more)
    if is_unread and before is not Outcome.SUCCESS:
        return Outcome.UNKNOWN
    gave_up = response.status >= 500 or response.status in NO_ANSWER_OF_THE_SERVICE
    if not executes:
        granted = Outcome.SUCCESS if grants_protected_result(exchange) else Outcome.OFFERED
        is_uncertain = gave_up and response.status not in NOT_SUPPORTED
        return Outcome.UNKNOWN if is_uncertain and granted is Outcome.OFFERED else granted
    if kind is None:
        return Outcome.SUCCESS
    is_certain = 400 <= response.status < 500 and not gave_up
    return Outcome.REFUSED if is_certain or kind is RefusalKind.ENVELOPE else Outcome.UNKNOWN


def _add(stands: list[JournalEntry], event: Event) -> None:
    """Add an event of a code to those that stand: the last one counts."""
    outcome = Outcome(event["event"])
    if outcome is Outcome.ANSWERED:
        stands.clear()
        return
    if outcome is Outcome.NOT_SENT:
        if stands and stands[-1].outcome is Outcome.SENT:
            stands.pop()
        return
    was_offered = any(entry.outcome is not Outcome.PREPARED for entry in stands)
    if outcome not in NEVER_SENT or not was_offered:
        of = (event["digest"], event["environment"], event["at"], event.get("run", ""))
        stands.append(JournalEntry(*of, outcome, event.get("status", "")))


def _link(key: bytes, before: Event, event: Event) -> str:
    """The digest of an event over the one before."""
    own = {name: value for name, value in event.items() if name != "chain"}
    return digest_of(key, f"{before.get('chain', '')}\n{json.dumps(own)}")


def _links(key: bytes, lines: Iterable[str]) -> Iterator[bool]:
    """True for each line that is as it was written, after the one before it."""
    before: Event = {}
    for event in map(event_in, lines):
        yield event is not None and event.get("chain") == _link(key, before, event)
        before = event or {}
