"""The token monitor: it notices a token that was accepted before and is refused later, and fetches another one.

If a valid request is refused for its token, the last read that succeeded is sent again. If that is refused as well, the
token has expired. The interface document does not show the lifetime of a token (Authentication 2).

If no other token can be fetched, every read that succeeded is sent again, after a pause, three times. If all of them
are refused, nothing more is sent, and the refusals that the expired token may have caused do not count.

| word | meaning |
|---|---|
| read | a request that changes nothing, such as GET /v1/accounts |
| valid request | a request for which the interface document promises success |
| refused because of the caller | the answer says who must not ask (401, 403), and not what is wrong in the request |
| to fetch the token | to get the access token from its source again: a command, a file or a variable |
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import AbstractContextManager

from environments.door.outgoing import NotSentError, Sending
from environments.profiles.model import ProfileError
from environments.secret_values import Secrets
from spec.answers import is_granted, may_be_due_to_a_bad_token, refusal_about_the_caller
from spec.exchange import VALID, Exchange, Response
from spec.interface import READ_OPERATIONS
from spec.message import Text, say

REFRESHED = say("the token was refused in the middle of the run (exchange {number}) and fetched again")
EXPIRED = say(
    "the token expired during the run (exchange {number}): get a token that lasts longer, or use token_command"
)
_PAUSES_BEFORE_CHECKS_S = (1.0, 2.0, 4.0)
"""Seconds before each check whether every read still refuses the token. A service may refuse tokens for a moment,
because it locks the caller out or cannot ask the server that issues tokens. The times are those after an answer
"later"."""
_FIRST_CHECK_AFTER = 5
"""Number of invalid requests in a row, each refused because of the caller, after which the token is checked. After
each check the number doubles, because some services refuse every invalid request so. The number is a choice."""


class TokenMonitor:
    """Watches if the service accepts the access token. Only one thread at a time calls its methods."""

    def __init__(
        self,
        secrets: Secrets,
        *,
        refresh: Callable[[], bool],
        repeat_alone: Callable[[Exchange], Exchange | None],
        wait_for_empty_wire: Callable[[], None],
        pause_and_keep_others_waiting: Callable[[float], AbstractContextManager[None]],
        disregard: Callable[[Collection[int], Text], None],
    ) -> None:
        """Begin with a token that was neither accepted nor refused so far.

        `secrets` has the token. The other arguments are methods of the door and of the token source:

        - `refresh` fetches the token from its source, and returns true if it is another one.
        - `repeat_alone` sends the request of an exchange once more, while no other request is on the wire.
        - `wait_for_empty_wire` waits until every request that was sent is answered.
        - `pause_and_keep_others_waiting` waits for some seconds, and only this thread sends in its `with` block.
        - `disregard` makes sure that nothing judges the exchanges with these numbers, for this reason.
        """
        self.last_granted_read: Exchange | None = None
        """The last read that succeeded, which shows later if the token has expired."""
        self.has_ended_the_run = False
        """True if every read refuses the token, and no other one can be fetched."""
        self.excused: set[int] = set()
        """Numbers of the valid requests that were refused because the token had expired, so not by a fault."""
        self._secrets = secrets
        self._refresh = refresh
        self._repeat_alone = repeat_alone
        self._wait_for_empty_wire = wait_for_empty_wire
        self._pause_and_keep_others_waiting = pause_and_keep_others_waiting
        self._disregard = disregard
        self._granted_reads: dict[str, Exchange] = {}  # the last one, by operation
        # Numbers of the exchanges that were refused because of the caller since the last success.
        self._refused_since_granted: list[int] = []
        # How many invalid requests with the token were refused because of the caller, in a row, since the last check.
        self._invalid_in_a_row = 0
        self._check_token_after = _FIRST_CHECK_AFTER
        self._expired_at = 0  # number of the exchange that showed it; 0 after a later success
        self._lines_about_fetching: list[Text] = []

    @property
    def line_about_expiry(self) -> Text:
        """A line for the report which says that the token expired; empty if the service has granted a request since."""
        return EXPIRED.with_values(number=self._expired_at) if self._expired_at else ""

    @property
    def notes(self) -> list[Text]:
        """Lines about the token for the beginning of the report: that it was fetched again, and that it expired."""
        if not self._expired_at:
            return list(self._lines_about_fetching)
        return [*self._lines_about_fetching, self.line_about_expiry]

    def put_in_newest_token(self, sending: Sending) -> None:
        """Replace the token in the header Authorization by the newest one, just before the request is sent.

        Another token may have been fetched after the request was built. A request without the right token is unchanged.
        """
        if sending.with_token:
            headers = sending.request.headers
            words_before_token = str(headers["Authorization"]).split(" ")[:-1]  # such as Bearer; none for a bare token
            headers["Authorization"] = " ".join((*words_before_token, self._secrets.token()))

    def refuse_expired(self, sending: Sending) -> None:
        """Raises NotSentError if the token expired and no other one can be fetched, so that nothing more is sent.

        Requests without the token are not sent either, because no valid answer can be compared with theirs.
        """
        if self.has_ended_the_run:
            raise NotSentError(self.line_about_expiry)

    def fetch_another_if_expired(self, sending: Sending) -> bool:
        """Note whether an answer accepts the token, and fetch another token if this one seems to have expired.

        It seems to have expired if one valid request, or many invalid requests in a row, are refused in a way that may
        be about the token. Returns true if there is another token, and the request is to be sent again with it. A
        request with a transaction code is never sent again, because it may move money.
        """
        exchange = sending.exchange
        response = exchange.response
        if response is None:
            return False
        self._note_refusal_of_caller(exchange, response)
        if exchange.credential != VALID or self.has_ended_the_run:
            return False
        # A status such as 401. Also an HTML page to log in, which has the status 200 and so looks granted.
        may_be_about_token = may_be_due_to_a_bad_token(response)
        if is_granted(exchange) and not may_be_about_token:
            self._note_grant(exchange)
            return False
        token_is_in_doubt = exchange.valid
        if not exchange.valid:
            self._count_refusal_of_invalid_request(response)
            if self._invalid_in_a_row >= self._check_token_after:
                token_is_in_doubt = True
                self._begin_longer_count()
        is_to_be_checked = token_is_in_doubt and sending.with_token and may_be_about_token
        if not is_to_be_checked:
            return False
        has_another_token = False
        if self.last_granted_read is not None:  # if no read succeeded so far, the token may never have been right
            has_another_token = self._fetch_another(sending, self.last_granted_read)
        token_was_at_fault = has_another_token or self._expired_at > 0
        if token_was_at_fault:
            self.excused.add(exchange.number)  # this refusal is no fault of the service
        return has_another_token and not sending.code

    def _note_refusal_of_caller(self, exchange: Exchange, response: Response) -> None:
        """Note an exchange that was refused because of who sent it (401, 403), and not because of what was sent.

        An expired token may be the cause. So if the token has expired and no other token can be fetched, these
        exchanges are not judged. If that is known already when an answer arrives, the answer is not judged either.
        """
        if refusal_about_the_caller(response) is None:
            return
        self._refused_since_granted.append(exchange.number)
        if self.has_ended_the_run:
            self._disregard_refused()

    def _note_grant(self, exchange: Exchange) -> None:
        """Note that the service accepted the token in this exchange.

        So the refusals of earlier exchanges were not caused by an expired token: they are removed from the list. A
        successful read is kept, because it can be sent again later to check the token.
        """
        self._expired_at = 0
        self._invalid_in_a_row = 0
        self._refused_since_granted = [number for number in self._refused_since_granted if number > exchange.number]
        if exchange.operation in READ_OPERATIONS:
            self.last_granted_read = exchange
            self._granted_reads[exchange.operation] = exchange

    def _count_refusal_of_invalid_request(self, response: Response) -> None:
        """Count an invalid request that was refused because of the caller, such as with 401: perhaps the token expired.

        An accepted request sets the count to 0 (`_note_grant`), so it counts refusals in a row. One refusal says
        little, because some services refuse every invalid request in this way.
        """
        if refusal_about_the_caller(response) is not None:
            self._invalid_in_a_row += 1

    def _begin_longer_count(self) -> None:
        """Count the refusals of invalid requests from zero. The token is checked again after twice as many as before.

        First it is checked after 5 refusals in a row, then after 10 more, then after 20 more. The number doubles
        because some services refuse every invalid request in this way.
        """
        self._invalid_in_a_row = 0
        self._check_token_after *= 2

    def _fetch_another(self, sending: Sending, last_granted_read: Exchange) -> bool:
        """Fetch another token if the last successful read is refused when it is sent again now.

        Returns true if the newest token is not the token of the request, because this thread or another thread has
        fetched a token. If it is known that the token expired and no other token can be fetched, nothing is sent or
        fetched.
        """
        authorization = str(sending.request.headers.get("Authorization"))
        self._wait_for_empty_wire()  # before the comparison: another thread may fetch a token meanwhile
        request_has_newest_token = self._secrets.token() in authorization
        if request_has_newest_token and not self._expired_at:
            repetition = self._repeat_alone(last_granted_read)
            answer = repetition.response if repetition is not None else None
            if answer is not None and may_be_due_to_a_bad_token(answer):
                self._fetch(sending.exchange.number)
        return self._secrets.token() not in authorization

    def _fetch(self, number: int) -> None:
        """Fetch the token from its source again. If the source gives no other token, check if this one has expired.

        `number` is the number of the exchange that was refused, which the report names.
        """
        is_another = False
        try:
            is_another = self._refresh()
        except ProfileError as error:
            self._lines_about_fetching = [str(error)]  # one line, even if the source fails again and again
        if is_another:
            self._lines_about_fetching.append(REFRESHED.with_values(number=number))
        else:
            self._expired_at = number  # the check resets it if the service still accepts the token
            self._end_if_every_read_is_refused(number)

    def _end_if_every_read_is_refused(self, number: int) -> None:
        """Check for certain if the token has expired, and if so, end the sending of requests.

        Each read that succeeded before is sent again, three times, with pauses of 1, 2 and 4 seconds.

        | answers | what follows |
        |---|---|
        | all are refused because of the caller, such as with 401 | the token has expired: nothing more is sent |
        | one is accepted, or refused otherwise | the token is valid; the first refusal does not count as a fault |
        | one got no answer, or was kept back by a limit | nothing is known, and the run goes on |

        `number` is the number of the exchange whose refusal led to this check.
        """
        for pause_s in _PAUSES_BEFORE_CHECKS_S:
            with self._pause_and_keep_others_waiting(pause_s):
                for read in self._granted_reads.values():
                    repetition = self._repeat_alone(read)
                    if repetition is None or repetition.response is None:
                        return
                    if refusal_about_the_caller(repetition.response) is None:
                        self.excused.add(number)
                        self._expired_at = 0
                        return
                    self._refused_since_granted.append(repetition.number)
        self.has_ended_the_run = True
        # `_expired_at` was set before this check. An answer to another request, which needs no token, may have set it
        # to 0 meanwhile.
        self._expired_at = number
        self._disregard_refused()

    def _disregard_refused(self) -> None:
        """Make sure that no test judges the refusals that the expired token may have caused."""
        self.excused.update(self._refused_since_granted)
        self._disregard(self._refused_since_granted, self.line_about_expiry)
