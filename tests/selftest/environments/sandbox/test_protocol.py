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
    ids=[
        "without a parameter",
        "with an account",
        "one segment too many",
        "an unknown path",
        "another version",
        "a method that the path does not have",
        "a parameter that is no UTF-8",
        "a parameter with a percent-encoded character",
    ],
)
def test_the_sandbox_answers_documented_paths_alone(method, path, status):
    """The sandbox is a test service of the suite. Its envelope has code 0 after a success, and else the HTTP status.

    A path parameter is one segment, which is decoded as UTF-8.
    """
    response = response_to(method, path)
    code_in_envelope = json.loads(response.body)["code"]
    expected_code = 0 if status == 200 else status

    assert response.status == status
    assert code_in_envelope == expected_code


def test_the_refusal_of_a_method_names_the_methods_of_the_path():
    """PATCH is refused for the path of the keys. The header Allow has the methods of that path in alphabetical order."""
    headers = dict(response_to("PATCH", KEYS).headers)

    assert headers["Allow"] == "DELETE, GET, POST"


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
    ids=[
        "the token",
        "the scheme in small letters",
        "no scheme",
        "another scheme",
        "a blank behind the token",
        "the token cut short",
        "a letter outside ASCII",
        "an empty header",
    ],
)
def test_the_sandbox_needs_the_token_in_the_header_authorization(authorization, status):
    """The scheme is Bearer in any letter case. A refusal names it in the header WWW-Authenticate."""
    response = response_to("GET", ACCOUNTS, authorization=authorization)
    scheme_in_header = dict(response.headers).get("WWW-Authenticate")
    expected_scheme = None if status == 200 else "Bearer"

    assert response.status == status
    assert scheme_in_header == expected_scheme


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
    """The sandbox (the test service of the suite) says what is wrong with the body of POST /v1/pix, and repeats nothing
    of it.
    """
    response = response_to("POST", PIX, body)
    error = json.loads(response.body)["data"]["error"]

    assert response.status == status
    assert error == message


@pytest.mark.parametrize(
    ("content_type", "status"),
    [
        ("application/json", 400),
        ('Application/JSON; charset="UTF-8"', 400),
        ("text/plain", 415),
        ("application/json; charset=latin-1", 415),
        ("", 415),
    ],
    ids=["JSON", "JSON in UTF-8, with capitals", "a text", "JSON in another encoding", "no media type"],
)
def test_a_body_must_be_json_in_utf_8_by_its_header(content_type, status):
    """Another Content-Type is refused with 415. With the right one the empty object {} is refused for its content
    (400).
    """
    assert response_to("POST", PIX, b"{}", content_type=content_type).status == status


@pytest.mark.parametrize(
    ("value", "cents"),
    [(0.01, 1), (1.5, 150), (7, 700), (MAX_NUMBER, MAX_NUMBER * 100), (MAX_NUMBER - 1, (MAX_NUMBER - 1) * 100)],
    ids=["0.01", "1.5", "7", "the greatest amount", "one less than the greatest amount"],
)
def test_the_sandbox_reads_an_amount_as_an_integer_of_cents(value, cents):
    """The third argument of `integer_field` is 100, so 1.50 is read as 150 cents. No amount has the error of a float."""
    assert integer_field({"value": value}, "value", 100) == cents


@pytest.mark.parametrize(
    "value", [0, -1, True, False, None, "1", [], MAX_NUMBER + 1, 0.001, float("nan"), float("inf")]
)
def test_the_sandbox_refuses_values_that_are_no_amount(value):
    """An amount is a number above 0 with at most two decimals, and not too large. Anything else is refused with 400."""
    with pytest.raises(Refusal) as refusal:
        integer_field({"value": value}, "value", 100)

    assert refusal.value.status == 400


@pytest.mark.parametrize(
    ("body", "default", "text"),
    [({"a": "x"}, None, "x"), ({}, "y", "y")],
    ids=["the body has the text", "the body lacks it, and there is a default"],
)
def test_a_text_is_read_from_the_body_or_is_the_default(body, default, text):
    """The sandbox (the test service of the suite) reads the member `a` of a body."""
    assert text_field(body, "a", default) == text


@pytest.mark.parametrize(
    ("body", "default"),
    [({}, None), ({"a": None}, "y"), ({"a": 1}, None)],
    ids=["it is missing and there is no default", "it is null", "it is a number"],
)
def test_a_member_that_must_be_a_text_is_refused_otherwise(body, default):
    """The sandbox (the test service of the suite) reads the member `a` of a body. A default takes the place of a
    missing member, and not of null.
    """
    with pytest.raises(Refusal):
        text_field(body, "a", default)


def test_the_sandbox_writes_letters_in_utf_8():
    """The JSON of its responses has the letters themselves, and no escapes in their place."""
    response = Service(token=TOKEN).render(200, {"a": "ção"})

    assert response.body == '{"a": "ção"}'.encode()


def test_the_time_of_the_sandbox_is_an_integer():
    """The sandbox (the test service of the suite) gives the time as an integer, the milliseconds since 1970."""
    assert type(Service(token=TOKEN).now()) is int
