"""The guard of real transaction codes: each is executed once, and never again after an unknown outcome.

The door asks it before it sends a code. The interface document says that a call with a valid code confirms the transfer
(GET /v1/execute/pix/{transactionId}, Rule). It does not say what a second call does. So on every service that is not a
sandbox (a test system without real money), a code is sent once.

| word | meaning |
|---|---|
| profile | the settings of a run; they may have transaction codes, which people prepared |
| real code | a transaction code of a transfer that exists: of the profile, or prepared by the run |
| execution | a request GET /v1/execute/pix/{transactionId}, which moves the money of a prepared transfer |
| wrong token | what is sent instead of the valid access token; a faulty service may execute with it, too |
| outcome | what became of a code, such as executed, refused or unknown (`Outcome` in `journal.py`) |
| spent code | a code that was executed or refused, or whose outcome is unknown |
| journal | a file with the codes that all runs of this user have sent, so that no run sends one again |
| lock of the journal | the run that has it is the only one that sends a code now |

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
"""Executions refused with 401 after which no further code is sent. After the first one, a newer token may be
accepted."""
_NOTHING_WAS_EXECUTED = (Outcome.OFFERED, Outcome.NOT_SENT)
"""Outcomes after which a code may be sent once more. OFFERED: the code was sent with wrong tokens only, and no answer
shows that it was executed. NOT_SENT: no connection was made."""
_WHY_STOPPED = f"the outcome of {_MOST_UNKNOWN} executions in a row is unknown: no further transaction code was sent"


class ExecutionGuard:
    """Decides whether a real transaction code may be sent, counts executions, and writes the journal.

    A real code moves money. The journal is a file with the codes that runs have sent. A sandbox (a test system without
    real money) has no journal: there only what this run sends counts.

    A thread that sends a real code locks the journal, from the question whether the code may be sent until its outcome
    is in the journal. The lock keeps out other threads and other processes, so the data here needs no further lock. On
    a sandbox two codes may be sent at the same moment without it: each changes the data in single steps.
    """

    def __init__(
        self,
        budget: Budget,
        journal: Journal | None,
        token: Callable[[], str],
        *,
        read_again: Callable[[], Exchange | None] = lambda: None,
    ) -> None:
        """Begin with no execution. `journal` is the file with the codes that runs have sent; None on a sandbox.

        `token` returns the present access token. `read_again` sends the last read that succeeded once more, which shows
        whether the token is accepted.
        """
        self.executed = 0
        """The number of transfers that were certainly executed."""
        self.first_executed = ""
        """The first code that was executed with the valid token; empty if there is none."""
        self.unknown_outcomes: list[int] = []
        """Numbers of the exchanges whose execution has an unknown outcome, so that it may have moved money."""
        self.token_refused: list[int] = []
        """Numbers of the executions that were answered 401."""
        self.codes_sent_before: dict[str, JournalEntry] = {}
        """By code of the profile that this run must not send, because an earlier run sent it, the entry in the
        journal."""
        self.sent_with_wrong_token: set[str] = set()
        """Codes of the profile that earlier runs sent with wrong tokens only, and that were not executed. This run may
        send them."""
        self.unknown_of_earlier_runs: list[JournalEntry] = []
        """Entries of earlier runs with an unknown outcome."""
        self.perhaps_prepared: list[JournalEntry] = []
        """Entries of requests that prepare a transfer and whose run was killed before the answer."""
        self.trouble_with_profile_codes = ""
        """Reason why no code of the profile is sent, such as a journal that was shortened; empty if there is none. A
        code that this run prepares itself may still be sent."""
        self.journal_trouble = ""
        """Reason why no code at all is sent: the journal cannot be written; empty if it can."""
        self.notes: list[Text] = []
        """Lines for the beginning of the report."""
        self.prepared = Prepared()
        """The transfers that this run prepared, each with its code and what became of it."""
        self.journal = journal
        self._read_again = read_again
        self._budget = budget
        self._token = token
        self._outcomes: dict[str, Outcome] = {}  # of this run, by code in its canonical form
        self._unknown_in_a_row = 0
        self._refused_token = ""  # the token with which an execution was answered 401; empty once it is replaced
        self._is_granted_without_token = False  # True once a wrong token got the result of an execution
        self._permitted_again: set[str] = set()  # spent codes that may be sent once more, see `permit_again`

    @property
    def executions(self) -> int:
        """Number of transfers that were executed, or may have been, with the valid token or a wrong one."""
        return self.executed + len(self.unknown_outcomes)

    # -- before a code is sent --------------------------------------------------------------------------------

    def open_journal_and_find_usable(self, supplied: Sequence[str] = ()) -> list[str]:
        """Open the journal (the file with the codes that runs have sent), and return the codes that this run may send.

        `supplied` are the transaction codes of the profile (the settings of the run). Codes that an earlier run sent
        are left out. On a sandbox (a test system without real money) there is no journal, and all of them are returned.

        The journal is locked for a moment, because that shows whether it can be written. If not, no code is returned,
        and `journal_trouble` says why.
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
        """The codes in `supplied` that may be sent, as far as the journal (the file with the sent codes) says.

        `supplied` are the transaction codes of the profile (the settings of the run). This method also notes, for the
        report, what the journal says of the codes:

        | noted in | what |
        |---|---|
        | `codes_sent_before` | the codes that are not sent, because an earlier run sent them |
        | `trouble_with_profile_codes` | the reason why no code is sent, such as a journal that was shortened |
        | `sent_with_wrong_token` | the codes that earlier runs sent with wrong tokens only: they may be sent |
        """
        self.trouble_with_profile_codes = journal.reason_not_to_trust() if supplied else ""
        for code in supplied:
            forbidding_entry = journal.entry_that_forbids(code)
            if forbidding_entry:
                self.codes_sent_before[code] = forbidding_entry
                continue
            entry = journal.entry(code)
            if entry and entry.outcome is Outcome.OFFERED:
                self.sent_with_wrong_token.add(code)
            if not self.trouble_with_profile_codes:
                yield code

    def find_unknown_outcomes(self) -> None:
        """Read from the journal which executions of earlier runs have an unknown outcome: money may have moved.

        The report of every run repeats them until a person has looked them up. So they are read even if this run sends
        no code. Entries of other environments (settings of runs) are left out. Requests that prepared a transfer and
        whose run was killed are read, too. Raises NotSentError if the run ends meanwhile.
        """
        journal = self.journal
        if journal is None:
            return
        try:
            # An empty journal is not locked, because locking makes its folder and its secret key.
            if journal.entries():
                # Locked, to wait for another run that sends a code right now: its outcome will be known.
                with journal.locked():
                    entries = [entry for entry in journal.entries() if entry.environment == journal.environment]
                self.unknown_of_earlier_runs = [entry for entry in entries if entry.is_unknown]
                self.perhaps_prepared = [entry for entry in entries if entry.is_perhaps_prepared]
        except JournalError as error:
            self.notes.append(str(error))

    @contextmanager
    def recording_preparation(self, sending: Sending, number: int) -> Iterator[None]:
        """Write to the journal that a transfer is being prepared, let the request be sent, then write its code.

        The request is sent inside the `with` block, and its answer has the transaction code. The journal is a file that
        later runs read. If the run is killed meanwhile, the journal shows that a transfer was perhaps prepared. Only
        valid requests to operations that prepare transfers are written. Raises JournalError if the journal cannot be
        written: then nothing is sent.
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

        As long as no code is known, the journal has the name of the request in the place of a code. `request` is this
        name, such as `exchange 7 of run 1a2b`. If the answer has a code, an entry for the code replaces it.

        The journal is a file. If it cannot be written, `journal_trouble` is set, and no code is sent any more.
        """
        # Only answers of the operation that the profile names at `transactions.prepare` have a code that may be sent.
        gives_a_code = exchange.operation == self._budget.preparing_operation and is_granted(exchange)
        code = ""
        if exchange.response and gives_a_code:
            code = code_in(exchange.response, self._budget.code_at)
        try:
            if code:
                # The digest in `closes` tells a later reader of the journal which entry this one replaces.
                digest_of_request = journal.digest(canonical(request))
                self._write(code, Outcome.PREPARED, closes=digest_of_request)
            else:
                self._write(request, Outcome.ANSWERED_WITHOUT_CODE)
        except JournalError as error:
            self.journal_trouble = str(error)
        except NotSentError:
            return  # the run ended while it waited for the journal; the report lists the transfer

    def lock_journal_for_code(self, sending: Sending) -> None:
        """Check that a real transaction code may be sent, and lock the journal until its outcome is written there.

        The journal is a file with the codes that runs have sent. The lock keeps other processes from sending a code
        meanwhile. A request without a real code passes.

        | reason for NotSentError | because |
        |---|---|
        | the code was sent before, by this run or another one | money could move twice |
        | two executions in a row had an unknown outcome | the service may move money and not say so |
        | an execution was answered 401, and no new token is accepted so far | the code would be refused, and lost |
        | the service gave the result of an execution to a wrong token before, and this token is wrong | see below |

        In the last row the report has its proof already that the service does not check the token. A further wrong
        token would only move money.

        One code is an exception: after the first execution, its code is sent again with wrong tokens, because nothing
        is left to execute. JournalError is raised if the journal cannot be used.
        """
        code = sending.code
        if not code:
            return
        if self.journal:
            sending.resources.enter_context(self.journal.locked())
        is_first_executed_code = code == self.first_executed
        # `executes` is true for a real code with the valid token, which moves money.
        sending.resends_executed_code = is_first_executed_code and not sending.executes
        self._refuse_spent(code, resends_executed_code=sending.resends_executed_code)
        if self._unknown_in_a_row >= _MOST_UNKNOWN:
            raise NotSentError(_WHY_STOPPED)
        codes_are_kept_back = self.check_if_codes_are_kept_back()
        if codes_are_kept_back:
            raise NotSentError("an execution was answered 401: no more codes are sent with this token")
        if self._is_granted_without_token and not sending.executes:
            raise NotSentError("the result of a code was given without a valid token: one proof is enough")
        if self.journal and not sending.resends_executed_code:
            self._refuse_by_journal(self.journal, code)

    def _refuse_spent(self, code: str, *, resends_executed_code: bool) -> None:
        """Raises NotSentError if this run sent the transaction code before, and must not send it once more.

        `resends_executed_code` is true if the code was executed and is sent with a wrong token now, which is permitted,
        because nothing is left to execute. On a sandbox (a test system without real money) a second execution may be
        permitted as well (`permit_again`).
        """
        outcome = self._outcomes.get(canonical(code))  # None if this run has not sent the code
        is_spent = outcome is not None and outcome not in _NOTHING_WAS_EXECUTED
        may_be_repeated = resends_executed_code or code in self._permitted_again
        if is_spent and not may_be_repeated:
            raise NotSentError(
                "this code is spent: it was executed, refused, or its outcome is unknown; it is not sent again"
            )

    def _refuse_by_journal(self, journal: Journal, code: str) -> None:
        """Raises NotSentError if the journal cannot be relied on, or says that another run sent the transaction code.

        The journal is a file with the codes that runs have sent. A code of the profile (the settings of the run) needs
        a journal that was not edited or shortened, because an earlier run may have sent the code. A code that this run
        prepared is new, so it only needs a journal that can be written.
        """
        is_supplied = not self.prepared.has(code)
        if is_supplied:
            self.trouble_with_profile_codes = journal.reason_not_to_trust()
        trouble = self.journal_trouble
        if not trouble and is_supplied:
            trouble = self.trouble_with_profile_codes
        if trouble:
            raise NotSentError(trouble)
        forbidding_entry = journal.entry_that_forbids(code)
        if forbidding_entry:
            raise NotSentError(
                f"the journal says that this code was sent at {forbidding_entry.at} ({forbidding_entry.outcome})"
            )

    def check_if_codes_are_kept_back(self) -> bool:
        """Check if transaction codes are kept back, because an execution was answered 401. Returns true if so.

        A code that is sent with a refused token is lost, because it may be sent only once. Codes are sent again once
        there is another token, and the service accepts it. To see that, this method sends a request that only reads.
        After the second 401 codes are kept back until the end of the run.
        """
        if not self._refused_token:
            return False
        was_refused_too_often = len(self.token_refused) >= _MOST_REFUSED_TOKENS
        token_is_still_the_same = self._token() == self._refused_token
        if was_refused_too_often or token_is_still_the_same:
            return True
        answer = self._read_again()
        other_token_is_accepted = answer is not None and is_granted(answer)
        if other_token_is_accepted:
            self._refused_token = ""
        return not other_token_is_accepted

    def count_possible_executions(self) -> int:
        """Number of transfers that this run may still execute, until limits.executions is reached.

        It is 0 if no code is sent any more: the journal (the file with the sent codes) cannot be written, two outcomes
        in a row are unknown, or the token is refused. After an execution that was answered 401, this method sends a
        request, which shows whether another token is accepted (`check_if_codes_are_kept_back`).
        """
        if self.journal_trouble or self._unknown_in_a_row >= _MOST_UNKNOWN:
            return 0
        codes_are_kept_back = self.check_if_codes_are_kept_back()
        if codes_are_kept_back:
            return 0
        return self._budget.executions_left

    @property
    def may_execute_unusually(self) -> bool:
        """True if the run may execute a code in an unusual way: a second time, or at the same moment as another code.

        The run may do so only on a sandbox (a test system without real money), and only if the outcome of each
        execution so far is known.
        """
        is_sandbox = self.journal is None  # only a sandbox has no journal
        return is_sandbox and not self.unknown_outcomes

    def permit_again(self, code: str) -> bool:
        """Permit that a transaction code is sent once more, although it was executed. Returns true if it is permitted.

        The second execution shows whether money moves again. `may_execute_unusually` has the conditions.
        """
        if not self.may_execute_unusually:
            return False
        self._permitted_again.add(code)
        return True

    # -- while a code is sent ---------------------------------------------------------------------------------

    @contextmanager
    def recording_execution(self, sending: Sending, number: int) -> Iterator[None]:
        """Write to the journal that a real transaction code is sent, let the request be sent, then write its outcome.

        The journal is a file that later runs read. The request is sent inside the `with` block. Before it, one or two
        lines are written:

        1. OFFERED, if this run sends the code for the first time, with whatever token: nothing is executed so far
        2. SENT, if the token is valid: from now on the transfer may be executed

        If the run is killed meanwhile, the last of these lines tells a later run whether money may have moved. A code
        with a wrong token counts against limits.executions as well, because a faulty service may execute it.

        Raises LimitError if limits.executions is reached, JournalError if the journal cannot be written: then nothing
        is sent. A request without a real code, or with one that was executed before, moves no money and just passes.
        """
        code = sending.code
        if not code or sending.resends_executed_code:
            yield
            return
        self._budget.count_or_refuse("executions")
        outcome_before = self._outcomes.get(canonical(code))  # None if this run has not sent the code so far
        if outcome_before is None:
            self._write(code, Outcome.OFFERED)
        if sending.executes:
            self._write(code, Outcome.SENT)
        self._permitted_again.discard(code)
        # Set before the request is sent, so that the outcome is unknown if this thread is interrupted.
        self.unknown_outcomes.append(number)
        self._outcomes[canonical(code)] = Outcome.UNKNOWN
        try:
            yield
        finally:
            outcome = outcome_of(
                sending.exchange,
                executes=sending.executes,
                was_prepared_by_this_run=self.prepared.has(code),
                before=outcome_before,
            )
            self._note_outcome(sending, code, outcome)

    def _note_outcome(self, sending: Sending, code: str, outcome: Outcome) -> None:
        """Note what became of a transaction code after its request, and write it to the journal.

        OFFERED (sent with a wrong token, and not executed) is not written, because it was written before the request.
        If the journal (a file) cannot be written, its last event for a code that was sent with the valid token is still
        SENT, so no run sends the code again.
        """
        self._outcomes[canonical(code)] = outcome
        if outcome is not Outcome.UNKNOWN:
            self.unknown_outcomes.remove(sending.exchange.number)
        if outcome in _NOTHING_WAS_EXECUTED:
            self._budget.release_execution()  # it does not count against limits.executions
        else:
            self._note_effects(sending.exchange, code, outcome, executes=sending.executes)
        try:
            if outcome is not Outcome.OFFERED:
                response = sending.exchange.response
                status_of_answer = {"status": str(response.status)} if response else {}
                self._write(code, outcome, **status_of_answer)
        except JournalError as error:
            self.journal_trouble = str(error)

    def _note_effects(self, exchange: Exchange, code: str, outcome: Outcome, *, executes: bool) -> None:
        """Note what follows from the outcome of an execution that the service may have carried out or refused.

        `executes` is true if the request had the valid token, false if it had a wrong one.

        | outcome | what is noted |
        |---|---|
        | SUCCESS | one transfer more was executed |
        | SUCCESS with a wrong token | the fault is proved, so no further code is sent with a wrong token |
        | REFUSED | why the transfer was not executed, for the report |
        | UNKNOWN, twice in a row | no further code is sent |
        | any, if the answer to the valid token is 401 | no code is sent until another token is accepted |
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
                self.notes.append(_WHY_STOPPED)
        elif executes:
            self._unknown_in_a_row = 0
        token_is_refused = exchange.response is not None and refuses_the_token(exchange.response)
        if executes and token_is_refused:
            self._refused_token = self._token()
            self.token_refused.append(exchange.number)

    def _write(self, code: str, outcome: Outcome, **members_in_clear: str) -> None:
        """Write the state of a transaction code to the journal. Without a journal (on a sandbox) nothing is written.

        The journal is a file with the codes that runs have sent. The code is written as a digest. `members_in_clear`
        are further members of the line, such as `status="404"`, and are written as they are. Raises JournalError.
        """
        if self.journal is not None:
            self.journal.write(code, outcome, **members_in_clear)
