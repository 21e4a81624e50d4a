"""The keys that a run registers or deletes: the state of each, as the door sees it."""

from __future__ import annotations

import re
import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager

from environments.door import key_record
from environments.door.key_record import KeyRecord
from environments.door.outgoing import Sending
from environments.door.request_texts import key_sent, names, texts_of
from environments.door.run_keys import NOT_CLEANED_UP, KeyState, RunKey, name_by_value, name_of
from environments.profiles.profile import PixKey
from spec.answers import RefusalKind, is_granted, may_be_registered, refusal_kind, registered
from spec.exchange import Exchange
from spec.interface import KEY_TYPES, MARK
from spec.key_list import Listing

_OF_ANOTHER_TYPE = re.compile(r".*@.*|\+?[0-9][0-9 ().\-/]{8,18}[0-9]")
"""An e-mail address, a phone number, a CPF or a CNPJ: no key that a service makes."""
_SERVER_ERROR = 500
"""From this status on, an answer does not say whether the key was registered."""


class Keys:
    """The state of each key that the run uses, from every exchange. Without `record` nothing is kept for later runs.

    `before` is the list as it was before the first registration. `started`: the run has registered keys, other than the
    synthetic ones of invalid requests, so a list is no longer the one before the run. `account` is the one at which the
    run registers. Any thread may send, and ask.
    """

    def __init__(
        self,
        owned: tuple[PixKey, ...] = (),
        record: KeyRecord | None = None,
        account: str = "",
        *,
        is_sandbox: bool = False,
        key_at: str | None = None,
    ) -> None:
        self.before: Listing | None = None
        self.started, self.key_at = False, key_at
        self._owned = {key.key: place for place, key in reversed(list(enumerate(owned))) if key.key}
        self._profile_keys, self._is_sandbox = owned, is_sandbox
        self._record, self._account = record, account
        self._guard, self._changing, self._changes = threading.RLock(), 0, 0
        self._last: Listing | None = None
        self._first_shown: dict[str, int] = {}
        self._keys: dict[tuple[str, str], RunKey] = {}
        for key in filter(lambda key: key.key, owned):  # they come first, whatever is sent first
            self._named(key.key, key.type, account)

    # -- what is asked ----------------------------------------------------------------------------------------

    def not_cleaned_up(self) -> list[RunKey]:
        """The keys that the run registered, or may have, and that may still be there: first those of the profile."""
        with self._guard:
            return [key for key in self._keys.values() if key.state in NOT_CLEANED_UP]

    def was_there_before(self, value: str | None) -> bool:
        """True if a list showed the key before the run sent it, and no earlier run registered it."""
        if value in self._owned:
            return self._keys[_identity(value, "")].state is KeyState.BEFORE
        return bool(self.before and value and self.before.shows(value))

    def may_be_deleted(self, value: str) -> bool:
        """True if the run may delete a key that it registered."""
        return self.is_disposable(value) and not self.was_there_before(value)

    def may_be_made(self, value: str, exchange: int) -> bool:
        """True if the service may have made the key in that exchange: no list showed it before, and it is no e-mail
        address and no number."""
        return self._first_shown.get(value, exchange) >= exchange and not _OF_ANOTHER_TYPE.fullmatch(value)

    def is_disposable(self, value: str) -> bool:
        """True if the key is one of the operator's that the run may delete, or none of them."""
        place = self._owned.get(value)
        return place is None or self._profile_keys[place].disposable or self._is_sandbox

    def holds_an_unknown_key(self, account: str) -> bool:
        """True if a RANDOM key is left whose value is unknown. Raises JournalError."""
        is_recorded = self._record is not None and self._record.state(account, "RANDOM", None) in key_record.OPEN
        return is_recorded or any(key.type == "RANDOM" and key.value is None for key in self.not_cleaned_up())

    @property
    def values(self) -> frozenset[str]:
        """The keys that the run sent or was given, as far as they are known."""
        with self._guard:
            sent = (key for key in self._keys.values() if key.is_sent and not key.is_refused)
            return frozenset(key.value for key in sent if key.value)

    def state(self, value: str, account: str = "") -> KeyState:
        """What became of a key, at the account of the profile or at a synthetic one."""
        if self.was_there_before(value):
            return KeyState.BEFORE
        key = self._keys.get(_identity(value, account))
        return key.state if key else KeyState.GONE

    def is_still_listed(self, value: str) -> bool:
        """True if a list shows the key although its deletion succeeded."""
        key = self._keys.get(_identity(value, ""))
        return key is not None and key.is_deleted and key.state is KeyState.REGISTERED

    def seems_free(self, value: str) -> bool:
        """True if the key is not registered by all that the answers say."""
        key = self._keys.get(_identity(value, ""))
        return key is None or key.state is KeyState.GONE or (key.state is KeyState.MAYBE and key.is_refused)

    def key_of(self, exchange: Exchange) -> RunKey | None:
        """The key that a registration has registered, or may have."""
        with self._guard:
            return next((key for key in self._keys.values() if exchange.number in key.exchanges), None)

    # -- what is learned --------------------------------------------------------------------------------------

    def take_over(self, key: PixKey) -> bool:
        """Count a key that was listed before as one of this run, where the record says that an earlier one registered
        it. Raises JournalError."""
        state = self._record.state(self._account, key.type, key.key) if self._record else ""
        if state != key_record.REGISTERED or not self.is_disposable(key.key):
            return False
        with self._guard:
            taken = self._named(key.key, key.type, self._account)
            taken.state, taken.written, taken.is_sent = KeyState.REGISTERED, state, True
        return True

    def learn_value(self, exchange: Exchange, value: str) -> None:
        """The value of a key that the service made in that exchange. Raises JournalError."""
        if key := self.key_of(exchange):
            self.learn_value_of(key, value)

    def learn_value_of(self, key: RunKey, value: str) -> None:
        """The value of a key that the service made. Raises JournalError."""
        with self._guard:
            if value == key.value or value in self._owned:
                return
            self._write(key, key_record.GONE)
            self._keys = {name: each for name, each in self._keys.items() if each is not key}
            key.value = value
            self._keys[_identity(value, key.account)] = key
            self._write(key, key_record.REGISTERED)

    # -- what the door sees -----------------------------------------------------------------------------------

    @contextmanager
    def watching(self, sending: Sending, number: int) -> Iterator[None]:
        """While a request is on the wire. A registration is written down before it; JournalError. A list that was
        read while a key was changed says nothing of it, and is not looked at."""
        with self._guard:
            key = self._open(sending, number) if sending.intent.operation == "registerPixKey" else None
            quiet, changes, is_change = not self._changing, self._changes, self._is_change(sending, key)
            self._changing += is_change
            self._changes += is_change
        try:
            yield
        finally:
            with self._guard:
                self._changing -= is_change
                self._note_what_is_listed(sending.exchange)
                if sending.intent.operation != "listPixKeys" or (quiet and self._changes == changes):
                    self._take(sending.exchange, key)

    def _note_what_is_listed(self, exchange: Exchange) -> None:
        if exchange.operation == "listPixKeys" and is_granted(exchange):
            for value in Listing(exchange, self.key_at).keys:
                self._first_shown.setdefault(value, exchange.number)

    def _is_change(self, sending: Sending, key: RunKey | None) -> bool:
        """True for a registration that is valid or of a key of the profile, and for a deletion of a key of the run."""
        if sending.intent.operation == "deletePixKey":
            strings = set(texts_of(sending.sent.body))
            return any(_names(strings, value) for value in {*self.values, *self._owned})
        valid = sending.intent.operation == "registerPixKey" and sending.intent.valid
        return valid or (key is not None and key.owned)

    def _open(self, sending: Sending, number: int) -> RunKey | None:
        """Write down that a key may be registered from now on; none that was there before."""
        value, key_type = self._names_in(sending.sent.body)
        key = self._named(value, key_type, sending.sent.last_segment, number)
        self.started = self.started or key.owned
        if self.was_there_before(value):
            key.state = KeyState.BEFORE
            return None
        if not key.is_sent:
            key.is_sent, key.account, key.listed_before = True, sending.sent.last_segment, self._last
        if key.state not in NOT_CLEANED_UP:
            key.state, key.is_refused, key.is_deleted = KeyState.MAYBE, False, False
            self._write(key, key_record.MAYBE)
        return key

    def _take(self, exchange: Exchange, key: RunKey | None) -> None:
        if key is not None:
            self._take_registration(exchange, key)
        elif exchange.response is None:
            return
        elif exchange.operation == "deletePixKey":
            self._take_deletion(exchange)
        elif exchange.operation == "listPixKeys" and is_granted(exchange) and exchange.response.json.readable:
            self._take_list(Listing(exchange, self.key_at), exchange.request.last_segment)

    def _take_registration(self, exchange: Exchange, key: RunKey) -> None:
        """A key that is refused may be registered nevertheless: a list shows it, if any. None shows one of a synthetic
        account; and on a sandbox one that nobody can name is looked for only where its request was valid."""
        if registered(exchange):
            key.state, key.is_refused, key.is_deleted = KeyState.REGISTERED, False, False
            if not key.owned:
                self._write(key, key_record.REGISTERED)
        elif key.state is not KeyState.MAYBE:
            return
        elif exchange.response is not None and not may_be_registered(exchange):
            key.is_refused = True
            is_nobody = MARK in key.account or (key.value is None and self._is_sandbox and not exchange.valid)
            if is_nobody and exchange.response.status < _SERVER_ERROR:
                self._close(key)
                return
        key.exchanges.append(exchange.number)

    def _take_deletion(self, exchange: Exchange) -> None:
        """A deletion that succeeded closes a key; so does the answer that there is no such key, where none was sure."""
        assert exchange.response is not None
        strings, refusal = set(texts_of(exchange.request.body)), refusal_kind(exchange.response)
        for key in self.not_cleaned_up():
            if key.account != exchange.request.last_segment or key.value is None or not _names(strings, key.value):
                continue
            if refusal is None or (refusal is RefusalKind.NOT_FOUND and key.state is KeyState.MAYBE):
                key.exchanges.append(exchange.number)
                key.is_deleted = refusal is None
                self._close(key)

    def _take_list(self, listing: Listing, account: str) -> None:
        is_of_the_run = account == (self._account or account)
        if is_of_the_run and not self.started:
            self.before = listing
        for key in self._keys.values():
            if key.value is not None and account == (key.account or account):
                is_mentioned = not key.is_sent and listing.mentions(key.value)
                self._see(key, is_listed=is_mentioned or listing.shows(key.value))
        for key in self.not_cleaned_up():  # after all whose value is known
            is_open = key.value is None and key.is_refused and key.account == account
            if is_open and key.listed_before and not listing.has_new(key.listed_before, self.values):
                self._close(key)
        self._last = listing if is_of_the_run else self._last

    def _see(self, key: RunKey, *, is_listed: bool) -> None:
        if not key.is_sent:
            key.state = KeyState.BEFORE if is_listed else key.state
        elif key.state is KeyState.REGISTERED and key.is_deleted:
            key.state = KeyState.REGISTERED if is_listed else KeyState.GONE
        elif key.state is KeyState.REGISTERED and key.owned and is_listed and self.before is not None:
            self._write(key, key_record.REGISTERED)
        elif key.state is KeyState.MAYBE and key.is_refused and not is_listed:
            self._close(key)
        elif key.state is KeyState.MAYBE and is_listed:
            key.is_refused = False
        elif key.state is KeyState.GONE and is_listed:
            key.state = KeyState.REGISTERED if key.is_deleted else KeyState.MAYBE

    def _close(self, key: RunKey) -> None:
        key.state = KeyState.GONE
        self._write(key, key_record.GONE)

    # -- which key --------------------------------------------------------------------------------------------

    def _names_in(self, body: bytes) -> tuple[str | None, str]:
        """The key that a registration names, in whatever form, and its type as far as it is documented."""
        value, key_type = key_sent(body)
        strings = set(texts_of(body))
        owned = next((own for own in self._owned if own in strings), value)
        return owned, key_type if key_type in KEY_TYPES else ""

    def _named(self, value: str | None, key_type: str, account: str, number: int = 0) -> RunKey:
        identity = _identity(value or f"#{number}", account)  # for each empty key, a service may make another one
        if identity not in self._keys:
            place = None if value is None else self._owned.get(value)
            is_owned, kind = place is not None, key_type if place is None else self._profile_keys[place].type
            name = name_by_value(value, key_type) if place is None else name_of(self._profile_keys, place)
            self._keys[identity] = RunKey(name, kind, value, account, is_owned)
        return self._keys[identity]

    def _write(self, key: RunKey, event: str) -> None:
        """Write down what became of a key. One entry stands for all of unknown value: it is closed with the last."""
        if self._record is None or key.written == event:
            return
        key.written = event
        others = (one for one in self.not_cleaned_up() if one is not key and one.value is None)
        is_shared = key.value is None and any((one.account, one.type) == (key.account, key.type) for one in others)
        if not (is_shared and event == key_record.GONE):
            self._record.note(key.account, key.type, key.value, event, ours=not key.owned)


def _names(texts: Collection[str], value: str) -> bool:
    return any(names(text, value) for text in texts) if value else "" in texts


def _identity(value: str, account: str) -> tuple[str, str]:
    """A key of the profile is one key. A synthetic one is another at each synthetic account."""
    return value, account if MARK in account else ""
