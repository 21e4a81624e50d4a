"""The lists of the accounts: which is of before the run, which is the last, and which keys are gone."""

from dataclasses import replace

import pytest

from environments.door.account_lists import AccountLists
from spec.exchange import Request
from tests.selftest.exchanges import answer

OWN, OTHER = "ac-0001", "ac-0002"
OLD, SECOND, NEW = "old@bank.example", "second@bank.example", "new@bank.example"


class Seen:
    """Lists and deletions that are noted one after the other."""

    def __init__(self, account=OWN, *, is_sandbox=False, key_at="/data/keys/*/pixKey"):
        self.lists = AccountLists(account, is_sandbox=is_sandbox, key_at=key_at)
        self._number = 0

    def list(self, *keys, account=OWN, status=200, beside=0, **members):
        """The list of an account is read."""
        data = {"keys": [{"pixKey": key} for key in keys], **members}
        exchange = answer("listPixKeys", {"code": 0, "data": data}, status=status, beside=beside)
        self.listing = self.lists.note_list(self._numbered(exchange, account))
        return self

    def delete(self, *texts, status=200):
        """A deletion that has these texts is sent."""
        exchange = answer("deletePixKey", {"code": 0, "data": {}}, status=status, sent={"pixKeys": [*texts]})
        self.lists.note_deletion(self._numbered(exchange, OWN))
        return self

    def start(self):
        """A change of a key was sent."""
        self.lists.before_is_final = True
        return self

    def _numbered(self, exchange, account):
        self._number += 1
        request = replace(exchange.request, url=f"http://127.0.0.1/v1/pix/keys/{account}")
        return replace(exchange, request=request, number=self._number)

    @property
    def keys_before(self):
        """By account, the keys that were there before the run."""
        return {account: {*listing.values} for account, listing in self.lists.before.items()}


def test_the_last_list_before_the_first_change_is_that_of_before():
    """A later one is the last one alone."""
    seen = Seen().list(OLD).list(OLD, SECOND).start().list(NEW)

    assert seen.keys_before == {OWN: {OLD, SECOND}}
    assert seen.lists.last == {OWN: seen.listing}
    assert {*seen.listing.values} == {NEW}


@pytest.mark.parametrize("other", [OTHER, "ac-0000"])
def test_of_another_account_the_first_list_is_that_of_before(other):
    """The run registers at its own account, whose list after a change is not of before."""
    seen = Seen().start().list(NEW).list(OLD, account=other).list(SECOND, account=other)

    assert seen.keys_before == {other: {OLD}}


def test_without_an_account_no_list_after_a_change_is_of_before():
    """Then nobody knows where the run registers."""
    assert Seen("").start().list(OLD, account=OTHER).keys_before == {}


def test_before_the_first_change_the_list_of_another_account_is_read_anew():
    """The last one is that of before there, too."""
    assert Seen().list(OLD, account=OTHER).list(SECOND, account=OTHER).keys_before == {OTHER: {SECOND}}


@pytest.mark.parametrize("status", [400, 503])
def test_a_list_that_was_refused_is_no_list(status):
    """Nobody knows any more which keys are there."""
    seen = Seen().list(OLD).list(status=status)

    assert seen.listing is None
    assert seen.lists.last == {OWN: None}
    assert seen.keys_before == {OWN: {OLD}}


def test_a_list_that_cannot_be_read_is_no_list():
    """Its status says that it was granted."""
    seen = Seen()
    exchange = replace(answer("listPixKeys", b"<html>"), request=Request("GET", f"http://127.0.0.1/v1/{OWN}", ()))

    assert seen.lists.note_list(exchange) is None
    assert seen.lists.last == {OWN: None}


def test_a_list_beside_another_request_says_nothing():
    """It may be older than the other request. The list before it stays the last one."""
    seen = Seen().list(OLD)
    last = seen.listing
    seen.list(NEW, beside=1)

    assert seen.listing is None
    assert seen.lists.last == {OWN: last}
    assert seen.keys_before == {OWN: {OLD}}


def test_a_text_is_new_since_the_first_list_that_shows_it():
    """One beside another request counts, too: it shows what was there. What no service makes is not new."""
    made = "c0ffee00-0001-4000-8000-00000000000a"
    seen = Seen().list().list(made, beside=1).list(made)

    assert [seen.lists.is_new_since(made, number) for number in (1, 2, 3)] == [True, True, False]
    assert seen.lists.is_new_since("never-shown", 9)
    assert not seen.lists.is_new_since(NEW, 1)


def test_a_refused_list_shows_no_text():
    """What stands in an error is no key."""
    assert Seen().list("made-1", status=400).lists.is_new_since("made-1", 9)


def test_a_key_of_before_is_looked_for_in_the_lists_of_all_accounts():
    """Letter case apart."""
    lists = Seen().list(OLD).list(SECOND, account=OTHER).start().list(OLD, NEW).lists

    assert [lists.were_showing(key) for key in (OLD.upper(), SECOND, NEW)] == [True, True, False]


# -- what is gone ----------------------------------------------------------------------------------------------------


def gone_after(seen):
    """The keys that are gone, and whether a deletion was sent since they were there."""
    return {*seen.lists.gone}, seen.lists.gone_after_a_deletion


def test_a_key_is_gone_if_two_lists_in_a_row_lack_it():
    """One may lag."""
    seen = Seen().list(OLD, SECOND).start().list(SECOND)
    assert gone_after(seen) == (set(), False)

    assert gone_after(seen.list(SECOND)) == ({OLD}, False)
    assert gone_after(seen.list()) == ({OLD}, False)
    assert gone_after(seen.list()) == ({OLD, SECOND}, False)
    assert gone_after(seen.list(OLD, SECOND)) == ({OLD, SECOND}, False)


def test_a_key_that_came_back_is_not_gone():
    """Two lists must lack it one after the other."""
    assert gone_after(Seen().list(OLD).start().list().list(OLD).list()) == (set(), False)


def test_the_lists_of_two_accounts_are_not_in_a_row():
    """Each account has its own."""
    seen = Seen().list(OLD).list(SECOND, account=OTHER).start().list().list(account=OTHER)
    assert gone_after(seen) == (set(), False)

    assert gone_after(seen.list(account=OTHER)) == ({SECOND}, False)


@pytest.mark.parametrize("named", [SECOND, SECOND.upper()])
def test_a_key_that_a_deletion_named_is_not_gone(named):
    """However it is written; others are, after a deletion."""
    seen = Seen().list(OLD, SECOND).start().delete("x", named).list().list()

    assert gone_after(seen) == ({OLD}, True)


def test_a_masked_key_that_a_deletion_may_have_named_is_not_gone():
    """The list hides some of its characters."""
    assert gone_after(Seen().list("sec***@bank.example").delete(SECOND).start().list().list())[0] == set()
    assert gone_after(Seen().list("old***@bank.example").delete(SECOND).start().list().list())[0] != set()


def test_a_deletion_before_a_whole_list_did_not_take_the_key():
    """The key was there after it."""
    seen = Seen().list(OLD).start().delete(NEW).list(OLD).list().list()

    assert gone_after(seen) == ({OLD}, False)
    assert gone_after(Seen().list(OLD).start().list(OLD).delete(NEW).list().list()) == ({OLD}, True)


def test_without_a_list_of_before_nothing_is_gone():
    """Nobody knows what was there."""
    seen = Seen().start().list().list()

    assert gone_after(seen) == (set(), False)
    assert seen.lists.gone_from(seen.listing, OWN) == frozenset()


@pytest.mark.parametrize(("before", "now"), [(True, False), (False, True)])
def test_a_list_that_goes_on_says_of_no_key_that_it_is_gone(before, now):
    """The key may stand on another page."""
    seen = Seen().list(OLD, hasMore=before).start().list(hasMore=now).list(hasMore=now)

    assert gone_after(seen) == (set(), False)


def test_a_key_that_stands_twice_and_then_once_is_gone_once():
    """Two keys may look alike to a reader."""
    assert gone_after(Seen().list(OLD, OLD).start().list(OLD).list(OLD)) == ({OLD}, False)


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
def test_on_a_sandbox_a_deletion_of_no_key_may_be_one_of_all(is_sandbox, texts, status, gone):
    """If it was granted. Off a sandbox none is sent for an account of the profile."""
    seen = Seen(is_sandbox=is_sandbox).list(OLD).start().delete(*texts, status=status).list().list()

    assert gone_after(seen)[0] == gone
