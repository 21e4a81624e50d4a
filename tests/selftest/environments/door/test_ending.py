"""The end of a run while requests are on the wire.

A run ends because a signal stops it, or because limits.duration is over. Its last minute is kept for cleaning up. No
thread keeps waiting, and the report and the journal know of every request that may have changed something.
"""

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
from tests.selftest.services.one_run import CODE, HOW_TO_PREPARE, ManualRun, started_journal
from tests.selftest.services.running import write_profile
from tests.selftest.services.serving import SocketService
from tests.selftest.services.waiting import HANG_LIMIT_S, ThreadWithResult
from tests.traffic.money.preparing import prepare_executable_transfers

ACCOUNT, EMAIL = "ac-0001", "qa@pix-conformance.example"
DURATION_S = 1000.0
OVER = say("limits.{setting} ({limit} s) is over", setting="duration", limit="1000")


class Silent(SocketService):
    """Does what a request asks for and never answers. Each request that arrives releases the semaphore `came`."""

    def __init__(self):
        super().__init__()
        self.came = threading.Semaphore(0)

    def answer(self, connection, request):
        self.sandbox.respond(request)
        self.came.release()
        self._stopped.wait()


class Clock:
    """A clock that a test sets."""

    now = 0.0

    def __call__(self):
        return self.now


def read(manual_run):
    """Send a read, which moves nothing."""
    return manual_run.client.send("listAccounts", valid=True)


# -- a run that is stopped ---------------------------------------------------------------------------------------


def test_a_stopped_run_cuts_the_requests_on_the_wire(tmp_path):
    """The service does what it is asked and never answers. Four requests are on the wire when the run is stopped.

    Each is recorded as cut, and the service does not count as unreachable. The outcome of the execution is unknown, and a
    later run does not send its code again. The report lists the key as perhaps registered, and the transfer as perhaps
    prepared.
    """
    plan = {"operation": "createPix", "json": {"account": ACCOUNT}, "code_at": "/data/transactionId", "count": 2}
    with Silent() as service:
        path = write_profile(tmp_path, service.base_url, transactions={"prepare": plan})
        profile = load(str(path), folder=tmp_path)
        manual_run = ManualRun(service, tmp_path, parallel=6)
        manual_run.door.keys = Keys(profile.pix_keys)
        key = {"pixKey": profile.pix_keys[0].key, "pixKeyType": profile.pix_keys[0].type}
        preparing = ThreadWithResult(lambda: prepare_executable_transfers(manual_run.client, profile, 2))
        # The transfer is sent first, because it writes to the journal, and the execution holds the journal while it waits.
        assert service.came.acquire(timeout=HANG_LIMIT_S)
        acts = (
            lambda: read(manual_run),
            manual_run.execute,
            lambda: manual_run.client.send("registerPixKey", ACCOUNT, json=key, valid=True),
        )
        threads = [*(ThreadWithResult(act) for act in acts), preparing]
        assert all(service.came.acquire(timeout=HANG_LIMIT_S) for _ in acts)
        manual_run.door.ending.stop()
        executed = [thread.result() for thread in threads][1]
        later = ManualRun(service, tmp_path, name="two").door.guard

        cut, exchanges = CUT.format(STOPPED), manual_run.door.exchanges
        assert {(exchange.failure.kind, exchange.failure.message) for exchange in exchanges} == {
            (FailureKind.LIMIT, cut)
        }
        assert len(service.received) == len(exchanges) == 4
        assert manual_run.door.liveness.unreachable == ""
        assert (manual_run.outcomes_in_journal, manual_run.door.guard.unknown) == (
            ["sent", "unknown"],
            [executed.number],
        )
        assert later.open_journal([CODE]) == []
        assert [key.state for key in manual_run.door.keys.not_cleaned_up()] == [KeyState.MAYBE]
        [(listed, _)] = manual_run.door.guard.prepared.not_executed(exchanges)
        assert listed.operation == "createPix"


def test_nothing_is_sent_after_a_run_was_stopped(service, manual_run):
    """A read, an execution and a request that would clean up are not sent. Their exchanges have the number 0.

    The journal does not mention the code, so a later run may send it.
    """
    manual_run.door.ending.stop()
    with pytest.raises(LimitError, match=STOPPED):
        manual_run.door.ending.refuse_if_over(SimpleNamespace(cleans_up=True))
    unsent = [read(manual_run), manual_run.execute(CODE), manual_run.client.send("listPixKeys", "1")]

    assert [(exchange.number, exchange.failure.message) for exchange in unsent] == [(0, STOPPED)] * 3
    assert service.received == []
    assert manual_run.door.guard.open_journal([CODE]) == [CODE]


# by the method in which a request waits, what has to be in use so that it waits there
WAITS = {
    "wait_for": lambda manual_run: manual_run.door.backoff.on_the_wire(SimpleNamespace(beside=0, most_at_once=0)),
    "holding_file_lock": lambda manual_run: started_journal(manual_run.journal.parent).locked(),
    "sleep": lambda manual_run: nullcontext(manual_run.door.budget.wait_for_rate_limit()),
}


@pytest.mark.parametrize("waits_in", WAITS)
def test_a_waiting_request_wakes_up_when_the_run_is_stopped(waits_in, service, tmp_path, monkeypatch):
    """An execution waits until fewer requests are on the wire, until the journal is free, or because of limits.rate.

    When the run is stopped, it stops waiting and is not sent. It does not count as an execution, and a later run can send
    the code.
    """
    manual_run = ManualRun(service, tmp_path, rate=0.0001)
    is_waiting = threading.Event()
    ending = manual_run.door.ending
    with WAITS[waits_in](manual_run):
        wait = getattr(ending, waits_in)
        monkeypatch.setattr(ending, waits_in, lambda *arguments: (is_waiting.set(), wait(*arguments))[1])
        thread = ThreadWithResult(manual_run.execute)
        assert is_waiting.wait(HANG_LIMIT_S)
        ending.stop()
        exchange = thread.result()

    assert (exchange.number, exchange.failure.message) == (0, STOPPED)
    assert service.received == []
    assert (manual_run.door.budget.executions_left, manual_run.door.guard.unknown) == (5, [])
    assert ManualRun(service, tmp_path, name="two").door.guard.open_journal([CODE]) == [CODE]


# -- a run whose time is over ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("now", "has_key", "number_sent"), [(939, True, 6), (941, True, 2), (941, False, 0), (1001, True, 0)]
)
def test_in_the_last_minute_only_requests_that_clean_up_are_sent(now, has_key, number_sent, service, tmp_path):
    """limits.duration is 1000 seconds. Before its last minute all six requests are sent.

    In its last minute only the first two are sent, which list and delete keys, and only if the run registered a key.
    After it nothing is sent. A note names the operations that were left out.
    """
    profile = load(str(write_profile(tmp_path, service.base_url)), folder=tmp_path)
    manual_run = ManualRun(service, tmp_path, is_sandbox=True)
    clock, manual_run.door.keys = Clock(), Keys(profile.pix_keys)
    manual_run.door.ending.__init__(DURATION_S, clock=clock)
    body = {"pixKey": profile.pix_keys[0].key, "pixKeyType": profile.pix_keys[0].type}
    if has_key:
        manual_run.client.send("registerPixKey", ACCOUNT, json=body, valid=True)
    service.received.clear()
    clock.now = now
    operations = ("listPixKeys", "deletePixKey", "listAccounts", "createPix", "registerPixKey", "executePix")
    for operation in operations:
        manual_run.client.send(operation, ACCOUNT if operation == "listPixKeys" else "pixconf-0", json=body)

    operations_left_out = set(operations[number_sent:])
    assert len(service.received) == number_sent
    assert manual_run.door.unsent == ({OVER: operations_left_out} if operations_left_out else {})


def test_a_part_of_limits_requests_is_kept_for_cleaning_up(service, tmp_path):
    """Of 40 requests, one of twenty is kept for cleaning up: two. So 38 are sent, and one that cleans up may follow.

    Of 40 transfers limits.transfers permits one. The others are not sent, and do not count against limits.requests.
    """
    manual_run = ManualRun(service, tmp_path, requests=40, transfers=1)
    for _ in range(40):
        manual_run.client.send("createPix", json=HOW_TO_PREPARE["json"])  # one is sent
    for _ in range(40):
        read(manual_run)
    manual_run.door.budget.count_request(SimpleNamespace(cleans_up=True))

    assert Counter(request.path for request in service.received) == {"/v1/pix": 1, "/v1/accounts": 37}


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
def test_only_requests_that_clean_up_a_key_of_the_run_are_sent_at_the_end(
    operation, account, key, part, cleans_up, service, tmp_path
):
    """limits.requests is spent, except for the requests that are kept for cleaning up. The run registered one key.

    Its deletion, and a list of its account, are sent. A generated request (`part` is the generated traffic that it
    belongs to), another key, and an account that the suite made up are not.
    """
    manual_run = ManualRun(service, tmp_path, requests=20, is_sandbox=True)
    manual_run.client.send("registerPixKey", ACCOUNT, json={"pixKey": EMAIL, "pixKeyType": "EMAIL"}, valid=True)
    for _ in range(20):
        read(manual_run)
    answer = manual_run.client.of_part(part).send(operation, account, json={"pixKey": key})

    assert bool(answer.number) is cleans_up


def test_no_wait_is_longer_than_limits_duration():
    """When limits.duration is over, a sleep of an hour ends at once, and an answer is waited for one second."""
    clock = Clock()
    ending = Ending(10.0, clock=clock)
    clock.now = 10.0
    ending.sleep(3600.0)

    assert ending.longest_answer_s == 1.0
