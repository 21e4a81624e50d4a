"""Answers to undocumented paths, methods and forms of a request, and limits to its size, all of which conform.

The interface document shows none of them.
"""

import uuid
from dataclasses import replace

from environments.sandbox import Refusal, Service
from spec.interface import PREPARING_OPERATIONS, READ_OPERATIONS
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
"""Not exercised: this profile has no bodies for transfers, so they are only refused. That they exist shows only because
an unknown path is answered differently."""


class UnknownPaths(Service):
    """The sandbox, where `answer_to_unknown_path` makes the answer to a path that it does not know."""

    def finish(self, request, operation, response):
        is_known_path = bool(self.routes_of(request.path))
        return response if is_known_path else self.answer_to_unknown_path(request)


for _name, _way in WAYS.items():
    declare_variant(
        "unknown path", f"UnknownPathsGet{_name}", f"An undocumented path gets {_name}.", UnknownPaths,
        answer_to_unknown_path=staticmethod(_way), environment=profile_path("no_bodies"), hides=UNTOLD,
    )  # fmt: skip


@variant("unknown path", hides=("*",))
class PathsEndInASlash(Service):
    """A GET whose path has no slash at its end is redirected to the path with one, known or not."""

    def respond(self, request):
        """Redirect a GET without a slash at its end. Answer any other request as if it had none."""
        if request.method == "GET" and not request.path.endswith("/"):
            return empty_answer(301, (("Location", f"{request.path}/"),))
        return super().respond(replace(request, path=request.path.removesuffix("/")))


SUCCESS_OF_READS = tuple(
    f"{read}.{row}" for read in READ_OPERATIONS for row in ("json", "shape", "status", "envelope.*")
)


@variant("unknown path", hides=SUCCESS_OF_READS)
class ReadsEndInASlash(Service):
    """A documented read whose path has no slash at its end is redirected to the path with one. Executions are not."""

    def respond(self, request):
        """Redirect a read without a slash at its end. Answer any other request as if it had none."""
        path = request.path.removesuffix("/")
        is_known_read = request.method == "GET" and not path.startswith("/v1/execute") and bool(self.routes_of(path))
        if is_known_read and path == request.path:
            return empty_answer(307, (("Location", f"{path}/"),))
        return super().respond(replace(request, path=path))


for _name, _way in {
    "APage": lambda refusal: html_answer(404, "Not Found"),
    "A501": lambda refusal: text_answer(501, "Not Implemented"),
    "AnEmpty200": lambda refusal: empty_answer(200, (("Allow", "GET"),)),
}.items():
    declare_variant(
        "other method", f"OtherMethodsGet{_name}", f"A method that a path does not have gets {_name}.", RefusesDifferently,
        is_affected=lambda self, refusal: refusal.status == 405, answer_to_refusal=staticmethod(_way), GETS_THE_REQUESTS_OF_THE_SANDBOX=True,
    )  # fmt: skip


@variant("unknown path")
class EncodedSlashesAreRefusedByTheServer(Service):
    """The server refuses %2F, %00 and other encoded characters in a path with a page, before the service sees them."""

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
    """The sandbox, which gives ANSWER to a request that is written in an unusual way, before it looks at its token.

    The suite writes requests in these ways, to find out if the token is checked nevertheless.
    """

    ON_THE_WIRE = True
    ANSWER = empty_answer(400)

    def respond(self, request):
        has_unusual_path = "//" in request.path or request.path.endswith("/") or "pi%78" in request.path
        has_unusual_query = request.query == "pixconf=1"
        has_unusual_version = request.version != "HTTP/1.1"
        wants_html = "html" in request.header("Accept")
        if has_unusual_path or has_unusual_query or has_unusual_version or wants_html:
            return self.ANSWER
        return super().respond(request)


for _name, _says in {
    "Redirects": empty_answer(308, (("Location", "/v1/accounts"),)),
    "Says505To": text_answer(505, "HTTP Version Not Supported"),
    "Says501To": text_answer(501, "Not Implemented"),
    "Says406To": html_answer(406, "Not Acceptable"),
    "Says409To": json_answer(409, {"code": 409, "data": {}}),
}.items():
    declare_variant(
        "unusual request", f"{_name}WhatIsUnusual", f"What is written in an unusual way gets {_says.status}.", Particular,
        ANSWER=_says,
    )  # fmt: skip


# -- limits on the size of a request


class Small(Service):
    """The sandbox, which refuses a long path and a large body."""

    MOST_OF_PATH = 1_000  # characters
    MOST_OF_BODY = 500  # bytes
    PATH_STATUS = 414
    BODY_STATUS = 413

    def check_size(self, request):
        """Raise Refusal if the path or the body of a request is too long."""
        if len(request.path) > self.MOST_OF_PATH:
            raise Refusal(self.PATH_STATUS, "The path is too long.")
        if len(request.body) > self.MOST_OF_BODY:
            raise Refusal(self.BODY_STATUS, "The body is too large.")


for _path, _body in ((414, 413), (431, 413), (400, 400), (404, 422), (413, 429)):
    declare_variant(
        "size limit", f"TooMuchGets{_path}And{_body}", f"A long path gets {_path}, a large body {_body}.",
        Small, PATH_STATUS=_path, BODY_STATUS=_body, GETS_THE_REQUESTS_OF_THE_SANDBOX=_body != 429,
    )  # fmt: skip
declare_variant("size limit", "TakesOnlyShortBodies", "A body has at most 200 bytes.", Small, MOST_OF_BODY=200)


@variant("size limit")
class ClosesAfterTooMuch(Small):
    """A request that is too large gets a page, and its connection is closed."""

    def finish(self, request, operation, response):
        is_too_large = response.status in (413, 414)
        if is_too_large:
            return html_answer(response.status, "Too large", (("Connection", "close"),))
        return response


@variant("size limit")
class TakesShallowBodies(Service):
    """A body with more than three opening braces is refused with 413 before it is read, as if it were too deep."""

    def check_size(self, request):
        """Raise Refusal if the body is too large or may be nested too deeply. Braces are counted, not parsed."""
        super().check_size(request)
        may_be_nested_too_deeply = request.body.count(b"{") > 3
        if may_be_nested_too_deeply:
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
    """A client whose header Accept does not accept JSON gets 406."""

    def respond(self, request):
        accepted_types = set(request.header("Accept").replace(" ", "").split(","))
        accepts_json = "*/*" in accepted_types or "application/json" in accepted_types
        if not accepts_json:
            return problem_answer(406, "Not Acceptable")
        return super().respond(request)
