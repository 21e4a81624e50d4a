"""The guard of real transaction codes: each is executed once, and never again after an unknown outcome."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress

from environments.door.budget import Budget
from environments.door.journal import (
    NOT_SENT,
    REFUSED,
    TRIED,
    TURNED_AWAY,
    UNKNOWN,
    AlreadySentError,
    Journal,
    JournalError,
)
from environments.door.outgoing import NotSentError, Sending
from environments.door.prepared_transfers import Prepared
from spec.answers import RefusalKind, grants_protected_result, is_granted, refusal_kind, refuses_the_token
from spec.exchange import Exchange, FailureKind

_GRANTED, _TOKEN_REFUSED = "granted to a bad credential", "token refused"
"""What all processes of a run remember together."""


class ExecutionGuard:
    """Decides whether a real code may be sent, counts executions by effect, and writes the journal.

    `executed` are the exchanges that confirmed a transfer, `unknown` those whose outcome is unknown, and
    `token_refused` is the first execution that was answered 401. `notes` are said first.

    A real code is sent in the turn that the journal gives, from the question whether it may be sent until its answer
    is written down. The turn keeps other threads out as well as other processes: what is learned then needs no lock.
    Two codes that are sent together have no turn: what they change is changed in single steps.
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
        self._together: frozenset[str] = frozenset()
        self._once_more: set[str] = set()
        self._asked_twice: set[str] = set()
        self._guard = threading.Lock()

    @property
    def sent(self) -> int:
        """How many codes this process spent, with whatever credential, those with an unknown outcome included."""
        return len(self.executed) + len(self.unknown)

    # -- whether it may be sent -------------------------------------------------------------------------------

    def take_turn(self, sending: Sending) -> None:
        """Until the answer to a real code stands, no other process of the run sends one. NotSentError for a code that
        was sent before, or is kept back; JournalError."""
        if sending.code:
            if not self.is_one_of_two(sending.code):
                sending.held.enter_context(self._journal.turn())
            self.refuse(sending.code, executes=sending.executes)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Send several codes in one turn. Who is alone on the wire has to have its turn before: the turn may be with
        another process, which waits for the wire. Where the journal cannot be used, each send says so."""
        with ExitStack() as held:
            with suppress(JournalError):
                held.enter_context(self._journal.turn())
            yield

    def refuse(self, code: str, *, executes: bool) -> None:
        """Raises AlreadySentError for a code that was sent, NotSentError for one that is kept back; JournalError."""
        if code in self._spent:
            raise AlreadySentError(
                "this code is spent: it was executed, or its outcome is unknown; it is not sent again"
            )
        if self.keep_codes_back():
            raise NotSentError("an execution was answered 401: no more codes are sent with this token")
        if self._budget.is_marked(_GRANTED) and not executes:
            raise NotSentError("a code was executed without a valid token: one proof is enough")
        try:
            self._journal.refuse_if_sent_before(code, in_this_run=code not in self._once_more)
        except AlreadySentError as error:
            if error.earlier:
                self.refused_by_journal[code] = error.earlier
            raise

    def drop_sent(self, codes: Iterable[str]) -> list[str]:
        """Give the codes that no earlier run sent, and refuse the others. Where the journal cannot be used, each send
        says so."""
        for code in codes:
            with suppress(JournalError, NotSentError):
                self.refuse(code, executes=True)
        return [code for code in codes if code not in self.refused_by_journal]

    def keep_codes_back(self) -> bool:
        """Keep real codes back after any process got a 401 to an execution, until the token is another one. False
        where codes may be sent."""
        if self._refused_token is None and self._budget.is_marked(_TOKEN_REFUSED):
            self._refused_token = self._token()
        return self._refused_token is not None and self._refused_token == self._token()

    @property
    def room(self) -> int:
        """How many more codes this run may execute, as far as it is known before one is sent."""
        return 0 if self.keep_codes_back() or self.journal_trouble else self._budget.executions_left

    @property
    def resends_by_option(self) -> bool:
        """Whether a later run sends a code of this one only where --resend-code names it."""
        return self._journal.across_runs

    def permit_together(self, *codes: str) -> bool:
        """Let codes be executed at the same time, to see whether their answers are mixed up. False where that is not
        permitted: only at a loopback target. The caller sees to it that the run prepared the codes itself."""
        self._together = frozenset() if self._journal.across_runs else frozenset(codes)
        return bool(self._together)

    def is_one_of_two(self, code: str | None) -> bool:
        """Whether the code may be executed at the same time as another one."""
        return code in self._together

    def permit_once_more(self, code: str) -> bool:
        """Let a code be executed a second time, to see whether money moves again. False where that is not permitted:
        only at a loopback target, only after an answer. The caller sees to it that the run prepared the code itself."""
        with self._guard:
            answered = code in self._spent and code not in self._asked_twice and not self.unknown
            if self._journal.across_runs or not answered:
                return False
            self._asked_twice.add(code)
            self._once_more.add(code)
            self._spent.discard(code)
            return True

    # -- while it is sent -------------------------------------------------------------------------------------

    def claim(self, sending: Sending) -> None:
        """Take the room of an execution, which a request with a wrong token may turn out to be, and write it down.

        Raises LimitError, NotSentError or JournalError.
        """
        if not sending.code:
            return
        self._budget.reserve_execution()
        try:
            self._write_claim(sending.code, executes=sending.executes)
        except BaseException:
            self._budget.release_execution()
            raise
        sending.claimed = True
        sending.held.callback(self._withdraw, sending)

    def _write_claim(self, code: str, *, executes: bool) -> None:
        if executes:
            self._journal.claim(code, once_more=code in self._once_more)
            self._once_more.discard(code)
        else:
            self._journal.write(code, TRIED)

    def _withdraw(self, sending: Sending) -> None:
        """Take back the claim of a request that was stopped before it was sent."""
        if sending.claimed:
            self._close_claim(sending)

    def _close_claim(self, sending: Sending) -> None:
        self._journal.write(sending.code or "", NOT_SENT if sending.executes else TURNED_AWAY)
        self._budget.release_execution()

    @contextmanager
    def watching(self, sending: Sending, number: int) -> Iterator[None]:
        """Until the answer is recorded, the code counts as sent with an unknown outcome."""
        if not sending.code:
            yield
            return
        sending.claimed = False
        self.unknown.append(number)
        self._spent.add(sending.code)
        try:
            yield
        except BaseException:
            self._journal.write(sending.code, UNKNOWN)
            raise
        if _is_unknown(sending.exchange):
            self._journal.write(sending.code, UNKNOWN)
            self.prepared.settle(sending.code, "")
            return
        self.unknown.remove(number)
        self._settle(sending, sending.code, sending.exchange)

    def unanswered(self) -> int:
        """How many codes of the run, all its processes taken together, were sent without a known outcome."""
        try:
            return self._journal.unanswered()
        except JournalError:  # a journal that cannot be read stops every execution
            return 0

    def _settle(self, sending: Sending, code: str, exchange: Exchange) -> None:
        """Remember what the answer says: granted, refused, or never sent."""
        executes, gives = sending.executes, grants_protected_result(exchange)
        granted = gives or (executes and is_granted(exchange))
        if granted:
            self.executed.append(exchange.number)
            self.prepared.settle(code, "")
        elif executes:
            self.prepared.settle(code, f"its execution was refused ({exchange.summary})")
        if granted and not executes:
            self._budget.mark(_GRANTED)
        if not gives:
            self._spent.discard(code)
        self._write_outcome(sending, code, exchange, effective=executes or granted)

    def _write_outcome(self, sending: Sending, code: str, exchange: Exchange, *, effective: bool) -> None:
        if exchange.response is None or not effective:
            self._close_claim(sending)
        elif sending.executes and refuses_the_token(exchange.response):
            self._refuse_the_token(exchange)
            self._journal.write(code, REFUSED)
        else:
            self._journal.write(code, exchange.summary)

    def _refuse_the_token(self, exchange: Exchange) -> None:
        self._refused_token = self._token()
        self.token_refused = self.token_refused or exchange.number
        self._budget.mark(_TOKEN_REFUSED)


def _is_unknown(exchange: Exchange) -> bool:
    """No answer, or one that a gateway gave in the service's place: only a refused connection did nothing."""
    if exchange.response is not None:
        return refusal_kind(exchange.response) is RefusalKind.GATEWAY
    return exchange.failure is None or exchange.failure.kind is not FailureKind.NO_CONNECTION
