"""The lists of keys of the accounts of a profile: before the run, now, and which keys have disappeared.

`Keys` (run_keys.py) passes every list and every deletion to `AccountLists`. `KeyChanges` (key_changes.py) stops all
registrations and deletions as soon as `vanished` has a key.

| word | meaning |
|---|---|
| list | the answer to GET /v1/pix/keys/{accountId}, which has the keys of an account |
| `Listing` | a list that was read (spec/key_list.py): the interface document does not show where its keys are |
| deletion | a request DELETE /v1/pix/keys/{accountId} |
| `key_at` | the JSON pointer to the keys in a list, such as `/data/keys/*/pixKey`; the profile names it |
| number of an exchange | requests of a run are numbered from 1 in the order in which they are sent |
"""

from __future__ import annotations

from collections import Counter

from environments.door.bodies import texts_of
from spec.answers import is_granted
from spec.exchange import Exchange
from spec.key_list import Listing, is_masked_form_of, may_be_random_key, plain


class AccountLists:
    """The keys that the accounts had before the run, and have now, as the lists show them.

    `account` is the account at which the run registers keys. `key_at` is the JSON pointer to the keys of a list, such
    as `/data/keys/*/pixKey`. Only one thread at a time calls the methods, so that lists and deletions are noted in the
    order in which they were sent.
    """

    def __init__(self, account: str = "", *, is_sandbox: bool = False, key_at: str | None = None) -> None:
        """Begin with no list: nothing was read or deleted so far. `account` is where the run registers keys."""
        self.key_at = key_at
        self.before: dict[str, Listing] = {}
        """By account, the last list that was read before this run could have changed the keys."""
        self.last: dict[str, Listing | None] = {}
        """By account, the last list; None if the service refused it, or if it could not be read."""
        self.run_may_have_changed_keys = False
        """True once this run may have registered or deleted a key of an account.

        A list that is read afterwards does not show which keys the account had before the run."""
        self.vanished: frozenset[str] = frozenset()
        """Keys that existed before the run and are missing from two lists of their account in a row, although no
        deletion named them."""
        self.key_vanished_after_deletion = False
        """True if a key vanished, and a deletion was sent between the last list that had every key and the list without
        the key: then the deletion may be the cause."""
        self._account = account
        self._is_sandbox = is_sandbox
        # By text in a list, the number of the exchange with the first list that had it.
        self._first_shown: dict[str, int] = {}
        self._missing_from_last_list: dict[str, frozenset[str]] = {}  # by account, keys of before the run
        self._last_whole_list: dict[str, int] = {}  # by account, number of the last list from which no key is missing
        self._named_in_deletions: set[str] = set()  # the texts in the bodies of all deletions
        # True once a deletion that names no key has succeeded on a sandbox: the service may have deleted all keys.
        self._all_may_be_deleted = False
        self._last_deletion = 0  # number of the exchange of the last deletion; 0 if none was sent

    def note_deletion(self, deletion: Exchange) -> None:
        """Note which keys a deletion names, so that they do not count as vanished if a later list lacks them.

        The answer does not matter for them, because the service may delete a key and answer with an error.

        If a deletion whose body names no key succeeds, it may have deleted all keys of the account. That matters only
        on a sandbox (a test system whose keys and money are worth nothing). Elsewhere the suite sends such a deletion
        only for an account that it made up, so that no key can be deleted.
        """
        texts = texts_of(deletion.request.body)
        self._last_deletion = deletion.number
        self._named_in_deletions.update(texts)
        names_no_key = not any(texts)
        may_be_for_existing_account = self._is_sandbox
        if names_no_key and may_be_for_existing_account and is_granted(deletion):
            self._all_may_be_deleted = True

    def note_list(self, exchange: Exchange) -> Listing | None:
        """Note an answer to GET /v1/pix/keys/{accountId}. Returns the list in it if it shows which keys exist now.

        None if the service refused the list, or if its JSON cannot be read. None also if other requests were sent at
        the same time, because one of them may have changed a key meanwhile.
        """
        account = exchange.request.last_segment
        listing = Listing(exchange, self.key_at)
        was_granted = is_granted(exchange)
        if was_granted:  # other requests at the same time do not matter here: a key in the list existed by then
            for text in listing.texts:
                self._first_shown.setdefault(text, listing.number)
        was_read_beside_others = exchange.beside > 0
        if was_read_beside_others:
            return None
        if not was_granted or not listing.is_readable:
            self.last[account] = None
            return None
        self.last[account] = listing
        if self._shows_state_before_run(account):
            self.before[account] = listing
        self._note_missing_keys(listing, account)
        return listing

    def _shows_state_before_run(self, account: str) -> bool:
        """True if a list of this account that was just read shows its keys as they were before the run.

        That holds until the run changes a key. The run registers keys at one account, `self._account`. So the first
        list of any other account shows the state before the run even if it is read later.
        """
        if not self.run_may_have_changed_keys:
            return True
        run_registers_elsewhere = bool(self._account) and account != self._account
        is_first_list = account not in self.before
        return run_registers_elsewhere and is_first_list

    def may_be_random_key_made_since(self, text: str, number: int) -> bool:
        """True if a text in a list may be a key that the service made since the exchange with this number.

        A service makes a key itself if a registration asks for the type RANDOM. The text may be that key under two
        conditions: no list before this exchange had it, and it does not look like a key of another type, such as an
        e-mail address or a phone number.
        """
        first_shown = self._first_shown.get(text)
        was_shown_earlier = first_shown is not None and first_shown < number
        return not was_shown_earlier and may_be_random_key(text)

    def was_listed_before_run(self, value: str) -> bool:
        """True if an account had this key before the run, so that the key belongs to somebody and is not deleted."""
        return any(listing.shows(value) for listing in self.before.values())

    def keys_missing_from(self, listing: Listing, account: str) -> frozenset[str]:
        """The keys that the account had before the run, that this list lacks, and that the run did not ask to delete.

        If the result is not empty, the service may have deleted another key than the one that a deletion named.

        The result is empty if one of the two lists is incomplete, such as the first page of several. Then a new key may
        have pushed an old one to the next page.
        """
        list_before = self.before.get(account)
        if list_before is None or list_before.incomplete or listing.incomplete:
            return frozenset()
        # Counted, because a list may show one masked text for several keys: then one of two equal texts may be missing.
        missing_texts = Counter(list_before.values) - Counter(listing.values)
        return frozenset(text for text in missing_texts if not self._was_named_in_a_deletion(text))

    def _was_named_in_a_deletion(self, text: str) -> bool:
        """True if a deletion of this run named the key that a list shows as this text.

        The list may show the key in another letter case or punctuation, or masked, such as `+55*******4321`.
        """
        for key in self._named_in_deletions:
            is_equal_without_punctuation = plain(text) == plain(key)  # also without letter case
            if is_equal_without_punctuation or is_masked_form_of(text, key):
                return True
        return False

    def _note_missing_keys(self, listing: Listing, account: str) -> None:
        """Note in `vanished` the keys that are missing from this list of an account and from its previous list.

        A key must be missing from two lists in a row, because one list may show an older state. If a deletion may have
        deleted all keys (which only happens on a sandbox, a test system), a missing key shows no fault.
        """
        missing_keys = self.keys_missing_from(listing, account)
        missing_twice = missing_keys & self._missing_from_last_list.get(account, frozenset())
        if missing_twice and not self._all_may_be_deleted:
            self.vanished = self.vanished | missing_twice
            was_deletion_sent_since_whole_list = self._last_deletion > self._last_whole_list.get(account, 0)
            if was_deletion_sent_since_whole_list:
                self.key_vanished_after_deletion = True
        if not missing_keys:
            self._last_whole_list[account] = listing.number
        self._missing_from_last_list[account] = missing_keys
