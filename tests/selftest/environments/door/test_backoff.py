"""What the run does if a service asks it to come later (such as 429 or 503 with Retry-After).

The request is sent again after a pause, which holds for all threads. Fewer requests are sent at once: `most_at_once` is
the greatest number that may be on the wire. The clock of these tests stands still until something sleeps.
"""

from collections import defaultdict
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
import requests

from environments.door.backoff import ASKED_TO_COME_BACK_LATER, GATEWAY_ANSWERED, OUTAGE, Backoff
from environments.door.limits import Budget
from environments.door.liveness import Liveness
from environments.door.outgoing import Intent, Sending
from environments.door.run_end import RunEnd
from environments.profiles.model import Limits
from spec.exchange import FailureKind
from tests.selftest.exchanges import answer, unanswered

NOON = "Mon, 05 Jan 2026 12:00:00 GMT"
"""The header Date of the answers: the time at which the service answers."""


class Time:
    """A clock that only its own `sleep` puts forward. `now` are the seconds since its start."""

    now = 0.0

    def sleep(self, seconds):
        """Put the clock forward. Nothing waits."""
        self.now += max(0.0, seconds)


@pytest.fixture
def time():
    """A clock that stands still until something sleeps."""
    return Time()


@pytest.fixture
def backoff(time):
    """What decides whether and when a request of a run is sent again (its backoff). Its waits put `time` forward."""
    return backoff_of(time)


def backoff_of(time, **limits):
    """What decides whether and when a request is sent again, with these limits of the profile (the settings of the
    run).
    """
    budget = Budget(Limits(**limits))
    budget.run_end = RunEnd(clock=lambda: time.now)
    budget.run_end.sleep = time.sleep
    return Backoff(budget, defaultdict(set))


def request_to(operation="listAccounts", *, code=None, **intent):
    """A request to this operation that was not sent yet. `code` is the transaction code of an execution."""
    prepared = requests.Request("GET", "http://127.0.0.1:1/v1/accounts").prepare()
    return Sending(prepared, Intent(operation, **{"valid": True, **intent}), code, with_token=True)


def is_resent_after(backoff, sending, status, retry_after=None):
    """Give the request an answer with this status and Retry-After. Returns True if it is to be sent again.

    As in a run, the pause that the answer asks for begins.
    """
    headers = (("Date", NOON), ("Retry-After", retry_after)) if retry_after is not None else ()
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
        is_resent = is_resent_after(backoff, sending, *status_and_retry_after)
        with backoff.on_the_wire(request_to()):  # any request waits here until the pause is over
            waits.append(time.now - before if is_resent else None)
    return waits


# -- how long ------------------------------------------------------------------------------------------------------

NOT_SENT_AGAIN = None
WITHOUT_RETRY_AFTER = None


def operations_not_sent_again(backoff):
    """The operations whose requests are not sent again, by the reason, as the notes of the report say.

    `_unsent` has the operations whose requests the service refused. `outages` has the operations for which only a
    gateway answered.
    """
    return backoff._unsent | backoff.outages


@pytest.mark.parametrize("status", [423, 429, 502, 503, 504])
def test_a_request_is_sent_at_most_three_times_more(status, backoff, time):
    """These statuses ask to come later, so the request is sent three times more. Its fourth answer is final.

    Without the header Retry-After the run waits 1, 2 and 4 seconds.
    """
    waits = waits_before_resend(backoff, time, request_to(), *[(status, WITHOUT_RETRY_AFTER)] * 4)

    assert waits == [1, 2, 4, NOT_SENT_AGAIN]


@pytest.mark.parametrize(
    ("status", "retry_after", "waits"),
    [
        (503, "7", [7, 7, 7]),
        (403, "7", [7, 7, 7]),
        (429, "Mon, 05 Jan 2026 12:00:07 GMT", [7, 7, 7]),
        (503, "Mon, 05 Jan 2026 11:59:00 GMT", [1, 1, 1]),
        (503, "Mon, 05 Jan 2026", [1, 2, 4]),
    ],
    ids=[
        "a number of seconds",
        "403, which asks to come later only with Retry-After",
        "a date, seven seconds after the answer",
        "a date in the past: one second at least",
        "a date without a time is not valid: as without Retry-After",
    ],
)
def test_before_a_request_is_sent_again_the_run_waits_as_retry_after_says(status, retry_after, waits, backoff, time):
    """The header Retry-After has a number of seconds or a date. The service answers at noon (12:00:00)."""
    waits_of_request = waits_before_resend(backoff, time, request_to(), *[(status, retry_after)] * 4)

    assert waits_of_request == [*waits, NOT_SENT_AGAIN]


@pytest.mark.parametrize(
    ("status", "reason"),
    [(429, ASKED_TO_COME_BACK_LATER), (503, OUTAGE.with_values(statuses="503", seconds=1 + 2 + 4))],
    ids=["the service is busy", "a gateway answered for the service"],
)
def test_after_the_fourth_answer_later_requests_to_the_operation_are_not_sent_again(status, reason, backoff, time):
    """A request to one operation gets the same answer four times, with waits of 1, 2 and 4 seconds between them.

    From then on no request to this operation is sent again. A note gives the reason. A request to another operation is
    still sent again, after a second.
    """
    waits_before_resend(backoff, time, request_to("listAccounts"), *[(status,)] * 4)

    assert operations_not_sent_again(backoff) == {reason: {"listAccounts"}}
    assert waits_before_resend(backoff, time, request_to("listAccounts"), (503,)) == [NOT_SENT_AGAIN]
    assert waits_before_resend(backoff, time, request_to("getBalance"), (503,)) == [1]


@pytest.mark.parametrize("retry_after", ["61", "Mon, 05 Jan 2026 12:01:01 GMT"], ids=["seconds", "a date"])
def test_an_answer_that_asks_to_come_after_more_than_a_minute_is_final(retry_after, backoff, time):
    """The service answers at noon and asks to come 61 seconds later. The request is not sent again, and nothing waits."""
    waits = waits_before_resend(backoff, time, request_to(), (429, retry_after))

    assert waits == [NOT_SENT_AGAIN]
    assert time.now == 0


@pytest.mark.parametrize("retry_after", ["1", WITHOUT_RETRY_AFTER], ids=["with Retry-After", "without Retry-After"])
@pytest.mark.parametrize("status", [401, 409, 500])
def test_a_status_that_does_not_mean_later_is_final(status, retry_after, backoff, time):
    """401, 409 and 500 do not say that the same request may succeed later. So even Retry-After does not count.

    The request is not sent again, and nothing waits.
    """
    waits = waits_before_resend(backoff, time, request_to(), (status, retry_after))

    assert waits == [NOT_SENT_AGAIN]
    assert time.now == 0


def test_403_without_retry_after_is_final(backoff, time):
    """403 (forbidden) asks to come later only if it has the header Retry-After. Here it has none."""
    waits = waits_before_resend(backoff, time, request_to(), (403, WITHOUT_RETRY_AFTER))

    assert waits == [NOT_SENT_AGAIN]
    assert time.now == 0


def test_without_a_date_header_a_date_in_retry_after_counts_from_the_clock_of_this_machine(backoff):
    """Retry-After has a date 30 seconds ahead, and the answer has no header Date. So the run pauses for 30 seconds."""
    sending = request_to()
    in_30_seconds = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    headers = (("Retry-After", in_30_seconds),)
    sending.exchange = answer("listAccounts", b"{}", status=429, headers=headers, valid=True)
    is_resent = backoff.pause_and_retry(sending)

    assert is_resent
    assert backoff._paused_until == pytest.approx(30, abs=3)  # the clock of the backoff stands at 0


def test_an_invalid_request_that_gets_503_is_sent_once_more_without_waiting(backoff, time):
    """A gateway may answer each invalid request with 503, so the run tries such a request only twice, without a pause.

    No note says that its operation is down.
    """
    waits = waits_before_resend(backoff, time, request_to(valid=False), (503,), (503,))

    assert waits == [0, NOT_SENT_AGAIN]
    assert backoff._unsent == {}


@pytest.mark.parametrize("status", [429, 503])
def test_an_execution_is_never_sent_again(status, backoff):
    """An execution moves money, so it is sent once, even if the answer asks to come back after 7 seconds."""
    execution = request_to("executePix", code="TX-1")

    assert not is_resent_after(backoff, execution, status, "7")


@pytest.mark.parametrize(
    ("status", "is_resent"), [(429, True), (503, False)], ids=["429, of the service", "503, of a gateway"]
)
def test_a_transfer_is_sent_again_only_if_nothing_was_done(status, is_resent, backoff):
    """A service that answers 429 did nothing. A gateway that answers 503 may have passed the transfer on."""
    transfer = request_to("transferInternal")

    assert is_resent_after(backoff, transfer, status, "7") is is_resent


def test_a_note_says_why_requests_that_may_move_money_were_not_sent_again(backoff):
    """An execution and a transfer get 503 from a gateway, which may have passed them on. Another execution gets 429
    from the service, which asks to come later.

    There is a note for each reason. It names the operations.
    """
    is_resent_after(backoff, request_to("executePix", code="TX-1"), 503, "7")
    is_resent_after(backoff, request_to("transferInternal"), 503, "7")
    is_resent_after(backoff, request_to("executePix", code="TX-2"), 429, "7")

    assert backoff._unsent == {
        GATEWAY_ANSWERED: {"executePix", "transferInternal"},
        ASKED_TO_COME_BACK_LATER: {"executePix"},
    }


def test_one_failed_handshake_does_not_make_the_target_unreachable():
    """A request finds no answer, because its TLS handshake failed. The run then calls `target_is_gone`.

    In a run this function sends reads that were answered before. Here it finds that such a read is still answered.
    """

    def target_is_gone():
        """False, because a read is still answered."""
        return False

    liveness = Liveness(target_is_gone, RunEnd())
    sending = request_to()
    sending.exchange = unanswered(FailureKind.TLS)
    liveness.note_result(sending)

    assert not liveness.why_unreachable


@pytest.mark.parametrize(
    ("kind", "is_resent_each_time"),
    [
        (FailureKind.NO_CONNECTION, [True, True, True, False]),
        (FailureKind.DROPPED, [True, False, False, False]),
        (FailureKind.TIMEOUT, [False, False, False, False]),
    ],
    ids=["no connection", "a dropped connection", "a time-out"],
)
def test_a_read_without_an_answer_is_sent_again(kind, is_resent_each_time, backoff):
    """A request that only reads fails four times in the same way. The list says after which of them it is sent again.

    Without a connection that is three times, after a dropped connection once, and after a time-out never.
    """
    read = request_to("listAccounts")
    read.exchange = unanswered(kind, "listAccounts")

    assert [backoff.pause_and_retry(read) for _ in range(4)] == is_resent_each_time


@pytest.mark.parametrize(
    ("kind", "is_resent"),
    [(FailureKind.NO_CONNECTION, True), (FailureKind.DROPPED, False), (FailureKind.TIMEOUT, False)],
    ids=["no connection", "a dropped connection", "a time-out"],
)
def test_an_execution_without_an_answer_is_sent_again_only_if_no_connection_was_made(kind, is_resent, backoff):
    """An execution that found no connection was never sent, so it is sent again. Otherwise it may have moved money."""
    execution = request_to("executePix", code="TX-1")
    execution.exchange = unanswered(kind, "executePix")

    assert backoff.pause_and_retry(execution) is is_resent


# -- how many at once ----------------------------------------------------------------------------------------------


def request_on_the_wire(backoff, stack):
    """Send a request that stays on the wire (sent, and not yet answered) until the stack of contexts is closed."""
    sending = request_to()
    stack.enter_context(backoff.on_the_wire(sending))
    return sending


def test_the_number_of_requests_at_once_is_halved_once_a_round(backoff):
    """At most 8 requests are on the wire at once. In each of four rounds all of them get 429 (too many requests).

    `most_at_once` is the greatest number of requests on the wire. The first 429 of a round halves it. The others do
    not, because their requests left before the first 429 came. One request at once is always permitted.
    """
    most_at_once_after_each_round = []
    for _ in range(4):
        with ExitStack() as stack:
            requests_of_round = [request_on_the_wire(backoff, stack) for _ in range(backoff.most_at_once)]
            for sending in requests_of_round:
                is_resent_after(backoff, sending, 429, "0")
        most_at_once_after_each_round.append(backoff.most_at_once)

    assert most_at_once_after_each_round == [4, 2, 1, 1]


def test_limits_rate_holds_with_any_number_of_threads(time):
    """With `limits.rate: 10`, ten requests a second are sent. So of eight requests that want to leave at the same
    moment, each waits a tenth of a second longer than the one before.
    """
    backoff = backoff_of(time, rate=10)
    waits = []
    backoff._run_end.sleep = waits.append  # the clock stands still, so all eight come at the same moment
    with ExitStack() as stack:
        for _ in range(8):
            request_on_the_wire(backoff, stack)

    assert waits == pytest.approx([0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7])
