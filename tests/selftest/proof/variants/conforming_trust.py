"""Services that answer requests with something in the place of the token in an odd way, but never accept it."""

import random
from dataclasses import replace

from environments.sandbox import Refusal, Service
from spec.interface import operations_reached
from tests.selftest.proof.registry import declare_variant, variant
from tests.selftest.proof.variants.conforming_making import empty_answer, html_answer, json_answer

ODD_HEADERS = (
    "x-forwarded-for",
    "forwarded",
    "x-original-url",
    "x-http-method-override",
    "x-user-id",
    "x-internal",
    "cookie",
)
"""Headers that a filter may look at."""
BAD_REQUEST = json_answer(400, {"code": 400, "data": {"error": "Bad Request"}})


class Filtered(Service):
    """The sandbox behind a filter, which gives ANSWER to a request with one of ODD_HEADERS.

    If UNKNOWN_CODES_GET_BAD_REQUEST, unknown codes and paths get the answer BAD_REQUEST, too.
    """

    ANSWER = empty_answer(403)
    UNKNOWN_CODES_GET_BAD_REQUEST = False

    def respond(self, request):
        has_odd_header = any(request.header(name) for name in ODD_HEADERS)
        return self.ANSWER if has_odd_header else super().respond(request)

    def refusal(self, refusal):
        if refusal.status == 404 and self.UNKNOWN_CODES_GET_BAD_REQUEST:
            return BAD_REQUEST
        return super().refusal(refusal)


for _name, _fact, _parts in (
    ("FiltersHeadersWith403", "Headers of gateways are refused with 403.", {}),
    (
        "FiltersHeadersWithAPage",
        "Headers of gateways are refused with a page.",
        {"ANSWER": html_answer(403, "Request blocked")},
    ),
    (
        "FiltersHeadersAsUnknownCodes",
        "Headers of gateways are refused in the same words as an unknown code.",
        {"ANSWER": BAD_REQUEST, "UNKNOWN_CODES_GET_BAD_REQUEST": True},
    ),
):
    declare_variant("stand-in", _name, _fact, Filtered, **_parts)


@variant("stand-in")
class MalformedTokensAreRefusedAsUnknownCodes(Filtered):
    """A token that has not the length of the valid one is refused in the same words as an unknown code."""

    ANSWER = BAD_REQUEST
    UNKNOWN_CODES_GET_BAD_REQUEST = True

    def respond(self, request):
        scheme, _, credential = request.header("Authorization").partition(" ")
        is_malformed = bool(scheme) and len(credential) != len(self.token)
        return self.ANSWER if is_malformed else Service.respond(self, request)


class Nodes(Service):
    """The sandbox as several nodes, some of which look up the code or the account before they check the token.

    `looks_up_first` is true if such a node gets the request.
    """

    requests = 0

    def __init__(self):
        super().__init__()
        self.dice = random.Random(7)

    def authorize(self, request, operation):
        """Check the token. A node that looks up first refuses an unknown code or account with 404 before."""
        self.requests += 1
        if operation in ("executePix", "registerPixKey") and self.looks_up_first():
            self.look_up(operation, request.path.rsplit("/", 1)[-1])
        super().authorize(request, operation)

    def look_up(self, operation, identifier):
        """Raise Refusal (404) if there is no such account, or no such code."""
        with self.database.transaction() as ledger:
            if operation == "registerPixKey":
                self.own_account(ledger, identifier)
            elif ledger.transfer(identifier) is None:
                raise Refusal(404, "There is no such transaction code.")


for _name, _fact, _looks_up_first in (
    ("TwoNodesTakeTurns", "Each second request", lambda self: self.requests % 2 == 0),
    ("ThreeNodesTakeTurns", "Each third request", lambda self: self.requests % 3 == 0),
    ("OneNodeOfThreeChecksFirst", "Two requests in three", lambda self: self.requests % 3 > 0),
    ("NodesByChance", "Now and then a request", lambda self: self.dice.random() < 0.5),
    ("NodesRarelyByChance", "One request in ten", lambda self: self.dice.random() < 0.1),
):
    declare_variant(
        "nodes", _name, f"{_fact} has its identifier looked up before its token.", Nodes,
        looks_up_first=_looks_up_first, hides=("executePix.token.scheme",),
    )  # fmt: skip


@variant("stand-in")
class SetsCookiesAndReadsNone(Service):
    """Each answer sets a session cookie, which means nothing."""

    def finish(self, request, operation, response):
        response = super().finish(request, operation, response)
        cookies = (("Set-Cookie", "SID=0f6a2c9d81; Path=/"), ("Set-Cookie", "lang=pt"))
        return replace(response, headers=(*response.headers, *cookies))


@variant("stand-in", hides=("executePix.token.scheme",))
class UnknownCodesGet401(Service):
    """An unknown code is refused with 401, as a request without the token is."""

    def confirm(self, code):
        with self.database.transaction() as ledger:
            if ledger.transfer(code) is None:
                raise Refusal(401, "A valid access token is required.")
        return super().confirm(code)


@variant("stand-in")
class KnowsItsPathsInEveryForm(Service):
    """Letter case, dot segments, encoded slashes, matrix parameters and `.json` in a path make no difference.

    The token is checked all the same.
    """

    def respond(self, request):
        """Answer a request as if its path were written as documented: "/v1/./PIX/KEYS/ac-1;a=b" is "/v1/pix/keys/ac-1"."""
        path = request.path.replace("/EXECUTE/PIX/", "/execute/pix/").replace("/PIX/KEYS/", "/pix/keys/")
        path = path.replace("/./", "/")
        path = path.replace("%2Fpix/", "/pix/").replace("%2Fkeys/", "/keys/")
        path_without_parameters = path.partition(";")[0].removesuffix(".json")
        return super().respond(replace(request, path=path_without_parameters))


@variant("stand-in")
class AnswersOtherHostsLikeUnknownCodes(Service):
    """Requests for another host, and the questions of browsers (preflight requests), get the 404 of an unknown code."""

    def respond(self, request):
        is_of_a_browser = bool(request.header("Origin") and request.header("Access-Control-Request-Method"))
        if request.header("Host") == "localhost" or is_of_a_browser:
            return self.refusal(Refusal(404, "There is no such transaction code."))
        return super().respond(request)


@variant("stand-in")
class RedirectsToItsOwnPaths(Service):
    """A request whose path is written in another form than the documented one is redirected to /v1."""

    def respond(self, request):
        """Redirect a request that may reach an operation, but has a sign of another form in its path."""
        is_odd = any(sign in request.path for sign in ("/EXECUTE/", "/KEYS/", "/./", "%2Fpix/", "%2Fkeys/", ";"))
        if is_odd and operations_reached(request.method, request.path):
            return empty_answer(308, (("Location", "/v1"),))
        return super().respond(request)


@variant("kind")
class AnEmptyKindIsNoKind(Service):
    """A registration without a key type means RANDOM. Null and an empty text are no type, either."""

    def key_type(self, body):
        """The key type of a registration: RANDOM if it has none."""
        has_type = bool(body.get("pixKeyType"))
        return super().key_type(body) if has_type else "RANDOM"

    def requested_key(self, body, key_type):
        """The key that a registration asks for. Without a key type the service makes one, whatever key is named."""
        has_type = bool(body.get("pixKeyType"))
        return super().requested_key(body, key_type) if has_type else ""
