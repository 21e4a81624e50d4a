"""What the body of a request names."""

import re
import subprocess
import sys

import pytest

from environments.door.bodies import body_with_another_key, contains_key, key_and_type_in, texts_of
from tests.selftest.mirror import ROOT


@pytest.mark.parametrize(
    ("body", "key", "key_type"),
    [
        (b'{"pixKey": "a@b.example", "pixKeyType": "EMAIL"}', "a@b.example", "EMAIL"),
        (b'{"pixKey": 1.50, "pixKeyType": "CPF"}', "1.50", "CPF"),
        (b'{"pixKey": "", "pixKeyType": "RANDOM"}', None, "RANDOM"),
        (b'{"pixKey": "", "pixKeyType": "IBAN"}', None, "IBAN"),
        (b'{"pixKey": "", "pixKeyType": "EMAIL"}', "", "EMAIL"),
        (b'{"pixKey": "x", "pixKeyType": "RANDOM"}', "x", "RANDOM"),
        (b"pixKey=a%40b.example&pixKeyType=EMAIL", "a@b.example", "EMAIL"),
        (b"[1]", None, ""),
        (b"", None, ""),
    ],
    ids=[
        "as documented",
        "a number",
        "a RANDOM key, which the service makes",
        "an undocumented type, for which the service may make a key",
        "an empty e-mail key",
        "a RANDOM key with a value",
        "a form",
        "an array",
        "no body",
    ],
)
def test_the_key_and_its_type_are_found_in_the_body_of_a_registration(body, key, key_type):
    """The body is JSON or a form. The key is None if the body names none, or if the service has to make it."""
    assert key_and_type_in(body) == (key, key_type)


def test_the_texts_of_a_body_are_its_strings_and_numbers_at_any_depth():
    """A number is given as it was written (1.50). Booleans and null are no texts."""
    assert texts_of(b'{"a": ["x", 1.50, true, null], "b": {"c": 9}}') == ["x", "1.50", "9"]


def test_a_body_that_is_too_deep_to_be_parsed_has_no_texts():
    """The body has 100,000 brackets, which is deeper than the suite parses JSON. No text of it is known."""
    assert texts_of(b"[" * 100_000) == []


@pytest.mark.parametrize(
    ("text", "key", "names_key"),
    [
        ("mailto:a@b.example", "a@b.example", True),
        ("aa@b.example", "a@b.example", False),
        ("123456", "12345", False),
    ],
    ids=["the key in a URI", "a longer e-mail address", "a longer number"],
)
def test_a_text_names_a_key_only_as_a_whole_word(text, key, names_key):
    """A text such as "mailto:a@b.example" names the key "a@b.example". With a letter or digit directly before or after
    the key it does not, because the text is another key then.
    """
    assert contains_key(text, key) is names_key


_SCRIPT_THAT_READS_DEEP_BODIES = """
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


def test_a_deep_body_does_not_crash_the_process():
    """The script reads bodies with 20,000 brackets while another thread changes Python's recursion limit all the time.

    A recursive JSON parser would crash the process then. Hypothesis, which the suite uses, changes that limit, too.
    """
    process = subprocess.run(
        [sys.executable, "-c", _SCRIPT_THAT_READS_DEEP_BODIES], cwd=ROOT, capture_output=True, check=False
    )

    assert process.returncode == 0, process.stderr


@pytest.mark.parametrize(
    ("body", "pattern"),
    [
        (b'{"pixKey": "pixconf-%", "a": 1}', r'\{"pixKey": "pixconf-[a-z]{8}%", "a": 1\}'),
        (b'{"pixKey": "pixconf-1a2b3c4d@x.y"}', r'\{"pixKey": "pixconf-[a-z]{8}@x\.y"\}'),
        (b'{"pixKey": "pixconf-xxxxxxxxx"}', r'\{"pixKey": "pixconf-[a-z]{8}x"\}'),
        (b'{"pixKey": "pixconf-\\ud800"}', r'\{"pixKey": "pixconf-[a-z]{8}\\ud800"\}'),
    ],
    ids=["a sign", "letters and digits behind the prefix", "a text of a certain length", "half of a surrogate pair"],
)
def test_another_key_has_the_same_form(body, pattern):
    """Random letters follow the prefix `pixconf-`: they replace letters and digits, or are added."""
    another_body = body_with_another_key(body)

    assert re.fullmatch(pattern, another_body.decode())
    assert another_body != body_with_another_key(body)


@pytest.mark.parametrize("body", [b'{"pixKey": "a@b.example"}', b'{"pixKey": 1}', b"[]", b"{", b""])
def test_there_is_no_other_key_for_a_key_that_is_not_made_up(body):
    """Only a key with the prefix `pixconf-` is replaced: any other one may belong to somebody."""
    assert body_with_another_key(body) is None
