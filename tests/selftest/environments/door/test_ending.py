"""A run that ends while requests are on their way: it winds down, or it is stopped; no thread waits, and nothing is lost."""

import threading
from collections import Counter
from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from environments.door.ending import CUT, STOPPED, Ending
from environments.door.key_states import KeyState
from environments.door.outgoing import LimitError
from environments.door.run_keys import Keys
from environments.profiles.loading import load
from spec.exchange import FailureKind
from spec.message import say
from tests.selftest.services.one_run import CODE, PREPARE, Run, journal_in
from tests.selftest.services.running import write_profile
from tests.selftest.services.serving import Raw
from tests.selftest.services.waiting import HANGS_S, Thread
from tests.traffic.money.preparing import prepare

ACCOUNT, EMAIL = "ac-0001", "qa@pix-conformance.example"
DURATION_S = 1000.0
OVER = say("limits.{setting} ({limit} s) is over", setting="duration", limit="1000")


class Silent(Raw):
    """Does what it is asked to, and never says so; each request that comes in releases `came`."""

    def __init__(self):
        super().__init__()
        self.came = threading.Semaphore(0)

    def answer(self, connection, request):
        self.service.respond(request)
        self.came.release()
        self._stopped.wait()


class Clock:
    """A clock that a test sets."""

    now = 0.0

    def __call__(self):
        return self.now


def read(a_run):
    return a_run.client.send("listAccounts", valid=True)


# -- a run that is stopped ---------------------------------------------------------------------------------------


def test_what_is_on_the_wire_is_cut(tmp_path):
    """In every thread. Each request is recorded, and none says anything of the service: a code has an unknown outcome and
    is not sent again; a key may be registered, and a transfer prepared."""
    plan = {"operation": "createPix", "json": {"account": ACCOUNT}, "code_at": "/data/transactionId", "count": 2}
    with Silent() as service:
        path = write_profile(tmp_path, service.base_url, transactions={"prepare": plan})
        profile = load(str(path), folder=tmp_path)
        a_run = Run(service, tmp_path, parallel=6)
        a_run.door.keys = Keys(profile.pix_keys)
        key = {"pixKey": profile.pix_keys[0].key, "pixKeyType": profile.pix_keys[0].type}
        preparing = Thread(lambda: prepare(a_run.client, profile, 2))
        assert service.came.acquire(timeout=HANGS_S)  # it writes the journal, which the execution holds from then on
        acts = (
            lambda: read(a_run),
            a_run.execute,
            lambda: a_run.client.send("registerPixKey", ACCOUNT, json=key, valid=True),
        )
        threads = [*(Thread(act) for act in acts), preparing]
        assert all(service.came.acquire(timeout=HANGS_S) for _ in acts)
        a_run.door.ending.stop()
        executed = [thread.ended() for thread in threads][1]
        later = Run(service, tmp_path, name="two").door.guard

        cut, exchanges = CUT.format(STOPPED), a_run.door.exchanges
        assert {(seen.failure.kind, seen.failure.message) for seen in exchanges} == {(FailureKind.LIMIT, cut)}
        assert len(service.seen) == len(exchanges) == 4
        assert a_run.door.liveness.unreachable == ""
        assert (a_run.events, a_run.door.guard.unknown) == (["sent", "unknown"], [executed.number])
        assert later.open_journal([CODE]) == []
        assert [key.state for key in a_run.door.keys.not_cleaned_up()] == [KeyState.MAYBE]
        [(listed, _)] = a_run.door.guard.prepared.not_executed(exchanges)
        assert listed.operation == "createPix"


def test_nothing_is_sent_after_that(service, a_run):
    """By no thread, and not to clean up; a code is not claimed."""
    a_run.door.ending.stop()
    with pytest.raises(LimitError, match=STOPPED):
        a_run.door.ending.refuse(SimpleNamespace(cleans_up=True))
    found = [read(a_run), a_run.execute(CODE), a_run.client.send("listPixKeys", "1")]

    assert [(seen.number, seen.failure.message) for seen in found] == [(0, STOPPED)] * 3
    assert service.seen == []
    assert a_run.door.guard.open_journal([CODE]) == [CODE]


HELD = {
    "wait_for": lambda a_run: a_run.door.backoff.place(SimpleNamespace(beside=0, window=0)),
    "holding": lambda a_run: journal_in(a_run.journal.parent).turn(),
    "sleep": lambda a_run: nullcontext(a_run.door.budget.wait_for_turn()),
}


@pytest.mark.parametrize("waits_in", HELD)
def test_who_waits_wakes_up(waits_in, service, tmp_path, monkeypatch):
    """For a place on the wire, for the turn of the journal, for the rate. Nothing is sent, and a code can be sent later."""
    a_run, waits = Run(service, tmp_path, rate=0.0001), threading.Event()
    ending = a_run.door.ending
    with HELD[waits_in](a_run):
        wait = getattr(ending, waits_in)
        monkeypatch.setattr(ending, waits_in, lambda *given: (waits.set(), wait(*given))[1])
        thread = Thread(a_run.execute)
        assert waits.wait(HANGS_S)
        ending.stop()
        found = thread.ended()

    assert (found.number, found.failure.message, service.seen) == (0, STOPPED, [])
    assert (a_run.door.budget.executions_left, a_run.door.guard.unknown) == (5, [])
    assert Run(service, tmp_path, name="two").door.guard.open_journal([CODE]) == [CODE]


# -- a run that winds down ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("now", "has_key", "passes"), [(939, True, 6), (941, True, 2), (941, False, 0), (1001, True, 0)]
)
def test_after_limits_duration_nothing_is_sent_but_cleaning_up(now, has_key, passes, service, tmp_path):
    """At most a minute of it is kept for that, where a key of the run is left; at its end nothing is sent at all."""
    profile = load(str(write_profile(tmp_path, service.base_url)), folder=tmp_path)
    a_run = Run(service, tmp_path, is_sandbox=True)
    clock, a_run.door.keys = Clock(), Keys(profile.pix_keys)
    a_run.door.ending.__init__(DURATION_S, clock=clock)
    body = {"pixKey": profile.pix_keys[0].key, "pixKeyType": profile.pix_keys[0].type}
    for _ in range(has_key):
        a_run.client.send("registerPixKey", ACCOUNT, json=body, valid=True)
    service.seen.clear()
    clock.now = now
    operations = ("listPixKeys", "deletePixKey", "listAccounts", "createPix", "registerPixKey", "executePix")
    for operation in operations:
        a_run.client.send(operation, ACCOUNT if operation == "listPixKeys" else "pixconf-0", json=body)

    assert len(service.seen) == passes
    assert a_run.door.unsent == ({OVER: set(operations[passes:])} if passes < 6 else {})


def test_the_last_requests_are_kept_for_cleaning_up(service, tmp_path):
    """One of twenty. A transfer that has no place any more takes none of the others."""
    a_run = Run(service, tmp_path, requests=40, transfers=1)
    for _ in range(40):
        a_run.client.send("createPix", json=PREPARE["json"])
    for _ in range(40):
        read(a_run)
    a_run.door.budget.take_request(SimpleNamespace(cleans_up=True))

    assert Counter(seen.path for seen in service.seen) == {"/v1/pix": 1, "/v1/accounts": 37}


@pytest.mark.parametrize(
    ("operation", "account", "key", "part", "cleans_up"),
    [
        ("deletePixKey", ACCOUNT, EMAIL, "", True),
        ("listPixKeys", ACCOUNT, "", "", True),
        ("deletePixKey", ACCOUNT, EMAIL, "deletePixKey", False),
        ("deletePixKey", ACCOUNT, "pixconf-1@example.com", "", False),
        ("deletePixKey", "pixconf-0", "", "", False),
        ("listPixKeys", "pixconf-0", "", "", False),
        ("listPixKeys", ACCOUNT, "", "listPixKeys", False),
    ],
)
def test_only_a_key_of_the_run_is_cleaned_up(operation, account, key, part, cleans_up, service, tmp_path):
    """Generated requests and those for accounts that nobody has do not take what is kept for that."""
    a_run = Run(service, tmp_path, requests=20, is_sandbox=True)
    a_run.client.send("registerPixKey", ACCOUNT, json={"pixKey": EMAIL, "pixKeyType": "EMAIL"}, valid=True)
    for _ in range(20):
        read(a_run)
    answer = a_run.client.of_part(part).send(operation, account, json={"pixKey": key})

    assert bool(answer.number) is cleans_up


def test_who_waits_does_not_wait_longer_than_limits_duration():
    """For a pause or the rate, and for an answer a second longer."""
    clock = Clock()
    ending = Ending(10.0, clock=clock)
    clock.now = 10.0
    ending.sleep(3600.0)

    assert ending.longest_answer_s == 1.0
