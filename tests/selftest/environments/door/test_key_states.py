"""The state of a key after each answer, and which keys may be deleted. Pure: a state and an answer in, a state out."""

import json

import pytest

from environments.door.key_states import (
    KeyState,
    Presence,
    RunKey,
    can_be_named,
    is_gone_after,
    may_have_become,
    own_key_may_be_deleted,
    presence_of,
    state_after_deletion,
    state_after_list,
    state_after_registration,
    state_at_the_end,
    was_not_sent,
)
from spec.exchange import Exchange, Failure, FailureKind, Request, Response
from spec.key_list import Listing
from tests.selftest.exchanges import JSON, REGISTRATION, answer

ACCOUNT, NOBODY = "ac-0001", "pixconf-account"
EMAIL, MADE_UP = "qa@bank.example", "pixconf-1a2b3c4d@example.com"
S = KeyState
STATES = [*KeyState]


def key(state=S.MAYBE, value=EMAIL, account=ACCOUNT, **changes):
    """A key in a state."""
    return RunKey("a key", "EMAIL", value, account, state=state, **changes)


def registration(status=200, body=REGISTRATION, *, valid=True, failure=None):
    """A registration and its answer, or the failure to get one."""
    request = Request("POST", f"http://127.0.0.1/v1/pix/keys/{ACCOUNT}", (), b"{}")
    if failure:
        return Exchange(1, "registerPixKey", request, failure=Failure(failure, "no answer"), valid=valid)
    response = Response(status, JSON, json.dumps({"code": 0, "data": body}).encode())
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
    """Whatever was known before."""
    assert state_after_registration(key(state), GRANTED, state, is_sandbox=False) is S.REGISTERED


@pytest.mark.parametrize("state", [S.REGISTERED, S.KEPT])
@pytest.mark.parametrize("exchange", [REFUSED, LOST, NOT_SENT], ids=["refused", "lost", "not sent"])
def test_a_key_that_is_registered_stays_so(state, exchange):
    """It is registered a second time, and refused for that."""
    assert state_after_registration(key(state), exchange, state, is_sandbox=False) is state


@pytest.mark.parametrize(
    ("exchange", "state"),
    [
        (REFUSED, S.REFUSED),
        (registration(500), S.REFUSED),
        (registration(body=REGISTRATION | {"Success": "false"}), S.REFUSED),
        (registration(504), S.MAYBE),
        (registration(504, valid=False), S.REFUSED),
        (LOST, S.MAYBE),
        (registration(failure=FailureKind.DROPPED), S.MAYBE),
    ],
    ids=["400", "500", "declined", "504", "504 to an invalid one", "time-out", "dropped"],
)
def test_a_key_that_was_refused_may_be_registered(exchange, state):
    """A list tells, if any. Of a request that got no answer of the service nothing is known."""
    assert state_after_registration(key(), exchange, S.NOT_SENT, is_sandbox=False) is state


@pytest.mark.parametrize("kind", [FailureKind.NO_CONNECTION, FailureKind.TLS])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (S.NOT_SENT, S.GONE), (S.GONE, S.GONE), (S.DELETED, S.GONE), (S.BEFORE, S.GONE),
        (S.MAYBE, S.MAYBE), (S.REFUSED, S.REFUSED), (S.LATER, S.LATER), (S.KEPT, S.KEPT), (S.REGISTERED, S.REGISTERED),
    ],
)  # fmt: skip
def test_without_a_connection_a_key_is_as_it_was(kind, before, after):
    """Nothing was sent. What may have been registered before, still may be."""
    exchange = registration(failure=kind)

    assert state_after_registration(key(), exchange, before, is_sandbox=False) is after
    assert was_not_sent(exchange)
    assert not any(map(was_not_sent, (GRANTED, REFUSED, LOST)))


@pytest.mark.parametrize(
    ("value", "account", "status", "is_sandbox", "valid", "state"),
    [
        (None, NOBODY, 400, False, True, S.GONE),
        (None, NOBODY, 499, False, True, S.GONE),
        (None, NOBODY, 500, False, True, S.REFUSED),
        (MADE_UP, NOBODY, 400, False, True, S.REFUSED),
        ("", NOBODY, 400, False, True, S.REFUSED),
        (None, ACCOUNT, 400, False, True, S.REFUSED),
        (None, ACCOUNT, 400, False, False, S.REFUSED),
        (None, ACCOUNT, 400, True, False, S.GONE),
        (None, ACCOUNT, 500, True, False, S.REFUSED),
        (None, ACCOUNT, 400, True, True, S.REFUSED),
        (EMAIL, ACCOUNT, 400, True, False, S.REFUSED),
    ],
)
def test_a_refused_key_that_nobody_can_name_is_gone(value, account, status, is_sandbox, valid, state):
    """For a synthetic account, and on a sandbox if its request was invalid; not if the service failed."""
    refused = registration(status, valid=valid)

    assert state_after_registration(key(S.MAYBE, value, account), refused, S.NOT_SENT, is_sandbox=is_sandbox) is state


# -- deletions -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("run_key", "exchange", "is_closed"),
    [
        (key(S.REGISTERED), deletion({"pixKey": EMAIL}), True),
        (key(S.REGISTERED), deletion({"pixKey": f"tel:{EMAIL}"}), True),
        (key(S.REGISTERED), deletion({"pixKey": f"x{EMAIL}"}), False),
        (key(S.REGISTERED), deletion({"pixKey": MADE_UP}), False),
        (key(S.REGISTERED), deletion({"pixKey": EMAIL}, account=NOBODY), False),
        (key(S.REGISTERED), deletion({"pixKey": EMAIL}, 404), False),
        (key(S.REGISTERED), deletion({"pixKey": EMAIL}, 400), False),
        (key(S.MAYBE), deletion({"pixKey": EMAIL}, 404), True),
        (key(S.REFUSED), deletion({"pixKey": EMAIL}, 404), True),
        (key(S.REFUSED), deletion({"pixKey": EMAIL}, 400), False),
        (key(S.LATER), deletion({"pixKey": EMAIL}, 404), False),
        (key(value=""), deletion({"pixKey": ""}), True),
        (key(value=""), deletion({"pixKey": EMAIL}), False),
        (key(value=None), deletion({"pixKey": EMAIL}), False),
    ],
)
def test_a_deletion_closes_the_key_that_it_names_at_its_account(run_key, exchange, is_closed):
    """If it succeeded; or if there is no such key, and the key was not sure."""
    assert is_gone_after(run_key, exchange) is is_closed


def test_a_deletion_without_an_answer_closes_no_key():
    """It may not have come to the service."""
    request = deletion({"pixKey": EMAIL}).request
    lost = Exchange(1, "deletePixKey", request, failure=Failure(FailureKind.TIMEOUT, "no answer"))

    assert not is_gone_after(key(S.REGISTERED), lost)


@pytest.mark.parametrize(
    ("run_key", "status", "state"),
    [
        (key(S.REGISTERED), 200, S.DELETED),
        (key(S.MAYBE), 200, S.DELETED),
        (key(S.MAYBE), 404, S.GONE),
        (key(S.LATER), 200, S.LATER),
        (key(S.REGISTERED, was_missed=True), 200, S.LATER),
        (key(S.REGISTERED, was_missed=True, was_listed=True), 200, S.DELETED),
        (key(S.REGISTERED, was_listed=True), 200, S.DELETED),
    ],
)
def test_a_key_that_no_list_showed_may_come_after_its_deletion(run_key, status, state):
    """Any other one is deleted, or was not there."""
    assert state_after_deletion(run_key, deletion({"pixKey": EMAIL}, status)) is state


# -- lists -----------------------------------------------------------------------------------------------------------

SHOWN = Presence(is_shown=True, is_absent=False, may_be_shown=True)
ABSENT = Presence(is_shown=False, is_absent=True, may_be_shown=False)
UNKNOWN = Presence(is_shown=False, is_absent=False, may_be_shown=False)
SIMILAR = Presence(is_shown=False, is_absent=True, may_be_shown=True)
AFTER = {
    S.NOT_SENT: (S.BEFORE, S.NOT_SENT),
    S.BEFORE: (S.BEFORE, S.BEFORE),
    S.GONE: (S.MAYBE, S.GONE),
    S.DELETED: (S.KEPT, S.DELETED),
    S.REGISTERED: (S.REGISTERED, S.REGISTERED),
    S.MAYBE: (S.MAYBE, S.MAYBE),
    S.REFUSED: (S.MAYBE, S.GONE),
    S.KEPT: (S.KEPT, S.DELETED),
    S.LATER: (S.REGISTERED, S.LATER),
}
"""By state, the state after a list that shows the key, and after one that does not."""


@pytest.mark.parametrize("is_sandbox", [True, False])
@pytest.mark.parametrize("state", STATES)
def test_the_state_after_a_list(state, is_sandbox):
    """A list that can tell neither changes nothing."""
    after = [state_after_list(key(state), presence, is_sandbox=is_sandbox) for presence in (SHOWN, ABSENT, UNKNOWN)]

    assert after == [*AFTER[state], state]


@pytest.mark.parametrize(
    ("state", "is_sandbox", "after"),
    [(S.NOT_SENT, False, S.BEFORE), (S.NOT_SENT, True, S.NOT_SENT), (S.REFUSED, False, S.GONE)],
)
def test_what_may_be_the_key_was_there_before_it_was_sent(state, is_sandbox, after):
    """It is decided against the deletion. A sandbox has nothing to lose."""
    assert state_after_list(key(state), SIMILAR, is_sandbox=is_sandbox) is after


@pytest.mark.parametrize(
    ("owned", "keys", "before", "presence"),
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
def test_what_a_list_says_of_a_key(owned, keys, before, presence):
    """A masked text may be the key, unless it was there before."""
    of_before = None if before is None else listing(*before)

    assert presence_of(key(owned=owned), EMAIL, listing(*keys), of_before) == presence


# -- the end ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("run_key", "was_any_list_read", "state"),
    [
        (key(S.REFUSED, MADE_UP, NOBODY), False, S.GONE),
        (key(S.REFUSED, MADE_UP, NOBODY), True, S.REFUSED),
        (key(S.REFUSED), False, S.REFUSED),
        (key(S.MAYBE, MADE_UP, NOBODY), False, S.MAYBE),
        (key(S.REGISTERED, was_missed=True), True, S.LATER),
        (key(S.REGISTERED, was_missed=True, was_listed=True), True, S.REGISTERED),
        (key(S.REGISTERED), True, S.REGISTERED),
        (key(S.MAYBE, was_missed=True), True, S.MAYBE),
    ],
)
def test_what_a_key_is_when_nothing_more_is_sent(run_key, was_any_list_read, state):
    """Without a list, one that was refused for a synthetic account is not there; one that was granted may come."""
    assert state_at_the_end(run_key, was_any_list_read=was_any_list_read) is state


def test_the_states_of_keys_that_may_still_be_there():
    """The others are not cleaned up by anybody."""
    left = {state for state in STATES if key(state).is_left}

    assert left == {S.REGISTERED, S.KEPT, S.MAYBE, S.REFUSED, S.LATER}


# -- which keys are the run's own ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "can_be"),
    [
        (MADE_UP, True), ("x", True), ("x" * 200, True), (" x ", True),
        ("", False), ("  ", False), ("x" * 201, False), ("x\n" * 200, False),
        ("a\x00", False), ("\x1fa", False), ("a\x7fb", False), ("a\x9f", False), ("\ud800", False), ("a\udfffb", False),
    ],
)  # fmt: skip
def test_a_key_that_a_service_may_read_as_another_one_cannot_be_named(value, can_be):
    """Empty, long, or with signs that cannot be printed."""
    assert can_be_named(value) is can_be


OTHERS, WITH_IT, MASKED = listing("mae@cliente.example"), listing(EMAIL), listing("m***@cliente.example")
GOES_ON = listing("mae@cliente.example", hasMore=True)


@pytest.mark.parametrize(
    ("run_key", "before", "now", "may_be"),
    [
        (key(S.REGISTERED), OTHERS, WITH_IT, True),
        (key(S.MAYBE), OTHERS, WITH_IT, True),
        (key(S.REGISTERED, disposable=False), OTHERS, WITH_IT, False),
        (key(S.BEFORE), OTHERS, WITH_IT, False),
        (key(S.REGISTERED), None, WITH_IT, False),
        (key(S.REGISTERED), GOES_ON, WITH_IT, False),
        (key(S.REGISTERED), MASKED, WITH_IT, False),
        (key(S.REGISTERED), OTHERS, None, False),
        (key(S.REGISTERED), OTHERS, listing("q***@bank.example", EMAIL), False),
        (key(S.REGISTERED), OTHERS, OTHERS, False),
        (key(S.REGISTERED, value=None), OTHERS, WITH_IT, False),
    ],
)
def test_off_a_sandbox_two_lists_say_that_a_key_of_the_profile_is_the_runs_own(run_key, before, now, may_be):
    """A whole list of before, and one of now that shows the key; neither masks keys."""
    assert own_key_may_be_deleted(run_key, before, now, is_sandbox=False) is may_be


@pytest.mark.parametrize(
    ("run_key", "before", "may_be"),
    [
        (key(S.REGISTERED), None, True),
        (key(S.MAYBE), None, False),
        (key(S.REFUSED), None, False),
        (key(S.REFUSED), OTHERS, True),
        (key(S.BEFORE), OTHERS, False),
        (key(S.REGISTERED, disposable=False), OTHERS, False),
    ],
)
def test_on_a_sandbox_a_key_that_was_registered_for_sure_needs_no_list(run_key, before, may_be):
    """One that perhaps was needs a list of before."""
    assert own_key_may_be_deleted(run_key, before, None, is_sandbox=True) is may_be


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
        (key(value=MADE_UP, owned=True), "pixconf-1a2b3c4d", False),
        (key(value=EMAIL), EMAIL, False),
        (key(value=None), "pixconf-1a2b3c4d", False),
        (key(value=" ", account=NOBODY), "", True),
        (key(value=" ", account=NOBODY), "x", False),
        (key(value=" "), "", False),
    ],
)
def test_what_a_service_may_have_made_of_a_synthetic_key(run_key, text, may_be):
    """It cut the key, or left signs out: at least its mark and five more stand there."""
    assert may_have_become(run_key, text) is may_be
