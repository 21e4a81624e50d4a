"""Requests that the document shows, and that the service does not take: something more or else is required, or a key
type is refused; and undocumented key types that are registered."""

from pathlib import Path

from environments.sandbox import Refusal, Service
from spec.interface import KEY_TYPES
from tests.selftest.proof.mutants.making_faults import (
    HIDES_DELETION,
    Demands,
    declare_mutant_of,
    json_members,
    without_self,
)
from tests.selftest.proof.registry import declare_mutant, ids_of_operation, mutant

REMOVED = ("from", "to", "value", "date", "description")
PREPARED = str(Path(__file__).with_name("prepared.yaml"))
"""A profile whose run prepares its codes, so that a refusal cannot mean that they have expired."""
_UNREGISTERED = ids_of_operation(
    "registerPixKey", "envelope.*", "json*", "status", "fields.*", "Success.*", "Message.*", "Key.*", "DocumentNumber.*",
    "pixKeyType.[A-Z]*", "body.*", "token.accepted", "token.required", "repeated",
)  # fmt: skip
"""Everything that a registration would show."""
_CONTENT_TYPE = "registerPixKey.contentType.accepted"


NEEDS = {
    **{
        field.capitalize(): (
            f"The removed body field {field} is", f"The field {field} is missing.",
            lambda request, field=field: field not in json_members(request),
        )
        for field in REMOVED
    },
    "AllRemovedFields": (
        "The five removed body fields are", "A field is missing.",
        lambda request: not set(REMOVED) <= set(json_members(request)),
    ),
    "AnotherField": (
        "The body field ownerName is", "The field 'ownerName' is missing.",
        lambda request: "ownerName" not in json_members(request),
    ),
    "AnApiKey": (
        "The header X-Api-Key is", "Who is calling?", lambda request: not request.header("X-Api-Key"),
    ),
    "AQuery": (
        "The query parameter channel is", "The query parameter `channel` is missing.",
        lambda request: "channel=" not in request.query,
    ),
}  # fmt: skip
for _name, (_what, _refusal, _lacks) in NEEDS.items():
    declare_mutant(
        "more is required", f"RegistrationNeeds{_name}", f"{_what} required.", Demands, "registerPixKey.body.sufficient",
        hides=(*_UNREGISTERED, _CONTENT_TYPE), REFUSAL=(400, _refusal), lacks=without_self(_lacks),
    )  # fmt: skip


_RENAMED = {
    "key": "pixKey", "PixKey": "pixKey", "type": "pixKeyType", "keyType": "pixKeyType", "pix_key_type": "pixKeyType",
    "accountId": "account", "Account": "account",
}  # fmt: skip


class Renames(Demands):
    """The sandbox, where a body may also carry its documented fields under other names and types."""

    def read_json(self, request, operation):
        body = super().read_json(request, operation)
        if operation != "registerPixKey":
            return body
        renamed = {_RENAMED.get(name, name): value for name, value in body.items()}
        key, kind = renamed.get("pixKey"), renamed.get("pixKeyType")
        return renamed | {"pixKey": str(key)} | ({"pixKeyType": kind.upper()} if isinstance(kind, str) else {})


for _sent, _documented in _RENAMED.items():
    declare_mutant(
        "documented request refused",
        f"RegistrationWants{_sent[0].upper()}{_sent[1:]}For{_documented[0].upper()}{_documented[1:]}",
        f"The field {_documented} is to be called {_sent}.", Renames, f"registerPixKey.body.{_documented}",
        hides=(*_UNREGISTERED, _CONTENT_TYPE), REFUSAL=(400, "The request is not understood."),
        lacks=without_self(lambda request, sent=_sent: sent not in json_members(request)),
    )  # fmt: skip


declare_mutant(
    "documented request refused", "RegistrationWantsOtherNames", "All fields are to have other names.", Renames,
    "registerPixKey.body.pixKey", hides=(*_UNREGISTERED, _CONTENT_TYPE), REFUSAL=(400, "What is this?"),
    lacks=without_self(lambda request: not {"PixKey", "keyType", "Account"} <= {*json_members(request)}),
)  # fmt: skip


class RenamesKinds(Service):
    """The sandbox, which knows the key types under other names only."""

    KINDS = {}

    def key_type(self, body):
        kind = self.KINDS.get(str(body.get("pixKeyType")))
        if kind is None:
            raise Refusal(422, "The kind is not supported.")
        return super().key_type(body | {"pixKeyType": kind})


for _name, _text, _kinds, _warns in (
    ("InLowerCase", "in lower-case letters", {kind.lower(): kind for kind in KEY_TYPES}, ("pixKeyType.letterCase",)),
    ("AsDigits", "as digits", {str(place): kind for place, kind in enumerate(KEY_TYPES, 1)}, ()),
):
    declare_mutant(
        "documented request refused", f"RegistrationWantsKinds{_name}", f"The key types are known {_text} only.", RenamesKinds,
        *(f"registerPixKey.pixKeyType.{kind}" for kind in KEY_TYPES if kind != "RANDOM"), warns=ids_of_operation("registerPixKey", *_warns),
        hides=(
            *(rows for rows in _UNREGISTERED if "pixKeyType" not in rows), _CONTENT_TYPE, "registerPixKey.pixKeyType.RANDOM",
        ), KINDS=_kinds,
    )  # fmt: skip


class WantsAnotherContentType(Service):
    """The sandbox, which takes a body of one operation only under one Content-Type."""

    OPERATION, WANTED = "registerPixKey", ""

    def check_content_type(self, request, operation):
        if operation != self.OPERATION:
            super().check_content_type(request, operation)
        elif request.header("Content-Type") != self.WANTED:
            raise Refusal(415, "The media type is not supported.")


for _name, _wanted in (
    ("ACharset", "application/json; charset=utf-8"),
    ("Text", "text/plain"),
    ("AVendorType", "application/vnd.bank+json"),
):
    declare_mutant(
        "documented request refused", f"RegistrationWants{_name}", f"A registration is taken as {_wanted} only.",
        WantsAnotherContentType, _CONTENT_TYPE, hides=(*_UNREGISTERED, *HIDES_DELETION), WANTED=_wanted,
    )  # fmt: skip
declare_mutant(
    "documented request refused", "DeletionWantsText", "A deletion is taken as text/plain only.", WantsAnotherContentType,
    warns=("deletePixKey.contentType.accepted",), hides=HIDES_DELETION, OPERATION="deletePixKey", WANTED="text/plain",
)  # fmt: skip
for _name, _text, _lacks in (
    ("AHeader", "the header X-Request-Id", lambda request: not request.header("X-Request-Id")),
    ("AQuery", "a query", lambda request: not request.query),
    ("ABody", "a body", lambda request: not request.body),
):
    declare_mutant_of(
        "more is required", "executePix", f"Needs{_name}", f"An execution needs {_text}.", Demands, "request.sufficient",
        environment=PREPARED, lacks=without_self(_lacks), hides=("executePix.value.matches",),
    )  # fmt: skip


class RefusesAKind(Service):
    """The sandbox, which refuses one documented key type, and lists no key of it: an account may have one alone."""

    KIND, STATUS = "", 422

    def list_pix_keys(self, request, account_id):
        keys = super().list_pix_keys(request, account_id)["keys"]
        return {"keys": [key for key in keys if key["pixKeyType"] != self.KIND]}

    def key_type(self, body):
        kind = super().key_type(body)
        if kind == self.KIND:
            raise Refusal(self.STATUS, "The kind is not supported.")
        return kind


for _kind in KEY_TYPES:
    for _status in (400, 415, 422):
        declare_mutant(
            "kind refused", f"Refuses{_kind}With{_status}", f"Keys of the type {_kind} are refused with {_status}.",
            RefusesAKind, f"registerPixKey.pixKeyType.{_kind}",
            hides=("registerPixKey.Key.example",) if _kind == "RANDOM" else (), KIND=_kind, STATUS=_status,
        )  # fmt: skip


class RegistersAnyKind(Service):
    """The sandbox, which registers keys of every type that `takes` accepts."""

    def key_type(self, body):
        kind = body.get("pixKeyType")
        return kind if isinstance(kind, str) and self.takes(kind) else super().key_type(body)

    def requested_key(self, body, kind):
        return super().requested_key(body, kind) if kind in Service.KEY_FORMATS else str(body.get("pixKey", ""))


@mutant("kind accepted", "registerPixKey.pixKeyType.undocumented", warns=("registerPixKey.pixKeyType.EVP",))
class RegistersAnyKindWithoutAKey(RegistersAnyKind):
    """A key of any type is registered where it is empty."""

    def key_type(self, body):
        return "RANDOM" if body.get("pixKey") == "" and body.get("pixKeyType") else super().key_type(body)

    def takes(self, kind):
        return False


for _other, _kind in (("CELLPHONE", "PHONE"), ("MAIL", "EMAIL"), ("TAX_ID", "CNPJ")):
    declare_mutant(
        "kind accepted", f"Takes{_other}For{_kind}", f"The type {_other} is {_kind}: a key has to fit.", Service,
        "registerPixKey.pixKeyType.undocumented",
        key_type=lambda self, body, other=_other, kind=_kind: (
            kind if body.get("pixKeyType") == other else Service.key_type(self, body)
        ),
    )  # fmt: skip


ACCEPTED = {
    "IBAN": ("the type IBAN", ("undocumented",), (), lambda kind: kind == "IBAN"),
    "CELLPHONE": ("the type CELLPHONE", ("undocumented",), (), lambda kind: kind == "CELLPHONE"),
    "EVP": ("the type EVP", (), ("EVP",), lambda kind: kind == "EVP"),
    "EveryKind": ("any type", ("undocumented",), ("letterCase", "EVP"), lambda kind: True),
    "KindsInLowerCase": (
        "a documented type in lower-case letters", (), ("letterCase",),
        lambda kind: kind.upper() in Service.KEY_FORMATS and kind.islower(),
    ),
}  # fmt: skip
_OTHER_NAMES = {
    "AWordForPHONE": "CELULAR", "AWordForRANDOM": "ALEATORIA", "ADashedWord": "E-MAIL", "APlural": "EMAILS",
    "ANumberBehindCNPJ": "CNPJ2", "TwoTypesInOne": "CPF_CNPJ", "ANumberInWords": "UM", "ABlankInside": "E MAIL",
}  # fmt: skip
ACCEPTED |= {
    name: (f"the type {other}", ("undocumented",), (), lambda kind, other=other: kind == other)
    for name, other in _OTHER_NAMES.items()
}
ACCEPTED["WhatBeginsLikeADocumentedType"] = (
    "what begins like a documented type", ("undocumented",), (),
    lambda kind: kind not in Service.KEY_FORMATS and kind.startswith(tuple(Service.KEY_FORMATS)),
)  # fmt: skip
for _documented in ("EMAIL", "CPF", "CNPJ", "PHONE"):
    ACCEPTED[f"WhatEndsIn{_documented}"] = (
        f"what ends in {_documented}", ("undocumented",), (),
        lambda kind, documented=_documented: kind != documented and kind.endswith(documented),
    )  # fmt: skip
for _name, (_types, _fails, _warns, _takes) in ACCEPTED.items():
    declare_mutant(
        "kind accepted", f"Registers{_name}", f"Keys of {_types} are registered.", RegistersAnyKind,
        *ids_of_operation("registerPixKey.pixKeyType", *_fails), warns=ids_of_operation("registerPixKey.pixKeyType", *_warns),
        takes=without_self(_takes),
    )  # fmt: skip


class RegistersEmptyKinds(Service):
    """The sandbox, which takes `TYPE` for EMAIL, and needs a type."""

    TYPE = ""

    def key_type(self, body):
        is_meant = "pixKeyType" in body and body["pixKeyType"] == self.TYPE
        return "EMAIL" if is_meant else super().key_type(body)


for _name, _type in (("AnEmptyKind", ""), ("NullAsKind", None)):
    declare_mutant(
        "kind accepted", f"Registers{_name}", f"A key of the type {_type!r} is registered.", RegistersEmptyKinds,
        "registerPixKey.pixKeyType.undocumented", TYPE=_type,
    )  # fmt: skip
