"""Registers and deletes the keys of the profile, and keeps the answers."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import urlencode

from environments.door.client import NOTHING, Client
from environments.door.permission import synthetic
from environments.door.request_texts import key_sent
from environments.door.run_keys import KeyState
from environments.profiles.gaps import deletes_keys
from environments.profiles.profile import PixKey, Profile, fill
from spec.answers import (
    is_granted,
    registered,
    succeeded,
)
from spec.exchange import Exchange
from spec.key_list import Listing, Place
from spec.message import say
from tests.traffic.extras import FORM, Alternative, registration
from tests.traffic.registered import Registrations, told_by
from tests.traffic.together import Together
from tests.traffic.unusual_registrations import given

NOT_FOR_THIS_ACCOUNT = "not_for_this_account of the profile names {}"
REGISTERED_BEFORE = "registered before; `disposable: true` tests it again"
UNKNOWN_KEY = say(
    "a RANDOM key of this run or an earlier one is left, and its value is not known: set key_at in the profile to the "
    "place where listPixKeys shows the keys, such as /data/keys/*/key, and delete it by hand"
)
RETRY_WAITS_S = (0.2, 0.5)
"""How long the run waits before it repeats a deletion that is refused right after the registration; and a registration
whose key type is refused, as the account may be busy."""


@dataclass(frozen=True)
class Suspicion:
    """A refused registration whose key two lists show, each with the places where it stands."""

    exchange: Exchange
    key: PixKey
    places: tuple[frozenset[Place], ...]


class Registrar:
    """Registers keys, and deletes those that the run may delete."""

    def __init__(self, client: Client, profile: Profile, together: Together | None = None) -> None:
        self.client, self.profile, self.together = client, profile, together or Together(client)
        self.keys = client.door.keys
        self.listing: Listing | None = None
        self.suspicions: list[Suspicion] = []
        self.references: dict[str, frozenset[Place]] = {}
        self.account = profile.accounts[0]
        self.synthetic = PixKey("EMAIL", f"{synthetic()}@example.com")
        self.found = Registrations(self.account)
        self.explained = 0
        self.helped: set[str] = set()
        self._waits_s = iter(RETRY_WAITS_S)  # several threads may take from it
        self.may_list, self.may_try = "read" in profile.allow, "fuzz" in profile.allow
        self._deletion = profile.requests["deletePixKey"].json if deletes_keys(profile) else None

    @property
    def deletes(self) -> bool:
        """Whether the profile says how a key is deleted, and permits it."""
        return self._deletion is not None

    # -- which keys -------------------------------------------------------------------------------------------

    def choose_keys(self) -> list[PixKey]:
        """The keys of the profile that may be registered; `found.left_out` says why a type has none. The list is read
        first, and what an earlier run registered and left is deleted."""
        self.look_before_all()
        free = [key for key in self.profile.pix_keys if self._is_free(key)]
        for name in {key.type for key in self.profile.pix_keys} - {key.type for key in free}:
            excluded = name in self.profile.not_for_this_account
            self.found.left_out[name] = NOT_FOR_THIS_ACCOUNT.format(name) if excluded else REGISTERED_BEFORE
        return free

    def _is_free(self, key: PixKey) -> bool:
        if key.type in self.profile.not_for_this_account:
            return False
        if not self.keys.was_there_before(key.key):
            return True
        return self.deletes and self.keys.take_over(key) and is_granted(self.delete(key, valid=False))

    def comes_and_goes(self, key: PixKey) -> bool:
        """Whether the key can be deleted once it is registered."""
        return self.deletes and self.keys.may_be_deleted(key.key)

    def with_synthetic(self, keys: Sequence[PixKey]) -> list[PixKey]:
        """These keys without those that the service makes, and the synthetic one that deletions are tested with; on a
        sandbox it is needed only where none of them can be deleted."""
        own = given(keys)
        is_needed = not self.profile.is_sandbox or not any(map(self.comes_and_goes, own))
        return [*own, self.synthetic] if self.deletes and is_needed and self._may_be_synthetic else own

    def to_be_refused(self, keys: Sequence[PixKey]) -> list[PixKey]:
        """The keys of registrations that must not succeed, or need not: on a sandbox those of the profile; elsewhere
        never an empty one, for which a service may make a key that nobody can name."""
        if self.profile.is_sandbox and keys:
            return list(keys)
        return [self.synthetic]

    def that_come_and_go(self) -> list[PixKey]:
        """The keys that can be registered again and again, and are deleted each time where keys may be deleted."""
        own = [key for key in given(self.profile.pix_keys) if key.type not in self.profile.not_for_this_account]
        own = [key for key in own if not self.keys.was_there_before(key.key)]
        own = [key for key in own if self.comes_and_goes(key) or not self.deletes]
        return own or [self.synthetic] * (self.deletes and self._may_be_synthetic)

    @property
    def _may_be_synthetic(self) -> bool:
        return "EMAIL" not in self.profile.not_for_this_account

    # -- registrations ----------------------------------------------------------------------------------------

    def register(self, key: PixKey, **changes: object) -> Exchange:
        """Send a valid registration of the key, or one with `changes`."""
        body = registration(key, self.account)
        exchange = self._register(**{"json": body, "valid": True, **changes})
        if changes.get("valid", True):
            self.found.answers.append(exchange)
        return exchange

    def try_alternative(self, alternative: Alternative) -> Exchange:
        """Send a registration with one difference."""
        is_form = alternative.content_type == FORM
        return self._register(
            json=NOTHING if is_form else alternative.body,
            body=urlencode(alternative.body).encode() if is_form else None,
            headers=alternative.headers,
            query=alternative.query,
            content_type=alternative.content_type,
        )

    def _register(self, **sent: Any) -> Exchange:
        self.look_before_all()
        return self.client.send("registerPixKey", self.account, **sent)

    # -- deletions --------------------------------------------------------------------------------------------

    def undo(self, exchange: Exchange) -> bool:
        """Delete at once what was registered, where the run may. True where the key is free again."""
        if not registered(exchange):
            return True
        key = self.keys.key_of(exchange)
        if key is None or not self.deletes:
            return False
        value = key.value
        if key.value is None or (key.type == "RANDOM" and not key.owned):
            value = self.seek_value(exchange)
        if value is None or not self.keys.may_be_deleted(value):
            return False
        self.keys.learn_value(exchange, value)
        return self._delete_now(PixKey(key.type, value), exchange.request.last_segment)

    def seek_value(self, exchange: Exchange) -> str | None:
        """The key that the service made, where the answer or the list tells it and it is surely a new one. On a sandbox,
        or where the key is disposable, it is enough that no list showed it before."""
        earlier = (seen for seen in (self.listing, self.keys.before) if seen and seen.number < exchange.number)
        before = next(earlier, None)
        after = self.look() if before else None
        told, (sent, _) = told_by(exchange), key_sent(exchange.request.body)
        value = told or sent
        if value is None:
            return self.made_between(before, after, exchange.number) or None if before and after else None
        if (before and before.shows(value)) or self.keys.was_there_before(value):
            return None
        disposable = any(key.disposable for key in self.profile.pix_keys if key.type == "RANDOM")
        is_shown = before is not None and after is not None and after.shows(value)
        return value if is_shown or value == sent or disposable or self.profile.is_sandbox else None

    def made_between(self, before: Listing, after: Listing, registration: int) -> str:
        """The one key that came between two lists, where the profile says that keys stand; empty where that is not sure."""
        unknown = after.keys - before.keys - self.keys.values
        new = [value for value in unknown if self.keys.may_be_made(value, registration)]
        return new[0] if len(new) == 1 and before.keys <= after.keys else ""

    def _learn_what_was_made(self) -> None:
        """Learn the values of the keys that the service made: what stands where the profile says that keys stand, and did
        not before the run. Where there are more or fewer of them, somebody else may use the account."""
        before, now = self.keys.before, self.look()
        if before is None or now is None:
            return
        left = [key for key in self.keys.not_cleaned_up() if not key.is_refused]
        mine = [key for key in left if key.account == self.account and not key.owned]
        unseen = [key for key in mine if key.value is None or not now.shows(key.value)]
        first = min((number for key in unseen for number in key.exchanges), default=0)
        new = sorted(now.keys - before.keys - self.keys.values)
        new = [value for value in new if self.keys.may_be_made(value, first)]
        if len(new) == len(unseen):
            for key, value in zip(unseen, new, strict=True):
                self.keys.learn_value_of(key, value)

    def holds_an_unknown_key(self) -> bool:
        """True if a RANDOM key of unknown value is left, so that no further one may be made; on a sandbox it may."""
        return not self.profile.is_sandbox and self.keys.holds_an_unknown_key(self.account)

    def _delete_now(self, key: PixKey, account: str) -> bool:
        deletion = self.delete(key, valid=True, account=account)
        while not is_granted(deletion) and (wait_s := next(self._waits_s, None)):
            time.sleep(wait_s)
            deletion = self.delete(key, valid=True, account=account)
        self.found.deletions.append(deletion)
        return is_granted(deletion)

    def undo_all(self, sent: Sequence[Exchange]) -> None:
        """Delete at once what was registered, at the same time."""
        self.together.send_all([partial(self.undo, exchange) for exchange in sent])

    def undo_invalid(self, exchange: Exchange) -> None:
        """Delete a key that an invalid request registered after all."""
        if not registered(exchange) or not self.deletes:
            return
        key = self.keys.key_of(exchange)
        is_random = key is not None and key.type == "RANDOM" and key.value is None  # it was tried where it was sent
        if key and key.state is KeyState.REGISTERED and not is_random:
            self.undo(exchange)

    def clean_up(self) -> None:
        """Look what is left, and try once more to delete what the run may delete."""
        if not self.keys.not_cleaned_up():
            return
        self._learn_what_was_made()
        left = self.keys.not_cleaned_up() if self.deletes else []
        for key in left:
            if key.value is not None and self.keys.may_be_deleted(key.value):
                self.delete(PixKey(key.type, key.value), valid=False, account=key.account)
        if left:
            self.look()

    def delete(self, key: PixKey, *, valid: bool, account: str = "") -> Exchange:
        """Delete a key as the profile says, of the account that a request named; else of the profile's. `valid` where it was
        registered just now."""
        account = account or self.account
        body = fill(self._deletion, account=account, key=key.key, type=key.type)
        return self.client.send("deletePixKey", account, json=body, valid=valid)

    # -- the list ---------------------------------------------------------------------------------------------

    def look(self) -> Listing | None:
        """Read the list of keys as it is now; None where it may not be read, or cannot."""
        if not self.may_list:
            return None
        listed = self.client.send("listPixKeys", self.account, valid=True)
        readable = listed.response is not None and listed.response.json.readable
        self.listing = Listing(listed, self.keys.key_at) if succeeded(listed) and readable else None
        return self.listing

    def look_before_all(self) -> None:
        """Before the first registration read the list: what is there already is the operator's."""
        if not self.keys.started:
            self.look()
            self.keys.started = True
