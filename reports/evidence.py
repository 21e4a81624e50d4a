"""Exchanges as evidence: dictionaries of what may be shown of them, with the lines that send them again."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from reports.curl import Resending, shown_parts
from reports.show import printable
from spec.answers import is_refusal
from spec.exchange import Exchange
from spec.interface import MONEY, operations

Evidence = dict[str, Any]
"""An exchange as `outline` and `evidence` give it."""
_CODE = re.compile(r"\$\{(CODE(?:_[0-9]+)?):\?")
MOVES_MONEY = "# this line moves money: "
EXECUTES = MOVES_MONEY + "it executes the transfer of {0}; the run has sent that code, set {0} to another one"
MAY_MOVE = "# this line may move money"


def outline(exchange: Exchange) -> Evidence:
    """One exchange without its content: all of it may be shown."""
    operation, response, failure = operations().get(exchange.operation), exchange.response, exchange.failure
    content = {"headers": [], "body": ""}
    shown: Evidence = {
        "number": exchange.number,
        "operation": exchange.operation,
        "credential": exchange.credential,
        "started": exchange.started,
        "elapsed_ms": round(exchange.elapsed_s * 1000, 1),
        "beside": exchange.beside,
        "part": exchange.part,
        "request": {"method": exchange.request.method, "url": operation.path if operation else "", **content},
        "curl": "",
    }
    shown |= {"response": {"status": response.status, "cut": response.cut, **content}} if response else {}
    return shown | ({"failure": failure.kind.value} if failure else {})


def evidence(exchange: Exchange, resending: Resending) -> Evidence:
    """One exchange in the same shape with its content, as far as it may be shown, and the lines that send it again."""
    response, failure, display = exchange.response, exchange.failure, resending.display
    shown, sent = outline(exchange), resending.sent(exchange.request)
    shown |= {"operation": exchange.operation or "(an undocumented path)"}
    shown |= {"curl": "\n".join(_reproduced(exchange, resending))}
    headers = [[printable(name), shown_parts(value)] for name, value in sent.headers]
    shown["request"] |= {"url": shown_parts(sent.url), "headers": headers, "body": shown_parts(sent.body)}
    if response:
        media_type, refusal = response.header("Content-Type"), is_refusal(response)
        body = display.body(response.start, media_type, refusal=refusal, size=response.size)
        shown["response"] |= {"headers": display.headers(response.headers[:50]), "body": body}
    if failure:
        shown["failure"] = display.foreign(f"{failure.kind.value}: {failure.message}")
    return shown


def _reproduced(exchange: Exchange, resending: Resending) -> Iterator[str]:
    """What is said of a line that moves money, or may; and the line, which sends the request."""
    line = resending.curl(exchange.request)
    operation = operations().get(exchange.operation)
    permission = operation.permission if operation else ""
    if permission == "execute" and (code := _CODE.search(line)):
        yield EXECUTES.format(code[1])
    elif permission in MONEY - {"execute"} and exchange.valid:
        yield MAY_MOVE
    yield line
