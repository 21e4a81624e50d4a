"""Logs of events that outlive a run: one file each, which every change replaces as a whole.

There are two such logs:

- the journal (journal.py): which transaction codes were sent
- the key record (key_record.py): which PIX keys were registered and not deleted

| word | meaning |
|---|---|
| event | one line of the file: a JSON object, such as `{"at": …, "digest": …, "event": "sent"}` |
| subject | the code or key that an event is about; the file has a digest of it, because it is a secret |
| in clear | as it is, and not as a digest |
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

from environments.door.run_end import RunEnd
from environments.profiles.model import ProfileError

Event = dict[str, str]
"""A line of a log. It has the members `at` (the time), `environment` (the name of the profile), `digest` and `event`,
and further members of each log."""
_MEMBERS_OF_EVENT = frozenset({"at", "environment", "digest", "event"})
"""Members that each line of a log has."""
_MOST_LINES = 4_096
"""Lines that stay parsed in memory. Each change reads the whole file again, and a run changes hundreds of states."""


class JournalError(ProfileError):
    """The file of a log cannot be used, so no request is sent that would have to be written to it first. The text says
    why, and what to do."""


@contextmanager
def as_journal_error() -> Iterator[None]:
    """Turn an OSError of the file system into a JournalError, which says what the user has to check.

    It is used as a `with` block or as a decorator.
    """
    try:
        yield
    except OSError as error:
        raise JournalError(f"the journal cannot be read or written ({error.strerror}): check journal") from None


@dataclass(frozen=True)
class DigestKey:
    """The secret key with which the digests in a log are made, so that nobody can try out codes against the digests.

    The key in an environment variable is used, if there is one. Otherwise the key in a file beside the log is used. It
    is no PIX key.
    """

    file: Path
    of_environment: bytes | None = field(default=None, repr=False)

    def read(self) -> bytes:
        """The secret key with which the digests in the log are made; empty if there is none so far.

        A key from an environment variable comes first, so that pipelines need no file. Raises OSError.
        """
        if self.of_environment:
            return self.of_environment
        return self.file.read_bytes() if self.file.exists() else b""

    def make(self) -> None:
        """Write a random secret key of 256 bits to the file, if there is no key so far.

        With this key the digests in the log are made. Raises OSError.
        """
        if not self.read():
            replace_file(self.file, secrets.token_bytes(32))


@dataclass(eq=False)
class EventLog:
    """Events that outlive a run: one line of JSON for each.

    An event names its subject, such as a transaction code, by a digest alone. `environment` (the name of the profile)
    and `run` (a random name of the run) are written as they are.
    """

    path: Path
    key: DigestKey
    environment: str = ""
    run: str = ""
    run_end: RunEnd = field(default_factory=RunEnd)
    """The end of the run: a thread that waits for the lock of the file gives up when the run ends."""

    def __post_init__(self) -> None:
        """Prepare the lock of the file, which threads and processes share. Nothing is read or locked so far."""
        self.lock = FileLock(f"{self.path}.lock", mode=0o600)  # only the owner may read or write the lock file
        # The content of the file when this object last read or wrote it, and its lines, so that `_lines` need not split
        # the same content again. They are one tuple, because several threads replace them, and both must fit together.
        self._content_and_lines = b"", list[str]()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the file until the `with` block ends, so that no other thread or process writes to it.

        Whoever sends a request that the file records keeps this lock while the request is sent. A thread that has the
        lock may lock again. Raises LimitError if the run ends while it waits, JournalError if the folder cannot be
        written.
        """
        with ExitStack() as lock:
            # An error of the file system becomes a JournalError here, but not inside the `with` block of the caller.
            with as_journal_error():
                self._require_file()
                self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                lock.enter_context(self.run_end.holding_file_lock(self.lock))
                self.key.make()
            yield

    @as_journal_error()
    def events(self) -> list[Event]:
        """The events of the file (one JSON object a line), in its order. Damaged lines are left out.

        Raises JournalError if the file cannot be read.
        """
        events = [event_in(line) for line in self._lines()]
        return [event for event in events if event is not None]

    @as_journal_error()
    def digest(self, subject: str) -> str:
        """The digest that is written to the file instead of a subject (a transaction code or a key).

        The same subject always has the same digest. Raises JournalError.
        """
        return digest_of(self.key.read(), subject)

    def _new_event(self, subject: str, event: str, **members_in_clear: str) -> Event:
        """A new line for the file, with the present time: what happened (`event`) to a subject, such as a code.

        The subject is written as its digest. `members_in_clear` are further members of the line, such as
        `status="404"`. They are written as they are, and not as digests.

        One of them may be `digest`, which then replaces the digest that is made from the subject. A caller needs this
        if it has only the digest of a code, and not the code itself.
        """
        now = datetime.now(UTC).isoformat(timespec="seconds")
        line = {"at": now, "environment": self.environment, "run": self.run, "digest": self.digest(subject)}
        return line | {"event": event} | members_in_clear

    def _lines(self) -> list[str]:
        """The lines of the file; none if there is no file.

        A last line without a line end is left out: the run that wrote it was killed meanwhile, before it sent the
        request of that line.

        The file is read each time, because another run may have changed it. It is split into lines only if it changed,
        because that takes time: a key that the suite makes up may have 100,000 characters.
        """
        self._require_file()
        content = self.path.read_bytes() if self.path.exists() else b""
        last_content, lines = self._content_and_lines
        if content != last_content:
            text = content.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
            lines = text.split("\n")[:-1]  # the text behind the last line end is empty, or a part of a line
            self._content_and_lines = content, lines
        return list(lines)

    def _write_lines(self, lines: Iterable[str]) -> None:
        """Replace all lines of the file by these. They are on the disk before this returns.

        The lines are also kept in memory, so that `_lines` need not split the new content.
        """
        new_lines = list(lines)
        content = "\n".join([*new_lines, ""]).encode()  # "" gives the last line its line end
        replace_file(self.path, content)
        self._content_and_lines = content, new_lines

    def _require_file(self) -> None:
        """Raises JournalError if the path is something else than a file. A path at which there is nothing is permitted.

        A device such as /dev/null keeps nothing, and a folder has no lines. A symbolic link may have been made by
        somebody who wants the suite to write to another file.
        """
        is_no_file = self.path.exists() and not self.path.is_file()
        if self.path.is_symlink() or is_no_file:
            raise JournalError(f"{self.path} is no file: name another place in journal")


@lru_cache(_MOST_LINES)
def event_in(line: str) -> Event | None:
    """The event in a line of a log file: its JSON object. None if the line is damaged.

    A line is damaged if it is no JSON object, if it lacks a member that each event has, or if the value of a member is
    no text. The results are kept in memory, because each change of the file reads all lines again. So the caller must
    not change an event: the next call with the same line returns the same object.
    """
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):  # no JSON, or JSON of too many levels
        return None
    if not isinstance(event, dict) or not event.keys() >= _MEMBERS_OF_EVENT:
        return None
    all_values_are_texts = all(isinstance(value, str) for value in event.values())
    return event if all_values_are_texts else None


def digest_of(key: bytes, text: str) -> str:
    """The digest of a text with a secret key: HMAC with SHA-256, in hexadecimal.

    Without the key nobody can find out the text by trying out many texts.
    """
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def replace_file(path: Path, data: bytes) -> None:
    """Replace a file by a new one with this data, which only its owner may read.

    The data is written to a second file, which then gets the name of the first. So another process that reads the file
    meanwhile gets the whole old data or the whole new data. `fsync` waits until the data, and then the name in the
    folder, are on the disk, so that they outlive a crash of the machine.
    """
    new_file = path.with_name(f"{path.name}.new")
    new_file.unlink(missing_ok=True)  # of a run that was killed
    # O_EXCL: fails if somebody else has made the file or a link meanwhile. 0o600: only the owner may read and write it.
    descriptor = os.open(new_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    new_file.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
