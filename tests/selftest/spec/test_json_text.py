"""How strictly JSON is read, and which numbers it holds."""

from decimal import Decimal

import pytest

from spec.json_text import is_integer, is_number, read_json


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
def test_a_body_that_is_no_json_has_an_error(body, error):
    """The error is a few words long."""
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
    """A text that is too deep or too large for the suite names the limit, and has no error."""
    text = read_json(body)

    assert text.error == ""
    assert str(text.limit) == limit


def test_integers_and_numbers():
    """Integers of any size and with a zero fraction are integers.

    Fractions, booleans, texts and null are none, although Python takes a boolean for an integer.
    """
    integers = (b"1", b"1.0", b"-0.0", b"1e2", b"1" * 50_000, b"1e5000", b"12e-0")
    others = (b"1.5", b"1e-1", b"true", b'"1"', b"null", b"1e-5000")

    assert [text for text in integers if not is_integer(read_json(text).value)] == []
    assert [text for text in others if is_integer(read_json(text).value)] == []
    assert not is_number(True)
    assert is_number(Decimal("1.5"))
