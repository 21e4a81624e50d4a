"""The one way out: every byte to the target leaves through this door, over one `requests` transport adapter.

It is an ordered list of small policies around one HTTP attempt (`Door._policies`). The order is the safety argument.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Set
from contextlib import contextmanager, suppress
from dataclasses import replace
from enum import Enum
from itertools import count
from typing import Protocol, TypeVar
from urllib.parse import quote

import requests

from environments.credentials import Target
from environments.door.backoff import Backoff
from environments.door.ending import CUT, STOPPED
from environments.door.event_log import JournalError
from environments.door.guard import ExecutionGuard
from environments.door.journal import Journal
from environments.door.key_changes import KeyChanges
from environments.door.limits import Budget
from environments.door.liveness import NOT_CONNECTED, Liveness
from environments.door.outgoing import Decision, Intent, LimitError, NotSentError, Policy, Sending
from environments.door.permission import Permission
from environments.door.run_keys import Keys
from environments.door.token_monitor import TokenMonitor
from spec.exchange import VALID, Exchange, Failure, FailureKind, Purpose, Request, Response
from spec.interface import MARK, READS, operations
from spec.log import Log
from spec.message import Text

T = TypeVar("T")
_OF_A_BODY = frozenset({"content-type", "content-length", "transfer-encoding"})
"""Headers that a request without a body does not have."""
_MEETS_S = 1.0
"""Time that a request waits for the one that it is to leave with."""


class OfTheDoor(Purpose):
    """Why the door itself sends a request."""

    SHOWS_AGAIN = "once more, to see whether a deviation shows again"
    IS_STILL_GRANTED = "once more, to see whether the token or the service is gone"
    WHICH_KEYS_ARE_THERE = "the list of keys before or after a registration or deletion"


class Channel(Protocol):
    """Connection to the service that a door sends through."""

    def attempt(self, sending: Sending) -> Response | Failure:
        """Send once."""

    def connect(self, base_url: str) -> str:
        """Open a connection, and close it."""

    def close(self) -> None:
        """Close what is open."""


class NoteAbout(Enum):
    """What a note is about that those who send leave at the door, for the report."""

    SET_UP = "the token, the codes or the keys: somebody has to look at them"
    CUT = "an operation to which not all requests are sent"


class _OfThisThread(threading.local):
    """`meeting` is that of the next request of the thread."""

    meeting: threading.Barrier | None = None


def let_pass(sending: Sending) -> None:
    """On a sandbox nothing is worth anything, so every amount and every identifier passes."""


class Door:
    """Guards one target. Several threads may send: one lock, that of `ending`, guards the bookkeeping of all policies.
    It is given away while a thread waits, and while its request is on the wire. A policy that sends another request
    keeps it, so that nothing else leaves meanwhile.

    `exchanges` has every attempt in the order in which they ended; it only grows. `log` has the same, and the requests
    that were not sent: those have no number. `sent_again` has the answers to
    requests that were sent once more, by the number of the first exchange; None if it could not be sent. `unsent` has
    the operations that a limit cut short, by the limit.
    """

    def __init__(
        self,
        target: Target,
        *,
        allow: Set[str],
        wire: Channel,
        budget: Budget,
        check_amounts: Policy,
        check_identifiers: Policy,
        journal: Journal | None = None,
        keys: Keys | None = None,
        is_sandbox: bool = False,
    ) -> None:
        self.exchanges: list[Exchange] = []
        self.log = Log()
        self.sent_again: dict[int, Exchange | None] = {}
        self.unsent = defaultdict[Text, set[str]](set)
        self.budget, self.secrets, self.keys = budget, target.secrets, keys or Keys()
        token = target.secrets.token
        self.guard = ExecutionGuard(budget, journal, token)
        self.permission = Permission(target.base_url, allow, target.secrets)
        self.ending = budget.ending
        if journal is not None:
            journal.ending = self.ending
        self.backoff = Backoff(budget, self.unsent)
        self.token_monitor = TokenMonitor(target.secrets, target.refresh, self._ask, self.backoff.clear_the_wire)
        self.liveness = Liveness(self._look_whether_gone, self.ending)
        self.guard.read_again = self._read_again
        self.key_changes = KeyChanges(
            self.keys, self.ending, self._read_keys, is_sandbox=is_sandbox, may_read="read" in allow
        )
        self.wire, self.close = wire, wire.close
        self._numbers, self._of_this_thread = count(1), _OfThisThread()
        self.check_amounts, self.check_identifiers = check_amounts, check_identifiers
        self._before, self._for_each_attempt, self._decisions = self._policies()

    def _policies(self) -> tuple[tuple[Policy, ...], tuple[Policy, ...], tuple[Decision, ...]]:
        """The policies in their order, each with the reason for its place."""
        once_before_anything_is_sent = (
            self.permission.check,  # First: a request that is not permitted costs nothing and reveals nothing.
            self.check_amounts,  # Beside it: more money than the profile says would be a fault of the suite, too,
            self.check_identifiers,  # and so would an account or a key of somebody else.
            self.ending.refuse,  # Before all that waits or asks: a run that ends begins nothing.
            self.liveness.wait_for_a_look,  # Before what it may find out, and before the turn: it may take seconds.
            self.liveness.refuse_the_dead,  # A target that is gone costs no budget and no transaction code.
            self.backoff.spare_the_caller,  # Before the turn: a wrong token too many costs no code and no budget.
            self.guard.take_turn,  # Before all that waits: no other run sends the code until its answer is final.
            self.backoff.spare_codes,  # Before the attempt: a code that waits, or is kept back, is not written down.
            self.key_changes.ask,  # Last: it reads lists, so that a list and a deletion have nothing between them.
        )
        for_each_attempt = (
            self.ending.refuse,  # Again: the run may have ended while the request waited.
            self.budget.refuse_transfer,  # Before the count of requests: what has no room costs none.
            self.budget.take_wrong_token,  # Before the count of requests: one that is not sent costs none.
            self.budget.take_request,  # Before the attempt: a code without room in the budget is not written down.
            self._attempt,  # Once, with a deadline, and a place on the wire. It is in `exchanges` whatever happens.
        )
        until_the_answer_stands = (
            self.ending.refuse,  # First: a run that ends asks nothing more of an answer, and it may have cut this one.
            self.backoff.decide,  # Before the token: "come back later" says nothing about it.
            self.token_monitor.watch,  # It has the token fetched, and the request sent with another one.
            self.liveness.notice,  # After all that may send it again: an answer that stands shows a target.
            self.key_changes.look_at_the_lists,  # Last: what is gone shows when the request is not sent again.
        )
        return once_before_anything_is_sent, for_each_attempt, until_the_answer_stands

    def exchange(self, request: requests.PreparedRequest, intent: Intent) -> Exchange:
        """Send one request and give the outcome; a failure is part of the exchange.

        Raises ForbiddenError for what may not be sent. What a limit keeps, or a target that is gone, has no number.
        """
        exchange = self._send(self._sending(request, intent))
        if not exchange.number:
            with self.ending.lock:  # several threads add to the log
                self.log.add(exchange)
        return exchange

    def send_again(self, first: Exchange, *, supersedes: bool = False) -> Exchange | None:
        """Send a request once more, and note its answer in `sent_again`. None if that might move money, or a limit
        keeps it.

        With `supersedes` the second answer counts in the place of the first one, and has its purpose.
        """
        purpose = first.purpose if supersedes else OfTheDoor.SHOWS_AGAIN
        sending = self._sending(_prepared(first.request), replace(_intent_of(first), purpose=purpose))
        sending.once_more = True
        if supersedes:
            sending.supersedes = first.number
        answer = self._send(sending) if sending.repeatable else None
        was_sent = answer is not None and answer.number > 0  # else a limit kept it
        self.sent_again[first.number] = answer if was_sent else None
        return self.sent_again[first.number]

    def meet(self, meeting: threading.Barrier, send: Callable[[], T]) -> T:
        """Call what sends, so that its first request leaves at the same moment as that of another thread."""
        self._of_this_thread.meeting = meeting
        try:
            return send()
        finally:
            meeting.abort()  # the other one does not wait for what is not sent

    def note(self, about: NoteAbout, text: Text, operation: str = "") -> None:
        """Keep a line for the report. What is cut short names its operation."""
        if about is NoteAbout.CUT:
            self.unsent[text].add(operation)
        else:
            self.guard.notes.append(text)

    # -- one request ------------------------------------------------------------------------------------------

    def _sending(self, request: requests.PreparedRequest, intent: Intent) -> Sending:
        credential = str(request.headers.get("Authorization", "")).strip()
        with_token = credential.rpartition(" ")[2] in self.secrets.tokens  # under whatever scheme, and one of before
        sending = Sending(request, intent, self.permission.code_in(request), with_token, self.permission.path(request))
        sending.cleans_up = not intent.part and intent.credential == VALID and self.keys.are_cleaned_up_by(sending)
        return sending

    def _send(self, sending: Sending) -> Exchange:
        sending.meeting, self._of_this_thread.meeting = self._of_this_thread.meeting, None
        with self.ending.lock:
            try:
                with sending.held:
                    for policy in self._before:
                        policy(sending)
                    self._send_until_the_answer_stands(sending)
            except JournalError as error:
                self.guard.journal_trouble = str(error)
                self._not_sent(sending, error)
            except NotSentError as error:
                self._not_sent(sending, error)
        return sending.exchange

    def _send_until_the_answer_stands(self, sending: Sending) -> None:
        goes_again = True
        while goes_again:
            for policy in self._for_each_attempt:
                policy(sending)
            goes_again = any(decides(sending) for decides in self._decisions)

    def _ask(self, before: Exchange) -> Exchange | None:
        """Send a request of before once more, with nothing else on the wire. None where a limit keeps it."""
        intent = replace(_intent_of(before), valid=False, part="", purpose=OfTheDoor.IS_STILL_GRANTED)
        return self._send_alone(_prepared(before.request), intent)

    def _read_keys(self, change: Sending, account: str) -> Exchange | None:
        """Read the list of keys of an account, with the headers of a registration or deletion and the valid token,
        with nothing else on the wire. None where a limit keeps it."""
        operation = operations()["listPixKeys"]
        path = operation.path.replace(f"{{{operation.path_parameter}}}", quote(account, safe=""))
        request = requests.Request(operation.method, self.permission.base_url + path).prepare()
        for name, value in change.request.headers.items():
            if name.lower() not in _OF_A_BODY:
                request.headers[name] = value
        request.headers["Authorization"] = f"Bearer {self.secrets.token()}"
        return self._send_alone(request, Intent("listPixKeys", purpose=OfTheDoor.WHICH_KEYS_ARE_THERE))

    def _send_alone(self, request: requests.PreparedRequest, intent: Intent) -> Exchange | None:
        """Send a request with nothing else on the wire. None where a limit keeps it."""
        sending = self._sending(request, intent)
        sending.is_lost = bool(self.exchanges) and self.exchanges[-1].response is None  # then over a fresh connection
        self.backoff.clear_the_wire()
        try:
            with self.ending.lock:  # once more than it is given away around the wire: nothing else may leave
                for policy in self._for_each_attempt:
                    policy(sending)
        except NotSentError:
            return None
        return sending.exchange

    def _read_again(self) -> Exchange | None:
        """Send the last read that succeeded once more. None where there was none, or a limit keeps it."""
        return self._ask(self.token_monitor.witness) if self.token_monitor.witness else None

    def _look_whether_gone(self) -> bool:
        """Ask reads, and the execution of a synthetic code, that were answered before, one of each operation, until
        one is answered again. True if none is, or if no connection can be made."""
        before = self._answered_before()
        if not before:
            return self.wire.connect(self.permission.base_url) != ""
        answers = []
        for exchange in before:
            answer = self._ask(exchange)
            if answer is None:
                continue  # a limit keeps it, so nothing is known
            if answer.response is not None:
                return False
            answers.append(answer)
            if answer.failure and answer.failure.kind in NOT_CONNECTED:
                break
        return bool(answers)

    def _answered_before(self) -> list[Exchange]:
        """The last harmless request to each operation that was answered, the newest first."""
        newest = dict[str, Exchange]()
        for exchange in reversed(self.exchanges):
            if exchange.response is None or exchange.credential != VALID:
                continue
            names_no_code = MARK in exchange.request.last_segment
            if exchange.operation in READS or (exchange.operation == "executePix" and names_no_code):
                newest.setdefault(exchange.operation, exchange)
        return list(newest.values())

    def _attempt(self, sending: Sending) -> None:
        if meeting := sending.meeting:  # before a place is taken: who waits for another one keeps nobody from the wire
            with self._without_the_lock(), suppress(threading.BrokenBarrierError):
                meeting.wait(_MEETS_S)
            sending.meeting = None
        self.liveness.wait_for_a_look(sending)  # before a place is taken, because who looks wants the wire empty
        with self.backoff.place(sending):
            self.token_monitor.renew(sending)
            self.ending.refuse(sending)  # it may have ended while the request waited for its turn,
            self.liveness.refuse_the_dead(sending)  # or the target
            with self.budget.transfer(sending):
                self._send_and_record(sending)

    def _send_and_record(self, sending: Sending) -> None:
        number, started = next(self._numbers), time.time()
        result: Response | Failure = Failure(FailureKind.LIMIT, CUT.format(STOPPED))
        with (
            self.guard.watching(sending, number),
            self.guard.preparing(sending, number),
            self.keys.watching(sending),
        ):
            sending.number, sent = number, sending.sent  # what could not be written down before it was not sent
            try:
                with self._without_the_lock():
                    result = self.ending.explain(self.wire.attempt(sending))
            finally:
                sending.is_lost = isinstance(result, Failure)
                sending.exchange = self._recorded(sending, sent, result, started)
                sending.supersedes = number  # of the next attempt, if the request has to go again
                self.exchanges.append(sending.exchange)
                self.log.add(sending.exchange)

    @contextmanager
    def _without_the_lock(self) -> Iterator[None]:
        self.ending.lock.release()
        try:
            yield
        finally:
            self.ending.lock.acquire()

    # -- the exchange -----------------------------------------------------------------------------------------

    def _recorded(self, sending: Sending, sent: Request, result: Response | Failure, started: float) -> Exchange:
        return Exchange(
            sending.number,
            request=sent,
            response=result if isinstance(result, Response) else None,
            failure=result if isinstance(result, Failure) else None,
            started=started,
            elapsed_s=time.time() - started,
            beside=sending.beside,
            supersedes=sending.supersedes,
            excused=self.token_monitor.excused,
            **vars(sending.intent),
        )

    def _not_sent(self, sending: Sending, why: Exception) -> None:
        """An exchange without a number, which is in no list. One that was sent before keeps the answer that it has."""
        if sending.number:
            return
        reason: Text = why.args[0] if why.args else str(why)
        if isinstance(why, LimitError):
            self.note(NoteAbout.CUT, reason, sending.intent.operation)
        sending.exchange = self._recorded(sending, sending.sent, Failure(FailureKind.LIMIT, reason), time.time())


def _intent_of(exchange: Exchange) -> Intent:
    return Intent(exchange.operation, exchange.credential, exchange.valid, exchange.part, exchange.written)


def _prepared(request: Request) -> requests.PreparedRequest:
    """The same request, to be sent once more."""
    prepared = requests.PreparedRequest()
    prepared.method, prepared.url, prepared.body = request.method, request.url, request.body or None
    prepared.headers = requests.structures.CaseInsensitiveDict(request.headers)
    return prepared
