"""How undocumented paths and methods are answered, and what is too large (document, Limits: not shown)."""

import uuid
from dataclasses import replace

from environments.sandbox import Refusal, Service
from spec.interface import PREPARING_OPERATIONS
from tests.selftest.proof.registry import declare_variant, variant
from tests.selftest.proof.variants.conforming_making import (
    RefusesDifferently,
    empty_answer,
    html_answer,
    json_answer,
    problem_answer,
    profile_path,
    text_answer,
)

WAYS = {
    "404Json": lambda request: json_answer(
        404, {"timestamp": 1, "status": 404, "error": "Not Found", "path": request.path}
    ),
    "404Html": lambda request: html_answer(404, "404 Not Found"),
    "404HtmlWithThePath": lambda request: html_answer(404, f"The requested URL {request.path} was not found"),
    "404Empty": lambda request: empty_answer(404),
    "404Problem": lambda request: problem_answer(404, "Not Found"),
    "404WithAnId": lambda request: json_answer(404, {"error": "no route", "requestId": str(uuid.uuid4())}),
    "404WithADate": lambda request: text_answer(404, f"not found at {uuid.uuid4().time}"),
    "401": lambda request: json_answer(401, {"message": "Unauthorized"}),
    "403": lambda request: json_answer(403, {"message": "Missing Authentication Token"}),
    "400": lambda request: text_answer(400, "Bad Request"),
    "405": lambda request: empty_answer(405, (("Allow", "OPTIONS"),)),
    "410": lambda request: text_answer(410, "Gone"),
    "302": lambda request: empty_answer(302, (("Location", "/"),)),
    "301": lambda request: empty_answer(301, (("Location", f"{request.path}/"),)),
    "TheFrontPage": lambda request: html_answer(200, "Banco"),
    "AnEmpty200": lambda request: empty_answer(200),
    "A204": lambda request: empty_answer(204),
    "ACodeIn200": lambda request: json_answer(200, {"code": 404, "data": None}),
    "AnEnvelope": lambda request: json_answer(200, {"code": 0, "data": {}}),
    "503": lambda request: text_answer(503, "no upstream"),
    "501": lambda request: text_answer(501, "not implemented"),
}


UNTOLD = (
    *(f"{write}.{row}" for write in PREPARING_OPERATIONS for row in ("json", "status", "envelope.shape", "shape")),
    "executePix.status.transitions",
    "executePix.value.matches",
)
"""Without bodies the transfers are only refused, so that their existence shows by difference alone."""


class UnknownPaths(Service):
    """The sandbox with another answer to a path that it does not know."""

    def finish(self, request, operation, response):
        return response if self.routes_of(request.path) else self.unknown(request)


for _name, _way in WAYS.items():
    declare_variant(
        "unknown path", f"UnknownPathsGet{_name}", f"An undocumented path gets {_name}.", UnknownPaths,
        unknown=staticmethod(_way), environment=profile_path("no_bodies"), hides=UNTOLD,
    )  # fmt: skip


@variant("unknown path", hides=("*",))
class PathsEndInASlash(Service):
    """A path that is read without a slash at its end is redirected to one with it, known or not."""

    def respond(self, request):
        if request.method == "GET" and not request.path.endswith("/"):
            return empty_answer(301, (("Location", f"{request.path}/"),))
        return super().respond(replace(request, path=request.path.removesuffix("/")))


for _name, _way in {
    "APage": lambda refusal: html_answer(404, "Not Found"),
    "A501": lambda refusal: text_answer(501, "Not Implemented"),
    "AnEmpty200": lambda refusal: empty_answer(200, (("Allow", "GET"),)),
}.items():
    declare_variant(
        "other method", f"OtherMethodsGet{_name}", f"A method that a path does not have gets {_name}.", RefusesDifferently,
        refuses_so=lambda self, refusal: refusal.status == 405, say_no=staticmethod(_way), GETS_THE_REQUESTS_OF_THE_SANDBOX=True,
    )  # fmt: skip


@variant("unknown path")
class EncodedSlashesAreRefusedByTheServer(Service):
    """The server itself refuses %2F, %00 and what is not ASCII in a path, with a page of its own."""

    def respond(self, request):
        encoded = request.path.lower()
        if any(code in encoded for code in ("%2f", "%00", "%5c", "%c3", "%f0")):
            return html_answer(400, "HTTP Status 400 - Bad Request")
        return super().respond(request)


@variant("unknown path")
class DecodesSlashesFirst(Service):
    """An encoded slash counts as a slash, so that such a path is another one: 404."""

    def respond(self, request):
        return html_answer(404, "Not Found") if "%2f" in request.path.lower() else super().respond(request)


@variant("unknown path", hides=("executePix.token.scheme",))
class ChecksTheFormatOfCodes(Service):
    """A code in another format than its own is refused with 400, with and without a token."""

    def respond(self, request):
        if request.path.startswith("/v1/execute/pix/") and "/SBX-" not in request.path:
            return problem_answer(400, "The transaction code has the format SBX-.")
        return super().respond(request)


# -- requests that are written in an unusual way


class Particular(Service):
    """The sandbox, which answers what is written in an unusual way with `SAYS`, before it looks at anything else."""

    ON_THE_WIRE, SAYS = True, empty_answer(400)

    def respond(self, request):
        is_odd = "//" in request.path or request.path.endswith("/") or "pi%78" in request.path
        is_odd |= request.query == "pixconf=1" or request.version != "HTTP/1.1" or "html" in request.header("Accept")
        return self.SAYS if is_odd else super().respond(request)


for _name, _says in {
    "Redirects": empty_answer(308, (("Location", "/v1/accounts"),)),
    "Says505To": text_answer(505, "HTTP Version Not Supported"),
    "Says501To": text_answer(501, "Not Implemented"),
    "Says406To": html_answer(406, "Not Acceptable"),
    "Says409To": json_answer(409, {"code": 409, "data": {}}),
}.items():
    declare_variant(
        "unusual request", f"{_name}WhatIsUnusual", f"What is written in an unusual way gets {_says.status}.", Particular,
        SAYS=_says,
    )  # fmt: skip


# -- limits on the size of a request


class Small(Service):
    """The sandbox with limits to a path and a body."""

    PATH, PATH_STATUS = 1_000, 414
    BODY, BODY_STATUS = 500, 413

    def check_size(self, request):
        if len(request.path) > self.PATH:
            raise Refusal(self.PATH_STATUS, "The path is too long.")
        if len(request.body) > self.BODY:
            raise Refusal(self.BODY_STATUS, "The body is too large.")


for _path, _body in ((414, 413), (431, 413), (400, 400), (404, 422), (413, 429)):
    declare_variant(
        "size limit", f"TooMuchGets{_path}And{_body}", f"A long path gets {_path}, a large body {_body}.",
        Small, PATH_STATUS=_path, BODY_STATUS=_body, GETS_THE_REQUESTS_OF_THE_SANDBOX=_body != 429,
    )  # fmt: skip
declare_variant("size limit", "TakesOnlyShortBodies", "A body has at most 200 bytes.", Small, BODY=200)


@variant("size limit")
class ClosesAfterTooMuch(Small):
    """What is too large gets a page, and the connection is closed."""

    def finish(self, request, operation, response):
        large = response.status in (413, 414)
        return html_answer(response.status, "Too large", (("Connection", "close"),)) if large else response


@variant("size limit")
class TakesShallowBodies(Service):
    """A body that is nested deeper than three levels is refused with 413 before it is read."""

    def check_size(self, request):
        super().check_size(request)
        if request.body.count(b"{") > 3:
            raise Refusal(413, "The body is nested too deeply.")


@variant("size limit")
class WantsALength(Service):
    """A POST or DELETE without a body gets 411."""

    def respond(self, request):
        if request.method in ("POST", "DELETE") and not request.body:
            return empty_answer(411)
        return super().respond(request)


@variant("size limit")
class WantsJsonToBeAccepted(Service):
    """A client that does not accept JSON gets 406, one that sends something else 415 as a problem."""

    def respond(self, request):
        if not {"*/*", "application/json"} & set(request.header("Accept").replace(" ", "").split(",")):
            return problem_answer(406, "Not Acceptable")
        return super().respond(request)
