"""Services that refuse their callers for a while after wrong tokens (a lock): no transaction code is sent twice."""

import pytest

from environments.door.backoff import ASKED_TO_COME_BACK_LATER
from environments.sandbox import Response
from tests.selftest.services.one_run import CODE, OTHER_CODE, ManualRun, profile_with_codes
from tests.selftest.services.serving import SocketService, has_real_code, response_bytes
from tests.traffic.money.executions import answers_to_real_codes

CODES = (CODE, OTHER_CODE, "SBX-CPF-1")


class Locks(SocketService):
    """After every third wrong token it refuses the next request, even with the valid token: a lock.

    A test can choose both numbers. `number_of_wrong_tokens` is how many wrong tokens arrived so far.
    `paths_of_refused_executions` has the paths of the executions with the valid token that a lock refused.
    """

    def __init__(self, status, *, wrong_tokens_before_a_lock=3, requests_in_a_lock=1):
        """`status` is that of an answer while the service is locked. No wrong token has arrived yet."""
        super().__init__()
        self.refusal = response_bytes(Response(status, b"{}", (("Retry-After", "0"),)))
        self.wrong_tokens_before_a_lock = wrong_tokens_before_a_lock
        self.requests_in_a_lock = requests_in_a_lock
        self.requests_still_refused = 0
        self.number_of_wrong_tokens = 0
        self.paths_of_refused_executions = []

    def answer(self, connection, request):
        """Refuse a request while the lock lasts. Otherwise send the answer of the sandbox, and count a wrong token."""
        has_valid_token = self.has_valid_token(request)
        if self.requests_still_refused > 0:
            self.requests_still_refused -= 1
            if has_valid_token and has_real_code(request.path):
                self.paths_of_refused_executions.append(request.path)
            connection.sendall(self.refusal)
            return
        if not has_valid_token:
            self.number_of_wrong_tokens += 1
            if self.number_of_wrong_tokens % self.wrong_tokens_before_a_lock == 0:
                self.requests_still_refused = self.requests_in_a_lock
        super().answer(connection, request)


ENOUGH_REQUESTS = 400
"""limits.requests of a run that can send all executions and all wrong tokens."""


@pytest.mark.parametrize(
    ("status", "wrong_tokens_before_a_lock"),
    [(423, 3), (403, 9)],
    ids=["423 after every third wrong token", "403 after every ninth wrong token"],
)
def test_no_code_is_sent_again_to_a_service_that_locks(status, wrong_tokens_before_a_lock, tmp_path):
    """No transaction code is sent a second time, although the service refuses a request after some wrong tokens.

    Such a refusal (a lock) asks the client to come back later. Here a lock only refuses requests with another wrong
    token, so all three codes are executed, and the run leaves nothing out. The first code is sent before any wrong
    token.
    """
    with Locks(status, wrong_tokens_before_a_lock=wrong_tokens_before_a_lock) as service:
        manual_run = ManualRun(service, tmp_path, requests=ENOUGH_REQUESTS)
        manual_run.execute_all(profile_with_codes(tmp_path, CODES))

    assert service.number_of_wrong_tokens >= wrong_tokens_before_a_lock
    assert service.executions_with_valid_token == list(CODES)
    assert service.paths_of_refused_executions == []
    assert manual_run.operations_left_out == {}


def test_an_execution_that_a_lock_refuses_is_not_sent_again(tmp_path):
    """An execution that a lock refuses is not repeated, because it may move money. The run notes that it left one out.

    The lock comes after the eleventh wrong token here, and the next request is the execution of the second code.
    """
    with Locks(423, wrong_tokens_before_a_lock=11) as service:
        manual_run = ManualRun(service, tmp_path, requests=ENOUGH_REQUESTS)
        log = manual_run.execute_all(profile_with_codes(tmp_path, CODES))
    statuses = [answer.response.status for answer in answers_to_real_codes(log)]

    assert service.paths_of_refused_executions == [f"/v1/execute/pix/{OTHER_CODE}"]
    assert statuses == [200, 423, 200]
    assert service.executions_with_valid_token == list(CODES)  # each arrived once
    assert manual_run.operations_left_out == {ASKED_TO_COME_BACK_LATER: {"executePix"}}


def test_a_lock_that_does_not_end_keeps_the_codes(tmp_path):
    """If a service refuses everything after some wrong tokens, the run keeps all codes but the first for a later run.

    The first code is sent before any wrong token, and is executed. The journal (a file with the codes that were sent)
    has only this code. The run notes that it did not send all executions.
    """
    with Locks(423, requests_in_a_lock=99) as service:
        manual_run = ManualRun(service, tmp_path)
        manual_run.execute_all(profile_with_codes(tmp_path, CODES))

    assert service.executions_with_valid_token == [CODE]
    assert manual_run.outcomes_in_journal.count("sent") == 1
    assert manual_run.operations_left_out == {ASKED_TO_COME_BACK_LATER: {"executePix"}}
