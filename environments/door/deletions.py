"""Permission to delete, and the look at what else is gone: a service may take another key than the named one.

Every deletion asks, whoever sends it: a test, a generated request, a sequence, `cleanup`. They go one after the other.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from environments.door.budget import Ending
from environments.door.outgoing import LimitError, Sending
from environments.door.permission import texts_of
from environments.door.run_keys import Keys
from environments.profiles.loading import NO_KEY_AT, NO_LIST
from spec.answers import is_granted
from spec.exchange import Exchange
from spec.key_list import Listing
from spec.message import Text, say

KEY_GONE = say("a deletion took another key than the one that it named, so no further key is deleted")
STILL_THERE = say(
    "a key is still listed {seconds} s after its deletion, perhaps because another one was deleted, so no further key "
    "is deleted"
)
_LIST_LOST = say("the list of keys could not be read after a deletion, so no further key is deleted")
_UNSTEADY = say("a key is gone from the list although none was deleted: what the list lacks is no proof")
_WAITS_S = (1, 2, 4)
"""Seconds after a deletion at which the list is read again, while it still shows the key."""


class Deletions:
    """Guards the deletions of one run. `read_list` sends a request for the list of an account, with nothing else on the
    wire; it gives None if a limit keeps it. `stopped` says why no further deletion is sent; empty while they go on.

    On a sandbox every deletion passes. The methods are called under the lock of the door.
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
        self.stopped: Text = ""
        self._keys, self._ending, self._read_list = keys, ending, read_list
        self._is_sandbox, self._may_read = is_sandbox, may_read
        self._is_under_way = False

    def ask(self, sending: Sending) -> None:
        """Wait until no other deletion is under way. Raises LimitError if this one may not be sent."""
        if not self._is_guarded(sending):
            return
        self._ending.wait_for(lambda: not self._is_under_way)
        self._is_under_way = True
        sending.held.callback(self._end)
        if reason := self.stopped or self._reason_against(sending):
            raise LimitError(reason)

    def look_at_the_list(self, sending: Sending) -> None:
        """Read the list after a deletion, and stop all further ones if another key than the named one is gone, or if
        the named one is still there."""
        if not self._is_guarded(sending):
            return
        account = self._account_of(sending)
        listing = self._read(sending, account)
        if listing is None or self._keys.gone_from(listing, account):
            listing = self._read(sending, account)  # one list may lag, or fail
        if self._keys.lost_besides:
            self.stopped = KEY_GONE
        elif listing is None:
            self.stopped = _LIST_LOST
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
            self.stopped = STILL_THERE.of(seconds=waited_s)

    def _is_guarded(self, sending: Sending) -> bool:
        """True for whatever may delete: also for a DELETE to a path that is not documented."""
        return sending.request.method == "DELETE" and not self._is_sandbox

    def _reason_against(self, sending: Sending) -> Text:
        """Reason why nothing may be deleted now; empty if the lists can show what a deletion takes."""
        if self._keys.key_at is None:
            return NO_KEY_AT
        if not self._may_read:
            return NO_LIST
        account = self._account_of(sending)
        last = self._keys.last_lists.get(account)
        if last is None or last.number < self._keys.last_registration:
            last = self._read(sending, account)
        before = self._keys.lists_before.get(account)
        if last is None or before is None:
            return say("the list of keys of before the run could not be read, so no key is deleted")
        if incomplete := before.incomplete or last.incomplete:
            return say("{why}, so no key is deleted", why=incomplete)
        return say("{why}, so no key is deleted", why=_UNSTEADY) if self._keys.gone_from(last, account) else ""

    def _account_of(self, sending: Sending) -> str:
        """The account of the profile whose list may change: a service may delete at that of the token instead."""
        named = sending.sent.last_segment
        return named if named in self._keys.accounts else self._keys.account

    def _read(self, sending: Sending, account: str) -> Listing | None:
        with suppress(LimitError):  # the run ends: then nothing else is sent, either
            self._read_list(sending, account)
            return self._keys.last_lists.get(account)
        return None

    def _end(self) -> None:
        self._is_under_way = False
        self._ending.wake()


def _shows_any(listing: Listing, texts: list[str]) -> bool:
    """True if one of the texts stands in the list as a key."""
    return bool(listing.keys) and any(map(listing.shows, texts))
