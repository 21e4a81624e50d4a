"""What the lists of keys of an account show: the keys before the run, the last list, and the keys that have vanished.

The keys before the run are those of the last list that was read before the run changed a key. A key has vanished if it
was there before the run, and later lists lack it although no deletion named it.
"""

from dataclasses import replace

import pytest

from environments.door.account_lists import AccountLists
from spec.exchange import Request
from tests.selftest.exchanges import answer

ACCOUNT, OTHER_ACCOUNT = "ac-0001", "ac-0002"
"""The account at which the run registers keys, and another one."""
OLD_KEY, SECOND_OLD_KEY, NEW_KEY = "old@bank.example", "second@bank.example", "new@bank.example"
KEY_MADE_BY_SERVICE = "c0ffee00-0001-4000-8000-00000000000a"


class ListHistory:
    """Lists and deletions of keys, noted one after the other, as in a run.

    Each method returns the history, so that calls chain.
    """

    def __init__(self, account=ACCOUNT, *, is_sandbox=False, key_at="/data/keys/*/pixKey"):
        """An empty history. The run registers keys at `account`, and `key_at` says where a list has its keys."""
        self.lists = AccountLists(account, is_sandbox=is_sandbox, key_at=key_at)
        self._number = 0

    def list_shows(self, *keys, account=ACCOUNT, status=200, beside=0, **members):
        """Note a list that shows these keys. `members` are further members of its `data`.

        `beside` is how many other requests were on their way at the same time.
        """
        data = {"keys": [{"pixKey": key} for key in keys], **members}
        exchange = answer("listPixKeys", {"code": 0, "data": data}, status=status, beside=beside)
        # None if this list does not show which keys exist now, for example because the service refused it
        self.last_noted_list = self.lists.note_list(self._next_exchange(exchange, account))
        return self

    def list_is_empty(self, **changes):
        """Note a list that shows no key. `changes` are arguments of `list_shows`, such as `account`."""
        return self.list_shows(**changes)

    def delete(self, *keys, status=200):
        """Note a deletion whose body names these keys."""
        exchange = answer("deletePixKey", {"code": 0, "data": {}}, status=status, sent={"pixKeys": [*keys]})
        self.lists.note_deletion(self._next_exchange(exchange, ACCOUNT))
        return self

    def skip_one_number(self):
        """Leave out the number of a request that is neither a list nor a deletion, such as a registration."""
        self._number += 1
        return self

    def begin_changes(self):
        """From here on the run has changed a key, so no later list shows the keys before the run."""
        self.lists.run_may_have_changed_keys = True
        return self

    def _next_exchange(self, exchange, account):
        """The exchange with the next number of the run, and with the address of this account."""
        self._number += 1
        request = replace(exchange.request, url=f"http://127.0.0.1/v1/pix/keys/{account}")
        return replace(exchange, request=request, number=self._number)

    @property
    def keys_before(self):
        """The keys that each account had before the run, by account."""
        return {account: set(key_list.values) for account, key_list in self.lists.before.items()}

    @property
    def vanished(self):
        """The keys that were there before the run and are gone, although no deletion named them."""
        return set(self.lists.vanished)

    @property
    def a_deletion_may_have_taken_them(self):
        """True if a deletion was sent after the last list that showed a key that has vanished."""
        return self.lists.key_vanished_after_deletion


def test_the_last_list_before_the_first_change_shows_the_keys_before_the_run():
    """Two lists are read before the first change of a key, and the second one shows the keys before the run."""
    history = ListHistory().list_shows(OLD_KEY).list_shows(OLD_KEY, SECOND_OLD_KEY).begin_changes()

    assert history.keys_before == {ACCOUNT: {OLD_KEY, SECOND_OLD_KEY}}


def test_a_list_after_the_first_change_is_the_last_list_and_not_one_from_before_the_run():
    """A list is read before the run changes a key, and another list afterwards.

    The second list is the last list. The first one still shows the keys before the run.
    """
    history = ListHistory().list_shows(OLD_KEY).begin_changes().list_shows(NEW_KEY)
    last_list = history.lists.last[ACCOUNT]

    assert history.keys_before == {ACCOUNT: {OLD_KEY}}
    assert set(last_list.values) == {NEW_KEY}


@pytest.mark.parametrize(
    "other_account", ["ac-0002", "ac-0000"], ids=["sorts after the own account", "sorts before the own account"]
)
def test_the_first_list_of_another_account_shows_its_keys_before_the_run(other_account):
    """The run registers keys at its own account (ac-0001) only. So the first list of another account shows the keys
    that were there before the run, even if the run has registered keys at its own account meanwhile.

    All lists here are read after the first change of a key. The list of the own account does not count, because the run
    may have changed it. The second list of the other account does not count, because the first one is nearer to the
    start.
    """
    history = ListHistory(account="ac-0001").begin_changes().list_shows(NEW_KEY)
    history.list_shows(OLD_KEY, account=other_account).list_shows(SECOND_OLD_KEY, account=other_account)

    assert history.keys_before == {other_account: {OLD_KEY}}


def test_if_the_profile_has_no_account_no_list_after_a_change_shows_the_keys_before_the_run():
    """The profile is the settings of the run. Without an account in it the run may have changed keys at any account."""
    history = ListHistory(account="").begin_changes().list_shows(OLD_KEY, account=OTHER_ACCOUNT)

    assert history.keys_before == {}


def test_of_two_lists_of_another_account_before_the_first_change_the_later_one_counts():
    """Before its first change of a key, the run may read several lists of another account. The last of them shows the
    keys that the account had before the run.

    Here two lists of that account are read before the run changes a key.
    """
    history = ListHistory()
    history.list_shows(OLD_KEY, account=OTHER_ACCOUNT).list_shows(SECOND_OLD_KEY, account=OTHER_ACCOUNT)

    assert history.keys_before == {OTHER_ACCOUNT: {SECOND_OLD_KEY}}


@pytest.mark.parametrize("status", [400, 503])
def test_a_refused_list_shows_no_keys(status):
    """A list is read, and a second one is refused. Nobody knows which keys the account has now, so there is no last
    list.

    The keys before the run stay known from the first list.
    """
    history = ListHistory().list_shows(OLD_KEY).list_is_empty(status=status)

    assert history.last_noted_list is None
    assert history.lists.last == {ACCOUNT: None}
    assert history.keys_before == {ACCOUNT: {OLD_KEY}}


def test_a_list_that_cannot_be_read_shows_no_keys():
    """The service answers a request for the list of keys with an HTML page and status 200. So there is no last list."""
    lists = ListHistory().lists
    html_page = replace(answer("listPixKeys", b"<html>"), request=Request("GET", f"http://127.0.0.1/v1/{ACCOUNT}", ()))
    noted_list = lists.note_list(html_page)

    assert noted_list is None
    assert lists.last == {ACCOUNT: None}


def test_a_list_that_is_read_beside_another_request_is_not_used():
    """A list does not count if another request was on its way: it may be older than the effect of that request.

    So the first list here stays the last one, and still shows the keys before the run.
    """
    history = ListHistory().list_shows(OLD_KEY)
    first_list = history.last_noted_list
    history.list_shows(NEW_KEY, beside=1)

    assert history.last_noted_list is None
    assert history.lists.last == {ACCOUNT: first_list}
    assert history.keys_before == {ACCOUNT: {OLD_KEY}}


@pytest.mark.parametrize(
    ("number_of_registration", "may_be_made_by_it"),
    [(1, True), (2, True), (3, False)],
    ids=["before the first list with the key", "with the number of that list", "after that list"],
)
def test_a_key_may_be_made_by_a_registration_if_no_earlier_list_shows_it(number_of_registration, may_be_made_by_it):
    """A service makes a RANDOM key because of a registration. A registration cannot have made a key that was listed
    before.

    Request 2 is the first list that shows the key. So request 1 may have made the key, and request 3 cannot. Request 2
    was read beside another request, and counts nevertheless, because it shows a key that was there.
    """
    history = ListHistory().skip_one_number()
    history.list_shows(KEY_MADE_BY_SERVICE, beside=1).skip_one_number().list_shows(KEY_MADE_BY_SERVICE)

    assert history.lists.may_be_random_key_made_since(KEY_MADE_BY_SERVICE, number_of_registration) is may_be_made_by_it


def test_an_email_address_is_no_key_that_a_service_made():
    """A service makes a RANDOM key after a registration, here request 2. An e-mail address never is such a key.

    Any other text that no earlier list showed may be one.
    """
    lists = ListHistory().list_is_empty().lists
    number_of_registration = 2  # the empty list is request 1

    assert lists.may_be_random_key_made_since("never-shown", number_of_registration)
    assert not lists.may_be_random_key_made_since("new@bank.example", number_of_registration)


def test_a_text_in_a_refused_list_may_still_be_made_later():
    """Request 1 is a list that the service refuses (status 400). Its body has a text, which is no key of the account.

    So request 2, a registration, may make a key with this text.
    """
    lists = ListHistory().list_shows("made-1", status=400).lists
    number_of_registration = 2

    assert lists.may_be_random_key_made_since("made-1", number_of_registration)


@pytest.mark.parametrize(
    ("key", "was_listed"),
    [(OLD_KEY.upper(), True), (SECOND_OLD_KEY, True), (NEW_KEY, False)],
    ids=["at the own account, in other letter case", "at another account", "only in a later list"],
)
def test_a_key_was_listed_before_the_run_if_any_account_showed_it(key, was_listed):
    """The lists of two accounts are read before the run changes a key, and one list afterwards."""
    history = ListHistory().list_shows(OLD_KEY).list_shows(SECOND_OLD_KEY, account=OTHER_ACCOUNT)
    history.begin_changes().list_shows(OLD_KEY, NEW_KEY)

    assert history.lists.was_listed_before_run(key) is was_listed


# -- which keys have vanished ----------------------------------------------------------------------------------------


def test_a_key_has_vanished_if_two_lists_in_a_row_lack_it():
    """Two keys were there before the run. Two lists after its first change of a key lack one of them.

    After the first of these lists the key does not count as vanished, because one list may show an older state.
    """
    history = ListHistory().list_shows(OLD_KEY, SECOND_OLD_KEY).begin_changes()
    after_one_list = history.list_shows(SECOND_OLD_KEY).vanished
    after_two_lists = history.list_shows(SECOND_OLD_KEY).vanished

    assert after_one_list == set()
    assert after_two_lists == {OLD_KEY}
    assert not history.a_deletion_may_have_taken_them


def test_a_key_that_has_vanished_stays_so():
    """After two lists without any key, a third one shows both keys again. The run still reports that they had vanished."""
    history = ListHistory().list_shows(OLD_KEY, SECOND_OLD_KEY).begin_changes()
    history.list_shows(SECOND_OLD_KEY).list_shows(SECOND_OLD_KEY)
    after_second_key_is_missing_once = history.list_is_empty().vanished
    after_second_key_is_missing_twice = history.list_is_empty().vanished
    after_both_are_listed_again = history.list_shows(OLD_KEY, SECOND_OLD_KEY).vanished

    assert after_second_key_is_missing_once == {OLD_KEY}
    assert after_second_key_is_missing_twice == {OLD_KEY, SECOND_OLD_KEY}
    assert after_both_are_listed_again == {OLD_KEY, SECOND_OLD_KEY}


def test_a_key_that_one_list_lacks_and_the_next_one_shows_has_not_vanished():
    """Two lists lack the key that was there before the run, but a list between them shows it."""
    history = ListHistory().list_shows(OLD_KEY).begin_changes().list_is_empty().list_shows(OLD_KEY).list_is_empty()

    assert history.vanished == set()


def test_a_key_has_vanished_only_if_two_lists_of_its_own_account_lack_it():
    """Two accounts have one key each before the run. Then each account is listed once without its key.

    Only a second list of the other account shows that the key of that account has vanished.
    """
    history = ListHistory().list_shows(OLD_KEY).list_shows(SECOND_OLD_KEY, account=OTHER_ACCOUNT).begin_changes()
    after_a_list_of_each = history.list_is_empty().list_is_empty(account=OTHER_ACCOUNT).vanished
    after_a_second_list_of_the_other = history.list_is_empty(account=OTHER_ACCOUNT).vanished

    assert after_a_list_of_each == set()
    assert after_a_second_list_of_the_other == {SECOND_OLD_KEY}


@pytest.mark.parametrize(
    "named_key", [SECOND_OLD_KEY, SECOND_OLD_KEY.upper()], ids=["named as the list shows it", "named in capitals"]
)
def test_a_key_that_a_deletion_named_has_not_vanished(named_key):
    """Two keys were there before the run. A deletion names one of them and a key that never existed.

    Both old keys are gone afterwards. The named one was deleted; the other one has vanished. Perhaps the deletion has
    taken it, too.
    """
    history = ListHistory().list_shows(OLD_KEY, SECOND_OLD_KEY).begin_changes()
    history.delete("never-existed@bank.example", named_key).list_is_empty().list_is_empty()

    assert history.vanished == {OLD_KEY}
    assert history.a_deletion_may_have_taken_them


@pytest.mark.parametrize(
    ("masked_key", "has_vanished"),
    [("sec***@bank.example", False), ("old***@bank.example", True)],
    ids=["fits the deleted key", "does not fit the deleted key"],
)
def test_a_masked_key_that_a_deletion_may_have_named_has_not_vanished(masked_key, has_vanished):
    """A list showed a key partly hidden (masked), then second@bank.example was deleted, and the masked key is gone.

    If its visible characters fit the deleted key, it is that key. Otherwise it is another key, which has vanished.
    """
    history = ListHistory().list_shows(masked_key).delete("second@bank.example").begin_changes()
    history.list_is_empty().list_is_empty()
    something_has_vanished = history.vanished != set()

    assert something_has_vanished is has_vanished


def test_a_deletion_did_not_take_a_key_that_a_list_shows_after_it():
    """A deletion did not take a key that a list still shows after it. The key vanishes only later."""
    history = ListHistory().list_shows(OLD_KEY).begin_changes()
    history.delete(NEW_KEY).list_shows(OLD_KEY).list_is_empty().list_is_empty()

    assert history.vanished == {OLD_KEY}
    assert not history.a_deletion_may_have_taken_them


def test_a_deletion_may_have_taken_a_key_that_no_list_shows_after_it():
    """A deletion of another key may have taken a key that no list shows after it."""
    history = ListHistory().list_shows(OLD_KEY).begin_changes()
    history.list_shows(OLD_KEY).delete(NEW_KEY).list_is_empty().list_is_empty()

    assert history.vanished == {OLD_KEY}
    assert history.a_deletion_may_have_taken_them


def test_without_a_list_from_before_the_run_no_key_has_vanished():
    """No list was read before the run changed a key. So nobody knows which keys the account had.

    Two empty lists afterwards show nothing. No key is missing from the last one, compared with the list before the run.
    And no key has vanished, which means that it is missing from two lists in a row.
    """
    history = ListHistory().begin_changes().list_is_empty().list_is_empty()
    last_list = history.last_noted_list
    missing_keys = history.lists.keys_missing_from(last_list, ACCOUNT)

    assert history.vanished == set()
    assert missing_keys == frozenset()


@pytest.mark.parametrize(
    ("more_before", "more_afterwards"),
    [(True, False), (False, True)],
    ids=["the list before the run has more pages", "the lists afterwards have more pages"],
)
def test_no_key_has_vanished_if_a_list_has_more_pages(more_before, more_afterwards):
    """Two lists lack the old key. But a list with `hasMore: true` may have it on another page."""
    history = ListHistory().list_shows(OLD_KEY, hasMore=more_before).begin_changes()
    history.list_is_empty(hasMore=more_afterwards).list_is_empty(hasMore=more_afterwards)

    assert history.vanished == set()


def test_of_two_equal_texts_one_has_vanished_if_later_lists_show_only_one():
    """A list may show two keys as the same text, because it hides most of their characters (masks them).

    Here the list before the run has such a text twice, and later lists have it once. So one key has vanished.
    """
    masked_key = "o***@bank.example"
    history = ListHistory().list_shows(masked_key, masked_key).begin_changes()
    history.list_shows(masked_key).list_shows(masked_key)

    assert history.vanished == {masked_key}
    assert not history.a_deletion_may_have_taken_them


@pytest.mark.parametrize(
    ("is_sandbox", "named_keys", "status_of_deletion", "vanished"),
    [
        (True, [], 200, set()),
        (True, [""], 200, set()),
        (True, [], 400, {OLD_KEY}),
        (True, [NEW_KEY], 200, {OLD_KEY}),
        (False, [], 200, {OLD_KEY}),
    ],
    ids=[
        "a sandbox, no key named",
        "a sandbox, an empty key named",
        "a sandbox, the deletion was refused",
        "a sandbox, another key named",
        "no sandbox",
    ],
)
def test_on_a_sandbox_a_deletion_without_a_key_may_delete_all_keys(
    is_sandbox, named_keys, status_of_deletion, vanished
):
    """The old key is gone after a deletion. If the deletion may have meant all keys, the old key has not vanished.

    Only on a sandbox (a test system) the suite sends a deletion that names no key, and a service may delete all keys
    then. A refused deletion, or one that names another key, does not explain that the old key is gone.
    """
    history = ListHistory(is_sandbox=is_sandbox).list_shows(OLD_KEY).begin_changes()
    history.delete(*named_keys, status=status_of_deletion).list_is_empty().list_is_empty()

    assert history.vanished == vanished
