"""Services that fall over one class of mistake each, written without looking at how cases are generated."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import unquote_to_bytes

from environments.sandbox import Request, Response, Service
from spec.interface import READS, operations

Trips = Callable[[Request], bool]
TOKEN = "Tok-3n.Of-The_Service"
FAILURE = Response(500, b'{"code": 500, "data": {}}', (("Content-Type", "application/json"),))


def argument(request: Request) -> bytes:
    """The path argument, decoded once."""
    return unquote_to_bytes(request.path.rsplit("/", 1)[-1])


def value(request: Request) -> Any:
    """The body as JSON; NotImplemented where it is none."""
    try:
        return json.loads(request.body)
    except (ValueError, RecursionError):
        return NotImplemented


def is_json(request: Request) -> bool:
    return value(request) is not NotImplemented


def member(request: Request, name: str) -> Any:
    """A member of the body; NotImplemented where there is none."""
    body = value(request)
    return body.get(name, NotImplemented) if isinstance(body, dict) else NotImplemented


def holds(name: str, kind: type | tuple[type, ...]) -> Trips:
    return lambda request: isinstance(member(request, name), kind) and not isinstance(member(request, name), bool)


def is_null(name: str) -> Trips:
    return lambda request: member(request, name) is None


def lacks(name: str) -> Trips:
    return lambda request: isinstance(value(request), dict) and bool(value(request)) and name not in value(request)


def matches(name: str, pattern: str) -> Trips:
    return lambda request: (
        isinstance(member(request, name), str) and bool(re.search(pattern, member(request, name), re.DOTALL))
    )


def of_text(name: str, what: str) -> dict[str, Trips]:
    """The classes of a text member."""
    return {
        f"a null {what}": is_null(name),
        f"a number for {what}": holds(name, int),
        f"an array for {what}": holds(name, list),
        f"an over-long {what}": matches(name, ".{256}"),
        f"a {what} with NUL": matches(name, "\0"),
    }


ARGUMENT: Mapping[str, Trips] = {
    "an unknown argument": lambda r: argument(r).startswith(b"pixconf-"),
    "an over-long argument": lambda r: len(argument(r)) > 255,
    "a percent-encoded argument": lambda r: "%" in r.path,
    "NUL": lambda r: b"\0" in argument(r),
    "not ASCII": lambda r: not argument(r).isascii(),
    "a quote": lambda r: b"'" in argument(r),
}
QUERY: Mapping[str, Trips] = {"a query": lambda r: bool(r.query)}
BODY: Mapping[str, Trips] = {
    "an empty body": lambda r: not r.body,
    "malformed JSON": lambda r: bool(r.body) and not is_json(r),
    "an array": lambda r: isinstance(value(r), list),
    "an empty object": lambda r: value(r) == {},
    "deep nesting": lambda r: r.body.count(b"[") > 900 or r.body.count(b"{") > 900,
    "a large body": lambda r: len(r.body) > 100 * 1024,
}
REGISTRATION: Mapping[str, Trips] = {
    **of_text("pixKeyType", "kind"),
    **of_text("pixKey", "key"),
    **of_text("account", "account"),
    "no pixKey": lacks("pixKey"),
    "no account": lacks("account"),
    "an unknown kind": matches("pixKeyType", "^(?!PHONE|EMAIL|RANDOM|CNPJ|CPF)."),
    "half a surrogate pair": matches("pixKey", "[\ud800-\udfff]"),
    "an unknown account in the body": matches("account", "^pixconf-"),
    "an unknown member": lambda r: isinstance(value(r), dict) and any("pixconf" in name for name in value(r)),
    "no Content-Type": lambda r: not r.header("Content-Type"),
    "an over-long header": lambda r: len(r.header("Authorization")) > 2_048,
    "text/plain": lambda r: r.header("Content-Type").startswith("text/plain"),
}
TRANSFER: Mapping[str, Trips] = {
    "text for value": holds("value", str),
    "null for value": is_null("value"),
    "a negative value": lambda r: isinstance(member(r, "value"), int | float) and member(r, "value") < 0,
}
BETWEEN: Mapping[str, Trips] = {
    "no payer": lacks("from"),
    "null for payee": is_null("to"),
    "an unknown account": matches("from", "^pixconf-"),
    "an over-long payer": matches("from", ".{256}"),
    "a payee with NUL": matches("to", "\0"),
}
CREDENTIAL: Mapping[str, Trips] = {
    "no Authorization": lambda r: "authorization" not in r.headers,
    "an empty Authorization": lambda r: r.headers.get("authorization") == "",
    "a wrong token": lambda r: (
        r.header("Authorization").removeprefix("Bearer ") not in (TOKEN, r.header("Authorization"))
    ),
}
_OF_THE_REQUEST: Mapping[str, Mapping[str, Trips]] = {
    "executePix": {**ARGUMENT, **QUERY, "not UTF-8": lambda r: "\ufffd" in argument(r).decode(errors="replace")},
    "registerPixKey": {**ARGUMENT, **QUERY, **BODY, **REGISTRATION},
    "deletePixKey": {**BODY, **of_text("pixKey", "key"), "an unknown argument": ARGUMENT["an unknown argument"]},
    **{read: (ARGUMENT if operations()[read].path_parameter else {}) | QUERY for read in READS},
    "createPix": {**BODY, **TRANSFER},
    **{name: {**BODY, **TRANSFER, **BETWEEN} for name in ("transferExternal", "transferInternal", "transferP2p")},
}
MISTAKES: Mapping[str, Mapping[str, Trips]] = {
    operation: {**mistakes, **CREDENTIAL} for operation, mistakes in _OF_THE_REQUEST.items()
}
"""By operation: a class of mistakes, and how a request of the class is told."""


def named_operation(service: Service, request: Request) -> str:
    """The operation of the path and the method, whether or not the argument could be read."""
    return next((name for method, name, _ in service.routes_of(request.path) if method == request.method), "")


class Watchful(Service):
    """The sandbox, which notes which classes of mistakes it met."""

    def __init__(self) -> None:
        super().__init__()
        self.token = TOKEN
        self.met: dict[tuple[str, str], int] = {}

    def finish(self, request: Request, operation: str | None, response: Response) -> Response:
        named = named_operation(self, request)
        for name, trips in MISTAKES.get(named, {}).items():
            if trips(request):
                self.met[named, name] = self.met.get((named, name), 0) + 1
        return response


class FallsOver(Service):
    """The sandbox, which answers one class of mistakes at one operation with 500."""

    def __init__(self, operation: str, mistake: str) -> None:
        super().__init__()
        self.token = TOKEN
        self.operation, self.trips = operation, MISTAKES[operation][mistake]

    def finish(self, request: Request, operation: str | None, response: Response) -> Response:
        named = named_operation(self, request)
        return FAILURE if named == self.operation and self.trips(request) else response
