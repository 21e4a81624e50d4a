"""Watches for a token that was accepted and is refused later: it expired, or it has to be fetched again."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from enum import Enum
from typing import TYPE_CHECKING

from environments.door.authorization import VALID
from environments.door.outgoing import Intent, Sending
from environments.profiles.credentials import CredentialError
from spec.answers import ABOUT_THE_CALLER, ABOUT_THE_REQUEST, RefusalKind, is_page, refusal_kind, turns_away
from spec.exchange import Exchange, Response
from spec.interface import MARK, READS

if TYPE_CHECKING:
    import requests

REFRESHED = "the token was refused in the middle of the run (exchange {}) and fetched again"
EXPIRED = "the token expired in the middle of the run (exchange {}): get one that lasts longer, or use token_command"
MAY_HAVE_EXPIRED = "from exchange {} on the token is refused (401), and it was accepted before: it may have expired"
_MOST_QUESTIONS = 2
"""For each operation that a valid request was sent to, and for all invalid requests together."""


class TokenState(Enum):
    """What is known of the access token."""

    UNTRIED = "no answer shows that it was accepted"
    ACCEPTED = "accepted, and nothing was granted yet"
    GRANTED = "a request with it was granted"
    EXPIRED = "it was accepted before, and is refused now"


class TokenSign(Enum):
    """What an answer shows of the access token."""

    ACCEPTED = "not refused for the token"
    GRANTED = "granted"
    LOST = "refused, and so is the witness, and no other token can be fetched"


_NEXT = {
    (TokenState.UNTRIED, TokenSign.ACCEPTED): TokenState.ACCEPTED,
    (TokenState.UNTRIED, TokenSign.GRANTED): TokenState.GRANTED,
    (TokenState.ACCEPTED, TokenSign.GRANTED): TokenState.GRANTED,
    (TokenState.ACCEPTED, TokenSign.LOST): TokenState.EXPIRED,
    (TokenState.GRANTED, TokenSign.LOST): TokenState.EXPIRED,
    (TokenState.EXPIRED, TokenSign.GRANTED): TokenState.GRANTED,  # it only seemed to have expired
}
"""The transitions; every other sign leaves the state as it is."""


class TokenMonitor:
    """Watches how the access token is received. `witness` is a harmless request that was accepted: sent again, it shows
    whether the token still is. `excused` has the numbers of the exchanges that were refused for the token.

    The witness is sent, and another token fetched, `alone`: nothing is on the wire that carries the token of before.
    """

    def __init__(
        self,
        token: Callable[[], str],
        refresh: Callable[[], bool],
        *,
        alone: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self.state = TokenState.UNTRIED
        self.witness: tuple[requests.PreparedRequest, Intent] | None = None
        self.excused: set[int] = set()
        self._token, self._refresh, self._alone = token, refresh, alone
        self._guard = threading.Lock()
        self._before: list[str] = []
        self._questions: Counter[str] = Counter()
        self._fetched_after = self._expired_at = self._lost_at = 0
        self._fetch_error = ""
        self._wrong_token_gets_a_page = False

    @property
    def notes(self) -> list[str]:
        """What the report says first of the token."""
        notes = [REFRESHED.format(self._fetched_after)] if self._fetched_after else []
        notes += [self._fetch_error] if self._fetch_error else []
        return notes + ([EXPIRED.format(self._expired_at)] if self.state is TokenState.EXPIRED else [])

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

    def watch(self, sending: Sending) -> None:
        """See how a request was received. Where the token seems to be refused, send the witness; where that is refused,
        too, fetch the token again, once, and send the request again."""
        if sending.intent.credential != VALID:
            response = sending.exchange.response
            if response is not None and is_page(response):  # no thread takes it back, so it needs no lock
                self._wrong_token_gets_a_page = True
            return
        with self._guard:
            self._learn(sending)
        if sending.with_token and self._is_another_now(sending):
            self._excuse(sending, self._seems_refused)
            if not sending.code:
                sending.send_again()
        self._excuse(sending, self._is_to_blame)

    def _excuse(self, sending: Sending, for_the_token: Callable[[Exchange], bool]) -> None:
        """Excuse the answer that stands, and one before it that company might have caused."""
        seen = [one for one in (sending.exchange, sending.doubted) if one is not None]
        self.excused |= {one.number for one in seen if for_the_token(one)}

    def _learn(self, sending: Sending) -> None:
        """A read that was granted is the witness; without one, a synthetic code that was not refused for the token."""
        exchange = sending.exchange
        if exchange.response is None or not exchange.operation:
            return
        if refusal_kind(exchange.response) not in (None, *ABOUT_THE_REQUEST):
            return
        granted = not turns_away(exchange.response)
        if exchange.number > self._lost_at:  # what left before says nothing of the token by now
            self._take(TokenSign.GRANTED if granted else TokenSign.ACCEPTED)
        names_nobody = exchange.operation == "executePix" and exchange.request.last_segment.startswith(MARK)
        if (granted and exchange.operation in READS) or (names_nobody and self.witness is None):
            self.witness = sending.request.copy(), Intent(exchange.operation)

    def _take(self, sign: TokenSign) -> None:
        self.state = _NEXT.get((self.state, sign), self.state)

    def _seems_refused(self, exchange: Exchange) -> bool:
        """Whether a token that was accepted before may be refused: with 401, or as valid requests are refused."""
        if exchange.response is None or self.state in (TokenState.UNTRIED, TokenState.EXPIRED):
            return False
        refused = refusal_kind(exchange.response) is RefusalKind.TOKEN
        return refused or (exchange.valid and turns_away(exchange.response))

    def _is_another_now(self, sending: Sending) -> bool:
        """Whether the request was refused and the token is another one than it had: another thread has fetched one, or
        this one does now."""
        refused, carried = sending.exchange, _token_in(sending)
        if not self._seems_refused(refused):
            return False
        if self._token() == carried and self._may_ask(sending):
            with self._alone():
                if self._token() == carried and self._seems_refused(refused):  # nobody has found out meanwhile
                    self._send_witness(sending)
        return self._token() != carried

    def _may_ask(self, sending: Sending) -> bool:
        return self.witness is None or self._questions[_about(sending)] < _MOST_QUESTIONS

    def _send_witness(self, sending: Sending) -> None:
        """Send the witness. Where it is refused, too, fetch another token."""
        refused, answer = sending.exchange, self._answer_to_witness(sending)
        if not self._confirms(refused, answer) or self._fetch_again(refused):
            return
        if answer:
            with self._guard:
                self._expired_at, self._lost_at = refused.number, answer.number
                self._take(TokenSign.LOST)

    def _confirms(self, refused: Exchange, answer: Exchange | None) -> bool:
        """Whether the token is refused: the witness was granted before, or there is none and the status is 401."""
        if answer is not None and answer.response is not None:
            return _refuses_the_token(answer.operation, answer.response)
        by_status = refused.response is not None and refusal_kind(refused.response) is RefusalKind.TOKEN
        return by_status and self.witness is None

    def _answer_to_witness(self, sending: Sending) -> Exchange | None:
        """Send the witness at most twice for each operation."""
        self._questions[_about(sending)] += 1
        if self.witness is None or self._questions[_about(sending)] > _MOST_QUESTIONS:
            return None
        request, intent = self.witness
        request.headers["Authorization"] = f"Bearer {self._token()}"
        return sending.send_other(request, intent)

    def _fetch_again(self, refused: Exchange) -> bool:
        """Fetch the token again where its source allows it, once. False where there is no other one now."""
        if self._token() not in self._before:  # before it is fetched: a request may be made with either from then on
            self._before.append(self._token())
        try:
            if not self._refresh():
                return False
        except CredentialError as error:
            self._fetch_error = str(error)
            return False
        self._fetched_after = refused.number
        return True

    def _is_to_blame(self, exchange: Exchange) -> bool:
        """Whether the exchange was refused because the token expired, or was wrong from the start and gets the page
        that a wrong token gets: the interface document promises it nothing."""
        if exchange.response is None:
            return False
        if self.state is TokenState.EXPIRED:
            return turns_away(exchange.response)
        return self.state is not TokenState.GRANTED and self._wrong_token_gets_a_page and is_page(exchange.response)


def _token_in(sending: Sending) -> str:
    """What a request was sent with, without its scheme."""
    return str(sending.request.headers.get("Authorization", "")).strip().rpartition(" ")[2]


def _about(sending: Sending) -> str:
    """What a question is about: all invalid requests count together."""
    return sending.intent.operation if sending.intent.valid else ""


def _refuses_the_token(operation: str, response: Response) -> bool:
    """Whether the answer to the witness shows it: a read was granted before; a synthetic code was not."""
    if operation in READS:
        return turns_away(response)
    return refusal_kind(response) in ABOUT_THE_CALLER
