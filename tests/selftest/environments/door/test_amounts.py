"""Off a sandbox the door sends no transfer above the amount of the profile, and none for nothing.

The amount is the member `value`. The profile has 3 as the amount of transferP2p. A body that a lenient service may read
as a larger amount, or as none, is refused, too.
"""

import pytest

from environments.door.permission import ForbiddenError
from tests.selftest.services.guarded import RECEIVING_ACCOUNT, client_of_profile
from tests.selftest.services.one_run import UNUSED_ADDRESS

AMOUNTS_REFUSED = {
    "above that of the profile": b'{"value": 3.01}',
    "a huge one": b'{"value": 1e400}',
    "of many digits": b'{"value": ' + b"9" * 5000 + b"}",
    "infinite": b'{"value": Infinity}',
    "nothing": b'{"value": 0}',
    "below nothing": b'{"value": -1}',
    "no number": b'{"value": NaN}',
    "as text": b'{"value": "1"}',
    "deeper": b'{"transfer": {"value": [{"amount": 4}]}}',
    "the first of two": b'{"value": 4, "value": 1}',
    "the last of two": b'{"value": 1, "value": 4}',
    "not quite JSON": b'{"value": 1,}',
    "of a form": b"value=1",
}
AMOUNTS_SENT = {
    "that of the profile": b'{"value": 3}',
    "less": b'{"value": 0.01}',
    "twice": b'{"value": 1, "value": 2}',
    "no amount": b'{"value": null}',
    "true, which may be read as 1": b'{"value": true}',
    "text without a digit": b'{"value": "pixconf-1"}',
    "none": b"{}",
    "cut short": b'{"pixconf-',
}


def transfer(door, body, operation="transferP2p"):
    """Send a transfer with this body through the door."""
    return door.client.send(operation, body=body)


@pytest.mark.parametrize("body", AMOUNTS_REFUSED.values(), ids=AMOUNTS_REFUSED)
def test_no_transfer_is_above_the_amount_of_the_profile_or_for_nothing(body, tmp_path):
    """Off a sandbox the door raises ForbiddenError and sends nothing."""
    door = client_of_profile(tmp_path)
    with pytest.raises(ForbiddenError):
        transfer(door, body)

    assert door.connections.sent == []


@pytest.mark.parametrize("body", AMOUNTS_SENT.values(), ids=AMOUNTS_SENT)
def test_a_transfer_up_to_the_amount_of_the_profile_passes(body, tmp_path):
    """The door sends an amount above 0 and at most that of the profile, and a body without an amount."""
    door = client_of_profile(tmp_path)
    transfer(door, body)

    assert door.connections.sent == [body]


@pytest.mark.parametrize(
    "body", [*AMOUNTS_REFUSED.values(), *AMOUNTS_SENT.values()], ids=[*AMOUNTS_REFUSED, *AMOUNTS_SENT]
)
def test_on_a_sandbox_each_amount_passes(body, tmp_path):
    """The door checks no amount on a sandbox, because its money is not real."""
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
)
def test_each_operation_has_the_amounts_of_its_own_body(operation, body, is_sent, tmp_path):
    """The limit is the amount in the body that the profile gives for the operation, or 0.01 without such a body.

    A text passes only if it is that of the profile.
    """
    door = client_of_profile(tmp_path)
    expected_bodies = [body] if is_sent else []
    if is_sent:
        transfer(door, body, operation)
    else:
        with pytest.raises(ForbiddenError, match=f"{operation}: an amount"):
            transfer(door, body, operation)

    assert door.connections.sent == expected_bodies


@pytest.mark.parametrize(("amount", "is_sent"), [(0, True), (-5, True), (0.01, True), (0.02, False)])
def test_the_amount_of_the_profile_is_sent_as_it_is(amount, is_sent, tmp_path):
    """An amount of the profile is sent even if it is 0 or negative, because the operator wants to see the answer.

    If the profile has 0, an amount up to 0.01 is sent, too.
    """
    requests = {"transferP2p": {"json": {"to": RECEIVING_ACCOUNT, "value": amount if amount <= 0 else 0}}}
    door = client_of_profile(tmp_path, requests=requests)
    body = f'{{"to": "{RECEIVING_ACCOUNT}", "value": {amount}}}'.encode()
    expected_bodies = [body] if is_sent else []
    if is_sent:
        transfer(door, body)
    else:
        with pytest.raises(ForbiddenError):
            transfer(door, body)

    assert door.connections.sent == expected_bodies
