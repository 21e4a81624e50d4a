"""The token monitor: a token that was accepted and is refused later expired, and is fetched once."""

from dataclasses import replace

import pytest
import requests

from environments.door.outgoing import Intent, Sending
from environments.door.token_monitor import TokenMonitor
from environments.profiles.model import ProfileError
from environments.secret_values import Secrets
from tests.selftest.exchanges import answer

FIRST_TOKEN, SECOND_TOKEN = "Tok-3n.One", "Tok-3n.Two"


class Watched:
    """A token monitor, and counts of what it does: `asked` are the reads that it sends again, which get the status
    `witness_gets`; `fetched` counts the tokens that it fetches.
    """

    def __init__(self, *, witness_gets=401, fetched=SECOND_TOKEN):
        self.secrets = Secrets()
        self.secrets.learn_token(FIRST_TOKEN)
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
        if self._next == FIRST_TOKEN:
            return False
        self.secrets.learn_token(self._next)
        return True

    def see(self, status, operation="listAccounts", *, valid=True, credential="valid", code=None):
        """Give the monitor an exchange with the current token. True if the request is to be sent again."""
        self.number += 1
        sending = self.sending(operation, valid=valid, credential=credential, code=code)
        exchange = answer(operation, {"code": 0, "data": {}}, status=status, valid=valid, credential=credential)
        sending.exchange = replace(exchange, number=self.number)
        return self.monitor.watch(sending)

    def sending(self, operation="listAccounts", *, scheme="Bearer", **intent):
        """A request with the current token, before it is sent."""
        code = intent.pop("code", None)
        headers = {"Authorization": f"{scheme} {self.secrets.token()}"}
        request = requests.Request("GET", "http://127.0.0.1/v1/accounts", headers=headers).prepare()
        return Sending(request, Intent(operation, **{"valid": True, **intent}), code, with_token=True)


def test_a_token_that_expired_is_fetched_once():
    """After a refusal the last successful read is sent again. If it is refused, too, the token expired."""
    watched = Watched()

    is_resent_after_success = watched.see(200)
    is_resent_after_refusal = watched.see(401)

    assert [is_resent_after_success, is_resent_after_refusal] == [False, True]
    assert (watched.asked, watched.fetched) == ([1], 1)
    assert watched.monitor.excused == {2}
    assert [str(note) for note in watched.monitor.notes] == [
        "the token was refused in the middle of the run (exchange 2) and fetched again"
    ]
    assert watched.monitor.expired == ""


def test_a_read_that_still_succeeds_shows_that_the_token_is_good():
    """The token is not fetched again, and the refusal is held against that request alone."""
    watched = Watched(witness_gets=200)

    assert [watched.see(200), watched.see(401)] == [False, False]
    assert (watched.asked, watched.fetched) == ([1], 0)
    assert watched.monitor.excused == set()


@pytest.mark.parametrize("fetched", [FIRST_TOKEN, None], ids=["the same one", "none"])
def test_a_token_that_cannot_be_renewed_has_expired(fetched):
    """The message names the exchange, and a note has what token_command said. A later success clears the message."""
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
def test_answers_after_which_the_token_is_not_checked(refused):
    """The answers are refusals of an invalid request or of one without the token, and server errors."""
    watched = Watched()
    watched.see(200)

    assert not watched.see(refused.pop("status", 401), **refused)
    assert (watched.asked, watched.monitor.excused) == ([], set())


def test_without_a_success_a_refusal_is_no_expiry():
    """The token may be wrong from the start. Only a successful read shows that the token was accepted."""
    watched = Watched()

    assert not watched.see(401)
    assert not watched.see(200, "registerPixKey")
    assert not watched.see(401)
    assert watched.asked == []


def test_a_real_code_is_not_sent_again_with_a_new_token():
    """The token is fetched, and the execution is not sent a second time."""
    watched = Watched()
    watched.see(200)

    assert not watched.see(401, "executePix", code="TX-1")
    assert (watched.fetched, watched.monitor.excused) == (1, {2})


def test_a_request_that_waited_gets_the_new_token():
    """The token is replaced under the scheme that the request has.

    A request that is meant to go without the valid token keeps its header.
    """
    watched = Watched()
    sending, lower_case_scheme = watched.sending(), watched.sending(scheme="bearer")
    without_token = watched.sending()
    without_token.with_token = False
    watched.secrets.learn_token(SECOND_TOKEN)
    for request in (sending, lower_case_scheme, without_token):
        watched.monitor.renew(request)

    assert [request.request.headers["Authorization"] for request in (sending, lower_case_scheme, without_token)] == [
        f"Bearer {SECOND_TOKEN}", f"bearer {SECOND_TOKEN}", f"Bearer {FIRST_TOKEN}",
    ]  # fmt: skip
