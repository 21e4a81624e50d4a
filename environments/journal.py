"""The journal of executions: which codes were sent, so that no later run sends one again.

Each event is keyed by a digest of origin and code (`record`). A journal that cannot be read stops every execution.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from pathlib import Path

from environments.record import JournalError, Record

__all__ = ["AlreadySentError", "Journal", "JournalError"]


class AlreadySentError(JournalError):
    """The journal says that this code was sent. The text says when and what to do."""


class Journal(Record):
    """Codes sent to one environment. `run` tells the events of this run from those of earlier ones.

    With `across_runs=False` (a loopback target) only this run's own events count. `resend` are codes that an
    earlier run may have sent.
    """

    def __init__(
        self, path: Path, *, origin: str, run: str, across_runs: bool = True, resend: Container[str] = ()
    ) -> None:
        super().__init__(path, origin=origin, run=run)
        self.across_runs, self._resend = across_runs, resend

    def refuse_if_sent_before(self, code: str, *, in_this_run: bool = False) -> None:
        """Raises AlreadySentError where an earlier run sent the code, or this one; JournalError, OSError."""
        if not self._path.exists() or not (self.across_runs or in_this_run):
            return
        with self._lock:
            self._refuse(code, in_this_run)

    def sent_before(self, codes: Iterable[str]) -> frozenset[str]:
        """Those of the codes that an earlier run sent; nothing is written. Raises JournalError or OSError."""
        if not self.across_runs or not self._path.exists():
            return frozenset()
        return frozenset(code for code in codes if self._is_refused(code))

    def _is_refused(self, code: str) -> bool:
        try:
            self._refuse(code, in_this_run=False)
        except AlreadySentError:
            return True
        return False

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
