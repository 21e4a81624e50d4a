"""The suite's own policy: no request ends in a server error, a stack trace or a dropped connection."""

from __future__ import annotations

from spec.answers import RefusalKind, refusal_kind
from spec.exchange import Exchange, FailureKind, Response
from spec.findings import Finding, finding
from spec.json_text import leaves_of, pointer
from spec.message import Message, say
from spec.rules.stack_traces import shows_a_trace
from spec.rules.table import InconclusiveError, rule

ROBUSTNESS = ("serverError", "stackTrace", "connection")
"""The requirements of every operation that all of its exchanges answer for."""
_STANDARD_METHODS = {"GET", "POST", "DELETE"}


@rule("*.serverError")
def no_server_error(exchange: Exchange) -> Finding | None:
    """No request to {operation} ends in a server error."""
    response = _response_in(exchange)
    kind, standard = refusal_kind(response), exchange.request.method in _STANDARD_METHODS
    if kind is RefusalKind.SERVER_ERROR or (kind is RefusalKind.NOT_IMPLEMENTED and standard):
        return finding("server-error", request=_sent(exchange), status=response.status)
    return None


@rule("*.stackTrace")
def no_stack_trace(exchange: Exchange) -> Finding | None:
    """No response of {operation} contains a stack trace or a debug page."""
    response = _response_in(exchange)
    if not shows_a_trace(response):
        return None
    return finding("stack-trace", *_traces(response), request=_sent(exchange))


@rule("*.connection")
def no_dropped_connection(exchange: Exchange) -> Finding | None:
    """No request to {operation} ends in a connection that is dropped without a response."""
    failure = exchange.failure
    if failure and failure.kind is FailureKind.DROPPED and not failure.kept:
        return finding("dropped", request=_sent(exchange))
    _response_in(exchange)
    return None


def _traces(response: Response) -> list[str]:
    """JSON pointers to the texts of a body that show a trace; to the whole body where it is no JSON."""
    leaves = leaves_of(response.json.value) if response.json.readable else ()
    texts = ((path, leaf) for path, leaf in leaves if isinstance(leaf, str))
    shown = (path for path, leaf in texts if shows_a_trace(Response(200, (), leaf.encode("utf-8", "replace"))))
    return [pointer(*path) for path in shown] or [""]


def _response_in(exchange: Exchange) -> Response:
    if exchange.response is None:
        raise InconclusiveError(say("no answer: {answer}", answer=say(exchange.summary)))
    return exchange.response


def _sent(exchange: Exchange) -> Message:
    kind = say("a valid request") if exchange.expects_success else say("an invalid request")
    return say("{request} ({method})", request=kind, method=exchange.request.method)
