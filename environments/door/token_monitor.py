"""The token monitor: it notices a token that was accepted before and is refused later, and fetches another one.

If a valid request is refused for its token, the last read that succeeded is sent again. If that is refused as well, the
token has expired. The interface document does not show the lifetime of a token (Authentication 2).
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
    "the token expired during the run (exchange {number}): get a token that lasts longer, or use token_command"
)


class TokenMonitor:
    """Watches if the service accepts the access token. Its methods are called under the lock of the door.

    `refresh` fetches the token from its source, and gives true if it is another one. `repeat_alone` sends the request
    of an exchange once more, with nothing else on the wire. `clear_the_wire` waits until nothing is there.
    """

    def __init__(
        self,
        secrets: Secrets,
        refresh: Callable[[], bool],
        repeat_alone: Callable[[Exchange], Exchange | None],
        clear_the_wire: Callable[[], None],
    ) -> None:
        self.witness: Exchange | None = None
        """The last read that succeeded, which shows later if the token has expired."""
        self.excused: set[int] = set()
        """Numbers of the valid requests that were refused because the token had expired."""
        self._secrets, self._refresh = secrets, refresh
        self._repeat_alone, self._clear_the_wire = repeat_alone, clear_the_wire
        self._expired_at = 0  # number of the exchange that showed it; 0 after a later success
        self._lines_about_fetching: list[Text] = []

    @property
    def expired(self) -> Text:
        """Line about a token that expired, if the service has granted nothing since; else empty."""
        return EXPIRED.of(number=self._expired_at) if self._expired_at else ""

    @property
    def notes(self) -> list[Text]:
        """Lines about the token for the beginning of the report."""
        if not self._expired_at:
            return list(self._lines_about_fetching)
        return [*self._lines_about_fetching, self.expired]

    def renew(self, sending: Sending) -> None:
        """Put the present token into a request that has the token: another one may have been fetched meanwhile."""
        if sending.with_token:
            headers = sending.request.headers
            scheme = str(headers["Authorization"]).split(" ")[:-1]
            headers["Authorization"] = " ".join((*scheme, self._secrets.token()))

    def watch(self, sending: Sending) -> bool:
        """Note if an answer accepts the token, and fetch another token if this one expired.

        True if the request goes again with another token. A request with a transaction code does not.
        """
        exchange, response = sending.exchange, sending.exchange.response
        if response is None or exchange.credential != VALID:
            return False
        turns_token_away = turns_away(response)
        if is_granted(exchange) and not turns_token_away:
            self._expired_at = 0
            if exchange.operation in READS:
                self.witness = exchange
            return False
        if exchange.valid and sending.with_token and turns_token_away:
            has_another_token = self.witness is not None and self._fetch_another(sending, self.witness)
            if has_another_token or self._expired_at:
                self.excused.add(exchange.number)
            return has_another_token and not sending.code
        return False

    def _fetch_another(self, sending: Sending, witness: Exchange) -> bool:
        """Fetch another token if the witness is refused now. True if the present token is not that of the request.

        Another thread may have fetched it already. An expired token is not fetched a second time.
        """
        authorization = str(sending.request.headers.get("Authorization"))
        self._clear_the_wire()  # before the question: another thread may fetch a token while this one waits
        if self._secrets.token() in authorization and not self._expired_at:
            repetition = self._repeat_alone(witness)
            if repetition and repetition.response and turns_away(repetition.response):
                self._fetch(sending.exchange.number)
        return self._secrets.token() not in authorization

    def _fetch(self, number: int) -> None:
        """Fetch the token again. If its source gives no other one, the token has expired.

        `number` is that of the exchange that was refused.
        """
        try:
            is_another = self._refresh()
        except ProfileError as error:
            self._lines_about_fetching, is_another = [str(error)], False
        if is_another:
            self._lines_about_fetching.append(REFRESHED.of(number=number))
        else:
            self._expired_at = number
