"""Watches for a token that was accepted and is refused later: it expired, or it has to be fetched again.

One rule: where a valid request is refused after a success, the last successful read is sent again. Refused, too: the
token expired, and it is fetched once.
"""

from __future__ import annotations

from collections.abc import Callable

from environments.door.outgoing import Sending
from environments.profiles.model import ProfileError
from environments.secret_values import Secrets
from spec.answers import is_granted, turns_away
from spec.exchange import VALID, Exchange
from spec.interface import READS
from spec.message import Text, say

REFRESHED = say("the token was refused in the middle of the run (exchange {number}) and fetched again")
EXPIRED = say(
    "the token expired in the middle of the run (exchange {number}): get one that lasts longer, or use token_command"
)


class TokenMonitor:
    """Watches how the access token is received. `witness` is the last read that succeeded, which `ask` sends once more,
    alone. `excused` has the numbers of the valid requests that were refused for the token."""

    def __init__(
        self,
        secrets: Secrets,
        refresh: Callable[[], bool],
        ask: Callable[[Exchange], Exchange | None],
        clear_the_wire: Callable[[], None],
    ) -> None:
        self.witness: Exchange | None = None
        self.excused: set[int] = set()
        self._secrets, self._refresh = secrets, refresh
        self._ask, self._clear_the_wire = ask, clear_the_wire
        self._expired_at = 0
        self._fetched: list[Text] = []

    @property
    def expired(self) -> Text:
        """Line about a token that expired and that nothing was granted to since; else empty."""
        return EXPIRED.of(number=self._expired_at) if self._expired_at else ""

    @property
    def notes(self) -> list[Text]:
        """Lines about the token, which the report begins with."""
        return self._fetched + [self.expired] * bool(self._expired_at)

    def renew(self, sending: Sending) -> None:
        """Have a request that was made, or waited, while another token was fetched carry that one."""
        if sending.with_token:
            headers = sending.request.headers
            scheme = str(headers["Authorization"]).split(" ")[:-1]
            headers["Authorization"] = " ".join((*scheme, self._secrets.token()))

    def watch(self, sending: Sending) -> bool:
        """See how a request was received. True where it goes again: the token had expired, and another was fetched."""
        exchange, response = sending.exchange, sending.exchange.response
        if response is None or exchange.credential != VALID:
            return False
        if is_granted(exchange) and not turns_away(response):
            self._expired_at = 0
            self.witness = exchange if exchange.operation in READS else self.witness
        elif exchange.valid and sending.with_token and turns_away(response):
            is_another = self.witness is not None and self._fetch_another(sending, self.witness)
            if is_another or self._expired_at:
                self.excused.add(exchange.number)
            return is_another and not sending.code
        return False

    def _fetch_another(self, sending: Sending, witness: Exchange) -> bool:
        """True if the token is another one than the request had: it was fetched meanwhile, or is fetched now."""
        carried = str(sending.request.headers.get("Authorization"))
        self._clear_the_wire()  # another thread may ask meanwhile
        if self._secrets.token() in carried and not self._expired_at:
            answer = self._ask(witness)
            if answer and answer.response and turns_away(answer.response):
                self._fetch(sending.exchange.number)
        return self._secrets.token() not in carried

    def _fetch(self, number: int) -> None:
        """Fetch the token again. Where its source does not allow that, it has expired."""
        try:
            is_another = self._refresh()
        except ProfileError as error:
            self._fetched, is_another = [str(error)], False
        if is_another:
            self._fetched.append(REFRESHED.of(number=number))
        else:
            self._expired_at = number
