"""Registers and deletes the keys of the profile, and keeps what came of it."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from environments.door.client import NOTHING, Client
from environments.door.key_states import State
from environments.profiles.profile import PixKey, Profile, fill
from spec.answers import (
    ABOUT_THE_REQUEST,
    RefusalKind,
    data_of,
    find,
    is_judged_as_success,
    is_refusal,
    refusal_kind,
    registered,
    succeeded,
)
from spec.exchange import Exchange
from spec.interface import MARK
from spec.json_text import read_json
from spec.key_list import UUID, Listing
from spec.rules import Judgement

if TYPE_CHECKING:
    from tests.traffic.effects import Suspicion
from tests.traffic.extras import FORM, Alternative, registration
from tests.traffic.made_keys import can_show_what_is_made, made_since

RETRY_WAITS_S = (0.2, 0.5)
"""How long a deletion that is refused right after the registration is waited with, in all of a run; and a kind that
is refused, where the account may be busy."""
_SENT = {"type": "pixKeyType", "key": "pixKey"}


class Attempted(Enum):
    """Registrations that must not be granted, or need not be, by what is unusual about them."""

    UNDOCUMENTED_TYPE = "a type that is not documented"
    OTHER_NAME = "another name of RANDOM"
    LOWER_CASE = "a type in lower-case letters"
    NUMERIC = "a number as type"
    OTHER_SCHEME = "the token under another scheme"
    WITHOUT_A_TOKEN = "no valid token"


@dataclass
class Registrations:
    """What was sent to POST and DELETE /v1/pix/keys/{accountId}, and what came of it."""

    account: str
    answers: list[Exchange] = field(default_factory=list)
    repeated: list[Exchange] = field(default_factory=list)
    fresh: list[Exchange] = field(default_factory=list)
    deletions: list[Exchange] = field(default_factory=list)
    tried: dict[Attempted, list[Exchange]] = field(default_factory=lambda: {what: [] for what in Attempted})
    key_types: dict[str, Judgement] = field(default_factory=dict)
    broken: dict[str, Judgement] = field(default_factory=dict)
    effects: list[Exchange] = field(default_factory=list)
    suspected: list[Exchange] = field(default_factory=list)
    missing: str = ""

    @property
    def understood(self) -> list[Exchange]:
        """The good registrations whose kind was understood."""
        return [answer for answer in self.answers if is_understood(answer)]

    @property
    def declined(self) -> list[Exchange]:
        """Registration results that were given to a kind that is not documented: a 200 with code 0 and Success."""
        types = (Attempted.UNDOCUMENTED_TYPE, Attempted.OTHER_NAME, Attempted.LOWER_CASE, Attempted.NUMERIC)
        return [seen for what in types for seen in self.tried[what] if is_judged_as_success(seen)]

    @property
    def accepted(self) -> list[Exchange]:
        """The good registrations that were granted."""
        return [answer for answer in self.answers if registered(answer)]


def deletes_keys(profile: Profile) -> bool:
    """Whether the profile says how a key is deleted, and permits it."""
    return "delete-keys" in profile.allow and "deletePixKey" in profile.requests


class Registrar:
    """Registers and deletes the keys of the profile, and nobody else's."""

    def __init__(self, client: Client, profile: Profile) -> None:
        self.client = client
        self.keys = client.door.keys
        self.listing: Listing | None = None
        self.suspicions: list[Suspicion] = []
        self.account = profile.accounts[0]
        self.found = Registrations(self.account)
        self.explained = 0
        self.helped: set[str] = set()
        self._waits = list(RETRY_WAITS_S)
        self._may_list = "read" in profile.allow
        self._deletion = profile.requests["deletePixKey"].json if deletes_keys(profile) else None

    @property
    def deletes(self) -> bool:
        """Whether the profile says how a key is deleted, and permits it."""
        return self._deletion is not None

    def register(self, key: PixKey, **changes: object) -> Exchange:
        """A good registration of the key."""
        self._look_before()
        body = registration(key, self.account)
        exchange = self.client.send("registerPixKey", self.account, **{"json": body, "valid": True, **changes})  # type: ignore[arg-type]
        if changes.get("valid", True):
            self.found.answers.append(exchange)
        return exchange

    def register_again(self, accepted: Exchange) -> Exchange:
        """A registration that was accepted before, once more; it is deleted again."""
        key = PixKey(**{name: json.loads(accepted.request.body)[sent] for name, sent in _SENT.items()})
        exchange = self.register(key)
        self.settle(exchange, key)
        return exchange

    def try_alternative(self, alternative: Alternative) -> Exchange:
        """A registration with one difference."""
        self._look_before()
        form = urlencode(alternative.body).encode() if alternative.content_type == FORM else None
        return self.client.send(
            "registerPixKey",
            self.account,
            json=alternative.body if form is None else NOTHING,
            body=form,
            headers=alternative.headers,
            query=alternative.query,
            content_type=alternative.content_type,
        )

    def settle(self, exchange: Exchange, key: PixKey) -> bool:
        """Delete at once what was registered, but no key that was there before. Whether the key is free again."""
        if not registered(exchange):
            return True
        made = self._key_of(exchange, key)
        told = bool(made.key) and (made.key == key.key or UUID.fullmatch(made.key) is not None)
        if not self.deletes or (told and self.keys.was_there_before(made.key)):
            return False
        if not told:  # a masked key may be a part of any other
            return self._settle_made(exchange)
        self.keys.learn_value(exchange, made.key)
        deletion = self.delete(made, valid=True)
        while is_refused(deletion) and self._waits:
            time.sleep(self._waits.pop(0))
            deletion = self.delete(made, valid=True)
        self.found.deletions.append(deletion)
        return not is_refused(deletion)

    def _settle_made(self, exchange: Exchange) -> bool:
        """Delete the key that the service made and did not tell, where the list shows for sure which one it is."""
        before = self.listing
        if before is None or not can_show_what_is_made(self.keys, before):
            return False
        after = [listing for listing in (self.look(), self.look()) if listing]
        value = made_since(self.keys, before, after)
        if not value:
            return False
        self.keys.learn_value(exchange, value)
        deleted = not is_refused(self.delete(PixKey("RANDOM", value), valid=False))
        self.look()
        return deleted

    def clean_up(self) -> None:
        """Look what is left at the end, and try once more to delete the keys of the profile that the run registered."""
        listing = self.look() if self.keys.not_cleaned_up() else None
        mine = (State.REGISTERED, State.MAYBE)  # what was deleted and is listed again may be somebody else's by now
        left = [key for key in self.keys.not_cleaned_up() if key.owned and key.state in mine]
        for key in left if self.deletes else []:
            sure = key.state is not State.MAYBE or (self.keys.before and listing and listing.shows(key.value))
            if sure:
                self.delete(PixKey(key.type, key.value), valid=False)
        if left and self.deletes:
            self.look()

    def look(self) -> Listing | None:
        """The list of keys as it is now; None where it may not be read, or cannot."""
        if not self._may_list:
            return None
        listed = self.client.send("listPixKeys", self.account, valid=True)
        readable = listed.response is not None and listed.response.json.readable
        self.listing = Listing(listed) if succeeded(listed) and readable else None
        return self.listing

    def _look_before(self) -> None:
        """Before the first registration of a key of the profile: what is there already is the operator's."""
        if not self.keys.started:
            self.look()
            self.keys.started = True

    def settle_mistake(self, exchange: Exchange) -> None:
        """Delete what a mistaken registration of an invented key registered after all."""
        if exchange.operation != "registerPixKey" or not registered(exchange):
            return
        sent = read_json(exchange.request.body).value
        key = sent.get("pixKey") if isinstance(sent, dict) else None
        if isinstance(key, str) and MARK in key and self.keys.state(key) is State.REGISTERED:
            self.settle(exchange, PixKey(str(sent.get("pixKeyType")), key))

    def delete(self, key: PixKey, *, valid: bool) -> Exchange:
        """Delete a key as the profile says. `valid` where it was registered just now."""
        body = fill(self._deletion, account=self.account, key=key.key, type=key.type)
        return self.client.send("deletePixKey", self.account, json=body, valid=valid)

    def _key_of(self, exchange: Exchange, key: PixKey) -> PixKey:
        if key.type != "RANDOM" or exchange.response is None:
            return key
        member = find(data_of(exchange.response) or {}, "Key")
        made = member[1] if member and isinstance(member[1], str) else key.key
        return replace(key, key=made)


def is_understood(exchange: Exchange) -> bool:
    """Whether the kind is understood: a 409, or a well-formed answer with any Success."""
    if exchange.response is None:
        return False
    return refusal_kind(exchange.response) is RefusalKind.CONFLICT or succeeded(exchange)


def is_refused(exchange: Exchange) -> bool:
    """Refused, or without an answer."""
    return exchange.response is None or is_refusal(exchange.response)


_OUTRIGHT = ABOUT_THE_REQUEST - {RefusalKind.CONFLICT}


def is_refused_outright(exchange: Exchange) -> bool:
    """Refused for what was sent: not for the token, the rate, the load or a key that is there already."""
    return exchange.response is not None and refusal_kind(exchange.response) in _OUTRIGHT
