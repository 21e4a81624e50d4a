"""No request that is made from the bodies of a profile names anybody, or is a whole order, however a service reads it."""

import json
import re
from dataclasses import replace

import pytest

from environments.profiles.loading import load
from environments.profiles.model import RequestBody
from spec.interface import PREPARING
from tests.selftest.services.running import ROOT
from tests.traffic.case import form_of
from tests.traffic.invalid import invalid_requests

PROFILE = load("sandbox", folder=ROOT / "environments")
BODIES = {name: PROFILE.requests[name] for name in PREPARING if name in PROFILE.requests}
IDENTIFIERS = [re.sub(r"\D", "", digits) for digits in ("24681357928", "98765432000198", "+55 11 95550-0777")]
PAYEES = {
    "to": {"phone": "+55 11 95550-0777", "cpf": 24681357928},
    "payees": [{"share": 0.01}, "98.765.432/0001-98"],
    "value": 7,
    "amount": 7,
}


@pytest.mark.parametrize("operation", PREPARING)
def test_no_digit_of_an_identifier_of_the_operator_stays(operation):
    """A service that strips what is no digit from a CPF or a phone number finds none of them."""
    for case in invalid_requests(operation, PROFILE):
        digits = re.sub(rb"\D", b"", case.body or b"").decode()
        assert not [identifier for identifier in IDENTIFIERS if identifier in digits], case


def test_a_body_of_any_shape_names_nobody():
    """Numbers and texts in lists are identifiers, too; an amount that is not called value is none."""
    profile = replace(PROFILE, requests={"transferP2p": RequestBody(PAYEES)})

    assert form_of("transferP2p", profile) == {
        "to": {"phone": "pixconf-phone", "cpf": 0},
        "payees": [{"share": 0}, "pixconf-payees"],
        "value": 7,
        "amount": 0,
    }


@pytest.mark.parametrize("operation", BODIES)
def test_no_targeted_request_is_a_whole_order(operation):
    """A service that ignores the Content-Type, or takes the caller's account for an unknown one, finds no amount."""
    sent = [
        case.body
        for case in invalid_requests(operation, PROFILE, observed=True)
        if case.body and case.body.startswith(b"{")
    ]
    amounts = [json.loads(body).get("value") for body in sent if body.endswith(b"}")]

    assert amounts
    assert not [amount for amount in amounts if isinstance(amount, int | float) and amount >= 0]
