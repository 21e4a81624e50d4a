"""The keys that a run registers or deletes: which key a request names, and what became of it.

The door gives every exchange to `Keys`, and the scenarios ask it which keys they may delete. Three modules help it:

| module | what it has |
|---|---|
| `key_states.py` | pure functions that tell the next state of a key |
| `account_lists.py` | the lists of keys of each account, before the run and now |
| `key_record.py` | a file with the keys that were not deleted, for later runs |

A key of the profile is also called an own key. A synthetic key is one that the suite makes up, and that belongs to
nobody; a synthetic account is made up in the same way. The value of a key that the service makes may stay unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from environments.door.account_lists import AccountLists
from environments.door.bodies import contains_key, key_and_type_in, texts_of
from environments.door.key_record import GONE, MAYBE, REGISTERED, KeyRecord
from environments.door.key_states import (
    EVENT_OF_STATE,
    PERHAPS_REGISTERED_BY_RUN,
    REGISTRATION_UNKNOWN,
    SEEMINGLY_NOT_REGISTERED,
    KeyState,
    Presence,
    RunKey,
    can_be_named,
    had_no_connection,
    is_gone_after,
    may_have_become,
    own_key_may_be_deleted,
    presence_of,
    state_after_deletion,
    state_after_list,
    state_after_registration,
    state_at_the_end,
)
from environments.door.outgoing import Sending
from environments.profiles.model import PixKey
from spec.answers import is_granted, is_uncertain_registration, registered
from spec.exchange import VALID, Exchange
from spec.interface import KEY_TYPES, SYNTHETIC_PREFIX
from spec.key_list import Listing, has_mask, plain
from spec.message import Text, say

_LONGEST_NAME = 80
"""Most characters that a report shows of a synthetic key: some of these keys fill a line."""
_MADE = say("RANDOM, made by the service")


class Keys:
    """The state of each key that the run uses.

    Without `record` nothing is kept for later runs. The methods that change a state are called under the lock of the
    door.
    """

    def __init__(
        self,
        keys_of_profile: tuple[PixKey, ...] = (),
        record: KeyRecord | None = None,
        accounts: tuple[str, ...] = (),
        *,
        is_sandbox: bool = False,
        key_at: str | None = None,
    ) -> None:
        self.accounts = accounts
        """The accounts of the profile."""
        self.account = next(iter(accounts), "")
        """The account at which the run registers: the first of the profile."""
        self.lists = AccountLists(self.account, is_sandbox=is_sandbox, key_at=key_at)
        self.last_registration = 0
        """Number of the exchange of the last registration; 0 if there is none."""
        self.may_tell_random_by_lists = is_sandbox or any(
            key.type == "RANDOM" and key.disposable for key in keys_of_profile
        )
        """True if the run may take a new key in a list for the RANDOM key that it asked for."""
        self._is_sandbox = is_sandbox
        self._record = record
        self._profile_keys: dict[str, RunKey] = {}  # the keys of the profile, by value
        for place, key in enumerate(keys_of_profile):
            if key.key:  # a RANDOM key has no value in the profile
                self._profile_keys[key.key] = RunKey(
                    name_of(keys_of_profile, place),
                    key.type,
                    key.key,
                    self.account,
                    is_of_profile=True,
                    disposable=key.disposable or is_sandbox,
                )
        self._keys = list(self._profile_keys.values())  # the keys of the profile come first, whatever is sent first

    # -- questions --------------------------------------------------------------------------------------------

    def not_cleaned_up(self) -> list[RunKey]:
        """The keys that the run registered, or may have registered, and that may still be there.

        The keys of the profile come first.
        """
        return [key for key in self._keys if key.may_still_exist]

    def may_be_cleaned_up_by(self, sending: Sending) -> bool:
        """True if the request deletes a key that may still be there, or reads a list that may show such a key."""
        operation = sending.intent.operation
        if operation not in ("listPixKeys", "deletePixKey"):
            return False
        keys_left = self.not_cleaned_up()
        if operation == "listPixKeys":
            return bool(keys_left) and SYNTHETIC_PREFIX not in sending.plain_request.last_segment
        texts = texts_of(sending.plain_request.body) if keys_left else []
        return any(_is_named_in(texts, key.value) for key in keys_left)

    def was_there_before(self, value: str | None) -> bool:
        """True if a list showed the key before the run sent it, and no earlier run registered it.

        A synthetic key that this run sent is its own, although the list before the run may show it: on a sandbox that
        list may be read after the first registration.
        """
        if value in self._profile_keys:
            return self._profile_keys[value].state is KeyState.BEFORE
        if not value or value in self.values_perhaps_registered:
            return False
        return self.lists.was_listed_before_run(value)

    @property
    def list_before_run(self) -> Listing | None:
        """The list, before the run, of the account at which the run registers."""
        return self.lists.before.get(self.account)

    def may_be_deleted(self, value: str) -> bool:
        """True if the run may delete a key that it registered: a synthetic key, or a disposable key of the profile.

        Neither may have been there before the run.
        """
        if value not in self._profile_keys:
            is_unmistakable = self._is_sandbox or can_be_named(value)
            return is_unmistakable and not self.was_there_before(value)
        key = self._profile_keys[value]
        before = self.list_before_run if self._is_sandbox else self.lists.before.get(key.account)
        return own_key_may_be_deleted(key, before, self.lists.last.get(key.account), is_sandbox=self._is_sandbox)

    def holds_an_unknown_key(self) -> bool:
        """True if this run or an earlier one left a RANDOM key whose value is unknown. Raises JournalError."""
        if self._record and self._record.state(self.account, "RANDOM", None):
            return True
        return any(key.type == "RANDOM" and key.value is None for key in self.not_cleaned_up())

    @property
    def values_perhaps_registered(self) -> frozenset[str]:
        """The values of the keys that the run registered, or may have registered, as far as they are known."""
        return frozenset(key.value for key in self._keys if key.value and key.state in PERHAPS_REGISTERED_BY_RUN)

    def keys_of_runs(self) -> Iterator[PixKey]:
        """The keys that this run sent or that a service made for it, and the keys that earlier runs left.

        Keys of unknown value are left out. Raises JournalError.
        """
        yield from (PixKey(key.type, key.value) for key in self._keys if key.value)
        if self._record is None:
            return
        for _, event in self._record.left(self.accounts):
            if event.get("key"):
                yield PixKey(event["type"], event["key"])

    def are_listed_elsewhere(self, account: str) -> bool:
        """True if the last list of an account shows a key of this run or of an earlier one, but not at `key_at`.

        A key that is not synthetic counts only if the list before the run did not show it there, because a list may
        also show the holder of the account, whose tax number may be a key. Raises JournalError.
        """
        last = self.lists.last.get(account)
        if last is None:
            return False
        before = self.lists.before.get(account)
        for key in self.keys_of_runs():
            was_elsewhere_before = (
                SYNTHETIC_PREFIX not in key.key and before is not None and before.shows_elsewhere(key.key)
            )
            if last.shows_elsewhere(key.key) and not was_elsewhere_before:
                return True
        return False

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
        return self._state_of(value) in SEEMINGLY_NOT_REGISTERED

    def _state_of(self, value: str) -> KeyState:
        """The state of the key with this value at the account at which the run registers."""
        key = self._key_with_value(value, self.account)
        return key.state if key else KeyState.NOT_SENT

    def _key_with_value(self, value: str, account: str) -> RunKey | None:
        """The key of the profile with this value, or the key that was sent with this value to this account.

        A synthetic key that is sent to two accounts counts as two keys. None if there is no such key.
        """
        for key in self._keys:
            is_of_this_account = key.is_of_profile or key.account == account
            if key.value == value and is_of_this_account:
                return key
        return None

    def key_of(self, exchange: Exchange) -> RunKey | None:
        """The key that the exchange registered, or may have registered; None if there is none."""
        return next((key for key in self._keys if exchange.number in key.exchanges), None)

    # -- what the scenarios note ------------------------------------------------------------------------------

    def take_over(self, key: PixKey) -> bool:
        """Count a key of the profile as registered by this run, if the record says that an earlier run registered it.

        The list before the run must show it at its account, because it may have moved to another account since. True if
        the key is taken over. Raises JournalError.
        """
        recorded_event = self._record.state(self.account, key.type, key.key) if self._record else ""
        was_registered_by_a_run = recorded_event == REGISTERED
        is_at_its_account = self.list_before_run is not None and self.list_before_run.may_show(key.key)
        own_key = self._profile_keys[key.key]
        if not (was_registered_by_a_run and is_at_its_account and own_key.disposable):
            return False
        own_key.state = KeyState.REGISTERED
        return True

    def learn_value(self, key: RunKey, value: str | None) -> None:
        """Note the value of a key that the service made; None if no answer tells it. A masked text is no value.

        The record closes the entry of the key as it was, and gets a new one. Raises JournalError.
        """
        is_masked = value is not None and has_mask(value)
        if value == key.value or value in self._profile_keys or is_masked:
            return
        state = key.state
        self._set_state(key, KeyState.GONE)  # closes the entry with the old value
        key.name = _MADE
        key.type = "RANDOM"
        key.value = value
        key.was_listed = value is not None
        key.was_missed = False
        self._set_state(key, state)

    def set_last_states(self) -> None:
        """Set the last state of each key. It is called when nothing more is sent."""
        for key in self._keys:
            self._set_state(key, state_at_the_end(key, was_any_list_read=bool(self.lists.last)))

    def add_changed_keys(self, account: str) -> None:
        """Find keys in the last list of an account that the service made of synthetic keys, and note them.

        Some services cut a long key, or leave signs out, before they register it. Such keys count as perhaps registered
        at this account.
        """
        listing = self.lists.last.get(account)
        if listing is None:
            return
        before = self.lists.before.get(account)
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
    def recording(self, sending: Sending) -> Iterator[None]:
        """Record a registration before its request is sent, and change the states by the answer afterwards.

        Any other request is not recorded, but its answer may change states, too. Raises JournalError if a registration
        cannot be recorded; then nothing is sent.
        """
        key: RunKey | None = None
        state_before = KeyState.NOT_SENT
        if sending.request.method == "DELETE":
            self.lists.run_may_have_changed_keys = True
        if sending.intent.operation == "registerPixKey":
            registration = sending.plain_request
            named_key = self._find_or_add_key(registration.body, registration.last_segment)
            state_before = named_key.state
            key = self._record_attempt(named_key, registration.last_segment)
        try:
            yield
        finally:
            self._update_states(sending.exchange, key, state_before)

    def _record_attempt(self, key: RunKey, account: str) -> RunKey | None:
        """Record that a key may be registered at the account from now on, and return it.

        None for a key that was there before the run, because its registration changes nothing.
        """
        if key.is_of_profile:
            self.lists.run_may_have_changed_keys = True
        if self.was_there_before(key.value):
            key.state = KeyState.BEFORE
            return None
        if not key.may_still_exist:
            key.account = account
        if key.state not in (KeyState.REGISTERED, KeyState.KEPT):
            self._set_state(key, KeyState.MAYBE)
        return key

    def _find_or_add_key(self, body: bytes, account: str) -> RunKey:
        """The key that a registration names. If it is not known, it is added.

        A key of the profile counts as named if it stands anywhere in the body. Each empty key is a new one, because a
        service may make another key each time.
        """
        texts = texts_of(body)
        for own_value, own_key in self._profile_keys.items():
            if own_value in texts:
                return own_key
        value, key_type = key_and_type_in(body)
        known_key = self._key_with_value(value, account) if value else None
        if known_key is not None:
            return known_key
        new_key = _new_key(value, key_type, account)
        self._keys.append(new_key)
        return new_key

    def _update_states(self, exchange: Exchange, key: RunKey | None, state_before: KeyState) -> None:
        """Change the states by an exchange. `key` is the key that it may register, `state_before` its state before.

        A list counts only if it was asked for with the valid token and without a query, which may leave keys out.
        """
        if exchange.operation == "registerPixKey":
            self.last_registration = exchange.number
        if key is not None:
            self._update_by_registration(exchange, key, state_before)
        elif exchange.operation == "deletePixKey":
            self._update_by_deletion(exchange)
        elif exchange.operation == "listPixKeys":
            has_query = "?" in exchange.request.url
            if exchange.credential == VALID and not has_query:
                self._update_by_list(exchange)

    def _update_by_registration(self, exchange: Exchange, key: RunKey, state_before: KeyState) -> None:
        """Change the state of a key by the answer to its registration, and note its exchange if it may exist."""
        was_unsure = key.state in REGISTRATION_UNKNOWN
        is_accepted = registered(exchange) or (is_granted(exchange) and is_uncertain_registration(exchange))
        self._set_state(key, state_after_registration(key, exchange, state_before, is_sandbox=self._is_sandbox))
        key.was_accepted = key.was_accepted or is_accepted
        may_be_registered_by_it = was_unsure and key.state in REGISTRATION_UNKNOWN and not had_no_connection(exchange)
        if registered(exchange) or may_be_registered_by_it:
            key.exchanges.append(exchange.number)

    def _update_by_deletion(self, exchange: Exchange) -> None:
        """Change the state of each key that the answer to a deletion shows to be gone."""
        self.lists.note_deletion(exchange)
        for key in self.not_cleaned_up():
            if is_gone_after(key, exchange):
                key.exchanges.append(exchange.number)
                self._set_state(key, state_after_deletion(key, exchange))

    def _update_by_list(self, exchange: Exchange) -> None:
        """Change the state of each key by a list, whether it is of the account of the key or of another one."""
        account = exchange.request.last_segment
        listing = self.lists.note_list(exchange)
        if listing is None:
            return
        before = self.lists.before.get(account)
        for key in list(self._keys):  # a copy, because keys may be added meanwhile
            if key.value is None:
                self._update_key_without_value(key, listing, account)
                continue
            presence = presence_of(key, key.value, listing, before)
            if self._is_at(key, account):
                self._update_by_own_account(key, presence)
            else:
                self._update_by_other_account(key, key.value, presence, account)

    def _is_at(self, key: RunKey, account: str) -> bool:
        """True if the key is, or may be, a key of the account.

        Any account of the profile may hold a key of the profile that was not sent yet.
        """
        is_its_account = account == key.account or not key.account
        may_be_anywhere = key.is_of_profile and key.state is KeyState.NOT_SENT
        return is_its_account or may_be_anywhere

    def _update_by_own_account(self, key: RunKey, presence: Presence) -> None:
        """Change the state of a key by the list of its account."""
        if presence.may_be_shown:
            key.was_listed = True
        is_surely_absent = presence.is_absent and not presence.may_be_shown
        may_come_later = key.was_accepted and key.state in (KeyState.REGISTERED, KeyState.MAYBE)
        if is_surely_absent and may_come_later:
            key.was_missed = True
        self._set_state(key, state_after_list(key, presence, is_sandbox=self._is_sandbox))

    def _update_by_other_account(self, key: RunKey, value: str, presence: Presence, account: str) -> None:
        """Change the state of a key by the list of another account of the profile.

        If the list shows a synthetic key that is new there, the service registered it at this account instead of the
        named one. If a key was refused for a synthetic account, and the list does not show it, it was not registered.
        """
        if account not in self.accounts:
            return
        before = self.lists.before.get(account)
        was_shown_before = before is not None and before.shows(value)
        is_synthetic = not key.is_of_profile and SYNTHETIC_PREFIX in value
        is_new_here = not was_shown_before and self._key_with_value(value, account) is None
        is_refused_at_synthetic_account = key.is_at_synthetic_account and key.state is KeyState.REFUSED
        if presence.is_shown and is_synthetic and is_new_here:
            self._add_listed(key, value, account)
        elif presence.is_absent and is_refused_at_synthetic_account:
            self._set_state(key, KeyState.GONE)

    def _update_key_without_value(self, key: RunKey, listing: Listing, account: str) -> None:
        """Change the state of a key of unknown value by a list of this account.

        If it was refused, it is not registered if everything new in the list is another key of the run.
        """
        is_its_account = account == key.account or not key.account
        can_compare = is_its_account and self.list_before_run is not None
        if key.state is not KeyState.REFUSED or not can_compare:
            return
        new_texts = {plain(text) for text in listing.texts if self.lists.may_be_made_since(text, key.exchanges[0])}
        texts_of_run = set(map(plain, self.values_perhaps_registered))
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
        self._record.note(key.account, key.type, key.value, event, ours=not key.is_of_profile)

    def _event_of(self, key: RunKey) -> str:
        """The event of the record that stands for the state of a key.

        A key of the profile is recorded as registered only if a list before the run was read, which did not show it.
        """
        event = EVENT_OF_STATE.get(key.state, GONE)
        may_belong_to_somebody = key.is_of_profile and self.list_before_run is None
        if event == REGISTERED and may_belong_to_somebody:
            return MAYBE
        return event


def name_of(keys: tuple[PixKey, ...], place: int) -> Text:
    """Name of a key of the profile for people, without its value: `EMAIL, number 2 of pix_keys`."""
    return say("{type}, number {place} of pix_keys", type=keys[place].type, place=place + 1)


def _new_key(value: str | None, key_type: str, account: str) -> RunKey:
    """A key that is no key of the profile, as a registration names it. The value is None if the service makes it."""
    documented_type = key_type if key_type in KEY_TYPES else ""
    if value is not None:
        name = _name_of_synthetic(documented_type, value)
    elif documented_type:
        name = _MADE
    else:
        name = say("a key that its request does not name")
    return RunKey(name, documented_type, value, account)


def _is_named_in(texts: list[str], value: str | None) -> bool:
    """True if one of the texts names the key with this value, which may be unknown."""
    if not value:
        return False
    return any(contains_key(text, value) for text in texts)


def _name_of_synthetic(key_type: str, value: str) -> Text:
    """Name of a synthetic key for people, with its value in ASCII."""
    value_in_ascii = ascii(value)[1:-1]  # without the quotes
    return f"{key_type or 'key'} {value_in_ascii}"[:_LONGEST_NAME]
