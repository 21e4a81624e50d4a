"""Which operations a path reaches, and how strict JSON is read."""

from decimal import Decimal

import pytest

from spec.exchange import LARGE, Response
from spec.interface import operations_reached, personal_fields
from spec.json_text import is_integer, is_number, read_json


@pytest.mark.parametrize(
    ("method", "path", "reached"),
    [
        ("HEAD", "/v1/execute/pix/t", {"executePix"}),
        ("OPTIONS", "/v1/pix/keys/a", {"registerPixKey", "deletePixKey", "listPixKeys"}),
        ("POST", "/v1/pix/keys/..", {"registerPixKey", "createPix"}),
        ("POST", "/v1/pix/keys/%2e%2e", {"registerPixKey", "createPix"}),
        ("GET", "/v1/pix/keys/..%2F..%2Fexecute%2Fpix%2Ft", {"listPixKeys", "executePix"}),
        ("GET", "/v1/pix/keys/%252e%252e/%252e%252e/execute/pix/t", {"executePix"}),
        ("GET", "//V1//Execute/PIX/t/", {"executePix"}),
        ("GET", "/v1/execute/pix/t;x=1", {"executePix"}),
        ("GET", "/v1/execute\\pix\\t", {"executePix"}),
        ("GET", "/v1/pixconf-1", set()),
        ("GET", "/v2/accounts", set()),
    ],
)
def test_lenient_servers_are_thought_of(method, path, reached):
    """Permission goes by every operation that a server could take the request for."""
    assert operations_reached(method, path) == reached


def test_personal_fields_come_from_the_schema():
    """What never leaves unredacted is marked in the schema."""
    assert {"document", "name", "key", "pixKey", "account", "digit", "branch", "message"} <= personal_fields()
    assert {"from", "to", "DocumentNumber"} <= personal_fields()


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b"", "the body is empty"),
        (b"NaN", "NaN is not a JSON value"),
        (b"{} {}", "Extra data at character 3"),
        (b'"\xff"', "byte 1 is not UTF-8"),
        (b"\x1f\x8b", "the body is gzip, not text"),
    ],
)
def test_what_is_no_json(body, error):
    """The reason is said in a few words."""
    assert str(read_json(body).error) == error


@pytest.mark.parametrize(
    ("body", "limit"),
    [
        (b"[" * 100_000 + b"]" * 100_000, "nested deeper than 100 levels"),
        (b"[" + b"0," * 100_001 + b"0]", "more than 100000 values"),
        (b'{"text": "' + b",[]" * 30_000 + b'"}', ""),
    ],
    ids=["deep", "numbers", "one text"],
)
def test_limits_are_no_errors(body, limit):
    """What is too deep or too much for the suite is said, and is no fault of the service."""
    text = read_json(body)

    assert (text.error, str(text.limit)) == ("", limit)


@pytest.mark.parametrize("size", [LARGE, LARGE + 1])
def test_bodies_of_any_size_come_out_as_they_went_in(size):
    """A large one is kept compressed, and is the same body and the same JSON."""
    body = b'"' + b"x" * (size - 2) + b'"'
    response = Response(200, (), body)

    assert response.body == body
    assert response.json.value == "x" * (size - 2)
    assert response == Response(200, (), body)
    assert "xx" not in repr(response)
    assert (len(response.kept[0]) < size) is (size > LARGE)


def test_integers_and_numbers():
    """Integers of any size and with a zero fraction are integers; fractions, booleans, texts and null are none. Python's
    own idea of a boolean does not count."""
    integers = (b"1", b"1.0", b"-0.0", b"1e2", b"1" * 50_000, b"1e5000", b"12e-0")
    others = (b"1.5", b"1e-1", b"true", b'"1"', b"null", b"1e-5000")

    assert [text for text in integers if not is_integer(read_json(text).value)] == []
    assert [text for text in others if is_integer(read_json(text).value)] == []
    assert (is_number(True), is_number(Decimal("1.5"))) == (False, True)
