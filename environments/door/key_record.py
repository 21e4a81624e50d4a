"""The record of registrations: which keys of a profile a run registered, so that a later command can delete them.

It lies beside the journal of executions. Each event is keyed by a digest of origin, account and key.
"""

from __future__ import annotations

from enum import Enum

from environments.door.journal import EventLog, as_journal_error

ABSENT, SENT, REGISTERED, REFUSED, DELETED, GONE = "absent before", "sent", "registered", "refused", "deleted", "gone"


class Left(Enum):
    """What earlier runs left of a key."""

    NOTHING = "nothing"
    REGISTERED = "registered by a run, and not deleted"
    MAYBE = "absent before a run that may have registered it"
    UNKNOWN = "sent by a run that did not see whether it was there before"


class KeyRecord(EventLog):
    """Keys that runs registered at one environment."""

    def note(self, account: str, key: str, event: str) -> None:
        """Write down an event of a key. Raises JournalError."""
        self.write(f"{account}\n{key}", event)

    @as_journal_error()
    def left(self, account: str, key: str) -> Left:
        """What all runs together left of a key. Raises JournalError."""
        if not self._path.exists():
            return Left.NOTHING
        with self._lock:
            return _left([(event["run"], event["event"]) for event in self._events_of(f"{account}\n{key}")])


def _left(events: list[tuple[str, str]]) -> Left:
    """A deletion, or a list without the key, closes all earlier events; a refusal closes only its own request.

    What a run found absent is gone, too, whatever earlier runs registered.
    """
    first = {run: at for at, (run, event) in reversed(list(enumerate(events))) if event == ABSENT}
    closes = [at for at, (_, event) in enumerate(events, 1) if event in (DELETED, GONE)] + list(first.values())
    since = events[max(closes, default=0) :]
    if any(event == REGISTERED for _, event in since):
        return Left.REGISTERED
    if not since or since[-1][1] != SENT:
        return Left.NOTHING
    return Left.MAYBE if (since[-1][0], ABSENT) in events else Left.UNKNOWN
