"""A request on its way through the door (`Sending`), and the facts that the policies need about it.

The door is the only way by which requests leave for the service (door.py). It asks an ordered list of policies before
and after it sends a request. A policy is one small rule, such as "a limit has room" or "no other run sends this code".
It may let the request pass, wait, or refuse it with NotSentError.

Self-tests: environments/door/test_door.py.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from environments.door.bodies import body_with_another_key
from spec.answers import RefusalKind, refusal_or_failure
from spec.exchange import VALID, Exchange, FailureKind, Purpose, Request
from spec.interface import MONEY_PERMISSIONS, operations, operations_reached
from spec.log import SEQUENCES

if TYPE_CHECKING:
    import requests


_MAY_HAVE_REGISTERED = {
    None,  # granted
    *(RefusalKind.SERVER_ERROR, RefusalKind.NOT_IMPLEMENTED, RefusalKind.GATEWAY),
    *(FailureKind.TIMEOUT, FailureKind.DROPPED, FailureKind.NOT_HTTP),
}
"""What became of a registration that may have registered its key although it has no right answer."""


def _may_have_registered_its_own_key(exchange: Exchange) -> bool:
    """True if an invalid registration may have registered a key that no other request names.

    Registrations in drawn sequences, and registrations of a scenario (a function that sends requests for a purpose),
    share their key with other requests. Only a single drawn request, or a request that is invalid in one part
    (`unusual`), has its own key.
    """
    is_invalid_registration = exchange.operation == "registerPixKey" and not exchange.valid
    has_valid_token = exchange.credential == VALID
    is_drawn_alone = exchange.is_generated and exchange.generator != SEQUENCES
    is_invalid_in_one_part = not exchange.is_generated and any(exchange.unusual)
    has_its_own_key = is_drawn_alone or is_invalid_in_one_part
    if not is_invalid_registration or not has_valid_token or not has_its_own_key:
        return False
    return refusal_or_failure(exchange) in _MAY_HAVE_REGISTERED


_BROKEN_PERCENT_ENCODING = re.compile("%(?![0-9A-Fa-f]{2})")


def has_broken_percent_encoding(target: str) -> bool:
    """True if a path has a percent sign without two hexadecimal digits behind it, as in `%zz` (RFC 3986 section 2.1).

    The libraries `requests` and `urllib3` encode such a percent sign, so it has to be written past them.
    """
    return _BROKEN_PERCENT_ENCODING.search(target) is not None


class NotSentError(Exception):
    """A request is not sent. The text says why."""


class LimitError(NotSentError):
    """A request is not sent because of a limit of the profile or of the suite. The report names the operations to which
    not all requests were sent."""


@dataclass(frozen=True)
class Intent:
    """What a request is meant to be. The exchange (the request with its answer) has the same members."""

    operation: str  # such as "listPixKeys"; empty for an undocumented path
    credential: str = VALID  # what is sent as the token: a name such as "no header" or "the token cut short"
    valid: bool = False  # True if the interface document promises success
    generator: str = ""  # of a generated request: what generated it, `sequences` or an operation; else empty
    spelling: tuple[str, ...] = ()  # unusual ways in which the request is written, such as two slashes in the path
    purpose: Purpose | None = None  # why it is sent
    unusual: tuple[str, str] = ("", "")  # of an invalid request: the part that is invalid, and in which way

    @property
    def is_generated(self) -> bool:
        """True if the request was drawn at random (by Hypothesis or Schemathesis); false if a test planned it.

        Only a drawn request has a `generator`, the name of the part of the suite that drew it.
        """
        return bool(self.generator)


@dataclass(eq=False)
class Sending:
    """One request, from the moment it is asked for until its answer is final.

    It may be sent several times, as several attempts. Then `number`, `beside`, `most_at_once`, `exchange` and
    `needs_new_connection` are about the last attempt. The answer is final if no policy (a step of the door) wants
    the request to be sent again.
    """

    request: requests.PreparedRequest
    intent: Intent
    code: str | None = None
    """The real transaction code in its path (one that may move money); None if there is none."""
    with_token: bool = False
    """True if it has the right access token, whatever the word before it in the Authorization header."""
    path: str = ""
    """The path below base_url, as it goes over the wire."""
    cleans_up: bool = False
    """True if it deletes a key of the run that may still be there, or lists the keys of an account that may have one.
    The requests and the time that the limits keep for the end are for these requests alone."""
    barrier: threading.Barrier | None = None
    """The barrier at which it waits for a request of another thread, so that both are sent at the same moment."""
    goes_first: bool = False
    """True if it is sent before others that wait for their turn, because further requests wait for its answer."""
    resources: ExitStack = field(default_factory=ExitStack)
    """Locks and callbacks of policies, which are released when the answer is final. An example is the lock of the
    journal, which keeps other runs from sending a code meanwhile."""
    is_repetition: bool = False
    """True if an earlier request, whose answer was final, is sent once more (`Door.send_again`)."""
    resends_executed_code: bool = False
    """True if it has the code that this run executed first, and no valid token. It is permitted, because nothing
    is left to execute."""
    may_name_another_key: bool = False
    """True if a repetition may name another made-up key, because the run may delete the keys that it registers."""
    supersedes: int = 0
    """Number of an earlier exchange of the same request, whose answer the next answer replaces; 0 if there is none."""
    repeats: int = 0
    """Number of an earlier exchange of the same request. Both answers count, because the repetition shows if the answer
    stays the same. 0 if there is none."""
    number: int = 0
    """Number of its exchange in the order of sending; 0 while it was not sent."""
    beside: int = 0
    """Number of other requests that waited for their answers at the same time as this request."""
    most_at_once: int = 0
    """Most requests that might be sent at the same time, when this request was sent. The number falls during a run."""
    needs_new_connection: bool = False
    """True if the next attempt must use a new connection, because the last one got no answer over its connection."""
    times_asked_to_wait: int = 0
    """Number of attempts whose answer asked to come back later, such as 429."""
    times_unanswered: int = 0
    """Number of attempts that got no answer."""
    exchange: Exchange = field(init=False)
    """The last attempt with its response or failure; of a request that was not sent, the reason. It is set after each
    attempt, and is missing before."""

    @cached_property
    def reachable_operations(self) -> frozenset[str]:
        """The documented operations that a server might carry out for this request, such as `{"executePix"}`.

        An unusual path, such as one with two slashes or an encoded letter, may reach several, because servers read it
        in different ways. The checks before a request is sent consider each of them.
        """
        return operations_reached(self.request.method or "", self.path)

    @property
    def executes(self) -> bool:
        """True if the request may execute a transfer: it has a real transaction code and the right access token."""
        return self.with_token and self.code is not None

    @property
    def is_safe_to_repeat(self) -> bool:
        """True if sending the request again cannot move money a second time, nor prepare a second transfer.

        False if the request has a real transaction code, with whatever token. Also false for a valid request to an
        operation that prepares or executes transfers.
        """
        operation = operations().get(self.intent.operation)
        moves_money = operation is not None and operation.permission in MONEY_PERMISSIONS
        is_valid_for_money = self.intent.valid and moves_money
        return not self.code and not is_valid_for_money

    def name_another_key(self, first: Exchange) -> None:
        """Before an invalid registration is sent again: name another made-up key of the same form, if that is needed.

        `first` is the exchange of the registration so far. Another key is needed if the service may have registered the
        first one: then the answer to a second registration of that key says only that the key is known, and shows
        nothing about the first answer.
        """
        if not self.may_name_another_key or not _may_have_registered_its_own_key(first):
            return
        body = body_with_another_key(first.request.body)
        if body is None:  # its key is not made up
            return
        self.request.body = body
        if "Content-Length" in self.request.headers:
            self.request.headers["Content-Length"] = str(len(body))

    @property
    def plain_request(self) -> Request:
        """The request in the form in which an exchange keeps it: its headers are texts, and its body is bytes.

        `requests` keeps some headers as bytes, and some bodies as texts.
        """
        headers = tuple((str(name), _header_value_as_text(value)) for name, value in self.request.headers.items())
        body = self.request.body or b""
        body = body.encode() if isinstance(body, str) else bytes(body)
        return Request(self.request.method or "", self.request.url or "", headers, body)


Policy = Callable[[Sending], object]
"""One step of the door before an answer. It may wait, note, send something else, or raise NotSentError."""
Decision = Callable[[Sending], bool | None]
"""One step of the door after an answer. It returns true if the request is to be sent again."""


def _header_value_as_text(value: object) -> str:
    """The value of a header as a text. `requests` keeps some values as bytes.

    These are read as Latin-1, in which each byte is one character, so that no byte is lost (RFC 9110 section 5.5).
    """
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)
