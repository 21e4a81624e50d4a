"""A log of events that outlives a run: one line of JSON for each, keyed by a digest of its subject.

The subject itself is never written. Each line has a digest over the one before, and a file beside the log counts the
lines, so that a log is found to be edited, shortened or emptied.
"""

from __future__ import annotations

import errno
import hashlib
import hmac
import io
import json
import os
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock

Event = dict[str, str]
MISSING = "there is none"
"""The fault of a log that was never written, or is gone with all that was beside it."""


class JournalError(Exception):
    """The log cannot be used, so nothing is sent that would have to stand in it. The text says why and what to do."""


@contextmanager
def as_journal_error() -> Iterator[None]:
    """What the file system refuses is a fault of the journal. Raises JournalError."""
    try:
        yield
    except OSError as error:
        raise JournalError(f"the journal cannot be read or written ({error.strerror}): check journal") from None


@dataclass(frozen=True)
class LogKey:
    """The key of the digests: `given` by the environment, else in a file beside the logs."""

    file: Path
    given: bytes | None = field(default=None, repr=False)

    def read(self, *, makes: bool = False) -> bytes:
        """The key; `makes` one where there is none. OSError."""
        if self.given is not None:
            return self.given
        if makes and not (self.file.exists() and self.file.read_bytes()):
            _replace(self.file, secrets.token_bytes(32))
        if not (key := self.file.read_bytes()):
            raise FileNotFoundError(errno.ENOENT, "empty", str(self.file))
        return key


class EventLog:
    """Events of all environments. `environment` and `run` stand in clear in what is written.

    The lock excludes other threads as well as other processes, and a thread that has it may take it again.
    """

    def __init__(self, path: Path, key: LogKey, *, environment: str, run: str) -> None:
        self.path, self.environment, self.run = path, environment, run
        self.lock = FileLock(f"{path}.lock", mode=0o600)
        self._key, self._count = key, path.with_suffix(".count")

    @as_journal_error()
    def write(self, subject: str, event: str, **clear: str) -> None:
        """Add an event of a subject, as one line; `clear` stands beside it. It is on the disk before this returns.
        Raises JournalError."""
        self._make_folder()
        with self.lock:
            key = self._key.read(makes=True)
            at = datetime.now(UTC).isoformat(timespec="seconds")
            line = {"at": at, "environment": self.environment, "run": self.run}
            self._append(key, line | {"digest": _digest(key, subject), "event": event} | clear)

    def events(self) -> list[Event]:
        """What can be read of the log, whether or not it is whole. Raises JournalError."""
        with as_journal_error():
            return list(filter(None, map(_event, self._lines())))

    def digest(self, subject: str) -> str:
        """What stands for a subject in the log. Raises JournalError."""
        with as_journal_error():
            return _digest(self._key.read(), subject)

    def events_of(self, subject: str) -> list[Event]:
        """The events of a subject: none without the key. Raises JournalError."""
        with as_journal_error(), suppress(FileNotFoundError):
            digest = _digest(self._key.read(), subject)
            return [event for line in self._lines() if digest in line and (event := _event(line))]
        return []

    def fault(self) -> str:
        """Why the log is not to be relied on; empty where it is whole. One line more than the count is right: the run
        was killed between the two. Raises JournalError."""
        self._refuse_what_is_no_file()
        with as_journal_error():
            if not self.path.exists() and not self._count.exists():
                return MISSING
            try:
                key, counted = self._key.read(), int(self._count.read_text())
            except (FileNotFoundError, ValueError) as error:
                return f"{getattr(error, 'filename', None) or self._count} is missing or damaged"
            lines = self._lines()
            if not counted <= len(lines) <= counted + 1:
                return f"it has {len(lines)} lines and had {counted}"
            broken = (number for number, fits in enumerate(_links(key, lines), 1) if not fits)
            return next((f"line {number} was edited, or written with another key" for number in broken), "")

    def is_of_this_key(self) -> bool:
        """True where a line was written with the key that there is."""
        with suppress(FileNotFoundError):
            return any(_links(self._key.read(), self._lines()))
        return False

    @as_journal_error()
    def begin_anew(self, events: Iterable[Event]) -> None:
        """Hold these events alone. Raises JournalError."""
        key, lines = self._key.read(makes=True), list[str]()
        before: Event = {}
        for event in events:
            before = event | {"chain": _link(key, before, event)}
            lines.append(json.dumps(before) + "\n")
        _replace(self.path, "".join(lines).encode())
        _replace(self._count, str(len(lines)).encode())

    def _make_folder(self) -> None:
        self._refuse_what_is_no_file()
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)

    def _refuse_what_is_no_file(self) -> None:
        """A device keeps nothing, and a folder holds no line."""
        with as_journal_error():
            is_other = self.path.exists() and not self.path.is_file()
        if is_other:
            raise JournalError(f"{self.path} is no file: name another place in journal")

    def _lines(self) -> list[str]:
        """The whole lines. Half a line at the end is what a killed run left: nothing was sent for it."""
        self._refuse_what_is_no_file()
        text = self.path.read_text("utf-8", "replace") if self.path.exists() else ""
        return text.split("\n")[:-1]

    def _append(self, key: bytes, event: Event) -> None:
        """Write a line behind the last whole one; after an error the log is as before, and nothing is sent."""
        with open(self.path, "a+b", buffering=0, opener=_for_its_owner) as file:
            file.seek(0)
            whole, _, half = file.readall().rpartition(b"\n")
            last = _event(whole.rpartition(b"\n")[2].decode("utf-8", "replace")) if whole else None
            event["chain"] = _link(key, last or {}, event)
            end = file.tell() - len(half)
            file.truncate(end)
            try:
                _write_all(file, json.dumps(event).encode() + b"\n")
                os.fsync(file.fileno())
                self._count_one(has_lines=bool(whole))
            except OSError:
                file.truncate(end)
                raise

    def _count_one(self, *, has_lines: bool) -> None:
        """Count every line that was ever written: a log that was shortened stays short."""
        text = self._count.read_text() if self._count.exists() else "" if has_lines else "0"
        if text.isdecimal():
            _replace(self._count, str(int(text) + 1).encode())


def _for_its_owner(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW, 0o600)


def _write_all(file: io.FileIO, data: bytes) -> None:
    if file.write(data) < len(data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _event(line: str) -> Event | None:
    try:
        event = json.loads(line)
    except ValueError:
        return None
    is_event = isinstance(event, dict) and {"at", "environment", "digest", "event"} <= event.keys()
    return event if is_event and all(isinstance(value, str) for value in event.values()) else None


def _link(key: bytes, before: Event, event: Event) -> str:
    """The digest of an event over the one before."""
    own = {name: value for name, value in event.items() if name != "chain"}
    return _digest(key, f"{before.get('chain', '')}\n{json.dumps(own)}")


def _links(key: bytes, lines: Iterable[str]) -> Iterator[bool]:
    """Whether each line is as it was written, after the one before it."""
    before: Event = {}
    for event in map(_event, lines):
        yield event is not None and hmac.compare_digest(event.get("chain", ""), _link(key, before, event))
        before = event or {}


def _replace(path: Path, data: bytes) -> None:
    """Write a whole file, for its owner alone: a reader sees the old one or the new one."""
    new = path.with_name(f"{path.name}.new")
    new.unlink(missing_ok=True)
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)


def _digest(key: bytes, text: str) -> str:
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
