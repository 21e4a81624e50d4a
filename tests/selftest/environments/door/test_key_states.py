"""The state of a key after each answer, and which keys may be deleted. Pure: a state and an answer in, a state out."""

import json

import pytest

from environments.door.key_states import (
    KeyState,
    Presence,
    RunKey,
    is_gone_after,
    is_unambiguous,
    may_be_stored_as,
    may_have_arrived,
    presence_of,
    profile_key_may_be_deleted,
    state_after_deletion,
    state_after_list,
    state_after_registration,
    state_at_the_end,
)
from spec.exchange import Exchange, Failure, FailureKind, Request, Response
from spec.key_list import Listing
from tests.selftest.exchanges import JSON_HEADERS, REGISTRATION_RESULT, answer

ACCOUNT, MADE_UP_ACCOUNT = "ac-0001", "pixconf-account"
"""An account of the profile (the settings of the run), and one that the suite made up."""
PROFILE_KEY, MADE_UP_KEY = "qa@bank.example", "pixconf-1a2b3c4d@example.com"
"""A key of the profile, and one that the suite made up."""


def key_of_run(state=KeyState.MAYBE, value=PROFILE_KEY, account=ACCOUNT, **changes):
    """A key of the run in a state. `value` is None if the service made the key and nobody knows its value."""
    return RunKey("a key", "EMAIL", value, account, state=state, **changes)


def registration(status=200, body=REGISTRATION_RESULT, *, valid=True, failure=None):
    """A registration and its answer, or the failure to get one. `valid` says if the request was as documented."""
    request = Request("POST", f"http://127.0.0.1/v1/pix/keys/{ACCOUNT}", (), b"{}")
    if failure:
        return Exchange(1, "registerPixKey", request, failure=Failure(failure, "no answer"), valid=valid)
    response = Response(status, JSON_HEADERS, json.dumps({"code": 0, "data": body}).encode())
    return Exchange(1, "registerPixKey", request, response, valid=valid)


def deletion_of(named_key, status=200, account=ACCOUNT):
    """A deletion that names this key, and its answer."""
    body = {"code": 0, "data": {}}
    path = f"/v1/{account}"
    return answer("deletePixKey", body, status=status, method="DELETE", path=path, sent={"pixKey": named_key})


def list_that_shows(*keys, **members):
    """A list with these keys. `members` are further members of its `data`."""
    data = {"keys": [{"pixKey": key} for key in keys], **members}
    return Listing(answer("listPixKeys", {"code": 0, "data": data}), "/data/keys/*/pixKey")


# -- registrations ---------------------------------------------------------------------------------------------------

SUCCEEDED, REFUSED = registration(), registration(400)
TIMED_OUT, NOT_SENT = registration(failure=FailureKind.TIMEOUT), registration(failure=FailureKind.NO_CONNECTION)


@pytest.mark.parametrize("state", KeyState)
def test_a_key_whose_registration_succeeded_is_registered(state):
    """Whatever the state of the key was before, after a successful registration it is REGISTERED."""
    assert state_after_registration(key_of_run(state), SUCCEEDED, state, is_sandbox=False) is KeyState.REGISTERED


@pytest.mark.parametrize("state", [KeyState.REGISTERED, KeyState.STILL_LISTED])
@pytest.mark.parametrize("exchange", [REFUSED, TIMED_OUT, NOT_SENT], ids=["refused", "timed out", "not sent"])
def test_a_registered_key_stays_registered_if_a_second_registration_does_not_succeed(state, exchange):
    """A service may refuse the second registration because the key is registered already.

    The key was registered before, or a list showed it again after its deletion (STILL_LISTED).
    """
    assert state_after_registration(key_of_run(state), exchange, state, is_sandbox=False) is state


@pytest.mark.parametrize(
    ("exchange", "state"),
    [
        (REFUSED, KeyState.REFUSED),
        (registration(500), KeyState.REFUSED),
        (registration(body=REGISTRATION_RESULT | {"Success": "false"}), KeyState.REFUSED),
        (registration(body={}), KeyState.MAYBE),
        (registration(body={}, valid=False), KeyState.MAYBE),
        (registration(504), KeyState.MAYBE),
        (registration(504, valid=False), KeyState.REFUSED),
        (TIMED_OUT, KeyState.MAYBE),
        (registration(failure=FailureKind.DROPPED), KeyState.MAYBE),
    ],
    ids=[
        "status 400",
        "status 500",
        "Success: false",
        "status 200 without a result",
        "status 200 without a result, to an invalid request",
        "status 504",
        "status 504 to an invalid request",
        "a time-out",
        "a dropped connection",
    ],
)
def test_a_key_is_refused_or_perhaps_registered_if_its_registration_does_not_succeed(exchange, state):
    """REFUSED means that the service refused the key, so a later list without the key settles that it is not
    registered.

    MAYBE means that no answer of the service itself is clear, so the key may be registered even later.
    """
    assert state_after_registration(key_of_run(), exchange, KeyState.NOT_SENT, is_sandbox=False) is state


@pytest.mark.parametrize(
    ("was_accepted", "state_before", "state_afterwards"),
    [
        (True, KeyState.MAYBE, KeyState.MAYBE),
        (True, KeyState.LATER, KeyState.LATER),
        (True, KeyState.DELETED, KeyState.REFUSED),
        (False, KeyState.MAYBE, KeyState.REFUSED),
    ],
    ids=["accepted", "accepted, and never listed", "accepted, and deleted since", "never accepted"],
)
def test_a_refusal_does_not_undo_an_earlier_registration_that_was_accepted(
    was_accepted, state_before, state_afterwards
):
    """A service may refuse a second registration because it accepted the first one. So the state of the key stays.

    If the key was deleted since, or never accepted, the refusal counts: the key is REFUSED.
    """
    key = key_of_run(was_accepted=was_accepted)

    assert state_after_registration(key, REFUSED, state_before, is_sandbox=False) is state_afterwards


STATES_AFTER_NOTHING_WAS_SENT = {
    KeyState.NOT_SENT: KeyState.GONE,
    KeyState.GONE: KeyState.GONE,
    KeyState.DELETED: KeyState.GONE,
    KeyState.BEFORE: KeyState.GONE,
    KeyState.MAYBE: KeyState.MAYBE,
    KeyState.REFUSED: KeyState.REFUSED,
    KeyState.LATER: KeyState.LATER,
    KeyState.STILL_LISTED: KeyState.STILL_LISTED,
    KeyState.REGISTERED: KeyState.REGISTERED,
}
"""By the state of a key before a registration that was never sent, its state afterwards."""


@pytest.mark.parametrize("kind", [FailureKind.NO_CONNECTION, FailureKind.TLS])
@pytest.mark.parametrize(("state_before", "state_afterwards"), STATES_AFTER_NOTHING_WAS_SENT.items())
def test_a_registration_that_was_never_sent_registers_nothing(kind, state_before, state_afterwards):
    """There was no connection, or its TLS handshake failed. A key that may be registered from before still may be.

    Any other key is not registered (GONE).
    """
    never_sent = registration(failure=kind)

    assert state_after_registration(key_of_run(), never_sent, state_before, is_sandbox=False) is state_afterwards


@pytest.mark.parametrize(
    ("exchange", "was_never_sent"),
    [
        (registration(failure=FailureKind.NO_CONNECTION), True),
        (registration(failure=FailureKind.TLS), True),
        (SUCCEEDED, False),
        (REFUSED, False),
        (TIMED_OUT, False),
    ],
    ids=["no connection", "a failed TLS handshake", "succeeded", "refused", "timed out"],
)
def test_a_request_was_never_sent_if_no_connection_was_made(exchange, was_never_sent):
    """Without a connection, or with a failed TLS handshake, no byte of the request reached the service."""
    assert may_have_arrived(exchange) is not was_never_sent


@pytest.mark.parametrize(
    ("value", "account", "status", "is_sandbox", "valid", "state"),
    [
        (None, MADE_UP_ACCOUNT, 400, False, True, KeyState.GONE),
        (None, MADE_UP_ACCOUNT, 499, False, True, KeyState.GONE),
        (None, MADE_UP_ACCOUNT, 500, False, True, KeyState.REFUSED),
        (MADE_UP_KEY, MADE_UP_ACCOUNT, 400, False, True, KeyState.REFUSED),
        ("", MADE_UP_ACCOUNT, 400, False, True, KeyState.REFUSED),
        (None, ACCOUNT, 400, False, True, KeyState.REFUSED),
        (None, ACCOUNT, 400, False, False, KeyState.REFUSED),
        (None, ACCOUNT, 400, True, False, KeyState.GONE),
        (None, ACCOUNT, 500, True, False, KeyState.REFUSED),
        (None, ACCOUNT, 400, True, True, KeyState.REFUSED),
        (PROFILE_KEY, ACCOUNT, 400, True, False, KeyState.REFUSED),
    ],
    ids=[
        "made-up account",
        "made-up account, status 499",
        "made-up account, status 500",
        "made-up account, known value",
        "made-up account, empty value",
        "real account",
        "real account, invalid request",
        "sandbox, invalid request",
        "sandbox, invalid request, status 500",
        "sandbox, valid request",
        "sandbox, invalid request, known value",
    ],
)
def test_a_refused_key_is_gone_at_once_if_no_list_can_ever_show_it(value, account, status, is_sandbox, valid, state):
    """A key of unknown value (None) is not registered (GONE) after a 4xx, if its account was made up.

    On a sandbox (a test system) the same holds for an invalid request. Any other refused key is REFUSED, which means
    that it is perhaps registered until a list lacks it.
    """
    key = key_of_run(KeyState.MAYBE, value, account)
    refusal = registration(status, valid=valid)

    assert state_after_registration(key, refusal, KeyState.NOT_SENT, is_sandbox=is_sandbox) is state


# -- deletions -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("deletion", "is_gone"),
    [
        (deletion_of(PROFILE_KEY), True),
        (deletion_of(f"tel:{PROFILE_KEY}"), True),
        (deletion_of(f"x{PROFILE_KEY}"), False),
        (deletion_of(MADE_UP_KEY), False),
        (deletion_of(PROFILE_KEY, account=MADE_UP_ACCOUNT), False),
        (deletion_of(PROFILE_KEY, 404), False),
        (deletion_of(PROFILE_KEY, 400), False),
    ],
    ids=[
        "it succeeded",
        "it succeeded, and named the key as a URI",
        "it named a longer key",
        "it named another key",
        "it named another account",
        "status 404",
        "status 400",
    ],
)
def test_a_registered_key_is_gone_after_a_successful_deletion_that_names_it(deletion, is_gone):
    """The deletion must name the key and its account. A refusal, also 404, does not show that the key is gone."""
    assert is_gone_after(key_of_run(KeyState.REGISTERED), deletion) is is_gone


@pytest.mark.parametrize(
    ("key", "status", "is_gone"),
    [
        (key_of_run(KeyState.MAYBE), 404, True),
        (key_of_run(KeyState.MAYBE, was_absent_after_acceptance=True), 404, False),
        (key_of_run(KeyState.REFUSED), 404, True),
        (key_of_run(KeyState.REFUSED), 400, False),
        (key_of_run(KeyState.LATER), 404, False),
    ],
    ids=[
        "perhaps registered",
        "perhaps registered, and accepted without being listed",
        "its registration was refused",
        "its registration was refused, and its deletion, too (400)",
        "accepted, perhaps registered later",
    ],
)
def test_a_key_that_was_only_perhaps_registered_is_gone_if_its_deletion_does_not_find_it(key, status, is_gone):
    """Status 404 (not found) to its deletion says that the key was never registered.

    Not so for a key that the service accepted and did not list so far, because it may register that key later.
    """
    assert is_gone_after(key, deletion_of(PROFILE_KEY, status)) is is_gone


@pytest.mark.parametrize(
    ("value_of_key", "named_key", "is_gone"),
    [("", "", True), ("", PROFILE_KEY, False), (None, PROFILE_KEY, False)],
    ids=["an empty key, and it names an empty one", "an empty key, and it names another", "a key of unknown value"],
)
def test_a_deletion_names_an_empty_key_only_by_an_empty_text(value_of_key, named_key, is_gone):
    """Each text has the empty text in it, so an empty key must be equal. A key of unknown value is never named."""
    assert is_gone_after(key_of_run(value=value_of_key), deletion_of(named_key)) is is_gone


def test_a_key_is_not_gone_after_a_deletion_without_an_answer():
    """After a time-out the deletion may not have reached the service."""
    request = deletion_of(PROFILE_KEY).request
    unanswered_deletion = Exchange(1, "deletePixKey", request, failure=Failure(FailureKind.TIMEOUT, "no answer"))

    assert not is_gone_after(key_of_run(KeyState.REGISTERED), unanswered_deletion)


@pytest.mark.parametrize(
    ("key", "status", "state"),
    [
        (key_of_run(KeyState.REGISTERED), 200, KeyState.DELETED),
        (key_of_run(KeyState.MAYBE), 200, KeyState.DELETED),
        (key_of_run(KeyState.MAYBE), 404, KeyState.GONE),
        (key_of_run(KeyState.LATER), 200, KeyState.LATER),
        (key_of_run(KeyState.REGISTERED, was_absent_after_acceptance=True), 200, KeyState.LATER),
        (key_of_run(KeyState.REGISTERED, was_absent_after_acceptance=True, was_listed=True), 200, KeyState.DELETED),
        (key_of_run(KeyState.REGISTERED, was_listed=True), 200, KeyState.DELETED),
    ],
    ids=[
        "registered",
        "perhaps registered",
        "perhaps registered, and not found (404)",
        "never listed so far",
        "a list lacked it",
        "a list lacked it, and another one showed it",
        "a list showed it",
    ],
)
def test_a_deleted_key_that_no_list_ever_showed_may_be_registered_later(key, status, state):
    """A service that accepts a key and does not list it may be slow, and register it after the deletion (LATER).

    Any other key is DELETED, or was never registered (GONE) if its deletion did not find it.
    """
    assert state_after_deletion(key, deletion_of(PROFILE_KEY, status)) is state


# -- lists -----------------------------------------------------------------------------------------------------------

SHOWN = Presence(is_shown=True, is_absent=False, may_be_shown=True)
ABSENT = Presence(is_shown=False, is_absent=True, may_be_shown=False)
UNKNOWN = Presence(is_shown=False, is_absent=False, may_be_shown=False)
SIMILAR_TEXT_IS_SHOWN = Presence(is_shown=False, is_absent=True, may_be_shown=True)
STATES_IF_SHOWN_AND_IF_ABSENT = {
    KeyState.NOT_SENT: (KeyState.BEFORE, KeyState.NOT_SENT),
    KeyState.BEFORE: (KeyState.BEFORE, KeyState.BEFORE),
    KeyState.GONE: (KeyState.MAYBE, KeyState.GONE),
    KeyState.DELETED: (KeyState.STILL_LISTED, KeyState.DELETED),
    KeyState.REGISTERED: (KeyState.REGISTERED, KeyState.REGISTERED),
    KeyState.MAYBE: (KeyState.MAYBE, KeyState.MAYBE),
    KeyState.REFUSED: (KeyState.MAYBE, KeyState.GONE),
    KeyState.STILL_LISTED: (KeyState.STILL_LISTED, KeyState.DELETED),
    KeyState.LATER: (KeyState.REGISTERED, KeyState.LATER),
}
"""By the state of a key, its state after a list that shows it, and after a list that lacks it."""


@pytest.mark.parametrize("is_sandbox", [True, False])
@pytest.mark.parametrize("state", KeyState)
def test_a_list_that_shows_or_lacks_a_key_changes_its_state(state, is_sandbox):
    """For example a DELETED key that a list shows was STILL_LISTED, and a REFUSED key that a list lacks is not registered (GONE).

    The table has both states for each state before. A list that may show the key masked (UNKNOWN) changes nothing.
    """
    key = key_of_run(state)
    state_if_shown = state_after_list(key, SHOWN, is_sandbox=is_sandbox)
    state_if_absent = state_after_list(key, ABSENT, is_sandbox=is_sandbox)
    state_if_unknown = state_after_list(key, UNKNOWN, is_sandbox=is_sandbox)

    assert (state_if_shown, state_if_absent) == STATES_IF_SHOWN_AND_IF_ABSENT[state]
    assert state_if_unknown is state


@pytest.mark.parametrize(
    ("state", "is_sandbox", "state_afterwards"),
    [
        (KeyState.NOT_SENT, False, KeyState.BEFORE),
        (KeyState.NOT_SENT, True, KeyState.NOT_SENT),
        (KeyState.REFUSED, False, KeyState.GONE),
    ],
    ids=["not sent so far", "not sent so far, on a sandbox", "refused"],
)
def test_a_similar_text_in_a_list_before_its_registration_counts_as_the_key(state, is_sandbox, state_afterwards):
    """A key of the profile that was not sent so far counts as there before the run if a list shows a similar text.

    Then it is not deleted. On a sandbox (a test system), and for a key that was sent, the similar text is another key.
    """
    assert state_after_list(key_of_run(state), SIMILAR_TEXT_IS_SHOWN, is_sandbox=is_sandbox) is state_afterwards


@pytest.mark.parametrize(
    ("is_of_profile", "listed_key", "listed_before", "presence"),
    [
        (True, PROFILE_KEY, None, SHOWN),
        (True, None, None, ABSENT),
        (True, f"x{PROFILE_KEY}", None, SIMILAR_TEXT_IS_SHOWN),
        (False, f"x{PROFILE_KEY}", None, ABSENT),
        (True, "q***@bank.example", None, UNKNOWN),
        (True, "q***@bank.example", "q***@bank.example", ABSENT),
    ],
    ids=[
        "the list has the key",
        "the list has no key",
        "a similar text, and the key is of the profile",
        "a similar text, and the key is made up",
        "a masked text that fits the key",
        "a masked text that was listed before the run, too",
    ],
)
def test_a_list_says_whether_it_shows_a_key(is_of_profile, listed_key, listed_before, presence):
    """A list shows the key, lacks it, or leaves it UNKNOWN because one of its texts has hidden characters (masked).

    A masked text that the list before the run had, too, is an older key. Similar texts count only for a key of the
    profile (the settings of the run), which belongs to somebody.
    """
    key = key_of_run(is_of_profile=is_of_profile)
    listed_keys = [listed_key] if listed_key else []
    list_before = list_that_shows(listed_before) if listed_before else None

    assert presence_of(key, PROFILE_KEY, list_that_shows(*listed_keys), list_before) == presence


# -- the end ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "was_any_list_read", "last_state"),
    [
        (key_of_run(KeyState.REFUSED, MADE_UP_KEY, MADE_UP_ACCOUNT), False, KeyState.GONE),
        (key_of_run(KeyState.REFUSED, MADE_UP_KEY, MADE_UP_ACCOUNT), True, KeyState.REFUSED),
        (key_of_run(KeyState.REFUSED), False, KeyState.REFUSED),
        (key_of_run(KeyState.MAYBE, MADE_UP_KEY, MADE_UP_ACCOUNT), False, KeyState.MAYBE),
        (key_of_run(KeyState.REGISTERED, was_absent_after_acceptance=True), True, KeyState.LATER),
        (key_of_run(KeyState.REGISTERED, was_absent_after_acceptance=True, was_listed=True), True, KeyState.REGISTERED),
        (key_of_run(KeyState.REGISTERED), True, KeyState.REGISTERED),
        (key_of_run(KeyState.MAYBE, was_absent_after_acceptance=True), True, KeyState.MAYBE),
    ],
    ids=[
        "refused for a made-up account, no list was read",
        "refused for a made-up account, a list was read",
        "refused for a real account, no list was read",
        "unclear for a made-up account, no list was read",
        "registered, a list lacked it",
        "registered, a list lacked it and another showed it",
        "registered",
        "unclear, a list lacked it",
    ],
)
def test_a_key_gets_its_last_state_when_nothing_more_is_sent(key, was_any_list_read, last_state):
    """At the end of a run two states change.

    A key that was refused for a made-up account is not registered (GONE) if no list was read. A registered key that
    lists lacked is perhaps registered later (LATER).
    """
    assert state_at_the_end(key, was_any_list_read=was_any_list_read) is last_state


def test_the_states_of_keys_that_are_to_be_cleaned_up():
    """A key in one of these five states may still be registered at the service, so the run deletes or reports it."""
    states_to_clean_up = {state for state in KeyState if key_of_run(state).may_still_exist}

    assert states_to_clean_up == {
        KeyState.REGISTERED,
        KeyState.STILL_LISTED,
        KeyState.MAYBE,
        KeyState.REFUSED,
        KeyState.LATER,
    }


# -- which keys may be deleted ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "can_be_deleted_safely"),
    [
        (MADE_UP_KEY, True), ("x", True), ("x" * 200, True), (" x ", True),
        ("", False), ("  ", False), ("x" * 201, False), ("x\n" * 200, False),
        ("a\x00", False), ("\x1fa", False), ("a\x7fb", False), ("a\x9f", False), ("\ud800", False), ("a\udfffb", False),
    ],
)  # fmt: skip
def test_a_deletion_names_no_key_that_a_service_may_read_as_another_one(key, can_be_deleted_safely):
    """A service may change a key that is blank, longer than 200 characters, or has characters that cannot be printed.

    A deletion that names such a key could delete another one.
    """
    assert is_unambiguous(key) is can_be_deleted_safely


REGISTERED_KEY = key_of_run(KeyState.REGISTERED)
LIST_WITHOUT_THE_KEY = list_that_shows("mae@cliente.example")
LIST_WITH_THE_KEY = list_that_shows(PROFILE_KEY)
LIST_WITH_MORE_PAGES = list_that_shows("mae@cliente.example", hasMore=True)
LIST_WITH_A_MASKED_KEY = list_that_shows("m***@cliente.example")
LIST_WITH_THE_KEY_AND_A_MASKED_ONE = list_that_shows("q***@bank.example", PROFILE_KEY)


@pytest.mark.parametrize(
    ("key", "list_before", "list_now", "may_be_deleted"),
    [
        (REGISTERED_KEY, LIST_WITHOUT_THE_KEY, LIST_WITH_THE_KEY, True),
        (key_of_run(KeyState.MAYBE), LIST_WITHOUT_THE_KEY, LIST_WITH_THE_KEY, True),
        (key_of_run(KeyState.REGISTERED, disposable=False), LIST_WITHOUT_THE_KEY, LIST_WITH_THE_KEY, False),
        (key_of_run(KeyState.BEFORE), LIST_WITHOUT_THE_KEY, LIST_WITH_THE_KEY, False),
        (REGISTERED_KEY, None, LIST_WITH_THE_KEY, False),
        (REGISTERED_KEY, LIST_WITH_MORE_PAGES, LIST_WITH_THE_KEY, False),
        (REGISTERED_KEY, LIST_WITH_A_MASKED_KEY, LIST_WITH_THE_KEY, False),
        (REGISTERED_KEY, LIST_WITHOUT_THE_KEY, None, False),
        (REGISTERED_KEY, LIST_WITHOUT_THE_KEY, LIST_WITH_THE_KEY_AND_A_MASKED_ONE, False),
        (REGISTERED_KEY, LIST_WITHOUT_THE_KEY, LIST_WITHOUT_THE_KEY, False),
        (key_of_run(KeyState.REGISTERED, value=None), LIST_WITHOUT_THE_KEY, LIST_WITH_THE_KEY, False),
    ],
    ids=[
        "registered",
        "perhaps registered",
        "not disposable",
        "there before the run",
        "no list before the run",
        "the list before has more pages",
        "the list before hides characters",
        "no list now",
        "the list now hides characters",
        "the list now lacks the key",
        "a key of unknown value",
    ],
)
def test_off_a_sandbox_two_lists_must_show_that_the_run_registered_a_key_of_the_profile(
    key, list_before, list_now, may_be_deleted
):
    """A key of the profile (the settings of the run) belongs to a person. The run may delete it only if it registered
    it.

    A complete list from before the run lacks the key, and the list of now shows it. Neither list hides characters, and
    the profile calls the key `disposable`. A sandbox is a test system; this service is none.
    """
    assert profile_key_may_be_deleted(key, list_before, list_now, is_sandbox=False) is may_be_deleted


@pytest.mark.parametrize(
    ("key", "list_before", "may_be_deleted"),
    [
        (REGISTERED_KEY, None, True),
        (key_of_run(KeyState.MAYBE), None, False),
        (key_of_run(KeyState.REFUSED), None, False),
        (key_of_run(KeyState.REFUSED), LIST_WITHOUT_THE_KEY, True),
        (key_of_run(KeyState.BEFORE), LIST_WITHOUT_THE_KEY, False),
        (key_of_run(KeyState.REGISTERED, disposable=False), LIST_WITHOUT_THE_KEY, False),
    ],
    ids=[
        "registered, without a list",
        "perhaps registered, without a list",
        "refused, without a list",
        "refused, with a list before",
        "there before the run",
        "not disposable",
    ],
)
def test_on_a_sandbox_a_registered_key_may_be_deleted_without_a_list(key, list_before, may_be_deleted):
    """On a sandbox (a test system) a key that is registered for sure may be deleted, and another one after a list.

    The list is from before the run. The key must be `disposable` in the profile, and not there before the run.
    """
    assert profile_key_may_be_deleted(key, list_before, None, is_sandbox=True) is may_be_deleted


@pytest.mark.parametrize(
    ("made_up_key", "stored_text"),
    [
        (MADE_UP_KEY, "pixconf-1a2b3c4d"),
        (MADE_UP_KEY, "pixconf-1A2B3C4D@example-com"),
        ("pixconf-1a", "pixconf-1A"),
        (MADE_UP_KEY, "pixconf-1a2b3"),
        ("pixconf-...-1a2b3c4d", "pixconf-...-1a2b3"),
        ("x-pixconf-1a2b3c4d", "x-pixconf-1a2b"),
    ],
    ids=[
        "cut",
        "other letter case and punctuation",
        "a short key in other letter case",
        "cut to twelve letters and digits",
        "a key that looks masked, cut",
        "a key with a letter before the mark, cut",
    ],
)
def test_a_service_may_have_stored_a_made_up_key_in_another_form(made_up_key, stored_text):
    """A text in a list may be the key that the run sent, if the service cut it or changed its case or punctuation.

    The mark of the suite (pixconf) and at least five more letters or digits must be left. The run then deletes that
    text, too.
    """
    assert may_be_stored_as(key_of_run(value=made_up_key), stored_text)


@pytest.mark.parametrize(
    ("key", "text"),
    [
        (key_of_run(value=MADE_UP_KEY), "pixconf-1A2B3C4D-example.com"),
        (key_of_run(value=MADE_UP_KEY), "pixconf-1a2b"),
        (key_of_run(value=MADE_UP_KEY), "pixconf-9f8e7d6c"),
        (key_of_run(value=MADE_UP_KEY), "1a2b3c4d@example.com"),
        (key_of_run(value=MADE_UP_KEY), "pixconf-1a2b3c4d***"),
        (key_of_run(value=MADE_UP_KEY, is_of_profile=True), "pixconf-1a2b3c4d"),
        (key_of_run(value=PROFILE_KEY), PROFILE_KEY),
        (key_of_run(value=None), "pixconf-1a2b3c4d"),
    ],
    ids=[
        "without the @ of the key",
        "fewer than twelve letters and digits",
        "another key",
        "without the mark of the suite",
        "masked",
        "the key is of the profile",
        "the key has no mark of the suite",
        "the value of the key is unknown",
    ],
)
def test_a_text_that_may_be_somebody_elses_is_no_other_form_of_a_key(key, text):
    """The run deletes a text as another form of its key only if the text has enough of a key that the suite made up."""
    assert not may_be_stored_as(key, text)


@pytest.mark.parametrize(
    ("account", "text", "may_be_it"),
    [(MADE_UP_ACCOUNT, "", True), (MADE_UP_ACCOUNT, "x", False), (ACCOUNT, "", False)],
    ids=["made-up account, stored as empty", "made-up account, another text", "real account"],
)
def test_a_blank_key_of_a_made_up_account_may_be_stored_as_an_empty_one(account, text, may_be_it):
    """A service may cut the blanks of a key, so a key of one blank becomes an empty key. Nobody has a made-up account."""
    assert may_be_stored_as(key_of_run(value=" ", account=account), text) is may_be_it
