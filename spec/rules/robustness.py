"""The suite's own policy: no request ends in a server error, a stack trace or a dropped connection."""

from __future__ import annotations

from spec.answers import RefusalKind, refusal_kind
from spec.exchange import Exchange, FailureKind, Response
from spec.rules.stack_traces import shows_a_trace
from spec.rules.table import Contrast, InconclusiveError, rule

ROBUSTNESS = ("serverError", "stackTrace", "connection")
"""The requirements of every operation that all of its exchanges answer for."""
_STANDARD_METHODS = {"GET", "POST", "DELETE"}


@rule("""
    executePix.serverError registerPixKey.serverError deletePixKey.serverError listPixKeys.serverError
    listAccounts.serverError getBalance.serverError listEntries.serverError createPix.serverError
    transferExternal.serverError transferInternal.serverError transferP2p.serverError
""")
def no_server_error(exchange: Exchange) -> str:
    """No request to {operation} ends in a server error."""
    response = _response_in(exchange)
    kind, standard = refusal_kind(response), exchange.request.method in _STANDARD_METHODS
    if kind is RefusalKind.SERVER_ERROR or (kind is RefusalKind.NOT_IMPLEMENTED and standard):
        return Contrast(f"no server error for {_sent(exchange)}", f"status {response.status}")
    return ""


@rule("""
    executePix.stackTrace registerPixKey.stackTrace deletePixKey.stackTrace listPixKeys.stackTrace
    listAccounts.stackTrace getBalance.stackTrace listEntries.stackTrace createPix.stackTrace
    transferExternal.stackTrace transferInternal.stackTrace transferP2p.stackTrace
""")
def no_stack_trace(exchange: Exchange) -> str:
    """No response of {operation} contains a stack trace or a debug page."""
    shown = shows_a_trace(_response_in(exchange))
    return Contrast(f"no stack trace or debug page for {_sent(exchange)}", "one") if shown else ""


@rule("""
    executePix.connection registerPixKey.connection deletePixKey.connection listPixKeys.connection
    listAccounts.connection getBalance.connection listEntries.connection createPix.connection
    transferExternal.connection transferInternal.connection transferP2p.connection
""")
def no_dropped_connection(exchange: Exchange) -> str:
    """No request to {operation} ends in a connection that is dropped without a response."""
    failure = exchange.failure
    if failure and failure.kind is FailureKind.DROPPED and not failure.kept:
        return Contrast(f"a response to {_sent(exchange)}", "a dropped connection")
    _response_in(exchange)
    return ""


def _response_in(exchange: Exchange) -> Response:
    if exchange.response is None:
        raise InconclusiveError(f"no answer: {exchange.summary}")
    return exchange.response


def _sent(exchange: Exchange) -> str:
    kind = "a valid request" if exchange.expects_success else "an invalid request"
    return f"{kind} ({exchange.request.method})"
