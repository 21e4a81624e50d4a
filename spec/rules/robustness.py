"""The suite's own policy: no server error, no stack trace and no dropped connection for a client's mistake."""

from __future__ import annotations

from spec.answers import RefusalKind, refusal_kind
from spec.exchange import Exchange, FailureKind
from spec.rules.judgement import HOLDS, Judgement, deviates, inconclusive
from spec.rules.stack_traces import shows_a_trace

_STANDARD_METHODS = {"GET", "POST", "DELETE"}


def server_error(exchange: Exchange) -> Judgement:
    if exchange.response is None:
        return inconclusive(f"no answer: {exchange.summary}")
    kind, standard = refusal_kind(exchange.response), exchange.request.method in _STANDARD_METHODS
    if kind is RefusalKind.SERVER_ERROR or (kind is RefusalKind.NOT_IMPLEMENTED and standard):
        return deviates(f"status {exchange.response.status} for {_sent(exchange)}")
    return HOLDS


def stack_trace(exchange: Exchange) -> Judgement:
    if exchange.response is None:
        return inconclusive(f"no answer: {exchange.summary}")
    if not shows_a_trace(exchange.response.body):
        return HOLDS
    return deviates(f"the answer shows a stack trace or a debug page for {_sent(exchange)}")


def dropped(exchange: Exchange) -> Judgement:
    if exchange.failure and exchange.failure.kind is FailureKind.DROPPED and not exchange.failure.kept:
        return deviates(f"the connection was dropped without an answer to {_sent(exchange)}")
    return HOLDS if exchange.response else inconclusive(f"no answer: {exchange.summary}")


def _sent(exchange: Exchange) -> str:
    asked = "a valid request" if exchange.valid else "an invalid request"
    return f"{asked} ({exchange.request.method})"
