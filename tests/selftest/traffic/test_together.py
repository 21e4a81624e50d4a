"""Requests that are sent at the same moment.

A doubtful answer, such as a refusal or a server error, may come only because other requests were on the wire. So that
request is sent again alone before `send_all` returns, and the new answer supersedes the first one.
"""

import json
import threading
from functools import partial
from itertools import count

import pytest

from environments.sandbox import Response
from spec.log import numbers_superseded
from tests.selftest.services.one_run import CODE, OTHER_CODE, ManualRun
from tests.selftest.services.serving import SocketService, real_codes_received, reset_connection, response_bytes
from tests.selftest.services.waiting import HANG_LIMIT_S
from tests.traffic.together import Together


class AnswersOtherwiseBesideOthers(SocketService):
    """Waits until two requests are there, and answers both with this status and body. All later ones are answered as
    usual.

    If the status is None, the first two requests get no answer.
    """

    def __init__(self, status=None, body=b"{}"):
        """`status` and `body` are the answer to the first two requests. Without a status they get no answer."""
        super().__init__()
        self.status, self.body = status, body
        self._both_are_there = threading.Barrier(2)
        self._numbers = count(1)

    def answer(self, connection, request):
        """Send the answer of the sandbox. The first two requests wait for each other, and get the other answer."""
        number_of_request = next(self._numbers)
        if number_of_request > 2:
            super().answer(connection, request)
            return
        self._both_are_there.wait(HANG_LIMIT_S)
        if self.status is None:
            reset_connection(connection)
        else:
            response = Response(self.status, self.body, (("Content-Type", "application/json"),))
            connection.sendall(response_bytes(response))


def send_twice_at_once(service, folder, **request):
    """Send two equal requests at the same moment. Returns the run, and the answers that `send_all` returns."""
    manual_run = ManualRun(service, folder, parallel=8)
    send = partial(manual_run.client.send, **request)
    return manual_run, Together(manual_run.client).send_all([send, send])


READ = {"operation": "listAccounts", "valid": True}
INVALID = {"operation": "registerPixKey", "path_parameter": "pixconf-1", "body": b"{"}


@pytest.mark.parametrize(
    ("request_sent", "status_beside", "status_alone"),
    [(READ, 409, 200), (READ, 500, 200), (INVALID, 401, 400), (INVALID, 500, 400)],
    ids=["refused", "a server error", "the caller is refused", "invalid, and a server error"],
)
def test_a_doubtful_request_is_sent_again_alone(request_sent, status_beside, status_alone, tmp_path):
    """Two requests at the same moment that are refused or get a server error are each sent again alone.

    `send_all` returns the new answers. The first answers stay in the log, where the new ones supersede them. `beside`
    is the number of other requests on the wire.
    """
    with AnswersOtherwiseBesideOthers(status_beside) as service:
        manual_run, answers = send_twice_at_once(service, tmp_path, **request_sent)
    numbers_beside = [exchange.beside for exchange in manual_run.exchanges]
    first, second, *_ = manual_run.exchanges

    assert [answer.response.status for answer in answers] == [status_alone, status_alone]
    assert numbers_beside == [1, 1, 0, 0]
    assert numbers_superseded(manual_run.exchanges) == {first.number, second.number}


def test_a_success_that_deviates_from_the_document_is_not_sent_again(tmp_path):
    """Two successes at the same moment are not sent again, even if they are not as documented.

    Both have a text as their `code` here, instead of a number. That is a fault, and no doubtful answer.
    """
    with AnswersOtherwiseBesideOthers(200, b'{"code": "0", "data": {}}') as service:
        manual_run, answers = send_twice_at_once(service, tmp_path, **READ)

    assert [json.loads(answer.response.body)["code"] for answer in answers] == ["0", "0"]
    assert len(manual_run.exchanges) == 2


def test_an_execution_that_was_refused_beside_a_read_is_not_sent_again(tmp_path):
    """If an execution and a read at the same moment both get 409, only the read is sent again alone.

    The execution may have moved money.
    """
    with AnswersOtherwiseBesideOthers(409) as service:
        manual_run = ManualRun(service, tmp_path, parallel=8)
        read = partial(manual_run.client.send, **READ)
        # sends both at the same moment, and returns the answer to the first
        executed = Together(manual_run.client).send_with_companion(partial(manual_run.execute, CODE), read)
    first_two = manual_run.exchanges[:2]
    [refused_read] = [exchange for exchange in first_two if exchange.operation == "listAccounts"]

    assert executed.response.status == 409
    assert len(real_codes_received(service)) == 1
    assert numbers_superseded(manual_run.exchanges) == {refused_read.number}


def test_two_executions_at_the_same_moment_are_not_sent_again(tmp_path):
    """Two executions at the same moment that both get 409 are not sent again, because they may have moved money.

    A service may refuse them because it locks the account.
    """
    with AnswersOtherwiseBesideOthers(409) as service:
        manual_run = ManualRun(service, tmp_path, parallel=8, has_journal=False, is_sandbox=True)
        answers = Together(manual_run.client).send_all(
            [partial(manual_run.execute, code) for code in (CODE, OTHER_CODE)]
        )

    assert [answer.response.status for answer in answers] == [409, 409]
    assert len(service.received) == 2


@pytest.mark.parametrize("status", [503, None], ids=["503", "dropped"])
def test_a_request_that_the_door_itself_sent_again_is_not_sent_a_third_time(status, tmp_path):
    """Two requests at the same moment that get a 503 or no answer are sent once more by the door, and not a third time.

    All requests of a run go through the door. There are four exchanges, two for each request, and `send_all` adds none.
    """
    with AnswersOtherwiseBesideOthers(status) as service:
        manual_run, answers = send_twice_at_once(service, tmp_path, **READ)

    assert [answer.response.status for answer in answers] == [200, 200]
    assert len(manual_run.exchanges) == 4
    assert len(numbers_superseded(manual_run.exchanges)) == 2
