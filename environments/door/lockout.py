"""Keeps transaction codes from a service that locks its callers out: an execution is sent once, so a lock costs it."""

from __future__ import annotations

from collections.abc import Callable

import requests

from environments.door.budget import Budget
from environments.door.outgoing import Intent, NotSentError, Sending
from spec.answers import LATER, refusal_kind
from spec.exchange import Exchange

LOCKED = (
    "the service locks its callers out ({}), longer than the suite waits: codes were kept back, and can be used later"
)


class Lockout:
    """Sees whether the service lets the access token in, and asks before an execution.

    `harmless` makes an execution of a synthetic code; the client of the door knows how.
    """

    def __init__(
        self, budget: Budget, token: Callable[[], str], send: Callable[[requests.PreparedRequest, Intent], Exchange]
    ) -> None:
        self.harmless: Callable[[], requests.PreparedRequest] | None = None
        self.notes: list[str] = []
        self._budget, self._token, self._send = budget, token, send
        self._lets_in: bool | None = None
        self._wrong_tokens = False
        self._execution_put_off = 0

    def outlast(self, sending: Sending) -> None:
        """Send a harmless request before an execution, and wait as long as it is put off. Raises NotSentError where the
        lock lasts longer.

        A service that always put synthetic codes off shows nothing by it: then one execution is tried.
        """
        if not sending.executes:
            return
        if self._execution_put_off:
            raise NotSentError(LOCKED.format(self._execution_put_off))
        if self.harmless is None or not self._lets_in or not (self._wrong_tokens or self._budget.is_shared):
            return
        token = self._token()
        answer = self._send(self.harmless(), Intent("executePix")).response
        sending.replace_token(token, self._token())
        if answer is not None and refusal_kind(answer) in LATER:
            self.notes.append(LOCKED.format(answer.status))
            raise NotSentError(LOCKED.format(answer.status))

    def notice(self, sending: Sending) -> None:
        """See how an attempt was answered, to whatever operation: a lock may be by address."""
        response = sending.exchange.response
        if not sending.with_token:
            self._wrong_tokens = True
        elif sending.intent.operation == "executePix" and response is not None:
            off = refusal_kind(response) in LATER
            self._wrong_tokens &= off
            if not sending.intent.valid:
                self._lets_in = self._lets_in or not off
            else:
                self._execution_put_off = response.status if off and self._lets_in is False else 0
