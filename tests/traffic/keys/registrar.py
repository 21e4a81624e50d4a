"""Registers keys for the scenarios, and deletes what was registered, if the run may.

A scenario has one `Registrar`. It sends requests to POST, GET and DELETE /v1/pix/keys/{accountId}, and `Keys`
(environments/door/run_keys.py) knows what became of each key. There are three sorts of keys:

| sort | where it comes from |
|---|---|
| key of the profile | `pix_keys` of the profile; a RANDOM key has no value there |
| synthetic key | an e-mail address that the suite makes up, and that belongs to nobody |
| key that the service made | asked for with the type RANDOM; the answer, or only a list of keys, shows its value |
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from environments.door.client import Client
from environments.door.key_states import KeyState, RunKey
from environments.door.permission import synthetic
from environments.profiles.model import PixKey, Profile, fill
from spec.answers import (
    data_of,
    is_granted,
    member_named,
    registered,
    succeeded,
)
from spec.exchange import Exchange, Purpose
from spec.interface import SYNTHETIC_PREFIX
from spec.key_list import Listing
from spec.message import say
from tests.traffic.keys.purposes import Deleting, KeyListing, type_sent
from tests.traffic.together import Together

UNKNOWN_KEY = say(
    "a RANDOM key of this run or an earlier one is left, and its value is not known: set key_at in the profile to the "
    "place where listPixKeys shows the keys, such as /data/keys/*/key, and delete it by hand"
)
FORGET_KEY = say(
    "a RANDOM key of this run or an earlier one is left, and its value is not known: delete it by hand; then python -m "
    "environments cleanup {name} --yes forgets it. If nobody else registers keys at this account, disposable: true on "
    "the RANDOM entry of pix_keys has a run delete the key by what the list shows"
)
_UNMASKED_KEY = re.compile(r"[\w-]{1,200}")
"""A key that the service made, such as a UUID. If it is masked, it has other characters, such as `*`. The limit of 200
characters is a choice."""


def keys_with_a_value(keys: Sequence[PixKey]) -> list[PixKey]:
    """The keys of the profile but RANDOM, whose value the service makes."""
    return [key for key in keys if key.type != "RANDOM"]


def registration_body(key: PixKey, account: str) -> dict[str, Any]:
    """The body of a key registration, as the interface document shows it (POST /v1/pix/keys/{accountId})."""
    return {"account": account, "pixKeyType": key.type, "pixKey": key.key}


class Registrar:
    """Registers keys at the first account of the profile, and deletes those that the run may delete."""

    def __init__(self, client: Client, profile: Profile) -> None:
        self.client = client
        self.profile = profile
        self.together = Together(client)
        self.keys = client.door.keys
        """The state of each key that the run uses."""
        self.account = profile.accounts[0]
        """The account at which the run registers."""
        self.log = client.door.log
        self.last_list: Listing | None = None
        """The last list of keys of this account; None if it could not be read."""
        self.may_read_list = "read" in profile.allow
        self.deletes_keys = profile.deletes_keys
        self._own_synthetic_key = _new_synthetic_key()

    # -- which keys -------------------------------------------------------------------------------------------

    def make_keys_free(self) -> list[PixKey]:
        """Make the keys of the profile free, and return those that may be registered.

        The lists of keys are read first. A key that an earlier run registered and left is deleted. Any other key that
        was there before the run is left out.
        """
        self._read_lists_once()
        free_keys = []
        for key in self.profile.pix_keys:
            if self._account_may_have(key) and self._make_free(key):
                free_keys.append(key)
        return free_keys

    def _account_may_have(self, key: PixKey) -> bool:
        """True unless `not_for_this_account` of the profile names the type of the key."""
        return key.type not in self.profile.not_for_this_account

    def _make_free(self, key: PixKey) -> bool:
        """Delete a key of the profile if an earlier run registered it. True if the key is free."""
        if not self.keys.was_there_before(key.key):
            return True
        if not self.deletes_keys:
            return False
        is_of_an_earlier_run = self.keys.take_over(key)
        if not is_of_an_earlier_run or not self.keys.may_be_deleted(key.key):
            return False
        deletion = self.delete(key, self.account, valid=False)
        return is_granted(deletion)

    def key_for_deletions(self) -> PixKey | None:
        """The synthetic key that deletions are tested with; None if no key is deleted."""
        if self.deletes_keys and self._account_may_have(self._own_synthetic_key):
            return self._own_synthetic_key
        return None

    def reusable_key(self) -> PixKey | None:
        """A key that can be registered and deleted again and again; None if there is none.

        It is a key of the profile, or else the synthetic key that deletions are tested with.
        """
        for key in keys_with_a_value(self.profile.pix_keys):
            if self._account_may_have(key) and self.keys.may_be_deleted(key.key):
                return key
        return self.key_for_deletions()

    def synthetic_key(self) -> PixKey:
        """A synthetic key, for a registration that must be refused or may be refused.

        It is a new key each time if keys are deleted. Otherwise it is the same each time, so that at most one such key
        stays at the account.
        """
        return _new_synthetic_key() if self.deletes_keys else self._own_synthetic_key

    # -- registrations and deletions --------------------------------------------------------------------------

    def register(
        self, key: PixKey | Mapping[str, Any], purpose: Purpose | None = None, *, valid: bool = True, **options: Any
    ) -> Exchange:
        """Send a registration of the key, or a registration with this body. `options` are those of `Client.send`."""
        self._read_lists_once()
        body = registration_body(key, self.account) if isinstance(key, PixKey) else key
        request = {"json": body, "valid": valid, "purpose": purpose, **options}  # options may replace the body
        return self.client.send("registerPixKey", self.account, **request)

    def register_at_synthetic_account(self, key_type: str, purpose: Purpose, **options: Any) -> Exchange:
        """Send a registration with this key type at an account that nobody has. The key is a synthetic e-mail address.

        `options` are those of `Client.send`. The lists are read before, as before every first registration of a run.
        """
        self._read_lists_once()
        account = synthetic()
        key = PixKey(key_type, _new_synthetic_key().key)
        body = registration_body(key, account)
        return self.client.send("registerPixKey", account, json=body, purpose=purpose, **options)

    def delete_key_of(self, registration: Exchange) -> bool:
        """Delete the key of a registration at once, if it was granted and the run may. True if the key is free."""
        if not registered(registration):
            return True
        key = self.keys.key_of(registration)
        if key and key.state is KeyState.REGISTERED and self.deletes_keys:
            has_type_of_made_keys = key.type in ("RANDOM", "")  # "" is an undocumented type
            service_may_have_made_it = has_type_of_made_keys and not key.is_of_profile
            if service_may_have_made_it:
                self._learn_value_that_was_made(key, registration)
            self._delete_if_permitted(key)
        return self.is_deleted(registration)

    def is_deleted(self, registration: Exchange) -> bool:
        """True if the key of a registration is gone, or may only be registered later."""
        key = self.keys.key_of(registration)
        return key is not None and (not key.may_still_exist or key.state is KeyState.LATER)

    def delete_keys_of(self, registrations: Sequence[Exchange]) -> None:
        """Delete the keys of registrations at once, at the same time."""
        self.together.send_all([partial(self.delete_key_of, registration) for registration in registrations])

    def _delete_if_permitted(self, key: RunKey) -> None:
        """Delete a key of this run, if its value is known and the run may delete it.

        The deletion is valid if the key is surely registered.
        """
        if key.value is not None and self.keys.may_be_deleted(key.value):
            is_surely_registered = key.state is KeyState.REGISTERED
            self.delete(PixKey(key.type, key.value), key.account, valid=is_surely_registered)

    def delete(self, key: PixKey, account: str, *, valid: bool) -> Exchange:
        """Delete a key of an account with the body of the profile, and return the answer.

        A key that the service made belongs to the account alone, so no report shows it.
        """
        if key.type == "RANDOM":
            self.client.door.secrets.learn("random key", key.key)
        body = fill(self.profile.requests["deletePixKey"].json, account=account, key=key.key, type=key.type)
        purpose = Deleting.REGISTERED_KEY if valid else Deleting.TO_CLEAN_UP
        return self.client.send("deletePixKey", account, json=body, valid=valid, purpose=purpose)

    # -- cleaning up ------------------------------------------------------------------------------------------

    def clean_up(self) -> None:
        """Delete the keys that this run registered and that are not deleted yet.

        Their deletion may have failed because the service was busy. A list is read before, because it may show the
        values of RANDOM keys, and after, because it shows whether the keys are gone.
        """
        if not self.keys.not_cleaned_up():
            return
        self.read_key_list()
        self._learn_values_from_list()
        was_deletion_tried = self._delete_keys_that_are_left()
        if was_deletion_tried:
            self.read_key_list()

    def clean_up_at_the_end(self) -> None:
        """Clean up for the last time, also the keys that the service registered at another account than the named one.

        Every synthetic key that was sent, for whatever account, is looked for in the list of each account of the
        profile.
        """
        self.clean_up()
        if self._find_synthetic_keys_in_all_lists():
            was_deletion_tried = self._delete_keys_that_are_left()
            if was_deletion_tried:
                self._find_synthetic_keys_in_all_lists()
        self.keys.set_last_states()

    def _find_synthetic_keys_in_all_lists(self) -> bool:
        """Read the list of each account, and note the synthetic keys in it. True if the lists were read.

        They are not needed if no registration was sent.
        """
        was_key_sent = self.keys.last_registration > 0
        if not was_key_sent or not self.may_read_list:
            return False
        for account in self.profile.accounts:
            self._read_list_of(account)
            self.keys.add_changed_keys(account)
        return True

    def _delete_keys_that_are_left(self) -> bool:
        """Delete the keys of this run that may be there. True if there was such a key.

        Two sorts of keys are left out. A key that may be registered later is not there yet, so it cannot be deleted. A
        refused key of a synthetic account is in no list that the run reads.
        """
        if not self.deletes_keys:
            return False
        keys = []
        for key in self.keys.not_cleaned_up():
            is_in_no_list = key.state is KeyState.REFUSED and key.is_at_synthetic_account
            if key.state is not KeyState.LATER and not is_in_no_list:
                keys.append(key)
        deleted_together = [key for key in keys if self._may_be_deleted_beside_others(key)]
        deleted_alone = [key for key in keys if not self._may_be_deleted_beside_others(key)]
        self.together.send_all([partial(self._delete_if_permitted, key) for key in deleted_together])
        for key in deleted_alone:
            self._delete_if_permitted(key)
        return bool(keys)

    def _may_be_deleted_beside_others(self, key: RunKey) -> bool:
        """True for a synthetic key on a sandbox. Elsewhere the list is read after each deletion, before the next."""
        is_synthetic = not key.is_of_profile and SYNTHETIC_PREFIX in (key.value or "")
        return self.profile.is_sandbox and is_synthetic

    # -- keys that the service makes --------------------------------------------------------------------------

    def holds_an_unknown_key(self) -> bool:
        """True if a RANDOM key of unknown value is left, so that no further one may be made.

        On a sandbox a further one may always be made.
        """
        return not self.profile.is_sandbox and self.keys.holds_an_unknown_key()

    def _learn_value_that_was_made(self, key: RunKey, registration: Exchange) -> None:
        """Learn the value of a key that the service made, from the answer to its registration, or else from a list."""
        listing = self.read_key_list()
        if listing is not None and self._was_replaced(key, registration, listing):
            self.keys.learn_value(key, None)
        value = _key_in_answer(registration)
        if not _UNMASKED_KEY.fullmatch(value):
            self._learn_values_from_list()
        elif self._is_surely_new(value, registration.number, listing):
            self.keys.learn_value(key, value)

    def _was_replaced(self, key: RunKey, registration: Exchange, listing: Listing) -> bool:
        """True if the service made a key instead of the key that was sent: the list has a new key in its place.

        A masked text of the list may be the key that was sent, and then it was not replaced. EVP is the Central Bank's
        name for RANDOM, so after it any new text of the list may be the key, also without `key_at`.
        """
        if not key.value or listing.shows(key.value) or listing.may_hide(key.value, self.keys.list_before_run):
            return False
        texts = listing.texts if type_sent(registration) == "EVP" else listing.keys
        return any(self.keys.lists.may_be_made_since(text, registration.number) for text in texts)

    def _is_surely_new(self, value: str, number: int, listing: Listing | None) -> bool:
        """True if the key in the answer to the exchange with this number is a new key.

        No list before may show it, and a list must show it now. On a sandbox the first is enough.
        """
        if not self.keys.lists.may_be_made_since(value, number) or self.keys.was_there_before(value):
            return False
        is_listed_now = self.keys.list_before_run is not None and listing is not None and listing.shows(value)
        return is_listed_now or self.profile.is_sandbox

    def _learn_values_from_list(self) -> None:
        """Learn the values of the keys that the service made, by the new keys in the last list.

        This is done on a sandbox, or if the profile says that nobody else registers RANDOM keys at this account. If the
        list has more new keys than the run asked for, or fewer, somebody else may use the account, so nothing is
        learned.
        """
        if not self.keys.may_tell_random_by_lists:
            return
        keys_without_value = self._keys_in_no_list()
        numbers: list[int] = []
        for key in keys_without_value:
            numbers += key.exchanges
        new_values = self._values_made_since(min(numbers, default=0))
        if self.keys.list_before_run and len(new_values) == len(keys_without_value):
            for key, value in zip(keys_without_value, new_values, strict=True):
                self.keys.learn_value(key, value)

    def _keys_in_no_list(self) -> list[RunKey]:
        """The keys that the run may have registered at this account, and that the last list does not show.

        Keys of the profile and refused keys are left out.
        """
        listed_keys = self.last_list.keys if self.last_list else frozenset()
        keys = []
        for key in self.keys.not_cleaned_up():
            is_of_this_account = key.account == self.account
            may_be_made = not key.is_of_profile and key.state is not KeyState.REFUSED
            if is_of_this_account and may_be_made and key.value not in listed_keys:
                keys.append(key)
        return keys

    def _values_made_since(self, number: int) -> list[str]:
        """The keys at `key_at` in the last list that the service may have made since the exchange with this number."""
        listed_keys = self.last_list.keys if self.last_list else frozenset()
        unknown_keys = listed_keys - self.keys.values_perhaps_registered
        return sorted(key for key in unknown_keys if self.keys.lists.may_be_made_since(key, number))

    # -- the list ---------------------------------------------------------------------------------------------

    def read_key_list(self) -> Listing | None:
        """Read the list of keys as it is now. None if the run may not read it, or if it cannot be read."""
        if not self.may_read_list:
            return None
        answer = self._read_list_of(self.account)
        listing = Listing(answer, self.keys.lists.key_at)
        self.last_list = listing if succeeded(answer) and listing.is_readable else None
        return self.last_list

    def _read_list_of(self, account: str) -> Exchange:
        """Send a request for the list of keys of an account."""
        return self.client.send("listPixKeys", account, valid=True, purpose=KeyListing.KEYS_OF_NOW)

    def _read_lists_once(self) -> None:
        """Read the list of each account before the first registration of the run.

        A key that is listed then belongs to the owner of the account.
        """
        if self.keys.lists.run_may_have_changed_keys:
            return
        self.read_key_list()
        if self.may_read_list:
            for account in self.profile.accounts[1:]:
                self._read_list_of(account)
        self.keys.lists.run_may_have_changed_keys = True


def _key_in_answer(registration: Exchange) -> str:
    """The text in the field Key of a registration result; empty if there is none."""
    member = member_named(data_of(registration.response) or {}, "Key")
    if member is None or not isinstance(member[1], str):
        return ""
    return member[1]


def _new_synthetic_key() -> PixKey:
    """A synthetic key that no other call returns."""
    return PixKey("EMAIL", f"{synthetic()}@example.com")
