"""The keys that a run registers or deletes: which key a request names, what became of it, and the record for later
runs.

What an answer changes is a pure function (`key_states.py`), and what lists show stands in `account_lists.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from environments.door.account_lists import AccountLists
from environments.door.bodies import key_sent, names, texts_of
from environments.door.key_record import GONE, MAYBE, REGISTERED, KeyRecord
from environments.door.key_states import (
    EVENT_OF_STATE,
    SENT_FOR_SURE,
    STATE_IF_LISTED,
    UNSURE,
    KeyState,
    RunKey,
    Sight,
    can_be_named,
    is_closed_by,
    may_have_become,
    own_key_may_be_deleted,
    sight_of,
    state_after_deletion,
    state_after_list,
    state_after_registration,
    state_at_the_end,
    was_not_sent,
)
from environments.door.outgoing import Sending
from environments.profiles.model import PixKey
from spec.answers import registered
from spec.exchange import VALID, Exchange
from spec.interface import KEY_TYPES, MARK
from spec.key_list import Listing, has_mask, plain
from spec.message import Text, say

_LONGEST_NAME = 80
"""Characters of a synthetic key that are shown."""
_MADE = say("RANDOM, made by the service")


class Keys:
    """The state of each key that the run uses, from every exchange. Without `record` nothing is kept for later runs.

    `account` is the one at which the run registers. What changes a state is called under the lock of the door.
    """

    def __init__(
        self,
        owned: tuple[PixKey, ...] = (),
        record: KeyRecord | None = None,
        accounts: tuple[str, ...] = (),
        *,
        is_sandbox: bool = False,
        key_at: str | None = None,
    ) -> None:
        self.accounts, self.account = accounts, next(iter(accounts), "")
        self.lists = AccountLists(self.account, is_sandbox=is_sandbox, key_at=key_at)
        self.last_registration = 0  # the number of its exchange
        self._is_sandbox, self._record = is_sandbox, record
        self._owned = {
            key.key: RunKey(name_of(owned, place), key.type, key.key, self.account, True, key.disposable or is_sandbox)
            for place, key in enumerate(owned)
            if key.key
        }
        self._keys = [*self._owned.values()]  # those of the profile come first, whatever is sent first
        self.may_tell_random_by_lists = is_sandbox or any(key.type == "RANDOM" and key.disposable for key in owned)

    # -- what is asked ----------------------------------------------------------------------------------------

    def not_cleaned_up(self) -> list[RunKey]:
        """The keys that the run registered, or may have, and that may still be there: first those of the profile."""
        return [key for key in self._keys if key.is_left]

    def are_cleaned_up_by(self, sending: Sending) -> bool:
        """True if the request deletes a key that may still be there, or reads the list of an account that may have
        one."""
        open_keys = self.not_cleaned_up()
        if not open_keys:
            return False
        if sending.intent.operation == "listPixKeys":
            return MARK not in sending.sent.last_segment
        if sending.intent.operation != "deletePixKey":
            return False
        texts = texts_of(sending.sent.body)
        return any(_is_named_in(texts, key.value) for key in open_keys)

    def was_there_before(self, value: str | None) -> bool:
        """True if a list showed the key before the run sent it, and no earlier run registered it. Without a key of the
        profile no list is read before the first registration, so those of the run are told apart."""
        if value in self._owned:
            return self._owned[value].state is KeyState.BEFORE
        if not value or value in self.values:
            return False
        return self.lists.were_showing(value)

    @property
    def before(self) -> Listing | None:
        """The list of the first account as it was before the first registration."""
        return self.lists.before.get(self.account)

    def may_be_deleted(self, value: str) -> bool:
        """True if the run may delete a key that it registered: one that it made up, or a disposable one of the profile
        that was not there before."""
        if value not in self._owned:
            return (self._is_sandbox or can_be_named(value)) and not self.was_there_before(value)
        key = self._owned[value]
        before = self.before if self._is_sandbox else self.lists.before.get(key.account)
        return own_key_may_be_deleted(key, before, self.lists.last.get(key.account), is_sandbox=self._is_sandbox)

    def holds_an_unknown_key(self) -> bool:
        """True if a RANDOM key is left whose value is unknown. Raises JournalError."""
        if self._record and self._record.state(self.account, "RANDOM", None):
            return True
        return any(key.type == "RANDOM" and key.value is None for key in self.not_cleaned_up())

    @property
    def values(self) -> frozenset[str]:
        """The keys that the run registered, or may have, as far as their values are known."""
        return frozenset(key.value for key in self._keys if key.value and key.state in SENT_FOR_SURE)

    def of_runs(self) -> Iterator[PixKey]:
        """The keys that this run sent or made, and those that earlier runs left, as far as their values are known.
        Raises JournalError."""
        yield from (PixKey(key.type, key.value) for key in self._keys if key.value)
        for _, event in self._record.left(self.accounts) if self._record else ():
            if event.get("key"):
                yield PixKey(event["type"], event["key"])

    def kept(self, deletions: Iterable[Exchange]) -> list[Exchange]:
        """The deletions that succeeded although the last list still shows their keys."""
        return [
            deletion for deletion in deletions if KeyState.KEPT in map(self._state_of, texts_of(deletion.request.body))
        ]

    def seems_free(self, value: str) -> bool:
        """True if the key is not registered by all that the answers say."""
        return self._state_of(value) in STATE_IF_LISTED

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
        """Count a key that was listed before as one of this run, if the record says that an earlier one registered it.
        It must be at its account now, because it may have moved to another one. Raises JournalError."""
        state = self._record.state(self.account, key.type, key.key) if self._record else ""
        own_key = self._owned[key.key]
        is_at_its_account = self.before is not None and self.before.may_show(key.key)
        if state != REGISTERED or not own_key.disposable or not is_at_its_account:
            return False
        own_key.state = KeyState.REGISTERED
        return True

    def learn_value(self, key: RunKey, value: str | None) -> None:
        """The value of a key that the service made, None while no answer tells it; a masked text is none. Raises
        JournalError."""
        is_masked = value is not None and has_mask(value)
        if value != key.value and value not in self._owned and not is_masked:
            state = key.state
            self._become(key, KeyState.GONE)
            key.name, key.type, key.value = _MADE, "RANDOM", value
            key.was_listed, key.was_missed = value is not None, False
            self._become(key, state)

    def close(self) -> None:
        """Nothing more is sent: what became of each key stands, as far as the lists tell."""
        for key in self._keys:
            self._become(key, state_at_the_end(key, was_any_list_read=bool(self.lists.last)))

    def find_changed(self, account: str) -> None:
        """Look in the last list of an account for synthetic keys that the service changed before it registered them, as
        it cut them, or left signs out. They are counted as perhaps registered there."""
        listing, before = self.lists.last.get(account), self.lists.before.get(account)
        if listing is None:
            return
        known = {key.value for key in self._keys if key.account == account}
        for text in sorted(listing.texts - known - (before.texts if before else frozenset())):
            sent = next((key for key in self._keys if may_have_become(key, text)), None)
            if sent is not None:
                self._add_found(sent, text, account)

    def _add_found(self, sent: RunKey, value: str, account: str) -> None:
        """Count a key as perhaps registered at this account, because its list shows it."""
        name = _name_of_synthetic(sent.type, value)
        found = RunKey(name, sent.type, value, account, exchanges=[*sent.exchanges], was_listed=True)
        self._keys.append(found)
        self._become(found, KeyState.MAYBE)

    # -- what the door sees -----------------------------------------------------------------------------------

    @contextmanager
    def watching(self, sending: Sending) -> Iterator[None]:
        """While a request is on the wire. A registration is written down before it; JournalError."""
        key, state_before = None, KeyState.NOT_SENT
        if sending.request.method == "DELETE":
            self.lists.started = True
        if sending.intent.operation == "registerPixKey":
            registration = sending.sent
            named = self._named_in(registration.body, registration.last_segment)
            state_before = named.state
            key = self._open(named, registration.last_segment)
        try:
            yield
        finally:
            self._take(sending.exchange, key, state_before)

    def _open(self, key: RunKey, account: str) -> RunKey | None:
        """Write down that a key may be registered from now on; none that was there before."""
        self.lists.started = self.lists.started or key.owned
        if self.was_there_before(key.value):
            key.state = KeyState.BEFORE
            return None
        if not key.is_left:
            key.account = account
        if key.state not in (KeyState.REGISTERED, KeyState.KEPT):
            self._become(key, KeyState.MAYBE)
        return key

    def _named_in(self, body: bytes, account: str) -> RunKey:
        """The key that a registration names: one of the profile in whatever form. A service may make another one for
        each empty key."""
        texts, (value, key_type) = texts_of(body), key_sent(body)
        own_key = next((key for own_value, key in self._owned.items() if own_value in texts), None)
        if own_key is not None:
            return own_key
        if value and (known := self._known(value, account)):
            return known
        key_type = key_type if key_type in KEY_TYPES else ""
        made = _MADE if key_type else say("a key that its request does not name")
        name = made if value is None else _name_of_synthetic(key_type, value)
        self._keys.append(RunKey(name, key_type, value, account))
        return self._keys[-1]

    def _take(self, exchange: Exchange, key: RunKey | None, state_before: KeyState) -> None:
        """Take an exchange. `key` is the one that it may register, if any."""
        if exchange.operation == "registerPixKey":
            self.last_registration = exchange.number
        if key is not None:
            self._take_registration(exchange, key, state_before)
        elif exchange.operation == "deletePixKey":
            self._take_deletion(exchange)
        elif exchange.operation == "listPixKeys" and exchange.credential == VALID and "?" not in exchange.request.url:
            self._take_list(exchange)

    def _take_registration(self, exchange: Exchange, key: RunKey, state_before: KeyState) -> None:
        was_unsure = key.state in UNSURE
        self._become(key, state_after_registration(key, exchange, state_before, is_sandbox=self._is_sandbox))
        may_be_registered_by_it = was_unsure and key.state in UNSURE and not was_not_sent(exchange)
        if registered(exchange) or may_be_registered_by_it:
            key.exchanges.append(exchange.number)

    def _take_deletion(self, exchange: Exchange) -> None:
        self.lists.note_deletion(exchange)
        for key in self.not_cleaned_up():
            if is_closed_by(key, exchange):
                key.exchanges.append(exchange.number)
                self._become(key, state_after_deletion(key, exchange))

    def _take_list(self, exchange: Exchange) -> None:
        account, listing = exchange.request.last_segment, self.lists.note_list(exchange)
        if listing is None:
            return
        before = self.lists.before.get(account)
        for key in [*self._keys]:
            if key.value is None:
                self._take_list_for_unknown(key, listing, account)
                continue
            sight = sight_of(key, key.value, listing, before)
            if self._is_at(key, account):
                self._take_sight(key, sight)
            else:
                self._take_sight_elsewhere(key, key.value, sight, account)

    def _is_at(self, key: RunKey, account: str) -> bool:
        """True if the list of an account tells of a key. Before it is sent, any account of the profile may hold it."""
        return account == (key.account or account) or (key.owned and key.state is KeyState.NOT_SENT)

    def _take_sight(self, key: RunKey, sight: Sight) -> None:
        key.was_listed = key.was_listed or sight.may_be_shown
        is_missing = key.state is KeyState.REGISTERED and sight.is_absent and not sight.may_be_shown
        key.was_missed = key.was_missed or is_missing
        self._become(key, state_after_list(key, sight, is_sandbox=self._is_sandbox))

    def _take_sight_elsewhere(self, key: RunKey, value: str, sight: Sight, account: str) -> None:
        """What the list of another account of the profile says of a key. A service may register a synthetic key at
        another account than the one that its request names."""
        if account not in self.accounts:
            return
        before = self.lists.before.get(account)
        was_shown_before = before is not None and before.shows(value)
        is_synthetic = not key.owned and MARK in value
        if sight.is_shown and is_synthetic and not was_shown_before and self._known(value, account) is None:
            self._add_found(key, value, account)
        elif sight.is_absent and key.is_for_nobody and key.state is KeyState.REFUSED:
            self._become(key, KeyState.GONE)

    def _take_list_for_unknown(self, key: RunKey, listing: Listing, account: str) -> None:
        """A key of unknown value that was refused is not there if the list has nothing new but keys of the run."""
        if key.state is not KeyState.REFUSED or self.before is None or account != (key.account or account):
            return
        new = {plain(text) for text in listing.texts if self.lists.is_new_since(text, key.exchanges[0])}
        if new <= {*map(plain, self.values)}:
            self._become(key, KeyState.GONE)

    # -- the record -------------------------------------------------------------------------------------------

    def _become(self, key: RunKey, state: KeyState) -> None:
        """Change a state, and write down what became of the key. One entry stands for all of unknown value: it is
        closed with the last."""
        event_before, key.state = self._event_of(key), state
        event = self._event_of(key)
        if self._record is None or event == event_before:
            return
        left = [(one.account, one.type, one.value) for one in self.not_cleaned_up()]
        if event != GONE or (key.account, key.type, key.value) not in left:
            self._record.note(key.account, key.type, key.value, event, ours=not key.owned)

    def _event_of(self, key: RunKey) -> str:
        """The event of the record. A key of the profile is recorded as registered only if a list showed that it was
        absent before."""
        event = EVENT_OF_STATE.get(key.state, GONE)
        return MAYBE if key.owned and event == REGISTERED and self.before is None else event


def name_of(keys: tuple[PixKey, ...], place: int) -> Text:
    """A key of the profile for people, without its value: `EMAIL, number 2 of pix_keys`."""
    return say("{type}, number {place} of pix_keys", type=keys[place].type, place=place + 1)


def _is_named_in(texts: list[str], value: str | None) -> bool:
    if not value:
        return False
    return any(names(text, value) for text in texts)


def _name_of_synthetic(key_type: str, value: str) -> Text:
    """A synthetic key for people, with its value in ASCII."""
    return f"{key_type or 'key'} {ascii(value)[1:-1]}"[:_LONGEST_NAME]
