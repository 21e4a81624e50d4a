"""How mutants are made: the sandbox with one thing changed in the answers, or in the requests it takes."""

import json
import re
from dataclasses import replace

from environments.sandbox import Refusal, Service
from tests.selftest.proof.registry import broken, rows_of

SUBJECT = {"executePix": "Execution", "registerPixKey": "Registration", "deletePixKey": "Deletion"}
"""What the names of mutants call an operation."""
DELETION = ("deletePixKey.*",)
"""What goes unseen where the suite does not learn that a key was registered, and so deletes none."""
UNREGISTERED = ("registerPixKey.repeated", *DELETION)


def breaks(
    operator, operation, name, text, base, /, *rows,
    warns = (), **parts,
):  # fmt: skip
    """Declare a mutant of one operation, whose subject begins its name; `rows` and `warns` are rows of that operation."""
    broken(
        operator, f"{SUBJECT[operation]}{name}", text, base, *rows_of(operation, *rows),
        warns=rows_of(operation, *warns), OPERATIONS=(operation,), **parts,
    )  # fmt: skip


def rewritten(pattern, by):
    """A change of an answer: what the pattern matches in its body is written so."""
    return lambda response: replace(response, body=re.sub(pattern, by, response.body))


def with_status(status):
    """A change of an answer: it has this status."""
    return lambda response: replace(response, status=status)


def fixed(function):
    """A function as an attribute of a class: it does not take `self`."""
    return staticmethod(function)


class OfOperations(Service):
    """The sandbox, which differs in `OPERATIONS`."""

    OPERATIONS = ("executePix",)


class Results(OfOperations):
    """The sandbox, where `change` sees the data of every successful answer to `OPERATIONS`."""

    SENT_THE_SAME = True

    def success(self, operation, data):
        return super().success(operation, self.change(data) if operation in self.OPERATIONS else data)


class SomeExecutions(Service):
    """The sandbox, where `change` sees the results of the executions that `meant` picks."""

    SENT_THE_SAME = True

    def execution_result(self, transfer):
        data = super().execution_result(transfer)
        return self.change(data) if self.meant(transfer) else data


class SomeRegistrations(Service):
    """The sandbox, where `change` sees the results of the registrations that `meant` picks."""

    SENT_THE_SAME = True

    def registration_result(self, registration):
        data = super().registration_result(registration)
        return self.change(data) if self.meant(registration) else data


class Envelopes(OfOperations):
    """The sandbox, where `change` sees the envelope of every successful answer to `OPERATIONS`."""

    SENT_THE_SAME = True

    def envelope(self, operation, data, code=0):
        envelope = super().envelope(operation, data, code)
        return self.change(envelope) if operation in self.OPERATIONS else envelope


class Answers(OfOperations):
    """The sandbox, where `alter` sees every successful answer to `OPERATIONS` that `strikes` picks, before it leaves."""

    SENT_THE_SAME = True

    def finish(self, request, operation, response):
        meant = operation in self.OPERATIONS and response.status == 200
        return self.alter(response) if meant and self.strikes(request) else response

    def strikes(self, request):
        return True


class Demands(OfOperations):
    """The sandbox, which refuses every request to `OPERATIONS` that `lacks` something."""

    OPERATIONS = ("registerPixKey",)
    REFUSAL = (400, "The request is not complete.")

    def perform(self, operation, request, argument):
        if operation in self.OPERATIONS and self.lacks(request):
            raise Refusal(*self.REFUSAL)
        return super().perform(operation, request, argument)


def members_of(request):
    """The members of a JSON object; none where the body is something else."""
    try:
        body = json.loads(request.body)
    except (ValueError, RecursionError):
        return {}
    return body if isinstance(body, dict) else {}
