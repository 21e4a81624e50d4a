"""The journal of executions: which codes were sent, so that no later run sends one again.

One line of JSON for each event, keyed by a digest of origin and code; the code itself is never written. The key of the
digest lies beside the journal in a file of its own, and a journal without the key that it was written with stops every
execution.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Container, Iterator
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock

_UNREADABLE = "so nobody knows what was sent: mend or move the journal"


class JournalError(Exception):
    """Nothing is executed. The text says why and what to do."""


class AlreadySentError(JournalError):
    """The journal says that this code was sent. The text says when and what to do."""


class Journal:
    """Codes sent to one environment. `run` tells the events of this run from those of earlier ones.

    With `across_runs=False` (a loopback target) only this run's own events count. `resend` are codes that an
    earlier run may have sent.
    """

    def __init__(
        self, path: Path, *, origin: str, run: str, across_runs: bool = True, resend: Container[str] = ()
    ) -> None:
        self._path, self._origin, self._run, self.across_runs = path, origin, run, across_runs
        self._resend = resend
        self._lock = FileLock(f"{path}.lock", mode=0o600)

    def refuse_if_sent_before(self, code: str, *, in_this_run: bool = False) -> None:
        """Raises AlreadySentError where an earlier run sent the code, or this one; JournalError, OSError."""
        if not self._path.exists() or not (self.across_runs or in_this_run):
            return
        with self._lock:
            self._refuse(code, in_this_run)

    def claim(self, code: str, *, once_more: bool = False) -> None:
        """Write down that the code is about to be sent. Raises JournalError, or OSError if it cannot be written."""
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with self._lock:
            self._refuse(code, in_this_run=not once_more)
            self._append({"digest": self._digest(code), "event": "sent"})

    def settle(self, code: str, outcome: str) -> None:
        """Write down what came of a code that was sent."""
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with self._lock:
            self._append({"digest": self._digest(code), "event": outcome})

    def unanswered(self) -> int:
        """How many codes this run sent without an answer that was written down."""
        last: dict[str, str] = {}
        for event in self._events(self._run):
            if event["run"] == self._run:
                last[event["digest"]] = event["event"]
        return sum(event in ("sent", "outcome unknown") for event in last.values())

    def _refuse(self, code: str, in_this_run: bool) -> None:
        digest = self._digest(code)
        earlier = self.across_runs and code not in self._resend
        for event in self._events(digest):
            own = event["run"] == self._run
            if event["digest"] == digest and (in_this_run if own else earlier):
                raise AlreadySentError(
                    f"the journal says that this code was sent at {event['at']}: prepare a new one, or send it "
                    "again with --resend-code"
                )

    def _events(self, of: str) -> Iterator[dict[str, str]]:
        """The events in whose lines the text stands; every line is looked at, the others are not read."""
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

    def _append(self, event: dict[str, str]) -> None:
        at = datetime.now(UTC).isoformat(timespec="seconds")
        line = json.dumps({"at": at, "run": self._run, "key": self._name_of_key(), **event}) + "\n"
        descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(line)
            file.flush()
            os.fsync(file.fileno())

    def _digest(self, code: str) -> str:
        return hmac.new(self._key(), f"{self._origin}\n{code}".encode(), hashlib.sha256).hexdigest()

    @property
    def _key_file(self) -> Path:
        return self._path.with_suffix(".key")

    def _name_of_key(self) -> str:
        """Tells one key from another, and nothing else of it."""
        return hmac.new(self._key(), b"name", hashlib.sha256).hexdigest()[:8]

    def _key(self) -> bytes:
        if not self._key_file.exists():
            descriptor = os.open(self._key_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(secrets.token_bytes(32))
        return self._key_file.read_bytes()
