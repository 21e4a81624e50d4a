"""Limits on the size of a request (document, Limits: not shown)."""

from __future__ import annotations

from environments.sandbox import Refusal, Request, Response, Service
from tests.selftest.proof.registry import lawful, variant
from tests.selftest.proof.variants.lawful_making import empty, page, problem


class Small(Service):
    """The sandbox with limits to a path and a body."""

    PATH, PATH_STATUS = 1_000, 414
    BODY, BODY_STATUS = 500, 413

    def check_size(self, request: Request) -> None:
        if len(request.path) > self.PATH:
            raise Refusal(self.PATH_STATUS, "The path is too long.")
        if len(request.body) > self.BODY:
            raise Refusal(self.BODY_STATUS, "The body is too large.")


for _path, _body in ((414, 413), (431, 413), (400, 400), (404, 422), (413, 429)):
    lawful(
        "size limit", f"TooMuchGets{_path}And{_body}", f"A long path gets {_path}, a large body {_body}.",
        Small, PATH_STATUS=_path, BODY_STATUS=_body, slow=_body == 429,
    )  # fmt: skip
lawful("size limit", "TakesOnlyShortBodies", "A body has at most 200 bytes.", Small, BODY=200)


@variant("size limit")
class ClosesAfterTooMuch(Small):
    """What is too large gets a page, and the connection is closed."""

    def finish(self, request: Request, operation: str | None, response: Response) -> Response:
        large = response.status in (413, 414)
        return page(response.status, "Too large", (("Connection", "close"),)) if large else response


@variant("size limit")
class TakesShallowBodies(Service):
    """A body that is nested deeper than three levels is refused with 413 before it is read."""

    def check_size(self, request: Request) -> None:
        super().check_size(request)
        if request.body.count(b"{") > 3:
            raise Refusal(413, "The body is nested too deeply.")


@variant("size limit")
class WantsALength(Service):
    """A POST or DELETE without a body gets 411."""

    def respond(self, request: Request) -> Response:
        if request.method in ("POST", "DELETE") and not request.body:
            return empty(411)
        return super().respond(request)


@variant("size limit")
class WantsJsonToBeAccepted(Service):
    """A client that does not accept JSON gets 406, one that sends something else 415 as a problem."""

    def respond(self, request: Request) -> Response:
        if not {"*/*", "application/json"} & set(request.header("Accept").replace(" ", "").split(",")):
            return problem(406, "Not Acceptable")
        return super().respond(request)
