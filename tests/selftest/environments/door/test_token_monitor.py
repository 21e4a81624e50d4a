"""The token monitor: a token that was accepted and is refused later expired, and is fetched once."""

from contextlib import contextmanager
from dataclasses import replace

import pytest
import requests

from environments.door.outgoing import Intent, NotSentError, Sending
from environments.door.token_monitor import TokenMonitor
from environments.profiles.model import ProfileError
from environments.secret_values import Secrets
from tests.selftest.exchanges import answer

FIRST_TOKEN, SECOND_TOKEN = "Tok-3n.One", "Tok-3n.Two"


class Watched:
    """A token monitor, and counts of what it does: `asked` are the reads that it sends again, which get the statuses
    `witness_gets`, the last one again and again; `fetched` counts the tokens that it fetches. `paused` are the seconds
    that it waits, and `disregarded` the numbers of the exchanges that count for nothing.
    """

    def __init__(self, *, witness_gets=(401,), fetched=SECOND_TOKEN):
        self.secrets = Secrets()
        self.secrets.learn_token(FIRST_TOKEN)
        self.asked, self.fetched, self.number = [], 0, 0
        self.paused, self.disregarded = [], set()
        self._witness_gets, self._next = list(witness_gets), fetched
        self.monitor = TokenMonitor(self.secrets, self._fetch, self._ask, lambda: None, self._pausing, self._disregard)

    def _ask(self, witness):
        self.asked.append(witness.number)
        self.number += 1
        status = self._witness_gets.pop(0) if len(self._witness_gets) > 1 else self._witness_gets[0]
        return replace(answer("listAccounts", {}, status=status), number=self.number)

    def _disregard(self, numbers, why):
        assert "expired" in str(why)
        self.disregarded.update(numbers)

    @contextmanager
    def _pausing(self, seconds):
        self.paused.append(seconds)
        yield

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
        return self.monitor.fetch_another_if_expired(sending)

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
    watched = Watched(witness_gets=[200])

    assert [watched.see(200), watched.see(401)] == [False, False]
    assert (watched.asked, watched.fetched) == ([1], 0)
    assert watched.monitor.excused == set()


@pytest.mark.parametrize("fetched", [FIRST_TOKEN, None], ids=["the same one", "none"])
def test_a_token_that_cannot_be_renewed_has_expired(fetched):
    """The message names the exchange, and a note has what token_command said. Nothing more is sent, with the token or
    without it.
    """
    watched = Watched(fetched=fetched)

    assert [watched.see(200), watched.see(401)] == [False, False]
    assert "the token expired during the run (exchange 2)" in str(watched.monitor.expired)
    assert len(watched.monitor.notes) == (2 if fetched is None else 1)
    assert 2 in watched.monitor.excused
    for credential in ("valid", "no header"):
        with pytest.raises(NotSentError, match="the token expired during the run"):
            watched.monitor.refuse_expired(watched.sending(credential=credential))


def test_a_token_expired_for_good_if_every_read_is_refused_three_times():
    """Each read that succeeded is sent again after each of three pauses."""
    watched = Watched(fetched=None)
    watched.see(200)
    watched.see(200, "getBalance")
    watched.see(401, "registerPixKey")

    assert watched.paused == [1.0, 2.0, 4.0]
    assert watched.asked == [2, *[1, 2] * 3]
    assert watched.monitor.has_ended_the_run


@pytest.mark.parametrize("witness_gets", [[401, 200], [401, 404], [401, 401, 401, 200]])
def test_a_token_that_is_accepted_after_a_pause_has_not_expired(witness_gets):
    """A service may refuse tokens for a moment. The refusal is excused, and the run goes on."""
    watched = Watched(fetched=None, witness_gets=witness_gets)
    watched.see(200)
    watched.see(401)

    watched.monitor.refuse_expired(watched.sending())
    assert (watched.monitor.expired, watched.monitor.excused, watched.disregarded) == ("", {2}, set())


@pytest.mark.parametrize("witness_gets", [[401, 503], [401, 429]])
def test_an_answer_of_a_gateway_to_a_read_does_not_end_the_run(witness_gets):
    """The read is not refused for its token."""
    watched = Watched(fetched=None, witness_gets=witness_gets)
    watched.see(200)
    watched.see(401)

    assert not watched.monitor.has_ended_the_run


def test_refusals_count_for_nothing_from_the_last_success_on():
    """Nobody knows which of the refusals since then the expired token has caused. Other answers count."""
    watched = Watched(fetched=None)
    watched.see(401, credential="no header")  # exchange 1
    watched.see(200)
    watched.see(401, credential="no header")
    watched.see(401, valid=False)
    watched.see(400, valid=False)
    watched.see(401)  # exchange 6; the reads that are sent again have the numbers 7 to 10
    watched.see(401, valid=False)  # was on the wire

    assert watched.disregarded == {3, 4, 6, 8, 9, 10, 11}


def test_many_refused_invalid_requests_make_the_token_be_checked():
    """The fifth in a row does, and after a check in vain the tenth: a service may refuse every invalid request so."""
    watched = Watched(witness_gets=[200])
    watched.see(200)
    for _ in range(17):
        watched.see(401, valid=False)
    watched.see(200)
    for _ in range(19):
        watched.see(401, valid=False)

    assert watched.asked == [1, 1]


def test_invalid_requests_alone_show_that_the_token_expired():
    """Phases of a run have no valid request."""
    watched = Watched(fetched=None)
    watched.see(200)
    for _ in range(5):
        watched.see(401, valid=False)

    assert watched.monitor.has_ended_the_run


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
        watched.monitor.put_in_newest_token(request)

    assert [request.request.headers["Authorization"] for request in (sending, lower_case_scheme, without_token)] == [
        f"Bearer {SECOND_TOKEN}", f"bearer {SECOND_TOKEN}", f"Bearer {FIRST_TOKEN}",
    ]  # fmt: skip
