"""The lists of keys of the accounts of a profile: as they were before the run, as they are now, and what is gone."""

from __future__ import annotations

from collections import Counter

from environments.door.bodies import texts_of
from spec.answers import is_granted
from spec.exchange import Exchange
from spec.key_list import Listing, may_be_made, may_be_masked, plain


class AccountLists:
    """What lists say of the keys that were there before the run. `account` is the one at which the run registers.

    What the door has seen is noted in order, under its lock.
    """

    def __init__(self, account: str = "", *, is_sandbox: bool = False, key_at: str | None = None) -> None:
        self.key_at = key_at
        self.before: dict[str, Listing] = {}
        """By account, the list before the first registration or deletion."""
        self.last: dict[str, Listing | None] = {}
        """By account, the last list; None if it could not be read."""
        self.started = False
        """The lists before the run were read, or a deletion or a key of the profile was sent, so that a list is no
        longer the one before the run."""
        self.gone: frozenset[str] = frozenset()
        """Keys that were there before, and that two lists of their account in a row do not show any more, although no
        deletion named them."""
        self.gone_after_a_deletion = False
        """Since the last list that showed one of them, a deletion was sent."""
        self._account, self._is_sandbox = account, is_sandbox
        self._first_shown: dict[str, int] = {}  # by text, the number of the first list that had it
        self._gone_by_the_last_list: dict[str, frozenset[str]] = {}  # by account
        self._last_whole_list: dict[str, int] = {}  # by account, the number of the last list from which no key is gone
        self._named_in_deletions: set[str] = set()
        self._all_may_be_deleted = False
        self._last_deletion = 0  # the number of its exchange

    def note_deletion(self, deletion: Exchange) -> None:
        """A deletion was sent, whatever its answer. On a sandbox one that names no key may be one of all keys."""
        texts = texts_of(deletion.request.body)
        self._last_deletion = deletion.number
        self._named_in_deletions.update(texts)
        if self._is_sandbox and not any(texts) and is_granted(deletion):
            self._all_may_be_deleted = True

    def note_list(self, exchange: Exchange) -> Listing | None:
        """A list was asked for with the token. Gives it if it says which keys are there now.

        One that was read while a key was changed says nothing of it, so that only one that was alone is looked at.
        """
        account, listing = exchange.request.last_segment, Listing(exchange, self.key_at)
        was_granted = is_granted(exchange)
        if was_granted:
            for text in listing.texts:
                self._first_shown.setdefault(text, listing.number)
        if exchange.beside:
            return None
        if not was_granted or not listing.is_readable:
            self.last[account] = None
            return None
        self.last[account] = listing
        if self._is_of_before(account):
            self.before[account] = listing
        self._note_what_is_gone(listing, account)
        return listing

    def _is_of_before(self, account: str) -> bool:
        """True if a list that was just read shows the account as it was before the run. The run registers at one
        account: the first list of another one is of before whenever it is read."""
        is_of_another_account = bool(self._account) and account != self._account
        return not self.started or (is_of_another_account and account not in self.before)

    def is_new_since(self, text: str, number: int) -> bool:
        """True if no list before this exchange has the text, so the service may have made the key there."""
        return self._first_shown.get(text, number) >= number and may_be_made(text)

    def were_showing(self, value: str) -> bool:
        """True if a list of before the run shows the key, of whatever account."""
        return any(listing.shows(value) for listing in self.before.values())

    def gone_from(self, listing: Listing, account: str) -> frozenset[str]:
        """The keys at `key_at` that were there before the run, are not in the list, and were named by no deletion. None
        if one of the lists says that it is not complete: then a new key may have taken the place of an old one."""
        before = self.before.get(account)
        if before is None or before.incomplete or listing.incomplete:
            return frozenset()
        gone = Counter(before.values) - Counter(listing.values)
        return frozenset(text for text in gone if not self._was_named(text))

    def _was_named(self, text: str) -> bool:
        return any(plain(text) == plain(key) or may_be_masked(text, key) for key in self._named_in_deletions)

    def _note_what_is_gone(self, listing: Listing, account: str) -> None:
        """Note the keys that are gone by this list of an account and by the one before it: one list may lag."""
        gone = self.gone_from(listing, account)
        gone_twice = gone & self._gone_by_the_last_list.get(account, frozenset())
        if gone_twice and not self._all_may_be_deleted:
            self.gone = self.gone | gone_twice
            self.gone_after_a_deletion |= self._last_deletion > self._last_whole_list.get(account, 0)
        if not gone:
            self._last_whole_list[account] = listing.number
        self._gone_by_the_last_list[account] = gone
