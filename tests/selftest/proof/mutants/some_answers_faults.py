"""Faults that show in one answer of several, in the deletion of some keys, or on a connection that has carried a request."""

import random

from environments.sandbox import Response
from tests.selftest.proof.mutants.making_faults import (
    ChangesAnswers,
    body_rewritten,
    json_members,
    with_status,
    without_self,
)
from tests.selftest.proof.registry import declare_mutant, ids_of_operation, mutant
from tests.selftest.proof.variants.conforming_making import KnowsItsConnections, RemembersThePast


class OneOfSeveral(ChangesAnswers):
    """The sandbox, where `alter` sees some of the successful answers to one operation; not the one for a RANDOM key, which
    alone shows what such a key gets."""

    answers = 0

    def __init__(self):
        super().__init__()
        self.dice = random.Random(3)  # it fails by chance, and always alike

    def finish(self, request, operation, response):
        if json_members(request).get("pixKeyType") == "RANDOM":
            return response
        self.answers += operation in self.OPERATIONS and response.status == 200
        return super().finish(request, operation, response)


STRIKES = {
    "EveryFifth": ("one answer of five", lambda self, request: self.answers % 5 == 0),
    "EverySecond": ("every second answer", lambda self, request: self.answers % 2 == 0),
    "AllButTheFirst": ("every answer but the first", lambda self, request: self.answers > 1),
    "TheFirst": ("the first answer", lambda self, request: self.answers == 1),
    "ByChance": ("one answer of four, by chance", lambda self, request: self.dice.random() < 0.25),
}


FAULTS = {
    "IsTruncated": ("json", "is truncated", body_rewritten(b"}$", b"")),
    "HasAnotherStatus": ("status", "has the status 202", with_status(202)),
    "HasATextCode": ("envelope.code.type", "has a code of text", body_rewritten(b'"code": 0', b'"code": "0"')),
    "HasNoDigit": ("digit.present", "has no digit", body_rewritten(b'"digit"', b'"dv"')),
    "HasNoMessage": ("Message.present", "has no Message", body_rewritten(b'"Message"', b'"Text"')),
}
OF = {
    "executePix": ("IsTruncated", "HasAnotherStatus", "HasNoDigit", "HasATextCode"),
    "registerPixKey": ("IsTruncated", "HasAnotherStatus", "HasNoMessage", "HasATextCode"),
    "deletePixKey": ("IsTruncated", "HasAnotherStatus", "HasATextCode"),
}
_WARNS = {"registerPixKeyEveryFifthIsTruncated": ("registerPixKey.Success.example",)}
"""The first registration of a type is among these answers."""
_EXTRA = {"HasNoDigit": ("executePix.fields.extra",), "HasNoMessage": ("registerPixKey.fields.extra",)}


def _tried(strike, faults):
    """Every fault in one answer of five; one fault for each other occasion."""
    index = list(STRIKES).index(strike)
    return faults if index == 0 else (faults[index % len(faults)],)


for _operation, _faults in OF.items():
    for _strike, (_when, _strikes) in STRIKES.items():
        for _fault in _tried(_strike, _faults):
            _row, _what, _alter = FAULTS[_fault]
            declare_mutant(
                "shows in some answers", f"{_operation[0].upper()}{_operation[1:]}{_strike}{_fault}",
                f"{_when[0].upper()}{_when[1:]} {_what}.", OneOfSeveral, f"{_operation}.{_row}",
                warns=_WARNS.get(f"{_operation}{_strike}{_fault}", _EXTRA.get(_fault, ())),
                OPERATIONS=(_operation,), strikes=_strikes, alter=without_self(_alter), GETS_THE_REQUESTS_OF_THE_SANDBOX=_row != "json",
            )  # fmt: skip


class KnowsWhatWasBefore(RemembersThePast, ChangesAnswers):
    """The sandbox, where `alter` sees some registrations, by the operations of all requests before."""

    OPERATIONS = ("registerPixKey",)
    alter = without_self(FAULTS["HasATextCode"][2])

    def finish(self, request, operation, response):
        answer = super().finish(request, operation, response)
        is_granted = response.status == 200
        self.past.append(f"{operation}, granted" if is_granted else operation)
        return answer


for _name, _strikes in {
    "RegistrationRightAfterAnUnknownPath": lambda self, request: self.past[-1] is None,
    "RegistrationBeforeAnyOther": lambda self, request: "registerPixKey, granted" not in self.past,
}.items():
    declare_mutant(
        "shows in some answers", f"{_name}HasATextCode", f"The code of a {_name} is text.", KnowsWhatWasBefore,
        "registerPixKey.envelope.code.type", strikes=_strikes,
    )  # fmt: skip
for _name, _text, _rows, _strikes, _alter in (
    (
        "DeletionOfAnEmailHasNoContent", "The deletion of an EMAIL key has the status 204.", ("status", "json"),
        lambda self, request: "@" in str(json_members(request).get("pixKey")), lambda response: Response(204, b""),
    ),
    (
        "DeletionOfACpfHasNullData", "The data of the deletion of a CPF is null.", ("envelope.data.type",),
        lambda self, request: len(str(json_members(request).get("pixKey"))) == 11,
        lambda response: Response(200, b'{"code": 0, "data": null}', response.headers),
    ),
):  # fmt: skip
    declare_mutant(
        "shows for some deletions", _name, _text, ChangesAnswers, *ids_of_operation("deletePixKey", *_rows),
        OPERATIONS=("deletePixKey",), strikes=_strikes, alter=without_self(_alter), GETS_THE_REQUESTS_OF_THE_SANDBOX="json" not in _rows,
    )  # fmt: skip


# -- wrong on a connection that has carried a request before: the first one on each is answered as documented


class ForgetsOnAKeptConnection(KnowsItsConnections):
    """The sandbox, whose results lack a field from the second request of a connection on."""

    FIELD = ""

    def execution_result(self, transfer):
        result = super().execution_result(transfer)
        return {name: value for name, value in result.items() if not self.carried or name != self.FIELD}


for _field in ("digit", "document"):
    declare_mutant(
        "kept connection", f"ExecutionForgets{_field.title()}OnAKeptConnection",
        f"From the second request of a connection on, {_field} is missing.",
        ForgetsOnAKeptConnection, f"executePix.{_field}.present", FIELD=_field,
    )  # fmt: skip


@mutant("kept connection", "executePix.document.masked")
class ExecutionUnmasksOnAKeptConnection(KnowsItsConnections):
    """From the second request of a connection on, the document is not masked."""

    def mask(self, document):
        return document if self.carried else super().mask(document)


@mutant("kept connection", "executePix.token.required", hides=("executePix.token.scheme",))
class ExecutionTrustsAConnection(KnowsItsConnections):
    """The token is not checked on a connection that was authorized before."""

    OPERATION = "executePix"

    def authorize(self, request, operation):
        if operation != self.OPERATION or not getattr(self.connection, "authorized", False):
            super().authorize(request, operation)
        self.connection.authorized = True


@mutant("kept connection", "registerPixKey.token.required", warns=("registerPixKey.token.scheme",))
class RegistrationTrustsAConnection(ExecutionTrustsAConnection):
    """The token is not checked on a connection that was authorized before."""

    OPERATION = "registerPixKey"
