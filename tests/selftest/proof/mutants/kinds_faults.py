"""Documented kinds that are refused, and undocumented ones that are registered."""

from __future__ import annotations

from typing import Any, ClassVar

from environments.sandbox import Refusal
from environments.sandbox.key_types import FORMATS
from environments.sandbox.service import Service
from spec.interface import KEY_TYPES
from tests.selftest.proof.registry import broken


class RefusesAKind(Service):
    """The sandbox, which refuses one documented kind."""

    KIND: ClassVar[str] = ""
    STATUS: ClassVar[int] = 422

    def key_type(self, body: dict[str, Any]) -> str:
        kind = super().key_type(body)
        if kind == self.KIND:
            raise Refusal(self.STATUS, "The kind is not supported.")
        return kind


class RegistersAnyKind(Service):
    """The sandbox, which registers keys of every kind that `takes` takes."""

    def key_type(self, body: dict[str, Any]) -> str:
        kind = body.get("pixKeyType")
        return kind if isinstance(kind, str) and self.takes(kind) else super().key_type(body)

    def requested_key(self, body: dict[str, Any], kind: str) -> str:
        return super().requested_key(body, kind) if kind in FORMATS else str(body.get("pixKey", ""))

    def takes(self, kind: str) -> bool:
        raise NotImplementedError


for _kind in KEY_TYPES:
    for _status in (400, 415, 422):
        broken(
            "kind refused",
            f"Refuses{_kind}With{_status}",
            f"Keys of the kind {_kind} are refused with {_status}.",
            RefusesAKind,
            f"registerPixKey.pixKeyType.{_kind}",
            hides=("registerPixKey.Key.example",) if _kind == "RANDOM" else (),
            KIND=_kind,
            STATUS=_status,
        )

_UNDOCUMENTED = "registerPixKey.pixKeyType.undocumented"
for _name in ("IBAN", "PASSPORT", "CELLPHONE"):
    broken(
        "kind accepted",
        f"Registers{_name}",
        f"Keys of the kind {_name} are registered.",
        RegistersAnyKind,
        _UNDOCUMENTED,
        takes=lambda self, kind, name=_name: kind == name,
    )
broken(
    "kind accepted",
    "RegistersEVP",
    "Keys of the kind EVP are registered.",
    RegistersAnyKind,
    warns=("registerPixKey.pixKeyType.EVP",),
    takes=lambda self, kind: kind == "EVP",
)
broken(
    "kind accepted",
    "RegistersEveryKind",
    "Keys of any kind are registered.",
    RegistersAnyKind,
    _UNDOCUMENTED,
    warns=("registerPixKey.pixKeyType.letterCase", "registerPixKey.pixKeyType.EVP"),
    takes=lambda self, kind: True,
)
broken(
    "kind accepted",
    "RegistersEveryKindInCapitals",
    "Keys of any kind in capital letters are registered.",
    RegistersAnyKind,
    _UNDOCUMENTED,
    warns=("registerPixKey.pixKeyType.EVP",),
    takes=lambda self, kind: kind.isupper(),
)
broken(
    "kind accepted",
    "RegistersKindsInLowerCase",
    "Kinds in lower-case letters are registered.",
    RegistersAnyKind,
    warns=("registerPixKey.pixKeyType.letterCase",),
    takes=lambda self, kind: kind.upper() in FORMATS and kind.islower(),
)
