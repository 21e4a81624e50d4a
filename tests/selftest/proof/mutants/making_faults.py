"""How mutants are made: the sandbox with one thing changed in the answers, or in the requests it takes."""

import json
from collections.abc import Callable, Iterable
from typing import Any

from environments.sandbox import Refusal, Request, Response, Service, Transfer
from tests.selftest.proof.registry import broken, rows_of

SUBJECT = {"executePix": "Execution", "registerPixKey": "Registration", "deletePixKey": "Deletion"}
"""What the names of mutants call an operation."""
DELETION = ("deletePixKey.*",)
"""What goes unseen where the suite does not learn that a key was registered, and so deletes none."""
UNREGISTERED = ("registerPixKey.repeated", *DELETION)


def breaks(
    operator: str, operation: str, name: str, text: str, base: type[Service], /, *rows: str,
    warns: Iterable[str] = (), **parts: Any,
) -> None:  # fmt: skip
    """Declare a mutant of one operation, whose subject begins its name; `rows` and `warns` are rows of that operation."""
    broken(
        operator, f"{SUBJECT[operation]}{name}", text, base, *rows_of(operation, *rows),
        warns=rows_of(operation, *warns), OPERATIONS=(operation,), **parts,
    )  # fmt: skip


def fixed(function: Callable[..., Any]) -> staticmethod:
    """A function as an attribute of a class: it does not take `self`."""
    return staticmethod(function)


class OfOperations(Service):
    """The sandbox, which differs in `OPERATIONS`."""

    OPERATIONS: tuple[str, ...] = ("executePix",)


class Results(OfOperations):
    """The sandbox, where `change` sees the data of every successful answer to `OPERATIONS`."""

    SENT_THE_SAME = True

    def success(self, operation: str, data: dict[str, object]) -> Response:
        return super().success(operation, self.change(data) if operation in self.OPERATIONS else data)


class SomeExecutions(Service):
    """The sandbox, where `change` sees the results of the executions that `meant` picks."""

    SENT_THE_SAME = True

    def execution_result(self, transfer: Transfer) -> dict[str, Any]:
        data = super().execution_result(transfer)
        return self.change(data) if self.meant(transfer) else data


class SomeRegistrations(Service):
    """The sandbox, where `change` sees the results of the registrations that `meant` picks."""

    SENT_THE_SAME = True

    def registration_result(self, registration: Any) -> dict[str, Any]:
        data = super().registration_result(registration)
        return self.change(data) if self.meant(registration) else data


class Envelopes(OfOperations):
    """The sandbox, where `change` sees the envelope of every successful answer to `OPERATIONS`."""

    SENT_THE_SAME = True

    def envelope(self, operation: str | None, data: object, code: int = 0) -> object:
        envelope = super().envelope(operation, data, code)
        return self.change(envelope) if operation in self.OPERATIONS else envelope


class Answers(OfOperations):
    """The sandbox, where `alter` sees every successful answer to `OPERATIONS` that `strikes` picks, before it leaves."""

    SENT_THE_SAME = True

    def finish(self, request: Request, operation: str | None, response: Response) -> Response:
        meant = operation in self.OPERATIONS and response.status == 200
        return self.alter(response) if meant and self.strikes(request) else response

    def strikes(self, request: Request) -> bool:
        return True


class Demands(OfOperations):
    """The sandbox, which refuses every request to `OPERATIONS` that `lacks` something."""

    OPERATIONS = ("registerPixKey",)
    REFUSAL: tuple[int, str] = (400, "The request is not complete.")

    def perform(self, operation: str, request: Request, argument: str | None) -> dict[str, object]:
        if operation in self.OPERATIONS and self.lacks(request):
            raise Refusal(*self.REFUSAL)
        return super().perform(operation, request, argument)


def members_of(request: Request) -> dict[str, Any]:
    """The members of a JSON object; none where the body is something else."""
    try:
        body = json.loads(request.body)
    except (ValueError, RecursionError):
        return {}
    return body if isinstance(body, dict) else {}
