"""What a run registers: which keys stay open, and why."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
import requests

from environments.door.outgoing import Intent, Sending
from environments.door.run_keys import Keys, KeyState
from spec.exchange import Exchange, Failure, FailureKind, Request
from tests.selftest.exchanges import answer
from tests.selftest.services.keys_of_others import ACCOUNT, EMAIL, OLD_RANDOM


def test_a_registration_without_a_connection_is_closed():
    """Nothing was sent. A key that was perhaps registered before stays open."""
    keys = Keys(accounts=(ACCOUNT,))
    body = b'{"account": "ac-0001", "pixKeyType": "EMAIL", "pixKey": "pixconf-1@example.com"}'
    request = Request("POST", f"http://127.0.0.1/v1/pix/keys/{ACCOUNT}", (), body)

    def register(kind, number):
        failure = Failure(kind, "no answer")
        exchange = Exchange(number, "registerPixKey", request, None, failure, valid=True)
        sending = SimpleNamespace(
            sent=request, request=request, intent=SimpleNamespace(operation="registerPixKey"), exchange=exchange
        )
        with keys.watching(sending):
            pass
        return [key.state for key in keys.not_cleaned_up()]

    states = [register(FailureKind.NO_CONNECTION, 1), register(FailureKind.TIMEOUT, 2)]

    assert [*states, register(FailureKind.NO_CONNECTION, 3)] == [[], [KeyState.MAYBE], [KeyState.MAYBE]]


@pytest.mark.parametrize(
    "number", ["-1e400", "1e999999", pytest.param("9" * 5000, id="long"), "1.50", "NaN", "-Infinity"]
)
def test_a_number_that_is_sent_as_a_key_is_named_as_it_was_written(number, a_run):
    """A float would be infinite, and an integer of 5000 digits an error: a report shows neither."""
    body = f'{{"pixKeyType": "EMAIL", "pixKey": {number}}}'
    a_run.client.send("registerPixKey", "pixconf-account", body=body.encode())
    [key] = a_run.door.keys._keys

    assert (key.value, str(key.name)) == (number, f"EMAIL {number}"[:80])


@pytest.mark.parametrize(("account", "beside"), [("ac-0001", 1), ("pixconf-account", 0)])
def test_a_list_beside_another_request_or_of_another_account_says_nothing(account, beside):
    """It may be older than the other request; and a key of the operator would count as one that the service made."""
    keys = Keys(accounts=("ac-0001",))
    for operation, of_account, seen in (
        ("listPixKeys", "ac-0001", answer("listPixKeys", {"code": 0, "data": [OLD_RANDOM]})),
        ("registerPixKey", "ac-0001", answer("registerPixKey", {}, status=422)),
        ("listPixKeys", account, answer("listPixKeys", {"code": 0, "data": []}, beside=beside)),
    ):
        request = requests.Request(
            "POST", f"http://127.0.0.1/v1/pix/keys/{of_account}", json={"pixKey": EMAIL}
        ).prepare()
        sending = Sending(request, Intent(operation, valid=True))
        sending.exchange = replace(seen, request=sending.sent)
        with keys.watching(sending):
            pass

    assert keys.was_there_before(OLD_RANDOM)
    assert [key.value for key in keys.not_cleaned_up()] == [EMAIL]
