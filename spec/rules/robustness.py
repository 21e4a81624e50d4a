"""The suite's own policy: no server error, no stack trace and no dropped connection for a client's mistake."""

from __future__ import annotations

import re

from spec.exchange import Exchange, FailureKind
from spec.rules.judgement import HOLDS, Judgement, deviates, hidden

_TRACE = re.compile(
    rb"Traceback \(most recent call last\)|^\s+at [\w.$<>]+\([\w.]+:\d+\)|\bat [\w.$]+ in .+:line \d+"
    rb"|^\s+at \w+(?:\.[\w`<>$+]+)+(?:\[[^\]\r\n]*\])?\([^()\r\n]*\)(?: in .+:line \d+)?\r?$|\.rb:\d+:in [`']"
    rb"|Werkzeug Debugger|Whitelabel Error Page|goroutine \d+ \[running\]|Stack trace:\s*#0 "
    rb"|^\s+at .+ \(?[\w/.:\\-]+\.[jt]s:\d+:\d+\)?|panicked at |java\.lang\.\w+(?:Exception|Error)\b"
    rb"|You're seeing this error because you have <code>DEBUG = True|Fatal error: Uncaught",
    re.MULTILINE,
)
_LOOKED_AT = 65_536
_STANDARD_METHODS = {"GET", "POST", "DELETE"}


def server_error(exchange: Exchange) -> Judgement:
    if exchange.response is None:
        return hidden(f"no answer: {exchange.summary}")
    status = exchange.response.status
    lawful = status < 500 or status in (502, 503, 504)
    if lawful or (status == 501 and exchange.request.method not in _STANDARD_METHODS):
        return HOLDS
    return deviates(f"status {status} for {_sent(exchange)}")


def stack_trace(exchange: Exchange) -> Judgement:
    if exchange.response is None:
        return hidden(f"no answer: {exchange.summary}")
    shown = _TRACE.search(_unescaped(exchange.response.body[:_LOOKED_AT]))
    return deviates(f"the answer shows a stack trace or a debug page for {_sent(exchange)}") if shown else HOLDS


def _unescaped(body: bytes) -> bytes:
    """The body with the line breaks of JSON strings as line breaks: a trace may be told inside one."""
    return body.replace(b"\\r", b"\r").replace(b"\\n", b"\n").replace(b"\\t", b"\t")


def dropped(exchange: Exchange) -> Judgement:
    if exchange.failure and exchange.failure.kind is FailureKind.DROPPED:
        return deviates(f"the connection was dropped without an answer to {_sent(exchange)}")
    return HOLDS if exchange.response else hidden(f"no answer: {exchange.summary}")


def _sent(exchange: Exchange) -> str:
    asked = "a good request" if exchange.good else "a request that may be refused"
    return f"{asked} ({exchange.request.method})"
