"""Refusals that had an effect: the key is registered, and the answer says that it is not."""

from __future__ import annotations

from typing import Any, ClassVar

from environments.sandbox import Refusal, Request, Service
from tests.selftest.proof.mutants.making_faults import DELETION
from tests.selftest.proof.registry import broken, mutant
from tests.selftest.proof.variants.lawful_effects import without_keys
from tests.selftest.proof.variants.lawful_making import profile

_STATUS = "registerPixKey.status"
_NOTHING_GRANTED = (
    "registerPixKey.envelope.*", "registerPixKey.json*", "registerPixKey.fields.*", "registerPixKey.Success.*",
    "registerPixKey.Message.*", "registerPixKey.Key.*", "registerPixKey.DocumentNumber.*",
    "registerPixKey.body.*", "registerPixKey.contentType.*",
    "registerPixKey.token.accepted", "registerPixKey.repeated", *DELETION,
)  # fmt: skip


class RegistersAndRefuses(Service):
    """The sandbox, which refuses the registrations that `meant` picks after it has done them."""

    STATUS: ClassVar[int] = 400

    def __init__(self) -> None:
        super().__init__()
        self.new = 0

    def register_pix_key(self, request: Request, account_id: str) -> dict[str, object]:
        result = super().register_pix_key(request, account_id)
        kind = self.read_json(request, "registerPixKey")["pixKeyType"]
        self.new += result["Success"] == "true"
        if self.meant(str(kind), new=result["Success"] == "true"):
            raise Refusal(self.STATUS, "The key is not registered.")
        return result

    def meant(self, kind: str, *, new: bool) -> bool:
        raise NotImplementedError


def _refuses(name: str, text: str, meant: Any, **asked: Any) -> None:
    broken("a refusal with an effect", name, text, RegistersAndRefuses, _STATUS, meant=meant, **asked)


for _status in (400, 403, 404, 415, 422):
    _refuses(
        f"RegistersEmailAndAnswers{_status}",
        f"A new EMAIL key is registered, and answered with {_status}.",
        lambda self, kind, new: new and kind == "EMAIL",
        STATUS=_status,
    )
for _kind in ("PHONE", "CNPJ", "CPF"):
    _refuses(
        f"Registers{_kind.capitalize()}AndRefusesIt",
        f"Keys of the type {_kind} are registered, and always answered with 422.",
        lambda self, kind, new, meant=_kind: kind == meant,
        STATUS=422,
    )
_refuses(
    "RegistersRandomAndRefusesIt",
    "RANDOM keys are registered, and answered with 400.",
    lambda self, kind, new: kind == "RANDOM",
    hides=("registerPixKey.Key.example",),
)
_refuses(
    "RegistersEmailAndRefusesItForGood",
    "A new EMAIL key is registered and answered with 400; no key is deleted.",
    lambda self, kind, new: new and kind == "EMAIL",
    environment=profile("no_deletion"),
)
_refuses(
    "RefusesEverySecondKeyThatItRegisters",
    "Every second new key is registered, and answered with 422.",
    lambda self, kind, new: new and self.new % 2 == 0,
    STATUS=422,
)
_refuses(
    "RefusesEveryKeyThatItRegisters",
    "Every new key is registered, and answered with 400.",
    lambda self, kind, new: new,
    hides=_NOTHING_GRANTED,
)
_refuses(
    "RefusesEveryRegistration",
    "Every key is registered, and every registration answered with 422.",
    lambda self, kind, new: True,
    STATUS=422,
    hides=_NOTHING_GRANTED,
)


class RegistersInAnEmptyAccount(RegistersAndRefuses):
    """An account without a key registers every key, and answers every registration with 400."""

    def __init__(self) -> None:
        super().__init__()
        without_keys(self)

    def meant(self, kind: str, *, new: bool) -> bool:
        return True


mutant("a refusal with an effect", _STATUS, hides=_NOTHING_GRANTED)(RegistersInAnEmptyAccount)
