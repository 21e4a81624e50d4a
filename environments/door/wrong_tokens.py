"""The Authorization headers that the suite sends: the valid one, and those that must not be granted anything.

A wrong token looks like the right one. Each is made from it in a way that has a name in reports.

No wrong token belongs to a person. One token always gives the same ones, so that all of them are hidden.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import string
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import TYPE_CHECKING

from environments.door.tokens import signed_token
from spec.exchange import VALID
from spec.interface import MARK
from spec.key_list import UUID

if TYPE_CHECKING:
    from environments.profiles.model import Profile

_OWN = MARK + secrets.token_hex(16)
"""The wrong token where the right one is short: random, so it is no token of anybody."""
_LEAST = 16
"""A wrong token without so many characters of the right one does not tell it."""
_EXPIRED, _NOT_YET = 1_000_000_000, 4_102_444_800
"""Seconds since 1970: a day of the year 2001, and the first one of 2100."""
_HEX = re.compile("[0-9a-f]+|[0-9A-F]+")
_TAIL = 8
"""Characters at the end of a token that are changed: few enough to stand in the signature of a signed one."""
Make = Callable[[str], str | None]
"""Makes a wrong token from the right one; None where the form does not apply to it."""


def _another(token: str) -> str:
    """A signed token with the same claims and another signature, another UUID of the same version, another text; a
    random one where that would leave too much of the token."""
    signed, random = signed_token(token), _random_of(token)
    if _is_short(signed.written[2] if signed else token):
        return _OWN
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
    if signed is None or not signed.signature:
        return None
    changed = bytearray(signed.signature)
    changed[len(changed) // 2] ^= 16
    return signed.altered(signature=bytes(changed))


def _unsigned(algorithm: str) -> Make:
    """Without a signature, as the header says (RFC 7515 appendix A.5). None where it is short."""

    def form(token: str) -> str | None:
        signed = signed_token(token)
        left_out = signed and not _is_short(signed.written[2])
        return signed.altered(header={"alg": algorithm}, signature=b"") if signed and left_out else None

    return form


def _claiming(**claims: object) -> Make:
    """With other claims (RFC 7519 section 4.1) and the signature as it was."""

    def form(token: str) -> str | None:
        signed = signed_token(token)
        changes = {name: value for name, value in claims.items() if signed and signed.claims.get(name) != value}
        return signed.altered(claims=changes) if signed and changes else None

    return form


@dataclass(frozen=True)
class Form:
    """A way to ask without the valid token: `scheme`, and behind it what `make` makes of the token, if anything. The
    token can be restored from a `restorable` form: it is whole, or fewer than 16 characters are missing or changed."""

    name: str
    make: Make | None = None
    scheme: str = "Bearer "
    restorable: bool = False


NO_HEADER = "no header"
"""The request without a token, which is no wrong token. All others are counted."""
ANOTHER = "a wrong token"
"""The form that every token has."""
_UNSIGNED = "the token without a signature (none)"
_SUBJECT = f"{MARK}subject"
FORMS = (
    Form(ANOTHER, _another),
    Form("an empty bearer"),
    Form("Basic credentials", scheme="Basic " + b64encode(b"pixconf:pixconf").decode()),
    Form(f"{ANOTHER} under bearer", _another, scheme="bearer "),
    Form(f"{ANOTHER} under BEARER", _another, scheme="BEARER "),
    Form(f"{ANOTHER} behind two spaces", _another, scheme="Bearer  "),
    Form(_UNSIGNED, _unsigned("none")),
    Form("the token with an expired exp", _claiming(exp=_EXPIRED), restorable=True),
    Form("the token of another subject", _claiming(sub=_SUBJECT), restorable=True),
    Form("the token with another bit in its signature", _with_another_bit, restorable=True),
    Form("the token cut short", _cut_short, restorable=True),
    Form("the token lengthened", _lengthened, restorable=True),
    Form("the token with a character before it", lambda token: "x" + token, restorable=True),
    Form("the token in another letter case", _in_another_letter_case, restorable=True),
    Form("the token with another ending", _with_another_ending, restorable=True),
    Form("the token without a signature (NONE)", _unsigned("NONE")),
    Form("the token without a signature (None)", _unsigned("None")),
    Form(f"{_UNSIGNED} under bearer", _unsigned("none"), scheme="bearer "),
    Form("the token with an nbf in the future", _claiming(nbf=_NOT_YET), restorable=True),
    Form("the expired token of another subject", _claiming(exp=_EXPIRED, sub=_SUBJECT), restorable=True),
)
"""The table of forms, what is most often let in first. A client may write the scheme in any letter case, with one space
or more behind it (RFC 9110 sections 11.1 and 11.4); the interface document shows `Bearer`."""
OTHER_SCHEMES = (
    Form("the bare token", scheme="", restorable=True),
    Form("the token under the scheme Token", scheme="Token ", restorable=True),
)
"""Schemes that stand before the access token itself: never with a real transaction code."""


_RIGHT = Form(VALID)
_BY_NAME = {form.name: form for form in (_RIGHT, *FORMS, *OTHER_SCHEMES)}
RESTORABLE = frozenset(form.name for form in _BY_NAME.values() if form.restorable)
"""Forms that tell the token to all who read them: they need `fuzz`."""
INVALID_CREDENTIALS: Mapping[str, str] = {
    "an empty header": "",
    "an unknown scheme": "Pixconf a=b,c",
    "a bearer of two words": "Bearer pixconf pixconf",
    "a bearer outside ASCII": "Bearer pixconf-ação",
    "an over-long bearer": "Bearer " + "x" * 4_000,
    "a signed token cut short": "Bearer eyJhbGciOiJSUzI1NiJ9.e30",
    "a signed token that is no JSON": "Bearer cGl4.cGl4.cGl4",
    "Basic credentials that are no base64": "Basic %pixconf%",
}
"""Headers that are not well formed. A service that reads them carelessly breaks on them."""


def forms(profile: Profile, token: str = "", among: tuple[Form, ...] = FORMS) -> list[Form]:
    """The rows of the table that the profile permits, in their order; of a token those that apply to it."""
    permitted = [form for form in among if not form.restorable or "fuzz" in profile.allow]
    return [form for form in permitted if not (token and form.make) or form.name in wrong_tokens(token)]


def authorization(credential: str, token: str) -> str | None:
    """The value of the Authorization header; None for no header. KeyError for an unknown name.

    A token that was fetched again may be of another sort than the one that the names were chosen for: where a form does
    not apply to it, ANOTHER stands for it.
    """
    if credential == NO_HEADER:
        return None
    if credential in INVALID_CREDENTIALS:
        return INVALID_CREDENTIALS[credential]
    form = _BY_NAME[credential]
    if form in (_RIGHT, *OTHER_SCHEMES):
        return form.scheme + token
    wrong = wrong_tokens(token)
    return (form.scheme + (wrong.get(form.name, wrong[ANOTHER]) if form.make else "")).rstrip()


@cache
def wrong_tokens(token: str) -> Mapping[str, str]:
    """The wrong tokens for a right one, by the name of their form. Each differs from it in more than letter case that
    says nothing, white space, or spare bits of base64. Where it is short there is one, which has nothing of it."""
    if _is_short(token):
        return {form.name: _OWN for form in FORMS if form.make is _another}
    made = {form.name: form.make(token) for form in FORMS if form.make}
    return {name: wrong for name, wrong in made.items() if wrong and wrong != token}


# -- letters and bytes ------------------------------------------------------------------------------------------


def _is_short(text: str) -> bool:
    return sum(map(str.isalnum, text)) < _LEAST


def _random_of(token: str) -> Random:
    """The same choices each time for a token. Without the token they cannot be guessed."""
    return Random(hashlib.sha256(b"pix-conformance" + token.encode()).digest())


def _alike(text: str, random: Random, kept: tuple[int, ...] = ()) -> str:
    """A text of the same length that has another letter or digit of the same sort in each place; `kept` ones stay."""
    letters = string.ascii_lowercase[: 26 if re.search("[g-zG-Z]", text) else 6]
    return "".join(
        character if at in kept else _one_of_its_sort(character, letters, random) for at, character in enumerate(text)
    )


def _one_of_its_sort(character: str, letters: str, random: Random) -> str:
    sorts = (letters, letters.upper(), string.digits)
    return next((random.choice(sort.replace(character, "")) for sort in sorts if character in sort), character)


def _other_bytes(data: bytes, random: Random) -> bytes:
    """As many bytes, each another one."""
    return bytes((byte + random.randrange(1, 256)) % 256 for byte in data)
