"""A service that locks its callers out after wrong tokens costs no code, and keeps no row from being exercised."""

import pytest

from environments.door.backoff import LOCKED
from tests.selftest.services.locking import Locks, LocksForGood, refusal
from tests.selftest.services.one_run import CODE, OTHER, Run, profile_of
from tests.selftest.services.serving import EXECUTION, Raw

CODES = (CODE, OTHER, "SBX-CPF-1")
WAYS = [
    pytest.param(refusal(423), id="423"),
    pytest.param(refusal(423, "0"), id="423 with Retry-After"),
    pytest.param(refusal(403, "0"), id="403 with Retry-After"),
    pytest.param(refusal(429, "0"), id="429 with Retry-After"),
]


@pytest.fixture(autouse=True)
def waits(monkeypatch):
    """The seconds that the door would have waited."""
    waited = []
    monkeypatch.setattr("environments.door.ending.Ending.sleep", lambda _, seconds: waited.append(seconds))
    return waited


@pytest.mark.parametrize("most", [3, 9, 11])
@pytest.mark.parametrize("locked", WAYS)
def test_no_execution_finds_the_service_locked(locked, most, tmp_path):
    """Every code is executed, once, however many wrong tokens it takes: the lock is outlasted before each of them."""
    with Locks(locked, most=most) as service:
        a_run = Run(service, tmp_path, requests=400)
        found = a_run.execute_all(profile_of(tmp_path, CODES))

    assert service.locks
    assert service.refused == []
    assert service.executions == list(CODES)
    assert [answer.response.status for answer in found.answers] == [200, 200, 200]


def test_a_lock_costs_one_harmless_request_a_code(service, a_run, tmp_path):
    """Where no lock was ever seen; and none where no wrong token was sent, as before the first code."""
    a_run.execute_all(profile_of(tmp_path, CODES))
    bearer = f"Bearer {service.service.token}"
    harmless = [seen for seen in service.seen if "pixconf-" in seen.path and seen.header("Authorization") == bearer]

    (tmp_path / "another").mkdir()
    with Raw() as untouched:
        other = Run(untouched, tmp_path / "another", name="two")
        other.client.send("executePix", "pixconf-0")
        other.execute(CODE)
        other.execute(OTHER)

    assert len(harmless) == len(CODES)
    assert [seen.path for seen in untouched.seen] == [f"{EXECUTION}{code}" for code in ("pixconf-0", CODE, OTHER)]


def test_the_harmless_request_has_an_id_of_its_own(service, tmp_path):
    """A service may take a second request with the same id for the same request."""
    a_run = Run(service, tmp_path, correlation_header="X-Request-Id")
    a_run.execute_all(profile_of(tmp_path, CODES))
    ids = [seen.header("X-Request-Id") for seen in service.seen]

    assert len(set(ids)) == len(ids)


def test_a_lock_that_does_not_end_keeps_the_codes(tmp_path, waits):
    """Only the first is executed, before any wrong token. The others are not written down as sent, what to do is said,
    and the waiting is bounded."""
    with LocksForGood(refusal(423)) as service:
        a_run = Run(service, tmp_path)
        a_run.execute_all(profile_of(tmp_path, CODES))

    assert service.executions == [CODES[0]]
    assert a_run.door.backoff.notes == [LOCKED.format(423)]
    assert [event for event in a_run.events if event == "sent"] == ["sent"]
    assert sum(waits) < 120


def test_a_service_that_puts_every_unknown_code_off_keeps_the_codes(tmp_path):
    """It may be a lock: what to set is said, and only the first code is sent, before any wrong token."""
    with Locks(refusal(429, "0"), most=10_000) as service:
        respond = service.service.respond
        service.service.respond = lambda request: service.refusal if "pixconf-" in request.path else respond(request)
        a_run = Run(service, tmp_path, requests=400)
        a_run.execute_all(profile_of(tmp_path, CODES))

    assert service.executions == [CODE]
    assert a_run.door.backoff.notes == [LOCKED.format(429)]
