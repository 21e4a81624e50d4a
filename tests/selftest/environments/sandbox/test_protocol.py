"""From a request to the sandbox to its response: routes, the token, bodies and numbers."""

import json

import pytest

from environments.sandbox import Request, Service
from environments.sandbox.protocol import MAX_BODY, MAX_NUMBER, Refusal, integer_field, text_field

TOKEN = "sandbox-token"
ACCOUNTS, BALANCE, KEYS, PIX = "/v1/accounts", "/v1/accounts/balance/ac-0001", "/v1/pix/keys/ac-0001", "/v1/pix"


def response_to(method, path, body=b"", *, authorization=f"Bearer {TOKEN}", content_type="application/json"):
    """The response of a new sandbox to one request."""
    headers = {"authorization": authorization, "content-type": content_type}
    return Service(token=TOKEN).respond(Request(method, path, "", headers, body))


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", ACCOUNTS, 200),
        ("GET", BALANCE, 200),
        ("GET", f"{BALANCE}/more", 404),
        ("GET", "/v1/nothing", 404),
        ("GET", "/v2/accounts", 404),
        ("PATCH", KEYS, 405),
        ("GET", "/v1/accounts/balance/%FF", 400),
        ("GET", "/v1/accounts/balance/ac-000%31", 200),
    ],
)
def test_a_path_leads_to_one_operation(method, path, status):
    """A path parameter is one segment and is decoded as UTF-8."""
    response = response_to(method, path)

    assert response.status == status
    assert json.loads(response.body)["code"] == (0 if status == 200 else status)


def test_the_refusal_of_a_method_names_the_methods_of_the_path():
    """The header Allow names them in alphabetical order."""
    assert dict(response_to("PATCH", KEYS).headers)["Allow"] == "DELETE, GET, POST"


@pytest.mark.parametrize(
    ("authorization", "status"),
    [
        (f"Bearer {TOKEN}", 200),
        (f"bearer {TOKEN}", 200),
        (TOKEN, 401),
        (f"Basic {TOKEN}", 401),
        (f"Bearer {TOKEN} ", 401),
        (f"Bearer {TOKEN[:-1]}", 401),
        ("Bearer \u20ac", 401),
        ("", 401),
    ],
)
def test_every_operation_needs_the_token(authorization, status):
    """The scheme is Bearer in any letter case, and the refusal names it."""
    response = response_to("GET", ACCOUNTS, authorization=authorization)

    assert response.status == status
    assert dict(response.headers).get("WWW-Authenticate") == (None if status == 200 else "Bearer")


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        (b"", 400, "The body is not JSON in UTF-8."),
        (b"{", 400, "The body is not JSON in UTF-8."),
        (b'{"account": "\xff"}', 400, "The body is not JSON in UTF-8."),
        (b'{"account": "\\ud800"}', 400, "The body is not JSON in UTF-8."),
        (b"[" * 100_000, 400, "The body is nested deeper than 500 levels."),
        (b"[]", 400, "The body is not an object of JSON."),
        (b'{"account": 7}', 400, "The field account holds a string."),
        (b" " * (MAX_BODY + 1), 413, f"A body has at most {MAX_BODY} bytes."),
        (b" " * MAX_BODY, 400, "The body is not JSON in UTF-8."),
    ],
    ids=["empty", "cut", "no UTF-8", "half a pair", "deep", "an array", "a number", "too large", "as large as may be"],
)
def test_a_body_that_is_no_json_object_is_refused(body, status, message):
    """The message repeats nothing of the request."""
    response = response_to("POST", PIX, body)

    assert response.status == status
    assert json.loads(response.body)["data"]["error"] == message


@pytest.mark.parametrize(
    ("content_type", "status"),
    [
        ("application/json", 400),
        ('Application/JSON; charset="UTF-8"', 400),
        ("text/plain", 415),
        ("application/json; charset=latin-1", 415),
        ("", 415),
    ],
)
def test_a_body_is_json_by_its_header(content_type, status):
    """The media type is checked before the content."""
    assert response_to("POST", PIX, b"{}", content_type=content_type).status == status


@pytest.mark.parametrize(
    ("value", "cents"),
    [(0.01, 1), (1.5, 150), (7, 700), (MAX_NUMBER, MAX_NUMBER * 100), (MAX_NUMBER - 1, (MAX_NUMBER - 1) * 100)],
)
def test_an_amount_is_an_integer_of_cents(value, cents):
    """The number is read as it is written, without the error of a float."""
    assert integer_field({"value": value}, "value", 100) == cents


@pytest.mark.parametrize(
    "value", [0, -1, True, False, None, "1", [], MAX_NUMBER + 1, 0.001, float("nan"), float("inf")]
)
def test_other_values_are_no_amount(value):
    """A boolean, a text, and a number with more than two decimals are refused with 400."""
    with pytest.raises(Refusal) as refusal:
        integer_field({"value": value}, "value", 100)
    assert refusal.value.status == 400


def test_a_text_is_required_without_a_default():
    """A default takes the place of a missing text. A value of another type is refused."""
    assert text_field({"a": "x"}, "a") == "x"
    assert text_field({}, "a", "y") == "y"
    for body, default in (({}, None), ({"a": None}, "y"), ({"a": 1}, None)):
        with pytest.raises(Refusal):
            text_field(body, "a", default)


def test_letters_are_written_in_utf_8():
    """The JSON of the sandbox has no escapes in their place."""
    service = Service(token=TOKEN)

    assert service.render(200, {"a": "ção"}).body == '{"a": "ção"}'.encode()
    assert type(service.now()) is int
