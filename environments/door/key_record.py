"""The record of the keys that runs registered and did not delete."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from environments.door.event_log import Event, EventLog, as_journal_error, event_in
from spec.interface import MARK

MAYBE, REGISTERED, GONE = "refused, perhaps registered", "registered", "gone"
LATER = "perhaps registered later"
"""Events of the key record."""


@dataclass(eq=False)
class KeyRecord(EventLog):
    """Keys that runs registered at one address, so that a later command can delete those that are left.

    The record holds the last event of each key that is not gone; one event stands for all keys of unknown value of a
    run, and a record without `run` for those of all runs. Keys and accounts of the profile stand in it as a digest
    alone; synthetic ones, and a key that the service made, in clear, as nothing else could name them later. Each event
    carries a digest of `base_url`. Events of another address are kept, and nobody acts on them here: the same key may
    be a customer's there.
    """

    base_url: str = ""

    @as_journal_error()
    def note(self, account: str, key_type: str, value: str | None, event: str, *, ours: bool) -> None:
        """Write down what became of a key; `ours`: its value may stand in clear. Raises JournalError."""
        clear = {"type": key_type, "ours": "yes" if ours else "", "account": account if MARK in account else ""}
        with self.turn():
            clear |= {"key": value or "" if ours else "", "address": self._address()}
            new = self._new(_subject(account, key_type, value), event, **clear)
            lines = [line for line in self._lines() if self._stays_beside(new, event_in(line), is_unknown=not value)]
            if event != GONE:
                lines.append(json.dumps(new))
            self._write_lines(lines)

    def state(self, account: str, key_type: str, value: str | None) -> str:
        """The last event of a key; empty where it is gone, or was never there. Raises JournalError."""
        digest = self.digest(_subject(account, key_type, value))
        return next((event["event"] for event in self._of_this_address() if event["digest"] == digest), "")

    def left(self, accounts: Sequence[str]) -> Iterator[tuple[str, Event]]:
        """The events of keys that are no keys of the profile, each with its account, which is empty where the profile
        does not name it any more. `accounts` are those of the profile. Raises JournalError."""
        for event in self._of_this_address():
            if event.get("ours"):
                digests = {
                    self.digest(_subject(account, event["type"], event.get("key") or None)): account
                    for account in (*accounts, event.get("account", ""))
                }
                yield digests.get(event["digest"], ""), event

    def _stays_beside(self, new: Event, old: Event | None, *, is_unknown: bool) -> bool:
        """True if the old event is kept when the new one is written. An event that cannot be read is not kept. The new
        event replaces an old one about the same key. Of unknown keys each run has its own event."""
        if old is None or old["event"] == GONE:
            return False
        is_same_key = (new["digest"], new["address"]) == (old["digest"], old.get("address"))
        is_of_another_run = is_unknown and self.run not in ("", old.get("run"))
        return not is_same_key or is_of_another_run

    def _of_this_address(self) -> list[Event]:
        address = self._address()
        return [event for event in self.events() if event.get("address") == address]

    def _address(self) -> str:
        return self.digest(json.dumps(["base_url", self.base_url]))


def _subject(account: str, key_type: str, value: str | None) -> str:
    return json.dumps([account, [key_type] if value is None else value])
