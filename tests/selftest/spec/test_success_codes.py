"""Which code other than 0 perhaps says that a request succeeded, by the answers of a run."""

import pytest

from spec.answers import is_refusal
from spec.exchange import Response
from spec.success_codes import line_for_success_code, perhaps_success_codes
from tests.selftest.exchanges import answer


def balance(code, data, *, account="ac-1", **changes):
    """The exchange of a request for a balance, which is valid unless the account is made up."""
    changes = {"valid": not account.startswith("pixconf-"), **changes}
    return answer("getBalance", {"code": code, "data": data}, path=f"/v1/accounts/balance/{account}", **changes)


BALANCE = {"balance": 1.5}


@pytest.mark.parametrize(
    "exchanges",
    [
        [balance(1, BALANCE)],
        [balance(1, {}), balance(1, BALANCE)],
        [balance(1, BALANCE), balance(404, {}, account="pixconf-1")],
        [balance(1, BALANCE), balance(1, {}, account="pixconf-1", credential="no header")],
        [balance(1, BALANCE), balance(9, BALANCE, status=500)],
    ],
    ids=["one answer", "empty data", "an unknown account is refused", "no token", "a server error"],
)
def test_a_code_with_data_in_each_valid_answer_perhaps_says_success(exchanges):
    """If all valid requests to an operation get one code other than 0, and an object as data, the code may say success."""
    assert perhaps_success_codes(exchanges) == {"getBalance": 1}


@pytest.mark.parametrize(
    "exchanges",
    [
        [],
        [balance(0, BALANCE)],
        [balance(1, BALANCE), balance(0, BALANCE)],
        [balance(1, BALANCE), balance(2, BALANCE)],
        [balance(1, None)],
        [balance(1, BALANCE), balance(1, {}, account="pixconf-1")],
        [balance(1, BALANCE, status=400)],
        [balance(12345678909, BALANCE)],
        [balance(1, BALANCE, valid=False)],
    ],
    ids=[
        "nothing was sent",
        "the documented code",
        "a success with the documented code",
        "two codes",
        "no data",
        "an unknown account gets the same code",
        "a status of a refusal",
        "a code that may be a tax document",
        "an invalid request",
    ],
)
def test_any_other_answers_show_no_success_code(exchanges):
    """No code is named if a request succeeded, the codes differ, data is no object, or unknown accounts get the code."""
    assert perhaps_success_codes(exchanges) == {}


def test_the_line_for_the_profile_names_the_code():
    """A message that names the cure has the line of the profile, with the code in it."""
    assert str(line_for_success_code(200)) == "set other_success_codes: [200] if this code says success"


def test_a_code_that_the_profile_names_is_no_refusal():
    """A 200 with a code that the profile names in other_success_codes is a success, and another code stays a refusal."""
    of_profile = Response(200, (), b'{"code": 1, "data": {}}', other_success_codes=frozenset({1}))
    another = Response(200, (), b'{"code": 2, "data": {}}', other_success_codes=frozenset({1}))

    assert not is_refusal(of_profile)
    assert is_refusal(another)
