"""When a request is sent again, and how long that waits."""

import pytest
import requests

from environments.door.congestion import Congestion
from environments.door.outgoing import Intent, Sending
from environments.door.retry_policy import RetryPolicy, retry_after
from spec.exchange import FailureKind, Response
from tests.selftest.exchanges import answer, failed
from tests.selftest.services.racing import Meeting, with_and_without_a_lock

NOON = "Sat, 01 Jan 2000 12:00:00 GMT"
A_MINUTE_LATER = "Sat, 01 Jan 2000 12:01:00 GMT"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        pytest.param((("Retry-After", "7"),), 7.0, id="seconds"),
        pytest.param((("Retry-After", A_MINUTE_LATER), ("Date", NOON)), 60.0, id="a date"),
        pytest.param((("Retry-After", NOON), ("Date", A_MINUTE_LATER)), 0.0, id="a date that is past"),
        pytest.param((("Retry-After", NOON), ("Date", "soon")), 0.0, id="a date beside a broken one"),
        pytest.param((("Retry-After", NOON.replace("GMT", "-0000")), ("Date", NOON)), 0.0, id="a date without a zone"),
        pytest.param((("Retry-After", "soon"),), None, id="no time"),
        pytest.param((), None, id="nothing"),
    ],
)
def test_a_time_to_come_again_is_read_by_the_clock_of_the_service(headers, seconds):
    """Seconds, or a date that counts from the header Date: the clocks of two machines differ."""
    assert retry_after(Response(429, headers, b"")) == seconds


@pytest.mark.parametrize(
    ("valid", "sent"),
    [pytest.param(True, [5, 5, 5, 1, 0, 1, 5], id="valid"), pytest.param(False, [1, 1, 1, 0, 0, 0, 0], id="invalid")],
)
def test_what_a_gateway_refuses_in_vain_is_waited_for_less(valid, sent):
    """Three times, until waiting helps: it may give up on every invalid request, or be down for the whole run."""
    policy = RetryPolicy(Congestion(clock=lambda: 0.0, sleep=lambda seconds: None))

    def times_sent_again(first, then):
        times = []

        def attempt(sending):
            times.append(then)
            sending.exchange = answer("listAccounts", b"", status=then, valid=valid)

        sending = Sending(requests.Request("GET", "http://127.0.0.1:1/v1/accounts"), Intent("listAccounts"), attempt)
        sending.exchange = answer("listAccounts", b"", status=first, valid=valid)
        policy.repeat(sending)
        return len(times)

    answers = [(503, 503), (503, 502), (504, 503), (503, 503), (200, 200), (503, 200), (503, 503)]
    assert [times_sent_again(*each) for each in answers] == sent


def test_a_run_waits_before_it_claims_a_code_again():
    """A run that is stopped while it waits has claimed nothing: what is sent again, and an execution after a 429."""
    done = []
    policy = RetryPolicy(Congestion(clock=lambda: 0.0, sleep=lambda seconds: done.append(round(seconds, 3))))
    request = requests.Request("GET", "http://127.0.0.1:1/v1/execute/pix/TX-1").prepare()
    execution = Sending(request, Intent("executePix", valid=True), lambda _: done.append("sent"), "TX-1", True)
    execution.exchange = limited("7")
    policy.repeat(execution)
    policy.slow_executions(execution)
    execution.exchange = failed(FailureKind.NO_CONNECTION, "executePix")
    policy.repeat(execution)

    assert done == [7.0, 0.3, "sent", 0.3, "sent"]


@pytest.mark.parametrize(
    ("operation", "asked", "waits"),
    [("registerPixKey", "60", [60.0]), ("registerPixKey", "3600", []), ("executePix", "3600", [60.0])],
)
def test_an_execution_waits_for_no_part_of_a_time_that_another_operation_asks_for(operation, asked, waits):
    """A service may limit registrations by the day: a minute before each execution would be lost."""
    done = []
    policy = RetryPolicy(Congestion(clock=lambda: 0.0, sleep=done.append))
    policy.plan_wait(answer(operation, b"", status=429, headers=(("Retry-After", asked),)), 7, repeatable=False)
    request = requests.Request("GET", "http://127.0.0.1:1/v1/execute/pix/TX-1").prepare()
    policy.slow_executions(Sending(request, Intent("executePix", valid=True), lambda _: None, "TX-1", True))

    assert done == waits


@pytest.mark.parametrize(("operation", "executes"), [("executePix", True), ("transferInternal", False)])
def test_what_comes_after_an_unknown_outcome_waits_as_the_service_asks(operation, executes):
    """A gateway that names a time would refuse the next code, or the next transfer, too. Neither is sent again."""
    policy = RetryPolicy(Congestion(clock=lambda: 0.0, sleep=lambda seconds: None))
    refused = answer(operation, b"", status=503, headers=(("Retry-After", "7"),))

    assert policy.plan_wait(refused, 0, repeatable=False, executes=executes) is None
    assert policy.waited_s == 7.0
    assert policy.unsent == {}


def limited(seconds):
    return answer("executePix", b"", status=429, headers=(("Retry-After", seconds),))


def locked_out(operation):
    return answer(operation, b"", status=423)


@pytest.fixture
def meeting(monkeypatch):
    """Two threads meet in a critical section."""
    return Meeting(monkeypatch)


@with_and_without_a_lock
def test_the_longest_time_that_was_asked_for_is_kept(locked, meeting):
    """Without the lock the shorter one is, and the next execution comes too early."""
    policy = RetryPolicy()
    meeting.lock(policy, "_guard", locked=locked)
    meeting.stops_at(RetryPolicy, "_between_executions_s")
    meeting.of(
        lambda: policy.plan_wait(limited("3"), 0, repeatable=False),
        lambda: policy.plan_wait(limited("30"), 0, repeatable=False),
    )

    assert (policy._between_executions_s == 30) is locked


@with_and_without_a_lock
def test_a_lock_that_begins_while_another_proves_none_is_remembered(locked, meeting):
    """Without the lock it is forgotten, and wrong tokens are sent until the service lets nobody in."""
    policy = RetryPolicy()
    policy._learn(locked_out("getBalance"), locked_out("getBalance").response, waited=True)
    let_in = answer("getBalance", {"code": 0})
    meeting.lock(policy, "_guard", locked=locked)
    meeting.stops_at(RetryPolicy, "_plain_refusals")
    meeting.of(
        lambda: policy._learn(let_in, let_in.response, waited=False),
        lambda: policy.plan_wait(
            answer("listAccounts", b"", status=403, headers=(("Retry-After", "1"),)), 0, repeatable=True
        ),
    )

    assert policy._locks is locked
