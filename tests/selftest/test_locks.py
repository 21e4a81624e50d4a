"""A service that locks its callers out after wrong tokens costs no code, and keeps no row from being exercised."""

import pytest

from environments.door.retry_policy import RetryPolicy
from spec.exchange import Response
from tests.selftest.services.locking import Locks, LocksForGood, refusal
from tests.selftest.services.one_run import CODE, OTHER, Run, profile_of
from tests.selftest.services.serving import EXECUTION, Raw

CODES = (CODE, OTHER, "SBX-CPF-1")
LOCKED = [
    pytest.param(refusal(423), id="423"),
    pytest.param(refusal(423, "0"), id="423 with Retry-After"),
    pytest.param(refusal(403, "0"), id="403 with Retry-After"),
    pytest.param(refusal(429, "0"), id="429 with Retry-After"),
]


@pytest.fixture(autouse=True)
def waits(monkeypatch):
    """The seconds that the door would have waited."""
    waited = []
    monkeypatch.setattr("environments.door.door.time.sleep", waited.append)
    return waited


@pytest.mark.parametrize("most", [3, 9, 11])
@pytest.mark.parametrize("locked", LOCKED)
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
    """Where no lock was ever seen; and none where no wrong token was sent."""
    a_run.execute_all(profile_of(tmp_path, CODES))
    bearer = f"Bearer {service.service.token}"
    harmless = [seen for seen in service.seen if "pixconf-" in seen.path and seen.header("Authorization") == bearer]

    with Raw() as untouched:
        other = Run(untouched, tmp_path, name="two")
        other.client.send("executePix", "pixconf-0")
        other.execute(CODE)
        other.execute(OTHER)

    assert len(harmless) == 1 + len(CODES)
    assert [seen.path for seen in untouched.seen] == [f"{EXECUTION}{code}" for code in ("pixconf-0", CODE, OTHER)]


def test_the_harmless_request_has_an_id_of_its_own(service, tmp_path):
    """A service may take a second request with the same id for the same request."""
    a_run = Run(service, tmp_path, correlation_header="X-Request-Id")
    a_run.execute_all(profile_of(tmp_path, CODES))
    ids = [seen.header("X-Request-Id") for seen in service.seen]

    assert len(set(ids)) == len(ids)


def test_a_lock_that_does_not_end_keeps_the_codes(tmp_path, waits):
    """They are not executed and not written down as sent, what to do is said, and the waiting is bounded."""
    with LocksForGood(refusal(423)) as service:
        a_run = Run(service, tmp_path)
        a_run.execute_all(profile_of(tmp_path, CODES))

    assert service.executions == []
    assert set(a_run.door.lockout.notes) == {
        "the service locks its callers out (423), longer than the suite waits: codes were kept back, and can be used later"
    }
    assert a_run.events == []
    assert sum(waits) < 120


def test_a_service_that_puts_every_unknown_code_off_is_asked_for_one(tmp_path):
    """What it says of a code that nobody has shows nothing: the executions are sent as ever."""
    with Locks(refusal(429, "0"), most=10_000) as service:
        respond = service.service.respond
        service.service.respond = lambda request: service.refusal if "pixconf-" in request.path else respond(request)
        Run(service, tmp_path, requests=400).execute_all(profile_of(tmp_path, CODES))

    assert service.executions == list(CODES)


def test_a_service_that_puts_everything_off_gets_one_code(tmp_path):
    """Locked from before the run: one execution is tried, the other codes are kept back."""
    with LocksForGood(refusal(423), most=0) as service:
        Run(service, tmp_path, requests=400).execute_all(profile_of(tmp_path, CODES))

    assert service.executions == [CODE]


@pytest.mark.parametrize(
    ("answer", "waits"),
    [
        (Response(423, (), b""), True),
        (Response(403, (("Retry-After", "1"),), b""), True),
        (Response(403, (), b""), False),
        (Response(401, (("Retry-After", "1"),), b""), False),
    ],
    ids=["423", "403 with Retry-After", "403", "401 with Retry-After"],
)
def test_what_is_waited_for(answer, waits, service, tmp_path):
    """A refusal without a time is no lock, but for 423."""
    exchange = Run(service, tmp_path).client.send("listAccounts")
    seen = type(exchange)(1, "listAccounts", exchange.request, response=answer, valid=True)

    assert (RetryPolicy().plan_wait(seen, 0, repeatable=True) is not None) is waits


def test_wrong_tokens_take_half_of_the_time_at_most(tmp_path, waits):
    """Then no more of them are sent, and the right token is let in."""
    with Locks(refusal(423, "30"), most=3) as service:
        a_run = Run(service, tmp_path, requests=400)
        for _ in range(30):
            a_run.client.send("listAccounts", valid=True)
            a_run.client.send("listAccounts", credential="a wrong token")
        last = a_run.client.send("listAccounts", credential="no header")

    assert last.failure.message == "the service locks its callers out: no more wrong tokens are sent"
    assert 150 <= a_run.door.retry_policy.waited_s < 240
