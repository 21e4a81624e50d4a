"""Registers keys for the scenarios, and deletes what was registered, if the run may.

A scenario has one `Registrar`. It sends requests to POST, GET and DELETE /v1/pix/keys/{accountId}, and `Keys`
(environments/door/run_keys.py) knows what became of each key. There are three sorts of keys:

| sort | where it comes from |
|---|---|
| key of the profile | `pix_keys` of the profile; a RANDOM key has no value there |
| synthetic key | an e-mail address that the suite makes up, and that belongs to nobody |
| key that the service made | asked for with the type RANDOM; the answer, or only a list of keys, shows its value |

A key is free if it is not registered, as far as the run knows, so that the service must accept its registration. A list
is the answer to GET /v1/pix/keys/{accountId}.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from environments.door.client import Client
from environments.door.key_states import KeyState, RunKey
from environments.door.permission import synthetic
from environments.profiles.model import PixKey, Profile, filled_in
from spec.answers import (
    data_of,
    is_granted,
    registered,
    succeeded,
    value_named,
)
from spec.exchange import Exchange, Purpose
from spec.interface import SYNTHETIC_PREFIX
from spec.key_list import Listing
from spec.message import say
from tests.traffic.keys.purposes import Deleting, KeyListing, type_sent
from tests.traffic.together import Together

RANDOM_LEFT_WITHOUT_KEY_AT = say(
    "a RANDOM key of this run or an earlier one is left, and its value is not known: set key_at in the profile to the "
    "place where listPixKeys shows the keys, such as /data/keys/*/key, and delete it by hand"
)
"""Reason why no RANDOM key is asked for, without key_at: nobody can see in a list which key is left."""
RANDOM_LEFT_WITH_KEY_AT = say(
    "a RANDOM key of this run or an earlier one is left, and its value is not known: delete it by hand; then python -m "
    "environments cleanup {name} --yes forgets it. If nobody else registers keys at this account, disposable: true on "
    "the RANDOM entry of pix_keys has a run delete the key by what the list shows"
)
"""Reason why no RANDOM key is asked for, with key_at. A person finds the key in a list and deletes it. Then `cleanup`
can remove it from the record of keys, because later runs find the values of their RANDOM keys in lists."""
_UNMASKED_KEY = re.compile(r"[\w-]{1,200}")
"""A key that the service made, such as a UUID. If it is masked, it has other characters, such as `*`. The limit of 200
characters is a choice."""


def keys_with_a_value(keys: Sequence[PixKey]) -> list[PixKey]:
    """Those of the keys that are not RANDOM. A RANDOM key of the profile has no value: the service makes it."""
    return [key for key in keys if key.type != "RANDOM"]


def registration_body(key: PixKey, account: str) -> dict[str, Any]:
    """The body of a registration of this key: the three fields of the interface document.

    POST /v1/pix/keys/{accountId}: {"account": …, "pixKeyType": …, "pixKey": …}.
    """
    return {"account": account, "pixKeyType": key.type, "pixKey": key.key}


class Registrar:
    """Registers keys at the first account of the profile, and deletes those that the run may delete."""

    def __init__(self, client: Client, profile: Profile) -> None:
        """`client` sends the requests. `profile` has the keys and the account, and says whether keys may be deleted.

        The profile must name an account.
        """
        self.client = client
        self.profile = profile
        self.together = Together(client)
        """Sends several requests at the same time."""
        self.keys = client.door.keys
        """The state of each key that the run uses."""
        self.account = profile.accounts[0]
        """The account at which the run registers."""
        self.log = client.door.log
        self.last_list: Listing | None = None
        """The last list of keys of this account; None if it could not be read."""
        self.may_read_list = "read" in profile.allow
        """True if the profile permits to read the list of keys."""
        self.may_delete_keys = profile.may_delete_keys
        """True if the profile permits to delete keys, and has all that a deletion needs."""
        self._own_synthetic_key = _new_synthetic_key()
        """The synthetic key that this object returns again and again, for deletions for example."""

    # -- which keys -------------------------------------------------------------------------------------------

    def make_keys_free(self) -> list[PixKey]:
        """Delete keys of the profile that an earlier run registered, and return the keys that may be registered now.

        The lists of keys are read first. A key that was registered before the run by somebody else is neither deleted
        nor returned. Nor is a key whose type the account may not have, as the profile says.
        """
        self._read_lists_once()
        free_keys = []
        for key in self.profile.pix_keys:
            if self._account_may_have(key) and self._make_free(key):
                free_keys.append(key)
        return free_keys

    def _account_may_have(self, key: PixKey) -> bool:
        """True if the account may have keys of this type: `not_for_this_account` of the profile does not name the type.

        For example, the account of a person has no CNPJ.
        """
        return key.type not in self.profile.not_for_this_account

    def _make_free(self, key: PixKey) -> bool:
        """Delete a key of the profile if an earlier run registered it. Returns True if the key is not registered now.

        The key record (a file with the keys that earlier runs left) says which run registered it. If somebody else did,
        or if the profile does not permit its deletion, the key stays as it is, and False is returned.
        """
        was_registered_before_run = self.keys.was_there_before(key.key)
        if not was_registered_before_run:
            return True
        if not self.may_delete_keys:
            return False
        is_of_an_earlier_run = self.keys.count_as_registered_if_recorded(key)
        if not is_of_an_earlier_run or not self.keys.may_be_deleted(key.key):
            return False
        deletion = self.delete(key, self.account, valid=False)
        return is_granted(deletion)

    def synthetic_key_for_deletions(self) -> PixKey | None:
        """The made-up key with which deletions are tested, because it belongs to nobody; None if no key may be deleted.

        It is an e-mail address, and the same at each call.
        """
        if self.may_delete_keys and self._account_may_have(self._own_synthetic_key):
            return self._own_synthetic_key
        return None

    @property
    def may_delete_synthetic_keys(self) -> bool:
        """True if the run may register made-up keys and delete them."""
        return self.synthetic_key_for_deletions() is not None

    def reusable_key(self) -> PixKey | None:
        """A key that the run may register and delete again and again; None if there is none.

        Drawn sequences of requests use it. It is the first such key of the profile that is not RANDOM; or else the
        synthetic key, which the suite made up.
        """
        for key in keys_with_a_value(self.profile.pix_keys):
            if self.may_delete_keys and self._account_may_have(key) and self.keys.may_be_deleted(key.key):
                return key
        return self.synthetic_key_for_deletions()

    def synthetic_key(self) -> PixKey:
        """A made-up key, for a registration that the service must refuse or may refuse.

        The service may register it nevertheless. If the run may delete keys, it is a new key each time. Otherwise it is
        the same each time, so that at most one such key stays at the account.
        """
        if self.may_delete_keys:
            return _new_synthetic_key()
        return self._own_synthetic_key

    # -- registrations and deletions --------------------------------------------------------------------------

    def register(
        self,
        key_or_body: PixKey | Mapping[str, Any],
        purpose: Purpose | None = None,
        *,
        valid: bool = True,
        **options: Any,
    ) -> Exchange:
        """Send a registration of a key at the account of the run, and return the exchange.

        Instead of the key, the whole body of the request may be given. `valid` is False if the service must refuse it
        or may refuse it. `options` are those of `Client.send`, such as `credential`. Before the first registration of a
        run the lists of keys are read.
        """
        self._read_lists_once()
        body = key_or_body
        if isinstance(key_or_body, PixKey):
            body = registration_body(key_or_body, self.account)
        request = {"json": body, "valid": valid, "purpose": purpose, **options}  # options may replace the body
        return self.client.send("registerPixKey", self.account, **request)

    def register_at_synthetic_account(self, key_type: str, purpose: Purpose, **options: Any) -> Exchange:
        """Send a registration with this key type at an account that nobody has, and return the exchange.

        Account and key are made up (the key is an e-mail address, whatever the type), so that the request can do no
        harm. `options` are those of `Client.send`. Before the first registration of a run the lists of keys are read.
        """
        self._read_lists_once()
        account = synthetic()
        key = PixKey(key_type, _new_synthetic_key().key)
        body = registration_body(key, account)
        return self.client.send("registerPixKey", account, json=body, purpose=purpose, **options)

    def delete_key_of(self, registration: Exchange) -> bool:
        """Delete the key of a registration right away, if the service registered it and the run may delete it.

        If the service may have made the key, its value is looked for first, because a deletion has to name the key.
        Returns True if the registration was refused, or if the key does not exist now (`is_deleted`).
        """
        if not registered(registration):
            return True
        key = self.keys.key_of(registration)  # the key, and what became of it; None if the request names none
        if key and key.state is KeyState.REGISTERED and self.may_delete_keys:
            # A service makes the key for RANDOM, and perhaps for an undocumented type, which is "" in `RunKey.type`. It
            # does not make a key of the profile, which has a value.
            may_be_made_by_service = key.type in ("RANDOM", "") and not key.is_of_profile
            if may_be_made_by_service:
                self._learn_value_that_was_made(key, registration)
            self._delete_if_permitted(key)
        return self.is_deleted(registration)

    def is_deleted(self, registration: Exchange) -> bool:
        """True if the key of a registration does not exist now: it was deleted, or the service made none so far.

        The service made none so far in the state LATER: the registration was granted, but no list ever showed the key.
        A slow service may register it later, even after a deletion that succeeded.
        """
        key = self.keys.key_of(registration)
        return key is not None and (not key.may_still_exist or key.state is KeyState.LATER)

    def delete_keys_of(self, registrations: Sequence[Exchange]) -> None:
        """Delete the keys of these registrations right away, with several requests at the same time."""
        deletions = [partial(self.delete_key_of, registration) for registration in registrations]
        self.together.send_all(deletions)

    def _delete_if_permitted(self, key: RunKey) -> None:
        """Send the deletion of a key of this run, if its value is known and the run may delete it.

        The deletion counts as a valid request, which must be accepted, only if the key is certainly registered.
        """
        if key.value is not None and self.keys.may_be_deleted(key.value):
            is_certainly_registered = key.state is KeyState.REGISTERED
            self.delete(PixKey(key.type, key.value), key.account, valid=is_certainly_registered)

    def delete(self, key: PixKey, account: str, *, valid: bool) -> Exchange:
        """Send the deletion of a key at an account, and return the exchange.

        The interface document does not show the body of a deletion, so `requests.deletePixKey` of the profile has it.
        `valid` says whether the service must accept the deletion. No report shows the value of a RANDOM key, because it
        belongs to the account alone.
        """
        if key.type == "RANDOM":
            self.client.door.secrets.learn("random key", key.key)
        body = filled_in(self.profile.requests["deletePixKey"].json, account=account, key=key.key, type=key.type)
        purpose = Deleting.REGISTERED_KEY if valid else Deleting.TO_CLEAN_UP
        return self.client.send("deletePixKey", account, json=body, valid=valid, purpose=purpose)

    # -- cleaning up ------------------------------------------------------------------------------------------

    def clean_up(self) -> None:
        """Delete the keys that this run registered and that are not deleted yet, such as after a refused deletion.

        A list of keys is read before, because it may show the values of RANDOM keys, and after, because it shows
        whether the keys are gone.
        """
        if not self.keys.not_cleaned_up():
            return
        self.read_key_list()
        self._learn_values_from_list()
        was_deletion_tried = self._delete_keys_that_are_left()
        if was_deletion_tried:
            self.read_key_list()

    def clean_up_at_the_end(self) -> None:
        """Delete the keys that this run registered and that are not deleted yet, at the end of the run.

        A service at fault may have registered a key at another account than the one in the request. So every synthetic
        key (made up by the suite) that was sent is looked for in the list of each account of the profile. After the
        deletions the lists are read once more, and the last state of each key is set for the report.
        """
        self.clean_up()
        if self._find_synthetic_keys_in_all_lists():
            was_deletion_tried = self._delete_keys_that_are_left()
            if was_deletion_tried:
                self._find_synthetic_keys_in_all_lists()
        self.keys.set_last_states()

    def _find_synthetic_keys_in_all_lists(self) -> bool:
        """Read the list of keys of each account of the profile, and note which synthetic keys of this run it shows.

        Returns True if the lists were read. They are not read if no registration was sent, or if reads are forbidden.
        """
        was_key_sent = self.keys.last_registration > 0
        if not was_key_sent or not self.may_read_list:
            return False
        for account in self.profile.accounts:
            self._read_list_of(account)  # its answer changes the state of each key that it shows
            self.keys.add_changed_keys(account)  # keys that the service changed, for example cut short
        return True

    def _delete_keys_that_are_left(self) -> bool:
        """Send deletions of the keys of this run that may still exist. Returns True if there was such a key.

        A key whose registration was refused is also deleted, because a service at fault may have registered it. Two
        sorts of keys are left out:

        - A key that the service may register only later: it does not exist yet, so it cannot be deleted.
        - A refused key at a made-up account: the run reads no list of that account, so it cannot see whether the key
          exists, nor whether it is gone after a deletion.
        """
        if not self.may_delete_keys:
            return False
        keys = []
        for key in self.keys.not_cleaned_up():
            is_in_no_list = key.state is KeyState.REFUSED and key.is_at_synthetic_account
            if key.state is not KeyState.LATER and not is_in_no_list:
                keys.append(key)
        deleted_together = [key for key in keys if self._may_be_deleted_in_parallel(key)]
        deleted_alone = [key for key in keys if not self._may_be_deleted_in_parallel(key)]
        deletions = [partial(self._delete_if_permitted, key) for key in deleted_together]
        self.together.send_all(deletions)
        for key in deleted_alone:
            self._delete_if_permitted(key)
        return bool(keys)

    def _may_be_deleted_in_parallel(self, key: RunKey) -> bool:
        """True if a key may be deleted at the same time as others: a made-up (synthetic) key on a sandbox.

        Outside a sandbox the list of keys is read after each deletion and before the next one, to see whether the
        service deleted another key than the one in the request.
        """
        is_synthetic = not key.is_of_profile and SYNTHETIC_PREFIX in (key.value or "")
        return self.profile.is_sandbox and is_synthetic

    # -- keys that the service makes --------------------------------------------------------------------------

    def has_random_key_of_unknown_value(self) -> bool:
        """True if the account perhaps has a RANDOM key of a run whose value is not known, so that nobody can delete it.

        Then no further RANDOM key may be asked for. False on a sandbox, because a further one is permitted there.
        """
        return not self.profile.is_sandbox and self.keys.has_random_key_of_unknown_value()

    def _learn_value_that_was_made(self, key: RunKey, registration: Exchange) -> None:
        """Find the value of a key that the service made, so that the key can be deleted. `keys` keeps the value.

        The value is in the answer to the registration; or else, if the answer has none or a masked one, in a list of
        keys. It is taken from the answer only if it is certainly a new key, because a service may return an old one.
        """
        listing = self.read_key_list()
        if listing is not None and self._was_replaced(key, registration, listing):
            self.keys.learn_value(key, None)  # unknown: the service made another key than the one in the request
        value = _key_in_answer(registration)
        if not _UNMASKED_KEY.fullmatch(value):
            self._learn_values_from_list()
        elif self._is_certainly_new(value, registration.number, listing):
            self.keys.learn_value(key, value)

    def _was_replaced(self, key: RunKey, registration: Exchange, listing: Listing) -> bool:
        """True if the service made a new key instead of registering the key in the request.

        That is so if a list, read after the registration, shows a new key, and does not show the key of the request,
        nor a masked text that may be it, such as "a***@example.com".

        After most types a text in the list counts as a key only if it is at `key_at`, the place that the profile names.
        After EVP, the Central Bank's name for RANDOM, the service has probably made a key. So any text counts then.
        """
        if not key.value:  # the request names no key
            return False
        is_listed = listing.shows(key.value)
        is_perhaps_listed_masked = listing.may_show_masked(key.value, self.keys.list_before_run)
        if is_listed or is_perhaps_listed_masked:
            return False
        listed_texts = listing.texts if type_sent(registration) == "EVP" else listing.keys
        for text in listed_texts:
            is_new = self.keys.lists.may_be_random_key_made_since(text, registration.number)
            if is_new:
                return True
        return False

    def _is_certainly_new(self, value: str, number: int, listing: Listing | None) -> bool:
        """True if `value`, the key in an answer, is certainly a new key, so that the run may delete it.

        It is new if no list before the exchange with this number shows it, and if `listing`, the list after that
        exchange, shows it. On a sandbox the first condition is enough, because no key there belongs to anybody.
        """
        seems_new = self.keys.lists.may_be_random_key_made_since(value, number)
        was_registered_before_run = self.keys.was_there_before(value)
        if not seems_new or was_registered_before_run:
            return False
        if self.profile.is_sandbox:
            return True
        if self.keys.list_before_run is None or listing is None:  # without both lists, the key may be an old one
            return False
        return listing.shows(value)

    def _learn_values_from_list(self) -> None:
        """Find the values of the keys that the service made: they are the new keys in the last list.

        This is done on a sandbox, or if the profile says that nobody else registers RANDOM keys at this account. If the
        list has more new keys than the run asked for, or fewer, somebody else may use the account. Then no new key
        counts as a key of this run, because the run would delete it.
        """
        if not self.keys.new_listed_key_is_of_run:
            return
        unlisted_keys = self._unlisted_keys()
        numbers: list[int] = []  # of the exchanges that registered these keys
        for key in unlisted_keys:
            numbers += key.exchanges
        first_registration = min(numbers, default=0)
        new_values = self._values_made_since(first_registration)
        if self.keys.list_before_run and len(new_values) == len(unlisted_keys):
            # It does not matter which value belongs to which key, because all of these keys are deleted.
            for key, value in zip(unlisted_keys, new_values, strict=True):
                self.keys.learn_value(key, value)

    def _unlisted_keys(self) -> list[RunKey]:
        """The keys that the run perhaps registered at its account, and that the last list does not show.

        They are RANDOM keys whose values are not known, and keys with a value, such as an e-mail address, which the
        service may have replaced by a key of its own. Keys of the profile and refused keys are left out, because the
        service makes no key instead of them.
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
        """The keys in the last list that the service may have made since the exchange with this number.

        No request named them, and no earlier list shows them. Only keys at `key_at` count, the place that the profile
        names.
        """
        listed_keys = self.last_list.keys if self.last_list else frozenset()
        keys_that_no_request_named = listed_keys - self.keys.values_perhaps_registered
        new_keys = []
        for key in sorted(keys_that_no_request_named):
            is_new = self.keys.lists.may_be_random_key_made_since(key, number)
            if is_new:
                new_keys.append(key)
        return new_keys

    # -- the list ---------------------------------------------------------------------------------------------

    def read_key_list(self) -> Listing | None:
        """Read the list of keys of the account of the run, keep it as `last_list`, and return it.

        None if the profile does not permit reads, or if the answer is no list that can be read.
        """
        if not self.may_read_list:
            return None
        answer = self._read_list_of(self.account)
        listing = Listing(answer, self.keys.lists.key_at)
        self.last_list = listing if succeeded(answer) and listing.is_readable else None
        return self.last_list

    def _read_list_of(self, account: str) -> Exchange:
        """Send the request for the list of keys of an account, and return the exchange."""
        return self.client.send("listPixKeys", account, valid=True, purpose=KeyListing.KEYS_OF_NOW)

    def _read_lists_once(self) -> None:
        """Read the list of keys of each account before the first registration of the run; later calls do nothing.

        A key that is listed before the run belongs to the owner of the account, so the run does not touch it.
        """
        were_read_already = self.keys.lists.run_may_have_changed_keys
        if were_read_already:
            return
        self.read_key_list()
        if self.may_read_list:
            for account in self.profile.accounts[1:]:
                self._read_list_of(account)
        self.keys.lists.run_may_have_changed_keys = True


def _key_in_answer(registration: Exchange) -> str:
    """The key in the answer to a registration: the text in the field `Key` of its result.

    Empty if the field is missing or null. The interface document shows null for a RANDOM key.
    """
    data = data_of(registration.response) or {}
    key = value_named(data, "Key")  # also if the answer misspells the name, such as `key`
    return key if isinstance(key, str) else ""


def _new_synthetic_key() -> PixKey:
    """A key that the suite makes up, an e-mail address with a random part: each call returns another one."""
    return PixKey("EMAIL", f"{synthetic()}@example.com")
