"""The key record: what became of each key that runs registered, so that a later command can delete what is left.

It stands beside the journal. Keys and accounts of the profile are written as a digest alone; synthetic ones, and a key
that the service made, stand in clear, as nothing else could name them later.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from environments.door.event_log import Event, EventLog, as_journal_error
from spec.interface import MARK

MAYBE, REGISTERED, GONE = "refused, perhaps registered", "registered", "gone"
OPEN = (MAYBE, REGISTERED)


@dataclass(frozen=True)
class OpenEntry:
    """A key that a run left, or may have. `value` is None where the service made it and did not tell, `account` is
    empty where the profile does not name it any more."""

    account: str
    type: str
    value: str | None
    state: str
    at: str


class KeyRecord(EventLog):
    """Keys that runs registered at one environment. A key of the profile counts as registered where lists showed that
    it was absent before, and there after. A run that writes to it first drops what is gone."""

    _is_compact = False

    def note(self, account: str, key_type: str, value: str | None, event: str, *, ours: bool) -> None:
        """Write down what became of a key; `ours`: its value may stand in clear. Raises JournalError."""
        if not self._is_compact:
            self._compact()
        clear = (
            {"type": key_type} | ({"ours": "yes"} if ours else {}) | ({"account": account} if MARK in account else {})
        )
        clear |= {} if value is None or not ours else {"key": value}
        self.write(self._subject(account, key_type, value), event, **clear)

    def state(self, account: str, key_type: str, value: str | None) -> str:
        """The last event of a key; empty where there is none. Raises JournalError."""
        events = self.events_of(self._subject(account, key_type, value))
        return events[-1]["event"] if events else ""

    def open_entries(self, accounts: Sequence[str]) -> list[OpenEntry]:
        """The entries of this environment whose keys are no keys of the profile, and are not gone. `accounts` are those
        of the profile. Raises JournalError."""
        left = [event for event in self._open_events() if event["environment"] == self.environment and "ours" in event]
        return [
            OpenEntry(self._account(event, accounts), event["type"], event.get("key"), event["event"], event["at"])
            for event in left
        ]

    @as_journal_error()
    def _compact(self) -> None:
        """Keep the last event of each key that is not gone."""
        if self.path.exists():
            with self.lock:
                self.begin_anew(self._open_events())
        self._is_compact = True

    def _open_events(self) -> list[Event]:
        last = {event["digest"]: event for event in self.events()}
        return [event for event in last.values() if event["event"] in OPEN]

    def _account(self, event: Event, accounts: Sequence[str]) -> str:
        candidates = [event["account"]] if "account" in event else accounts
        subjects = {account: self._subject(account, event["type"], event.get("key")) for account in candidates}
        return next((account for account, subject in subjects.items() if self.digest(subject) == event["digest"]), "")

    def _subject(self, account: str, key_type: str, value: str | None) -> str:
        return json.dumps([account, [key_type] if value is None else value])
