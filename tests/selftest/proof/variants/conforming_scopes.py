"""Tokens that are valid, but not for every operation. The requirements of a forbidden operation are not exercised."""

from secrets import token_urlsafe

from environments.sandbox import Refusal, Service
from spec.interface import PREPARING_OPERATIONS, READ_OPERATIONS, operations
from tests.selftest.proof.registry import declare_variant, ids_of_operation, variant
from tests.selftest.proof.variants.conforming_making import json_answer

_ANSWER = ("json", "status", "envelope.shape", "shape")
_RESULT = ("json*", "status", "envelope.*")


EXECUTION = (
    *ids_of_operation(
        "executePix", "json*", "status*", "envelope.*", "fields.*", "token.accepted", "request.sufficient"
    ),
    "executePix.token.required",
    *(f"executePix.{field.name}.*" for field in operations()["executePix"].result if field.name != "status"),
)
UNREAD = tuple(
    row for row in EXECUTION if not row.endswith(("status*", "token.accepted", "token.required", "request.sufficient"))
)
UNREAD = (
    *UNREAD,
    *ids_of_operation("executePix", *(f"status.{what}" for what in ("present", "type", "spelling")), "exists"),
)
UNREAD = (*UNREAD, *ids_of_operation("executePix", "status.example", "status.values", "status.transitions"))
"""What an answer cannot show that is longer or deeper than the suite reads; its status can be seen."""
DELETION = ids_of_operation("deletePixKey", *_RESULT, "contentType.accepted", "data")
REGISTRATION = (
    *ids_of_operation("registerPixKey", *_RESULT, "Success.*", "Message.*", "Key.*", "DocumentNumber.*", "fields.*"),
    *ids_of_operation(
        "registerPixKey",
        "token.accepted",
        "token.required",
        "contentType.*",
        "body.pixKey*",
        "body.account",
        "body.sufficient",
    ),
    *ids_of_operation(
        "registerPixKey", *(f"pixKeyType.{key_type}" for key_type in ("PHONE", "EMAIL", "RANDOM", "CNPJ", "CPF"))
    ),
    "registerPixKey.repeated",
    "registerPixKey.pixKey.format",
    *DELETION,
)
INCONCLUSIVE = {
    "executePix": EXECUTION,
    "registerPixKey": REGISTRATION,
    "deletePixKey": DELETION,
    **{
        operation: ids_of_operation(operation, *_ANSWER)
        for operation in (*READ_OPERATIONS, *PREPARING_OPERATIONS)
    },
    "createPix": (*ids_of_operation("createPix", *_ANSWER), "executePix.status.transitions", "executePix.value.matches"),
}  # fmt: skip


class WithoutScope(Service):
    """The sandbox with a token that is not for the operations in FORBIDDEN."""

    FORBIDDEN = ()

    def authorize(self, request, operation):
        """Check the token, and refuse the valid one with 403 for some operations."""
        super().authorize(request, operation)
        if operation in self.FORBIDDEN:
            raise Refusal(403, "The token is not for this operation.")


class DeniesByDefault(WithoutScope):
    """The sandbox with such a token, which refuses unknown paths in the same way: 403 with a new id."""

    def refusal(self, refusal):
        is_unknown_path = "path" in refusal.error
        if is_unknown_path or refusal.status == 403:
            return json_answer(403, {"error": "denied", "id": token_urlsafe(9)})
        return super().refusal(refusal)


for _operation, _rows in INCONCLUSIVE.items():
    declare_variant(
        "scope", f"NoScopeFor{_operation[0].upper()}{_operation[1:]}", f"The token is not for {_operation}: 403.",
        WithoutScope, FORBIDDEN=(_operation,), hides=_rows,
    )  # fmt: skip
declare_variant(
    "scope", "NoScopeAndNoPathGetAnId", "A path without scope is refused like an unknown one, and each time with an id.",
    DeniesByDefault, FORBIDDEN=("listEntries",), hides=("listEntries.*",),
)  # fmt: skip
declare_variant(
    "scope", "NoScopeForTransfers", "The token prepares nothing, and executes.", WithoutScope,
    FORBIDDEN=PREPARING_OPERATIONS,
    hides=(*INCONCLUSIVE["createPix"], *ids_of_operation("transfer*", *_ANSWER)),
)  # fmt: skip


@variant("scope", hides=EXECUTION)
class TransfersAwaitASecondPerson(Service):
    """Every execution is refused with 403 until a second person approves it."""

    def confirm(self, code):
        raise Refusal(403, "The transfer awaits its approval.")
