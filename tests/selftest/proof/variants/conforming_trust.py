"""A service that answers what stands in for a token in an odd way, and lets nobody in."""

import random
from dataclasses import replace

from environments.sandbox import Refusal, Service
from spec.interface import operations_reached
from tests.selftest.proof.registry import declare_variant, variant
from tests.selftest.proof.variants.conforming_making import empty_answer, html_answer, json_answer

ODD = ("x-forwarded-for", "forwarded", "x-original-url", "x-http-method-override", "x-user-id", "x-internal", "cookie")
"""Headers that a filter may look at."""
BAD_REQUEST = json_answer(400, {"code": 400, "data": {"error": "Bad Request"}})


class Filtered(Service):
    """The sandbox behind a filter, which answers with `SAYS` what has one of the headers in ODD."""

    SAYS, OF_UNKNOWN = empty_answer(403), 404

    def respond(self, request):
        is_odd = any(request.header(name) for name in ODD)
        return self.SAYS if is_odd else super().respond(request)

    def refusal(self, refusal):
        if refusal.status == 404 and self.OF_UNKNOWN == 400:
            return BAD_REQUEST
        return super().refusal(refusal)


for _name, _fact, _parts in (
    ("FiltersHeadersWith403", "Headers of gateways are refused with 403.", {}),
    (
        "FiltersHeadersWithAPage",
        "Headers of gateways are refused with a page.",
        {"SAYS": html_answer(403, "Request blocked")},
    ),
    (
        "FiltersHeadersAsUnknownCodes",
        "Headers of gateways are refused in the same words as an unknown code.",
        {"SAYS": BAD_REQUEST, "OF_UNKNOWN": 400},
    ),
):
    declare_variant("stand-in", _name, _fact, Filtered, **_parts)


@variant("stand-in")
class MalformedTokensAreRefusedAsUnknownCodes(Filtered):
    """A bearer that is no token of the usual length is refused in the same words as an unknown code."""

    SAYS, OF_UNKNOWN = BAD_REQUEST, 400

    def respond(self, request):
        scheme, _, credential = request.header("Authorization").partition(" ")
        is_malformed = bool(scheme) and len(credential) != len(self.token)
        return self.SAYS if is_malformed else Service.respond(self, request)


class Nodes(Service):
    """The sandbox as several nodes, some of which look an identifier up before they look at the token."""

    requests = 0

    def __init__(self):
        super().__init__()
        self.chance = random.Random(7)

    def authorize(self, request, operation):
        self.requests += 1
        if operation in ("executePix", "registerPixKey") and self.looks_up_first():
            self.look_up(operation, request.path.rsplit("/", 1)[-1])
        super().authorize(request, operation)

    def look_up(self, operation, identifier):
        """Refuse an identifier that nobody has."""
        with self.database.transaction() as ledger:
            if operation == "registerPixKey":
                self.own_account(ledger, identifier)
            elif ledger.transfer(identifier) is None:
                raise Refusal(404, "There is no such transaction code.")


for _name, _fact, _looks_up_first in (
    ("TwoNodesTakeTurns", "Each second request", lambda self: self.requests % 2 == 0),
    ("ThreeNodesTakeTurns", "Each third request", lambda self: self.requests % 3 == 0),
    ("OneNodeOfThreeChecksFirst", "Two requests in three", lambda self: self.requests % 3 > 0),
    ("NodesByChance", "Now and then a request", lambda self: self.chance.random() < 0.5),
    ("NodesRarelyByChance", "One request in ten", lambda self: self.chance.random() < 0.1),
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
    """Letter case, dot segments, encoded slashes and matrix parameters in a path make no difference; the token is
    looked at all the same."""

    def respond(self, request):
        path = (
            request.path.replace("/EXECUTE/PIX/", "/execute/pix/")
            .replace("/PIX/KEYS/", "/pix/keys/")
            .replace("/./", "/")
            .replace("%2Fpix/", "/pix/")
        )
        path = path.replace("%2Fkeys/", "/keys/").partition(";")[0]
        return super().respond(replace(request, path=path))


@variant("stand-in")
class RedirectsToItsOwnPaths(Service):
    """A path in another form is redirected to the documented one."""

    def respond(self, request):
        is_odd = any(sign in request.path for sign in ("/EXECUTE/", "/KEYS/", "/./", "%2Fpix/", "%2Fkeys/", ";"))
        if is_odd and operations_reached(request.method, request.path):
            return empty_answer(308, (("Location", "/v1"),))
        return super().respond(request)


@variant("kind")
class AnEmptyKindIsNoKind(Service):
    """Whoever names no type means RANDOM; null and an empty text are no type."""

    def key_type(self, body):
        return super().key_type(body) if body.get("pixKeyType") else "RANDOM"

    def requested_key(self, body, key_type):
        return "" if not body.get("pixKeyType") else super().requested_key(body, key_type)
