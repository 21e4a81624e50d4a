"""The keys that a run registers or deletes: which key a request names, and what became of it.

The door gives every exchange to `Keys`, and the scenarios ask it which keys they may delete. The state of a key follows
from pure functions (key_states.py), the lists of the accounts stand in account_lists.py, and the record of keys for
later runs in key_record.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from environments.door.account_lists import AccountLists
from environments.door.bodies import key_sent, names, texts_of
from environments.door.key_record import GONE, MAYBE, REGISTERED, KeyRecord
from environments.door.key_states import (
    EVENT_OF_STATE,
    SEEMING_FREE,
    SENT_FOR_SURE,
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
"""Most characters that a report shows of a synthetic key: some of these keys fill a line."""
_MADE = say("RANDOM, made by the service")


class Keys:
    """The state of each key that the run uses.

    `owned` are the keys of the profile. Without `record` nothing is kept for later runs. The methods that change a
    state are called under the lock of the door.
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
        """The accounts of the profile, and the one at which the run registers: the first."""
        self.lists = AccountLists(self.account, is_sandbox=is_sandbox, key_at=key_at)
        self.last_registration = 0
        """Number of the exchange of the last registration; 0 if there is none."""
        self.may_tell_random_by_lists = is_sandbox or any(key.type == "RANDOM" and key.disposable for key in owned)
        """True if the run may take a new key in a list for the RANDOM key that it asked for."""
        self._is_sandbox, self._record = is_sandbox, record
        self._owned: dict[str, RunKey] = {}  # by value
        for place, key in enumerate(owned):
            if key.key:
                disposable = key.disposable or is_sandbox
                self._owned[key.key] = RunKey(name_of(owned, place), key.type, key.key, self.account, True, disposable)
        self._keys = [*self._owned.values()]  # the keys of the profile come first, whatever is sent first

    # -- questions --------------------------------------------------------------------------------------------

    def not_cleaned_up(self) -> list[RunKey]:
        """The keys that the run registered, or may have registered, and that may still be there.

        The keys of the profile come first.
        """
        return [key for key in self._keys if key.is_left]

    def are_cleaned_up_by(self, sending: Sending) -> bool:
        """True if the request deletes a key that may still be there, or reads a list that may show such a key."""
        operation = sending.intent.operation
        if operation not in ("listPixKeys", "deletePixKey"):
            return False
        keys_left = self.not_cleaned_up()
        if operation == "listPixKeys":
            return bool(keys_left) and MARK not in sending.sent.last_segment
        texts = texts_of(sending.sent.body) if keys_left else []
        return any(_is_named_in(texts, key.value) for key in keys_left)

    def was_there_before(self, value: str | None) -> bool:
        """True if a list showed the key before the run sent it, and no earlier run registered it.

        A synthetic key that this run sent is its own, although the list before the run may show it: on a sandbox that
        list may be read after the first registration.
        """
        if value in self._owned:
            return self._owned[value].state is KeyState.BEFORE
        if not value or value in self.values:
            return False
        return self.lists.were_showing(value)

    @property
    def before(self) -> Listing | None:
        """The list, before the run, of the account at which the run registers."""
        return self.lists.before.get(self.account)

    def may_be_deleted(self, value: str) -> bool:
        """True if the run may delete a key that it registered: a synthetic key, or a disposable key of the profile.

        Neither may have been there before the run.
        """
        if value not in self._owned:
            is_unmistakable = self._is_sandbox or can_be_named(value)
            return is_unmistakable and not self.was_there_before(value)
        key = self._owned[value]
        before = self.before if self._is_sandbox else self.lists.before.get(key.account)
        return own_key_may_be_deleted(key, before, self.lists.last.get(key.account), is_sandbox=self._is_sandbox)

    def holds_an_unknown_key(self) -> bool:
        """True if this run or an earlier one left a RANDOM key whose value is unknown. Raises JournalError."""
        if self._record and self._record.state(self.account, "RANDOM", None):
            return True
        return any(key.type == "RANDOM" and key.value is None for key in self.not_cleaned_up())

    @property
    def values(self) -> frozenset[str]:
        """The values of the keys that the run registered, or may have registered, as far as they are known."""
        return frozenset(key.value for key in self._keys if key.value and key.state in SENT_FOR_SURE)

    def of_runs(self) -> Iterator[PixKey]:
        """The keys that this run sent or that a service made for it, and the keys that earlier runs left.

        Keys of unknown value are left out. Raises JournalError.
        """
        yield from (PixKey(key.type, key.value) for key in self._keys if key.value)
        if self._record is None:
            return
        for _, event in self._record.left(self.accounts):
            if event.get("key"):
                yield PixKey(event["type"], event["key"])

    def deletions_still_listed(self, deletions: Iterable[Exchange]) -> list[Exchange]:
        """The deletions, among these granted ones, whose keys the last list still shows."""
        still_listed = []
        for deletion in deletions:
            states = map(self._state_of, texts_of(deletion.request.body))
            if KeyState.KEPT in states:
                still_listed.append(deletion)
        return still_listed

    def seems_free(self, value: str) -> bool:
        """True if the key is not registered, as far as the answers tell."""
        return self._state_of(value) in SEEMING_FREE

    def _state_of(self, value: str) -> KeyState:
        """The state of the key with this value at the account at which the run registers."""
        key = self._key_with_value(value, self.account)
        return key.state if key else KeyState.NOT_SENT

    def _key_with_value(self, value: str, account: str) -> RunKey | None:
        """The key of the profile with this value, or the key that was sent with this value to this account.

        A synthetic key that is sent to two accounts counts as two keys.
        """
        same_value = (key for key in self._keys if key.value == value)
        return next((key for key in same_value if key.owned or key.account == account), None)

    def key_of(self, exchange: Exchange) -> RunKey | None:
        """The key that the exchange registered, or may have registered."""
        return next((key for key in self._keys if exchange.number in key.exchanges), None)

    # -- what the scenarios learn -----------------------------------------------------------------------------

    def take_over(self, key: PixKey) -> bool:
        """Count a key of the profile as registered by this run, if the record says that an earlier run registered it.

        The list before the run must show it at its account, because it may have moved to another account since. True if
        the key is taken over. Raises JournalError.
        """
        recorded_event = self._record.state(self.account, key.type, key.key) if self._record else ""
        own_key = self._owned[key.key]
        is_at_its_account = self.before is not None and self.before.may_show(key.key)
        if recorded_event != REGISTERED or not own_key.disposable or not is_at_its_account:
            return False
        own_key.state = KeyState.REGISTERED
        return True

    def learn_value(self, key: RunKey, value: str | None) -> None:
        """Note the value of a key that the service made; None if no answer tells it. A masked text is no value.

        The record closes the entry of the key as it was, and gets a new one. Raises JournalError.
        """
        is_masked = value is not None and has_mask(value)
        if value == key.value or value in self._owned or is_masked:
            return
        state = key.state
        self._set_state(key, KeyState.GONE)
        key.name = _MADE
        key.type = "RANDOM"
        key.value = value
        key.was_listed = value is not None
        key.was_missed = False
        self._set_state(key, state)

    def close(self) -> None:
        """Set the last state of each key. It is called when nothing more is sent."""
        for key in self._keys:
            self._set_state(key, state_at_the_end(key, was_any_list_read=bool(self.lists.last)))

    def find_changed(self, account: str) -> None:
        """Find keys in the last list of an account that the service made of synthetic keys, and note them.

        Some services cut a long key, or leave signs out, before they register it. Such keys count as perhaps registered
        at this account.
        """
        listing, before = self.lists.last.get(account), self.lists.before.get(account)
        if listing is None:
            return
        values_of_run = {key.value for key in self._keys if key.account == account}
        texts_before = before.texts if before else frozenset()
        for text in sorted(listing.texts - values_of_run - texts_before):
            origin = next((key for key in self._keys if may_have_become(key, text)), None)
            if origin is not None:
                self._add_listed(origin, text, account)

    def _add_listed(self, origin: RunKey, value: str, account: str) -> None:
        """Add a key that the list of this account shows, and that the service made of the key `origin`."""
        name = _name_of_synthetic(origin.type, value)
        key = RunKey(name, origin.type, value, account, exchanges=[*origin.exchanges], was_listed=True)
        self._keys.append(key)
        self._set_state(key, KeyState.MAYBE)

    # -- what every exchange changes --------------------------------------------------------------------------

    @contextmanager
    def watching(self, sending: Sending) -> Iterator[None]:
        """Record a registration before its request is sent, and take over its exchange afterwards.

        Raises JournalError if it cannot be recorded; then nothing is sent.
        """
        key, state_before = None, KeyState.NOT_SENT
        if sending.request.method == "DELETE":
            self.lists.started = True
        if sending.intent.operation == "registerPixKey":
            registration = sending.sent
            named_key = self._named_in(registration.body, registration.last_segment)
            state_before = named_key.state
            key = self._record_attempt(named_key, registration.last_segment)
        try:
            yield
        finally:
            self._take(sending.exchange, key, state_before)

    def _record_attempt(self, key: RunKey, account: str) -> RunKey | None:
        """Record that a key may be registered at the account from now on, and return it.

        None for a key that was there before the run, because its registration changes nothing.
        """
        self.lists.started = self.lists.started or key.owned
        if self.was_there_before(key.value):
            key.state = KeyState.BEFORE
            return None
        if not key.is_left:
            key.account = account
        if key.state not in (KeyState.REGISTERED, KeyState.KEPT):
            self._set_state(key, KeyState.MAYBE)
        return key

    def _named_in(self, body: bytes, account: str) -> RunKey:
        """The key that a registration names. If it is not known, it is added.

        A key of the profile counts as named if it stands anywhere in the body. Each empty key is a new one, because a
        service may make another key each time.
        """
        texts = texts_of(body)
        own_key = next((key for own_value, key in self._owned.items() if own_value in texts), None)
        if own_key is not None:
            return own_key
        value, key_type = key_sent(body)
        known_key = self._key_with_value(value, account) if value else None
        if known_key is not None:
            return known_key
        documented_type = key_type if key_type in KEY_TYPES else ""
        if value is not None:
            name = _name_of_synthetic(documented_type, value)
        elif documented_type:
            name = _MADE
        else:
            name = say("a key that its request does not name")
        new_key = RunKey(name, documented_type, value, account)
        self._keys.append(new_key)
        return new_key

    def _take(self, exchange: Exchange, key: RunKey | None, state_before: KeyState) -> None:
        """Change the states by an exchange. `key` is the key that it may register, `state_before` its state before.

        A list counts only if it was asked for with the valid token and without a query, which may leave keys out.
        """
        if exchange.operation == "registerPixKey":
            self.last_registration = exchange.number
        if key is not None:
            self._take_registration(exchange, key, state_before)
        elif exchange.operation == "deletePixKey":
            self._take_deletion(exchange)
        elif exchange.operation == "listPixKeys" and exchange.credential == VALID and "?" not in exchange.request.url:
            self._take_list(exchange)

    def _take_registration(self, exchange: Exchange, key: RunKey, state_before: KeyState) -> None:
        """Change the state of a key by the answer to its registration, and note its exchange if it may exist."""
        was_unsure = key.state in UNSURE
        self._set_state(key, state_after_registration(key, exchange, state_before, is_sandbox=self._is_sandbox))
        may_be_registered_by_it = was_unsure and key.state in UNSURE and not was_not_sent(exchange)
        if registered(exchange) or may_be_registered_by_it:
            key.exchanges.append(exchange.number)

    def _take_deletion(self, exchange: Exchange) -> None:
        """Change the state of each key that the answer to a deletion shows to be gone."""
        self.lists.note_deletion(exchange)
        for key in self.not_cleaned_up():
            if is_closed_by(key, exchange):
                key.exchanges.append(exchange.number)
                self._set_state(key, state_after_deletion(key, exchange))

    def _take_list(self, exchange: Exchange) -> None:
        """Change the state of each key by a list, whether it is of the account of the key or of another one."""
        account = exchange.request.last_segment
        listing = self.lists.note_list(exchange)
        if listing is None:
            return
        before = self.lists.before.get(account)
        for key in [*self._keys]:  # a copy, because keys may be added meanwhile
            if key.value is None:
                self._take_list_for_key_without_value(key, listing, account)
                continue
            sight = sight_of(key, key.value, listing, before)
            if self._is_at(key, account):
                self._take_sight(key, sight)
            else:
                self._take_sight_elsewhere(key, key.value, sight, account)

    def _is_at(self, key: RunKey, account: str) -> bool:
        """True if the key is, or may be, a key of the account.

        Any account of the profile may hold a key of the profile that was not sent yet.
        """
        is_its_account = account == key.account or not key.account
        may_be_anywhere = key.owned and key.state is KeyState.NOT_SENT
        return is_its_account or may_be_anywhere

    def _take_sight(self, key: RunKey, sight: Sight) -> None:
        """Change the state of a key by the list of its account."""
        key.was_listed = key.was_listed or sight.may_be_shown
        is_missing = key.state is KeyState.REGISTERED and sight.is_absent and not sight.may_be_shown
        key.was_missed = key.was_missed or is_missing
        self._set_state(key, state_after_list(key, sight, is_sandbox=self._is_sandbox))

    def _take_sight_elsewhere(self, key: RunKey, value: str, sight: Sight, account: str) -> None:
        """Change the state of a key by the list of another account of the profile.

        If the list shows a synthetic key that is new there, the service registered it at another account than the named
        one. If a key was refused for a synthetic account, and the list does not show it, it was not registered.
        """
        if account not in self.accounts:
            return
        before = self.lists.before.get(account)
        was_shown_before = before is not None and before.shows(value)
        is_synthetic = not key.owned and MARK in value
        is_new_here = not was_shown_before and self._key_with_value(value, account) is None
        if sight.is_shown and is_synthetic and is_new_here:
            self._add_listed(key, value, account)
        elif sight.is_absent and key.is_for_nobody and key.state is KeyState.REFUSED:
            self._set_state(key, KeyState.GONE)

    def _take_list_for_key_without_value(self, key: RunKey, listing: Listing, account: str) -> None:
        """A refused key of unknown value is not registered if everything new in the list is another key of the run."""
        is_its_account = account == key.account or not key.account
        if key.state is not KeyState.REFUSED or self.before is None or not is_its_account:
            return
        new_texts = {plain(text) for text in listing.texts if self.lists.is_new_since(text, key.exchanges[0])}
        texts_of_run = set(map(plain, self.values))
        if new_texts <= texts_of_run:
            self._set_state(key, KeyState.GONE)

    # -- the record -------------------------------------------------------------------------------------------

    def _set_state(self, key: RunKey, state: KeyState) -> None:
        """Change the state of a key, and record it if it means another event.

        All keys of unknown value of an account and a type share one entry, which is closed with the last of them.
        """
        event_before = self._event_of(key)
        key.state = state
        event = self._event_of(key)
        if self._record is None or event == event_before:
            return
        entries_left = [(run_key.account, run_key.type, run_key.value) for run_key in self.not_cleaned_up()]
        is_shared_entry = (key.account, key.type, key.value) in entries_left
        if event == GONE and is_shared_entry:
            return
        self._record.note(key.account, key.type, key.value, event, ours=not key.owned)

    def _event_of(self, key: RunKey) -> str:
        """The event of the record that stands for the state of a key.

        A key of the profile is recorded as registered only if a list before the run was read, which did not show it.
        """
        event = EVENT_OF_STATE.get(key.state, GONE)
        may_be_of_somebody = key.owned and self.before is None
        return MAYBE if event == REGISTERED and may_be_of_somebody else event


def name_of(keys: tuple[PixKey, ...], place: int) -> Text:
    """Name of a key of the profile for people, without its value: `EMAIL, number 2 of pix_keys`."""
    return say("{type}, number {place} of pix_keys", type=keys[place].type, place=place + 1)


def _is_named_in(texts: list[str], value: str | None) -> bool:
    """True if one of the texts names the key with this value, which may be unknown."""
    if not value:
        return False
    return any(names(text, value) for text in texts)


def _name_of_synthetic(key_type: str, value: str) -> Text:
    """Name of a synthetic key for people, with its value in ASCII."""
    value_in_ascii = ascii(value)[1:-1]  # without the quotes
    return f"{key_type or 'key'} {value_in_ascii}"[:_LONGEST_NAME]
