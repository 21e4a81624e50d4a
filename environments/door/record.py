"""A record that outlives a run: one line of JSON for each event.

An event is keyed by a digest of origin and subject; the subject itself is never written. The key of the digest lies
beside the record in a file of its own, and a record without the key that it was written with cannot be read.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock

_UNREADABLE = "so it is unknown what was sent: repair or move the journal"


class JournalError(Exception):
    """The record cannot be used, so nothing is executed. The text says why and what to do."""


class Record:
    """Events of one environment. `run` tells the events of this run from those of earlier ones."""

    def __init__(self, path: Path, *, origin: str, run: str) -> None:
        self._path, self._origin, self._run = path, origin, run
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

    def _write(self, subject: str, event: str) -> None:
        """Write down an event of a subject, as one line that is on the disk before this returns."""
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with self._lock:
            self._append({"digest": self._digest(subject), "event": event})

    def _append(self, event: dict[str, str]) -> None:
        at = datetime.now(UTC).isoformat(timespec="seconds")
        line = json.dumps({"at": at, "run": self._run, "key": self._name_of_key(), **event}) + "\n"
        descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(line)
            file.flush()
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
