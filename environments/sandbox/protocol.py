"""The parts of the sandbox that all operations share: requests and responses, routes, the token, JSON, the envelope,
refusals.

Each method decides one thing, so that a subclass can change that one thing. The mutants and variants of the proof are
such subclasses.
"""

from __future__ import annotations

import hmac
import json
import re
import secrets
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from itertools import count
from typing import ClassVar
from urllib.parse import unquote

from environments.sandbox.double_entry import Database
from spec.interface import PREPARING_OPERATIONS, operations
from spec.json_text import is_nested_deeper_than

MAX_BODY = 1_048_576
"""Bytes of a request body that are accepted; more is refused with 413."""

MAX_DEPTH = 500
"""Levels of a request body that are accepted; a deeper body is refused with 400."""

MAX_NUMBER = 10**13
"""The largest amount, in reais, and the latest time, in milliseconds. A float still holds cents of such an amount."""

Data = dict[str, object]
"""The object field `data` of the envelope, or the body of a request."""

Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Request:
    """One request. Its headers and its body stay out of the `repr`: they hold the token and personal data."""

    method: str
    path: str
    """As it came over the wire: still percent-encoded, without the query."""
    query: str
    headers: Mapping[str, str] = field(repr=False)
    """By name in lower case; a header that stands twice has both values, joined with a comma."""
    body: bytes = field(repr=False)
    """At most one byte more than MAX_BODY."""
    version: str = "HTTP/1.1"

    def header(self, name: str) -> str:
        """The value of a header, or the empty string."""
        return self.headers.get(name.lower(), "")


@dataclass(frozen=True)
class Response:
    """One response, as bytes. The server adds Content-Length if `headers` has none."""

    status: int
    body: bytes
    headers: Headers = ()


@dataclass(eq=False)
class Refusal(Exception):  # noqa: N818 - it is an answer, not an error
    """The sandbox says no: an HTTP status, a fixed text that repeats nothing of the request, and headers."""

    status: int
    error: str
    headers: Headers = ()


def text_field(body: Mapping[str, object], name: str, default: str | None = None) -> str:
    """The string in a field of a body. Without a default the field is required. Raises Refusal."""
    value = body.get(name, default)
    if not isinstance(value, str):
        raise Refusal(400, f"The field {name} holds a string.")
    return value


def integer_field(body: Mapping[str, object], name: str, factor: int = 1) -> int:
    """The number in a field of a body times a factor, as an integer: 1.5 reais are 150 cents. Raises Refusal."""
    value = body.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= MAX_NUMBER:
        raise Refusal(400, f"The field {name} holds a positive number, at most {MAX_NUMBER}.")
    product = Decimal(str(value)) * factor
    if product % 1:
        raise Refusal(400, f"The field {name} has too many decimals.")
    return int(product)


@cache
def _pattern(template: str) -> re.Pattern[str]:
    """A pattern of the paths of a template. Its group, if there is one, is the path parameter."""
    return re.compile(re.sub(r"{\w+}", "([^/]+)", template))


class HttpService:
    """Answers each route with the method that is named after its operation."""

    ROUTES: ClassVar[tuple[tuple[str, str, str], ...]] = tuple(
        (operation.method, operation.path, operation.id) for operation in operations().values()
    )
    """Method, path template, operationId. A template has at most one parameter, as a segment of its own."""

    def __init__(self, *, token: str | None = None, database: Database | None = None) -> None:
        self.token = token or secrets.token_urlsafe()
        self.database = database or Database()
        self.numbers = count(1)
        """Numbers of the registrations."""

    def serve(self, request: Request, connection: socket.socket) -> Response | None:
        """The response that the server sends; None if a subclass has sent it over the connection itself."""
        return self.respond(request)

    def respond(self, request: Request) -> Response:
        """Perform the operation that a request asks for. Returns the response, which may be a refusal."""
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
        """The response as it leaves; `operation` is None if no route was found."""
        return response

    # Which operation, and for whom

    def check_size(self, request: Request) -> None:
        """Raise Refusal for a body that is too large."""
        if len(request.body) > MAX_BODY:
            raise Refusal(413, f"A body has at most {MAX_BODY} bytes.")

    def route(self, request: Request) -> tuple[str, str | None]:
        """The operationId of a request, and its path parameter, decoded; None if the path has none. Raises Refusal."""
        routes = {method: (operation, segment) for method, operation, segment in self.routes_of(request.path)}
        if not routes:
            raise Refusal(404, "There is no such path.")
        if request.method not in routes:
            allowed = ", ".join(sorted(routes))
            raise Refusal(405, "The path does not have this method.", (("Allow", allowed),))
        operation, segment = routes[request.method]
        if segment is None:
            return operation, None
        try:  # percent-encoding may hide slashes, NUL and anything else
            return operation, unquote(segment, errors="strict")
        except UnicodeDecodeError:
            raise Refusal(400, "The path is not UTF-8.") from None

    def routes_of(self, path: str) -> list[tuple[str, str, str | None]]:
        """Method, operationId and undecoded path parameter of every route that has this path."""
        routes = []
        for method, template, operation in self.ROUTES:
            match = _pattern(template).fullmatch(path)
            if match:
                path_parameter = match[1] if match.re.groups else None
                routes.append((method, operation, path_parameter))
        return routes

    def authorize(self, request: Request, operation: str) -> None:
        """Raise Refusal for a request without the token, which every operation requires."""
        scheme, _, credential = request.header("Authorization").partition(" ")
        if scheme.lower() != "bearer" or not self.is_token(credential):
            challenge = (("WWW-Authenticate", "Bearer"),)
            raise Refusal(401, "A valid access token is required: Authorization: Bearer <ACCESS_TOKEN>.", challenge)

    def is_token(self, credential: str) -> bool:
        """True if this is the token. The server reads the bytes of a header as Latin-1."""
        return hmac.compare_digest(credential.encode("latin-1", "replace"), self.token.encode())

    def perform(self, operation: str, request: Request, parameter: str | None) -> Data:
        """Call the method of the operation: `execute_pix` for executePix. Returns the object data of the response.

        All operations that prepare a transfer have one method, `prepare`.
        """
        if operation in PREPARING_OPERATIONS:
            return self.prepare(operation, request)  # type: ignore[attr-defined,no-any-return] # Service has it
        name_of_method = re.sub("([A-Z])", r"_\1", operation).lower()
        method: Callable[..., Data] = getattr(self, name_of_method)
        return method(request) if parameter is None else method(request, parameter)

    # Bodies of requests

    def read_json(self, request: Request, operation: str) -> Data:
        """The body of a request, an object of JSON. Raises Refusal for any other body."""
        self.check_content_type(request, operation)
        if is_nested_deeper_than(MAX_DEPTH, request.body):
            raise Refusal(400, f"The body is nested deeper than {MAX_DEPTH} levels.")
        try:
            body = json.loads(request.body.decode())
            json.dumps(body, ensure_ascii=False).encode()  # half of a surrogate pair, which SQLite cannot hold
        except (ValueError, RecursionError):
            raise Refusal(400, "The body is not JSON in UTF-8.") from None
        if not isinstance(body, dict):
            raise Refusal(400, "The body is not an object of JSON.")
        return body

    def check_content_type(self, request: Request, operation: str) -> None:
        """Raise Refusal for a media type other than JSON in UTF-8, in any spelling."""
        content_type = re.sub(r'[\s"]', "", request.header("Content-Type").lower())
        if content_type not in ("application/json", "application/json;charset=utf-8"):
            raise Refusal(415, "A body is sent with Content-Type: application/json.")

    # Responses

    def envelope(self, operation: str | None, data: object, code: int = 0) -> object:
        """The envelope of every response; a refusal has no operation."""
        return {"code": code, "data": data}

    def success(self, operation: str, data: Data) -> Response:
        """The response of an operation that was performed."""
        return self.render(200, self.envelope(operation, data))

    def refusal(self, refusal: Refusal) -> Response:
        """The response of a refusal: its status, and an envelope with the status as code and a text as data."""
        body = self.envelope(None, {"error": refusal.error}, refusal.status)
        return self.render(refusal.status, body, refusal.headers)

    def render(self, status: int, body: object, headers: Headers = ()) -> Response:
        """A response with a body of JSON."""
        content = json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
        return Response(status, content, (("Content-Type", "application/json"), *headers))

    def now(self) -> int:
        """Milliseconds since 1970."""
        return time.time_ns() // 1_000_000
