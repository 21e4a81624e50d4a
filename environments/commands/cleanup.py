"""`cleanup`: the keys that earlier runs registered and did not delete.

It shows them, and deletes those that certainly are the suite's own, or that the profile calls disposable.
"""

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
from spec.answers import RefusalKind, answer_in_words, refusal_or_failure
from spec.exchange import Exchange

# Reasons to stay.
_OF_THE_OPERATOR = "it is yours: delete it by hand, or mark it `disposable: true`"
_ANOTHER_ACCOUNT = "its account is not in accounts of the profile any more: add it, or delete the key by hand"
_PERHAPS_YOURS = "it is yours, and it may have been there before the run: look at the list, and delete it by hand"
_HARD_TO_NAME = "a service may read its name as another one: delete it by hand"
_UNKNOWN = "its value is not known: delete it by hand, set key_at in the profile, and call cleanup --yes"
_FORGOTTEN = "its value is not known: delete it by hand; because key_at is set, --yes removes it from the record"


@dataclass(frozen=True)
class KeyLeft:
    """One key that earlier runs left, or may have left."""

    name: str
    """As a line shows it."""
    account: str
    type: str
    value: str | None
    """None if it is unknown."""
    reason_to_stay: str
    """Reason why --yes does not delete it; empty if --yes does."""


def keys_left_by_runs(profile: Profile, record: KeyRecord) -> list[KeyLeft]:
    """The keys that earlier runs registered, or may have registered, and did not delete. Raises JournalError.

    The key record is the file in which runs write each key that they register.
    """
    return [*_keys_of_the_profile(profile, record), *_other_keys(profile, record)]


def _keys_of_the_profile(profile: Profile, record: KeyRecord) -> Iterator[KeyLeft]:
    """Keys of the profile that the record has as registered, or perhaps registered, at each of its accounts."""
    for account in profile.accounts:
        for place, key in enumerate(profile.pix_keys):
            state = record.state(account, key.type, key.key) if key.key else ""
            if state:
                name = str(name_of(profile.pix_keys, place))
                yield KeyLeft(name, account, key.type, key.key, _reason_to_stay(key, state, profile))


def _other_keys(profile: Profile, record: KeyRecord) -> Iterator[KeyLeft]:
    """Keys that are not in the profile: synthetic keys, and RANDOM keys that the service made."""
    for account, event in record.remaining_keys(profile.accounts):
        key_type = event["type"]
        value = event.get("key") or None
        if not account:
            reason = _ANOTHER_ACCOUNT
        elif value is None:
            reason = _FORGOTTEN if profile.key_at else _UNKNOWN
        elif profile.is_sandbox or can_be_named(value):
            reason = ""
        else:
            reason = _HARD_TO_NAME
        printable_value = ascii(value or f"(of a request at {event['at']})")[1:-1]  # without the quotes
        name = f"{key_type or 'key'} {printable_value[:_LONGEST_NAME]}"
        yield KeyLeft(name, account, key_type, value, reason)


_LONGEST_NAME = 80
"""Characters of a key that are printed, so that its line takes one line of a terminal or two."""


def _reason_to_stay(key: PixKey, state: str, profile: Profile) -> str:
    """Reason why a key of the profile is not deleted; empty if it is.

    A key may have been there before if it is not disposable, or if no run knows that it registered the key.
    """
    if profile.is_sandbox:
        return ""
    if not key.disposable:
        return _OF_THE_OPERATOR
    return "" if state == REGISTERED else _PERHAPS_YOURS


def clean_up(profile: Profile, open_client: OpenClient, *, yes: bool) -> int:
    """Print the keys that are left, and delete them if `yes`. Returns the exit status. Raises ProfileError."""
    if yes:
        _require_permission(profile)
    record = record_of_keys(profile)
    keys = keys_left_by_runs(profile, record)
    for key in keys:
        reason = f": {key.reason_to_stay}" if key.reason_to_stay else ""
        print(f"left by an earlier run: {key.name}{reason}")
    if not keys:
        print(f"nothing to clean up: no earlier run left a key of {profile.name}")
        return CLEAN
    if not yes:
        print("nothing was deleted: --yes deletes the keys for which no reason is given")
        return LEFT
    remaining = len(keys)
    with open_client(replace(profile, allow=profile.allow & {"delete-keys", "read"})) as client:
        for key in keys:
            is_gone = _delete(client, profile, key)
            if is_gone or key.reason_to_stay == _FORGOTTEN:
                remaining -= 1
                record.note(key.account, key.type, key.value, GONE, ours=True)
        if client.door.keys.lists.vanished:
            return report_error(f"{KEY_GONE}: restore it, unless somebody else deleted it", INCOMPLETE)
    return LEFT if remaining else CLEAN


def _require_permission(profile: Profile) -> None:
    """Raise ProfileError if the profile does not permit deletions, or lacks a line that they need."""
    if "delete-keys" not in profile.allow:
        raise ProfileError(f"{profile.path}: cleanup deletes keys: add delete-keys to allow, and requests.deletePixKey")
    missing_line = missing_for_deletions(profile)
    if missing_line:
        raise ProfileError(f"{profile.path}: cleanup deletes keys: {missing_line}")


def _delete(client: Client, profile: Profile, key: KeyLeft) -> bool:
    """Delete a key, unless it has a reason to stay, and print what became of it. True if it no longer exists."""
    if key.reason_to_stay:
        return False
    lists = client.door.keys.lists
    value = key.value or ""
    if "read" in profile.allow and key.account not in lists.before:
        client.send("listPixKeys", key.account)
    list_before = lists.before.get(key.account)
    is_of_the_profile = value in {own.key for own in profile.pix_keys}
    may_be_of_others = is_of_the_profile and not profile.is_sandbox
    is_masked = list_before is not None and list_before.hides_keys
    if may_be_of_others and is_masked:
        print(f"not deleted: {key.name} (the list of keys is masked, so nobody can tell whether the key is yours)")
        return False
    body = fill(profile.requests["deletePixKey"].json, account=key.account, key=value, type=key.type)
    exchange = client.send("deletePixKey", key.account, json=body)
    was_sent = exchange.number > 0
    was_refused = was_sent and refusal_or_failure(exchange) is not None
    if was_refused and "read" in client.door.permission.allow:
        client.send("listPixKeys", key.account)  # the key may be gone nevertheless
    is_gone = was_sent and _is_gone(client, exchange, key)
    print(f"{'gone' if is_gone else 'not deleted'}: {key.name} ({answer_in_words(exchange)})")
    return is_gone


def _is_gone(client: Client, exchange: Exchange, key: KeyLeft) -> bool:
    """True if the key is gone, by the answer to its deletion and by the last list.

    After a granted deletion no later list may show the key. After a refused one, a list must not show anything that may
    be the key. Without a list, on a sandbox, the answer says it.
    """
    value = key.value or ""
    refusal = refusal_or_failure(exchange)
    last_list = client.door.keys.lists.last.get(key.account)
    if refusal is not None and "read" in client.door.permission.allow:
        return last_list is not None and not last_list.may_show(value)
    is_listed_after = last_list is not None and last_list.number > exchange.number and last_list.shows(value)
    return refusal in (None, RefusalKind.NOT_FOUND) and not is_listed_after
