"""A run that ends while requests are on their way: it winds down, or it is stopped; no thread waits, and nothing is lost."""

import math
import threading
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace

import pytest

from environments.door.budget import CUT, STOPPED, Ending
from environments.door.preparing import prepare
from environments.door.run_keys import Keys, KeyState
from environments.profiles.loading import load
from environments.sandbox import Response, Service
from spec.exchange import FailureKind
from spec.requirements import requirements
from spec.rules import Reproduction
from tests.selftest.proof.trial import try_service
from tests.selftest.services.one_run import CODE, Run, journal_in
from tests.selftest.services.racing import HANGS_S
from tests.selftest.services.running import run, write_profile
from tests.selftest.services.serving import Raw, as_bytes
from tests.selftest.services.waiting import comes
from tests.traffic.registration import register
from tests.traffic.scenario import Reach, Traffic, reach_of
from tests.traffic.stateful import World

OURS = ("pix-lane", "pix-interruption", "watchdog")


class Silent(Raw):
    """Does what it is asked to, and never says so; each request that comes in releases `came`. What `answers` permits
    gets an answer."""

    def __init__(self, answers=lambda request: False):
        super().__init__()
        self.came, self.answers = threading.Semaphore(0), answers

    def answer(self, connection, request):
        response = as_bytes(self.service.respond(request))
        self.came.release()
        if self.answers(request):
            connection.sendall(response)
        else:
            self._stopped.wait()


class Thread(threading.Thread):
    """Keeps what was given or raised."""

    def __init__(self, act):
        super().__init__(daemon=True)
        self._act, self.result = act, None
        self.start()

    def run(self):
        try:
            self.result = self._act()
        except BaseException as error:
            self.result = error

    def ended(self):
        self.join(HANGS_S)
        assert not self.is_alive(), "it hangs"
        return self.result


def sent(service, a_run, *acts):
    """Threads whose requests have come in."""
    threads = [Thread(act) for act in acts]
    for _ in acts:
        assert service.came.acquire(timeout=HANGS_S)
    return threads


# -- a run that is stopped ---------------------------------------------------------------------------------------


def test_what_is_on_the_wire_is_cut(tmp_path):
    """In every thread; each request is recorded, and none says anything of the service."""
    with Silent() as service:
        a_run = Run(service, tmp_path, parallel=6)
        threads = sent(service, a_run, *[lambda: a_run.client.send("listAccounts", valid=True)] * 6)
        a_run.door.ending.stop()
        found = [thread.ended() for thread in threads]

    assert sorted(seen.number for seen in found) == [1, 2, 3, 4, 5, 6]
    assert {(seen.failure.kind, seen.failure.message) for seen in found} == {(FailureKind.LIMIT, CUT.format(STOPPED))}
    assert len(service.seen) == len(a_run.door.exchanges) == 6
    assert a_run.door.liveness.unreachable == ""


def test_nothing_is_sent_after_that(service, a_run):
    """By no thread, and a code is not claimed."""
    a_run.door.ending.stop()
    found = [a_run.client.send("listAccounts", valid=True), a_run.execute(CODE), a_run.client.send("listPixKeys", "1")]

    assert [(seen.number, seen.failure.message) for seen in found] == [(0, STOPPED)] * 3
    assert service.seen == []
    assert a_run.door.guard.open([CODE]) == [CODE]


def test_an_execution_that_is_cut_is_an_unknown_outcome(tmp_path):
    """The journal says so, and it is not sent again."""
    with Silent() as service:
        a_run = Run(service, tmp_path, parallel=4)
        (thread,) = sent(service, a_run, a_run.execute)
        a_run.door.ending.stop()
        found = thread.ended()
        later = Run(service, tmp_path, name="two")

        assert a_run.events == ["sent", "unknown"]
        assert a_run.door.guard.unknown == [found.number]
        assert later.door.guard.open([CODE]) == []


EMAIL_KEY = "qa@pix-conformance.example"


@pytest.mark.parametrize(
    ("body", "valid", "key_type"),
    [
        ({"pixKey": EMAIL_KEY, "pixKeyType": "EMAIL"}, True, "EMAIL"),
        ({"pixKey": EMAIL_KEY, "pixKeyType": "IBAN"}, False, "EMAIL"),
        ({"pixKey": "", "pixKeyType": "RANDOM"}, True, "RANDOM"),
    ],
)
def test_a_registration_that_is_cut_may_have_been_granted(body, valid, key_type, tmp_path):
    """Also one that must be refused, of a key of the profile: it is listed among what the run leaves behind."""
    with Silent() as service:
        profile = load(str(write_profile(tmp_path, service.base_url)), folder=tmp_path)
        a_run = Run(service, tmp_path, parallel=4)
        a_run.door.keys = Keys(profile.pix_keys)
        (thread,) = sent(service, a_run, lambda: a_run.client.send("registerPixKey", "ac-0001", json=body, valid=valid))
        a_run.door.ending.stop()
        thread.ended()

    assert [(left.type, left.state) for left in a_run.door.keys.not_cleaned_up()] == [(key_type, KeyState.MAYBE)]


def test_a_transfer_whose_preparation_is_cut_is_listed(tmp_path):
    """It may wait for its execution."""
    plan = {"operation": "createPix", "json": {"account": "ac-0001"}, "code_at": "/data/transactionId", "count": 2}
    with Silent() as service:
        path = write_profile(tmp_path, service.base_url, transactions={"prepare": plan})
        profile = load(str(path), folder=tmp_path)
        a_run = Run(service, tmp_path, parallel=4)
        (thread,) = sent(service, a_run, lambda: prepare(a_run.client, profile, 2))
        a_run.door.ending.stop()
        thread.ended()

    assert len(service.seen) == 1
    assert list(a_run.door.guard.prepared.not_executed(a_run.door.exchanges)) == [
        f"a transfer that createPix may have prepared (exchange 1): {CUT.format(STOPPED)}"
    ]


@contextmanager
def full(a_run):
    with a_run.door.backoff.place(SimpleNamespace(beside=0, window=0)):
        yield


@contextmanager
def others_turn(a_run):
    with journal_in(a_run.journal.parent).turn():
        yield


@contextmanager
def paused(a_run):
    a_run.door.backoff._pause(299.0)
    yield


@contextmanager
def slow(a_run):
    a_run.door.budget.limits = replace(a_run.door.budget.limits, rate=0.0001)
    a_run.door.budget.wait_for_turn(None)
    yield


def execution(a_run):
    return a_run.execute()


def read(a_run):
    return a_run.client.send("listAccounts", valid=True)


WAITS = [
    (full, read),
    (full, execution),
    (others_turn, execution),
    (paused, read),
    (paused, execution),
    (slow, read),
    (slow, execution),
]


@pytest.mark.parametrize(("held", "act"), WAITS)
def test_who_waits_wakes_up(held, act, service, tmp_path, monkeypatch):
    """For a place on the wire, for the turn of the journal, a pause, the rate. Nothing is sent, and a code can be sent
    later."""
    a_run = Run(service, tmp_path)
    waits = threading.Event()
    with held(a_run):
        tell_who_waits(a_run.door, waits, monkeypatch)
        thread = Thread(lambda: act(a_run))
        assert comes(waits)
        a_run.door.ending.stop()
        found = thread.ended()

    assert (found.number, found.failure.message) == (0, STOPPED)
    assert service.seen == []
    assert Run(service, tmp_path, name="two").door.guard.open([CODE]) == [CODE]


def tell_who_waits(door, waits, monkeypatch):
    """Set the event when a thread is about to wait for something."""
    for name in ("sleep", "holding", "wait_for"):
        monkeypatch.setattr(door.ending, name, telling(getattr(door.ending, name), waits))


def telling(act, waits):
    def told(*arguments):
        waits.set()
        return act(*arguments)

    return told


def test_a_request_that_is_about_to_leave_does_not(tmp_path, monkeypatch):
    """The run is stopped when all was asked and nothing was sent: what was claimed stays unknown, to be safe."""
    with Silent() as service:
        a_run = Run(service, tmp_path)
        attempt = a_run.door.wire.attempt

        def stopped_first(sending):
            a_run.door.ending.stop()
            return attempt(sending)

        monkeypatch.setattr(a_run.door.wire, "attempt", stopped_first)
        found = a_run.execute()

    assert (found.failure.message, service.seen) == (CUT.format(STOPPED), [])
    assert a_run.events == ["sent", "unknown"]


# -- a run that winds down ---------------------------------------------------------------------------------------


OVER = "limits.duration (inf s) is over"


def wind_down(a_run):
    """All that is left of limits.duration is the reserve for cleaning up."""
    a_run.door.ending._reserve_s = math.inf


class HoldsARegistration(Raw):
    """Grants registrations; the answer to one of them waits until the test goes on."""

    def __init__(self, number):
        super().__init__()
        self.number, self.granted = number, 0
        self.registered, self.go_on = threading.Event(), threading.Event()

    def answer(self, connection, request):
        response = self.service.respond(request)
        if request.method == "POST" and response.status == 200 and "/keys/" in request.path:
            self.granted += 1
            if self.granted == self.number:
                self.registered.set()
                self.go_on.wait(HANGS_S)
        connection.sendall(as_bytes(response))


def keys_at(service):
    with service.service.database.transaction() as ledger:
        return {key.key for key in ledger.keys("ac-0001")}


@pytest.mark.parametrize("number", range(1, 9))
def test_keys_are_cleaned_up_and_none_is_registered(number, tmp_path):
    """Wherever the registrations are when the time is over."""
    with HoldsARegistration(number) as service:
        before = keys_at(service)
        profile = load(str(write_profile(tmp_path, service.base_url)), folder=tmp_path)
        a_run = Run(service, tmp_path, parallel=4, requests=1000)
        a_run.door.keys = Keys(profile.pix_keys, account="ac-0001", is_sandbox=True, key_at=profile.key_at)
        thread = Thread(lambda: register.send(Traffic(a_run.client, profile, reach_of(requirements(), profile))))
        assert comes(service.registered)
        registered = len(posts(service))
        wind_down(a_run)
        service.go_on.set()
        thread.ended()

        assert len(posts(service)) == registered
        assert keys_at(service) == before
        assert a_run.door.keys.not_cleaned_up() == []


PERMITTED = frozenset({"registerPixKey", "deletePixKey", "listPixKeys"})


def test_what_the_machine_registered_is_deleted(tmp_path):
    """Also where a later step of it was not begun any more."""
    with Raw() as service:
        before = keys_at(service)
        profile = load(str(write_profile(tmp_path, service.base_url)), folder=tmp_path)
        a_run = Run(service, tmp_path)
        reach = Reach(operations=PERMITTED)
        world = World(a_run.client, profile, reach, Reproduction())
        first, second = world.registrar.that_come_and_go()[:2]
        world.registrar.register(first)
        wind_down(a_run)
        world.registrar.register(second)
        registered = keys_at(service) - before
        world.undo()

    assert registered == {first.key}
    assert keys_at(service) == before


def test_an_answer_is_asked_nothing_more(tmp_path, monkeypatch):
    """A request that is put off is not sent again, and what cleans up does not wait for it."""
    with Silent(answers=lambda request: True) as service:
        a_run = Run(service, tmp_path)
        put_off = Response(429, b"{}", (("Retry-After", "30"),))
        monkeypatch.setattr(service.service, "respond", lambda request: wind_down(a_run) or put_off)
        found = a_run.client.send("listAccounts", valid=True)

    assert (found.response.status, len(service.seen)) == (429, 1)


def posts(service):
    return [seen for seen in service.seen if seen.method == "POST"]


def test_all_else_is_not_begun(service, a_run):
    """No execution, no preparation, no read; where nothing is to be cleaned up, no list and no deletion either."""
    wind_down(a_run)
    operations = ("listAccounts", "createPix", "registerPixKey", "executePix", "listPixKeys", "deletePixKey")
    found = {operation: a_run.client.send(operation, "pixconf-0", json={}) for operation in operations}
    refused = [operation for operation, seen in found.items() if not seen.number and seen.failure.message == OVER]

    assert (refused, service.seen) == (list(operations), [])


# -- what is left of it ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [("--parallel=1",), ("--parallel=8",)])
def test_no_thread_is_left(options):
    """Many sessions may run in one process."""
    before = set(threading.enumerate())
    try_service(Service(), *options)
    left = [thread.name for thread in set(threading.enumerate()) - before if thread.name in OURS]

    assert left == []


# -- limits.duration -------------------------------------------------------------------------------------------------


class Clock:
    """A clock that a test sets."""

    now = 0.0

    def __call__(self):
        return self.now


def test_after_limits_duration_nothing_is_sent_but_cleaning_up(service, tmp_path):
    """A tenth of it is kept for that; at its end nothing is sent at all."""
    profile = load(str(write_profile(tmp_path, service.base_url)), folder=tmp_path)
    a_run, clock = Run(service, tmp_path), Clock()
    a_run.door.keys = Keys(profile.pix_keys)
    a_run.door.ending.__init__(100.0, clock=clock)
    body = {"pixKey": "qa@example.com", "account": "ac-0001", "pixKeyType": "EMAIL"}
    key = {"pixKey": profile.pix_keys[0].key, "account": "ac-0001", "pixKeyType": profile.pix_keys[0].type}
    said = []
    for clock.now in (89.0, 91.0, 101.0):
        sent = (
            a_run.client.send("registerPixKey", "ac-0001", json=key if clock.now < 90 else body, valid=True),
            a_run.client.send("listPixKeys", "ac-0001", valid=True),
        )
        said.append([exchange.failure.message if exchange.failure else "" for exchange in sent])

    over = "limits.duration (100 s) is over"
    assert said == [["", ""], [over, ""], [over, over]]
    assert a_run.door.unsent == {over: {"registerPixKey", "listPixKeys"}}


def test_who_waits_does_not_wait_longer_than_limits_duration():
    """For a pause or the rate, and for an answer a second longer."""
    clock = Clock()
    ending = Ending(10.0, clock=clock)
    clock.now = 9.0
    ending.sleep(3600.0)

    assert ending.longest_answer_s == 2.0


def test_a_run_that_is_over_its_duration_is_incomplete(tmp_path):
    """It judges what it has, and names the limit."""
    with Silent() as service:
        result = run(write_profile(tmp_path, service.base_url, limits={"duration": 1, "timeout": 60}))

    assert (result.status, result.document["verdict"]) == (6, "incomplete"), result.output
    assert "limits.duration (1 s) is over" in result.output
    assert set(result.rows("not-exercised").values()) == {"limits.duration (1 s) is over"}


class ManyHeaders(Raw):
    """Answers every request with more headers than the suite reads."""

    def answer(self, connection, request):
        lines = "".join(f"X-{number}: 1\r\n" for number in range(120))
        connection.sendall(f"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n{lines}\r\n{{}}".encode())


def test_a_limit_of_the_suite_is_an_answer(tmp_path):
    """A target that answers with more than the suite reads is there, however often it does."""
    with ManyHeaders() as service:
        a_run = Run(service, tmp_path)
        found = [a_run.client.send("listAccounts", valid=True) for _ in range(12)]

    assert {exchange.failure.kind for exchange in found} == {FailureKind.LIMIT}
    assert (a_run.door.liveness.unreachable, len(service.seen)) == ("", 12)
