"""What the body of a request names."""

import subprocess
import sys

import pytest

from environments.door.bodies import contains_key, key_and_type_in, texts_of
from tests.selftest.mirror import ROOT


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
    assert contains_key("mailto:a@b.example", "a@b.example")
    assert not contains_key("aa@b.example", "a@b.example")
    assert not contains_key("123456", "12345")


_READS_WHILE_THE_LIMIT_CHANGES = """
import gc, sys, threading
from environments.door.bodies import leaves_in, texts_of

def change():
    while True:
        sys.setrecursionlimit(3000)
        sys.setrecursionlimit(1000)

gc.callbacks.append(lambda phase, info: None)  # Hypothesis has one, too
gc.set_threshold(3)
sys.setswitchinterval(1e-6)
threading.Thread(target=change, daemon=True).start()
for _ in range(300):
    texts_of(b"[" * 20_000)
    leaves_in(b'{"a":' * 20_000)
"""


def test_a_deep_body_ends_no_process():
    """A parser at the end of its stack would, if another thread changes the limit of the stack, as Hypothesis does."""
    ended = subprocess.run(
        [sys.executable, "-c", _READS_WHILE_THE_LIMIT_CHANGES], cwd=ROOT, capture_output=True, check=False
    )

    assert ended.returncode == 0, ended.stderr
