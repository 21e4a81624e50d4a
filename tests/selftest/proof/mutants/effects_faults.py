"""Refusals that had an effect: the key is registered, and the answer says that it is not; and deletions that had none."""

from environments.sandbox import Refusal, Service
from tests.selftest.proof.mutants.making_faults import HIDES_DELETION
from tests.selftest.proof.registry import declare_mutant, mutant
from tests.selftest.proof.variants.conforming_making import ForgetsKeys, profile_path

_STATUS = "registerPixKey.status"
_NOTHING_GRANTED = (
    "registerPixKey.envelope.*", "registerPixKey.json*", "registerPixKey.fields.*", "registerPixKey.Success.*",
    "registerPixKey.Message.*", "registerPixKey.Key.*", "registerPixKey.DocumentNumber.*",
    "registerPixKey.body.*", "registerPixKey.contentType.*",
    "registerPixKey.token.accepted", "registerPixKey.token.required", "registerPixKey.repeated", *HIDES_DELETION,
)  # fmt: skip


class RegistersAndRefuses(Service):
    """The sandbox, which refuses the registrations that `meant` picks after it has done them."""

    STATUS = 400

    new = 0

    def register_pix_key(self, request, account_id):
        result = super().register_pix_key(request, account_id)
        kind = self.read_json(request, "registerPixKey")["pixKeyType"]
        self.new += result["Success"] == "true"
        if self.meant(str(kind), new=result["Success"] == "true"):
            raise Refusal(self.STATUS, "The key is not registered.")
        return result


def _new_email(self, kind, new):
    return new and kind == "EMAIL"


def _always(self, kind, new):
    return True


for _name, _text, _meant, _parts in (
    *(
        (f"RegistersEmailAndAnswers{status}", f"A new EMAIL key is registered, and answered with {status}.", _new_email, {"STATUS": status})
        for status in (400, 403, 404, 415, 422)
    ),
    *(
        (
            f"Registers{kind.capitalize()}AndRefusesIt", f"Keys of the type {kind} are registered, and always answered with 422.",
            lambda self, kind, new, meant=kind: kind == meant, {"STATUS": 422},
        )
        for kind in ("PHONE", "CNPJ", "CPF")
    ),
    (
        "RegistersRandomAndRefusesIt", "RANDOM keys are registered, and answered with 400.",
        lambda self, kind, new: kind == "RANDOM", {"hides": ("registerPixKey.Key.example",)},
    ),
    (
        "RefusesEverySecondKeyThatItRegisters", "Every second new key is registered, and answered with 422.",
        lambda self, kind, new: new and kind != "RANDOM" and self.new % 2 == 0, {"STATUS": 422},
    ),
    (
        "RefusesEveryKeyThatItRegisters", "Every new key is registered, and answered with 400.",
        lambda self, kind, new: new, {"hides": _NOTHING_GRANTED},
    ),
    (
        "RefusesEveryRegistration", "Every key is registered, and every registration answered with 422.",
        _always, {"STATUS": 422, "hides": _NOTHING_GRANTED},
    ),
):  # fmt: skip
    declare_mutant("a refusal with an effect", _name, _text, RegistersAndRefuses, _STATUS, meant=_meant, **_parts)


declare_mutant(
    "a refusal with an effect", "RegistersEmailAndRefusesItForGood",
    "A new EMAIL key is registered and answered with 400; no key is deleted, and the profile has no key_at.",
    RegistersAndRefuses, warns=(_STATUS,), meant=_new_email, environment=profile_path("no_deletion"),
)  # fmt: skip


# -- a deletion without effect


class KeepsKeys(Service):
    """The sandbox, which grants the deletion of keys of these `KINDS`, and keeps them."""

    KINDS = ("PHONE", "EMAIL", "RANDOM", "CNPJ", "CPF")

    def remove(self, ledger, account_id, value):
        key = ledger.key(value)
        if key is None or key.type not in self.KINDS:
            super().remove(ledger, account_id, value)


_KEPT = "deletePixKey.exists"


class DeletesEveryKey(Service):
    """The sandbox, which deletes all keys of the account with one."""

    def remove(self, ledger, account_id, value):
        super().remove(ledger, account_id, value)
        for key in ledger.keys(account_id):
            ledger.remove_key(key)


declare_mutant("deletion of more", "DeletesItsNeighbours", DeletesEveryKey.__doc__, DeletesEveryKey, warns=(_KEPT,))
for _name, _text, _kinds, _warns in (
    (
        "DeletesNothing", "Every deletion is granted, and no key is deleted.", KeepsKeys.KINDS,
        (_KEPT, "registerPixKey.Success.example"),
    ),
    ("DeletesNoPhone", "The deletion of a PHONE key is granted, and the key stays.", ("PHONE",), (_KEPT,)),
    ("DeletesNoCnpj", "The deletion of a CNPJ key is granted, and the key stays.", ("CNPJ",), (_KEPT,)),
):  # fmt: skip
    declare_mutant("deletion without effect", _name, _text, KeepsKeys, warns=_warns, KINDS=_kinds)


@mutant("registration without effect", warns=("registerPixKey.status",), hides=HIDES_DELETION)
class RegistersNothing(ForgetsKeys, KeepsKeys):
    """Every registration is granted, and no key is registered."""
