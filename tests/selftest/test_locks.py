"""A service that locks its callers out after wrong tokens: no code is sent twice, and what to set is said."""

import pytest

from environments.door.backoff import IN_VAIN
from tests.selftest.services.locking import Locks, LocksForGood, refusal
from tests.selftest.services.one_run import CODE, OTHER, Run, profile_of

CODES = (CODE, OTHER, "SBX-CPF-1")
WAYS = [
    pytest.param(refusal(423), id="423"),
    pytest.param(refusal(423, "0"), id="423 with Retry-After"),
    pytest.param(refusal(403, "0"), id="403 with Retry-After"),
    pytest.param(refusal(429, "0"), id="429 with Retry-After"),
]


@pytest.mark.parametrize("most", [3, 9, 11])
@pytest.mark.parametrize("locked", WAYS)
def test_no_code_is_sent_again_to_a_service_that_locks(locked, most, tmp_path):
    """The first is executed before any wrong token. One that finds the service locked is spent, and the run says so."""
    with Locks(locked, most=most) as service:
        a_run = Run(service, tmp_path, requests=400)
        found = a_run.execute_all(profile_of(tmp_path, CODES))

    lost = [answer for answer in found.answers if answer.response.status != 200]
    assert service.locks
    assert service.executions[0] == CODE
    assert len(set(service.executions + service.refused)) == len(service.executions) + len(service.refused)
    assert len(lost) == len(service.refused)
    assert a_run.door.unsent == ({IN_VAIN: {"executePix"}} if lost else {})


def test_a_lock_that_does_not_end_keeps_the_codes(tmp_path):
    """Only the first is executed, before any wrong token. The others are not written down as sent, and what to set is
    said."""
    with LocksForGood(refusal(423, "0")) as service:
        a_run = Run(service, tmp_path)
        a_run.execute_all(profile_of(tmp_path, CODES))

    assert service.executions == [CODE]
    assert [event for event in a_run.events if event == "sent"] == ["sent"]
    assert a_run.door.unsent == {IN_VAIN: {"executePix"}}
