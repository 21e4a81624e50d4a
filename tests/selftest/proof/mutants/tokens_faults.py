"""Each way of not checking the token, for both operations that document it, and services that refuse the valid token."""

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
    """The sandbox, which does not check the token of some requests to `OPERATIONS`.

    `lets_in` is true of these requests. It gets the request and its header Authorization.
    """

    calls = 0

    def __init__(self):
        super().__init__()
        self.operations_with_token = set()

    def authorize(self, request, operation):
        """Check the token, unless `lets_in` is true of the request. Note the operations that were called with the token."""
        if operation in self.OPERATIONS:
            self.calls += 1
            if self.lets_in(request, request.header("Authorization")):
                return
        super().authorize(request, operation)
        self.operations_with_token.add(operation)

    def key_type_of(self, request):
        """The type of the key that a registration names, or to which the transfer of an execution goes."""
        if request.method == "POST":
            return str(json_members(request).get("pixKeyType"))
        code = request.path.rsplit("/", 1)[-1]
        with self.database.transaction() as ledger:
            transfer = ledger.transfer(code)
            return transfer.key_type if transfer else ""


def bearer_token(header):
    """The token in a header "Authorization: Bearer TOKEN". Empty under any other scheme."""
    scheme, _, credential = header.partition(" ")
    return credential.strip() if scheme.lower() == "bearer" else ""


WAYS = {
    "IgnoresTheToken": ("The token is not looked at.", lambda self, request, header: True),
    "NeedsNoHeader": ("A request without the header is let in.", lambda self, request, header: not header),
    "TakesAnEmptyBearer": (
        "A bearer without a token is let in.", lambda self, request, header: header.strip().lower() == "bearer",
    ),
    "TakesAnyHeader": ("Any Authorization header will do.", lambda self, request, header: bool(header)),
    "TakesAnyBearer": ("Any bearer token will do.", lambda self, request, header: bool(bearer_token(header))),
    "TakesTheBeginningOfTheToken": (
        "A beginning of the token is let in.", lambda self, request, header: bool(bearer_token(header)) and self.token.startswith(bearer_token(header)),
    ),
    "IgnoresWhatFollowsTheToken": (
        "What follows the token is ignored.", lambda self, request, header: bearer_token(header).startswith(self.token),
    ),
    "ComparesEightCharacters": (
        "The first eight characters of the token are compared.", lambda self, request, header: bearer_token(header)[:8] == self.token[:8],
    ),
    "ComparesTheEndOfTheToken": (
        "Whatever ends with the token is let in.", lambda self, request, header: bearer_token(header).endswith(self.token),
    ),
    "ComparesTheLengthOfTheToken": (
        "The length of the token is compared.", lambda self, request, header: len(bearer_token(header)) == len(self.token),
    ),
    "IgnoresLetterCase": (
        "The token is compared without its letter case.", lambda self, request, header: bearer_token(header).lower() == self.token.lower(),
    ),
    "TakesNull": ("The text null is let in.", lambda self, request, header: bearer_token(header) == "null"),
    "TakesUndefined": ("The text undefined is let in.", lambda self, request, header: bearer_token(header) == "undefined"),
    "ComparesTheSumOfTheToken": (
        "The characters of the token are compared in any order.", lambda self, request, header: sorted(bearer_token(header)) == sorted(self.token),
    ),
    "TakesBasic": (
        "Basic credentials are let in, whatever they are.", lambda self, request, header: header.startswith("Basic "),
    ),
    "ChecksTheFirstRequestOnly": (
        "The token is checked in the first request that the service gets.", lambda self, request, header: bool(self.operations_with_token),
    ),
    "TakesAnyBearerAfterAGrant": (
        "After the first request with the token to the operation, any bearer token is let in.", lambda self, request, header: bool(bearer_token(header)) and self.operations_with_token.issuperset(self.OPERATIONS),
    ),
    "ForgetsEverySecondTime": (
        "A bearer token is checked one time in two.", lambda self, request, header: bool(bearer_token(header)) and self.calls % 2 == 0,
    ),
}  # fmt: skip
_TAKE_ANOTHER_SCHEME_FOR_CODES = ("IgnoresTheToken", "TakesAnyHeader", "ChecksTheFirstRequestOnly")
"""Faults with which a made-up code is answered alike without the token and under each scheme, so that nobody can tell schemes
apart."""
_TAKE_ANOTHER_SCHEME = ("IgnoresTheToken", "TakesAnyHeader", "ChecksTheFirstRequestOnly", "OfEMAILNeedsNoToken")
"""Faults with which a key is registered under another scheme, too."""


def _declare_lax_service(operation, name, text, lets_in):
    """Declare a mutant that does not check the token of the requests of which `lets_in` is true."""
    hides_the_scheme = operation == "executePix" and name in _TAKE_ANOTHER_SCHEME_FOR_CODES
    takes_another_scheme = operation == "registerPixKey" and name in _TAKE_ANOTHER_SCHEME
    declare_mutant_of(
        "token not checked", operation, name, text, LaxService, "token.required",
        warns=("token.scheme",) if takes_another_scheme else (),
        hides=("executePix.token.scheme",) if hides_the_scheme else (), lets_in=lets_in,
    )  # fmt: skip


for _operation in ("executePix", "registerPixKey"):
    for _name, (_text, _lets_in) in WAYS.items():
        _declare_lax_service(_operation, _name, _text, _lets_in)
    for _key_type in KEY_TYPES:
        _declare_lax_service(
            _operation,
            f"Of{_key_type}NeedsNoToken",
            f"The token is not checked where the key is of the type {_key_type}.",
            lambda self, request, header, key_type=_key_type: self.key_type_of(request) == key_type,
        )
for _key_type in KEY_TYPES:
    _declare_lax_service(
        "registerPixKey", f"Of{_key_type}TakesAnyBearer", f"Any bearer registers a key of the type {_key_type}.",
        lambda self, request, header, key_type=_key_type: bool(bearer_token(header)) and self.key_type_of(request) == key_type,
    )  # fmt: skip


class LaxAboutAddresses(LaxService):
    """The sandbox, which knows its paths in other forms, too, and accepts a key that is registered already."""

    def routes_of(self, path):
        """The routes of the documented path that the service takes this one for.

        For example "/v1//PIX/KEYS/ac-0001;a=b/" is taken for "/v1/pix/keys/ac-0001".
        """
        path = unquote(path)
        path = path.replace("/EXECUTE/PIX/", "/execute/pix/").replace("/PIX/KEYS/", "/pix/keys/")
        path = path.replace("/./", "/")
        path = re.sub(";[^/]*", "", path)  # a matrix parameter
        path = re.sub("/+", "/", path)
        return super().routes_of(path.rstrip("/").removesuffix(".json"))

    def names_a_registered_key(self, request):
        """True if the key that the body names is registered already."""
        with self.database.transaction() as ledger:
            return ledger.key(str(json_members(request).get("pixKey"))) is not None

    def register(self, *arguments):
        """Say that the key was registered, even if it was before."""
        return replace(super().register(*arguments), accepted=True)


class LaxAboutVersions(LaxService):
    """The sandbox, which does not check the token under some versions of HTTP. Only sockets show that."""

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
        ("BehindAFileExtension", "a file extension", LaxAboutAddresses, lambda self, request: ".json" in request.path),
        ("ForABrowser", "another Accept", LaxAboutAddresses, lambda self, request: "html" in request.header("Accept")),
        ("OfHttp10", "HTTP/1.0", LaxAboutVersions, lambda self, request: request.version == "HTTP/1.0"),
        ("OfAChunkedBody", "a chunked body", LaxAboutAddresses, lambda self, request: request.header("Transfer-Encoding")),
        ("OfARegisteredKey", "a registered key", LaxAboutAddresses, LaxAboutAddresses.names_a_registered_key),
    )[: None if _operation == "registerPixKey" else 11]:  # fmt: skip
        declare_mutant_of(
            "token not checked somewhere", _operation, f"{_name}NeedsNoToken", f"The token is not checked with {_text}.",
            _base, "token.required",
            lets_in=lambda self, request, header, is_so=_is_so: is_so(self, request),
        )  # fmt: skip
        declare_mutant_of(
            "token not checked somewhere", _operation, f"{_name}TakesAnyBearer", f"Any bearer token will do with {_text}.",
            _base, "token.required",
            lets_in=lambda self, request, header, is_so=_is_so: bool(bearer_token(header)) and is_so(self, request),
        )  # fmt: skip


class AnswersAfterItsRefusal(LaxService):
    """The sandbox, which refuses a request without the valid token, but does what it asks for all the same.

    The answer has the status of a refusal. Its body is TEXT_OF_REFUSAL, and then the result if SHOWS_THE_RESULT.
    """

    STATUS = 401
    TEXT_OF_REFUSAL = b""
    SHOWS_THE_RESULT = True

    def lets_in(self, request, header):
        return True

    def finish(self, request, operation, response):
        """Put the refusal into the answer to a request without the valid token. It was carried out already."""
        token = bearer_token(request.header("Authorization"))
        if operation in self.OPERATIONS and token != self.token:
            result = response.body if self.SHOWS_THE_RESULT else b""
            response = Response(self.STATUS, self.TEXT_OF_REFUSAL + result, response.headers)
        return super().finish(request, operation, response)


for _operation in ("executePix", "registerPixKey"):
    for _name, _text, _parts in (
        *((f"IsDoneWithA{status}", f"has status {status} and", {"STATUS": status}) for status in (302, 401, 403)),
        ("IsDoneBehindAText", "is a line of text, then", {"TEXT_OF_REFUSAL": b"Unauthorized {1}\n"}),
        ("IsDoneBehindARefusal", "is a refusal in JSON, then", {"TEXT_OF_REFUSAL": b'{"code": 401, "data": {}}'}),
    ):
        declare_mutant_of(
            "refusal with the result", _operation, _name, f"Without a valid token the answer {_text} the whole result.",
            AnswersAfterItsRefusal, "token.required",
            warns=("token.scheme",) if _operation == "registerPixKey" else (), **_parts,
        )  # fmt: skip
declare_mutant_of(
    "refusal with the result", "registerPixKey", "IsDoneAndRefused", "Without a valid token the key is registered, and the answer refuses it.",
    AnswersAfterItsRefusal, "token.required", SHOWS_THE_RESULT=False,
)  # fmt: skip


class Caches(Service):
    """The sandbox, with a cache before it that answers an execution again without looking at the token.

    `takes_from_cache` is true of the requests that the cache may answer.
    """

    def __init__(self):
        super().__init__()
        self.cached_responses = {}  # by path

    def takes_from_cache(self, request):
        return True

    def respond(self, request):
        """Answer from the cache. If the cache has no answer, ask the sandbox and keep the result of an execution."""
        if self.takes_from_cache(request) and request.path in self.cached_responses:
            return self.cached_responses[request.path]
        response = super().respond(request)
        if response.status == 200 and "execute" in request.path:
            self.cached_responses[request.path] = response
        return response


for _name, _takes_from_cache in (
    ("ForAnybody", lambda request: True),
    ("ForAnyToken", lambda request: request.header("Authorization")),
):
    declare_mutant(
        "cache", f"Caches{_name}", "An address that was executed answers the same again.", Caches, "executePix.token.required",
        takes_from_cache=without_self(_takes_from_cache),
    )  # fmt: skip


@mutant("cache", "executePix.token.required")
class CachesWhenItIsWarm(Caches):
    """The cache answers from the third time on that it could."""

    requests_that_the_cache_knows = 0

    def takes_from_cache(self, request):
        """True from the third request on whose answer is in the cache."""
        if request.path in self.cached_responses:
            self.requests_that_the_cache_knows += 1
        return self.requests_that_the_cache_knows > 2


for _operation in ("executePix", "registerPixKey"):
    for _name, _scheme in (("Bare", ""), ("UnderDigest", "Digest ")):
        declare_mutant_of(
            "token under another scheme", _operation, f"TakesTheToken{_name}",
            f"The token is taken as 'Authorization: {_scheme}<ACCESS_TOKEN>'.", LaxService, warns=("token.scheme",),
            lets_in=lambda self, request, header, scheme=_scheme: header == f"{scheme}{self.token}",
        )  # fmt: skip


class RefusesTheToken(DiffersInOperations):
    """The sandbox, which never accepts the token for `OPERATIONS`."""

    def authorize(self, request, operation):
        """Refuse the valid token, too."""
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
