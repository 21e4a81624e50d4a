"""Stops all registrations and deletions of keys as soon as the lists of keys show that one has harmed another key.

A service may delete another key than the named one, replace the key of an account by a new one, or change the keys of
another account. So the lists of all accounts of the profile are read before and after the changes. As soon as a key
that existed before the run is missing, nothing more is registered or deleted.

The door asks `KeyChanges` before every registration and deletion: of a planned test, of a request drawn at random, and
of `environments cleanup`. Deletions are sent one after the other. `Keys` (run_keys.py) answers another question:
whether one certain key may be deleted, because it is a key of the run. On a sandbox nothing is stopped.

| word | meaning |
|---|---|
| list | the answer to GET /v1/pix/keys/{accountId}, which has the keys of an account |
| change | a registration (POST) or a deletion (DELETE) of a key |
| account of the profile | an account in the settings of the run; one that the suite made up is called synthetic |
| key that existed before the run | a key that an account of the profile had by then; it belongs to somebody |
| sandbox | a test system whose keys and money are worth nothing |
| sending | a request on its way to the service (outgoing.py) |

Self-tests: promises/test_keys_of_others.py.
"""

from __future__ import annotations

from collections.abc import Callable

from environments.door.bodies import key_and_type_in, texts_of
from environments.door.outgoing import LimitError, Sending
from environments.door.run_end import RunEnd
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
_READS_AGAIN_AFTER_S = (1, 2, 4)
"""Seconds after the first read at which the list is read again, if it still shows the key, because a list may lag."""


class KeyChanges:
    """Refuses registrations and deletions that may harm keys that existed before the run. On a sandbox it refuses none.

    Only one thread at a time calls the methods.
    """

    def __init__(
        self,
        keys: Keys,
        run_end: RunEnd,
        read_list: Callable[[Sending, str], Exchange | None],
        *,
        is_sandbox: bool,
        may_read: bool,
    ) -> None:
        """Begin with nothing read and nothing changed.

        `read_list(sending, account)` asks the service for the keys of an account, while no other request is on the
        wire. It sends the same headers as `sending`, the request that is to change a key. It returns None if a limit
        keeps the request back. `may_read` is true if the settings of the run permit such requests.
        """
        self._keys = keys
        self._run_end = run_end
        self._read_list = read_list
        self._is_sandbox = is_sandbox
        self._may_read = may_read
        self._why_deletions_stopped: Text = ""
        # Key types of which a key was registered and the lists were read afterwards.
        self._compared_types: set[str] = set()
        self._is_deleting = False  # true from the reads before a deletion until the reads after it

    @property
    def why_stopped(self) -> Text:
        """Reason why no further key is deleted; empty if keys may be deleted.

        If the reason is KEY_GONE (a key that existed before the run has vanished), no further key is registered either.
        """
        return KEY_GONE if self._keys.lists.vanished else self._why_deletions_stopped

    def prepare_change(self, sending: Sending) -> None:
        """Read the lists of keys before a registration or deletion, so that its effect can be seen afterwards.

        Lists are read before the first change in a run, and before each deletion if a key was registered since the last
        list. A deletion also waits until no other deletion is under way, because otherwise nobody could tell which of
        the two deleted a wrong key.

        Raises LimitError if the registration or deletion must not be sent, JournalError if the record of keys (a file)
        cannot be read. Other requests pass.
        """
        if self._is_sandbox:
            return
        if _registers(sending):
            self._read_lists_before_run(sending)
            if self._keys.lists.vanished:
                raise LimitError(KEY_GONE)
        elif _may_delete(sending):
            self._run_end.wait_for(lambda: not self._is_deleting)
            self._is_deleting = True
            sending.resources.callback(self._end_deletion)  # called when the answer to this deletion is final
            self._read_lists_before_run(sending)
            trouble_with_lists = self._read_list_and_find_trouble(sending)
            # `why_stopped` is read only now, because the lists that were read above may show that a key is gone.
            reason = self.why_stopped or trouble_with_lists
            if reason:
                raise LimitError(reason)

    def read_lists_after_change(self, sending: Sending) -> None:
        """Read the lists of keys after a deletion, and after the first registration of each key type.

        | what the lists show | what follows |
        |---|---|
        | a key that existed before the run is missing, twice in a row | nothing more is registered or deleted |
        | the key that a deletion named is still there | nothing more is deleted: perhaps another key was deleted |

        If the request itself asked for a list, and a key is missing from it, the list is read a second time: one list
        may show an older state.
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
        """If a key that existed before the run is missing from the list that was just read, read the list once more.

        A key counts as vanished only if two lists in a row lack it.
        """
        account = sending.plain_request.last_segment
        last_list = self._keys.lists.last.get(account)
        is_list_of_this_request = last_list is not None and last_list.number == sending.number
        if last_list is None or not is_list_of_this_request:  # the answer of this request could not be read as a list
            return
        if self._keys.lists.keys_missing_from(last_list, account):
            self._read_list_once(sending, account)

    def _read_lists_before_run(self, sending: Sending) -> None:
        """Read the lists of all accounts in the settings of the run, once, before the run changes any key.

        They show which keys belong to somebody. Afterwards a change may be sent, so no later list can show that.
        """
        if self._keys.lists.run_may_have_changed_keys:
            return
        if self._may_read:
            for account in self._keys.accounts:
                if account not in self._keys.lists.last:  # else a scenario has read the list already
                    self._read_list_of(sending, account)
        self._keys.lists.run_may_have_changed_keys = True

    def _read_lists_after_registration(self, sending: Sending) -> None:
        """Read all lists after the first registration of a key type, to see whether it replaced an older key.

        That may happen if an account may have only one key of each type. The first registration of a type is enough to
        see it, so later registrations of the same type cost no further requests. Without `key_at` (the JSON pointer to
        the keys in a list) nobody can tell which texts of a list are keys.
        """
        _, key_type = key_and_type_in(sending.exchange.request.body)
        # A registration that was refused has replaced no key.
        may_have_effect = registered(sending.exchange) or is_uncertain_registration(sending.exchange)
        can_compare = self._may_read and self._keys.lists.key_at is not None
        if may_have_effect and can_compare and key_type not in self._compared_types:
            self._compared_types.add(key_type)
            self._read_lists_of_all_accounts(sending)

    def _read_lists_after_deletion(self, sending: Sending) -> None:
        """Read the lists of all accounts after a deletion, to see whether it deleted the named key, and no other.

        No further key is deleted in two cases: the list of the account of the key cannot be read; or the deletion was
        granted, and that list still shows the key. The second case does not count for a deletion that names a made-up
        account, because such a deletion may rightly have no effect.
        """
        account = self._account_of(sending)
        self._read_lists_of_all_accounts(sending)
        listing = self._keys.lists.last.get(account)
        if listing is None:
            self._why_deletions_stopped = _LIST_LOST
        elif is_granted(sending.exchange) and sending.exchange.request.last_segment == account:
            self._wait_until_not_listed(sending, account, listing)

    def _wait_until_not_listed(self, sending: Sending, account: str, listing: Listing | None) -> None:
        """Read the list again, for at most four seconds, until it does not show the deleted key any more.

        A service may show a deletion only after some seconds. If the last list still shows the key, no further key is
        deleted, because the service may have deleted another one. `listing` is the list right after the deletion.
        """
        texts_of_deletion = texts_of(sending.exchange.request.body)
        waited_s = 0
        for seconds_after_deletion in _READS_AGAIN_AFTER_S:
            if listing is None or not _shows_any(listing, texts_of_deletion):
                return
            self._run_end.sleep(seconds_after_deletion - waited_s)
            waited_s = seconds_after_deletion
            listing = self._read_list_of(sending, account)
        if listing is not None and _shows_any(listing, texts_of_deletion):
            self._why_deletions_stopped = STILL_THERE.with_values(seconds=waited_s)

    def _read_list_and_find_trouble(self, sending: Sending) -> Text:
        """Reason why lists cannot show which keys a deletion removes, so that it must not be sent; empty if they can.

        | reason | because |
        |---|---|
        | the settings have no `key_at` (the JSON pointer to the keys in a list) | nobody knows which texts are keys |
        | the run must not read lists | nothing shows the effect of the deletion |
        | the list before the run, or the last list, could not be read | there is nothing to compare |
        | one of the two lists is incomplete, such as one page of several | a missing key shows nothing |
        | a list shows keys at another place than `key_at` | `key_at` is wrong |

        This method sends a request for the list of the account if a key was registered since its last list. Raises
        JournalError if the record of keys (a file) cannot be read.
        """
        if self._keys.lists.key_at is None:
            return NO_KEY_AT
        if not self._may_read:
            return NO_LIST
        account = self._account_of(sending)
        last_list = self._keys.lists.last.get(account)
        if last_list is None or last_list.number < self._keys.last_registration:
            last_list = self._read_list_of(sending, account)
        list_before_run = self._keys.lists.before.get(account)
        if last_list is None or list_before_run is None:
            return say("the list of keys of before the run could not be read, so no key is deleted")
        reason = list_before_run.incomplete or last_list.incomplete  # a text that says why the list is not whole
        if not reason and self._keys.are_listed_outside_key_at(account):
            reason = NOT_AT_KEY_AT
        return say("{why}, so no key is deleted", why=reason) if reason else ""

    def _account_of(self, sending: Sending) -> str:
        """The account of the profile (the settings of the run) whose keys the request may change.

        It is the account in the path. If the suite made that account up, it is the account at which the run registers
        keys: a service may ignore the path, and change the account that belongs to the token.
        """
        account_in_path = sending.plain_request.last_segment
        return account_in_path if account_in_path in self._keys.accounts else self._keys.account

    def _read_lists_of_all_accounts(self, sending: Sending) -> None:
        """Read the list of each account in the settings of the run.

        All of them are read, because a service may change another account than the one that the request names. An
        account whose list was not read before the run is left out, because its keys cannot be compared. The account
        that the request names is always read.
        """
        changed_account = self._account_of(sending)
        for account in self._keys.accounts:
            if account == changed_account or account in self._keys.lists.before:
                self._read_list_of(sending, account)

    def _read_list_of(self, sending: Sending, account: str) -> Listing | None:
        """Read the list of an account, and return it; None if it does not show which keys exist now.

        The list is read once more if reading failed, or if a key that existed before the run is missing from it: one
        list may show an older state, so a key counts as vanished only if two lists lack it.
        """
        listing = self._read_list_once(sending, account)
        if listing is None or self._keys.lists.keys_missing_from(listing, account):
            listing = self._read_list_once(sending, account)
        return listing

    def _read_list_once(self, sending: Sending, account: str) -> Listing | None:
        """Ask the service once for the keys of an account, and return the list.

        None if the answer does not show which keys exist now. None, too, if a limit of the run keeps this request back,
        such as limits.requests: for the callers that is the same as a list that could not be read.
        """
        try:
            exchange = self._read_list(sending, account)
        except LimitError:
            return None
        if exchange is None:
            return None
        # The door, through which every answer comes, has noted this list in `lists.last` already.
        return self._keys.lists.last.get(account)

    def _end_deletion(self) -> None:
        """Let the next deletion begin, because deletions are sent one after the other.

        It is called when this deletion has its final answer and the lists after it were read.
        """
        self._is_deleting = False
        self._run_end.wake_waiting_threads()


def _registers(sending: Sending) -> bool:
    """True if the request is meant to register a key (POST /v1/pix/keys/{accountId}), valid or not."""
    return sending.intent.operation == "registerPixKey"


def _may_delete(sending: Sending) -> bool:
    """True for every request with the method DELETE, because a service may also delete at an undocumented path."""
    return sending.request.method == "DELETE"


def _shows_any(listing: Listing, texts: list[str]) -> bool:
    """True if one of the texts, which come from the body of a deletion, is among the keys that the list shows.

    False if the list has no text at `key_at`, the JSON pointer to its keys: texts elsewhere in the list need not be
    keys.
    """
    if not listing.keys:
        return False
    return any(listing.shows(text) for text in texts)
