"""Exchanges made of what `requests` sent and what came back."""

from __future__ import annotations

import time
from collections.abc import Container
from dataclasses import dataclass

import requests

from environments.door.authorization import VALID
from spec.exchange import Exchange, Failure, FailureKind, Request, Response

MOST_KEPT = 100_000_000
"""Bytes of large bodies, compressed, that a process keeps."""


@dataclass(frozen=True)
class Intent:
    """What a request is for: the operation ("" for a path that nobody documented), the credential, and whether
    the document promises a success."""

    operation: str
    credential: str = VALID
    valid: bool = False


class Unfollowed(requests.Response):
    """A response that a session follows nowhere: a redirect is an answer like any other."""

    is_redirect = False
    is_permanent_redirect = False


class Keeper:
    """Bounds the memory that answers take: past MOST_KEPT, a large one is not kept, and that is said."""

    def __init__(self) -> None:
        self._kept = 0

    def keep(self, result: Response | Failure) -> Response | Failure:
        """The result, or the limit that it exceeds."""
        if not isinstance(result, Response) or not result.kept[1]:
            return result
        size = len(result.kept[0])
        if self._kept + size > MOST_KEPT:
            return Failure(FailureKind.LIMIT, f"more answers than the suite keeps ({MOST_KEPT} bytes of large ones)")
        self._kept += size
        return result


def recorded(
    number: int,
    intent: Intent,
    request: requests.PreparedRequest,
    result: Response | Failure,
    started: float,
    excused: Container[int] = frozenset(),
) -> Exchange:
    """The exchange of a request that was sent at `started`, in seconds since 1970."""
    return Exchange(
        number,
        intent.operation,
        _sent(request),
        response=result if isinstance(result, Response) else None,
        failure=result if isinstance(result, Failure) else None,
        credential=intent.credential,
        valid=intent.valid,
        started=started,
        elapsed_s=time.time() - started,
        excused=excused,
    )


def body_of(request: requests.PreparedRequest) -> bytes:
    """The body as it goes over the wire."""
    body = request.body or b""
    return body.encode() if isinstance(body, str) else bytes(body)


def _sent(request: requests.PreparedRequest) -> Request:
    headers = tuple((str(name), _as_text(value)) for name, value in request.headers.items())
    return Request(
        request.method or "",
        request.url or "",
        headers,
        body_of(request),
    )


def _as_text(value: object) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)
