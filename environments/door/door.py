"""The door: the only way by which requests leave for the target.

A request passes an ordered list of small policies around one HTTP attempt. A policy is a function that gets the request
on its way (a `Sending`), and may let it pass, let it wait, or refuse it. The list is in `Door._policies`. Its order
decides what is never sent, never executed and never deleted. So each entry has a comment with the reason for its place.

This module sends, and keeps the log of exchanges. The rules themselves are in the modules of the second table.
`opening.py` builds a door from the profile (the settings of a run), and `client.py` builds the requests.

| word | meaning |
|---|---|
| target | the service that a run asks |
| sending | a request on its way through the door, with what the policies note about it (`outgoing.py`) |
| attempt | a request sent once over the wire; the door may send it again |
| exchange | an attempt with its response or its failure; an exchange with the number 0 was not sent |
| wire | the connections to the target |

| module | its policies |
|---|---|
| `permission.py`, `amounts.py`, `identifiers.py` | what may be sent: address, permissions, amounts, accounts, keys |
| `run_end.py`, `limits.py` | how long the run lasts, and how much it may send |
| `guard.py`, with `journal.py` and `prepared.py` | each real transaction code is executed once |
| `key_changes.py`, `run_keys.py` | which keys may be registered and deleted, and what became of them |
| `backoff.py`, `liveness.py`, `token_monitor.py` | what follows if the target is busy, gone, or refuses the token |
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
from environments.door.event_log import JournalError
from environments.door.guard import ExecutionGuard
from environments.door.journal import Journal
from environments.door.key_changes import KeyChanges
from environments.door.limits import Budget
from environments.door.liveness import NOT_CONNECTED, Liveness
from environments.door.outgoing import Decision, Intent, LimitError, NotSentError, Policy, Sending
from environments.door.permission import Permission
from environments.door.run_end import STOPPED, failure_at_the_end
from environments.door.run_keys import Keys
from environments.door.token_monitor import TokenMonitor
from spec.exchange import VALID, Exchange, Failure, FailureKind, Purpose, Request, Response
from spec.interface import READ_OPERATIONS, SYNTHETIC_PREFIX, operations
from spec.log import Log
from spec.message import Text

Answer = TypeVar("Answer")
_HEADERS_OF_A_BODY = frozenset({"content-type", "content-length", "transfer-encoding"})
"""Headers, in lower case, that a request without a body does not have."""
_LONGEST_WAIT_AT_BARRIER_S = 1.0
"""Seconds that a request waits for the other request that is to be sent at the same moment."""


class DoorPurpose(Purpose):
    """Why the door itself sends a request."""

    SHOWS_AGAIN = "once more, to see whether a deviation shows again"
    IS_STILL_GRANTED = "once more, to see whether the token or the service is gone"
    WHICH_KEYS_ARE_THERE = "the list of keys before or after a registration or deletion"


class Channel(Protocol):
    """Connection to the service that a door sends through."""

    def attempt(self, sending: Sending) -> Response | Failure:
        """Send the request once, and return its answer, or the failure if there is none."""

    def connect(self, base_url: str) -> str:
        """Open a connection to see whether that is possible, send nothing, and close it.

        Returns the reason if it is not possible, else an empty text.
        """

    def close(self) -> None:
        """Close all connections, at the end of the run."""


class NoteSubject(Enum):
    """What a line in the report of the run is about, see `Door.note`."""

    SET_UP = "the token, the codes or the keys: somebody has to look at them"
    NOT_ALL_SENT = "an operation to which not all requests are sent"


class _ThreadData(threading.local):
    """Data of which each thread has its own."""

    barrier: threading.Barrier | None = None
    """The barrier at which its next request waits for the request of another thread."""
    goes_first: bool = False
    """True if its requests are sent before those of other threads that wait for their turn."""
    exchanges: list[Exchange] | None = None
    """The exchanges of this thread while somebody collects them (`Door.collecting`); else None."""


def permit_everything(sending: Sending) -> None:
    """A check that permits every request, by doing nothing.

    On a sandbox (a test system) it is used instead of the checks of amounts, accounts and keys, because nothing there
    has a value.
    """


class Door:
    """The only way by which requests reach the service (the target), through an ordered list of checks.

    The checks, and other steps that a request passes, are called policies. Several threads may send. One lock
    (`run_end.lock`) guards the data of all policies. A thread releases it while it waits, and while its request waits
    for the answer. A policy that sends another request keeps the lock, so that no other thread sends meanwhile.
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
        deletes_keys: bool = False,
        other_success_codes: frozenset[int] = frozenset(),
    ) -> None:
        """Put the parts together that check, send and record each request. Nothing is sent so far.

        `wire` sends the requests, `allow` has the permissions of the settings of the run, and `budget` has its limits.
        `check_amounts` and `check_identifiers` are policies: functions that get a request on its way. They raise
        ForbiddenError if it has an amount, an account or a key that must not be sent. `deletes_keys` is true if the run
        may delete the keys that it registers. `other_success_codes` has the values of `code`, beside 0, with which the
        service says that a request succeeded.
        """
        self.exchanges: list[Exchange] = []
        """Every attempt, in the order in which the attempts ended. It only grows."""
        self.log = Log()
        """The exchanges, and the requests that were not sent, whose number is 0."""
        self.sent_again: dict[int, Exchange | None] = {}
        """By the number of an exchange, the answer to the same request sent once more; None if it was not sent."""
        self.unsent = defaultdict[Text, set[str]](set)
        """By the reason, such as a limit of the run, the operations to which not all requests were sent."""
        self.budget = budget
        self.secrets = target.secrets
        self.keys = keys or Keys()
        self.check_amounts = check_amounts
        self.check_identifiers = check_identifiers
        # Which operations the settings of the run permit.
        self.permission = Permission(target.base_url, allow, target.secrets)
        # When the run ends. Its lock guards the data of all parts.
        self.run_end = budget.run_end
        if journal is not None:
            journal.run_end = self.run_end
        # Which real transaction codes may be sent. It asks for a read to see whether another token is accepted.
        self.guard = ExecutionGuard(budget, journal, target.secrets.token, read_again=self._read_again)
        # When a request is sent again, and how many are sent at the same time.
        self.backoff = Backoff(budget, self.unsent)
        # Whether the access token has expired.
        self.token_monitor = TokenMonitor(
            target.secrets,
            refresh=target.refresh,
            repeat_alone=self._repeat_alone,
            wait_for_empty_wire=self.backoff.wait_for_empty_wire,
            pause_and_keep_others_waiting=self._pause_and_keep_others_waiting,
            disregard=self._disregard,
        )
        # Whether the target can still be reached.
        self.liveness = Liveness(self._find_out_if_gone, self.run_end)
        # Whether the lists of keys permit a registration or deletion.
        self.key_changes = KeyChanges(
            self.keys, self.run_end, self._read_keys, is_sandbox=is_sandbox, may_read="read" in allow
        )
        self.wire = wire
        self._deletes_keys = deletes_keys
        self._other_success_codes = other_success_codes
        self.close = wire.close
        self._numbers = count(1)  # numbers for the exchanges, in the order of sending
        self._thread_data = _ThreadData()
        self._checks_before_sending, self._steps_of_attempt, self._decisions_on_answer = self._policies()

    def _policies(self) -> tuple[tuple[Policy, ...], tuple[Policy, ...], tuple[Decision, ...]]:
        """The policies (steps that each request passes) in their order, each with the reason for its place.

        They are three lists of functions:

        1. checks that are asked once before anything is sent; each may refuse the request
        2. steps of each attempt to send it
        3. decisions on the answer; each may have the request sent again

        The journal is a file with the transaction codes that runs have sent. The profile is the settings of the run.
        """
        once_before_anything_is_sent = (
            # Refuses an operation or address that the profile does not permit. First, because such a request must cost
            # nothing and reveal nothing.
            self.permission.check,
            # Refuses more money than the profile permits. Beside the first check, because only a fault of the suite
            # makes such a request.
            self.check_amounts,
            # Refuses the accounts and keys of other people. Here for the same reason.
            self.check_identifiers,
            # Refuses if the run ends. Before the steps that wait or send, because a run that ends begins nothing.
            self.run_end.refuse_if_over,
            # Waits while another thread checks if the target is gone. That may take seconds, so it comes before the
            # lock of the journal. The next step asks for the result of the check.
            self.liveness.wait_for_check_of_target,
            # Refuses if the target is gone. Before limits are counted, because then nothing must be spent on it.
            self.liveness.refuse_unreachable,
            # Refuses if the token has expired and no other one can be fetched. Here for the same reason.
            self.token_monitor.refuse_expired,
            # Refuses a wrong token if the service locks such callers out. Before the journal is locked, because a
            # request that is not sent needs no lock.
            self.backoff.refuse_if_locked_out,
            # Refuses a transaction code that was sent before, and locks the journal. Before the steps that send
            # something: from here until the answer is final, no other run sends this code.
            self.guard.lock_journal_for_code,
            # Refuses a transaction code while the caller is locked out. Before the attempt, which writes the code to
            # the journal: a code that is not sent must not be written.
            self.backoff.refuse_code_if_locked_out,
            # Refuses a change of keys that may harm other keys. Last, because it reads lists of keys, and nothing may
            # be sent between a list and the deletion after it.
            self.key_changes.prepare_change,
        )
        for_each_attempt = (
            # Refuses if the run ended meanwhile. First, because the request may have waited in an earlier step.
            self.run_end.refuse_if_over,
            # Refuses if limits.transfers is reached. Before the count of requests, because what is not sent costs none.
            self.budget.refuse_transfer,
            # Counts a wrong token, and refuses it beyond limits.wrong_tokens. Here for the same reason.
            self.budget.count_wrong_token,
            # Counts the request, and refuses it beyond limits.requests. Before the attempt, which writes a transaction
            # code to the journal.
            self.budget.count_request,
            # Sends the request once, with a deadline. The exchange is in `exchanges` whatever happens.
            self._attempt,
        )
        until_the_answer_is_final = (
            # Ends here if the run ended meanwhile. First, because then nothing is sent again, and the end of the run
            # may have cut this answer.
            self.run_end.refuse_if_over,
            # Pauses after "come back later", and has the request sent again. Before the token is considered, because
            # such an answer says nothing about the token.
            self.backoff.pause_and_retry,
            # Fetches another token if this one has expired, and has the request sent again.
            self.token_monitor.fetch_another_if_expired,
            # Notes if the target does not answer. After the steps that may have the request sent again, because only
            # the final answer counts.
            self.liveness.note_result,
            # Reads the lists of keys after a registration or deletion. Last, because a list shows the effect of a
            # request only if that request is not sent again.
            self.key_changes.read_lists_after_change,
        )
        return once_before_anything_is_sent, for_each_attempt, until_the_answer_is_final

    def send(self, request: requests.PreparedRequest, intent: Intent) -> Exchange:
        """Send one request, and return its exchange: the request with its response, or with the failure to get one.

        `intent` says what the request is meant to be, such as a valid request to the operation `listPixKeys`.

        The request may be sent several times, such as after the answer "come back later"; the last answer counts. If
        the number of the exchange is 0, the request was not sent, and its failure says why: for example, a limit of the
        run is reached. Raises ForbiddenError if the settings of the run do not permit the request.
        """
        sending = self._new_sending(request, intent)
        exchange = self._send_through_policies(sending)
        was_not_sent = exchange.number == 0  # an exchange that was sent is in the log already
        if was_not_sent:
            with self.run_end.lock:  # several threads add to the log
                self.log.add(exchange)
        return exchange

    def send_again(self, first: Exchange, *, supersedes: bool = False) -> Exchange | None:
        """Send the request of the exchange `first` once more, and return the new exchange.

        The new exchange is also kept in `sent_again`. Returns None if the request might move money, or if a limit keeps
        it back. No other request is under way meanwhile, so that no other request can be the reason for the second
        answer.

        With `supersedes`, the second answer replaces the first one in all judgements. It is used after a doubtful
        answer, such as a timeout under load. Without `supersedes`, both answers count: the second one shows whether a
        deviation shows again.

        An invalid registration may name another key than the first time (`Sending.name_another_key`).
        """
        intent = replace(_intent_of(first), purpose=DoorPurpose.SHOWS_AGAIN)
        if supersedes:
            # A test finds the new request in the place of the first one: by its purpose, and an invalid request also by
            # the part that is invalid and how, `unusual`, such as ("query", "long").
            intent = replace(intent, purpose=first.purpose, unusual=first.unusual)
        sending = self._new_sending(_http_request_of(first.request), intent)
        sending.is_repetition = True
        sending.name_another_key(first)
        if supersedes:
            sending.supersedes = first.number
        else:
            sending.repeats = first.number
        second = None
        if sending.is_safe_to_repeat:
            second = self._send_again_alone(sending)
        self.sent_again[first.number] = second
        return second

    def _send_again_alone(self, sending: Sending) -> Exchange | None:
        """Pass a repetition of a request through all policies while no other request is under way.

        Returns its exchange; None if a limit keeps it back.
        """
        # `_send_through_policies` takes the lock a second time, and releases it once while the request waits for its
        # answer. So this thread has the lock all the time, and no other thread can send.
        with self.run_end.lock:
            try:
                self.backoff.wait_for_empty_wire()
            except NotSentError:  # the run was stopped
                return None
            exchange = self._send_through_policies(sending)
        was_sent = exchange.number > 0
        return exchange if was_sent else None

    def send_at_same_moment(self, barrier: threading.Barrier, send: Callable[[], Answer]) -> Answer:
        """Call `send`, so that its first request is sent at the same moment as the first request of another thread.

        Some faults of a service show only then. The other thread calls this method with the same barrier, and each
        waits at the barrier for the other. Returns what `send` returns.
        """
        self._thread_data.barrier = barrier
        try:
            return send()
        finally:
            barrier.abort()  # if `send` has sent nothing, the other thread must not wait any longer

    @contextmanager
    def collecting(self, *, goes_first: bool = False) -> Iterator[list[Exchange]]:
        """Collect the exchanges of this thread until the `with` block ends, in a list that grows meanwhile.

        Other threads may send at the same time; their exchanges are not in the list. If the same thread collects again
        inside the block, the exchanges inside are in the inner list alone. With `goes_first`, the requests of this
        thread are sent before requests of other threads that wait for their turn.
        """
        data = self._thread_data
        outer_exchanges = data.exchanges
        outer_goes_first = data.goes_first
        exchanges: list[Exchange] = []
        data.exchanges = exchanges
        data.goes_first = goes_first or outer_goes_first
        try:
            yield exchanges
        finally:
            data.exchanges = outer_exchanges
            data.goes_first = outer_goes_first

    def note(self, subject: NoteSubject, text: Text, operation: str = "") -> None:
        """Keep a line of text for the report.

        A note about NOT_ALL_SENT says why not all requests of an operation are sent, and names the operation.
        """
        if subject is NoteSubject.NOT_ALL_SENT:
            self.unsent[text].add(operation)
        else:
            self.guard.notes.append(text)  # the check of transaction codes adds its own notes about the set-up there

    # -- one request ------------------------------------------------------------------------------------------

    def _new_sending(self, request: requests.PreparedRequest, intent: Intent) -> Sending:
        """A request on its way through the door, with the facts that the checks need before it is sent.

        They are the real transaction code in it, whether it has the right access token, its path, and whether it cleans
        up (deletes a key of the run, or reads a list of keys for that). Neither a request that is drawn at random nor
        one with a wrong token cleans up.
        """
        authorization = str(request.headers.get("Authorization", "")).strip()
        last_word = authorization.rpartition(" ")[2]  # the token, under whatever scheme
        sending = Sending(
            request,
            intent,
            code=self.permission.code_in(request),
            with_token=last_word in self.secrets.tokens,  # the present token, and those before it
            path=self.permission.path_below_base_url(request),
            may_name_another_key=self._deletes_keys,
        )
        may_clean_up = intent.credential == VALID and not intent.is_generated
        sending.cleans_up = may_clean_up and self.keys.helps_to_clean_up(sending)
        return sending

    def _send_through_policies(self, sending: Sending) -> Exchange:
        """Pass a request through all policies (checks and steps), which send it, and return its exchange.

        If a policy refuses the request, the exchange has the number 0 and says why. The thread has the lock of the door
        throughout, except while it waits or while the request waits for its answer.
        """
        sending.barrier = self._taken_barrier()  # set if it is to be sent at the same moment as another request
        sending.goes_first = sending.is_repetition or self._thread_data.goes_first
        with self.run_end.lock:
            try:
                with sending.resources:  # releases the locks that policies took, such as that of the journal
                    for policy in self._checks_before_sending:
                        policy(sending)
                    self._send_until_answer_is_final(sending)
            except JournalError as error:
                self.guard.journal_trouble = str(error)
                self._note_refusal(sending, error)
            except NotSentError as error:
                self._note_refusal(sending, error)
        return sending.exchange

    def _taken_barrier(self) -> threading.Barrier | None:
        """The barrier at which the next request of this thread waits for a request of another thread.

        `send_at_same_moment` sets it, so that both requests are sent at the same moment. It is taken away here, because
        later requests of this thread wait for nobody. None if there is none.
        """
        barrier = self._thread_data.barrier
        self._thread_data.barrier = None
        return barrier

    def _send_until_answer_is_final(self, sending: Sending) -> None:
        """Send a request, and send it again as long as a decision on its answer asks for that.

        An example is the answer 429, after which the request is sent again some seconds later.
        """
        is_to_be_sent = True
        while is_to_be_sent:
            self._make_one_attempt(sending)
            is_to_be_sent = self._decide_on_answer(sending)

    def _make_one_attempt(self, sending: Sending) -> None:
        """Pass a request through the steps of one attempt. Raises NotSentError if a step refuses the request.

        The last step, `_attempt`, sends the request and puts the exchange into `sending.exchange`.
        """
        for step in self._steps_of_attempt:
            step(sending)

    def _decide_on_answer(self, sending: Sending) -> bool:
        """Have each decision look at the answer. Returns true if the request is to be sent again.

        As soon as a decision wants the request to be sent again, the later decisions are not asked, because they look
        only at a final answer.
        """
        for decision in self._decisions_on_answer:
            is_to_be_sent_again = decision(sending)
            if is_to_be_sent_again:
                return True
        return False

    def _repeat_alone(self, earlier: Exchange) -> Exchange | None:
        """Send an earlier request once more while no other request is under way.

        Returns its exchange; None if a limit keeps it back. The answer only shows whether the token is still accepted,
        or whether the service can still be reached. No test judges it, so it is sent as a request that need not
        succeed.
        """
        intent = replace(_intent_of(earlier), valid=False, generator="", purpose=DoorPurpose.IS_STILL_GRANTED)
        return self._send_alone(_http_request_of(earlier.request), intent)

    def _read_keys(self, change: Sending, account: str) -> Exchange | None:
        """Send GET /v1/pix/keys/{accountId} for this account, to see what a registration or deletion changed.

        No other request is under way meanwhile, so that no other request can cause the change. The request has the same
        headers as the registration or deletion (`change`), so that the service treats both alike. Only the headers
        about the body are left out, and the token is always the right one.

        Returns the exchange; None if a limit keeps the request back.
        """
        operation = operations()["listPixKeys"]
        path = operation.path.replace("{accountId}", quote(account, safe=""))
        request = requests.Request(operation.method, self.permission.base_url + path).prepare()
        for name, value in change.request.headers.items():
            if name.lower() not in _HEADERS_OF_A_BODY:
                request.headers[name] = value
        request.headers["Authorization"] = f"Bearer {self.secrets.token()}"
        return self._send_alone(request, Intent("listPixKeys", purpose=DoorPurpose.WHICH_KEYS_ARE_THERE))

    def _send_alone(self, request: requests.PreparedRequest, intent: Intent) -> Exchange | None:
        """Send a request while no other request is under way. Returns its exchange; None if a limit keeps it back."""
        sending = self._new_sending(request, intent)
        # If the last request got no answer, its connection may be broken, so this request uses a fresh one.
        last_got_no_answer = bool(self.exchanges) and self.exchanges[-1].response is None
        sending.needs_new_connection = last_got_no_answer
        sending.goes_first = True
        self.backoff.wait_for_empty_wire()
        try:
            # This thread has the lock already, and takes it a second time here. It is released once while the request
            # waits for its answer. So this thread has the lock all the time, and no other thread can send.
            with self.run_end.lock:
                self._make_one_attempt(sending)
        except NotSentError:
            return None
        return sending.exchange

    @contextmanager
    def _pause_and_keep_others_waiting(self, seconds: float) -> Iterator[None]:
        """Wait for some seconds. From now until the end of the `with` block only this thread sends.

        It is used to check whether the token has expired: requests with an expired token would be lost meanwhile.
        """
        # Two threads must not do this at the same time: the end of the first pause would let all other threads go on,
        # although the second pause still lasts. `liveness` uses the same flag while it checks the target.
        self.run_end.wait_for(lambda: not self.liveness.others_are_waiting)
        with self.liveness.keeping_others_waiting():
            self.run_end.sleep(seconds)
            yield

    def _disregard(self, numbers: Collection[int], why: Text) -> None:
        """Make sure that nothing judges the answers to the exchanges with these numbers, as if they were not sent.

        It is used for refusals that an expired token may have caused. `why` is the reason, for the report.
        """
        self.log.disregard(numbers, why)
        for first_number, second in self.sent_again.items():  # the exchanges of requests that were sent once more
            if second is not None and second.number in numbers:
                self.sent_again[first_number] = None

    def _read_again(self) -> Exchange | None:
        """Send the last request again that only read data and succeeded, to see if the token is still accepted.

        An example is GET /v1/accounts. Returns its exchange; None if no such request succeeded so far, or if a limit
        keeps it back.
        """
        last_granted_read = self.token_monitor.last_granted_read
        if last_granted_read is None:
            return None
        return self._repeat_alone(last_granted_read)

    def _find_out_if_gone(self) -> bool:
        """Find out if the target is gone (cannot be reached any more). Returns true if so.

        This sends harmless requests that were answered before, until one is answered again. The target is gone if none
        is answered, or if no connection can be made. If no request was answered before, it only tries to connect. If
        limits keep all requests back, nothing is known, and the target does not count as gone.
        """
        answered_before = self._last_answered_harmless_requests()
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

    def _last_answered_harmless_requests(self) -> list[Exchange]:
        """For each operation, the last harmless request that was answered; the newest first.

        Harmless are requests that only read, and executions of a transaction code that the suite made up, such as
        `pixconf-1a2b3c4d`: no transfer has such a code, so no money moves.
        """
        newest = dict[str, Exchange]()
        for exchange in reversed(self.exchanges):
            if exchange.response is None or exchange.credential != VALID:
                continue
            code_is_synthetic = SYNTHETIC_PREFIX in exchange.request.last_segment
            executes_nothing = exchange.operation == "executePix" and code_is_synthetic
            if exchange.operation in READ_OPERATIONS or executes_nothing:
                newest.setdefault(exchange.operation, exchange)  # keeps the newest, with which the loop began
        return list(newest.values())

    def _attempt(self, sending: Sending) -> None:
        """Wait until a request may be sent, then send it once and record its exchange.

        The number of requests that may be on the wire (sent and not answered) at the same time is limited.
        `backoff.on_the_wire` waits until this request may be one of them.
        """
        # Before the request counts as on the wire: while it waits for another thread, other requests may be sent.
        self._wait_for_other_thread(sending)
        # Also before it counts as on the wire. The thread that checks whether the target is gone waits until no request
        # is on the wire, and this thread waits for that check: they would wait for each other.
        self.liveness.wait_for_check_of_target(sending)
        with self.backoff.on_the_wire(sending):
            self.token_monitor.put_in_newest_token(sending)
            # Again, because while the request waited, the run may have ended, the target may have become unreachable,
            # or the token may have expired.
            self.run_end.refuse_if_over(sending)
            self.liveness.refuse_unreachable(sending)
            self.token_monitor.refuse_expired(sending)
            with self.budget.counting_transfer(sending):
                self._send_and_record(sending)

    def _wait_for_other_thread(self, sending: Sending) -> None:
        """Wait for the request of another thread, at most for a second, if both are to be sent at the same moment.

        If the other thread does not come, this request is sent alone.
        """
        if sending.barrier is None:
            return
        # The error is raised if the other thread has nothing to send, or does not come within a second.
        with self._without_the_lock(), suppress(threading.BrokenBarrierError):
            sending.barrier.wait(_LONGEST_WAIT_AT_BARRIER_S)
        sending.barrier = None  # if the request is sent again, it waits for nobody

    def _send_and_record(self, sending: Sending) -> None:
        """Send a request once, and add its exchange to the log.

        The exchange is added even if this thread is interrupted (Ctrl-C) while it waits for the answer, because the
        service may have moved money. The three `with` blocks write to the journal (a file with transaction codes) and
        to the record of keys before the request is sent, and write what became of it afterwards.
        """
        number = next(self._numbers)
        started = time.time()
        # The result if the thread is interrupted while it waits for the answer.
        result: Response | Failure = failure_at_the_end(STOPPED)
        with (
            self.guard.recording_execution(sending, number),
            self.guard.recording_preparation(sending, number),
            self.keys.recording(sending),
        ):
            sending.number = number  # set only now: if the journal cannot be written, the request was never sent
            request = sending.plain_request
            try:
                with self._without_the_lock():
                    answer_or_failure = self._with_success_codes(self.wire.attempt(sending))
                    # A timeout because the run ended is no fault of the service, so the failure names the end.
                    result = self.run_end.with_end_as_cause(answer_or_failure)
            finally:
                sending.exchange = self._exchange_of(sending, request, result, started)
                self.exchanges.append(sending.exchange)
                self.log.add(sending.exchange)
                if self._thread_data.exchanges is not None:
                    self._thread_data.exchanges.append(sending.exchange)
                # For the next attempt of this request, if there is one. Its answer counts instead of this one.
                sending.supersedes = number
                sending.needs_new_connection = isinstance(result, Failure)

    @contextmanager
    def _without_the_lock(self) -> Iterator[None]:
        """Release the lock of the door until the `with` block ends, so that other threads can send meanwhile."""
        self.run_end.lock.release()
        try:
            yield
        finally:
            self.run_end.lock.acquire()

    # -- the exchange -----------------------------------------------------------------------------------------

    def _with_success_codes(self, answer_or_failure: Response | Failure) -> Response | Failure:
        """The same answer with the codes, beside 0, by which it may say success. A failure stays as it is."""
        # Most profiles name no such code, and a copy of a large body takes time.
        if not self._other_success_codes or isinstance(answer_or_failure, Failure):
            return answer_or_failure
        return replace(answer_or_failure, other_success_codes=self._other_success_codes)

    def _exchange_of(self, sending: Sending, request: Request, result: Response | Failure, started: float) -> Exchange:
        """The exchange of an attempt: the request with its result, and what is known about its sending.

        `started` is the time when the attempt began, in seconds since 1970.
        """
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
            excused=self.token_monitor.excused,  # refused because the token had expired
            **vars(sending.intent),  # the operation, the credential, the purpose and so on
        )

    def _note_refusal(self, sending: Sending, why: Exception) -> None:
        """Give a request that was not sent an exchange with the number 0, whose failure says why.

        If the request was sent before and was only not sent again, it keeps the exchange with its last answer. If a
        limit is the reason, the report names the operation, because not all of its requests were sent.
        """
        was_sent_before = sending.number > 0
        if was_sent_before:
            return
        # The argument of the error, because it may be a message, of which `str` would give the English text alone.
        reason: Text = why.args[0] if why.args else str(why)
        if isinstance(why, LimitError):
            self.note(NoteSubject.NOT_ALL_SENT, reason, sending.intent.operation)
        sending.exchange = self._exchange_of(
            sending, sending.plain_request, Failure(FailureKind.LIMIT, reason), time.time()
        )


def _intent_of(exchange: Exchange) -> Intent:
    """The intent with which an earlier request is sent once more: the same operation, token and so on.

    Its purpose is left out, because it is sent again for another reason.
    """
    return Intent(exchange.operation, exchange.credential, exchange.valid, exchange.generator, exchange.spelling)


def _http_request_of(request: Request) -> requests.PreparedRequest:
    """The request of an earlier exchange as an object of the library `requests`, so that it can be sent once more."""
    prepared = requests.PreparedRequest()
    prepared.method = request.method
    prepared.url = request.url
    prepared.body = request.body or None
    prepared.headers = requests.structures.CaseInsensitiveDict(request.headers)
    return prepared
