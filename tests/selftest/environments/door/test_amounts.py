"""Off a sandbox the door sends no transfer above the amount of the profile, and none for nothing.

The amount is the member `value`. The profile has 3 as the amount of transferP2p. A body that a lenient service may read
as a larger amount, or as none, is refused, too.
"""

import pytest

from environments.door.permission import ForbiddenError
from tests.selftest.services.guarded import RECEIVING_ACCOUNT, client_of_profile
from tests.selftest.services.one_run import UNUSED_ADDRESS

AMOUNTS_REFUSED = {
    "above the amount of the profile": b'{"value": 3.01}',
    "too large for a float": b'{"value": 1e400}',
    "5000 digits": b'{"value": ' + b"9" * 5000 + b"}",
    "infinite": b'{"value": Infinity}',
    "zero": b'{"value": 0}',
    "negative": b'{"value": -1}',
    "NaN": b'{"value": NaN}',
    "a text": b'{"value": "1"}',
    "too large, inside other members": b'{"transfer": {"value": [{"amount": 4}]}}',
    "two members value, the first one too large": b'{"value": 4, "value": 1}',
    "two members value, the last one too large": b'{"value": 1, "value": 4}',
    "JSON with a comma too many": b'{"value": 1,}',
    "a form": b"value=1",
}
"""By what is wrong with the amount: bodies of transfers that the door refuses off a sandbox (a test system)."""
AMOUNTS_SENT = {
    "the amount of the profile": b'{"value": 3}',
    "less": b'{"value": 0.01}',
    "two members value, both small": b'{"value": 1, "value": 2}',
    "null": b'{"value": null}',
    "true, which may be read as 1": b'{"value": true}',
    "a text without a digit": b'{"value": "pixconf-1"}',
    "no amount": b"{}",
    "a body that is cut short": b'{"pixconf-',
}
"""By its amount: bodies of transfers that the door sends everywhere."""


def transfer(door, body, operation="transferP2p"):
    """Send a transfer with this body through the door."""
    return door.client.send(operation, body=body)


@pytest.mark.parametrize("body", AMOUNTS_REFUSED.values(), ids=AMOUNTS_REFUSED)
def test_no_transfer_is_above_the_amount_of_the_profile_or_for_nothing(body, tmp_path):
    """The profile (the settings of the run) has 3 as its amount, and each of these bodies has another one, above it or 0.

    A body that a lenient service may read so counts, too. Off a sandbox (a test system) the door, through which every
    request goes, refuses it and sends nothing.
    """
    door = client_of_profile(tmp_path)
    with pytest.raises(ForbiddenError):
        transfer(door, body)

    assert door.connections.sent == []


@pytest.mark.parametrize("body", AMOUNTS_SENT.values(), ids=AMOUNTS_SENT)
def test_a_transfer_up_to_the_amount_of_the_profile_passes(body, tmp_path):
    """The profile (the settings of the run) has 3 as its amount. The door sends amounts above 0 and at most 3.

    It also sends bodies without an amount, because no money can move.
    """
    door = client_of_profile(tmp_path)
    transfer(door, body)

    assert door.connections.sent == [body]


@pytest.mark.parametrize(
    "body", [*AMOUNTS_REFUSED.values(), *AMOUNTS_SENT.values()], ids=[*AMOUNTS_REFUSED, *AMOUNTS_SENT]
)
def test_on_a_sandbox_each_amount_passes(body, tmp_path):
    """The door, through which every request goes, checks no amount on a sandbox (a test system without real money)."""
    door = client_of_profile(tmp_path, sandbox=UNUSED_ADDRESS)
    transfer(door, body)

    assert door.connections.sent == [body]


@pytest.mark.parametrize(
    ("operation", "body", "is_sent"),
    [
        ("transferExternal", b'{"value": "10.50"}', True),
        ("transferExternal", b'{"value": "10.51"}', False),
        ("transferExternal", b'{"value": 0.01}', True),
        ("transferInternal", b'{"value": 0.01}', True),
        ("transferInternal", b'{"value": 0.02}', False),
        ("transferInternal", b'{"value": true}', False),
    ],
    ids=[
        "the text of the profile",
        "another text",
        "a small number instead of the text",
        "0.01 without a body in the profile",
        "0.02 without a body in the profile",
        "true without a body in the profile, which may be read as 1",
    ],
)
def test_the_limit_of_an_operation_is_the_amount_of_its_own_body(operation, body, is_sent, tmp_path):
    """The profile (the settings of the run) has the text "10.50" as the amount of transferExternal.

    It has no body for transferInternal, so the limit is 0.01 there. An amount that is a text is sent only if the
    profile has the same text.
    """
    door = client_of_profile(tmp_path)
    expected_bodies = [body] if is_sent else []
    if is_sent:
        transfer(door, body, operation)
    else:
        with pytest.raises(ForbiddenError, match=f"{operation}: an amount"):
            transfer(door, body, operation)

    assert door.connections.sent == expected_bodies


@pytest.mark.parametrize(
    ("amount_of_profile", "amount", "is_sent"),
    [(0, 0, True), (-5, -5, True), (0, 0.01, True), (0, 0.02, False)],
    ids=["zero in the profile", "negative in the profile", "0.01 if the profile has 0", "0.02 if the profile has 0"],
)
def test_an_amount_of_the_profile_is_sent_even_if_it_is_not_above_zero(amount_of_profile, amount, is_sent, tmp_path):
    """Whoever wrote the profile (the settings of the run) wants to see the answer to that amount.

    Any other amount must be at most that of the profile. If that is 0, it may be one cent (0.01), the smallest amount.
    """
    requests = {"transferP2p": {"json": {"to": RECEIVING_ACCOUNT, "value": amount_of_profile}}}
    door = client_of_profile(tmp_path, requests=requests)
    body = f'{{"to": "{RECEIVING_ACCOUNT}", "value": {amount}}}'.encode()
    expected_bodies = [body] if is_sent else []
    if is_sent:
        transfer(door, body)
    else:
        with pytest.raises(ForbiddenError):
            transfer(door, body)

    assert door.connections.sent == expected_bodies
