"""Deletes what earlier runs left: every open entry of the key record (`key_record`), synthetic keys included.

A key of the profile is left alone, unless it is disposable or the target a sandbox: it may have been there before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from environments.door.client import Client
from environments.door.key_record import GONE, OPEN, KeyRecord
from environments.door.run_keys import name_of
from environments.profiles.profile import Profile, ProfileError, fill
from spec.answers import RefusalKind, is_granted, refusal_kind

CLEAN, LEFT, WRONG_USE, UNREACHABLE = 0, 1, 4, 7
"""Exit statuses, as those of a run: keys are left; a bad profile or command line; the target cannot be reached."""
_OF_THE_OPERATOR = "it is yours: delete it by hand, or mark it `disposable: true`"
_ANOTHER_ACCOUNT = "its account is not in accounts of the profile any more: add it, or delete the key by hand"
_UNKNOWN = "its value is not known: delete it by hand, and set key_at in the profile"
_FORGOTTEN = "its value is not known: delete it by hand; the record forgets it, as key_at is set"


@dataclass(frozen=True)
class Entry:
    """One key that earlier runs left, or may have. `value` is None where it is unknown. `keeps` says why it is not
    deleted; empty where it is."""

    name: str
    account: str
    type: str
    value: str | None
    ours: bool
    keeps: str = ""


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
    return [*_of_the_profile(profile, record), *_made_up(profile, record)]


def _of_the_profile(profile: Profile, record: KeyRecord) -> list[Entry]:
    first = {key.key: place for place, key in reversed(list(enumerate(profile.pix_keys))) if key.key}
    found = []
    for at, account in enumerate(profile.accounts):
        for value, place in sorted(first.items(), key=lambda item: item[1]):
            key, state = profile.pix_keys[place], record.state(account, profile.pix_keys[place].type, value)
            may_be_deleted = key.disposable or profile.is_sandbox
            name = name_of(profile.pix_keys, place) + (f", at number {at + 1} of accounts" if at else "")
            entry = Entry(name, account, key.type, value, False, "" if may_be_deleted else _OF_THE_OPERATOR)
            found += [entry] if state in OPEN else []
    return found


def _made_up(profile: Profile, record: KeyRecord) -> list[Entry]:
    unknown = _FORGOTTEN if profile.key_at else _UNKNOWN
    found = []
    for each in record.open_entries(profile.accounts):
        made = f"made by the service at {each.at}"
        keeps = "" if each.value is not None else unknown
        keeps = keeps if each.account else _ANOTHER_ACCOUNT
        name = f"{each.type} {made if each.value is None else each.value}"
        found.append(Entry(name, each.account, each.type, each.value, True, keeps))
    return found


class Cleanup:
    """Deletes keys through the client. Every line goes to `say`."""

    def __init__(self, client: Client, profile: Profile, record: KeyRecord, say: Callable[[str], None]) -> None:
        self._client, self._profile, self._record, self._say = client, profile, record, say

    def name(self, entries: Sequence[Entry]) -> list[Entry]:
        """Name every key. Gives the ones to delete."""
        for entry in entries:
            self._say(f"  {entry.name}{': ' if entry.keeps else ''}{entry.keeps}")
        return [entry for entry in entries if not entry.keeps]

    def forget(self, entries: Sequence[Entry]) -> None:
        """Close the entries that nothing can delete, where no further ones will come. Raises JournalError."""
        for entry in entries:
            if entry.keeps == _FORGOTTEN:
                self._close(entry)

    def delete(self, entry: Entry) -> bool:
        """Delete a key. True where it is gone. Raises JournalError."""
        body = self._profile.requests["deletePixKey"].json
        filled = fill(body, account=entry.account, key=entry.value or "", type=entry.type)
        exchange = self._client.send("deletePixKey", entry.account, json=filled)
        is_gone = exchange.response is not None and refusal_kind(exchange.response) is RefusalKind.NOT_FOUND
        if not is_granted(exchange) and not is_gone:
            self._say(f"not deleted: {entry.name} ({exchange.summary})")
            return False
        self._close(entry)
        self._say(f"{'already gone' if is_gone else 'deleted'}: {entry.name}")
        return True

    def _close(self, entry: Entry) -> None:
        self._record.note(entry.account, entry.type, entry.value, GONE, ours=entry.ours)
