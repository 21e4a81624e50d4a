"""Wrong tokens look like the valid token and belong to nobody. A service must refuse each of them.

These tests are about how a wrong token is made from the valid one, which is also called the right one; about the table
of wrong tokens and spellings of the request, whose rows are tried one after the other; and about when the run stops.
"""

import json
import re
from base64 import b64decode, b64encode
from collections import Counter
from difflib import SequenceMatcher

import pytest
import requests

from environments.door.wrong_tokens import (
    FORMS,
    FORMS_FOR_SYNTHETIC_IDENTIFIERS,
    NO_HEADER,
    RESTORABLE_FORMS,
    WRONG_TOKEN,
    authorization,
    permitted_credential_forms,
    signed_parts,
    table_of_unauthorized_requests,
    write_in_way,
    wrong_tokens,
)
from environments.profiles.loading import load
from spec.interface import SYNTHETIC_PREFIX
from tests.selftest.proof.directly import try_in_memory
from tests.selftest.proof.variants.conforming_trouble import LocksCallersOut
from tests.selftest.services.signed import CLAIMS, SignsItsToken, base64url_decoded
from tests.traffic.refused_credentials import unauthorized_requests_for_code

# four valid tokens of different sorts; a signed one is a JWT (JSON Web Token)
SIGNED = SignsItsToken().token
TEXT = "kJ8_x2Qw-Zp4Lt7VbN3mRc9Hd5Fs1Gy6TuEoXiAaBWq"
UUID_4 = "f47ac10b-58cc-4372-a567-0e02b2c3d479"
HEX = "9f86d081884c7d659a2feaa0c55ad015"
TOKENS = {"signed": SIGNED, "text": TEXT, "UUID": UUID_4, "hexadecimal": HEX}
NAMES_OF_FORMS = [form.name for form in FORMS]
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
    """The valid token is some bytes in base64. Six wrong tokens are made from it.

    Even a lenient decoder, which ignores missing padding, gets other bytes from each of them.
    """
    right_bytes = bytes(range(200, 200 + length))
    right_token = b64encode(right_bytes).decode()
    wrong_tokens_by_form = wrong_tokens(right_token)
    tokens_made_from_it = {wrong_tokens_by_form[form.name] for form in FORMS if form.name in wrong_tokens_by_form}

    # another text, cut short, lengthened, in another letter case, backwards, with a character before it
    assert len(tokens_made_from_it) == 6
    assert right_bytes not in [base64_decoded_leniently(wrong_token) for wrong_token in tokens_made_from_it]


def test_a_wrong_hexadecimal_token_is_another_number():
    """The valid token is a hexadecimal number. A service may read a wrong one only up to the first character that is no
    digit.

    Even then it gets another number.
    """
    numbers_read = [re.match("[0-9a-f]*", wrong_token)[0] for wrong_token in wrong_tokens(HEX).values()]

    assert HEX not in numbers_read


def test_a_hexadecimal_token_has_no_wrong_token_in_another_letter_case():
    """AB and ab are the same hexadecimal number, so a service may accept both. The same is true for a UUID.

    For a signed token (a JWT) and for another text there is a wrong token in another letter case.
    """
    tokens_with_that_form = [
        name for name, token in TOKENS.items() if "the token in another letter case" in wrong_tokens(token)
    ]

    assert tokens_with_that_form == ["signed", "text"]


def test_a_form_for_signed_tokens_becomes_the_usual_wrong_token_if_the_token_is_not_signed():
    """A form says how a wrong token is made, here by changing the time of expiry (exp) in a signed token (a JWT).

    The forms are chosen for the first token of a run. A token that is fetched later may not be signed, so there is no
    exp to change. Then the header has the wrong token that is made from any token.
    """
    header = authorization("the token with an expired exp", TEXT)
    usual_wrong_token = wrong_tokens(TEXT)[WRONG_TOKEN]

    assert header == f"Bearer {usual_wrong_token}"


def test_an_unknown_form_is_a_key_error():
    """A form says how a wrong token is made. Its name comes from the suite alone, so an unknown one is a programming
    mistake.
    """
    with pytest.raises(KeyError):
        authorization("no such name", TEXT)


@pytest.mark.parametrize(
    ("name", "checks_that_fail", "changed_claims"),
    [
        (WRONG_TOKEN, {"signature"}, {}),
        ("the token without a signature (none)", {"algorithm", "signature"}, {}),
        ("the token without its signature", {"signature"}, {}),
        ("the token with an expired exp", {"signature", "exp"}, {"exp": 1_000_000_000}),
        ("the token of another subject", {"signature", "sub"}, {"sub": f"{SYNTHETIC_PREFIX}subject"}),
    ],
)
def test_a_wrong_signed_token_fails_only_the_checks_that_its_name_tells(name, checks_that_fail, changed_claims):
    """A wrong token that is made from a signed one (a JWT) fails only the checks of a service that its name tells.

    So a service that forgets these checks accepts it. They are about the algorithm, the signature, the time of expiry
    (exp) and the subject (sub). All other claims are those of the right token.
    """
    wrong_token = wrong_tokens(SIGNED)[name]

    assert SignsItsToken().flaws_of(wrong_token) == checks_that_fail
    assert claims_of(wrong_token) == {**CLAIMS, **changed_claims}


@each_token
def test_a_token_always_has_the_same_wrong_tokens(token):
    """Wrong tokens are computed from the valid token alone, so that a report can recognise and hide all of them.

    Here they are computed again after the cache was emptied.
    """
    first_wrong_tokens = dict(wrong_tokens(token))
    wrong_tokens.cache_clear()

    assert wrong_tokens(token) == first_wrong_tokens


@each_token
def test_no_wrong_token_is_the_right_one_between_blanks(token):
    """A service may ignore blanks around a token, so none of the wrong tokens is the right one without its blanks.

    Each has only visible characters of ASCII (from ! to ~), as a header may have.
    """
    all_wrong_tokens = wrong_tokens(token).values()
    without_blanks = {wrong_token.strip() for wrong_token in all_wrong_tokens}
    with_other_characters = [wrong_token for wrong_token in all_wrong_tokens if not re.fullmatch("[!-~]*", wrong_token)]

    assert token not in without_blanks
    assert with_other_characters == []


@each_token
def test_a_form_that_is_not_restorable_lacks_sixteen_characters_of_the_token(token):
    """A form says how a wrong token is made from the right one. Whoever sees a wrong token must not learn the right
    one.

    So at least 16 characters of the right token, which nobody can guess, are missing in a wrong one. The exception are
    the forms in RESTORABLE_FORMS, which are sent only with the permission `fuzz`.
    """
    names_of_forms = {form.name for form in (*FORMS, *FORMS_FOR_SYNTHETIC_IDENTIFIERS)} - RESTORABLE_FORMS
    forms_that_show_too_much = []
    for name in names_of_forms:
        missing_characters = len(token) - number_of_characters_shown(token, authorization(name, token))
        if missing_characters < 16:
            forms_that_show_too_much.append(name)

    assert forms_that_show_too_much == []


def number_of_characters_shown(token, header):
    """How many characters of a token a header shows, in pieces of four or more in a row.

    Shorter pieces may be equal by chance.
    """
    matcher = SequenceMatcher(None, header, token, autojunk=False)
    lengths_of_pieces = [block.size for block in matcher.get_matching_blocks()]
    return sum(length for length in lengths_of_pieces if length > 3)


@pytest.mark.parametrize(
    "token",
    ["test", "15-characters..", "Tok-3n.Of_The-0", f"{SIGNED.rpartition('.')[0]}.c2hvcnQ"],
    ids=["4 characters", "15 characters", "15 characters with two dots", "a signed token with a short signature"],
)
def test_the_wrong_token_for_a_short_token_is_random(token):
    """A wrong token that is made from a short token, or from one with a short signature, would nearly show it.

    So it is random instead, with 32 hexadecimal digits (128 bits). No form that keeps the claims is made, either.
    """
    tokens_by_form = wrong_tokens(token)

    assert re.fullmatch(f"{SYNTHETIC_PREFIX}[0-9a-f]{{32}}", tokens_by_form[WRONG_TOKEN])
    assert "the token without a signature (none)" not in tokens_by_form


def claims_of(token):
    """The claims of a signed token: its second part, as JSON."""
    return json.loads(base64url_decoded(signed_parts(token)[1]))


class SignsWithAWord(SignsItsToken):
    """Signs tokens with a key that anybody may guess."""

    KEY = b"secret"


def test_no_wrong_token_is_signed_with_the_key_of_the_right_one():
    """The suite signs some wrong tokens itself, with keys that anybody may guess.

    Here the valid token is signed with the key `secret`, so a token that the suite signs with that word would be valid.
    It is left out; a token that is signed with another key stays.
    """
    names = set(wrong_tokens(SignsWithAWord().token))
    forms_signed_with_that_key = {
        "a token signed with the key secret",
        "an expired token, signed anew with the key secret",
    }

    assert forms_signed_with_that_key <= set(wrong_tokens(SIGNED))  # this token is signed with another key
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
    """The suite signs a wrong token itself, with a key that anybody may guess, such as the word `secret`.

    A service with that key finds the signature valid. Except for the claim in its name, the token has the claims of the
    right token. For example an expired token has another time of expiry (exp).
    """

    class ServiceWithThatKey(SignsItsToken):
        KEY = key

    resigned_token = wrong_tokens(SIGNED)[name]

    assert "signature" not in ServiceWithThatKey().flaws_of(resigned_token)
    assert claims_of(resigned_token) == {**CLAIMS, **claims_that_differ}


@pytest.mark.parametrize("name", FORMS_THAT_THE_SUITE_SIGNS)
def test_a_token_that_is_signed_for_an_unsigned_one_has_a_made_up_issuer(name):
    """The suite signs a wrong token itself. If the valid token is not signed (no JWT), it has no claims to copy.

    So the suite makes up the issuer (iss), which has the prefix of everything that the suite makes up.
    """
    wrong_token = wrong_tokens(TEXT)[name]
    issuer = claims_of(wrong_token)["iss"]

    assert SYNTHETIC_PREFIX in issuer


# -- the table ------------------------------------------------------------------------------------------------------


def requests_by_code(table, number_of_codes):
    """For each of `number_of_codes` transaction codes, the requests with a wrong token or without one that execute it."""
    return [unauthorized_requests_for_code(table, index, number_of_codes) for index in range(number_of_codes)]


@pytest.mark.parametrize("number_of_codes", [1, 2, 6, 60])
def test_each_request_with_a_wrong_token_is_sent_with_some_code(number_of_codes):
    """A table has all requests that are sent with a wrong token or without one, one for each form of wrong token.

    They are divided among the transaction codes of the run, whatever their number, and none is left out.
    """
    table = table_of_unauthorized_requests(NAMES_OF_FORMS, has_a_body=False)
    requests_of_all_codes = set().union(*requests_by_code(table, number_of_codes))

    assert requests_of_all_codes == set(table)


@pytest.mark.parametrize("number_of_codes", [1, 2, 6, 60])
def test_each_code_is_sent_with_a_wrong_token_first_and_then_without_a_token(number_of_codes):
    """Before a code is executed, it is sent with a wrong token, and then without the header Authorization.

    The very first wrong token is the usual one, in the documented spelling of the header (an empty tuple).
    """
    table = table_of_unauthorized_requests(NAMES_OF_FORMS, has_a_body=False)
    requests_of_codes = requests_by_code(table, number_of_codes)
    first_credentials = [requests_of_code[0].credential for requests_of_code in requests_of_codes]
    second_credentials = [requests_of_code[1].credential for requests_of_code in requests_of_codes]
    very_first_request = requests_of_codes[0][0]

    assert very_first_request == (WRONG_TOKEN, ())
    assert NO_HEADER not in first_credentials
    assert set(second_credentials) == {NO_HEADER}


@each_token
@pytest.mark.parametrize("has_a_body", [True, False], ids=["requests with a body", "requests without a body"])
def test_each_wrong_token_is_sent_in_the_usual_spelling_first(has_a_body, token):
    """A table has all requests with a wrong token, in the order in which they are sent.

    First each wrong token is sent as `Authorization: Bearer …`, because a service that refuses another spelling would
    hide what it does with the token. The likeliest other spellings, such as `bearer`, come next.
    """
    names = [form.name for form in permitted_credential_forms(load("sandbox"), token)]
    table = table_of_unauthorized_requests(names, has_a_body=has_a_body)
    requests_with_a_token = [request for request in table if request.credential != NO_HEADER]
    first_requests = requests_with_a_token[: len(names)]
    spellings_of_later_requests = [request.spelling for request in requests_with_a_token[len(names) :]]

    assert first_requests == [(name, ()) for name in names]  # an empty tuple is the documented spelling
    assert spellings_of_later_requests[:3] == [
        ("the scheme bearer",),
        ("the scheme BEARER",),
        ("two spaces behind the scheme",),
    ]


def test_another_seed_sends_other_paths_first():
    """The limit of wrong tokens may have room for two ways to write a path: a slash at the end, and one by the seed.

    They come before the ways that keep the documented path, because only a real code shows their faults. Over some seeds
    each of them comes second.
    """
    second_ways = set()
    for seed in range(40):
        table = table_of_unauthorized_requests(NAMES_OF_FORMS, has_a_body=True, seed=seed)
        ways = [way for credential, spelling in table if credential == NO_HEADER for way in spelling]
        second_ways.add(ways[1])

        assert ways[0] == "a slash at the end"
        assert ways[-4:] == ["a query", "a chunked body", "HTTP/1.0", "another Accept"]

    assert second_ways == {
        "two slashes", "an encoded letter", "another letter case", "an encoded slash", "a dot segment", "a matrix parameter",
        "a file extension",
    }  # fmt: skip


def test_a_request_without_a_body_is_not_sent_in_chunks():
    """The way "a chunked body" changes nothing in a request without a body: a service would wait for the chunks."""
    request = requests.Request("GET", "https://bank.example/v1/accounts").prepare()
    headers_before = dict(request.headers)
    write_in_way(request, "a chunked body")

    assert dict(request.headers) == headers_before


# -- when the run stops ----------------------------------------------------------------------------------------------


class LocksOutForFiveSeconds(LocksCallersOut):
    """After three wrong tokens the service refuses every request for five seconds.

    `lock_outs` counts how often that happens, by the operation to which the third wrong token was sent.
    """

    SECONDS = 5

    def __init__(self):
        """A service that has locked out nobody."""
        super().__init__()
        self.lock_outs = Counter()

    def authorize(self, request, operation):
        """Check the token, and keep the operation for `count_wrong_token` meanwhile."""
        self._operation_of_request = operation
        super().authorize(request, operation)

    def count_wrong_token(self, scope, is_locked):
        """Count a wrong token, and a lock-out if this token began one."""
        super().count_wrong_token(scope, is_locked)
        # the third wrong token resets the number of wrong tokens to 0
        lock_out_began = not is_locked and self.wrong_tokens[scope] == 0
        if lock_out_began:
            self.lock_outs[self._operation_of_request] += 1


def test_after_the_second_lock_no_further_wrong_token_is_sent():
    """The service locks the caller out for five seconds after each third wrong token. The run notices that.

    No wrong token is sent to an operation after the service locked the caller out twice because of that operation. A
    note says that the service locks callers out, and the message of the requirement lists the credentials that were
    tried until then.
    """
    service = LocksOutForFiveSeconds()
    trial = try_in_memory(service)
    message = str(trial.results["executePix.token.required"].message)
    most_of_one_operation = 3  # two that the run notices, and one that its last wrong token may begin
    most_of_all = 12  # measured, as wrong tokens are sent to many operations; without that rule there are 49

    assert trial.exit_status == 0
    assert max(service.lock_outs.values()) <= most_of_one_operation
    assert service.lock_outs.total() <= most_of_all
    assert message.startswith("credentials tried: ")
    lock_note = (
        "locks the caller out after wrong tokens (tried: no header, a wrong token (of a JWT: another signature), "
    )
    assert [note for note in trial.notes if lock_note in note] != []
