"""`cleanup`: the keys that earlier runs registered and did not delete."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from environments.commands import CLEAN, INCOMPLETE, LEFT, OpenClient, report_error
from environments.door.client import Client
from environments.door.key_changes import KEY_GONE
from environments.door.key_record import GONE, REGISTERED, KeyRecord
from environments.door.key_states import can_be_named
from environments.door.opening import record_of_keys
from environments.door.run_keys import name_of
from environments.profiles.loading import missing_for_deletions
from environments.profiles.model import PixKey, Profile, ProfileError, fill
from spec.answers import RefusalKind, answer_in_words, refused_or_lost
from spec.exchange import Exchange

_OF_THE_OPERATOR = "it is yours: delete it by hand, or mark it `disposable: true`"
_ANOTHER_ACCOUNT = "its account is not in accounts of the profile any more: add it, or delete the key by hand"
_PERHAPS_YOURS = "it is yours, and perhaps it was there before: look at the list, and delete it by hand"
_HARD_TO_NAME = "a service may read its name as another one: delete it by hand"
_UNKNOWN = "its value is not known: delete it by hand, set key_at in the profile, and call cleanup --yes"
_FORGOTTEN = "its value is not known: delete it by hand; --yes makes the record forget it, as key_at is set"


@dataclass(frozen=True)
class KeyLeft:
    """One key that earlier runs left, or may have. `value` is None where it is unknown. `keeps` says why it is not
    deleted; empty where it is."""

    name: str
    account: str
    type: str
    value: str | None
    keeps: str


def keys_left_by_runs(profile: Profile, record: KeyRecord) -> list[KeyLeft]:
    """Every open entry of the key record, synthetic keys included. Raises JournalError."""
    return [*_keys_of_the_profile(profile, record), *_other_keys(profile, record)]


def _keys_of_the_profile(profile: Profile, record: KeyRecord) -> Iterator[KeyLeft]:
    for account in profile.accounts:
        for place, key in enumerate(profile.pix_keys):
            state = record.state(account, key.type, key.key) if key.key else ""
            if state:
                keeps = _reason_to_keep(key, state, profile)
                yield KeyLeft(str(name_of(profile.pix_keys, place)), account, key.type, key.key, keeps)


def _other_keys(profile: Profile, record: KeyRecord) -> Iterator[KeyLeft]:
    for account, event in record.left(profile.accounts):
        key_type, value = event["type"], event.get("key") or None
        if not account:
            keeps = _ANOTHER_ACCOUNT
        elif value is None:
            keeps = _FORGOTTEN if profile.key_at else _UNKNOWN
        elif profile.is_sandbox or can_be_named(value):
            keeps = ""
        else:
            keeps = _HARD_TO_NAME
        name = ascii(value or f"(of a request at {event['at']})")[1:-1][:_LONGEST_NAME]
        yield KeyLeft(f"{key_type or 'key'} {name}", account, key_type, value, keeps)


_LONGEST_NAME = 80
"""Characters of a key in a line, so that the line stays one line of a terminal or two."""


def _reason_to_keep(key: PixKey, state: str, profile: Profile) -> str:
    """Reason why a key of the profile is left alone; empty if it is deleted. A key that is not disposable, or of which
    no run knows that it registered it, may have been there before."""
    if profile.is_sandbox:
        return ""
    if not key.disposable:
        return _OF_THE_OPERATOR
    return "" if state == REGISTERED else _PERHAPS_YOURS


def clean_up(profile: Profile, open_client: OpenClient, *, yes: bool) -> int:
    """Print the keys that are left, and delete them if `yes`. Gives the exit status. Raises ProfileError."""
    if yes and "delete-keys" not in profile.allow:
        raise ProfileError(f"{profile.path}: cleanup deletes keys: add delete-keys to allow, and requests.deletePixKey")
    if yes and (missing := missing_for_deletions(profile)):
        raise ProfileError(f"{profile.path}: cleanup deletes keys: {missing}")
    record = record_of_keys(profile)
    left = keys_left_by_runs(profile, record)
    for key in left:
        reason = f": {key.keeps}" if key.keeps else ""
        print(f"left by an earlier run: {key.name}{reason}")
    if not left:
        print(f"nothing to clean up: no earlier run left a key of {profile.name}")
        return CLEAN
    if not yes:
        print("nothing was deleted: --yes deletes the keys without a reason to stay")
        return LEFT
    remaining = len(left)
    with open_client(replace(profile, allow=profile.allow & {"delete-keys", "read"})) as client:
        for key in left:
            is_gone = _delete(client, profile, key)
            if is_gone or key.keeps == _FORGOTTEN:
                remaining -= 1
                record.note(key.account, key.type, key.value, GONE, ours=True)
        if client.door.keys.lists.gone:
            return report_error(f"{KEY_GONE}: restore it, unless somebody else deleted it", INCOMPLETE)
    return LEFT if remaining else CLEAN


def _delete(client: Client, profile: Profile, key: KeyLeft) -> bool:
    """Delete a key and say so. True if it is gone."""
    if key.keeps:
        return False
    keys, value = client.door.keys, key.value or ""
    if "read" in profile.allow and key.account not in keys.lists.before:
        client.send("listPixKeys", key.account)
    before = keys.lists.before.get(key.account)
    is_of_the_profile = value in {own.key for own in profile.pix_keys}
    if is_of_the_profile and not profile.is_sandbox and before and before.hides_keys:
        print(f"not deleted: {key.name} (the list of keys is masked, so nobody can tell whether the key is yours)")
        return False
    body = fill(profile.requests["deletePixKey"].json, account=key.account, key=value, type=key.type)
    exchange = client.send("deletePixKey", key.account, json=body)
    is_gone = _is_gone(client, exchange, key)
    print(f"{'gone' if is_gone else 'not deleted'}: {key.name} ({answer_in_words(exchange)})")
    return is_gone


def _is_gone(client: Client, exchange: Exchange, key: KeyLeft) -> bool:
    """True if a deletion was granted and no list after it shows the key, or if it was refused and a list does not show
    the key. Without a list, on a sandbox, the answer says it."""
    refusal = refused_or_lost(exchange)
    if exchange.number == 0:
        return False
    if refusal is not None and "read" in client.door.permission.allow:
        client.send("listPixKeys", key.account)
        last = client.door.keys.lists.last.get(key.account)
        return last is not None and not last.may_show(key.value or "")
    last = client.door.keys.lists.last.get(key.account)
    is_still_there = last is not None and last.number > exchange.number and last.shows(key.value or "")
    return refusal in (None, RefusalKind.NOT_FOUND) and not is_still_there
