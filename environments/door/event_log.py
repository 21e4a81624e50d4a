"""Logs of events that outlive a run: one file each, which every change replaces as a whole.

The journal of executions (journal.py) and the record of keys (key_record.py) are such logs.
"""

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
"""A line of a log. It has the members `at`, `environment`, `digest` and `event`, and others of each log."""
_MOST_LINES = 4_096
"""Lines that stay parsed in memory. Each change reads the whole file again, and a run changes hundreds of states."""


class JournalError(ProfileError):
    """The log cannot be used, so no request is sent that would have to stand in it. The text says why and what to
    do."""


@contextmanager
def as_journal_error() -> Iterator[None]:
    """Raises JournalError in the place of an OSError of the file system."""
    try:
        yield
    except OSError as error:
        raise JournalError(f"the journal cannot be read or written ({error.strerror}): check journal") from None


@dataclass(frozen=True)
class LogKey:
    """The key of the digests, from a variable of the environment, or else from a file beside the logs."""

    file: Path
    of_environment: bytes | None = field(default=None, repr=False)

    def read(self) -> bytes:
        """The key; empty if there is none. Raises OSError."""
        if self.of_environment:
            return self.of_environment
        return self.file.read_bytes() if self.file.exists() else b""

    def make(self) -> None:
        """Make a random key of 256 bits if there is none. Raises OSError."""
        if not self.read():
            replace_file(self.file, secrets.token_bytes(32))


@dataclass(eq=False)
class EventLog:
    """Events that outlive a run: one line of JSON for each.

    An event names its subject, such as a code, by a digest alone. `environment` and `run` stand in clear.
    """

    path: Path
    key: LogKey
    environment: str = ""
    run: str = ""
    ending: Ending = field(default_factory=Ending)
    """The end of the run, at which a thread stops to wait for its turn."""

    def __post_init__(self) -> None:
        self.lock = FileLock(f"{self.path}.lock", mode=0o600)
        self._last_read = b"", list[str]()  # the content and its lines; one tuple, because threads replace it

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Lock the log, so that no other thread or process writes it, or sends a request that it records.

        A thread that has the lock may take it again. Raises LimitError if the run ends meanwhile, JournalError if the
        folder cannot be written.
        """
        with ExitStack() as lock:
            with as_journal_error():
                self._require_file()
                self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                lock.enter_context(self.ending.holding(self.lock))
                self.key.make()
            yield

    @as_journal_error()
    def events(self) -> list[Event]:
        """The events that can be read, also if the log is damaged. Raises JournalError."""
        events = map(event_in, self._lines())
        return [event for event in events if event is not None]

    @as_journal_error()
    def digest(self, subject: str) -> str:
        """The digest that stands for a subject in the log. Raises JournalError."""
        return digest_of(self.key.read(), subject)

    def _new(self, subject: str, event: str, **clear: str) -> Event:
        """An event that happens now. The members of `clear` stand beside it in clear text."""
        at = datetime.now(UTC).isoformat(timespec="seconds")
        line = {"at": at, "environment": self.environment, "run": self.run, "digest": self.digest(subject)}
        return line | {"event": event} | clear

    def _lines(self) -> list[str]:
        """The complete lines of the file. A line without its end is left out: its run was killed before it sent the
        request.

        The file is read each time, because another run may have changed it. It is split into lines only if it changed,
        because a synthetic key may have 100,000 characters.
        """
        self._require_file()
        content = self.path.read_bytes() if self.path.exists() else b""
        last_content, lines = self._last_read
        if content != last_content:
            text = content.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
            lines = text.split("\n")[:-1]  # behind the last line end stands nothing, or a part of a line
            self._last_read = content, lines
        return list(lines)

    def _write_lines(self, lines: Iterable[str]) -> None:
        """Replace all lines by these. They are on the disk before this returns."""
        new_lines = list(lines)
        content = "\n".join([*new_lines, ""]).encode()
        replace_file(self.path, content)
        self._last_read = content, new_lines

    def _require_file(self) -> None:
        """Raises JournalError unless the path is a file, or nothing yet.

        A device keeps nothing, a folder has no lines, and somebody else may have made the link.
        """
        if self.path.is_symlink() or (self.path.exists() and not self.path.is_file()):
            raise JournalError(f"{self.path} is no file: name another place in journal")


@lru_cache(_MOST_LINES)
def event_in(line: str) -> Event | None:
    """The event of a line; None if the line is damaged. An event must not be changed, because equal lines share it."""
    try:
        event = json.loads(line)
    except ValueError:
        return None
    is_event = isinstance(event, dict) and {"at", "environment", "digest", "event"} <= event.keys()
    return event if is_event and all(isinstance(value, str) for value in event.values()) else None


def digest_of(key: bytes, text: str) -> str:
    """The digest of a text: HMAC with SHA-256, in hexadecimal."""
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def replace_file(path: Path, data: bytes) -> None:
    """Replace a file by a new one that only its owner may read. A reader sees the old one or the new one, never a part.

    The data and the name are on the disk before this returns, so that they outlive a crash of the machine.
    """
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
