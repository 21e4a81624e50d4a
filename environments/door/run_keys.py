"""The keys that a run registers or deletes: the state of each, as the door sees it, and the record for later runs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum

from environments.door.bodies import key_sent, names, texts_of
from environments.door.key_record import GONE, LATER, MAYBE, REGISTERED, KeyRecord
from environments.door.outgoing import Sending
from environments.profiles.model import PixKey
from spec.answers import RefusalKind, is_granted, may_be_registered, refusal_kind, registered
from spec.exchange import VALID, Exchange, FailureKind
from spec.interface import KEY_TYPES, MARK
from spec.key_list import Listing, has_mask, may_be_masked, plain
from spec.message import Text, say

_LONGEST_NAME = 80
"""Characters of a synthetic key that are shown."""
_OF_ANOTHER_TYPE = re.compile(r".*@.*|\+?[0-9][0-9 ().\-/]{8,18}[0-9]")
"""An e-mail address, a phone number, a CPF or a CNPJ: no key that a service makes."""
_MADE = say("RANDOM, made by the service")
_NOT_TO_BE_NAMED = re.compile(r"\s*|.{201,}|.*[\0-\x1f\x7f-\x9f\ud800-\udfff].*", re.DOTALL)
"""Keys that a service may read as another one: empty, long, or with control characters or halves of surrogate pairs."""
_WHOLE_PIECE = 12
"""Letters and digits of a synthetic key from which it is known where a service cut it: its mark, and five more."""


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
    LATER = "perhaps registered later: it was granted, and no list has shown it"


_LEFT = {
    KeyState.REGISTERED: REGISTERED,
    KeyState.KEPT: REGISTERED,
    KeyState.MAYBE: MAYBE,
    KeyState.REFUSED: MAYBE,
    KeyState.LATER: LATER,
}
"""The states of keys that may still be there, with the event that the record holds."""
_UNSURE = (KeyState.MAYBE, KeyState.REFUSED)
_SENT_FOR_SURE = (KeyState.REGISTERED, KeyState.MAYBE, KeyState.DELETED, KeyState.KEPT, KeyState.LATER)
_LISTED = {
    KeyState.NOT_SENT: KeyState.BEFORE,
    KeyState.GONE: KeyState.MAYBE,
    KeyState.DELETED: KeyState.KEPT,
    KeyState.REFUSED: KeyState.MAYBE,
    KeyState.LATER: KeyState.REGISTERED,
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
    was_listed: bool = False  # a list showed it
    was_missed: bool = False  # a list did not show it, although its registration was granted

    @property
    def is_for_nobody(self) -> bool:
        """True if it was sent for a synthetic account."""
        return MARK in self.account

    @property
    def is_left(self) -> bool:
        """True if the run registered it, or may have, and it may still be there."""
        return self.state in _LEFT


class Keys:
    """The state of each key that the run uses, from every exchange. Without `record` nothing is kept for later runs.

    `lists_before` has, by account, the list as it was before the first registration, `last_lists` the last one, which
    is None if it could not be read. `gone` are the keys that were there before, and that two lists of their account in
    a row do not show any more, although no deletion named them. `gone_after_a_deletion`: since the last list that
    showed one of them, a deletion was sent. `started`: the lists before the run were read, or a deletion or a key of
    the profile was sent, so a list is no longer the one before the run. `account` is the one at which the run
    registers. What changes a state is called under the lock of the door.
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
        self.lists_before: dict[str, Listing] = {}
        self.last_lists: dict[str, Listing | None] = {}
        self.last_registration = 0  # the number of its exchange
        self.gone, self.gone_after_a_deletion = frozenset[str](), False
        self.started, self.key_at = False, key_at
        self.accounts, self.account = accounts, next(iter(accounts), "")
        self._is_sandbox, self._record = is_sandbox, record
        self._first_shown: dict[str, int] = {}  # by text, the first list that had it
        self._gone_by_the_last_list: dict[str, frozenset[str]] = {}  # by account
        self._named_in_deletions: set[str] = set()
        self._all_may_be_deleted = False  # on a sandbox a deletion that names no key was granted
        self._last_deletion = 0  # the number of its exchange
        self._last_whole_list: dict[str, int] = {}  # by account, the number of the last list from which no key is gone
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
        operation, open_keys = sending.intent.operation, self.not_cleaned_up()
        if operation == "listPixKeys":
            return bool(open_keys) and MARK not in sending.sent.last_segment
        texts = texts_of(sending.sent.body) if operation == "deletePixKey" and open_keys else []
        return any(names(text, key.value) for text in texts for key in open_keys if key.value)

    def was_there_before(self, value: str | None) -> bool:
        """True if a list showed the key before the run sent it, and no earlier run registered it. Without a key of the
        profile no list is read before the first registration, so those of the run are told apart."""
        if value in self._owned:
            return self._owned[value].state is KeyState.BEFORE
        was_listed = any(before.shows(value) for before in self.lists_before.values()) if value else False
        return was_listed and value not in self.values

    @property
    def before(self) -> Listing | None:
        """The list of the first account as it was before the first registration."""
        return self.lists_before.get(self.account)

    def may_be_deleted(self, value: str) -> bool:
        """True if the run may delete a key that it registered: one that it made up, or a disposable one of the profile
        that was not there before."""
        owned = self._owned.get(value)
        if owned is None:
            return (self._is_sandbox or can_be_named(value)) and not self.was_there_before(value)
        if not owned.disposable or owned.state is KeyState.BEFORE:
            return False
        if self._is_sandbox:
            return self.before is not None or owned.state not in _UNSURE
        return self._lists_tell(owned)

    def _lists_tell(self, owned: RunKey) -> bool:
        """True if a whole list of before the run and a list of now say that this run registered a key of the profile,
        or an earlier one. A list that masks keys cannot tell; nor can one that does not show the key now."""
        before = self.lists_before.get(owned.account)
        if before is None or before.incomplete or before.hides_keys:
            return False
        now = self.last_lists.get(owned.account)
        return now is not None and not now.hides_keys and now.may_show(owned.value or "")

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
        return frozenset(key.value for key in self._keys if key.value and key.state in _SENT_FOR_SURE)

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
        is_at_its_account = self.before is not None and self.before.may_show(
            key.key
        )  # it may have moved to another one
        if state != REGISTERED or not taken.disposable or not is_at_its_account:
            return False
        taken.state = KeyState.REGISTERED
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
            if key.state is KeyState.REFUSED and key.is_for_nobody and not self.last_lists:
                self._become(key, KeyState.GONE)
            elif key.state is KeyState.REGISTERED and key.was_missed and not key.was_listed:
                self._become(key, KeyState.LATER)

    def find_changed(self, account: str) -> None:
        """Look in the last list of an account for synthetic keys that the service changed before it registered them, as
        it cut them, or left signs out. They are counted as perhaps registered there."""
        listing = self.last_lists.get(account)
        before = self.lists_before.get(account)
        if listing is None:
            return
        known = {key.value for key in self._keys if key.account == account}
        for text in sorted(listing.texts - known - (before.texts if before else frozenset())):
            sent = next((key for key in self._keys if _may_have_become(key, text)), None)
            if sent is not None:
                self._add_found(sent, text, account)

    def _add_found(self, sent: RunKey, value: str, account: str) -> None:
        """Count a key as perhaps registered at this account, because its list shows it."""
        name = f"{sent.type or 'key'} {ascii(value)[1:-1]}"[:_LONGEST_NAME]
        found = RunKey(name, sent.type, value, account, exchanges=[*sent.exchanges], was_listed=True)
        self._keys.append(found)
        self._become(found, KeyState.MAYBE)

    # -- what the door sees -----------------------------------------------------------------------------------

    @contextmanager
    def watching(self, sending: Sending) -> Iterator[None]:
        """While a request is on the wire. A registration is written down before it; JournalError."""
        key, state = None, KeyState.NOT_SENT
        if sending.request.method == "DELETE":
            self.started = True
        if sending.intent.operation == "registerPixKey":
            registration = sending.sent
            key = self._named_in(registration.body, registration.last_segment)
            state = key.state
            key = self._open(key, registration.last_segment)
        try:
            yield
        finally:
            self._take(sending.exchange, key, state)

    def _open(self, key: RunKey, account: str) -> RunKey | None:
        """Write down that a key may be registered from now on; none that was there before."""
        self.started = self.started or key.owned
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

    def _take(self, exchange: Exchange, key: RunKey | None, state_before: KeyState) -> None:
        if exchange.operation == "registerPixKey":
            self.last_registration = exchange.number
        if key is not None:
            self._take_registration(exchange, key, state_before)
        elif exchange.operation == "deletePixKey":
            self._last_deletion = exchange.number
            named = texts_of(exchange.request.body)
            self._named_in_deletions.update(named)
            if self._is_sandbox and not any(named) and is_granted(exchange):  # perhaps it is one of all keys
                self._all_may_be_deleted = True
            if exchange.response is not None:
                self._take_deletion(exchange, refusal_kind(exchange.response))
        elif exchange.operation == "listPixKeys" and exchange.credential == VALID and "?" not in exchange.request.url:
            self._take_list(exchange)

    def _take_registration(self, exchange: Exchange, key: RunKey, state_before: KeyState) -> None:
        """A key that is refused may be registered nevertheless: a list shows it, if any. Of one that nobody can name,
        no list shows that for a synthetic account; and on a sandbox it is looked for only where its request was valid.
        A status from 500 on says nothing of the key. Without a connection nothing was sent."""
        failure = exchange.failure
        if registered(exchange):
            self._become(key, KeyState.REGISTERED)
        elif key.state not in _UNSURE:
            return
        elif failure is not None and failure.kind in (FailureKind.NO_CONNECTION, FailureKind.TLS):
            self._become(key, state_before if state_before in _LEFT else KeyState.GONE)
            return
        elif exchange.response is not None and not may_be_registered(exchange):
            key.state = KeyState.REFUSED
            is_nobody = key.value is None and (key.is_for_nobody or (self._is_sandbox and not exchange.valid))
            if is_nobody and exchange.response.status < 500:
                self._become(key, KeyState.GONE)
                return
        key.exchanges.append(exchange.number)

    def _take_deletion(self, exchange: Exchange, refusal: RefusalKind | None) -> None:
        """A deletion that succeeded closes a key; so does the answer that there is no such key, where none was sure. A
        key that no list showed before may be registered after its deletion."""
        strings = texts_of(exchange.request.body)
        for key in self.not_cleaned_up():
            is_gone = refusal is None or (refusal is RefusalKind.NOT_FOUND and key.state in _UNSURE)
            is_meant = any(names(text, key.value) if key.value else text == key.value for text in strings)
            if is_gone and is_meant and key.account == exchange.request.last_segment:
                key.exchanges.append(exchange.number)
                if refusal is not None:
                    self._become(key, KeyState.GONE)
                elif key.state is KeyState.LATER or (key.was_missed and not key.was_listed):
                    self._become(key, KeyState.LATER)
                else:
                    self._become(key, KeyState.DELETED)

    # -- what a list shows ------------------------------------------------------------------------------------

    def _take_list(self, exchange: Exchange) -> None:
        """A list that was read while a key was changed says nothing of it: only one that was alone is looked at."""
        account = exchange.request.last_segment
        listing = Listing(exchange, self.key_at)
        is_granted_list = is_granted(exchange)
        if is_granted_list:
            for text in listing.texts:
                self._first_shown.setdefault(text, listing.number)
        if exchange.beside:
            return
        if not is_granted_list or not listing.is_readable:
            self.last_lists[account] = None
            return
        self.last_lists[account] = listing
        is_of_another_account = account != (self.account or account)
        if not self.started or (is_of_another_account and account not in self.lists_before):
            self.lists_before[account] = listing
        self._compare_with_before(listing, account)
        for key in [*self._keys]:
            if key.value is not None:
                self._compare_key(key, key.value, listing, account)
            elif key.state is KeyState.REFUSED and self.before and account == (key.account or account):
                new = {plain(text) for text in listing.texts if self.is_new_since(text, key.exchanges[0])}
                if new <= {*map(plain, self.values)}:
                    self._become(key, KeyState.GONE)

    def _compare_with_before(self, listing: Listing, account: str) -> None:
        """Note the keys that are gone by this list of an account and by the one before it."""
        gone = self.gone_from(listing, account)
        gone_twice = gone & self._gone_by_the_last_list.get(account, frozenset())
        if gone_twice and not self._all_may_be_deleted:
            self.gone = self.gone | gone_twice
            self.gone_after_a_deletion |= self._last_deletion > self._last_whole_list.get(account, 0)
        if not gone:
            self._last_whole_list[account] = listing.number
        self._gone_by_the_last_list[account] = gone

    def gone_from(self, listing: Listing, account: str) -> frozenset[str]:
        """The keys at `key_at` that were there before the run, are not in the list, and were named by no deletion. None
        if one of the lists says that it is not complete: then a new key may have taken the place of an old one."""
        before = self.lists_before.get(account)
        if before is None or before.incomplete or listing.incomplete:
            return frozenset()
        gone = Counter(before.values) - Counter(listing.values)
        return frozenset(text for text in gone if not self._was_named(text))

    def _was_named(self, text: str) -> bool:
        return any(plain(text) == plain(key) or may_be_masked(text, key) for key in self._named_in_deletions)

    def _compare_key(self, key: RunKey, value: str, listing: Listing, account: str) -> None:
        """The state of a key after a list of any account. A service may register a synthetic key at another account
        than the one that its request names."""
        is_shown = listing.shows(value)
        is_absent = not is_shown and not listing.may_hide(value, self.lists_before.get(account))
        may_be_shown = is_shown or (key.owned and listing.may_show(value))
        may_be_of_before = key.owned and key.state is KeyState.NOT_SENT  # whatever account of the profile holds it
        if account != (key.account or account) and not may_be_of_before:
            is_synthetic = not key.owned and MARK in value
            is_elsewhere = is_synthetic and account in self.accounts and self._known(value, account) is None
            before = self.lists_before.get(account)
            if is_shown and is_elsewhere and not (before and before.shows(value)):
                self._add_found(key, value, account)
            elif is_absent and key.is_for_nobody and account in self.accounts:
                self._become(key, KeyState.GONE if key.state is KeyState.REFUSED else key.state)
            return
        key.was_listed = key.was_listed or may_be_shown
        is_missing = key.state is KeyState.REGISTERED and is_absent and not may_be_shown
        key.was_missed = key.was_missed or is_missing
        is_before = key.state is KeyState.NOT_SENT and not self._is_sandbox
        if is_shown or (is_before and may_be_shown):
            self._become(key, _LISTED.get(key.state, key.state))
        elif is_absent:
            self._become(key, _NOT_LISTED.get(key.state, key.state))

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


def can_be_named(value: str) -> bool:
    """True if no service may read the key as another one: a deletion of it can take no other."""
    return not _NOT_TO_BE_NAMED.fullmatch(value)


def name_of(keys: tuple[PixKey, ...], place: int) -> Text:
    """A key of the profile for people, without its value: `EMAIL, number 2 of pix_keys`."""
    return say("{type}, number {place} of pix_keys", type=keys[place].type, place=place + 1)


def _may_have_become(key: RunKey, text: str) -> bool:
    """True if a service may have made this text of a synthetic key: it cut the key, or left signs out. A list that
    masks the key shows no other one."""
    if key.value is None or key.owned or (has_mask(text) and not has_mask(key.value)):
        return False
    if not key.value.strip():
        return key.is_for_nobody and not text.strip()
    sent, shown = plain(key.value), plain(text)
    is_cut = len(shown) >= _WHOLE_PIECE and sent.startswith(shown)
    return MARK in text and MARK in key.value and (sent == shown or is_cut)
