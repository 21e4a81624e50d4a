"""The keys that a run registers or deletes: the state of each, as the door sees it."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum

from environments.door import key_record
from environments.door.key_record import KeyRecord
from environments.door.outgoing import Sending
from environments.door.permission import key_sent, names, texts_of
from environments.profiles.model import PixKey
from environments.secret_values import ordinal
from spec.answers import RefusalKind, is_granted, may_be_registered, refusal_kind, registered
from spec.exchange import Exchange
from spec.interface import KEY_TYPES, MARK
from spec.key_list import Listing, plain

_LONGEST_NAME = 80
"""Characters of a synthetic key that are shown."""
_SERVER_ERROR = 500
"""From this status on, an answer does not say whether the key was registered."""
_OF_ANOTHER_TYPE = re.compile(r".*@.*|\+?[0-9][0-9 ().\-/]{8,18}[0-9]")
"""An e-mail address, a phone number, a CPF or a CNPJ: no key that a service makes."""


class KeyState(Enum):
    """What became of a key. The text says why one is not cleaned up."""

    GONE = "not registered"
    BEFORE = "there before the run"
    REGISTERED = "registered and not deleted"
    MAYBE = "perhaps registered: refused or not answered, and no list shows that it is not there"


@dataclass(eq=False)
class RunKey:
    """One key that the run registers, or may."""

    name: str  # for people
    type: str
    value: str | None  # None where no answer tells what the service made
    account: str
    owned: bool = False  # it is in the profile
    disposable: bool = True  # the run may delete it
    state: KeyState = KeyState.GONE
    exchanges: list[int] = field(default_factory=list)  # they show its state
    is_sent: bool = False  # the run has named it in a registration, or taken it over from an earlier run
    is_refused: bool = False  # its last registration was
    is_deleted: bool = False  # its last deletion succeeded
    written: str = ""  # its last event in the key record

    @property
    def is_left(self) -> bool:
        """True if the run registered it, or may have, and it may still be there."""
        return self.state in (KeyState.REGISTERED, KeyState.MAYBE)

    @property
    def why_left(self) -> str:
        """Why the key is not cleaned up, for people."""
        return "deleted, but still listed" if self.is_deleted else self.state.value


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
        self._is_sandbox, self._record, self._account = is_sandbox, record, account
        self._guard, self._under_way, self._begun = threading.RLock(), 0, 0
        self._first_shown: dict[str, int] = {}  # by text, the first list that had it
        self._keys: dict[tuple[str, str], RunKey] = {}  # those of the profile come first, whatever is sent first
        for place, key in enumerate(owned):
            if key.key:
                mine = RunKey(name_of(owned, place), key.type, key.key, account, True, key.disposable or is_sandbox)
                self._keys.setdefault((key.key, ""), mine)
        self._owned = {key.value or "": key for key in self._keys.values()}

    # -- what is asked ----------------------------------------------------------------------------------------

    def not_cleaned_up(self) -> list[RunKey]:
        """The keys that the run registered, or may have, and that may still be there: first those of the profile."""
        with self._guard:
            return [key for key in self._keys.values() if key.is_left]

    def was_there_before(self, value: str | None) -> bool:
        """True if a list showed the key before the run sent it, and no earlier run registered it."""
        if value in self._owned:
            return self._owned[value].state is KeyState.BEFORE
        return bool(self.before and value and self.before.shows(value))

    def may_be_deleted(self, value: str) -> bool:
        """True if the run may delete a key that it registered: it is disposable, or none of the operator's."""
        return (value not in self._owned or self._owned[value].disposable) and not self.was_there_before(value)

    def is_new_since(self, value: str, number: int) -> bool:
        """True if no list before this exchange has the text, so the service may have made the key there."""
        return self._first_shown.get(value, number) >= number and not _OF_ANOTHER_TYPE.fullmatch(value)

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

    def is_still_listed(self, value: str) -> bool:
        """True if a list shows the key although its deletion succeeded."""
        key = self._keys.get((value, ""))
        return key is not None and key.is_deleted and key.is_left

    def seems_free(self, value: str) -> bool:
        """True if the key is not registered by all that the answers say."""
        key = self._keys.get((value, ""))
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
        taken = self._owned[key.key]
        if state != key_record.REGISTERED or not taken.disposable:
            return False
        taken.state, taken.written, taken.is_sent = KeyState.REGISTERED, state, True
        return True

    def learn_value(self, key: RunKey, value: str) -> None:
        """The value of a key that the service made. Raises JournalError."""
        with self._guard:
            if value != key.value and value not in self._owned:
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
        is_change = sending.intent.operation in ("registerPixKey", "deletePixKey")
        with self._guard:
            key = self._open(sending, number) if sending.intent.operation == "registerPixKey" else None
            is_quiet = not self._under_way
            self._under_way += is_change
            self._begun += is_change
            begun = self._begun
        try:
            yield
        finally:
            with self._guard:
                self._under_way -= is_change
                self._take(sending.exchange, key, is_quiet=is_quiet and self._begun == begun)

    def _open(self, sending: Sending, number: int) -> RunKey | None:
        """Write down that a key may be registered from now on; none that was there before."""
        key = self._named_in(sending.sent.body, sending.sent.last_segment, number)
        self.started = self.started or key.owned
        if self.was_there_before(key.value):
            key.state = KeyState.BEFORE
            return None
        if not key.is_sent:
            key.is_sent, key.account = True, sending.sent.last_segment
        if not key.is_left:
            key.state, key.is_refused, key.is_deleted = KeyState.MAYBE, False, False
            self._write(key, key_record.MAYBE)
        return key

    def _named_in(self, body: bytes, account: str, number: int) -> RunKey:
        """The key that a registration names: one of the profile in whatever form. A service may make another one for
        each empty key. A synthetic key is another at each synthetic account."""
        strings, (value, key_type) = set(texts_of(body)), key_sent(body)
        if owned := next((key for own, key in self._owned.items() if own in strings), None):
            return owned
        key_type = key_type if key_type in KEY_TYPES else ""
        name = "made by the service" if value is None else value if value and value.isprintable() else ascii(value)
        name = f"{key_type or 'a key'}{', ' if value is None else ' '}{name}"[:_LONGEST_NAME]
        return self._keys.setdefault(_identity(value or f"#{number}", account), RunKey(name, key_type, value, account))

    def _take(self, exchange: Exchange, key: RunKey | None, *, is_quiet: bool) -> None:
        if key is not None:
            self._take_registration(exchange, key)
        elif exchange.response is not None and exchange.operation == "deletePixKey":
            self._take_deletion(exchange, refusal_kind(exchange.response))
        elif exchange.operation == "listPixKeys" and is_granted(exchange):
            self._take_list(Listing(exchange, self.key_at), exchange.request.last_segment, is_quiet=is_quiet)

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

    def _take_deletion(self, exchange: Exchange, refusal: RefusalKind | None) -> None:
        """A deletion that succeeded closes a key; so does the answer that there is no such key, where none was sure."""
        strings = set(texts_of(exchange.request.body))
        for key in self.not_cleaned_up():
            is_gone = refusal is None or (refusal is RefusalKind.NOT_FOUND and key.state is KeyState.MAYBE)
            is_meant = any(names(text, key.value) if key.value else text == key.value for text in strings)
            if is_gone and is_meant and key.account == exchange.request.last_segment:
                key.exchanges.append(exchange.number)
                key.is_deleted = refusal is None
                self._close(key)

    def _take_list(self, listing: Listing, account: str, *, is_quiet: bool) -> None:
        for text in listing.texts:
            self._first_shown.setdefault(text, listing.number)
        if not is_quiet or not listing.is_readable:
            return
        if not self.started and account == (self._account or account):
            self.before = listing
        of_it = [key for key in self._keys.values() if account == (key.account or account)]
        for key in (key for key in of_it if key.value is not None):
            self._see(key, is_listed=listing.shows(key.value or ""))
        for key in (key for key in of_it if key.value is None and key.is_left and key.is_refused and self.before):
            new = {plain(text) for text in listing.texts if self.is_new_since(text, key.exchanges[0])}
            if new <= {*map(plain, self.values)}:
                self._close(key)

    def _see(self, key: RunKey, *, is_listed: bool) -> None:
        if not key.is_sent:
            key.state = KeyState.BEFORE if is_listed else key.state
        elif is_listed:
            if key.state is KeyState.REGISTERED and key.owned and self.before is not None:
                self._write(key, key_record.REGISTERED)
            elif key.state is KeyState.GONE:
                key.state = KeyState.REGISTERED if key.is_deleted else KeyState.MAYBE
                self._write(key, key_record.REGISTERED if key.is_deleted else key_record.MAYBE)
            key.is_refused = False
        elif key.is_deleted or key.is_refused:
            self._close(key)

    def _close(self, key: RunKey) -> None:
        key.state = KeyState.GONE
        self._write(key, key_record.GONE)

    def _write(self, key: RunKey, event: str) -> None:
        """Write down what became of a key. One entry stands for all of unknown value: it is closed with the last."""
        if self._record is None or key.written == event:
            return
        key.written = event
        others = (one for one in self.not_cleaned_up() if one is not key and one.value is None)
        is_shared = key.value is None and any((one.account, one.type) == (key.account, key.type) for one in others)
        if not (is_shared and event == key_record.GONE):
            self._record.note(key.account, key.type, key.value, event, ours=not key.owned)


def name_of(keys: tuple[PixKey, ...], place: int) -> str:
    """A key of the profile for people, without its value: `EMAIL, the second of pix_keys`."""
    return f"{keys[place].type}, {ordinal(place + 1)} of pix_keys"


def _identity(value: str, account: str) -> tuple[str, str]:
    return value, account if MARK in account else ""
