"""The key record: a file with the keys that runs registered and did not delete.

`Keys` (run_keys.py) writes it, so that `environments cleanup` can delete after a run that was killed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from environments.door.event_log import Event, EventLog, as_journal_error, event_in
from spec.interface import SYNTHETIC_PREFIX

# The events of the record. GONE is never written: it removes the line of the key.
MAYBE = "refused, perhaps registered"
REGISTERED = "registered"
LATER = "perhaps registered later"
GONE = "gone"


@dataclass(eq=False)
class KeyRecord(EventLog):
    """The last event of each key that runs registered at one address and that is not gone.

    - Keys and accounts of the profile stand in it as a digest alone. Synthetic ones, and keys that the service made,
      stand in clear, because nothing else could name them later.
    - One event stands for all keys of unknown value of a run. A record without `run` replaces those of all runs.
    - Each event has a digest of `base_url`. Events of another address are kept and never acted on, because the same key
      may be a customer's there.
    """

    base_url: str = ""

    @as_journal_error()
    def note(self, account: str, key_type: str, value: str | None, event: str, *, ours: bool) -> None:
        """Write down what became of a key. If it is `ours`, and no key of the profile, its value may stand in clear.

        Raises JournalError.
        """
        with self.turn():
            key_in_clear = value if ours and value else ""
            account_in_clear = account if SYNTHETIC_PREFIX in account else ""
            new = self._new(
                _subject(account, key_type, value),
                event,
                type=key_type,
                ours="yes" if ours else "",
                account=account_in_clear,
                key=key_in_clear,
                address=self._address(),
            )
            lines = [line for line in self._lines() if self._stays_beside(new, event_in(line), is_unknown=not value)]
            if event != GONE:
                lines.append(json.dumps(new))
            self._write_lines(lines)

    def state(self, account: str, key_type: str, value: str | None) -> str:
        """The last event of a key; empty if the key is gone, or was never recorded. Raises JournalError."""
        digest = self.digest(_subject(account, key_type, value))
        return next((event["event"] for event in self._of_this_address() if event["digest"] == digest), "")

    def left(self, accounts: Sequence[str]) -> Iterator[tuple[str, Event]]:
        """The account and the last event of each key that is not a key of the profile.

        `accounts` are the accounts of the profile. An account that is not among them, nor in clear in the event, cannot
        be told from its digest: then it is empty. Raises JournalError.
        """
        for event in self._of_this_address():
            if event.get("ours"):
                account_by_digest = {
                    self.digest(_subject(account, event["type"], event.get("key") or None)): account
                    for account in (*accounts, event.get("account", ""))
                }
                yield account_by_digest.get(event["digest"], ""), event

    def _stays_beside(self, new: Event, old: Event | None, *, is_unknown: bool) -> bool:
        """True if the old event is kept when the new one is written.

        An event that cannot be read is not kept. The new event replaces the old one of the same key. Each run has its
        own event for its keys of unknown value.
        """
        if old is None or old["event"] == GONE:
            return False
        is_same_key = (new["digest"], new["address"]) == (old["digest"], old.get("address"))
        is_of_another_run = is_unknown and self.run not in ("", old.get("run"))
        return not is_same_key or is_of_another_run

    def _of_this_address(self) -> list[Event]:
        """The events of keys at the address of this record."""
        address = self._address()
        return [event for event in self.events() if event.get("address") == address]

    def _address(self) -> str:
        """The digest of the address, written so that it is not the digest of a key."""
        return self.digest(json.dumps(["base_url", self.base_url]))


def _subject(account: str, key_type: str, value: str | None) -> str:
    """The text whose digest stands for a key: its account and value, or the type if the value is unknown."""
    return json.dumps([account, [key_type] if value is None else value])
