"""How an answer is read: what refuses, what a refusal is about, and what grants."""

import pytest

from spec.answers import (
    ABOUT_THE_CALLER,
    ABOUT_THE_REQUEST,
    LATER,
    PASSING,
    RefusalKind,
    grants_protected_result,
    is_refusal,
    may_be_registered,
    refusal_kind,
    refuses_the_token,
    turns_away,
)
from spec.exchange import FailureKind, Response
from tests.selftest.exchanges import EXECUTION, REGISTRATION, answer, execution, failed, registration

GROUPS = {"caller": ABOUT_THE_CALLER, "request": ABOUT_THE_REQUEST, "later": LATER, "passing": PASSING - LATER}


def refused(status, *headers, body=b""):
    return Response(status, headers, body)


@pytest.mark.parametrize(
    ("response", "kind", "group"),
    [
        (refused(401), RefusalKind.TOKEN, "caller"),
        (refused(403), RefusalKind.FORBIDDEN, "caller"),
        (refused(495), RefusalKind.CERTIFICATE, "caller"),
        (refused(496), RefusalKind.CERTIFICATE, "caller"),
        (refused(400, body=b"No required SSL certificate was sent"), RefusalKind.CERTIFICATE, "caller"),
        (refused(302), RefusalKind.REDIRECT, "caller"),
        (refused(423), RefusalKind.LOCK, "later"),
        (refused(403, ("Retry-After", "1")), RefusalKind.LOCK, "later"),
        (refused(429), RefusalKind.RATE_LIMIT, "later"),
        (refused(400), RefusalKind.CONTENT, "request"),
        (refused(422), RefusalKind.CONTENT, "request"),
        (refused(415), RefusalKind.MEDIA_TYPE, "request"),
        (refused(413), RefusalKind.SIZE, "request"),
        (refused(414), RefusalKind.SIZE, "request"),
        (refused(431), RefusalKind.SIZE, "request"),
        (refused(404), RefusalKind.NOT_FOUND, "request"),
        (refused(405), RefusalKind.METHOD, "request"),
        (refused(409), RefusalKind.CONFLICT, "request"),
        (refused(200, body=b'{"code": 5}'), RefusalKind.ENVELOPE, "request"),
        (refused(418), RefusalKind.OTHER, "request"),
        (refused(101), RefusalKind.OTHER, "request"),
        (refused(502), RefusalKind.GATEWAY, "passing"),
        (refused(503), RefusalKind.GATEWAY, "passing"),
        (refused(504), RefusalKind.GATEWAY, "passing"),
        (refused(500), RefusalKind.SERVER_ERROR, "passing"),
        (refused(520), RefusalKind.SERVER_ERROR, "passing"),
        (refused(999), RefusalKind.SERVER_ERROR, "passing"),
        (refused(501), RefusalKind.NOT_IMPLEMENTED, ""),
        (refused(200), None, ""),
        (refused(204), None, ""),
        (refused(202, body=b'{"code": 5}'), None, ""),
    ],
    ids=lambda value: value.status if isinstance(value, Response) else "",
)
def test_what_a_refusal_is_about(response, kind, group):
    """The status decides, and for some the header or the page; each kind is in one group at most."""
    assert refusal_kind(response) is kind
    assert [name for name, kinds in GROUPS.items() if kind in kinds] == ([group] if group else [])


@pytest.mark.parametrize(
    ("response", "is_so"),
    [
        (refused(401), True),
        (refused(200, body=b'{"code": 401}'), True),
        (refused(403, body=b'{"code": 401}'), True),
        (refused(201, body=b'{"code": 401}'), False),
        (refused(403), False),
    ],
    ids=["401", "200 code 401", "403 code 401", "201 code 401", "403"],
)
def test_what_refuses_the_token(response, is_so):
    """401, as status or in the envelope of a refusal."""
    assert refuses_the_token(response) is is_so


@pytest.mark.parametrize(
    ("response", "is_so"),
    [
        *((refused(status), True) for status in (302, 400, 401, 403, 404, 495)),
        *((refused(status), False) for status in (423, 429, 500, 501, 503)),
        (refused(200, body=b"<html>log in</html>"), True),
        (refused(200, body=b'{"code": 5}'), True),
        (refused(200, body=b'{"code": 0}'), False),
    ],
)
def test_what_may_turn_a_caller_away(response, is_so):
    """Any refusal that is not passing, and a page in the place of JSON."""
    assert turns_away(response) is is_so


@pytest.mark.parametrize(
    ("body", "is_so"),
    [
        ({"code": 0, "data": {}}, False),
        ({"code": 5, "data": {}}, True),
        ({"code": -1}, True),
        ({"code": "5", "data": {}}, False),
        ({"code": 5, "data": {"status": "DONE"}}, False),
        ({"code": 5, "data": {"before": {"id": "x", "status": "DONE"}}}, True),
        ({"code": 5, "data": {"result": EXECUTION}}, False),
        ({"code": 5, "status": "DONE"}, False),
        ({"code": 5, "data": {"Success": "true"}}, False),
        ({"code": 5, "data": {"Success": "True"}}, False),
        ({"code": 5, "data": {"key": {"Success": "TRUE"}}}, False),
        ({"code": 5, "data": {"Success": "False"}}, True),
        ({"code": 5, "data": {"Success": "false"}}, True),
        (b"<html>", False),
        (b"", False),
    ],
)
def test_refusals_with_status_200(body, is_so):
    """A 200 refuses only with an integer code other than 0 and no sign of success."""
    assert is_refusal(answer("executePix", body).response) is is_so


@pytest.mark.parametrize(
    ("exchange", "granted"),
    [
        (execution(valid=False), True),
        (execution(valid=False, status=201), True),
        (execution(valid=False, status=401), False),
        (execution(dict.fromkeys(EXECUTION), valid=False), False),
        (execution({"id": "x", "status": "REFUSED", "error": "no"}, valid=False), False),
        (registration(valid=False), True),
        (registration({**REGISTRATION, "Success": "false"}, valid=False), False),
        (registration({**REGISTRATION, "Success": "True"}, valid=False), True),
        (answer("executePix", b"<html>login</html>", valid=False), False),
    ],
)
def test_what_a_bad_credential_must_not_get(exchange, granted):
    """Only the shape of the good result counts as granted."""
    assert grants_protected_result(exchange) is granted


@pytest.mark.parametrize(
    ("exchange", "unknown"),
    [
        (failed(FailureKind.TIMEOUT, "registerPixKey"), True),
        (failed(FailureKind.DROPPED, "registerPixKey"), True),
        (failed(FailureKind.NO_CONNECTION, "registerPixKey"), False),
        (failed(FailureKind.TIMEOUT, "listPixKeys"), False),
        (answer("registerPixKey", b"<html>"), True),
        (answer("registerPixKey", b"", status=204), True),
        (answer("registerPixKey", b"<html>", status=404), False),
        (answer("registerPixKey", b"", status=504), True),
        (answer("registerPixKey", b"", status=500), False),
        (registration(), False),
    ],
)
def test_a_registration_without_a_readable_answer_may_have_been_granted(exchange, unknown):
    """It is listed among what a run leaves behind. A gateway that gave up answers for nobody but itself."""
    assert may_be_registered(exchange) is unknown
