"""The one way out: every byte to the target leaves through this guarded transport adapter.

It decides by the final path what may be sent (`permission`), keeps the budgets, sends an execution once and never
again (`execution`), waits where the service asks for it (`patience`), and records every exchange.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Set
from contextlib import AbstractContextManager, nullcontext
from urllib.parse import unquote

import requests
from requests.adapters import BaseAdapter

from environments.door.attempt import WireSettings
from environments.door.authorization import VALID
from environments.door.budget import Budget, OverBudgetError
from environments.door.capture import Intent, Keeper, Unfollowed, body_of, recorded
from environments.door.connections import Connections
from environments.door.execution_guard import ExecutionGuard, KeptBackError
from environments.door.journal import AlreadySentError, Journal, JournalError
from environments.door.liveness import Liveness
from environments.door.permission import MONEY, ForbiddenError, Permission
from environments.door.retry_policy import ATTEMPTS, Admission, RetryPolicy
from environments.door.standing import STANDING, Suspicions
from environments.door.token_monitor import TokenMonitor
from environments.door.touched_keys import Keys
from environments.secrets import Secrets
from spec.answers import LATER, is_refusal, refusal_kind
from spec.exchange import Exchange, Failure, FailureKind, Response
from spec.interface import operations, operations_reached

__all__ = ["GONE", "STANDING", "Door", "ForbiddenError", "Intent", "UnreachableError"]

Sent = tuple[Exchange, requests.Response | None]


LOCKED = (
    "the service locks its callers out ({}), longer than the suite waits: codes were kept back, and can be used later"
)
GONE = "the target cannot be spoken to any more: {}"


class UnreachableError(Exception):
    """The target cannot be spoken to any more. The text says why."""


class Door(BaseAdapter):
    """A `requests` transport adapter that guards one target. `exchange` sends, `exchanges` is what was said. `harmless`
    makes an execution of a code that nobody has, which the client of the door knows how to make."""

    def __init__(
        self,
        base_url: str,
        *,
        allow: Set[str],
        wire: WireSettings,
        budget: Budget,
        journal: Journal,
        secrets: Secrets,
        refresh: Callable[[], bool] = lambda: False,
        token_accepted: bool = False,
        first_number: int = 1,
        keys: Keys | None = None,
    ) -> None:
        super().__init__()
        self.keys = keys or Keys()
        self.exchanges: list[Exchange] = []
        self.unsent: dict[str, set[str]] = {}
        self._keeper = Keeper()
        self.budget = budget
        self.secrets = secrets
        self.guard = ExecutionGuard(budget, journal, secrets.token)
        self.retry_policy = RetryPolicy()
        self.token_monitor = TokenMonitor(secrets.token, refresh, accepted=token_accepted)
        self._suspicions = Suspicions()
        self._permission = Permission(base_url, allow)
        self._settings, self._token = wire, secrets.token
        self._connections = Connections(wire)
        self._number = first_number
        self._liveness = Liveness()
        self._executions = Admission()
        self.harmless: Callable[[], requests.PreparedRequest] | None = None
        self._answered: tuple[requests.PreparedRequest, Intent] | None = None

    @property
    def unreachable(self) -> str:
        """Why the target cannot be spoken to any more; empty while it can."""
        return self._liveness.unreachable

    @property
    def allow(self) -> Set[str]:
        """The permissions of the profile."""
        return self._permission.allow

    @property
    def codes(self) -> frozenset[str]:
        """The real transaction codes of the run: supplied, or prepared by it."""
        return self.secrets.codes

    @property
    def executions(self) -> int:
        """How many transfers this process executed, with whatever credential, those included of which nobody knows."""
        return len(self.guard.executed) + len(self.guard.unknown)

    @property
    def unknown_outcomes(self) -> list[int]:
        """The exchanges with a real code of which nobody knows what they did."""
        return self.guard.unknown

    @property
    def reproduced(self) -> set[int]:
        """The exchanges whose findings were seen twice."""
        return self._suspicions.reproduced

    def exchange(self, request: requests.PreparedRequest, intent: Intent) -> Exchange:
        """Send one request and give what came of it; a failure is part of the exchange.

        Raises ForbiddenError for what may not be sent and UnreachableError once the target is gone.
        """
        return self._pass(request, intent)[0]

    def send(self, request: requests.PreparedRequest, *args: object, **kwargs: object) -> requests.Response:
        """The adapter's side for sessions that are not ours: the operation is read from the path."""
        reached = sorted(operations_reached(request.method or "", self._permission.path(request)))
        exchange, raw = self._pass(request, Intent(reached[0] if reached else ""))
        if raw is None:
            raise requests.ConnectionError(exchange.failure and exchange.failure.message, request=request)
        raw.__class__ = Unfollowed
        return raw

    def connect(self) -> str:
        """Open a connection, with TLS where it is spoken, and close it. Why that fails; empty where it does not."""
        return self._connections.connect(self._permission.base_url)

    def close(self) -> None:
        """Close the connections that are kept."""
        self._connections.close()

    # -- one request ------------------------------------------------------------------------------------------

    def _pass(self, request: requests.PreparedRequest, intent: Intent) -> Sent:
        if self.unreachable:
            raise UnreachableError(self.unreachable)
        self._permission.check(request, self.codes)
        if intent.credential != VALID and self.retry_policy.spares_wrong_tokens:
            return self._unsent(request, intent, "the service locks its callers out: no more wrong tokens are sent")
        if self._liveness.is_dead(intent.operation):
            return self._cut(request, intent, f"{intent.operation} gave no answer twice and is not asked again")
        try:
            code = self._code(request)
            return self._deliver_code(request, intent, code) if code else self._deliver(request, intent)
        except OverBudgetError as error:
            return self._cut(request, intent, str(error))
        except (AlreadySentError, KeptBackError) as error:
            return self._unsent(request, intent, str(error))
        except JournalError as error:
            self.guard.journal_trouble = str(error)
        except OSError as error:
            self.guard.journal_trouble = f"the journal cannot be written ({error.strerror}): check journal"
        return self._unsent(request, intent, self.guard.journal_trouble)

    def _deliver_code(self, request: requests.PreparedRequest, intent: Intent, code: str) -> Sent:
        """Send a real code, one at a time in all processes. Waiting comes first; then room is taken, and it is sent."""
        executes = self._executes(request)
        with self.guard.turn():
            self.guard.refuse(code, executes=executes)
            if executes:
                self._outlast_a_lock(request)
                time.sleep(self.retry_policy.before_execution())
            self.budget.take_request()
            self.guard.claim(code, executes=executes)
            sent = self._deliver_now(request, intent, executes=executes)
            self.guard.release(code, sent[0], executes=executes)
        return sent

    def _outlast_a_lock(self, request: requests.PreparedRequest) -> None:
        """Before an execution, which never goes again: a service may lock a caller after wrong tokens, and a harmless
        request to the same operation shows that it does not. Raises KeptBackError where the lock is not outlasted.

        Where codes that nobody has were always put off, their answer shows nothing, and one execution is tried.
        """
        if self._executions.put_off:
            raise KeptBackError(LOCKED.format(self._executions.put_off))
        locks = self._executions.let_in and (self._executions.wrong_tokens or self.budget.is_shared)
        if self.harmless is None or not locks:
            return
        token = self._token()
        answer = self._deliver(self.harmless(), Intent("executePix"))[0].response
        request.headers["Authorization"] = str(request.headers["Authorization"]).replace(token, self._token())
        if answer is not None and refusal_kind(answer) in LATER:
            self.guard.notes.append(LOCKED.format(answer.status))
            raise KeptBackError(LOCKED.format(answer.status))

    def _deliver(self, request: requests.PreparedRequest, intent: Intent) -> Sent:
        self.budget.take_request()
        return self._deliver_now(request, intent)

    def _deliver_now(self, request: requests.PreparedRequest, intent: Intent, *, executes: bool = False) -> Sent:
        sent = self._attempt(request, intent)
        for attempt in range(ATTEMPTS):
            repeatable = self._repeatable(request, sent[0])
            wait = self.retry_policy.wait_before(sent[0], attempt, repeatable=repeatable, executes=executes)
            if wait is None:
                break
            time.sleep(wait)
            sent = self._again(request, intent) or sent
        self.retry_policy.notice(sent[0])
        if intent.credential == VALID and self.token_monitor.watch(request, sent[0], self._ask):
            sent = sent if self._code(request) else self._again(request, intent) or sent
        self._remember(request, intent, sent[0])
        self._liveness.notice(sent[0], self._still_answers)
        if self._suspect(sent[0]) and self._repeatable(request, sent[0]) and (again := self._again(request, intent)):
            self._suspect(again[0])
        self.token_monitor.conclude(sent[0])
        return sent

    def _again(self, request: requests.PreparedRequest, intent: Intent) -> Sent | None:
        """The same request once more; None where limits.requests is spent."""
        try:
            self.budget.take_request()
        except OverBudgetError:
            return None
        return self._attempt(request, intent)

    def _attempt(self, request: requests.PreparedRequest, intent: Intent) -> Sent:
        number, self._number = self._number, self._number + 1
        started = time.time()
        raw: requests.Response | None = None
        result: Response | Failure = Failure(FailureKind.LIMIT, "the run was stopped before the answer came")
        with self._guarded(request, number), self._watched(request, intent):
            try:
                raw, result = self._connections.attempt(request, self._code(request))
                result = self._keeper.keep(result)
            finally:
                excused = self.token_monitor.excused
                self.exchanges.append(recorded(number, intent, request, result, started, excused))
        self._executions.notice(self.exchanges[-1], valid=self._carries_the_token(request))
        return self.exchanges[-1], raw

    def _guarded(self, request: requests.PreparedRequest, number: int) -> AbstractContextManager[None]:
        if not (code := self._code(request)):
            return nullcontext()
        return self.guard.sending(code, number, self._executes(request), lambda: self.exchanges[-1])

    def _watched(self, request: requests.PreparedRequest, intent: Intent) -> AbstractContextManager[None]:
        account = unquote(self._permission.path(request).rpartition("/")[2])
        return self.keys.watching(intent.operation, account, body_of(request), lambda: self.exchanges[-1])

    def _cut(self, request: requests.PreparedRequest, intent: Intent, why: str) -> Sent:
        """Not sent for a limit: `unsent` has the operations by reason."""
        self.unsent.setdefault(why, set()).add(intent.operation)
        return self._unsent(request, intent, why)

    def _unsent(self, request: requests.PreparedRequest, intent: Intent, why: str) -> Sent:
        return recorded(0, intent, request, Failure(FailureKind.LIMIT, why), time.time()), None

    def _ask(self, request: requests.PreparedRequest, operation: str) -> Exchange | None:
        sent = self._again(request, Intent(operation))
        return sent[0] if sent else None

    def _remember(self, request: requests.PreparedRequest, intent: Intent, exchange: Exchange) -> None:
        """Keep the last request that was answered and can be sent again: one that only reads, or was refused."""
        answered = exchange.response is not None and (request.method == "GET" or is_refusal(exchange.response))
        if answered and self._repeatable(request, exchange):
            self._answered = request, intent

    def _still_answers(self) -> bool:
        """Whether what was answered before is answered now: a target that drops mistakes alone is not gone."""
        sent = self._again(*self._answered) if self._answered else None
        return sent is not None and sent[0].response is not None

    # -- again, or never --------------------------------------------------------------------------------------

    def _repeatable(self, request: requests.PreparedRequest, exchange: Exchange) -> bool:
        """Whether sending it again cannot move money a second time."""
        return not self._code(request) and not _may_move_money(exchange)

    def _suspect(self, exchange: Exchange) -> bool:
        certain = exchange.response is not None and _may_move_money(exchange)
        return bool(self._suspicions.of(exchange, once_is_enough=certain))

    # -- reading a request ------------------------------------------------------------------------------------

    def _code(self, request: requests.PreparedRequest) -> str | None:
        return self._permission.code_named(request, self.codes)

    def _executes(self, request: requests.PreparedRequest) -> bool:
        """Whether this is a real code with the valid token, under whatever scheme."""
        return self._carries_the_token(request) and self._code(request) is not None

    def _carries_the_token(self, request: requests.PreparedRequest) -> bool:
        sent = str(request.headers.get("Authorization", "")).strip()
        return self._token() in (sent, sent.partition(" ")[2].strip())


def _may_move_money(exchange: Exchange) -> bool:
    operation = operations().get(exchange.operation)
    return bool(exchange.valid and operation and operation.permission in MONEY)
