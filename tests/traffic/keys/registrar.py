"""Registers and deletes the keys of the profile."""

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
    find,
    is_granted,
    registered,
    succeeded,
)
from spec.exchange import Exchange, Purpose
from spec.interface import MARK
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
_WHOLE = re.compile(r"[\w-]{1,200}")
"""A key that the service made. A masked one has other signs."""


def given(keys: Sequence[PixKey]) -> list[PixKey]:
    """The keys that the service does not make."""
    return [key for key in keys if key.type != "RANDOM"]


def registration(key: PixKey, account: str) -> dict[str, Any]:
    """The documented body of a key registration."""
    return {"account": account, "pixKeyType": key.type, "pixKey": key.key}


class Registrar:
    """Registers keys, and deletes those that the run may delete."""

    def __init__(self, client: Client, profile: Profile) -> None:
        self.client, self.profile, self.together = client, profile, Together(client)
        self.keys, self.account = client.door.keys, profile.accounts[0]
        self.log = client.door.log
        self.listing: Listing | None = None  # the last one that could be read
        self.may_list, self.deletes = "read" in profile.allow, profile.deletes_keys
        self._synthetic = _synthetic_key()

    # -- which keys -------------------------------------------------------------------------------------------

    def choose_keys(self) -> list[PixKey]:
        """The keys of the profile that may be registered. The list is read first, and what an earlier run registered
        and left is deleted."""
        self._look_before_all()
        permitted = [key for key in self.profile.pix_keys if self._is_permitted(key)]
        free = []
        for key in permitted:
            if self._make_free(key):
                free.append(key)
        return free

    def _is_permitted(self, key: PixKey) -> bool:
        return key.type not in self.profile.not_for_this_account

    def _make_free(self, key: PixKey) -> bool:
        if not self.keys.was_there_before(key.key):
            return True
        is_of_an_earlier_run = self.deletes and self.keys.take_over(key) and self.keys.may_be_deleted(key.key)
        return is_of_an_earlier_run and is_granted(self.delete(key, self.account, valid=False))

    def synthetic_keys(self) -> list[PixKey]:
        """The one that deletions are tested with; none where no key is deleted."""
        return [self._synthetic] if self.deletes and self._is_permitted(self._synthetic) else []

    def that_come_and_go(self) -> list[PixKey]:
        """The keys that can be registered again and again, as the run may delete them."""
        own = filter(self._is_permitted, given(self.profile.pix_keys))
        return [key for key in own if self.keys.may_be_deleted(key.key)] or self.synthetic_keys()

    def key_of_nobody(self) -> PixKey:
        """A key for a registration that must not succeed, or need not: another one each time where keys are deleted."""
        return _synthetic_key() if self.deletes else self._synthetic

    # -- registrations and deletions --------------------------------------------------------------------------

    def register(
        self, key: PixKey | Mapping[str, Any], purpose: Purpose | None = None, *, valid: bool = True, **sent: Any
    ) -> Exchange:
        """Send a registration of the key, or one with this body."""
        self._look_before_all()
        body = registration(key, self.account) if isinstance(key, PixKey) else key
        request = {"json": body, "valid": valid, "purpose": purpose, **sent}
        return self.client.send("registerPixKey", self.account, **request)

    def register_for_nobody(self, key_type: str, purpose: Purpose, **sent: Any) -> Exchange:
        """Send a registration of a synthetic e-mail key, whatever its type says, at a synthetic account."""
        self._look_before_all()
        account = synthetic()
        body = registration(PixKey(key_type, _synthetic_key().key), account)
        return self.client.send("registerPixKey", account, json=body, purpose=purpose, **sent)

    def undo(self, exchange: Exchange) -> bool:
        """Delete at once what was registered, where the run may. True where the key is free again."""
        if not registered(exchange):
            return True
        key = self.keys.key_of(exchange)
        if key and key.state is KeyState.REGISTERED and self.deletes:
            if key.type in ("RANDOM", "") and not key.owned:
                self._seek_value(key, exchange)
            self._delete_registered(key)
        return self.is_undone(exchange)

    def is_undone(self, exchange: Exchange) -> bool:
        """True if the key of a registration is free again, or waits for something."""
        key = self.keys.key_of(exchange)
        return key is not None and (not key.is_left or key.state is KeyState.LATER)

    def undo_all(self, sent: Sequence[Exchange]) -> None:
        """Delete at once what was registered, at the same time."""
        self.together.send_all([partial(self.undo, exchange) for exchange in sent])

    def _delete_registered(self, key: RunKey) -> None:
        """Delete a key of this run, where it may. The deletion of one that was registered for sure, and not deleted, is
        valid."""
        if key.value is not None and self.keys.may_be_deleted(key.value):
            valid = key.state is KeyState.REGISTERED
            self.delete(PixKey(key.type, key.value), key.account, valid=valid)

    def delete(self, key: PixKey, account: str, *, valid: bool) -> Exchange:
        """Delete a key of an account as the profile says. No report shows one that the service made: it is the
        account's own."""
        if key.type == "RANDOM":
            self.client.door.secrets.learn("random key", key.key)
        body = fill(self.profile.requests["deletePixKey"].json, account=account, key=key.key, type=key.type)
        purpose = Deleting.REGISTERED_KEY if valid else Deleting.TO_CLEAN_UP
        return self.client.send("deletePixKey", account, json=body, valid=valid, purpose=purpose)

    def clean_up(self) -> None:
        """Look what is left, and try once more to delete what the run may delete: a service may have been busy."""
        if not self.keys.not_cleaned_up():
            return
        self.look()
        self._learn_what_was_made()
        if self._delete_what_is_left():
            self.look()

    def finish(self) -> None:
        """Clean up for the last time: look for every synthetic key that was sent, for whatever account, in the list of
        each account of the profile, and delete what is there."""
        self.clean_up()
        if self._look_everywhere() and self._delete_what_is_left():
            self._look_everywhere()
        self.keys.close()

    def _look_everywhere(self) -> bool:
        """Read the list of each account, and note the synthetic keys in it. True if a registration was sent."""
        is_needed = self.keys.last_registration > 0 and self.may_list
        for account in self.profile.accounts if is_needed else ():
            self._read_list_of(account)
            self.keys.find_changed(account)
        return is_needed

    def _delete_what_is_left(self) -> bool:
        """Delete what the run may delete. True if it tried. A key that may be registered later is there for no
        deletion, and a refused one of a synthetic account for no list."""
        may_be_there = [
            key
            for key in self.keys.not_cleaned_up()
            if key.state is not KeyState.LATER and not (key.state is KeyState.REFUSED and key.is_for_nobody)
        ]
        if not self.deletes:
            return False
        may_go_together = [key for key in may_be_there if self._may_be_deleted_beside_others(key)]
        alone = [key for key in may_be_there if not self._may_be_deleted_beside_others(key)]
        self.together.send_all([partial(self._delete_registered, key) for key in may_go_together])
        for key in alone:
            self._delete_registered(key)
        return bool(may_be_there)

    def _may_be_deleted_beside_others(self, key: RunKey) -> bool:
        """True for a synthetic key on a sandbox. Elsewhere the list is read after each deletion, before the next."""
        return self.profile.is_sandbox and not key.owned and MARK in (key.value or "")

    # -- keys that the service makes --------------------------------------------------------------------------

    def holds_an_unknown_key(self) -> bool:
        """True if a RANDOM key is left whose value is unknown, so that no further one may be made; on a sandbox it
        may."""
        return not self.profile.is_sandbox and self.keys.holds_an_unknown_key()

    def made_since(self, number: int) -> list[str]:
        """The keys in the last list that the service may have made since an exchange, where the profile says that keys
        stand."""
        shown = self.listing.keys if self.listing else frozenset()
        return sorted(key for key in shown - self.keys.values if self.keys.lists.is_new_since(key, number))

    def _seek_value(self, key: RunKey, exchange: Exchange) -> None:
        """Learn the value of the key that the service made. One that the answer tells is surely new where a list shows
        it now, and none did before; on a sandbox that none did is enough."""
        _, told = find(data_of(exchange.response) or {}, "Key") or ("", None)
        listing = self.look()
        is_new = partial(self.keys.lists.is_new_since, number=exchange.number)
        if key.value and listing and not listing.shows(key.value):
            # a list may mask the key that was sent, and have new texts that are no keys
            is_absent = not listing.may_hide(key.value, self.keys.before)
            texts = listing.texts if type_sent(exchange) == "EVP" else listing.keys
            if is_absent and any(map(is_new, texts)):
                self.keys.learn_value(key, None)
        if not isinstance(told, str) or not _WHOLE.fullmatch(told):
            self._learn_what_was_made()
            return
        is_shown = self.keys.before is not None and listing is not None and listing.shows(told)
        if is_new(told) and not self.keys.was_there_before(told) and (is_shown or self.profile.is_sandbox):
            self.keys.learn_value(key, told)

    def _learn_what_was_made(self) -> None:
        """Learn the values of the keys that the service made, from the last list, on a sandbox or if the profile says
        that nobody else registers any there. Where it has more or fewer new ones, somebody else may use the account."""
        if not self.keys.may_tell_random_by_lists:
            return
        shown = self.listing.keys if self.listing else frozenset()
        left = (key for key in self.keys.not_cleaned_up() if key.account == self.account)
        unseen = [key for key in left if not key.owned and key.state is not KeyState.REFUSED and key.value not in shown]
        new = self.made_since(min((number for key in unseen for number in key.exchanges), default=0))
        if self.keys.before and len(new) == len(unseen):
            for key, value in zip(unseen, new, strict=True):
                self.keys.learn_value(key, value)

    # -- the list ---------------------------------------------------------------------------------------------

    def look(self) -> Listing | None:
        """Read the list of keys as it is now; None where it may not be read, or cannot."""
        if not self.may_list:
            return None
        listed = self._read_list_of(self.account)
        listing = Listing(listed, self.keys.lists.key_at)
        self.listing = listing if succeeded(listed) and listing.is_readable else None
        return self.listing

    def _read_list_of(self, account: str) -> Exchange:
        return self.client.send("listPixKeys", account, valid=True, purpose=KeyListing.KEYS_OF_NOW)

    def _look_before_all(self) -> None:
        """Before the first registration read the list of each account: what is there already is the operator's."""
        if not self.keys.lists.started:
            self.look()
            if self.may_list:
                for account in self.profile.accounts[1:]:
                    self._read_list_of(account)
            self.keys.lists.started = True


def _synthetic_key() -> PixKey:
    return PixKey("EMAIL", f"{synthetic()}@example.com")
