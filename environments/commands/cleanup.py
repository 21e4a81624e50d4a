"""`cleanup`: lists the PIX keys that earlier runs registered and did not delete, and deletes them with --yes.

A key is deleted only if the suite certainly made it up, or if the profile (the settings of a run) calls it disposable.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from environments.commands import CLEAN, INCOMPLETE, LEFT, OpenClient, report_error
from environments.door.client import Client
from environments.door.key_changes import KEY_GONE
from environments.door.key_record import GONE, REGISTERED, KeyRecord
from environments.door.key_states import is_unambiguous
from environments.door.opening import record_of_keys
from environments.door.run_keys import label_of_profile_key
from environments.profiles.loading import missing_for_deletions
from environments.profiles.model import PixKey, Profile, ProfileError, filled_in
from spec.answers import RefusalKind, answer_in_words, refusal_or_failure
from spec.exchange import Exchange

# Reasons why --yes does not delete a key.
_OF_THE_OPERATOR = "it is yours: delete it by hand, or mark it `disposable: true`"
_ANOTHER_ACCOUNT = "its account is not in accounts of the profile any more: add it, or delete the key by hand"
_PERHAPS_YOURS = (
    "it may be yours, because it may have been there before the run: look at the list, and delete it by hand"
)
_VALUE_IS_AMBIGUOUS = "a service may take its value for that of another key: delete it by hand"
# For a key of unknown value, that is a RANDOM key whose value no answer has shown. While its entry is in the record, no
# run registers a RANDOM key. With key_at, runs can find the values of further RANDOM keys, so the entry can be removed.
_UNKNOWN_WITHOUT_KEY_AT = "its value is not known: delete it by hand, set key_at in the profile, and call cleanup --yes"
_UNKNOWN_WITH_KEY_AT = (
    "its value is not known: delete it by hand; because key_at is set, --yes removes it from the record"
)


@dataclass(frozen=True)
class KeyLeft:
    """A PIX key that an earlier run registered, or may have registered, and did not delete."""

    name: str
    """The name by which a printed line calls it. The key itself may be personal."""
    account: str
    type: str
    value: str | None
    """The key itself; None if the service made it and no answer has shown it."""
    reason_to_stay: str
    """Reason why --yes does not delete it; empty if --yes does."""


def keys_left_by_runs(profile: Profile, record: KeyRecord) -> list[KeyLeft]:
    """The PIX keys that earlier runs registered, or may have registered, and did not delete. Raises JournalError.

    `record` is the file in which runs write each key that they register.
    """
    return [*_keys_of_the_profile(profile, record), *_other_keys(profile, record)]


def _keys_of_the_profile(profile: Profile, record: KeyRecord) -> Iterator[KeyLeft]:
    """Keys of the profile that an earlier run registered, or perhaps registered, and did not delete.

    `record` is the file in which runs write each key that they register. A key may be registered at any account of the
    profile. A RANDOM key has no value in the profile, because the service makes it; `_other_keys` returns such keys.
    """
    for account in profile.accounts:
        for index, key in enumerate(profile.pix_keys):
            if not key.key:  # a RANDOM key
                continue
            state = record.last_event_of(account, key.type, key.key)  # empty if no run registered it
            if state:
                name = str(label_of_profile_key(profile.pix_keys, index))  # its place in the list instead of its value
                yield KeyLeft(name, account, key.type, key.key, _reason_to_stay(key, state, profile))


def _other_keys(profile: Profile, record: KeyRecord) -> Iterator[KeyLeft]:
    """Keys that earlier runs left and that are not in the profile: made up by the suite, or made by the service.

    Each comes with the reason why `cleanup` does not delete the key; empty if it does. The service makes keys of type
    RANDOM. `record` is the file in which runs write each key that they register.
    """
    for account, event in record.remaining_keys(profile.accounts):  # `event` is a line of the record
        key_type = event["type"]
        value = event.get("key") or None
        if not account:  # the key was registered at an account that the profile no longer lists
            reason = _ANOTHER_ACCOUNT
        elif value is None:
            reason = _UNKNOWN_WITH_KEY_AT if profile.key_at else _UNKNOWN_WITHOUT_KEY_AT
        elif profile.is_sandbox or is_unambiguous(value):  # on a sandbox nobody loses another key
            reason = ""
        else:  # for example a value with a line break, which a service may remove
            reason = _VALUE_IS_AMBIGUOUS
        # `ascii` escapes what cannot be printed, and adds quotes, which are removed.
        printable_value = ascii(value or f"(of a request at {event['at']})")[1:-1]
        name = f"{key_type or 'key'} {printable_value[:_LONGEST_NAME]}"
        yield KeyLeft(name, account, key_type, value, reason)


_LONGEST_NAME = 80
"""Characters of a key that are printed, so that its line takes one line of a terminal or two."""


def _reason_to_stay(key: PixKey, state: str, profile: Profile) -> str:
    """Why `cleanup` does not delete a key of the profile; empty if it deletes the key.

    Outside a sandbox only a key is deleted that the profile calls disposable, and that certainly a run registered.
    `state` is what the record says: registered, or perhaps registered. In the second case the user may have registered
    the key before.
    """
    if profile.is_sandbox:
        return ""
    if not key.disposable:
        return _OF_THE_OPERATOR
    a_run_registered_it = state == REGISTERED
    return "" if a_run_registered_it else _PERHAPS_YOURS


def clean_up(profile: Profile, open_client: OpenClient, *, yes: bool) -> int:
    """Print the keys that earlier runs did not delete, and delete them if `yes` is true. Returns the exit status.

    A key with a reason to stay is not deleted. Without `yes` nothing is sent. The lists of keys are read before and
    after the deletions. If a key is missing that no deletion named, the service may have deleted the key of somebody
    else: this is an error. Raises ProfileError if the profile does not permit deletions.
    """
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
            # Without its value a key can only be deleted by hand. The printed reason asks for that, and says that the
            # entry is removed.
            is_for_the_user = key.reason_to_stay == _UNKNOWN_WITH_KEY_AT
            if is_gone or is_for_the_user:
                remaining -= 1
                record.note(key.account, key.type, key.value, GONE, ours=True)
        keys_gone_without_deletion = client.door.keys.lists.vanished
        if keys_gone_without_deletion:
            return report_error(f"{KEY_GONE}: restore it, unless somebody else deleted it", INCOMPLETE)
    return LEFT if remaining else CLEAN


def _require_permission(profile: Profile) -> None:
    """Check that the profile permits to delete keys and has every line that this needs. Raises ProfileError."""
    if "delete-keys" not in profile.allow:
        raise ProfileError(f"{profile.path}: cleanup deletes keys: add delete-keys to allow, and requests.deletePixKey")
    missing_line = missing_for_deletions(profile)
    if missing_line:
        raise ProfileError(f"{profile.path}: cleanup deletes keys: {missing_line}")


def _delete(client: Client, profile: Profile, key: KeyLeft) -> bool:
    """Send a request that deletes a key, and print the result. Returns True if the key no longer exists.

    Nothing is sent for a key with a reason to stay. Nothing is sent either for a key of the profile outside a sandbox
    if the list of keys is masked (`+55*******4321`): such a list cannot show that no key of a customer is lost.
    """
    if key.reason_to_stay:
        return False
    lists = client.door.keys.lists  # the lists of keys that the service has answered
    value = key.value or ""
    if "read" in profile.allow and key.account not in lists.before:
        client.send("listPixKeys", key.account)  # later lists are compared with this one
    list_before = lists.before.get(key.account)
    is_of_the_profile = value in [profile_key.key for profile_key in profile.pix_keys]
    may_be_of_others = is_of_the_profile and not profile.is_sandbox
    is_masked = list_before is not None and list_before.hides_keys
    if may_be_of_others and is_masked:
        print(f"not deleted: {key.name} (the list of keys is masked, so nobody can tell whether the key is yours)")
        return False
    body = filled_in(profile.requests["deletePixKey"].json, account=key.account, key=value, type=key.type)
    exchange = client.send("deletePixKey", key.account, json=body)
    was_sent = exchange.number > 0  # the door may refuse to send it, for example if a key of others is gone
    was_refused = was_sent and refusal_or_failure(exchange) is not None
    if was_refused and "read" in client.door.permission.allow:
        client.send("listPixKeys", key.account)  # the list shows whether the key is gone in spite of the refusal
    is_gone = was_sent and _is_gone(client, exchange, key)
    print(f"{'gone' if is_gone else 'not deleted'}: {key.name} ({answer_in_words(exchange)})")
    return is_gone


def _is_gone(client: Client, exchange: Exchange, key: KeyLeft) -> bool:
    """True if a key no longer exists, according to the answer to its deletion (`exchange`) and to the last list.

    - If the service refused the deletion, the list decides: the key is gone if no text in the list may be the key. A
      masked text such as `+55*******4321` may be it.
    - If the deletion was granted, the key is gone, unless a list after it shows the key.
    - If the run may not read lists, a 404 also says that the key is gone.
    """
    value = key.value or ""
    refusal = refusal_or_failure(exchange)  # None if the service granted the deletion
    last_list = client.door.keys.lists.last.get(key.account)  # the newest list of its keys; None if there is none
    if refusal is not None and "read" in client.door.permission.allow:
        return last_list is not None and not last_list.may_show(value)
    is_gone_by_answer = refusal in (None, RefusalKind.NOT_FOUND)
    # Exchanges are numbered in the order of sending.
    was_listed_after = last_list is not None and last_list.number > exchange.number and last_list.shows(value)
    return is_gone_by_answer and not was_listed_after
