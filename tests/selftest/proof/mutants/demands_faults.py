"""Services that do not take a request as the document shows it, and services that register undocumented key types.

A service of the first kind requires something more or something else, or refuses a documented key type.
"""

from pathlib import Path

from environments.sandbox import Refusal, Service
from spec.interface import KEY_TYPES
from tests.selftest.proof.mutants.making_faults import (
    HIDES_DELETION,
    RefusesSomeRequests,
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
"""Requirements that are not exercised if no registration succeeds."""
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
for _name, (_what, _refusal, _is_refused) in NEEDS.items():
    declare_mutant(
        "more is required", f"RegistrationNeeds{_name}", f"{_what} required.", RefusesSomeRequests, "registerPixKey.body.sufficient",
        hides=(*_UNREGISTERED, _CONTENT_TYPE), REFUSAL=(400, _refusal), is_refused=without_self(_is_refused),
    )  # fmt: skip


_RENAMED = {
    "key": "pixKey", "PixKey": "pixKey", "type": "pixKeyType", "keyType": "pixKeyType", "pix_key_type": "pixKeyType",
    "accountId": "account", "Account": "account",
}  # fmt: skip


class Renames(RefusesSomeRequests):
    """The sandbox, where a body may also have its documented fields under other names and types."""

    def read_json(self, request, operation):
        """The members of a body under their documented names: "key" becomes "pixKey", and the type "email" EMAIL."""
        body = super().read_json(request, operation)
        if operation != "registerPixKey":
            return body
        members = {_RENAMED.get(name, name): value for name, value in body.items()}
        members["pixKey"] = str(members.get("pixKey"))
        key_type = members.get("pixKeyType")
        if isinstance(key_type, str):
            members["pixKeyType"] = key_type.upper()
        return members


for _sent, _documented in _RENAMED.items():
    declare_mutant(
        "documented request refused",
        f"RegistrationWants{_sent[0].upper()}{_sent[1:]}For{_documented[0].upper()}{_documented[1:]}",
        f"The field {_documented} is to be called {_sent}.", Renames, f"registerPixKey.body.{_documented}",
        hides=(*_UNREGISTERED, _CONTENT_TYPE), REFUSAL=(400, "The request is not understood."),
        is_refused=without_self(lambda request, sent=_sent: sent not in json_members(request)),
    )  # fmt: skip


declare_mutant(
    "documented request refused", "RegistrationWantsOtherNames", "All fields are to have other names.", Renames,
    "registerPixKey.body.pixKey", hides=(*_UNREGISTERED, _CONTENT_TYPE), REFUSAL=(400, "What is this?"),
    is_refused=without_self(lambda request: not {"PixKey", "keyType", "Account"} <= {*json_members(request)}),
)  # fmt: skip


class RenamesKinds(Service):
    """The sandbox, which knows the key types under other names only, as the keys of `KINDS` say."""

    KINDS = {}

    def key_type(self, body):
        """The key type that a registration means. Refuses the documented names of key types."""
        key_type = self.KINDS.get(str(body.get("pixKeyType")))
        if key_type is None:
            raise Refusal(422, "The kind is not supported.")
        return super().key_type(body | {"pixKeyType": key_type})


for _name, _text, _kinds, _warns in (
    (
        "InLowerCase",
        "in lower-case letters",
        {key_type.lower(): key_type for key_type in KEY_TYPES},
        ("pixKeyType.letterCase",),
    ),
    ("AsDigits", "as digits", {str(place): key_type for place, key_type in enumerate(KEY_TYPES, 1)}, ()),
):
    declare_mutant(
        "documented request refused", f"RegistrationWantsKinds{_name}", f"The key types are known {_text} only.", RenamesKinds,
        *(f"registerPixKey.pixKeyType.{key_type}" for key_type in KEY_TYPES if key_type != "RANDOM"), warns=ids_of_operation("registerPixKey", *_warns),
        hides=(
            *(rows for rows in _UNREGISTERED if "pixKeyType" not in rows), _CONTENT_TYPE, "registerPixKey.pixKeyType.RANDOM",
        ), KINDS=_kinds,
    )  # fmt: skip


class WantsAnotherContentType(Service):
    """The sandbox, which takes a body of OPERATION only if its Content-Type is WANTED, which is not the documented one."""

    OPERATION = "registerPixKey"
    WANTED = ""

    def check_content_type(self, request, operation):
        """Refuse a request to OPERATION with another Content-Type than WANTED."""
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
for _name, _text, _is_refused in (
    ("AHeader", "the header X-Request-Id", lambda request: not request.header("X-Request-Id")),
    ("AQuery", "a query", lambda request: not request.query),
    ("ABody", "a body", lambda request: not request.body),
):
    declare_mutant_of(
        "more is required", "executePix", f"Needs{_name}", f"An execution needs {_text}.", RefusesSomeRequests, "request.sufficient",
        environment=PREPARED, is_refused=without_self(_is_refused), hides=("executePix.value.matches",),
    )  # fmt: skip


class RefusesAKind(Service):
    """The sandbox, which refuses the documented key type KIND, and lists no key of this type.

    If the list showed such a key, the refusal could mean that an account may have only one key of a type.
    """

    KIND = ""
    STATUS = 422

    def list_pix_keys(self, request, account_id):
        """The list of keys without those of the type KIND."""
        keys = super().list_pix_keys(request, account_id)["keys"]
        return {"keys": [key for key in keys if key["pixKeyType"] != self.KIND]}

    def key_type(self, body):
        """The key type of a registration. Refuses KIND with STATUS."""
        key_type = super().key_type(body)
        if key_type == self.KIND:
            raise Refusal(self.STATUS, "The kind is not supported.")
        return key_type


for _key_type in KEY_TYPES:
    for _status in (400, 415, 422):
        declare_mutant(
            "kind refused", f"Refuses{_key_type}With{_status}", f"Keys of the type {_key_type} are refused with {_status}.",
            RefusesAKind, f"registerPixKey.pixKeyType.{_key_type}",
            hides=("registerPixKey.Key.example",) if _key_type == "RANDOM" else (), KIND=_key_type, STATUS=_status,
        )  # fmt: skip


class RegistersAnyKind(Service):
    """The sandbox, which also registers keys of the undocumented types that `takes` accepts."""

    def key_type(self, body):
        """The key type that a registration names, even if it is not documented. Refuses types that `takes` does not accept."""
        key_type = body.get("pixKeyType")
        if isinstance(key_type, str) and self.takes(key_type):
            return key_type
        return super().key_type(body)

    def requested_key(self, body, key_type):
        """The key that a registration names. A key of an undocumented type may have any form."""
        if key_type in Service.KEY_FORMATS:
            return super().requested_key(body, key_type)
        return str(body.get("pixKey", ""))


@mutant("kind accepted", "registerPixKey.pixKeyType.undocumented", warns=("registerPixKey.pixKeyType.EVP",))
class RegistersAnyKindWithoutAKey(RegistersAnyKind):
    """A registration of any key type is taken for one of a RANDOM key if its key is empty."""

    def key_type(self, body):
        """The key type that a registration means: RANDOM for any type with an empty key."""
        has_empty_key = body.get("pixKey") == ""
        if has_empty_key and body.get("pixKeyType"):
            return "RANDOM"
        return super().key_type(body)

    def takes(self, key_type):
        return False


for _other, _key_type in (("CELLPHONE", "PHONE"), ("MAIL", "EMAIL"), ("TAX_ID", "CNPJ")):
    declare_mutant(
        "kind accepted", f"Takes{_other}For{_key_type}", f"The type {_other} is {_key_type}: a key has to fit.", Service,
        "registerPixKey.pixKeyType.undocumented",
        key_type=lambda self, body, other=_other, key_type=_key_type: (
            key_type if body.get("pixKeyType") == other else Service.key_type(self, body)
        ),
    )  # fmt: skip
declare_mutant(
    "kind accepted", "RegistersAUuid", "Keys of the type UUID are registered if the request has one.", Service,
    "registerPixKey.pixKeyType.undocumented",
    key_type=lambda self, body: (
        "RANDOM" if body.get("pixKeyType") == "UUID" and body.get("pixKey") else Service.key_type(self, body)
    ),
)  # fmt: skip


ACCEPTED = {
    "IBAN": ("the type IBAN", ("undocumented",), (), lambda key_type: key_type == "IBAN"),
    "CELLPHONE": ("the type CELLPHONE", ("undocumented",), (), lambda key_type: key_type == "CELLPHONE"),
    "EVP": ("the type EVP", (), ("EVP",), lambda key_type: key_type == "EVP"),
    "EveryKind": ("any type", ("undocumented",), ("letterCase", "EVP"), lambda key_type: True),
    "KindsInLowerCase": (
        "a documented type in lower-case letters", (), ("letterCase",),
        lambda key_type: key_type.upper() in Service.KEY_FORMATS and key_type.islower(),
    ),
}  # fmt: skip
_OTHER_NAMES = {
    "AWordForPHONE": "CELULAR", "AWordForRANDOM": "ALEATORIA", "ADashedWord": "E-MAIL", "APlural": "EMAILS",
    "ANumberBehindCNPJ": "CNPJ2", "TwoTypesInOne": "CPF_CNPJ", "ANumberInWords": "UM", "ABlankInside": "E MAIL",
}  # fmt: skip
ACCEPTED |= {
    name: (f"the type {other}", ("undocumented",), (), lambda key_type, other=other: key_type == other)
    for name, other in _OTHER_NAMES.items()
}
ACCEPTED["WhatBeginsLikeADocumentedType"] = (
    "what begins like a documented type", ("undocumented",), (),
    lambda key_type: key_type not in Service.KEY_FORMATS and key_type.startswith(tuple(Service.KEY_FORMATS)),
)  # fmt: skip
for _documented in KEY_TYPES:
    ACCEPTED[f"WhatEndsIn{_documented}"] = (
        f"what ends in {_documented}", ("undocumented",), (),
        lambda kind, documented=_documented: kind != documented and kind.endswith(documented),
    )  # fmt: skip
    ACCEPTED[f"WhatBeginsWith{_documented}"] = (
        f"what begins with {_documented}", ("undocumented",), (),
        lambda kind, documented=_documented: kind != documented and kind.startswith(documented),
    )  # fmt: skip
for _name, _separator in (("AnUnderscore", "_"), ("AHyphen", "-"), ("ADot", ".")):
    ACCEPTED[f"ADocumentedTypeBehind{_name}"] = (
        f"a documented type behind {_separator}", ("undocumented",), (),
        lambda kind, separator=_separator: separator in kind and kind.rpartition(separator)[2] in Service.KEY_FORMATS,
    )  # fmt: skip
for _name, _separator in (("AnUnderscore", "_"), ("AHyphen", "-")):
    ACCEPTED[f"ADocumentedTypeBefore{_name}"] = (
        f"a documented type before {_separator}", ("undocumented",), (),
        lambda kind, separator=_separator: separator in kind and kind.partition(separator)[0] in Service.KEY_FORMATS,
    )  # fmt: skip
for _name, (_types, _fails, _warns, _takes) in ACCEPTED.items():
    declare_mutant(
        "kind accepted", f"Registers{_name}", f"Keys of {_types} are registered.", RegistersAnyKind,
        *ids_of_operation("registerPixKey.pixKeyType", *_fails), warns=ids_of_operation("registerPixKey.pixKeyType", *_warns),
        takes=without_self(_takes),
    )  # fmt: skip


class RegistersEmptyKinds(Service):
    """The sandbox, which takes the empty key type TYPE, an empty text or null, for EMAIL."""

    TYPE = ""

    def key_type(self, body):
        """The key type that a registration means: EMAIL for TYPE. A registration without a key type is refused."""
        has_empty_type = "pixKeyType" in body and body["pixKeyType"] == self.TYPE
        return "EMAIL" if has_empty_type else super().key_type(body)


for _name, _type in (("AnEmptyKind", ""), ("NullAsKind", None)):
    declare_mutant(
        "kind accepted", f"Registers{_name}", f"A key of the type {_type!r} is registered.", RegistersEmptyKinds,
        "registerPixKey.pixKeyType.undocumented", TYPE=_type,
    )  # fmt: skip
