"""What the lists of keys of an account show: the keys before the run, the last list, and the keys that are gone.

The keys before the run are those of the last list that was read before the run changed a key. A key is gone if it was
there before the run, and later lists lack it although no deletion named it.
"""

from dataclasses import replace

import pytest

from environments.door.account_lists import AccountLists
from spec.exchange import Request
from tests.selftest.exchanges import answer

OWN, OTHER = "ac-0001", "ac-0002"
"""The account at which the run registers keys, and another one."""
OLD, SECOND, NEW = "old@bank.example", "second@bank.example", "new@bank.example"


class ListHistory:
    """Lists and deletions of keys, noted one after the other, as in a run.

    Each method returns the history, so that calls chain.
    """

    def __init__(self, account=OWN, *, is_sandbox=False, key_at="/data/keys/*/pixKey"):
        self.lists = AccountLists(account, is_sandbox=is_sandbox, key_at=key_at)
        self._number = 0

    def list(self, *keys, account=OWN, status=200, beside=0, **members):
        """Note a list that shows these keys.

        `beside` is the number of a request that was on its way at the same time.
        """
        data = {"keys": [{"pixKey": key} for key in keys], **members}
        exchange = answer("listPixKeys", {"code": 0, "data": data}, status=status, beside=beside)
        self.listing = self.lists.note_list(self._numbered(exchange, account))
        return self

    def delete(self, *texts, status=200):
        """Note a deletion whose body has these texts."""
        exchange = answer("deletePixKey", {"code": 0, "data": {}}, status=status, sent={"pixKeys": [*texts]})
        self.lists.note_deletion(self._numbered(exchange, OWN))
        return self

    def begin_changes(self):
        """From here on the run has changed a key."""
        self.lists.run_may_have_changed_keys = True
        return self

    def _numbered(self, exchange, account):
        self._number += 1
        request = replace(exchange.request, url=f"http://127.0.0.1/v1/pix/keys/{account}")
        return replace(exchange, request=request, number=self._number)

    @property
    def keys_before(self):
        """The keys that each account had before the run, by account."""
        return {account: {*listing.values} for account, listing in self.lists.before.items()}


def test_the_last_list_before_the_first_change_shows_the_keys_before_the_run():
    """Two lists are read before the first change, and the second one shows the keys before the run.

    The list after the change is the last list, and changes nothing about the keys before the run.
    """
    history = ListHistory().list(OLD).list(OLD, SECOND).begin_changes().list(NEW)

    assert history.keys_before == {OWN: {OLD, SECOND}}
    assert history.lists.last == {OWN: history.listing}
    assert {*history.listing.values} == {NEW}


@pytest.mark.parametrize("other", [OTHER, "ac-0000"])
def test_the_first_list_of_another_account_shows_its_keys_before_the_run(other):
    """All lists are read after the first change. The run registers at its own account only.

    So the first list of another account still shows the keys that it had before the run. A list of the own account does
    not.
    """
    history = ListHistory().begin_changes().list(NEW).list(OLD, account=other).list(SECOND, account=other)

    assert history.keys_before == {other: {OLD}}


def test_without_an_account_in_the_profile_no_list_after_a_change_shows_the_keys_before_the_run():
    """Nobody knows at which account the run registers, so it may have changed the keys of any account."""
    assert ListHistory("").begin_changes().list(OLD, account=OTHER).keys_before == {}


def test_the_last_list_of_another_account_before_the_first_change_counts():
    """Before the first change of a key, a later list of that account replaces an earlier one."""
    assert ListHistory().list(OLD, account=OTHER).list(SECOND, account=OTHER).keys_before == {OTHER: {SECOND}}


@pytest.mark.parametrize("status", [400, 503])
def test_a_list_that_was_refused_is_no_list(status):
    """After a refused list nobody knows which keys the account has. The keys before the run stay known."""
    history = ListHistory().list(OLD).list(status=status)

    assert history.listing is None
    assert history.lists.last == {OWN: None}
    assert history.keys_before == {OWN: {OLD}}


def test_a_list_that_cannot_be_read_is_no_list():
    """An HTML page with status 200 shows no keys."""
    history = ListHistory()
    exchange = replace(answer("listPixKeys", b"<html>"), request=Request("GET", f"http://127.0.0.1/v1/{OWN}", ()))

    assert history.lists.note_list(exchange) is None
    assert history.lists.last == {OWN: None}


def test_a_list_during_another_request_is_not_used():
    """A list is read while another request is on the wire. It may be older than the effect of that request.

    So the list before it stays the last one.
    """
    history = ListHistory().list(OLD)
    earlier_list = history.listing
    history.list(NEW, beside=1)

    assert history.listing is None
    assert history.lists.last == {OWN: earlier_list}
    assert history.keys_before == {OWN: {OLD}}


def test_a_text_is_new_since_the_first_list_that_shows_it():
    """`may_be_made_since(text, number)` is true if no list before the exchange of that number showed the text.

    Here the second list shows a key, so the key is no longer new for the third exchange. The second list was read while
    another request was on the wire. It counts nevertheless, because it shows what was there. An e-mail address is never
    new, because only a key that the service makes can be.
    """
    made_key = "c0ffee00-0001-4000-8000-00000000000a"
    history = ListHistory().list().list(made_key, beside=1).list(made_key)

    assert [history.lists.may_be_made_since(made_key, number) for number in (1, 2, 3)] == [True, True, False]
    assert history.lists.may_be_made_since("never-shown", 9)
    assert not history.lists.may_be_made_since(NEW, 1)


def test_a_key_in_a_refused_list_is_still_new():
    """A text in the body of an error is no key that the account has."""
    assert ListHistory().list("made-1", status=400).lists.may_be_made_since("made-1", 9)


def test_a_key_of_any_account_counts_as_a_key_before_the_run():
    """`was_listed_before_run` is true for a key in the lists of either account before the first change, in any letter case.

    A key that only a later list shows does not count.
    """
    lists = ListHistory().list(OLD).list(SECOND, account=OTHER).begin_changes().list(OLD, NEW).lists

    assert [lists.was_listed_before_run(key) for key in (OLD.upper(), SECOND, NEW)] == [True, True, False]


# -- what is gone ----------------------------------------------------------------------------------------------------


def gone_after(history):
    """A pair: the keys that are gone after these lists and deletions, and whether a deletion may have taken them.

    A deletion may have taken a key if it was sent after the last list that showed the key.
    """
    return {*history.lists.vanished}, history.lists.has_vanished_after_a_deletion


def test_a_key_is_gone_if_two_lists_in_a_row_lack_it():
    """One list may lag behind. A key that is gone stays so, even if a later list shows it again."""
    history = ListHistory().list(OLD, SECOND).begin_changes().list(SECOND)
    assert gone_after(history) == (set(), False)

    assert gone_after(history.list(SECOND)) == ({OLD}, False)
    assert gone_after(history.list()) == ({OLD}, False)
    assert gone_after(history.list()) == ({OLD, SECOND}, False)
    assert gone_after(history.list(OLD, SECOND)) == ({OLD, SECOND}, False)


def test_a_key_that_came_back_is_not_gone():
    """A key is gone only if two consecutive lists lack it."""
    assert gone_after(ListHistory().list(OLD).begin_changes().list().list(OLD).list()) == (set(), False)


def test_the_lists_of_two_accounts_are_not_in_a_row():
    """Consecutive lists are counted for each account."""
    history = ListHistory().list(OLD).list(SECOND, account=OTHER).begin_changes().list().list(account=OTHER)
    assert gone_after(history) == (set(), False)

    assert gone_after(history.list(account=OTHER)) == ({SECOND}, False)


@pytest.mark.parametrize("named", [SECOND, SECOND.upper()])
def test_a_key_that_a_deletion_named_is_not_gone(named):
    """A deletion may name the key in another letter case. A key that no deletion named is gone after a deletion."""
    history = ListHistory().list(OLD, SECOND).begin_changes().delete("x", named).list().list()

    assert gone_after(history) == ({OLD}, True)


def test_a_masked_key_that_a_deletion_may_have_named_is_not_gone():
    """A list showed `sec***@bank.example`. A deletion named second@bank.example, which fits, so that key is not gone.

    If the visible characters do not fit, the masked key is another one, and it is gone.
    """
    fitting, _ = gone_after(ListHistory().list("sec***@bank.example").delete(SECOND).begin_changes().list().list())
    not_fitting, _ = gone_after(ListHistory().list("old***@bank.example").delete(SECOND).begin_changes().list().list())

    assert fitting == set()
    assert not_fitting != set()


def test_a_key_that_is_listed_after_a_deletion_was_not_deleted_by_it():
    """In both histories the key is gone, and a deletion named another key.

    In the first one a list shows the key after that deletion, so the deletion did not take it. In the second one no list
    does, so the deletion may have taken it.
    """
    history = ListHistory().list(OLD).begin_changes().delete(NEW).list(OLD).list().list()

    assert gone_after(history) == ({OLD}, False)
    assert gone_after(ListHistory().list(OLD).begin_changes().list(OLD).delete(NEW).list().list()) == ({OLD}, True)


def test_without_a_list_before_the_run_nothing_is_gone():
    """Nobody knows which keys the account had."""
    history = ListHistory().begin_changes().list().list()

    assert gone_after(history) == (set(), False)
    assert history.lists.keys_missing_from(history.listing, OWN) == frozenset()


@pytest.mark.parametrize(("before", "now"), [(True, False), (False, True)])
def test_no_key_is_gone_if_a_list_has_further_pages(before, now):
    """A list with `hasMore: true`, before or now, may have the key on another page."""
    history = ListHistory().list(OLD, hasMore=before).begin_changes().list(hasMore=now).list(hasMore=now)

    assert gone_after(history) == (set(), False)


def test_of_two_equal_texts_one_is_gone_if_later_lists_show_only_one():
    """A list may show the same masked text for two different keys."""
    assert gone_after(ListHistory().list(OLD, OLD).begin_changes().list(OLD).list(OLD)) == ({OLD}, False)


@pytest.mark.parametrize(
    ("is_sandbox", "texts", "status", "gone"),
    [
        (True, [], 200, set()),
        (True, [""], 200, set()),
        (True, [], 400, {OLD}),
        (True, [NEW], 200, {OLD}),
        (False, [], 200, {OLD}),
    ],
)
def test_on_a_sandbox_a_deletion_without_a_key_may_delete_all(is_sandbox, texts, status, gone):
    """On a sandbox a granted deletion that names no key may have deleted all keys, so none counts as gone.

    A refused deletion, or one that names another key, explains nothing. Off a sandbox no deletion without a key is sent
    for an account of the profile.
    """
    history = ListHistory(is_sandbox=is_sandbox).list(OLD).begin_changes().delete(*texts, status=status).list().list()

    assert gone_after(history)[0] == gone
