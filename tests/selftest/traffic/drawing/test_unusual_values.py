"""The unusual values of a member, by class: each class of mistakes has a value, and no value may name somebody."""

import json
import math
from dataclasses import replace

import pytest

from environments.profiles.model import RequestBody
from spec.interface import SYNTHETIC_PREFIX
from tests.selftest.two_profiles import SANDBOX
from tests.traffic.case import body_as_bytes, usual_body, with_synthetic_identifiers
from tests.traffic.drawing.unusual_values import (
    AMOUNTS,
    DATES,
    KEYS,
    MISSING,
    PAYER,
    TEXTS,
    USUAL,
    Marker,
    unusual_values_of,
)

SORTS = {"amounts": AMOUNTS, "dates": DATES, "texts": TEXTS, "keys": KEYS}
"""The unusual values of a member, by its sort. `in_every_run` has some of them, and `all` has all."""


def json_texts(values):
    """These values as they are written in JSON. A marker, such as MISSING, is no value, and is left out."""
    return [body_as_bytes({"": value}) for value in values if not isinstance(value, Marker)]


@pytest.mark.parametrize("sort", SORTS)
def test_no_value_is_listed_twice(sort):
    """The unusual values of a sort are in two lists: values of every run, and further values. No value is in both, or
    twice in one.
    """
    texts = json_texts(SORTS[sort].all)

    assert len(texts) == len(set(texts))


@pytest.mark.parametrize("sort", SORTS)
def test_every_run_has_each_type_of_json(sort):
    """A member gets unusual values by its sort, such as an amount. Some of them are sent in every run.

    Among these each sort has null, true, a number, a text, an array and an object.
    """
    types = {type(value) for value in SORTS[sort].in_every_run}

    assert types >= {type(None), bool, int, str, list, dict}


@pytest.mark.parametrize(
    ("operation", "member", "values"),
    [
        ("createPix", "value", AMOUNTS),
        ("transferP2p", "date", DATES),
        ("transferP2p", "description", TEXTS),
        ("deletePixKey", "pixKey", TEXTS),
        ("registerPixKey", "pixKey", KEYS),
    ],
)
def test_a_member_has_the_values_of_its_sort(operation, member, values):
    """The amount has amounts, the date has dates, a registered key has keys, and any other text has texts."""
    usual_value = usual_body(operation, SANDBOX)[member]

    assert unusual_values_of(operation, member, usual_value, SANDBOX) == values


def test_the_account_of_the_profile_has_another_form():
    """The account of the profile (the settings of the run) is ac-0001. A member with this account also gets it in
    capital letters, and with a blank behind it.
    """
    values = unusual_values_of("createPix", "account", "ac-0001", SANDBOX).all

    assert "AC-0001" in values
    assert "ac-0001 " in values


def test_an_account_inside_an_object_has_no_other_form():
    """The body of a profile (the settings of a run) may have the account inside an object. Such a member gets the
    unusual values alone.
    """
    profile = replace(SANDBOX, requests={"createPix": RequestBody({"payer": {"id": "{account}"}, "value": 1})})
    usual_value = usual_body("createPix", profile)["payer"]

    assert usual_value == {"id": "ac-0001"}
    assert "" in unusual_values_of("createPix", "payer", usual_value, profile).all


@pytest.mark.parametrize(
    "value",
    [
        *("AC-0001", "ac-0001 ", "null", " 7 ", "1e5", "0x10", "1_000", "1.234,56", "+7", "²", "111.444.777-35"),
        *("2026-01-15T10:00:00-03:00", "2026-01-15 10:00:00", "2026-01-15T10:00:00.123456Z", "10:00", "15/01/2026"),
    ],
)
def test_some_texts_stay_on_a_sandbox(value):
    """On a sandbox (a test system) most texts of a request get a prefix, so that they name nobody. Some are sent as
    they are.

    These are a number, a date, and ac-0001 in another form, which is an account of the profile (the settings of the
    run).
    """
    assert with_synthetic_identifiers({"to": value}, "transferP2p", SANDBOX) == {"to": value}


@pytest.mark.parametrize("value", ["AB@AB", "%", "ac-0001", "ac-00011", "2026-01-15T10:00:00Z; x", "AB AB"])
def test_other_texts_get_the_prefix_on_a_sandbox(value):
    """On a sandbox (a test system) a text gets the prefix `pixconf-` unless it is a number, a date, or another form of
    the account that pays.

    So the account of the profile (the settings of the run) gets the prefix, too, if it stands in the place of a key.
    """
    changed = with_synthetic_identifiers({"pixKey": value}, "deletePixKey", SANDBOX)

    assert changed == {"pixKey": f"{SYNTHETIC_PREFIX}{value}"}


@pytest.mark.parametrize(("number", "text"), [(math.inf, b'{"value": 1e400}'), (-math.inf, b'{"value": -1e400}')])
def test_infinity_is_written_as_a_number_of_json(number, text):
    """The infinite number is written as 1e400, which JSON permits. A parser that reads doubles makes infinity of it."""
    body = body_as_bytes({"value": number})

    assert body == text
    assert json.loads(body) == {"value": number}


def test_markers_are_three():
    """A marker stands for the usual value, for a missing member, or for the account that pays. No two are equal."""
    assert len({USUAL, MISSING, PAYER}) == 3
