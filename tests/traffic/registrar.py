"""Registers and deletes the keys of the profile, and keeps the answers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from environments.door.client import Client
from environments.door.permission import synthetic
from environments.door.run_keys import KeyState, RunKey
from environments.profiles.model import PixKey, Profile, fill
from spec.answers import (
    ABOUT_THE_REQUEST,
    RefusalKind,
    data_of,
    find,
    is_granted,
    is_judged_as_success,
    refused_or_lost,
    registered,
    succeeded,
)
from spec.exchange import VALID, Exchange, Purpose
from spec.findings import Judgement
from spec.json_text import read_json
from spec.key_list import Listing, Place
from spec.log import Log
from spec.message import Text, say
from tests.traffic.together import Together

REGISTERED_BEFORE = "registered before; `disposable: true` tests it again"
LISTED_BEFORE = say(
    "a list showed the key before the run, so it is not touched; delete it by hand, and it is tested again"
)
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


class Registering(Purpose):
    """Why a request is sent to POST /v1/pix/keys/{accountId}. A valid one that has no purpose is part of a sequence."""

    FIRST_TIME = "a key for the first time"
    PERHAPS_REGISTERED = "a key that may be registered already"
    SECOND_TIME = "the same key again"
    BESIDE_OTHERS = "a key at the same moment as others"
    AFTER_A_REFUSAL = "the same key again, because its type was refused"
    OF_ANOTHER_TYPE = "a key of another type, because one was refused"
    WITH_A_DIFFERENCE = "a key in another form, to see what the service needs"
    UNDOCUMENTED_TYPE = "a type that is not documented"
    OTHER_NAME = "another name of RANDOM"
    LOWER_CASE = "a type in lower-case letters"
    NUMERIC = "a number as type"
    OTHER_SCHEME = "the token under another scheme"
    WITHOUT_A_TOKEN = "no valid token"
    UNDOCUMENTED_PATH = "to an unknown path, which must not change what comes next"


class Deleting(Purpose):
    """Why a key is deleted."""

    REGISTERED_KEY = "a key that was registered just before"
    TO_CLEAN_UP = "a key that is left, to clean up"


class KeyListing(Purpose):
    """Why the list of keys is read."""

    KEYS_OF_NOW = "the list, to see which keys are there"
    BESIDE_A_REGISTRATION = "the list at the same moment as a registration"


OTHER_TYPES = (Registering.UNDOCUMENTED_TYPE, Registering.OTHER_NAME, Registering.LOWER_CASE, Registering.NUMERIC)


@dataclass
class Registrations:
    """The registrations and deletions in a log, and what lists of keys show of them."""

    log: Log = field(default_factory=Log)
    part: str = ""  # of the generated traffic, if any
    key_types: dict[str, Judgement] = field(default_factory=dict)
    broken: dict[str, Judgement] = field(default_factory=dict)  # why all registrations are refused, by requirement
    effects: list[Exchange] = field(default_factory=list)  # refused, and listed like an accepted key
    let_in: list[Exchange] = field(default_factory=list)  # the same, without a valid token
    lost: list[Exchange] = field(default_factory=list)  # accepted, and not listed: all, or at the same time
    left_out: dict[str, Text] = field(default_factory=dict)  # why a key type is out of scope
    missing: str = ""  # why nothing was sent

    @property
    def answers(self) -> list[Exchange]:
        """The answers to valid registrations."""
        return self.log.valid("registerPixKey", self.part)

    @property
    def fresh(self) -> list[Exchange]:
        """The answers to valid registrations of keys that were not registered."""
        return self.log.of("registerPixKey", Registering.FIRST_TIME)

    @property
    def repeated(self) -> list[Exchange]:
        """The answers to registrations of keys that were registered just before."""
        return self.log.of("registerPixKey", Registering.SECOND_TIME)

    @property
    def deletions(self) -> list[Exchange]:
        """The answers to deletions of keys that were registered for sure, and not deleted."""
        return self.log.valid("deletePixKey", self.part)

    @property
    def read_beside(self) -> list[Exchange]:
        """The lists that were read while a key was registered."""
        return self.log.of("listPixKeys", KeyListing.BESIDE_A_REGISTRATION)

    def tried(self, *purposes: Registering) -> list[Exchange]:
        """The registrations of these purposes that were sent."""
        return self.log.sent("registerPixKey", *purposes)

    @property
    def understood(self) -> list[Exchange]:
        """The valid registrations whose key type was understood."""
        return list(filter(is_understood, self.answers))

    @property
    def declined(self) -> list[Exchange]:
        """Registration results for an undocumented key type: a 200 with code 0 and Success."""
        return list(filter(is_judged_as_success, self.tried(*OTHER_TYPES)))

    @property
    def accepted(self) -> list[Exchange]:
        """The valid registrations that were granted."""
        return list(filter(registered, self.answers))


def is_understood(exchange: Exchange) -> bool:
    """True if the key type is understood: a 409, or a well-formed answer with any Success."""
    return refused_or_lost(exchange) is RefusalKind.CONFLICT or succeeded(exchange)


def is_refused_outright(exchange: Exchange) -> bool:
    """True if it is refused for what was sent: not for the token, the rate, the load or a key that is there already."""
    return refused_or_lost(exchange) in ABOUT_THE_REQUEST - {RefusalKind.CONFLICT}


def given(keys: Sequence[PixKey]) -> list[PixKey]:
    """The keys that the service does not make."""
    return [key for key in keys if key.type != "RANDOM"]


def registration(key: PixKey, account: str) -> dict[str, Any]:
    """The documented body of a key registration."""
    return {"account": account, "pixKeyType": key.type, "pixKey": key.key}


def body_sent(exchange: Exchange) -> dict[str, Any]:
    """The body of a registration that was sent."""
    body: dict[str, Any] = read_json(exchange.request.body).value
    return body


def type_sent(exchange: Exchange) -> str:
    """The key type that a registration names."""
    return str(body_sent(exchange)["pixKeyType"])


@dataclass(frozen=True)
class Suspicion:
    """A refused registration whose key two lists show, each with the places where it stands."""

    exchange: Exchange
    value: str
    places: tuple[frozenset[Place], ...]


class Registrar:
    """Registers keys, and deletes those that the run may delete."""

    def __init__(self, client: Client, profile: Profile) -> None:
        self.client, self.profile, self.together = client, profile, Together(client)
        self.keys, self.account = client.door.keys, profile.accounts[0]
        self.found = Registrations(client.door.log, client.part)
        self.listing: Listing | None = None  # the last one that could be read
        self.suspicions: list[Suspicion] = []
        self.references: dict[str, frozenset[Place]] = {}  # where accepted keys stand in the list
        self.may_list, self.deletes = "read" in profile.allow, profile.deletes_keys
        self._synthetic = _synthetic_key()

    # -- which keys -------------------------------------------------------------------------------------------

    def choose_keys(self) -> list[PixKey]:
        """The keys of the profile that may be registered; `found.left_out` says why a type has none. The list is read
        first, and what an earlier run registered and left is deleted."""
        self._look_before_all()
        free = [key for key in self.profile.pix_keys if self._is_permitted(key) and self._make_free(key)]
        for name in {key.type for key in self.profile.pix_keys} - {key.type for key in free}:
            excluded = name in self.profile.not_for_this_account and say(
                "not_for_this_account of the profile names {type}", type=name
            )
            is_disposable = any(key.disposable for key in self.profile.pix_keys if key.type == name)
            self.found.left_out[name] = excluded or (LISTED_BEFORE if is_disposable else REGISTERED_BEFORE)
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

    def undo(self, exchange: Exchange) -> bool:
        """Delete at once what was registered, where the run may. True where the key is free again."""
        if not registered(exchange):
            return True
        key = self.keys.key_of(exchange)
        if key and key.state is KeyState.REGISTERED and self.deletes:
            if key.type in ("RANDOM", "") and not key.owned:
                self._seek_value(key, exchange)
            self._delete_registered(key)
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
        self._suspect_wrong_tokens()
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
        if self.deletes:
            for key in may_be_there:
                self._delete_registered(key)
        return self.deletes and bool(may_be_there)

    def _suspect_wrong_tokens(self) -> None:
        """Note the keys that the last list shows although only wrong tokens were sent for them, and refused."""
        sent_validly = {seen.number for seen in self.client.door.exchanges if seen.credential == VALID}
        for exchange in self.found.tried(Registering.WITHOUT_A_TOKEN):
            key = self.keys.key_of(exchange)
            if (
                self.listing
                and exchange.response
                and key
                and key.value
                and key.state is KeyState.MAYBE
                and sent_validly.isdisjoint(key.exchanges)
            ):
                self.suspicions.append(Suspicion(exchange, key.value, (self.listing.places(key.value, key.type),)))

    # -- keys that the service makes --------------------------------------------------------------------------

    def holds_an_unknown_key(self) -> bool:
        """True if a RANDOM key is left whose value is unknown, so that no further one may be made; on a sandbox it
        may."""
        return not self.profile.is_sandbox and self.keys.holds_an_unknown_key()

    def made_since(self, number: int) -> list[str]:
        """The keys in the last list that the service may have made since an exchange, where the profile says that keys
        stand."""
        shown = self.listing.keys if self.listing else frozenset()
        return sorted(key for key in shown - self.keys.values if self.keys.is_new_since(key, number))

    def _seek_value(self, key: RunKey, exchange: Exchange) -> None:
        """Learn the value of the key that the service made. One that the answer tells is surely new where a list shows
        it now, and none did before; on a sandbox that none did is enough."""
        _, told = find(data_of(exchange.response) or {}, "Key") or ("", None)
        listing = self.look()
        is_new = partial(self.keys.is_new_since, number=exchange.number)
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
        listing = Listing(listed, self.keys.key_at)
        self.listing = listing if succeeded(listed) and listing.is_readable else None
        return self.listing

    def _read_list_of(self, account: str) -> Exchange:
        return self.client.send("listPixKeys", account, valid=True, purpose=KeyListing.KEYS_OF_NOW)

    def _look_before_all(self) -> None:
        """Before the first registration read the list of each account: what is there already is the operator's."""
        if not self.keys.started:
            self.look()
            if self.may_list:
                for account in self.profile.accounts[1:]:
                    self._read_list_of(account)
            self.keys.started = True


def _synthetic_key() -> PixKey:
    return PixKey("EMAIL", f"{synthetic()}@example.com")
