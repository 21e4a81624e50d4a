"""Requests that the document shows, and that the service does not take: something more or else is required."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from environments.sandbox import Refusal, Request, Service
from spec.interface import KEY_TYPES
from tests.selftest.proof.mutants.making_faults import DELETION, Demands, members_of
from tests.selftest.proof.registry import broken

REMOVED = ("from", "to", "value", "date", "description")
PREPARED = str(Path(__file__).with_name("prepared.yaml"))
"""A profile whose run prepares its codes, so that a refusal cannot mean that they have expired."""
_UNREGISTERED = (
    "registerPixKey.envelope.*", "registerPixKey.json*", "registerPixKey.status", "registerPixKey.fields.*",
    "registerPixKey.Success.*", "registerPixKey.Message.*", "registerPixKey.Key.*", "registerPixKey.DocumentNumber.*",
    "registerPixKey.pixKeyType.[A-Z]*", "registerPixKey.body.*",
    "registerPixKey.token.accepted", "registerPixKey.repeated",
)  # fmt: skip
"""Everything that a registration would show."""
_SUFFICIENT = "registerPixKey.body.sufficient"
_CONTENT_TYPE = "registerPixKey.contentType.accepted"


def _registration_needs(name: str, text: str, refusal: str, lacks: Any) -> None:
    broken(
        "more is required",
        name,
        text,
        Demands,
        _SUFFICIENT,
        hides=(*_UNREGISTERED, _CONTENT_TYPE),
        REFUSAL=(400, refusal),
        lacks=lacks,
    )


for _field in REMOVED:
    _registration_needs(
        f"RegistrationNeeds{_field.capitalize()}",
        f"The removed body field {_field} is required.",
        f"The field {_field} is missing.",
        lambda self, request, field=_field: field not in members_of(request),
    )
NEEDS = {
    "AllRemovedFields": (
        "The five removed body fields are", "A field is missing.",
        lambda self, request: not set(REMOVED) <= set(members_of(request)),
    ),
    "AnotherField": (
        "The body field ownerName is", "The field 'ownerName' is missing.",
        lambda self, request: "ownerName" not in members_of(request),
    ),
    "AnApiKey": (
        "The header X-Api-Key is", "Who is calling?", lambda self, request: not request.header("X-Api-Key"),
    ),
    "AnIdempotencyKey": (
        "The header Idempotency-Key is", "Send it once.", lambda self, request: not request.header("Idempotency-Key"),
    ),
    "AnotherHeader": (
        "The header X-Branch is", "The header X-Branch is missing.",
        lambda self, request: not request.header("X-Branch"),
    ),
    "AQuery": (
        "The query parameter channel is", "The query parameter `channel` is missing.",
        lambda self, request: "channel=" not in request.query,
    ),
}  # fmt: skip
for _name, (_what, _refusal, _lacks) in NEEDS.items():
    _registration_needs(f"RegistrationNeeds{_name}", f"{_what} required.", _refusal, _lacks)


def _registration_takes_otherwise(name: str, text: str, row: str, lacks: Any, status: int = 400) -> None:
    broken(
        "documented request refused",
        name,
        text,
        Renames,
        f"registerPixKey.{row}",
        hides=(*_UNREGISTERED, _CONTENT_TYPE),
        REFUSAL=(status, "The request is not understood."),
        lacks=lacks,
    )


_RENAMED = {
    "key": "pixKey", "PixKey": "pixKey", "type": "pixKeyType", "keyType": "pixKeyType", "pix_key_type": "pixKeyType",
    "accountId": "account", "Account": "account",
}  # fmt: skip


class Renames(Demands):
    """The sandbox, where a body may also carry its documented fields under other names and types."""

    def read_json(self, request: Request, operation: str) -> dict[str, object]:
        body = super().read_json(request, operation)
        if operation != "registerPixKey":
            return body
        renamed = {_RENAMED.get(name, name): value for name, value in body.items()}
        key, kind = renamed.get("pixKey"), renamed.get("pixKeyType")
        return renamed | {"pixKey": str(key)} | ({"pixKeyType": kind.upper()} if isinstance(kind, str) else {})


for _sent, _documented in _RENAMED.items():
    _registration_takes_otherwise(
        f"RegistrationWants{_sent[0].upper()}{_sent[1:]}For{_documented[0].upper()}{_documented[1:]}",
        f"The field {_documented} is to be called {_sent}.",
        f"body.{_documented}",
        lambda self, request, sent=_sent: sent not in members_of(request),
    )


class RenamesKinds(Service):
    """The sandbox, which knows the key types under other names only."""

    KINDS: ClassVar[dict[str, str]] = {}

    def key_type(self, body: dict[str, Any]) -> str:
        kind = self.KINDS.get(str(body.get("pixKeyType")))
        if kind is None:
            raise Refusal(422, "The kind is not supported.")
        return super().key_type(body | {"pixKeyType": kind})


for _name, _text, _kinds, _warns in (
    ("InLowerCase", "in lower-case letters", {kind.lower(): kind for kind in KEY_TYPES}, ("letterCase",)),
    ("AsDigits", "as digits", {str(place): kind for place, kind in enumerate(KEY_TYPES)}, ()),
):
    broken(
        "documented request refused",
        f"RegistrationWantsKinds{_name}",
        f"The key types are known {_text} only.",
        RenamesKinds,
        *(f"registerPixKey.pixKeyType.{kind}" for kind in KEY_TYPES),
        warns=tuple(f"registerPixKey.pixKeyType.{row}" for row in _warns),
        hides=(*(rows for rows in _UNREGISTERED if "pixKeyType" not in rows), _CONTENT_TYPE),
        KINDS=_kinds,
    )


class WantsAnotherContentType(Service):
    """The sandbox, which takes a body of one operation only under one Content-Type."""

    OPERATION: ClassVar[str] = "registerPixKey"
    WANTED: ClassVar[str] = ""

    def check_content_type(self, request: Request, operation: str) -> None:
        if operation != self.OPERATION:
            super().check_content_type(request, operation)
        elif request.header("Content-Type") != self.WANTED:
            raise Refusal(415, "The media type is not supported.")


for _name, _wanted, _unseen in (
    ("ACharset", "application/json; charset=utf-8", ()),
    ("Text", "text/plain", ()),
    ("AVendorType", "application/vnd.bank+json", DELETION),
    ("AForm", "application/x-www-form-urlencoded", DELETION),
):
    broken(
        "documented request refused",
        f"RegistrationWants{_name}",
        f"A registration is taken as {_wanted} only.",
        WantsAnotherContentType,
        _CONTENT_TYPE,
        hides=(*_UNREGISTERED, *_unseen),
        WANTED=_wanted,
    )
broken(
    "documented request refused",
    "DeletionWantsText",
    "A deletion is taken as text/plain only.",
    WantsAnotherContentType,
    warns=("deletePixKey.contentType.accepted",),
    hides=("deletePixKey.*",),
    OPERATION="deletePixKey",
    WANTED="text/plain",
)


def _execution_needs(name: str, text: str, lacks: Any) -> None:
    broken(
        "more is required",
        name,
        text,
        Demands,
        "executePix.request.sufficient",
        environment=PREPARED,
        OPERATION="executePix",
        lacks=lacks,
    )


_execution_needs(
    "ExecutionNeedsAHeader",
    "An execution needs the header X-Request-Id.",
    lambda self, request: not request.header("X-Request-Id"),
)
_execution_needs("ExecutionNeedsAQuery", "An execution needs a query.", lambda self, request: not request.query)
_execution_needs("ExecutionNeedsABody", "An execution needs a body.", lambda self, request: not request.body)
