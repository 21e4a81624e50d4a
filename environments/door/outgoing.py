"""A request on its way through the door, and what its policies need to know of it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from spec.exchange import VALID, Exchange, Purpose, Request
from spec.interface import MONEY, operations, operations_reached

if TYPE_CHECKING:
    import requests


class NotSentError(Exception):
    """A request is not sent. The text says why."""


class LimitError(NotSentError):
    """A request is not sent, for a limit of the profile or of the suite. The report names the operations that it cut
    short."""


@dataclass(frozen=True)
class Intent:
    """What a request is meant as: the operation ("" for an undocumented path), the credential, and `valid`, true if the
    interface document promises success. `part` names the part of the generated traffic that judges its answer,
    `written` the unusual ways in which it is written, `purpose` says why it is sent, and `unusual` what makes a request
    of a class of invalid ones invalid: the part, and how. Its exchange has all of these."""

    operation: str
    credential: str = VALID
    valid: bool = False
    part: str = ""
    written: tuple[str, ...] = ()
    purpose: Purpose | None = None
    unusual: tuple[str, str] = ("", "")


@dataclass(eq=False)
class Sending:
    """One request from the moment it is asked for until its answer stands. It may be sent several times: then `number`,
    `beside`, `is_lost` and `exchange` are those of the last attempt."""

    request: requests.PreparedRequest
    intent: Intent
    code: str | None = None
    """The real transaction code in its path."""
    with_token: bool = False
    """It carries the access token, under whatever scheme."""
    path: str = ""
    """Its path below base_url, as it goes over the wire."""
    cleans_up: bool = False
    """It deletes a key of the run that may still be there, or lists the keys of an account that may have one. What the
    limits keep for the end is for these requests alone."""
    meeting: threading.Barrier | None = None
    """Barrier at which it waits for another request, to leave at the same moment."""
    held: ExitStack = field(default_factory=ExitStack)
    """Resources that are closed when the answer stands."""
    once_more: bool = False
    """It was sent before, and goes once more with nothing else on the wire."""
    asks_again: bool = False
    """It has the first code that this run executed, and no valid token."""
    supersedes: int = 0
    """Number of the exchange whose answer the next one takes the place of; 0 if there is none."""
    repeats: int = 0
    """Number of the exchange whose request this is once more, to see whether its answer stays the same."""
    number: int = 0
    beside: int = 0
    """The other requests that were on the wire at any time of it."""
    window: int = 0
    """The number of places there were when it got its own."""
    is_lost: bool = False
    """It was sent, and got no answer."""
    put_off: int = 0
    lost: int = 0
    """Attempts that were answered "later", or not at all."""
    exchange: Exchange = field(init=False)

    @cached_property
    def reaches(self) -> frozenset[str]:
        """The operations that a server could take it for."""
        return operations_reached(self.request.method or "", self.path)

    @property
    def executes(self) -> bool:
        """True if it carries a real code and the access token."""
        return self.with_token and self.code is not None

    @property
    def repeatable(self) -> bool:
        """True if sending it again cannot move money a second time."""
        operation = operations().get(self.intent.operation)
        return not (self.code or (self.intent.valid and operation and operation.permission in MONEY))

    @property
    def sent(self) -> Request:
        """The request as it goes over the wire."""
        headers = tuple((str(name), _text(value)) for name, value in self.request.headers.items())
        body = self.request.body or b""
        body = body.encode() if isinstance(body, str) else bytes(body)
        return Request(self.request.method or "", self.request.url or "", headers, body)


Policy = Callable[[Sending], object]
"""One step of the door. It may wait, note, send something else, or raise NotSentError."""
Decision = Callable[[Sending], bool | None]
"""A step that looks at an answer. True if the request goes again; else it stands as far as the step knows."""


def _text(value: object) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)
