"""What may be shown of an exchange. The page, and the list of requests in conformance.json, are made from this alone.

An exchange itself has tokens, account numbers and names as they went over the wire, so it stays in memory. For each
exchange the data of the run (`Run`) have a `ShownExchange`. There are two sorts:

- If nothing in the report refers to the exchange: an outline, without headers, bodies and shell lines.
- If something refers to it: all that may be shown of the exchange, and the shell lines that send its request again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from reports.showing.request_parts import shown_parts
from reports.showing.resending import Resending
from reports.showing.show import Display, printable
from spec.exchange import Exchange, Headers, Response
from spec.findings import Finding
from spec.interface import operations

UNDOCUMENTED = "(an undocumented path)"
"""Shown instead of the operation of a request to a path that the interface document does not have."""
_MOST_HEADERS = 50
"""Most headers of a response that are looked at, because a faulty service may send thousands. A choice."""


@dataclass(frozen=True)
class ShownRequest:
    """What may be shown of a request. An outline has no headers and no body."""

    method: str
    url: str
    headers: Headers = ()
    body: str = ""


@dataclass(frozen=True)
class ShownResponse:
    """What may be shown of a response. An outline has no headers and no body."""

    status: int
    cut: str  # the limit of the suite that cut the body short; empty if none did
    headers: Headers = ()
    body: str = ""


@dataclass(frozen=True)
class ShownExchange:
    """What may be shown of an exchange. It has a response, or the kind of the failure if no response came."""

    number: int  # place in the order of sending, from 1
    operation: str  # its operationId; UNDOCUMENTED or empty for an undocumented path
    credential: str  # name of the token or header that was sent: "valid", "no header", "the token cut short"
    started: float  # seconds since 1970
    elapsed_ms: float
    beside: int  # how many other requests were on the wire meanwhile
    part: str  # `Exchange.generator` under its published name: what generated it; empty if nothing did
    purpose: str  # why it was sent; empty if no scenario sent it
    request: ShownRequest
    response: ShownResponse | None = None
    failure_kind: str = ""  # why there is no response, in a few words; empty if there is one
    failure: str = ""  # the same with its details; empty in an outline
    lines_that_resend: str = ""  # lines of a shell that send the request again; empty in an outline


def shown_in_outline(exchange: Exchange) -> ShownExchange:
    """A summary of one request and its response without headers and bodies: operation, purpose, times, method, status.

    The run records only this for an exchange to which nothing in the report refers. There are no shell lines that send
    the request again, either. The address is the path template of the operation, such as /v1/pix/keys/{accountId}, so
    nothing secret is in the summary.
    """
    operation = operations().get(exchange.operation)
    response = exchange.response
    return ShownExchange(
        number=exchange.number,
        operation=exchange.operation,
        credential=exchange.credential,
        started=exchange.started,
        elapsed_ms=round(exchange.elapsed_s * 1000, 1),
        beside=exchange.beside,  # how many other requests were on the wire at the same time
        part=exchange.generator,  # such as "sequences"; empty if a scenario sent the request
        purpose=exchange.purpose.value if exchange.purpose else "",
        request=ShownRequest(exchange.request.method, operation.path if operation else ""),
        response=ShownResponse(response.status, response.cut) if response else None,
        failure_kind=exchange.failure.kind.value if exchange.failure else "",
    )


def shown_in_full(exchange: Exchange, resending: Resending) -> ShownExchange:
    """One request and its response, as far as they may be shown, with the shell lines that send the request again.

    The run records this for an exchange to which the report refers, so that a reader can see and repeat what happened.
    The splitter cuts the request into parts: texts that may be shown, and secret values, which become placeholders.
    """
    display = resending.display
    request = resending.splitter.parts_of(exchange.request)
    failure = exchange.failure
    return replace(
        shown_in_outline(exchange),
        operation=exchange.operation or UNDOCUMENTED,
        request=ShownRequest(
            method=exchange.request.method,
            url=shown_parts(request.url),
            headers=tuple((printable(name), shown_parts(value)) for name, value in request.headers),
            body=shown_parts(request.body),
        ),
        response=shown_response(exchange.response, display) if exchange.response else None,
        failure=display.without_known_values(f"{failure.kind.value}: {failure.message}") if failure else "",
        lines_that_resend="\n".join(resending.lines(exchange, request)),
    )


def shown_finding(finding: Finding, display: Display) -> Finding:
    """A finding, which tells what the service answered wrongly, as it may be shown.

    Its texts have no token, account number, key or code of the run. Its JSON pointers have `*` for a member name that
    may be data.
    """
    pointers = tuple(map(display.shown_pointer, finding.pointers))
    return replace(finding.map(display.without_known_values), pointers=pointers)


def shown_response(response: Response, display: Display) -> ShownResponse:
    """A response with its status, and with its headers and body as far as they may be shown in a report."""
    return ShownResponse(
        status=response.status,
        cut=response.cut,  # the limit of the suite that cut the body short; empty if none did
        headers=display.shown_headers(response.headers[:_MOST_HEADERS]),
        body=display.shown_body(response.start, response.header("Content-Type"), size=response.size),
    )
