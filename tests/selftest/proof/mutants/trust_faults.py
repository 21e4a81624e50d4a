"""What is trusted in the place of a token: headers that a gateway sets, words, tokens that anybody can sign, a session,
and the moment of a request."""

import hmac
import json
from dataclasses import replace
from hashlib import sha256

from tests.selftest.proof.mutants.making_faults import declare_mutant_of, json_members
from tests.selftest.proof.mutants.tokens_faults import LaxService, _bearer
from tests.selftest.services.signed import SignsItsToken, base64url_decoded

HEADERS = {
    "TrustsTheLoopbackAddress": (
        "A request from 127.0.0.1, as X-Forwarded-For says, is let in.",
        lambda self, request, sent: request.header("X-Forwarded-For") == "127.0.0.1",
    ),
    "TrustsAPrivateAddress": (
        "A request from a private address, as X-Real-IP says, is let in.",
        lambda self, request, sent: request.header("X-Real-IP").startswith("10."),
    ),
    "TrustsForwardedBesideAWrongToken": (
        "A wrong token is let in from a loopback address, as Forwarded says.",
        lambda self, request, sent: bool(_bearer(sent)) and "127.0.0.1" in request.header("Forwarded"),
    ),
    "TrustsInternalCallers": (
        "A request that says to be internal is let in.",
        lambda self, request, sent: request.header("X-Internal-Request") == "true",
    ),
    "TrustsTheUserOfAGateway": (
        "A request with X-Authenticated-User is let in.",
        lambda self, request, sent: bool(request.header("X-Authenticated-User")),
    ),
    "TrustsTheCertificateOfAGateway": (
        "A request with X-SSL-Client-Verify is let in.",
        lambda self, request, sent: request.header("X-SSL-Client-Verify") == "SUCCESS",
    ),
    "TrustsAnyAccessTokenHeader": (
        "A request with X-Access-Token is let in.",
        lambda self, request, sent: bool(request.header("X-Access-Token")),
    ),
    "ChecksTheOriginalPath": (
        "X-Original-URL says whether the token is looked at.",
        lambda self, request, sent: request.header("X-Original-URL") == "/health",
    ),
    "ChecksNoOptions": (
        "X-HTTP-Method-Override says whether the token is looked at.",
        lambda self, request, sent: request.header("X-HTTP-Method-Override") == "OPTIONS",
    ),
    "TrustsAQuery": ("debug=true lets in.", lambda self, request, sent: "debug=true" in request.query),
    "TakesTheWordTest": ("The bearer test is let in.", lambda self, request, sent: _bearer(sent) == "test"),
    "TakesTheWordChangeme": ("The bearer changeme is let in.", lambda self, request, sent: _bearer(sent) == "changeme"),
}  # fmt: skip
for _operation in ("executePix", "registerPixKey"):
    for _name, (_text, _lets_in) in HEADERS.items():
        declare_mutant_of("trust", _operation, _name, _text, LaxService, "token.required", lets_in=_lets_in)
declare_mutant_of(
    "trust", "registerPixKey", "OfCPFTakesAnEmptyBearer", "A bearer without a token is let in where the key is a CPF.",
    LaxService, "token.required",
    lets_in=lambda self, request, sent: sent == "Bearer" and json_members(request).get("pixKeyType") == "CPF",
)  # fmt: skip


class LaxAboutSessions(LaxService):
    """The sandbox, which sets a cookie with each success."""

    COOKIE = "SID=0f6a2c9d81"

    def finish(self, request, operation, response):
        response = super().finish(request, operation, response)
        if response.status != 200:
            return response
        return replace(response, headers=(*response.headers, ("Set-Cookie", f"{self.COOKIE}; Path=/; HttpOnly")))

    def has_session(self, request):
        """Whether the request belongs to the session of a valid token."""
        return self.COOKIE in request.header("Cookie")


class LaxAboutMoments(LaxService):
    """The sandbox, which remembers how it answered last."""

    last_status = first_calls = 0

    def respond(self, request):
        response = super().respond(request)
        self.last_status = response.status
        return response


class LaxAboutSignatures(LaxService, SignsItsToken):
    """The sandbox with a signed token, which has another key for some."""

    def is_signed_with(self, sent, key):
        """Whether somebody signed a token with this key."""
        signed, _, signature = _bearer(sent).rpartition(".")
        return hmac.compare_digest(base64url_decoded(signature), hmac.digest(key, signed.encode(), sha256))

    def member(self, sent, part, name):
        """The member of the header (0) or the claims (1) of a signed token; None of another text."""
        try:
            members = [json.loads(base64url_decoded(each)) for each in _bearer(sent).split(".")[:2]]
            return members[part].get(name)
        except (ValueError, IndexError, AttributeError):
            return None


SESSIONS = {
    "TrustsASession": ("A session is enough.", lambda self, request, sent: self.has_session(request)),
    "TrustsASessionBesideAWrongToken": (
        "A session is enough beside any bearer.", lambda self, request, sent: bool(_bearer(sent)) and self.has_session(request),
    ),
}  # fmt: skip
SIGNATURES = {
    "HasAnEmptyKeyForUnknownIds": (
        "A key id that is not known stands for an empty key.",
        lambda self, request, sent: self.member(sent, 0, "kid") is not None and self.is_signed_with(sent, b""),
    ),
    "HasAnOldKey": ("The key secret still works.", lambda self, request, sent: self.is_signed_with(sent, b"secret")),
    "HasAnOldKeyForExpiredTokens": (
        "The key secret still works for tokens that expired.",
        lambda self, request, sent: (
            self.is_signed_with(sent, b"secret") and (self.member(sent, 1, "exp") or 0) < 1_500_000_000
        ),
    ),
    "HasAnEmptyKeyForOtherUsers": (
        "An empty key works for other users.",
        lambda self, request, sent: (
            self.is_signed_with(sent, b"") and self.member(sent, 1, "sub") != self.CLAIMS["sub"]
        ),
    ),
    "TrustsAnyIssuerButItsOwn": (
        "Signatures of other issuers are not looked at.",
        lambda self, request, sent: self.member(sent, 1, "iss") not in (None, self.CLAIMS["iss"]),
    ),
}  # fmt: skip
for _operation in ("executePix", "registerPixKey"):
    for _table, _base in ((SESSIONS, LaxAboutSessions), (SIGNATURES, LaxAboutSignatures)):
        for _name, (_text, _lets_in) in _table.items():
            declare_mutant_of("trust", _operation, _name, _text, _base, "token.required", lets_in=_lets_in)
    declare_mutant_of(
        "trust", _operation, "IsNotCheckedAtFirst", "The token is not checked in the first three requests.",
        LaxAboutMoments, "token.required", lets_in=lambda self, request, sent: self.calls <= 3,
    )  # fmt: skip
    declare_mutant_of(
        "trust", _operation, "IsNotCheckedBehindARefusal", "The token is not checked right behind a refusal for it.",
        LaxAboutMoments, "token.required",
        warns=("token.scheme",) if _operation == "registerPixKey" else (),
        hides=("executePix.token.scheme",) if _operation == "executePix" else (),
        lets_in=lambda self, request, sent: self.last_status == 401,
    )  # fmt: skip
