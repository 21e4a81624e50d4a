"""How mutants are made: the sandbox with one thing changed in the answers, or in the requests it takes."""

import json
import re
from dataclasses import replace

from environments.sandbox import Refusal, Service
from tests.selftest.proof.registry import declare_mutant, ids_of_operation

NAME_OF_OPERATION = {"executePix": "Execution", "registerPixKey": "Registration", "deletePixKey": "Deletion"}
"""What the names of mutants call an operation."""
HIDES_DELETION = ("deletePixKey.*",)
"""What goes unseen where the suite does not learn that a key was registered, and so deletes none."""
HIDES_REGISTRATION = ("registerPixKey.repeated", *HIDES_DELETION)


def declare_mutant_of(
    kind_of_change, operation, name, text, base, /, *rows,
    warns = (), **parts,
):  # fmt: skip
    """Declare a mutant of one operation, whose subject begins its name; `rows` and `warns` are rows of that operation."""
    declare_mutant(
        kind_of_change, f"{NAME_OF_OPERATION[operation]}{name}", text, base, *ids_of_operation(operation, *rows),
        warns=ids_of_operation(operation, *warns), OPERATIONS=(operation,), **parts,
    )  # fmt: skip


def body_rewritten(pattern, by):
    """A change of an answer: what the pattern matches in its body is written so."""
    return lambda response: replace(response, body=re.sub(pattern, by, response.body))


def with_status(status):
    """A change of an answer: it has this status."""
    return lambda response: replace(response, status=status)


def without_self(function):
    """A function as an attribute of a class: it does not take `self`."""
    return staticmethod(function)


class DiffersInOperations(Service):
    """The sandbox, which differs in `OPERATIONS`."""

    OPERATIONS = ("executePix",)


class ChangesResults(DiffersInOperations):
    """The sandbox, where `change` sees the data of every successful answer to `OPERATIONS`."""

    GETS_THE_REQUESTS_OF_THE_SANDBOX = True

    def success(self, operation, data):
        return super().success(operation, self.change(data) if operation in self.OPERATIONS else data)


class ChangesSomeExecutions(Service):
    """The sandbox, where `change` sees the results of the executions that `meant` picks."""

    GETS_THE_REQUESTS_OF_THE_SANDBOX = True

    def execution_result(self, transfer):
        data = super().execution_result(transfer)
        return self.change(data) if self.meant(transfer) else data


class ChangesSomeRegistrations(Service):
    """The sandbox, where `change` sees the results of the registrations that `meant` picks."""

    GETS_THE_REQUESTS_OF_THE_SANDBOX = True

    def registration_result(self, registration):
        data = super().registration_result(registration)
        return self.change(data) if self.meant(registration) else data


class ChangesEnvelopes(DiffersInOperations):
    """The sandbox, where `change` sees the envelope of every successful answer to `OPERATIONS`."""

    GETS_THE_REQUESTS_OF_THE_SANDBOX = True

    def envelope(self, operation, data, code=0):
        envelope = super().envelope(operation, data, code)
        return self.change(envelope) if operation in self.OPERATIONS else envelope


class ChangesAnswers(DiffersInOperations):
    """The sandbox, where `alter` sees every successful answer to `OPERATIONS` that `strikes` picks, before it leaves."""

    GETS_THE_REQUESTS_OF_THE_SANDBOX = True

    def finish(self, request, operation, response):
        meant = operation in self.OPERATIONS and response.status == 200
        return self.alter(response) if meant and self.strikes(request) else response

    def strikes(self, request):
        return True


class Demands(DiffersInOperations):
    """The sandbox, which refuses every request to `OPERATIONS` that `lacks` something."""

    OPERATIONS = ("registerPixKey",)
    REFUSAL = (400, "The request is not complete.")

    def perform(self, operation, request, argument):
        if operation in self.OPERATIONS and self.lacks(request):
            raise Refusal(*self.REFUSAL)
        return super().perform(operation, request, argument)


def json_members(request):
    """The members of a JSON object; none where the body is something else."""
    try:
        body = json.loads(request.body)
    except (ValueError, RecursionError):
        return {}
    return body if isinstance(body, dict) else {}
