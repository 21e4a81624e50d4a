"""Faults that show only in some answers: one of several, the deletion of some keys, or the second one on a connection."""

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
    """The sandbox, where `alter` changes some of the successful answers to one operation.

    The answer for a RANDOM key is never changed, because a run registers only one such key, and judges its answer.
    """

    number_of_answers = 0

    def __init__(self):
        super().__init__()
        self.dice = random.Random(3)  # with a seed, so that each run draws the same numbers

    def finish(self, request, operation, response):
        """Count the successful answers, and change those that are affected."""
        if json_members(request).get("pixKeyType") == "RANDOM":
            return response
        if operation in self.OPERATIONS and response.status == 200:
            self.number_of_answers += 1
        return super().finish(request, operation, response)


OCCASIONS = {
    "EveryFifth": ("one answer of five", lambda self, request: self.number_of_answers % 5 == 0),
    "EverySecond": ("every second answer", lambda self, request: self.number_of_answers % 2 == 0),
    "AllButTheFirst": ("every answer but the first", lambda self, request: self.number_of_answers > 1),
    "TheFirst": ("the first answer", lambda self, request: self.number_of_answers == 1),
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
"""Further warnings of a mutant: the first registration of a key type is among the answers that it changes."""
_EXTRA = {"HasNoDigit": ("executePix.fields.extra",), "HasNoMessage": ("registerPixKey.fields.extra",)}


def _faults_on_occasion(occasion, faults):
    """The faults that are tried on an occasion: all of them in one answer of five, and one fault on any other occasion."""
    index = list(OCCASIONS).index(occasion)
    return faults if index == 0 else (faults[index % len(faults)],)


for _operation, _faults in OF.items():
    for _occasion, (_when, _is_affected) in OCCASIONS.items():
        for _fault in _faults_on_occasion(_occasion, _faults):
            _row, _what, _alter = FAULTS[_fault]
            declare_mutant(
                "shows in some answers", f"{_operation[0].upper()}{_operation[1:]}{_occasion}{_fault}",
                f"{_when[0].upper()}{_when[1:]} {_what}.", OneOfSeveral, f"{_operation}.{_row}",
                warns=_WARNS.get(f"{_operation}{_occasion}{_fault}", _EXTRA.get(_fault, ())),
                OPERATIONS=(_operation,), is_affected=_is_affected, alter=without_self(_alter), GETS_THE_REQUESTS_OF_THE_SANDBOX=_row != "json",
            )  # fmt: skip


class KnowsWhatWasBefore(RemembersThePast, ChangesAnswers):
    """The sandbox, where the code in some answers to registrations is a text, depending on the requests before.

    `past` has an entry for each request: its operation, with ", granted" if it succeeded. None is an unknown path.
    """

    OPERATIONS = ("registerPixKey",)
    alter = without_self(FAULTS["HasATextCode"][2])

    def finish(self, request, operation, response):
        """Change the answer if the request is affected, and then add the request to the past."""
        answer = super().finish(request, operation, response)
        has_succeeded = response.status == 200
        self.past.append(f"{operation}, granted" if has_succeeded else operation)
        return answer


for _name, _is_affected in {
    "RegistrationRightAfterAnUnknownPath": lambda self, request: self.past[-1] is None,
    "RegistrationBeforeAnyOther": lambda self, request: "registerPixKey, granted" not in self.past,
}.items():
    declare_mutant(
        "shows in some answers", f"{_name}HasATextCode", f"The code of a {_name} is text.", KnowsWhatWasBefore,
        "registerPixKey.envelope.code.type", is_affected=_is_affected,
    )  # fmt: skip
for _name, _text, _rows, _is_affected, _alter in (
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
        OPERATIONS=("deletePixKey",), is_affected=_is_affected, alter=without_self(_alter), GETS_THE_REQUESTS_OF_THE_SANDBOX="json" not in _rows,
    )  # fmt: skip


# -- wrong on a connection that has carried a request before: the first one on each is answered as documented


class ForgetsOnAKeptConnection(KnowsItsConnections):
    """The sandbox, whose execution results lack FIELD from the second request of a connection on."""

    FIELD = ""

    def execution_result(self, transfer):
        """The result of an execution, without FIELD if the connection carried a request before."""
        result = super().execution_result(transfer)
        if self.carried:
            del result[self.FIELD]
        return result


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
    """The token of an execution is not checked on a connection that carried the valid token before."""

    OPERATION = "executePix"

    def authorize(self, request, operation):
        """Check the token, unless a request to OPERATION comes on a connection whose token was checked before."""
        is_trusted = operation == self.OPERATION and getattr(self.connection, "authorized", False)
        if not is_trusted:
            super().authorize(request, operation)  # raises Refusal if the token is not valid
        self.connection.authorized = True


@mutant("kept connection", "registerPixKey.token.required", warns=("registerPixKey.token.scheme",))
class RegistrationTrustsAConnection(ExecutionTrustsAConnection):
    """The token of a registration is not checked on a connection that carried the valid token before."""

    OPERATION = "registerPixKey"
