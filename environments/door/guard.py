"""The guard of real transaction codes: each is executed once, and never again after an unknown outcome."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from environments.door.event_log import JournalError
from environments.door.journal import Journal, JournalEntry, Outcome, canonical, outcome_of
from environments.door.limits import Budget
from environments.door.outgoing import NotSentError, Sending
from environments.door.prepared import Prepared, code_in
from spec.answers import answer_in_words, grants_protected_result, is_granted, refuses_the_token
from spec.exchange import Exchange
from spec.interface import PREPARING
from spec.message import Text

_MOST_UNKNOWN = _MOST_REFUSED_TOKENS = 2
"""Unknown outcomes in a row, and executions that are refused with 401, after which no further code is sent."""
_CAN_BE_SENT = (Outcome.OFFERED, Outcome.NOT_SENT)
_STOPPED = f"the outcome of {_MOST_UNKNOWN} executions in a row is unknown: no further transaction code was sent"


class ExecutionGuard:
    """Decides whether a real code may be sent, counts executions by effect, and writes the journal. Without a journal,
    on a sandbox, only what this run sends counts.

    `executed` counts the confirmed transfers, `first_executed` is the code of the first one, and `unknown` are the
    exchanges that may have moved money.
    `token_refused` are the executions that were answered 401. `barred` are the codes that an earlier run sent,
    `offered` those that it offered with a wrong token; `earlier` are the unknown outcomes of earlier runs, and
    `perhaps_prepared` the requests of which a run that was killed saw no answer.
    `supplied_trouble` keeps the codes of the profile from being sent, `journal_trouble` all codes. `notes` are said
    first.

    A real code is sent in the turn that the journal gives, from the question whether it may be sent until its outcome
    is written down. The turn keeps other threads out as well as other processes: what is learned then needs no lock.
    Two codes that are sent together have no turn: what they change is changed in single steps.
    """

    def __init__(self, budget: Budget, journal: Journal | None, token: Callable[[], str]) -> None:
        self.executed, self.first_executed = 0, ""
        self.unknown: list[int] = []
        self.token_refused: list[int] = []
        self.barred: dict[str, JournalEntry] = {}
        self.offered: set[str] = set()
        self.earlier: list[JournalEntry] = []
        self.perhaps_prepared: list[JournalEntry] = []
        self.supplied_trouble = self.journal_trouble = ""
        self.notes: list[Text] = []
        self.prepared, self.journal = Prepared(), journal
        self.read_again: Callable[[], Exchange | None] = lambda: None
        self._budget, self._token = budget, token
        self._outcomes: dict[str, Outcome] = {}
        self._unknown_in_a_row = 0
        self._refused_token = ""
        self._granted_to_anybody = False
        self._again: set[str] = set()

    @property
    def sent(self) -> int:
        """Number of transfers that may have been executed, with whatever credential."""
        return self.executed + len(self.unknown)

    # -- whether it may be sent -------------------------------------------------------------------------------

    def open(self, supplied: Sequence[str] = ()) -> list[str]:
        """Take a turn, before anything is prepared, to see that the journal can be written. Gives the codes of the
        profile that it lets this run send."""
        if self.journal is None:
            return list(supplied)
        try:
            with self.journal.turn():
                return list(self._usable(self.journal, supplied))
        except JournalError as error:
            self.journal_trouble = str(error)
            return []

    def _usable(self, journal: Journal, supplied: Sequence[str]) -> Iterator[str]:
        self.supplied_trouble = journal.refusal() if supplied else ""
        for code in supplied:
            if barring := journal.barring(code):
                self.barred[code] = barring
                continue
            entry = journal.entry(code)
            if entry and entry.outcome is Outcome.OFFERED:
                self.offered.add(code)
            if not self.supplied_trouble:
                yield code

    def repeat_unknown_outcomes(self) -> None:
        """Learn what earlier runs of the environment left unknown, whatever this one may do. NotSentError."""
        if (journal := self.journal) is None:
            return
        try:
            if journal.entries():
                with journal.turn():  # a code that another run sends now will have an outcome
                    entries = [entry for entry in journal.entries() if entry.environment == journal.environment]
                self.earlier = [entry for entry in entries if entry.is_unknown]
                self.perhaps_prepared = [entry for entry in entries if entry.is_perhaps_prepared]
        except JournalError as error:
            self.notes.append(str(error))

    @contextmanager
    def preparing(self, sending: Sending, number: int) -> Iterator[None]:
        """Write down a valid request that prepares a transfer before it is sent, and after it the code in the answer: a
        run that is killed leaves a record of either. Without one, no code is sent any more. JournalError."""
        if self.journal is None or sending.intent.operation not in PREPARING or not sending.intent.valid:
            yield
            return
        request = f"exchange {number} of run {self.journal.run}"
        self._write(request, Outcome.PREPARING)
        try:
            yield
        finally:
            self._close_preparation(self.journal, request, sending.exchange)

    def _close_preparation(self, journal: Journal, request: str, exchange: Exchange) -> None:
        operation, code_at = self._budget.prepares
        code = ""
        if exchange.response and is_granted(exchange) and exchange.operation == operation:
            code = code_in(exchange.response, code_at)
        try:
            if code:
                self._write(code, Outcome.PREPARED, closes=journal.digest(canonical(request)))
            else:
                self._write(request, Outcome.ANSWERED)
        except JournalError as error:
            self.journal_trouble = str(error)
        except NotSentError:
            return  # the run ended while it waited for the journal; the report lists the transfer

    def take_turn(self, sending: Sending) -> None:
        """Until the outcome of a real code stands, no other process sends one. NotSentError for a code that was sent
        before, or is kept back; JournalError. The first one that was executed may be asked for without the token:
        nothing is left to be executed."""
        if not (code := sending.code):
            return
        if self.journal:
            sending.held.enter_context(self.journal.turn())
        sending.asks_again = not sending.executes and code == self.first_executed
        is_spent = self._outcomes.get(canonical(code), Outcome.OFFERED) not in _CAN_BE_SENT
        if is_spent and not sending.asks_again and code not in self._again:
            raise NotSentError(
                "this code is spent: it was executed, refused, or its outcome is unknown; it is not sent again"
            )
        if self._unknown_in_a_row >= _MOST_UNKNOWN:
            raise NotSentError(_STOPPED)
        if self.keep_codes_back():
            raise NotSentError("an execution was answered 401: no more codes are sent with this token")
        if self._granted_to_anybody and not sending.executes:
            raise NotSentError("the result of a code was given without a valid token: one proof is enough")
        if self.journal and not sending.asks_again:
            self._refuse_by_journal(self.journal, code)

    def _refuse_by_journal(self, journal: Journal, code: str) -> None:
        if is_supplied := not self.prepared.has(code):
            self.supplied_trouble = journal.refusal()
        if trouble := self.journal_trouble or self.supplied_trouble * is_supplied:
            raise NotSentError(trouble)
        if barring := journal.barring(code):
            raise NotSentError(f"the journal says that this code was sent at {barring.at} ({barring.outcome})")

    def keep_codes_back(self) -> bool:
        """Keep real codes back after a 401 to an execution, until there is another token and a read succeeded with it;
        for good after the second one. False where codes may be sent."""
        if not self._refused_token:
            return False
        if len(self.token_refused) >= _MOST_REFUSED_TOKENS or self._token() == self._refused_token:
            return True
        answer = self.read_again()
        if answer and is_granted(answer):
            self._refused_token = ""
        return bool(self._refused_token)

    @property
    def room(self) -> int:
        """Codes that this run may still execute, as far as it is known before one is sent."""
        stops = self.journal_trouble or self._unknown_in_a_row >= _MOST_UNKNOWN or self.keep_codes_back()
        return 0 if stops else self._budget.executions_left

    def permit_again(self, *codes: str) -> bool:
        """Let codes that the run prepared be executed at the same time, or one that succeeded a second time, to see
        whether answers are mixed up, or money moves again. False where that is not permitted: only on a sandbox, and
        after no unknown outcome."""
        if self.journal or self.unknown:
            return False
        self._again.update(codes)
        return True

    # -- while it is sent -------------------------------------------------------------------------------------

    @contextmanager
    def watching(self, sending: Sending, number: int) -> Iterator[None]:
        """Take the room of an execution, which a request with a wrong token may turn out to be, and write it down
        before it is sent. Until the answer is recorded, the outcome is unknown. LimitError; JournalError."""
        if not (code := sending.code) or sending.asks_again:
            yield
            return
        self._budget.take("executions")
        before = self._outcomes.get(canonical(code))
        if before is None:
            self._write(code, Outcome.OFFERED)
        if sending.executes:
            self._write(code, Outcome.SENT)
        self._again.discard(code)
        self.unknown.append(number)
        self._outcomes[canonical(code)] = Outcome.UNKNOWN
        try:
            yield
        finally:
            is_own = self.prepared.has(code)
            outcome = outcome_of(sending.exchange, executes=sending.executes, is_own=is_own, before=before)
            self._settle(sending, code, outcome)

    def _settle(self, sending: Sending, code: str, outcome: Outcome) -> None:
        """Remember the outcome; it is in the journal before the next code is sent. Where it cannot be written, the
        answer stands, and the journal says `sent`."""
        self._outcomes[canonical(code)] = outcome
        if outcome is not Outcome.UNKNOWN:
            self.unknown.remove(sending.exchange.number)
        if outcome in _CAN_BE_SENT:
            self._budget.release_execution()
        else:
            self._learn(sending.exchange, code, outcome, executes=sending.executes)
        try:
            if outcome is not Outcome.OFFERED:
                response = sending.exchange.response
                self._write(code, outcome, **({"status": str(response.status)} if response else {}))
        except JournalError as error:
            self.journal_trouble = str(error)

    def _learn(self, exchange: Exchange, code: str, outcome: Outcome, *, executes: bool) -> None:
        if outcome is Outcome.SUCCESS:
            self.executed += 1
            self.first_executed = self.first_executed or code * executes
        if not executes and grants_protected_result(exchange):
            self._granted_to_anybody = True
        why = f"its execution was refused ({answer_in_words(exchange)})" if outcome is Outcome.REFUSED else ""
        self.prepared.settle(code, why)
        if outcome is Outcome.UNKNOWN:  # with whatever token
            self._unknown_in_a_row += 1
            if self._unknown_in_a_row == _MOST_UNKNOWN:
                self.notes.append(_STOPPED)
        elif executes:
            self._unknown_in_a_row = 0
        if executes and exchange.response is not None and refuses_the_token(exchange.response):
            self._refused_token = self._token()
            self.token_refused.append(exchange.number)

    def _write(self, code: str, outcome: Outcome, **clear: str) -> None:
        if self.journal is not None:
            self.journal.write(code, outcome, **clear)
