"""How an answer is read: what refuses, what a refusal is about, and what grants."""

import pytest

from spec.answers import (
    RefusalKind,
    execution_results,
    grants_protected_result,
    is_refusal,
    is_uncertain_registration,
    refusal_kind,
    refusal_of_the_caller,
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
)
def test_a_header_or_the_body_may_decide_the_kind_of_a_refusal(response, kind):
    """A 2xx is no refusal, except for a 200 whose envelope refuses."""
    assert refusal_kind(response) is kind


def test_a_401_refuses_the_token():
    """The status 401 refuses the token, and so does code 401 in the envelope of a 200 or a 403."""
    code_401 = b'{"code": 401}'

    assert all(map(refuses_the_token, (response_with(401), response_with(200, code_401), response_with(403, code_401))))
    assert not any(map(refuses_the_token, (response_with(201, code_401), response_with(403))))


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
)
def test_refusals_with_status_200(body, is_refusing):
    """A 200 refuses only with an integer code other than 0 and without a sign of success."""
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
)
def test_a_bad_credential_is_granted_the_result_or_a_success(exchange, granted):
    """A refusal, a result without values and a login page grant nothing."""
    assert grants_protected_result(exchange) is granted


@pytest.mark.parametrize(
    ("exchange", "unknown"),
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
)
def test_a_registration_without_a_clear_answer_may_have_been_granted(exchange, unknown):
    """An answer of success whose `Success` says neither true nor false is not clear, nor is a 504 of a gateway.

    Without a connection, no request arrived. A page answers an invalid request as a refusal does.
    """
    assert is_uncertain_registration(exchange) is unknown


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
)
def test_refusals_that_are_about_the_caller(response, kind):
    """A refusal is about the caller if it is about the token, its scope or the certificate, or leads to a login
    page.
    """
    assert refusal_of_the_caller(response) is kind


@pytest.mark.parametrize("empty", [None, "", 0])
def test_a_member_without_a_value_is_no_part_of_a_result(empty):
    """Three filled members make a result. Many services send all members, without values, in a refusal."""
    skeleton = dict.fromkeys(EXECUTION_RESULT, empty)
    filled = {name: EXECUTION_RESULT[name] for name in ("bank", "branch", "account")}

    assert execution_results(execution(skeleton, status=409).response) == []
    assert len(execution_results(execution({**skeleton, **filled}, status=409).response)) > 0
    assert execution_results(execution({**skeleton, "bank": "341", "branch": "1"}, status=409).response) == []
