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
    "exchange",
    [
        REFUSED,
        registration(500),
        registration(body=REGISTRATION_RESULT | {"Success": "false"}),
        registration(504, valid=False),
    ],
    ids=[
        "status 400",
        "status 500, which comes from the service itself",
        "Success: false",
        "status 504 to an invalid request, which some gateways refuse so",
    ],
)
def test_a_key_whose_registration_was_refused_is_refused(exchange):
    """REFUSED means that the service said no. If a later list lacks the key, it is certain that it is not registered."""
    assert state_after_registration(key_of_run(), exchange, KeyState.NOT_SENT, is_sandbox=False) is KeyState.REFUSED


@pytest.mark.parametrize(
    "exchange",
    [
        registration(body={}),
        registration(body={}, valid=False),
        registration(504),
        TIMED_OUT,
        registration(failure=FailureKind.DROPPED),
    ],
    ids=[
        "status 200 without a result",
        "status 200 without a result, to an invalid request",
        "status 504, which comes from a gateway before the service",
        "a time-out",
        "a dropped connection",
    ],
)
def test_a_key_whose_registration_was_neither_accepted_nor_refused_is_perhaps_registered(exchange):
    """MAYBE means that the answer does not say what the service did. It may register the key even later.

    For example a gateway answers with 504 if the service behind it is too slow, but the service may have got the
    request.
    """
    assert state_after_registration(key_of_run(), exchange, KeyState.NOT_SENT, is_sandbox=False) is KeyState.MAYBE


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


@pytest.mark.parametrize("kind", [FailureKind.NO_CONNECTION, FailureKind.TLS])
@pytest.mark.parametrize("state", [KeyState.NOT_SENT, KeyState.GONE, KeyState.DELETED, KeyState.BEFORE])
def test_a_registration_that_was_never_sent_registers_nothing(kind, state):
    """There was no connection, or its TLS handshake failed. The key was not registered by the run before.

    So it is not registered afterwards (GONE).
    """
    never_sent = registration(failure=kind)

    assert state_after_registration(key_of_run(), never_sent, state, is_sandbox=False) is KeyState.GONE


@pytest.mark.parametrize("kind", [FailureKind.NO_CONNECTION, FailureKind.TLS])
@pytest.mark.parametrize(
    "state", [KeyState.MAYBE, KeyState.REFUSED, KeyState.LATER, KeyState.STILL_LISTED, KeyState.REGISTERED]
)
def test_a_registration_that_was_never_sent_leaves_a_key_that_may_be_registered_as_it_was(kind, state):
    """There was no connection, or its TLS handshake failed. An earlier registration of the key may have succeeded.

    So the state of the key stays.
    """
    never_sent = registration(failure=kind)

    assert state_after_registration(key_of_run(), never_sent, state, is_sandbox=False) is state


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


UNKNOWN_VALUE = None
"""The value of a key that the service makes: nobody knows it before the service tells it."""


@pytest.mark.parametrize("status", [400, 499])
def test_a_refused_key_of_unknown_value_at_a_made_up_account_is_gone(status):
    """The service makes the key, so nobody knows its value, and the account is made up, so it has no list of keys.

    No later list can show the key, so it counts as not registered (GONE) as soon as its registration is refused.
    """
    key = key_of_run(value=UNKNOWN_VALUE, account=MADE_UP_ACCOUNT)
    refusal = registration(status)

    assert state_after_registration(key, refusal, KeyState.NOT_SENT, is_sandbox=False) is KeyState.GONE


@pytest.mark.parametrize(
    ("key", "status"),
    [
        (key_of_run(value=UNKNOWN_VALUE, account=MADE_UP_ACCOUNT), 500),
        (key_of_run(value=MADE_UP_KEY, account=MADE_UP_ACCOUNT), 400),
        (key_of_run(value="", account=MADE_UP_ACCOUNT), 400),
        (key_of_run(value=UNKNOWN_VALUE, account=ACCOUNT), 400),
    ],
    ids=[
        "status 500: the service may have failed after it registered the key",
        "the value is known: the key may be in the list of another account",
        "the value is an empty text: the key may be in the list of another account",
        "the account is real: its list may show the key",
    ],
)
@pytest.mark.parametrize("valid", [True, False], ids=["a valid request", "an invalid request"])
def test_another_refused_key_is_perhaps_registered_until_a_list_lacks_it(key, status, valid):
    """A list may show the key after the refusal, or the refusal is not clear. So the key is REFUSED, and not GONE.

    The target is not a sandbox (a test system). There it does not matter if the request was valid.
    """
    refusal = registration(status, valid=valid)

    assert state_after_registration(key, refusal, KeyState.NOT_SENT, is_sandbox=False) is KeyState.REFUSED


@pytest.mark.parametrize(
    ("value", "status", "valid", "state"),
    [
        (UNKNOWN_VALUE, 400, False, KeyState.GONE),
        (UNKNOWN_VALUE, 500, False, KeyState.REFUSED),
        (UNKNOWN_VALUE, 400, True, KeyState.REFUSED),
        (PROFILE_KEY, 400, False, KeyState.REFUSED),
    ],
    ids=[
        "an invalid request",
        "an invalid request, and status 500, which is not a clear refusal",
        "a valid request",
        "an invalid request for a key of known value, which a list may show",
    ],
)
def test_on_a_sandbox_a_refused_invalid_request_for_a_key_of_unknown_value_leaves_no_key(value, status, valid, state):
    """On a sandbox (a test system) no key belongs to a person. So the run does not search the lists for such a key.

    That holds for the real account, too. Any other refused key is REFUSED until a list lacks it.
    """
    key = key_of_run(value=value, account=ACCOUNT)
    refusal = registration(status, valid=valid)

    assert state_after_registration(key, refusal, KeyState.NOT_SENT, is_sandbox=True) is state


# -- deletions -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("deletion", "is_gone"),
    [
        (deletion_of(PROFILE_KEY), True),
        (deletion_of(f"mailto:{PROFILE_KEY}"), True),
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
        (key_of_run(KeyState.REFUSED), 404, True),
        (key_of_run(KeyState.REFUSED), 400, False),
        (key_of_run(KeyState.LATER), 404, False),
    ],
    ids=[
        "no clear answer to its registration",
        "its registration was refused",
        "its registration was refused, and its deletion gets 400, which does not mean not found",
        "accepted and not listed, so perhaps registered later",
    ],
)
def test_a_key_that_was_only_perhaps_registered_is_gone_if_its_deletion_does_not_find_it(key, status, is_gone):
    """Status 404 (not found) to its deletion says that the key was never registered.

    A key that the service accepted and did not list so far (LATER) is not gone after a 404, because the service may
    register it later.
    """
    assert is_gone_after(key, deletion_of(PROFILE_KEY, status)) is is_gone


def test_a_key_that_a_list_lacked_after_its_acceptance_is_not_gone_if_its_deletion_does_not_find_it():
    """The first registration of a key was accepted, and a list lacked the key nevertheless. The second registration got
    no answer (MAYBE).

    So the service registers late, and 404 (not found) to the deletion does not say that the key never comes.
    """
    key = key_of_run(KeyState.MAYBE, was_absent_after_acceptance=True)

    assert not is_gone_after(key, deletion_of(PROFILE_KEY, 404))


@pytest.mark.parametrize(
    ("value_of_key", "named_key", "is_gone"),
    [("", "", True), ("", PROFILE_KEY, False), (None, PROFILE_KEY, False)],
    ids=["an empty key, and it names an empty one", "an empty key, and it names another", "a key of unknown value"],
)
def test_a_deletion_names_an_empty_key_only_by_an_empty_text(value_of_key, named_key, is_gone):
    """Each text has the empty text in it, so an empty key must be equal. A key of unknown value is never named."""
    assert is_gone_after(key_of_run(value=value_of_key), deletion_of(named_key)) is is_gone


def test_a_key_is_not_gone_after_a_deletion_without_an_answer():
    """A deletion gets no answer (a time-out). Perhaps it has not reached the service, so the key may still be
    registered.
    """
    request = deletion_of(PROFILE_KEY).request
    unanswered_deletion = Exchange(1, "deletePixKey", request, failure=Failure(FailureKind.TIMEOUT, "no answer"))

    assert not is_gone_after(key_of_run(KeyState.REGISTERED), unanswered_deletion)


@pytest.mark.parametrize(
    "key",
    [
        key_of_run(KeyState.LATER),
        key_of_run(KeyState.REGISTERED, was_absent_after_acceptance=True),
    ],
    ids=["accepted and not listed, so perhaps registered later", "accepted, and a list lacked it"],
)
def test_a_deleted_key_that_lists_lacked_may_be_registered_later(key):
    """The service accepted a key and did not list it, so it registers late. It may register the key after the deletion.

    So the key is not DELETED although its deletion succeeds, but LATER.
    """
    assert state_after_deletion(key, deletion_of(PROFILE_KEY, 200)) is KeyState.LATER


@pytest.mark.parametrize(
    "key",
    [
        key_of_run(KeyState.REGISTERED),
        key_of_run(KeyState.MAYBE),
        key_of_run(KeyState.REGISTERED, was_absent_after_acceptance=True, was_listed=True),
        key_of_run(KeyState.REGISTERED, was_listed=True),
    ],
    ids=[
        "registered, and no list was read",
        "perhaps registered, and no list was read",
        "a list lacked it, and a later one showed it",
        "a list showed it",
    ],
)
def test_any_other_key_is_deleted_after_a_successful_deletion(key):
    """No list lacked the key, or a later list showed it. So its registration is over, and a deletion ends it."""
    assert state_after_deletion(key, deletion_of(PROFILE_KEY, 200)) is KeyState.DELETED


def test_a_key_that_its_deletion_does_not_find_was_never_registered():
    """No answer to the registration was clear (MAYBE), and the deletion gets 404 (not found). So the key is GONE."""
    assert state_after_deletion(key_of_run(KeyState.MAYBE), deletion_of(PROFILE_KEY, 404)) is KeyState.GONE


# -- lists -----------------------------------------------------------------------------------------------------------

SHOWN = Presence(is_shown=True, is_absent=False, may_be_shown=True)
ABSENT = Presence(is_shown=False, is_absent=True, may_be_shown=False)
UNKNOWN = Presence(is_shown=False, is_absent=False, may_be_shown=False)
SIMILAR_TEXT_IS_SHOWN = Presence(is_shown=False, is_absent=True, may_be_shown=True)
STATES_IF_SHOWN = {
    KeyState.NOT_SENT: KeyState.BEFORE,
    KeyState.GONE: KeyState.MAYBE,
    KeyState.REFUSED: KeyState.MAYBE,
    KeyState.DELETED: KeyState.STILL_LISTED,
    KeyState.LATER: KeyState.REGISTERED,
}
"""The states of keys that a list changes if it shows the key, each with the new state."""
STATES_IF_ABSENT = {
    KeyState.REFUSED: KeyState.GONE,
    KeyState.STILL_LISTED: KeyState.DELETED,
}
"""The states of keys that a list changes if it lacks the key, each with the new state."""


@pytest.mark.parametrize("is_sandbox", [True, False], ids=["a sandbox", "no sandbox"])
@pytest.mark.parametrize("state", KeyState)
def test_a_list_that_shows_a_key_changes_its_state(state, is_sandbox):
    """A key that the run has not sent was there BEFORE the run. A REFUSED key may be registered nevertheless (MAYBE).

    A DELETED key is STILL_LISTED, and a key that was to come LATER is REGISTERED now. Other states stay.
    """
    expected_state = STATES_IF_SHOWN.get(state, state)

    assert state_after_list(key_of_run(state), SHOWN, is_sandbox=is_sandbox) is expected_state


@pytest.mark.parametrize("is_sandbox", [True, False], ids=["a sandbox", "no sandbox"])
@pytest.mark.parametrize("state", KeyState)
def test_a_list_that_lacks_a_key_changes_its_state(state, is_sandbox):
    """A REFUSED key is not registered (GONE), and a key that was STILL_LISTED after its deletion is DELETED now.

    Other states stay, because a key that was accepted, or not answered, may be listed later.
    """
    expected_state = STATES_IF_ABSENT.get(state, state)

    assert state_after_list(key_of_run(state), ABSENT, is_sandbox=is_sandbox) is expected_state


@pytest.mark.parametrize("is_sandbox", [True, False], ids=["a sandbox", "no sandbox"])
@pytest.mark.parametrize("state", KeyState)
def test_a_list_that_may_show_a_key_masked_changes_no_state(state, is_sandbox):
    """A text of the list has hidden characters (masked) and may be the key. So the list says nothing of the key."""
    assert state_after_list(key_of_run(state), UNKNOWN, is_sandbox=is_sandbox) is state


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
    """A list shows a text that is similar to a key of the profile (the settings of the run), which was not sent so far.

    The key then counts as there before the run, and is not deleted. On a sandbox (a test system), and for a key that
    was sent, the similar text counts as another key.
    """
    assert state_after_list(key_of_run(state), SIMILAR_TEXT_IS_SHOWN, is_sandbox=is_sandbox) is state_afterwards


SEARCHED_KEY = "qa@bank.example"
"""The key that is looked for in a list. It may be a key of the profile, or a key that the suite made up."""


@pytest.mark.parametrize(
    ("is_of_profile", "listed_key", "listed_before", "presence"),
    [
        (True, SEARCHED_KEY, None, SHOWN),
        (True, None, None, ABSENT),
        (True, f"x{SEARCHED_KEY}", None, SIMILAR_TEXT_IS_SHOWN),
        (False, f"x{SEARCHED_KEY}", None, ABSENT),
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
    listing = list_that_shows(*([listed_key] if listed_key else []))
    list_before = list_that_shows(listed_before) if listed_before else None

    assert presence_of(SEARCHED_KEY, listing, list_before, is_of_profile=is_of_profile) == presence


# -- the end ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "was_any_list_read", "last_state"),
    [
        (key_of_run(KeyState.REFUSED, MADE_UP_KEY, MADE_UP_ACCOUNT), False, KeyState.GONE),
        (key_of_run(KeyState.REFUSED, MADE_UP_KEY, MADE_UP_ACCOUNT), True, KeyState.REFUSED),
        (key_of_run(KeyState.REFUSED), False, KeyState.REFUSED),
        (key_of_run(KeyState.MAYBE, MADE_UP_KEY, MADE_UP_ACCOUNT), False, KeyState.MAYBE),
    ],
    ids=[
        "refused for a made-up account, no list was read",
        "refused for a made-up account, a list was read",
        "refused for a real account, no list was read",
        "not answered for a made-up account, no list was read",
    ],
)
def test_at_the_end_a_key_that_was_refused_for_a_made_up_account_is_gone_if_no_list_was_read(
    key, was_any_list_read, last_state
):
    """A refused key is perhaps registered until a list lacks it. Nobody has a made-up account, so its own list does not
    exist.

    A run that read no list at all (because it may not read) cannot find out more, so it trusts the refusal (GONE). If
    it read lists, a service may have put the key into another account, and the key stays REFUSED.
    """
    assert state_at_the_end(key, was_any_list_read=was_any_list_read) is last_state


@pytest.mark.parametrize(
    ("key", "last_state"),
    [
        (key_of_run(KeyState.REGISTERED, was_absent_after_acceptance=True), KeyState.LATER),
        (key_of_run(KeyState.REGISTERED, was_absent_after_acceptance=True, was_listed=True), KeyState.REGISTERED),
        (key_of_run(KeyState.REGISTERED), KeyState.REGISTERED),
        (key_of_run(KeyState.MAYBE, was_absent_after_acceptance=True), KeyState.MAYBE),
    ],
    ids=[
        "a list lacked it",
        "a list lacked it, and a later one showed it",
        "no list lacked it",
        "a list lacked it, and its last registration was not answered",
    ],
)
def test_at_the_end_a_registered_key_that_lists_lacked_may_come_later(key, last_state):
    """The service accepted the key and did not list it, so it may list the key after the run (LATER)."""
    assert state_at_the_end(key, was_any_list_read=True) is last_state


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
    "key", [REGISTERED_KEY, key_of_run(KeyState.MAYBE)], ids=["registered for sure", "perhaps registered"]
)
def test_off_a_sandbox_two_lists_must_show_that_the_run_registered_a_key_of_the_profile(key):
    """A key of the profile (the settings of the run) belongs to a person. The run may delete it only if it registered
    it.

    A complete list from before the run lacks the key, and the current list shows it. Neither list hides characters, and
    the profile calls the key `disposable`. The target is not a sandbox (a test system).
    """
    assert profile_key_may_be_deleted(key, LIST_WITHOUT_THE_KEY, LIST_WITH_THE_KEY, is_sandbox=False)


@pytest.mark.parametrize(
    "key",
    [
        key_of_run(KeyState.REGISTERED, disposable=False),
        key_of_run(KeyState.BEFORE),
        key_of_run(KeyState.REGISTERED, value=None),
    ],
    ids=["not disposable", "there before the run", "of unknown value"],
)
def test_off_a_sandbox_some_keys_are_not_deleted_whatever_the_lists_show(key):
    """The run may delete a key if its profile (its settings) calls the key `disposable`, if the key was not there
    before the run, and if its value is known. Here one of the three does not hold.
    """
    assert not profile_key_may_be_deleted(key, LIST_WITHOUT_THE_KEY, LIST_WITH_THE_KEY, is_sandbox=False)


@pytest.mark.parametrize(
    "list_before",
    [None, LIST_WITH_MORE_PAGES, LIST_WITH_A_MASKED_KEY],
    ids=["it was not read", "it has more pages", "it hides characters of a key"],
)
def test_off_a_sandbox_the_list_before_the_run_must_exclude_the_key(list_before):
    """A key of the profile (the settings of the run) is deleted only if the list before the run lacks it for sure.

    The current list shows the key, as is necessary. The target is not a sandbox (a test system).
    """
    current_list = LIST_WITH_THE_KEY

    assert not profile_key_may_be_deleted(REGISTERED_KEY, list_before, current_list, is_sandbox=False)


@pytest.mark.parametrize(
    "current_list",
    [None, LIST_WITH_THE_KEY_AND_A_MASKED_ONE, LIST_WITHOUT_THE_KEY],
    ids=["it was not read", "it hides characters of a key", "it lacks the key"],
)
def test_off_a_sandbox_the_current_list_must_show_the_key(current_list):
    """A key of the profile (the settings of the run) is deleted only if the current list of keys shows it for sure.

    The list from before the run lacks the key, as is necessary. The target is not a sandbox (a test system).
    """
    list_before = LIST_WITHOUT_THE_KEY

    assert not profile_key_may_be_deleted(REGISTERED_KEY, list_before, current_list, is_sandbox=False)


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
    """On a sandbox (a test system) a key that is registered for sure may be deleted, although no list was read.

    Any other key may be deleted only if a list from before the run lacks it. The key must be `disposable` in the
    profile (the settings of the run), and not there before the run.
    """
    assert profile_key_may_be_deleted(key, list_before, None, is_sandbox=True) is may_be_deleted


@pytest.mark.parametrize(
    ("made_up_key", "stored_text"),
    [
        ("pixconf-1a2b3c4d@example.com", "pixconf-1a2b3c4d"),
        ("pixconf-1a2b3c4d@example.com", "pixconf-1A2B3C4D@example-com"),
        ("pixconf-1a", "pixconf-1A"),
        ("pixconf-1a2b3c4d@example.com", "pixconf-1a2b3"),
        ("pixconf-...-1a2b3c4d", "pixconf-...-1a2b3"),
        ("x-pixconf-1a2b3c4d", "x-pixconf-1a2b"),
    ],
    ids=[
        "cut",
        "other letter case and punctuation",
        "a short key in other letter case",
        "cut to twelve letters and digits",
        "a key that looks masked, cut to twelve letters and digits",
        "a key with a letter before the mark of the suite, cut to twelve letters and digits",
    ],
)
def test_a_service_may_have_stored_a_made_up_key_in_another_form(made_up_key, stored_text):
    """A text in a list may be the key that the run sent, if the service cut it or changed its case or punctuation.

    The text must have the mark of the suite (pixconf). It must have at least twelve letters or digits, or all letters
    and digits of the key. The seven letters of the mark count. The run then deletes that text, too.
    """
    assert may_be_stored_as(key_of_run(value=made_up_key), stored_text)


@pytest.mark.parametrize(
    ("key", "text"),
    [
        (key_of_run(value="pixconf-1a2b3c4d@example.com"), "pixconf-1A2B3C4D-example.com"),
        (key_of_run(value="pixconf-1a2b3c4d@example.com"), "pixconf-1a2b"),
        (key_of_run(value="pixconf-1a2b3c4d@example.com"), "pixconf-9f8e7d6c"),
        (key_of_run(value="pixconf-1a2b3c4d@example.com"), "1a2b3c4d@example.com"),
        (key_of_run(value="pixconf-1a2b3c4d@example.com"), "pixconf-1a2b3c4d***"),
        (key_of_run(value="pixconf-1a2b3c4d@example.com", is_of_profile=True), "pixconf-1a2b3c4d"),
        (key_of_run(value="qa@bank.example"), "qa@bank.example"),
        (key_of_run(value=None), "pixconf-1a2b3c4d"),
    ],
    ids=[
        "a hyphen in the place of @, which is the only mark that has a meaning in a key",
        "eleven letters and digits, and at least twelve must be left",
        "another key",
        "without the mark of the suite",
        "masked",
        "the key is of the profile",
        "the key has no mark of the suite",
        "the value of the key is unknown",
    ],
)
def test_a_text_that_may_be_somebody_elses_is_no_other_form_of_a_key(key, text):
    """The run deletes a text as another form of its key only if nobody else can own that text.

    So the text must have the mark of the suite (pixconf), and enough of a key that the suite made up.
    """
    assert not may_be_stored_as(key, text)


@pytest.mark.parametrize(
    ("account", "text", "may_be_it"),
    [(MADE_UP_ACCOUNT, "", True), (MADE_UP_ACCOUNT, "x", False), (ACCOUNT, "", False)],
    ids=["made-up account, stored as empty", "made-up account, another text", "real account"],
)
def test_a_blank_key_of_a_made_up_account_may_be_stored_as_an_empty_one(account, text, may_be_it):
    """A service may cut the blanks of a key, so a key of one blank becomes an empty key. Nobody has a made-up account."""
    assert may_be_stored_as(key_of_run(value=" ", account=account), text) is may_be_it
