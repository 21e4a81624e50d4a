"""The one way out: every byte to the target leaves through this door, over one `requests` transport adapter.

It is an ordered list of small policies around one HTTP attempt (`Door._policies`). The order is the safety argument.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Set
from contextlib import nullcontext
from itertools import count
from typing import Protocol

import requests

from environments.door.attempt import Handshake, WireSettings
from environments.door.backoff import Backoff
from environments.door.budget import Budget
from environments.door.company import Company
from environments.door.connections import Connections
from environments.door.ending import CUT, STOPPED, Ending
from environments.door.event_log import JournalError
from environments.door.execution_guard import ExecutionGuard
from environments.door.in_flight import InFlight, Presence
from environments.door.journal import Journal
from environments.door.key_states import Keys
from environments.door.liveness import Liveness
from environments.door.outgoing import Again, Decision, Intent, NotSentError, Policy, Sending
from environments.door.permission import Permission
from environments.door.token_monitor import TokenMonitor
from environments.profiles.target import Target
from spec.exchange import Exchange, Failure, FailureKind, Request, Response

_CLEANS_UP = ("listPixKeys", "deletePixKey")
"""Operations that clean up while the run has a key to delete."""


class Channel(Protocol):
    """What a door sends through."""

    def attempt(self, sending: Sending) -> Response | Failure:
        """Send once."""

    def connect(self, base_url: str) -> Handshake:
        """Open a connection, and close it."""

    def close(self) -> None:
        """Close what is open."""


class Door:
    """Guards one target.

    `exchanges` has every attempt in the order in which they ended; it only grows. `unsent` has the operations that a
    limit cut short, by the limit. Each of `listeners` sees a request when its answer stands, and may reproduce it.
    """

    def __init__(
        self,
        target: Target,
        *,
        allow: Set[str],
        wire: WireSettings,
        budget: Budget,
        journal: Journal | None = None,
        keys: Keys | None = None,
        in_flight: InFlight | None = None,
        ending: Ending | None = None,
    ) -> None:
        self.exchanges: list[Exchange] = []
        self.unsent: dict[str, set[str]] = {}
        self.listeners: list[Callable[[Sending], None]] = []
        self.budget, self.secrets, self.keys = budget, target.secrets, keys or Keys()
        token = target.secrets.token
        self.guard = ExecutionGuard(budget, journal, token)
        self.permission = Permission(target.base_url, allow, target.secrets)
        self.in_flight = in_flight or InFlight(1)
        self.ending = budget.ending = self.in_flight.ending = ending or Ending()
        if journal is not None:
            journal.ending = self.ending
        sleep = lambda seconds: self.ending.sleep(seconds)  # noqa: E731 - self-tests replace it
        self.backoff = Backoff(self.in_flight, budget.wait_for_turn, self.unsent, sleep=sleep)
        self.liveness, self.company = Liveness(self.in_flight.alone), Company(self.backoff)
        self.token_monitor = TokenMonitor(token, target.refresh, alone=self.in_flight.alone)
        self.connections: Channel = Connections(wire, self.in_flight.most, self.ending)
        self._numbers = count(1)
        self.ending.wake = self.in_flight.wake
        self._before, self._around, self._decisions, self._after = self._policies()

    def _policies(self) -> tuple[tuple[Policy, ...], tuple[Policy, ...], tuple[Decision, ...], tuple[Policy, ...]]:
        """The policies in their order, each with the reason for its place."""
        once_before_anything_is_sent = (
            self.permission.check,  # First: a request that is not permitted costs nothing and reveals nothing.
            self.ending.refuse,  # Before all that waits or asks: a run that ends begins nothing.
            self.liveness.refuse_the_dead,  # A target that is gone costs no budget and no transaction code.
            self.guard.take_turn,  # Before all that waits: no other run sends the code until its answer is final.
            self._be_alone,  # After its turn: who waits for a turn keeps nobody else from the wire.
            self.backoff.spare_codes,  # Before the claim: a code that is kept back, or waits, is not recorded as sent.
        )
        for_each_attempt = (
            self.ending.refuse,  # Again: the run may have ended while the request waited.
            self.budget.refuse_transfer,  # Before the count of requests: what has no room costs none.
            self.budget.take_wrong_token,  # Before the count of requests: one that is not sent costs none.
            self.budget.take_request,  # Before the claim: a code without room in the budget is not recorded as sent.
            self.guard.claim,  # The journal is on disk before the request leaves: a run that is killed forgets no code.
            self._attempt,  # Once, with a deadline, and a place on the wire. It is in `exchanges` whatever happens.
        )
        until_the_answer_stands = (
            self.ending.refuse,  # First: a run that ends asks nothing more of an answer, and it may have cut this one.
            self.backoff.decide,  # Before the others: "come back later" says nothing about the token.
            self.company.doubt,  # Before the token: the answer to a request that is alone stands.
            self.token_monitor.watch,  # Last: it has the token fetched, and the request sent with another one.
        )
        once_it_stands = (
            self.company.compare,  # First: it gives more room on the wire, or less, to what comes next.
            self.liveness.notice,  # After retries: only the final answer shows whether the target is up.
            self._tell,  # Last: a listener may ask for the request to be reproduced.
        )
        return once_before_anything_is_sent, for_each_attempt, until_the_answer_stands, once_it_stands

    def exchange(self, request: requests.PreparedRequest, intent: Intent) -> Exchange:
        """Send one request and give the outcome; a failure is part of the exchange.

        Raises ForbiddenError for what may not be sent. What a limit keeps, or a target that is gone, has no number.
        """
        return self._pass(request, intent).exchange

    def connect(self) -> Handshake:
        """Open a connection, with TLS for https, and close it."""
        return self.connections.connect(self.permission.base_url)

    def close(self) -> None:
        """Close the connections that are kept."""
        self.connections.close()

    # -- one request ------------------------------------------------------------------------------------------

    def _pass(self, request: requests.PreparedRequest, intent: Intent) -> Sending:
        sending = Sending(
            request, intent, self._attempt_once, self.permission.code_in(request), self._has_token(request)
        )
        sending.cleans_up = intent.operation in _CLEANS_UP and bool(self.keys.not_cleaned_up())
        sending.meeting = self.in_flight.take_meeting()
        try:
            with sending.held:
                for policy in self._before:
                    policy(sending)
                self._attempt_once(sending)
                self._conclude(sending)
        except NotSentError as error:
            self._not_sent(sending, str(error), is_limit=error.is_limit)
        except JournalError as error:
            self._stop_executions(sending, str(error))
        return sending

    def _conclude(self, sending: Sending) -> None:
        """Send the request again as long as a policy wants it; then its answer stands, as where the run ends."""
        try:
            while again := self._decide(sending):
                self.backoff.wait_out_pause()  # before the wire is cleared, and before a code is claimed again
                with self.in_flight.alone() if again.alone else nullcontext():
                    if not sending.send_again():
                        break
            for policy in self._after:
                policy(sending)
        except NotSentError:
            return

    def _decide(self, sending: Sending) -> Again | None:
        """The first decision against the answer, if any."""
        return next(filter(None, (decides(sending) for decides in self._decisions)), None)

    def _attempt_once(self, sending: Sending) -> None:
        for policy in self._around:
            policy(sending)

    def _be_alone(self, sending: Sending) -> None:
        """Keep everything else off the wire until the answer stands, where company might cost a transfer."""
        intent = sending.intent
        moves_money = sending.executes or intent.may_move_money
        if intent.alone or (moves_money and sending.meeting is None and not self.guard.is_one_of_two(sending.code)):
            sending.held.enter_context(self.in_flight.alone())

    def _attempt(self, sending: Sending) -> None:
        if sending.meeting:  # before a place is taken: who waits for another one keeps nobody else from the wire
            sending.meeting.wait()
        with self.in_flight.on_the_wire(meets=sending.meets) as present:
            self.backoff.wait_for_turn(sending)
            self.token_monitor.renew(sending)
            self.ending.refuse(sending)  # it may have ended while the request waited for its turn
            with self.budget.transfer(sending):
                self._send_and_record(sending, present)
            self.backoff.notice(sending)

    def _send_and_record(self, sending: Sending, present: Presence) -> None:
        number, started, sent = next(self._numbers), time.time(), sending.sent
        result: Response | Failure = Failure(FailureKind.LIMIT, CUT.format(STOPPED))
        with self.guard.watching(sending, number), self.keys.watching(sending, number):
            try:
                result = self.ending.explain(self.connections.attempt(sending))
            finally:
                sending.is_lost = isinstance(result, Failure)
                sending.exchange = self._recorded(number, sending.intent, sent, result, started, present.beside)
                self.exchanges.append(sending.exchange)

    def _tell(self, sending: Sending) -> None:
        for listener in self.listeners:
            listener(sending)

    # -- the exchange -----------------------------------------------------------------------------------------

    def _recorded(
        self, number: int, intent: Intent, sent: Request, result: Response | Failure, started: float, beside: int = 0
    ) -> Exchange:
        return Exchange(
            number,
            intent.operation,
            sent,
            response=result if isinstance(result, Response) else None,
            failure=result if isinstance(result, Failure) else None,
            credential=intent.credential,
            valid=intent.valid,
            started=started,
            elapsed_s=time.time() - started,
            beside=beside,
            part=intent.part,
            excused=self.token_monitor.excused,
        )

    def _stop_executions(self, sending: Sending, why: str) -> None:
        self.guard.journal_trouble = why
        self._not_sent(sending, why)

    def _not_sent(self, sending: Sending, why: str, *, is_limit: bool = False) -> None:
        """An exchange without a number, which is in no list."""
        if is_limit:
            self.unsent.setdefault(why, set()).add(sending.intent.operation)
        failure = Failure(FailureKind.LIMIT, why)
        sending.exchange = self._recorded(0, sending.intent, sending.sent, failure, time.time())

    def _has_token(self, request: requests.PreparedRequest) -> bool:
        """Whether the request carries the access token, or one that the run had before, under whatever scheme."""
        sent = str(request.headers.get("Authorization", "")).strip()
        return any(token in (sent, sent.partition(" ")[2].strip()) for token in self.token_monitor.tokens)
