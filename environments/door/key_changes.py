"""Permission to register and to delete keys, off a sandbox, by the lists of keys before and after each change.

A service may delete another key than the named one, replace the key of an account by a new one, or change the keys of
another account. So the lists of all accounts of the profile are read around the changes, and as soon as a key that
existed before the run is missing, nothing more is registered or deleted.

The door asks before every registration and deletion, whoever sends it: a scenario, a generated request, a sequence,
`cleanup`. Deletions go one after the other.

Self-tests: promises/test_keys_of_others.py.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from environments.door.bodies import key_and_type_in, texts_of
from environments.door.ending import Ending
from environments.door.outgoing import LimitError, Sending
from environments.door.run_keys import Keys
from environments.profiles.loading import NO_KEY_AT, NO_LIST
from spec.answers import is_granted, is_uncertain_registration, registered
from spec.exchange import Exchange
from spec.key_list import NOT_AT_KEY_AT, Listing
from spec.message import Text, say

KEY_GONE = say("a key that was there before the run is gone, so no further key is registered or deleted")
STILL_THERE = say(
    "a key is still listed {seconds} s after its deletion, perhaps because another one was deleted, so no further key "
    "is deleted"
)
_LIST_LOST = say("the list of keys could not be read after a deletion, so no further key is deleted")
_WAITS_S = (1, 2, 4)
"""Seconds after the first read at which the list is read again, if it still shows the key, because a list may lag."""


class KeyChanges:
    """Refuses registrations and deletions that may harm keys of the profile's accounts. On a sandbox it refuses none.

    `read_list` sends a request for the list of an account while nothing else is on the wire, and returns None if a
    limit keeps the request back. `may_read` is true if the profile permits that. The methods are called under the lock
    of the door.
    """

    def __init__(
        self,
        keys: Keys,
        ending: Ending,
        read_list: Callable[[Sending, str], Exchange | None],
        *,
        is_sandbox: bool,
        may_read: bool,
    ) -> None:
        self._keys = keys
        self._ending = ending
        self._read_list = read_list
        self._is_sandbox = is_sandbox
        self._may_read = may_read
        self._why_deletions_stopped: Text = ""
        self._compared_types: set[str] = set()  # key types after whose first registration the lists were read
        self._is_deleting = False  # true from the reads before a deletion until the reads after it

    @property
    def stopped(self) -> Text:
        """Reason why no further key is deleted; empty if there is none. KEY_GONE also stops registrations."""
        return KEY_GONE if self._keys.lists.gone else self._why_deletions_stopped

    def prepare_change(self, sending: Sending) -> None:
        """Read the lists before the first change of a key, and before a deletion wait until no other one is under way.

        Raises LimitError if a registration or a deletion may not be sent, JournalError if the record cannot be read.
        """
        if self._is_sandbox:
            return
        if _registers(sending):
            self._read_lists_before_run(sending)
            if self._keys.lists.gone:
                raise LimitError(KEY_GONE)
        elif _may_delete(sending):
            self._ending.wait_for(lambda: not self._is_deleting)
            self._is_deleting = True
            sending.resources.callback(self._end_deletion)
            self._read_lists_before_run(sending)
            trouble_with_lists = self._trouble_with_lists(sending)
            # `stopped` is read only now, because the lists that were read above may show that a key is gone.
            reason = self.stopped or trouble_with_lists
            if reason:
                raise LimitError(reason)

    def read_lists_after_change(self, sending: Sending) -> None:
        """Read the lists after a deletion, and after the first registration of each key type.

        | what the lists show | what follows |
        |---|---|
        | a key that existed before the run is missing, twice in a row | nothing more is registered or deleted |
        | the key that a deletion named is still there | nothing more is deleted |

        A list from which a key is missing is read a second time, whoever asked for it.
        """
        if self._is_sandbox:
            return
        if _may_delete(sending):
            self._read_lists_after_deletion(sending)
        elif _registers(sending):
            self._read_lists_after_registration(sending)
        elif sending.intent.operation == "listPixKeys":
            self._read_again_if_a_key_is_missing(sending)

    def _read_again_if_a_key_is_missing(self, sending: Sending) -> None:
        """Read a list that was just read a second time, if a key that existed before the run is missing from it."""
        account = sending.plain_request.last_segment
        last_list = self._keys.lists.last.get(account)
        if last_list is None or last_list.number != sending.number:
            return
        if self._keys.lists.keys_missing_from(last_list, account):
            self._read_once(sending, account)

    def _read_lists_before_run(self, sending: Sending) -> None:
        """Read the lists of all accounts before the run changes any key. It happens once in a run."""
        if self._keys.lists.run_may_have_changed_keys:
            return
        if self._may_read:
            for account in self._keys.accounts:
                if account not in self._keys.lists.last:
                    self._read(sending, account)
        self._keys.lists.run_may_have_changed_keys = True

    def _read_lists_after_registration(self, sending: Sending) -> None:
        """Read all lists after the first registration of a key type.

        An account may have room for one key of each type alone, so that a new key replaces the old one.
        """
        _, key_type = key_and_type_in(sending.exchange.request.body)
        may_have_effect = registered(sending.exchange) or is_uncertain_registration(sending.exchange)
        can_compare = self._may_read and self._keys.lists.key_at is not None
        if may_have_effect and can_compare and key_type not in self._compared_types:
            self._compared_types.add(key_type)
            self._read_all(sending)

    def _read_lists_after_deletion(self, sending: Sending) -> None:
        """Read the lists of all accounts after a deletion.

        No further key is deleted if the list of its account cannot be read, or if that list still shows a key whose
        deletion was granted. A deletion at a synthetic account, which may have no effect, is not waited for.
        """
        account = self._account_of(sending)
        self._read_all(sending)
        listing = self._keys.lists.last.get(account)
        if listing is None:
            self._why_deletions_stopped = _LIST_LOST
        elif is_granted(sending.exchange) and sending.exchange.request.last_segment == account:
            self._wait_until_not_listed(sending, account, listing)

    def _wait_until_not_listed(self, sending: Sending, account: str, listing: Listing | None) -> None:
        """Read the list, at most for four seconds, until it does not show the deleted key any more.

        If the last list still shows it, no further key is deleted.
        """
        texts_of_deletion = texts_of(sending.exchange.request.body)
        waited_s = 0
        for at_s in _WAITS_S:
            if listing is None or not _shows_any(listing, texts_of_deletion):
                return
            self._ending.sleep(at_s - waited_s)  # the waits are counted from the first read
            waited_s = at_s
            listing = self._read(sending, account)
        if listing is not None and _shows_any(listing, texts_of_deletion):
            self._why_deletions_stopped = STILL_THERE.of(seconds=waited_s)

    def _trouble_with_lists(self, sending: Sending) -> Text:
        """Reason why the lists cannot show which keys a deletion removes; empty if they can.

        Sends a request for the list of the account if its last list is older than the last registration. Raises
        JournalError.
        """
        if self._keys.lists.key_at is None:
            return NO_KEY_AT
        if not self._may_read:
            return NO_LIST
        account = self._account_of(sending)
        last = self._keys.lists.last.get(account)
        if last is None or last.number < self._keys.last_registration:
            last = self._read(sending, account)
        before = self._keys.lists.before.get(account)
        if last is None or before is None:
            return say("the list of keys of before the run could not be read, so no key is deleted")
        incomplete = before.incomplete or last.incomplete
        if not incomplete and self._keys.are_listed_elsewhere(account):
            incomplete = NOT_AT_KEY_AT
        return say("{why}, so no key is deleted", why=incomplete) if incomplete else ""

    def _account_of(self, sending: Sending) -> str:
        """The account of the profile whose list may change.

        For an account in the path that is not of the profile, it is the account at which the run registers, because the
        service may delete at the account of the token instead.
        """
        account_in_path = sending.plain_request.last_segment
        return account_in_path if account_in_path in self._keys.accounts else self._keys.account

    def _read_all(self, sending: Sending) -> None:
        """Read the list of each account, because a service may change the keys of another account than the named one.

        Accounts without a list of before the run are left out, because nothing can be compared.
        """
        changed_account = self._account_of(sending)
        for account in self._keys.accounts:
            if account == changed_account or account in self._keys.lists.before:
                self._read(sending, account)

    def _read(self, sending: Sending, account: str) -> Listing | None:
        """Read the list of an account, and once more if that failed or a key is missing, because one list may lag."""
        listing = self._read_once(sending, account)
        if listing is None or self._keys.lists.keys_missing_from(listing, account):
            listing = self._read_once(sending, account)
        return listing

    def _read_once(self, sending: Sending, account: str) -> Listing | None:
        """Read the list of an account. None if it was not sent, or does not tell which keys exist now."""
        with suppress(LimitError):  # the run ends: then nothing else is sent, either
            if self._read_list(sending, account) is not None:
                return self._keys.lists.last.get(account)  # the door has noted the answer there
        return None

    def _end_deletion(self) -> None:
        """Let the next deletion begin. The door calls this when the answer to the deletion is final."""
        self._is_deleting = False
        self._ending.wake()


def _registers(sending: Sending) -> bool:
    """True for a registration of a key."""
    return sending.intent.operation == "registerPixKey"


def _may_delete(sending: Sending) -> bool:
    """True for every DELETE, also for one to a path that is not documented, because the service may delete there."""
    return sending.request.method == "DELETE"


def _shows_any(listing: Listing, texts: list[str]) -> bool:
    """True if the list has keys at `key_at`, and one of the texts is among them."""
    return bool(listing.keys) and any(map(listing.shows, texts))
