"""Wrong tokens look like the right one and belong to no one: how they are made, spelled, counted and distributed."""

import re
from base64 import b64decode, b64encode, urlsafe_b64encode
from collections import Counter
from itertools import product
from random import Random
from uuid import UUID

import pytest

from environments.door.authorization import MOST_WRONG_TOKENS, SPELLINGS, authorization, wrong_credentials
from environments.door.tokens import LEAST_BITS, personal_claims, random_bits, signed_token
from environments.door.wrong_tokens import ANOTHER, NAMES, wrong_tokens
from environments.profiles.profile import PixKey
from spec.interface import MARK, operations_reached
from tests.selftest.services.running import run, write_profile
from tests.selftest.services.serving import Raw
from tests.selftest.services.signed import CLAIMS, Signing, decoded
from tests.traffic.refused_credentials import GUESSABLE, OF_AN_OPERATION, OfKeys, credentials_of, of_code

SIGNED = Signing().token
TEXT = "kJ8_x2Qw-Zp4Lt7VbN3mRc9Hd5Fs1Gy6TuEoXiAaBWq"
UUID_4 = "f47ac10b-58cc-4372-a567-0e02b2c3d479"
HEX = "9f86d081884c7d659a2feaa0c55ad015"
TOKENS = {"signed": SIGNED, "text": TEXT, "UUID": UUID_4, "hexadecimal": HEX}
OPERATIONS = ("executePix", "registerPixKey")
each_token = pytest.mark.parametrize("token", TOKENS.values(), ids=TOKENS)


class SigningLonger(Signing):
    """Its signature is a whole number of groups of base64."""

    ALGORITHM = "HS384"


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
    assert [character for character in kept if character.isalnum()] in ([], ["4", "a"])
    assert [str.isdigit(each) for each in another] == [str.isdigit(each) for each in token]
    assert [str.isupper(each) for each in another] == [str.isupper(each) for each in token]


def test_another_uuid_has_the_same_version():
    """Version and variant stay, all else is another."""
    another = UUID(wrong_tokens(UUID_4)[ANOTHER])

    assert (another.version, another.variant) == (4, UUID(UUID_4).variant)
    assert another != UUID(UUID_4)


def test_a_hexadecimal_token_and_a_uuid_are_not_tried_in_another_letter_case():
    """Letter case says nothing in them."""
    with_letter_case = [
        name for name, token in TOKENS.items() if "the token in another letter case" in wrong_tokens(token)
    ]

    assert with_letter_case == ["signed", "text"]


@pytest.mark.parametrize("make", [Signing, SigningLonger])
def test_a_wrong_signature_decodes_to_other_bytes(make):
    """Also for those who leave out spare bits, and a single character behind whole groups of four."""
    token = make().token
    wrong = wrong_tokens(token)
    head, _, signature = token.rpartition(".")
    signatures = [other.rpartition(".")[2] for other in wrong.values() if other.rpartition(".")[0] == head]

    assert len(signatures) == 5
    assert decoded(signature) not in [decoded(other) for other in signatures]


@pytest.mark.parametrize("length", [30, 31, 32])
def test_a_wrong_text_decodes_to_other_bytes(length):
    """Also for those who leave out padding of base64, what stands behind it, and a character too many."""
    data = bytes(range(200, 200 + length))
    token = b64encode(data).decode()
    texts = [other.partition("=")[0] for other in wrong_tokens(token).values()]
    whole = [text[:-1] if len(text) % 4 == 1 else text for text in texts]

    assert len(texts) == 6
    assert data not in [b64decode(text + "=" * (-len(text) % 4)) for text in whole]


def test_a_wrong_hexadecimal_token_is_another_number():
    """Also for those who stop at what is no hexadecimal digit."""
    assert HEX not in [re.match("[0-9a-f]*", other)[0] for other in wrong_tokens(HEX).values()]


def test_a_form_that_a_new_token_does_not_have_is_another_token():
    """A token that was fetched again may be easier to guess than the first one, or no signed one."""
    name = "the token with another bit in its signature"

    assert authorization(f"{name} under bearer", TEXT) == f"bearer {wrong_tokens(TEXT)[ANOTHER]}"
    with pytest.raises(KeyError):
        authorization("no such name", TEXT)


@pytest.mark.parametrize(
    ("name", "flaws", "claims"),
    [
        (ANOTHER, {"signature"}, {}),
        ("the token with another bit in its signature", {"signature"}, {}),
        ("the token without a signature (none)", {"algorithm", "signature"}, {}),
        ("the token without a signature (NONE)", {"algorithm", "signature"}, {}),
        ("the token without a signature (None)", {"algorithm", "signature"}, {}),
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
    assert signed_token(wrong).claims == {**CLAIMS, **claims}


def test_only_one_bit_of_the_signature_is_another():
    """It stands in the middle."""
    right, wrong = (
        signed_token(token).signature
        for token in (SIGNED, wrong_tokens(SIGNED)["the token with another bit in its signature"])
    )
    differ = [at for at, pair in enumerate(zip(right, wrong, strict=True)) if pair[0] != pair[1]]

    assert differ == [16]
    assert (right[16] ^ wrong[16]).bit_count() == 1


@pytest.mark.parametrize(
    "token",
    [
        "a.b.c",
        "e30.e30",
        "W10.e30.c2ln",
        "e30.W10.c2ln",
        "e30.!!!.c2ln",
        "e30.e3.c2ln",
        "/w.e30.c2ln",
        "5.5.5",
        f"{'W10' * 9000}.e30.c2ln",
    ],
    ids=lambda token: token[:12],
)
def test_what_has_no_header_and_claims_is_a_text(token):
    """Three parts are not enough: header and claims are JSON objects in base64url."""
    assert signed_token(token) is None


@each_token
def test_wrong_tokens_are_the_same_in_every_process_and_hide_the_right_one(token):
    """They follow from the token, differ from it in more than blanks, and are different from each other."""
    wrong = dict(wrong_tokens(token))
    wrong_tokens.cache_clear()

    assert wrong_tokens(token) == wrong
    assert len({each.strip() for each in (token, *wrong.values())}) == 1 + len(wrong)
    assert all(each.isascii() and each.isprintable() and " " not in each for each in wrong.values())


# -- tokens that can be guessed ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "token",
    [
        "test",
        "abc123",
        "12345678901234567890123456",
        "0" * 40,
        "abcd" * 10,
        "staging-token-2024-01",
        "my-super-secret-access-token-for-staging",
        "Tok-3n.Of-The_Service",
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdef0123456789",
        "deadbeefdeadbeefdeadbeefdeadbeef",
        "00000000-0000-4000-8000-000000000001",
        "2f1b7d0a-8d3e-11ef-9cd2-0242ac120002",
        SIGNED.rpartition(".")[0] + ".",
        SIGNED.rpartition(".")[0] + ".signature",
    ],
    ids=lambda token: token[:20],
)
def test_nothing_is_made_from_a_token_that_can_be_guessed(token):
    """There is one wrong token, of the suite's own 128 random bits."""
    assert random_bits(token) < LEAST_BITS
    assert list(wrong_tokens(token)) == [ANOTHER]
    assert wrong_tokens(token)[ANOTHER].startswith(MARK)
    assert len(wrong_tokens(token)[ANOTHER].removeprefix(MARK)) == 32


@pytest.mark.parametrize(
    "make",
    [
        lambda drawn: drawn.randbytes(16).hex(),
        lambda drawn: urlsafe_b64encode(drawn.randbytes(32)).decode().rstrip("="),
        lambda drawn: str(UUID(bytes=drawn.randbytes(16), version=4)),
    ],
    ids=["hex", "base64", "UUID"],
)
def test_random_tokens_are_not_taken_for_guessable(make):
    """128 bits in hexadecimal, 122 in a UUID and 256 in base64, but for about one token in a million.

    The tokens are the same each time, so that this one never turns the test red.
    """
    drawn = Random(0)
    assert min(random_bits(make(drawn)) for _ in range(500)) >= LEAST_BITS


# -- forms and spellings --------------------------------------------------------------------------------------------


@each_token
@pytest.mark.parametrize("operation", OPERATIONS)
def test_each_form_and_each_spelling_is_tried_with_each_operation(token, operation):
    """Those behind the tenth form, which a signed token alone has, with one of the two."""
    tried = wrong_credentials(token, operation)
    forms = [name for name in NAMES if name in wrong_tokens(token)]

    assert set(forms[:10]) <= set(tried)
    assert {ANOTHER + spelling for spelling in SPELLINGS} <= set(tried)
    assert len(tried) == len(set(tried)) <= OF_AN_OPERATION


@each_token
def test_forms_and_spellings_are_combined_pairwise(token):
    """Each form with each spelling, for one of the two operations; of a signed token as many as there is room for."""
    tried = {name for operation in OPERATIONS for name in wrong_credentials(token, operation)}
    pairs = {form + spelling for form, spelling in product(wrong_tokens(token), SPELLINGS)}

    assert tried <= pairs
    assert tried == pairs or len(tried & {f"{form} under bearer" for form in wrong_tokens(token)}) > 10


def test_the_scheme_is_spelled_as_the_standard_permits():
    """In any letter case, with one space or more behind it."""
    sent = {
        spelling: authorization(ANOTHER + spelling, TEXT).partition(wrong_tokens(TEXT)[ANOTHER])
        for spelling in SPELLINGS
    }

    assert [scheme for scheme, _, _ in sent.values()] == ["Bearer ", "bearer ", "BEARER ", "Bearer  "]
    assert {rest for _, _, rest in sent.values()} == {""}


# -- dealt to codes and keys ----------------------------------------------------------------------------------------


@each_token
@pytest.mark.parametrize("codes", [1, 2, 6, 60])
def test_the_wrong_tokens_are_dealt_to_the_codes(token, codes):
    """None is left out, there are no more than OF_AN_OPERATION, and no code goes without a credential."""
    dealt = [of_code(token, index, codes) for index in range(codes)]
    sent = Counter(name for names in dealt for name in names)
    wrong = {
        name: count for name, count in sent.items() if name not in ("no header", "an empty bearer", "Basic credentials")
    }

    assert set(wrong) == set(wrong_credentials(token, "executePix"))
    assert sum(wrong.values()) <= OF_AN_OPERATION
    assert sent["no header"] == codes


@each_token
@pytest.mark.parametrize("codes", [2, 6, 60])
def test_a_wrong_token_as_documented_has_company(token, codes):
    """Probes before the first code, and those right behind an execution, are alone. A service that reads no scheme but
    the documented one may let a wrong token in beside the right one."""
    behind_the_first = [name for index in range(1, codes) for name in of_code(token, index, codes)[1:]]

    assert [name for name in behind_the_first if name in wrong_tokens(token)]


@each_token
@pytest.mark.parametrize("count", [1, 2, 5])
def test_the_wrong_tokens_are_dealt_to_the_keys(token, count):
    """Before and after each registration some, until none is left; no more than OF_AN_OPERATION in all."""
    keys = [PixKey("EMAIL", f"{number}@example.com") for number in range(count)]
    dealt = OfKeys(token, keys, registrations=count)
    later = [dealt.take() for _ in range(2 * count)]
    sent = [name for _, name in dealt.first] + [name for names in later for name in names]
    wrong = [name for name in sent if name not in ("no header", "an empty bearer", "Basic credentials")]

    assert dealt.rest() == []
    assert len(wrong) <= OF_AN_OPERATION
    assert len(set(wrong_credentials(token, "registerPixKey")) - set(wrong)) <= 1
    assert later[1][0] == ANOTHER


def test_a_message_names_a_few_of_many():
    """What more was granted is counted."""

    class Granted:
        def __init__(self, credential):
            self.credential = credential

    assert credentials_of([Granted(name) for name in "abaab"]) == "a, b"
    assert credentials_of([Granted(name) for name in "abcdefgh"]) == "a, b, c, d, e, f and 2 more"


# -- in a run -------------------------------------------------------------------------------------------------------


def signing_service(service=None):
    """A service over real sockets whose token is signed."""
    raw = Raw()
    raw.service = service or Signing()
    return raw


def wrong_ones_of(service):
    """The wrong tokens that came with a real code or key, by operation."""
    found = Counter()
    for seen in service.seen:
        scheme, _, token = seen.header("Authorization").partition(" ")
        real = "pixconf-" not in seen.path and b"pixconf-" not in seen.body
        if real and scheme.lower() == "bearer" and token.strip() not in ("", service.service.token):
            for operation in operations_reached(seen.method, seen.path):
                found[operation] += 1
    return found


@pytest.mark.parametrize("options", [(), ("-n", "2")], ids=["alone", "parallel"])
def test_a_run_keeps_to_the_number_of_wrong_tokens(options, tmp_path):
    """Of a signed token forty are tried, which the plan says."""
    with signing_service() as service:
        codes = ["SBX-PHONE-1", "SBX-EMAIL-1", "SBX-CPF-1"]
        profile = write_profile(tmp_path, service.base_url, transactions={"codes": codes})
        plan = run(profile, "--plan", PIX_TOKEN="")
        result = run(profile, *options, PIX_TOKEN=service.service.token)
    found = wrong_ones_of(service)

    assert f"At most {MOST_WRONG_TOKENS} of them carry a wrong token" in plan.output
    assert result.status == 0, result.output
    assert (found["executePix"], found["registerPixKey"]) == (OF_AN_OPERATION, OF_AN_OPERATION)
    assert service.executions == codes


def test_a_guessable_token_is_not_mutated_in_a_run(tmp_path):
    """What is sent in its place has nothing of it, but for the constants that generated traffic sends."""
    with Raw("qa-token-1") as service:
        profile = write_profile(tmp_path, service.base_url)
        result = run(profile, PIX_TOKEN="qa-token-1")
    sent = {seen.header("Authorization").split()[-1] for seen in service.seen if seen.header("Authorization")}

    assert result.status == 0, result.output
    assert not [token for token in sent - {"qa-token-1"} if "qa" in token.lower() or "token" in token.lower()]
    assert {result.rows("pass")[f"{operation}.token.required"] for operation in OPERATIONS} == {GUESSABLE}


# -- what a signed token says is hidden -----------------------------------------------------------------------------


def test_claims_that_name_a_person_are_personal():
    """Who issued it, for whom and what for is none of a person's."""
    assert personal_claims(SIGNED)[1:] == (CLAIMS["sub"],)
    assert personal_claims(TEXT) == ()
