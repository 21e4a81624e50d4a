"""How variants are made: from a table, and with answers that are not the sandbox's own."""

import itertools
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from environments.sandbox import Headers, Refusal, Request, Response, Service

_VERBATIM = re.compile(rb'"\xe2\x9f\xa8(.*?)\xe2\x9f\xa9"', re.DOTALL)


def profile(name: str) -> str:
    """The path of a profile beside this file."""
    return str(Path(__file__).with_name("profiles") / f"{name}.yaml")


def empty(status: int, headers: Headers = ()) -> Response:
    """An answer without a body."""
    return Response(status, b"", headers)


def text(status: int, content: str, media_type: str = "text/plain; charset=utf-8", headers: Headers = ()) -> Response:
    """An answer of text under any media type."""
    return Response(status, content.encode(), (("Content-Type", media_type), *headers))


def page(status: int, title: str, headers: Headers = ()) -> Response:
    """An answer of HTML."""
    content = f"<!doctype html><html><head><title>{title}</title></head><body><h1>{title}</h1></body></html>"
    return text(status, content, "text/html; charset=utf-8", headers)


def as_json(status: int, value: object, media_type: str = "application/json", headers: Headers = ()) -> Response:
    """An answer of JSON."""
    return text(status, json.dumps(value), media_type, headers)


def problem(status: int, title: str) -> Response:
    """A problem detail (RFC 9457)."""
    return as_json(status, {"type": "about:blank", "title": title, "status": status}, "application/problem+json")


def verbatim(number: str) -> str:
    """A value that a `Verbatim` service writes as it stands, such as 1e2."""
    return f"⟨{number}⟩"


class Verbatim(Service):
    """The sandbox, which writes numbers in any form of JSON."""

    def render(self, status: int, body: object, headers: Headers = ()) -> Response:
        response = super().render(status, body, headers)
        return Response(status, _VERBATIM.sub(rb"\1", response.body), response.headers)


class Results(Verbatim):
    """The sandbox with some fields of its results fixed."""

    EXECUTION: Mapping[str, object] = {}
    REGISTRATION: Mapping[str, object] = {}

    def execution_result(self, transfer: Any) -> dict[str, object]:
        return super().execution_result(transfer) | self.EXECUTION

    def registration_result(self, registration: Any) -> dict[str, object]:
        return super().registration_result(registration) | self.REGISTRATION


def declined(message: object, number: int = 0) -> dict[str, object]:
    """The result of a registration that is declined."""
    return {"Success": "false", "Message": message, "Key": None, "DocumentNumber": number}


class TakesTurns(Service):
    """The sandbox, which does something in another of its `WAYS` each time."""

    WAYS: Sequence[Any] = ()

    def __init__(self) -> None:
        super().__init__()
        self.ways = itertools.cycle(self.WAYS)


class InTurn(Verbatim):
    """The sandbox, whose executions and registrations take further fields from `EXECUTIONS`, `REGISTRATIONS` in turn."""

    EXECUTIONS: Sequence[Mapping[str, object]] = ({},)
    REGISTRATIONS: Sequence[Mapping[str, object]] = ({},)

    def __init__(self) -> None:
        super().__init__()
        self.executed = itertools.cycle(self.EXECUTIONS)
        self.registered = itertools.cycle(self.REGISTRATIONS)

    def execution_result(self, transfer: Any) -> dict[str, object]:
        return super().execution_result(transfer) | next(self.executed)

    def registration_result(self, registration: Any) -> dict[str, object]:
        return super().registration_result(registration) | next(self.registered)


class Refuses(Service):
    """The sandbox, where `say_no` answers every refusal that `refuses_so` picks."""

    def refuses_so(self, refusal: Refusal) -> bool:
        return True

    def refusal(self, refusal: Refusal) -> Response:
        return self.say_no(refusal) if self.refuses_so(refusal) else super().refusal(refusal)


class RefusesTokens(Refuses):
    """The sandbox, where `say_no` answers a request without the token."""

    def refuses_so(self, refusal: Refusal) -> bool:
        return refusal.status == 401


class Finishes(Service):
    """The sandbox, where `changed` sees the answers to the operations in `OPERATIONS`; to all where it is empty."""

    OPERATIONS: tuple[str, ...] = ()

    def finish(self, request: Request, operation: str | None, response: Response) -> Response:
        meant = not self.OPERATIONS or operation in self.OPERATIONS
        return self.changed(request, response) if meant else response


class Adds(Finishes):
    """The sandbox with further headers in every answer."""

    FURTHER: Headers = ()

    def changed(self, request: Request, response: Response) -> Response:
        return Response(response.status, response.body, (*response.headers, *self.FURTHER))
