"""The Authorization headers that the suite sends, and the ways to write a request that has one of them.

One header has the valid token, which is also called the right one. With any other header a request must be refused:

- A form says what the header has, such as "the token cut short". Reports show its name.
- A wrong token is the text that a form makes from the right one. It looks like the right one, and belongs to nobody.
  One token always gives the same wrong tokens, so that reports can hide all of them.
- A way says how the request is written, such as with a slash at the end of its path.
- An unauthorized request has no valid token. It is described by its form and its ways. The table of unauthorized
  requests has all that are worth sending.

A signed token is a JSON Web Token (RFC 7519): `header.claims.signature`, each part in base64url. The header and the
claims are JSON objects. Anybody can read them, but only the owner of a secret key can make the signature.
"""

from __future__ import annotations

import hmac
import json
import re
import secrets
import string
from base64 import b64encode, urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from spec.exchange import FILE_EXTENSION, HTTP_1_0, MATRIX_PARAMETER, VALID
from spec.interface import SYNTHETIC_PREFIX

if TYPE_CHECKING:
    from requests import PreparedRequest

    from environments.profiles.model import Profile

_RANDOM_TOKEN = f"{SYNTHETIC_PREFIX}{secrets.token_hex(16)}"
"""The wrong token if the right one is short. It is random, so it is nobody's token."""
_FEWEST_HIDDEN = 16
"""Letters and digits of the right token that a wrong token must lack. Even if all of them are hexadecimal digits, there
are 2 to the power of 64 possibilities, so nobody can find the right token from the wrong one by trying."""
_EXPIRED = 1_000_000_000
"""Seconds since 1970: a day of the year 2001."""
_NEVER_EXPIRES = 4_102_444_800
"""The first second of the year 2100."""
_HEX = re.compile("[0-9A-Fa-f-]+")
"""A hexadecimal number, or a UUID (RFC 9562 section 4): letter case says nothing in them."""
TokenMaker = Callable[[str], str | None]
"""Makes a wrong token from the right one; None if the form does not apply to the right one."""
ChangeOfSignedToken = Callable[[str, str, str], str]
"""Gets the header, the claims and the signature of the right token, and returns a wrong token."""


# -- signed tokens --------------------------------------------------------------------------------------------------


def signed_parts(token: str) -> list[str]:
    """The three parts of a signed token, `["header", "claims", "signature"]`, each in base64url.

    A signed token is a JSON Web Token in its compact form (RFC 7519 section 3). For any other token the result is
    empty.
    """
    parts = token.split(".")
    if len(parts) != 3:
        return []
    header, claims, signature = parts
    try:
        are_objects = _is_json_object(_decoded(header)) and _is_json_object(_decoded(claims))
        _decoded(signature)
    except (ValueError, RecursionError):  # no base64url, no JSON, or JSON of too many levels
        return []
    return parts if are_objects else []


def _is_json_object(data: bytes) -> bool:
    """True if these bytes are a JSON object, such as `{"alg": "HS256"}`.

    Raises ValueError if they are no JSON, and RecursionError if the JSON has too many levels.
    """
    return isinstance(json.loads(data), dict)


def secret_parts_of(token: str) -> tuple[str, ...]:
    """The texts of a token that reports must hide: the token, and if it is signed, its claims and its signature.

    The token `e30.e30.c2ln` gives `("e30.e30.c2ln", "e30", "c2ln")`.

    The claims may name a person, and with the signature somebody could put the token together again.
    """
    texts = [token]
    for part in signed_parts(token)[1:]:  # the claims and the signature
        if part:  # the signature may be empty
            texts.append(part)
    return tuple(texts)


def _decoded(part: str) -> bytes:
    """The bytes of a part (header, claims or signature) of a signed token, which is a text in base64url.

    Raises ValueError if the text is not base64url.
    """
    padded = part
    while len(padded) % 4 != 0:  # base64 has a multiple of four characters; signed tokens leave the `=` out
        padded += "="
    return urlsafe_b64decode(padded)


def _encoded(data: bytes) -> str:
    """The bytes as the text of a part of a signed token: in base64url, without `=` at the end.

    A signed token has three such parts, the header, the claims and the signature.
    """
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def _encoded_part(**members: object) -> str:
    """The header or the claims of a signed token, made of these members of its JSON object: `alg="none"`, for example.

    The result is in base64url, as in a token.
    """
    return _encoded(json.dumps(members, separators=(",", ":")).encode())  # without blanks, as signed tokens are


def _part_with_changes(part: str, **members: object) -> str:
    """The header or the claims of a signed token (`part`), with some members of its JSON object replaced or added.

    `part` and the result are in base64url, as in a token.
    """
    all_members = json.loads(_decoded(part)) | members
    return _encoded_part(**all_members)


# -- what is made from a token --------------------------------------------------------------------------------------


def _made_from_signed_token(change: ChangeOfSignedToken) -> TokenMaker:
    """A function that makes a wrong token from the right one, if the right one is a signed token.

    `change` gets the header, the claims and the signature of the right token, and returns the wrong token.

    The function that is returned gives None if the right token is not signed. It also gives None if the signature has
    fewer than 16 letters and digits: then somebody who sees the wrong token could guess the right one.
    """

    def wrong_token_of(token: str) -> str | None:
        """The wrong token; None if none can be made from this token."""
        parts = signed_parts(token)
        if not parts:
            return None
        header, claims, signature = parts
        if _can_be_guessed(signature):
            return None
        return change(header, claims, signature)

    return wrong_token_of


def _with_another_signature(token: str) -> str:
    """A wrong token, which can be made from every token.

    | right token | wrong token |
    |---|---|
    | signed (header, claims, signature) | the same with another signature |
    | any other | a text of the same length, with other letters and digits |
    | any, if the part that would be replaced has fewer than 16 letters and digits | a random text |

    The last row is there for a right token with a very short signature. The first row would keep its header and
    claims, so everybody who sees the wrong token could guess the right one.
    """
    beginning = ""
    part_to_replace = token
    if signed_parts(token):
        header_and_claims, dot, part_to_replace = token.rpartition(".")
        beginning = header_and_claims + dot
    if _can_be_guessed(part_to_replace):
        return _RANDOM_TOKEN
    return beginning + _text_of_same_shape(part_to_replace)


def _with_other_claims(**changes: object) -> TokenMaker:
    """A function that makes a wrong token: the right one with some claims changed, and with its signature as it was.

    Claims are the members of a signed token that say, for example, until when it is valid (RFC 7519 section 4.1). A
    service that checks the signature must refuse such a token.
    """

    def with_other_claims(header: str, claims: str, signature: str) -> str:
        """The wrong token, made from the three parts of the right token."""
        new_claims = _part_with_changes(claims, **changes)
        return f"{header}.{new_claims}.{signature}"

    return _made_from_signed_token(with_other_claims)


def _signed_by_suite(key: bytes, further_header: Mapping[str, object], **claims_to_change: object) -> TokenMaker:
    """A function that makes a wrong token which the suite signs itself, with a signing key that anybody may guess.

    It shows whether a service was left with such a key, for example the empty one. The token has the claims of the
    right token, with `claims_to_change` replaced, or made-up claims if the right one is not signed. Its header says
    that it is signed with HS256 (RFC 7518 section 3.2). `further_header` has further members of the header, such as
    `{"kid": "pixconf-key"}`.

    The function gives None if the right token is signed with the same key: then the service has to accept the new one.
    """

    def wrong_token_of(token: str) -> str | None:
        """The wrong token; None if the service would have to accept it, because the right token has the same key."""
        claims = _MADE_UP_CLAIMS
        parts = signed_parts(token)
        if parts:
            header, claims, signature = parts
            is_signed_with_key = hmac.compare_digest(_signature(header, claims, key), signature)
            if is_signed_with_key:
                return None
        new_header = _encoded_part(alg="HS256", typ="JWT", **further_header)
        new_claims = _part_with_changes(claims, **claims_to_change)
        return f"{new_header}.{new_claims}.{_signature(new_header, new_claims, key)}"

    return wrong_token_of


def _signature(header: str, claims: str, key: bytes) -> str:
    """The signature of a header and claims with this key, in base64url, by the algorithm HS256 (RFC 7518)."""
    return _encoded(hmac.digest(key, f"{header}.{claims}".encode(), "sha256"))


def _unsigned(algorithm: str) -> TokenMaker:
    """A function that makes a wrong token with made-up claims, whose header says that it is not signed.

    `algorithm` is the word for that in the header: "none" (RFC 7519 section 6), or the same in another letter case.
    Some services accept such a token. The function gives None if the right token is signed: then forms are sent that
    have the claims of the right token, such as "the token without a signature (none)".
    """

    def wrong_token_of(token: str) -> str | None:
        """The wrong token; None if the right token is signed."""
        if signed_parts(token):
            return None
        header = _encoded_part(alg=algorithm, typ="JWT")
        return f"{header}.{_MADE_UP_CLAIMS}."

    return wrong_token_of


def _of_another_issuer(token: str) -> str | None:
    """The right token with another issuer (who made the token) among its claims, and with a made-up signature.

    A service must check who made a token. None if the right token is not signed, or if its signature is so short that
    it can be guessed: then the right token could be restored.
    """
    parts = signed_parts(token)
    if not parts:
        return None
    header, claims, signature = parts
    if _can_be_guessed(signature):
        return None
    other_claims = _part_with_changes(claims, iss=_MADE_UP_ISSUER)
    other_signature = _text_of_same_shape(signature)
    return f"{header}.{other_claims}.{other_signature}"


_MADE_UP_ISSUER = f"https://{SYNTHETIC_PREFIX}issuer.example"
_MADE_UP_CLAIMS = _encoded_part(iss=_MADE_UP_ISSUER, sub=f"{SYNTHETIC_PREFIX}subject", exp=_NEVER_EXPIRES)
"""Claims for wrong tokens that name nobody: an issuer, a subject, and the year 2100 as the end of the validity."""


def _can_be_guessed(text: str) -> bool:
    """True if a part of the right token has so few letters and digits (fewer than 16) that somebody may guess it.

    A wrong token that lacks only this part would reveal the right one to everybody who sees it.
    """
    letters_and_digits = [character for character in text if character.isalnum()]
    return len(letters_and_digits) < _FEWEST_HIDDEN


def _text_of_same_shape(text: str) -> str:
    """A text of the same length, in which each letter is another letter, and each digit another digit.

    For `Ab-12` it may be `Ec-83`. Capital letters stay capital letters, and a hexadecimal text stays hexadecimal.
    So a service that first checks what tokens look like does not refuse it for that reason. The result is the same for
    the same text each time, and nobody can guess it without the text.
    """
    random = Random(text)  # the text is the seed
    has_letters_beyond_hex = re.search("[g-zG-Z]", text) is not None
    small_letters = string.ascii_lowercase if has_letters_beyond_hex else "abcdef"
    groups = (small_letters, small_letters.upper(), string.digits)
    new_characters = []
    for character in text:
        candidates = character  # a character such as - stays as it is
        for group in groups:
            if character in group:
                candidates = group.replace(character, "")  # all others of its group
        new_characters.append(random.choice(candidates))
    return "".join(new_characters)


# -- the table ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Form:
    """What the Authorization header of a request without the valid token has, such as "the token cut short"."""

    name: str
    make: TokenMaker | None = None
    """Makes the wrong token behind the scheme; None if there is nothing behind the scheme."""
    scheme: str = "Bearer "
    """The text before the wrong token."""
    restorable: bool = False
    """True if the right token can be restored from it, because fewer than 16 characters are missing or changed."""
    filter: str = ""
    """The command of a shell that does to a token what `make` does; empty if one line cannot do it."""


NO_HEADER = "no header"
"""The request without a token, which is no wrong token. The limit of wrong tokens counts all others."""
WRONG_TOKEN = "a wrong token (of a JWT: another signature)"
"""The form that every token has."""
_CHUNKED_BODY = "a chunked body"
"""The way in which a body is sent in chunks, without a Content-Length (RFC 9112 section 7.1)."""
_RestorableForm = partial(Form, restorable=True)
"""Makes a form from which the right token can be restored."""
FORMS = (
    Form(WRONG_TOKEN, _with_another_signature),
    Form("an empty bearer"),
    Form("an empty header", scheme=""),
    Form("the text null", scheme="Bearer null"),
    # unsigned as the header says (RFC 7515 appendix A.5), or with nothing where the signature was
    Form(
        "the token without a signature (none)",
        _made_from_signed_token(lambda header, claims, _: f"{_part_with_changes(header, alg='none')}.{claims}."),
    ),
    Form(
        "the token without its signature",
        _made_from_signed_token(lambda header, claims, _: f"{header}.{claims}."),
        filter="sed 's/[^.]*$//'",
    ),
    _RestorableForm("the token with an expired exp", _with_other_claims(exp=_EXPIRED)),
    _RestorableForm("the token of another subject", _with_other_claims(sub=f"{SYNTHETIC_PREFIX}subject")),
    # without the padding of base64, too, because some decoders ignore missing padding
    _RestorableForm(
        "the token cut short",
        lambda token: token.rstrip("=")[:-1],
        filter="sed 's/=*$//; s/.$//'",
    ),
    # by two characters, because some decoders ignore everything behind padding, or one character behind groups of four
    _RestorableForm("the token lengthened", lambda token: token.rstrip("=") + "11", filter="sed 's/=*$/11/'"),
    _RestorableForm(
        "the token in another letter case",
        lambda token: None if _HEX.fullmatch(token) else token.swapcase(),
        filter="tr a-zA-Z A-Za-z",
    ),
    _RestorableForm("the token backwards", lambda token: token[::-1], filter="rev"),
    _RestorableForm("the token with a character before it", lambda token: "x" + token, filter="sed s/^/x/"),
    Form("Basic credentials", scheme="Basic cGl4Y29uZjpwaXhjb25m"),  # pixconf:pixconf
    Form("the text undefined", scheme="Bearer undefined"),
)
"""The forms that are sent with real codes and keys. The first ones are those that services let in most often.

The default of limits.wrong_tokens has room for thirteen with codes. Fewer apply to a token that is not signed.
"""
OTHER_SCHEMES = (
    _RestorableForm("the bare token", scheme=""),
    # as long as Bearer, because some services cut off seven characters and do not look at them
    _RestorableForm("the token under the scheme Digest", scheme="Digest "),
)
"""Forms with the right token itself under another scheme. They are never sent with a real transaction code."""


_LIKELY_WORDS = ("test", "admin", "dev", "<ACCESS_TOKEN>")
"""The likeliest words that developers leave in a check of the token. The last one stands in the interface document."""
_WORDS = ("secret", "token", "password", "changeme", "123", "demo", "dummy")
"""Further words that developers leave in a check of the token."""
_USUAL_PAIRS = ("admin:admin", "user:password")
"""Names and passwords with which frameworks and gateways are delivered."""
_ANOTHER_KEY = {"kid": f"{SYNTHETIC_PREFIX}key"}
"""A member of the header that names another signing key (`kid`, RFC 7515 section 4.1.4)."""


def _form_of_word(word: str) -> Form:
    """The form of the Authorization header with a common word as the token, such as `Bearer test`.

    Developers sometimes leave a check in a service that accepts such a word.
    """
    return Form(f"the text {word}", scheme=f"Bearer {word}")


def _form_of_pair(name_and_password: str) -> Form:
    """The form of the Authorization header with a usual name and password (RFC 7617): `Basic YWRtaW46YWRtaW4=`.

    Frameworks and gateways are delivered with such a pair, and sometimes nobody changes it.
    """
    credentials = b64encode(name_and_password.encode()).decode()
    return Form(f"Basic credentials {name_and_password}", scheme=f"Basic {credentials}")


FORMS_FOR_SYNTHETIC_IDENTIFIERS = (
    *map(_form_of_word, _LIKELY_WORDS),
    Form("an unsigned token (none) with other claims", _unsigned("none")),
    # in capital letters, because some libraries refuse only the word in small letters
    Form("an unsigned token (NONE) with other claims", _unsigned("NONE")),
    Form(
        "an unsigned token (NONE) with the claims of the token",
        _made_from_signed_token(lambda header, claims, _: f"{_part_with_changes(header, alg='NONE')}.{claims}."),
    ),
    Form("a token of another issuer", _of_another_issuer),
    Form("a token with another key id, signed with an empty key", _signed_by_suite(b"", _ANOTHER_KEY)),
    Form("a token signed with the key secret", _signed_by_suite(b"secret", {})),
    Form(
        "a token of another user, signed with an empty key", _signed_by_suite(b"", {}, sub=f"{SYNTHETIC_PREFIX}subject")
    ),
    Form("an expired token, signed anew with the key secret", _signed_by_suite(b"secret", {}, exp=_EXPIRED)),
    *map(_form_of_pair, _USUAL_PAIRS),
    *map(_form_of_word, _WORDS),
)
"""Forms that are sent with synthetic identifiers alone, because they are many. The likeliest ones are first.

A synthetic identifier is a made-up code, account or key, which belongs to nobody. Its answer shows whether the service
accepted the form as a token: then it differs from the answer without a token.
"""


_WITH_THE_RIGHT_TOKEN = Form(VALID)
"""`Bearer` and the right token, as documented."""
_ALL_FORMS = (_WITH_THE_RIGHT_TOKEN, *FORMS, *FORMS_FOR_SYNTHETIC_IDENTIFIERS, *OTHER_SCHEMES)
FORMS_BY_NAME = {form.name: form for form in _ALL_FORMS}
"""All forms by name."""
RESTORABLE_FORMS = frozenset(form.name for form in FORMS_BY_NAME.values() if form.restorable)
"""Names of the forms from which everybody who reads them can restore the right token. They need the permission `fuzz`,
because a service may write refused tokens to a log."""
INVALID_CREDENTIALS: Mapping[str, str] = {
    "an empty header": "",
    "an unknown scheme": "Pixconf a=b,c",
    "a bearer of two words": "Bearer pixconf pixconf",
    "a bearer outside ASCII": "Bearer pixconf-ação",
    "an over-long bearer": "Bearer " + "x" * 4_100,  # more than 4 kB, less than usual servers take as a header
    "a signed token cut short": "Bearer eyJhbGciOiJSUzI1NiJ9.e30",
    "a signed token that is no JSON": "Bearer cGl4.cGl4.cGl4",
    "Basic credentials that are no base64": "Basic %pixconf%",
}
"""Headers that are not well formed. A service that reads them carelessly breaks on them."""


def permitted_credential_forms(profile: Profile, token: str = "", among: tuple[Form, ...] = FORMS) -> list[Form]:
    """The forms in `among` that may be sent. A form is a kind of wrong token, such as "the token cut short".

    A form from which somebody could restore the right token is permitted only if `allow` of the profile (the settings
    of the run) has `fuzz`. If the right `token` is given, forms that cannot be made from it are left out, such as
    another signature for a token that is not signed. The forms are in the same order as in `among`.
    """
    permitted = []
    for form in among:
        is_permitted = "fuzz" in profile.allow or not form.restorable
        can_be_made = True  # as far as is known without the right token
        if token and form.make is not None:
            can_be_made = form.name in wrong_tokens(token)
        if is_permitted and can_be_made:
            permitted.append(form)
    return permitted


def authorization(credential: str, token: str) -> str | None:
    """The value of the Authorization header that a credential means; None for no header.

    `credential` is a name, such as "no header", "the token cut short" or "an unknown scheme". `token` is the right
    token, from which a wrong one is made. Raises KeyError for an unknown name.

    The names were chosen for the token at the start of the run. A token that was fetched later may be of another kind,
    such as not signed. If the named wrong token cannot be made from it, WRONG_TOKEN is sent instead, which can be made
    from every token.
    """
    if credential == NO_HEADER:
        return None
    if credential in INVALID_CREDENTIALS:
        return INVALID_CREDENTIALS[credential]
    form = FORMS_BY_NAME[credential]
    has_the_right_token = form in (_WITH_THE_RIGHT_TOKEN, *OTHER_SCHEMES)  # OTHER_SCHEMES are wrong by the scheme alone
    if has_the_right_token:
        return form.scheme + token
    wrong_token = ""
    needs_wrong_token = form.make is not None  # false for "an empty bearer" and for "Bearer test", which is all scheme
    if needs_wrong_token:
        tokens_by_form = wrong_tokens(token)
        wrong_token = tokens_by_form.get(form.name, tokens_by_form[WRONG_TOKEN])
    # RFC 9110 section 5.5 does not permit a blank at the end of a header, such as behind an empty token.
    return (form.scheme + wrong_token).rstrip()


@cache
def wrong_tokens(token: str) -> Mapping[str, str]:
    """The wrong tokens that the suite makes from the right token, by the name of their form.

    A form is a kind of wrong token: `{"the token cut short": "eyJhb…"}`. The result is kept in memory, because reports
    ask for it again and again to hide these texts.

    `FORMS` are sent with real codes and keys, `FORMS_FOR_SYNTHETIC_IDENTIFIERS` with made-up ones alone. A form is left
    out if it cannot be made from this token, such as "the token without its signature" if the token has none.

    A service that decodes a wrong token must not get the right one by chance. So each entry of `FORMS` changes more
    than a decoder may ignore. For example "the token cut short" also lacks the padding `=` of base64, and "the token in
    another letter case" is not made from a hexadecimal number, in which the letter case says nothing.
    """
    tokens_by_form = {}
    for form in (*FORMS, *FORMS_FOR_SYNTHETIC_IDENTIFIERS):
        wrong_token = form.make(token) if form.make else None
        if wrong_token and wrong_token != token:
            tokens_by_form[form.name] = wrong_token
    return tokens_by_form


# -- ways to write the request --------------------------------------------------------------------------------------

FOR_A_REGISTERED_KEY = "a key that is registered"
"""A name in `WAYS` that changes nothing in how a request is written: it says that the key in the request is registered
already when it is sent. It stands there because tests and reports name it beside the ways."""
_SEGMENT_PIX = "pix/(?=(keys/)?[^/]*$)"
"""The segment `pix` of the documented path. The address may have another segment `pix` before it, in base_url."""
Replacement = str | Callable[[re.Match[str]], str]
"""The text that replaces a part of a request, or a function that makes it from that part."""


class Way(NamedTuple):
    """A way to write a request: what is replaced in the documented request. An empty `part` replaces nothing."""

    part: str = ""
    """`url`, or the name of a header."""
    pattern: str = ""
    """The regular expression whose first match in that part is replaced."""
    replacement: Replacement = ""


def _with_scheme(scheme: str) -> Way:
    """The way in which the header Authorization has another word, such as "bearer ", in the place of "Bearer "."""
    return Way("Authorization", r"^\w+ ?", scheme)


WAYS: Mapping[str, Way] = {
    "the scheme bearer": _with_scheme("bearer "),
    "the scheme BEARER": _with_scheme("BEARER "),
    "two spaces behind the scheme": _with_scheme("Bearer  "),
    "a query": Way("url", "$", "?pixconf=1"),
    "a slash at the end": Way("url", "$", "/"),
    _CHUNKED_BODY: Way("Transfer-Encoding", "", "chunked"),
    HTTP_1_0: Way(),  # the wire writes the version
    "two slashes": Way("url", "(?<=/v1)/", "//"),
    "an encoded letter": Way("url", _SEGMENT_PIX, "pi%78/"),
    "another letter case": Way("url", "/(execute/pix|pix/keys)/(?=[^/]*$)", lambda path: path[0].upper()),
    "an encoded slash": Way("url", "/(?=(pix|keys)/[^/]*$)", "%2F"),
    "a dot segment": Way("url", "(?<=/v1)/", "/./"),
    "a matrix parameter": Way("url", "$", MATRIX_PARAMETER),
    "a file extension": Way("url", "$", FILE_EXTENSION),
    "another Accept": Way("Accept", "^.*", "text/html, */*;q=0.1"),
    FOR_A_REGISTERED_KEY: Way(),
}
"""Ways on which a check of the token may depend, by name.

The ways of the scheme come first: a request without a header has no scheme, so these ways are tried only with a wrong
token. The others are in the order in which services are likely to fail. A scheme is spelled as RFC 9110 sections 11.1
and 11.4 permit; the interface document shows `Bearer`.
"""


def write_in_way(request: PreparedRequest, way: str) -> None:
    """Change a request so that it is written in an unusual way, such as "two slashes" in its path.

    `WAYS` has what is replaced for each name. Another name changes nothing, because the caller has written the request
    in that way already. A request without a body cannot be sent in chunks, so that way does not change it.
    """
    if way == _CHUNKED_BODY and not request.body:
        return  # a service would wait for the chunks of a body that never comes
    change = WAYS.get(way, Way())  # Way() replaces nothing
    if change.part == "url":
        request.url = re.sub(change.pattern, change.replacement, request.url or "", count=1)
    elif change.part:  # the name of a header
        header = request.headers.get(change.part, "")
        request.headers[change.part] = re.sub(change.pattern, change.replacement, header, count=1)
    if way == _CHUNKED_BODY:
        del request.headers["Content-Length"]  # RFC 9112 section 6.2: never beside Transfer-Encoding


def ways_with_the_documented_path(*, has_a_body: bool) -> list[str]:
    """The names of the unusual ways to write a request that keep its path and the word Bearer as they are documented.

    Examples are "a query" and "another Accept". They show whether a service forgets to check the token of a request
    that it must understand. In another path it may rightly find no operation. `has_a_body` is true for a request with a
    body.
    """
    ways = []
    for name in _ways_to_write(has_a_body=has_a_body):
        way = WAYS[name]
        if not _changes_scheme(way) and _keeps_path(way):
            ways.append(name)
    return ways


def _ways_to_write(*, has_a_body: bool) -> list[str]:
    """The names of the ways in which a request can be written. A request without a body cannot be sent in chunks."""
    ways = []
    for name in WAYS:
        if name == FOR_A_REGISTERED_KEY:  # this name is no way to write: it only says which key the request has
            continue
        if name == _CHUNKED_BODY and not has_a_body:
            continue
        ways.append(name)
    return ways


def _changes_scheme(way: Way) -> bool:
    """True if a way to write a request changes the scheme, which is the word `Bearer` in the header Authorization."""
    return way.part == "Authorization"


def _keeps_path(way: Way) -> bool:
    """True if a way to write a request keeps its path: it changes a header, or adds a query to the address."""
    if way.part != "url":
        return True
    return isinstance(way.replacement, str) and way.replacement.startswith("?")


class UnauthorizedRequest(NamedTuple):
    """A request without the valid token that is to be sent: what it has as the token, and how it is written."""

    credential: str
    """The name of the form, or NO_HEADER."""
    spelling: tuple[str, ...] = ()
    """The names of the ways; empty if the request is written as documented."""


def table_of_unauthorized_requests(
    credentials: list[str], *, has_a_body: bool, seed: int = 0
) -> list[UnauthorizedRequest]:
    """The requests without the valid token that are worth sending to an operation, in the order of sending.

    `credentials` are the names of forms (kinds of wrong tokens, such as "the token cut short"). Each may be sent in
    each way (how the request is written, such as "two slashes" in its path). `has_a_body` is true if the request has a
    body.

    A limit may cut the table short. So each form and each way comes alone first, and their combinations come last:

    1. the first form, no header, and all other forms, written as documented
    2. no header in each way, but not in a way that changes the scheme: without a header there is no scheme. Ways that
       change the path come first, because only a real code or key can show their faults. `seed` decides their order,
       except that the first one, a slash at the end, stays the first.
    3. each form in each way, the first form first
    """
    ways = _ways_to_write(has_a_body=has_a_body)
    as_documented = [UnauthorizedRequest(credential) for credential in credentials]
    ways_without_header = [way for way in ways if not _changes_scheme(WAYS[way])]
    first_path, *other_paths = [way for way in ways_without_header if not _keeps_path(WAYS[way])]
    Random(f"{seed} paths").shuffle(other_paths)
    with_documented_path = [way for way in ways_without_header if _keeps_path(WAYS[way])]
    ways_without_header = [first_path, *other_paths, *with_documented_path]
    without_header = [UnauthorizedRequest(NO_HEADER, (way,)) for way in ways_without_header]
    in_each_way = []
    for credential in credentials:
        in_each_way += [UnauthorizedRequest(credential, (way,)) for way in ways]
    first_form, *other_forms = as_documented
    table = [first_form, UnauthorizedRequest(NO_HEADER), *other_forms, *without_header, *in_each_way]
    return list(dict.fromkeys(table))  # without repetitions
