"""Tokens that only look like the right one, and conditions under which any token is let in; for both operations."""

import json
import re
import threading
from uuid import uuid4

from tests.selftest.proof.mutants.making_faults import declare_mutant_of
from tests.selftest.proof.mutants.tokens_faults import LaxService, bearer_token
from tests.selftest.services.signed import SignsItsToken, base64url_decoded


class LaxAboutSignedTokens(LaxService, SignsItsToken):
    """The sandbox with a signed token (a JWT), which also takes some tokens that are not rightly signed."""

    def has(self, header, *flaws):
        """True if the token in the header Authorization has exactly these flaws, such as "signature" or "exp"."""
        return self.flaws_of(bearer_token(header)) == set(flaws)

    def algorithm_of_unsigned_token(self, header):
        """The algorithm, such as "none", that a token without a signature names. Empty if it has other flaws, too."""
        token = bearer_token(header)
        is_unsigned = self.has(header, "algorithm", "signature") and token.endswith(".")
        if not is_unsigned:
            return ""
        first_part = token.partition(".")[0]
        return json.loads(base64url_decoded(first_part))["alg"]

    def has_signature_of_valid_token(self, header):
        """True if the signature, the last part of the token, is that of the valid token."""
        return bearer_token(header).rpartition(".")[2] == self.token.rpartition(".")[2]


SIGNED = {
    "TakesAnySignature": (
        "The signature of a token is not looked at, its claims are.", lambda self, request, header: self.has(header, "signature"),
    ),
    "TakesUnsignedTokens": (
        "A token whose algorithm is none needs no signature.", lambda self, request, header: self.algorithm_of_unsigned_token(header) == "none",
    ),
    "LooksTheSignatureUp": (
        "A token is known by its signature, whatever else it says.", lambda self, request, header: self.has_signature_of_valid_token(header),
    ),
    "TakesAnExpiredToken": (
        "A token is known by its signature, and may have expired.", lambda self, request, header: self.has_signature_of_valid_token(header) and self.has(header, "signature", "exp"),
    ),
    "TakesATokenOfAnotherSubject": (
        "A token is known by its signature, and may be of another subject.", lambda self, request, header: self.has_signature_of_valid_token(header) and self.has(header, "signature", "sub"),
    ),
    "TakesAnySignatureUnderbearer": (
        "The signature of a token is not looked at where the scheme is bearer.", lambda self, request, header: header.startswith("bearer ") and self.has(header, "signature"),
    ),
    "TakesAnySignatureBehindTwoSpaces": (
        "The signature of a token is not looked at where two spaces stand before it.", lambda self, request, header: header.startswith("Bearer  ") and self.has(header, "signature"),
    ),
}  # fmt: skip


class LaxAboutUuids(LaxService):
    """The sandbox, whose token is a UUID."""

    def __init__(self):
        super().__init__()
        self.token = str(uuid4())

    def lets_in(self, request, header):
        """True if the token is any UUID."""
        return bool(re.fullmatch("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", bearer_token(header)))


class LaxAfterGrants(LaxService):
    """The sandbox, which remembers its last answers, and the connections that carried the valid token."""

    last_request_succeeded = False
    """True if the last request was to `OPERATIONS` and succeeded."""
    last_request_to_operation_succeeded = False
    """True if the last request to `OPERATIONS` succeeded, whatever other requests came since then."""

    def __init__(self):
        super().__init__()
        self.ports_with_token = set()
        self._now = threading.local()

    def serve(self, request, connection):
        """Answer a request, and keep the port of its client meanwhile. A port stands for a connection."""
        self._now.port = connection.getpeername()[1]
        return super().serve(request, connection)

    def came_on_a_known_connection(self):
        """True if the connection of the request that this thread answers has carried the valid token before."""
        return self._now.port in self.ports_with_token

    def finish(self, request, operation, response):
        """Remember whether the request succeeded, and whether its connection carried the valid token."""
        is_to_operation = operation in self.OPERATIONS
        self.last_request_succeeded = is_to_operation and response.status == 200
        if is_to_operation:
            self.last_request_to_operation_succeeded = response.status == 200
        if bearer_token(request.header("Authorization")) == self.token:
            self.ports_with_token.add(self._now.port)
        return super().finish(request, operation, response)


def _has_length_of(token, header):
    """True if the header Authorization has a wrong token that is as long as this one."""
    return len(bearer_token(header)) == len(token) and bearer_token(header) != token


CONDITIONS = {
    "TakesAnythingUnderbearer": (
        "The token is checked where the scheme is spelled as documented.", lambda self, request, header: header.startswith("bearer "),
    ),
    "TakesAnythingUnderBEARER": (
        "The token is not checked where the scheme is in capitals.", lambda self, request, header: header.startswith("BEARER "),
    ),
    "TakesAnythingBehindTwoSpaces": (
        "What stands between two spaces is taken for the token, and no token for anybody's.", lambda self, request, header: header.startswith("Bearer  "),
    ),
    "TakesATextOfTheLengthUnderBEARER": (
        "The length of the token is compared where the scheme is in capitals.", lambda self, request, header: header.startswith("BEARER ") and _has_length_of(self.token, header),
    ),
    "LetsInAtOnceAfterAGrant": (
        "What follows a granted request at once is granted, too.", lambda self, request, header: self.last_request_succeeded,
    ),
    "LetsInTheNextAfterAGrant": (
        "Of an operation the request after a granted one is granted, too.", lambda self, request, header: self.last_request_to_operation_succeeded,
    ),
    "LetsInATokenAfterAGrant": (
        "After a granted request, the next one to an operation is granted with any text like the token.", lambda self, request, header: self.last_request_to_operation_succeeded and _has_length_of(self.token, header),
    ),
    "LetsInAKnownConnection": (
        "The token is not checked on a connection that carried the right one.", lambda self, request, header: self.came_on_a_known_connection(),
    ),
    "LetsATokenInOnAKnownConnection": (
        "On a connection that carried the right token any other of its length will do.", lambda self, request, header: self.came_on_a_known_connection() and _has_length_of(self.token, header),
    ),
}  # fmt: skip
_LETS_IN_ANOTHER_SCHEME_AND_A_WRONG_TOKEN = "LetsInAKnownConnection"
"""The fault with which a made-up code is answered alike with a wrong token and with the token under another scheme, so that
nobody can tell whether the scheme is looked at."""
_TAKE_ANOTHER_SCHEME = ("LetsInAKnownConnection", "LetsInTheNextAfterAGrant")
"""Faults with which a registration takes the token under another scheme, too, in the requests that a run sends."""


def _declare_look_alike(operation, name, text, base, **parts):
    """Declare a mutant of the operation that takes some wrong tokens for the valid one."""
    takes_another_scheme = operation == "registerPixKey" and name in _TAKE_ANOTHER_SCHEME
    hides_the_scheme = operation == "executePix" and name == _LETS_IN_ANOTHER_SCHEME_AND_A_WRONG_TOKEN
    declare_mutant_of(
        "token that looks alike", operation, name, text, base, "token.required",
        warns=("token.scheme",) if takes_another_scheme else (),
        hides=("executePix.token.scheme",) if hides_the_scheme else (), **parts,
    )  # fmt: skip


for _operation in ("executePix", "registerPixKey"):
    for _base, _ways in ((LaxAboutSignedTokens, SIGNED), (LaxAfterGrants, CONDITIONS)):
        for _name, (_text, _lets_in) in _ways.items():
            _declare_look_alike(_operation, _name, _text, _base, lets_in=_lets_in)
    _declare_look_alike(_operation, "TakesAnyUuid", "Any UUID is taken for the token.", LaxAboutUuids)
