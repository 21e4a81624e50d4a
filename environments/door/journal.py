"""The journal of executions: which transaction codes were sent, so that no later run sends one again.

The guard (guard.py) asks it before it sends a code. It is one file for each user of a machine, or the file that the
profile names. A code stands in it by a digest of the code alone, so that a run with another spelling of the address, or
with another profile, finds the same entry.
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
    refusal_or_failure,
    says_done_in_words,
)
from spec.exchange import Exchange, FailureKind, Response

_STARTED = "started by --new-journal"
_UNSTARTED = "no --new-journal started it"
_WITHOUT_IT = (
    "start one with --new-journal, if this is the first use here; else bring it back, or start a new one: what can be "
    "read of the old one still counts, and the file is kept"
)


class Outcome(StrEnum):
    """State of a code in the journal.

    PREPARING -> ANSWERED or PREPARED -> OFFERED -> SENT -> NOT_SENT, SUCCESS, REFUSED or UNKNOWN -> SETTLED
    """

    PREPARING = "preparing"  # for a valid request that prepares, written before it: there is no code so far
    ANSWERED = "answered"  # closes PREPARING if no code was given: the report of the run says what was prepared
    PREPARED = "prepared"  # closes PREPARING if a code was given, which was not sent so far
    OFFERED = "offered"  # written before the code is first sent, with whatever credential
    SENT = "sent"  # written before the code is sent with the valid token; an unknown outcome if nothing follows
    NOT_SENT = "not sent"  # closes SENT if there was no connection
    SUCCESS = "success"
    REFUSED = "refused"
    UNKNOWN = "unknown"
    SETTLED = "settled"  # a person has looked the unknown outcome up


NEVER_SENT_WITH_VALID_TOKEN = (Outcome.PREPARING, Outcome.ANSWERED, Outcome.PREPARED, Outcome.OFFERED)
"""States of a code that was never sent with the valid token, as far as the journal knows. Such a code may be sent."""


@dataclass(frozen=True)
class JournalEntry:
    """The last outcome of a code, as the journal has it."""

    digest: str  # of the code, or of the request in the state PREPARING
    environment: str  # name of the profile
    at: str  # time of the event, as ISO 8601 writes it
    run: str  # the run that wrote it
    outcome: Outcome
    status: str = ""  # HTTP status of the answer; empty if there was none

    @property
    def name(self) -> str:
        """Name of the entry for people, because no report shows a code that a run prepared."""
        return self.digest[:12]

    @property
    def is_unknown(self) -> bool:
        """True if money may have moved, and nobody has looked it up. After a run that was killed, SENT is the last."""
        return self.outcome in (Outcome.SENT, Outcome.UNKNOWN)

    @property
    def is_perhaps_prepared(self) -> bool:
        """True if the run was killed while it prepared the transfer, which moves no money yet."""
        return self.outcome is Outcome.PREPARING


@dataclass(eq=False)
class Journal(EventLog):
    """The codes that all runs sent.

    Each line has a digest that also covers the digest of the line before. A file beside the journal has the number of
    lines, signed with the key of the digests. So the suite notices a journal that was edited, shortened or emptied.
    """

    resend: Container[str] = ()
    """The code that this run may send although an earlier run sent it."""

    @property
    def _count_file(self) -> Path:
        """The file with the number of lines."""
        return self.path.with_suffix(".count")

    # -- trust in the journal ---------------------------------------------------------------------------------

    def why_not_relied_on(self) -> str:
        """Reason not to send the codes of a profile; empty if there is none. Raises JournalError."""
        if self._others_write_its_folder():
            folder = self.path.parent
            return (
                f"transactions.codes are not sent: others can write to {folder}, which holds the journal: chmod go-w it"
            )
        is_started = any(event["event"] == _STARTED for event in self.events())
        fault = self.fault()
        if not fault and not is_started:
            fault = _UNSTARTED
        if fault:
            return f"transactions.codes are not sent: {self.path} does not say which were sent ({fault}): {_WITHOUT_IT}"
        return ""

    @as_journal_error()
    def fault(self) -> str:
        """Reason not to rely on the journal, because it was edited or shortened; empty if it was not.

        One line more than the count is right, because a run may be killed after it wrote the line and before the count.
        Raises JournalError.
        """
        lines = self._lines()
        counted = self._counted()
        if counted is None:
            return f"{self._count_file} is missing, edited, or not signed with the key of the journal"
        if not counted <= len(lines) <= counted + 1:
            return f"it has {len(lines)} lines and had {counted}"
        for number, is_whole in enumerate(_whole_lines(self.key.read(), lines), 1):
            if not is_whole:
                return f"line {number} was edited, or written with another key"
        return ""

    @as_journal_error()
    def _others_write_its_folder(self) -> bool:
        """True if others than the owner can put another journal in the place of this one."""
        folder = self.path.parent
        return folder.exists() and bool(folder.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH))

    def _counted(self) -> int | None:
        """The number of lines that was signed last. None if it is missing, or was not written by a run.

        The number alone, which earlier versions wrote, does not count: it could be edited to fit a cut journal.
        """
        if not self._count_file.exists():
            return None if self._lines() else 0
        text = self._count_file.read_text("utf-8", "replace")
        count, _, _ = text.partition(" ")
        is_signed = count.isdecimal() and text == self._signed(int(count))
        return int(count) if is_signed else None

    def _signed(self, count: int) -> str:
        """The content of the count file: the number of lines, and the digest of a text with that number.

        No code and no line of the journal has that text (`5 lines`), so nobody can copy the digest from there.
        """
        return f"{count} {digest_of(self.key.read(), f'{count} lines')}"

    def _write_count(self, count: int) -> None:
        """Write the number of lines, signed, in the place of the old one."""
        replace_file(self._count_file, self._signed(count).encode())

    # -- writing ----------------------------------------------------------------------------------------------

    @as_journal_error()
    def write(self, code: str, event: str, **clear: str) -> None:
        """Write an event of a code to the journal, such as an `Outcome`. Raises JournalError.

        `clear` has further members of the line, in clear text.
        """
        with self.locked():
            lines = self._lines()
            counted = self._counted()
            self._chain(lines, self._new(canonical(code), event, **clear))
            self._write_lines(lines)
            if counted is not None:  # a count that is missing stays missing, so that the fault is not hidden
                self._write_count(max(counted + 1, len(lines)))  # a journal that was cut stays shorter than its count

    @as_journal_error()
    def start(self) -> None:
        """Start a new journal with the events that can be read of the old one, and keep the old file beside it.

        Raises JournalError if the old journal can be relied on, because then no new one is needed.
        """
        with self.locked():
            if self._others_write_its_folder():
                raise JournalError(self.why_not_relied_on())
            if not self.why_not_relied_on():
                raise JournalError(f"--new-journal: {self.path} can be read: leave the option out")
            events = [*self.events(), self._new("", _STARTED)]
            now = f"{datetime.now(UTC):%Y%m%dT%H%M%S%fZ}"
            copy_of_old = self.path.with_name(f"{self.path.stem}-until-{now}{self.path.suffix}")
            if self.path.exists():
                replace_file(copy_of_old, self.path.read_bytes())
            lines: list[str] = []
            for event in events:
                self._chain(lines, event)
            self._write_lines(lines)
            self._write_count(len(lines))

    def _chain(self, lines: list[str], event: Event) -> None:
        """Append an event to the lines, with a digest that covers the event and the digest of the line before."""
        last_event = event_in(lines[-1]) if lines else None
        chain = _link(self.key.read(), last_event or {}, event)
        lines.append(json.dumps(event | {"chain": chain}))

    # -- reading ----------------------------------------------------------------------------------------------

    def entry(self, code: str) -> JournalEntry | None:
        """The entry of a code; None if the journal has none. Raises JournalError."""
        digest = self.digest(canonical(code))
        return next((entry for entry in self.entries() if entry.digest == digest), None)

    def entry_that_forbids(self, code: str) -> JournalEntry | None:
        """The entry because of which this run may not send the code: another run sent it.

        None if the code may be sent, also if it was refused and --resend-code names it. Raises JournalError.
        """
        entry = self.entry(code)
        if entry is None or entry.outcome in NEVER_SENT_WITH_VALID_TOKEN:
            return None
        is_of_this_run = entry.run == self.run
        if is_of_this_run:
            return None
        is_sent_again = entry.outcome is Outcome.REFUSED and code in self.resend
        return None if is_sent_again else entry

    def entries(self) -> list[JournalEntry]:
        """The last outcome of each code, the code that was written first at the beginning. Raises JournalError."""
        states_by_digest: defaultdict[str, list[JournalEntry]] = defaultdict(list)
        for event in self.events():
            if event["event"] in list(Outcome):
                _add_state(states_by_digest[event["digest"]], event)
                # A prepared code takes the place of the entry for the request that prepared it. `closes` names that.
                states_by_digest.pop(event.get("closes", ""), None)
        return [states[-1] for states in states_by_digest.values() if states]


class ReadJournal(Journal):
    """A journal that is only read, for a plan, which sends nothing."""

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Wait for nobody, because nothing is sent."""
        yield

    def write(self, code: str, event: str, **clear: str) -> None:
        """Write nothing."""


def canonical(code: str) -> str:
    """The form of a code that is the same for all its spellings: services may ignore letter case and width."""
    return unicodedata.normalize("NFKC", code).casefold()


def outcome_of(exchange: Exchange, *, executes: bool, is_own: bool = False, before: Outcome | None = None) -> Outcome:
    """Outcome of a code, by the answer to a request with it.

    `executes` is true if it was sent with the valid token, `is_own` if this run prepared the code itself. `before` is
    its outcome in this run before the exchange. The first row that fits counts:

    | answer | outcome |
    |---|---|
    | no connection | NOT_SENT; with a wrong token OFFERED |
    | none | UNKNOWN |
    | unless the code succeeded before: a refusal with an execution result | see `_outcome_of_contradiction` |
    | unless the code succeeded before: not read whole, or a refusal that says DONE in words | UNKNOWN |
    | any other answer to a wrong token | see `_outcome_with_wrong_token` |
    | success | SUCCESS |
    | a refusal by a status 4xx of the service, or by the envelope | REFUSED |
    | any other refusal, such as 5xx or a redirect | UNKNOWN |
    """
    response = exchange.response
    kind = refusal_or_failure(exchange)  # None if the request succeeded
    if response is None:
        if kind is not FailureKind.NO_CONNECTION:
            return Outcome.UNKNOWN
        return Outcome.NOT_SENT if executes else Outcome.OFFERED
    if before is not Outcome.SUCCESS:  # else a result in a refusal is that of the first execution
        is_refused = kind is not None
        results = execution_results(response) if is_refused else []
        if results:
            is_first = is_own and before in (None, Outcome.NOT_SENT)
            return _outcome_of_contradiction(any(map(is_done, results)), is_first=is_first)
        if _may_say_more(response, is_refusal=is_refused):
            return Outcome.UNKNOWN
    has_no_answer_of_service = response.status >= 500 or response.status in NO_ANSWER_OF_THE_SERVICE
    if not executes:
        return _outcome_with_wrong_token(exchange, response, has_no_answer_of_service=has_no_answer_of_service)
    if kind is None:
        return Outcome.SUCCESS
    is_refused_by_status = 400 <= response.status < 500 and not has_no_answer_of_service
    is_clear_refusal = is_refused_by_status or kind is RefusalKind.ENVELOPE
    return Outcome.REFUSED if is_clear_refusal else Outcome.UNKNOWN


def _outcome_of_contradiction(says_done: bool, *, is_first: bool) -> Outcome:
    """Outcome of a code if a refusal carries an execution result.

    The result is that of this execution if its status is DONE (`says_done`), and if no earlier request can have
    executed the code (`is_first`).
    """
    return Outcome.SUCCESS if is_first and says_done else Outcome.UNKNOWN


def _may_say_more(response: Response, *, is_refusal: bool) -> bool:
    """True if the answer may say that the code was executed, in a part that is not read or in words.

    If a limit of the suite cut the answer, it may also be a refusal with status 200.
    """
    if response.json.limit:
        return True
    return is_refusal and (is_partly_unread(response) or says_done_in_words(response))


def _outcome_with_wrong_token(exchange: Exchange, response: Response, *, has_no_answer_of_service: bool) -> Outcome:
    """Outcome of a code that was sent with a wrong token: SUCCESS, UNKNOWN, or OFFERED if it was not executed.

    A status from 500 on does not say whether the code was executed. Only 501 and 505 say that the service did nothing.
    """
    if grants_protected_result(exchange):
        return Outcome.SUCCESS
    is_uncertain = has_no_answer_of_service and response.status not in NOT_SUPPORTED
    return Outcome.UNKNOWN if is_uncertain else Outcome.OFFERED


def _add_state(states: list[JournalEntry], event: Event) -> None:
    """Add an event of a code to its states, the oldest first. The last state counts.

    ANSWERED and NOT_SENT take states away instead.
    """
    outcome = Outcome(event["event"])
    if outcome is Outcome.ANSWERED:  # the request to prepare gave no code, so there is nothing to send
        states.clear()
        return
    if outcome is Outcome.NOT_SENT:  # there was no connection, so the state before SENT counts again
        if states and states[-1].outcome is Outcome.SENT:
            states.pop()
        return
    was_offered = any(entry.outcome is not Outcome.PREPARED for entry in states)
    if outcome in NEVER_SENT_WITH_VALID_TOKEN and was_offered:
        return  # an earlier event already says more about the code
    entry = JournalEntry(
        event["digest"],
        event["environment"],
        event["at"],
        event.get("run", ""),
        outcome,
        event.get("status", ""),
    )
    states.append(entry)


def _link(key: bytes, previous: Event, event: Event) -> str:
    """The digest of an event, which covers the digest of the previous event."""
    members = {name: value for name, value in event.items() if name != "chain"}
    return digest_of(key, f"{previous.get('chain', '')}\n{json.dumps(members)}")


def _whole_lines(key: bytes, lines: Iterable[str]) -> Iterator[bool]:
    """For each line, True if neither the line nor the line before it was changed since they were written."""
    previous: Event = {}
    for event in map(event_in, lines):
        yield event is not None and event.get("chain") == _link(key, previous, event)
        previous = event or {}
