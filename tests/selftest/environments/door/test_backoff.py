"""What the run does if a service asks it to come later (such as 429 or 503 with Retry-After).

The request is sent again after a pause, which holds for all threads. Fewer requests are sent at once: `window` is the
greatest number that may be on the wire. The clock of these tests stands still until something sleeps.
"""

from collections import defaultdict
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
import requests

from environments.door.backoff import ASKED_TO_COME_BACK_LATER, GATEWAY_ANSWERED, OUTAGE, Backoff
from environments.door.ending import Ending
from environments.door.limits import Budget
from environments.door.liveness import Liveness
from environments.door.outgoing import Intent, Sending
from environments.profiles.model import Limits
from spec.exchange import FailureKind
from tests.selftest.exchanges import answer, unanswered

NOON = "Mon, 05 Jan 2026 12:00:00 GMT"
"""The header Date of the answers: the time at which the service answers."""
LATER = (423, 429, 502, 503, 504)
"""Statuses that ask the client to come later, even without Retry-After."""


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
    """Give the request an answer with this status and Retry-After. Returns True if it is to be sent again.

    As in a run, the pause that the answer asks for begins.
    """
    headers = (("Date", NOON), ("Retry-After", after)) if after is not None else ()
    intent = sending.intent
    sending.exchange = answer(intent.operation, b"{}", status=status, headers=headers, valid=intent.valid)
    return backoff.pause_and_retry(sending)


def waits_before_resend(backoff, time, sending, *answers):
    """Give the request these answers one after the other, each a status and Retry-After.

    Returns the seconds until the request is sent again after each, and None if it is not sent again.
    """
    waits = []
    for status_and_retry_after in answers:
        before = time.now
        is_resent = goes_again(backoff, sending, *status_and_retry_after)
        with backoff.on_the_wire(request_to()):  # any request waits here until the pause is over
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
    """The run waits as long as Retry-After says, or 1, 2 and 4 seconds. The fourth answer is final.

    Afterwards the operation counts as down: a later request to it is not sent again, and the reason is noted. A request
    to another operation is sent again.
    """
    waits_of_first_request = waits_before_resend(backoff, time, request_to(), *[(status, after)] * 4)
    outage = OUTAGE.of(statuses=str(status), seconds=sum(waits))
    reason = outage if status > 500 else ASKED_TO_COME_BACK_LATER
    notes = backoff._unsent | backoff.outages

    assert waits_of_first_request == [*waits, None]
    assert notes == {reason: {"listAccounts"}}
    assert waits_before_resend(backoff, time, request_to("listAccounts"), (503,)) == [None]
    assert waits_before_resend(backoff, time, request_to("getBalance"), (503,)) == [1]


@pytest.mark.parametrize(
    ("status", "after"),
    [(403, None), (401, "1"), (500, "1"), (409, None), (429, "61"), (429, "Mon, 05 Jan 2026 12:01:01 GMT")],
)
def test_an_answer_that_does_not_ask_to_come_later_is_final(status, after, backoff, time):
    """The request is not sent again, and nothing waits. A Retry-After of more than a minute is final, too."""
    assert waits_before_resend(backoff, time, request_to(), (status, after)) == [None]
    assert time.now == 0


def test_without_a_date_header_a_date_in_retry_after_counts_from_now(backoff, time):
    """Retry-After has a date 30 seconds ahead, and the answer has no Date. The run waits for 30 seconds.

    The date is compared with the clock of this machine.
    """
    sending = request_to()
    soon = datetime.now(UTC) + timedelta(seconds=30)
    headers = (("Retry-After", format_datetime(soon, usegmt=True)),)
    sending.exchange = answer("listAccounts", b"{}", status=429, headers=headers, valid=True)

    assert backoff.pause_and_retry(sending)
    assert backoff._paused_until == pytest.approx(30, abs=3)


def test_an_invalid_request_is_sent_once_more_without_waiting(backoff, time):
    """An invalid request gets 503 twice. Its operation does not count as down, and no note names it.

    A gateway may answer every invalid request with 503.
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
    assert backoff._unsent == {
        GATEWAY_ANSWERED: {"executePix", "transferInternal"},
        ASKED_TO_COME_BACK_LATER: {"executePix"},
    }


def test_one_failed_handshake_does_not_make_the_target_unreachable():
    """After a failed TLS handshake the run sends a read, to see if the target can be reached. It is answered here."""
    sending, liveness = request_to(), Liveness(lambda: False, Ending())
    sending.exchange = unanswered(FailureKind.TLS)
    liveness.note_result(sending)

    assert not liveness.unreachable


@pytest.mark.parametrize(
    ("kind", "times"), [(FailureKind.NO_CONNECTION, 3), (FailureKind.DROPPED, 1), (FailureKind.TIMEOUT, 0)]
)
def test_a_request_without_an_answer_is_sent_again(kind, times, backoff):
    """If no connection was made, a request is sent three times more; if it was dropped, once; after a timeout not at all.

    An execution is sent again only if no connection was made, because otherwise it may have moved money.
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
    stack.enter_context(backoff.on_the_wire(sending))
    return sending


def test_the_window_is_halved_once_a_round(backoff):
    """All requests that are on the wire at the same time get 429, four times over. Each time the window is halved once.

    The other 429 do not count, because their requests left before the first one came. The window never goes below one.
    """
    windows = []
    for _ in range(4):
        with ExitStack() as stack:
            for sending in [on_the_wire(backoff, stack) for _ in range(backoff.most_at_once)]:
                goes_again(backoff, sending, 429, "0")
        windows.append(backoff.most_at_once)

    assert windows == [4, 2, 1, 1]


def test_limits_rate_holds_with_any_number_of_threads(time):
    """With limits.rate: 10, each of eight requests at once waits a tenth of a second longer than the one before."""
    backoff = backoff_of(time, rate=10)
    slept = []
    backoff._ending.sleep = slept.append  # the others come while one sleeps
    with ExitStack() as stack:
        for _ in range(8):
            on_the_wire(backoff, stack)

    assert slept == pytest.approx([number / 10 for number in range(8)])
