"""The key record: a file with the PIX keys that runs registered and did not delete.

`Keys` (run_keys.py) writes it, so that `environments cleanup` can delete after a run that was killed.

| word | meaning |
|---|---|
| profile | the settings of a run; it names accounts and PIX keys of the people who test |
| synthetic | made up by the suite, such as the key `pixconf-1a2b3c4d@example.com`, so it belongs to nobody |
| key of unknown value | a RANDOM key, which the service made, and which no answer has shown |
| event | a line of the file: what became of a key |
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from environments.door.event_log import Event, EventLog, as_journal_error, event_in
from spec.interface import SYNTHETIC_PREFIX

# The events of the record: what became of a key.
MAYBE = "refused, perhaps registered"
"""No answer says for certain whether the key is registered."""
REGISTERED = "registered"
LATER = "perhaps registered later"
"""The service granted the registration, but no list has shown the key."""
GONE = "gone"
"""The key is not registered. This event is never written: it removes the line of the key."""


@dataclass(eq=False)
class KeyRecord(EventLog):
    """The last event of each key that runs registered at one address and that is not gone.

    - Keys and accounts of the profile (the settings of a run) are written as a digest alone. Keys that the suite or the
      service made up are written as they are, because a later run could not name them in a deletion otherwise.
    - One event is written for all keys of a run whose value is unknown. If `run` is empty (in `environments cleanup`),
      a new event replaces the events that all runs wrote for such keys.
    - Each event has a digest of `base_url`. Events of another address are kept, and no key is deleted because of them:
      the same key may belong to a customer at this address.
    """

    base_url: str = ""

    @as_journal_error()
    def note(self, account: str, key_type: str, value: str | None, event: str, *, ours: bool) -> None:
        """Write to the file what became of a key. The new line replaces the earlier line of the same key.

        | `event` | meaning |
        |---|---|
        | MAYBE, REGISTERED | the key is perhaps registered, or for certain |
        | LATER | the service accepted the registration, and may still carry it out after the run |
        | GONE | the key is not registered: only its earlier line is removed |

        `ours` is true if the suite or the service made up the key. Then its value is written as it is, so that a later
        run can delete it. A key of the profile (the settings of a run) is written as a digest alone, because it belongs
        to a person. Raises JournalError.
        """
        with self.locked():
            key_in_clear = value if ours and value else ""
            account_in_clear = account if SYNTHETIC_PREFIX in account else ""
            new_event = self._new_event(
                _subject(account, key_type, value),
                event,
                type=key_type,
                ours="yes" if ours else "",
                account=account_in_clear,
                key=key_in_clear,
                address=self._address(),
            )
            value_is_unknown = not value
            lines = []
            for line in self._lines():
                if self._old_line_is_kept(event_in(line), new_event, value_is_unknown=value_is_unknown):
                    lines.append(line)
            if event != GONE:
                lines.append(json.dumps(new_event))
            self._write_lines(lines)

    def last_event_of(self, account: str, key_type: str, value: str | None) -> str:
        """The last event that runs wrote to the file about a key, such as REGISTERED. An event is what became of a key.

        Only events of the address (`base_url`) that this run tests count. Empty if the key was deleted, or was never
        recorded. Raises JournalError.
        """
        digest = self.digest(_subject(account, key_type, value))
        for event in self._events_at_this_address():
            if event["digest"] == digest:  # the file has at most one event of each key, because a new one replaces it
                return event["event"]
        return ""

    def remaining_keys(self, accounts: Sequence[str]) -> Iterator[tuple[str, Event]]:
        """The account and the last event of each key in the file that the suite or the service made up.

        They are the keys that a run may delete. Keys of the profile (the settings of a run) are left out.

        `accounts` are the accounts of the profile. If the account of a key is unknown, it is given as an empty text.
        Raises JournalError.
        """
        for event in self.events_of_made_up_keys():
            yield self._account_of(event, accounts), event

    def _account_of(self, event: Event, accounts: Sequence[str]) -> str:
        """The account at which the key of an event was registered; empty if no known account fits.

        The file has a digest of account and key together. So that digest is computed for each known account: the
        `accounts` of the profile (the settings of a run), and an account that the suite made up, which is in the event.
        """
        value = event.get("key") or None  # None if the value of the key is unknown
        account_in_event = event.get("account", "")
        for account in (account_in_event, *accounts):
            if self.digest(_subject(account, event["type"], value)) == event["digest"]:
                return account
        return ""

    def events_of_made_up_keys(self) -> list[Event]:
        """The last event of each key in the file that the suite or the service made up, without its account.

        `remaining_keys` also finds out the accounts, but for that it computes several digests for each key. This method
        is faster, because a run asks for the events thousands of times. Raises JournalError.
        """
        return [event for event in self._events_at_this_address() if event.get("ours")]

    def _old_line_is_kept(self, old_event: Event | None, new_event: Event, *, value_is_unknown: bool) -> bool:
        """True if an old line of the file is kept when a new line is written, because it is about another key.

        A damaged line (`old_event` is None) is removed. So is a line with GONE, whatever its key is: it says that the
        key is not registered, and a key without any line counts as not registered, too.

        `value_is_unknown` is true if the service made the new key, and no answer has shown its value. All keys of
        unknown value of an account have the same digest. For them the name of the run decides: each run has a line of
        its own. A run without a name (`environments cleanup`) replaces the lines of all runs.
        """
        if old_event is None or old_event["event"] == GONE:
            return False
        is_of_another_run = old_event.get("run") != self.run
        this_run_has_a_name = self.run != ""
        if value_is_unknown and this_run_has_a_name and is_of_another_run:
            return True
        is_of_another_key = new_event["digest"] != old_event["digest"]
        is_of_another_service = new_event["address"] != old_event.get("address")
        return is_of_another_key or is_of_another_service

    def _events_at_this_address(self) -> list[Event]:
        """The events (what became of a key) at the address (`base_url`) that this run tests.

        The file may also have events of other addresses, whose keys this run must not delete.
        """
        address = self._address()
        return [event for event in self.events() if event.get("address") == address]

    def _address(self) -> str:
        """The digest of `base_url`, which each event has, so that a run recognises the events of its address.

        The digest is made of a JSON array that begins with "base_url", so that no key has the same digest.
        """
        return self.digest(json.dumps(["base_url", self.base_url]))


def _subject(account: str, key_type: str, value: str | None) -> str:
    """The text whose digest is written to the file for a key: `["ac-1", "a@b.example"]`, its account and its value.

    If the value is unknown (None), because the service made the key, the text has the type: `["ac-1", ["RANDOM"]]`.
    """
    value_or_type = [key_type] if value is None else value
    return json.dumps([account, value_or_type])
