"""The door, through which every request of a run goes: repetitions, notes, and the token that all threads share."""

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


def test_only_a_request_that_moves_no_money_is_sent_again(service, manual_run):
    """`send_again` repeats a read and an invalid registration exactly as they were.

    It returns None for a request with a real code, with or without the valid token, and for a valid transfer.
    """
    exchanges = [
        manual_run.client.send("listAccounts", valid=True),
        manual_run.execute(CODE),
        manual_run.execute(OTHER_CODE, credential="a wrong token (of a JWT: another signature)"),
        manual_run.client.send("createPix", json={}, valid=True),
        manual_run.client.send("registerPixKey", "pixconf-1", body=b"{ \xe9", headers=[("X-Pixconf", "\xe9")]),
    ]
    repetitions = [manual_run.door.send_again(exchange) for exchange in exchanges]

    read, *requests_about_money, invalid = repetitions
    assert requests_about_money == [None] * 3
    assert read.request == exchanges[0].request
    assert invalid.request == exchanges[4].request
    # the last three that arrived: the invalid request, the repeated read, the repeated invalid request
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
        self._numbers = count(1)
        self._all_eight_are_there = threading.Barrier(8, action=self._let_token_expire)

    def _let_token_expire(self):
        self.sandbox.token = LATER

    def answer(self, connection, request):
        number = next(self._numbers)
        if 2 <= number <= 9:
            self._all_eight_are_there.wait()
        super().answer(connection, request)


@served_by(ExpiresUnderWay)
@pytest.mark.parametrize("is_another", [True, False])
def test_a_token_that_expires_under_many_requests_is_fetched_once(is_another, service, tmp_path):
    """Eight requests get 401 at the same time. One thread alone checks the token with a read, and fetches another one.

    With another token the eight requests are sent again, and two more are sent after them. Without one the token has
    expired: it is tried in three more reads, and nothing else is sent.
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
    first_read, refused_reads, check_of_token = 1, 8, 1
    sent_again, sent_later, tries_of_token = (8, 2, 0) if is_another else (0, 0, 3)
    sent_before = first_read + refused_reads + check_of_token
    assert len(service.received) == sent_before + sent_again + sent_later + tries_of_token
    assert {answer.expects_success for answer in answers} == {is_another}
    assert len(refused) == 8
    assert manual_run.door.token_monitor.excused >= refused


def test_a_code_that_was_refused_for_an_expired_token_is_not_sent_again(service, tmp_path):
    """The token expired, so the execution gets 401. Another token is fetched for later requests.

    The code is not sent again, because a code is sent once.
    """
    manual_run = ManualRun(service, tmp_path, refresh=lambda: manual_run.secrets.learn_token(LATER) or True)
    manual_run.client.send("listAccounts", valid=True)
    service.sandbox.token = LATER
    manual_run.execute(CODE)

    assert [code for code, _ in real_codes_received(service)] == [CODE]
    assert manual_run.secrets.token() == LATER


def test_a_request_is_sent_with_the_token_of_the_moment_at_which_it_is_sent(service, manual_run):
    """An execution was made with the old token, and waits. Meanwhile a new token was fetched. It is sent with that one.

    With the old token it would be refused, and its code could not be sent again.
    """
    waiting = manual_run.client._request("GET", f"/v1/execute/pix/{CODE}")
    service.sandbox.token = LATER
    manual_run.secrets.learn_token(LATER)
    executed = manual_run.door.send(waiting, Intent("executePix", valid=True))

    assert executed.response.status == 200
    assert service.executions == [CODE]
    assert manual_run.outcomes_in_journal[0] == "sent"
