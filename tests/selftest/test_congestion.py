"""A service that limits its callers gets fewer requests, and slower ones, from all threads of a run together."""

from dataclasses import replace
from itertools import count, pairwise
from types import SimpleNamespace

import pytest
import requests

from environments.door.budget import Budget
from environments.door.company import Company
from environments.door.congestion import Congestion
from environments.door.in_flight import InFlight
from environments.door.outgoing import Intent, Sending
from environments.door.pace import Pace
from environments.door.retry_policy import WHOLE_RUN_S, RetryPolicy
from spec.answers import RefusalKind
from spec.exchange import FailureKind, Response
from tests.selftest.exchanges import answer, failed
from tests.selftest.services.limiting import TOO_MANY, AtOnce, FixedWindow, Limited, SlidingWindow, TokenBucket
from tests.selftest.services.racing import Meeting, with_and_without_a_lock
from tests.selftest.services.virtual_time import VirtualTime

RATE = 20
FINE, UNAVAILABLE = Response(200, (), b"{}"), Response(503, (), b"{}")
IN_A_SECOND = (("Retry-After", "1"),)


@pytest.fixture
def meeting(monkeypatch):
    """Two threads meet in a critical section."""
    return Meeting(monkeypatch)


@pytest.fixture
def time():
    return VirtualTime()


def congestion_of(most, time=None):
    time = time or VirtualTime()
    return Congestion(most, clock=time.clock, sleep=time.sleep)


def left(congestion):
    """A request that is on the wire."""
    request = requests.Request("GET", "http://127.0.0.1:1/v1/accounts").prepare()
    sending = Sending(request, Intent("listAccounts", valid=True), lambda sending: None, with_token=True)
    congestion.wait_for_turn(sending)
    return sending


def answered(congestion, sending, response):
    sending.exchange = answer("listAccounts", response.body, status=response.status, headers=response.headers)
    congestion.notice(sending)
    return congestion.window


# -- the window ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("response", "window"),
    [
        (TOO_MANY, 4),
        (UNAVAILABLE, 4),
        (Response(502, (), b""), 8),
        (Response(423, (), b""), 8),
        (Response(403, IN_A_SECOND, b""), 8),
        (Response(400, (), b""), 8),
        (FINE, 8),
    ],
    ids=lambda value: str(getattr(value, "status", value)),
)
def test_429_and_503_halve_the_window(response, window):
    """A lock is about the caller, and what else is refused is about the request."""
    congestion = congestion_of(8)

    assert answered(congestion, left(congestion), response) == window


@pytest.mark.parametrize(("beside", "window"), [(0, 8), (1, 4)], ids=["alone", "beside another"])
def test_423_beside_another_request_halves_the_window(beside, window):
    """A service may take one request at a time from a caller. Alone, the same answer is a lock of the caller."""
    congestion = congestion_of(8)
    sending = left(congestion)
    sending.exchange = replace(answer("listAccounts", b"", status=423), beside=beside)
    congestion.notice(sending)

    assert congestion.window == window


def test_the_window_is_halved_once_a_round():
    """What was on the wire when it was halved says nothing new. What left later does."""
    congestion = congestion_of(16)
    first = [left(congestion) for _ in range(16)]
    of_the_first_round = [answered(congestion, sending, TOO_MANY) for sending in first]
    of_the_second = answered(congestion, left(congestion), TOO_MANY)

    assert (set(of_the_first_round), of_the_second) == ({8}, 4)


def test_the_window_is_never_empty():
    """One request at a time is always sent."""
    congestion = congestion_of(4)

    assert [answered(congestion, left(congestion), TOO_MANY) for _ in range(4)] == [2, 1, 1, 1]


def test_the_window_grows_by_one_after_a_windows_worth_of_answers():
    """Additive increase, up to limits.parallel: 2 answers, then 3, then 4."""
    congestion = congestion_of(5)
    answered(congestion, left(congestion), UNAVAILABLE)
    windows = [answered(congestion, left(congestion), FINE) for _ in range(20)]

    assert windows == [2, 3, 3, 3, 4, 4, 4, 4] + [5] * 12


def test_what_was_too_many_twice_needs_twice_as_many_answers():
    """And no more of them than ever, once twice as many at once went well."""
    congestion = congestion_of(16)
    needed = [_needed_to_come_back_to(2, congestion) for _ in range(3)]
    for _ in range(100):
        answered(congestion, left(congestion), FINE)
    after_it = _needed_to_come_back_to(2, congestion)

    assert (needed, after_it) == ([1, 2, 4], 1)


def _needed_to_come_back_to(window, congestion):
    """How many answers it takes, when that window was just too large."""
    congestion.window = window
    answered(congestion, left(congestion), TOO_MANY)
    return next(number for number in count(1) if answered(congestion, left(congestion), FINE) == window)


def test_the_caller_tells_of_what_is_no_answer():
    """A connection that was refused or dropped in company halves the window, too."""
    congestion = congestion_of(8)
    congestion.slow_down(left(congestion))

    assert congestion.window == 4


@pytest.mark.parametrize(
    ("in_company", "window"),
    [
        (answer("listAccounts", b"", status=404, beside=3), 8),
        (answer("listAccounts", b"", status=422, beside=3), 8),
        (answer("listAccounts", b"", status=409, beside=3), 8),
        (answer("listAccounts", b"", status=500, beside=3), 4),
        (replace(failed(FailureKind.DROPPED, "listAccounts"), beside=3), 4),
    ],
    ids=["404", "422", "409", "500", "dropped"],
)
def test_a_refusal_in_company_leaves_the_window_as_it_is(in_company, window):
    """Else a service that mixes up the answers of parallel requests, refusals too, gets one request at a time."""
    congestion = congestion_of(8)
    sending = left(congestion)
    sending.exchange, sending.attempt = in_company, answers_alone
    company = Company(InFlight(8), congestion)
    company.doubt(sending)

    assert (sending.doubted, company.otherwise_alone, congestion.window) == (in_company, [in_company], window)


@pytest.mark.parametrize(
    ("statuses", "mixed_up"),
    [((401, 404, 422), True), ((401, 400, 422), False), ((401, 404, 409, 423, 429, 500, 503), False), ((401,), False)],
)
def test_more_ways_to_refuse_than_a_limit_has_are_answers_to_others(statuses, mixed_up):
    """400 and 422 are one way. A conflict, a lock and trouble may be what a limit says."""
    company = Company(InFlight(8), congestion_of(8))
    for status in statuses:
        sending = left(congestion_of(8))
        sending.exchange = answer("listAccounts", b"", status=status, beside=3)
        sending.attempt = answers_alone
        company.doubt(sending)

    refused = [seen.response.status for seen in company.mixed_up("listAccounts", RefusalKind.TOKEN)]
    assert (company.are_mixed_up, refused) == (mixed_up, [401] if mixed_up else [])
    assert company.mixed_up("getBalance", RefusalKind.TOKEN) == []


def answers_alone(sending):
    sending.exchange = answer("listAccounts", {"code": 0, "data": {}})


@pytest.mark.parametrize("refusal", [TOO_MANY, UNAVAILABLE], ids=["429", "503"])
@pytest.mark.parametrize("most", [1, 2, 3])
@pytest.mark.parametrize("parallel", [4, 16])
def test_a_service_that_answers_so_many_at_once_is_kept_busy(refusal, most, parallel):
    """What was too many before is tried more and more seldom, so that little is refused and nothing given up."""
    run = Limited(AtOnce(most), parallel, 0.1, refusal).send(300)

    assert run.given_up == 0
    assert run.seconds < 1.5 * 300 * 0.1 / most
    assert len(run.sent) < 350


# -- the pause ----------------------------------------------------------------------------------------------------


def test_what_one_thread_is_told_all_threads_wait_for(time):
    """The pause is over for all at the same time; what several threads wait for together counts once."""
    congestion, sent = congestion_of(3, time), []

    def told(wait):
        assert congestion.pause(wait, WHOLE_RUN_S)
        congestion.wait_out_pause()
        left(congestion)
        sent.append(time.now)

    def asks_nobody():
        time.sleep(1)
        left(congestion)
        sent.append(time.now)

    time.run(lambda: told(3), lambda: told(5), asks_nobody)

    assert sent == [5, 5, 5]
    assert congestion.paused_s == 5


def test_a_turn_that_was_taken_before_a_pause_is_void_after_it(time):
    """Else what had waited for its turn would leave beside what takes its turn after the pause."""
    congestion, sent = congestion_of(30, time), []
    answered(congestion, left(congestion), TOO_MANY)

    def send():
        left(congestion)
        sent.append(time.now)

    def pause():
        time.sleep(0.2)
        congestion.pause(0.5, WHOLE_RUN_S)

    time.run(*[send] * 30, pause)
    apart = [later - earlier for earlier, later in pairwise(sent)]

    assert not [at for at in sent if 0.2 < at < 0.7]
    assert min(apart) > 0.02


def test_a_pause_that_takes_too_long_in_all_is_none():
    """And it is not counted."""
    congestion = congestion_of(1)

    assert [congestion.pause(seconds, 10) for seconds in (4, 20, 10)] == [True, False, True]
    assert congestion.paused_s == 10


def test_a_sleep_that_ended_lasted_as_long_as_it_was_asked_to():
    """Whatever the clock says: with one that stands still, nobody waits for ever."""
    slept = []
    congestion = Congestion(1, clock=lambda: 0.0, sleep=lambda seconds: slept.append(seconds) or _few(slept))
    for _ in range(2):
        congestion.pause(3, WHOLE_RUN_S)
        congestion.wait_out_pause()

    assert (slept, congestion.paused_s) == ([3, 3], 6)


def _few(slept):
    assert len(slept) < 10, "it waits for ever"


# -- the pace -----------------------------------------------------------------------------------------------------

LIMITS = {
    "a fixed window": lambda: FixedWindow(RATE, counts_refused=True),
    "a fixed window out of step": lambda: FixedWindow(RATE, ahead=0.6),
    "a sliding window": lambda: SlidingWindow(RATE),
    "a sliding window of all requests": lambda: SlidingWindow(RATE, counts_refused=True),
    "a bucket of 1": lambda: TokenBucket(RATE, burst=1),
    "a bucket of 5": lambda: TokenBucket(RATE, burst=5),
    "a bucket of 5 for all requests": lambda: TokenBucket(RATE, burst=5, counts_refused=True),
    "a bucket of 20": lambda: TokenBucket(RATE, burst=RATE, counts_refused=True),
}


@pytest.mark.parametrize(("parallel", "delay"), [(1, 0.0), (4, 0.1), (8, 0.1), (16, 0.0), (16, 0.1)])
@pytest.mark.parametrize("headers", [(), IN_A_SECOND], ids=["429", "429 with Retry-After"])
@pytest.mark.parametrize("limit", LIMITS.values(), ids=LIMITS)
def test_a_limit_of_the_rate_is_nearly_reached(limit, headers, parallel, delay):
    """A run takes at most 1.3 times as long as the limit makes it, few requests are refused, and none is given up."""
    run = Limited(limit(), parallel, delay, Response(429, headers, b"")).send(700)

    assert run.given_up == 0
    assert run.seconds <= 1.3 * 700 / RATE
    assert len(run.sent) < 800


@pytest.mark.parametrize("every", [13, 40])
@pytest.mark.parametrize("headers", [(), IN_A_SECOND], ids=["429", "429 with Retry-After"])
@pytest.mark.parametrize("limit", LIMITS.values(), ids=LIMITS)
def test_an_execution_finds_room(limit, headers, every):
    """It is sent once, so what was sent before it leaves room: a 429 would cost the code. The first one may be early."""
    run = Limited(limit(), 1, 0.0, Response(429, headers, b""))
    run.send(40)

    assert set(run.execute_among(600, every)) == {200}


@pytest.mark.parametrize("rate", [2, 3])
def test_an_execution_finds_room_where_little_is_let_in(rate):
    """Two or three requests in a second may be all that the service permits."""
    run = Limited(SlidingWindow(rate), 1, 0.0, Response(429, IN_A_SECOND, b""))
    run.send(10)

    assert set(run.execute_among(200, 7)) == {200}


def test_room_for_an_execution_takes_a_few_turns():
    """46 executions with a second of quiet before each would take 78 s."""
    run = Limited(SlidingWindow(RATE), 1, 0.0, Response(429, IN_A_SECOND, b""))
    run.send(40)

    assert set(run.execute_among(600, 13)) == {200}
    assert run.time.now < 60


@pytest.mark.parametrize(
    ("let_in", "refused_at", "asked", "room"),
    [
        ([9.1, 9.3, 9.5, 9.6, 9.9], 5.0, 1.0, 0.6),
        ([9.1, 9.3, 9.5], 5.0, 1.0, 0.5),
        ([9.8, 9.8, 9.9, 9.9], 5.0, 0.5, 0.5),
        ([], 5.0, 1.0, 0.0),
        ([9.1, 9.3], 9.2, 1.0, 0.2),
        ([9.8, 9.9], 9.7, 0.5, 0.5),
        ([9.1, 9.3], 5.0, 30.0, 30.0),
        ([9.05 + 0.04 * number for number in range(22)], 5.0, 1.0, 0.41),
    ],
    ids=[
        "the fourth is a second old",
        "fewer were let in, and perhaps no more are",
        "no longer than asked for",
        "nothing was let in",
        "a second after a refusal",
        "just refused",
        "30 s",
        "four fewer than the limit that was learned",
    ],
)
def test_room_is_there_when_a_few_are_a_second_old(let_in, refused_at, asked, room):
    """Where the service counts longer than a second, it takes as long as the service asked for."""
    pace = Pace()
    pace.slow_down(refused_at)
    for at in let_in:
        pace.let_in(at)

    assert pace.room(asked, 10.0) == pytest.approx(room)


def test_the_pause_after_a_refusal_makes_room():
    """It lasted a second: an execution after it need not wait for another one."""
    pace = Pace()
    pace.let_in(8.9)
    pace.slow_down(9.0)
    pace.stand_still(1.0, 10.0)

    assert pace.room(1.0, 10.0) == 0.0


@pytest.mark.parametrize("parallel", [1, 4, 16])
@pytest.mark.parametrize("rate", [5, 50])
def test_the_limit_may_be_another_one(rate, parallel):
    """It is learned, and known to nobody."""
    run = Limited(SlidingWindow(rate, counts_refused=True), parallel, 0.0).send(20 * rate)

    assert run.given_up == 0
    assert run.seconds <= 1.3 * 20


def test_a_limit_that_is_gone_is_forgotten():
    """The pace grows until nothing is left of it: at the limit it learned first, this would take 400 seconds."""
    limit = SlidingWindow(5)
    run = Limited(limit, 4).send(40)
    slow = run.seconds
    limit.rate = 10_000
    run.send(2_000)

    assert run.seconds - slow < 80


def test_a_service_without_a_limit_is_not_slowed_down():
    """Nothing waits for a turn."""
    assert Limited(SlidingWindow(10_000), 8, 0.1).send(400).seconds == pytest.approx(400 * 0.1005 / 8)


@pytest.mark.parametrize("parallel", [1, 4, 16])
def test_limits_rate_holds_with_any_number_of_threads(parallel, time, monkeypatch):
    """The profile's own limit: turns are taken one after the other, and nobody sleeps in the lock."""
    budget = Budget(requests=100, executions=0, rate=10)
    monkeypatch.setattr("environments.door.budget.time", SimpleNamespace(monotonic=time.clock))
    monkeypatch.setattr(
        budget.ending, "sleep", lambda seconds: _not_locked(budget._guard) or time.sleep(max(0, seconds))
    )
    congestion = Congestion(parallel, budget.wait_for_turn, clock=time.clock, sleep=time.sleep)
    sent = []
    turns = iter(range(50))
    time.run(*[lambda: sent.extend(left(congestion) and time.now for _ in turns)] * parallel)

    assert sorted(sent) == pytest.approx([number / 10 for number in range(50)])


def _not_locked(lock):
    assert not lock.locked()


# -- attempts -----------------------------------------------------------------------------------------------------


class LetsOthersIn:
    """Refuses one request so many times, while another one is let in each time."""

    def __init__(self, times, response=TOO_MANY, *, others=1):
        self.congestion, self.times, self.response, self.others = congestion_of(4), times, response, others
        self.sent = 0

    def attempt(self, sending):
        self.sent += 1
        for _ in range(self.others):
            answered(self.congestion, left(self.congestion), FINE)
        self.congestion.wait_for_turn(sending)
        refused = self.sent <= self.times
        answered(self.congestion, sending, self.response if refused else FINE)

    def send(self):
        sending = left(self.congestion)
        sending.attempt = self.attempt
        self.attempt(sending)
        RetryPolicy(self.congestion).repeat(sending)
        return sending.exchange.response.status


@pytest.mark.parametrize("response", [TOO_MANY, UNAVAILABLE, Response(423, (), b"")], ids=lambda one: str(one.status))
def test_an_attempt_does_not_count_where_others_took_the_room(response):
    """Ten times, where six would be the most."""
    assert LetsOthersIn(10, response).send() == 200


def test_an_attempt_counts_where_nobody_was_let_in():
    """As with one thread: six times for a 429."""
    service = LetsOthersIn(100, others=0)

    assert (service.send(), service.sent) == (429, 6)


def test_a_request_that_is_always_refused_is_given_up():
    """However many others are let in: the service may mean just this one."""
    service = LetsOthersIn(100)

    assert (service.send(), service.sent) == (429, 17)


# -- the locks ----------------------------------------------------------------------------------------------------


@with_and_without_a_lock
def test_two_requests_do_not_take_the_same_turn(locked, meeting):
    """Without the lock both leave at once, at twice the rate."""
    congestion = congestion_of(4)
    answered(congestion, left(congestion), TOO_MANY)
    meeting.lock(congestion, "_guard", locked=locked)
    meeting.stops_after(congestion._pace, "rate")
    turns = meeting.of(congestion._take_turn, congestion._take_turn)

    assert (turns[0] != turns[1]) is locked


@with_and_without_a_lock
def test_two_requests_do_not_take_the_same_place(locked, meeting):
    """Without the lock an answer of this round may pass for one of the last."""
    congestion = congestion_of(4)
    meeting.lock(congestion, "_guard", locked=locked)
    meeting.stops_at(Congestion, "_departed")
    sent = meeting.of(lambda: left(congestion), lambda: left(congestion))

    assert ({sending.departure for sending in sent} == {1, 2}) is locked


@with_and_without_a_lock
def test_what_two_threads_wait_for_counts_once(locked, meeting):
    """Without the lock both count the same five seconds, and the run gives up too early."""
    congestion = congestion_of(4)
    meeting.lock(congestion, "_guard", locked=locked)
    meeting.stops_at(Congestion, "paused_s")
    meeting.of(lambda: congestion.pause(5, 300), lambda: congestion.pause(5, 300))

    assert (congestion.paused_s == 5) is locked


@with_and_without_a_lock
def test_two_refusals_of_one_round_halve_the_window_once(locked, meeting):
    """Without the lock both halve it."""
    congestion = congestion_of(8)
    sent = [left(congestion), left(congestion)]
    meeting.lock(congestion, "_guard", locked=locked)
    meeting.stops_at(Congestion, "_departed_when_halved")
    meeting.of(*[lambda sending=sending: congestion.slow_down(sending) for sending in sent])

    assert (congestion.window == 4) is locked


@with_and_without_a_lock
def test_no_answer_that_was_let_in_is_lost(locked, meeting):
    """Without the lock one of two is not counted, so an attempt may count whose room was taken."""
    congestion = congestion_of(4)
    sent = [left(congestion), left(congestion)]
    meeting.lock(congestion, "_guard", locked=locked)
    meeting.stops_at(Congestion, "let_in")
    meeting.of(*[lambda sending=sending: answered(congestion, sending, FINE) for sending in sent])

    assert (congestion.let_in == 2) is locked


class Counts(dict):
    """A dictionary whose methods can be watched."""


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
