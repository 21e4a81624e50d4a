"""Deletes what earlier runs left: keys of the profile that were absent before a run, and that it registered.

The record says which (`key_record`). Where the list of keys may be read, it decides first: a key that it does not show
is gone, and is not deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from environments.door.client import Client
from environments.door.key_record import DELETED, GONE, KeyRecord, Left
from environments.door.key_states import name_of
from environments.profiles.profile import PixKey, Profile, ProfileError, fill
from spec.answers import is_granted
from spec.exchange import Exchange
from spec.key_list import Listing

CLEAN, LEFT, WRONG_USE, UNREACHABLE = 0, 1, 4, 7
"""Exit statuses, as those of a run: keys are left; a bad profile or command line; the target cannot be reached."""


class NoListError(Exception):
    """The list of keys could not be read. `unreachable`: because the target cannot be reached."""

    def __init__(self, exchange: Exchange) -> None:
        self.unreachable = exchange.failure is not None
        super().__init__(exchange.failure.message if exchange.failure else exchange.summary)


@dataclass(frozen=True)
class Entry:
    """One key that earlier runs left, or may have left, at one account."""

    name: str
    account: str
    key: PixKey
    left: Left


def refuse_wrong_use(profile: Profile) -> None:
    """Raises ProfileError where the profile does not permit deletions, or does not say how to send one."""
    if "delete-keys" not in profile.allow:
        raise ProfileError(f"{profile.path}: cleanup deletes keys: add delete-keys to allow")
    if "deletePixKey" not in profile.requests:
        raise ProfileError(
            f"{profile.path}: the profile does not say how a key is deleted: supply requests.deletePixKey"
        )


def left_by_runs(profile: Profile, record: KeyRecord) -> list[Entry]:
    """What the record says that earlier runs left. Raises JournalError."""
    first = {key.key: place for place, key in reversed(list(enumerate(profile.pix_keys))) if key.key}
    found = []
    for at, account in enumerate(profile.accounts):
        for value, place in sorted(first.items(), key=lambda item: item[1]):
            left = record.left(account, value)
            name = name_of(profile.pix_keys, place) + (f", at number {at + 1} of accounts" if at else "")
            found += [Entry(name, account, profile.pix_keys[place], left)] if left is not Left.NOTHING else []
    return found


class Cleanup:
    """Reads the list and deletes keys through the client. Every line goes to `say`."""

    def __init__(self, client: Client, profile: Profile, record: KeyRecord, say: Callable[[str], None]) -> None:
        self._client, self._profile, self._record, self._say = client, profile, record, say
        self._reads = "read" in profile.allow

    def survey(self, entries: Sequence[Entry]) -> list[Entry]:
        """Name every key, and note those that are gone. Gives the ones to delete. Raises NoListError or
        JournalError."""
        to_delete = []
        for entry in entries:
            listing = self._listing(entry.account)
            if listing is not None and not listing.shows(entry.key.key):
                self._record.note(entry.account, entry.key.key, GONE)
                self._say(f"  {entry.name}: already gone")
            elif entry.left is Left.UNKNOWN or (entry.left is Left.MAYBE and listing is None):
                self._say(
                    f"  {entry.name}: left alone, {entry.left.value}{'' if self._reads else '; add read to allow'}"
                )
            else:
                self._say(f"  {entry.name}: {entry.left.value}")
                to_delete.append(entry)
        return to_delete

    def delete(self, entry: Entry) -> bool:
        """Delete a key, and look. True where it is gone. Raises NoListError or JournalError."""
        body = self._profile.requests["deletePixKey"].json
        filled = fill(body, account=entry.account, key=entry.key.key, type=entry.key.type)
        exchange = self._client.send("deletePixKey", entry.account, json=filled)
        if not is_granted(exchange):
            self._say(f"not deleted: {entry.name} ({exchange.summary})")
            return False
        listed = self._is_still_listed(entry)
        answered = f" (the deletion was answered with {exchange.summary}, the list shows it)"
        self._say(f"not gone: {entry.name}{answered}" if listed else f"deleted: {entry.name}")
        return not listed

    def _is_still_listed(self, entry: Entry) -> bool:
        """Read the list after a deletion was granted. A key that it does not show is noted as deleted; also where the
        list cannot be read: what it shows later may be somebody else's."""
        listed = False
        try:
            listing = self._listing(entry.account)
            listed = listing is not None and listing.shows(entry.key.key)
        finally:
            if not listed:
                self._record.note(entry.account, entry.key.key, DELETED)
        return listed

    def _listing(self, account: str) -> Listing | None:
        if not self._reads:
            return None
        listed = self._client.send("listPixKeys", account, valid=True)
        if listed.response is None or not is_granted(listed) or not listed.response.json.readable:
            raise NoListError(listed)
        return Listing(listed)
