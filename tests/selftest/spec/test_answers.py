"""How an answer is read: what refuses, what a refusal is about, and what grants."""

import pytest

from spec.answers import (
    RefusalKind,
    execution_results,
    grants_protected_result,
    is_refusal,
    is_uncertain_registration,
    refusal_about_the_caller,
    refusal_kind,
    refuses_the_token,
)
from spec.exchange import FailureKind, Response
from tests.selftest.exchanges import EXECUTION_RESULT, REGISTRATION_RESULT, answer, execution, registration, unanswered


def response_with(status, body=b"", *headers):
    """A response with this status, body and headers."""
    return Response(status, headers, body)


@pytest.mark.parametrize(
    ("response", "kind"),
    [
        (response_with(400, b"No required SSL certificate was sent"), RefusalKind.CERTIFICATE),
        (response_with(403, b"", ("Retry-After", "1")), RefusalKind.LOCK),
        (response_with(200, b'{"code": 5}'), RefusalKind.ENVELOPE),
        (response_with(202, b'{"code": 5}'), None),
        (response_with(200), None),
        (response_with(204), None),
    ],
    ids=[
        "a 400 that asks for a certificate",
        "a 403 with Retry-After",
        "a 200 with code 5",
        "a 202 with code 5",
        "a 200",
        "a 204",
    ],
)
def test_a_header_or_the_body_may_decide_the_kind_of_a_refusal(response, kind):
    """Not only the status says what a refusal is about: a certificate, a caller who is locked out, or the envelope.

    A 2xx is no refusal (None), except for a 200 whose envelope has another code than 0.
    """
    assert refusal_kind(response) is kind


CODE_401 = b'{"code": 401}'


@pytest.mark.parametrize(
    ("response", "is_refused"),
    [
        (response_with(401), True),
        (response_with(200, CODE_401), True),
        (response_with(403, CODE_401), True),
        (response_with(201, CODE_401), False),
        (response_with(403), False),
    ],
    ids=["401", "200 with code 401", "403 with code 401", "201 with code 401", "403"],
)
def test_a_401_refuses_the_token(response, is_refused):
    """The status 401 refuses the token. So does the code 401 in the envelope, if the status is 200 or 403."""
    assert refuses_the_token(response) is is_refused


@pytest.mark.parametrize(
    ("body", "is_refusing"),
    [
        ({"code": -1}, True),
        ({"code": "5", "data": {}}, False),
        ({"code": 5, "data": {"status": "DONE"}}, False),
        ({"code": 5, "data": {"before": {"id": "x", "status": "DONE"}}}, True),
        ({"code": 5, "status": "DONE"}, False),
        ({"code": 5, "data": {"key": {"Success": "TRUE"}}}, False),
        ({"code": 5, "data": {"Success": "False"}}, True),
    ],
    ids=[
        "a negative code",
        "a code that is a text",
        "DONE in data",
        "DONE of an earlier transfer",
        "DONE beside data",
        "Success true in data",
        "Success false in data",
    ],
)
def test_a_200_is_a_refusal_only_with_another_code_than_0_and_without_a_sign_of_success(body, is_refusing):
    """A sign of success is the status DONE of this transfer, or a `Success` that is true.

    The code must be a number. A code that is a text breaks the envelope, so it decides nothing.
    """
    assert is_refusal(answer("executePix", body).response) is is_refusing


@pytest.mark.parametrize(
    ("exchange", "granted"),
    [
        (execution(valid=False, status=201), True),
        (execution(valid=False, status=401), False),
        (execution(dict.fromkeys(EXECUTION_RESULT), valid=False), False),
        (registration({**REGISTRATION_RESULT, "Success": "True"}, valid=False), True),
        (answer("executePix", b"<html>login</html>", valid=False), False),
    ],
    ids=[
        "an execution result",
        "a refusal",
        "an execution result without values",
        "a registration result",
        "a login page",
    ],
)
def test_a_request_with_a_wrong_token_is_granted_something_if_its_answer_has_a_result(exchange, granted):
    """A service must not give a result to a request with a wrong token. If it does, `grants_protected_result` is True.

    A refusal, a result without values and a login page give nothing away.
    """
    assert grants_protected_result(exchange) is granted


@pytest.mark.parametrize(
    ("exchange", "may_be_registered"),
    [
        (unanswered(FailureKind.TIMEOUT, "registerPixKey"), True),
        (unanswered(FailureKind.NO_CONNECTION, "registerPixKey"), False),
        (answer("registerPixKey", b"<html>"), True),
        (answer("registerPixKey", b"<html>", status=404), False),
        (answer("registerPixKey", b"", status=504), True),
        (answer("registerPixKey", b"", status=500), False),
        (registration(), False),
        (registration({**REGISTRATION_RESULT, "Success": "false"}), False),
        (registration({**REGISTRATION_RESULT, "Success": "perhaps"}), True),
        (registration({}), True),
        (registration({"Message": "received"}), True),
        (answer("registerPixKey", {}), True),
        (answer("registerPixKey", {"code": 0}), True),
        (answer("registerPixKey", {"code": 3}), False),
        (answer("registerPixKey", b"", status=202), True),
        (registration({}, valid=False), True),
        (answer("registerPixKey", b"<html>", valid=False), False),
        (answer("createPix", {}), False),
    ],
    ids=[
        "a time-out",
        "no connection",
        "a page",
        "a page with status 404",
        "a 504 of a gateway",
        "a 500",
        "Success true",
        "Success false",
        "Success perhaps",
        "an empty result",
        "a result without Success",
        "no envelope",
        "an envelope without data",
        "an envelope that refuses",
        "an empty 202",
        "an empty result, to an invalid request",
        "a page, to an invalid request",
        "no registration",
    ],
)
def test_a_registration_without_a_clear_answer_may_have_succeeded(exchange, may_be_registered):
    """An answer is not clear if it is no refusal, and its `Success` says neither true nor false. A 504 is not clear,
    either.

    If there was no connection, the registration was never sent. A page with status 200 is like a refusal if the request
    was invalid.
    """
    assert is_uncertain_registration(exchange) is may_be_registered


@pytest.mark.parametrize(
    ("response", "kind"),
    [
        (response_with(401), RefusalKind.TOKEN),
        (response_with(200, b'{"code": 401}'), RefusalKind.TOKEN),
        (response_with(403), RefusalKind.FORBIDDEN),
        (response_with(495), RefusalKind.CERTIFICATE),
        (response_with(400, b"No required SSL certificate was sent"), RefusalKind.CERTIFICATE),
        (response_with(302), RefusalKind.REDIRECT),
        (response_with(200, b"<html>log in</html>"), RefusalKind.REDIRECT),
        (response_with(404), None),
        (response_with(429), None),
        (response_with(503), None),
        (response_with(200, b'{"code": 5}'), None),
        (response_with(200, b"{}"), None),
    ],
    ids=[
        "401",
        "200 with code 401",
        "403",
        "495",
        "a 400 that asks for a certificate",
        "302",
        "a login page",
        "404",
        "429",
        "503",
        "200 with code 5",
        "200",
    ],
)
def test_a_refusal_is_about_the_caller_if_it_is_about_token_scope_certificate_or_login(response, kind):
    """A refusal about the caller says who may ask, and nothing about what was asked. For any other answer the kind is
    None.
    """
    assert refusal_about_the_caller(response) is kind


@pytest.mark.parametrize("empty_value", [None, "", 0])
@pytest.mark.parametrize(
    ("members_with_a_value", "has_a_result"),
    [
        ({}, False),
        ({"bank": "341", "branch": "1"}, False),
        ({"bank": "341", "branch": "1", "account": "12345"}, True),
    ],
    ids=["no value", "two values", "three values"],
)
def test_an_execution_result_in_a_refusal_has_at_least_three_members_with_a_value(
    members_with_a_value, has_a_result, empty_value
):
    """An execution is refused (409), but its body has all members of an execution result. Many services send them
    empty.

    If three of them have a value, money may have moved.
    """
    result = {**dict.fromkeys(EXECUTION_RESULT, empty_value), **members_with_a_value}
    refusal = execution(result, status=409).response
    a_result_was_found = execution_results(refusal) != []

    assert a_result_was_found is has_a_result
