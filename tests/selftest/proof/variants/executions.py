"""What an execution may answer: statuses, dates, amounts, and codes that have expired."""

from __future__ import annotations

from environments.sandbox import Refusal, Request
from environments.sandbox.service import Service
from tests.selftest.proof.registry import variant
from tests.selftest.proof.variants.making import Results, as_json, lawful, verbatim
from tests.selftest.proof.variants.scopes import EXECUTION

VALUES: dict[str, dict[str, object]] = {
    "StatusProcessing": {"status": "PROCESSING"},
    "StatusInLowerCase": {"status": "done"},
    "StatusEmpty": {"status": ""},
    "StatusInPortuguese": {"status": "Concluída com sucesso"},
    "RefusedWithAnError": {"status": "REFUSED", "error": "insufficient funds"},
    "ErrorEmpty": {"error": ""},
    "ErrorSaysNone": {"error": "null"},
    "DateInSeconds": {"date": 1_767_312_000},
    "DateInMicroseconds": {"date": 1_767_312_000_123_456},
    "DateWithAFraction": {"date": 1_767_312_000.25},
    "DateWithAnExponent": {"date": verbatim("1.767312E+12")},
    "DateZero": {"date": 0},
    "DateNegative": {"date": -62_135_596_800},
    "DateInManyDigits": {"date": verbatim("9" * 2_000)},
    "DateAsADay": {"date": 20260101},
    "ValueInCents": {"value": 15_000},
    "ValueWithAnExponent": {"value": verbatim("1.5e2")},
    "ValueBinary": {"value": 0.1 + 0.2},
    "ValueWithTwoZeros": {"value": verbatim("10.00")},
    "ValueZero": {"value": 0},
    "ValueMinusZero": {"value": verbatim("-0.0")},
    "ValueNegative": {"value": -10.5},
    "ValueLarge": {"value": verbatim("999999999999999999999.99")},
    "ValueBeyondADouble": {"value": verbatim("1e400")},
    "ValueTiny": {"value": verbatim("1E-7")},
    "AccountTypeAsADecimal": {"accountType": verbatim("1.0")},
    "AccountTypeWithAnExponent": {"accountType": verbatim("1e2")},
    "AccountTypeZero": {"accountType": 0},
    "AccountTypeNegative": {"accountType": -1},
    "AccountTypeHuge": {"accountType": verbatim("7" * 6_000)},
    "TextsEmpty": dict.fromkeys(("bank", "branch", "message", "name", "digit", "account", "key"), ""),
    "TextsLong": dict.fromkeys(("bank", "branch", "message", "name"), "ç" * 20_000),
    "TextsOfAllScripts": {"name": "محمد 张伟 Ωμέγα 🏦\u202e", "message": "\x00\t\r\n\u2028</script>\"'\\"},
    "TextsThatLookLikeOthers": {"digit": "true", "branch": "null", "account": "0", "bank": "1.5", "message": "DONE"},
    "BankByIspb": {"bank": "00000000", "branch": "1", "digit": "XX"},
    "KeyMasked": {"key": "+55*********01"},
    "TypeAlwaysPhone": {"type": "PHONE"},
}  # fmt: skip

for _name, _fields in VALUES.items():
    lawful("execution result", _name, f"An execution result has {', '.join(_fields)} of its own.", Results, EXECUTION=_fields)


class Expired(Service):
    """The sandbox where some of the codes that the profile supplies have expired."""

    CODES: tuple[str, ...] = ()
    STATUS = 404

    def confirm(self, code: str) -> object:
        if code in self.CODES:
            raise Refusal(self.STATUS, "There is no such transaction code.")
        return super().confirm(code)


SUPPLIED = tuple(f"SBX-{kind}-1" for kind in ("PHONE", "EMAIL", "RANDOM", "CNPJ", "CPF"))
EXPIRED = {
    "TheFirstCode": SUPPLIED[:1],
    "TheLastCode": SUPPLIED[-1:],
    "AllCodesButTheLast": SUPPLIED[:-1],
    "AllCodesButTheFirst": SUPPLIED[1:],
    "AllSuppliedCodes": SUPPLIED,
}
for _status in (400, 404, 409, 410, 422):
    for _name, _codes in EXPIRED.items():
        lawful(
            "expired", f"{_name}Get{_status}", f"Of the codes, {_name} expired: {_status}.",
            Expired, CODES=_codes, STATUS=_status,
        )  # fmt: skip


@variant("expired", hides=EXECUTION)
class NoFunds(Service):
    """No account has the money for any transfer: 422."""

    def check_funds(self, ledger: object, transfer: object) -> None:
        raise Refusal(422, "The balance of the paying account is too low.")


@variant("expired")
class AnExpiredCodeGetsAResult(Service):
    """An expired code gets a whole execution result, with the status EXPIRED and an error."""

    def execution_result(self, transfer: object) -> dict[str, object]:
        result = super().execution_result(transfer)
        expired = {"status": "EXPIRED", "error": "the code expired"}
        return result | (expired if result["id"] in SUPPLIED[:2] else {})


@variant("expired")
class AnExpiredCodeIsACodeIn200(Expired):
    """Expired codes get a 200 with a code, and null for data."""

    CODES = SUPPLIED[1:4]

    def refusal(self, refusal: Refusal) -> object:
        if refusal.error == "There is no such transaction code.":
            return as_json(200, {"code": 17, "data": None})
        return super().refusal(refusal)


@variant("repeated execution")
class RepeatsTheResult(Service):
    """A code that was executed gets the same result again, and no money moves."""

    def check_prepared(self, transfer: object) -> None:
        return

    def confirm(self, code: str) -> object:
        with self.database.transaction() as ledger:
            known = ledger.transfer(code)
        return known if known and known.status == "DONE" else super().confirm(code)


@variant("repeated execution")
class ARepeatIsACodeIn200(Service):
    """A code that was executed gets a 200 with code 409."""

    def refusal(self, refusal: Refusal) -> object:
        return as_json(200, {"code": 409, "data": {}}) if refusal.status == 409 else super().refusal(refusal)


@variant("expired", hides=EXECUTION)
class ABadTokenSpendsTheCode(Service):
    """A code that was named with a bad token is cancelled, to be safe."""

    def __init__(self) -> None:
        super().__init__()
        self.cancelled: set[str] = set()

    def authorize(self, request: Request, operation: str) -> None:
        try:
            super().authorize(request, operation)
        except Refusal:
            self.cancelled.add(request.path)
            raise
        if request.path in self.cancelled and operation == "executePix":
            raise Refusal(410, "The code was cancelled.")


@variant("repeated execution", hides=EXECUTION)
class ExecutesLaterWithACodeOfItsOwn(Results):
    """An execution is accepted with code 2 and the status PROCESSING: no success that the document shows."""

    EXECUTION = {"status": "PROCESSING"}

    def envelope(self, operation: str | None, data: object, code: int = 0) -> object:
        return super().envelope(operation, data, 2 if operation == "executePix" else code)
