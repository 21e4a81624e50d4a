"""Tokens that only look like the right one, and conditions under which any token is let in; for both operations."""

import json
import re
import threading
from uuid import uuid4

from tests.selftest.proof.mutants.making_faults import declare_mutant_of
from tests.selftest.proof.mutants.tokens_faults import LaxService, _bearer
from tests.selftest.services.signed import SignsItsToken, base64url_decoded


class LaxAboutSignedTokens(LaxService, SignsItsToken):
    """The sandbox with a signed token, which takes more for it than it is."""

    def has(self, sent, *flaws):
        """Whether just this is wrong with what was sent."""
        return self.flaws_of(_bearer(sent)) == set(flaws)

    def algorithm_of(self, sent):
        """What the header names, where it is all there and nothing but the signature is wrong."""
        token = _bearer(sent)
        unsigned = self.has(sent, "algorithm", "signature") and token.endswith(".")
        return json.loads(base64url_decoded(token.partition(".")[0]))["alg"] if unsigned else ""

    def is_signed_as_before(self, sent):
        """Whether the signature is that of the right token."""
        return _bearer(sent).rpartition(".")[2] == self.token.rpartition(".")[2]


SIGNED = {
    "TakesAnySignature": (
        "The signature of a token is not looked at, its claims are.", lambda self, request, sent: self.has(sent, "signature"),
    ),
    "TakesUnsignedTokens": (
        "A token whose algorithm is none needs no signature.", lambda self, request, sent: self.algorithm_of(sent) == "none",
    ),
    "LooksTheSignatureUp": (
        "A token is known by its signature, whatever else it says.", lambda self, request, sent: self.is_signed_as_before(sent),
    ),
    "TakesAnExpiredToken": (
        "A token is known by its signature, and may have expired.", lambda self, request, sent: self.is_signed_as_before(sent) and self.has(sent, "signature", "exp"),
    ),
    "TakesATokenOfAnotherSubject": (
        "A token is known by its signature, and may be of another subject.", lambda self, request, sent: self.is_signed_as_before(sent) and self.has(sent, "signature", "sub"),
    ),
    "TakesAnySignatureUnderbearer": (
        "The signature of a token is not looked at where the scheme is bearer.", lambda self, request, sent: sent.startswith("bearer ") and self.has(sent, "signature"),
    ),
    "TakesAnySignatureBehindTwoSpaces": (
        "The signature of a token is not looked at where two spaces stand before it.", lambda self, request, sent: sent.startswith("Bearer  ") and self.has(sent, "signature"),
    ),
}  # fmt: skip


class LaxAboutUuids(LaxService):
    """The sandbox, whose token is a UUID."""

    def __init__(self):
        super().__init__()
        self.token = str(uuid4())

    def lets_in(self, request, sent):
        return bool(re.fullmatch("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", _bearer(sent)))


class LaxAfterGrants(LaxService):
    """The sandbox, which knows when it granted something, and to whom: `granted` are the requests since then, to any
    operation and to this one, and `ports` the connections that carried the token."""

    def __init__(self):
        super().__init__()
        self.granted = (False, False)
        self.ports = set()
        self._now = threading.local()

    def serve(self, request, connection):
        self._now.port = connection.getpeername()[1]
        return super().serve(request, connection)

    @property
    def port(self):
        """The client's port: that of a connection."""
        return str(self._now.port)

    def finish(self, request, operation, response):
        meant = operation in self.OPERATIONS
        granted = meant and response.status == 200
        of_the_operation = granted if meant else self.granted[1]
        self.granted = (granted, of_the_operation)
        if _bearer(request.header("Authorization")) == self.token:
            self.ports.add(self.port)
        return super().finish(request, operation, response)


def _has_letters_of(token, sent):
    return len(_bearer(sent)) == len(token) and _bearer(sent) != token


CONDITIONS = {
    "TakesAnythingUnderbearer": (
        "The token is checked where the scheme is spelled as documented.", lambda self, request, sent: sent.startswith("bearer "),
    ),
    "TakesAnythingUnderBEARER": (
        "The token is not checked where the scheme is in capitals.", lambda self, request, sent: sent.startswith("BEARER "),
    ),
    "TakesAnythingBehindTwoSpaces": (
        "What stands between two spaces is taken for the token, and no token for anybody's.", lambda self, request, sent: sent.startswith("Bearer  "),
    ),
    "TakesATextOfTheLengthUnderBEARER": (
        "The length of the token is compared where the scheme is in capitals.", lambda self, request, sent: sent.startswith("BEARER ") and _has_letters_of(self.token, sent),
    ),
    "LetsInAtOnceAfterAGrant": (
        "What follows a granted request at once is granted, too.", lambda self, request, sent: self.granted[0],
    ),
    "LetsInTheNextAfterAGrant": (
        "Of an operation the request after a granted one is granted, too.", lambda self, request, sent: self.granted[1],
    ),
    "LetsInATokenAfterAGrant": (
        "After a granted request, the next one to an operation is granted with any text like the token.", lambda self, request, sent: self.granted[1] and _has_letters_of(self.token, sent),
    ),
    "LetsInAKnownConnection": (
        "The token is not checked on a connection that carried the right one.", lambda self, request, sent: self.port in self.ports,
    ),
    "LetsATokenInOnAKnownConnection": (
        "On a connection that carried the right token any other of its length will do.", lambda self, request, sent: self.port in self.ports and _has_letters_of(self.token, sent),
    ),
}  # fmt: skip
_BLURRED = ("TakesAnySignature", "TakesAnyUuid", "LetsInAKnownConnection", "LetsATokenInOnAKnownConnection")
"""What answers a synthetic code alike with and without the token, so that other schemes cannot be told apart."""


_NEXT = tuple(("registerPixKey", name) for name in ("LetsInAKnownConnection", "LetsInTheNextAfterAGrant"))
"""What takes the token under another scheme, too, in the requests that a run sends."""


def _looks_alike(operation, name, text, base, **parts):
    declare_mutant_of(
        "token that looks alike", operation, name, text, base, "token.required",
        warns=("token.scheme",) if (operation, name) in _NEXT else (),
        hides=("executePix.token.scheme",) if operation == "executePix" and name in _BLURRED else (), **parts,
    )  # fmt: skip


for _operation in ("executePix", "registerPixKey"):
    for _base, _ways in ((LaxAboutSignedTokens, SIGNED), (LaxAfterGrants, CONDITIONS)):
        for _name, (_text, _lets_in) in _ways.items():
            _looks_alike(_operation, _name, _text, _base, lets_in=_lets_in)
    _looks_alike(_operation, "TakesAnyUuid", "Any UUID is taken for the token.", LaxAboutUuids)
