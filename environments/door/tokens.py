"""What an access token is made of: the parts of a signed one, and how hard it is to guess."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from math import log2
from typing import Any

from spec.key_list import UUID

LEAST_BITS = 64
"""With fewer random bits, a wrong token could be somebody's valid token."""
_TIME_BASED = "126"
"""Versions of a UUID that count the time and number the machine (RFC 9562 sections 5.1, 5.2 and 5.6)."""
_OPENING = ("eyJ", "eyA", "ewo", "ew0")
"""How base64 of a JSON object starts: a brace, and a quotation mark, a blank or a line break."""
_BASE64URL = re.compile("[A-Za-z0-9_-]*")
_RUN = re.compile("[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_WORD = re.compile("(?=.*[aeiouy])(?!.*[^aeiouy]{5}).*", re.IGNORECASE)


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
    if UUID.fullmatch(text) and text[14] in _TIME_BASED:
        return 0
    runs = _RUN.findall(text)
    different = set(runs)
    of_a_run = _hexadecimal_bits if is_hexadecimal(text) else _bits
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


def is_hexadecimal(text: str) -> bool:
    return not re.search("[g-zG-Z]", text)


def parts_that_tell(token: str) -> tuple[str, ...]:
    """A token, and of a signed one the parts that are a secret by themselves: its claims and its signature."""
    signed = signed_token(token)
    return (token, *(part for part in signed.written[1:] if part)) if signed else (token,)


def personal_claims(token: str) -> tuple[str, ...]:
    """What a signed token says of whom it was given to: its claims as written, and texts among them that name somebody
    (OpenID Connect Core section 5.1, and what is usual beside it). A plain word names no person."""
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


def _json(members: Mapping[str, Any], changes: Mapping[str, Any]) -> bytes:
    return json.dumps({**members, **changes}, separators=(",", ":")).encode()


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _decoded(part: str) -> bytes:
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
