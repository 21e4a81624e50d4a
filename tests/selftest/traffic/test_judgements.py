"""What several answers show together: none of them grants a request without a valid token; what shows alone, too; and
which codes were refused."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from environments.door.prepared import Prepared
from spec.findings import Conclusion
from spec.rules import Reproduction
from tests.harness.finishing import _codes_refused
from tests.selftest.exchanges import EXECUTION_RESULT, answer, execution, registration
from tests.traffic.judgements import none_granted, token_is_required


@pytest.mark.parametrize(("broken", "conclusion"), [("", Conclusion.HOLDS), ("no gzip", Conclusion.INCONCLUSIVE)])
def test_a_200_that_cannot_be_read_is_no_refusal_of_a_wrong_token(broken, conclusion):
    """The unreadable body may be the result. A login page is a refusal."""
    login_page = answer("executePix", b"<html>", credential="a wrong token (of a JWT: another signature)", valid=False)
    unread = replace(login_page, response=replace(login_page.response, broken=broken))

    assert none_granted([login_page, unread], "executed").conclusion is conclusion


@pytest.mark.parametrize(
    ("end", "conclusion"),
    [
        ({"data": {"receipt": "none"}}, Conclusion.HOLDS),
        (
            {"data": {"receipt": "printed"}, "path": "/v1/execute/pix/TX-2", "at": "2026-11-28T23:10:00Z"},
            Conclusion.DEVIATES,
        ),
    ],
    ids=["another end", "the same but for the path and the time"],
)
def test_large_answers_are_alike_if_their_ends_are(end, conclusion):
    """The first 64 kB of both answers may be the same, such as a legal notice."""
    start = {"code": 0, "notice": "not for everybody " * 5_000}
    granted = {"data": {"receipt": "printed"}, "path": "/v1/execute/pix/TX-1", "at": "2026-11-28T09:10:00Z"}
    success = answer("executePix", start | granted)
    refused = answer(
        "executePix", start | end, path="/v1/execute/pix/TX-2", credential="a wrong token (of a JWT: another signature)",
        valid=False,
    )  # fmt: skip

    assert token_is_required([refused], [success], "executed").conclusion is conclusion


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (200, "executed with a wrong token (of a JWT: another signature)"),
        (
            401,
            "answered 401 application/json with the result in the answer, with a wrong token (of a JWT: another signature)",
        ),
    ],
)
def test_a_refusal_with_a_result_has_its_own_message(status, message):
    """A refusal with the result of an execution leaves open whether the transfer was executed."""
    exchange = execution(status=status, credential="a wrong token (of a JWT: another signature)", valid=False)

    assert str(none_granted([exchange], "executed").message) == message


def test_every_form_that_is_let_in_is_named():
    """Valid requests may get two different answers, and one form may be let in only in an unusual spelling.

    Of more than six forms the first six are named.
    """
    answers = [{"code": 0, "data": {"receipt": "printed"}}, {"code": 0, "data": {"receipt": "printed", "copy": None}}]
    valid = [answer("executePix", body) for body in answers]
    in_lower_case = {"credential": "another scheme", "spelling": ("in lower case",)}
    forms = [{"credential": "no header"}, {"credential": "a wrong token"}, in_lower_case]
    let_in = [answer("executePix", answers[at % 2], valid=False, **form) for at, form in enumerate(forms)]
    many = [answer("executePix", answers[0], valid=False, credential=f"form {at}") for at in range(8)]

    assert str(token_is_required(let_in, valid, "executed").message) == (
        "answered like the valid request with no header, a wrong token, another scheme + in lower case"
    )
    assert str(token_is_required(many, valid, "executed").message).endswith(
        "with " + ", ".join([*(f"form {at}" for at in range(6)), "2 more"])
    )


@pytest.mark.parametrize(("make", "is_alone"), [(execution, True), (registration, False)])
def test_an_execution_of_another_code_is_no_repetition(make, is_alone):
    """A code is executed once, so nobody knows if the deviation shows only while other requests are in flight."""
    beside = make(status=201, beside=1)
    alone = make(**{"path": "/v1/execute/pix/TX-2"} if make is execution else {})
    requirement = f"{beside.operation}.status"
    judgement = Reproduction([beside, alone]).judge(requirement, beside)

    assert [finding.alone for finding in judgement.findings] == [is_alone]


_DOOR = SimpleNamespace(guard=SimpleNamespace(journal=True, prepared=Prepared(), unknown=[]))


@pytest.mark.parametrize(("status", "beside", "number_refused"), [(409, 1, 0), (409, 0, 1), (404, 1, 1)])
def test_a_conflict_of_two_executions_is_no_refusal_of_the_code(status, beside, number_refused):
    """Of two executions at the same time a conforming service may refuse one."""
    exchange = answer("executePix", {}, status=status, beside=beside)
    notes = (
        [f"{number_refused} of 2 transaction codes were refused: {status} application/json"] if number_refused else []
    )

    assert list(map(str, _codes_refused(_DOOR, [exchange, execution(EXECUTION_RESULT)]))) == notes
