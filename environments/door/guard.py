"""The guard of real transaction codes: each is executed once, and never again after an unknown outcome.

The door asks it before it sends a code. The interface document says that a call with a valid code confirms the transfer
(GET /v1/execute/pix/{transactionId}, Rule). It does not say what a second call does, so off a sandbox a code is sent
once.

| word | meaning |
|---|---|
| real code | a transaction code of a transfer that exists: supplied in the profile, or prepared by the run |
| outcome | what became of a code, such as executed, refused or unknown (`Outcome` in `journal.py`) |
| spent code | a code that was executed or refused, or whose outcome is unknown |
| turn of the journal | the lock of the journal: who has it is the only run that sends a code now |

Self-tests: promises/test_money.py, environments/door/test_journal.py.
"""

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
from spec.interface import PREPARING_OPERATIONS
from spec.message import Text

_MOST_UNKNOWN = 2
"""Unknown outcomes in a row after which no further code is sent. A single one may be caused by a dropped connection."""
_MOST_REFUSED_TOKENS = 2
"""Executions refused with 401 after which no further code is sent. After the first one, another token may do."""
_CAN_BE_SENT = (Outcome.OFFERED, Outcome.NOT_SENT)
"""Outcomes of this run after which a code is not spent."""
_STOPPED = f"the outcome of {_MOST_UNKNOWN} executions in a row is unknown: no further transaction code was sent"


class ExecutionGuard:
    """Decides whether a real code may be sent, counts executions by their effect, and writes the journal.

    Without a journal, on a sandbox, only what this run sends counts.

    A thread that sends a real code has the turn of the journal, from the question whether the code may be sent until
    its outcome is in the journal. The turn keeps out other threads and other processes, so the state here needs no lock
    of its own. Two codes that are sent at the same moment, on a sandbox, have no turn: each changes the state in single
    steps.
    """

    def __init__(self, budget: Budget, journal: Journal | None, token: Callable[[], str]) -> None:
        self.executed = 0
        """The number of confirmed transfers."""
        self.first_executed = ""
        """The first code that was executed with the valid token; empty if there is none."""
        self.unknown: list[int] = []
        """Numbers of the exchanges that may have moved money."""
        self.token_refused: list[int] = []
        """Numbers of the executions that were answered 401."""
        self.barred: dict[str, JournalEntry] = {}
        """Codes of the profile that this run must not send, because an earlier run did: its journal entry, by code."""
        self.offered: set[str] = set()
        """Codes of the profile that an earlier run sent only with a wrong token, so that nothing was executed."""
        self.earlier: list[JournalEntry] = []
        """Entries of earlier runs with an unknown outcome."""
        self.perhaps_prepared: list[JournalEntry] = []
        """Entries of requests that prepare a transfer and whose run was killed before the answer."""
        self.supplied_trouble = ""
        """Reason why no code of the profile is sent; empty if there is none."""
        self.journal_trouble = ""
        """Reason why no code at all is sent; empty if there is none."""
        self.notes: list[Text] = []
        """Lines for the beginning of the report."""
        self.prepared = Prepared()
        self.journal = journal
        self.read_again: Callable[[], Exchange | None] = lambda: None
        """Sends the last read that succeeded once more. The door sets it."""
        self._budget = budget
        self._token = token  # gives the access token of now
        self._outcomes: dict[str, Outcome] = {}  # of this run, by code in its canonical form
        self._unknown_in_a_row = 0
        self._refused_token = ""  # the token with which an execution was answered 401; empty once it is replaced
        self._is_granted_without_token = False  # True once a wrong token got the result of an execution
        self._permitted_again: set[str] = set()  # spent codes that may be sent once more, see `permit_again`

    @property
    def executions(self) -> int:
        """Number of transfers that were executed, or may have been, with whatever credential."""
        return self.executed + len(self.unknown)

    # -- before a code is sent --------------------------------------------------------------------------------

    def open_journal(self, supplied: Sequence[str] = ()) -> list[str]:
        """Open the journal, and return the codes of the profile that this run may send according to it.

        It is called before anything is prepared. It locks the journal for a moment, because that fails if the journal
        cannot be written. Then no code is returned, and `journal_trouble` says why.
        """
        if self.journal is None:
            return list(supplied)
        try:
            with self.journal.locked():
                return list(self._usable_codes(self.journal, supplied))
        except JournalError as error:
            self.journal_trouble = str(error)
            return []

    def _usable_codes(self, journal: Journal, supplied: Sequence[str]) -> Iterator[str]:
        """The codes of the profile that may be sent. Notes the others in `barred`, and trouble with the journal."""
        self.supplied_trouble = journal.why_not_relied_on() if supplied else ""
        for code in supplied:
            barring_entry = journal.entry_that_forbids(code)
            if barring_entry:
                self.barred[code] = barring_entry
                continue
            entry = journal.entry(code)
            if entry and entry.outcome is Outcome.OFFERED:
                self.offered.add(code)
            if not self.supplied_trouble:
                yield code

    def find_unknown_outcomes(self) -> None:
        """Find the outcomes that earlier runs of the environment left unknown, whatever this run is permitted.

        Raises NotSentError if the run ends meanwhile.
        """
        journal = self.journal
        if journal is None:
            return
        try:
            if journal.entries():
                with journal.locked():  # wait for a run that sends a code now, because its outcome is not unknown
                    entries = [entry for entry in journal.entries() if entry.environment == journal.environment]
                self.earlier = [entry for entry in entries if entry.is_unknown]
                self.perhaps_prepared = [entry for entry in entries if entry.is_perhaps_prepared]
        except JournalError as error:
            self.notes.append(str(error))

    @contextmanager
    def recording_preparation(self, sending: Sending, number: int) -> Iterator[None]:
        """Write a valid request that prepares a transfer to the journal before it is sent, and the code in its answer
        afterwards, so that a run that is killed leaves a record of either.

        Raises JournalError if the request cannot be written: then it is not sent.
        """
        prepares_a_transfer = sending.intent.valid and sending.intent.operation in PREPARING_OPERATIONS
        if self.journal is None or not prepares_a_transfer:
            yield
            return
        request = f"exchange {number} of run {self.journal.run}"
        self._write(request, Outcome.PREPARING)
        try:
            yield
        finally:
            self._close_preparation(self.journal, request, sending.exchange)

    def _close_preparation(self, journal: Journal, request: str, exchange: Exchange) -> None:
        """Write to the journal how a request that prepares a transfer ended: with a transaction code, or without one.

        `request` is the text that stands for the request in the journal. An entry for the code replaces it. If the
        journal cannot be written, `journal_trouble` is set, and no code is sent any more.
        """
        operation, code_at = self._budget.prepares  # the operation that gives codes to execute, and their place
        gives_a_code = exchange.operation == operation and is_granted(exchange)
        code = ""
        if exchange.response and gives_a_code:
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

    def lock_journal_for_code(self, sending: Sending) -> None:
        """Lock the journal for a request with a real code, so that no other process sends a code meanwhile.

        The lock is released when the outcome of the code is final. Raises NotSentError for a code that was sent before
        or is kept back, JournalError if the journal cannot be used. The code that was executed first may be sent again
        without the token, because nothing is left to execute.
        """
        code = sending.code
        if not code:
            return
        if self.journal:
            sending.resources.enter_context(self.journal.locked())
        is_the_first = code == self.first_executed
        sending.resends_executed_code = is_the_first and not sending.executes
        self._refuse_spent(code, resends_executed_code=sending.resends_executed_code)
        if self._unknown_in_a_row >= _MOST_UNKNOWN:
            raise NotSentError(_STOPPED)
        codes_are_kept_back = self.check_if_codes_are_kept_back()
        if codes_are_kept_back:
            raise NotSentError("an execution was answered 401: no more codes are sent with this token")
        if self._is_granted_without_token and not sending.executes:
            raise NotSentError("the result of a code was given without a valid token: one proof is enough")
        if self.journal and not sending.resends_executed_code:
            self._refuse_by_journal(self.journal, code)

    def _refuse_spent(self, code: str, *, resends_executed_code: bool) -> None:
        """Raises NotSentError if this run sent the code before, and may not send it once more.

        `resends_executed_code` is true if the code was executed, and goes without the valid token now.
        """
        outcome = self._outcomes.get(canonical(code), Outcome.OFFERED)
        is_spent = outcome not in _CAN_BE_SENT
        may_be_repeated = resends_executed_code or code in self._permitted_again
        if is_spent and not may_be_repeated:
            raise NotSentError(
                "this code is spent: it was executed, refused, or its outcome is unknown; it is not sent again"
            )

    def _refuse_by_journal(self, journal: Journal, code: str) -> None:
        """Raises NotSentError if the journal cannot be relied on, or says that another run sent the code.

        A code of the profile needs a journal that was not edited or shortened, because an earlier run may have sent it.
        A code that this run prepared is new, so it only needs a journal that can be written.
        """
        is_supplied = not self.prepared.has(code)
        if is_supplied:
            self.supplied_trouble = journal.why_not_relied_on()
        trouble = self.journal_trouble
        if not trouble and is_supplied:
            trouble = self.supplied_trouble
        if trouble:
            raise NotSentError(trouble)
        barring_entry = journal.entry_that_forbids(code)
        if barring_entry:
            raise NotSentError(
                f"the journal says that this code was sent at {barring_entry.at} ({barring_entry.outcome})"
            )

    def check_if_codes_are_kept_back(self) -> bool:
        """Find out if no code may be sent now, because an execution was answered 401. True if none may be sent.

        Codes may be sent again once there is another token and a read succeeds with it. This method sends that read.
        After the second 401 no code is sent any more.
        """
        if not self._refused_token:
            return False
        if len(self.token_refused) >= _MOST_REFUSED_TOKENS or self._token() == self._refused_token:
            return True
        answer = self.read_again()
        if answer and is_granted(answer):
            self._refused_token = ""
        return bool(self._refused_token)

    def count_possible_executions(self) -> int:
        """Number of codes that this run may still execute, as far as that is known before one is sent.

        Reading it may send a request: after an execution that was answered 401, a read shows whether another token is
        accepted (`check_if_codes_are_kept_back`).
        """
        if self.journal_trouble or self._unknown_in_a_row >= _MOST_UNKNOWN:
            return 0
        codes_are_kept_back = self.check_if_codes_are_kept_back()
        if codes_are_kept_back:
            return 0
        return self._budget.executions_left

    def permit_again(self, *codes: str) -> bool:
        """Permit codes to be sent even if they are spent, on a sandbox and if no outcome is unknown.

        Returns true if it is permitted. A run sends an executed code once more to see if money moves a second time. It
        also asks for the two codes that go at the same moment: they are not spent, but an unknown outcome forbids them.
        """
        if self.journal or self.unknown:
            return False
        self._permitted_again.update(codes)
        return True

    # -- while a code is sent ---------------------------------------------------------------------------------

    @contextmanager
    def recording_execution(self, sending: Sending, number: int) -> Iterator[None]:
        """Count an execution and write it to the journal before it is sent, and its outcome afterwards.

        A code with a wrong token counts as well, because the service may execute it. Until the answer is recorded, the
        outcome is unknown. Raises LimitError, or JournalError: then nothing is sent.
        """
        code = sending.code
        if not code or sending.resends_executed_code:  # the code was executed before, so nothing is left to execute
            yield
            return
        self._budget.take("executions")
        outcome_before = self._outcomes.get(canonical(code))
        if outcome_before is None:
            self._write(code, Outcome.OFFERED)
        if sending.executes:
            self._write(code, Outcome.SENT)
        self._permitted_again.discard(code)
        # Set before the request leaves, so that it stands if this thread is interrupted.
        self.unknown.append(number)
        self._outcomes[canonical(code)] = Outcome.UNKNOWN
        try:
            yield
        finally:
            is_own = self.prepared.has(code)
            outcome = outcome_of(sending.exchange, executes=sending.executes, is_own=is_own, before=outcome_before)
            self._note_outcome(sending, code, outcome)

    def _note_outcome(self, sending: Sending, code: str, outcome: Outcome) -> None:
        """Note the outcome of a code after its request, and write it to the journal before the next code is sent.

        If it cannot be written, the journal still says `sent`, so no run sends the code again. OFFERED is not written,
        because the journal has it since before the request.
        """
        self._outcomes[canonical(code)] = outcome
        if outcome is not Outcome.UNKNOWN:
            self.unknown.remove(sending.exchange.number)
        if outcome in _CAN_BE_SENT:  # nothing was executed, so it does not count against limits.executions
            self._budget.release_execution()
        else:
            self._note_effects(sending.exchange, code, outcome, executes=sending.executes)
        try:
            if outcome is not Outcome.OFFERED:
                response = sending.exchange.response
                status = {"status": str(response.status)} if response else {}
                self._write(code, outcome, **status)
        except JournalError as error:
            self.journal_trouble = str(error)

    def _note_effects(self, exchange: Exchange, code: str, outcome: Outcome, *, executes: bool) -> None:
        """Note what follows from an outcome other than "not sent": counts, refused tokens, and whether codes stop.

        `executes` is true if the request had the access token.
        """
        if outcome is Outcome.SUCCESS:
            self.executed += 1
            if executes and not self.first_executed:
                self.first_executed = code
        if not executes and grants_protected_result(exchange):
            self._is_granted_without_token = True
        why_not_executed = ""
        if outcome is Outcome.REFUSED:
            why_not_executed = f"its execution was refused ({answer_in_words(exchange)})"
        self.prepared.note_outcome(code, why_not_executed)
        if outcome is Outcome.UNKNOWN:  # counted whatever token was sent, because money may have moved
            self._unknown_in_a_row += 1
            if self._unknown_in_a_row == _MOST_UNKNOWN:
                self.notes.append(_STOPPED)
        elif executes:
            self._unknown_in_a_row = 0
        token_is_refused = exchange.response is not None and refuses_the_token(exchange.response)
        if executes and token_is_refused:
            self._refused_token = self._token()
            self.token_refused.append(exchange.number)

    def _write(self, code: str, outcome: Outcome, **clear: str) -> None:
        """Write the outcome of a code to the journal, if there is one. `clear` stands beside it in clear text.

        Raises JournalError.
        """
        if self.journal is not None:
            self.journal.write(code, outcome, **clear)
