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


def is_utf8(text: bytes) -> bool:
    return text.decode("utf-8", "ignore").encode() == text


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


def is_empty(kind: str) -> Trips:
    return lambda request: member(request, "pixKeyType") == kind and member(request, "pixKey") == ""


ARGUMENT: Mapping[str, Trips] = {
    "an unknown argument": lambda r: argument(r).startswith(b"pixconf-"),
    "an over-long argument": lambda r: len(argument(r)) > 255,
    "a very long argument": lambda r: len(argument(r)) > 4_000,
    "a percent-encoded argument": lambda r: "%" in r.path,
    "a percent sign": lambda r: b"%" in argument(r),
    "an encoded slash": lambda r: b"/" in argument(r),
    "NUL": lambda r: b"\0" in argument(r),
    "not ASCII": lambda r: not argument(r).isascii(),
    "not UTF-8": lambda r: not is_utf8(argument(r)),
    "a quote": lambda r: b"'" in argument(r),
    "a space": lambda r: b" " in argument(r),
    "a plus": lambda r: "+" in r.path,
    "a semicolon": lambda r: ";" in r.path,
    "a line break": lambda r: b"\n" in argument(r),
    "a backslash": lambda r: b"\\" in argument(r),
    "a brace": lambda r: b"{" in argument(r),
}
FEWER_ARGUMENTS = (
    "an unknown argument",
    "an over-long argument",
    "a very long argument",
    "a percent-encoded argument",
    "an encoded slash",
    "NUL",
    "not ASCII",
    "a quote",
)
BODY: Mapping[str, Trips] = {
    "an empty body": lambda r: not r.body,
    "malformed JSON": lambda r: bool(r.body) and not is_json(r),
    "JSON cut short": lambda r: r.body.startswith(b"{") and not r.body.rstrip().endswith(b"}"),
    "an array": lambda r: isinstance(value(r), list),
    "a text": lambda r: isinstance(value(r), str),
    "a number": lambda r: isinstance(value(r), int) and not isinstance(value(r), bool),
    "null": lambda r: r.body.strip() == b"null",
    "an empty object": lambda r: value(r) == {},
    "not UTF-8": lambda r: not is_utf8(r.body),
    "a full array": lambda r: isinstance(value(r), list) and bool(value(r)),
    "deep nesting": lambda r: r.body.count(b"[") > 900 or r.body.count(b"{") > 900,
    "NaN": lambda r: b"NaN" in r.body,
    "a member twice": lambda r: any(r.body.count(b'"%s":' % name) > 1 for name in (b"pixKey", b"value", b"from")),
    "a large body": lambda r: len(r.body) > 100 * 1024,
    "an unknown member": lambda r: isinstance(value(r), dict) and any("pixconf" in name for name in value(r)),
    "no Content-Type": lambda r: not r.header("Content-Type"),
    "text/plain": lambda r: r.header("Content-Type").startswith("text/plain"),
    "a form without a boundary": lambda r: r.header("Content-Type") == "multipart/form-data",
}
REGISTRATION: Mapping[str, Trips] = {
    "no pixKey": lacks("pixKey"),
    "no pixKeyType": lacks("pixKeyType"),
    "no account": lacks("account"),
    "a number for kind": holds("pixKeyType", int),
    "a null kind": is_null("pixKeyType"),
    "an unknown kind": lambda r: (
        isinstance(member(r, "pixKeyType"), str)
        and member(r, "pixKeyType") not in ("PHONE", "EMAIL", "RANDOM", "CNPJ", "CPF")
    ),
    "an empty kind": lambda r: member(r, "pixKeyType") == "",
    "an object for kind": holds("pixKeyType", dict),
    "an array for kind": holds("pixKeyType", list),
    "an over-long kind": matches("pixKeyType", ".{256}"),
    "a kind with NUL": matches("pixKeyType", "\0"),
    "a null key": is_null("pixKey"),
    "a number for key": holds("pixKey", int),
    "an empty key": lambda r: member(r, "pixKey") == "" and member(r, "pixKeyType") != "RANDOM",
    "an array for key": holds("pixKey", list),
    "a key outside ASCII": matches("pixKey", r"[^\0-\x7f]"),
    "a key outside the basic plane": matches("pixKey", "[\U00010000-\U0010ffff]"),
    "half a surrogate pair": matches("pixKey", "[\ud800-\udfff]"),
    "a key with NUL": matches("pixKey", "\0"),
    "an over-long key": matches("pixKey", ".{256}"),
    "a very long key": matches("pixKey", ".{66000}"),
    "a key with a quote": matches("pixKey", "'"),
    "a null account": is_null("account"),
    "an unknown account in the body": matches("account", "^pixconf-"),
    "a number for account": holds("account", int),
    "an array for account": holds("account", list),
    "an over-long account in the body": matches("account", ".{256}"),
    "an account with NUL in the body": matches("account", "\0"),
    "a kind with a quote": matches("pixKeyType", "'"),
    "a kind outside ASCII": matches("pixKeyType", r"[^\0-\x7f]"),
    "an empty PHONE": is_empty("PHONE"),
    "an empty EMAIL": is_empty("EMAIL"),
    "an empty CNPJ": is_empty("CNPJ"),
    "an empty CPF": is_empty("CPF"),
    "a CPF of letters": lambda r: member(r, "pixKeyType") == "CPF" and not str(member(r, "pixKey")).isdigit(),
    "a phone without digits": lambda r: (
        member(r, "pixKeyType") == "PHONE" and not re.search("[0-9]", str(member(r, "pixKey")))
    ),
    "a key that is no address": lambda r: (
        member(r, "pixKeyType") == "EMAIL" and isinstance(member(r, "pixKey"), str) and "@" not in member(r, "pixKey")
    ),
}
TRANSFER: Mapping[str, Trips] = {
    "text for value": holds("value", str),
    "null for value": is_null("value"),
    "a negative value": lambda r: isinstance(member(r, "value"), int | float) and member(r, "value") < 0,
    "no value": lacks("value"),
    "an object for value": holds("value", dict),
    "an array for value": holds("value", list),
    "zero": lambda r: member(r, "value") == 0 and member(r, "value") is not False,
    "a form": lambda r: "form-urlencoded" in r.header("Content-Type"),
    "a form without a boundary": BODY["a form without a boundary"],
    "XML": lambda r: "xml" in r.header("Content-Type"),
    "a byte order mark": lambda r: r.body.startswith(b"\xef\xbb\xbf"),
    "a trailing comma": lambda r: b",}" in r.body,
    "a large body": BODY["a large body"],
    "a member twice": lambda r: r.body.count(b'"value":') > 1,
    "an unknown member": BODY["an unknown member"],
    "a huge value": lambda r: isinstance(member(r, "value"), int | float) and member(r, "value") > 10**30,
}
BETWEEN: Mapping[str, Trips] = {
    "no payer": lacks("from"),
    "null for payee": is_null("to"),
    "a number for payee": holds("to", int),
    "text for date": holds("date", str),
    "null for date": is_null("date"),
    "no date": lacks("date"),
    "an unknown account": matches("from", "^pixconf-"),
    "an over-long payer": matches("from", ".{256}"),
    "a payer with NUL": matches("from", "\0"),
    "a payee with NUL": matches("to", "\0"),
    "a payee with a quote": matches("to", "'"),
    "a payer outside ASCII": matches("from", r"[^\0-\x7f]"),
}
READ_AFTER_THE_BODY: Mapping[str, Trips] = {
    f"{name}, and a key": lambda r, trips=ARGUMENT[name]: trips(r) and isinstance(member(r, "pixKey"), str)
    for name in ("an over-long argument", "NUL", "not ASCII", "a quote", "an encoded slash")
}
CREDENTIAL: Mapping[str, Trips] = {
    "no Authorization": lambda r: "authorization" not in r.headers,
    "an empty Authorization": lambda r: r.headers.get("authorization") == "",
    "a wrong token": lambda r: (
        r.header("Authorization").startswith("Bearer ") and r.header("Authorization") != f"Bearer {TOKEN}"
    ),
}
EVERY_CREDENTIAL: Mapping[str, Trips] = {
    **CREDENTIAL,
    "another scheme": lambda r: r.header("Authorization").partition(" ")[0] not in ("", "Bearer", "Basic"),
    "two words after Bearer": lambda r: len(r.header("Authorization").split()) > 2,
    "a header outside ASCII": lambda r: not r.header("Authorization").isascii(),
    "an over-long header": lambda r: len(r.header("Authorization")) > 2_048,
    "a signed token in two parts": lambda r: bool(re.fullmatch(r"Bearer eyJ\w+\.\w+", r.header("Authorization"))),
    "a signed token that is no JSON": lambda r: bool(re.fullmatch(r"Bearer (\w+\.){2}\w+", r.header("Authorization"))),
    "Basic that is no base64": lambda r: r.header("Authorization").startswith("Basic %"),
}
QUERY: Mapping[str, Trips] = {
    "a query": lambda r: bool(r.query),
    "a query that is not UTF-8": lambda r: not is_utf8(unquote_to_bytes(r.query)),
}
OF_EVERY_BODY = {name: BODY[name] for name in list(BODY)[:11]}
OF_THE_REQUEST: Mapping[str, Mapping[str, Trips]] = {
    "executePix": {**ARGUMENT, **QUERY},
    "registerPixKey": {**{name: ARGUMENT[name] for name in FEWER_ARGUMENTS}, **READ_AFTER_THE_BODY, **BODY, **REGISTRATION, **QUERY},
    "deletePixKey": {**OF_EVERY_BODY, **READ_AFTER_THE_BODY, "an over-long key": matches("pixKey", ".{256}"),
                     **{name: BODY[name] for name in ("a large body", "a form without a boundary")},
                     "a very long argument": ARGUMENT["a very long argument"],
                     "malformed JSON at an account that is known": lambda r: (
                         not is_json(r) and bool(r.body) and not argument(r).startswith(b"pixconf-")
                     ), "an unknown account": ARGUMENT["an unknown argument"], "a null key": is_null("pixKey"),
                     "a number for key": holds("pixKey", int), "an array for key": holds("pixKey", list),
                     "a key with NUL": matches("pixKey", "\0")},
    **{read: {name: ARGUMENT[name] for name in FEWER_ARGUMENTS if operations()[read].path_parameter} | QUERY for read in READS},
    "createPix": {**OF_EVERY_BODY, **TRANSFER},
    "transferExternal": {**OF_EVERY_BODY, **TRANSFER, **BETWEEN},
    "transferInternal": {**OF_EVERY_BODY, **TRANSFER, **BETWEEN},
    "transferP2p": {**OF_EVERY_BODY, **TRANSFER, **BETWEEN},
}  # fmt: skip
MISTAKES: Mapping[str, Mapping[str, Trips]] = {
    operation: {**mistakes, **(EVERY_CREDENTIAL if operation in ("registerPixKey", "listAccounts") else CREDENTIAL)}
    for operation, mistakes in OF_THE_REQUEST.items()
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
