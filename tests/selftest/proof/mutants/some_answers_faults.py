"""Faults that show in one answer of several, or in the deletion of some keys only."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import ClassVar

from environments.sandbox import Request, Response, Service
from tests.selftest.proof.mutants.making_faults import members_of
from tests.selftest.proof.registry import broken, mutant


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


def _truncated(response: Response) -> Response:
    return Response(200, response.body[:-1], response.headers)


def _accepted(response: Response) -> Response:
    return Response(202, response.body, response.headers)


def _text_code(response: Response) -> Response:
    return Response(200, response.body.replace(b'"code": 0', b'"code": "0"', 1), response.headers)


def _renames(name: bytes, other: bytes) -> Callable[[Response], Response]:
    return lambda response: Response(200, response.body.replace(name, other), response.headers)


FAULTS = {
    "IsTruncated": ("json", "is truncated", _truncated),
    "HasAnotherStatus": ("status", "has the status 202", _accepted),
    "HasATextCode": ("envelope.code.type", "has a code of text", _text_code),
    "HasNoDigit": ("digit.present", "has no digit", _renames(b'"digit"', b'"dv"')),
    "HasNoMessage": ("Message.present", "has no Message", _renames(b'"Message"', b'"Text"')),
}
OF = {
    "executePix": ("IsTruncated", "HasAnotherStatus", "HasNoDigit", "HasATextCode"),
    "registerPixKey": ("IsTruncated", "HasAnotherStatus", "HasNoMessage", "HasATextCode"),
    "deletePixKey": ("IsTruncated", "HasAnotherStatus", "HasATextCode"),
}
_EXTRA = {"HasNoDigit": ("executePix.fields.extra",), "HasNoMessage": ("registerPixKey.fields.extra",)}

_OF_PHONE = ("executePix.type.example",)
"""By chance the one answer is truncated that shows PHONE."""


def _tried(strike: str, faults: tuple[str, ...]) -> tuple[str, ...]:
    """Every fault in one answer of five; one fault for each other occasion."""
    index = list(STRIKES).index(strike)
    return faults if index == 0 else (faults[index % len(faults)],)


for _operation, _faults in OF.items():
    for _strike, (_when, _strikes) in STRIKES.items():
        for _fault in _tried(_strike, _faults):
            _row, _what, _alter = FAULTS[_fault]
            broken(
                "shows in some answers",
                f"{_operation[0].upper()}{_operation[1:]}{_strike}{_fault}",
                f"{_when[0].upper()}{_when[1:]} {_what}.",
                OneOfSeveral,
                f"{_operation}.{_row}",
                warns=_EXTRA.get(_fault, ()),
                hides=_OF_PHONE if (_operation, _strike) == ("executePix", "ByChance") else (),
                OPERATION=_operation,
                strikes=_strikes,
                alter=lambda self, response, alter=_alter: alter(response),
            )


@mutant("shows for some deletions", "deletePixKey.status", "deletePixKey.json")
class DeletionOfAnEmailHasNoContent(Service):
    """The deletion of an EMAIL key has the status 204."""

    def finish(self, request: Request, operation: str | None, response: Response) -> Response:
        meant = operation == "deletePixKey" and response.status == 200
        return Response(204, b"") if meant and "@" in str(members_of(request).get("pixKey")) else response


@mutant("shows for some deletions", "deletePixKey.envelope.data.type")
class DeletionOfACpfHasNullData(Service):
    """The data of the deletion of a CPF is null."""

    def finish(self, request: Request, operation: str | None, response: Response) -> Response:
        meant = operation == "deletePixKey" and response.status == 200
        short = len(str(members_of(request).get("pixKey"))) == 11
        return Response(200, b'{"code": 0, "data": null}', response.headers) if meant and short else response
