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


class WatchedToken:
    """A token monitor (it finds out if the token of the run has expired), and a record of what the monitor does.

    A test gives the monitor the answers of a run, one after the other, with `receive`.

    | attribute | meaning |
    |---|---|
    | `reads_sent_again` | the numbers of the exchanges whose reads it sent again, to check the token |
    | `times_fetched` | how often it fetched a token |
    | `pauses` | the seconds that it waited each time |
    | `disregarded` | the numbers of the exchanges that do not count, because of the expired token |

    `statuses_of_checks` are the statuses of the answers to the reads that it sends again. The last status is repeated.
    `next_token` is the token that it fetches, or None if no token can be fetched.
    """

    def __init__(self, *, statuses_of_checks=(401,), next_token=SECOND_TOKEN):
        """A monitor of a run that has the first token, and has sent nothing."""
        self.secrets = Secrets()
        self.secrets.learn_token(FIRST_TOKEN)
        self.reads_sent_again = []
        self.times_fetched = 0
        self.pauses = []
        self.disregarded = set()
        self.number = 0  # of the last exchange
        self._statuses_of_checks = list(statuses_of_checks)
        self._next_token = next_token
        self.monitor = TokenMonitor(
            self.secrets,
            refresh=self._fetch,
            repeat_alone=self._send_again,
            wait_for_empty_wire=lambda: None,
            pause_and_keep_others_waiting=self._pausing,
            disregard=self._disregard,
        )

    def _send_again(self, read):
        """The exchange of a read that the monitor sends again, to check the token. Its answer has the next status."""
        self.reads_sent_again.append(read.number)
        self.number += 1
        status = self._statuses_of_checks[0]
        if len(self._statuses_of_checks) > 1:
            del self._statuses_of_checks[0]
        return replace(answer("listAccounts", {}, status=status), number=self.number)

    def _disregard(self, numbers, reason):
        """Note the exchanges that do not count. The reason must be that the token expired."""
        assert "expired" in str(reason)
        self.disregarded.update(numbers)

    @contextmanager
    def _pausing(self, seconds):
        """Note a pause of the run. No time passes."""
        self.pauses.append(seconds)
        yield

    def _fetch(self):
        """Fetch the next token. Returns True if it is another one. Raises ProfileError if there is none."""
        self.times_fetched += 1
        if self._next_token is None:
            raise ProfileError("token_command: exit status 1")
        if self._next_token == FIRST_TOKEN:
            return False
        self.secrets.learn_token(self._next_token)
        return True

    def is_resent_after(self, status, operation="listAccounts", *, valid=True, credential="valid", code=None):
        """Give the monitor a request and its answer with this status. Returns True if the request is to be sent again.

        The first exchange has the number 1.
        """
        self.number += 1
        sending = self.unsent_request(operation, valid=valid, credential=credential, code=code)
        exchange = answer(operation, {"code": 0, "data": {}}, status=status, valid=valid, credential=credential)
        sending.exchange = replace(exchange, number=self.number)
        return self.monitor.fetch_another_if_expired(sending)

    def receive(self, *answer, **request):
        """Give the monitor a request and its answer, as `is_resent_after` does. Returns nothing."""
        self.is_resent_after(*answer, **request)

    def unsent_request(self, operation="listAccounts", *, scheme="Bearer", **intent):
        """A request with the current token, before it is sent."""
        code = intent.pop("code", None)
        headers = {"Authorization": f"{scheme} {self.secrets.token()}"}
        request = requests.Request("GET", "http://127.0.0.1/v1/accounts", headers=headers).prepare()
        return Sending(request, Intent(operation, **{"valid": True, **intent}), code, with_token=True)


def test_a_token_that_expired_is_fetched_once():
    """A read succeeds, and the next one gets 401. The first one is sent again, to check the token, and gets 401, too.

    So the token expired. Another one is fetched, and the second read is to be sent again. Its refusal is excused: it
    does not count against the service.
    """
    token = WatchedToken(statuses_of_checks=[401])
    token.receive(200)
    second_read_is_resent = token.is_resent_after(401)

    assert second_read_is_resent
    assert token.reads_sent_again == [1]
    assert token.times_fetched == 1
    assert token.monitor.excused == {2}
    assert [str(note) for note in token.monitor.notes] == [
        "the token was refused in the middle of the run (exchange 2) and fetched again"
    ]
    assert token.monitor.line_about_expiry == ""


def test_a_token_that_another_read_is_granted_has_not_expired():
    """A read succeeds, and the next one gets 401. The first one is sent again, to check the token, and succeeds.

    So no token is fetched, and the refusal counts against the service (it is not excused).
    """
    token = WatchedToken(statuses_of_checks=[200])
    token.receive(200)
    second_read_is_resent = token.is_resent_after(401)

    assert not second_read_is_resent
    assert token.reads_sent_again == [1]
    assert token.times_fetched == 0
    assert token.monitor.excused == set()


@pytest.mark.parametrize(
    ("next_token", "number_of_notes"),
    [(FIRST_TOKEN, 1), (None, 2)],
    ids=["the same token is fetched", "fetching fails, which is a note of its own"],
)
def test_a_token_that_cannot_be_renewed_has_expired(next_token, number_of_notes):
    """A read succeeds, and the next one gets 401, as does the check of the token. No other token can be fetched.

    The message names the refused exchange. Its refusal is excused: it does not count against the service.
    """
    token = WatchedToken(next_token=next_token)
    token.receive(200)
    second_read_is_resent = token.is_resent_after(401)

    assert not second_read_is_resent
    assert "the token expired during the run (exchange 2)" in str(token.monitor.line_about_expiry)
    assert len(token.monitor.notes) == number_of_notes
    assert 2 in token.monitor.excused


@pytest.mark.parametrize("next_token", [FIRST_TOKEN, None], ids=["the same token is fetched", "fetching fails"])
@pytest.mark.parametrize("credential", ["valid", "no header"], ids=["with the token", "without a token"])
def test_nothing_is_sent_after_the_token_expired(credential, next_token):
    """The token expired, and no other one can be fetched. A request with the token, or without one, is refused by the
    run.
    """
    token = WatchedToken(next_token=next_token)
    token.receive(200)
    token.receive(401)

    with pytest.raises(NotSentError, match="the token expired during the run"):
        token.monitor.refuse_expired(token.unsent_request(credential=credential))


def test_a_token_has_expired_for_good_if_every_read_is_refused_three_times():
    """Two reads succeed (exchanges 1 and 2), a registration gets 401, and no other token can be fetched.

    The last read is sent again, to check the token. Then both reads are sent again after each of three pauses. All are
    refused, which ends the run.
    """
    token = WatchedToken(next_token=None, statuses_of_checks=[401])
    token.receive(200, "listAccounts")
    token.receive(200, "getBalance")
    token.receive(401, "registerPixKey")
    check, both_reads = [2], [1, 2]

    assert token.pauses == [1.0, 2.0, 4.0]
    assert token.reads_sent_again == [*check, *both_reads, *both_reads, *both_reads]
    assert token.monitor.has_ended_the_run


@pytest.mark.parametrize(
    "statuses_of_checks",
    [[401, 200], [401, 404], [401, 401, 401, 200]],
    ids=["accepted after the first pause", "not found, so the token was accepted", "accepted after the third pause"],
)
def test_a_token_that_is_accepted_after_a_pause_has_not_expired(statuses_of_checks):
    """A service may refuse tokens for a moment. The read is sent again after each of three pauses, to check the token.

    If the token is accepted then, the run goes on. Only the refusal that began the check is excused: it does not count
    against the service. All other answers count, as none is disregarded for an expired token.
    """
    token = WatchedToken(next_token=None, statuses_of_checks=statuses_of_checks)
    token.receive(200)
    token.receive(401)

    token.monitor.refuse_expired(token.unsent_request())  # raises an error if the token has expired
    assert token.monitor.line_about_expiry == ""
    assert token.monitor.excused == {2}
    assert token.disregarded == set()


@pytest.mark.parametrize("status_of_gateway", [503, 429])
def test_the_answer_of_a_gateway_to_a_check_of_the_token_does_not_end_the_run(status_of_gateway):
    """A request gets 401, and so does the check of the token. In the next check a gateway answers with another status.

    That answer says nothing of the token, so the token has not expired.
    """
    token = WatchedToken(next_token=None, statuses_of_checks=[401, status_of_gateway])
    token.receive(200)
    token.receive(401)

    assert not token.monitor.has_ended_the_run


def test_refusals_after_the_last_success_do_not_count_if_the_token_expired():
    """The token expired at some moment between the last success (exchange 2) and the refusal that shows it (exchange
    6).

    Nobody knows which refusals since the last success the expired token has caused. So no refusal counts: neither
    exchanges 3 and 4, nor 11, which comes after the refusal, nor the last checks of the token (8 to 10).

    The first check (7) counts, because it is the proof that the token expired. Exchange 5 counts, because 400 is no
    refusal of the caller.
    """
    token = WatchedToken(next_token=None)
    token.receive(401, credential="no header")  # exchange 1
    token.receive(200)  # 2
    token.receive(401, credential="no header")  # 3
    token.receive(401, valid=False)  # 4
    token.receive(400, valid=False)  # 5
    token.receive(401)  # 6; the checks have the numbers 7 to 10
    token.receive(401, valid=False)  # 11, which was on its way

    assert token.disregarded == {3, 4, 6, 8, 9, 10, 11}


def test_invalid_requests_that_are_refused_again_and_again_make_the_token_be_checked_twice():
    """A service may refuse each invalid request for its token. So the token is checked after 5 such refusals in a row.

    The check finds that the token is good, so the number doubles each time: the next check comes after 10 in a row, and
    the one after it would come after 20. Here there are 17 refusals, a success, and 19 refusals.
    """
    token = WatchedToken(statuses_of_checks=[200])
    token.receive(200)
    for _ in range(17):
        token.receive(401, valid=False)
    token.receive(200)
    for _ in range(19):
        token.receive(401, valid=False)

    assert token.reads_sent_again == [1, 1]


def test_five_invalid_requests_that_are_refused_show_that_the_token_expired():
    """In parts of a run all requests are invalid. After a success five of them get 401, and so do the checks of the
    token.
    """
    token = WatchedToken(next_token=None)
    token.receive(200)
    for _ in range(5):
        token.receive(401, valid=False)

    assert token.monitor.has_ended_the_run


@pytest.mark.parametrize(
    ("status", "request_with_that_answer"),
    [(401, {"valid": False}), (401, {"credential": "no header"}), (503, {}), (500, {})],
    ids=["401 to one invalid request", "401 to a request without a token", "a gateway", "a server error"],
)
def test_the_token_is_not_checked_after_an_answer_that_may_have_another_cause(status, request_with_that_answer):
    """A token is checked by sending a read again. After these answers no read is sent again, because they say nothing of
    the valid token.

    They are one refusal of an invalid request, a refusal of a request without a token, and an error of the server.
    """
    token = WatchedToken()
    token.receive(200)
    is_resent = token.is_resent_after(status, **request_with_that_answer)

    assert not is_resent
    assert token.reads_sent_again == []
    assert token.monitor.excused == set()


def test_a_token_that_no_read_was_granted_cannot_expire():
    """A refused token has expired only if a read succeeded with it before. Otherwise it may be wrong from the start.

    Here a read gets 401, a registration succeeds, and another read gets 401. Nothing is sent again to check the token.
    """
    token = WatchedToken()
    is_resent = [
        token.is_resent_after(401),
        token.is_resent_after(200, "registerPixKey"),
        token.is_resent_after(401),
    ]

    assert is_resent == [False, False, False]
    assert token.reads_sent_again == []


def test_an_execution_is_not_sent_again_with_a_new_token():
    """An execution gets 401 because the token expired. Another token is fetched, but a transaction code is sent once."""
    token = WatchedToken()
    token.receive(200)
    execution_is_resent = token.is_resent_after(401, "executePix", code="TX-1")

    assert not execution_is_resent
    assert token.times_fetched == 1
    assert token.monitor.excused == {2}


@pytest.mark.parametrize(
    ("scheme", "with_token", "header_afterwards"),
    [
        ("Bearer", True, f"Bearer {SECOND_TOKEN}"),
        ("bearer", True, f"bearer {SECOND_TOKEN}"),
        ("Bearer", False, f"Bearer {FIRST_TOKEN}"),
    ],
    ids=["the valid token", "the scheme in small letters", "a request that is to go without the valid token"],
)
def test_a_request_that_waited_gets_the_new_token(scheme, with_token, header_afterwards):
    """A request was made with the first token, and waits. Meanwhile another token is fetched, and the request gets it.

    The scheme of its header stays. A request that is meant to go without the valid token keeps its header.
    """
    token = WatchedToken()
    waiting_request = token.unsent_request(scheme=scheme)
    waiting_request.with_token = with_token
    token.secrets.learn_token(SECOND_TOKEN)
    token.monitor.put_in_newest_token(waiting_request)

    assert waiting_request.request.headers["Authorization"] == header_afterwards
