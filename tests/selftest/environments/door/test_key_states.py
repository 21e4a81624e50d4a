"""The state of a key after each answer, and which keys may be deleted. Pure: a state and an answer in, a state out."""

import json

import pytest

from environments.door.key_states import (
    KeyState,
    Presence,
    RunKey,
    can_be_named,
    had_no_connection,
    is_gone_after,
    may_have_become,
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

ACCOUNT, NOBODY = "ac-0001", "pixconf-account"
EMAIL, MADE_UP = "qa@bank.example", "pixconf-1a2b3c4d@example.com"
STATES = [*KeyState]


def key(state=KeyState.MAYBE, value=EMAIL, account=ACCOUNT, **changes):
    """A key in a state."""
    return RunKey("a key", "EMAIL", value, account, state=state, **changes)


def registration(status=200, body=REGISTRATION_RESULT, *, valid=True, failure=None):
    """A registration and its answer, or the failure to get one."""
    request = Request("POST", f"http://127.0.0.1/v1/pix/keys/{ACCOUNT}", (), b"{}")
    if failure:
        return Exchange(1, "registerPixKey", request, failure=Failure(failure, "no answer"), valid=valid)
    response = Response(status, JSON_HEADERS, json.dumps({"code": 0, "data": body}).encode())
    return Exchange(1, "registerPixKey", request, response, valid=valid)


def deletion(body, status=200, account=ACCOUNT):
    """A deletion and its answer."""
    return answer(
        "deletePixKey", {"code": 0, "data": {}}, status=status, method="DELETE", path=f"/v1/{account}", sent=body
    )


def listing(*values, **members):
    """A list with these keys."""
    data = {"keys": [{"pixKey": value} for value in values], **members}
    return Listing(answer("listPixKeys", {"code": 0, "data": data}), "/data/keys/*/pixKey")


# -- registrations ---------------------------------------------------------------------------------------------------

GRANTED, REFUSED = registration(), registration(400)
LOST, NOT_SENT = registration(failure=FailureKind.TIMEOUT), registration(failure=FailureKind.NO_CONNECTION)


@pytest.mark.parametrize("state", STATES)
def test_a_key_that_was_granted_is_registered(state):
    """A granted registration makes the key registered, whatever its state was."""
    assert state_after_registration(key(state), GRANTED, state, is_sandbox=False) is KeyState.REGISTERED


@pytest.mark.parametrize("state", [KeyState.REGISTERED, KeyState.KEPT])
@pytest.mark.parametrize("exchange", [REFUSED, LOST, NOT_SENT], ids=["refused", "lost", "not sent"])
def test_a_registered_key_stays_registered_after_a_refusal(state, exchange):
    """A second registration may be refused because the key is registered already."""
    assert state_after_registration(key(state), exchange, state, is_sandbox=False) is state


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
        (LOST, KeyState.MAYBE),
        (registration(failure=FailureKind.DROPPED), KeyState.MAYBE),
    ],
    ids=[
        "400",
        "500",
        "declined",
        "no result",
        "no result to an invalid one",
        "504",
        "504 to an invalid one",
        "time-out",
        "dropped",
    ],
)
def test_a_key_that_was_refused_may_be_registered(exchange, state):
    """After a refusal of the service a list tells. Without a clear answer of the service the key is perhaps registered."""
    assert state_after_registration(key(), exchange, KeyState.NOT_SENT, is_sandbox=False) is state


@pytest.mark.parametrize(
    ("was_accepted", "before", "after"),
    [
        (True, KeyState.MAYBE, KeyState.MAYBE),
        (True, KeyState.LATER, KeyState.LATER),
        (True, KeyState.DELETED, KeyState.REFUSED),
        (False, KeyState.MAYBE, KeyState.REFUSED),
    ],
)
def test_a_refusal_says_nothing_of_an_accepted_registration(was_accepted, before, after):
    """The second registration of a key may be refused because the first one was accepted."""
    run_key = key(was_accepted=was_accepted)

    assert state_after_registration(run_key, REFUSED, before, is_sandbox=False) is after


@pytest.mark.parametrize("kind", [FailureKind.NO_CONNECTION, FailureKind.TLS])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (KeyState.NOT_SENT, KeyState.GONE), (KeyState.GONE, KeyState.GONE), (KeyState.DELETED, KeyState.GONE), (KeyState.BEFORE, KeyState.GONE),
        (KeyState.MAYBE, KeyState.MAYBE), (KeyState.REFUSED, KeyState.REFUSED), (KeyState.LATER, KeyState.LATER), (KeyState.KEPT, KeyState.KEPT), (KeyState.REGISTERED, KeyState.REGISTERED),
    ],
)  # fmt: skip
def test_without_a_connection_the_state_of_a_key_does_not_change(kind, before, after):
    """Nothing was sent. A key that may be registered still may be, and any other key is gone."""
    exchange = registration(failure=kind)

    assert state_after_registration(key(), exchange, before, is_sandbox=False) is after
    assert had_no_connection(exchange)
    assert not any(map(had_no_connection, (GRANTED, REFUSED, LOST)))


@pytest.mark.parametrize(
    ("value", "account", "status", "is_sandbox", "valid", "state"),
    [
        (None, NOBODY, 400, False, True, KeyState.GONE),
        (None, NOBODY, 499, False, True, KeyState.GONE),
        (None, NOBODY, 500, False, True, KeyState.REFUSED),
        (MADE_UP, NOBODY, 400, False, True, KeyState.REFUSED),
        ("", NOBODY, 400, False, True, KeyState.REFUSED),
        (None, ACCOUNT, 400, False, True, KeyState.REFUSED),
        (None, ACCOUNT, 400, False, False, KeyState.REFUSED),
        (None, ACCOUNT, 400, True, False, KeyState.GONE),
        (None, ACCOUNT, 500, True, False, KeyState.REFUSED),
        (None, ACCOUNT, 400, True, True, KeyState.REFUSED),
        (EMAIL, ACCOUNT, 400, True, False, KeyState.REFUSED),
    ],
)
def test_a_refused_key_that_nobody_can_name_is_gone(value, account, status, is_sandbox, valid, state):
    """A key without a value is gone after a 4xx: at a synthetic account, and on a sandbox if the request was
    invalid.
    """
    refused = registration(status, valid=valid)

    assert (
        state_after_registration(key(KeyState.MAYBE, value, account), refused, KeyState.NOT_SENT, is_sandbox=is_sandbox)
        is state
    )


# -- deletions -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("run_key", "exchange", "is_closed"),
    [
        (key(KeyState.REGISTERED), deletion({"pixKey": EMAIL}), True),
        (key(KeyState.REGISTERED), deletion({"pixKey": f"tel:{EMAIL}"}), True),
        (key(KeyState.REGISTERED), deletion({"pixKey": f"x{EMAIL}"}), False),
        (key(KeyState.REGISTERED), deletion({"pixKey": MADE_UP}), False),
        (key(KeyState.REGISTERED), deletion({"pixKey": EMAIL}, account=NOBODY), False),
        (key(KeyState.REGISTERED), deletion({"pixKey": EMAIL}, 404), False),
        (key(KeyState.REGISTERED), deletion({"pixKey": EMAIL}, 400), False),
        (key(KeyState.MAYBE), deletion({"pixKey": EMAIL}, 404), True),
        (key(KeyState.MAYBE, was_missed=True), deletion({"pixKey": EMAIL}, 404), False),
        (key(KeyState.REFUSED), deletion({"pixKey": EMAIL}, 404), True),
        (key(KeyState.REFUSED), deletion({"pixKey": EMAIL}, 400), False),
        (key(KeyState.LATER), deletion({"pixKey": EMAIL}, 404), False),
        (key(value=""), deletion({"pixKey": ""}), True),
        (key(value=""), deletion({"pixKey": EMAIL}), False),
        (key(value=None), deletion({"pixKey": EMAIL}), False),
    ],
)
def test_a_deletion_closes_the_key_that_it_names_at_its_account(run_key, exchange, is_closed):
    """A deletion closes a key if it succeeded.

    A 404 closes only a key that was perhaps registered, and no key that may be registered later.
    """
    assert is_gone_after(run_key, exchange) is is_closed


def test_a_deletion_without_an_answer_closes_no_key():
    """The deletion may not have reached the service."""
    request = deletion({"pixKey": EMAIL}).request
    lost = Exchange(1, "deletePixKey", request, failure=Failure(FailureKind.TIMEOUT, "no answer"))

    assert not is_gone_after(key(KeyState.REGISTERED), lost)


@pytest.mark.parametrize(
    ("run_key", "status", "state"),
    [
        (key(KeyState.REGISTERED), 200, KeyState.DELETED),
        (key(KeyState.MAYBE), 200, KeyState.DELETED),
        (key(KeyState.MAYBE), 404, KeyState.GONE),
        (key(KeyState.LATER), 200, KeyState.LATER),
        (key(KeyState.REGISTERED, was_missed=True), 200, KeyState.LATER),
        (key(KeyState.REGISTERED, was_missed=True, was_listed=True), 200, KeyState.DELETED),
        (key(KeyState.REGISTERED, was_listed=True), 200, KeyState.DELETED),
    ],
)
def test_a_key_that_no_list_showed_may_come_after_its_deletion(run_key, status, state):
    """A key that lists missed may be registered later. Any other key is deleted, or gone after a 404."""
    assert state_after_deletion(run_key, deletion({"pixKey": EMAIL}, status)) is state


# -- lists -----------------------------------------------------------------------------------------------------------

SHOWN = Presence(is_shown=True, is_absent=False, may_be_shown=True)
ABSENT = Presence(is_shown=False, is_absent=True, may_be_shown=False)
UNKNOWN = Presence(is_shown=False, is_absent=False, may_be_shown=False)
SIMILAR = Presence(is_shown=False, is_absent=True, may_be_shown=True)
AFTER = {
    KeyState.NOT_SENT: (KeyState.BEFORE, KeyState.NOT_SENT),
    KeyState.BEFORE: (KeyState.BEFORE, KeyState.BEFORE),
    KeyState.GONE: (KeyState.MAYBE, KeyState.GONE),
    KeyState.DELETED: (KeyState.KEPT, KeyState.DELETED),
    KeyState.REGISTERED: (KeyState.REGISTERED, KeyState.REGISTERED),
    KeyState.MAYBE: (KeyState.MAYBE, KeyState.MAYBE),
    KeyState.REFUSED: (KeyState.MAYBE, KeyState.GONE),
    KeyState.KEPT: (KeyState.KEPT, KeyState.DELETED),
    KeyState.LATER: (KeyState.REGISTERED, KeyState.LATER),
}
"""By state, the state after a list that shows the key, and after one that does not."""


@pytest.mark.parametrize("is_sandbox", [True, False])
@pytest.mark.parametrize("state", STATES)
def test_the_state_after_a_list(state, is_sandbox):
    """AFTER gives the state after a list that shows the key and after a list that lacks it.

    A list that cannot tell changes nothing.
    """
    states_after = [
        state_after_list(key(state), presence, is_sandbox=is_sandbox) for presence in (SHOWN, ABSENT, UNKNOWN)
    ]

    assert states_after == [*AFTER[state], state]


@pytest.mark.parametrize(
    ("state", "is_sandbox", "after"),
    [
        (KeyState.NOT_SENT, False, KeyState.BEFORE),
        (KeyState.NOT_SENT, True, KeyState.NOT_SENT),
        (KeyState.REFUSED, False, KeyState.GONE),
    ],
)
def test_a_similar_text_in_the_list_of_before_counts_as_the_key(state, is_sandbox, after):
    """Off a sandbox such a key is not deleted."""
    assert state_after_list(key(state), SIMILAR, is_sandbox=is_sandbox) is after


@pytest.mark.parametrize(
    ("is_of_profile", "keys", "before", "presence"),
    [
        (True, [EMAIL], None, SHOWN),
        (True, [], None, ABSENT),
        (True, [f"x{EMAIL}"], None, SIMILAR),
        (False, [f"x{EMAIL}"], None, ABSENT),
        (True, ["q***@bank.example"], None, UNKNOWN),
        (True, ["q***@bank.example"], ["q***@bank.example"], ABSENT),
    ],
    ids=["shown", "absent", "similar", "similar, made up", "masked", "masked before"],
)
def test_the_state_of_a_key_after_a_list(is_of_profile, keys, before, presence):
    """A masked text may be the key, unless the list of before has the same text."""
    list_of_before = None if before is None else listing(*before)

    assert presence_of(key(is_of_profile=is_of_profile), EMAIL, listing(*keys), list_of_before) == presence


# -- the end ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("run_key", "was_any_list_read", "state"),
    [
        (key(KeyState.REFUSED, MADE_UP, NOBODY), False, KeyState.GONE),
        (key(KeyState.REFUSED, MADE_UP, NOBODY), True, KeyState.REFUSED),
        (key(KeyState.REFUSED), False, KeyState.REFUSED),
        (key(KeyState.MAYBE, MADE_UP, NOBODY), False, KeyState.MAYBE),
        (key(KeyState.REGISTERED, was_missed=True), True, KeyState.LATER),
        (key(KeyState.REGISTERED, was_missed=True, was_listed=True), True, KeyState.REGISTERED),
        (key(KeyState.REGISTERED), True, KeyState.REGISTERED),
        (key(KeyState.MAYBE, was_missed=True), True, KeyState.MAYBE),
    ],
)
def test_the_state_of_a_key_at_the_end_of_a_run(run_key, was_any_list_read, state):
    """If no list was read, a refused key of a synthetic account is gone.

    A granted key that lists missed may be registered later.
    """
    assert state_at_the_end(run_key, was_any_list_read=was_any_list_read) is state


def test_the_states_of_keys_that_may_still_be_there():
    """In these states the run reports the key as not cleaned up."""
    states_left = {state for state in STATES if key(state).may_still_exist}

    assert states_left == {KeyState.REGISTERED, KeyState.KEPT, KeyState.MAYBE, KeyState.REFUSED, KeyState.LATER}


# -- which keys are the run's own ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "is_nameable"),
    [
        (MADE_UP, True), ("x", True), ("x" * 200, True), (" x ", True),
        ("", False), ("  ", False), ("x" * 201, False), ("x\n" * 200, False),
        ("a\x00", False), ("\x1fa", False), ("a\x7fb", False), ("a\x9f", False), ("\ud800", False), ("a\udfffb", False),
    ],
)  # fmt: skip
def test_keys_that_a_deletion_cannot_name(value, is_nameable):
    """A service may change a key that is empty, longer than 200 characters, or has characters that cannot be
    printed, and so take it for another one.
    """
    assert can_be_named(value) is is_nameable


OTHER_KEY, OWN_KEY, MASKED = listing("mae@cliente.example"), listing(EMAIL), listing("m***@cliente.example")
FIRST_PAGE = listing("mae@cliente.example", hasMore=True)


@pytest.mark.parametrize(
    ("run_key", "before", "now", "may_be"),
    [
        (key(KeyState.REGISTERED), OTHER_KEY, OWN_KEY, True),
        (key(KeyState.MAYBE), OTHER_KEY, OWN_KEY, True),
        (key(KeyState.REGISTERED, disposable=False), OTHER_KEY, OWN_KEY, False),
        (key(KeyState.BEFORE), OTHER_KEY, OWN_KEY, False),
        (key(KeyState.REGISTERED), None, OWN_KEY, False),
        (key(KeyState.REGISTERED), FIRST_PAGE, OWN_KEY, False),
        (key(KeyState.REGISTERED), MASKED, OWN_KEY, False),
        (key(KeyState.REGISTERED), OTHER_KEY, None, False),
        (key(KeyState.REGISTERED), OTHER_KEY, listing("q***@bank.example", EMAIL), False),
        (key(KeyState.REGISTERED), OTHER_KEY, OTHER_KEY, False),
        (key(KeyState.REGISTERED, value=None), OTHER_KEY, OWN_KEY, False),
    ],
)
def test_off_a_sandbox_two_lists_say_that_a_key_of_the_profile_is_the_runs_own(run_key, before, now, may_be):
    """A complete list of before lacks the key, and the list of now shows it. Neither list has masked keys."""
    assert profile_key_may_be_deleted(run_key, before, now, is_sandbox=False) is may_be


@pytest.mark.parametrize(
    ("run_key", "before", "may_be"),
    [
        (key(KeyState.REGISTERED), None, True),
        (key(KeyState.MAYBE), None, False),
        (key(KeyState.REFUSED), None, False),
        (key(KeyState.REFUSED), OTHER_KEY, True),
        (key(KeyState.BEFORE), OTHER_KEY, False),
        (key(KeyState.REGISTERED, disposable=False), OTHER_KEY, False),
    ],
)
def test_on_a_sandbox_a_key_that_was_registered_for_sure_needs_no_list(run_key, before, may_be):
    """On a sandbox a key that was perhaps registered needs a list of before."""
    assert profile_key_may_be_deleted(run_key, before, None, is_sandbox=True) is may_be


@pytest.mark.parametrize(
    ("run_key", "text", "may_be"),
    [
        (key(value=MADE_UP), "pixconf-1a2b3c4d", True),
        (key(value=MADE_UP), "pixconf-1A2B3C4D-example.com", False),
        (key(value=MADE_UP), "pixconf-1A2B3C4D@example-com", True),
        (key(value="pixconf-1a"), "pixconf-1A", True),
        (key(value=MADE_UP), "pixconf-1a2b3", True),
        (key(value=MADE_UP), "pixconf-1a2b", False),
        (key(value=MADE_UP), "pixconf-9f8e7d6c", False),
        (key(value=MADE_UP), "1a2b3c4d@example.com", False),
        (key(value=MADE_UP), "pixconf-1a2b3c4d***", False),
        (key(value="pixconf-...-1a2b3c4d"), "pixconf-...-1a2b3", True),
        (key(value="x-pixconf-1a2b3c4d"), "x-pixconf-1a2b", True),
        (key(value=MADE_UP, is_of_profile=True), "pixconf-1a2b3c4d", False),
        (key(value=EMAIL), EMAIL, False),
        (key(value=None), "pixconf-1a2b3c4d", False),
        (key(value=" ", account=NOBODY), "", True),
        (key(value=" ", account=NOBODY), "x", False),
        (key(value=" "), "", False),
    ],
)
def test_texts_that_may_be_a_changed_synthetic_key(run_key, text, may_be):
    """A service may cut a key, or change its punctuation.

    The text still has the mark of the suite and five more characters.
    """
    assert may_have_become(run_key, text) is may_be
