"""A token without the scope for an operation: its rows cannot be exercised, and nothing fails."""

from __future__ import annotations

from environments.sandbox import Refusal, Request, Service
from tests.selftest.proof.registry import lawful, variant

_ANSWER = ("json", "status", "envelope.shape")
_RESULT = ("json*", "status", "envelope.*")


def _hidden(operation: str, *rows: str) -> tuple[str, ...]:
    return tuple(f"{operation}.{row}" for row in rows)


EXECUTION = (
    *_hidden("executePix", "json*", "status*", "envelope.*", "fields.*", "date.*", "accountType.*", "token.accepted"),
    *_hidden("executePix", "request.sufficient", "id.*", "bank.*", "account.*", "digit.*", "branch.*", "document.*"),
    *_hidden("executePix", "name.*", "type.*", "key.*", "value.*", "message.*", "error.*"),
)
UNREAD = tuple(row for row in EXECUTION if not row.endswith(("status*", "token.accepted", "request.sufficient")))
UNREAD = (*UNREAD, *_hidden("executePix", *(f"status.{what}" for what in ("present", "type", "spelling")), "exists"))
UNREAD = (*UNREAD, "executePix.status.example", "executePix.status.values")
"""What an answer cannot show that is longer or deeper than the suite reads; its status can be seen."""
DELETION = _hidden("deletePixKey", *_RESULT, "contentType.accepted", "data")
REGISTRATION = (
    *_hidden("registerPixKey", *_RESULT, "Success.*", "Message.*", "Key.*", "DocumentNumber.*", "fields.*"),
    *_hidden("registerPixKey", "token.accepted", "contentType.*", "body.pixKey*", "body.account", "body.sufficient"),
    *_hidden("registerPixKey", *(f"pixKeyType.{kind}" for kind in ("PHONE", "EMAIL", "RANDOM", "CNPJ", "CPF"))),
    "registerPixKey.repeated",
    *DELETION,
)
INCONCLUSIVE = {
    "executePix": EXECUTION,
    "registerPixKey": REGISTRATION,
    "deletePixKey": DELETION,
    **{
        operation: _hidden(operation, *_ANSWER)
        for operation in (
            "listPixKeys", "listAccounts", "getBalance", "listEntries",
            "createPix", "transferExternal", "transferInternal", "transferP2p",
        )
    },
}  # fmt: skip


class WithoutScope(Service):
    """The sandbox with a token that is not for every operation."""

    FORBIDDEN: tuple[str, ...] = ()

    def authorize(self, request: Request, operation: str) -> None:
        super().authorize(request, operation)
        if operation in self.FORBIDDEN:
            raise Refusal(403, "The token is not for this operation.")


for _operation, _rows in INCONCLUSIVE.items():
    lawful(
        "scope", f"NoScopeFor{_operation[0].upper()}{_operation[1:]}", f"The token is not for {_operation}: 403.",
        WithoutScope, FORBIDDEN=(_operation,), hides=_rows,
    )  # fmt: skip
lawful(
    "scope", "NoScopeForTransfers", "The token prepares nothing, and executes.", WithoutScope,
    FORBIDDEN=("createPix", "transferExternal", "transferInternal", "transferP2p"),
    hides=tuple(row for operation in ("createPix", "transfer*") for row in _hidden(operation, *_ANSWER)),
)  # fmt: skip


@variant("scope", hides=EXECUTION)
class TransfersAwaitASecondPerson(Service):
    """Every execution is refused with 403 until a second person approves it."""

    def confirm(self, code: str) -> object:
        raise Refusal(403, "The transfer awaits its approval.")
