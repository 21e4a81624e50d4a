"""Watches for a token that was accepted and is refused later: it expired, or it has to be fetched again.

One rule: after a refusal that follows a success, the last successful read is sent again. Refused, too: the token
expired, and it is fetched once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from environments.door.authorization import VALID
from environments.door.outgoing import Again, Intent, Sending
from environments.profiles.credentials import CredentialError
from spec.answers import RefusalKind, is_page, refusal_kind, turns_away
from spec.exchange import Exchange
from spec.interface import READS
from spec.message import Text, say

if TYPE_CHECKING:
    import requests

REFRESHED = say("the token was refused in the middle of the run (exchange {number}) and fetched again")
EXPIRED = say(
    "the token expired in the middle of the run (exchange {number}): get one that lasts longer, or use token_command"
)
MAY_HAVE_EXPIRED = say(
    "from exchange {number} on the token is refused (401), and it was accepted before: it may have expired"
)
_MOST_QUESTIONS = 2
"""For each operation that a valid request was sent to, and for all invalid requests together."""


class TokenMonitor:
    """Watches how the access token is received. `witness` is the last read that succeeded: sent again, it shows whether
    the token is still accepted. `excused` has the numbers of the exchanges that were refused for the token.

    The witness is sent, and another token fetched, `alone`: nothing is on the wire that carries the token of before.
    """

    def __init__(
        self,
        token: Callable[[], str],
        refresh: Callable[[], bool],
        *,
        alone: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self.witness: tuple[requests.PreparedRequest, Intent] | None = None
        self.excused: set[int] = set()
        self._token, self._refresh, self._alone = token, refresh, alone
        self._before: list[str] = []
        self._questions: Counter[str] = Counter()
        self._succeeded = self._wrong_token_gets_a_page = False
        self._expired_at = self._asked_at = 0
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
        carried, now = _token_in(sending), self._token()
        if sending.with_token and carried in self._before and carried != now:
            sending.replace_token(carried, now)
            refused: Exchange | None = getattr(sending, "exchange", None)
            self.excused |= {refused.number} if refused and self._seems_refused(refused) else set()

    def watch(self, sending: Sending) -> Again | None:
        """See how a request was received. Where the token had expired and another was fetched, have it sent again."""
        exchange, response = sending.exchange, sending.exchange.response
        if response is None:
            return None
        if sending.intent.credential != VALID:
            self._wrong_token_gets_a_page |= is_page(response)
            return None
        if refusal_kind(response) is None and not turns_away(response):
            self._take_success(sending)
        elif sending.with_token and self._seems_refused(exchange) and self._is_another_now(sending):
            self._excuse(sending)
            sending.replace_token(_token_in(sending), self._token())
            return None if sending.code else Again()
        if self._is_to_blame(exchange):
            self._excuse(sending)
        return None

    def _take_success(self, sending: Sending) -> None:
        exchange = sending.exchange
        self._succeeded = True
        if exchange.number > self._asked_at:  # what left before says nothing of the token by now
            self._expired_at = 0
        if exchange.operation in READS:
            self.witness = sending.request.copy(), Intent(exchange.operation)

    def _excuse(self, sending: Sending) -> None:
        """Excuse the answer that stands, and one before it that company might have caused."""
        for seen in (sending.doubted, sending.exchange):
            if seen is not None and seen.response is not None and turns_away(seen.response):
                self.excused.add(seen.number)

    def _seems_refused(self, exchange: Exchange) -> bool:
        """True if a token that was accepted may be refused: with 401, or as valid requests are refused."""
        if exchange.response is None or not self._succeeded or self._expired_at:
            return False
        is_401 = refusal_kind(exchange.response) is RefusalKind.TOKEN
        return is_401 or (exchange.valid and turns_away(exchange.response))

    def _is_another_now(self, sending: Sending) -> bool:
        """True if the token is another one than the request had: another thread has fetched it, or this one does."""
        carried, about = _token_in(sending), sending.intent.operation if sending.intent.valid else ""
        if self._token() == carried and self._questions[about] < _MOST_QUESTIONS:
            with self._alone():
                if self._token() == carried and self._seems_refused(sending.exchange):  # nobody has asked meanwhile
                    self._questions[about] += 1
                    self._ask(sending)
        return self._token() != carried

    def _ask(self, sending: Sending) -> None:
        """Send the witness, and fetch the token where that is refused, too. Without a witness a 401 is enough, where
        the token can be fetched."""
        refused, answer = sending.exchange, None
        if self.witness:
            request, intent = self.witness
            request.headers["Authorization"] = f"Bearer {self._token()}"
            answer = sending.send_other(request, intent)
            if answer is None or answer.response is None or not turns_away(answer.response):
                return
        elif refused.response is None or refusal_kind(refused.response) is not RefusalKind.TOKEN:
            return
        if not self._fetch(refused) and answer:
            self._expired_at, self._asked_at = refused.number, answer.number

    def _fetch(self, refused: Exchange) -> bool:
        """Fetch the token again where its source allows it, once. False where there is no other one now."""
        if self._token() not in self._before:  # before it is fetched: a request may be made with either from then on
            self._before.append(self._token())
        try:
            is_another = self._refresh()
        except CredentialError as error:
            self._fetched = [str(error)]
            return False
        self._fetched += [REFRESHED.of(number=refused.number)] * is_another
        return is_another

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
