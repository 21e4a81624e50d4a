"""Exchanges as evidence: dictionaries of what may be shown of them, with the lines that send them again."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from environments.door.authorization import VALID
from reports.resending import AS_SENT, Resending, shown_body, shown_parts
from reports.show import printable
from spec.answers import is_refusal
from spec.exchange import Exchange
from spec.interface import MONEY, operations
from spec.json_text import parts_of_pointer, read_json
from spec.rules.table import type_of

_CODE = re.compile(r"\$\{(CODE(?:_[0-9]+)?):\?([^}]*)\}")
MOVES_MONEY = "# this line moves money: "
EXECUTES = MOVES_MONEY + "it executes the transfer of {0}; the run has sent that code, set {0} to another one"
MAY_MOVE = "# this line may move money"


@dataclass(frozen=True)
class Preparation:
    """An exchange that prepared a transfer, and where its code stands in the answer (a JSON pointer)."""

    exchange: Exchange
    code_at: str


def reproduced(exchange: Exchange, resending: Resending, preparation: Preparation | None) -> str:
    """The lines; the last one sends the request of the exchange."""
    line = resending.curl(exchange.request, AS_SENT if exchange.credential == VALID else exchange.credential)
    return "\n".join([*_before(exchange, line, resending, preparation), line])


def _before(exchange: Exchange, line: str, resending: Resending, preparation: Preparation | None) -> Iterator[str]:
    """What is said before a line that moves money, or may."""
    operation = operations().get(exchange.operation)
    if operation is None or operation.permission not in MONEY:
        return
    if operation.permission != "execute":
        yield from [MAY_MOVE] if exchange.valid else []
    elif code := _CODE.search(line):
        yield EXECUTES.format(code[1])
        if preparation and "prepare a new one" in code[2]:
            yield from _preparing(code[1], resending, preparation)


def _preparing(name: str, resending: Resending, preparation: Preparation) -> Iterator[str]:
    """A line that prepares a transfer and keeps its code."""
    line = resending.curl(preparation.exchange.request, shows_headers=False)
    parts = parts_of_pointer(preparation.code_at)
    path = "".join(f"[{part if part.isdecimal() else json.dumps(part)}]" for part in parts)
    yield MAY_MOVE
    if "'" not in path:
        yield f"{name}=\"$({line} | python3 -c 'import sys, json; print(json.load(sys.stdin){path})')\""


_SPECIAL = re.compile(r"[^A-Za-z0-9._-]")
_LONG = 1_000


def outline(exchange: Exchange) -> dict[str, Any]:
    """One exchange without its content: all of it may be shown."""
    operation, request = operations().get(exchange.operation), exchange.request
    shown: dict[str, Any] = {
        "number": exchange.number,
        "operation": exchange.operation,
        "credential": exchange.credential,
        "input": input_class(exchange),
        "started": exchange.started,
        "elapsed_ms": round(exchange.elapsed_s * 1000, 1),
        "beside": exchange.beside,
        "part": exchange.part,
        "request": {"method": request.method, "url": operation.path if operation else "", "headers": [], "body": ""},
        "curl": "",
    }
    if exchange.response is not None:
        shown["response"] = {"status": exchange.response.status, "headers": [], "body": "", "cut": ""}
    if exchange.failure is not None:
        shown["failure"] = exchange.failure.kind.value
    return shown


def evidence(exchange: Exchange, resending: Resending, preparation: Preparation | None = None) -> dict[str, Any]:
    """One exchange in the same shape with its content, as far as it may be shown, and the lines that send it again."""
    response, failure, display = exchange.response, exchange.failure, resending.display
    shown, line = outline(exchange), resending.line(exchange.request)
    shown["operation"] = exchange.operation or "(an undocumented path)"
    shown["request"] |= {
        "url": printable(shown_parts(line.url)),
        "headers": [[printable(name), printable(shown_parts(value))] for name, value in line.headers],
        "body": shown_body(line) if line.size else "",
    }
    shown["curl"] = reproduced(exchange, resending, preparation)
    if response is not None:
        media_type, is_refused = response.header("Content-Type"), is_refusal(response)
        shown["response"] |= {
            "headers": display.headers(response.headers[:50]),
            "body": display.body(response.start, media_type, refusal=is_refused, size=response.size),
            "cut": response.cut,
        }
    if failure is not None:
        shown["failure"] = display.foreign(f"{failure.kind.value}: {failure.message}")
    return shown


def input_class(exchange: Exchange) -> str:
    """What is unusual about a request whatever the operation: its credential, a body that is no object, the special
    characters of its path parameter. Empty for others; it holds no value."""
    if exchange.credential != VALID:
        return exchange.credential
    if exchange.request.method == "GET":
        return _path_class(exchange.request.last_segment)
    text = read_json(exchange.request.body)
    if text.error or text.limit:
        return "no body" if not exchange.request.body else "a body that is not JSON"
    return "" if isinstance(text.value, dict) else f"a body that is {type_of(text.value)}"


def _path_class(parameter: str) -> str:
    special = "".join(sorted({"é" if ord(character) > 126 else character for character in _SPECIAL.findall(parameter)}))
    long = "a long path parameter" if len(parameter) > _LONG else ""
    return f"{long} {special!r}" if special else long
