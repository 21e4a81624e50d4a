"""What is trusted in the place of a token: headers that a gateway sets, words, tokens that anybody can sign, a session,
and the moment of a request."""

import hmac
import json
from dataclasses import replace
from hashlib import sha256

from spec.interface import KEY_TYPES
from tests.selftest.proof.mutants.making_faults import declare_mutant_of, json_members
from tests.selftest.proof.mutants.tokens_faults import LaxService, bearer_token
from tests.selftest.services.signed import SignsItsToken, base64url_decoded


def algorithm_of_unsigned_token(header):
    """What the bearer token in a header Authorization says about its signature, if it has none; else an empty text."""
    first_part, _, rest = bearer_token(header).partition(".")
    if not rest.endswith("."):  # something stands where the signature is
        return ""
    return json.loads(base64url_decoded(first_part)).get("alg", "")


HEADERS = {
    "TrustsTheLoopbackAddress": (
        "A request from 127.0.0.1, as X-Forwarded-For says, is let in.",
        lambda self, request, header: request.header("X-Forwarded-For") == "127.0.0.1",
    ),
    "TrustsAPrivateAddress": (
        "A request from a private address, as X-Real-IP says, is let in.",
        lambda self, request, header: request.header("X-Real-IP").startswith("10."),
    ),
    "TrustsForwardedBesideAWrongToken": (
        "A wrong token is let in from a loopback address, as Forwarded says.",
        lambda self, request, header: bool(bearer_token(header)) and "127.0.0.1" in request.header("Forwarded"),
    ),
    "TrustsInternalCallers": (
        "A request that says to be internal is let in.",
        lambda self, request, header: request.header("X-Internal-Request") == "true",
    ),
    "TrustsTheUserOfAGateway": (
        "A request with X-Authenticated-User is let in.",
        lambda self, request, header: bool(request.header("X-Authenticated-User")),
    ),
    "TrustsTheCertificateOfAGateway": (
        "A request with X-SSL-Client-Verify is let in.",
        lambda self, request, header: request.header("X-SSL-Client-Verify") == "SUCCESS",
    ),
    "TrustsAnyAccessTokenHeader": (
        "A request with X-Access-Token is let in.",
        lambda self, request, header: bool(request.header("X-Access-Token")),
    ),
    "ChecksTheOriginalPath": (
        "X-Original-URL says whether the token is looked at.",
        lambda self, request, header: request.header("X-Original-URL") == "/health",
    ),
    "ChecksNoOptions": (
        "X-HTTP-Method-Override says whether the token is looked at.",
        lambda self, request, header: request.header("X-HTTP-Method-Override") == "OPTIONS",
    ),
    "TrustsAPreflightRequest": (
        "A request with Origin and Access-Control-Request-Method is let in.",
        lambda self, request, header: bool(request.header("Origin") and request.header("Access-Control-Request-Method")),
    ),
    "TrustsTheSameMachine": (
        "A request with the host localhost is let in.", lambda self, request, header: request.header("Host") == "localhost",
    ),
    "HasAUsualPassword": (
        "The user admin with the password admin is let in.", lambda self, request, header: header == "Basic YWRtaW46YWRtaW4=",
    ),
    "TakesUnsignedTokensInCapitals": (
        "A token whose algorithm is NONE is let in, and one whose algorithm is none is not.",
        lambda self, request, header: algorithm_of_unsigned_token(header) == "NONE",
    ),
    "TrustsAQuery": ("debug=true lets in.", lambda self, request, header: "debug=true" in request.query),
    "TakesTheWordTest": ("The bearer test is let in.", lambda self, request, header: bearer_token(header) == "test"),
    "TakesTheWordChangeme": ("The bearer changeme is let in.", lambda self, request, header: bearer_token(header) == "changeme"),
}  # fmt: skip
_WORDS = (
    "null",
    "undefined",
    "test",
    "admin",
    "dev",
    "secret",
    "token",
    "password",
    "changeme",
    "123",
    "demo",
    "dummy",
)
for _operation in ("executePix", "registerPixKey"):
    for _name, (_text, _lets_in) in HEADERS.items():
        declare_mutant_of("trust", _operation, _name, _text, LaxService, "token.required", lets_in=_lets_in)
declare_mutant_of(
    "trust", "registerPixKey", "OfCPFTakesAnEmptyBearer", "A bearer without a token is let in where the key is a CPF.",
    LaxService, "token.required",
    lets_in=lambda self, request, header: header == "Bearer" and json_members(request).get("pixKeyType") == "CPF",
)  # fmt: skip
for _key_type in KEY_TYPES:
    declare_mutant_of(
        "trust", "registerPixKey", f"Of{_key_type}TakesWords", f"A usual word is let in where the key is of the type {_key_type}.",
        LaxService, "token.required",
        lets_in=lambda self, request, header, key_type=_key_type: (
            bearer_token(header) in _WORDS and json_members(request).get("pixKeyType") == key_type
        ),
    )  # fmt: skip


class LaxAboutSessions(LaxService):
    """The sandbox, which sets a cookie with each success. A request with that cookie needs no valid token."""

    COOKIE = "SID=0f6a2c9d81"

    def finish(self, request, operation, response):
        """Add the cookie of the session to a successful answer."""
        response = super().finish(request, operation, response)
        if response.status != 200:
            return response
        return replace(response, headers=(*response.headers, ("Set-Cookie", f"{self.COOKIE}; Path=/; HttpOnly")))

    def has_session(self, request):
        """True if the request has the cookie, which only requests with the valid token get."""
        return self.COOKIE in request.header("Cookie")


class LaxAboutMoments(LaxService):
    """The sandbox, which counts its requests (`calls`) and remembers the status of its last answer."""

    last_status = 0

    def respond(self, request):
        """Answer a request, and remember the status for the next request."""
        response = super().respond(request)
        self.last_status = response.status
        return response


class LaxAboutSignatures(LaxService, SignsItsToken):
    """The sandbox with a signed token (a JWT), which also takes some tokens that were signed with a guessable key."""

    def is_signed_with(self, header, key):
        """True if the token in the header Authorization is signed with this key, such as b"secret"."""
        signed_part, _, signature = bearer_token(header).rpartition(".")
        right_signature = hmac.digest(key, signed_part.encode(), sha256)
        return hmac.compare_digest(base64url_decoded(signature), right_signature)

    def member(self, header, number_of_part, name):
        """A member of part 0 ("kid", "alg") or of part 1, the claims ("exp", "sub"), of the token in a header Authorization.

        None if there is no such member, or if the token is not signed.
        """
        try:
            part = bearer_token(header).split(".")[number_of_part]
            return json.loads(base64url_decoded(part)).get(name)
        except (ValueError, IndexError, AttributeError):
            return None


SESSIONS = {
    "TrustsASession": ("A session is enough.", lambda self, request, header: self.has_session(request)),
    "TrustsASessionBesideAWrongToken": (
        "A session is enough beside any bearer.", lambda self, request, header: bool(bearer_token(header)) and self.has_session(request),
    ),
}  # fmt: skip
SIGNATURES = {
    "HasAnEmptyKeyForUnknownIds": (
        "A key id that is not known stands for an empty key.",
        lambda self, request, header: self.member(header, 0, "kid") is not None and self.is_signed_with(header, b""),
    ),
    "HasAnOldKey": ("The key secret still works.", lambda self, request, header: self.is_signed_with(header, b"secret")),
    "HasAnOldKeyForExpiredTokens": (
        "The key secret still works for tokens that expired.",
        lambda self, request, header: (
            self.is_signed_with(header, b"secret") and (self.member(header, 1, "exp") or 0) < 1_500_000_000
        ),
    ),
    "HasAnEmptyKeyForOtherUsers": (
        "An empty key works for other users.",
        lambda self, request, header: (
            self.is_signed_with(header, b"") and self.member(header, 1, "sub") != self.CLAIMS["sub"]
        ),
    ),
    "TrustsAnyIssuerButItsOwn": (
        "Signatures of other issuers are not looked at.",
        lambda self, request, header: self.member(header, 1, "iss") not in (None, self.CLAIMS["iss"]),
    ),
}  # fmt: skip
for _operation in ("executePix", "registerPixKey"):
    for _table, _base in ((SESSIONS, LaxAboutSessions), (SIGNATURES, LaxAboutSignatures)):
        for _name, (_text, _lets_in) in _table.items():
            declare_mutant_of("trust", _operation, _name, _text, _base, "token.required", lets_in=_lets_in)
    declare_mutant_of(
        "trust", _operation, "IsNotCheckedAtFirst", "The token is not checked in the first three requests.",
        LaxAboutMoments, "token.required", lets_in=lambda self, request, header: self.calls <= 3,
    )  # fmt: skip
    declare_mutant_of(
        "trust", _operation, "IsNotCheckedBehindARefusal", "The token is not checked right behind a refusal for it.",
        LaxAboutMoments, "token.required",
        warns=("token.scheme",) if _operation == "registerPixKey" else (),
        lets_in=lambda self, request, header: self.last_status == 401,
    )  # fmt: skip
