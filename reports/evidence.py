"""Exchanges as evidence: redacted dictionaries that may leave the process."""

from __future__ import annotations

from typing import Any

from spec.exchange import Exchange
from spec.interface import operations
from spec.redaction import Redactor


def evidence(exchange: Exchange, redactor: Redactor) -> dict[str, Any]:
    """One exchange, redacted: number, operation, request, response or failure, and a curl line that repeats it."""
    request = exchange.request
    shown: dict[str, Any] = {
        "number": exchange.number,
        "operation": exchange.operation or "(a path that nobody documented)",
        "credential": exchange.credential,
        "elapsed_ms": round(exchange.elapsed_s * 1000, 1),
        "request": {
            "method": request.method,
            "url": redactor.url(request.url),
            "headers": [list(header) for header in redactor.headers(request.headers)],
            "body": redactor.body(request.body, "application/json") if request.body else "",
        },
        "curl": redactor.curl(request.method, request.url, request.headers, request.body),
    }
    if exchange.response is not None:
        response = exchange.response
        shown["response"] = {
            "status": response.status,
            "headers": [list(header) for header in redactor.headers(response.headers[:50])],
            "body": redactor.body(response.body, response.header("Content-Type")),
            "cut": response.cut,
        }
    if exchange.failure is not None:
        shown["failure"] = redactor.text(f"{exchange.failure.kind.value}: {exchange.failure.message}")
    return shown


def outline(exchange: Exchange) -> dict[str, Any]:
    """One exchange in the same shape and without its content: nothing in it needs redaction."""
    operation = operations().get(exchange.operation)
    shown: dict[str, Any] = {
        "number": exchange.number,
        "operation": exchange.operation,
        "credential": exchange.credential,
        "elapsed_ms": round(exchange.elapsed_s * 1000, 1),
        "request": {
            "method": exchange.request.method,
            "url": operation.path if operation else "",
            "headers": [],
            "body": "",
        },
        "curl": "",
    }
    if exchange.response is not None:
        shown["response"] = {"status": exchange.response.status, "headers": [], "body": "", "cut": ""}
    if exchange.failure is not None:
        shown["failure"] = exchange.failure.kind.value
    return shown
