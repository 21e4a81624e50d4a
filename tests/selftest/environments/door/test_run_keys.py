"""What a run registers: which keys stay open, and why."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
import requests

from environments.door.outgoing import Intent, Sending
from environments.door.run_keys import Keys, KeyState
from environments.profiles.model import PixKey
from spec.exchange import Exchange, Failure, FailureKind, Request
from tests.selftest.exchanges import REGISTRATION, answer
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


# -- what may be deleted ---------------------------------------------------------------------------------------------

MADE_UP = "pixconf-1a2b3c4d@example.com"
OF_THE_PROFILE = "qa@bank.example"


def listed(*keys):
    """The data of a list with these keys."""
    return {"keys": [{"pixKey": key} for key in keys]}


class Seen:
    """Keys that see one exchange after the other, at one account of the profile."""

    def __init__(self, *, disposable=True, is_sandbox=False, key_at="/data/keys/*/pixKey"):
        owned = (PixKey("EMAIL", OF_THE_PROFILE, disposable=disposable),)
        self.keys = Keys(owned, None, (ACCOUNT,), is_sandbox=is_sandbox, key_at=key_at)
        self._number = 0

    def list(self, data, *, status=200):
        """The list of the account is read."""
        return self._send("listPixKeys", "GET", None, {"code": 0, "data": data}, status)

    def register(self, key=OF_THE_PROFILE, *, status=200):
        """A key is registered at the account."""
        sent = {"account": ACCOUNT, "pixKeyType": "EMAIL", "pixKey": key}
        return self._send("registerPixKey", "POST", sent, {"code": 0, "data": REGISTRATION}, status)

    def delete(self, key, *, status=200):
        """A key is deleted at the account."""
        return self._send("deletePixKey", "DELETE", {"pixKey": key}, {"code": 0, "data": {}}, status)

    def _send(self, operation, method, sent, told, status):
        self._number += 1
        url = f"http://127.0.0.1/v1/pix/keys/{ACCOUNT}"
        sending = Sending(requests.Request(method, url, json=sent).prepare(), Intent(operation, valid=True))
        seen = answer(operation, told, status=status)
        sending.exchange = replace(seen, request=sending.sent, number=self._number)
        with self.keys.watching(sending):
            pass
        return self


def test_a_disposable_key_that_was_not_there_before_may_be_deleted():
    """A whole list of before says that it was not there, and the list of now shows it."""
    seen = Seen().list(listed("mae@cliente.example")).register().list(listed("mae@cliente.example", OF_THE_PROFILE))

    assert seen.keys.may_be_deleted(OF_THE_PROFILE)


@pytest.mark.parametrize(
    "seen",
    [
        Seen(disposable=False).list(listed()).register().list(listed(OF_THE_PROFILE)),
        Seen().list(listed(OF_THE_PROFILE)).register().list(listed(OF_THE_PROFILE)),
        Seen().list(listed(OF_THE_PROFILE.upper())).register().list(listed(OF_THE_PROFILE)),
        Seen().register().list(listed(OF_THE_PROFILE)),
        Seen().list(listed("qa***@bank.example")).register().list(listed(OF_THE_PROFILE)),
        Seen().list(listed() | {"hasMore": True}).register().list(listed(OF_THE_PROFILE)),
        Seen().list(listed()).register().list(listed("qa***@bank.example")),
        Seen().list(listed()).register().list(listed()),
        Seen().list(listed()).register().list(listed(OF_THE_PROFILE), status=503),
        Seen(key_at=None).list(listed()).register().list(listed(OF_THE_PROFILE)),
    ],
    ids=[
        "not disposable", "there before", "there before in capitals", "no list of before", "masked before",
        "a list of before that goes on", "masked now", "not shown now", "no list of now", "without key_at",
    ],
)  # fmt: skip
def test_a_key_of_the_profile_stays_unless_lists_tell(seen):
    """It is decided for the key, and against the deletion."""
    assert not seen.keys.may_be_deleted(OF_THE_PROFILE)


def test_a_key_that_the_run_made_up_may_be_deleted():
    """Unless a list showed it before."""
    assert Seen().list(listed()).register(MADE_UP).keys.may_be_deleted(MADE_UP)
    assert not Seen().list(listed(MADE_UP)).keys.may_be_deleted(MADE_UP)


@pytest.mark.parametrize("key", ["", "  ", "x" * 201, "pixconf-\x00", "pixconf-\x7f", "pixconf-\ud800"])
def test_a_key_that_a_service_may_read_as_another_one_stays(key):
    """Empty, long, or with signs that cannot be printed. A sandbox has nothing to lose."""
    assert not Seen().keys.may_be_deleted(key)
    assert Seen(is_sandbox=True).keys.may_be_deleted(key)


def test_on_a_sandbox_a_key_of_the_profile_is_deleted_without_a_list():
    """If it was registered for sure; with a list also if it was perhaps registered."""
    assert Seen(is_sandbox=True).register().keys.may_be_deleted(OF_THE_PROFILE)
    assert not Seen(is_sandbox=True).register(status=400).keys.may_be_deleted(OF_THE_PROFILE)
    assert Seen(is_sandbox=True).list(listed()).register(status=400).keys.may_be_deleted(OF_THE_PROFILE)


# -- what becomes of a key -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seen", "states"),
    [
        (Seen().list(listed()).register(), [KeyState.REGISTERED]),
        (Seen().list(listed()).register(status=400), [KeyState.REFUSED]),
        (Seen().list(listed()).register(status=400).list(listed()), []),
        (Seen().list(listed()).register(status=400).list(listed(OF_THE_PROFILE)), [KeyState.MAYBE]),
        (Seen().list(listed()).register(status=504), [KeyState.MAYBE]),
        (Seen().list(listed()).register().delete(OF_THE_PROFILE), []),
        (Seen().list(listed()).register().delete("other@bank.example"), [KeyState.REGISTERED]),
        (Seen().list(listed()).register().delete(OF_THE_PROFILE, status=404), [KeyState.REGISTERED]),
        (Seen().list(listed()).register(status=400).delete(OF_THE_PROFILE, status=404), []),
        (Seen().list(listed()).register().delete(OF_THE_PROFILE).list(listed(OF_THE_PROFILE)), [KeyState.KEPT]),
        (Seen().list(listed(OF_THE_PROFILE)).register(), []),
    ],
)
def test_what_is_left_of_a_key(seen, states):
    """A refusal may have registered it until a list tells; a deletion is over if no list shows the key."""
    assert [key.state for key in seen.keys.not_cleaned_up()] == states


def test_a_granted_key_is_left_as_perhaps_later_if_no_list_shows_it():
    """It was granted, and is not there at the end."""
    seen = Seen().list(listed()).register().list(listed())
    seen.keys.close()

    assert [key.state for key in seen.keys.not_cleaned_up()] == [KeyState.LATER]


def test_a_key_is_gone_if_two_lists_lack_it():
    """One list may lag. One that a deletion named is not gone, and a list that goes on says nothing."""
    old, other = "old@bank.example", "other@bank.example"
    seen = Seen().list(listed(old, other)).delete(other).list(listed())
    assert seen.keys.gone == frozenset()

    assert seen.list(listed()).keys.gone == {old}
    assert seen.keys.gone_after_a_deletion
    assert (
        Seen().list(listed(old)).delete(other).list(listed(old)).list(listed()).list(listed(old)).keys.gone
        == frozenset()
    )
    more = listed() | {"next": "/v1/pix/keys?page=2"}
    assert Seen().list(listed(old)).delete(other).list(more).list(more).keys.gone == frozenset()
