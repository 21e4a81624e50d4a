"""Wrong tokens look like the right one and belong to no one: how they are made, spelled and distributed."""

import json
import re
from base64 import b64decode, b64encode
from difflib import SequenceMatcher

import pytest

from environments.door.wrong_tokens import (
    ANOTHER,
    FORMS,
    FORMS_FOR_NOBODY,
    NO_HEADER,
    RESTORABLE,
    authorization,
    forms,
    rows,
    signed_parts,
    wrong_tokens,
)
from environments.profiles.loading import load
from spec.interface import MARK
from tests.selftest.proof.directly import try_in_memory
from tests.selftest.proof.variants.lawful_trouble import LocksCallersOut
from tests.selftest.services.signed import CLAIMS, Signing, decoded
from tests.traffic.refused_credentials import rows_for_code

SIGNED = Signing().token
TEXT = "kJ8_x2Qw-Zp4Lt7VbN3mRc9Hd5Fs1Gy6TuEoXiAaBWq"
UUID_4 = "f47ac10b-58cc-4372-a567-0e02b2c3d479"
HEX = "9f86d081884c7d659a2feaa0c55ad015"
TOKENS = {"signed": SIGNED, "text": TEXT, "UUID": UUID_4, "hexadecimal": HEX}
NAMES = [form.name for form in FORMS]
each_token = pytest.mark.parametrize("token", TOKENS.values(), ids=TOKENS)


# -- the forms ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [30, 31, 32])
def test_a_wrong_text_decodes_to_other_bytes(length):
    """Also for those who leave out padding of base64, what stands behind it, and a character too many."""
    data = bytes(range(200, 200 + length))
    made = wrong_tokens(b64encode(data).decode())
    texts = {made[form.name].partition("=")[0] for form in FORMS if form.name in made}
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
    name = "the token with an expired exp"

    assert authorization(name, TEXT) == f"Bearer {wrong_tokens(TEXT)[ANOTHER]}"
    with pytest.raises(KeyError):
        authorization("no such name", TEXT)


@pytest.mark.parametrize(
    ("name", "flaws", "claims"),
    [
        (ANOTHER, {"signature"}, {}),
        ("the token without a signature (none)", {"algorithm", "signature"}, {}),
        ("the token without its signature", {"signature"}, {}),
        ("the token with an expired exp", {"signature", "exp"}, {"exp": 1_000_000_000}),
        ("the token of another subject", {"signature", "sub"}, {"sub": f"{MARK}subject"}),
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
    for form in (*FORMS, *FORMS_FOR_NOBODY):
        blocks = SequenceMatcher(None, authorization(form.name, token), token, autojunk=False).get_matching_blocks()
        told[form.name] = sum(block.size for block in blocks if block.size > 3)

    assert not [name for name in set(told) - RESTORABLE if told[name] > len(token) - 16]


@pytest.mark.parametrize(
    "token", ["test", "15-characters..", "Tok-3n.Of_The-0", f"{SIGNED.rpartition('.')[0]}.c2hvcnQ"]
)
def test_another_token_has_nothing_of_a_short_one(token):
    """Nor of one with a short signature, which would tell nearly all of it: it is random, with 128 bits."""
    assert re.fullmatch(f"{MARK}[0-9a-f]{{32}}", wrong_tokens(token)[ANOTHER])
    assert "the token without a signature (none)" not in wrong_tokens(token)


class SignsWithAWord(Signing):
    """Signs tokens with a key that anybody may guess."""

    KEY = b"secret"


def test_a_token_that_is_signed_with_a_word_is_not_signed_so_again():
    """The suite would make a right token: who accepts that lets in nobody who has a wrong one."""
    names = set(wrong_tokens(SignsWithAWord().token))
    signed_with_it = {"a token signed with the key secret", "an expired token, signed anew with the key secret"}

    assert signed_with_it <= set(wrong_tokens(SIGNED))
    assert not signed_with_it & names
    assert "a token with another key id, signed with an empty key" in names


@pytest.mark.parametrize(
    ("name", "key", "claims"),
    [
        ("a token with another key id, signed with an empty key", b"", {}),
        ("a token signed with the key secret", b"secret", {}),
        ("a token of another user, signed with an empty key", b"", {"sub": f"{MARK}subject"}),
        ("an expired token, signed anew with the key secret", b"secret", {"exp": 1_000_000_000}),
    ],
)
def test_a_token_that_the_suite_signs_is_right_for_whoever_has_that_key(name, key, claims):
    """Its signature fits, and its claims are those of the right token, but for what its name says."""

    class SignsAnew(Signing):
        KEY = key

    wrong = wrong_tokens(SIGNED)[name]
    of_another = json.loads(decoded(signed_parts(wrong_tokens(TEXT)[name])[1]))

    assert "signature" not in SignsAnew().flaws_of(wrong)
    assert json.loads(decoded(signed_parts(wrong)[1])) == {**CLAIMS, **claims}
    assert MARK in of_another["iss"]


# -- the table ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("codes", [1, 2, 6, 60])
def test_the_table_is_dealt_to_the_codes(codes):
    """None is left out, and each code is offered without a token, too, right behind the first row."""
    table = rows(NAMES, has_a_body=False)
    dealt = [rows_for_code(table, turn, codes) for turn in range(codes)]

    assert {row for some in dealt for row in some} == set(table)
    assert all(some[1].credential == NO_HEADER for some in dealt)
    assert dealt[0][0] == (ANOTHER, ())


@each_token
@pytest.mark.parametrize("has_a_body", [True, False])
def test_each_form_goes_as_documented_before_any_goes_in_a_way(has_a_body, token):
    """A service that refuses the way for what it is hides no form."""
    names = [form.name for form in forms(load("sandbox"), token)]
    table = [row for row in rows(names, has_a_body=has_a_body) if row.credential != NO_HEADER]

    assert table[: len(names)] == [(name, ()) for name in names]
    assert table[len(names) + 2].written == ("two spaces behind the scheme",)


# -- what is sent of it ---------------------------------------------------------------------------------------------


class LocksForSeconds(LocksCallersOut):
    """Three wrong tokens lock the caller out for five seconds."""

    SECONDS = 5

    locks = 0

    def count(self, scope, locked):
        super().count(scope, locked)
        self.locks += not (locked or self.wrong[scope])


def test_after_the_second_lock_no_further_wrong_token_is_sent():
    """To the operation: the run meets 10 locks (it was 24), and the verdict says what was tried."""
    service = LocksForSeconds()
    trial = try_in_memory(service)
    message = str(trial.rows["executePix.token.required"].message)

    assert trial.exit_status == 0
    assert service.locks <= 12
    assert message.startswith("credentials tried: ")
    assert any(
        "locks the caller out after wrong tokens (tried: no header, a wrong token (of a JWT: another signature), "
        in note
        for note in trial.notes
    )
