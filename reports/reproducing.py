"""The lines that send an exchange again: what to know first, how to prepare a new code, and the line itself."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from environments.door.authorization import VALID
from reports.redaction import Redactor
from spec.exchange import Exchange
from spec.interface import MONEY, operations

_CODE = re.compile(r"\$\{(CODE(?:_[0-9]+)?):\?([^}]*)\}")
MOVES_MONEY = "# this line moves money: "
EXECUTES = MOVES_MONEY + "it executes the transfer of {0}; the run has sent that code, set {0} to another one"
MAY_MOVE = "# this line may move money"


@dataclass(frozen=True)
class Preparation:
    """An exchange that prepared a transfer, and where its code stands in the answer (a JSON pointer)."""

    exchange: Exchange
    code_at: str


def reproduced(exchange: Exchange, redactor: Redactor, preparation: Preparation | None = None) -> str:
    """The lines, redacted. The last one sends the request of the exchange."""
    request = exchange.request
    line = redactor.curl(request.method, request.url, request.headers, request.body, _meaning(exchange))
    return "\n".join([*_before(exchange, line, redactor, preparation), line])


def _before(exchange: Exchange, line: str, redactor: Redactor, preparation: Preparation | None) -> Iterator[str]:
    """What is said before a line that moves money, or may."""
    operation = operations().get(exchange.operation)
    if operation is None or operation.permission not in MONEY:
        return
    if operation.permission != "execute":
        yield from [MAY_MOVE] if exchange.valid else []
    elif code := _CODE.search(line):
        yield EXECUTES.format(code[1])
        if preparation and "prepare a new one" in code[2]:
            yield from _preparing(code[1], redactor, preparation)


def _preparing(name: str, redactor: Redactor, preparation: Preparation) -> Iterator[str]:
    """A line that prepares a transfer and keeps its code."""
    request = preparation.exchange.request
    line = redactor.curl(request.method, request.url, request.headers, request.body, shows_headers=False)
    parts = preparation.code_at.split("/")[1:]
    names = [part.replace("~1", "/").replace("~0", "~") for part in parts]
    path = "".join(f"[{part if part.isdecimal() else json.dumps(part)}]" for part in names)
    yield MAY_MOVE
    if "'" not in path:
        yield f"{name}=\"$({line} | python3 -c 'import sys, json; print(json.load(sys.stdin){path})')\""


def _meaning(exchange: Exchange) -> str:
    return "as it was sent" if exchange.credential == VALID else exchange.credential
