"""Each way of not checking the token, for both operations that document it; and a token that is refused."""

import re
from dataclasses import replace
from urllib.parse import unquote

from environments.sandbox import Refusal, Response, Service
from spec.interface import KEY_TYPES
from tests.selftest.proof.mutants.making_faults import (
    HIDES_DELETION,
    DiffersInOperations,
    declare_mutant_of,
    json_members,
    without_self,
)
from tests.selftest.proof.registry import declare_mutant, mutant


class LaxService(DiffersInOperations):
    """The sandbox, which for `OPERATIONS` takes what `lets_in` lets in for the token."""

    calls = 0

    def __init__(self):
        super().__init__()
        self.served = set()

    def authorize(self, request, operation):
        if operation in self.OPERATIONS:
            self.calls += 1
            if self.lets_in(request, request.header("Authorization")):
                return
        super().authorize(request, operation)
        self.served.add(operation)

    def key_type_of(self, request):
        """The kind of the key that a registration, or a prepared transfer, is about."""
        if request.method == "POST":
            return str(json_members(request).get("pixKeyType"))
        with self.database.transaction() as ledger:
            transfer = ledger.transfer(request.path.rsplit("/", 1)[-1])
            return transfer.key_type if transfer else ""


def _bearer(sent):
    scheme, _, credential = sent.partition(" ")
    return credential.strip() if scheme.lower() == "bearer" else ""


WAYS = {
    "IgnoresTheToken": ("The token is not looked at.", lambda self, request, sent: True),
    "NeedsNoHeader": ("A request without the header is let in.", lambda self, request, sent: not sent),
    "TakesAnEmptyBearer": (
        "A bearer without a token is let in.", lambda self, request, sent: sent.strip().lower() == "bearer",
    ),
    "TakesAnyHeader": ("Any Authorization header will do.", lambda self, request, sent: bool(sent)),
    "TakesAnyBearer": ("Any bearer token will do.", lambda self, request, sent: bool(_bearer(sent))),
    "TakesTheBeginningOfTheToken": (
        "A beginning of the token is let in.", lambda self, request, sent: bool(_bearer(sent)) and self.token.startswith(_bearer(sent)),
    ),
    "IgnoresWhatFollowsTheToken": (
        "What follows the token is ignored.", lambda self, request, sent: _bearer(sent).startswith(self.token),
    ),
    "ComparesEightCharacters": (
        "The first eight characters of the token are compared.", lambda self, request, sent: _bearer(sent)[:8] == self.token[:8],
    ),
    "ComparesTheEndOfTheToken": (
        "Whatever ends with the token is let in.", lambda self, request, sent: _bearer(sent).endswith(self.token),
    ),
    "ComparesTheLengthOfTheToken": (
        "The length of the token is compared.", lambda self, request, sent: len(_bearer(sent)) == len(self.token),
    ),
    "IgnoresLetterCase": (
        "The token is compared without its letter case.", lambda self, request, sent: _bearer(sent).lower() == self.token.lower(),
    ),
    "TakesNull": ("The text null is let in.", lambda self, request, sent: _bearer(sent) == "null"),
    "TakesUndefined": ("The text undefined is let in.", lambda self, request, sent: _bearer(sent) == "undefined"),
    "ComparesTheSumOfTheToken": (
        "The characters of the token are compared in any order.", lambda self, request, sent: sorted(_bearer(sent)) == sorted(self.token),
    ),
    "TakesBasic": (
        "Basic credentials are let in, whatever they are.", lambda self, request, sent: sent.startswith("Basic "),
    ),
    "ChecksTheFirstRequestOnly": (
        "The token is checked in the first request that the service gets.", lambda self, request, sent: bool(self.served),
    ),
    "TakesAnyBearerAfterAGrant": (
        "After the first request with the token to the operation, any bearer token is let in.", lambda self, request, sent: bool(_bearer(sent)) and self.served.issuperset(self.OPERATIONS),
    ),
    "ForgetsEverySecondTime": (
        "A bearer token is checked one time in two.", lambda self, request, sent: bool(_bearer(sent)) and self.calls % 2 == 0,
    ),
}  # fmt: skip
_TAKE_A_WRONG_TOKEN = (
    "IgnoresTheToken", "TakesAnyHeader", "TakesAnyBearer", "ComparesTheLengthOfTheToken", "ChecksTheFirstRequestOnly",
    "TakesAnyBearerAfterAGrant", "ForgetsEverySecondTime",
)  # fmt: skip
"""What answers a synthetic code alike with and without the token, so that other schemes cannot be told apart."""
_TAKE_ANOTHER_SCHEME = ("IgnoresTheToken", "TakesAnyHeader", "ChecksTheFirstRequestOnly", "OfEMAILNeedsNoToken")
"""What registers a key under another scheme, too."""


def _not_checked(operation, name, text, lets_in):
    blurred = operation == "executePix" and name in _TAKE_A_WRONG_TOKEN
    declare_mutant_of(
        "token not checked", operation, name, text, LaxService, "token.required",
        warns=("token.scheme",) if operation == "registerPixKey" and name in _TAKE_ANOTHER_SCHEME else (),
        hides=("executePix.token.scheme",) if blurred else (), lets_in=lets_in,
    )  # fmt: skip


for _operation in ("executePix", "registerPixKey"):
    for _name, (_text, _lets_in) in WAYS.items():
        _not_checked(_operation, _name, _text, _lets_in)
    for _kind in KEY_TYPES:
        _not_checked(
            _operation,
            f"Of{_kind}NeedsNoToken",
            f"The token is not checked where the key is of the type {_kind}.",
            lambda self, request, sent, kind=_kind: self.key_type_of(request) == kind,
        )
for _kind in KEY_TYPES:
    _not_checked(
        "registerPixKey", f"Of{_kind}TakesAnyBearer", f"Any bearer registers a key of the type {_kind}.",
        lambda self, request, sent, kind=_kind: bool(_bearer(sent)) and self.key_type_of(request) == kind,
    )  # fmt: skip


class LaxAboutAddresses(LaxService):
    """The sandbox, which knows its paths in other forms, too."""

    def routes_of(self, path):
        decoded = (
            unquote(path)
            .replace("/EXECUTE/PIX/", "/execute/pix/")
            .replace("/PIX/KEYS/", "/pix/keys/")
            .replace("/./", "/")
        )
        return super().routes_of(re.sub("/+", "/", re.sub(";[^/]*", "", decoded)).rstrip("/"))

    def is_registered(self, request):
        with self.database.transaction() as ledger:
            return ledger.key(str(json_members(request).get("pixKey"))) is not None

    def register(self, *arguments):
        return replace(super().register(*arguments), accepted=True)


class LaxAboutVersions(LaxService):
    """The sandbox, whose faults show over sockets alone."""

    ON_THE_WIRE = True


for _operation in ("executePix", "registerPixKey"):
    for _name, _text, _base, _is_so in (
        ("BehindAQuery", "a query", LaxAboutAddresses, lambda self, request: request.query),
        ("BehindASlash", "a slash at the end", LaxAboutAddresses, lambda self, request: request.path.endswith("/")),
        ("BehindTwoSlashes", "two slashes", LaxAboutAddresses, lambda self, request: "//" in request.path),
        ("BehindAnEncodedLetter", "a letter that is encoded", LaxAboutAddresses, lambda self, request: "%78" in request.path),
        ("BehindACapitalLetter", "a letter in another case", LaxAboutAddresses, lambda self, request: "/PIX/" in request.path),
        ("BehindAnEncodedSlash", "an encoded slash", LaxAboutAddresses, lambda self, request: "%2F" in request.path),
        ("BehindADotSegment", "a dot segment", LaxAboutAddresses, lambda self, request: "/./" in request.path),
        ("BehindAMatrixParameter", "a matrix parameter", LaxAboutAddresses, lambda self, request: ";" in request.path),
        ("ForABrowser", "another Accept", LaxAboutAddresses, lambda self, request: "html" in request.header("Accept")),
        ("OfHttp10", "HTTP/1.0", LaxAboutVersions, lambda self, request: request.version == "HTTP/1.0"),
        ("OfAChunkedBody", "a chunked body", LaxAboutAddresses, lambda self, request: request.header("Transfer-Encoding")),
        ("OfARegisteredKey", "a registered key", LaxAboutAddresses, LaxAboutAddresses.is_registered),
    )[: None if _operation == "registerPixKey" else 10]:  # fmt: skip
        declare_mutant_of(
            "token not checked somewhere", _operation, f"{_name}NeedsNoToken", f"The token is not checked with {_text}.",
            _base, "token.required",
            lets_in=lambda self, request, sent, is_so=_is_so: is_so(self, request),
        )  # fmt: skip
        declare_mutant_of(
            "token not checked somewhere", _operation, f"{_name}TakesAnyBearer", f"Any bearer token will do with {_text}.",
            _base, "token.required",
            lets_in=lambda self, request, sent, is_so=_is_so: bool(_bearer(sent)) and is_so(self, request),
        )  # fmt: skip


class AnswersAfterItsRefusal(LaxService):
    """The sandbox, which writes the status of a refusal and goes on."""

    STATUS, FIRST, GOES_ON = 401, b"", True

    def lets_in(self, request, sent):
        return True

    def finish(self, request, operation, response):
        if operation in self.OPERATIONS and _bearer(request.header("Authorization")) != self.token:
            response = Response(self.STATUS, self.FIRST + response.body * self.GOES_ON, response.headers)
        return super().finish(request, operation, response)


for _operation in ("executePix", "registerPixKey"):
    for _name, _text, _parts in (
        *((f"IsDoneWithA{status}", f"has status {status} and", {"STATUS": status}) for status in (302, 401, 403)),
        ("IsDoneBehindAText", "is a line of text, then", {"FIRST": b"Unauthorized {1}\n"}),
        ("IsDoneBehindARefusal", "is a refusal in JSON, then", {"FIRST": b'{"code": 401, "data": {}}'}),
    ):
        declare_mutant_of(
            "refusal with the result", _operation, _name, f"Without a valid token the answer {_text} the whole result.",
            AnswersAfterItsRefusal, "token.required",
            warns=("token.scheme",) if _operation == "registerPixKey" else (), **_parts,
        )  # fmt: skip
declare_mutant_of(
    "refusal with the result", "registerPixKey", "IsDoneAndRefused", "Without a valid token the key is registered, and the answer refuses it.",
    AnswersAfterItsRefusal, "token.required", GOES_ON=False,
)  # fmt: skip


class Caches(Service):
    """The sandbox, with a cache before it that knows an execution by its address, and whether it has a token."""

    def __init__(self):
        super().__init__()
        self.kept = {}

    def lets_in(self, request):
        return True

    def respond(self, request):
        response = self.kept.get(request.path) if self.lets_in(request) else None
        response = response or super().respond(request)
        if response.status == 200 and "execute" in request.path:
            self.kept[request.path] = response
        return response


for _name, _lets_in in (
    ("ForAnybody", lambda request: True),
    ("ForAnyToken", lambda request: request.header("Authorization")),
):
    declare_mutant(
        "cache", f"Caches{_name}", "An address that was executed answers the same again.", Caches, "executePix.token.required",
        lets_in=without_self(_lets_in),
    )  # fmt: skip


@mutant("cache", "executePix.token.required")
class CachesWhenItIsWarm(Caches):
    """The cache answers from the third time on."""

    asked = 0

    def lets_in(self, request):
        self.asked += request.path in self.kept
        return self.asked > 2


for _operation in ("executePix", "registerPixKey"):
    for _name, _scheme in (("Bare", ""), ("UnderDigest", "Digest ")):
        declare_mutant_of(
            "token under another scheme", _operation, f"TakesTheToken{_name}",
            f"The token is taken as 'Authorization: {_scheme}<ACCESS_TOKEN>'.", LaxService, warns=("token.scheme",),
            lets_in=lambda self, request, sent, scheme=_scheme: sent == f"{scheme}{self.token}",
        )  # fmt: skip


class RefusesTheToken(DiffersInOperations):
    """The sandbox, which never accepts the token for `OPERATIONS`."""

    def authorize(self, request, operation):
        super().authorize(request, operation)
        if operation in self.OPERATIONS:
            raise Refusal(401, "A valid access token is required.")


for _operation, _what, _unseen in (
    ("executePix", "an execution", ()),
    ("registerPixKey", "a key registration", HIDES_DELETION),
):
    declare_mutant_of(
        "token refused", _operation, "RefusesTheToken", f"A valid token is never accepted for {_what}.", RefusesTheToken,
        "token.accepted", hides=(f"{_operation}.*", *_unseen),
    )  # fmt: skip
