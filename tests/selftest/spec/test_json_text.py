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
    ids=["empty", "NaN", "two values", "not UTF-8", "compressed"],
)
def test_a_body_that_is_no_json_has_an_error(body, error):
    """JSON is read as strictly as RFC 8259 says. The error is a few words for a report."""
    assert str(read_json(body).error) == error


@pytest.mark.parametrize(
    ("body", "limit"),
    [
        (b"[" * 100_000 + b"]" * 100_000, "nested deeper than 100 levels"),
        (b"[" * 100 + b"{}" + b"]" * 100, "nested deeper than 100 levels"),
        (b"[" * 99 + b"{}" + b"]" * 99, ""),
        (b"[" + b"0," * 99_999 + b"0]", "more than 100000 values"),
        (b"[" + b"0," * 99_998 + b"0]", ""),
        (b"[" + b"{}," * 99_998 + b"{ }]", ""),
        (b'[["a", ' + b'{"b": []},' * 49_998 + b"1, 2]]", "more than 100000 values"),
        (b'[["a", ' + b'{"b": []},' * 49_998 + b"1]]", ""),
        (b'{"text": "' + b",[]" * 50_000 + b'"}', ""),
    ],
    ids=[
        "100,000 levels of arrays",
        "100 arrays around an object",
        "99 arrays around an object",
        "100,000 numbers in an array",
        "99,999 numbers in an array",
        "99,999 empty objects in an array",
        "100,001 values on four levels",
        "100,000 values on four levels",
        "one text with many brackets and commas",
    ],
)
def test_a_body_beyond_the_limits_of_the_suite_is_no_error_of_the_service(body, limit):
    """The body is JSON, so it has no error. If it is too deep or too large for the suite, the limit is named."""
    text = read_json(body)

    assert text.error == ""
    assert str(text.why_not_read) == limit


@pytest.mark.parametrize(
    "body",
    [b"1", b"1.0", b"-0.0", b"1e2", b"1" * 50_000, b"1e5000", b"12e-0"],
    ids=["1", "1.0", "-0.0", "1e2", "50,000 digits", "1e5000", "12e-0"],
)
def test_a_number_of_any_size_without_a_fraction_is_an_integer(body):
    """JSON Schema calls each number without a fraction an integer, also 1.0 and 1e2."""
    assert is_integer(read_json(body).value)


@pytest.mark.parametrize("body", [b"1.5", b"1e-1", b"true", b'"1"', b"null", b"1e-5000"])
def test_fractions_and_other_values_are_no_integers(body):
    """Fractions, texts, booleans and null are no integers of JSON, although Python takes a boolean for an integer."""
    assert not is_integer(read_json(body).value)


@pytest.mark.parametrize(("value", "is_json_number"), [(Decimal("1.5"), True), (True, False)], ids=["1.5", "true"])
def test_a_boolean_is_no_number(value, is_json_number):
    """In Python a boolean is a number (an int), and in JSON it is not. A decimal number is one in both."""
    assert is_number(value) is is_json_number
