"""The keys that a run registers or deletes: the state of each, as the door sees it, and the record for later runs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum

from environments.door.event_log import GONE, MAYBE, REGISTERED, KeyRecord
from environments.door.outgoing import Sending
from environments.door.permission import key_sent, names, texts_of
from environments.profiles.model import PixKey
from spec.answers import RefusalKind, is_granted, may_be_registered, refusal_kind, registered
from spec.exchange import Exchange
from spec.interface import KEY_TYPES, MARK
from spec.key_list import Listing, plain
from spec.message import Text, say

_LONGEST_NAME = 80
"""Characters of a synthetic key that are shown."""
_OF_ANOTHER_TYPE = re.compile(r".*@.*|\+?[0-9][0-9 ().\-/]{8,18}[0-9]")
"""An e-mail address, a phone number, a CPF or a CNPJ: no key that a service makes."""
_MADE = say("RANDOM, made by the service")


class KeyState(Enum):
    """State of a key. The text says why one is not cleaned up."""

    NOT_SENT = "not sent"
    BEFORE = "there before the run"
    GONE = "not registered"
    DELETED = "deleted"
    REGISTERED = "registered and not deleted"
    MAYBE = "perhaps registered"
    REFUSED = "perhaps registered: refused, and no list shows that it is not there"
    KEPT = "deleted, but still listed"


_LEFT = {
    KeyState.REGISTERED: REGISTERED,
    KeyState.KEPT: REGISTERED,
    KeyState.MAYBE: MAYBE,
    KeyState.REFUSED: MAYBE,
}
"""The states of keys that may still be there, with the event that the record holds."""
_UNSURE = (KeyState.MAYBE, KeyState.REFUSED)
_LISTED = {
    KeyState.NOT_SENT: KeyState.BEFORE,
    KeyState.GONE: KeyState.MAYBE,
    KeyState.DELETED: KeyState.KEPT,
    KeyState.REFUSED: KeyState.MAYBE,
}
"""The state after a list that shows the key, of one that is not registered by all that the answers say."""
_NOT_LISTED = {KeyState.REFUSED: KeyState.GONE, KeyState.KEPT: KeyState.DELETED}
"""The state after a list that does not. One that was granted, or is not answered, may be listed later."""


@dataclass(eq=False)
class RunKey:
    """One key that the run registers, or may."""

    name: Text  # for people
    type: str
    value: str | None  # None where no answer tells what the service made
    account: str
    owned: bool = False  # it is in the profile
    disposable: bool = True  # the run may delete it
    state: KeyState = KeyState.NOT_SENT
    exchanges: list[int] = field(default_factory=list)  # they show its state

    @property
    def is_left(self) -> bool:
        """True if the run registered it, or may have, and it may still be there."""
        return self.state in _LEFT


class Keys:
    """The state of each key that the run uses, from every exchange. Without `record` nothing is kept for later runs.

    `before` is the list as it was before the first registration. `lost_besides` are the keys in it that are not of the
    run, and not in the last list: all where the profile says where keys stand, else e-mail addresses. `started`: the
    list before the run was read, or a key of the profile was sent, so a list is no longer the one before the run.
    `account` is the one at which the run registers. What changes a state is called under the lock of the door.
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
        self.lost_besides = frozenset[str]()
        self.started, self.key_at = False, key_at
        self._is_sandbox, self._record, self.account = is_sandbox, record, account
        self._first_shown: dict[str, int] = {}  # by text, the first list that had it
        self._owned = {
            key.key: RunKey(name_of(owned, place), key.type, key.key, account, True, key.disposable or is_sandbox)
            for place, key in enumerate(owned)
            if key.key
        }
        self._keys = [*self._owned.values()]  # those of the profile come first, whatever is sent first

    # -- what is asked ----------------------------------------------------------------------------------------

    def not_cleaned_up(self) -> list[RunKey]:
        """The keys that the run registered, or may have, and that may still be there: first those of the profile."""
        return [key for key in self._keys if key.is_left]

    def was_there_before(self, value: str | None) -> bool:
        """True if a list showed the key before the run sent it, and no earlier run registered it. Without a key of the
        profile no list is read before the first registration, so those of the run are told apart."""
        if value in self._owned:
            return self._owned[value].state is KeyState.BEFORE
        return bool(self.before and value and self.before.shows(value) and value not in self.values)

    def may_be_deleted(self, value: str) -> bool:
        """True if the run may delete a key that it registered: it is disposable, or none of the operator's. Not one of
        the operator's that was perhaps there before, as no list says. None while a key of before is gone: perhaps a
        deletion takes another key than it names."""
        owned = self._owned.get(value)
        if owned and not (owned.disposable and (self.before or owned.state not in _UNSURE)):
            return False
        return not self.lost_besides and not self.was_there_before(value)

    def is_new_since(self, value: str, number: int) -> bool:
        """True if no list before this exchange has the text, so the service may have made the key there."""
        return self._first_shown.get(value, number) >= number and not _OF_ANOTHER_TYPE.fullmatch(value)

    def holds_an_unknown_key(self) -> bool:
        """True if a RANDOM key is left whose value is unknown. Raises JournalError."""
        return bool(self._record and self._record.state(self.account, "RANDOM", None)) or any(
            key.type == "RANDOM" and key.value is None for key in self.not_cleaned_up()
        )

    @property
    def values(self) -> frozenset[str]:
        """The keys that the run registered, or may have, as far as their values are known."""
        return frozenset(
            key.value
            for key in self._keys
            if key.value and key.state in (KeyState.REGISTERED, KeyState.MAYBE, KeyState.DELETED, KeyState.KEPT)
        )

    def kept(self, deletions: Iterable[Exchange]) -> list[Exchange]:
        """Those of the deletions that succeeded whose keys the last list still shows."""
        return [seen for seen in deletions if KeyState.KEPT in map(self._state_of, texts_of(seen.request.body))]

    def seems_free(self, value: str) -> bool:
        """True if the key is not registered by all that the answers say."""
        return self._state_of(value) in _LISTED

    def _state_of(self, value: str) -> KeyState:
        known = self._known(value, self.account)
        return known.state if known else KeyState.NOT_SENT

    def _known(self, value: str, account: str) -> RunKey | None:
        """The key of this value. One that is none of the profile is another at each account."""
        same = (key for key in self._keys if key.value == value)
        return next((key for key in same if key.owned or key.account == account), None)

    def key_of(self, exchange: Exchange) -> RunKey | None:
        """The key that a registration has registered, or may have."""
        return next((key for key in self._keys if exchange.number in key.exchanges), None)

    # -- what is learned --------------------------------------------------------------------------------------

    def take_over(self, key: PixKey) -> bool:
        """Count a key that was listed before as one of this run, where the record says that an earlier one registered
        it. Raises JournalError."""
        state = self._record.state(self.account, key.type, key.key) if self._record else ""
        taken = self._owned[key.key]
        if state != REGISTERED or not taken.disposable:
            return False
        taken.state = KeyState.REGISTERED
        return True

    def learn_value(self, key: RunKey, value: str | None) -> None:
        """The value of a key that the service made, None while no answer tells it. Raises JournalError."""
        if value != key.value and value not in self._owned:
            state = key.state
            self._become(key, KeyState.GONE)
            key.name, key.type, key.value = _MADE, "RANDOM", value
            self._become(key, state)

    # -- what the door sees -----------------------------------------------------------------------------------

    @contextmanager
    def watching(self, sending: Sending) -> Iterator[None]:
        """While a request is on the wire. A registration is written down before it; JournalError."""
        key = self._open(sending) if sending.intent.operation == "registerPixKey" else None
        try:
            yield
        finally:
            self._take(sending.exchange, key)

    def _open(self, sending: Sending) -> RunKey | None:
        """Write down that a key may be registered from now on; none that was there before."""
        sent = sending.sent
        key = self._named_in(sent.body, sent.last_segment)
        self.started = self.started or key.owned
        if self.was_there_before(key.value):
            key.state = KeyState.BEFORE
            return None
        if not key.is_left:
            key.account = sent.last_segment
        if key.state not in (KeyState.REGISTERED, KeyState.KEPT):
            self._become(key, KeyState.MAYBE)
        return key

    def _named_in(self, body: bytes, account: str) -> RunKey:
        """The key that a registration names: one of the profile in whatever form. A service may make another one for
        each empty key."""
        strings, (value, key_type) = texts_of(body), key_sent(body)
        if owned := next((key for own, key in self._owned.items() if own in strings), None):
            return owned
        if value and (known := self._known(value, account)):
            return known
        key_type = key_type if key_type in KEY_TYPES else ""
        made = _MADE if key_type else say("a key that its request does not name")
        name = made if value is None else f"{key_type or 'key'} {ascii(value)[1:-1]}"[:_LONGEST_NAME]
        self._keys.append(RunKey(name, key_type, value, account))
        return self._keys[-1]

    def _take(self, exchange: Exchange, key: RunKey | None) -> None:
        if key is not None:
            self._take_registration(exchange, key)
        elif exchange.response is not None and exchange.operation == "deletePixKey":
            self._take_deletion(exchange, refusal_kind(exchange.response))
        elif exchange.operation == "listPixKeys" and is_granted(exchange):
            self._take_list(Listing(exchange, self.key_at), exchange.request.last_segment, alone=not exchange.beside)

    def _take_registration(self, exchange: Exchange, key: RunKey) -> None:
        """A key that is refused may be registered nevertheless: a list shows it, if any. None shows one of a synthetic
        account; and on a sandbox one that nobody can name is looked for only where its request was valid. A status from
        500 on says nothing of the key."""
        if registered(exchange):
            self._become(key, KeyState.REGISTERED)
        elif key.state not in _UNSURE:
            return
        elif exchange.response is not None and not may_be_registered(exchange):
            key.state = KeyState.REFUSED
            is_nobody = MARK in key.account or (key.value is None and self._is_sandbox and not exchange.valid)
            if is_nobody and exchange.response.status < 500:
                self._become(key, KeyState.GONE)
                return
        key.exchanges.append(exchange.number)

    def _take_deletion(self, exchange: Exchange, refusal: RefusalKind | None) -> None:
        """A deletion that succeeded closes a key; so does the answer that there is no such key, where none was sure."""
        strings = texts_of(exchange.request.body)
        for key in self.not_cleaned_up():
            is_gone = refusal is None or (refusal is RefusalKind.NOT_FOUND and key.state in _UNSURE)
            is_meant = any(names(text, key.value) if key.value else text == key.value for text in strings)
            if is_gone and is_meant and key.account == exchange.request.last_segment:
                key.exchanges.append(exchange.number)
                self._become(key, KeyState.DELETED if refusal is None else KeyState.GONE)

    def _take_list(self, listing: Listing, account: str, *, alone: bool) -> None:
        """A list that was read while a key was changed says nothing of it: only one that was alone is looked at."""
        for text in listing.texts:
            self._first_shown.setdefault(text, listing.number)
        if not alone or not listing.is_readable:
            return
        if not self.started and account == (self.account or account):
            self.before = listing
        if self.before and account == self.account:
            before = self.before.keys or frozenset(text for text in self.before.texts if "@" in text)
            self.lost_besides = before - listing.texts - self.values
        for key in [key for key in self._keys if account == (key.account or account)]:
            if key.value is not None:
                after = _LISTED if listing.shows(key.value) else _NOT_LISTED
                self._become(key, after.get(key.state, key.state))
            elif key.state is KeyState.REFUSED and self.before:
                new = {plain(text) for text in listing.texts if self.is_new_since(text, key.exchanges[0])}
                if new <= {*map(plain, self.values)}:
                    self._become(key, KeyState.GONE)

    def _become(self, key: RunKey, state: KeyState) -> None:
        """Change a state, and write down what became of the key. Of one of the profile it stands as registered where a
        list showed that it was absent before. One entry stands for all of unknown value: it is closed with the last."""
        before, key.state = self._event_of(key), state
        event = self._event_of(key)
        if self._record is None or event == before:
            return
        left = [(one.account, one.type, one.value) for one in self.not_cleaned_up()]
        if event != GONE or (key.account, key.type, key.value) not in left:
            self._record.note(key.account, key.type, key.value, event, ours=not key.owned)

    def _event_of(self, key: RunKey) -> str:
        event = _LEFT.get(key.state, GONE)
        return MAYBE if key.owned and event == REGISTERED and self.before is None else event


def name_of(keys: tuple[PixKey, ...], place: int) -> Text:
    """A key of the profile for people, without its value: `EMAIL, number 2 of pix_keys`."""
    return say("{type}, number {place} of pix_keys", type=keys[place].type, place=place + 1)
