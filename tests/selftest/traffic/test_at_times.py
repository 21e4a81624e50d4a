"""A request is refused at times only if nothing else explains its refusals: a lock, an expired token, a key that is
there."""

import pytest

from spec.log import Log
from tests.selftest.exchanges import answer
from tests.traffic.at_times import FOR_THE_PATH, FOR_THE_TOKEN, refused_at_times
from tests.traffic.keys.purposes import Registering
from tests.traffic.neighbours import Neighbour

WRONG = "a wrong token (other letters and digits)"


def asked(*statuses, wrong_before=(), beside=0, excused=()):
    """A log of requests for the same unknown code with these statuses; before some of them a wrong token is refused."""
    log, number = Log(), 0
    for place, status in enumerate(statuses):
        credentials = [WRONG, "valid"] if place in wrong_before else ["valid"]
        for credential in credentials:
            number += 1
            log.add(
                answer(
                    "executePix", {}, status=status if credential == "valid" else 401, credential=credential, valid=False,
                    beside=beside, excused=excused, number=number, purpose=Neighbour.UNKNOWN_CODE,
                )
            )  # fmt: skip
    return log


def test_a_token_that_is_refused_twice_in_between_is_refused_at_times():
    """Each refusal stands right beside an answer that took the token."""
    at_times = refused_at_times(asked(404, 401, 404, 404, 401, 404), "executePix", FOR_THE_TOKEN)

    assert [exchange.number for exchange in at_times.refused] == [2, 5]
    assert [exchange.number for exchange in at_times.taken] == [1]


@pytest.mark.parametrize(
    "log",
    [
        asked(404, 401, 404),
        asked(404, 404, 401, 401),
        asked(401, 401, 401, 401),
        asked(404, 401, 401, 401, 404, wrong_before=(1, 4)),
        asked(404, 401, 404, 401, 404, beside=2),
        asked(404, 401, 404, 401, 404, excused=frozenset({2, 4})),
        asked(404, 429, 404, 503, 404),
    ],
    ids=["once", "to the end", "always", "locked out", "beside others", "expired", "later"],
)
def test_what_something_else_explains_is_not_counted(log):
    """A service may refuse for a while, or for good."""
    assert refused_at_times(log, "executePix", FOR_THE_TOKEN).refused == ()


@pytest.mark.parametrize(("status_if_there", "number"), [(403, 0), (200, 2)])
def test_a_key_that_is_there_may_be_refused(status_if_there, number):
    """A 403 counts only if a key that is registered already gets another answer."""
    purposes = [(200, Registering.FIRST_TIME), (status_if_there, Registering.SECOND_TIME)]
    purposes += [(status, Registering.ONCE_MORE) for status in (200, 403, 200, 403, 200)]
    log = Log()
    for place, (status, purpose) in enumerate(purposes, 1):
        log.add(
            answer("registerPixKey", {}, status=status, method="POST", sent={"a": 1}, number=place, purpose=purpose)
        )

    assert len(refused_at_times(log, "registerPixKey", FOR_THE_TOKEN).refused) == number


def test_a_path_that_is_missing_twice_is_missing_at_times():
    """A read of the same account is found each time or never."""
    log = Log()
    for number, status in enumerate((200, 404, 200, 404, 200), 1):
        log.add(answer("getBalance", {}, status=status, path="/v1/accounts/balance/a", number=number))

    assert [seen.number for seen in refused_at_times(log, "getBalance", FOR_THE_PATH).refused] == [2, 4]
