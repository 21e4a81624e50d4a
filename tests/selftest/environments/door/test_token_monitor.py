"""The token monitor: a token that was accepted and is refused later expired, and is fetched once."""

from dataclasses import replace

import pytest
import requests

from environments.door.outgoing import Intent, Sending
from environments.door.token_monitor import TokenMonitor
from environments.profiles.model import ProfileError
from environments.secret_values import Secrets
from tests.selftest.exchanges import answer

FIRST, SECOND = "Tok-3n.One", "Tok-3n.Two"


class Watched:
    """A monitor, and what it asks for: the witness once more, which gets this status, and another token."""

    def __init__(self, *, witness_gets=401, fetched=SECOND):
        self.secrets = Secrets()
        self.secrets.learn_token(FIRST)
        self.asked, self.fetched, self.number = [], 0, 0
        self._witness_gets, self._next = witness_gets, fetched
        self.monitor = TokenMonitor(self.secrets, self._fetch, self._ask, lambda: None)

    def _ask(self, witness):
        self.asked.append(witness.number)
        return answer("listAccounts", {}, status=self._witness_gets)

    def _fetch(self):
        self.fetched += 1
        if self._next is None:
            raise ProfileError("token_command: exit status 1")
        if self._next == FIRST:
            return False
        self.secrets.learn_token(self._next)
        return True

    def see(self, status, operation="listAccounts", *, valid=True, credential="valid", code=None):
        """True if the request, which had the token of now, goes again after this answer."""
        self.number += 1
        sending = self.sending(operation, valid=valid, credential=credential, code=code)
        seen = answer(operation, {"code": 0, "data": {}}, status=status, valid=valid, credential=credential)
        sending.exchange = replace(seen, number=self.number)
        return self.monitor.watch(sending)

    def sending(self, operation="listAccounts", *, scheme="Bearer", **intent):
        """A request with the token of now."""
        code = intent.pop("code", None)
        headers = {"Authorization": f"{scheme} {self.secrets.token()}"}
        request = requests.Request("GET", "http://127.0.0.1/v1/accounts", headers=headers).prepare()
        return Sending(request, Intent(operation, **{"valid": True, **intent}), code, with_token=True)


def test_a_token_that_expired_is_fetched_once():
    """The last read that succeeded is sent again first; refused too, the token had expired."""
    watched = Watched()

    assert [watched.see(200), watched.see(401)] == [False, True]
    assert (watched.asked, watched.fetched, watched.monitor.excused) == ([1], 1, {2})
    assert [str(note) for note in watched.monitor.notes] == [
        "the token was refused in the middle of the run (exchange 2) and fetched again"
    ]
    assert watched.monitor.expired == ""


def test_a_read_that_still_succeeds_shows_that_the_token_is_good():
    """The refusal is about that request alone."""
    watched = Watched(witness_gets=200)

    assert [watched.see(200), watched.see(401)] == [False, False]
    assert (watched.asked, watched.fetched, watched.monitor.excused) == ([1], 0, set())


@pytest.mark.parametrize("fetched", [FIRST, None], ids=["the same one", "none"])
def test_a_token_that_cannot_be_renewed_has_expired(fetched):
    """The line says at which exchange, and what the command said. A later success takes it back."""
    watched = Watched(fetched=fetched)

    assert [watched.see(200), watched.see(401)] == [False, False]
    assert "the token expired during the run (exchange 2)" in str(watched.monitor.expired)
    assert len(watched.monitor.notes) == (2 if fetched is None else 1)
    assert watched.monitor.excused == {2}
    watched.see(200)
    assert watched.monitor.expired == ""


@pytest.mark.parametrize(
    "refused",
    [{"valid": False}, {"credential": "no header"}, {"status": 503}, {"status": 500}],
    ids=["invalid", "without a token", "a gateway", "a server error"],
)
def test_what_says_nothing_of_the_token(refused):
    """An invalid request may be refused in any way, and trouble passes."""
    watched = Watched()
    watched.see(200)

    assert not watched.see(refused.pop("status", 401), **refused)
    assert (watched.asked, watched.monitor.excused) == ([], set())


def test_without_a_success_a_refusal_is_no_expiry():
    """The token may be wrong from the start. What is no read is no witness, because it cannot be sent again."""
    watched = Watched()

    assert not watched.see(401)
    assert not watched.see(200, "registerPixKey")
    assert not watched.see(401)
    assert watched.asked == []


def test_a_real_code_does_not_go_again():
    """The token is fetched, and the code is not sent a second time."""
    watched = Watched()
    watched.see(200)

    assert not watched.see(401, "executePix", code="TX-1")
    assert (watched.fetched, watched.monitor.excused) == (1, {2})


def test_a_request_that_waited_carries_the_token_of_now():
    """Under its own scheme."""
    watched = Watched()
    sending, bare = watched.sending(), watched.sending(scheme="bearer")
    without = watched.sending()
    without.with_token = False
    watched.secrets.learn_token(SECOND)
    for each in (sending, bare, without):
        watched.monitor.renew(each)

    assert [each.request.headers["Authorization"] for each in (sending, bare, without)] == [
        f"Bearer {SECOND}", f"bearer {SECOND}", f"Bearer {FIRST}",
    ]  # fmt: skip
