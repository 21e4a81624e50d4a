"""The parts of the sandbox that all operations share: requests and responses, routes, the token, JSON, the envelope,
refusals.

service.py has the operations themselves, and server.py the HTTP connections.

Each method decides one thing, so that a subclass can change that one thing. The self-tests have many such subclasses,
in tests/selftest/proof: services with one fault each (mutants), which the suite must find, and services that are right
but different (variants), which the suite must accept.
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
"""The largest amount, in reais. Up to this amount a float is exact to one centavo. It is also the latest time, in
milliseconds since 1970: a time in the year 2286."""

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
    """By name in lower case; a header that occurs twice has both values, joined with a comma."""
    body: bytes = field(repr=False)
    """At most one byte more than MAX_BODY."""
    version: str = "HTTP/1.1"

    def header(self, name: str) -> str:
        """The value of the header with this name, in any letter case; empty if the request does not have it."""
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
    """The string in a field of a JSON body. Raises Refusal (400) if it is no string.

    If the field is missing, the default is returned. If there is no default either, the field is required, and Refusal
    is raised.
    """
    value = body.get(name, default)
    if not isinstance(value, str):
        raise Refusal(400, f"The field {name} holds a string.")
    return value


def integer_field(body: Mapping[str, object], name: str, factor: int = 1) -> int:
    """The number in a field of a JSON body, multiplied by a factor, as an integer: 1.5 reais are 150 cents.

    Raises Refusal (400) if it is no positive number, or if the product is no integer: 1.555 reais have a decimal too
    many.
    """
    value = body.get(name)
    refusal = Refusal(400, f"The field {name} holds a positive number, at most {MAX_NUMBER}.")
    if isinstance(value, bool) or not isinstance(value, int | float):  # in Python, true and false are integers, too
        raise refusal
    if not 0 < value <= MAX_NUMBER:
        raise refusal
    product = Decimal(str(value)) * factor  # exact, unlike a product of floats
    if product % 1:
        raise Refusal(400, f"The field {name} has too many decimals.")
    return int(product)


@cache
def _pattern(template: str) -> re.Pattern[str]:
    """A pattern for the paths of a template such as `/v1/pix/keys/{accountId}`. Its group is the path parameter.

    The parameter may be any segment without a slash. A template without a parameter gives a pattern without a group.
    """
    return re.compile(re.sub(r"{\w+}", "([^/]+)", template))


class HttpService:
    """Answers each route with the method that is named after its operation."""

    ROUTES: ClassVar[tuple[tuple[str, str, str], ...]] = tuple(
        (operation.method, operation.path, operation.id) for operation in operations().values()
    )
    """Method, path template, operationId. A template has at most one parameter, as a segment of its own."""

    def __init__(self, *, token: str | None = None, database: Database | None = None) -> None:
        """Make a service that accepts this access token, and has the accounts, keys and transfers of this database.

        Without a token a random one is made, and without a database a new one with made-up accounts.
        """
        self.token = token or secrets.token_urlsafe()
        self.database = database or Database()
        self.registration_numbers = count(1)
        """Gives each registration of a key its number, which the answer has as DocumentNumber: 1 for the first one."""

    def serve(self, request: Request, connection: socket.socket) -> Response | None:
        """The response that the server is to send to a request.

        A subclass may write broken HTTP to `connection` itself, and return None. Then the server sends nothing.
        """
        return self.respond(request)

    def respond(self, request: Request) -> Response:
        """Check a request, perform its operation, and return the response, which may be a refusal."""
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
        """The response as it is sent, here unchanged. Subclasses override this to change every response.

        `operation` is None if the request has no known path and method.
        """
        return response

    # Which operation, and for whom

    def check_size(self, request: Request) -> None:
        """Check that the body is not too large. Raises Refusal (413) if it is."""
        if len(request.body) > MAX_BODY:
            raise Refusal(413, f"A body has at most {MAX_BODY} bytes.")

    def route(self, request: Request) -> tuple[str, str | None]:
        """The operationId that a request asks for, and its path parameter: `("getBalance", "ac-0001")`.

        The parameter is decoded; None if the path has none. Raises Refusal (404) for an unknown path, and (405) for a
        known path with another method.
        """
        route_by_method = {}
        for method, operation, segment in self.routes_of(request.path):
            route_by_method[method] = (operation, segment)
        if not route_by_method:
            raise Refusal(404, "There is no such path.")
        if request.method not in route_by_method:
            allowed = ", ".join(sorted(route_by_method))
            raise Refusal(405, "The path does not have this method.", (("Allow", allowed),))
        operation, segment = route_by_method[request.method]
        if segment is None:
            return operation, None
        try:  # percent-encoding may hide slashes, NUL and anything else
            return operation, unquote(segment, errors="strict")
        except UnicodeDecodeError:
            raise Refusal(400, "The path is not UTF-8.") from None

    def routes_of(self, path: str) -> list[tuple[str, str, str | None]]:
        """Every operation with this path, whatever its method: method, operationId, and path parameter.

        The parameter is still percent-encoded; None if the path has none.
        """
        routes = []
        for method, template, operation in self.ROUTES:
            match = _pattern(template).fullmatch(path)
            if match:
                has_parameter = match.re.groups > 0  # the pattern has a group for the parameter, if there is one
                path_parameter = match[1] if has_parameter else None
                routes.append((method, operation, path_parameter))
        return routes

    def authorize(self, request: Request, operation: str) -> None:
        """Check that a request has the access token, which every operation requires. Raises Refusal (401) if not.

        `operation` is not used here, but a subclass may require the token for some operations only.
        """
        scheme, _, credential = request.header("Authorization").partition(" ")
        if scheme.lower() != "bearer" or not self.is_token(credential):
            challenge = (("WWW-Authenticate", "Bearer"),)
            raise Refusal(401, "A valid access token is required: Authorization: Bearer <ACCESS_TOKEN>.", challenge)

    def is_token(self, credential: str) -> bool:
        """True if this text is the access token. The time of the comparison does not tell how much of it is right.

        The text is encoded as Latin-1, because the server decoded the header so.
        """
        return hmac.compare_digest(credential.encode("latin-1", "replace"), self.token.encode())

    def perform(self, operation: str, request: Request, parameter: str | None) -> Data:
        """Call the method that is named after the operation, such as `execute_pix` for executePix.

        Returns the field `data` of the response. The operations that prepare a transfer share one method, `prepare`.
        """
        if operation in PREPARING_OPERATIONS:
            return self.prepare(operation, request)  # type: ignore[attr-defined,no-any-return] # Service has it
        name_of_method = re.sub("([A-Z])", r"_\1", operation).lower()  # executePix becomes execute_pix
        method: Callable[..., Data] = getattr(self, name_of_method)
        if parameter is None:  # the path of the operation has no parameter
            return method(request)
        return method(request, parameter)

    # Bodies of requests

    def read_json(self, request: Request, operation: str) -> Data:
        """The JSON object in the body of a request. Raises Refusal if it is no JSON object, or not sent as JSON."""
        self.check_content_type(request, operation)
        if is_nested_deeper_than(MAX_DEPTH, request.body):
            raise Refusal(400, f"The body is nested deeper than {MAX_DEPTH} levels.")
        try:
            body = json.loads(request.body.decode())
            # This raises for half of a surrogate pair, which JSON permits as an escape and SQLite cannot store.
            json.dumps(body, ensure_ascii=False).encode()
        except (ValueError, RecursionError):
            raise Refusal(400, "The body is not JSON in UTF-8.") from None
        if not isinstance(body, dict):
            raise Refusal(400, "The body is not an object of JSON.")
        return body

    def check_content_type(self, request: Request, operation: str) -> None:
        """Check that the header Content-Type says JSON in UTF-8, in any letter case. Raises Refusal (415) if not.

        `operation` is not used here, but a subclass may check the header of some operations only.
        """
        content_type = re.sub(r'[\s"]', "", request.header("Content-Type").lower())
        if content_type not in ("application/json", "application/json;charset=utf-8"):
            raise Refusal(415, "A body is sent with Content-Type: application/json.")

    # Responses

    def envelope(self, operation: str | None, data: object, code: int = 0) -> object:
        """The JSON object around the data of every response: `{"code": 0, "data": …}`.

        `operation` is None for a refusal. It is not used here, but subclasses override this method for one operation.
        """
        return {"code": code, "data": data}

    def success(self, operation: str, data: Data) -> Response:
        """The response with status 200 to an operation that was performed, with this data in its envelope."""
        return self.render(200, self.envelope(operation, data))

    def refusal(self, refusal: Refusal) -> Response:
        """The response to a request that is refused: `{"code": 404, "data": {"error": "There is no such path."}}`.

        The code in the envelope is the HTTP status.
        """
        data = {"error": refusal.error}
        operation = None  # a refusal is the result of no operation
        body = self.envelope(operation, data, code=refusal.status)
        return self.render(refusal.status, body, refusal.headers)

    def render(self, status: int, body: object, headers: Headers = ()) -> Response:
        """A response whose body is this value as JSON in UTF-8."""
        content = json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
        return Response(status, content, (("Content-Type", "application/json"), *headers))

    def now(self) -> int:
        """The present time in milliseconds since 1970. A subclass may have another clock."""
        return time.time_ns() // 1_000_000
