"""Registers and deletes the keys of the profile, and keeps the answers."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any
from urllib.parse import urlencode

from environments.door.client import NOTHING, Client
from environments.door.key_states import KeyState
from environments.profiles.gaps import deletes_keys
from environments.profiles.profile import PixKey, Profile, fill
from spec.answers import (
    ABOUT_THE_REQUEST,
    RefusalKind,
    data_of,
    find,
    is_granted,
    is_judged_as_success,
    refusal_kind,
    registered,
    succeeded,
)
from spec.exchange import Exchange
from spec.interface import MARK
from spec.json_text import read_json
from spec.key_list import MADE_KEY, Listing, Place
from spec.rules import Judgement
from tests.traffic.beside import Beside
from tests.traffic.extras import FORM, Alternative, registration
from tests.traffic.made_keys import can_show_what_is_made, made_since
from tests.traffic.unusual_registrations import OTHER_TYPES, Attempted

RETRY_WAITS_S = (0.2, 0.5)
"""How long the run waits before it repeats a deletion that is refused right after the registration; and a registration
whose key type is refused, as the account may be busy."""


@dataclass
class Registrations:
    """What was sent to POST and DELETE /v1/pix/keys/{accountId}, and how it was answered."""

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
    lost: list[Exchange] = field(default_factory=list)
    kept: list[Exchange] = field(default_factory=list)
    taken_as: dict[int, str] = field(default_factory=dict)
    read_beside: list[Exchange] = field(default_factory=list)
    random: Exchange | None = None
    of_another_account: Exchange | None = None
    missing: str = ""

    @property
    def understood(self) -> list[Exchange]:
        """The valid registrations whose key type was understood."""
        return [answer for answer in self.answers if is_understood(answer)]

    @property
    def declined(self) -> list[Exchange]:
        """Registration results for an undocumented key type: a 200 with code 0 and Success."""
        return [seen for what in OTHER_TYPES for seen in self.tried[what] if is_judged_as_success(seen)]

    @property
    def accepted(self) -> list[Exchange]:
        """The valid registrations that were granted."""
        return [answer for answer in self.answers if registered(answer)]


@dataclass(frozen=True)
class Suspicion:
    """A refused registration whose key the list shows. `made`: its value was not sent."""

    exchange: Exchange
    key: PixKey
    places: tuple[frozenset[Place], ...]
    made: bool = False


class Registrar:
    """Registers and deletes the keys of the profile, and no others."""

    def __init__(self, client: Client, profile: Profile, beside: Beside | None = None) -> None:
        self.client, self.beside = client, beside or Beside(client)
        self.keys = client.door.keys
        self.listing: Listing | None = None
        self.suspicions: list[Suspicion] = []
        self.account = profile.accounts[0]
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

    def undo(self, exchange: Exchange, key: PixKey) -> bool:
        """Delete at once what was registered, but no key that was there before. True where the key is free again."""
        if not registered(exchange):
            return True
        made = self._key_of(exchange, key)
        known = bool(made.key) and (made.key == key.key or bool(MADE_KEY.fullmatch(made.key)))
        if not self.deletes or (known and self.keys.was_there_before(made.key)):
            return False
        if not known:  # a masked key may be a part of any other
            return self._undo_made(exchange)
        if made.key != key.key and not self._is_new(exchange, made.key):
            return False
        self.keys.learn_value(exchange, made.key)
        return self._delete_now(made, exchange.request.last_segment)

    def _is_new(self, exchange: Exchange, value: str) -> bool:
        """Whether the list shows a key that the service named, and did not show it before the registration. A service
        may name one that the account had; without a list, or where the list masks keys, nobody can tell."""
        earlier = [seen for seen in (self.keys.before, self.listing) if seen and seen.number < exchange.number]
        listing = self.look() if self.keys.before else None
        return listing is not None and listing.shows(value) and not any(seen.shows(value) for seen in earlier)

    def _delete_now(self, made: PixKey, account: str) -> bool:
        deletion = self.delete(made, valid=True, account=account)
        while not is_granted(deletion) and (wait_s := next(self._waits_s, None)):
            time.sleep(wait_s)
            deletion = self.delete(made, valid=True, account=account)
        self.found.deletions.append(deletion)
        return is_granted(deletion)

    def undo_all(self, sent: Sequence[tuple[Exchange, PixKey]]) -> None:
        """Delete at once what was registered, at the same time."""
        self.beside.send_all([partial(self.undo, exchange, key) for exchange, key in sent])

    def _undo_made(self, exchange: Exchange) -> bool:
        """Delete a key that the service made and did not name, where the list shows for sure which one it is."""
        before = self.listing
        if before is None or not can_show_what_is_made(self.keys, before):
            return False
        value = made_since(self.keys, before, [listing for listing in (self.look(), self.look()) if listing])
        if not value:
            return False
        self.keys.learn_value(exchange, value)
        deleted = is_granted(self.delete(PixKey("RANDOM", value), valid=False))
        self.look()
        return deleted

    def clean_up(self) -> None:
        """Look what is left at the end, and try once more to delete the keys of the profile that the run registered."""
        listing = self.look() if self.keys.not_cleaned_up() else None
        mine = KeyState.REGISTERED, KeyState.MAYBE  # a deleted key that is listed may be somebody else's by now
        left = [key for key in self.keys.not_cleaned_up() if key.owned and key.state in mine]
        if not left or not self.deletes:
            return
        for key in left:
            if key.state is not KeyState.MAYBE or (self.keys.before and listing and listing.shows(key.value)):
                self.delete(PixKey(key.type, key.value), valid=False)
        self.look()

    def look(self) -> Listing | None:
        """Read the list of keys as it is now; None where it may not be read, or cannot."""
        if not self.may_list:
            return None
        listed = self.client.send("listPixKeys", self.account, valid=True)
        readable = listed.response is not None and listed.response.json.readable
        self.listing = Listing(listed) if succeeded(listed) and readable else None
        return self.listing

    def look_before_all(self) -> None:
        """Before the first registration read the list: what is there already is the operator's."""
        if not self.keys.started:
            self.look()
            self.keys.started = True

    def _register(self, **sent: Any) -> Exchange:
        self.look_before_all()
        return self.client.send("registerPixKey", self.account, **sent)

    def undo_invalid(self, exchange: Exchange) -> None:
        """Delete a synthetic key that an invalid request registered after all."""
        if exchange.operation != "registerPixKey" or not registered(exchange):
            return
        sent = read_json(exchange.request.body).value
        key = sent.get("pixKey") if isinstance(sent, dict) else None
        account = exchange.request.last_segment
        if not isinstance(key, str) or MARK not in key or self.keys.state(key, account) is not KeyState.REGISTERED:
            return
        with self.client.door.in_flight.alone():
            if self.keys.state(key, account) is KeyState.REGISTERED:  # no other thread has deleted it meanwhile
                self.undo(exchange, PixKey(str(sent.get("pixKeyType")), key))

    def delete(self, key: PixKey, *, valid: bool, account: str = "") -> Exchange:
        """Delete a key as the profile says, of the account that a request named; else of the profile's. `valid` where it was
        registered just now."""
        account = account or self.account
        body = fill(self._deletion, account=account, key=key.key, type=key.type)
        return self.client.send("deletePixKey", account, json=body, valid=valid)

    def _key_of(self, exchange: Exchange, key: PixKey) -> PixKey:
        if key.type != "RANDOM" or exchange.response is None:
            return key
        member = find(data_of(exchange.response) or {}, "Key")
        made = member[1] if member and isinstance(member[1], str) else key.key
        return replace(key, key=made)


def is_understood(exchange: Exchange) -> bool:
    """Whether the key type is understood: a 409, or a well-formed answer with any Success."""
    if exchange.response is None:
        return False
    return refusal_kind(exchange.response) is RefusalKind.CONFLICT or succeeded(exchange)


_OUTRIGHT = ABOUT_THE_REQUEST - {RefusalKind.CONFLICT}


def is_refused_outright(exchange: Exchange) -> bool:
    """Whether it is refused for what was sent: not for the token, the rate, the load or a key that is there already."""
    return exchange.response is not None and refusal_kind(exchange.response) in _OUTRIGHT
