"""Judgements about several answers together.

`none_granted` says whether a request without a valid token was granted. `token_is_required` compares such answers with
those to valid requests. The last tests are about deviations in parallel requests, and about refused codes.
"""

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
    """A wrong token gets a login page twice: the requirement holds. If one of the two cannot be read, nobody can judge.

    The unreadable body may be the result of the execution.
    """
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
    """Both answers begin with the same legal notice of 64 kB. Only what follows says if a wrong token was granted.

    An answer that differs from the valid one in the path and the time alone grants the same.
    """
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
    """A wrong token gets the result of an execution. With a 200 the transfer was executed.

    A 401 with the result leaves open whether it was executed, so the message only says what was answered.
    """
    exchange = execution(status=status, credential="a wrong token (of a JWT: another signature)", valid=False)

    assert str(none_granted([exchange], "executed").message) == message


def test_every_form_that_is_let_in_is_named():
    """The message names each form of a wrong token that is answered like a valid request, with its unusual spelling.

    The valid requests got two different answers here, and either of them counts. Of more than six forms the first six
    are named, and the number of the others.
    """
    answers = [{"code": 0, "data": {"receipt": "printed"}}, {"code": 0, "data": {"receipt": "printed", "copy": None}}]
    valid = [answer("executePix", body) for body in answers]
    in_lower_case = {"credential": "another scheme", "written": ("in lower case",)}
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
    """A request deviates while another one is on the wire. A request that was sent alone does not deviate.

    For a registration, which was sent twice, the finding says so (`alone` is False). A code is executed once, so the
    second execution has another code, and shows nothing about the first one.
    """
    beside = make(status=201, beside=1)
    alone = make(**{"path": "/v1/execute/pix/TX-2"} if make is execution else {})
    requirement = f"{beside.operation}.status"
    judgement = Reproduction([beside, alone]).judge(requirement, beside)

    assert [finding.alone for finding in judgement.findings] == [is_alone]


_DOOR = SimpleNamespace(guard=SimpleNamespace(journal=True, prepared=Prepared(), unknown=[]))


@pytest.mark.parametrize(("status", "beside", "number_refused"), [(409, 1, 0), (409, 0, 1), (404, 1, 1)])
def test_a_conflict_of_two_executions_is_no_refusal_of_the_code(status, beside, number_refused):
    """The note about refused codes does not count a 409 to an execution that was sent beside another one.

    Of two executions at the same time a conforming service may refuse one. `beside` is the number of other requests on
    the wire.
    """
    exchange = answer("executePix", {}, status=status, beside=beside)
    notes = (
        [f"{number_refused} of 2 transaction codes were refused: {status} application/json"] if number_refused else []
    )

    assert list(map(str, _codes_refused(_DOOR, [exchange, execution(EXECUTION_RESULT)]))) == notes
