"""The journal of executions: which codes were sent, so that no later run sends one again.

A log of events outlives a run and has one line of JSON for each event, keyed by a digest of origin and subject; the
subject itself is never written. The key of the digest lies beside the log in a file of its own. A log cannot be read
without the key that it was written with. A journal that cannot be read stops every execution.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Container, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock

from environments.door.ending import Ending
from environments.door.outgoing import NotSentError

_UNREADABLE = "so it is unknown what was sent: repair or move the journal"


class JournalError(Exception):
    """The log cannot be used, so nothing is executed. The text says why and what to do."""


@contextmanager
def as_journal_error() -> Iterator[None]:
    """What the file system refuses is a fault of the journal. Raises JournalError."""
    try:
        yield
    except OSError as error:
        raise JournalError(f"the journal cannot be read or written ({error.strerror}): check journal") from None


class EventLog:
    """Events of one environment. `run` tells the events of this run from those of earlier ones. `outlives`: later runs
    read it; else its folder goes with the run.

    The lock of the file excludes other threads as well as other processes: each thread has a descriptor of its own.
    """

    def __init__(self, path: Path, *, origin: str, run: str, outlives: bool = True) -> None:
        self._path, self._origin, self._run, self._outlives = path, origin, run, outlives
        self._lock = FileLock(f"{path}.lock", mode=0o600)

    def _events_of(self, subject: str) -> list[dict[str, str]]:
        digest = self._digest(subject)
        return [event for event in self._events(digest) if event["digest"] == digest]

    def _events(self, of: str) -> Iterator[dict[str, str]]:
        """The events whose lines contain the text. Every line is checked, and only those are parsed."""
        lines = self._path.read_text("utf-8", "replace").splitlines() if self._path.exists() else []
        key = f'"key": "{self._name_of_key()}"' if lines else ""
        for number, line in enumerate(lines, 1):
            if not (line.startswith("{") and line.endswith("}")):
                raise JournalError(self._damaged(number))
            if key not in line:
                raise JournalError(f"{self._key_file}: not the key of {self._path}, {_UNREADABLE}")
            if of in line:
                yield self._event(line, number)

    def _event(self, line: str, number: int) -> dict[str, str]:
        try:
            event: dict[str, str] = json.loads(line)
            return {name: event[name] for name in ("at", "run", "digest", "event")}
        except (ValueError, KeyError, TypeError):
            raise JournalError(self._damaged(number)) from None

    def _damaged(self, number: int) -> str:
        return f"{self._path}: line {number} cannot be read, {_UNREADABLE}"

    @as_journal_error()
    def write(self, subject: str, event: str) -> None:
        """Write down an event of a subject, as one line. It is in the file before this returns, so that no process that
        is killed takes it along, and on the disk where a later run reads it. JournalError.

        What happens to a code is TRIED before it is sent with a wrong token, else the outcome.
        """
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with self._lock:
            at, of = datetime.now(UTC).isoformat(timespec="seconds"), self._digest(subject)
            line = {"at": at, "run": self._run, "key": self._name_of_key(), "digest": of, "event": event}
            descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
                file.flush()
                if self._outlives:
                    os.fsync(file.fileno())

    def _digest(self, subject: str) -> str:
        return hmac.new(self._key(), f"{self._origin}\n{subject}".encode(), hashlib.sha256).hexdigest()

    @property
    def _key_file(self) -> Path:
        return self._path.with_suffix(".key")

    def _name_of_key(self) -> str:
        """Tells one key from another without showing it."""
        return hmac.new(self._key(), b"name", hashlib.sha256).hexdigest()[:8]

    def _key(self) -> bytes:
        if not self._key_file.exists():
            descriptor = os.open(self._key_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(secrets.token_bytes(32))
        return self._key_file.read_bytes()


SENT, UNKNOWN = "sent", "outcome unknown"
REFUSED = "refused 401"
"""The event of a code that was refused with the token of the run: the token was at fault."""
NOT_SENT = "not sent"
"""The event that closes SENT where there was no connection."""
TRIED = "tried with a bad credential"
"""The event of a code before a request that is to be refused. Without the next event its outcome is unknown."""
TURNED_AWAY = "the bad credential was refused"
"""The event that closes TRIED: the code can still be executed."""
_OPENED_BY = {TURNED_AWAY: TRIED, NOT_SENT: SENT}


class AlreadySentError(NotSentError):
    """The code was sent before. The message says when, and what to do. `earlier`: its outcome in an earlier run; empty
    where this run sent it."""

    def __init__(self, text: str, earlier: str = "") -> None:
        super().__init__(text)
        self.earlier = earlier


class Journal(EventLog):
    """Codes sent to one environment. `run` tells the events of this run from those of earlier ones.

    With `across_runs=False` (a loopback target) only this run's own events count. `resend` are codes that an
    earlier run may have sent.
    """

    def __init__(
        self, path: Path, *, origin: str, run: str, across_runs: bool = True, resend: Container[str] = ()
    ) -> None:
        super().__init__(path, origin=origin, run=run, outlives=across_runs)
        self._turn = FileLock(f"{path}.turn", mode=0o600)
        self.across_runs, self._resend, self.ending = across_runs, resend, Ending()

    @contextmanager
    def turn(self) -> Iterator[None]:
        """While a real code is sent, no other thread or process sends one. NotSentError where the run is stopped
        meanwhile; JournalError where the folder cannot be written."""
        with ExitStack() as held:
            with as_journal_error():
                self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                held.enter_context(self.ending.holding(self._turn))
            yield

    @as_journal_error()
    def refuse_if_sent_before(self, code: str, *, in_this_run: bool) -> None:
        """Raises AlreadySentError where an earlier run sent the code, or this one; JournalError."""
        if not self._path.exists() or not (self.across_runs or in_this_run):
            return
        with self._lock:
            if refusal := self._refusal(code, in_this_run=in_this_run):
                raise refusal

    @as_journal_error()
    def sent_before(self, codes: Iterable[str]) -> frozenset[str]:
        """Those of the codes that an earlier run sent; nothing is written. Raises JournalError."""
        if not self.across_runs or not self._path.exists():
            return frozenset()
        if not self._key_file.exists():  # to read without it would make one
            raise JournalError(f"{self._key_file}: no such file, and {self._path} cannot be read without it")
        return frozenset(code for code in codes if self._refusal(code, in_this_run=False))

    @as_journal_error()
    def claim(self, code: str, *, once_more: bool = False) -> None:
        """Write down that the code is about to be sent. Raises AlreadySentError or JournalError."""
        with self._lock:
            if refusal := self._refusal(code, in_this_run=not once_more):
                raise refusal
            self.write(code, SENT)

    @as_journal_error()
    def unanswered(self) -> int:
        """How many codes this run sent without an answer that was written down. Raises JournalError."""
        last: dict[str, str] = {}
        with self._lock:
            events = list(self._events(self._run)) if self._path.exists() else []
        for event in events:
            if event["run"] == self._run:
                last[event["digest"]] = event["event"]
        return sum(event in (SENT, TRIED, UNKNOWN) for event in last.values())

    def _refusal(self, code: str, *, in_this_run: bool) -> AlreadySentError | None:
        events = _of_effect(self._events_of(code))
        if in_this_run and any(event["run"] == self._run for event in events):
            return AlreadySentError("this run has sent this code")
        earlier = [event for event in events if event["run"] != self._run]
        if earlier and self.across_runs and code not in self._resend:
            return AlreadySentError(_sent_before(earlier), earlier[-1]["event"])
        return None


def _of_effect(events: list[dict[str, str]]) -> list[dict[str, str]]:
    """The events of a code, without what surely executed nothing: a bad credential was refused, or nothing was sent."""
    left: list[dict[str, str]] = []
    for event in events:
        opened = _OPENED_BY.get(event["event"])
        since = [at for at, one in enumerate(left) if (one["run"], one["event"]) == (event["run"], opened)][-1:]
        if opened is None:
            left.append(event)
        for at in since:
            left[at:] = [one for one in left[at:] if one["run"] != event["run"]]
    return left


def _sent_before(events: list[dict[str, str]]) -> str:
    """What to do with a code that an earlier run sent; `events` is not empty."""
    last = events[-1]
    if last["event"] == REFUSED:
        return (
            f"the journal says that this code was refused 401 at {last['at']}: with another token, send it again with "
            "--resend-code"
        )
    return (
        f"the journal says that this code was sent at {events[0]['at']}: prepare a new one, or send it again with "
        "--resend-code"
    )
