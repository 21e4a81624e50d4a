"""Wrong tokens look like the valid token and belong to nobody. A service must refuse each of them.

These tests are about how a wrong token is made from the valid one, which is also called the right one; about the table
of wrong tokens and spellings of the request, whose rows are tried one after the other; and about when the run stops.
"""

import json
import re
from base64 import b64decode, b64encode
from difflib import SequenceMatcher

import pytest

from environments.door.wrong_tokens import (
    FORMS,
    FORMS_FOR_SYNTHETIC_IDENTIFIERS,
    NO_HEADER,
    RESTORABLE,
    WRONG_TOKEN,
    authorization,
    permitted_forms,
    signed_parts,
    table_of_unauthorized_requests,
    wrong_tokens,
)
from environments.profiles.loading import load
from spec.interface import SYNTHETIC_PREFIX
from tests.selftest.proof.directly import try_in_memory
from tests.selftest.proof.variants.lawful_trouble import LocksCallersOut
from tests.selftest.services.signed import CLAIMS, SignsItsToken, base64url_decoded
from tests.traffic.refused_credentials import unauthorized_requests_for_code

# four valid tokens of different sorts
SIGNED = SignsItsToken().token
TEXT = "kJ8_x2Qw-Zp4Lt7VbN3mRc9Hd5Fs1Gy6TuEoXiAaBWq"
UUID_4 = "f47ac10b-58cc-4372-a567-0e02b2c3d479"
HEX = "9f86d081884c7d659a2feaa0c55ad015"
TOKENS = {"signed": SIGNED, "text": TEXT, "UUID": UUID_4, "hexadecimal": HEX}
NAMES = [form.name for form in FORMS]
each_token = pytest.mark.parametrize("token", TOKENS.values(), ids=TOKENS)


# -- the forms ------------------------------------------------------------------------------------------------------


def base64_decoded_leniently(text):
    """The bytes of a text in base64, as a lenient library reads it.

    It ignores everything behind the padding, and padding that is missing. A single character after whole groups of four
    holds fewer than 8 bits, so it is ignored, too.
    """
    characters = text.partition("=")[0]
    if len(characters) % 4 == 1:
        characters = characters[:-1]
    padding = "=" * (-len(characters) % 4)
    return b64decode(characters + padding)


@pytest.mark.parametrize("length", [30, 31, 32], ids=["no padding", "padding ==", "padding ="])
def test_a_wrong_token_in_base64_decodes_to_other_bytes_than_the_right_one(length):
    """The valid token is bytes in base64. Even a lenient decoder does not get its bytes from any wrong token."""
    right_bytes = bytes(range(200, 200 + length))
    right_token = b64encode(right_bytes).decode()
    wrong_tokens_by_form = wrong_tokens(right_token)
    tokens_made_from_it = {wrong_tokens_by_form[form.name] for form in FORMS if form.name in wrong_tokens_by_form}

    # another text, cut short, lengthened, in another letter case, backwards, with a character before it
    assert len(tokens_made_from_it) == 6
    assert right_bytes not in [base64_decoded_leniently(wrong_token) for wrong_token in tokens_made_from_it]


def test_a_wrong_hexadecimal_token_is_another_number():
    """Even a service that reads a token only up to the first character that is no digit gets another number."""
    numbers_read = [re.match("[0-9a-f]*", wrong_token)[0] for wrong_token in wrong_tokens(HEX).values()]

    assert HEX not in numbers_read


def test_a_hexadecimal_token_has_no_wrong_token_in_another_letter_case():
    """AB and ab are the same hexadecimal number, so a service may accept both. The same is true for a UUID."""
    tokens_with_that_form = [
        name for name, token in TOKENS.items() if "the token in another letter case" in wrong_tokens(token)
    ]

    assert tokens_with_that_form == ["signed", "text"]


def test_a_form_for_signed_tokens_becomes_another_text_if_the_token_is_not_signed():
    """The forms are chosen for the first token of a run, and a token that is fetched later may not be signed.

    Then there is no exp that could be changed, and the header has the wrong token that every token has.
    """
    name = "the token with an expired exp"

    assert authorization(name, TEXT) == f"Bearer {wrong_tokens(TEXT)[WRONG_TOKEN]}"


def test_an_unknown_form_is_a_key_error():
    """Only a misspelled name in the suite can be unknown."""
    with pytest.raises(KeyError):
        authorization("no such name", TEXT)


@pytest.mark.parametrize(
    ("name", "flaws", "claims"),
    [
        (WRONG_TOKEN, {"signature"}, {}),
        ("the token without a signature (none)", {"algorithm", "signature"}, {}),
        ("the token without its signature", {"signature"}, {}),
        ("the token with an expired exp", {"signature", "exp"}, {"exp": 1_000_000_000}),
        ("the token of another subject", {"signature", "sub"}, {"sub": f"{SYNTHETIC_PREFIX}subject"}),
    ],
)
def test_a_wrong_signed_token_has_only_the_flaws_of_its_name(name, flaws, claims):
    """A wrong token that is made from a signed one fails only the checks that its name tells.

    `flaws` are these checks of a service: the algorithm, the signature, and the claims exp and sub. `claims` are the
    claims that differ from those of the right token.
    """
    wrong_token = wrong_tokens(SIGNED)[name]

    assert SignsItsToken().flaws_of(wrong_token) == flaws
    assert claims_of(wrong_token) == {**CLAIMS, **claims}


@each_token
def test_a_token_always_has_the_same_wrong_tokens(token):
    """They are computed from the token alone, so that a report can recognise and hide all of them."""
    first_wrong_tokens = dict(wrong_tokens(token))
    wrong_tokens.cache_clear()

    assert wrong_tokens(token) == first_wrong_tokens


@each_token
def test_no_wrong_token_is_the_right_one_between_blanks(token):
    """Each wrong token has visible ASCII characters alone, as a header may have, and is not the right token."""
    all_wrong_tokens = wrong_tokens(token).values()

    assert token not in {wrong_token.strip() for wrong_token in all_wrong_tokens}
    # from ! to ~ are all visible characters of ASCII
    assert [wrong_token for wrong_token in all_wrong_tokens if not re.fullmatch("[!-~]*", wrong_token)] == []


@each_token
def test_a_form_that_is_not_restorable_lacks_sixteen_characters_of_the_token(token):
    """Nobody can guess 16 characters, so nobody can restore the right token from such a wrong one.

    The forms in RESTORABLE are the exception: they are sent only with the permission `fuzz`.
    """
    characters_shown = {}
    for form in (*FORMS, *FORMS_FOR_SYNTHETIC_IDENTIFIERS):
        blocks = SequenceMatcher(None, authorization(form.name, token), token, autojunk=False).get_matching_blocks()
        # a choice: up to three equal characters in a row may be chance
        characters_shown[form.name] = sum(block.size for block in blocks if block.size > 3)
    names_of_unrestorable_forms = set(characters_shown) - RESTORABLE

    assert [name for name in names_of_unrestorable_forms if characters_shown[name] > len(token) - 16] == []


@pytest.mark.parametrize(
    "token", ["test", "15-characters..", "Tok-3n.Of_The-0", f"{SIGNED.rpartition('.')[0]}.c2hvcnQ"]
)
def test_the_wrong_token_for_a_short_token_is_random(token):
    """A wrong token that is made from a short token, or from one with a short signature, would nearly show it.

    The random one has 128 bits.
    """
    assert re.fullmatch(f"{SYNTHETIC_PREFIX}[0-9a-f]{{32}}", wrong_tokens(token)[WRONG_TOKEN])
    assert "the token without a signature (none)" not in wrong_tokens(token)


def claims_of(token):
    """The claims of a signed token: its second part, as JSON."""
    return json.loads(base64url_decoded(signed_parts(token)[1]))


class SignsWithAWord(SignsItsToken):
    """Signs tokens with a key that anybody may guess."""

    KEY = b"secret"


def test_no_wrong_token_is_signed_with_the_key_of_the_right_one():
    """The valid token is signed with the key `secret`, so a token that the suite signs with that word would be valid.

    Other forms that the suite signs itself stay.
    """
    names = set(wrong_tokens(SignsWithAWord().token))
    forms_signed_with_that_key = {
        "a token signed with the key secret",
        "an expired token, signed anew with the key secret",
    }

    assert forms_signed_with_that_key <= set(wrong_tokens(SIGNED))
    assert not forms_signed_with_that_key & names
    assert "a token with another key id, signed with an empty key" in names


RESIGNED_TOKENS = [
    ("a token with another key id, signed with an empty key", b"", {}),
    ("a token signed with the key secret", b"secret", {}),
    ("a token of another user, signed with an empty key", b"", {"sub": f"{SYNTHETIC_PREFIX}subject"}),
    ("an expired token, signed anew with the key secret", b"secret", {"exp": 1_000_000_000}),
]
"""The wrong tokens that the suite signs itself: name of the form, key of the signature, and claims that it changes."""
FORMS_THAT_THE_SUITE_SIGNS = [name for name, _, _ in RESIGNED_TOKENS]


@pytest.mark.parametrize(("name", "key", "claims_that_differ"), RESIGNED_TOKENS)
def test_a_resigned_token_differs_in_the_named_claim_alone(name, key, claims_that_differ):
    """The suite signs a wrong token itself, with a key that anybody may guess.

    A service with that key finds the signature valid. All claims but the named one are those of the right token.
    """

    class ServiceWithThatKey(SignsItsToken):
        KEY = key

    resigned_token = wrong_tokens(SIGNED)[name]

    assert "signature" not in ServiceWithThatKey().flaws_of(resigned_token)
    assert claims_of(resigned_token) == {**CLAIMS, **claims_that_differ}


@pytest.mark.parametrize("name", FORMS_THAT_THE_SUITE_SIGNS)
def test_a_token_that_is_signed_for_an_unsigned_one_has_a_made_up_issuer(name):
    """If the valid token is no signed token, there are no claims to copy. The issuer is marked as one of the suite."""
    assert SYNTHETIC_PREFIX in claims_of(wrong_tokens(TEXT)[name])["iss"]


# -- the table ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number_of_codes", [1, 2, 6, 60])
def test_the_rows_of_the_table_of_wrong_tokens_are_divided_among_the_codes(number_of_codes):
    """Each row is sent with some code, whatever the number of codes.

    The first request with a code has a wrong token, and the second one has none. The very first one has the form of
    wrong token that every token has, in the documented spelling.
    """
    table = table_of_unauthorized_requests(NAMES, has_a_body=False)
    rows_by_code = [unauthorized_requests_for_code(table, index, number_of_codes) for index in range(number_of_codes)]

    assert set().union(*rows_by_code) == set(table)
    assert NO_HEADER not in [rows_of_code[0].credential for rows_of_code in rows_by_code]
    assert {rows_of_code[1].credential for rows_of_code in rows_by_code} == {NO_HEADER}
    assert rows_by_code[0][0] == (WRONG_TOKEN, ())


@each_token
@pytest.mark.parametrize("has_a_body", [True, False])
def test_each_wrong_token_is_sent_in_the_usual_spelling_first(has_a_body, token):
    """A service that refuses an unusual spelling of the header would hide what it does with the token."""
    names = [form.name for form in permitted_forms(load("sandbox"), token)]
    requests_with_a_token = [
        request
        for request in table_of_unauthorized_requests(names, has_a_body=has_a_body)
        if request.credential != NO_HEADER
    ]
    first_rows = requests_with_a_token[: len(names)]
    spellings_of_next_rows = [row.spelling for row in requests_with_a_token[len(names) :][:3]]

    assert first_rows == [(name, ()) for name in names]  # an empty tuple is the documented spelling
    # the likeliest unusual spellings come next
    assert spellings_of_next_rows == [("the scheme bearer",), ("the scheme BEARER",), ("two spaces behind the scheme",)]


# -- when the run stops ----------------------------------------------------------------------------------------------


class LocksForSeconds(LocksCallersOut):
    """After three wrong tokens the service refuses every request for five seconds. It counts these lock-outs."""

    SECONDS = 5

    locks = 0

    def count(self, scope, locked):
        """Count a wrong token, and a lock-out if this token began one."""
        super().count(scope, locked)
        # the third wrong token resets the number of wrong tokens to 0
        lock_out_began = not locked and self.wrong[scope] == 0
        if lock_out_began:
            self.locks += 1


def test_after_the_second_lock_no_further_wrong_token_is_sent():
    """No wrong token is sent to an operation after the service locked the caller out twice because of it.

    So there are at most 12 lock-outs in the run; without that rule there were 24. A note says that the service locks
    callers out, and the message of the requirement lists the credentials that were tried until then.
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
