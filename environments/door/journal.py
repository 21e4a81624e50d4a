"""The journal of executions: which transaction codes were sent, so that no later run sends one again.

The guard (guard.py) asks it before it sends a code. It is one file for each user of a machine, or the file that the
profile names. The file has a digest instead of each code, and the digest depends on the code alone. So a run with
another spelling of the address, or with another profile, finds the same entry.

| word | meaning |
|---|---|
| code | a transaction code, with which GET /v1/execute/pix/{transactionId} executes a transfer |
| profile | the settings of a run; they may have codes that were prepared by people |
| wrong token, valid token | what is sent as the access token; a faulty service may execute with a wrong one, too |
| unknown outcome | money may have moved, and no answer says if it did |
| event | a line of the file, which has the new state of a code (`Outcome`) |
"""

from __future__ import annotations

import json
import stat
import unicodedata
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

from environments.door.event_log import (
    Event,
    EventLog,
    JournalError,
    as_journal_error,
    digest_of,
    event_in,
    replace_file,
)
from spec.answers import (
    NOT_SUPPORTED,
    TIMEOUT_STATUSES,
    RefusalKind,
    execution_results,
    grants_protected_result,
    is_done,
    may_have_unread_result,
    refusal_or_failure,
    says_done_in_words,
)
from spec.exchange import Exchange, FailureKind, Response

_EVENT_OF_START = "started by --new-journal"
"""The event that begins a journal. It is about no code."""
_WHY_NOT_STARTED = "no --new-journal started it"
_WHAT_TO_DO = (
    "start one with --new-journal, if this is the first use here; else bring it back, or start a new one: what can be "
    "read of the old one still counts, and the file is kept"
)


class Outcome(StrEnum):
    """State of a transaction code in the journal.

    1. PREPARING, then PREPARED, or ANSWERED_WITHOUT_CODE
    2. OFFERED: the code goes to the service, and nothing was executed so far
    3. SENT, if the token is valid: money may move
    4. NOT_SENT, SUCCESS, REFUSED or UNKNOWN, after the answer
    5. SETTLED, if a person has found out what became of an UNKNOWN code
    """

    PREPARING = "preparing"  # before a request that should prepare a transfer: there is no code so far
    ANSWERED_WITHOUT_CODE = "answered"  # after that request, if its answer has no code; the report names the transfer
    PREPARED = "prepared"  # after that request, if its answer has a code, which was not sent so far
    OFFERED = "offered"  # before the code is sent for the first time, with the valid token or a wrong one
    SENT = "sent"  # before the code is sent with the valid token; if no event follows, the outcome is unknown
    NOT_SENT = "not sent"  # after SENT, if no connection was made
    SUCCESS = "success"
    REFUSED = "refused"
    UNKNOWN = "unknown"
    SETTLED = "settled"


NEVER_SENT_WITH_VALID_TOKEN = (Outcome.PREPARING, Outcome.ANSWERED_WITHOUT_CODE, Outcome.PREPARED, Outcome.OFFERED)
"""States of a code that was never sent with the valid token, as far as the journal knows. Such a code may be sent.

OFFERED means that the code was sent with wrong tokens only, and that no transfer was executed."""


@dataclass(frozen=True)
class JournalEntry:
    """The last outcome of a code, as the journal has it."""

    digest: str  # of the code, or of the request in the state PREPARING
    environment: str  # name of the profile
    at: str  # time of the event, as ISO 8601 writes it
    run: str  # the run that wrote it
    outcome: Outcome
    status: str = ""  # HTTP status of the answer; empty if there was none

    @property
    def name(self) -> str:
        """A short name of the entry for reports: the beginning of its digest. Reports never show the code itself."""
        return self.digest[:12]

    @property
    def is_unknown(self) -> bool:
        """True if money may have moved, and nobody has looked up if it did.

        SENT is written before a code is sent with the valid token. If no other event followed, the run was killed
        before it could write what became of the code.
        """
        return self.outcome in (Outcome.SENT, Outcome.UNKNOWN)

    @property
    def is_perhaps_prepared(self) -> bool:
        """True if the run was killed after it asked the service to prepare a transfer, and before the answer.

        A prepared transfer moves no money until it is executed.
        """
        return self.outcome is Outcome.PREPARING


@dataclass(eq=False)
class Journal(EventLog):
    """The codes that all runs sent.

    Each line has a digest of itself and of the digest in the line before. A second file has the number of lines, with a
    digest of that number. Both digests need a secret key. So the suite notices if somebody edited, shortened or emptied
    the journal, after which a code could be sent twice.
    """

    codes_to_resend: Container[str] = ()
    """The code that this run may send although an earlier run sent it."""

    @property
    def _count_file(self) -> Path:
        """The file beside the journal that has its number of lines, by which a shortened journal is noticed."""
        return self.path.with_suffix(".count")

    # -- trust in the journal ---------------------------------------------------------------------------------

    def reason_not_to_trust(self) -> str:
        """Reason why the journal cannot show which codes were sent; empty if it can.

        If there is a reason, the codes in the settings of a run (the profile) must not be sent, because an earlier run
        may have executed them. Reasons are that others can write to the folder, that the file was edited or shortened,
        or that it was not started with the option --new-journal. Raises JournalError if the file cannot be read.
        """
        if self._others_may_write_to_its_folder():
            folder = self.path.parent
            return (
                f"transactions.codes are not sent: others can write to {folder}, which holds the journal: chmod go-w it"
            )
        is_started = any(event["event"] == _EVENT_OF_START for event in self.events())
        fault = self.fault()
        if not fault and not is_started:
            fault = _WHY_NOT_STARTED
        if fault:
            return f"transactions.codes are not sent: {self.path} does not say which were sent ({fault}): {_WHAT_TO_DO}"
        return ""

    @as_journal_error()
    def fault(self) -> str:
        """Reason not to rely on the journal, because it was edited or shortened; empty if it was not.

        The number of lines is compared with the number in a second file, and the digest of each line with its text. One
        line more than that number is right, because a run may be killed after it wrote the line and before it wrote the
        number. Raises JournalError if a file cannot be read.
        """
        lines = self._lines()
        signed_number = self._signed_number_of_lines()
        if signed_number is None:
            return f"{self._count_file} is missing, edited, or not signed with the key of the journal"
        if not signed_number <= len(lines) <= signed_number + 1:
            return f"it has {len(lines)} lines and had {signed_number}"
        each_is_unchanged = _lines_are_unchanged(self.key.read(), lines)
        for number, is_unchanged in enumerate(each_is_unchanged, start=1):
            if not is_unchanged:
                return f"line {number} was edited, or written with another key"
        return ""

    @as_journal_error()
    def _others_may_write_to_its_folder(self) -> bool:
        """True if other users of the machine can write to the folder of the journal, and so replace the journal.

        False if there is no folder so far.
        """
        folder = self.path.parent
        if not folder.exists():
            return False
        permission_of_others_to_write = stat.S_IWGRP | stat.S_IWOTH  # others: the group of the owner, and everybody
        return folder.stat().st_mode & permission_of_others_to_write != 0

    def _signed_number_of_lines(self) -> int | None:
        """The number of lines of the journal, as the last run wrote it to a second file, with a digest as signature.

        None if the second file is missing although the journal has lines, or if its signature is missing or wrong. Then
        somebody may have shortened the journal, and edited the number so that it fits. If neither file exists, no run
        has written anything, so the number is 0.
        """
        if not self._count_file.exists():
            nothing_was_written = not self._lines()
            return 0 if nothing_was_written else None
        text = self._count_file.read_text("utf-8", "replace")  # such as `5 3f2a…`
        number = text.split(" ")[0]
        is_signed = number.isdecimal() and text == self._with_signature(int(number))
        return int(number) if is_signed else None

    def _with_signature(self, count: int) -> str:
        """The text for the file with the number of lines: the number and a digest, such as `5 3f2a…`.

        The digest is made of the text `5 lines` with a secret key, so only a run can make it. No transaction code and
        no line of the journal is that text, so nobody can copy its digest from the journal.
        """
        return f"{count} {digest_of(self.key.read(), f'{count} lines')}"

    def _write_count(self, count: int) -> None:
        """Write the number of lines of the journal to the file beside it, with a digest as signature.

        A later run compares it with the lines, to notice if the journal was shortened.
        """
        replace_file(self._count_file, self._with_signature(count).encode())

    # -- writing ----------------------------------------------------------------------------------------------

    @as_journal_error()
    def write(self, code: str, event: str, **members_in_clear: str) -> None:
        """Write a line to the journal: what happened to a transaction code. `event` is an `Outcome`, such as SENT.

        The code is written as a digest. `members_in_clear` are further members of the line, such as `status="404"`, and
        are written as they are. Raises JournalError if the line cannot be written.
        """
        with self.locked():
            lines = self._lines()
            signed_number = self._signed_number_of_lines()
            self._append_event(lines, self._new_event(canonical(code), event, **members_in_clear))
            self._write_lines(lines)
            # If the number was missing or edited, or if lines were removed, `fault` must still find that later. So a
            # missing number stays missing, and an existing number never gets smaller. Example: the number is 8, but
            # only 5 lines are left. With the new line there are 6 lines, and the number is 9.
            if signed_number is not None:
                self._write_count(max(signed_number + 1, len(lines)))

    @as_journal_error()
    def start(self) -> None:
        """Start a new journal, as the option --new-journal asks for.

        The lines of the old journal that can be read are copied to the new one, because the codes in them must not be
        sent again. The old file is kept beside it under another name. Raises JournalError if others can write to the
        folder, or if the old journal can be relied on, because then no new one is needed.
        """
        with self.locked():
            if self._others_may_write_to_its_folder():
                raise JournalError(self.reason_not_to_trust())
            if not self.reason_not_to_trust():
                raise JournalError(f"--new-journal: {self.path} can be read: leave the option out")
            events = [*self.events(), self._new_event("", _EVENT_OF_START)]  # "": this event is about no code
            now = f"{datetime.now(UTC):%Y%m%dT%H%M%S%fZ}"
            copy_of_old = self.path.with_name(f"{self.path.stem}-until-{now}{self.path.suffix}")
            if self.path.exists():
                replace_file(copy_of_old, self.path.read_bytes())
            lines: list[str] = []
            for event in events:
                self._append_event(lines, event)
            self._write_lines(lines)
            self._write_count(len(lines))

    def _append_event(self, lines: list[str], event: Event) -> None:
        """Append an event to the lines of the journal, as JSON.

        Its member `chain` is a digest of the event and of the digest in the line before. So a line cannot be edited,
        removed or moved without the secret key.
        """
        last_event = event_in(lines[-1]) if lines else None
        chain = _digest_with_line_before(self.key.read(), last_event or {}, event)
        lines.append(json.dumps(event | {"chain": chain}))

    # -- reading ----------------------------------------------------------------------------------------------

    def entry(self, code: str) -> JournalEntry | None:
        """The last outcome of a transaction code in the journal, such as SENT or REFUSED, with its time and run.

        None if no run has sent or prepared the code. Raises JournalError if the file cannot be read.
        """
        digest = self.digest(canonical(code))
        for entry in self.entries():
            if entry.digest == digest:
                return entry
        return None

    def entry_that_forbids(self, code: str) -> JournalEntry | None:
        """The entry of an earlier run because of which this run must not send the code; None if the code may be sent.

        | what the journal says | may this run send the code? |
        |---|---|
        | nothing, or that it was never sent with the valid token | yes |
        | this run sent it | the door decides, which knows what this run has sent (guard.py) |
        | another run sent it, and it was refused | only if the option --resend-code names it |
        | another run sent it, and it was executed, or its outcome is unknown | no |

        Raises JournalError.
        """
        entry = self.entry(code)
        if entry is None or entry.outcome in NEVER_SENT_WITH_VALID_TOKEN:
            return None
        is_of_this_run = entry.run == self.run
        if is_of_this_run:
            return None
        may_be_sent_again = entry.outcome is Outcome.REFUSED and code in self.codes_to_resend
        return None if may_be_sent_again else entry

    def entries(self) -> list[JournalEntry]:
        """The last outcome of each transaction code in the journal, in the order of their first lines.

        The codes are known by their digests alone. A request that prepares a transfer counts as a code until its answer
        gave the real one. Raises JournalError if the file cannot be read.
        """
        states_by_digest: defaultdict[str, list[JournalEntry]] = defaultdict(list)
        for event in self.events():
            is_about_a_code = event["event"] in list(Outcome)  # the first line of a journal is about no code
            if is_about_a_code:
                _add_event_to_states(states_by_digest[event["digest"]], event)
                # `closes` is the digest of the request that prepared this code. The code replaces it from here on.
                states_by_digest.pop(event.get("closes", ""), None)
        return [states[-1] for states in states_by_digest.values() if states]


class ReadJournal(Journal):
    """A journal that is only read. It is used for a plan (--plan), which shows what a run would send."""

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock nothing, because a plan sends and writes nothing."""
        yield

    def write(self, code: str, event: str, **members_in_clear: str) -> None:
        """Write nothing, because a plan changes no file."""


def canonical(code: str) -> str:
    """The transaction code in one spelling: `ABC1` and `abc1` both give `abc1`.

    A service may take two spellings for the same code, so both must have the same digest in the journal. NFKC is a form
    of Unicode in which letters and digits of unusual width are replaced by the usual ones.
    """
    return unicodedata.normalize("NFKC", code).casefold()


def outcome_of(
    exchange: Exchange, *, executes: bool, was_prepared_by_this_run: bool = False, before: Outcome | None = None
) -> Outcome:
    """What became of a transaction code, by the answer to GET /v1/execute/pix/{transactionId} with this code.

    `executes` is true if the code was sent with the valid token. `before` is its outcome in this run before this
    exchange; None if the run has not sent it. The first row that fits counts:

    | answer | outcome |
    |---|---|
    | none | see `_outcome_without_answer` |
    | no success, and nevertheless it may show an execution | see `_outcome_of_hidden_execution` |
    | any other, to the valid token | see `_outcome_with_valid_token` |
    | any other, to a wrong token | see `_outcome_with_wrong_token` |
    """
    response = exchange.response
    if response is None:
        return _outcome_without_answer(exchange, executes=executes)
    # If the code succeeded before, its refusal may show the result of the first execution, which says nothing new.
    has_succeeded_before = before is Outcome.SUCCESS
    if not has_succeeded_before:
        never_arrived_before = before in (None, Outcome.NOT_SENT)
        outcome = _outcome_of_hidden_execution(
            exchange,
            response,
            # Nobody else knows a code that this run prepared.
            only_this_request_can_have_executed=was_prepared_by_this_run and never_arrived_before,
        )
        if outcome is not None:
            return outcome
    if executes:
        return _outcome_with_valid_token(exchange, response)
    return _outcome_with_wrong_token(exchange, response)


def _outcome_without_answer(exchange: Exchange, *, executes: bool) -> Outcome:
    """Outcome of a transaction code that got no answer.

    | failure | outcome |
    |---|---|
    | no connection, with the valid token (`executes`) | NOT_SENT, which takes back the line SENT of the journal |
    | no connection, with a wrong token | OFFERED, because the journal has no line SENT for such a token |
    | any other | UNKNOWN: the service may have executed the transfer |

    The journal is a file with the codes that runs have sent. It has the line SENT before the code is sent.
    """
    if refusal_or_failure(exchange) is not FailureKind.NO_CONNECTION:
        return Outcome.UNKNOWN
    return Outcome.NOT_SENT if executes else Outcome.OFFERED


def _outcome_of_hidden_execution(
    exchange: Exchange, response: Response, *, only_this_request_can_have_executed: bool
) -> Outcome | None:
    """Outcome of a transaction code if its answer is no success, but may show an execution; None for other answers.

    | answer | outcome |
    |---|---|
    | a refusal that has an execution result in it | see `_outcome_of_contradiction` |
    | only a part could be read, or a refusal that says DONE in words | UNKNOWN |
    """
    is_refused = refusal_or_failure(exchange) is not None
    # Only of a refusal, because the search for results in a long answer takes long.
    results = execution_results(response) if is_refused else []
    if results:
        return _outcome_of_contradiction(
            says_done=any(is_done(result) for result in results),
            only_this_request_can_have_executed=only_this_request_can_have_executed,
        )
    if _may_hide_an_execution(response, is_refusal=is_refused):
        return Outcome.UNKNOWN
    return None


def _outcome_with_valid_token(exchange: Exchange, response: Response) -> Outcome:
    """Outcome of a transaction code that was sent with the valid token.

    | answer | outcome |
    |---|---|
    | success | SUCCESS |
    | refused with a status 4xx of the service, or with status 200 and a `code` that says so | REFUSED |
    | any other refusal, such as 5xx or a redirect | UNKNOWN: the service may have failed after it moved money |
    """
    kind = refusal_or_failure(exchange)  # None if the request succeeded
    if kind is None:
        return Outcome.SUCCESS
    is_refused_by_status = 400 <= response.status < 500 and not _leaves_outcome_open(response)
    is_clear_refusal = is_refused_by_status or kind is RefusalKind.ENVELOPE
    return Outcome.REFUSED if is_clear_refusal else Outcome.UNKNOWN


def _leaves_outcome_open(response: Response) -> bool:
    """True for a status that does not say what the service did: 500 and above, 408, or 499.

    With 408 or 499 a gateway gives up, while the service may go on.
    """
    return response.status >= 500 or response.status in TIMEOUT_STATUSES


def _outcome_of_contradiction(*, says_done: bool, only_this_request_can_have_executed: bool) -> Outcome:
    """Outcome of a code if the service refused the execution, but has an execution result in its answer.

    It is SUCCESS if the result says DONE, and no earlier request can have executed the code: then this request has
    moved the money. Otherwise it is UNKNOWN.
    """
    if says_done and only_this_request_can_have_executed:
        return Outcome.SUCCESS
    return Outcome.UNKNOWN


def _may_hide_an_execution(response: Response, *, is_refusal: bool) -> bool:
    """True if the answer may say that the code was executed, although no execution result was found in it.

    It may say so in a part that the suite did not read, or in words such as "DONE". If a limit of the suite cut the
    answer, nobody knows whether it is a success or a refusal, so this holds for any such answer.
    """
    is_cut_by_suite = response.json.why_not_read
    if is_cut_by_suite:
        return True
    if not is_refusal:
        return False
    return may_have_unread_result(response) or says_done_in_words(response)


def _outcome_with_wrong_token(exchange: Exchange, response: Response) -> Outcome:
    """Outcome of a transaction code that was sent with a wrong token.

    | answer | outcome |
    |---|---|
    | has an execution result, which only the valid token may get | SUCCESS |
    | a status from 500 on but 501 and 505; 408; 499 | UNKNOWN |
    | any other | OFFERED: the code was shown to the service and not executed |

    501 and 505 say that the service did nothing. With 408 or 499 a gateway gives up, while the service may go on.
    """
    if grants_protected_result(exchange):
        return Outcome.SUCCESS
    is_uncertain = _leaves_outcome_open(response) and response.status not in NOT_SUPPORTED
    return Outcome.UNKNOWN if is_uncertain else Outcome.OFFERED


def _add_event_to_states(states: list[JournalEntry], event: Event) -> None:
    """Apply the next event of a code to its states in the journal. The last of these states counts.

    `states` is changed: an event (a line of the file) is appended as a new state, or removes earlier states.

    | event | what changes |
    |---|---|
    | ANSWERED_WITHOUT_CODE: a request to prepare a transfer gave no code | all states are removed: there is no code |
    | NOT_SENT: no connection was made | the state SENT is removed, so that the state before it counts again |
    | OFFERED, or another event without the valid token, after the code was sent before | nothing |
    | any other | it is appended |

    In the third row the earlier state says more. Example: after REFUSED, OFFERED is written when a later run sends the
    code again, and the last state stays REFUSED.
    """
    outcome = Outcome(event["event"])
    if outcome is Outcome.ANSWERED_WITHOUT_CODE:
        states.clear()
        return
    if outcome is Outcome.NOT_SENT:
        if states and states[-1].outcome is Outcome.SENT:
            states.pop()
        return
    # PREPARED says only that the code was made. Every other state of a code says that it was sent.
    was_sent_before = any(entry.outcome is not Outcome.PREPARED for entry in states)
    if outcome in NEVER_SENT_WITH_VALID_TOKEN and was_sent_before:
        return
    entry = JournalEntry(
        event["digest"],
        event["environment"],
        event["at"],
        event.get("run", ""),
        outcome,
        event.get("status", ""),
    )
    states.append(entry)


def _digest_with_line_before(key: bytes, previous: Event, event: Event) -> str:
    """A digest of an event together with the digest (`chain`) of the previous event, made with a secret key.

    Because it depends on all lines before it, no line can be edited or removed without the key.
    """
    members = {name: value for name, value in event.items() if name != "chain"}
    return digest_of(key, f"{previous.get('chain', '')}\n{json.dumps(members)}")


def _lines_are_unchanged(key: bytes, lines: Iterable[str]) -> Iterator[bool]:
    """For each line of the journal file, true if neither the line nor the digest in the line before was changed.

    The digest of the line is computed again with the secret `key`, and compared with the digest in the line (`chain`).
    """
    previous_event: Event = {}
    for line in lines:
        event = event_in(line)
        if event is None:  # the line is damaged
            yield False
            previous_event = {}
        else:
            yield event.get("chain") == _digest_with_line_before(key, previous_event, event)
            previous_event = event
