"""When codes are kept from a service that locks its callers out: an execution is sent once, so a lock costs it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from environments.door.outgoing import Intent, NotSentError, Sending
from spec.answers import LATER, refusal_kind
from spec.exchange import Exchange, Response

if TYPE_CHECKING:
    import requests

LOCKED = (
    "the service locks its callers out ({}), longer than the suite waits: codes were kept back, and can be used later"
)


class Lockout:
    """Sees whether the service lets the access token in, and asks before an execution.

    `harmless` makes an execution of a synthetic code; the client of the door knows how.
    """

    def __init__(
        self,
        token: Callable[[], str],
        send: Callable[[requests.PreparedRequest, Intent], Exchange],
        departed: Callable[[], int],
    ) -> None:
        self.harmless: Callable[[], requests.PreparedRequest] | None = None
        self.notes: list[str] = []
        self._token, self._send, self._departed = token, send, departed
        self._lets_in: bool | None = None
        self._wrong_token_until = 0  # what left later shows whether it has locked the caller out
        self._execution_put_off = 0
        self._guard = threading.Lock()

    def outlast(self, sending: Sending) -> None:
        """Before an execution, send a harmless request; it waits while the service says "later", as every request does.
        Raises NotSentError where the lock lasts longer.

        A service that always put synthetic codes off shows nothing by it: then one execution is tried.
        """
        if not sending.executes:
            return
        if self._execution_put_off:
            raise NotSentError(LOCKED.format(self._execution_put_off))
        if self.harmless is None or not self._lets_in or not self._wrong_token_until:
            return
        token = self._token()
        answer = self._send(self.harmless(), Intent("executePix")).response
        sending.replace_token(token, self._token())
        if answer is not None and refusal_kind(answer) in LATER:
            self.notes.append(LOCKED.format(answer.status))
            raise NotSentError(LOCKED.format(answer.status))

    @contextmanager
    def watching(self, sending: Sending) -> Iterator[None]:
        """See how an attempt is answered, to whatever operation: a lock may be by address. A wrong token counts from
        the moment it leaves, and only what left after its answer shows that it locked nobody out."""
        self._note_wrong_token(sending)
        yield
        self._note_wrong_token(sending)
        response = sending.exchange.response
        if sending.with_token and sending.intent.operation == "executePix" and response is not None:
            self._learn(sending, response)

    def _note_wrong_token(self, sending: Sending) -> None:
        if not sending.with_token:
            with self._guard:
                self._wrong_token_until = max(self._wrong_token_until, self._departed())

    def _learn(self, sending: Sending, response: Response) -> None:
        off = refusal_kind(response) in LATER
        with self._guard:
            if not off and sending.departure > self._wrong_token_until:
                self._wrong_token_until = 0
            if not sending.intent.valid:
                self._lets_in = self._lets_in or not off
            else:
                self._execution_put_off = response.status if off and self._lets_in is False else 0
