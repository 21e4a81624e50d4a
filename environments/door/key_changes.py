"""Permission to register and to delete keys, and the look at what is gone: a service may take another key than the
named one, replace the key of an account by a new one, or change the keys of another account.

Every registration and deletion asks, whoever sends it: a test, a generated request, a sequence, `cleanup`. Deletions go
one after the other.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from environments.door.bodies import key_sent, texts_of
from environments.door.ending import Ending
from environments.door.outgoing import LimitError, Sending
from environments.door.run_keys import Keys
from environments.profiles.loading import NO_KEY_AT, NO_LIST
from spec.answers import is_granted, may_be_registered, registered
from spec.exchange import Exchange
from spec.key_list import Listing
from spec.message import Text, say

KEY_GONE = say("a key that was there before the run is gone, so no further key is registered or deleted")
STILL_THERE = say(
    "a key is still listed {seconds} s after its deletion, perhaps because another one was deleted, so no further key "
    "is deleted"
)
_LIST_LOST = say("the list of keys could not be read after a deletion, so no further key is deleted")
_WAITS_S = (1, 2, 4)
"""Seconds after a deletion at which the list is read again, while it still shows the key."""


class KeyChanges:
    """Guards the registrations and deletions of one run. `read_list` sends a request for the list of an account, with
    nothing else on the wire; it gives None if a limit keeps it.

    On a sandbox every request passes. The methods are called under the lock of the door.
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
        self._keys, self._ending, self._read_list = keys, ending, read_list
        self._is_sandbox, self._may_read = is_sandbox, may_read
        self._why_deletions_stopped: Text = ""
        self._types_looked_at: set[str] = set()  # key types after whose registration the lists were read
        self._is_under_way = False  # a deletion

    @property
    def stopped(self) -> Text:
        """Reason why no further key is deleted, nor registered if a key is gone; empty while the run goes on."""
        return KEY_GONE if self._keys.lists.gone else self._why_deletions_stopped

    def ask(self, sending: Sending) -> None:
        """Read the lists before the first change of a key. Wait until no other deletion is under way. Raises LimitError
        if a registration or a deletion may not be sent."""
        if self._is_sandbox:
            return
        if _registers(sending):
            self._read_before(sending)
            if self._keys.lists.gone:
                raise LimitError(KEY_GONE)
        elif _may_delete(sending):
            self._ending.wait_for(lambda: not self._is_under_way)
            self._is_under_way = True
            sending.held.callback(self._end)
            self._read_before(sending)
            reason = self._reason_against(sending)
            if reason := self.stopped or reason:
                raise LimitError(reason)

    def look_at_the_lists(self, sending: Sending) -> None:
        """Read the lists of all accounts after a deletion, and after the first registration of each key type; a list
        that lacks a key is read again, whoever asked for it. If a key that was there before the run is gone, nothing
        more is registered or deleted. If the key that a deletion named is still there, nothing more is deleted."""
        if self._is_sandbox:
            return
        if _may_delete(sending):
            self._look_after_a_deletion(sending)
        elif _registers(sending):
            self._look_after_a_registration(sending)
        elif sending.intent.operation == "listPixKeys":
            account = sending.sent.last_segment
            last = self._keys.lists.last.get(account)
            if last is not None and last.number == sending.number and self._keys.lists.gone_from(last, account):
                self._read_once(sending, account)

    def _read_before(self, sending: Sending) -> None:
        """Read the lists of the accounts as they are before the first change."""
        if self._keys.lists.started:
            return
        if self._may_read:
            for account in self._keys.accounts:
                if account not in self._keys.lists.last:
                    self._read(sending, account)
        self._keys.lists.started = True

    def _look_after_a_registration(self, sending: Sending) -> None:
        """A key type may have room for one key alone, so that a new one replaces the old one."""
        key_type = key_sent(sending.exchange.request.body)[1]
        has_effect = registered(sending.exchange) or may_be_registered(sending.exchange)
        can_compare = self._may_read and self._keys.lists.key_at is not None
        if has_effect and can_compare and key_type not in self._types_looked_at:
            self._types_looked_at.add(key_type)
            self._read_all(sending)

    def _look_after_a_deletion(self, sending: Sending) -> None:
        account = self._account_of(sending)
        self._read_all(sending)
        listing = self._keys.lists.last.get(account)
        if listing is None:
            self._why_deletions_stopped = _LIST_LOST
        elif is_granted(sending.exchange) and sending.exchange.request.last_segment == account:
            self._wait_for_its_end(sending, account, listing)

    def _wait_for_its_end(self, sending: Sending, account: str, listing: Listing | None) -> None:
        """Read the list until it does not show the deleted key any more."""
        named = texts_of(sending.exchange.request.body)
        waited_s = 0
        for at_s in _WAITS_S:
            if listing is None or not _shows_any(listing, named):
                return
            self._ending.sleep(at_s - waited_s)
            waited_s = at_s
            listing = self._read(sending, account)
        if listing is not None and _shows_any(listing, named):
            self._why_deletions_stopped = STILL_THERE.of(seconds=waited_s)

    def _reason_against(self, sending: Sending) -> Text:
        """Reason why nothing may be deleted now; empty if the lists can show what a deletion takes."""
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
        return say("{why}, so no key is deleted", why=incomplete) if incomplete else ""

    def _account_of(self, sending: Sending) -> str:
        """The account of the profile whose list may change: a service may delete at that of the token instead."""
        named = sending.sent.last_segment
        return named if named in self._keys.accounts else self._keys.account

    def _read_all(self, sending: Sending) -> None:
        """Read the list of each account: a service may change the keys of another one than the named one. Accounts
        whose list could not be read before the run are left out."""
        named = self._account_of(sending)
        for account in self._keys.accounts:
            if account == named or account in self._keys.lists.before:
                self._read(sending, account)

    def _read(self, sending: Sending, account: str) -> Listing | None:
        """Read the list of an account, and once more if it could not be read or lacks a key: one list may lag, or
        fail."""
        listing = self._read_once(sending, account)
        if listing is None or self._keys.lists.gone_from(listing, account):
            listing = self._read_once(sending, account)
        return listing

    def _read_once(self, sending: Sending, account: str) -> Listing | None:
        with suppress(LimitError):  # the run ends: then nothing else is sent, either
            if self._read_list(sending, account) is not None:
                return self._keys.lists.last.get(account)
        return None

    def _end(self) -> None:
        self._is_under_way = False
        self._ending.wake()


def _registers(sending: Sending) -> bool:
    return sending.intent.operation == "registerPixKey"


def _may_delete(sending: Sending) -> bool:
    """True for whatever may delete: also for a DELETE to a path that is not documented."""
    return sending.request.method == "DELETE"


def _shows_any(listing: Listing, texts: list[str]) -> bool:
    """True if one of the texts stands in the list as a key."""
    return bool(listing.keys) and any(map(listing.shows, texts))
