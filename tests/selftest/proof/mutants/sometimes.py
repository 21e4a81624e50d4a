"""Faults that show for some answers only: one kind of key, some values, or one answer of several."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, ClassVar

from environments.sandbox import Request, Response
from environments.sandbox.ledger import Transfer
from environments.sandbox.service import Service
from tests.selftest.proof.mutants.making import SomeExecutions, SomeRegistrations, lie, members_of
from tests.selftest.proof.registry import mutant

Change = Callable[[dict[str, Any]], dict[str, Any]]


def without(name: str) -> Change:
    """The change that leaves a field out."""
    return lambda data: {key: value for key, value in data.items() if key != name}


def with_(name: str, value: Callable[[Any], object]) -> Change:
    """The change of one value."""
    return lambda data: data | {name: value(data[name])}


def as_(name: str, other: str) -> Change:
    """The change of one name."""
    return lambda data: {other if key == name else key: value for key, value in data.items()}


def _execution(name: str, text: str, row: str, meant: Callable[[Transfer], bool], change: Change) -> None:
    lie(
        "shows for some executions",
        name,
        text,
        SomeExecutions,
        f"executePix.{row}",
        meant=lambda self, transfer: meant(transfer),
        change=lambda self, data: change(data),
    )


def _kind(kind: str) -> Callable[[Transfer], bool]:
    return lambda transfer: transfer.key_kind == kind


def _has_cents(transfer: Transfer) -> bool:
    return transfer.cents % 100 != 0


def _is_large(transfer: Transfer) -> bool:
    return transfer.cents >= 1_000_000_00


_execution("CnpjExecutionWithoutBranch", "An execution of a CNPJ key has no branch.", "branch.present", _kind("CNPJ"), without("branch"))
_execution("CpfExecutionWithoutType", "An execution of a CPF key has no type.", "type.present", _kind("CPF"), without("type"))
_execution("RandomExecutionWithoutKey", "An execution of a RANDOM key has no key.", "key.present", _kind("RANDOM"), without("key"))
_execution("EmailExecutionWithNullBank", "The bank of an EMAIL execution is null.", "bank.type", _kind("EMAIL"), with_("bank", lambda _: None))
_execution("PhoneExecutionWithNullName", "The name of a PHONE execution is null.", "name.type", _kind("PHONE"), with_("name", lambda _: None))
_execution("CpfExecutionWithNumericKey", "A CPF is a number.", "key.type", _kind("CPF"), with_("key", int))
_execution("CnpjExecutionMisspelled", "An execution of a CNPJ key has accounttype.", "accountType.spelling", _kind("CNPJ"), as_("accountType", "accounttype"))
_execution("CentsAsText", "An amount with cents is text.", "value.type", _has_cents, with_("value", str))
_execution("WholeAmountsAsText", "An amount of whole reais is text.", "value.type", lambda t: not _has_cents(t), with_("value", str))
_execution("LargeAmountsAsText", "A large amount is text.", "value.type", _is_large, with_("value", lambda v: f"{v:,.2f}"))
_execution("OneCentIsNull", "The amount of one cent is null.", "value.type", lambda t: t.cents == 1, with_("value", lambda _: None))
_execution("LargeAmountsWithoutStatus", "A large transfer has no status.", "status.present", _is_large, without("status"))
_execution("EmptyMessageMissing", "An empty message is left out.", "message.present", lambda t: not t.message, without("message"))
_execution("EmptyMessageNull", "An empty message is null.", "message.type", lambda t: not t.message, with_("message", lambda _: None))
_execution("QuotedMessageAsObject", "A message with quotes is an object.", "message.type", lambda t: '"' in t.message, with_("message", lambda text: {"text": text}))
_execution("NumericDigitAsInteger", "A check digit that is a digit is a number.", "digit.type", lambda t: t.payee.digit.isdigit(), with_("digit", int))
_execution("DigitXIsNull", "A check digit X is null.", "digit.type", lambda t: t.payee.digit == "X", with_("digit", lambda _: None))
_execution("SavingsTypeAsText", "The account type 2 is text.", "accountType.type", lambda t: t.payee.type == 2, with_("accountType", str))
_execution("PaymentTypeAsFraction", "The account type 3 is 3.5.", "accountType.type", lambda t: t.payee.type == 3, with_("accountType", lambda v: v + 0.5))
_execution("LongNameAsArray", "A long name is an array of words.", "name.type", lambda t: len(t.payee.name) > 25, with_("name", str.split))
_execution("ShortAccountAsInteger", "A short account number is a number.", "account.type", lambda t: len(t.payee.number) < 6, with_("account", int))
_execution("BankWithoutLeadingZeroAsInteger", "The bank 904 is a number.", "bank.type", lambda t: t.payee.bank == "904", with_("bank", int))
_execution("BranchWithLeadingZeroAsInteger", "A branch with a leading zero is a number.", "branch.type", lambda t: t.payee.branch[0] == "0", with_("branch", int))
_execution("NonAsciiMessageMissing", "A message with an emoji is left out.", "message.present", lambda t: not t.message.isprintable() or max(t.message, default=" ") > "\u2000", without("message"))
_execution("ErrorOfSmallAmountsIsFalse", "The error of one cent is left out.", "error.present", lambda t: t.cents == 1, without("error"))


def _registration(name: str, text: str, row: str, meant: Callable[[Any], bool], change: Change, **parts: Any) -> None:
    lie(
        "shows for some registrations",
        name,
        text,
        SomeRegistrations,
        f"registerPixKey.{row}",
        meant=lambda self, registration: meant(registration),
        change=lambda self, data: change(data),
        **parts,
    )


def _of(kind: str) -> Callable[[Any], bool]:
    return lambda registration: registration.key.kind == kind


_registration("EmailRegistrationWithoutMessage", "A registration of an EMAIL key has no message.", "Message.present", _of("EMAIL"), without("Message"))
_registration("CnpjRegistrationWithTextNumber", "The DocumentNumber of a CNPJ is text.", "DocumentNumber.type", _of("CNPJ"), with_("DocumentNumber", str))
_registration("CpfRegistrationWithNumericKey", "The Key of a CPF is a number.", "Key.type", _of("CPF"), with_("Key", int))
_registration("PhoneRegistrationWithBooleanSuccess", "Success of a PHONE key is a boolean.", "Success.type", _of("PHONE"), with_("Success", lambda text: text == "true"))
_registration("NullKeyMissing", "A Key that is null is left out.", "Key.present", lambda r: r.made, without("Key"), hides=("registerPixKey.Key.example",))
_registration("KeyMissingWhereItIsShown", "A Key that is not null is left out.", "Key.present", lambda r: not r.made, without("Key"))
_registration("MadeKeyAsObject", "The Key that the service makes is an object.", "Key.type", lambda r: r.made, with_("Key", lambda _: {}), warns=("registerPixKey.Key.example",))
_registration("DeclinedWithoutMessage", "A declined registration has no message.", "Message.present", lambda r: not r.accepted, without("Message"))
_registration("DeclinedWithNullMessage", "The message of a declined registration is null.", "Message.type", lambda r: not r.accepted, with_("Message", lambda _: None))
_registration("DeclinedWithoutNumber", "A declined registration has no number.", "DocumentNumber.present", lambda r: not r.accepted, without("DocumentNumber"))
_registration("DeclinedMisspelled", "A declined registration has a field message.", "Message.spelling", lambda r: not r.accepted, lambda data: as_("Message", "MESSAGE")(data))
_registration("TwoDigitNumbersAsText", "A DocumentNumber of two digits is text.", "DocumentNumber.type", lambda r: r.number >= 10, with_("DocumentNumber", str))
_registration("EvenNumbersAsFraction", "Every second DocumentNumber has a fraction.", "DocumentNumber.type", lambda r: r.number % 2 == 0, with_("DocumentNumber", lambda n: n + 0.5))


class OneOfSeveral(Service):
    """The sandbox, where `alter` sees some of the successful answers to one operation."""

    OPERATION: ClassVar[str] = "executePix"

    def __init__(self) -> None:
        super().__init__()
        self.answers = 0
        self.dice = random.Random(3)  # it fails by chance, and always alike

    def finish(self, request: Request, operation: str | None, response: Response) -> Response:
        if operation != self.OPERATION or response.status != 200:
            return response
        self.answers += 1
        return self.alter(response) if self.strikes(request) else response

    def strikes(self, request: Request) -> bool:
        raise NotImplementedError

    def alter(self, response: Response) -> Response:
        raise NotImplementedError


STRIKES = {
    "EveryFifth": ("one answer of five", lambda self, request: self.answers % 5 == 0),
    "EverySecond": ("every second answer", lambda self, request: self.answers % 2 == 0),
    "AllButTheFirst": ("every answer but the first", lambda self, request: self.answers > 1),
    "TheFirst": ("the first answer", lambda self, request: self.answers == 1),
    "ByChance": ("one answer of four, by chance", lambda self, request: self.dice.random() < 0.25),
}
FAULTS = {
    "executePix": {
        "IsTruncated": ("json", "is truncated", lambda r: Response(200, r.body[:-1], r.headers)),
        "HasAnotherStatus": ("status", "has the status 201", lambda r: Response(201, r.body, r.headers)),
        "HasNoDigit": ("digit.present", "has no digit", lambda r: Response(200, _renamed(r.body, b"digit", b"dv"), r.headers)),
        "HasATextCode": ("envelope.code.type", "has a code of text", lambda r: Response(200, _code_text(r.body), r.headers)),
    },
    "registerPixKey": {
        "IsTruncated": ("json", "is truncated", lambda r: Response(200, r.body[:-1], r.headers)),
        "HasAnotherStatus": ("status", "has the status 201", lambda r: Response(201, r.body, r.headers)),
        "HasNoMessage": ("Message.present", "has no Message", lambda r: Response(200, _renamed(r.body, b"Message", b"Text"), r.headers)),
        "HasATextCode": ("envelope.code.type", "has a code of text", lambda r: Response(200, _code_text(r.body), r.headers)),
    },
    "deletePixKey": {
        "IsTruncated": ("json", "is truncated", lambda r: Response(200, r.body[:-1], r.headers)),
        "HasNoContent": ("status", "has the status 202", lambda r: Response(202, r.body, r.headers)),
        "HasATextCode": ("envelope.code.type", "has a code of text", lambda r: Response(200, _code_text(r.body), r.headers)),
    },
}  # fmt: skip
_EXTRA = {"HasNoDigit": ("executePix.fields.extra",), "HasNoMessage": ("registerPixKey.fields.extra",)}


_UNREAD = {
    ("registerPixKey", occasion, "IsTruncated"): ("registerPixKey.Key.example",) for occasion in ("EveryFifth", "ByChance")
}
"""The one answer that would show it is among those that cannot be read."""


def _renamed(body: bytes, name: bytes, other: bytes) -> bytes:
    return body.replace(b'"' + name + b'":', b'"' + other + b'":')


def _code_text(body: bytes) -> bytes:
    return body.replace(b'"code": 0', b'"code": "0"', 1)


def _tried(strike: str, faults: list[str]) -> list[str]:
    """Every fault in one answer of five; one fault for each other occasion."""
    index = list(STRIKES).index(strike)
    return faults if index == 0 else [faults[index % len(faults)]]


for _operation, _faults in FAULTS.items():
    for _strike, (_when, _strikes) in STRIKES.items():
        for _fault in _tried(_strike, list(_faults)):
            _row, _what, _alter = _faults[_fault]
            lie(
                "shows in some answers",
                f"{_operation[0].upper()}{_operation[1:]}{_strike}{_fault}",
                f"{_when[0].upper()}{_when[1:]} {_what}.",
                OneOfSeveral,
                f"{_operation}.{_row}",
                warns=_EXTRA.get(_fault, ()),
                hides=_UNREAD.get((_operation, _strike, _fault), ()),
                OPERATION=_operation,
                strikes=_strikes,
                alter=lambda self, response, alter=_alter: alter(response),
            )


@mutant("deletePixKey.status", "deletePixKey.json", operator="shows for some deletions")
class DeletionOfAnEmailHasNoContent(Service):
    """The deletion of an EMAIL key has the status 204."""

    def finish(self, request: Request, operation: str | None, response: Response) -> Response:
        meant = operation == "deletePixKey" and response.status == 200
        return Response(204, b"") if meant and "@" in str(members_of(request).get("pixKey")) else response


@mutant("deletePixKey.envelope.data.type", operator="shows for some deletions")
class DeletionOfACpfHasNullData(Service):
    """The data of the deletion of a CPF is null."""

    def finish(self, request: Request, operation: str | None, response: Response) -> Response:
        meant = operation == "deletePixKey" and response.status == 200
        short = len(str(members_of(request).get("pixKey"))) == 11
        return Response(200, b'{"code": 0, "data": null}', response.headers) if meant and short else response
