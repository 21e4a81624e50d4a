"""What the log says of keys: refusals that had an effect, key types, and keys that a run leaves alone; in memory."""

from dataclasses import replace

import pytest

from environments.profiles.loading import load
from spec.exchange import Purpose
from spec.key_list import Listing
from spec.log import Log
from tests.selftest.exchanges import answer, registration
from tests.traffic.keys.listed import (
    lost_registrations,
    refused_and_listed,
    refused_with_effect,
    types_left_alone,
    without_token_with_effect,
)
from tests.traffic.keys.purposes import KeyListing, Registering
from tests.traffic.keys.refused_types import deviations_if_more_is_needed, type_is_accepted

ACCOUNT, PHONE, EMAIL = "ac-0001", "+5511955500777", "qa@pix-conformance.example"
KEY_AT = "/data/keys/*/pixKey"
REFUSED = {"status": 422}


def registered(key: str, key_type: str, purpose: Purpose = Registering.FIRST_TIME, **changes):
    """A registration of a key that is granted, unless the changes say otherwise."""
    sent = {"account": ACCOUNT, "pixKeyType": key_type, "pixKey": key}
    path = f"/v1/pix/keys/{ACCOUNT}"
    return replace(registration(sent=sent, path=path, **changes), purpose=purpose)


def listed(*items: object):
    """A list of keys, as the run reads it."""
    exchange = answer("listPixKeys", {"code": 0, "data": {"keys": items}}, path=f"/v1/pix/keys/{ACCOUNT}")
    return replace(exchange, purpose=KeyListing.KEYS_OF_NOW)


def item(key: str, key_type: str = "EMAIL", **more: object):
    """A key in a list."""
    return {"pixKey": key, "pixKeyType": key_type, **more}


def log_of(*exchanges):
    """A log of these, numbered in their order."""
    return Log(replace(exchange, number=number) for number, exchange in enumerate(exchanges, 1))


def profile_with(key_at: str | None = KEY_AT, **changes):
    """The profile of the sandbox."""
    return replace(load("sandbox"), key_at=key_at, **changes)


def after_a_refusal(**mark: object):
    """A PHONE key is accepted and listed; then an EMAIL key is refused, and two lists show it with this mark."""
    accepted = item(PHONE, "PHONE", status="ACTIVE")
    both = listed(accepted, item(EMAIL, **mark))
    refused = registered(EMAIL, "EMAIL", **REFUSED)
    return log_of(listed(), registered(PHONE, "PHONE"), listed(accepted), refused, both, both)


def test_a_refused_key_that_stands_like_an_accepted_one_is_registered():
    """Two lists show it at key_at, where it was absent before."""
    log = after_a_refusal(status="ACTIVE")

    assert [exchange.number for exchange in refused_with_effect(log, profile_with())] == [4]
    assert refused_and_listed(log, profile_with()) == []


@pytest.mark.parametrize("mark", [{"status": "WAITING"}, {}, {"status": "ACTIVE", "reason": "waits"}])
def test_a_refused_key_that_is_marked_is_not_registered(mark):
    """It waits, or the list shows failed attempts: the document does not say that it shows registered keys alone."""
    assert refused_with_effect(after_a_refusal(**mark), profile_with()) == []


def test_without_key_at_a_refused_key_in_the_list_is_a_warning():
    """Nobody knows where such a list shows registered keys."""
    log, profile = after_a_refusal(status="ACTIVE"), profile_with(None)

    assert refused_with_effect(log, profile) == []
    assert [exchange.number for exchange in refused_and_listed(log, profile)] == [4]


def test_a_refusal_like_that_of_a_registered_key_shows_nothing():
    """Another client may have registered the key just before."""
    exchanges = list(after_a_refusal(status="ACTIVE"))
    repeated = registered(PHONE, "PHONE", Registering.SECOND_TIME, **REFUSED)
    log = log_of(*exchanges[:3], repeated, *exchanges[3:])

    assert refused_with_effect(log, profile_with()) == []


def test_a_key_of_a_refused_token_that_is_listed_was_let_in():
    """No request with the valid token named it before that list."""
    key, accepted = "pixconf-1@example.com", item(PHONE, "PHONE")
    without_a_token = {"credential": "none", "valid": False, "status": 401, "data": {}}
    refused = registered(key, "EMAIL", Registering.WITHOUT_A_TOKEN, **without_a_token)
    log = log_of(listed(), registered(PHONE, "PHONE"), listed(accepted), refused, listed(accepted, item(key)))

    assert [exchange.number for exchange in without_token_with_effect(log, profile_with())] == [4]


def test_an_accepted_key_that_no_list_shows_is_lost():
    """It is of a type of which no list ever showed a key."""
    log = log_of(listed(), registered(PHONE, "PHONE"), listed(), registered(EMAIL, "EMAIL"), listed(item(EMAIL)))

    assert [exchange.number for exchange in lost_registrations(log, profile_with())] == [2]


def test_a_key_that_a_list_showed_before_is_left_alone():
    """Unless the run registered it: then an earlier run had left it, and it was deleted."""
    profile = profile_with()
    before = [listed(item(EMAIL)), registered(PHONE, "PHONE")]

    assert [*types_left_alone(log_of(*before), profile)] == ["EMAIL"]
    assert types_left_alone(log_of(*before, registered(EMAIL, "EMAIL")), profile) == {}
    assert [*types_left_alone(Log(), profile_with(not_for_this_account=("CPF",)))] == ["CPF"]


def test_a_key_type_is_refused_wrongly_if_another_one_is_accepted_before_and_after():
    """The judgement reads the registrations alone; without the one after, the account may be full."""
    accepted, refused = registered(PHONE, "PHONE"), registered(EMAIL, "EMAIL", **REFUSED)
    again = registered(EMAIL, "EMAIL", Registering.AFTER_A_REFUSAL, **REFUSED)
    control = registered(PHONE, "PHONE", Registering.OF_ANOTHER_TYPE)
    log = log_of(listed(), accepted, refused, again, again, again, listed(), control)

    assert type_is_accepted(log, profile_with(), "EMAIL", "").deviates
    assert not type_is_accepted(Log([*log][:-1]), profile_with(), "EMAIL", "").deviates
    assert type_is_accepted(log, profile_with(), "PHONE", "").holds
    assert type_is_accepted(log, profile_with(), "CPF", "not reached").why == "not reached"


def test_a_service_needs_more_if_the_documented_registration_stays_refused():
    """The first difference is further fields, headers and a query."""
    refused = registered(EMAIL, "EMAIL", **REFUSED)
    different = registered(EMAIL, "EMAIL", Registering.WITH_A_DIFFERENCE, valid=False)
    again = registered(EMAIL, "EMAIL", Registering.WITHOUT_THE_DIFFERENCE, **REFUSED)

    assert [*deviations_if_more_is_needed(log_of(refused, different, again, again, again))] == [
        "registerPixKey.body.sufficient"
    ]
    assert deviations_if_more_is_needed(log_of(refused, different, again)) == {}


@pytest.mark.parametrize(
    ("key_at", "data", "marks"),
    [
        ("/data/keys/*", {"keys": [EMAIL]}, {frozenset()}),
        (KEY_AT, {"keys": [item(EMAIL, status="A")]}, {frozenset({
            ("0/pixKey", "<key>"), ("0/pixKeyType", "<type>"), ("0/status", "A"),
        })}),
        ("/data/groups/*/keys/*", {"groups": [{"status": "A", "keys": [EMAIL]}]}, {frozenset({("0/status", "A")})}),
        (KEY_AT, {"last": EMAIL, "keys": []}, set()),
    ],
)  # fmt: skip
def test_the_marks_of_a_key_are_what_stands_beside_it(key_at, data, marks):
    """In its own object and in the objects around it, from the first * of key_at on."""
    listing = Listing(answer("listPixKeys", {"code": 0, "data": data}), key_at)

    assert listing.marks_of(EMAIL) == marks
