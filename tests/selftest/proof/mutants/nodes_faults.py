"""Services of three nodes (machines that share the requests), one of which is at fault.

A balancer hands each request to one node by chance, so about one answer of three is wrong.
"""

import random

from environments.sandbox import Refusal, Response, Service
from tests.selftest.proof.mutants.making_faults import body_rewritten, json_members, without_self
from tests.selftest.proof.registry import declare_mutant


class NodeOfThree(Service):
    """The sandbox with three nodes, of which node 0 is at fault. `is_at_fault` is true while it answers a request."""

    SEED = 1

    def __init__(self):
        super().__init__()
        self.balancers: dict[str, random.Random] = {}
        """By HTTP method and operation, the numbers by chance. Each operation has its own, so that a change in the
        requests to one operation changes nothing for the others."""
        self.is_at_fault = False

    def serve(self, request, connection):
        """Choose a node for the request by chance, and answer."""
        operations = [operation for _, operation, _ in self.routes_of(request.path)]
        name = " ".join([request.method, *operations[:1]])
        balancer = self.balancers.setdefault(name, random.Random(f"{self.SEED} {name}"))
        self.is_at_fault = balancer.randrange(3) == 0
        return super().serve(request, connection)


class AltersAtOneNode(NodeOfThree):
    """One node changes the successful answers to an operation, as `alter` does."""

    def finish(self, request, operation, response):
        """Change the answer if the node at fault gives it, it is a success, and the request is affected."""
        is_success = operation == self.OPERATION and response.status == 200
        if self.is_at_fault and is_success and self.is_affected(request):
            return self.alter(response)
        return response

    def is_affected(self, request):
        """True of the requests whose answer is changed: all, unless a mutant says otherwise."""
        return True


class UnmasksAtOneNode(NodeOfThree):
    """One node does not mask (partly hide) the tax document."""

    def mask(self, document):
        return document if self.is_at_fault else super().mask(document)


class TrustsAtOneNode(NodeOfThree):
    """One node does not check the token of an operation."""

    def authorize(self, request, operation):
        """Check the token, unless the node at fault gets a request to the operation."""
        if self.is_at_fault and operation == self.OPERATION:
            return
        super().authorize(request, operation)


class ServesWithoutAHeaderAtOneNode(NodeOfThree):
    """One node checks a token of an operation only if a request has the header Authorization."""

    def authorize(self, request, operation):
        """Check the token, unless the node at fault gets a request to the operation without the header."""
        has_header = bool(request.header("Authorization"))
        if has_header or not self.is_at_fault or operation != self.OPERATION:
            super().authorize(request, operation)


class RefusesTheTokenAtOneNode(NodeOfThree):
    """One node refuses the valid token, for one operation."""

    STATUS = 401

    def authorize(self, request, operation):
        """Check the token, and refuse the valid one, too, if the node at fault gets a request to the operation."""
        super().authorize(request, operation)
        if self.is_at_fault and operation == self.OPERATION:
            raise Refusal(self.STATUS, "The token is not known.")


class LacksAPathAtOneNode(NodeOfThree):
    """One node does not know the path of an operation, or its method."""

    STATUS = 404

    def respond(self, request):
        """Answer a request. The node at fault answers requests to OPERATION as if there were no such path."""
        operations = {name for method, name, _ in self.routes_of(request.path) if method == request.method}
        if self.is_at_fault and self.OPERATION in operations:
            return self.refusal(Refusal(self.STATUS, "There is no such path."))
        return super().respond(request)


class RefusesATypeAtOneNode(NodeOfThree):
    """One node refuses registrations of one documented key type."""

    def key_type(self, body):
        key_type = super().key_type(body)
        if self.is_at_fault and key_type == self.TYPE:
            raise Refusal(self.STATUS, "There is no such key type.")
        return key_type


def _has_type(key_type):
    """A function that is true of a request if its body names this key type."""
    return lambda self, request: json_members(request).get("pixKeyType") == key_type


_ANSWERS = {
    "ExecutionHasNoDigit": ("executePix", "digit.present", body_rewritten(b'"digit"', b'"dv"'), ("executePix.fields.extra",)),
    "ExecutionHasATextCode": ("executePix", "envelope.code.type", body_rewritten(b'"code": 0', b'"code": "0"'), ()),
    "RegistrationHasNoMessage": (
        "registerPixKey", "Message.present", body_rewritten(b'"Message"', b'"Text"'), ("registerPixKey.fields.extra",)
    ),
    "DeletionHasANullCode": ("deletePixKey", "envelope.code.type", body_rewritten(b'"code": 0', b'"code": null'), ()),
    "DeletionIsCreated": ("deletePixKey", "status", lambda response: Response(201, response.body, response.headers), ()),
}  # fmt: skip
_OF_SOME_TYPES = {
    "CnpjRegistrationHasATextNumber": (
        "CNPJ",
        "DocumentNumber.type",
        body_rewritten(b'Number": (\\d+)', rb'Number": "\1"'),
    ),
    "PhoneRegistrationHasATextCode": ("PHONE", "envelope.code.type", body_rewritten(b'"code": 0', b'"code": "0"')),
    "RandomRegistrationHasANumberAsKey": ("RANDOM", "Key.type", body_rewritten(b'"Key": null', b'"Key": 7')),
}
for _name, (_operation, _row, _alter, _warns) in _ANSWERS.items():
    declare_mutant(
        "one node of three", f"{_name}AtOneNode", f"One node of three: {_name}.", AltersAtOneNode, f"{_operation}.{_row}",
        warns=_warns, OPERATION=_operation, alter=without_self(_alter),
    )  # fmt: skip
for _name, (_type, _row, _alter) in _OF_SOME_TYPES.items():
    declare_mutant(
        "one node of three", f"{_name}AtOneNode", f"One node of three: {_name}.", AltersAtOneNode, f"registerPixKey.{_row}",
        OPERATION="registerPixKey", is_affected=_has_type(_type), alter=without_self(_alter),
        warns=("registerPixKey.Key.example",) if _row == "Key.type" else (),
        SEED=4 if _type == "RANDOM" else 1,  # with 1 the node gets no RANDOM key if one requirement is selected
    )  # fmt: skip
declare_mutant(
    "one node of three", "ExecutionUnmasksAtOneNode", "One node of three does not mask the document.", UnmasksAtOneNode,
    "executePix.document.masked",
)  # fmt: skip
for _operation, _subject, _warns, _hides in (
    ("executePix", "Execution", (), ("executePix.*",)),  # two codes whose token is refused end the executions
    ("registerPixKey", "Registration", ("registerPixKey.token.scheme",), ()),
):
    declare_mutant(
        "one node of three", f"{_subject}TrustsAtOneNode", "One node of three does not check the token.", TrustsAtOneNode,
        f"{_operation}.token.required", OPERATION=_operation, warns=_warns,
        SEED=2 if _operation == "executePix" else 1,  # with others a wrong token is answered like the valid one
    )  # fmt: skip
    declare_mutant(
        "one node of three", f"{_subject}WithoutAHeaderAtOneNode",
        "One node of three serves requests without the header Authorization.", ServesWithoutAHeaderAtOneNode,
        f"{_operation}.token.required", OPERATION=_operation,
    )  # fmt: skip
    declare_mutant(
        "one node of three", f"{_subject}RefusesTheTokenAtOneNode", "One node of three refuses the valid token.",
        RefusesTheTokenAtOneNode, f"{_operation}.token.accepted", OPERATION=_operation, hides=_hides,
        SEED=1 if _operation == "executePix" else 2,  # with 1 the node gets the only first registration of a CPF key
    )  # fmt: skip
declare_mutant(
    "one node of three", "ExecutionForbidsTheTokenAtOneNode", "One node of three refuses the valid token with 403.",
    RefusesTheTokenAtOneNode, "executePix.token.accepted", OPERATION="executePix", STATUS=403, SEED=5,
)  # fmt: skip
for _operation, _seed, _status in (
    ("registerPixKey", 2, 404), ("getBalance", 1, 404), ("listEntries", 4, 404), ("listAccounts", 4, 404),
    ("transferInternal", 1, 404), ("deletePixKey", 3, 405), ("listPixKeys", 1, 405), ("executePix", 4, 405),
):  # fmt: skip
    declare_mutant(
        "one node of three", f"{_operation[0].upper()}{_operation[1:]}IsMissingAtOneNode",
        f"One node of three does not know {_operation}.", LacksAPathAtOneNode, f"{_operation}.exists",
        OPERATION=_operation, SEED=_seed, STATUS=_status,
    )  # fmt: skip
for _type, _status, _seed in (("CNPJ", 422, 1), ("PHONE", 400, 2), ("EMAIL", 422, 3), ("RANDOM", 422, 3)):
    declare_mutant(
        "one node of three", f"{_type.capitalize()}IsRefusedAtOneNode", f"One node of three does not know the type {_type}.",
        RefusesATypeAtOneNode, f"registerPixKey.pixKeyType.{_type}", TYPE=_type, STATUS=_status, SEED=_seed,
    )  # fmt: skip
for _operation, _seed in (("executePix", 9), ("deletePixKey", 20), ("listPixKeys", 1)):
    declare_mutant(
        "one node of three", f"PathOf{_operation[0].upper()}{_operation[1:]}IsUnknownAtOneNode",
        f"One node of three answers {_operation} like an undocumented path.", LacksAPathAtOneNode, f"{_operation}.exists",
        OPERATION=_operation, SEED=_seed,
    )  # fmt: skip
