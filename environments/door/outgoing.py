"""A request on its way through the door, and what its policies need to know of it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from environments.door.authorization import VALID
from spec.exchange import Exchange, Request
from spec.interface import MONEY, operations

if TYPE_CHECKING:
    import requests

    from environments.door.in_flight import Meeting


class NotSentError(Exception):
    """A request is not sent. The text says why. `is_limit`: for a limit, which the report names with the operations
    that it cut short."""

    is_limit = False


class LimitError(NotSentError):
    """A request is not sent, for a limit of the profile or of the suite."""

    is_limit = True


@dataclass(frozen=True)
class Intent:
    """What a request is for: the operation ("" for an undocumented path), the credential, and whether the interface
    document promises a success. `alone`: nothing else of the run is on the wire meanwhile. `part` names the part of the
    generated traffic that judges its answer, if any."""

    operation: str
    credential: str = VALID
    valid: bool = False
    alone: bool = False
    part: str = ""

    @property
    def may_move_money(self) -> bool:
        """Whether a valid request to the operation creates or moves money."""
        operation = operations().get(self.operation)
        return bool(self.valid and operation and operation.permission in MONEY)


@dataclass(frozen=True)
class Again:
    """The decision of a policy to have the request sent once more, when every pause is over; `alone` on the wire."""

    alone: bool = False


@dataclass
class Sending:
    """One request from the moment it is asked for until its answer stands.

    `code` is the real transaction code in its path, `with_token` says that it carries the access token, under whatever
    scheme. `meeting` is with a request that leaves at the same moment. `attempt` sends it once, by the policies around
    one attempt. It sets `departure`, which counts the requests in the order in which they left the process, and
    `exchange`. `doubted` is an answer that other requests on the wire may have caused, where another one stands by now.
    `put_off` and `lost` count the attempts that were repeated, as they were answered "later" or not at all. `claimed`:
    room for an execution is taken, and it was not sent yet. `is_lost`: it was sent, and got no answer.
    `cleans_up`: it lists or deletes keys while the run has one to delete.
    `held` is closed when the answer stands.
    """

    request: requests.PreparedRequest
    intent: Intent
    attempt: Callable[[Sending], None]
    code: str | None = None
    with_token: bool = False
    departure: int = 0
    held: ExitStack = field(default_factory=ExitStack)
    put_off: int = 0
    lost: int = 0
    claimed: bool = False
    is_lost: bool = False
    cleans_up: bool = False
    doubted: Exchange | None = None
    meeting: Meeting | None = None
    exchange: Exchange = field(init=False)

    @property
    def executes(self) -> bool:
        """Whether it carries a real code and the access token."""
        return self.with_token and self.code is not None

    @property
    def meets(self) -> bool:
        """True where it leaves at the same moment as another request, which an attempt that is repeated does not."""
        return self.meeting is not None and not self.put_off and not self.lost and not self.doubted

    @property
    def repeatable(self) -> bool:
        """Whether sending it again cannot move money a second time."""
        return not self.code and not self.intent.may_move_money

    @property
    def sent(self) -> Request:
        """The request as it goes over the wire."""
        headers = tuple((str(name), _text(value)) for name, value in self.request.headers.items())
        return Request(self.request.method or "", self.request.url or "", headers, body_of(self.request))

    def send_again(self) -> bool:
        """Send the request once more. False where a limit is spent; then the last answer stands."""
        try:
            self.attempt(self)
        except NotSentError:
            return False
        return True

    def send_other(self, request: requests.PreparedRequest, intent: Intent) -> Exchange | None:
        """Send another request, which carries no code, once; after one that was lost over a fresh connection, too. None
        where a limit is spent."""
        other = Sending(request, intent, self.attempt, with_token=intent.credential == VALID, is_lost=self.is_lost)
        return other.exchange if other.send_again() else None

    def reproduce(self) -> Exchange | None:
        """Send the request once more, to see whether its answer is the same; the first answer stands. None where that
        might move money, or a limit is spent."""
        return self.send_other(self.request, self.intent) if self.repeatable else None

    def replace_token(self, before: str, now: str) -> None:
        """Carry another access token than the request was made with."""
        self.request.headers["Authorization"] = str(self.request.headers["Authorization"]).replace(before, now)


Policy = Callable[[Sending], object]
"""One step of the door. It may wait, note, send something else, or raise NotSentError."""
Decision = Callable[[Sending], Again | None]
"""A step that decides whether the answer stands, as far as the step knows, or the request goes again."""


def body_of(request: requests.PreparedRequest) -> bytes:
    """The body as it goes over the wire."""
    body = request.body or b""
    return body.encode() if isinstance(body, str) else bytes(body)


def _text(value: object) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)
