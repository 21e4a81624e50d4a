"""The door: the only way by which requests leave for the target.

A request passes an ordered list of small policies around one HTTP attempt (`Door._policies`). What is never sent, never
executed and never deleted follows from that list and its order, so each policy has the reason for its place there.

| word | meaning |
|---|---|
| target | the service that a run asks |
| sending | a request on its way through the door, with what the policies note about it (`outgoing.py`) |
| attempt | a request sent once over the wire; the door may send it again |
| exchange | an attempt with its response or its failure; an exchange without a number was not sent |
| wire | the connections to the target |
| place | permission to be on the wire; a run has as many places as it may send requests at once |
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Set
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
from spec.interface import READ_OPERATIONS, SYNTHETIC_PREFIX, operations
from spec.log import Log
from spec.message import Text

Answer = TypeVar("Answer")
_OF_A_BODY = frozenset({"content-type", "content-length", "transfer-encoding"})
"""Headers, in lower case, that a request without a body does not have."""
_MEETS_S = 1.0
"""Seconds that a request waits for the other request that is to leave at the same moment."""


class OfTheDoor(Purpose):
    """Why the door itself sends a request."""

    SHOWS_AGAIN = "once more, to see whether a deviation shows again"
    IS_STILL_GRANTED = "once more, to see whether the token or the service is gone"
    WHICH_KEYS_ARE_THERE = "the list of keys before or after a registration or deletion"


class Channel(Protocol):
    """Connection to the service that a door sends through."""

    def attempt(self, sending: Sending) -> Response | Failure:
        """Send the request once, and give its answer."""

    def connect(self, base_url: str) -> str:
        """Open a connection, and close it. Gives the reason if that fails, else an empty text."""

    def close(self) -> None:
        """Close all connections."""


class NoteAbout(Enum):
    """The subject of a note that a sender leaves at the door for the report."""

    SET_UP = "the token, the codes or the keys: somebody has to look at them"
    CUT = "an operation to which not all requests are sent"


class _OfThisThread(threading.local):
    """Data that each thread has of its own."""

    barrier: threading.Barrier | None = None
    """The barrier at which its next request waits for the request of another thread."""


def permit_everything(sending: Sending) -> None:
    """The policy for amounts, accounts and keys on a sandbox: all are permitted, because nothing there has a value."""


class Door:
    """Guards one target.

    Several threads may send. One lock, that of `ending`, guards the bookkeeping of all policies. A thread releases it
    while it waits, and while its request is on the wire. A policy that sends another request keeps it, so that nothing
    else leaves meanwhile.
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
        """Every attempt, in the order in which the attempts ended. It only grows."""
        self.log = Log()
        """The exchanges, and the requests that were not sent, which have no number."""
        self.sent_again: dict[int, Exchange | None] = {}
        """By the number of an exchange, the answer to the same request sent once more; None if it was not sent."""
        self.unsent = defaultdict[Text, set[str]](set)
        """By the limit that cut them short, the operations to which not all requests were sent."""
        self.budget = budget
        self.secrets = target.secrets
        self.keys = keys or Keys()
        self.guard = ExecutionGuard(budget, journal, target.secrets.token)
        self.permission = Permission(target.base_url, allow, target.secrets)
        self.ending = budget.ending
        if journal is not None:
            journal.ending = self.ending
        self.backoff = Backoff(budget, self.unsent)
        self.token_monitor = TokenMonitor(
            target.secrets,
            target.refresh,
            self._repeat_alone,
            self.backoff.wait_for_empty_wire,
            self._pausing,
            self._disregard,
        )
        self.liveness = Liveness(self._find_out_if_gone, self.ending)
        self.guard.read_again = self._read_again
        self.key_changes = KeyChanges(
            self.keys, self.ending, self._read_keys, is_sandbox=is_sandbox, may_read="read" in allow
        )
        self.wire = wire
        self.close = wire.close
        self._numbers = count(1)  # of the exchanges
        self._of_this_thread = _OfThisThread()
        self.check_amounts = check_amounts
        self.check_identifiers = check_identifiers
        self._before, self._for_each_attempt, self._decisions = self._policies()

    def _policies(self) -> tuple[tuple[Policy, ...], tuple[Policy, ...], tuple[Decision, ...]]:
        """The policies in their order, each with the reason for its place.

        They are three lists: policies that are asked once before anything is sent, steps of each attempt, and decisions
        on its answer, of which each may have the request sent again.
        """
        once_before_anything_is_sent = (
            # First, because a request that is not permitted must cost nothing and reveal nothing.
            self.permission.check,
            # With it, because more money than the profile says would be a fault of the suite, too,
            self.check_amounts,
            # and so would an account or a key of somebody else.
            self.check_identifiers,
            # Before all that waits or sends, because a run that ends begins nothing.
            self.ending.refuse_if_over,
            # Before its result is asked for, and before this thread locks the journal, because it may take seconds.
            self.liveness.wait_for_check_of_target,
            # Before limits are counted, because a target that is gone must cost no request and no transaction code.
            self.liveness.refuse_unreachable,
            # Likewise, because a token that expired for good must cost no request and no transaction code.
            self.token_monitor.refuse_expired,
            # Before the journal is locked, because a wrong token that is not sent needs no lock.
            self.backoff.refuse_if_locked_out,
            # Before all that waits: from here until the answer is final, no other run sends this code.
            self.guard.lock_journal_for_code,
            # Before the attempt, because a code that is not sent must not stand in the journal.
            self.backoff.refuse_code_if_locked_out,
            # Last, because it reads lists of keys, and nothing may be sent between a list and the deletion after it.
            self.key_changes.prepare_change,
        )
        for_each_attempt = (
            # Again, because the run may have ended while the request waited.
            self.ending.refuse_if_over,
            # Before the count of requests, because a transfer beyond its limit is not sent, so it costs no request.
            self.budget.refuse_transfer,
            # Before the count of requests, for the same reason.
            self.budget.count_wrong_token,
            # Before the attempt, because a code that a limit keeps back must not stand in the journal.
            self.budget.count_request,
            # Sends the request once, with a deadline. The exchange is in `exchanges` whatever happens.
            self._attempt,
        )
        until_the_answer_is_final = (
            # First, because a run that ends sends nothing again, and its end may have cut this answer.
            self.ending.refuse_if_over,
            # Before the token, because the answer "come back later" says nothing about the token.
            self.backoff.pause_and_retry,
            # If the token expired, another one is fetched, and the request is sent again.
            self.token_monitor.watch,
            # After all that may send it again, because only the final answer shows whether the target is reachable.
            self.liveness.notice,
            # Last, because a list of keys shows the effect of a request only if that request is not sent again.
            self.key_changes.read_lists_after_change,
        )
        return once_before_anything_is_sent, for_each_attempt, until_the_answer_is_final

    def send(self, request: requests.PreparedRequest, intent: Intent) -> Exchange:
        """Send one request, and return its exchange with the response or the failure.

        Raises ForbiddenError if the profile does not permit the request. An exchange without a number was not sent,
        because a limit kept it back or the target is gone.
        """
        sending = self._new_sending(request, intent)
        exchange = self._send_through_policies(sending)
        if not exchange.number:
            with self.ending.lock:  # several threads add to the log
                self.log.add(exchange)
        return exchange

    def send_again(self, first: Exchange, *, supersedes: bool = False) -> Exchange | None:
        """Send an earlier request once more. Returns the new exchange, which is also kept in `sent_again`.

        None if that might move money, or if a limit keeps the request back. With `supersedes`, the second answer counts
        in the place of the first one, so it keeps the purpose of the first. Without, both answers count.
        """
        intent = replace(_intent_of(first), purpose=OfTheDoor.SHOWS_AGAIN)
        if supersedes:
            intent = replace(intent, purpose=first.purpose, unusual=first.unusual)
        sending = self._new_sending(_prepared(first.request), intent)
        sending.is_repetition = True
        if supersedes:
            sending.supersedes = first.number
        else:
            sending.repeats = first.number
        answer: Exchange | None = None
        if sending.is_safe_to_repeat:
            exchange = self._send_through_policies(sending)
            was_sent = exchange.number > 0  # without a number it was kept back by a limit
            answer = exchange if was_sent else None
        self.sent_again[first.number] = answer
        return answer

    def send_at_same_moment(self, barrier: threading.Barrier, send: Callable[[], Answer]) -> Answer:
        """Call `send`, so that its first request leaves at the same moment as the first request of another thread.

        The other thread calls this method with the same barrier. Returns what `send` returns.
        """
        self._of_this_thread.barrier = barrier
        try:
            return send()
        finally:
            barrier.abort()  # if nothing was sent, the other thread waits no longer

    def note(self, about: NoteAbout, text: Text, operation: str = "") -> None:
        """Keep a line for the report. A note about a cut names the operation that is cut short."""
        if about is NoteAbout.CUT:
            self.unsent[text].add(operation)
        else:
            self.guard.notes.append(text)

    # -- one request ------------------------------------------------------------------------------------------

    def _new_sending(self, request: requests.PreparedRequest, intent: Intent) -> Sending:
        """A request on its way, with what the policies ask about it before it is sent.

        That is the transaction code in it, whether it has the token, its path, and whether it cleans up.
        """
        authorization = str(request.headers.get("Authorization", "")).strip()
        last_word = authorization.rpartition(" ")[2]  # the token, under whatever scheme
        sending = Sending(
            request,
            intent,
            code=self.permission.code_in(request),
            with_token=last_word in self.secrets.tokens,  # the present token, and those before it
            path=self.permission.path(request),
        )
        may_clean_up = intent.credential == VALID and not intent.is_generated
        sending.cleans_up = may_clean_up and self.keys.may_be_cleaned_up_by(sending)
        return sending

    def _send_through_policies(self, sending: Sending) -> Exchange:
        """Send a request through all policies, and return its exchange.

        If a policy refuses it, the exchange has no number and says why. The lock of the door is held throughout, except
        while the thread waits or the request is on the wire.
        """
        sending.barrier = self._of_this_thread.barrier
        self._of_this_thread.barrier = None  # only the first request of the thread waits for the other thread
        with self.ending.lock:
            try:
                with sending.resources:
                    for policy in self._before:
                        policy(sending)
                    self._send_until_answer_is_final(sending)
            except JournalError as error:
                self.guard.journal_trouble = str(error)
                self._note_refusal(sending, error)
            except NotSentError as error:
                self._note_refusal(sending, error)
        return sending.exchange

    def _send_until_answer_is_final(self, sending: Sending) -> None:
        """Send a request, and send it again as long as a decision on its answer asks for that."""
        goes_again = True
        while goes_again:
            for policy in self._for_each_attempt:
                policy(sending)
            goes_again = self._decide_on_answer(sending)

    def _decide_on_answer(self, sending: Sending) -> bool:
        """True if the request goes again. The first decision that says so is the last one that is asked."""
        for decision in self._decisions:
            goes_again = decision(sending)
            if goes_again:
                return True
        return False

    def _repeat_alone(self, earlier: Exchange) -> Exchange | None:
        """Send an earlier request once more while no other request is on the wire.

        Returns its exchange; None if a limit keeps it back. Its answer tells if the token or the service is gone, and
        is not judged otherwise.
        """
        intent = replace(_intent_of(earlier), valid=False, part="", purpose=OfTheDoor.IS_STILL_GRANTED)
        return self._send_alone(_prepared(earlier.request), intent)

    def _read_keys(self, change: Sending, account: str) -> Exchange | None:
        """Read the list of keys of an account with the valid token, with nothing else on the wire.

        The headers are those of the registration or deletion, so that the service treats both alike. None if a limit
        keeps the request back.
        """
        operation = operations()["listPixKeys"]
        path = operation.path.replace(f"{{{operation.path_parameter}}}", quote(account, safe=""))
        request = requests.Request(operation.method, self.permission.base_url + path).prepare()
        for name, value in change.request.headers.items():
            if name.lower() not in _OF_A_BODY:
                request.headers[name] = value
        request.headers["Authorization"] = f"Bearer {self.secrets.token()}"
        return self._send_alone(request, Intent("listPixKeys", purpose=OfTheDoor.WHICH_KEYS_ARE_THERE))

    def _send_alone(self, request: requests.PreparedRequest, intent: Intent) -> Exchange | None:
        """Send a request while no other request is on the wire. Returns its exchange; None if a limit keeps it back."""
        sending = self._new_sending(request, intent)
        # If the last request got no answer, its connection may be broken. `is_lost` has this one use a fresh one.
        last_got_no_answer = bool(self.exchanges) and self.exchanges[-1].response is None
        sending.is_lost = last_got_no_answer
        self.backoff.wait_for_empty_wire()
        try:
            # The lock is taken once more than it is released around the wire, so that nothing else may leave.
            with self.ending.lock:
                for policy in self._for_each_attempt:
                    policy(sending)
        except NotSentError:
            return None
        return sending.exchange

    @contextmanager
    def _pausing(self, seconds: float) -> Iterator[None]:
        """Wait for some seconds. Until the end of the block only this thread sends."""
        # Only one thread may have the others wait, because its end lets all of them go on.
        self.ending.wait_for(lambda: not self.liveness.is_checking)
        with self.liveness.keeping_others_waiting():
            self.ending.sleep(seconds)
            yield

    def _disregard(self, numbers: Collection[int], why: Text) -> None:
        """Have the answers with these numbers count as little as if the requests had not been sent."""
        self.log.disregard(numbers, why)
        for number, answer in self.sent_again.items():
            if answer and answer.number in numbers:
                self.sent_again[number] = None

    def _read_again(self) -> Exchange | None:
        """Send the last read that succeeded once more, to see if the token is still accepted.

        None if no read succeeded, or if a limit keeps the request back.
        """
        last_granted_read = self.token_monitor.witness
        if last_granted_read is None:
            return None
        return self._repeat_alone(last_granted_read)

    def _find_out_if_gone(self) -> bool:
        """Send harmless requests that were answered before, until one is answered again. True if the target is gone.

        It is gone if none of these requests is answered, or if no connection can be made. If limits keep all of them
        back, nothing is known, and the target counts as reachable.
        """
        answered_before = self._answered_before()
        if not answered_before:
            return self.wire.connect(self.permission.base_url) != ""
        was_any_sent = False
        for exchange in answered_before:
            repetition = self._repeat_alone(exchange)
            if repetition is None:
                continue
            if repetition.response is not None:
                return False
            was_any_sent = True
            if repetition.failure and repetition.failure.kind in NOT_CONNECTED:
                break  # no other request could connect either
        return was_any_sent

    def _answered_before(self) -> list[Exchange]:
        """For each operation, the last harmless request that was answered; the newest first.

        Reads are harmless, and so are executions of a synthetic code.
        """
        newest = dict[str, Exchange]()
        for exchange in reversed(self.exchanges):
            if exchange.response is None or exchange.credential != VALID:
                continue
            code_is_synthetic = SYNTHETIC_PREFIX in exchange.request.last_segment
            executes_nothing = exchange.operation == "executePix" and code_is_synthetic
            if exchange.operation in READ_OPERATIONS or executes_nothing:
                newest.setdefault(exchange.operation, exchange)  # later ones in this loop are older
        return list(newest.values())

    def _attempt(self, sending: Sending) -> None:
        """Wait until a request may leave, then send it once."""
        # Before the place: while the request waits for another thread, other requests may use the wire.
        self._wait_for_other_thread(sending)
        # Before the place: the thread that looks whether the target is gone needs the wire for itself.
        self.liveness.wait_for_check_of_target(sending)
        with self.backoff.place(sending):
            self.token_monitor.renew(sending)
            # Again: while the request waited, the run may have ended, the target may be gone, the token have expired.
            self.ending.refuse_if_over(sending)
            self.liveness.refuse_unreachable(sending)
            self.token_monitor.refuse_expired(sending)
            with self.budget.transfer(sending):
                self._send_and_record(sending)

    def _wait_for_other_thread(self, sending: Sending) -> None:
        """Wait for the request of another thread, if both are to leave at the same moment."""
        if sending.barrier is None:
            return
        with self._without_the_lock(), suppress(threading.BrokenBarrierError):  # broken: the other one does not come
            sending.barrier.wait(_MEETS_S)
        sending.barrier = None

    def _send_and_record(self, sending: Sending) -> None:
        """Send a request once. Its exchange is recorded whatever happens, also if this thread is interrupted."""
        number = next(self._numbers)
        started = time.time()
        # The result if the thread is interrupted.
        result: Response | Failure = Failure(FailureKind.LIMIT, CUT.format(STOPPED))
        with (
            self.guard.recording_execution(sending, number),
            self.guard.recording_preparation(sending, number),
            self.keys.recording(sending),
        ):
            sending.number = number  # set only now: if the journal cannot be written, the request was never sent
            request = sending.plain_request
            try:
                with self._without_the_lock():
                    result = self.ending.with_end_as_cause(self.wire.attempt(sending))
            finally:
                sending.is_lost = isinstance(result, Failure)
                sending.exchange = self._exchange_of(sending, request, result, started)
                sending.supersedes = number  # the next attempt, if there is one, takes the place of this one
                self.exchanges.append(sending.exchange)
                self.log.add(sending.exchange)

    @contextmanager
    def _without_the_lock(self) -> Iterator[None]:
        """Let other threads in meanwhile."""
        self.ending.lock.release()
        try:
            yield
        finally:
            self.ending.lock.acquire()

    # -- the exchange -----------------------------------------------------------------------------------------

    def _exchange_of(self, sending: Sending, request: Request, result: Response | Failure, started: float) -> Exchange:
        """The exchange of an attempt with this result. `started` is the time of its start, in seconds since 1970."""
        return Exchange(
            sending.number,
            request=request,
            response=result if isinstance(result, Response) else None,
            failure=result if isinstance(result, Failure) else None,
            started=started,
            elapsed_s=time.time() - started,
            beside=sending.beside,
            supersedes=sending.supersedes,
            repeats=sending.repeats,
            excused=self.token_monitor.excused,
            **vars(sending.intent),
        )

    def _note_refusal(self, sending: Sending, why: Exception) -> None:
        """Give a request that was not sent an exchange without a number, which says why.

        A request that was sent before, and was only not sent again, keeps the answer that it has.
        """
        if sending.number:
            return
        reason: Text = why.args[0] if why.args else str(why)
        if isinstance(why, LimitError):
            self.note(NoteAbout.CUT, reason, sending.intent.operation)
        sending.exchange = self._exchange_of(
            sending, sending.plain_request, Failure(FailureKind.LIMIT, reason), time.time()
        )


def _intent_of(exchange: Exchange) -> Intent:
    """The intent to send the request of an exchange once more, without its purpose."""
    return Intent(exchange.operation, exchange.credential, exchange.valid, exchange.part, exchange.spelling)


def _prepared(request: Request) -> requests.PreparedRequest:
    """The same request as `requests` takes it, to be sent once more."""
    prepared = requests.PreparedRequest()
    prepared.method = request.method
    prepared.url = request.url
    prepared.body = request.body or None
    prepared.headers = requests.structures.CaseInsensitiveDict(request.headers)
    return prepared
