"""The guard of real transaction codes: each is executed once, and never again after an unknown outcome."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager

from environments.door.budget import Budget
from environments.door.event_log import JournalError, as_journal_error
from environments.door.journal import Journal, JournalEntry, Outcome, canonical, outcome_of
from environments.door.outgoing import NotSentError, Sending
from environments.door.preparing import Prepared
from spec.answers import refuses_the_token
from spec.exchange import Exchange

_MOST_UNKNOWN, _MOST_REFUSED_TOKENS = 2, 2
"""Unknown outcomes in a row, and executions that are refused with 401, after which no further code is sent."""
_STOPPED = f"the outcome of {_MOST_UNKNOWN} executions in a row is unknown: no further transaction code was sent"


class AlreadySentError(NotSentError):
    """The code was sent before. The message says when, and what to do."""


class ExecutionGuard:
    """Decides whether a real code may be sent, counts executions by effect, and writes the journal. Without a journal,
    on a sandbox, only what this run sends counts.

    `executed` are the exchanges that confirmed a transfer, `unknown` those that may have, and `token_refused` is the
    first execution that was answered 401. `barred` are the codes that an earlier run sent, `offered` those that it
    offered with a wrong token; `earlier` are the unknown outcomes of earlier runs. `supplied_trouble` keeps the codes
    of the profile from being sent, `journal_trouble` all codes. `notes` are said first.

    A real code is sent in the turn that the journal gives, from the question whether it may be sent until its outcome
    is written down. The turn keeps other threads out as well as other processes: what is learned then needs no lock.
    Two codes that are sent together have no turn: what they change is changed in single steps.
    """

    def __init__(self, budget: Budget, journal: Journal | None, token: Callable[[], str]) -> None:
        self.executed: list[int] = []
        self.unknown: list[int] = []
        self.barred: dict[str, JournalEntry] = {}
        self.offered: set[str] = set()
        self.earlier: list[JournalEntry] = []
        self.supplied_trouble = self.journal_trouble = ""
        self.token_refused = 0
        self.notes: list[str] = []
        self.prepared = Prepared()
        self.read_again: Callable[[], bool] = lambda: False
        self._budget, self._journal, self._token = budget, journal, token
        self._outcomes: dict[str, Outcome] = {}
        self._unknown_in_a_row, self._tokens_refused = 0, 0
        self._refused_token = self._read_with = ""
        self._granted_to_anybody = False
        self._again: set[str] = set()

    @property
    def sent(self) -> int:
        """How many transfers may have been executed, with whatever credential."""
        return len(self.executed) + len(self.unknown)

    # -- whether it may be sent -------------------------------------------------------------------------------

    def open(self, supplied: Iterable[str] = ()) -> list[str]:
        """Open the journal, before anything is prepared. Gives the codes of the profile that it lets this run send."""
        if self._journal is None:
            return list(supplied)
        try:
            self._journal.open()
            with self._journal.turn():
                return list(self._usable(self._journal, list(supplied)))
        except JournalError as error:
            self.journal_trouble = str(error)
            return []

    def _usable(self, journal: Journal, supplied: list[str]) -> Iterator[str]:
        self.supplied_trouble = journal.refusal() if supplied else ""
        for code in supplied:
            if barring := journal.barring(code):
                self.barred[code] = barring
                continue
            if (entry := journal.entry(code)) and entry.run != journal.run:
                self.offered.add(code)
            if not self.supplied_trouble:
                yield code

    def repeat_unknown_outcomes(self) -> None:
        """Learn what earlier runs of the environment left unknown, whatever this one may do. NotSentError."""
        if (journal := self._journal) is None:
            return
        try:
            with as_journal_error():
                if not journal.path.exists():
                    return
            with journal.turn():
                found = journal.entries()
        except JournalError as error:
            self.notes.append(str(error))
        else:
            self.earlier = [one for one in found if one.is_unknown and one.environment == journal.environment]

    def take_turn(self, sending: Sending) -> None:
        """Until the outcome of a real code stands, no other process sends one. NotSentError for a code that was sent
        before, or is kept back; JournalError."""
        if sending.code:
            if not self.may_go_again(sending.code):
                sending.held.enter_context(self._journal.turn() if self._journal else ExitStack())
            self.refuse(sending.code, executes=sending.executes)

    def refuse(self, code: str, *, executes: bool) -> None:
        """Raises AlreadySentError for a code that was sent, NotSentError for one that is kept back; JournalError."""
        if self._outcomes.get(canonical(code), Outcome.OFFERED) is not Outcome.OFFERED and code not in self._again:
            raise AlreadySentError(
                "this code is spent: it was executed, refused, or its outcome is unknown; it is not sent again"
            )
        if self._unknown_in_a_row >= _MOST_UNKNOWN:
            raise NotSentError(_STOPPED)
        if self.keep_codes_back():
            raise NotSentError("an execution was answered 401: no more codes are sent with this token")
        if self._granted_to_anybody and not executes:
            raise NotSentError("a code was executed without a valid token: one proof is enough")
        self._refuse_by_journal(code)

    def _refuse_by_journal(self, code: str) -> None:
        if self._journal is None:
            return
        if not self.prepared.has(code):
            self.supplied_trouble = self._journal.refusal()
        if trouble := self.journal_trouble or ("" if self.prepared.has(code) else self.supplied_trouble):
            raise NotSentError(trouble)
        if barring := self._journal.barring(code):
            raise AlreadySentError(f"the journal says that this code {barring}")

    def keep_codes_back(self) -> bool:
        """Keep real codes back after a 401 to an execution, until there is another token and a read succeeded with it;
        for good after the second one. False where codes may be sent."""
        if not self._refused_token:
            return False
        if self._tokens_refused >= _MOST_REFUSED_TOKENS or self._token() == self._refused_token:
            return True
        if self._read_with != self._token() and self.read_again():
            self._read_with = self._token()
        return self._read_with != self._token()

    @property
    def room(self) -> int:
        """Codes that this run may still execute, as far as it is known before one is sent."""
        stops = self.journal_trouble or self._unknown_in_a_row >= _MOST_UNKNOWN or self.keep_codes_back()
        return 0 if stops else self._budget.executions_left

    @property
    def has_journal(self) -> bool:
        """Whether a later run sends a code of this one only where --resend-code names it. False on a sandbox."""
        return self._journal is not None

    def permit_again(self, *codes: str) -> bool:
        """Let codes that the run prepared be executed at the same time, or one that succeeded a second time, to see
        whether answers are mixed up, or money moves again. False where that is not permitted: only on a sandbox, and
        after no unknown outcome."""
        if self.has_journal or self.unknown:
            return False
        self._again.update(codes)
        return True

    def may_go_again(self, code: str | None) -> bool:
        """True if the code may be executed beside another one, or a second time."""
        return code in self._again

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
        if canonical(code) not in self._outcomes:
            self._write(code, Outcome.OFFERED)
            self._outcomes[canonical(code)] = Outcome.OFFERED
        if executes:
            self._write(code, Outcome.SENT)

    def _write(self, code: str, outcome: Outcome, status: str = "") -> None:
        if self._journal is not None:
            self._journal.write(code, outcome, **({"status": status} if status else {}))

    def _close(self, code: str, outcome: Outcome, status: str = "") -> None:
        """Write down what became of a code. Where that fails, the answer stands, and the journal says `sent`."""
        try:
            self._write(code, outcome, status)
        except JournalError as error:
            self.journal_trouble = str(error)

    def _withdraw(self, sending: Sending) -> None:
        """Take back the claim of a request that was stopped before it was sent."""
        if sending.claimed:
            self._take_back(sending, sending.code or "")

    def _take_back(self, sending: Sending, code: str) -> None:
        self._budget.release_execution()
        if sending.executes:
            self._close(code, Outcome.NOT_SENT)

    @contextmanager
    def watching(self, sending: Sending, number: int) -> Iterator[None]:
        """Until the answer is recorded, the code counts as sent with an unknown outcome."""
        if not (code := sending.code):
            yield
            return
        sending.claimed = False
        self._again.discard(code)
        self.unknown.append(number)
        self._outcomes[canonical(code)] = Outcome.UNKNOWN
        try:
            yield
        except BaseException:
            self._close(code, Outcome.UNKNOWN)
            raise
        self._settle(sending, code, sending.exchange, outcome_of(sending.exchange, executes=sending.executes))

    def _settle(self, sending: Sending, code: str, exchange: Exchange, outcome: Outcome) -> None:
        """Remember the outcome; it is in the journal before the next code is sent."""
        if outcome is not Outcome.UNKNOWN:
            self.unknown.remove(exchange.number)
            self._outcomes[canonical(code)] = Outcome.OFFERED if outcome is Outcome.NOT_SENT else outcome
        if outcome in (Outcome.OFFERED, Outcome.NOT_SENT):
            self._take_back(sending, code)
            return
        if outcome is Outcome.SUCCESS:
            self.executed.append(exchange.number)
            self._granted_to_anybody |= not sending.executes
        refused = outcome is Outcome.REFUSED
        self.prepared.settle(code, f"its execution was refused ({exchange.summary})" if refused else "")
        if sending.executes:
            self._unknown_in_a_row = self._unknown_in_a_row + 1 if outcome is Outcome.UNKNOWN else 0
            self.notes += [_STOPPED] * (self._unknown_in_a_row == _MOST_UNKNOWN)
            self._learn_of_token(exchange)
        self._close(code, outcome, str(exchange.response.status) if exchange.response else "")

    def _learn_of_token(self, exchange: Exchange) -> None:
        if exchange.response is not None and refuses_the_token(exchange.response):
            self._refused_token = self._token()
            self._tokens_refused += 1
            self.token_refused = self.token_refused or exchange.number
