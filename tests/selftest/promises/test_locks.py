"""A service that locks its callers out after wrong tokens: no code is sent twice, and what to set is said."""

import pytest

from environments.door.backoff import IN_VAIN
from environments.sandbox import Response
from tests.selftest.services.one_run import CODE, OTHER, Run, profile_of
from tests.selftest.services.serving import Raw, as_bytes, is_real
from tests.traffic.money.executions import answers_to_real_codes

CODES = (CODE, OTHER, "SBX-CPF-1")


class Locks(Raw):
    """Locks a caller out for some requests after some wrong tokens. `refused` are the codes that found it locked."""

    def __init__(self, status, *, most=3, requests=1):
        super().__init__()
        self.refusal = as_bytes(Response(status, b"{}", (("Retry-After", "0"),)))
        self.most, self.requests, self.wrong, self.locked, self.refused = most, requests, 0, 0, []

    def answer(self, connection, request):
        is_valid = self.is_granted(request)
        if self.locked:
            self.locked -= 1
            self.refused += [request.path] * (is_valid and is_real(request.path))
            return connection.sendall(self.refusal)
        self.wrong += not is_valid
        self.locked = self.requests * (self.wrong % self.most == 0 and not is_valid)
        return super().answer(connection, request)


@pytest.mark.parametrize(("status", "most"), [(423, 3), (403, 9), (423, 11)])
def test_no_code_is_sent_again_to_a_service_that_locks(status, most, tmp_path):
    """The first is executed before any wrong token. One that finds the service locked is spent, and the run says so."""
    with Locks(status, most=most) as service:
        a_run = Run(service, tmp_path, requests=400)
        log = a_run.execute_all(profile_of(tmp_path, CODES))

    lost = [answer for answer in answers_to_real_codes(log) if answer.response.status != 200]
    assert service.wrong >= most
    assert service.executions[0] == CODE
    assert len(set(service.executions + service.refused)) == len(service.executions + service.refused)
    assert len(lost) == len(service.refused)
    assert a_run.door.unsent == ({IN_VAIN: {"executePix"}} if lost else {})


def test_a_lock_that_does_not_end_keeps_the_codes(tmp_path):
    """Only the first is executed, before any wrong token. The others are not written down as sent, and what to set is
    said."""
    with Locks(423, requests=99) as service:
        a_run = Run(service, tmp_path)
        a_run.execute_all(profile_of(tmp_path, CODES))

    assert service.executions == [CODE]
    assert a_run.events.count("sent") == 1
    assert a_run.door.unsent == {IN_VAIN: {"executePix"}}
