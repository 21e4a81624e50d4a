"""A service that limits its callers gets fewer requests at once, and none while it asks to wait, from any thread of a run."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
import requests

from environments.door.backoff import IN_VAIN, TOO_LONG, TOO_OFTEN, Backoff, retry_after
from environments.door.budget import Budget
from environments.door.company import Company
from environments.door.in_flight import InFlight
from environments.door.outgoing import Again, Intent, Sending
from spec.answers import RefusalKind
from spec.exchange import FailureKind, Response
from tests.selftest.exchanges import answer, failed
from tests.selftest.services.racing import Meeting, with_and_without_a_lock
from tests.selftest.services.virtual_time import VirtualTime

NOON = "Sat, 01 Jan 2000 12:00:00 GMT"
A_MINUTE_LATER = "Sat, 01 Jan 2000 12:01:00 GMT"
LATER = (423, 429, 502, 503, 504)


@pytest.fixture
def meeting(monkeypatch):
    """Two threads meet in a critical section."""
    return Meeting(monkeypatch)


@pytest.fixture
def time():
    return VirtualTime()


@pytest.fixture
def backoff(time):
    return Backoff(InFlight(8), clock=time.clock, sleep=time.sleep)


def request_to(operation="listAccounts", *, code=None, **intent):
    """A request that was not sent yet."""
    prepared = requests.Request("GET", "http://127.0.0.1:1/v1/accounts").prepare()
    intent = Intent(operation, **{"valid": True, **intent})
    return Sending(prepared, intent, lambda sending: None, code, with_token=intent.credential == "valid")


def answered(backoff, sending, status, after=None, **seen):
    """What the policy decides of this answer, which is noticed."""
    headers = (("Retry-After", after),) if after is not None else ()
    intent = {"valid": sending.intent.valid, "credential": sending.intent.credential}
    backoff.wait_for_turn(sending)
    sending.exchange = replace(
        answer(sending.intent.operation, b"{}", status=status, headers=headers, **intent), **seen
    )
    backoff.notice(sending)
    return backoff.decide(sending)


def seconds_of(backoff, time, sending, *answers):
    """The seconds after which the request leaves again, for each of these answers; and None where it does not."""
    left = []
    for one in answers:
        before = time.now
        again = answered(backoff, sending, *one)
        backoff.wait_out_pause()
        left.append(time.now - before if again else None)
    return left


# -- how long ------------------------------------------------------------------------------------------------------


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


@pytest.mark.parametrize("status", LATER)
def test_a_request_goes_again_three_times(status, backoff, time):
    """After 1, 2 and 4 seconds; then its answer stands, and what to set is said."""
    assert seconds_of(backoff, time, request_to(), *[(status,)] * 4) == [1, 2, 4, None]
    assert backoff.unsent == {IN_VAIN: {"listAccounts"}}


@pytest.mark.parametrize("status", [*LATER, 403])
def test_a_request_goes_again_when_the_service_says(status, backoff, time):
    """A 403 that names a time is a lock."""
    assert seconds_of(backoff, time, request_to(), *[(status, "7")] * 4) == [7, 7, 7, None]


@pytest.mark.parametrize(("status", "after"), [(403, None), (401, "1"), (500, "1"), (409, None)])
def test_what_is_not_waited_for(status, after, backoff):
    """A refusal that does not say "later"."""
    assert answered(backoff, request_to(), status, after) is None
    assert backoff.waited_s == 0


def test_the_third_time_it_goes_alone(backoff):
    """Other requests of the run may be what is too many."""
    sending = request_to()

    assert [answered(backoff, sending, 429) for _ in range(3)] == [Again(), Again(), Again(alone=True)]


def test_what_is_put_off_to_the_end_is_not_waited_for_again_until_it_is_let_in(backoff, time):
    """An operation may be down for as long as the run lasts; others are not."""
    seconds_of(backoff, time, request_to(), *[(503,)] * 4)
    then = [
        seconds_of(backoff, time, request_to(operation), (status,))[0]
        for operation, status in (
            ("listAccounts", 503),
            ("getBalance", 503),
            ("listAccounts", 200),
            ("listAccounts", 503),
        )
    ]

    assert then == [None, 1, None, 1]


def test_a_gateway_that_refuses_an_invalid_request_is_asked_once_more_at_once(backoff, time):
    """It may refuse all of them so. No operation is said to be cut short for it."""
    invalid = request_to(valid=False)

    assert seconds_of(backoff, time, invalid, (503,), (503,)) == [0, None]
    assert backoff.unsent == {}


@pytest.mark.parametrize(("pauses", "why"), [(["61"], TOO_LONG), (["60"] * 6, TOO_OFTEN)], ids=["at once", "in all"])
def test_waiting_has_a_limit(pauses, why, backoff, time):
    """Of a minute for one request, and of five for a run."""
    asked = [seconds_of(backoff, time, request_to(), (429, after))[0] for after in pauses]

    assert asked[-1] is None
    assert all(asked[:-1])
    assert backoff.unsent == {why: {"listAccounts"}}


def test_what_may_have_moved_money_does_not_go_again(backoff):
    """An execution never, a transfer only where nothing was done. What comes next waits as the service asks."""
    execution, transfer = request_to("executePix", code="TX-1"), request_to("transferInternal")
    decided = [answered(backoff, sending, 503, "7") for sending in (execution, transfer)]
    put_off = [answered(backoff, sending, 429, "7") for sending in (execution, transfer)]

    assert (decided, put_off) == ([None, None], [None, Again()])
    assert backoff.waited_s > 7


@pytest.mark.parametrize(
    ("kind", "sent"), [(FailureKind.NO_CONNECTION, 2), (FailureKind.DROPPED, 1), (FailureKind.TIMEOUT, 0)]
)
def test_a_request_that_never_arrived_goes_again(kind, sent, backoff):
    """A refused connection is tried twice more, a dropped one once. No execution that was dropped is sent again."""
    sending, execution = request_to(), request_to("executePix", code="TX-1")
    for one in (sending, execution):
        one.exchange = failed(kind, one.intent.operation)
    is_unsent = kind is FailureKind.NO_CONNECTION

    assert [bool(backoff.decide(sending)) for _ in range(3)] == [True] * sent + [False] * (3 - sent)
    assert bool(backoff.decide(execution)) is is_unsent


# -- before an execution -------------------------------------------------------------------------------------------


def test_an_execution_waits_after_a_429(backoff, time):
    """It is sent once: a refusal for the rate would cost its code. Nothing else waits longer than it is asked to."""
    answered(backoff, request_to(), 429, "7")
    backoff.wait_out_pause()
    backoff.spare_codes(request_to())
    read_at = time.now
    backoff.spare_codes(request_to("executePix", code="TX-1"))

    assert (read_at, time.now) == (7, 14)


# -- how many at once ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", LATER)
@pytest.mark.parametrize("beside", [0, 1])
def test_what_is_put_off_beside_others_halves_the_window(status, beside, backoff):
    """Alone, the same answer is a lock of the caller, or trouble."""
    answered(backoff, request_to(), status, beside=beside)

    assert backoff._in_flight.window == (4 if beside else 8)


def test_the_window_is_halved_once_a_round(backoff):
    """What was on the wire when it was halved says nothing new. One request at a time is always sent."""
    windows = []
    for _ in range(5):
        sent = [request_to() for _ in range(3)]
        for sending in sent:
            backoff.wait_for_turn(sending)
            sending.exchange = answer("listAccounts", b"", status=429, beside=2)
        for sending in sent:
            backoff.notice(sending)
        windows.append(backoff._in_flight.window)

    assert windows == [4, 2, 1, 1, 1]


@pytest.mark.parametrize(
    ("in_company", "window"),
    [
        (answer("listAccounts", b"", status=404, beside=3), 8),
        (answer("listAccounts", b"", status=409, beside=3), 8),
        (answer("listAccounts", b"", status=500, beside=3), 4),
        (replace(failed(FailureKind.DROPPED, "listAccounts"), beside=3), 4),
    ],
    ids=["404", "409", "500", "dropped"],
)
def test_a_refusal_in_company_leaves_the_window_as_it_is(in_company, window, backoff):
    """Else a service that mixes up the answers of parallel requests, refusals too, gets one request at a time."""
    company = Company(backoff)

    assert doubted(company, backoff, in_company)
    assert (company.otherwise_alone, backoff._in_flight.window) == ([in_company], window)


@pytest.mark.parametrize(
    ("statuses", "mixed_up"),
    [((401, 404, 422), True), ((401, 400, 422), False), ((401, 404, 409, 423, 429, 500, 503), False), ((401,), False)],
)
def test_more_ways_to_refuse_than_a_limit_has_are_answers_to_others(statuses, mixed_up, backoff):
    """400 and 422 are one way. A conflict, a lock and trouble may be what a limit says."""
    company = Company(backoff)
    for status in statuses:
        assert doubted(company, backoff, answer("listAccounts", b"", status=status, beside=3))

    refused = [seen.response.status for seen in company.mixed_up("listAccounts", RefusalKind.TOKEN)]
    assert (company.are_mixed_up, refused) == (mixed_up, [401] if mixed_up else [])
    assert company.mixed_up("getBalance", RefusalKind.TOKEN) == []


def doubted(company, backoff, in_company):
    """A request that gets this answer in company, and a success alone."""
    sending = request_to()
    backoff.wait_for_turn(sending)
    sending.exchange = in_company
    again = company.doubt(sending)
    sending.exchange = answer("listAccounts", {"code": 0, "data": {}})
    company.compare(sending)
    return again == Again(alone=True)


# -- several threads -----------------------------------------------------------------------------------------------


def test_what_one_thread_is_told_all_threads_wait_for(time, backoff):
    """The pause is over for all at the same time; what several threads wait for together counts once."""
    sent = []

    def told(wait):
        assert backoff._pause(wait)
        backoff.wait_for_turn(request_to())
        sent.append(time.now)

    def asks_nobody():
        time.sleep(1)
        backoff.wait_for_turn(request_to())
        sent.append(time.now)

    time.run(lambda: told(3), lambda: told(5), asks_nobody)

    assert sent == [5, 5, 5]
    assert backoff.waited_s == 5


def test_a_sleep_that_ended_lasted_as_long_as_it_was_asked_to():
    """Whatever the clock says: with one that stands still, nobody waits for ever."""
    slept = []
    backoff = Backoff(clock=lambda: 0.0, sleep=slept.append)
    for _ in range(2):
        backoff._pause(3)
        backoff.wait_out_pause()

    assert (slept, backoff.waited_s) == ([3, 3], 6)


@pytest.mark.parametrize("parallel", [1, 4, 16])
def test_limits_rate_holds_with_any_number_of_threads(parallel, time, monkeypatch):
    """The profile's own limit: turns are taken one after the other, and nobody sleeps in the lock."""
    budget = Budget(requests=100, executions=0, rate=10)
    monkeypatch.setattr("environments.door.budget.time", SimpleNamespace(monotonic=time.clock))
    monkeypatch.setattr(
        budget.ending, "sleep", lambda seconds: _not_locked(budget._guard) or time.sleep(max(0, seconds))
    )
    backoff = Backoff(InFlight(parallel), budget.wait_for_turn, clock=time.clock, sleep=time.sleep)
    sent, turns = [], iter(range(50))

    def send():
        for _ in turns:
            backoff.wait_for_turn(request_to())
            sent.append(time.now)

    time.run(*[send] * parallel)

    assert sorted(sent) == pytest.approx([number / 10 for number in range(50)])


def _not_locked(lock):
    assert not lock.locked()


@with_and_without_a_lock
def test_two_requests_do_not_take_the_same_place(locked, meeting, backoff):
    """Without the lock an answer of this round may pass for one of the last."""
    sent = [request_to(), request_to()]
    meeting.lock(backoff, "_guard", locked=locked)
    meeting.stops_at(Backoff, "_departed")
    meeting.of(*[lambda one=one: backoff.wait_for_turn(one) for one in sent])

    assert ({sending.departure for sending in sent} == {1, 2}) is locked


@with_and_without_a_lock
def test_what_two_threads_wait_for_counts_once(locked, meeting, backoff):
    """Without the lock both count the same five seconds, and the run gives up too early."""
    meeting.lock(backoff, "_guard", locked=locked)
    meeting.stops_at(Backoff, "waited_s")
    meeting.of(lambda: backoff._pause(5), lambda: backoff._pause(5))

    assert (backoff.waited_s == 5) is locked


@with_and_without_a_lock
def test_two_refusals_of_one_round_halve_the_window_once(locked, meeting, backoff):
    """Without the lock both halve it."""
    sent = [request_to(), request_to()]
    for sending in sent:
        backoff.wait_for_turn(sending)
    meeting.lock(backoff, "_guard", locked=locked)
    meeting.stops_at(Backoff, "_departed_when_halved")
    meeting.of(*[lambda sending=sending: backoff.slow_down(sending) for sending in sent])

    assert (backoff._in_flight.window == 4) is locked


@with_and_without_a_lock
def test_two_threads_do_not_take_the_same_turn_of_limits_rate(locked, meeting, monkeypatch):
    """Without the lock both leave at once, and the limit of the profile is exceeded."""
    slept = []
    monkeypatch.setattr("environments.door.budget.time", SimpleNamespace(monotonic=lambda: 100.0))
    budget = Budget(requests=10, executions=0, rate=2)
    monkeypatch.setattr(budget.ending, "sleep", slept.append)
    meeting.lock(budget, "_guard", locked=locked)
    meeting.stops_at(Budget, "_turn")
    meeting.of(lambda: budget.wait_for_turn(None), lambda: budget.wait_for_turn(None))

    assert (sorted(slept) == [0, 0.5]) is locked
