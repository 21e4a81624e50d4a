"""The Authorization headers that the suite sends: the valid one, and those that must not be granted anything. And the
ways to write a request that has one of these.

A wrong token looks like the right one. Each is made from it in a way that has a name in reports.

No wrong token belongs to a person. One token always gives the same ones, so that all of them are hidden.
"""

from __future__ import annotations

import json
import re
import secrets
import string
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from spec.exchange import HTTP_1_0, VALID
from spec.interface import MARK

if TYPE_CHECKING:
    from requests import PreparedRequest

    from environments.profiles.model import Profile

_OWN = f"{MARK}{secrets.token_hex(16)}"
"""The wrong token where the right one is short: random, so it is no token of anybody."""
_LEAST = 16
"""A wrong token without so many characters of the right one does not tell it."""
_EXPIRED = 1_000_000_000
"""Seconds since 1970: a day of the year 2001."""
_HEX = re.compile("[0-9A-Fa-f-]+")
"""A hexadecimal number, or a UUID (RFC 9562 section 4): letter case says nothing in them."""
Make = Callable[[str], str | None]
"""Makes a wrong token from the right one; None where the form does not apply to it."""


# -- signed tokens --------------------------------------------------------------------------------------------------


def signed_parts(token: str) -> list[str]:
    """Header, claims and signature of a JSON Web Token in its compact form (RFC 7519 section 3), in base64url. Nothing
    of another text."""
    parts = token.split(".")
    try:
        header, claims, _ = map(_decoded, parts)
        is_signed = isinstance(json.loads(header), dict) and isinstance(json.loads(claims), dict)
    except (ValueError, RecursionError):
        return []
    return parts if is_signed else []


def parts_that_tell(token: str) -> tuple[str, ...]:
    """A token, and of a signed one the parts that are a secret by themselves: its claims and its signature."""
    return (token, *filter(None, signed_parts(token)[1:]))


def _decoded(part: str) -> bytes:
    return urlsafe_b64decode(part + "=" * (-len(part) % 4))


def _encoded(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def _with(part: str, **members: object) -> str:
    """A header or claims, with some members replaced or added."""
    return _encoded(json.dumps({**json.loads(_decoded(part)), **members}, separators=(",", ":")).encode())


# -- what is made from a token --------------------------------------------------------------------------------------


def _of_signed(change: Callable[[str, str, str], str]) -> Make:
    """Makes something from the parts of a signed token whose signature is not short."""

    def form(token: str) -> str | None:
        parts = signed_parts(token)
        return change(*parts) if parts and not _is_short(parts[2]) else None

    return form


def _another(token: str) -> str:
    """A token with the same header and claims and another signature, or another text; a random one where that would
    leave too much of the token."""
    *kept, replaced = token.rsplit(".", 1) if signed_parts(token) else [token]
    return _OWN if _is_short(replaced) else ".".join((*kept, _alike(replaced)))


def _claiming(**changes: object) -> Make:
    """With other claims (RFC 7519 section 4.1) and the signature as it was."""
    return _of_signed(lambda header, claims, signature: f"{header}.{_with(claims, **changes)}.{signature}")


def _is_short(text: str) -> bool:
    return sum(map(str.isalnum, text)) < _LEAST


def _alike(text: str) -> str:
    """A text of the same length with another letter or digit of the same sort in each place: the same one each time,
    which cannot be guessed without the text."""
    random, letters = Random(text), string.ascii_lowercase[: 26 if re.search("[g-zG-Z]", text) else 6]
    sorts = (letters, letters.upper(), string.digits)
    others = (next((sort.replace(each, "") for sort in sorts if each in sort), each) for each in text)
    return "".join(map(random.choice, others))


# -- the table ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Form:
    """A way to ask without the valid token: `scheme`, and behind it what `make` makes of the token, if anything. The
    token can be restored from a `restorable` form: it is whole, or fewer than 16 characters are missing or changed.
    `filter` is the command of a shell that does what `make` does to a token, where one line can."""

    name: str
    make: Make | None = None
    scheme: str = "Bearer "
    restorable: bool = False
    filter: str = ""


NO_HEADER = "no header"
"""The request without a token, which is no wrong token. All others are counted."""
ANOTHER = "a wrong token (of a JWT: another signature)"
"""The form that every token has."""
_CHUNKS = "a chunked body"
_Restorable = partial(Form, restorable=True)
FORMS = (
    Form(ANOTHER, _another),
    Form("an empty bearer"),
    Form("an empty header", scheme=""),
    Form("the text null", scheme="Bearer null"),
    # unsigned as the header says (RFC 7515 appendix A.5), or with nothing where the signature was
    Form(
        "the token without a signature (none)",
        _of_signed(lambda header, claims, _: f"{_with(header, alg='none')}.{claims}."),
    ),
    Form(
        "the token without its signature",
        _of_signed(lambda header, claims, _: f"{header}.{claims}."),
        filter="sed 's/[^.]*$//'",
    ),
    _Restorable("the token with an expired exp", _claiming(exp=_EXPIRED)),
    _Restorable("the token of another subject", _claiming(sub=f"{MARK}subject")),
    # without padding of base64, too: with less of it the token means the same to some who decode it
    _Restorable(
        "the token cut short",
        lambda token: token.rstrip("=")[:-1],
        filter="sed 's/=*$//; s/.$//'",
    ),
    # by two: some leave out what stands behind padding, or one character behind groups of four
    _Restorable("the token lengthened", lambda token: token.rstrip("=") + "11", filter="sed 's/=*$/11/'"),
    _Restorable(
        "the token in another letter case",
        lambda token: None if _HEX.fullmatch(token) else token.swapcase(),
        filter="tr a-zA-Z A-Za-z",
    ),
    _Restorable("the token backwards", lambda token: token[::-1], filter="rev"),
    _Restorable("the token with a character before it", lambda token: "x" + token, filter="sed s/^/x/"),
    Form("Basic credentials", scheme="Basic cGl4Y29uZjpwaXhjb25m"),  # pixconf:pixconf
    Form("the text undefined", scheme="Bearer undefined"),
)
"""The table of forms, what is most often let in first: in the default of limits.wrong_tokens there is room for
thirteen with codes, and fewer apply to a token that is not signed."""
OTHER_SCHEMES = (
    _Restorable("the bare token", scheme=""),
    # as long as Bearer: some cut off seven characters and do not look at them
    _Restorable("the token under the scheme Digest", scheme="Digest "),
)
"""Schemes that stand before the access token itself: never with a real transaction code."""


_RIGHT = Form(VALID)
BY_NAME = {form.name: form for form in (_RIGHT, *FORMS, *OTHER_SCHEMES)}
RESTORABLE = frozenset(form.name for form in BY_NAME.values() if form.restorable)
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
    form = BY_NAME[credential]
    if form in (_RIGHT, *OTHER_SCHEMES):
        return form.scheme + token
    wrong = wrong_tokens(token)
    return (form.scheme + (wrong.get(form.name, wrong[ANOTHER]) if form.make else "")).rstrip()


@cache
def wrong_tokens(token: str) -> Mapping[str, str]:
    """The wrong tokens for a right one, by the name of their form. Each differs from it in more than letter case that
    says nothing, white space, or spare bits of base64."""
    made = {form.name: form.make(token) for form in FORMS if form.make}
    return {name: wrong for name, wrong in made.items() if wrong and wrong != token}


# -- ways to write the request --------------------------------------------------------------------------------------

FOR_A_REGISTERED_KEY = "a key that is registered"
_SCHEME = ("Authorization", r"^\w+ ?")
WAYS: Mapping[str, tuple[str, str, str]] = {
    "the scheme bearer": (*_SCHEME, "bearer "),
    "the scheme BEARER": (*_SCHEME, "BEARER "),
    "two spaces behind the scheme": (*_SCHEME, "Bearer  "),
    "a query": ("url", "$", "?pixconf=1"),
    "a slash at the end": ("url", "$", "/"),
    _CHUNKS: ("Transfer-Encoding", "", "chunked"),
    HTTP_1_0: ("", "", ""),  # the wire writes the version
    "two slashes": ("url", "(?<=/v1)/", "//"),
    "an encoded letter": ("url", "pix/(?=(keys/)?[^/]*$)", "pi%78/"),
    "another Accept": ("Accept", "^.*", "text/html, */*;q=0.1"),
    FOR_A_REGISTERED_KEY: ("", "", ""),
}
"""Ways on which a check of the token may depend: a part of the request, and what is replaced. Those of the scheme come
first, as no request without a header stands for them; then the likeliest. A scheme is spelled as RFC 9110 sections 11.1
and 11.4 permit; the interface document shows `Bearer`."""


def write(request: PreparedRequest, way: str) -> None:
    """Write a request in this way, too."""
    part, pattern, text = WAYS[way]
    if part == "url":
        request.url = re.sub(pattern, text, request.url or "", count=1)
    elif part:
        request.headers[part] = re.sub(pattern, text, request.headers.get(part, ""), count=1)
    if way == _CHUNKS:
        del request.headers["Content-Length"]


class Row(NamedTuple):
    """A form, or no header, and the ways in which the request is written."""

    credential: str
    written: tuple[str, ...] = ()


def rows(credentials: list[str], *, has_a_body: bool) -> list[Row]:
    """The table, in pairs of a form and a way: the first form, no header in each way that is not about it, and each
    form as documented; then the first form in each way; then the rest."""
    *written, _ = WAYS
    ways = [way for way in written if has_a_body or way != _CHUNKS]
    bare = [Row(NO_HEADER, (way,)) for way in ways if WAYS[way][:2] != _SCHEME]
    plain = list(map(Row, credentials))
    in_each_way = [Row(name, (way,)) for name in credentials for way in ways]
    return [*dict.fromkeys((plain[0], Row(NO_HEADER), *bare, *plain, *in_each_way))]
