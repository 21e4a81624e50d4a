"""Wrong tokens look like the right one and belong to no one: how they are made, spelled and distributed."""

import json
import re
from base64 import b64decode, b64encode
from difflib import SequenceMatcher

import pytest

from environments.door.wrong_tokens import (
    ANOTHER,
    FORMS,
    OTHER_SCHEMES,
    authorization,
    signed_parts,
    wrong_tokens,
)
from spec.exchange import VALID
from spec.interface import MARK
from tests.selftest.services.signed import CLAIMS, Signing, decoded
from tests.traffic.refused_credentials import of_code, of_keys

SIGNED = Signing().token
TEXT = "kJ8_x2Qw-Zp4Lt7VbN3mRc9Hd5Fs1Gy6TuEoXiAaBWq"
UUID_4 = "f47ac10b-58cc-4372-a567-0e02b2c3d479"
HEX = "9f86d081884c7d659a2feaa0c55ad015"
TOKENS = {"signed": SIGNED, "text": TEXT, "UUID": UUID_4, "hexadecimal": HEX}
NAMES = tuple(form.name for form in FORMS)
each_token = pytest.mark.parametrize("token", TOKENS.values(), ids=TOKENS)


# -- the forms ------------------------------------------------------------------------------------------------------


@each_token
def test_another_token_has_the_length_and_the_letters_of_the_right_one(token):
    """Each place has another letter or digit of its sort; punctuation stays. A signed token keeps header and claims."""
    another = wrong_tokens(token)[ANOTHER]

    assert len(another) == len(token)
    if token == SIGNED:
        assert another.rpartition(".")[0] == token.rpartition(".")[0]
        return
    kept = [left for left, right in zip(token, another, strict=True) if left == right]
    assert not [character for character in kept if character.isalnum()]
    assert [str.isdigit(each) for each in another] == [str.isdigit(each) for each in token]
    assert [str.isupper(each) for each in another] == [str.isupper(each) for each in token]


@pytest.mark.parametrize("length", [30, 31, 32])
def test_a_wrong_text_decodes_to_other_bytes(length):
    """Also for those who leave out padding of base64, what stands behind it, and a character too many."""
    data = bytes(range(200, 200 + length))
    texts = {other.partition("=")[0] for other in wrong_tokens(b64encode(data).decode()).values()}
    whole = [text[:-1] if len(text) % 4 == 1 else text for text in texts]

    assert len(texts) == 6
    assert data not in [b64decode(text + "=" * (-len(text) % 4)) for text in whole]


def test_a_wrong_hexadecimal_token_is_another_number():
    """Also for those who stop at what is no hexadecimal digit. Letter case says nothing in it, and is not tried."""
    cased = [name for name, token in TOKENS.items() if "the token in another letter case" in wrong_tokens(token)]

    assert HEX not in [re.match("[0-9a-f]*", other)[0] for other in wrong_tokens(HEX).values()]
    assert cased == ["signed", "text"]


def test_a_form_that_a_new_token_does_not_have_is_another_token():
    """A token that was fetched again may be easier to guess than the first one, or no signed one."""
    name = "the token with another bit in its signature"

    assert authorization(name, TEXT) == f"Bearer {wrong_tokens(TEXT)[ANOTHER]}"
    with pytest.raises(KeyError):
        authorization("no such name", TEXT)


@pytest.mark.parametrize(
    ("name", "flaws", "claims"),
    [
        (ANOTHER, {"signature"}, {}),
        ("the token with another bit in its signature", {"signature"}, {}),
        ("the token without a signature (none)", {"algorithm", "signature"}, {}),
        ("the token with an expired exp", {"signature", "exp"}, {"exp": 1_000_000_000}),
        ("the token with an nbf in the future", {"signature", "nbf"}, {"nbf": 4_102_444_800}),
        ("the token of another subject", {"signature", "sub"}, {"sub": f"{MARK}subject"}),
        (
            "the expired token of another subject",
            {"signature", "exp", "sub"},
            {"exp": 1_000_000_000, "sub": f"{MARK}subject"},
        ),
    ],
)
def test_a_signed_token_is_wrong_in_just_what_its_name_says(name, flaws, claims):
    """A service that checks nothing else than that takes it for a wrong one; all other claims are as they were."""
    wrong = wrong_tokens(SIGNED)[name]

    assert Signing().flaws_of(wrong) == flaws
    assert json.loads(decoded(signed_parts(wrong)[1])) == {**CLAIMS, **claims}


@each_token
def test_wrong_tokens_are_always_the_same_and_hide_the_right_one(token):
    """They follow from the token, and differ from it in more than blanks."""
    wrong = dict(wrong_tokens(token))
    wrong_tokens.cache_clear()

    assert wrong_tokens(token) == wrong
    assert token not in {each.strip() for each in wrong.values()}
    assert all(each.isascii() and each.isprintable() and " " not in each for each in wrong.values())


@each_token
def test_a_form_that_is_not_restorable_lacks_sixteen_characters_of_the_token(token):
    """Pieces of four characters or more count as those of the token."""
    told = {}
    for form in FORMS:
        blocks = SequenceMatcher(None, authorization(form.name, token), token, autojunk=False).get_matching_blocks()
        told[form.name] = sum(block.size for block in blocks if block.size > 3)

    assert not [form.name for form in FORMS if not form.restorable and told[form.name] > len(token) - 16]


@pytest.mark.parametrize(
    "token", ["test", "15-characters..", "Tok-3n.Of_The-0", f"{SIGNED.rpartition('.')[0]}.c2hvcnQ"]
)
def test_another_token_has_nothing_of_a_short_one(token):
    """Nor of one with a short signature, which would tell nearly all of it: it is random, with 128 bits."""
    assert re.fullmatch(f"{MARK}[0-9a-f]{{32}}", wrong_tokens(token)[ANOTHER])
    assert "the token without a signature (none)" not in wrong_tokens(token)


def test_the_scheme_is_spelled_as_the_standard_permits():
    """In any letter case, with one space or more behind it. The token itself may stand under another scheme."""
    spelled = {authorization(name, TEXT).partition(wrong_tokens(TEXT)[ANOTHER])[0] for name in NAMES if ANOTHER in name}

    assert spelled == {"Bearer ", "bearer ", "BEARER ", "Bearer  "}
    assert [authorization(form.name, TEXT) for form in OTHER_SCHEMES] == [TEXT, f"Token {TEXT}"]
    assert (authorization("an empty bearer", TEXT), authorization(VALID, TEXT)) == ("Bearer", f"Bearer {TEXT}")


# -- dealt to codes and keys ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("codes", [1, 2, 6, 60])
def test_the_wrong_tokens_are_dealt_to_the_codes(codes):
    """None is left out, and no code goes without a request without a token. ANOTHER goes with as many as it may."""
    dealt = [of_code(NAMES, turn, codes, spare=5) for turn in range(codes)]
    wrong = [name for names in dealt for name in names if name != "no header"]

    assert set(wrong) == set(NAMES)
    assert wrong.count(ANOTHER) == min(codes, 6)
    assert len(wrong) == len(NAMES) + min(codes, 6) - 1
    assert all(names.count("no header") == 1 for names in dealt)


def test_the_wrong_tokens_are_dealt_to_the_keys():
    """Right after the first registration goes ANOTHER, then no header."""
    assert of_keys(NAMES)[:2] == [ANOTHER, "no header"]
    assert sorted(of_keys(NAMES)) == sorted([*NAMES, "no header"])
