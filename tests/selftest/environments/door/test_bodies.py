"""What the body of a request names."""

import pytest

from environments.door.bodies import key_and_type_in, names, texts_of


@pytest.mark.parametrize(
    ("body", "key_and_type"),
    [
        (b'{"pixKey": "a@b.example", "pixKeyType": "EMAIL"}', ("a@b.example", "EMAIL")),
        (b'{"pixKey": 1.50, "pixKeyType": "CPF"}', ("1.50", "CPF")),
        (b'{"pixKey": "", "pixKeyType": "RANDOM"}', (None, "RANDOM")),
        (b'{"pixKey": "", "pixKeyType": "IBAN"}', (None, "IBAN")),
        (b'{"pixKey": "", "pixKeyType": "EMAIL"}', ("", "EMAIL")),
        (b'{"pixKey": "x", "pixKeyType": "RANDOM"}', ("x", "RANDOM")),
        (b"pixKey=a%40b.example&pixKeyType=EMAIL", ("a@b.example", "EMAIL")),
        (b"[1]", (None, "")),
        (b"", (None, "")),
    ],
)
def test_the_key_in_a_body(body, key_and_type):
    """The key and its type in a body of JSON or of a form. The key is None if the service has to make it."""
    assert key_and_type_in(body) == key_and_type


def test_the_texts_of_a_body_are_its_texts_and_numbers():
    """Texts and numbers at any depth are given, and numbers as they were written."""
    assert texts_of(b'{"a": ["x", 1.50, true, null], "b": {"c": 9}}') == ["x", "1.50", "9"]
    assert texts_of(b"[" * 100_000) == []


def test_a_text_names_a_key_only_as_a_whole_word():
    """The key may stand in a mailto address."""
    assert names("mailto:a@b.example", "a@b.example")
    assert not names("aa@b.example", "a@b.example")
    assert not names("123456", "12345")
