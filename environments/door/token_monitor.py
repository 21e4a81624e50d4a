"""Watches for a token that was accepted and is refused later: it expired, or it has to be fetched again.

One rule: after a refusal that follows a success, the last successful read is sent again. Refused, too: the token
expired, and it is fetched once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from environments.door.outgoing import Sending
from environments.profiles.model import ProfileError
from spec.answers import RefusalKind, is_page, refusal_kind, turns_away
from spec.exchange import VALID, Exchange
from spec.interface import READS
from spec.message import Text, say

REFRESHED = say("the token was refused in the middle of the run (exchange {number}) and fetched again")
EXPIRED = say(
    "the token expired in the middle of the run (exchange {number}): get one that lasts longer, or use token_command"
)
_MOST_QUESTIONS = 2
"""For each operation that a valid request was sent to, and for all invalid requests together."""


class TokenMonitor:
    """Watches how the access token is received. `witness` is the last read that succeeded, which `ask` sends once more,
    alone. `excused` has the numbers of the exchanges that were refused for the token."""

    def __init__(
        self,
        token: Callable[[], str],
        refresh: Callable[[], bool],
        ask: Callable[[Exchange], Exchange | None],
        clear_the_wire: Callable[[], None],
    ) -> None:
        self.witness: Exchange | None = None
        self.excused: set[int] = set()
        self._token, self._refresh = token, refresh
        self._ask, self._clear_the_wire = ask, clear_the_wire
        self._before: list[str] = []
        self._questions: Counter[str] = Counter()
        self._succeeded = self._wrong_token_gets_a_page = False
        self._expired_at = 0
        self._fetched: list[Text] = []

    @property
    def notes(self) -> list[Text]:
        """Lines about the token, which the report begins with."""
        return self._fetched + ([EXPIRED.of(number=self._expired_at)] if self._expired_at else [])

    @property
    def tokens(self) -> list[str]:
        """The access tokens that the run had, with the one that it has."""
        return [*self._before, self._token()]

    def renew(self, sending: Sending) -> None:
        """Have a request that was made, or waited, while another token was fetched carry that one."""
        carried = _token_in(sending)
        if sending.with_token and carried in self._before:
            headers = sending.request.headers
            headers["Authorization"] = str(headers["Authorization"]).replace(carried, self._token())
            self.excused |= {sending.number} if sending.number and self._seems_refused(sending.exchange) else set()

    def watch(self, sending: Sending) -> bool:
        """See how a request was received. True where it goes again: the token had expired, and another was fetched."""
        exchange, response = sending.exchange, sending.exchange.response
        if response is None:
            return False
        if sending.intent.credential != VALID:
            self._wrong_token_gets_a_page |= is_page(response)
            return False
        if refusal_kind(response) is None and not turns_away(response):
            self._succeeded, self._expired_at = True, 0
            self.witness = exchange if exchange.operation in READS else self.witness
            return False
        is_another = sending.with_token and self._seems_refused(exchange) and self._fetch_another(sending)
        if is_another or self._is_to_blame(exchange):
            self.excused.add(exchange.number)
        return is_another and not sending.code

    def _seems_refused(self, exchange: Exchange) -> bool:
        """True if a token that was accepted may be refused: with 401, or as valid requests are refused."""
        if exchange.response is None or not self._succeeded or self._expired_at:
            return False
        is_401 = refusal_kind(exchange.response) is RefusalKind.TOKEN
        return is_401 or (exchange.valid and turns_away(exchange.response))

    def _fetch_another(self, sending: Sending) -> bool:
        """True if the token is another one than the request had: it was fetched meanwhile, or is fetched now."""
        carried, about = _token_in(sending), sending.intent.operation if sending.intent.valid else ""
        if self._token() == carried and self._questions[about] < _MOST_QUESTIONS:
            self._clear_the_wire()
            if self._token() == carried and self._seems_refused(sending.exchange):  # nobody has asked meanwhile
                self._questions[about] += 1
                self._ask_and_fetch(sending.exchange)
        return self._token() != carried

    def _ask_and_fetch(self, refused: Exchange) -> None:
        """Send the witness; without one a 401 is enough. Where that is refused, fetch the token again, once. Where its
        source does not allow that, it has expired."""
        witness = self._ask(self.witness) if self.witness else refused
        if witness is None or witness.response is None or not turns_away(witness.response):
            return
        if self.witness is None and refusal_kind(witness.response) is not RefusalKind.TOKEN:
            return
        before = self._token()
        try:
            is_another = self._refresh()
        except ProfileError as error:
            self._fetched, is_another = [str(error)], False
        if is_another:
            self._before.append(before)
            self._fetched.append(REFRESHED.of(number=refused.number))
        elif self.witness:
            self._expired_at = refused.number

    def _is_to_blame(self, exchange: Exchange) -> bool:
        """True if the exchange was refused because the token expired, or was wrong from the start and gets the page
        that a wrong token gets: the interface document promises it nothing."""
        if exchange.response is None:
            return False
        if self._expired_at:
            return turns_away(exchange.response)
        return not self._succeeded and self._wrong_token_gets_a_page and is_page(exchange.response)


def _token_in(sending: Sending) -> str:
    """The token that a request was sent with, without its scheme."""
    return str(sending.request.headers.get("Authorization", "")).strip().rpartition(" ")[2]
