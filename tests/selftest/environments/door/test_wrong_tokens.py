"""Wrong tokens look like the right one and belong to no one: how they are made, spelled and distributed."""

import json
import re
from base64 import b64decode, b64encode
from difflib import SequenceMatcher

import pytest

from environments.door.wrong_tokens import (
    ANOTHER,
    FORMS,
    FORMS_FOR_SYNTHETIC_IDENTIFIERS,
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
from tests.selftest.services.signed import CLAIMS, SignsItsToken, base64url_decoded
from tests.traffic.refused_credentials import rows_for_code

SIGNED = SignsItsToken().token
TEXT = "kJ8_x2Qw-Zp4Lt7VbN3mRc9Hd5Fs1Gy6TuEoXiAaBWq"
UUID_4 = "f47ac10b-58cc-4372-a567-0e02b2c3d479"
HEX = "9f86d081884c7d659a2feaa0c55ad015"
TOKENS = {"signed": SIGNED, "text": TEXT, "UUID": UUID_4, "hexadecimal": HEX}
NAMES = [form.name for form in FORMS]
each_token = pytest.mark.parametrize("token", TOKENS.values(), ids=TOKENS)


# -- the forms ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [30, 31, 32])
def test_a_wrong_text_decodes_to_other_bytes(length):
    """Libraries that read base64 leniently, without padding or with a character too many, get other bytes, too."""
    data = bytes(range(200, 200 + length))
    made = wrong_tokens(b64encode(data).decode())
    texts = {made[form.name].partition("=")[0] for form in FORMS if form.name in made}
    texts_without_spare_character = [text[:-1] if len(text) % 4 == 1 else text for text in texts]

    assert len(texts) == 6
    assert data not in [b64decode(text + "=" * (-len(text) % 4)) for text in texts_without_spare_character]


def test_a_wrong_hexadecimal_token_is_another_number():
    """A reader that stops at the first other character gets another number, too.

    Letter case means nothing in it, so that form is left out.
    """
    tokens_with_letter_case = [
        name for name, token in TOKENS.items() if "the token in another letter case" in wrong_tokens(token)
    ]

    assert HEX not in [re.match("[0-9a-f]*", wrong)[0] for wrong in wrong_tokens(HEX).values()]
    assert tokens_with_letter_case == ["signed", "text"]


def test_a_form_that_a_new_token_does_not_have_is_another_token():
    """A token that was fetched again may be unsigned, so that a form of signed tokens does not exist for it."""
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
def test_a_wrong_signed_token_has_only_the_flaws_of_its_name(name, flaws, claims):
    """The flaws are the checks of a service that the token fails.

    All claims but the named one are those of the right token.
    """
    wrong_token = wrong_tokens(SIGNED)[name]

    assert SignsItsToken().flaws_of(wrong_token) == flaws
    assert json.loads(base64url_decoded(signed_parts(wrong_token)[1])) == {**CLAIMS, **claims}


@each_token
def test_wrong_tokens_are_always_the_same_and_hide_the_right_one(token):
    """Wrong tokens are computed from the token, and differ from it in more than blanks."""
    wrong = dict(wrong_tokens(token))
    wrong_tokens.cache_clear()

    assert wrong_tokens(token) == wrong
    assert token not in {wrong_token.strip() for wrong_token in wrong.values()}
    assert all(re.fullmatch("[!-~]*", wrong_token) for wrong_token in wrong.values())


@each_token
def test_a_form_that_is_not_restorable_lacks_sixteen_characters_of_the_token(token):
    """Pieces of the token with four characters or more count as shown."""
    characters_shown = {}
    for form in (*FORMS, *FORMS_FOR_SYNTHETIC_IDENTIFIERS):
        blocks = SequenceMatcher(None, authorization(form.name, token), token, autojunk=False).get_matching_blocks()
        characters_shown[form.name] = sum(block.size for block in blocks if block.size > 3)

    assert not [name for name in set(characters_shown) - RESTORABLE if characters_shown[name] > len(token) - 16]


@pytest.mark.parametrize(
    "token", ["test", "15-characters..", "Tok-3n.Of_The-0", f"{SIGNED.rpartition('.')[0]}.c2hvcnQ"]
)
def test_the_wrong_token_for_a_short_token_is_random(token):
    """A wrong token that is made from a short token, or from one with a short signature, would nearly show it.

    The random one has 128 bits.
    """
    assert re.fullmatch(f"{MARK}[0-9a-f]{{32}}", wrong_tokens(token)[ANOTHER])
    assert "the token without a signature (none)" not in wrong_tokens(token)


class SignsWithAWord(SignsItsToken):
    """Signs tokens with a key that anybody may guess."""

    KEY = b"secret"


def test_a_token_that_is_signed_with_a_common_word_lacks_that_form():
    """Signing with the same word would make a right token."""
    names = set(wrong_tokens(SignsWithAWord().token))
    forms_signed_with_that_key = {
        "a token signed with the key secret",
        "an expired token, signed anew with the key secret",
    }

    assert forms_signed_with_that_key <= set(wrong_tokens(SIGNED))
    assert not forms_signed_with_that_key & names
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
    """The signature fits the key, and the claims are those of the right token except for what the name says."""

    class SignsAnew(SignsItsToken):
        KEY = key

    wrong = wrong_tokens(SIGNED)[name]
    claims_for_unsigned_token = json.loads(base64url_decoded(signed_parts(wrong_tokens(TEXT)[name])[1]))

    assert "signature" not in SignsAnew().flaws_of(wrong)
    assert json.loads(base64url_decoded(signed_parts(wrong)[1])) == {**CLAIMS, **claims}
    assert MARK in claims_for_unsigned_token["iss"]


# -- the table ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("codes", [1, 2, 6, 60])
def test_each_code_gets_rows_of_the_table_of_wrong_tokens(codes):
    """Each row of the table goes with a code, and each code goes without a token as its second row."""
    table = rows(NAMES, has_a_body=False)
    rows_by_code = [rows_for_code(table, turn, codes) for turn in range(codes)]

    assert set().union(*rows_by_code) == set(table)
    assert all(rows_of_code[1].credential == NO_HEADER for rows_of_code in rows_by_code)
    assert rows_by_code[0][0] == (ANOTHER, ())


@each_token
@pytest.mark.parametrize("has_a_body", [True, False])
def test_each_wrong_token_is_sent_in_the_usual_spelling_first(has_a_body, token):
    """A service that refuses an unusual spelling of the header would hide what it does with the token."""
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
    """Wrong tokens to an operation stop after its second lock, so the run meets at most 12 locks (24 without that
    rule). The message lists the credentials that were tried.
    """
    service = LocksForSeconds()
    trial = try_in_memory(service)
    message = str(trial.rows["executePix.token.required"].message)

    assert trial.exit_status == 0
    assert service.locks <= 12
    assert message.startswith("credentials tried: ")
    lock_note = (
        "locks the caller out after wrong tokens (tried: no header, a wrong token (of a JWT: another signature), "
    )
    assert [note for note in trial.notes if lock_note in note] != []
