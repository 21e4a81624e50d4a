"""A request on its way through the door (`Sending`), and the facts that the policies need about it.

Self-tests: environments/door/test_door.py.
"""

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
    """A request is not sent because of a limit of the profile or of the suite. The report names the operations to which
    not all requests were sent."""


@dataclass(frozen=True)
class Intent:
    """What a request is meant as. Its exchange has the same members."""

    operation: str  # empty for an undocumented path
    credential: str = VALID  # the name of a form of wrong_tokens.py
    valid: bool = False  # True if the interface document promises success
    part: str = ""  # name of the part of the generated traffic that judges its answer
    spelling: tuple[str, ...] = ()  # unusual ways in which it is written, such as two slashes
    purpose: Purpose | None = None  # why it is sent
    unusual: tuple[str, str] = ("", "")  # of an invalid request: the part that is invalid, and in which way

    @property
    def is_generated(self) -> bool:
        """True if Hypothesis or Schemathesis drew the request; False if a scenario sends it."""
        return bool(self.part)


@dataclass(eq=False)
class Sending:
    """One request, from the moment it is asked for until its answer stands.

    It may be sent several times: then `number`, `beside`, `is_lost` and `exchange` are those of the last attempt.
    """

    request: requests.PreparedRequest
    intent: Intent
    code: str | None = None
    """The real transaction code in its path; None if there is none."""
    with_token: bool = False
    """True if it carries the access token, under whatever scheme."""
    path: str = ""
    """The path below base_url, as it goes over the wire."""
    cleans_up: bool = False
    """True if it deletes a key of the run that may still be there, or lists the keys of an account that may have one.
    The requests and the time that the limits keep for the end are for these requests alone."""
    meeting: threading.Barrier | None = None
    """The barrier at which it waits for another request, so that both leave at the same moment."""
    held: ExitStack = field(default_factory=ExitStack)
    """Resources, such as the turn of the journal, that are released when the answer stands."""
    once_more: bool = False
    """True if it was sent before, and is sent once more with nothing else on the wire."""
    asks_again: bool = False
    """True if it has the first code that this run executed, and no valid token."""
    supersedes: int = 0
    """Number of the exchange whose answer is replaced by the next one; 0 if there is none."""
    repeats: int = 0
    """Number of the exchange whose request it repeats, to see if the answer stays the same; 0 if there is none."""
    number: int = 0
    """Number of its exchange; 0 while it was not sent."""
    beside: int = 0
    """Number of other requests that were on the wire at any time while it was there."""
    window: int = 0
    """Number of places on the wire when it got its own."""
    is_lost: bool = False
    """True if it was sent and got no answer."""
    put_off: int = 0
    """Number of attempts that were answered "later"."""
    lost: int = 0
    """Number of attempts that got no answer."""
    exchange: Exchange = field(init=False)
    """The exchange of the last attempt, or of a request that was not sent. It is set when the door is done with it."""

    @cached_property
    def reaches(self) -> frozenset[str]:
        """The operations that a server could take the request for."""
        return operations_reached(self.request.method or "", self.path)

    @property
    def executes(self) -> bool:
        """True if it carries a real code and the access token."""
        return self.with_token and self.code is not None

    @property
    def repeatable(self) -> bool:
        """True if sending it again cannot move money a second time, nor prepare a second transfer."""
        operation = operations().get(self.intent.operation)
        moves_money = operation is not None and operation.permission in MONEY
        is_valid_for_money = self.intent.valid and moves_money
        return not self.code and not is_valid_for_money

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
    """The value of a header: `requests` keeps some as bytes, in Latin-1 as RFC 9110 section 5.5 reads them."""
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)
