"""The keys that a run registers or deletes: the state of each, as the door sees it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import Enum

from environments.door.journal import JournalError
from environments.door.key_record import ABSENT, DELETED, GONE, REFUSED, REGISTERED, SENT, KeyRecord, Left
from environments.door.outgoing import Sending
from environments.door.overlaps import Overlaps, changes_a_key
from environments.door.request_texts import member, names, texts_of
from environments.profiles.profile import PixKey
from environments.secrets import ordinal
from spec.answers import is_granted, may_be_registered, registered
from spec.exchange import Exchange, FailureKind, Request
from spec.interface import KEY_TYPES, MARK
from spec.key_list import Listing, Place


class KeyState(Enum):
    """What became of a key. The text says why one is not cleaned up."""

    REFUSED = "not registered"
    THERE_BEFORE = "there before the run"
    REGISTERED = "registered and not deleted"
    MAYBE = "may be registered: no answer says whether it is"
    LISTED = "refused, but listed"
    LISTED_AGAIN = "gone, then listed again"
    STILL_LISTED = "deleted, but still listed"
    DELETED = "deleted"
    GONE = "seen gone"


NOT_CLEANED_UP = (KeyState.REGISTERED, KeyState.MAYBE, KeyState.LISTED, KeyState.LISTED_AGAIN, KeyState.STILL_LISTED)


@dataclass
class RunKey:
    """One key: its name for people, its value where it is known, and the exchanges that show its state.

    `owned`: it is in the profile. `stands` is where the last list had it."""

    name: str
    type: str
    value: str
    account: str
    owned: bool
    state: KeyState = KeyState.REFUSED
    exchanges: list[int] = field(default_factory=list)
    stands: frozenset[Place] = frozenset()


class Keys:
    """The state of each key that the run uses, from every exchange. Without `record` nothing is kept for later runs.

    `before` is the list as it was before the first registration, `references` how accepted keys stood in it afterwards;
    `lagging`: a list did not show a key that was accepted just before. `started`: the run has registered keys, other
    than the synthetic ones of invalid requests, so a list is no longer the one before the run. `account` is the one at
    which the run registers. Any thread may send, and ask.
    """

    def __init__(self, owned: tuple[PixKey, ...] = (), record: KeyRecord | None = None, account: str = "") -> None:
        self.before: Listing | None = None
        self.references: dict[str, frozenset[Place]] = {}
        self.lagging = False
        self._owned = {key.key: place for place, key in reversed(list(enumerate(owned))) if key.key}
        self._profile_keys = owned
        self._record, self._account = record, account
        self._overlaps, self._guard = Overlaps(), threading.RLock()
        self._keys: dict[tuple[str, str], RunKey] = {}
        self._shown_before: dict[str, bool] = {}
        self.started = False
        self._looked_at: set[str] = set()

    def not_cleaned_up(self) -> list[RunKey]:
        """The keys that the run registered, or may have, and that may still be there: first those of the profile."""
        with self._guard:
            left = [key for key in self._keys.values() if key.state in NOT_CLEANED_UP]
        return sorted(left, key=lambda key: self._owned.get(key.value, len(self._profile_keys)))

    def was_there_before(self, value: str) -> bool:
        """Whether the list showed the key before the run sent its first registration."""
        if self.before is None or not value:
            return False
        if value not in self._shown_before:
            self._shown_before[value] = self.before.shows(value)
        return self._shown_before[value]

    @property
    def values(self) -> frozenset[str]:
        """The keys that the run sent or was given, as far as they are known."""
        with self._guard:
            return frozenset(key.value for key in self._keys.values() if key.value)

    def state(self, value: str, account: str = "") -> KeyState:
        """What became of a key, at the account of the profile or at a synthetic one."""
        identity = _identity(value, account)
        return self._keys[identity].state if identity in self._keys else KeyState.REFUSED

    def learn_value(self, exchange: Exchange, value: str) -> None:
        """The value of a key that the service made in that exchange."""
        with self._guard:
            if made := self._keys.pop(_identity(f"#{exchange.number}", exchange.request.last_segment), None):
                made.value = value
                self._keys[_identity(value, made.account)] = made

    def learn_effect(self, exchange: Exchange, value: str) -> None:
        """A refused registration has registered its key, which the list shows. Raises JournalError."""
        with self._guard:
            key = self._keys.get(_identity(value, exchange.request.last_segment)) or self._new(exchange, value)
            key.state = KeyState.LISTED
            key.exchanges = list(dict.fromkeys([*key.exchanges, exchange.number]))
            self._write(key, REGISTERED)

    # -- what the door sees -----------------------------------------------------------------------------------

    @contextmanager
    def watching(self, sending: Sending) -> Iterator[None]:
        """While a request is on the wire. A registration is written down before it; JournalError. What was
        listed while a key was changed is not looked at."""
        with self._guard:
            owned = self._owned_key(sending.sent) if sending.intent.operation == "registerPixKey" else None
            if owned is not None:
                self._claim(owned)
            change = owned is not None or changes_a_key(sending, {*self.values, *self._owned})
        with self._overlaps.during(change=change) as undisturbed:
            try:
                yield
            finally:
                with self._guard:
                    if sending.intent.operation != "listPixKeys" or undisturbed():
                        self._take(sending.exchange, owned)

    def _claim(self, key: RunKey) -> None:
        self.started = True
        if self.was_there_before(key.value):
            return
        if self.before is not None:
            self._write(key, ABSENT)
        self._write(key, SENT)

    def _take(self, exchange: Exchange, owned: RunKey | None) -> None:
        if exchange.operation == "registerPixKey":
            self._take_registration(exchange, owned)
        elif exchange.response is None or not is_granted(exchange):
            return
        elif exchange.operation == "deletePixKey":
            self._take_deletion(exchange)
        elif exchange.operation == "listPixKeys" and exchange.response.json.readable:
            self._take_list(Listing(exchange), exchange.request.last_segment)

    def _take_registration(self, exchange: Exchange, owned: RunKey | None) -> None:
        failure, granted = exchange.failure, registered(exchange)
        unread = owned is not None and failure is not None and failure.kind is FailureKind.LIMIT
        maybe = unread or may_be_registered(exchange)
        if owned is not None and self.was_there_before(owned.value):
            owned.state = KeyState.THERE_BEFORE
        elif granted or maybe:
            key = owned or self._new(exchange, member(exchange.request.body, "pixKey"))
            if granted or key.state not in NOT_CLEANED_UP:
                key.state = KeyState.REGISTERED if granted else KeyState.MAYBE
            key.stands = frozenset() if granted else key.stands
            key.exchanges.append(exchange.number)
            if granted:
                self._write(key, REGISTERED)
        elif owned is not None and exchange.response is not None:
            self._write(owned, REFUSED)

    def _take_deletion(self, exchange: Exchange) -> None:
        strings, account = set(texts_of(exchange.request.body)), exchange.request.last_segment
        for key in self.not_cleaned_up():
            if key.value and key.account == account and any(names(text, key.value) for text in strings):
                key.state = KeyState.DELETED
                key.exchanges.append(exchange.number)
                self._write(key, DELETED)

    def _take_list(self, listing: Listing, account: str) -> None:
        if not self.started:
            if account == self._account or not self._account:
                self.before = listing
            self._close_what_is_gone(listing, account)
        for key in self._keys.values():
            if key.value and key.account == account and key.state is not KeyState.THERE_BEFORE:
                self._see(key, listing)

    def _close_what_is_gone(self, listing: Listing, account: str) -> None:
        """Close the keys that earlier runs left and the list does not show: what comes back is somebody else's."""
        if self._record is None or account in self._looked_at:
            return
        self._looked_at.add(account)
        with suppress(JournalError):  # that stops a registration, and not a list
            for value in self._owned:
                if not listing.shows(value) and self._record.left(account, value) is not Left.NOTHING:
                    self._record.note(account, value, GONE)

    def _see(self, key: RunKey, listing: Listing) -> None:
        if MARK in key.value and not listing.holds(key.value):  # without their punctuation, synthetic keys look alike
            return
        places = listing.places(key.value, key.type)
        if key.owned and key.state is KeyState.REGISTERED:
            self.lagging |= not places
            self.references.update({key.value: places} if places else {})
        if key.state in (KeyState.DELETED, KeyState.STILL_LISTED) and key.stands:
            key.state = KeyState.STILL_LISTED if key.stands <= places else KeyState.GONE
        elif places and key.state in (KeyState.REFUSED, KeyState.GONE) and self.before is not None:
            key.state = KeyState.LISTED if key.state is KeyState.REFUSED else KeyState.LISTED_AGAIN
            key.exchanges.append(listing.number)
        elif not places and key.stands and key.state in NOT_CLEANED_UP:
            key.state = KeyState.GONE
            self._write(key, GONE)
        key.stands = places or key.stands

    # -- which key --------------------------------------------------------------------------------------------

    def _owned_key(self, request: Request) -> RunKey | None:
        """The key of the profile that a registration names, in whatever form."""
        strings = set(texts_of(request.body))
        value = next((value for value in self._owned if value in strings), "")
        if value and _identity(value) not in self._keys:
            place = self._owned[value]
            name, key_type = name_of(self._profile_keys, place), self._profile_keys[place].type
            self._keys[_identity(value)] = RunKey(name, key_type, value, request.last_segment, owned=True)
        return self._keys.get(_identity(value))

    def _new(self, exchange: Exchange, value: str) -> RunKey:
        """A key that is not in the profile: a synthetic one, or one that the service made."""
        key_type = member(exchange.request.body, "pixKeyType")
        key_type = key_type if key_type in KEY_TYPES else ""
        synthetic = f"a synthetic {key_type} key" if key_type else "a synthetic key"
        name = synthetic if value or key_type not in ("", "RANDOM") else "RANDOM, made by the service"
        key = RunKey(name, key_type or "RANDOM", value, exchange.request.last_segment, owned=False)
        return self._keys.setdefault(_identity(value or f"#{exchange.number}", key.account), key)

    def _write(self, key: RunKey, event: str) -> None:
        if self._record is not None and key.owned:
            self._record.note(key.account, key.value, event)


def name_of(keys: tuple[PixKey, ...], place: int) -> str:
    """A key of the profile for people, without its value: `EMAIL, the second of pix_keys`."""
    return f"{keys[place].type}, {ordinal(place + 1)} of pix_keys"


def _identity(value: str, account: str = "") -> tuple[str, str]:
    """A key of the profile is one key. A synthetic one is another at each synthetic account."""
    return value, account if MARK in account else ""
