"""Documented key types that are refused, and undocumented ones that are registered."""

from __future__ import annotations

from typing import Any, ClassVar

from environments.sandbox import Refusal, Service
from environments.sandbox.pix_keys import FORMATS
from spec.interface import KEY_TYPES
from tests.selftest.proof.registry import broken


class RefusesAKind(Service):
    """The sandbox, which refuses one documented key type."""

    KIND: ClassVar[str] = ""
    STATUS: ClassVar[int] = 422

    def key_type(self, body: dict[str, Any]) -> str:
        kind = super().key_type(body)
        if kind == self.KIND:
            raise Refusal(self.STATUS, "The kind is not supported.")
        return kind


class RegistersAnyKind(Service):
    """The sandbox, which registers keys of every type that `takes` accepts."""

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
            f"Keys of the type {_kind} are refused with {_status}.",
            RefusesAKind,
            f"registerPixKey.pixKeyType.{_kind}",
            hides=("registerPixKey.Key.example",) if _kind == "RANDOM" else (),
            KIND=_kind,
            STATUS=_status,
        )

_UNDOCUMENTED, _EVP, _LETTER_CASE = (
    f"registerPixKey.pixKeyType.{row}" for row in ("undocumented", "EVP", "letterCase")
)
ACCEPTED = {
    "RegistersIBAN": ("the type IBAN", (_UNDOCUMENTED,), (), lambda self, kind: kind == "IBAN"),
    "RegistersPASSPORT": ("the type PASSPORT", (_UNDOCUMENTED,), (), lambda self, kind: kind == "PASSPORT"),
    "RegistersCELLPHONE": ("the type CELLPHONE", (_UNDOCUMENTED,), (), lambda self, kind: kind == "CELLPHONE"),
    "RegistersEVP": ("the type EVP", (), (_EVP,), lambda self, kind: kind == "EVP"),
    "RegistersEveryKind": ("any type", (_UNDOCUMENTED,), (_LETTER_CASE, _EVP), lambda self, kind: True),
    "RegistersEveryKindInCapitals": (
        "any type in capital letters", (_UNDOCUMENTED,), (_EVP,), lambda self, kind: kind.isupper(),
    ),
    "RegistersKindsInLowerCase": (
        "a documented type in lower-case letters", (), (_LETTER_CASE,),
        lambda self, kind: kind.upper() in FORMATS and kind.islower(),
    ),
}  # fmt: skip
for _name, (_types, _fails, _warns, _takes) in ACCEPTED.items():
    broken(
        "kind accepted", _name, f"Keys of {_types} are registered.", RegistersAnyKind, *_fails,
        warns=_warns, takes=_takes,
    )  # fmt: skip
