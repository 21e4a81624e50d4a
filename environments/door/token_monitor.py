"""A token that was accepted and is refused later: it expired, or it has to be fetched again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import requests

from environments.door.authorization import VALID
from environments.profiles.credentials import CredentialError
from spec.answers import ABOUT_THE_CALLER, ABOUT_THE_REQUEST, RefusalKind, is_page, refusal_kind, turns_away
from spec.exchange import Exchange
from spec.interface import MARK

REFRESHED = "the token was refused in the middle of the run (exchange {}) and fetched again"
EXPIRED = "the token expired in the middle of the run (exchange {}): get one that lasts longer, or use token_command"
MAY_HAVE_EXPIRED = "from exchange {} on the token is refused (401), and it was accepted before: it may have expired"
READS = ("listAccounts", "getBalance", "listEntries", "listPixKeys")
_MOST_QUESTIONS = 2
"""For each operation that a good request was sent to, and for all mistakes together."""


Ask = Callable[[requests.PreparedRequest, str], Exchange | None]
"""Sends a request to an operation once more."""


class TokenMonitor:
    """Watches how the valid token is received. `notes` are said first; `accepted` says that it was valid, in this
    process or the one that started it, `expired` that it lasts no more, and `excused` has the numbers of the exchanges
    that were refused for that. `witness` is a harmless request: asked
    again, it shows whether the token is still accepted."""

    def __init__(self, token: Callable[[], str], refresh: Callable[[], bool], *, accepted: bool = False) -> None:
        self.notes: list[str] = []
        self.excused: set[int] = set()
        self.accepted, self.expired = accepted, False
        self._granted = self._pages = False
        self.witness: requests.PreparedRequest | None = None
        self._operation = ""
        self._token, self._refresh = token, refresh
        self._questions: Counter[str] = Counter()

    def watch(self, request: requests.PreparedRequest, exchange: Exchange, ask: Ask) -> bool:
        """See how a request with the valid token was received. Whether it has another token now, fetched again.

        Where the token was accepted before and seems to be refused now, the witness is asked; then the token is fetched
        again, once, or it has expired.
        """
        self._remember(request, exchange)
        if not self._suspects(exchange):
            return False
        asked = self._asked(exchange, ask)
        if not self._confirms(exchange, asked):
            return False
        before = self._token()
        if self._fetch_again(exchange):
            request.headers["Authorization"] = str(request.headers["Authorization"]).replace(before, self._token())
            return True
        if asked:
            self.expired = True
            self.notes.append(EXPIRED.format(exchange.number))
        return False

    def conclude(self, exchange: Exchange) -> None:
        """Conclude from an exchange: that a gateway answers a bad credential with a page to log in, or that the token
        explains why this one was refused."""
        if exchange.credential != VALID:
            self._pages |= exchange.response is not None and is_page(exchange.response)
        elif self._explains(exchange):
            self.excused.add(exchange.number)

    def _explains(self, exchange: Exchange) -> bool:
        """Whether the exchange was refused because the token has expired, or because it was wrong from the start and is
        answered with a page like a bad credential: the document promises it nothing."""
        if exchange.response is None:
            return False
        wrong = self._pages and not self._granted and is_page(exchange.response)
        return wrong or (self.expired and turns_away(exchange.response))

    def _remember(self, request: requests.PreparedRequest, exchange: Exchange) -> None:
        """A read that was granted is the witness; without one, an invented code that was not refused for the token."""
        if exchange.response is None:
            return
        accepted = bool(exchange.operation) and refusal_kind(exchange.response) in (None, *ABOUT_THE_REQUEST)
        self.accepted |= accepted
        granted = accepted and not turns_away(exchange.response)
        self._granted |= granted
        if granted and self.expired:  # what is granted after it seemed to have expired was granted with it
            self.expired = False
            self.notes.pop()
        granted_read = granted and exchange.operation in READS
        if granted_read or (accepted and self.witness is None and _names_an_invented_code(exchange)):
            self.witness, self._operation = request.copy(), exchange.operation

    def _suspects(self, exchange: Exchange) -> bool:
        """Whether a token that was accepted before seems to be refused: with 401, or by whatever form of refusal a good
        request gets."""
        if exchange.response is None or not self.accepted or self.expired:
            return False
        refused = refusal_kind(exchange.response) is RefusalKind.TOKEN
        return refused or (exchange.valid and turns_away(exchange.response))

    def _asked(self, exchange: Exchange, ask: Ask) -> Exchange | None:
        """What the witness is answered; a service that refuses for other reasons is not asked each time."""
        asked_for = exchange.operation if exchange.valid else ""
        self._questions[asked_for] += 1
        if self.witness is None or self._questions[asked_for] > _MOST_QUESTIONS:
            return None
        self.witness.headers["Authorization"] = f"Bearer {self._token()}"
        return ask(self.witness, self._operation)

    def _confirms(self, refused: Exchange, witness: Exchange | None) -> bool:
        """Whether the token is refused: what was granted is refused now; or it was a 401, and nothing can be asked."""
        if witness is None or witness.response is None:
            by_status = refused.response is not None and refusal_kind(refused.response) is RefusalKind.TOKEN
            return by_status and self.witness is None
        if witness.operation in READS:
            return turns_away(witness.response)
        return refusal_kind(witness.response) in ABOUT_THE_CALLER

    def _fetch_again(self, exchange: Exchange) -> bool:
        """Fetch the token again where its source allows it, once. Whether there is another one now."""
        try:
            if not self._refresh():
                return False
        except CredentialError as error:
            self.notes.append(str(error))
            return False
        self.notes.append(REFRESHED.format(exchange.number))
        return True


def _names_an_invented_code(exchange: Exchange) -> bool:
    return exchange.operation == "executePix" and exchange.request.last_segment.startswith(MARK)
