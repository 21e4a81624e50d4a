"""Logs of events that outlive a run, in a file that is replaced whole."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

from filelock import FileLock

from environments.door.ending import Ending
from environments.profiles.model import ProfileError

Event = dict[str, str]
_MOST_LINES = 4_096
"""Lines that are read once. Each change reads the whole file again, and a run changes the state of hundreds of keys."""


class JournalError(ProfileError):
    """The log cannot be used, so nothing is sent that would have to stand in it. The text says why and what to do."""


@contextmanager
def as_journal_error() -> Iterator[None]:
    """Raises JournalError in place of an OSError of the file system."""
    try:
        yield
    except OSError as error:
        raise JournalError(f"the journal cannot be read or written ({error.strerror}): check journal") from None


@dataclass(frozen=True)
class LogKey:
    """The key of the digests: `given` by the environment, else in a file beside the logs."""

    file: Path
    given: bytes | None = field(default=None, repr=False)

    def read(self) -> bytes:
        """The key; empty where there is none. OSError."""
        return self.given or (self.file.read_bytes() if self.file.exists() else b"")

    def make(self) -> None:
        """Make one where there is none. OSError."""
        if not self.read():
            replace_file(self.file, secrets.token_bytes(32))


@dataclass(eq=False)
class EventLog:
    """Events that outlive a run: a line of JSON for each, by a digest of its subject, which itself is never written.
    `environment` and `run` stand in clear. A change replaces the whole file."""

    path: Path
    key: LogKey
    environment: str = ""
    run: str = ""
    ending: Ending = field(default_factory=Ending)

    def __post_init__(self) -> None:
        self.lock = FileLock(f"{self.path}.lock", mode=0o600)
        self._last_read = b"", list[str]()  # the content and its lines; one tuple, because threads replace it

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Keep all other threads and processes out; a thread that has the turn may take it again. NotSentError where
        the run ends meanwhile; JournalError where the folder cannot be written."""
        with ExitStack() as held:
            with as_journal_error():
                self._refuse_what_is_no_file()
                self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                held.enter_context(self.ending.holding(self.lock))
                self.key.make()
            yield

    @as_journal_error()
    def events(self) -> list[Event]:
        """Events that can be read, whether or not the log is whole. Raises JournalError."""
        return list(filter(None, map(event_in, self._lines())))

    @as_journal_error()
    def digest(self, subject: str) -> str:
        """Digest that stands for a subject in the log. Raises JournalError."""
        return digest_of(self.key.read(), subject)

    def _new(self, subject: str, event: str, **clear: str) -> Event:
        """An event of now; `clear` stands beside it."""
        at = datetime.now(UTC).isoformat(timespec="seconds")
        line = {"at": at, "environment": self.environment, "run": self.run, "digest": self.digest(subject)}
        return line | {"event": event} | clear

    def _lines(self) -> list[str]:
        """The whole lines. Half a line at the end is what a killed run left: nothing was sent for it.

        The file is read each time, because another run may have changed it, and taken apart only if it changed: a
        synthetic key may have 100,000 characters.
        """
        self._refuse_what_is_no_file()
        content = self.path.read_bytes() if self.path.exists() else b""
        last_content, lines = self._last_read
        if content != last_content:
            text = content.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
            lines = text.split("\n")[:-1]
            self._last_read = content, lines
        return list(lines)

    def _write_lines(self, lines: Iterable[str]) -> None:
        """Hold these lines alone. They are on the disk before this returns."""
        written = list(lines)
        content = "\n".join([*written, ""]).encode()
        replace_file(self.path, content)
        self._last_read = content, written

    def _refuse_what_is_no_file(self) -> None:
        """A device keeps nothing, a folder holds no line, and a link leads to what somebody else chose."""
        if self.path.is_symlink() or (self.path.exists() and not self.path.is_file()):
            raise JournalError(f"{self.path} is no file: name another place in journal")


@lru_cache(_MOST_LINES)
def event_in(line: str) -> Event | None:
    """The event of a line; None if the line has none. Nobody changes an event, because equal lines share one."""
    try:
        event = json.loads(line)
    except ValueError:
        return None
    is_event = isinstance(event, dict) and {"at", "environment", "digest", "event"} <= event.keys()
    return event if is_event and all(isinstance(value, str) for value in event.values()) else None


def digest_of(key: bytes, text: str) -> str:
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def replace_file(path: Path, data: bytes) -> None:
    """Write a whole file, for its owner alone: a reader sees the old one or the new one. It is on the disk, and so is
    its name, before this returns."""
    new = path.with_name(f"{path.name}.new")
    new.unlink(missing_ok=True)
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
