"""What the log says of keys: refusals that had an effect, key types, and keys that a run leaves alone; in memory."""

from dataclasses import replace

import pytest

from environments.profiles.loading import load
from spec.exchange import Purpose
from spec.key_list import Listing
from spec.log import Log
from tests.selftest.exchanges import answer, registration
from tests.traffic.keys.listed import (
    granted_but_not_listed,
    refused_but_perhaps_registered,
    refused_but_registered,
    types_not_registered,
    without_token_but_registered,
)
from tests.traffic.keys.purposes import KeyListing, Registering
from tests.traffic.keys.refused_types import deviations_if_more_is_needed, type_is_accepted

ACCOUNT, PHONE, EMAIL = "ac-0001", "+5511955500777", "qa@pix-conformance.example"
KEY_AT = "/data/keys/*/pixKey"
REFUSED = {"status": 422}


def registration_of(key: str, key_type: str, purpose: Purpose = Registering.FIRST_TIME, **changes):
    """A registration of a key that is granted, unless the changes say otherwise."""
    sent = {"account": ACCOUNT, "pixKeyType": key_type, "pixKey": key}
    path = f"/v1/pix/keys/{ACCOUNT}"
    return replace(registration(sent=sent, path=path, **changes), purpose=purpose)


def list_of_keys(*items: object):
    """A list of keys, as the run reads it."""
    exchange = answer("listPixKeys", {"code": 0, "data": {"keys": items}}, path=f"/v1/pix/keys/{ACCOUNT}")
    return replace(exchange, purpose=KeyListing.KEYS_OF_NOW)


def item(key: str, key_type: str = "EMAIL", **more: object):
    """A key in a list."""
    return {"pixKey": key, "pixKeyType": key_type, **more}


def log_of(*exchanges):
    """A log of these exchanges, numbered in their order."""
    return Log(replace(exchange, number=number) for number, exchange in enumerate(exchanges, 1))


def profile_with(key_at: str | None = KEY_AT, **changes):
    """The profile of the sandbox with these changes."""
    return replace(load("sandbox"), key_at=key_at, **changes)


def log_after_a_refusal(**mark: object):
    """A PHONE key is accepted and listed; then an EMAIL key is refused, and two lists show it with these further
    members.
    """
    accepted = item(PHONE, "PHONE", status="ACTIVE")
    both = list_of_keys(accepted, item(EMAIL, **mark))
    refused = registration_of(EMAIL, "EMAIL", **REFUSED)
    return log_of(list_of_keys(), registration_of(PHONE, "PHONE"), list_of_keys(accepted), refused, both, both)


def test_a_refused_key_in_two_lists_is_registered():
    """Two lists after the refusal show the key at key_at, and the list before it does not."""
    log = log_after_a_refusal(status="ACTIVE")

    assert [exchange.number for exchange in refused_but_registered(log, profile_with())] == [4]
    assert refused_but_perhaps_registered(log, profile_with()) == []


@pytest.mark.parametrize("mark", [{"status": "WAITING"}, {}, {"status": "ACTIVE", "reason": "waits"}])
def test_a_refused_key_that_is_marked_is_not_registered(mark):
    """The key waits, or the list shows failed attempts: the document does not say that a list shows only registered
    keys.
    """
    assert refused_but_registered(log_after_a_refusal(**mark), profile_with()) == []


def test_without_key_at_a_refused_key_in_the_list_is_a_warning():
    """Without key_at nobody knows where the list shows registered keys."""
    log = log_after_a_refusal(status="ACTIVE")
    profile = profile_with(None)

    assert refused_but_registered(log, profile) == []
    assert [exchange.number for exchange in refused_but_perhaps_registered(log, profile)] == [4]


def test_a_refusal_as_already_registered_shows_no_effect():
    """Another client may have registered the key just before."""
    exchanges = list(log_after_a_refusal(status="ACTIVE"))
    repeated = registration_of(PHONE, "PHONE", Registering.SECOND_TIME, **REFUSED)
    log = log_of(*exchanges[:3], repeated, *exchanges[3:])

    assert refused_but_registered(log, profile_with()) == []


def test_a_listed_key_of_a_refused_token_was_registered_by_that_request():
    """No request with the valid token named the key, so only the refused request can have registered it."""
    key, accepted = "pixconf-1@example.com", item(PHONE, "PHONE")
    without_a_token = {"credential": "none", "valid": False, "status": 401, "data": {}}
    refused = registration_of(key, "EMAIL", Registering.WITHOUT_A_TOKEN, **without_a_token)
    log = log_of(
        list_of_keys(),
        registration_of(PHONE, "PHONE"),
        list_of_keys(accepted),
        refused,
        list_of_keys(accepted, item(key)),
    )

    assert [exchange.number for exchange in without_token_but_registered(log, profile_with())] == [4]


def test_an_accepted_key_that_no_list_shows_is_lost():
    """The key is of a type of which no list shows a key."""
    log = log_of(
        list_of_keys(),
        registration_of(PHONE, "PHONE"),
        list_of_keys(),
        registration_of(EMAIL, "EMAIL"),
        list_of_keys(item(EMAIL)),
    )

    assert [exchange.number for exchange in granted_but_not_listed(log, profile_with())] == [2]


def test_an_accepted_key_that_a_list_shows_elsewhere_is_not_lost():
    """The list shows the key, but not at key_at: the profile is at fault, not the service."""
    key = "pixconf-1@example.com"
    log = log_of(list_of_keys(), registration_of(key, "EMAIL"), list_of_keys(item("EMAIL", value=key)))

    assert granted_but_not_listed(log, profile_with()) == []


def test_the_type_of_a_key_in_the_first_list_is_left_alone():
    """The run does not register a key that was there.

    If it registers the key later, an earlier run had left it, and it was deleted.
    """
    profile = profile_with()
    before = [list_of_keys(item(EMAIL)), registration_of(PHONE, "PHONE")]

    assert [*types_not_registered(log_of(*before), profile)] == ["EMAIL"]
    assert types_not_registered(log_of(*before, registration_of(EMAIL, "EMAIL")), profile) == {}
    assert [*types_not_registered(Log(), profile_with(not_for_this_account=("CPF",)))] == ["CPF"]


def test_a_key_type_is_refused_wrongly_if_another_one_is_accepted_before_and_after():
    """Only the answers to registrations count. If no type is accepted after the refusal, the account may be full."""
    accepted, refused = registration_of(PHONE, "PHONE"), registration_of(EMAIL, "EMAIL", **REFUSED)
    repeated = registration_of(EMAIL, "EMAIL", Registering.AFTER_A_REFUSAL, **REFUSED)
    control = registration_of(PHONE, "PHONE", Registering.OF_ANOTHER_TYPE)
    log = log_of(list_of_keys(), accepted, refused, repeated, repeated, repeated, list_of_keys(), control)

    assert type_is_accepted(log, profile_with(), "EMAIL", "").deviates
    assert not type_is_accepted(Log([*log][:-1]), profile_with(), "EMAIL", "").deviates
    assert type_is_accepted(log, profile_with(), "PHONE", "").holds
    assert type_is_accepted(log, profile_with(), "CPF", "not reached").why == "not reached"


def test_a_service_needs_more_if_the_documented_registration_stays_refused():
    """A registration with a difference, such as further fields, headers and a query, is accepted.

    Repeated without the difference three times, it is refused each time.
    """
    refused = registration_of(EMAIL, "EMAIL", **REFUSED)
    different = registration_of(EMAIL, "EMAIL", Registering.WITH_A_DIFFERENCE, valid=False)
    repeated = registration_of(EMAIL, "EMAIL", Registering.WITHOUT_THE_DIFFERENCE, **REFUSED)

    assert [*deviations_if_more_is_needed(log_of(refused, different, repeated, repeated, repeated))] == [
        "registerPixKey.body.sufficient"
    ]
    assert deviations_if_more_is_needed(log_of(refused, different, repeated)) == {}


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
def test_the_marks_of_a_key_are_the_members_beside_it(key_at, data, marks):
    """The values beside a key are the members of the key's own object and of the objects around it, from the first * of key_at on."""
    listing = Listing(answer("listPixKeys", {"code": 0, "data": data}), key_at)

    assert listing.values_beside(EMAIL) == marks
