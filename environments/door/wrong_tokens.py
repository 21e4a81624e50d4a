"""The Authorization headers that the suite sends: the valid one, and those that must not be granted anything. And the
ways to write a request that has one of these.

A wrong token looks like the right one. Each is made from it in a way that has a name in reports.

No wrong token belongs to a person. One token always gives the same ones, so that all of them are hidden.
"""

from __future__ import annotations

import hmac
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

from spec.exchange import HTTP_1_0, MATRIX_PARAMETER, VALID
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
_NEVER_EXPIRES = 4_102_444_800
"""The first second of the year 2100."""
_HEX = re.compile("[0-9A-Fa-f-]+")
"""A hexadecimal number, or a UUID (RFC 9562 section 4): letter case says nothing in them."""
Claims = Mapping[str, object]
"""Members of the header or of the claims of a signed token."""
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


def _signed_anew(key: bytes, of_the_header: Claims, **changes: object) -> Make:
    """A token that the suite signs itself with a key that anybody may guess (HS256, RFC 7518 section 3.2): with the
    claims of the right one, or with made-up ones if that is no signed token. None if the right one is signed with the
    same key: then the other one would be right, too."""

    def form(token: str) -> str | None:
        header, claims, signature = signed_parts(token) or (_NO_MEMBERS, _MADE_UP_CLAIMS, "")
        if signature and hmac.compare_digest(_signature(header, claims, key), signature):
            return None
        header = _with(_NO_MEMBERS, alg="HS256", typ="JWT", **of_the_header)
        claims = _with(claims, **changes)
        return f"{header}.{claims}.{_signature(header, claims, key)}"

    return form


def _signature(header: str, claims: str, key: bytes) -> str:
    return _encoded(hmac.digest(key, f"{header}.{claims}".encode(), "sha256"))


def _unsigned(token: str) -> str | None:
    """A token whose header says that it is unsigned, with made-up claims. None for a signed token, which has a form of
    its own."""
    if signed_parts(token):
        return None
    return f"{_with(_NO_MEMBERS, alg='none', typ='JWT')}.{_MADE_UP_CLAIMS}."


def _of_another_issuer(token: str) -> str | None:
    """The claims of another issuer, with another signature of the same form."""
    parts = signed_parts(token)
    if not parts or _is_short(parts[2]):
        return None
    header, claims, signature = parts
    return f"{header}.{_with(claims, iss=_ISSUER)}.{_alike(signature)}"


_ISSUER = f"https://{MARK}issuer.example"
_NO_MEMBERS = _encoded(b"{}")
_MADE_UP_CLAIMS = _with(_NO_MEMBERS, iss=_ISSUER, sub=f"{MARK}subject", exp=_NEVER_EXPIRES)


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


_LIKELY_WORDS = ("test", "admin", "dev")
_WORDS = ("secret", "token", "password", "changeme", "123", "demo", "true")
"""Words that developers leave in a check of the token."""
_ANOTHER_KEY = {"kid": f"{MARK}key"}


def _word(word: str) -> Form:
    return Form(f"the text {word}", scheme=f"Bearer {word}")


FORMS_FOR_NOBODY = (
    *map(_word, _LIKELY_WORDS),
    Form("an unsigned token (none) with other claims", _unsigned),
    Form("a token of another issuer", _of_another_issuer),
    Form("a token with another key id, signed with an empty key", _signed_anew(b"", _ANOTHER_KEY)),
    Form("a token signed with the key secret", _signed_anew(b"secret", {})),
    Form("a token of another user, signed with an empty key", _signed_anew(b"", {}, sub=f"{MARK}subject")),
    Form("an expired token, signed anew with the key secret", _signed_anew(b"secret", {}, exp=_EXPIRED)),
    *map(_word, _WORDS),
)
"""Forms that go with synthetic identifiers alone, the likeliest first: they are many, and a difference shows whether
one is let in."""


_RIGHT = Form(VALID)
BY_NAME = {form.name: form for form in (_RIGHT, *FORMS, *FORMS_FOR_NOBODY, *OTHER_SCHEMES)}
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
    made = {form.name: form.make(token) for form in (*FORMS, *FORMS_FOR_NOBODY) if form.make}
    return {name: wrong for name, wrong in made.items() if wrong and wrong != token}


# -- ways to write the request --------------------------------------------------------------------------------------

FOR_A_REGISTERED_KEY = "a key that is registered"
_SCHEME = ("Authorization", r"^\w+ ?")
_PIX = "pix/(?=(keys/)?[^/]*$)"
"""The segment `pix` of the documented path, whatever stands in the address before it."""
Replacement = str | Callable[[re.Match[str]], str]
WAYS: Mapping[str, tuple[str, str, Replacement]] = {
    "the scheme bearer": (*_SCHEME, "bearer "),
    "the scheme BEARER": (*_SCHEME, "BEARER "),
    "two spaces behind the scheme": (*_SCHEME, "Bearer  "),
    "a query": ("url", "$", "?pixconf=1"),
    "a slash at the end": ("url", "$", "/"),
    _CHUNKS: ("Transfer-Encoding", "", "chunked"),
    HTTP_1_0: ("", "", ""),  # the wire writes the version
    "two slashes": ("url", "(?<=/v1)/", "//"),
    "an encoded letter": ("url", _PIX, "pi%78/"),
    "another letter case": ("url", "/(execute/pix|pix/keys)/(?=[^/]*$)", lambda path: path[0].upper()),
    "an encoded slash": ("url", "/(?=(pix|keys)/[^/]*$)", "%2F"),
    "a dot segment": ("url", "(?<=/v1)/", "/./"),
    "a matrix parameter": ("url", "$", MATRIX_PARAMETER),
    "another Accept": ("Accept", "^.*", "text/html, */*;q=0.1"),
    FOR_A_REGISTERED_KEY: ("", "", ""),
}
"""Ways on which a check of the token may depend: a part of the request, and what is replaced. Those of the scheme come
first, as no request without a header stands for them; then the likeliest. A scheme is spelled as RFC 9110 sections 11.1
and 11.4 permit; the interface document shows `Bearer`."""


def write(request: PreparedRequest, way: str) -> None:
    """Write a request in this way, too. What is no row of the table is a name for headers that the caller writes."""
    part, pattern, text = WAYS.get(way, ("", "", ""))
    if part == "url":
        request.url = re.sub(pattern, text, request.url or "", count=1)
    elif part:
        request.headers[part] = re.sub(pattern, text, request.headers.get(part, ""), count=1)
    if way == _CHUNKS:
        del request.headers["Content-Length"]


def ways_with_the_documented_path(*, has_a_body: bool) -> list[str]:
    """The ways that leave the path, and the scheme, as they are documented."""
    names = [name for name, (part, _, text) in WAYS.items() if part != "Authorization" and _keeps_the_path(part, text)]
    return [name for name in names if name != FOR_A_REGISTERED_KEY and (has_a_body or name != _CHUNKS)]


def _keeps_the_path(part: str, replacement: Replacement) -> bool:
    return part != "url" or (isinstance(replacement, str) and replacement.startswith("?"))


class Row(NamedTuple):
    """A form, or no header, and the ways in which the request is written."""

    credential: str
    written: tuple[str, ...] = ()


def rows(credentials: list[str], *, has_a_body: bool) -> list[Row]:
    """The table, in pairs of a form and a way: the first form, no header, and each form as documented; then no header
    in each way that is not about it, and the first form in each way; then the rest. So each form and each way comes
    before a pair of two that came already."""
    *written, _ = WAYS
    ways = [way for way in written if has_a_body or way != _CHUNKS]
    bare = [Row(NO_HEADER, (way,)) for way in ways if WAYS[way][:2] != _SCHEME]
    plain = list(map(Row, credentials))
    in_each_way = [Row(name, (way,)) for name in credentials for way in ways]
    return [*dict.fromkeys((plain[0], Row(NO_HEADER), *plain, *bare, *in_each_way))]
