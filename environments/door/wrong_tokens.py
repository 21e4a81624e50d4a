"""Wrong tokens that look like the right one, each made from it in a way that has a name in reports.

No wrong token belongs to a person. Every process makes the same ones, so every process redacts the same ones.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import string
from collections.abc import Callable, Mapping
from functools import cache
from random import Random

from environments.door.tokens import is_guessable, is_hexadecimal, signed_token
from spec.interface import MARK
from spec.key_list import UUID

_OWN = MARK + secrets.token_hex(16)
"""Stands for every wrong token where the right one is too easy to guess; it is random, so it is no token of anybody."""
_EXPIRED, _NOT_YET = 1_000_000_000, 4_102_444_800
"""Seconds since 1970: a day of the year 2001, and the first one of 2100."""
_HEX = re.compile("[0-9a-f]+|[0-9A-F]+")
_TAIL = 8
"""Characters at the end of a token that are changed: few enough to stand in the signature of a signed one."""


def _another(token: str) -> str:
    """A signed token with the same claims and another signature, another UUID of the same version, another text."""
    if is_guessable(token):
        return _OWN
    signed, random = signed_token(token), _random_of(token)
    if signed:
        return signed.altered(signature=_other_bytes(signed.signature, random))
    return _alike(token, random, kept=(14, 19) if UUID.fullmatch(token) else ())


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
    same = token.swapcase() == token or UUID.fullmatch(token) or _HEX.fullmatch(token)
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
    "the token with an nbf in the future": _claiming(nbf=_NOT_YET),
    "the expired token of another subject": _claiming(exp=_EXPIRED, sub=_SUBJECT),
    "the token without a signature (None)": _unsigned("None"),
    "the token with another ending": _with_another_ending,
    "the token cut short": _cut_short,
    "the token lengthened": _lengthened,
    "the token with a character before it": lambda token: "x" + token,
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


# -- letters and bytes ------------------------------------------------------------------------------------------


def _random_of(token: str) -> Random:
    """The same choices each time for a token. Without the token they cannot be guessed."""
    return Random(hashlib.sha256(b"pix-conformance" + token.encode()).digest())


def _alike(text: str, random: Random, kept: tuple[int, ...] = ()) -> str:
    """A text of the same length that has another letter or digit of the same sort in each place; `kept` ones stay."""
    letters = string.ascii_lowercase[: 6 if is_hexadecimal(text) else 26]
    return "".join(
        character if at in kept else _one_of_its_sort(character, letters, random) for at, character in enumerate(text)
    )


def _one_of_its_sort(character: str, letters: str, random: Random) -> str:
    sorts = (letters, letters.upper(), string.digits)
    return next((random.choice(sort.replace(character, "")) for sort in sorts if character in sort), character)


def _other_bytes(data: bytes, random: Random) -> bytes:
    """As many bytes, each another one."""
    return bytes((byte + random.randrange(1, 256)) % 256 for byte in data)
