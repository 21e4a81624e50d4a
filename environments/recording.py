"""Exchanges made of what `requests` sent and what came back."""

from __future__ import annotations

import time
from dataclasses import dataclass

import requests

from environments.authorization import VALID
from spec.exchange import Exchange, Failure, Request, Response


@dataclass(frozen=True)
class Intent:
    """What a request is for: the operation ("" for a path that nobody documented), the credential, and whether
    the document promises a success."""

    operation: str
    credential: str = VALID
    good: bool = False


class Unfollowed(requests.Response):
    """A response that a session follows nowhere: a redirect is an answer like any other."""

    is_redirect = False
    is_permanent_redirect = False


def recorded(
    number: int, intent: Intent, request: requests.PreparedRequest, result: Response | Failure, started: float
) -> Exchange:
    """The exchange of a request that was sent at `started`, in seconds since 1970."""
    return Exchange(
        number,
        intent.operation,
        _sent(request),
        response=result if isinstance(result, Response) else None,
        failure=result if isinstance(result, Failure) else None,
        credential=intent.credential,
        good=intent.good,
        started=started,
        elapsed_s=time.time() - started,
    )


def _sent(request: requests.PreparedRequest) -> Request:
    body = request.body or b""
    headers = tuple((str(name), _as_text(value)) for name, value in request.headers.items())
    return Request(
        request.method or "",
        request.url or "",
        headers,
        body.encode() if isinstance(body, str) else bytes(body),
    )


def _as_text(value: object) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)
