"""How undocumented paths and methods are answered."""

from __future__ import annotations

import uuid
from collections.abc import Callable

from environments.sandbox import Request, Response, Service
from tests.selftest.proof.registry import lawful, variant
from tests.selftest.proof.variants.lawful_making import Refuses, as_json, empty, page, problem, profile, text

WAYS: dict[str, Callable[[Request], Response]] = {
    "404Json": lambda request: as_json(
        404, {"timestamp": 1, "status": 404, "error": "Not Found", "path": request.path}
    ),
    "404Html": lambda request: page(404, "404 Not Found"),
    "404HtmlWithThePath": lambda request: page(404, f"The requested URL {request.path} was not found"),
    "404Empty": lambda request: empty(404),
    "404Problem": lambda request: problem(404, "Not Found"),
    "404WithAnId": lambda request: as_json(404, {"error": "no route", "requestId": str(uuid.uuid4())}),
    "404WithADate": lambda request: text(404, f"not found at {uuid.uuid4().time}"),
    "401": lambda request: as_json(401, {"message": "Unauthorized"}),
    "403": lambda request: as_json(403, {"message": "Missing Authentication Token"}),
    "400": lambda request: text(400, "Bad Request"),
    "405": lambda request: empty(405, (("Allow", "OPTIONS"),)),
    "410": lambda request: text(410, "Gone"),
    "302": lambda request: empty(302, (("Location", "/"),)),
    "301": lambda request: empty(301, (("Location", f"{request.path}/"),)),
    "TheFrontPage": lambda request: page(200, "Banco"),
    "AnEmpty200": lambda request: empty(200),
    "A204": lambda request: empty(204),
    "ACodeIn200": lambda request: as_json(200, {"code": 404, "data": None}),
    "AnEnvelope": lambda request: as_json(200, {"code": 0, "data": {}}),
    "503": lambda request: text(503, "no upstream"),
    "501": lambda request: text(501, "not implemented"),
}


WRITES = ("createPix", "transferExternal", "transferInternal", "transferP2p")
UNTOLD = tuple(f"{write}.{row}" for write in WRITES for row in ("json", "status", "envelope.shape"))
"""Without bodies the transfers are only refused, so that their existence shows by difference alone."""


class UnknownPaths(Service):
    """The sandbox with another answer to a path that it does not know."""

    def finish(self, request: Request, operation: str | None, response: Response) -> Response:
        return response if self.routes_of(request.path) else self.unknown(request)


for _name, _way in WAYS.items():
    lawful(
        "unknown path", f"UnknownPathsGet{_name}", f"An undocumented path gets {_name}.", UnknownPaths,
        unknown=lambda self, request, _way=_way: _way(request), environment=profile("no_bodies"), hides=UNTOLD,
        slow=_name == "503",
    )  # fmt: skip

for _name, _way in {
    "APage": lambda refusal: page(404, "Not Found"),
    "A501": lambda refusal: text(501, "Not Implemented"),
    "AnEmpty200": lambda refusal: empty(200, (("Allow", "GET"),)),
}.items():
    lawful(
        "other method", f"OtherMethodsGet{_name}", f"A method that a path does not have gets {_name}.", Refuses,
        refuses_so=lambda self, refusal: refusal.status == 405, say_no=lambda self, refusal, _way=_way: _way(refusal),
    )  # fmt: skip


@variant("unknown path")
class EncodedSlashesAreRefusedByTheServer(Service):
    """The server itself refuses %2F, %00 and what is not ASCII in a path, with a page of its own."""

    def respond(self, request: Request) -> Response:
        encoded = request.path.lower()
        if any(code in encoded for code in ("%2f", "%00", "%5c", "%c3", "%f0")):
            return page(400, "HTTP Status 400 - Bad Request")
        return super().respond(request)


@variant("unknown path")
class DecodesSlashesFirst(Service):
    """An encoded slash counts as a slash, so that such a path is another one: 404."""

    def respond(self, request: Request) -> Response:
        return page(404, "Not Found") if "%2f" in request.path.lower() else super().respond(request)


@variant("unknown path", hides=("executePix.token.scheme",))
class ChecksTheFormatOfCodes(Service):
    """A code in another format than its own is refused with 400, with and without a token."""

    def respond(self, request: Request) -> Response:
        if request.path.startswith("/v1/execute/pix/") and "/SBX-" not in request.path:
            return problem(400, "The transaction code has the format SBX-.")
        return super().respond(request)
