"""What holds for all operations: routes, the token, JSON, the envelope, refusals.

Each method decides one thing, so that a subclass can change that one thing.
"""

from __future__ import annotations

import hmac
import json
import re
import secrets
import socket
import time
from collections.abc import Callable
from functools import cache
from typing import ClassVar, NoReturn, cast
from urllib.parse import unquote_to_bytes

from environments.sandbox.double_entry import Database
from environments.sandbox.messages import MAX_BODY, Data, Headers, Refusal, Request, Response

Route = tuple[str, str, str]
"""Method, path template, operationId. A template has at most one parameter, as a segment of its own."""


class HttpService:
    """Answers each route with the method that is named after its operation."""

    ROUTES: ClassVar[tuple[Route, ...]] = (
        ("GET", "/v1/execute/pix/{transactionId}", "executePix"),
        ("POST", "/v1/pix/keys/{accountId}", "registerPixKey"),
        ("DELETE", "/v1/pix/keys/{accountId}", "deletePixKey"),
        ("GET", "/v1/pix/keys/{accountId}", "listPixKeys"),
        ("GET", "/v1/accounts", "listAccounts"),
        ("GET", "/v1/accounts/balance/{accountId}", "getBalance"),
        ("GET", "/v1/accounts/entries/{accountId}", "listEntries"),
        ("POST", "/v1/pix", "createPix"),
        ("POST", "/v1/transfer/external", "transferExternal"),
        ("POST", "/v1/transfer/internal", "transferInternal"),
        ("POST", "/v1/transfer/p2p", "transferP2p"),
    )

    def __init__(self, *, token: str | None = None, database: Database | None = None) -> None:
        self.token = token or secrets.token_urlsafe()
        self.database = database or Database()

    def serve(self, request: Request, connection: socket.socket) -> Response | None:
        """The response that the server sends; None where a subclass has sent it over the connection itself."""
        return self.respond(request)

    def respond(self, request: Request) -> Response:
        """From a request to its response."""
        operation = None
        try:
            self.check_size(request)
            operation, parameter = self.route(request)
            self.authorize(request, operation)
            response = self.success(operation, self.perform(operation, request, parameter))
        except Refusal as refusal:
            response = self.refusal(refusal)
        return self.finish(request, operation, response)

    def finish(self, request: Request, operation: str | None, response: Response) -> Response:
        """The response as it leaves; `operation` is None where no route was found."""
        return response

    # Which operation, and for whom

    def check_size(self, request: Request) -> None:
        if len(request.body) > MAX_BODY:
            raise Refusal(413, f"A body has at most {MAX_BODY} bytes.")

    def route(self, request: Request) -> tuple[str, str | None]:
        """The operationId and the path parameter, decoded; None where the path has none."""
        found = {method: (name, segment) for method, name, segment in self.routes_of(request.path)}
        if not found:
            raise Refusal(404, "There is no such path.")
        if request.method not in found:
            allowed = ", ".join(sorted(found))
            raise Refusal(405, "The path does not have this method.", (("Allow", allowed),))
        name, segment = found[request.method]
        return name, None if segment is None else self.decode(segment)

    def routes_of(self, path: str) -> list[tuple[str, str, str | None]]:
        """Method, operationId and undecoded path parameter of every route that has this path."""
        found = ((method, name, _pattern(template).fullmatch(path)) for method, template, name in self.ROUTES)
        return [(method, name, match[1] if match.re.groups else None) for method, name, match in found if match]

    def decode(self, segment: str) -> str:
        """A path segment without its percent-encoding, which may hide slashes, NUL and anything else."""
        try:
            return unquote_to_bytes(segment).decode()
        except UnicodeDecodeError:
            raise Refusal(400, "The path is not UTF-8.") from None

    def authorize(self, request: Request, operation: str) -> None:
        """Every operation requires the token."""
        scheme, _, credential = request.header("Authorization").partition(" ")
        if scheme.lower() != "bearer" or not self.is_token(credential):
            challenge = (("WWW-Authenticate", "Bearer"),)
            raise Refusal(401, "A valid access token is required: Authorization: Bearer <ACCESS_TOKEN>.", challenge)

    def is_token(self, credential: str) -> bool:
        """Whether this is the token. The server reads the bytes of a header as Latin-1."""
        return hmac.compare_digest(credential.encode("latin-1", "replace"), self.token.encode())

    def perform(self, operation: str, request: Request, parameter: str | None) -> Data:
        """Call the method of the operation: executePix is `execute_pix`."""
        method = cast("Callable[..., Data]", getattr(self, re.sub("([A-Z])", r"_\1", operation).lower()))
        return method(request) if parameter is None else method(request, parameter)

    # Bodies of requests

    def read_json(self, request: Request, operation: str) -> Data:
        """The body, an object of JSON."""
        self.check_content_type(request, operation)
        try:
            body = json.loads(request.body.decode(), parse_constant=_no_json, object_pairs_hook=_members)
        except (ValueError, RecursionError):
            raise Refusal(400, "The body is not JSON as of RFC 8259, in UTF-8 and without repeated members.") from None
        if not isinstance(body, dict):
            raise Refusal(400, "The body is not an object of JSON.")
        return body

    def check_content_type(self, request: Request, operation: str) -> None:
        media_type, _, parameters = request.header("Content-Type").lower().partition(";")
        charset = parameters.strip().replace('"', "")
        if media_type.strip() != "application/json" or charset not in ("", "charset=utf-8"):
            raise Refusal(415, "A body is sent with Content-Type: application/json.")

    # Responses

    def envelope(self, operation: str | None, data: object, code: int = 0) -> object:
        """The envelope of every response; a refusal has no operation."""
        return {"code": code, "data": data}

    def success(self, operation: str, data: Data) -> Response:
        return self.render(200, self.envelope(operation, data))

    def refusal(self, refusal: Refusal) -> Response:
        """The response to what is refused: the status, and in the envelope the status again and a text."""
        body = self.envelope(None, {"error": refusal.error}, refusal.status)
        return self.render(refusal.status, body, refusal.headers)

    def render(self, status: int, body: object, headers: Headers = ()) -> Response:
        content = json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
        return Response(status, content, (("Content-Type", "application/json"), *headers))

    def now(self) -> int:
        """Milliseconds since 1970."""
        return time.time_ns() // 1_000_000


def _no_json(constant: str) -> NoReturn:
    raise ValueError("NaN and Infinity are not JSON")


def _members(pairs: list[tuple[str, object]]) -> Data:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a repeated member")
    return members


@cache
def _pattern(template: str) -> re.Pattern[str]:
    """A path of the interface, with a group for its parameter."""
    return re.compile(re.sub(r"{\w+}", "([^/]+)", template))
