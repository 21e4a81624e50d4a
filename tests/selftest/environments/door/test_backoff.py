"""A service that limits its callers gets fewer requests at once, and none while it asks to wait, from any thread of a run."""

from collections import defaultdict
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
import requests

from environments.door.backoff import IN_VAIN, NOT_AGAIN, OUTAGE, Backoff
from environments.door.ending import Ending
from environments.door.limits import Budget
from environments.door.liveness import Liveness
from environments.door.outgoing import Intent, Sending
from environments.profiles.model import Limits
from spec.exchange import FailureKind
from tests.selftest.exchanges import answer, unanswered

NOON = "Mon, 05 Jan 2026 12:00:00 GMT"
LATER = (423, 429, 502, 503, 504)


class Time:
    """A clock that only its own `sleep` puts forward."""

    now = 0.0

    def sleep(self, seconds):
        self.now += max(0.0, seconds)


@pytest.fixture
def time():
    """A clock that stands still until something sleeps."""
    return Time()


@pytest.fixture
def backoff(time):
    """The backoff of a run whose waits put `time` forward."""
    return backoff_of(time)


def backoff_of(time, **limits):
    """A backoff with these limits of the profile."""
    budget = Budget(Limits(**limits))
    budget.ending = Ending(clock=lambda: time.now)
    budget.ending.sleep = time.sleep
    return Backoff(budget, defaultdict(set))


def request_to(operation="listAccounts", *, code=None, **intent):
    """A request that was not sent yet."""
    prepared = requests.Request("GET", "http://127.0.0.1:1/v1/accounts").prepare()
    return Sending(prepared, Intent(operation, **{"valid": True, **intent}), code, with_token=True)


def goes_again(backoff, sending, status, after=None):
    """True if the request is sent again after an answer with this status and Retry-After."""
    headers = (("Date", NOON), ("Retry-After", after)) if after is not None else ()
    intent = sending.intent
    sending.exchange = answer(intent.operation, b"{}", status=status, headers=headers, valid=intent.valid)
    return backoff.pause_and_retry(sending)


def waits_before_resend(backoff, time, sending, *answers):
    """For each answer, the seconds until the request is sent again. None if it is not sent again."""
    waits = []
    for status_and_retry_after in answers:
        before = time.now
        is_resent = goes_again(backoff, sending, *status_and_retry_after)
        with backoff.place(request_to()):  # the pause is one for all
            waits.append(time.now - before if is_resent else None)
    return waits


# -- how long ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "after", "waits"),
    [
        *((status, None, [1, 2, 4]) for status in LATER),
        (429, "Mon, 05 Jan 2026 12:00:07 GMT", [7, 7, 7]),
        (503, "Mon, 05 Jan 2026 11:59:00 GMT", [1, 1, 1]),
        (503, "Mon, 05 Jan 2026", [1, 2, 4]),
        (503, "7", [7, 7, 7]),
        (403, "7", [7, 7, 7]),
    ],
)
def test_a_request_is_sent_three_times_more(status, after, waits, backoff, time):
    """The door waits as long as Retry-After says, else 1, 2 and 4 seconds.

    The answer to the last request is final.  Afterwards the operation counts as down, so a later request to it is not
    sent again. Requests to other operations still are.
    """
    assert waits_before_resend(backoff, time, request_to(), *[(status, after)] * 4) == [*waits, None]
    seconds = sum(waits)
    outage = OUTAGE.of(statuses=str(status), seconds=seconds)
    assert backoff._unsent | backoff.outages == {outage if status > 500 else IN_VAIN: {"listAccounts"}}
    assert [waits_before_resend(backoff, time, request_to(id), (503,)) for id in ("listAccounts", "getBalance")] == [
        [None],
        [1],
    ]


@pytest.mark.parametrize(
    ("status", "after"),
    [(403, None), (401, "1"), (500, "1"), (409, None), (429, "61"), (429, "Mon, 05 Jan 2026 12:01:01 GMT")],
)
def test_answers_after_which_nothing_is_sent_again(status, after, backoff, time):
    """A refusal that does not ask to come later is final, and so is a Retry-After of more than a minute."""
    assert waits_before_resend(backoff, time, request_to(), (status, after)) == [None]
    assert time.now == 0


def test_without_a_date_header_a_date_in_retry_after_counts_from_now(backoff, time):
    """The date is compared with the clock of this machine."""
    sending, soon = request_to(), datetime.now(UTC) + timedelta(seconds=30)
    headers = (("Retry-After", format_datetime(soon, usegmt=True)),)
    sending.exchange = answer("listAccounts", b"{}", status=429, headers=headers, valid=True)

    assert backoff.pause_and_retry(sending)
    assert backoff._paused_until == pytest.approx(30, abs=3)


def test_an_invalid_request_is_sent_once_more_without_waiting(backoff, time):
    """A gateway may refuse every invalid request with 503, so the note about operations that are cut short does not
    name the operation.
    """
    assert waits_before_resend(backoff, time, request_to(valid=False), (503,), (503,)) == [0, None]
    assert backoff._unsent == {}


def test_a_request_that_may_have_moved_money_is_not_sent_again(backoff):
    """An execution is never sent again.

    A transfer is sent again after a 429, which says that nothing was done, and not after a 503.
    """
    execution, transfer = request_to("executePix", code="TX-1"), request_to("transferInternal")

    assert not goes_again(backoff, execution, 503, "7")
    assert not goes_again(backoff, transfer, 503, "7")
    assert not goes_again(backoff, execution, 429, "7")
    assert goes_again(backoff, transfer, 429, "7")
    assert backoff._unsent == {NOT_AGAIN: {"executePix", "transferInternal"}, IN_VAIN: {"executePix"}}


def test_one_failed_handshake_does_not_make_the_target_unreachable():
    """The read that is sent after the failed TLS handshake is answered."""
    sending, liveness = request_to(), Liveness(lambda: False, Ending())
    sending.exchange = unanswered(FailureKind.TLS)
    liveness.notice(sending)

    assert not liveness.unreachable


@pytest.mark.parametrize(
    ("kind", "times"), [(FailureKind.NO_CONNECTION, 3), (FailureKind.DROPPED, 1), (FailureKind.TIMEOUT, 0)]
)
def test_a_request_without_an_answer_is_sent_again(kind, times, backoff):
    """After a refused connection a request is sent three times more, after a dropped one once, and after a timeout
    not at all.  An execution whose connection was dropped is not sent again.
    """
    sending, execution = request_to(), request_to("executePix", code="TX-1")
    for request in (sending, execution):
        request.exchange = unanswered(kind, request.intent.operation)

    assert [backoff.pause_and_retry(sending) for _ in range(4)] == [True] * times + [False] * (4 - times)
    assert backoff.pause_and_retry(execution) is (kind is FailureKind.NO_CONNECTION)


# -- how many at once ----------------------------------------------------------------------------------------------


def on_the_wire(backoff, stack):
    """A request that has a place on the wire until the stack is closed."""
    sending = request_to()
    stack.enter_context(backoff.place(sending))
    return sending


def test_the_window_is_halved_once_a_round(backoff):
    """The number of requests at once is halved for the first 429 of a round, because the others left before that.

    It never goes below one.
    """
    windows = []
    for _ in range(4):
        with ExitStack() as stack:
            for sending in [on_the_wire(backoff, stack) for _ in range(backoff.window)]:
                goes_again(backoff, sending, 429, "0")
        windows.append(backoff.window)

    assert windows == [4, 2, 1, 1]


def test_limits_rate_holds_with_any_number_of_threads(time):
    """With `limits.rate: 10` each request waits a tenth of a second longer than the one before, even if all come at
    once.
    """
    backoff, slept = backoff_of(time, rate=10), []
    backoff._ending.sleep = slept.append  # the others come while one sleeps
    with ExitStack() as stack:
        for _ in range(8):
            on_the_wire(backoff, stack)

    assert slept == pytest.approx([number / 10 for number in range(8)])
