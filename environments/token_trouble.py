"""A token that was accepted and is refused later: it expired, or it has to be fetched again."""

from __future__ import annotations

from collections.abc import Callable

import requests

from environments.credentials import CredentialError
from spec.exchange import Exchange
from spec.interface import MARK

REFRESHED = "the token was refused in the middle of the run (exchange {}) and fetched again"
EXPIRED = "the token expired in the middle of the run (exchange {}): get one that lasts longer, or use token_command"
MAY_HAVE_EXPIRED = "from exchange {} on the token is refused (401), and it was accepted before: it may have expired"
READS = ("listAccounts", "getBalance", "listEntries", "listPixKeys")
_MOST_QUESTIONS = 2


class TokenTrouble:
    """Watches how the valid token is received. `notes` are said first; `accepted` says that it was valid, in this
    process or the one that started it, and `expired` that it lasts no more."""

    def __init__(self, refresh: Callable[[], bool], *, accepted: bool = False) -> None:
        self.notes: list[str] = []
        self.expired = False
        self.witness: requests.PreparedRequest | None = None
        self.witness_operation = ""
        self._refresh = refresh
        self.accepted = accepted
        self._questions = 0

    def remember(self, request: requests.PreparedRequest, exchange: Exchange) -> None:
        """Keep that the token was accepted, and a request that is harmless: asked again, it shows whether it still is.

        A read that was granted; without one, an invented code that was not refused for the token.
        """
        status = exchange.response.status if exchange.response else 0
        accepted = bool(exchange.operation) and 200 <= status < 500 and status not in (401, 403)
        self.accepted |= accepted
        granted_read = exchange.operation in READS and 200 <= status < 300
        if granted_read or (accepted and self.witness is None and _names_an_invented_code(exchange)):
            self.witness, self.witness_operation = request.copy(), exchange.operation

    def suspects(self, exchange: Exchange) -> bool:
        """Whether a token that was accepted before seems to be refused."""
        refused = exchange.response is not None and exchange.response.status == 401
        return refused and self.accepted and not self.expired

    def fetch_again(self, exchange: Exchange) -> bool:
        """Fetch the token again where its source allows it, once. Whether there is another one now."""
        try:
            if not self._refresh():
                return False
        except CredentialError as error:
            self.notes.append(str(error))
            return False
        self.notes.append(REFRESHED.format(exchange.number))
        return True

    def may_ask(self) -> bool:
        """Whether the witness may be asked; a service that refuses for other reasons is not asked each time."""
        self._questions += 1
        return self.witness is not None and self._questions <= _MOST_QUESTIONS

    def judge(self, refused: Exchange, witness: Exchange) -> None:
        """The token has expired where the read that was granted is refused now."""
        if witness.response is not None and witness.response.status == 401:
            self.expired = True
            self.notes.append(EXPIRED.format(refused.number))


def _names_an_invented_code(exchange: Exchange) -> bool:
    return exchange.operation == "executePix" and exchange.request.last_segment.startswith(MARK)
