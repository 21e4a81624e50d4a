"""Requests that a service refuses at times count as refused only if nothing else explains their refusals.

Other causes are a lock-out after wrong tokens, an expired token, and a key that is registered already.
"""

from dataclasses import replace

import pytest

from spec.log import Log
from tests.selftest.exchanges import answer
from tests.traffic.at_times import REFUSALS_OF_THE_TOKEN, Disagreement, refusals_of_the_path, refused_at_times
from tests.traffic.keys.purposes import Registering
from tests.traffic.neighbours import RightBefore

WRONG_TOKEN = "a wrong token (other letters and digits)"


def log_of_executions(*statuses, wrong_token_before=(), beside=0, excused=()):
    """A log of executions of one code that does not exist, with the valid token and one status for each.

    404 is the conforming answer: the service took the token and did not find the code. 401 refuses the token.
    `wrong_token_before` has indexes of `statuses`: right before these executions a wrong token is sent and refused with
    401. `beside` is the number of other requests that were on the wire at the same time. `excused` are the numbers of
    exchanges whose 401 is known to be about an expired token.
    """
    log = Log()
    number = 0
    for index, status in enumerate(statuses):
        credentials = [WRONG_TOKEN, "valid"] if index in wrong_token_before else ["valid"]
        for credential in credentials:
            number += 1
            status_for_credential = status if credential == "valid" else 401
            log.add(
                answer(
                    "executePix", {}, status=status_for_credential, credential=credential, valid=False,
                    beside=beside, excused=excused, number=number, purpose=RightBefore.UNKNOWN_CODE,
                )
            )  # fmt: skip
    return log


def test_a_token_that_is_refused_twice_in_between_is_refused_at_times():
    """If a token is refused with 401 twice, and accepted right before and after each time, it is refused at times.

    The test sends the same execution six times, with a code that nobody has. 404 means that the service accepted the
    token and did not find the code. The message cites both refusals, and one request that was accepted.
    """
    at_times = refused_at_times(log_of_executions(404, 401, 404, 404, 401, 404), "executePix", REFUSALS_OF_THE_TOKEN)
    numbers_of_refused = [exchange.number for exchange in at_times.refused]
    numbers_of_accepted = [exchange.number for exchange in at_times.accepted]

    assert numbers_of_refused == [2, 5]
    assert numbers_of_accepted == [1]


REFUSALS_WITH_ANOTHER_CAUSE = {
    "a single refusal may have any cause": log_of_executions(404, 401, 404),
    "refused until the end: the token may have expired": log_of_executions(404, 404, 401, 401),
    "always refused: the token may never have been valid": log_of_executions(401, 401, 401, 401),
    "a lock-out after two wrong tokens": log_of_executions(404, 401, 401, 401, 404, wrong_token_before=(1, 4)),
    "two other requests on the wire": log_of_executions(404, 401, 404, 401, 404, beside=2),
    "both refusals are about an expired token": log_of_executions(404, 401, 404, 401, 404, excused=frozenset({2, 4})),
    "429 and 503 refuse no token: the client is to come later": log_of_executions(404, 429, 404, 503, 404),
}


@pytest.mark.parametrize("log", REFUSALS_WITH_ANOTHER_CAUSE.values(), ids=REFUSALS_WITH_ANOTHER_CAUSE)
def test_refusals_with_another_cause_are_not_counted(log):
    """A refused token does not count as refused at times if there is another cause for the refusals.

    Such a cause is a token that expired, or a lock-out of the client after it sent wrong tokens. A conforming service
    refuses for that cause, too.
    """
    at_times = refused_at_times(log, "executePix", REFUSALS_OF_THE_TOKEN)

    assert at_times.refused == ()


@pytest.mark.parametrize(
    ("refusal", "status_of_registered_key", "number_of_refusals"),
    [(403, 403, 0), (403, 200, 2), (401, 401, 2)],
    ids=["403, as a registered key", "403, but 200 for a registered key", "401 says nothing about a key"],
)
def test_a_403_counts_unless_a_registered_key_is_answered_alike(refusal, status_of_registered_key, number_of_refusals):
    """A 403 to a registration at times is a refusal of the token, unless the service answers a registered key with 403.

    A 401 counts in any case. One key is registered, and registered again, which shows how the service answers a
    registered key. Then it is registered five times, each time after a deletion: 200, refused, 200, refused, 200.
    """
    statuses_and_purposes = [(200, Registering.FIRST_TIME), (status_of_registered_key, Registering.SECOND_TIME)]
    for status in (200, refusal, 200, refusal, 200):
        statuses_and_purposes.append((status, Registering.ONCE_MORE))
    log = Log()
    for number, (status, purpose) in enumerate(statuses_and_purposes, 1):
        log.add(
            answer("registerPixKey", {}, status=status, method="POST", sent={"a": 1}, number=number, purpose=purpose)
        )
    at_times = refused_at_times(log, "registerPixKey", REFUSALS_OF_THE_TOKEN)

    assert len(at_times.refused) == number_of_refusals


def test_a_path_with_two_404_between_successes_is_missing_at_times():
    """If reads of one account are answered 200, 404, 200, 404 and 200, both 404 count: the path is missing at times.

    A conforming service answers such a read with 200 each time, or never.
    """
    log = Log()
    for number, status in enumerate((200, 404, 200, 404, 200), 1):
        log.add(answer("getBalance", {}, status=status, path="/v1/accounts/balance/a", number=number))
    at_times = refused_at_times(log, "getBalance", refusals_of_the_path("getBalance"))
    numbers_of_refused = [exchange.number for exchange in at_times.refused]

    assert numbers_of_refused == [2, 4]


@pytest.mark.parametrize(("status", "expected_numbers"), [(405, [2, 4]), (501, [2, 4]), (404, [])])
def test_a_method_that_is_refused_between_successes_is_missing_at_times(status, expected_numbers):
    """If deletions of different keys are answered 200, 405, 200, 405 and 200, both 405 (numbers 2 and 4) count: the
    service refuses the method DELETE at times. The same is true for 501.

    A 404 does not count, because it may mean that there is no such key.
    """
    log = Log()
    for number, status_of_answer in enumerate((200, status, 200, status, 200), 1):
        deletion = answer(
            "deletePixKey", {}, status=status_of_answer, method="DELETE", path="/v1/pix/keys/a", number=number,
            sent={"pixKey": f"pixconf-{number}@example.com"},
        )  # fmt: skip
        log.add(deletion)
    at_times = refused_at_times(log, "deletePixKey", refusals_of_the_path("deletePixKey"))

    assert [exchange.number for exchange in at_times.refused] == expected_numbers


UNKNOWN_CODE, UNKNOWN_PATH = "There is no such code.", "There is no such path."


def log_of_unknown_codes(*texts):
    """A log of executions of one code that does not exist, each answered 404 with one of these texts.

    Before them, two undocumented paths are answered 404 with UNKNOWN_PATH.
    """
    exchanges = []
    for path in ("/v1/execute/pixconf-1/TX-1", "/v1/execute/pixconf-2/TX-1"):
        purpose = Disagreement.UNDOCUMENTED_PATH
        exchanges.append(answer("", {"error": UNKNOWN_PATH}, status=404, path=path, valid=False, purpose=purpose))
    for text in texts:
        purpose = RightBefore.UNKNOWN_CODE
        path = "/v1/execute/pix/TX-1"
        exchanges.append(answer("executePix", {"error": text}, status=404, path=path, valid=False, purpose=purpose))
    return Log(replace(exchange, number=number) for number, exchange in enumerate(exchanges, 1))


@pytest.mark.parametrize(
    ("texts", "numbers_of_refused"),
    [
        ((UNKNOWN_CODE, UNKNOWN_PATH, UNKNOWN_CODE, UNKNOWN_PATH, UNKNOWN_CODE), [4, 6]),
        ((UNKNOWN_PATH, UNKNOWN_PATH, UNKNOWN_PATH, UNKNOWN_PATH, UNKNOWN_PATH), []),
        ((UNKNOWN_CODE, UNKNOWN_PATH, UNKNOWN_PATH, UNKNOWN_PATH, UNKNOWN_PATH), []),
        ((UNKNOWN_CODE, "Gone.", UNKNOWN_CODE, "Gone.", UNKNOWN_CODE), []),
    ],
    ids=["at times", "the service has one text for both", "until the end", "another text at times"],
)
def test_a_404_like_an_undocumented_path_counts_if_the_service_has_another_404(texts, numbers_of_refused):
    """The same request gets 404 five times (numbers 3 to 7). Only the texts show what is unknown: the code or the path.

    The numbers 1 and 2 are answers to undocumented paths. The path is missing at times if some answers have the text of
    these two, and others before and after them have another text.
    """
    at_times = refused_at_times(log_of_unknown_codes(*texts), "executePix", refusals_of_the_path("executePix"))

    assert [exchange.number for exchange in at_times.refused] == numbers_of_refused
