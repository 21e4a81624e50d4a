"""Wrong tokens that look like the right one, each made from it in a way that has a name in reports.

None of them is anybody's. They are made the same way in every process of a run, so that all of them hide the same ones.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import secrets
import string
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from math import log2
from random import Random
from typing import Any

from spec.interface import MARK

LEAST_BITS = 64
"""What is made from a token of fewer random bits might be the token of somebody else."""
_OWN = MARK + secrets.token_hex(16)
"""Stands for every wrong token where the right one is too easy to guess; its 128 random bits are nobody's."""
_EXPIRED, _NOT_YET = 1_000_000_000, 4_102_444_800
"""Seconds since 1970: a day of the year 2001, and the first one of 2100."""
_UUID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_TIME_BASED = "126"
"""Versions of a UUID that count the time and number the machine (RFC 9562 sections 5.1, 5.2 and 5.6)."""
_OPENING = ("eyJ", "eyA", "ewo", "ew0")
"""How base64 of a JSON object starts: a brace, and a quotation mark, a blank or a line break."""
_HEX = re.compile("[0-9a-f]+|[0-9A-F]+")
_BASE64URL = re.compile("[A-Za-z0-9_-]*")
_RUN = re.compile("[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_WORD = re.compile("(?=.*[aeiouy])(?!.*[^aeiouy]{5}).*", re.IGNORECASE)
_TAIL = 8
"""Characters at the end of a token that are changed: few enough to stand in the signature of a signed one."""


# -- what a token is made of ------------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class SignedToken:
    """A JSON Web Token in its compact form (RFC 7519 section 3, RFC 7515 section 3.1)."""

    header: Mapping[str, Any]
    claims: Mapping[str, Any]
    signature: bytes
    written: tuple[str, str, str]

    def altered(
        self,
        *,
        header: Mapping[str, Any] | None = None,
        claims: Mapping[str, Any] | None = None,
        signature: bytes | None = None,
    ) -> str:
        """The token with some members replaced or added, or with another signature; the rest stays as written."""
        head, body, tail = self.written
        return ".".join(
            (
                _encoded(_json(self.header, header)) if header else head,
                _encoded(_json(self.claims, claims)) if claims else body,
                tail if signature is None else _encoded(signature),
            )
        )


def signed_token(token: str) -> SignedToken | None:
    """The parts of a JSON Web Token: three of base64url, the first two of them JSON objects. None for another text."""
    parts = token.split(".")
    if len(parts) != 3 or not all(map(_BASE64URL.fullmatch, parts)):
        return None
    try:
        header, claims = (json.loads(_decoded(part)) for part in parts[:2])
        signature = _decoded(parts[2])
    except (ValueError, RecursionError):
        return None
    if not isinstance(header, dict) or not isinstance(claims, dict):
        return None
    return SignedToken(header, claims, signature, (parts[0], parts[1], parts[2]))


def random_bits(token: str) -> float:
    """How many bits of a token are random, estimated low.

    Of a signed token counts what stands behind header and claims, and of a UUID nothing where it is made of time and
    machine. A text is read as runs: a capital and small letters, or capitals alone, or digits. A digit counts 3.3 bits
    and a letter 4.7, unless it goes on as the last two did (7777, 2468, abcd). A run of three letters or more that
    could be a word (one with a vowel, and never five consonants in a row) counts 1 bit a letter; where no letter is
    beyond f, a run counts 4 bits a letter and at most 11. What was there before counts 1 bit, and punctuation nothing.
    So a UUID or 32 hexadecimal digits count about 100 bits, 22 characters of base64 about 80, and a phrase of 40
    letters 40.
    """
    readable = token.startswith(_OPENING) or signed_token(token)
    text = ".".join(token.split(".")[2:]) if readable else token
    if _UUID.fullmatch(text) and text[14] in _TIME_BASED:
        return 0
    runs = _RUN.findall(text)
    different = set(runs)
    of_a_run = _hexadecimal_bits if _is_hexadecimal(text) else _bits
    return sum(map(of_a_run, different)) + len(runs) - len(different)


def is_guessable(token: str) -> bool:
    """Whether a token has too few random bits to make another one from it."""
    return random_bits(token) < LEAST_BITS


def _bits(run: str) -> float:
    steps = [ord(right) - ord(left) for left, right in pairwise(run)]
    surprising = len(run) - sum(left == right for left, right in pairwise(steps))
    if run.isdigit():
        return log2(10) * surprising
    return len(run) if len(run) > 2 and _WORD.fullmatch(run) else log2(26) * surprising


def _hexadecimal_bits(run: str) -> float:
    return _bits(run) if run.isdigit() else min(4 * len(run), 11)


def _is_hexadecimal(text: str) -> bool:
    return not re.search("[g-zG-Z]", text)


# -- the forms --------------------------------------------------------------------------------------------------


def _another(token: str) -> str:
    """A signed token with the same claims and another signature, another UUID of the same version, another text."""
    if is_guessable(token):
        return _OWN
    signed, random = signed_token(token), _random_of(token)
    if signed:
        return signed.altered(signature=_other_bytes(signed.signature, random))
    return _alike(token, random, kept=(14, 19) if _UUID.fullmatch(token) else ())


def _with_another_ending(token: str) -> str:
    signed, random = signed_token(token), _random_of(token)
    if signed:
        return signed.altered(signature=signed.signature[:-_TAIL] + _other_bytes(signed.signature[-_TAIL:], random))
    return token[:-_TAIL] + _alike(token[-_TAIL:], random)


def _cut_short(token: str) -> str:
    """Without padding of base64, too: with less of it the token means the same to some who decode it."""
    return token.rstrip("=")[:-1]


def _lengthened(token: str) -> str:
    """What stands behind padding, or a single character behind whole groups of four, is left out by some who decode
    base64, and what is no hexadecimal digit by some who decode that."""
    text = token.rstrip("=")
    return text + ("11" if len(text.rpartition(".")[2]) % 4 == 0 else "1")


def _in_another_letter_case(token: str) -> str | None:
    """None where letter case says nothing: a UUID (RFC 9562 section 4), a hexadecimal number, no letter at all."""
    same = token.swapcase() == token or _UUID.fullmatch(token) or _HEX.fullmatch(token)
    return None if same else token.swapcase()


def _with_another_bit(token: str) -> str | None:
    """One bit in the middle of the signature is another, so that neither its start nor its end tells."""
    signed = signed_token(token)
    if signed is None:
        return None
    changed = bytearray(signed.signature)
    changed[len(changed) // 2] ^= 16
    return signed.altered(signature=bytes(changed))


def _unsigned(algorithm: str) -> Callable[[str], str | None]:
    """Without a signature, as the header says (RFC 7515 appendix A.5)."""

    def form(token: str) -> str | None:
        signed = signed_token(token)
        return signed.altered(header={"alg": algorithm}, signature=b"") if signed else None

    return form


def _claiming(**claims: object) -> Callable[[str], str | None]:
    """With other claims (RFC 7519 section 4.1) and the signature as it was."""

    def form(token: str) -> str | None:
        signed = signed_token(token)
        changes = {name: value for name, value in claims.items() if signed and signed.claims.get(name) != value}
        return signed.altered(claims=changes) if signed and changes else None

    return form


_SUBJECT = f"{MARK}subject"
ANOTHER = "a wrong token"
"""The form that every token has."""
_FORMS: Mapping[str, Callable[[str], str | None]] = {
    ANOTHER: _another,
    "the token without a signature (none)": _unsigned("none"),
    "the token with an expired exp": _claiming(exp=_EXPIRED),
    "the token of another subject": _claiming(sub=_SUBJECT),
    "the token with another bit in its signature": _with_another_bit,
    "the token without a signature (NONE)": _unsigned("NONE"),
    "the token with an nbf to come": _claiming(nbf=_NOT_YET),
    "the expired token of another subject": _claiming(exp=_EXPIRED, sub=_SUBJECT),
    "the token without a signature (None)": _unsigned("None"),
    "the token with another ending": _with_another_ending,
    "the token cut short": _cut_short,
    "the token lengthened": _lengthened,
    "the token behind another character": lambda token: "x" + token,
    "the token in another letter case": _in_another_letter_case,
}
"""How a wrong token is made from the right one, by its name in reports; None where the form does not apply to it. What
is most often let in comes first."""
NAMES = tuple(_FORMS)


@cache
def wrong_tokens(token: str) -> Mapping[str, str]:
    """The wrong tokens for a right one, by the name of their form. Each differs from it in more than letter case that
    says nothing, white space, or spare bits of base64. Where it is guessable there is one, which has nothing of it."""
    if is_guessable(token):
        return {ANOTHER: _OWN}
    made = {name: form(token) for name, form in _FORMS.items()}
    return {name: wrong for name, wrong in made.items() if wrong is not None and wrong != token}


def parts_that_tell(token: str) -> tuple[str, ...]:
    """A token, and of a signed one the parts that are a secret by themselves: its claims and its signature."""
    signed = signed_token(token)
    return (token, *(part for part in signed.written[1:] if part)) if signed else (token,)


def personal_claims(token: str) -> tuple[str, ...]:
    """What a signed token says of whom it was given to: its claims as written, and texts among them that name somebody
    (OpenID Connect Core section 5.1, and what is usual beside it). A plain word names nobody."""
    signed = signed_token(token)
    if signed is None:
        return ()
    texts = (value for name, value in signed.claims.items() if name in _OF_SOMEBODY and isinstance(value, str))
    return (_decoded(signed.written[1]).decode("utf-8", "replace"), *filter(_NAMES_SOMEBODY.search, texts))


_NAMES_SOMEBODY = re.compile(r"[0-9@\s]|.{12}")
_OF_SOMEBODY = frozenset(
    (
        "sub", "jti", "sid", "oid", "uid", "user_id", "username", "user_name", "unique_name", "upn", "login",
        "name", "given_name", "family_name", "middle_name", "nickname", "preferred_username", "email", "birthdate",
        "phone_number", "phone", "address", "document", "cpf", "cnpj", "account", "client_name",
    )
)  # fmt: skip


# -- letters and bytes ------------------------------------------------------------------------------------------


def _random_of(token: str) -> Random:
    """The same choices each time for a token; without it nobody can tell them."""
    return Random(hashlib.sha256(b"pix-conformance" + token.encode()).digest())


def _alike(text: str, random: Random, kept: tuple[int, ...] = ()) -> str:
    """A text of the same length that has another letter or digit of the same sort in each place; `kept` ones stay."""
    letters = string.ascii_lowercase[: 6 if _is_hexadecimal(text) else 26]
    return "".join(
        character if at in kept else _one_of_its_sort(character, letters, random) for at, character in enumerate(text)
    )


def _one_of_its_sort(character: str, letters: str, random: Random) -> str:
    sorts = (letters, letters.upper(), string.digits)
    return next((random.choice(sort.replace(character, "")) for sort in sorts if character in sort), character)


def _other_bytes(data: bytes, random: Random) -> bytes:
    """As many bytes, each another one."""
    return bytes((byte + random.randrange(1, 256)) % 256 for byte in data)


def _json(members: Mapping[str, Any], changes: Mapping[str, Any]) -> bytes:
    return json.dumps({**members, **changes}, separators=(",", ":")).encode()


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _decoded(part: str) -> bytes:
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
