"""Deletes what earlier runs left: every open entry of the key record (`event_log`), synthetic keys included.

A key of the profile is left alone, unless it is disposable or the target a sandbox: it may have been there before.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from environments.door.client import Client
from environments.door.event_log import GONE, KeyRecord
from environments.door.run_keys import name_of
from environments.profiles.model import Profile, ProfileError, fill
from spec.answers import RefusalKind, is_granted, refusal_kind

_OF_THE_OPERATOR = "it is yours: delete it by hand, or mark it `disposable: true`"
_ANOTHER_ACCOUNT = "its account is not in accounts of the profile any more: add it, or delete the key by hand"
_UNKNOWN = "its value is not known: delete it by hand, and set key_at in the profile"
_FORGOTTEN = "its value is not known: delete it by hand; --yes makes the record forget it, as key_at is set"


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
    if "delete-keys" not in profile.allow or "deletePixKey" not in profile.requests:
        raise ProfileError(f"{profile.path}: cleanup deletes keys: add delete-keys to allow, and requests.deletePixKey")


def left_by_runs(profile: Profile, record: KeyRecord) -> Iterator[Entry]:
    """What the record says that earlier runs left. Raises JournalError."""
    for account in profile.accounts:
        for place, key in enumerate(profile.pix_keys):
            if key.key and record.state(account, key.type, key.key):
                keeps = "" if key.disposable or profile.is_sandbox else _OF_THE_OPERATOR
                yield Entry(name_of(profile.pix_keys, place), account, key.type, key.key, False, keeps)
    unknown = _FORGOTTEN if profile.key_at else _UNKNOWN
    for account, event in record.left(profile.accounts):
        key_type, value = event["type"], event.get("key") or None
        keeps = (unknown if value is None else "") if account else _ANOTHER_ACCOUNT
        named = value or f"made by the service at {event['at']}"
        yield Entry(f"{key_type} {named}", account, key_type, value, True, keeps)


def delete(client: Client, profile: Profile, record: KeyRecord, entry: Entry) -> bool:
    """Delete a key, say so, and close its entry. True where it is gone. Raises JournalError.

    The entry of a key that nothing can delete is closed, too, where no further ones will come.
    """
    if entry.keeps:
        if entry.keeps == _FORGOTTEN:
            _close(record, entry)
        return False
    body = profile.requests["deletePixKey"].json
    filled = fill(body, account=entry.account, key=entry.value or "", type=entry.type)
    exchange = client.send("deletePixKey", entry.account, json=filled)
    is_gone = exchange.response is not None and refusal_kind(exchange.response) is RefusalKind.NOT_FOUND
    if not is_granted(exchange) and not is_gone:
        print(f"not deleted: {entry.name} ({exchange.summary})")
        return False
    _close(record, entry)
    print(f"{'already gone' if is_gone else 'deleted'}: {entry.name}")
    return True


def _close(record: KeyRecord, entry: Entry) -> None:
    record.note(entry.account, entry.type, entry.value, GONE, ours=entry.ours)
