"""A service that limits its callers gets fewer requests at once, and none while it asks to wait, from any thread of a run."""

from contextlib import ExitStack

import pytest
import requests

from environments.door.backoff import IN_VAIN, Backoff, retry_after
from environments.door.budget import Budget, Ending
from environments.door.outgoing import Intent, Sending
from environments.profiles.model import Limits
from spec.exchange import FailureKind, Response
from tests.selftest.exchanges import answer, failed
from tests.selftest.services.virtual_time import VirtualTime

LATER = (423, 429, 502, 503, 504)


@pytest.fixture
def time():
    return VirtualTime()


@pytest.fixture
def backoff(time):
    return backoff_of(time)


def backoff_of(time, **limits):
    """A backoff in virtual time."""
    budget = Budget(Limits(**limits))
    budget.ending = Ending(clock=time.clock)
    budget.ending.sleep = lambda seconds: time.sleep(max(0, seconds))
    return Backoff(budget, {})


def request_to(operation="listAccounts", *, code=None, **intent):
    """A request that was not sent yet."""
    prepared = requests.Request("GET", "http://127.0.0.1:1/v1/accounts").prepare()
    intent = Intent(operation, **{"valid": True, **intent})
    return Sending(prepared, intent, code, with_token=intent.credential == "valid")


def answered(backoff, sending, status, after=None):
    """What the policy decides of this answer, which is noticed."""
    headers = (("Retry-After", after),) if after is not None else ()
    intent = {"valid": sending.intent.valid, "credential": sending.intent.credential}
    with backoff.place(sending):
        sending.exchange = answer(sending.intent.operation, b"{}", status=status, headers=headers, **intent)
    return backoff.decide(sending)


def wait_out_pause(backoff):
    """Wait as the next request does."""
    with backoff.place(request_to()):
        pass


def seconds_of(backoff, time, sending, *answers):
    """The seconds after which the request leaves again, for each of these answers; and None where it does not."""
    left = []
    for one in answers:
        before = time.now
        again = answered(backoff, sending, *one)
        wait_out_pause(backoff)
        left.append(time.now - before if again else None)
    return left


# -- how long ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        pytest.param((("Retry-After", "7"),), 7.0, id="seconds"),
        pytest.param((("Retry-After", "Mon, 05 Jan 2026 12:00:00 GMT"),), None, id="a date"),
        pytest.param((("Retry-After", "soon"),), None, id="no time"),
        pytest.param((), None, id="nothing"),
    ],
)
def test_a_time_to_come_again_is_read_in_seconds(headers, seconds):
    """A date is none: the clocks of two machines differ."""
    assert retry_after(Response(429, headers, b"")) == seconds


@pytest.mark.parametrize("status", LATER)
def test_a_request_goes_again_three_times(status, backoff, time):
    """After 1, 2 and 4 seconds; then its answer stands, and what to set is said."""
    assert seconds_of(backoff, time, request_to(), *[(status,)] * 4) == [1, 2, 4, None]
    assert backoff._unsent == {IN_VAIN: {"listAccounts"}}


@pytest.mark.parametrize("status", [*LATER, 403])
def test_a_request_goes_again_when_the_service_says(status, backoff, time):
    """A 403 that names a time is a lock."""
    assert seconds_of(backoff, time, request_to(), *[(status, "7")] * 4) == [7, 7, 7, None]


@pytest.mark.parametrize(("status", "after"), [(403, None), (401, "1"), (500, "1"), (409, None)])
def test_what_is_not_waited_for(status, after, backoff, time):
    """A refusal that does not say "later"."""
    assert seconds_of(backoff, time, request_to(), (status, after)) == [None]
    assert time.now == 0


def test_what_is_put_off_to_the_end_is_not_waited_for_again(backoff, time):
    """An operation may be down for as long as the run lasts; others are not."""
    seconds_of(backoff, time, request_to(), *[(503,)] * 4)
    then = [
        seconds_of(backoff, time, request_to(operation), (status,))[0]
        for operation, status in (
            ("listAccounts", 503),
            ("getBalance", 503),
        )
    ]

    assert then == [None, 1]


def test_a_gateway_that_refuses_an_invalid_request_is_asked_once_more_at_once(backoff, time):
    """It may refuse all of them so. No operation is said to be cut short for it."""
    assert seconds_of(backoff, time, request_to(valid=False), (503,), (503,)) == [0, None]
    assert backoff._unsent == {}


@pytest.mark.parametrize(("after", "waits"), [("60", 60), ("61", None)])
def test_waiting_has_a_limit(after, waits, backoff, time):
    """Of a minute for one request."""
    assert seconds_of(backoff, time, request_to(), (429, after)) == [waits]
    assert backoff._unsent == ({} if waits else {IN_VAIN: {"listAccounts"}})


def test_what_may_have_moved_money_does_not_go_again(backoff):
    """An execution never, a transfer only where nothing was done."""
    execution, transfer = request_to("executePix", code="TX-1"), request_to("transferInternal")
    decided = [answered(backoff, sending, 503, "7") for sending in (execution, transfer)]
    put_off = [answered(backoff, sending, 429, "7") for sending in (execution, transfer)]

    assert (decided, put_off) == ([False, False], [False, True])
    assert backoff._unsent == {IN_VAIN: {"executePix", "transferInternal"}}


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


# -- how many at once ----------------------------------------------------------------------------------------------


def on_the_wire(backoff, stack):
    """A request that has a place."""
    sending = request_to()
    stack.enter_context(backoff.place(sending))
    return sending


def put_off(backoff, *sent, status=429):
    """These are answered so."""
    for sending in sent:
        sending.exchange = answer("listAccounts", b"", status=status, headers=(("Retry-After", "0"),))
        backoff.decide(sending)


@pytest.mark.parametrize(("status", "window"), [*((status, 4) for status in LATER), (404, 8), (409, 8), (500, 8)])
def test_what_is_put_off_beside_others_halves_the_window(status, window, backoff):
    """Alone, the same answer is a lock of the caller, or trouble. A refusal may be the answer to another request."""
    with ExitStack() as stack:
        put_off(backoff, on_the_wire(backoff, stack), status=status)
        alone = backoff.window
        put_off(backoff, on_the_wire(backoff, stack), status=status)

    assert (alone, backoff.window) == (8, window)


def test_the_window_is_halved_once_a_round(backoff):
    """What was on the wire when it was halved says nothing new. One request at a time is always sent."""
    windows = []
    for _ in range(4):
        with ExitStack() as stack:
            put_off(backoff, *[on_the_wire(backoff, stack) for _ in range(backoff.window)])
        windows.append(backoff.window)

    assert windows == [4, 2, 1, 1]


def test_every_request_knows_how_many_were_beside_it(backoff):
    """Those that were there when it came, and those that came while it was."""
    with ExitStack() as stack:
        first = on_the_wire(backoff, stack)
        with ExitStack() as inner:
            second = on_the_wire(backoff, inner)
        third = on_the_wire(backoff, stack)

    assert (first.beside, second.beside, third.beside) == (2, 1, 1)


# -- several threads -----------------------------------------------------------------------------------------------


def test_what_one_thread_is_told_all_threads_wait_for(time, backoff):
    """The pause is over for all at the same time."""
    sent = []

    def told(wait):
        backoff._pause(wait)
        leave()

    def leave():
        with backoff.place(request_to()):
            sent.append(time.now)

    time.run(lambda: told(3), lambda: told(5), lambda: time.sleep(1) or leave())

    assert sent == [5, 5, 5]


@pytest.mark.parametrize("parallel", [1, 4, 16])
def test_limits_rate_holds_with_any_number_of_threads(parallel, time):
    """The profile's own limit: turns are taken one after the other."""
    backoff = backoff_of(time, parallel=parallel, rate=10)
    sent, turns = [], iter(range(50))

    def send():
        for _ in turns:
            with backoff.place(request_to()):
                sent.append(time.now)

    time.run(*[send] * parallel)

    assert sorted(sent) == pytest.approx([number / 10 for number in range(50)])
