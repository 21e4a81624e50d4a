"""A key type counts as refused at times only if the same key is registered before and after two refusals; in memory."""

from dataclasses import replace

import pytest

from spec.log import Log
from tests.selftest.exchanges import registration
from tests.traffic.keys.purposes import Registering
from tests.traffic.keys.types_refused_at_times import deviation_if_type_is_refused_at_times

EMAIL, CNPJ = "qa@pix-conformance.example", "99999999999999"


def registration_of(key_type, key, purpose, status, **changes):
    """A registration of a key that is answered with this status. With 200 it is accepted."""
    sent = {"account": "ac-0001", "pixKeyType": key_type, "pixKey": key}
    exchange = registration(sent=sent, path="/v1/pix/keys/ac-0001", status=status)
    return replace(exchange, purpose=purpose, **changes)


def log_of_turns(*statuses, status_of_control=200, status_of_second_time=409, beside=0):
    """A log of registrations of two keys, an EMAIL key and a CNPJ key in turn. `log_of_turns(200, 422)` has these:

    | number | key | status |
    |---|---|---|
    | 1 | the EMAIL key, which is registered already | `status_of_second_time` |
    | 2 | the EMAIL key | `status_of_control` |
    | 3 | the CNPJ key | 200, the first of `statuses` |
    | 4 | the EMAIL key | `status_of_control` |
    | 5 | the CNPJ key | 422, the second of `statuses` |

    The EMAIL key is the control: if it is refused, too, the refusals are not about the type CNPJ. From number 2 on,
    `beside` other requests were under way.
    """
    exchanges = [registration_of("EMAIL", EMAIL, Registering.SECOND_TIME, status_of_second_time)]
    for status in statuses:
        exchanges.append(
            registration_of("EMAIL", EMAIL, Registering.CONTROL_OF_A_TYPE, status_of_control, beside=beside)
        )
        exchanges.append(registration_of("CNPJ", CNPJ, Registering.TYPE_ONCE_MORE, status, beside=beside))
    return Log(replace(exchange, number=number) for number, exchange in enumerate(exchanges, 1))


def test_a_type_that_is_refused_twice_in_between_is_refused_at_times():
    """A documented key type may not be refused twice while the same key is registered before and after the refusals.

    The finding says that two of four were refused. It cites both refusals (numbers 5 and 7) and a registration that was
    accepted (3).
    """
    judgement = deviation_if_type_is_refused_at_times(log_of_turns(200, 422, 422, 200), "CNPJ")
    [finding] = judgement.findings
    parameters = dict(finding.parameters)

    assert finding.exchanges == (5, 7, 3)
    assert parameters["number"] == 2
    assert parameters["compared"] == 4
    assert parameters["other"] == "EMAIL"


def test_the_registration_that_is_sent_again_counts_as_accepted_before():
    """Two refusals at the beginning of the turns count, because the same registration was accepted before the turns."""
    earlier = registration_of("CNPJ", CNPJ, Registering.ONCE_MORE, 200)
    turns = log_of_turns(422, 422, 200)
    numbered = [replace(exchange, number=number) for number, exchange in enumerate([earlier, *turns], 1)]

    assert deviation_if_type_is_refused_at_times(turns, "CNPJ") is None
    assert deviation_if_type_is_refused_at_times(Log(numbered), "CNPJ") is not None


REFUSALS_WITH_ANOTHER_CAUSE = {
    "a single refusal may be an accident": log_of_turns(200, 422, 200),
    "refused until the end: the account may be full": log_of_turns(200, 422, 422),
    "always refused: another judgement is about that": log_of_turns(422, 422, 422),
    "a rate limit is not about the type": log_of_turns(200, 429, 429, 200),
    "a 404 may be about the path": log_of_turns(200, 404, 404, 200),
    "a conflict says that the key is registered": log_of_turns(200, 409, 409, 200),
    "a registered key is answered alike": log_of_turns(200, 422, 422, 200, status_of_second_time=422),
    "the control key is refused, too": log_of_turns(200, 422, 422, 200, status_of_control=422),
    "another request was under way": log_of_turns(200, 422, 422, 200, beside=1),
}


@pytest.mark.parametrize("log", REFUSALS_WITH_ANOTHER_CAUSE.values(), ids=REFUSALS_WITH_ANOTHER_CAUSE)
def test_refusals_with_another_cause_are_not_counted(log):
    """A key type counts as refused at times if one key is accepted, refused twice, and accepted again.

    It does not count if something else may explain the refusals, such as a full account.
    """
    assert deviation_if_type_is_refused_at_times(log, "CNPJ") is None


def test_turns_of_another_type_are_not_counted():
    """The judgement on CPF looks only at registrations of a CPF key. The log has only registrations of an EMAIL and a
    CNPJ key.
    """
    assert deviation_if_type_is_refused_at_times(log_of_turns(200, 422, 422, 200), "CPF") is None
