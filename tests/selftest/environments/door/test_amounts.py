"""Off a sandbox the run sends no transfer above the amount of the profile, and none for nothing.

The amount is the member `value`. The profile has 3 as the amount of transferP2p. A body that a lenient service may read
as a larger amount, or as none, is refused, too.
"""

import pytest

from environments.door.permission import ForbiddenError
from tests.selftest.services.without_network import RECEIVING_ACCOUNT, RunWithoutNetwork

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
"""By what is wrong with the amount: bodies of transfers that the run refuses off a sandbox (a test system)."""
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
"""By its amount: bodies of transfers that the run sends everywhere."""


def send_transfer(run, body, operation="transferP2p"):
    """Let the run send a transfer with this body. ForbiddenError if the run refuses it."""
    return run.client.send(operation, body=body)


def send_if_permitted(run, body, operation="transferP2p"):
    """Let the run send a transfer with this body. Returns True if it was sent, and False if the run refused its amount."""
    try:
        send_transfer(run, body, operation)
    except ForbiddenError as error:
        is_about_amount = f"{operation}: an amount" in str(error)
        if not is_about_amount:
            raise
        return False
    return True


@pytest.mark.parametrize("body", AMOUNTS_REFUSED.values(), ids=AMOUNTS_REFUSED)
def test_no_transfer_is_above_the_amount_of_the_profile_or_for_nothing(body, tmp_path):
    """The profile (the settings of the run) has 3 as the amount of this transfer. The run refuses a body with a greater
    amount, such as `{"value": 3.01}`, or with 0.

    It also refuses a body in which a lenient service may read such an amount, such as `{"value": 4, "value": 1}` or the
    text in `{"value": "1"}`. The target is not a sandbox (a test system).
    """
    run = RunWithoutNetwork(tmp_path)
    with pytest.raises(ForbiddenError):
        send_transfer(run, body)

    assert run.sent_bodies == []


@pytest.mark.parametrize("body", AMOUNTS_SENT.values(), ids=AMOUNTS_SENT)
def test_a_transfer_up_to_the_amount_of_the_profile_is_sent(body, tmp_path):
    """The profile (the settings of the run) has 3 as its amount. The run sends amounts above 0 and at most 3.

    It also sends bodies without an amount, such as `{"value": null}`, because no money can move.
    """
    run = RunWithoutNetwork(tmp_path)
    send_transfer(run, body)

    assert run.sent_bodies == [body]


@pytest.mark.parametrize(
    "body", [*AMOUNTS_REFUSED.values(), *AMOUNTS_SENT.values()], ids=[*AMOUNTS_REFUSED, *AMOUNTS_SENT]
)
def test_on_a_sandbox_a_transfer_of_any_amount_is_sent(body, tmp_path):
    """The run checks no amount on a sandbox (a test system without real money)."""
    run = RunWithoutNetwork(tmp_path, is_sandbox=True)
    send_transfer(run, body)

    assert run.sent_bodies == [body]


@pytest.mark.parametrize(
    ("body", "is_sent"),
    [
        (b'{"value": "10.50"}', True),
        (b'{"value": "10.51"}', False),
        (b'{"value": "10.49"}', False),
        (b'{"value": 0.01}', True),
    ],
    ids=["the text of the profile", "a greater text", "a smaller text", "one cent as a number"],
)
def test_an_amount_that_is_a_text_is_sent_only_if_the_profile_has_the_same_text(body, is_sent, tmp_path):
    """The profile (the settings of the run) has the text "10.50" as its amount, so no other text with digits is sent.

    The profile has no amount that is a number. So a number may be one cent (0.01) at most.
    """
    requests = {"transferExternal": {"json": {"to": RECEIVING_ACCOUNT, "value": "10.50"}}}
    run = RunWithoutNetwork(tmp_path, requests=requests)
    expected_bodies = [body] if is_sent else []

    assert send_if_permitted(run, body, "transferExternal") is is_sent
    assert run.sent_bodies == expected_bodies


@pytest.mark.parametrize(
    ("body", "is_sent"),
    [(b'{"value": 0.01}', True), (b'{"value": 0.02}', False), (b'{"value": true}', False)],
    ids=["one cent", "two cents", "true, which a service may read as 1"],
)
def test_without_a_body_in_the_profile_an_amount_is_one_cent_at_most(body, is_sent, tmp_path):
    """The profile (the settings of the run) has a body with an amount of 3 for transferP2p, and none for
    transferInternal.

    The amount of another operation does not count, so a transferInternal may move one cent (0.01), the smallest amount.
    """
    requests = {"transferP2p": {"json": {"to": RECEIVING_ACCOUNT, "value": 3}}}
    run = RunWithoutNetwork(tmp_path, requests=requests)
    expected_bodies = [body] if is_sent else []

    assert send_if_permitted(run, body, "transferInternal") is is_sent
    assert run.sent_bodies == expected_bodies


@pytest.mark.parametrize(
    ("amount_of_profile", "amount", "is_sent"),
    [(0, 0, True), (-5, -5, True), (0, 0.01, True), (0, 0.02, False)],
    ids=["zero in the profile", "negative in the profile", "0.01 if the profile has 0", "0.02 if the profile has 0"],
)
def test_an_amount_of_the_profile_is_sent_even_if_it_is_not_above_zero(amount_of_profile, amount, is_sent, tmp_path):
    """The profile (the settings of the run) may have an amount of 0 or less. The run sends just that amount, because
    whoever wrote the profile wants to see the answer to it.

    Any other amount must be above 0, and at most the amount of the profile. If the profile has 0, another amount may be
    one cent (0.01), the smallest amount.
    """
    requests = {"transferP2p": {"json": {"to": RECEIVING_ACCOUNT, "value": amount_of_profile}}}
    run = RunWithoutNetwork(tmp_path, requests=requests)
    body = f'{{"to": "{RECEIVING_ACCOUNT}", "value": {amount}}}'.encode()
    expected_bodies = [body] if is_sent else []

    assert send_if_permitted(run, body) is is_sent
    assert run.sent_bodies == expected_bodies
