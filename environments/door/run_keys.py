"""The keys that a run registers or deletes: which key a request names, and what became of it.

The door gives every exchange (a request with its answer) to `Keys`. Whoever wants to delete a key of the run asks
`Keys.may_be_deleted` about this one key. Related modules:

| module | what it has |
|---|---|
| `key_states.py` | pure functions that tell the next state of a key |
| `account_lists.py` | the lists of keys of each account, before the run and now |
| `key_record.py` | a file with the keys that were not deleted, for later runs |
| `key_changes.py` | stops the registrations and deletions of all keys as soon as a list shows that a key was harmed |

| word | meaning |
|---|---|
| key of the profile | a PIX key in the settings of the run (the profile); it belongs to a person who tests |
| synthetic key or account | made up by the suite, such as `pixconf-1a2b3c4d@example.com`; it belongs to nobody |
| key of unknown value | a RANDOM key, which the service made, and which no answer has shown |
| value of a key | the text that identifies it, such as `a@b.example`; a report shows its label instead |
| a registration is granted | its answer is no refusal |
| a key is registered | the answer says so: `Success` is true |
| a key is accepted | it is registered, or its registration is granted by an answer without `Success` |
| list | the answer to GET /v1/pix/keys/{accountId}, which has the keys of an account |
| record | a file with the keys that runs registered and did not delete (key_record.py) |
| sandbox | a test system whose keys and money are worth nothing |
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
    is_gone_after,
    is_unambiguous,
    may_be_stored_as,
    may_have_arrived,
    presence_of,
    profile_key_may_be_deleted,
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

_LONGEST_LABEL = 80
"""Most characters that a report shows of a synthetic key: some of these keys fill a line."""
_LABEL_OF_MADE_KEY = say("RANDOM, made by the service")


class Keys:
    """The PIX keys that the run uses, and what became of each.

    Without `record` nothing is written down for later runs. Only one thread at a time calls the methods that change a
    state.
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
        """Begin with the keys of the profile (the settings of the run), before any of them is sent.

        `accounts` are the accounts of the profile. `record` is the file with the keys that were not deleted, and
        `key_at` is the JSON pointer to the keys in a list.
        """
        self.accounts = accounts
        """The accounts of the profile."""
        self.account = accounts[0] if accounts else ""
        """The account at which the run registers: the first of the profile."""
        self.lists = AccountLists(self.account, is_sandbox=is_sandbox, key_at=key_at)
        self.last_registration = 0
        """Number of the exchange of the last registration; 0 if there is none. A list with a lower number was read
        before this registration, so it is read again before a deletion."""
        random_keys = [key for key in keys_of_profile if key.type == "RANDOM"]
        self.new_listed_key_is_of_run = is_sandbox or any(key.disposable for key in random_keys)
        """True if a new key in a list counts as the RANDOM key that the run asked for.

        At a real account somebody else may register a key at the same time. If the profile has `disposable: true` at a
        RANDOM key, the operator promises that nobody else registers keys at this account."""
        self._is_sandbox = is_sandbox
        self._record = record
        self._profile_keys = self._run_keys_of_profile(keys_of_profile)  # by value
        self._keys = list(self._profile_keys.values())  # the keys of the profile come first, whatever is sent first

    def _run_keys_of_profile(self, keys_of_profile: tuple[PixKey, ...]) -> dict[str, RunKey]:
        """The keys of the profile (the settings of the run) by their value. RANDOM keys, which have none, are left out.

        `{"a@b.example": RunKey(…)}`, for example. On a sandbox the run may delete each of them, because no key there
        belongs to anybody.
        """
        run_keys = {}
        for place, key in enumerate(keys_of_profile):
            if key.key:
                run_keys[key.key] = RunKey(
                    label_of_profile_key(keys_of_profile, place),
                    key.type,
                    key.key,
                    self.account,
                    is_of_profile=True,
                    disposable=key.disposable or self._is_sandbox,
                )
        return run_keys

    # -- questions --------------------------------------------------------------------------------------------

    def not_cleaned_up(self) -> list[RunKey]:
        """The keys that the run registered, or may have registered, and that may still be registered.

        The keys of the profile (the settings of the run) come first, then the keys that the suite or the service made.
        """
        return [key for key in self._keys if key.may_still_exist]

    def helps_to_clean_up(self, sending: Sending) -> bool:
        """True if the request helps to delete a key of the run: it deletes the key, or reads a list that may show it.

        Only keys count that may still be registered. The last requests that the limits permit are kept for these.
        """
        operation = sending.intent.operation
        if operation not in ("listPixKeys", "deletePixKey"):
            return False
        keys_left = self.not_cleaned_up()
        if not keys_left:
            return False
        request = sending.plain_request
        if operation == "listPixKeys":
            account_is_synthetic = SYNTHETIC_PREFIX in request.last_segment
            return not account_is_synthetic  # the list of a made-up account shows nothing
        texts = texts_of(request.body)
        return any(_key_is_named_in(texts, key.value) for key in keys_left)

    def was_there_before(self, value: str | None) -> bool:
        """True if the key was registered before the run, so that it belongs to somebody and must not be deleted.

        | key | result |
        |---|---|
        | of the profile (the settings of the run) | true if its state is BEFORE |
        | made up, and sent by this run | false, even if the list before the run shows it |
        | any other | true if a list before the run shows it |

        A key of the profile that an earlier run registered has the state REGISTERED, if the record of keys says so.

        On a sandbox (a test system) the list that counts as the one before the run may be read after the first
        registration. So that list may show a key of this run.
        """
        if value in self._profile_keys:
            return self._profile_keys[value].state is KeyState.BEFORE
        if not value or value in self.values_perhaps_registered:
            return False
        return self.lists.was_listed_before_run(value)

    @property
    def list_before_run(self) -> Listing | None:
        """The list of keys that was read before the run changed any key, of the account at which the run registers.

        It shows which keys belong to somebody. None if it was not read.
        """
        return self.lists.before.get(self.account)

    def may_be_deleted(self, value: str) -> bool:
        """True if the run may delete the key with this value. It must not have been registered before the run.

        | key | further conditions |
        |---|---|
        | made up by the suite or the service | at a real service, it cannot be read as another key (`is_unambiguous`) |
        | of the profile (the settings of the run) | see `profile_key_may_be_deleted` |
        """
        if value not in self._profile_keys:
            is_read_by_all_in_the_same_way = self._is_sandbox or is_unambiguous(value)
            return is_read_by_all_in_the_same_way and not self.was_there_before(value)
        key = self._profile_keys[value]
        # On a sandbox the list of the account at which the run registers is enough, because no key there belongs to
        # anybody.
        list_before = self.list_before_run if self._is_sandbox else self.lists.before.get(key.account)
        return profile_key_may_be_deleted(
            key, list_before, self.lists.last.get(key.account), is_sandbox=self._is_sandbox
        )

    def has_random_key_of_unknown_value(self) -> bool:
        """True if this run or an earlier one registered a RANDOM key, whose value the service made and nobody knows.

        Such a key cannot be deleted, so no further RANDOM key is registered meanwhile. Raises JournalError.
        """
        if self._record and self._record.last_event_of(self.account, "RANDOM", None):
            return True
        random_keys = [key for key in self.not_cleaned_up() if key.type == "RANDOM"]
        return any(key.value is None for key in random_keys)

    @property
    def values_perhaps_registered(self) -> frozenset[str]:
        """The values of the keys that the run registered, or may have registered, deleted keys included.

        Keys whose value is unknown, because the service made it, are left out.
        """
        keys = [key for key in self._keys if key.state in PERHAPS_REGISTERED_BY_RUN]
        return frozenset(key.value for key in keys if key.value)

    def keys_of_runs(self) -> Iterator[PixKey]:
        """The keys of this run, and the keys that earlier runs registered and did not delete.

        The keys of this run are the keys of the profile (its settings), the keys that it made up, and the keys that a
        service made for it. Keys of unknown value are left out. Raises JournalError if the record of earlier runs
        cannot be read.
        """
        for key in self._keys:
            if key.value:
                yield PixKey(key.type, key.value)
        if self._record is None:
            return
        for event in self._record.events_of_made_up_keys():
            if event.get("key"):
                yield PixKey(event["type"], event["key"])

    def are_listed_outside_key_at(self, account: str) -> bool:
        """True if the last list of an account shows a key of a run at another place than `key_at`.

        `key_at` is the JSON pointer to the keys in a list, as the settings of the run have it. If it is wrong, the list
        does not show which keys exist, so nothing may be deleted.

        A key that the suite did not make up counts only if the list before the run did not show it at another place:
        a list may also name the holder of the account, whose tax number may be a key. Raises JournalError.
        """
        last_list = self.lists.last.get(account)
        if last_list is None:
            return False
        list_before = self.lists.before.get(account)
        for key in self.keys_of_runs():
            is_synthetic = SYNTHETIC_PREFIX in key.key
            was_there_before = list_before is not None and list_before.shows_outside_key_at(key.key)
            may_be_holder_of_account = was_there_before and not is_synthetic
            if last_list.shows_outside_key_at(key.key) and not may_be_holder_of_account:
                return True
        return False

    def deletions_still_listed(self, deletions: Iterable[Exchange]) -> list[Exchange]:
        """The deletions (DELETE requests, which all succeeded) whose key the last list still shows.

        The report warns of them, because perhaps another key was deleted.
        """
        still_listed = []
        for deletion in deletions:
            texts = texts_of(deletion.request.body)  # one of them is the key
            states = [self._state_of(text) for text in texts]
            if KeyState.STILL_LISTED in states:  # "deleted, but still listed"
                still_listed.append(deletion)
        return still_listed

    def seems_free(self, value: str) -> bool:
        """True if the key is not registered, as far as the answers and lists of this run show.

        So a registration of it may succeed, and is not a repeated one.
        """
        return self._state_of(value) in SEEMINGLY_NOT_REGISTERED

    def _state_of(self, value: str) -> KeyState:
        """The state of the key with this value, such as REGISTERED; NOT_SENT for a text that is no key of the run.

        A run registers its keys at one account, so a key of the same value at another account does not count.
        """
        key = self._key_with_value(value, self.account)
        return key.state if key else KeyState.NOT_SENT

    def _key_with_value(self, value: str, account: str) -> RunKey | None:
        """The key of the run with this value at this account; None if there is no such key.

        A made-up key that was sent for two accounts counts as two keys, because each must be deleted at its account. A
        key of the profile (the settings of the run) is one key, whatever the account.
        """
        for key in self._keys:
            is_of_this_account = key.is_of_profile or key.account == account
            if key.value == value and is_of_this_account:
                return key
        return None

    def key_of(self, exchange: Exchange) -> RunKey | None:
        """The key of the run that this exchange (a request with its answer) registered, or may have registered.

        None if it registered no key.
        """
        for key in self._keys:
            if exchange.number in key.exchanges:
                return key
        return None

    # -- what the scenarios note ------------------------------------------------------------------------------

    def count_as_registered_if_recorded(self, key: PixKey) -> bool:
        """Count a key of the profile as registered by this run, if an earlier run registered it and did not delete it.

        Then this run may delete the key. Returns true if the key counts as registered by this run. All three conditions
        must hold:

        - The record of keys, a file, says that an earlier run registered it.
        - The list of keys before the run shows it at its account: its owner may have moved it to another account.
        - The profile (the settings of the run) permits to delete it (`disposable: true`).

        Raises JournalError if the record cannot be read.
        """
        recorded_event = self._record.last_event_of(self.account, key.type, key.key) if self._record else ""
        was_registered_by_a_run = recorded_event == REGISTERED
        is_at_its_account = self.list_before_run is not None and self.list_before_run.may_show(key.key)
        profile_key = self._profile_keys[key.key]
        if was_registered_by_a_run and is_at_its_account and profile_key.disposable:
            profile_key.state = KeyState.REGISTERED
            return True
        return False

    def learn_value(self, key: RunKey, value: str | None) -> None:
        """Note the value of a key that the service made, so that the run can delete the key.

        `value` is None if it turned out that no answer shows the value. A masked text, such as `1a2b****`, and the
        value of a key of the profile (the settings of the run) are ignored, because neither is the value of the key
        that the service made. In the record of keys, the line of the key is replaced by a line with its new value.
        Raises JournalError.
        """
        is_masked = value is not None and has_mask(value)
        is_of_profile = value in self._profile_keys
        if value == key.value or is_of_profile or is_masked:
            return
        state = key.state
        self._set_state(key, KeyState.GONE)  # removes the line with the old value from the record
        key.label = _LABEL_OF_MADE_KEY
        key.type = "RANDOM"  # a service may also make a key for a registration of another type
        key.value = value
        # At a real service a value is learned only if a list shows it. That a list lacked the earlier value says
        # nothing about the new value.
        key.was_listed = value is not None
        key.was_absent_after_acceptance = False
        self._set_state(key, state)  # writes a line with the new value

    def set_last_states(self) -> None:
        """Set the last state of each key, which the report shows. It is called at the end of the run.

        Then it is known whether any list of keys was read in the run, and no later list can change a state.
        """
        was_any_list_read = bool(self.lists.last)
        for key in self._keys:
            self._set_state(key, state_at_the_end(key, was_any_list_read=was_any_list_read))

    def add_changed_keys(self, account: str) -> None:
        """Find keys in the last list of an account that the service stored in another form than the run sent them.

        Some services cut a long key, or leave dots out, before they register it. The stored key is noted as perhaps
        registered at this account, so that the run deletes it or reports it. Only keys that the suite made up are
        compared, and only texts that neither the run sent nor the list before the run had.
        """
        listing = self.lists.last.get(account)
        if listing is None:
            return
        list_before = self.lists.before.get(account)
        values_of_run = {key.value for key in self._keys if key.account == account}
        texts_before = list_before.texts if list_before else frozenset()
        new_texts = listing.texts - values_of_run - texts_before
        for text in sorted(new_texts):
            origin = self._key_perhaps_stored_as(text)
            if origin is not None:
                self._add_listed_key(origin, text, account)

    def _key_perhaps_stored_as(self, text: str) -> RunKey | None:
        """The key of the run that the service may have stored as this text, which a list shows.

        For the text `pixconf-1a2b3c4d` it may be the key `pixconf-1a2b3c4d@example.com`. None if there is no such key.
        """
        for key in self._keys:
            if may_be_stored_as(key, text):
                return key
        return None

    def _add_listed_key(self, origin: RunKey, value: str, account: str) -> None:
        """Note a further key that the list of this account shows, so that the run deletes it.

        The service stored the key `origin`, which the run sent, with this value or at this account. So the exchanges of
        `origin` registered it.
        """
        label = _label_of_synthetic(origin.type, value)
        key = RunKey(label, origin.type, value, account, exchanges=[*origin.exchanges], was_listed=True)
        self._keys.append(key)
        self._set_state(key, KeyState.MAYBE)

    # -- what every exchange changes --------------------------------------------------------------------------

    @contextmanager
    def recording(self, sending: Sending) -> Iterator[None]:
        """Before a request is sent, write down the key that it may register; afterwards, note what its answer shows.

        The request is sent inside the `with` block. The key is written to the record of keys, a file, so that a later
        run can delete the key even if this run is killed. If it cannot be written, JournalError is raised and nothing
        is sent. Answers to deletions and lists also show what became of keys. Other requests change nothing.
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
        """Note in the record of keys, a file, that a key may be registered at the account from now on. Return the key.

        Returns None for a key that was registered before the run: its registration changes nothing, and the run must
        not delete it.
        """
        if key.is_of_profile:
            # A later list does not show whether this key was there before the run. A made-up key cannot have been
            # there.
            self.lists.run_may_have_changed_keys = True
        if self.was_there_before(key.value):
            key.state = KeyState.BEFORE
            return None
        # If an earlier registration may have registered the key at another account, it has to be deleted there.
        if not key.may_still_exist:
            key.account = account
        # If it is registered for certain, a further registration does not make that doubtful.
        if key.state not in (KeyState.REGISTERED, KeyState.STILL_LISTED):
            self._set_state(key, KeyState.MAYBE)
        return key

    def _find_or_add_key(self, body: bytes, account: str) -> RunKey:
        """The key of the run that the body of a registration names. A key that was not sent before is added first.

        A key of the profile (the settings of the run) counts as named if it is anywhere in the body, because a service
        may read another member than `pixKey`. A registration without a key is a new key each time, because a service
        may make one each time.
        """
        texts = texts_of(body)
        for profile_value, profile_key in self._profile_keys.items():
            if profile_value in texts:
                return profile_key
        value, key_type = key_and_type_in(body)
        if value:
            known_key = self._key_with_value(value, account)
            if known_key is not None:
                return known_key
        new_key = _new_key(value, key_type, account)
        self._keys.append(new_key)
        return new_key

    def _update_states(self, exchange: Exchange, key: RunKey | None, state_before: KeyState) -> None:
        """Change the states of keys by an exchange (a request with its answer).

        `key` is the key that it may register, with its state before the request (`state_before`). It is None for a
        request that registers nothing, and for the registration of a key that existed before the run. A list counts
        only if the request had the valid token and no query, because a query such as `?page=2` may leave keys out.
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
        """Change the state of a key by the answer to its registration (`exchange`).

        `state_before` is its state before the request was sent. If this exchange has registered the key, or may have
        registered it, its number is kept with the key, for the report.
        """
        was_unknown = key.state in REGISTRATION_UNKNOWN
        # Status 200 without `Success`: the service may register the key later.
        may_be_registered_later = is_granted(exchange) and is_uncertain_registration(exchange)
        is_accepted = registered(exchange) or may_be_registered_later
        self._set_state(key, state_after_registration(key, exchange, state_before, is_sandbox=self._is_sandbox))
        key.was_accepted = key.was_accepted or is_accepted
        # A request that got no clear answer may have registered the key only if nobody knew before it whether the key
        # is registered, and nobody knows after it.
        is_still_unknown = was_unknown and key.state in REGISTRATION_UNKNOWN
        may_be_registered_by_exchange = is_still_unknown and may_have_arrived(exchange)
        if registered(exchange) or may_be_registered_by_exchange:
            key.exchanges.append(exchange.number)

    def _update_by_deletion(self, exchange: Exchange) -> None:
        """Change the state of each key that is not registered any more, as the answer to this DELETE shows.

        The lists of keys are told which keys the request named, so that these do not count as vanished.
        """
        self.lists.note_deletion(exchange)
        for key in self.not_cleaned_up():
            if is_gone_after(key, exchange):
                key.exchanges.append(exchange.number)
                self._set_state(key, state_after_deletion(key, exchange))

    def _update_by_list(self, exchange: Exchange) -> None:
        """Change the state of each key by an answer to GET /v1/pix/keys/{accountId}.

        The list may show the account of a key, or another account. Both say something about the key, because a service
        may register a key at another account than the named one. A list that cannot be read changes nothing.
        """
        account = exchange.request.last_segment
        listing = self.lists.note_list(exchange)
        if listing is None:
            return
        list_before = self.lists.before.get(account)
        for key in list(self._keys):  # a copy, because keys may be added meanwhile
            if key.value is None:
                self._update_key_without_value(key, listing, account)
                continue
            presence = presence_of(key.value, listing, list_before, is_of_profile=key.is_of_profile)
            if self._counts_as_account_of_key(key, account):
                self._update_by_own_account(key, presence)
            else:
                self._update_by_other_account(key, key.value, presence, account)

    def _counts_as_account_of_key(self, key: RunKey, account: str) -> bool:
        """True if the list of this account counts as the list of the account of the key.

        That is true if both accounts are equal, or if the key has no account so far. A key of the profile (the settings
        of the run) may be registered at any account of the profile. So until the run sends it, each list counts.
        """
        is_its_account = account == key.account or not key.account  # a key without an account may be at any
        may_be_anywhere = key.is_of_profile and key.state is KeyState.NOT_SENT
        return is_its_account or may_be_anywhere

    def _update_by_own_account(self, key: RunKey, presence: Presence) -> None:
        """Change the state of a key by a list of its account. `presence` says whether the list shows the key.

        If the registration was accepted and the key is certainly not in the list, that is noted in the key: the service
        may register the key later, or not at all.
        """
        if presence.may_be_shown:  # in doubt it counts as listed, so that the key is not said to come late
            key.was_listed = True
        # `is_absent` looks for the exact key, also masked. `may_be_shown` is looser for a key of the profile: it is
        # also true if only the last eight digits of a phone number are equal.
        is_certainly_absent = presence.is_absent and not presence.may_be_shown
        should_be_listed = key.was_accepted and key.state in (KeyState.REGISTERED, KeyState.MAYBE)
        if is_certainly_absent and should_be_listed:
            key.was_absent_after_acceptance = True
        self._set_state(key, state_after_list(key, presence, is_sandbox=self._is_sandbox))

    def _update_by_other_account(self, key: RunKey, value: str, presence: Presence, account: str) -> None:
        """Change the state of a key by the list of another account than the one that its registration named.

        Only accounts of the profile (the settings of the run) count.

        | the list of this account | what follows |
        |---|---|
        | shows a made-up key that is new there | it was registered at the wrong account: it is noted there, too |
        | does not show a key that was refused for a made-up account | the key was not registered |

        A made-up account has no list of its own, so the lists of the real accounts decide.
        """
        if account not in self.accounts:
            return
        is_synthetic = not key.is_of_profile and SYNTHETIC_PREFIX in value
        is_refused_at_synthetic_account = key.is_at_synthetic_account and key.state is KeyState.REFUSED
        if presence.is_shown and is_synthetic and self._is_new_at(account, value):
            self._add_listed_key(key, value, account)
        elif presence.is_absent and is_refused_at_synthetic_account:
            self._set_state(key, KeyState.GONE)

    def _is_new_at(self, account: str, value: str) -> bool:
        """True if the list before the run did not show this key, and no answer so far showed it at this account."""
        list_before = self.lists.before.get(account)
        was_shown_before = list_before is not None and list_before.shows(value)
        return not was_shown_before and self._key_with_value(value, account) is None

    def _update_key_without_value(self, key: RunKey, listing: Listing, account: str) -> None:
        """Decide by a list whether the service registered a RANDOM key although it refused the registration.

        The value of that key is unknown. So the list is searched for a new text that is no other key of the run:

        | the list before | the list now | what follows |
        |---|---|---|
        | A | A, B, and B is another key of this run | the refused registration made no key: GONE |
        | A | A, B, and the run does not know B | B may be the key: its state stays REFUSED |

        Nothing can be said if the list shows another account, or if no list was read before the run. Texts are compared
        without letter case and punctuation (`plain`), because a list may show a key in another form.
        """
        is_its_account = account == key.account or not key.account  # a key without an account may be at any
        can_compare = is_its_account and self.list_before_run is not None
        if key.state is not KeyState.REFUSED or not can_compare:
            return
        number_of_registration = key.exchanges[0]
        new_texts = set()
        for text in listing.texts:
            if self.lists.may_be_random_key_made_since(text, number_of_registration):
                new_texts.add(plain(text))
        texts_of_run = {plain(value) for value in self.values_perhaps_registered}
        if new_texts.issubset(texts_of_run):
            self._set_state(key, KeyState.GONE)

    # -- the record -------------------------------------------------------------------------------------------

    def _set_state(self, key: RunKey, state: KeyState) -> None:
        """Change the state of a key, and write a line to the record of keys if that changes what the record says.

        Several states are the same event in the record: MAYBE and REFUSED both mean "perhaps registered". The record of
        keys is a file. All keys of unknown value of one account and type share a line of the record. The line is
        removed when the last of these keys is gone. Raises JournalError.
        """
        event_before = self._event_of(key)
        key.state = state
        event = self._event_of(key)
        if self._record is None or event == event_before:
            return
        remaining_keys = [(run_key.account, run_key.type, run_key.value) for run_key in self.not_cleaned_up()]
        another_key_shares_line = (key.account, key.type, key.value) in remaining_keys
        if event == GONE and another_key_shares_line:
            return
        self._record.note(key.account, key.type, key.value, event, ours=not key.is_of_profile)

    def _event_of(self, key: RunKey) -> str:
        """The event that is written to the record of keys for a key in its present state, such as MAYBE.

        A later run deletes a key of the profile (the settings of the run) if the record says REGISTERED. So that is
        written only if a list before the run was read, and did not show the key. Otherwise the key may have belonged to
        somebody before the run, and MAYBE is written.
        """
        event = EVENT_OF_STATE.get(key.state, GONE)
        may_belong_to_somebody = key.is_of_profile and self.list_before_run is None
        if event == REGISTERED and may_belong_to_somebody:
            return MAYBE
        return event


def label_of_profile_key(keys: tuple[PixKey, ...], place: int) -> Text:
    """What a report calls a key of the profile, without its value, which is personal: `EMAIL, number 2 of pix_keys`.

    `place` is its index in the list `pix_keys` of the profile (the settings of the run).
    """
    return say("{type}, number {place} of pix_keys", type=keys[place].type, place=place + 1)


def _new_key(value: str | None, key_type: str, account: str) -> RunKey:
    """A key that a registration names and that is not in the settings of the run: the suite or the service made it up.

    `value` is None if the service makes the key. A type that the interface document does not name is kept as "".
    """
    documented_type = key_type if key_type in KEY_TYPES else ""
    if value is not None:
        label = _label_of_synthetic(documented_type, value)
    elif documented_type:
        label = _LABEL_OF_MADE_KEY
    else:
        label = say("a key that its request does not name")
    return RunKey(label, documented_type, value, account)


def _key_is_named_in(texts: list[str], value: str | None) -> bool:
    """True if one of these texts, which come from a request body, has the key with this value in it.

    False if the value is unknown (None) or empty, because every text has an empty text in it.
    """
    if not value:
        return False
    return any(contains_key(text, value) for text in texts)


def _label_of_synthetic(key_type: str, value: str) -> Text:
    """What a report calls a made-up key: its type and its value in ASCII, `EMAIL pixconf-1a2b3c4d@example.com`.

    The value may be shown, because it belongs to nobody. A long one is cut.
    """
    value_in_ascii = ascii(value)[1:-1]  # without the quotes
    return f"{key_type or 'key'} {value_in_ascii}"[:_LONGEST_LABEL]
