"""The token monitor: it notices a token that was accepted before and is refused later, and fetches another one.

If a valid request is refused for its token, the last read that succeeded is sent again. If that is refused as well, the
token has expired. The interface document does not show the lifetime of a token (Authentication 2).

If no other token can be fetched, every read that succeeded is sent again, after a pause, three times. If all of them
are refused, nothing more is sent, and the refusals that the expired token may have caused do not count.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import AbstractContextManager

from environments.door.outgoing import NotSentError, Sending
from environments.profiles.model import ProfileError
from environments.secret_values import Secrets
from spec.answers import is_granted, may_refuse_any_bad_token, refusal_of_the_caller
from spec.exchange import VALID, Exchange, Response
from spec.interface import READ_OPERATIONS
from spec.message import Text, say

REFRESHED = say("the token was refused in the middle of the run (exchange {number}) and fetched again")
EXPIRED = say(
    "the token expired during the run (exchange {number}): get a token that lasts longer, or use token_command"
)
_LOOKS_AFTER_S = (1.0, 2.0, 4.0)
"""Seconds before each look whether every read still refuses the token. A service may refuse tokens for a moment,
because it locks the caller out or cannot ask the server that issues tokens. The times are those after an answer
"later"."""
_FIRST_DOUBT = 5
"""Invalid requests in a row whose refusal is about the caller, after which the token is checked. After each check in
vain the number doubles, because some services refuse every invalid request so. The number is a choice."""


class TokenMonitor:
    """Watches if the service accepts the access token. Its methods are called under the lock of the door.

    - `refresh` fetches the token from its source, and gives true if it is another one.
    - `repeat_alone` sends the request of an exchange once more, with nothing else on the wire.
    - `wait_for_empty_wire` waits until nothing is there.
    - `pausing` waits for some seconds, and keeps all other requests back inside its block.
    - `disregard` has the answers with these numbers count for nothing, for this reason.
    """

    def __init__(
        self,
        secrets: Secrets,
        refresh: Callable[[], bool],
        repeat_alone: Callable[[Exchange], Exchange | None],
        wait_for_empty_wire: Callable[[], None],
        pausing: Callable[[float], AbstractContextManager[None]],
        disregard: Callable[[Collection[int], Text], None],
    ) -> None:
        self.witness: Exchange | None = None
        """The last read that succeeded, which shows later if the token has expired."""
        self.has_ended_the_run = False
        """True if every read refuses the token, and no other one can be fetched."""
        self.excused: set[int] = set()
        """Numbers of the valid requests that were refused because the token had expired."""
        self._secrets, self._refresh = secrets, refresh
        self._repeat_alone, self._clear_the_wire = repeat_alone, wait_for_empty_wire
        self._pausing, self._disregard = pausing, disregard
        self._granted_reads: dict[str, Exchange] = {}  # the last one, by operation
        self._refused_since_granted: list[int] = []  # numbers of the refusals of the caller, whatever the request was
        self._invalid_in_a_row = 0  # invalid requests among them that had the token, since the last check
        self._doubt_at = _FIRST_DOUBT
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

    def refuse_expired(self, sending: Sending) -> None:
        """Raises NotSentError if the token expired for good.

        Requests without the token are not sent either, because no valid answer can be compared with theirs.
        """
        if self.has_ended_the_run:
            raise NotSentError(self.expired)

    def watch(self, sending: Sending) -> bool:
        """Note if an answer accepts the token, and fetch another token if this one expired.

        True if the request goes again with another token. A request with a transaction code does not.
        """
        exchange, response = sending.exchange, sending.exchange.response
        if response is None:
            return False
        self._note_refusal_of_caller(exchange, response)
        if exchange.credential != VALID or self.has_ended_the_run:
            return False
        turns_token_away = may_refuse_any_bad_token(response)
        if is_granted(exchange) and not turns_token_away:
            self._note_grant(exchange)
            return False
        is_doubtful = exchange.valid or self._are_too_many_refused(response)
        if is_doubtful and sending.with_token and turns_token_away:
            has_another_token = self.witness is not None and self._fetch_another(sending, self.witness)
            if has_another_token or self._expired_at:
                self.excused.add(exchange.number)
            return has_another_token and not sending.code
        return False

    def _note_refusal_of_caller(self, exchange: Exchange, response: Response) -> None:
        """Keep the number of an exchange if its refusal is about the caller. After the end it does not count at all."""
        if refusal_of_the_caller(response) is None:
            return
        self._refused_since_granted.append(exchange.number)
        if self.has_ended_the_run:
            self._disregard_refused()

    def _note_grant(self, exchange: Exchange) -> None:
        """Note that the token was accepted when this exchange was sent."""
        self._expired_at = 0
        self._invalid_in_a_row = 0
        self._refused_since_granted = [number for number in self._refused_since_granted if number > exchange.number]
        if exchange.operation in READ_OPERATIONS:
            self.witness = self._granted_reads[exchange.operation] = exchange

    def _are_too_many_refused(self, response: Response) -> bool:
        """True if so many invalid requests in a row got a refusal about the caller that the token has to be checked."""
        if refusal_of_the_caller(response) is None:
            return False
        self._invalid_in_a_row += 1
        if self._invalid_in_a_row < self._doubt_at:
            return False
        self._invalid_in_a_row = 0
        self._doubt_at *= 2
        return True

    def _fetch_another(self, sending: Sending, witness: Exchange) -> bool:
        """Fetch another token if the witness is refused now. True if the present token is not that of the request.

        Another thread may have fetched it already. An expired token is not fetched a second time.
        """
        authorization = str(sending.request.headers.get("Authorization"))
        self._clear_the_wire()  # before the question: another thread may fetch a token while this one waits
        if self._secrets.token() in authorization and not self._expired_at:
            repetition = self._repeat_alone(witness)
            if repetition and repetition.response and may_refuse_any_bad_token(repetition.response):
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
            self._end_if_every_read_is_refused(number)

    def _end_if_every_read_is_refused(self, number: int) -> None:
        """Send nothing more if each read that succeeded is refused, after each of the pauses.

        If one is not refused, the token has not expired. If one gets no answer, or a limit keeps it back, nothing is
        known. `number` is that of the exchange that was refused.
        """
        for pause_s in _LOOKS_AFTER_S:
            with self._pausing(pause_s):
                for read in self._granted_reads.values():
                    repetition = self._repeat_alone(read)
                    if repetition is None or repetition.response is None:
                        return
                    if refusal_of_the_caller(repetition.response) is None:
                        self.excused.add(number)
                        self._expired_at = 0
                        return
                    self._refused_since_granted.append(repetition.number)
        self.has_ended_the_run = True
        self._expired_at = number  # again: an answer to a request that needs no token may have come meanwhile
        self._disregard_refused()

    def _disregard_refused(self) -> None:
        """Have the refusals that the expired token may have caused count for nothing."""
        self.excused.update(self._refused_since_granted)
        self._disregard(self._refused_since_granted, self.expired)
