"""The door: its exchanges do not change, it sends a request again only when asked, and what several threads share holds."""

import threading
from functools import partial
from itertools import count

import pytest

from environments.door.door import NoteAbout
from environments.door.outgoing import Intent
from tests.selftest.services.one_run import CODE, OTHER_CODE, ManualRun
from tests.selftest.services.serving import SocketService, real_codes_received, served_by
from tests.traffic.together import Together

TOKEN, LATER = "Tok-3n.Of-The_Service", "Lat3r.Tok-en_of-the-service"


def test_a_request_that_moves_no_money_is_sent_again(service, manual_run):
    """A request with a real code is not sent again, nor is a valid request that may move money."""
    exchanges = [
        manual_run.client.send("listAccounts", valid=True),
        manual_run.execute(CODE),
        manual_run.execute(OTHER_CODE, credential="a wrong token (of a JWT: another signature)"),
        manual_run.client.send("createPix", json={}, valid=True),
        manual_run.client.send("registerPixKey", "pixconf-1", body=b"{ \xe9", headers=[("X-Pixconf", "\xe9")]),
    ]
    repetitions = [manual_run.door.send_again(exchange) for exchange in exchanges]

    assert repetitions[1:4] == [None] * 3
    assert [repetitions[place].request for place in (0, 4)] == [exchanges[place].request for place in (0, 4)]
    assert service.received[-1] == service.received[-3]


def test_a_note_names_all_operations_that_are_cut_short_for_its_reason(manual_run):
    """A second note for the same reason adds its operation to the first note."""
    for operation in ("executePix", "registerPixKey"):
        manual_run.door.note(NoteAbout.CUT, "locked out", operation)
    manual_run.door.note(NoteAbout.SET_UP, "look at the list")

    assert manual_run.door.unsent == {"locked out": {"executePix", "registerPixKey"}}
    assert manual_run.door.guard.notes == ["look at the list"]


# -- the token ----------------------------------------------------------------------------------------------------


class ExpiresUnderWay(SocketService):
    """After the first request the token expires while eight others are on the wire. Those are refused."""

    def __init__(self):
        super().__init__()
        self._count = count(1)
        self._together = threading.Barrier(8, action=lambda: setattr(self.sandbox, "token", LATER))

    def answer(self, connection, request):
        if 1 < next(self._count) <= 9:
            self._together.wait()
        super().answer(connection, request)


@served_by(ExpiresUnderWay)
@pytest.mark.parametrize("is_another", [True, False])
def test_a_token_that_expires_under_many_requests_is_fetched_once(is_another, service, tmp_path):
    """One thread alone checks the token and fetches another.

    With a new token all eight requests are sent again; without one all eight refusals are excused, and one note says
    so. Then the read is sent three more times, and nothing after that. No refusal is held against the service.
    """
    fetched = []

    def fetch():
        fetched.append(LATER)
        manual_run.secrets.learn_token(LATER if is_another else TOKEN)
        return is_another

    manual_run = ManualRun(service, tmp_path, parallel=8, refresh=fetch)
    manual_run.door.ending.sleep = lambda seconds: None
    send = partial(manual_run.client.send, "listAccounts", valid=True)
    send()
    answers = Together(manual_run.client).send_all([send] * 8)
    send(), manual_run.client.send("createPix", credential="no header")
    refused = {
        exchange.number for exchange in manual_run.door.exchanges if exchange.response.status == 401 and exchange.valid
    }

    assert len(fetched) == len(manual_run.door.token_monitor.notes) == 1
    assert len(service.received) == 1 + 8 + 1 + (8 + 2 if is_another else 3)
    assert {answer.expects_success for answer in answers} == {is_another}
    assert len(refused) == 8
    assert manual_run.door.token_monitor.excused >= refused


def test_a_code_that_was_refused_for_an_expired_token_is_not_sent_again(service, tmp_path):
    """The new token is used by the requests after the execution."""
    manual_run = ManualRun(service, tmp_path, refresh=lambda: manual_run.secrets.learn_token(LATER) or True)
    manual_run.client.send("listAccounts", valid=True)
    service.sandbox.token = LATER
    manual_run.execute(CODE)

    assert [code for code, _ in real_codes_received(service)] == [CODE]
    assert manual_run.secrets.token() == LATER


def test_a_request_that_was_made_before_carries_the_token_of_now(service, manual_run):
    """An execution that waited while a token was fetched carries the new token, because the old one would lose its
    code.
    """
    waiting = manual_run.client._request("GET", f"/v1/execute/pix/{CODE}")
    service.sandbox.token = LATER
    manual_run.secrets.learn_token(LATER)
    executed = manual_run.door.send(waiting, Intent("executePix", valid=True))

    assert executed.response.status == 200
    assert service.executions == [CODE]
    assert manual_run.outcomes_in_journal[0] == "sent"
