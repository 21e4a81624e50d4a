"""The guard of real transaction codes: each is executed once, and never again after an unknown outcome."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress

from environments.door.budget import Budget
from environments.door.journal import NOT_SENT, REFUSED, TURNED_AWAY, AlreadySentError, Journal, JournalError
from environments.door.prepared_transfers import Prepared
from spec.answers import RefusalKind, gives_result, is_refusal, refusal_kind, refuses_the_token
from spec.exchange import Exchange, FailureKind

_UNKNOWN = "outcome unknown"
_GRANTED, _TOKEN_REFUSED = "granted to a bad credential", "token refused"
"""What all processes of a run remember together."""


class KeptBackError(Exception):
    """A code is not sent, and can be used later. The text says why."""


class ExecutionGuard:
    """Decides whether a real code may be sent, counts executions by effect, and writes the journal.

    `executed` are the exchanges that confirmed a transfer, `unknown` those of which nobody knows, and `token_refused`
    is the first execution that was answered 401. `notes` are said first.
    """

    def __init__(self, budget: Budget, journal: Journal, token: Callable[[], str]) -> None:
        self.executed: list[int] = []
        self.unknown: list[int] = []
        self.refused_by_journal: dict[str, str] = {}
        self.journal_trouble = ""
        self.token_refused = 0
        self.notes: list[str] = []
        self.prepared = Prepared()
        self._budget, self._journal, self._token = budget, journal, token
        self._refused_token: str | None = None
        self._spent: set[str] = set()
        self._once_more: set[str] = set()
        self._asked_twice: set[str] = set()

    # -- whether it may be sent -------------------------------------------------------------------------------

    def turn(self) -> AbstractContextManager[None]:
        """While a real code is sent, no other process of the run sends one."""
        return self._journal.turn()

    def refuse(self, code: str, *, executes: bool) -> None:
        """Raises AlreadySentError for a code that was sent, KeptBackError for one that is kept; JournalError."""
        if code in self._spent:
            raise AlreadySentError(
                "this code is spent: it was executed, or its outcome is unknown; it is not sent again"
            )
        if self.keeps_codes_back:
            raise KeptBackError("an execution was answered 401: no more codes are sent with this token")
        if self.has_proof and not executes:
            raise KeptBackError("a code was executed with a bad credential: one proof is enough")
        try:
            self._journal.refuse_if_sent_before(code, in_this_run=code not in self._once_more)
        except AlreadySentError as error:
            if error.earlier:
                self.refused_by_journal[code] = error.earlier
            raise

    def usable(self, codes: Iterable[str]) -> list[str]:
        """The codes that no earlier run sent. Where the journal cannot be used, each send says so."""
        for code in codes:
            with suppress(JournalError, OSError, KeptBackError):
                self.refuse(code, executes=True)
        return [code for code in codes if code not in self.refused_by_journal]

    @property
    def keeps_codes_back(self) -> bool:
        """Whether an execution was answered 401, in whatever process, and the token is still the same."""
        if self._refused_token is None and self._budget.is_marked(_TOKEN_REFUSED):
            self._refused_token = self._token()
        return self._refused_token is not None and self._refused_token == self._token()

    @property
    def has_proof(self) -> bool:
        """Whether a code was granted to a bad credential."""
        return self._budget.is_marked(_GRANTED)

    @property
    def room(self) -> int:
        """How many more codes this run may execute, as far as it is known before one is sent."""
        return 0 if self.keeps_codes_back or self.journal_trouble else self._budget.executions_left

    @property
    def resends_by_option(self) -> bool:
        """Whether a later run sends a code of this one only where --resend-code names it."""
        return self._journal.across_runs

    def permit_once_more(self, code: str) -> bool:
        """Let a code be executed a second time, to see whether money moves again. Whether that is permitted: only at a
        loopback target, and only after an answer. For a code that the run prepared itself; the caller sees to that."""
        settled = code in self._spent and code not in self._asked_twice and not self.unknown
        if self._journal.across_runs or not settled:
            return False
        self._asked_twice.add(code)
        self._once_more.add(code)
        self._spent.discard(code)
        return True

    # -- while it is sent -------------------------------------------------------------------------------------

    def claim(self, code: str, *, executes: bool) -> None:
        """Take the room of an execution, which a bad credential may turn out to be, and write it down.

        Raises OverBudgetError, JournalError or OSError.
        """
        self._budget.reserve_execution()
        try:
            if executes:
                self._journal.claim(code, once_more=self._takes_once_more(code))
            else:
                self._journal.try_out(code)
        except BaseException:
            self._budget.release_execution()
            raise

    def _takes_once_more(self, code: str) -> bool:
        permitted = code in self._once_more
        self._once_more.discard(code)
        return permitted

    @contextmanager
    def sending(self, code: str, number: int, executes: bool, answer: Callable[[], Exchange]) -> Iterator[None]:
        """While a real code is on the wire its outcome is unknown, whatever stops us."""
        self.unknown.append(number)
        self._spent.add(code)
        try:
            yield
        except BaseException:
            self._journal.settle(code, _UNKNOWN)
            raise
        exchange = answer()
        if _is_unknown(exchange):
            self._journal.settle(code, _UNKNOWN)
            self.prepared.settle(code, "")
            return
        self.unknown.remove(number)
        self._settle(code, exchange, executes)

    def release(self, code: str, exchange: Exchange, *, executes: bool) -> None:
        """Give back the room that a refused bad credential had, and in the journal a code that was never sent."""
        if executes and exchange.failure is not None and exchange.failure.kind is FailureKind.NO_CONNECTION:
            self._journal.settle(code, NOT_SENT)
        if not executes and exchange.response is not None and not _is_unknown(exchange) and not gives_result(exchange):
            self._budget.release_execution()

    def unanswered(self) -> int:
        """How many codes of the run, all its processes taken together, were sent without a known outcome."""
        try:
            return self._journal.unanswered()
        except (JournalError, OSError):  # a journal that cannot be read stops every execution
            return 0

    def _settle(self, code: str, exchange: Exchange, executes: bool) -> None:
        """Remember what the answer says: granted, or refused."""
        response = exchange.response
        granted = gives_result(exchange) or (executes and response is not None and not is_refusal(response))
        if granted:
            self.executed.append(exchange.number)
            self.prepared.settle(code, "")
        elif executes:
            self.prepared.settle(code, f"its execution was refused ({exchange.summary})")
        if granted and not executes:
            self._budget.mark(_GRANTED)
        if executes and response is not None and refuses_the_token(response):
            self._refuse_the_token(exchange)
            self._journal.settle(code, REFUSED)
        elif executes or granted:
            self._journal.settle(code, exchange.summary)
        else:
            self._journal.settle(code, TURNED_AWAY)
        if not gives_result(exchange):
            self._spent.discard(code)

    def _refuse_the_token(self, exchange: Exchange) -> None:
        self._refused_token = self._token()
        self.token_refused = self.token_refused or exchange.number
        self._budget.mark(_TOKEN_REFUSED)


def _is_unknown(exchange: Exchange) -> bool:
    """No answer, or one that a gateway gave in the service's place: only a refused connection did nothing."""
    if exchange.response is not None:
        return refusal_kind(exchange.response) is RefusalKind.GATEWAY
    return exchange.failure is None or exchange.failure.kind is not FailureKind.NO_CONNECTION
