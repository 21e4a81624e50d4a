"""A service that locks its callers out after wrong tokens costs no code, and keeps no row from being exercised."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import requests

from environments.door.authorization import VALID
from environments.door.lockout import Lockout
from environments.door.outgoing import Intent, Sending
from environments.door.retry_policy import RetryPolicy
from spec.exchange import Response
from tests.selftest.exchanges import answer
from tests.selftest.services.locking import Locks, LocksForGood, refusal
from tests.selftest.services.one_run import CODE, OTHER, Run, profile_of
from tests.selftest.services.racing import Meeting, with_and_without_a_lock
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
    monkeypatch.setattr("environments.door.ending.Ending.sleep", lambda _, seconds: waited.append(seconds))
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
    assert set(a_run.door.lockout.notes) == {
        "the service locks its callers out (423), longer than the suite waits: codes were kept back, and can be used later"
    }
    assert [event for event in a_run.events if event == "sent"] == ["sent"]
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


# -- several threads ----------------------------------------------------------------------------------------------


class Attempts:
    """A lockout and the attempts that it sees, in the order in which they leave."""

    def __init__(self):
        self._departed = 0
        self.lockout = Lockout(lambda: "", lambda *_: None, lambda: self._departed)

    def leaves(self, credential=VALID):
        """One leaves; the rest of it happens when what is given is called with the status of its answer."""
        self._departed += 1
        request = requests.Request("GET", "http://127.0.0.1:1/v1/execute/pix/pixconf-0").prepare()
        intent = Intent("executePix", credential)
        sending = Sending(
            request, intent, lambda sending: None, with_token=credential == VALID, departure=self._departed
        )
        watching = self.lockout.watching(sending)
        watching.__enter__()

        def is_answered(status):
            sending.exchange = answer("executePix", b"", status=status, credential=credential, valid=False)
            watching.__exit__(None, None, None)

        return is_answered

    @property
    def asks(self):
        """Whether the next execution is preceded by a harmless request."""
        return bool(self.lockout._lets_in and self.lockout._wrong_token_until)


def test_what_left_before_a_wrong_token_was_answered_does_not_show_that_it_locked_nobody_out():
    """The service may lock its callers out when it answers the wrong token, whichever request is answered last."""
    attempts = Attempts()
    attempts.leaves()(404)
    before, wrong = attempts.leaves(), attempts.leaves("a wrong token")
    beside = attempts.leaves()
    while_it_is_out = attempts.asks
    wrong(401)
    before(404)
    beside(404)
    after_it = attempts.asks
    attempts.leaves()(404)

    assert (while_it_is_out, after_it, attempts.asks) == (True, True, False)


def test_a_wrong_token_counts_before_its_answer_was_read():
    """Its thread may be late: the place on the wire is free, and the service locked."""
    attempts = Attempts()
    attempts.leaves()(404)
    attempts.leaves("a wrong token")

    assert attempts.asks


@pytest.fixture
def meeting(monkeypatch):
    """Two threads meet in a critical section."""
    return Meeting(monkeypatch)


@with_and_without_a_lock
def test_a_wrong_token_is_not_forgotten_for_an_answer_beside_it(locked, meeting):
    """Without the lock it is, and the next execution may find the service locked."""
    attempts = Attempts()
    attempts.leaves()(404)
    let_in = attempts.leaves()
    meeting.lock(attempts.lockout, "_guard", locked=locked)
    meeting.stops_at(Lockout, "_wrong_token_until")
    meeting.of(lambda: let_in(404), lambda: attempts.leaves("a wrong token"))

    assert attempts.asks is locked


@with_and_without_a_lock
def test_that_the_service_lets_the_token_in_is_not_forgotten(locked, meeting):
    """Without the lock it is, for a 429 beside it; then no execution is preceded by a harmless request."""
    attempts = Attempts()
    attempts.leaves("a wrong token")(401)
    off, let_in = attempts.leaves(), attempts.leaves()
    meeting.lock(attempts.lockout, "_guard", locked=locked)
    meeting.stops_at(Lockout, "_lets_in")
    meeting.of(lambda: off(429), lambda: let_in(404))

    assert bool(attempts.lockout._lets_in) is locked


VALID_ONE, WRONG_ONE = {"valid": True}, {"credential": "a wrong token"}


@pytest.mark.parametrize("parallel", [4, 16])
@pytest.mark.parametrize("locked", LOCKED)
def test_no_execution_finds_the_service_locked_by_another_thread(locked, parallel, tmp_path):
    """Wrong tokens and valid requests go side by side. Each code is executed, once, and each valid request let in."""
    with Locks(locked, most=2) as service:
        a_run = Run(service, tmp_path, requests=2000, parallel=parallel)
        a_run.secrets.learn("code", *CODES)
        a_run.client.send("executePix", "pixconf-0")
        with ThreadPoolExecutor(parallel) as threads:
            sent = [threads.submit(a_run.client.send, "listAccounts", **how) for how in (VALID_ONE, WRONG_ONE) * 40]
            executed = [a_run.execute(code) for code in CODES]

    assert service.locks
    assert service.refused == []
    assert service.executions == list(CODES)
    assert {one.response.status for one in (*executed, *(one.result() for one in sent[::2]))} == {200}
