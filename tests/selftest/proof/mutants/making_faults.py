"""How mutants are made: the sandbox with one thing changed in the answers, or in the requests it takes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, ClassVar

from environments.sandbox import Refusal, Request, Response, Service, Transfer

SUBJECT = {"executePix": "Execution", "registerPixKey": "Registration", "deletePixKey": "Deletion"}
"""What the names of mutants call an operation."""
DELETION = ("deletePixKey.*",)
"""What goes unseen where the suite does not learn that a key was registered, and so deletes none."""
UNREGISTERED = ("registerPixKey.repeated", *DELETION)


def fixed(function: Callable[..., Any]) -> staticmethod[..., Any]:
    """A function as an attribute of a class: it does not take `self`."""
    return staticmethod(function)


class Results(Service):
    """The sandbox, where `change` sees the data of every successful answer to one operation."""

    OPERATION: ClassVar[str] = "executePix"

    def success(self, operation: str, data: dict[str, object]) -> Response:
        return super().success(operation, self.change(data) if operation == self.OPERATION else data)

    def change(self, data: dict[str, Any]) -> Any:
        raise NotImplementedError


class SomeExecutions(Service):
    """The sandbox, where `change` sees the results of the executions that `meant` picks."""

    def execution_result(self, transfer: Transfer) -> dict[str, object]:
        data = super().execution_result(transfer)
        return self.change(data) if self.meant(transfer) else data

    def meant(self, transfer: Transfer) -> bool:
        raise NotImplementedError

    def change(self, data: dict[str, Any]) -> dict[str, Any]:
        raise NotImplementedError


class SomeRegistrations(Service):
    """The sandbox, where `change` sees the results of the registrations that `meant` picks."""

    def registration_result(self, registration: Any) -> dict[str, object]:
        data = super().registration_result(registration)
        return self.change(data) if self.meant(registration) else data

    def meant(self, registration: Any) -> bool:
        raise NotImplementedError

    def change(self, data: dict[str, Any]) -> dict[str, Any]:
        raise NotImplementedError


class Envelopes(Service):
    """The sandbox, where `wrap` sees the envelope of every successful answer to `OPERATIONS`."""

    OPERATIONS: ClassVar[tuple[str, ...]] = ()

    def envelope(self, operation: str | None, data: object, code: int = 0) -> object:
        envelope = super().envelope(operation, data, code)
        return self.wrap(envelope) if operation in self.OPERATIONS else envelope

    def wrap(self, envelope: Any) -> object:
        raise NotImplementedError


class Answers(Service):
    """The sandbox, where `alter` sees every successful answer to `OPERATIONS` before it leaves."""

    OPERATIONS: ClassVar[tuple[str, ...]] = ()

    def finish(self, request: Request, operation: str | None, response: Response) -> Response:
        meant = operation in self.OPERATIONS and response.status == 200
        return self.alter(response) if meant else response

    def alter(self, response: Response) -> Response:
        raise NotImplementedError


class Demands(Service):
    """The sandbox, which refuses every request to one operation that `lacks` something."""

    OPERATION: ClassVar[str] = "registerPixKey"
    REFUSAL: ClassVar[tuple[int, str]] = (400, "The request is not complete.")

    def perform(self, operation: str, request: Request, argument: str | None) -> dict[str, object]:
        if operation == self.OPERATION and self.lacks(request):
            raise Refusal(*self.REFUSAL)
        return super().perform(operation, request, argument)

    def lacks(self, request: Request) -> bool:
        raise NotImplementedError


def body_of(request: Request) -> Any:
    """The JSON value of a request; an empty object where there is none."""
    try:
        return json.loads(request.body)
    except (ValueError, RecursionError):
        return {}


def members_of(request: Request) -> dict[str, Any]:
    """The members of a JSON object; none where the body is something else."""
    body = body_of(request)
    return body if isinstance(body, dict) else {}
