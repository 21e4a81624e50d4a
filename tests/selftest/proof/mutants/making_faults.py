"""How mutants are made: the sandbox with one thing changed in its answers, or in the requests that it takes.

A mutant overrides `change` or `alter`, which say what is changed, and perhaps `is_affected`, which is true of the
requests, transfers or registrations whose answer is changed.
"""

import json
import re
from dataclasses import replace

from environments.sandbox import Refusal, Service
from tests.selftest.proof.registry import declare_mutant, ids_of_operation

NAME_OF_OPERATION = {"executePix": "Execution", "registerPixKey": "Registration", "deletePixKey": "Deletion"}
"""The word for an operation in the names of mutants."""
HIDES_DELETION = ("deletePixKey.*",)
"""Requirements that are not exercised if the suite does not learn that a key was registered, and so deletes none."""
HIDES_REGISTRATION = ("registerPixKey.repeated", *HIDES_DELETION)


def declare_mutant_of(
    kind_of_change, operation, name, text, base, /, *rows,
    warns = (), **parts,
):  # fmt: skip
    """Declare a mutant that breaks requirements of one operation.

    `name` goes on after the word for the operation: "NeedsNoToken" becomes "ExecutionNeedsNoToken". `rows` are the ends
    of the ids of requirements that fail, such as "token.required", and `warns` of those that warn.
    """
    declare_mutant(
        kind_of_change, f"{NAME_OF_OPERATION[operation]}{name}", text, base, *ids_of_operation(operation, *rows),
        warns=ids_of_operation(operation, *warns), OPERATIONS=(operation,), **parts,
    )  # fmt: skip


def body_rewritten(pattern, by):
    """A change of an answer: each text of its body that the pattern matches is replaced by `by`."""
    return lambda response: replace(response, body=re.sub(pattern, by, response.body))


def with_status(status):
    """A change of an answer: it has this status."""
    return lambda response: replace(response, status=status)


def without_self(function):
    """The function, so that it can be an attribute of a class and is called without `self`."""
    return staticmethod(function)


class DiffersInOperations(Service):
    """The sandbox, which differs only in its answers to `OPERATIONS`."""

    OPERATIONS = ("executePix",)


class ChangesResults(DiffersInOperations):
    """The sandbox, where `change` changes the member `data` of each successful answer to `OPERATIONS`."""

    GETS_THE_REQUESTS_OF_THE_SANDBOX = True

    def success(self, operation, data):
        if operation in self.OPERATIONS:
            data = self.change(data)
        return super().success(operation, data)


class ChangesSomeExecutions(Service):
    """The sandbox, where `change` changes the results of the executions of which `is_affected` is true."""

    GETS_THE_REQUESTS_OF_THE_SANDBOX = True

    def execution_result(self, transfer):
        data = super().execution_result(transfer)
        return self.change(data) if self.is_affected(transfer) else data


class ChangesSomeRegistrations(Service):
    """The sandbox, where `change` changes the results of the registrations of which `is_affected` is true."""

    GETS_THE_REQUESTS_OF_THE_SANDBOX = True

    def registration_result(self, registration):
        data = super().registration_result(registration)
        return self.change(data) if self.is_affected(registration) else data


class ChangesEnvelopes(DiffersInOperations):
    """The sandbox, where `change` changes the envelope {code, data} of each successful answer to `OPERATIONS`."""

    GETS_THE_REQUESTS_OF_THE_SANDBOX = True

    def envelope(self, operation, data, code=0):
        envelope = super().envelope(operation, data, code)
        return self.change(envelope) if operation in self.OPERATIONS else envelope


class ChangesAnswers(DiffersInOperations):
    """The sandbox, where `alter` changes some successful answers to `OPERATIONS`: status, headers and body."""

    GETS_THE_REQUESTS_OF_THE_SANDBOX = True

    def finish(self, request, operation, response):
        """Change the answer, just before it is sent, if it is a success to a request that is affected."""
        is_success = operation in self.OPERATIONS and response.status == 200
        if is_success and self.is_affected(request):
            return self.alter(response)
        return response

    def is_affected(self, request):
        """True of the requests whose answer is changed: all, unless a mutant says otherwise."""
        return True


class RefusesSomeRequests(DiffersInOperations):
    """The sandbox, which refuses the valid requests to `OPERATIONS` of which `is_refused` is true."""

    OPERATIONS = ("registerPixKey",)
    REFUSAL = (400, "The request is not complete.")

    def perform(self, operation, request, argument):
        """Refuse the request before anything is done for it, or do what it asks for."""
        if operation in self.OPERATIONS and self.is_refused(request):
            raise Refusal(*self.REFUSAL)
        return super().perform(operation, request, argument)


def json_members(request):
    """The members of the JSON object in the body of a request. Empty if the body is something else."""
    try:
        body = json.loads(request.body)
    except (ValueError, RecursionError):
        return {}
    return body if isinstance(body, dict) else {}
