"""The keys that a run touched: what became of each, as the door sees it, and what is written down of it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import Enum
from urllib.parse import unquote_plus

from environments.door.key_record import ABSENT, DELETED, GONE, REFUSED, REGISTERED, SENT, KeyRecord, Left
from environments.door.outgoing import Sending
from environments.door.record import JournalError
from environments.profiles.profile import PixKey
from spec.answers import is_refusal, may_be_registered, registered
from spec.exchange import Exchange, Request
from spec.interface import KEY_TYPES
from spec.key_list import Listing, Place

_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")


class State(Enum):
    """What became of a key. The text of those that are not cleaned up says so."""

    REFUSED = "not registered"
    THERE_BEFORE = "there before the run"
    REGISTERED = "registered and not deleted"
    MAYBE = "may be registered, as no answer says so or not"
    LISTED = "refused, and listed nevertheless"
    LISTED_AGAIN = "seen gone, and listed again"
    STILL_LISTED = "deleted, and still listed"
    DELETED = "deleted"
    GONE = "seen gone"


NOT_CLEANED_UP = (State.REGISTERED, State.MAYBE, State.LISTED, State.LISTED_AGAIN, State.STILL_LISTED)


@dataclass
class Touched:
    """One key: its name for people, its value where it is known, and the exchanges that say what became of it."""

    name: str
    kind: str
    value: str
    account: str
    owned: bool
    state: State = State.REFUSED
    exchanges: list[int] = field(default_factory=list)
    stands: frozenset[Place] = frozenset()


class Keys:
    """Follows the keys of a run through every exchange. `record` remembers those of the profile; None: nothing does.

    `before` is the list as it was before the first registration, `references` how accepted keys stood in it afterwards;
    `lagging`: a list did not show a key that was accepted just before.
    """

    def __init__(self, owned: tuple[PixKey, ...] = (), record: KeyRecord | None = None) -> None:
        self.before: Listing | None = None
        self.references: dict[str, frozenset[Place]] = {}
        self.lagging = False
        self._owned = {key.key: place for place, key in reversed(list(enumerate(owned))) if key.key}
        self._profile_keys = owned
        self._record = record
        self._touched: dict[str, Touched] = {}
        self._shown_before: dict[str, bool] = {}
        self._started = False
        self._looked_at: set[str] = set()

    def not_cleaned_up(self) -> list[Touched]:
        """The keys that the run registered, or may have, and that are still there for all that is known."""
        return [key for key in self._touched.values() if key.state in NOT_CLEANED_UP]

    def was_there_before(self, value: str) -> bool:
        """Whether the list showed the key before the run sent its first registration."""
        if self.before is None or not value:
            return False
        if value not in self._shown_before:
            self._shown_before[value] = self.before.shows(value)
        return self._shown_before[value]

    @property
    def started(self) -> bool:
        """Whether the run has registered keys, the synthetic ones of malformed requests left aside."""
        return self._started

    def start(self) -> None:
        """The list as it was until now is the one before the run."""
        self._started = True

    @property
    def values(self) -> frozenset[str]:
        """The keys that the run touched, as far as they are known."""
        return frozenset(key.value for key in self._touched.values() if key.value)

    def state(self, value: str) -> State:
        """What became of a key."""
        return self._touched[value].state if value in self._touched else State.REFUSED

    def learn_value(self, exchange: Exchange, value: str) -> None:
        """The value of a key that the service made in that exchange."""
        if made := self._touched.pop(_made_in(exchange.number), None):
            made.value = value
            self._touched[value] = made

    def learn_effect(self, exchange: Exchange, value: str) -> None:
        """A refused registration has registered its key, which the list shows. JournalError or OSError."""
        key = self._touched.get(value) or self._new(exchange, value)
        key.state = State.LISTED
        key.exchanges = list(dict.fromkeys([*key.exchanges, exchange.number]))
        self._write(key, REGISTERED)

    # -- what the door sees -----------------------------------------------------------------------------------

    @contextmanager
    def watching(self, sending: Sending) -> Iterator[None]:
        """While a request is on the wire. A registration is written down before it; JournalError or OSError."""
        registers = sending.intent.operation == "registerPixKey"
        owned = self._owned_key(sending.sent) if registers else None
        if owned is not None:
            self._claim(owned)
        try:
            yield
        except BaseException:
            if owned is not None and owned.state not in (*NOT_CLEANED_UP, State.THERE_BEFORE):
                owned.state = State.MAYBE
            raise
        self._take(sending.exchange, owned)

    def _claim(self, key: Touched) -> None:
        self._started = True
        if self.was_there_before(key.value):
            return
        if self.before is not None:
            self._write(key, ABSENT)
        self._write(key, SENT)

    def _take(self, exchange: Exchange, owned: Touched | None) -> None:
        if exchange.operation == "registerPixKey":
            self._take_registration(exchange, owned)
        elif exchange.response is None or is_refusal(exchange.response):
            return
        elif exchange.operation == "deletePixKey":
            self._take_deletion(exchange)
        elif exchange.operation == "listPixKeys" and exchange.response.json.readable:
            self._take_list(Listing(exchange), exchange.request.last_segment)

    def _take_registration(self, exchange: Exchange, owned: Touched | None) -> None:
        granted, maybe = registered(exchange), may_be_registered(exchange)
        if owned is not None and self.was_there_before(owned.value):
            owned.state = State.THERE_BEFORE
        elif granted or maybe:
            key = owned or self._new(exchange, _member(exchange.request.body, "pixKey"))
            if granted or key.state not in NOT_CLEANED_UP:
                key.state = State.REGISTERED if granted else State.MAYBE
            key.stands = frozenset() if granted else key.stands
            key.exchanges.append(exchange.number)
            if granted:
                self._write(key, REGISTERED)
        elif owned is not None and exchange.response is not None:
            self._write(owned, REFUSED)

    def _take_deletion(self, exchange: Exchange) -> None:
        strings = set(_strings(exchange.request.body))
        for key in self.not_cleaned_up():
            if key.value and any(_names(text, key.value) for text in strings):
                key.state = State.DELETED
                key.exchanges.append(exchange.number)
                self._write(key, DELETED)

    def _take_list(self, listing: Listing, account: str) -> None:
        if not self._started:
            self.before = listing
            self._close_what_is_gone(listing, account)
        for key in self._touched.values():
            if key.value and key.account == account and key.state is not State.THERE_BEFORE:
                self._see(key, listing)

    def _close_what_is_gone(self, listing: Listing, account: str) -> None:
        """What earlier runs left and the list does not show is not theirs any more, should it come back."""
        if self._record is None or account in self._looked_at:
            return
        self._looked_at.add(account)
        with suppress(JournalError, OSError):  # it is in the way of a registration, and not of a list
            for value in self._owned:
                if not listing.shows(value) and self._record.left(account, value) is not Left.NOTHING:
                    self._record.write(account, value, GONE)

    def _see(self, key: Touched, listing: Listing) -> None:
        places = listing.places(key.value, key.kind)
        if key.owned and key.state is State.REGISTERED:
            self.lagging |= not places
            self.references.update({key.value: places} if places else {})
        if key.state in (State.DELETED, State.STILL_LISTED) and key.stands:
            key.state = State.STILL_LISTED if key.stands <= places else State.GONE
        elif places and key.state in (State.REFUSED, State.GONE) and self.before is not None:
            key.state = State.LISTED if key.state is State.REFUSED else State.LISTED_AGAIN
            key.exchanges.append(listing.number)
        elif not places and key.stands and key.state in NOT_CLEANED_UP:
            key.state = State.GONE
            self._write(key, GONE)
        key.stands = places or key.stands

    # -- which key --------------------------------------------------------------------------------------------

    def _owned_key(self, request: Request) -> Touched | None:
        """The key of the profile that a registration names, in whatever form."""
        strings = set(_strings(request.body))
        value = next((value for value in self._owned if value in strings), "")
        if value and value not in self._touched:
            place = self._owned[value]
            name, kind = name_of(self._profile_keys, place), self._profile_keys[place].type
            self._touched[value] = Touched(name, kind, value, request.last_segment, owned=True)
        return self._touched.get(value)

    def _new(self, exchange: Exchange, value: str) -> Touched:
        """A key that is not in the profile: a synthetic one, or one that the service made."""
        kind = _member(exchange.request.body, "pixKeyType")
        kind = kind if kind in KEY_TYPES else ""
        name = " ".join(("a synthetic", kind, "key")).replace("  ", " ") if value else "RANDOM, made by the service"
        key = Touched(name, kind or "RANDOM", value, exchange.request.last_segment, owned=False)
        return self._touched.setdefault(value or _made_in(exchange.number), key)

    def _write(self, key: Touched, event: str) -> None:
        if self._record is not None and key.owned:
            self._record.write(key.account, key.value, event)


def _names(text: str, key: str) -> bool:
    """Whether the text names the key, and not a longer one that it is a part of."""
    return re.search(rf"(?<![0-9A-Za-z]){re.escape(key)}(?![0-9A-Za-z])", text) is not None


def name_of(keys: tuple[PixKey, ...], place: int) -> str:
    """A key of the profile for people, without its value: `EMAIL, the second of pix_keys`."""
    ordinal = f"the {_ORDINALS[place]}" if place < len(_ORDINALS) else f"number {place + 1}"
    return f"{keys[place].type}, {ordinal} of pix_keys"


def _made_in(number: int) -> str:
    return f"#{number}"


def _member(body: bytes, name: str) -> str:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    said = value.get(name) if isinstance(value, dict) else None
    return said if isinstance(said, str) else ""


def _strings(body: bytes) -> Iterator[str]:
    """Every text and number of a body, and the values of a form."""
    try:
        yield from _texts(json.loads(body))
    except (ValueError, RecursionError):
        for pair in body.decode("utf-8", "replace").split("&"):
            yield unquote_plus(pair.partition("=")[2])


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield str(value)
