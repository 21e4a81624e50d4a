"""The door: its exchanges do not change, it sends a request again only when asked, and what several threads share holds."""

import threading
from functools import partial
from itertools import count

import pytest

from environments.door.door import NoteAbout
from environments.door.outgoing import Intent
from tests.selftest.services.one_run import CODE, OTHER, Run
from tests.selftest.services.serving import Raw, real_codes, served_by
from tests.traffic.together import Together

TOKEN, LATER = "Tok-3n.Of-The_Service", "Lat3r.Tok-en_of-the-service"


def test_a_request_that_moves_no_money_is_sent_again(service, a_run):
    """A code never is, nor a valid request that may move money."""
    sent = [
        a_run.client.send("listAccounts", valid=True),
        a_run.execute(CODE),
        a_run.execute(OTHER, credential="a wrong token (of a JWT: another signature)"),
        a_run.client.send("createPix", json={}, valid=True),
        a_run.client.send("registerPixKey", "pixconf-1", body=b"{ \xe9", headers=[("X-Pixconf", "\xe9")]),
    ]
    again = [a_run.door.send_again(exchange) for exchange in sent]

    assert again[1:4] == [None] * 3
    assert [again[place].request for place in (0, 4)] == [sent[place].request for place in (0, 4)]
    assert service.seen[-1] == service.seen[-3]


def test_operations_that_are_cut_short_for_one_reason_are_all_noted(a_run):
    """A second note does not take the place of the first one."""
    for operation in ("executePix", "registerPixKey"):
        a_run.door.note(NoteAbout.CUT, "locked out", operation)
    a_run.door.note(NoteAbout.SET_UP, "look at the list")

    assert a_run.door.unsent == {"locked out": {"executePix", "registerPixKey"}}
    assert a_run.door.guard.notes == ["look at the list"]


# -- the token ----------------------------------------------------------------------------------------------------


class ExpiresUnderWay(Raw):
    """After the first request, the token expires while eight others are on the wire, which are refused."""

    def __init__(self):
        super().__init__()
        self._count = count(1)
        self._together = threading.Barrier(8, action=lambda: setattr(self.service, "token", LATER))

    def answer(self, connection, request):
        if 1 < next(self._count) <= 9:
            self._together.wait()
        super().answer(connection, request)


@served_by(ExpiresUnderWay)
@pytest.mark.parametrize("is_another", [True, False])
def test_a_token_that_expires_under_many_requests_is_fetched_once(is_another, service, tmp_path):
    """One of them asks, alone, and fetches. All of them are sent again where there is a new one; else all are excused, and
    it is said once. No refusal is held against the service."""
    fetched = []

    def fetch():
        fetched.append(LATER)
        a_run.secrets.learn_token(LATER if is_another else TOKEN)
        return is_another

    a_run = Run(service, tmp_path, parallel=8, refresh=fetch)
    send = partial(a_run.client.send, "listAccounts", valid=True)
    send()
    answers = Together(a_run.client).send_all([send] * 8)
    refused = {seen.number for seen in a_run.door.exchanges if seen.response.status == 401 and seen.valid}

    assert len(fetched) == len(a_run.door.token_monitor.notes) == 1
    assert len(service.seen) == 1 + 8 + 1 + 8 * is_another
    assert {seen.expects_success for seen in answers} == {is_another}
    assert (len(refused), a_run.door.token_monitor.excused) == (8, refused)


def test_a_code_that_was_refused_for_an_expired_token_is_not_sent_again(service, tmp_path):
    """The new token is for what comes after it."""
    a_run = Run(service, tmp_path, refresh=lambda: a_run.secrets.learn_token(LATER) or True)
    a_run.client.send("listAccounts", valid=True)
    service.service.token = LATER
    a_run.execute(CODE)

    assert [code for code, _ in real_codes(service)] == [CODE]
    assert a_run.secrets.token() == LATER


def test_a_request_that_was_made_before_carries_the_token_of_now(service, a_run):
    """A code that waited while another token was fetched is executed with that one; else it would be lost."""
    waiting = a_run.client._request("GET", f"/v1/execute/pix/{CODE}")
    service.service.token = LATER
    a_run.secrets.learn_token(LATER)
    executed = a_run.door.send(waiting, Intent("executePix", valid=True))

    assert (executed.response.status, service.executions, a_run.events[0]) == (200, [CODE], "sent")
