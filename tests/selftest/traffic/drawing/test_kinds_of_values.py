"""The kinds of the values in a request. Of requests with the same kinds, one is sent."""

import json

import pytest

from spec.interface import SYNTHETIC_PREFIX
from tests.traffic.case import Case
from tests.traffic.drawing.kinds_of_values import kinds_of_values


@pytest.mark.parametrize(
    ("first_value", "second_value"),
    [
        (f"{SYNTHETIC_PREFIX}{'x' * 300}", f"{SYNTHETIC_PREFIX}{'y' * 400}"),
        (f"{SYNTHETIC_PREFIX}0123", f"{SYNTHETIC_PREFIX}98"),
        (f"{SYNTHETIC_PREFIX}a;b", f"{SYNTHETIC_PREFIX}y%"),
        (12, 13),
        (-1, -0.5),
    ],
    ids=["long texts", "texts of digits", "texts with punctuation", "numbers up to a thousand", "negative numbers"],
)
def test_similar_values_are_of_one_kind(first_value, second_value):
    """Two bodies whose member `description` has similar values are of the same kinds, so only one of them is sent."""
    assert kinds_in_transfer_with(first_value) == kinds_in_transfer_with(second_value)


@pytest.mark.parametrize(
    ("first_value", "second_value"),
    [
        pytest.param(12, -12, id="a positive and a negative number"),
        pytest.param(12, 12.5, id="a whole number and a fraction"),
        pytest.param(2**31, 2**31 + 1, id="numbers at and above the bound of 32 bits"),
        pytest.param(0, False, id="zero and false"),
        pytest.param("", f"{SYNTHETIC_PREFIX}a", id="the empty text and another text"),
        pytest.param(f"{SYNTHETIC_PREFIX}a\0", f"{SYNTHETIC_PREFIX}a", id="a text with NUL and one without"),
        pytest.param(True, False, id="true and false"),
        pytest.param(12, 12_000, id="numbers of two sizes"),
        pytest.param(0.25, 0.125, id="whole cents and a fraction of a cent"),
        pytest.param("2026-02-28", "2026-02-30", id="a date and a day that no year has"),
        pytest.param(f"{SYNTHETIC_PREFIX}a", f"{SYNTHETIC_PREFIX}ã", id="a letter of ASCII and another one"),
        pytest.param("x" * 255, "x" * 256, id="texts of 255 and of 256 characters"),
        pytest.param([], [None], id="an empty array and one with an item"),
    ],
)
def test_values_that_a_service_may_treat_differently_are_of_two_kinds(first_value, second_value):
    """A service may treat these two values of the member `description` differently. So they are of different kinds, and
    both bodies are sent.
    """
    assert kinds_in_transfer_with(first_value) != kinds_in_transfer_with(second_value)


def test_a_missing_member_has_a_kind():
    """`kinds_of_values` gives the kind of each member of a request. A documented member that is not there is "missing".

    The path parameter has the empty name.
    """
    case = Case("registerPixKey", path_parameter="7", body=json.dumps({"pixKeyType": "PHONE"}).encode())

    assert kinds_of_values(case) == {"": "7", "pixKeyType": "PHONE", "account": "missing", "pixKey": "missing"}


def kinds_in_transfer_with(value):
    """The kinds of the values in the body of a transfer whose member `description` has this value."""
    return kinds_of_values(Case("transferInternal", body=json.dumps({"description": value}).encode()))
