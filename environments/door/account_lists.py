"""The lists of keys of the accounts of a profile: before the run, now, and which keys have disappeared.

A list is the answer to GET /v1/pix/keys/{accountId}. The interface document does not show it, so `Listing`
(spec/key_list.py) finds the keys in it, and says if it cannot.

`Keys` (run_keys.py) passes every list and every deletion to `AccountLists`. `KeyChanges` (key_changes.py) stops all
registrations and deletions as soon as `gone` has a key.
"""

from __future__ import annotations

from collections import Counter

from environments.door.bodies import texts_of
from spec.answers import is_granted
from spec.exchange import Exchange
from spec.key_list import Listing, may_be_masked, may_be_random_key, plain


class AccountLists:
    """The keys that the accounts had before the run, and have now, as the lists show them.

    `account` is the account at which the run registers. `key_at` is the JSON pointer from the profile to the keys of a
    list. Its methods are called under the lock of the door, so that lists and deletions are noted in their order.
    """

    def __init__(self, account: str = "", *, is_sandbox: bool = False, key_at: str | None = None) -> None:
        self.key_at = key_at
        self.before: dict[str, Listing] = {}
        """By account, the list before the first registration or deletion."""
        self.last: dict[str, Listing | None] = {}
        """By account, the last list; None if it could not be read."""
        self.run_may_have_changed_keys = False
        """True once later lists of the account do not show its state before the run.

        That is so if the list was read for this purpose, or if a deletion or a key of the profile was sent."""
        self.gone: frozenset[str] = frozenset()
        """Keys that existed before the run and are missing from two lists of their account in a row, although no
        deletion named them."""
        self.gone_after_a_deletion = False
        """True if a deletion was sent after the last list from which no key was missing."""
        self._account = account
        self._is_sandbox = is_sandbox
        self._first_shown: dict[str, int] = {}  # by text, the number of the first list that had it
        self._missing_from_last_list: dict[str, frozenset[str]] = {}  # by account
        self._last_whole_list: dict[str, int] = {}  # by account, number of the last list from which no key is missing
        self._named_in_deletions: set[str] = set()
        self._all_may_be_deleted = False
        self._last_deletion = 0  # the number of its exchange

    def note_deletion(self, deletion: Exchange) -> None:
        """Note a deletion that was sent, whatever its answer.

        A sandbox may delete all keys if a deletion names no key. Elsewhere such a deletion goes to no account of the
        profile (identifiers.py).
        """
        texts = texts_of(deletion.request.body)
        self._last_deletion = deletion.number
        self._named_in_deletions.update(texts)
        may_name_all_keys = self._is_sandbox and not any(texts)
        if may_name_all_keys and is_granted(deletion):
            self._all_may_be_deleted = True

    def note_list(self, exchange: Exchange) -> Listing | None:
        """Note the answer to a request for a list with the token. Returns the list if it shows which keys exist now.

        None if the list was refused or cannot be read, or if other requests were on the wire: one of them may have
        changed a key meanwhile.
        """
        account = exchange.request.last_segment
        listing = Listing(exchange, self.key_at)
        was_granted = is_granted(exchange)
        if was_granted:  # also of a list that was read beside other requests
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
        """True if a list that was just read shows the account as it was before the run.

        The first list of an account at which the run does not register shows that state whenever it is read.
        """
        if not self.run_may_have_changed_keys:
            return True
        run_registers_elsewhere = bool(self._account) and account != self._account
        is_first_list = account not in self.before
        return run_registers_elsewhere and is_first_list

    def may_be_made_since(self, text: str, number: int) -> bool:
        """True if the text may be a key that the service made since the exchange with this number.

        Then no earlier list has it, and it has the form of such a key.
        """
        return self._first_shown.get(text, number) >= number and may_be_random_key(text)

    def was_listed_before_run(self, value: str) -> bool:
        """True if the list of any account before the run shows the key."""
        return any(listing.shows(value) for listing in self.before.values())

    def keys_missing_from(self, listing: Listing, account: str) -> frozenset[str]:
        """The keys at `key_at` that existed before the run, are not in the list, and were named by no deletion.

        No key if one of the two lists says that it is incomplete, because a new key may then have pushed an old one out
        of the part that is shown.
        """
        before = self.before.get(account)
        if before is None or before.incomplete or listing.incomplete:
            return frozenset()
        gone = Counter(before.values) - Counter(listing.values)
        return frozenset(text for text in gone if not self._was_named(text))

    def _was_named(self, text: str) -> bool:
        """True if a deletion of this run named the key, which a list may show masked or spelled otherwise."""
        return any(plain(text) == plain(key) or may_be_masked(text, key) for key in self._named_in_deletions)

    def _note_missing_keys(self, listing: Listing, account: str) -> None:
        """Note the keys that are missing from this list of an account and from the list before it.

        A key must be missing twice, because one list may lag behind.
        """
        missing = self.keys_missing_from(listing, account)
        missing_twice = missing & self._missing_from_last_list.get(account, frozenset())
        if missing_twice and not self._all_may_be_deleted:
            self.gone = self.gone | missing_twice
            if self._last_deletion > self._last_whole_list.get(account, 0):
                self.gone_after_a_deletion = True
        if not missing:
            self._last_whole_list[account] = listing.number
        self._missing_from_last_list[account] = missing
