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
    reasons_of_types_left_out,
    refused_but_perhaps_registered,
    refused_but_registered,
    without_token_but_registered,
)
from tests.traffic.keys.purposes import KeyListing, Registering
from tests.traffic.keys.refused_types import deviations_if_more_is_needed, judgement_on_key_type

ACCOUNT, PHONE, EMAIL = "ac-0001", "+5511955500777", "qa@pix-conformance.example"
KEY_AT = "/data/keys/*/pixKey"
"""key_at of a profile: where the value of each key is in a list of keys."""
REFUSED = {"status": 422}


def registration_of(key: str, key_type: str, purpose: Purpose = Registering.FIRST_TIME, **changes):
    """A registration of a key that is granted, unless the changes say otherwise."""
    sent = {"account": ACCOUNT, "pixKeyType": key_type, "pixKey": key}
    path = f"/v1/pix/keys/{ACCOUNT}"
    return replace(registration(sent=sent, path=path, **changes), purpose=purpose)


def list_of_keys(*items: object):
    """The exchange in which the run reads a list of keys with these items. Each item is made by `item`."""
    exchange = answer("listPixKeys", {"code": 0, "data": {"keys": items}}, path=f"/v1/pix/keys/{ACCOUNT}")
    return replace(exchange, purpose=KeyListing.KEYS_OF_NOW)


def item(key: str, key_type: str = "EMAIL", **members: object):
    """A key as a list shows it, with further members, such as `status="ACTIVE"`."""
    return {"pixKey": key, "pixKeyType": key_type, **members}


def log_of(*exchanges):
    """A log of these exchanges, numbered in their order."""
    return Log(replace(exchange, number=number) for number, exchange in enumerate(exchanges, 1))


def profile_with(key_at: str | None = KEY_AT, **changes):
    """The profile of the sandbox with these changes."""
    return replace(load("sandbox"), key_at=key_at, **changes)


def log_of_a_refused_key_that_two_lists_show(**members: object):
    """A log in which a PHONE key is accepted and listed. Then an EMAIL key is refused, and two lists show it
    nevertheless.

    In the lists the EMAIL key has these further members. Its registration has the number 4.
    """
    accepted = item(PHONE, "PHONE", status="ACTIVE")
    list_with_both_keys = list_of_keys(accepted, item(EMAIL, **members))
    refused = registration_of(EMAIL, "EMAIL", **REFUSED)
    return log_of(
        list_of_keys(),
        registration_of(PHONE, "PHONE"),
        list_of_keys(accepted),
        refused,
        list_with_both_keys,
        list_with_both_keys,
    )


def test_a_refused_key_in_two_lists_is_registered():
    """A refused registration registered its key if the list before it lacks the key, and two lists after it show it.

    Both lists show it at `key_at`, the place of keys that the profile (the settings of the run) names. The refused
    registration has the number 4.
    """
    log = log_of_a_refused_key_that_two_lists_show(status="ACTIVE")

    assert [exchange.number for exchange in refused_but_registered(log, profile_with())] == [4]
    assert refused_but_perhaps_registered(log, profile_with()) == []


@pytest.mark.parametrize(
    "members",
    [{"status": "WAITING"}, {}, {"status": "ACTIVE", "reason": "waits"}],
    ids=["another status", "no status", "a reason"],
)
def test_a_refused_key_that_is_marked_is_not_registered(members):
    """A refused key that a list shows with other members than an accepted key does not count as registered.

    The accepted key has the status ACTIVE alone. The refused one may wait, or the list may show failed attempts: the
    document does not say that a list shows only registered keys.
    """
    assert refused_but_registered(log_of_a_refused_key_that_two_lists_show(**members), profile_with()) == []


def test_without_key_at_a_refused_key_in_the_list_is_a_warning():
    """`key_at` in the profile (the settings of the run) says where a list has its keys. Here the profile does not say
    that.

    Then a refused key that two lists show counts only as perhaps registered. The refused registration has the number 4.
    """
    log = log_of_a_refused_key_that_two_lists_show(status="ACTIVE")
    profile = profile_with(None)

    assert refused_but_registered(log, profile) == []
    assert [exchange.number for exchange in refused_but_perhaps_registered(log, profile)] == [4]


def test_a_refusal_as_already_registered_shows_no_effect():
    """A refused key does not count as registered if the service refuses a registered key with the same answer.

    Another client may have registered the key just before. Here the PHONE key is registered a second time, and refused
    like the EMAIL key.
    """
    first_list, phone_accepted, list_with_phone, *about_email = log_of_a_refused_key_that_two_lists_show(
        status="ACTIVE"
    )
    phone_refused = registration_of(PHONE, "PHONE", Registering.SECOND_TIME, **REFUSED)
    log = log_of(first_list, phone_accepted, list_with_phone, phone_refused, *about_email)

    assert refused_but_registered(log, profile_with()) == []


def test_a_listed_key_of_a_refused_token_was_registered_by_that_request():
    """A registration without a token that is refused with 401 registered its key if a list shows the key afterwards.

    No request with the valid token named the key, so only the refused request, which has the number 4, can be the
    reason.
    """
    key, accepted = "pixconf-1@example.com", item(PHONE, "PHONE")
    without_a_token = {"credential": "none", "valid": False, "status": 401, "data": {}}
    log = log_of(
        list_of_keys(),
        registration_of(PHONE, "PHONE"),
        list_of_keys(accepted),
        registration_of(key, "EMAIL", Registering.WITHOUT_A_TOKEN, **without_a_token),
        list_of_keys(accepted, item(key)),
    )

    assert [exchange.number for exchange in without_token_but_registered(log, profile_with())] == [4]


def test_an_accepted_key_that_no_list_shows_is_lost():
    """A registration that was granted lost its key if no list shows the key, and lists show keys of other types.

    Here the PHONE key, whose registration has the number 2, is in no list, and the EMAIL key is.
    """
    log = log_of(
        list_of_keys(),
        registration_of(PHONE, "PHONE"),
        list_of_keys(),
        registration_of(EMAIL, "EMAIL"),
        list_of_keys(item(EMAIL)),
    )

    assert [exchange.number for exchange in granted_but_not_listed(log, profile_with())] == [2]


def test_an_accepted_key_that_a_list_shows_elsewhere_is_not_lost():
    """`key_at` in the profile (the settings of the run) says where a list has its keys. A list shows an accepted key at
    another place, so `key_at` is wrong, and the key is not lost.
    """
    key = "pixconf-1@example.com"
    log = log_of(list_of_keys(), registration_of(key, "EMAIL"), list_of_keys(item("EMAIL", value=key)))

    assert granted_but_not_listed(log, profile_with()) == []


def test_the_key_of_a_random_registration_is_not_lost_if_the_service_made_another_one():
    """The service may ignore the key in a RANDOM registration, and make one: then the list shows another key.

    The lists have shown an accepted PHONE key before, so a lost key would be noticed.
    """
    phone = item(PHONE, "PHONE")
    with_a_made_key = list_of_keys(phone, item("0749a639-c44e-4952-b436-9efeeb0fc261", "RANDOM"))
    log = log_of(
        list_of_keys(),
        registration_of(PHONE, "PHONE"),
        list_of_keys(phone),
        registration_of("pixconf-1@example.com", "RANDOM", Registering.RANDOM_WITH_OTHER_KEYS, valid=False),
        with_a_made_key,
        with_a_made_key,
    )

    assert granted_but_not_listed(log, profile_with()) == []


EMAIL_WAS_THERE = [list_of_keys(item(EMAIL)), registration_of(PHONE, "PHONE")]
"""The first list of a run shows the e-mail key of the profile. Then the run registers another key."""


def test_the_type_of_a_key_in_the_first_list_is_left_out():
    """A run does not register the type of a key that the first list shows, because the key was there before the run."""
    assert list(reasons_of_types_left_out(log_of(*EMAIL_WAS_THERE), profile_with())) == ["EMAIL"]


def test_a_key_in_the_first_list_that_is_registered_later_counts_as_registered():
    """If the first list shows a key and the run registers it later, its type is not left out.

    The key may come from an earlier run, and this run deletes it before it registers it. Only types that are left out
    for a reason are in the result, so types that were not yet registered are not.
    """
    first_list_with_email = list_of_keys(item(EMAIL))
    log = log_of(first_list_with_email, registration_of(PHONE, "PHONE"), registration_of(EMAIL, "EMAIL"))

    assert reasons_of_types_left_out(log, profile_with()) == {}


def test_a_type_that_the_profile_excludes_is_left_out():
    """A key type that the profile (the settings of the run) excludes (not_for_this_account) is not registered."""
    profile = profile_with(not_for_this_account=("CPF",))

    assert list(reasons_of_types_left_out(Log(), profile)) == ["CPF"]


EMAIL_IS_REFUSED = [
    list_of_keys(),
    registration_of(PHONE, "PHONE"),
    registration_of(EMAIL, "EMAIL", **REFUSED),
    *[registration_of(EMAIL, "EMAIL", Registering.AFTER_A_REFUSAL, **REFUSED)] * 3,
    list_of_keys(),
]
"""The PHONE key is accepted, and the EMAIL key is refused four times."""
PHONE_IS_ACCEPTED_AFTERWARDS = registration_of(PHONE, "PHONE", Registering.OF_ANOTHER_TYPE)


def test_a_key_type_is_refused_wrongly_if_another_one_is_accepted_before_and_after():
    """The requirement that a key type is accepted fails if the type is refused each time, and another type is accepted
    before and after the refusals. For that other type it holds.
    """
    log = log_of(*EMAIL_IS_REFUSED, PHONE_IS_ACCEPTED_AFTERWARDS)

    assert judgement_on_key_type(log, profile_with(), "EMAIL", "").deviates
    assert judgement_on_key_type(log, profile_with(), "PHONE", "").holds


def test_a_key_type_may_be_refused_if_no_other_one_is_accepted_after_it():
    """An EMAIL key is refused four times, after a PHONE key was accepted. No other key is registered afterwards.

    So the account may be full, and the requirement that the type EMAIL is accepted does not fail.
    """
    log = log_of(*EMAIL_IS_REFUSED)

    assert not judgement_on_key_type(log, profile_with(), "EMAIL", "").deviates


def test_a_key_type_that_was_not_registered_has_the_given_reason():
    """If no key of a type was registered, the judgement about that type has the reason that the caller gives."""
    log = log_of(*EMAIL_IS_REFUSED, PHONE_IS_ACCEPTED_AFTERWARDS)

    assert judgement_on_key_type(log, profile_with(), "CPF", "not reached").why == "not reached"


REFUSED_AS_DOCUMENTED = registration_of(EMAIL, "EMAIL", **REFUSED)
ACCEPTED_WITH_MORE = registration_of(EMAIL, "EMAIL", Registering.WITH_A_DIFFERENCE, valid=False)
"""A registration with further fields, headers and a query."""
REFUSED_WITHOUT_THAT = registration_of(EMAIL, "EMAIL", Registering.WITHOUT_THE_DIFFERENCE, **REFUSED)


def test_a_service_needs_more_if_the_documented_registration_stays_refused():
    """A registration as documented is refused, and one with further fields is accepted. Then the documented one is
    refused three times more.

    So the service needs more than the documented body. The requirement that the body is sufficient deviates.
    """
    log = log_of(REFUSED_AS_DOCUMENTED, ACCEPTED_WITH_MORE, *[REFUSED_WITHOUT_THAT] * 3)

    assert list(deviations_if_more_is_needed(log)) == ["registerPixKey.body.sufficient"]


def test_one_refusal_afterwards_does_not_show_that_a_service_needs_more():
    """A registration as documented is refused, and one with further fields is accepted. Then the documented one is
    refused once, which may be an accident. So no requirement deviates.
    """
    log = log_of(REFUSED_AS_DOCUMENTED, ACCEPTED_WITH_MORE, REFUSED_WITHOUT_THAT)

    assert deviations_if_more_is_needed(log) == {}


@pytest.mark.parametrize(
    ("key_at", "data", "values_beside_the_key"),
    [
        ("/data/keys/*", {"keys": [EMAIL]}, {frozenset()}),
        (KEY_AT, {"keys": [item(EMAIL, status="A")]}, {frozenset({
            ("0/pixKey", "<key>"), ("0/pixKeyType", "<type>"), ("0/status", "A"),
        })}),
        ("/data/groups/*/keys/*", {"groups": [{"status": "A", "keys": [EMAIL]}]}, {frozenset({("0/status", "A")})}),
        (KEY_AT, {"last": EMAIL, "keys": []}, set()),
    ],
    ids=["a list of texts", "a list of objects", "lists in groups", "the key is elsewhere"],
)  # fmt: skip
def test_the_marks_of_a_key_are_the_members_beside_it(key_at, data, values_beside_the_key):
    """A list may mark a key by other members of the same object, for example as a key that waits.

    There is one set of members for each place at which the list shows the key. It has the members of the object with
    the key, and the members of the objects around that object. The key itself and its type are in the set as <key> and
    <type>, so that two keys can be compared. key_at says where the keys are in a list; * stands for any item.
    """
    listing = Listing(answer("listPixKeys", {"code": 0, "data": data}), key_at)

    assert listing.values_beside(EMAIL) == values_beside_the_key
