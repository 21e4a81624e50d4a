"""A service that locks its callers out after wrong tokens: no code is sent twice, and what to set is said."""

import pytest

from environments.door.backoff import ASKED_TO_COME_BACK_LATER
from environments.sandbox import Response
from tests.selftest.services.one_run import CODE, OTHER_CODE, ManualRun, profile_with_codes
from tests.selftest.services.serving import SocketService, has_real_code, response_bytes
from tests.traffic.money.executions import answers_to_real_codes

CODES = (CODE, OTHER_CODE, "SBX-CPF-1")


class Locks(SocketService):
    """Refuses `requests` requests after every `most` wrong tokens.

    `refused` are the paths of executions that it refused.
    """

    def __init__(self, status, *, most=3, requests=1):
        super().__init__()
        self.refusal = response_bytes(Response(status, b"{}", (("Retry-After", "0"),)))
        self.most, self.requests, self.wrong, self.locked, self.refused = most, requests, 0, 0, []

    def answer(self, connection, request):
        is_valid = self.has_valid_token(request)
        if self.locked:
            self.locked -= 1
            self.refused += [request.path] * (is_valid and has_real_code(request.path))
            return connection.sendall(self.refusal)
        self.wrong += not is_valid
        self.locked = self.requests * (self.wrong % self.most == 0 and not is_valid)
        return super().answer(connection, request)


@pytest.mark.parametrize(
    ("status", "wrong_tokens_before_a_lock"), [(423, 3), (403, 9), (423, 11)], ids=["423", "403", "423, seldom"]
)
def test_no_code_is_sent_again_to_a_service_that_locks(status, wrong_tokens_before_a_lock, tmp_path):
    """No transaction code is sent a second time, although the service refuses a request after some wrong tokens.

    Such a refusal (a lock) asks the client to come back later. An execution is never repeated, because it may move
    money, so the run notes that it did not send all executions. The first code goes before any wrong token.
    """
    with Locks(status, most=wrong_tokens_before_a_lock) as service:
        manual_run = ManualRun(service, tmp_path, requests=400)
        log = manual_run.execute_all(profile_with_codes(tmp_path, CODES))
    refused_answers = [answer for answer in answers_to_real_codes(log) if answer.response.status != 200]
    codes_received = service.executions_with_valid_token + service.refused
    first_execution, *_ = service.executions_with_valid_token
    executions_were_left_out = {ASKED_TO_COME_BACK_LATER: {"executePix"}} if refused_answers else {}

    assert service.wrong >= wrong_tokens_before_a_lock
    assert first_execution == CODE
    assert len(codes_received) == len(set(codes_received))
    assert len(refused_answers) == len(service.refused)
    assert manual_run.door.unsent == executions_were_left_out


def test_a_lock_that_does_not_end_keeps_the_codes(tmp_path):
    """If a service refuses everything after some wrong tokens, the run keeps all codes but the first for a later run.

    The first code goes before any wrong token, and is executed. The journal, which has each code that was sent, has no
    other one. The run notes that it did not send all executions.
    """
    with Locks(423, requests=99) as service:
        manual_run = ManualRun(service, tmp_path)
        manual_run.execute_all(profile_with_codes(tmp_path, CODES))

    assert service.executions_with_valid_token == [CODE]
    assert manual_run.outcomes_in_journal.count("sent") == 1
    assert manual_run.door.unsent == {ASKED_TO_COME_BACK_LATER: {"executePix"}}
