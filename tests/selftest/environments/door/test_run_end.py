"""The end of a run while requests are on the wire.

A run ends because a signal stops it, or because limits.duration is over. Its last minute is kept for cleaning up. No
thread keeps waiting, and the report and the journal know of every request that may have changed something.
"""

import threading
from collections import Counter
from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from environments.door.key_states import KeyState
from environments.door.outgoing import LimitError
from environments.door.run_end import STOPPED, RunEnd
from environments.profiles.loading import load
from environments.profiles.model import PixKey
from spec.exchange import FailureKind
from spec.message import say
from tests.selftest.services.one_run import CODE, HOW_TO_PREPARE, ManualRun, started_journal
from tests.selftest.services.running import write_profile
from tests.selftest.services.serving import SocketService
from tests.selftest.services.waiting import HANG_LIMIT_S, ThreadWithResult
from tests.traffic.money.preparing import prepare_executable_transfers

ACCOUNT, PROFILE_KEY = "ac-0001", "qa@pix-conformance.example"
DURATION_S = 1000.0
DURATION_IS_OVER = say("limits.{setting} ({limit} s) is over", setting="duration", limit="1000")


class Silent(SocketService):
    """Does what a request asks for and never answers. Each request that arrives releases the semaphore `has_arrived`."""

    def __init__(self):
        """A service at which no request has arrived."""
        super().__init__()
        self.has_arrived = threading.Semaphore(0)

    def answer(self, connection, request):
        """Do what the request asks for, and wait without an answer until the service is stopped."""
        self.sandbox.respond(request)
        self.has_arrived.release()
        self._stopped.wait()


class Clock:
    """A clock that a test sets: calling it gives the seconds `now`."""

    now = 0.0

    def __call__(self):
        """The seconds that the test has set."""
        return self.now


def send_a_read(manual_run):
    """Send GET /v1/accounts, which changes nothing."""
    return manual_run.client.send("listAccounts", valid=True)


# -- a run that is stopped ---------------------------------------------------------------------------------------


class StoppedRun:
    """A run that was stopped while four requests were on the wire, to a service that does them and never answers.

    They prepare a transfer, read the accounts, execute a transaction code, and register a key.
    """

    def __init__(self, service, folder):
        """Send the four requests in threads of their own, and stop the run when all of them have arrived."""
        how_to_prepare = {
            "operation": "createPix", "json": {"account": ACCOUNT}, "code_at": "/data/transactionId", "count": 2,
        }  # fmt: skip
        path = write_profile(folder, service.base_url, transactions={"prepare": how_to_prepare})
        profile = load(str(path), folder=folder)
        self.manual_run = manual_run = ManualRun(service, folder, parallel=6, pix_keys=profile.pix_keys)
        self.door = manual_run.door
        registration = {"pixKey": profile.pix_keys[0].key, "pixKeyType": profile.pix_keys[0].type}
        # The transfer is sent first, because it writes to the journal, and the execution holds the journal while it
        # waits.
        preparing = ThreadWithResult(lambda: prepare_executable_transfers(manual_run.client, profile, 2))
        assert service.has_arrived.acquire(timeout=HANG_LIMIT_S)
        reading = ThreadWithResult(lambda: send_a_read(manual_run))
        executing = ThreadWithResult(manual_run.execute)
        registering = ThreadWithResult(
            lambda: manual_run.client.send("registerPixKey", ACCOUNT, json=registration, valid=True)
        )
        for _ in (reading, executing, registering):
            assert service.has_arrived.acquire(timeout=HANG_LIMIT_S)
        manual_run.stop()
        self.execution = executing.result()
        for thread in (reading, registering, preparing):
            thread.result()


@pytest.fixture
def silent_service():
    """A service that does what a request asks for and never answers."""
    with Silent() as service:
        yield service


@pytest.fixture
def stopped_run(silent_service, tmp_path):
    """A run that was stopped while four requests were on the wire, one of them an execution of the code CODE."""
    return StoppedRun(silent_service, tmp_path)


def test_a_stopped_run_cuts_the_requests_on_the_wire(stopped_run, silent_service):
    """Four requests wait for an answer when the run is stopped. Each of them ends at once, and is recorded as cut.

    No other request is sent, and the service does not count as unreachable.
    """
    exchanges = stopped_run.manual_run.exchanges
    failures = {(exchange.failure.kind, exchange.failure.message) for exchange in exchanges}

    assert failures == {(FailureKind.LIMIT, "the run was stopped, and no answer came in time")}
    assert len(silent_service.received) == len(exchanges) == 4
    assert stopped_run.manual_run.why_unreachable == ""


def test_an_execution_that_a_stopped_run_cut_is_not_sent_by_a_later_run(stopped_run, silent_service, tmp_path):
    """The run is stopped while an execution waits for its answer. Money may have moved, so its outcome is unknown.

    The journal (a file that later runs read) says so, and a later run may not send the transaction code.
    """
    later_run = ManualRun(silent_service, tmp_path, name="two")
    codes_that_a_later_run_may_send = later_run.codes_that_may_be_sent([CODE])

    assert stopped_run.manual_run.outcomes_in_journal == ["sent", "unknown"]
    assert stopped_run.manual_run.executions_of_unknown_outcome == [stopped_run.execution.number]
    assert codes_that_a_later_run_may_send == []


def test_what_a_stopped_run_may_have_changed_is_reported(stopped_run):
    """The run is stopped while a registration and the preparation of a transfer wait for their answers.

    The report lists the key as perhaps registered, and the transfer as prepared and not executed.
    """
    states_of_keys = [key.state for key in stopped_run.door.keys.not_cleaned_up()]
    prepared_transfers = stopped_run.door.guard.prepared.outcomes_of_preparations(stopped_run.manual_run.exchanges)

    assert states_of_keys == [KeyState.MAYBE]
    assert [exchange.operation for exchange, _ in prepared_transfers] == ["createPix"]


def test_nothing_is_sent_after_a_run_was_stopped(service, manual_run):
    """A read, an execution and a list of keys are not sent. They have the number 0, and say that the run was
    stopped."""
    manual_run.stop()
    unsent = [send_a_read(manual_run), manual_run.execute(CODE), manual_run.client.send("listPixKeys", "1")]

    assert [(exchange.number, exchange.failure.message) for exchange in unsent] == [(0, STOPPED)] * 3
    assert service.received == []


def test_a_stopped_run_does_not_even_clean_up(manual_run):
    """After a run was stopped, even a request that would delete a key of the run (`cleans_up`) is refused."""
    manual_run.stop()

    with pytest.raises(LimitError, match=STOPPED):
        manual_run.door.run_end.refuse_if_over(SimpleNamespace(cleans_up=True))


def test_a_later_run_may_send_a_code_that_a_stopped_run_did_not_send(manual_run):
    """The execution comes after the run was stopped, so it is not sent. A later run may send its code, because the
    journal (the file of the codes that were sent) does not have it.
    """
    manual_run.stop()
    manual_run.execute(CODE)

    assert manual_run.codes_that_may_be_sent([CODE]) == [CODE]


# Each of these functions returns a context. Inside its `with` block the next execution of the run has to wait.


def too_many_requests_are_on_the_wire(manual_run):
    """A context in which another request is on the wire that permits no request beside it."""
    return manual_run.door.backoff.on_the_wire(SimpleNamespace(beside=0, most_at_once=0, goes_first=False))


def another_run_holds_the_journal(manual_run):
    """A context in which another run has the lock of the journal, the file that each execution is written to."""
    return started_journal(manual_run.journal.parent).locked()


def a_request_has_just_been_sent(manual_run):
    """A context in which one request was just sent. The next one waits, because of `limits.rate` (requests a second)."""
    manual_run.door.budget.wait_for_rate_limit()
    return nullcontext()


@pytest.mark.parametrize(
    ("reason_to_wait", "method_that_waits"),
    [
        (too_many_requests_are_on_the_wire, "wait_for"),
        (another_run_holds_the_journal, "holding_file_lock"),
        (a_request_has_just_been_sent, "sleep"),
    ],
    ids=["for other requests to be answered", "for another run to release the journal", "for limits.rate"],
)
def test_a_request_that_waits_is_not_sent_if_the_run_is_stopped(
    reason_to_wait, method_that_waits, service, tmp_path, monkeypatch
):
    """An execution is not sent so far, because it waits. When the run is stopped, it stops waiting and is never sent.

    It does not count as an execution, and a later run may send its code. The test knows that the execution waits as
    soon as a method of the end of the run is called (`method_that_waits`).
    """
    one_request_in_10_000_seconds = 1 / 10_000
    manual_run = ManualRun(service, tmp_path, rate=one_request_in_10_000_seconds)
    executions_left_before = manual_run.door.budget.executions_left
    run_end, is_waiting = manual_run.door.run_end, threading.Event()
    wait = getattr(run_end, method_that_waits)

    def wait_and_say_so(*arguments):
        """Set the event `is_waiting`, and wait."""
        is_waiting.set()
        return wait(*arguments)

    with reason_to_wait(manual_run):
        monkeypatch.setattr(run_end, method_that_waits, wait_and_say_so)
        thread = ThreadWithResult(manual_run.execute)
        assert is_waiting.wait(HANG_LIMIT_S)
        run_end.stop()
        unsent = thread.result()
    later_run = ManualRun(service, tmp_path, name="two")
    codes_that_a_later_run_may_send = later_run.codes_that_may_be_sent([CODE])

    assert unsent.number == 0
    assert unsent.failure.message == STOPPED
    assert service.received == []
    assert manual_run.door.budget.executions_left == executions_left_before
    assert manual_run.executions_of_unknown_outcome == []
    assert codes_that_a_later_run_may_send == [CODE]


# -- a run whose time is over ------------------------------------------------------------------------------------

ALL_SIX = ("listPixKeys", "deletePixKey", "listAccounts", "createPix", "registerPixKey", "executePix")
ONLY_LIST_AND_DELETION = ("listPixKeys", "deletePixKey")


@pytest.mark.parametrize(
    ("seconds", "has_registered_a_key", "operations_sent"),
    [(939, True, ALL_SIX), (941, True, ONLY_LIST_AND_DELETION), (941, False, ()), (1001, True, ())],
    ids=[
        "before the last minute",
        "in the last minute",
        "in the last minute of a run that registered no key",
        "afterwards",
    ],
)
def test_in_the_last_minute_only_requests_that_clean_up_are_sent(
    seconds, has_registered_a_key, operations_sent, service, tmp_path
):
    """limits.duration is 1000 seconds. After these seconds the run sends a request to each of six operations.

    In the last minute only a list and a deletion are sent, because they clean up the key that the run registered. A
    note names the operations that were left out.
    """
    path_parameters = {
        "listPixKeys": ACCOUNT, "deletePixKey": ACCOUNT, "registerPixKey": ACCOUNT,
        "executePix": "pixconf-0", "listAccounts": None, "createPix": None,
    }  # fmt: skip
    body = {"pixKey": PROFILE_KEY, "pixKeyType": "EMAIL"}
    clock = Clock()
    pix_keys = [PixKey(type="EMAIL", key=PROFILE_KEY)]
    manual_run = ManualRun(service, tmp_path, is_sandbox=True, duration=DURATION_S, clock=clock, pix_keys=pix_keys)
    if has_registered_a_key:
        manual_run.client.send("registerPixKey", ACCOUNT, json=body, valid=True)
    service.received.clear()
    clock.now = seconds
    for operation in ALL_SIX:
        manual_run.client.send(operation, path_parameters[operation], json=body)
    operations_left_out = set(ALL_SIX) - set(operations_sent)
    expected_notes = {}
    if operations_left_out:
        expected_notes = {DURATION_IS_OVER: operations_left_out}

    assert len(service.received) == len(operations_sent)
    assert manual_run.operations_left_out == expected_notes


def test_a_part_of_limits_requests_is_kept_for_cleaning_up(service, tmp_path):
    """limits.requests is 40, and a twentieth of it (2) is reserved for requests that delete keys of the run.

    So 38 requests are sent: one that prepares a transfer, because limits.transfers is 1, and 37 reads. The 39
    preparations that are not sent do not count. A request that cleans up is permitted afterwards.
    """
    manual_run = ManualRun(service, tmp_path, requests=40, transfers=1)
    for _ in range(40):
        manual_run.client.send("createPix", json=HOW_TO_PREPARE["json"])
    for _ in range(40):
        send_a_read(manual_run)
    manual_run.door.budget.count_request(SimpleNamespace(cleans_up=True))  # raises an error if it is not permitted
    requests_by_path = Counter(request.path for request in service.received)

    assert requests_by_path == {"/v1/pix": 1, "/v1/accounts": 37}


@pytest.fixture
def run_that_may_only_clean_up(service, tmp_path):
    """A run that registered PROFILE_KEY at ACCOUNT and has spent limits.requests, but for the part that is kept for
    cleaning up.
    """
    manual_run = ManualRun(service, tmp_path, requests=20, is_sandbox=True)
    registration = {"pixKey": PROFILE_KEY, "pixKeyType": "EMAIL"}
    manual_run.client.send("registerPixKey", ACCOUNT, json=registration, valid=True)
    for _ in range(20):
        send_a_read(manual_run)
    return manual_run


@pytest.mark.parametrize(
    ("operation", "body"),
    [("deletePixKey", {"pixKey": PROFILE_KEY}), ("listPixKeys", None)],
    ids=["the deletion of the key", "the list of its account"],
)
def test_requests_that_clean_up_a_key_of_the_run_are_sent_at_the_end(operation, body, run_that_may_only_clean_up):
    """limits.requests is spent, except for the requests that are kept for cleaning up. The run registered one key."""
    exchange = run_that_may_only_clean_up.client.send(operation, ACCOUNT, json=body)
    was_sent = exchange.number > 0  # a request that is not sent has the number 0

    assert was_sent


@pytest.mark.parametrize(
    ("operation", "account", "key"),
    [
        ("deletePixKey", ACCOUNT, "pixconf-1@example.com"),
        ("deletePixKey", "pixconf-0", ""),
        ("listPixKeys", "pixconf-0", ""),
    ],
    ids=["the deletion of another key", "a deletion at a made-up account", "the list of a made-up account"],
)
def test_other_requests_for_keys_are_not_sent_at_the_end(operation, account, key, run_that_may_only_clean_up):
    """limits.requests is spent, except for the requests that are kept for cleaning up.

    These requests do not delete the key that the run registered, and do not list its account.
    """
    exchange = run_that_may_only_clean_up.client.send(operation, account, json={"pixKey": key})
    was_sent = exchange.number > 0  # a request that is not sent has the number 0

    assert not was_sent


@pytest.mark.parametrize(
    ("operation", "key"), [("deletePixKey", PROFILE_KEY), ("listPixKeys", "")], ids=["a deletion of the key", "a list"]
)
def test_generated_requests_are_not_sent_at_the_end(operation, key, run_that_may_only_clean_up):
    """A generated request is drawn at random, for a property test. It tests the service and does not clean up.

    So it is not sent, even if it names the key that the run registered.
    """
    client_of_property_tests = run_that_may_only_clean_up.client.of_generator(operation)
    exchange = client_of_property_tests.send(operation, ACCOUNT, json={"pixKey": key})
    was_sent = exchange.number > 0  # a request that is not sent has the number 0

    assert not was_sent


def test_no_wait_is_longer_than_limits_duration():
    """limits.duration is 10 seconds, and they are over. A sleep of an hour ends at once.

    The run waits for an answer for one second at most (`longest_answer_s`).
    """
    clock = Clock()
    run_end = RunEnd(10.0, clock=clock)
    clock.now = 10.0
    run_end.sleep(3600.0)  # if this waited, the test would take an hour

    assert run_end.longest_answer_s == 1.0
