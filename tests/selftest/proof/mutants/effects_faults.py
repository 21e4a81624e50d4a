"""Answers that do not say what happened: a key is registered, and the answer refuses it, or a deletion has no effect."""

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
    """The sandbox, which registers a key and then refuses it in its answer, if `is_refused` is true.

    `is_refused` gets the key type, and whether the key is new: it was not registered before.
    """

    STATUS = 400
    number_of_new_keys = 0

    def register_pix_key(self, request, account_id):
        """Register the key of a request. Raises Refusal although the key is registered, if `is_refused` is true."""
        result = super().register_pix_key(request, account_id)
        key_type = self.read_json(request, "registerPixKey")["pixKeyType"]
        is_new = result["Success"] == "true"
        if is_new:
            self.number_of_new_keys += 1
        if self.is_refused(str(key_type), is_new):
            raise Refusal(self.STATUS, "The key is not registered.")
        return result


def _is_new_email(self, key_type, is_new):
    return is_new and key_type == "EMAIL"


for _name, _text, _is_refused, _parts in (
    *(
        (f"RegistersEmailAndAnswers{status}", f"A new EMAIL key is registered, and answered with {status}.", _is_new_email, {"STATUS": status})
        for status in (400, 403, 404, 415, 422)
    ),
    *(
        (
            f"Registers{key_type.capitalize()}AndRefusesIt", f"Keys of the type {key_type} are registered, and always answered with 422.",
            lambda self, key_type, is_new, refused_type=key_type: key_type == refused_type, {"STATUS": 422},
        )
        for key_type in ("PHONE", "CNPJ", "CPF")
    ),
    (
        "RegistersRandomAndRefusesIt", "RANDOM keys are registered, and answered with 400.",
        lambda self, key_type, is_new: key_type == "RANDOM", {"hides": ("registerPixKey.Key.example",)},
    ),
    (
        "RefusesEverySecondKeyThatItRegisters", "Every second new key is registered, and answered with 422.",
        lambda self, key_type, is_new: is_new and key_type != "RANDOM" and self.number_of_new_keys % 2 == 0, {"STATUS": 422},
    ),
    (
        "RefusesEveryKeyThatItRegisters", "Every new key is registered, and answered with 400.",
        lambda self, key_type, is_new: is_new, {"hides": _NOTHING_GRANTED},
    ),
    (
        "RefusesEveryRegistration", "Every key is registered, and every registration answered with 422.",
        lambda self, key_type, is_new: True, {"STATUS": 422, "hides": _NOTHING_GRANTED},
    ),
):  # fmt: skip
    declare_mutant(
        "a refusal with an effect", _name, _text, RegistersAndRefuses, _STATUS, is_refused=_is_refused, **_parts
    )


declare_mutant(
    "a refusal with an effect", "RegistersEmailAndRefusesItForGood",
    "A new EMAIL key is registered and answered with 400; no key is deleted, and the profile has no key_at.",
    RegistersAndRefuses, warns=(_STATUS,), is_refused=_is_new_email, environment=profile_path("no_deletion"),
)  # fmt: skip


# -- a deletion without effect


class KeepsKeys(Service):
    """The sandbox, which says that keys of the types `KINDS` are deleted, and keeps them."""

    KINDS = ("PHONE", "EMAIL", "RANDOM", "CNPJ", "CPF")

    def remove(self, ledger, account_id, value):
        """Delete a key, unless its type is one of KINDS. No error is raised, so the answer is a success."""
        key = ledger.key(value)
        if key is None or key.type not in self.KINDS:
            super().remove(ledger, account_id, value)


_KEPT = "deletePixKey.exists"


class DeletesEveryKey(Service):
    """The sandbox, which deletes all keys of the account together with the key that is named."""

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
    """Every registration and deletion succeeds by its answer, and no key is registered."""
