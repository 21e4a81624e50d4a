"""The one way out: every byte to the target leaves through this guarded transport adapter.

It decides by the final path what may be sent, keeps the budgets, sends an execution once and never again,
waits where the service asks for it, and records every exchange.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator, Set
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from urllib.parse import unquote, urlsplit

import requests
from requests.adapters import BaseAdapter

from environments.budget import Budget, OverBudgetError
from environments.journal import AlreadySentError, Journal
from environments.wire import CONNECT_TIMEOUT_S, Wire, WireSettings
from spec.exchange import Exchange, Failure, FailureKind, Request, Response
from spec.interface import MARK, operations, operations_reached
from spec.rules import Outcome, judge

STANDING = ("serverError", "stackTrace", "connection")
"""The rows of every operation that all of its exchanges answer for."""
_MONEY = frozenset({"create-pix", "transfer", "execute"})
_ATTEMPTS = 6
_LONGEST_WAIT_S = 60.0


class ForbiddenError(Exception):
    """The suite tried to send what the profile does not permit. A fault of the suite, never of the service."""


class UnreachableError(Exception):
    """The target cannot be spoken to any more. The text says why."""


@dataclass(frozen=True)
class Intent:
    """What a request is for: the operation ("" for a path that nobody documented), the credential, and whether
    the document promises a success."""

    operation: str
    credential: str = "valid"
    good: bool = False


class Door(BaseAdapter):
    """A `requests` transport adapter that guards one target. `exchange` sends, `exchanges` is what was said."""

    def __init__(
        self,
        base_url: str,
        *,
        allow: Set[str],
        wire: WireSettings,
        budget: Budget,
        journal: Journal,
        token: Callable[[], str],
        first_number: int = 1,
    ) -> None:
        super().__init__()
        self.exchanges: list[Exchange] = []
        self.codes: set[str] = set()
        self.executions = 0
        self.unknown_outcomes: list[int] = []
        self.reproduced: set[int] = set()
        self._suspects: dict[str, set[int]] = {}
        self.unreachable = ""
        self.waited_s = 0.0
        self._prefix = urlsplit(base_url).path.rstrip("/")
        self._origin = urlsplit(base_url)[:2]
        self._allow, self._settings, self._budget, self._journal = allow, wire, budget, journal
        self._token = token
        self._wire = Wire(wire)
        self._number = first_number
        self._silent: dict[str, int] = {}
        self._failed_in_a_row = 0
        self._rate_limit_s = 0.0

    def exchange(self, request: requests.PreparedRequest, intent: Intent) -> Exchange:
        """Send one request and give what came of it; a failure is part of the exchange.

        Raises ForbiddenError for what may not be sent and UnreachableError once the target is gone.
        """
        exchange, _ = self._pass(request, intent)
        return exchange

    def send(self, request: requests.PreparedRequest, *args: object, **kwargs: object) -> requests.Response:
        """The adapter's side for sessions that are not ours: the operation is read from the path."""
        reached = sorted(operations_reached(request.method or "", self._path(request)))
        exchange, raw = self._pass(request, Intent(reached[0] if reached else ""))
        if raw is None:
            raise requests.ConnectionError(exchange.failure and exchange.failure.message, request=request)
        return raw

    def connect(self) -> str:
        """Open a connection and close it. Why that fails; empty where it does not."""
        address = urlsplit(self._settings.proxy or f"{self._origin[0]}://{self._origin[1]}")
        port = address.port or (443 if address.scheme == "https" else 80)
        try:
            socket.create_connection((address.hostname or "", port), timeout=CONNECT_TIMEOUT_S).close()
        except OSError as error:
            return error.strerror or "no connection in time"
        return ""

    def close(self) -> None:
        """Close the connections that are kept."""
        self._wire.close()

    # -- one request ------------------------------------------------------------------------------------------

    def _pass(self, request: requests.PreparedRequest, intent: Intent) -> tuple[Exchange, requests.Response | None]:
        if self.unreachable:
            raise UnreachableError(self.unreachable)
        self._permit(request)
        if self._silent.get(intent.operation, 0) >= 2:
            return self._unsent(
                request, intent, f"{intent.operation} gave no answer twice and is not asked again"
            ), None
        try:
            if self._names_code(request):
                self._journal.refuse_if_sent_before(self._code(request))
            if self._executes(request):
                self._claim(request)
            return self._deliver(request, intent)
        except (OverBudgetError, AlreadySentError) as error:
            return self._unsent(request, intent, str(error)), None
        except OSError as error:
            return self._unsent(request, intent, f"not executed, the journal cannot be written: {error.strerror}"), None

    def _permit(self, request: requests.PreparedRequest) -> None:
        path = self._path(request)
        if urlsplit(request.url or "")[:2] != self._origin:
            raise ForbiddenError("a request to another origin than base_url")
        reached = operations_reached(request.method or "", path)
        missing = {operations()[op].permission for op in reached} - self._allow
        if missing:
            raise ForbiddenError(f"{request.method} needs {', '.join(sorted(missing))} in allow")
        if not reached and MARK not in unquote(path):
            raise ForbiddenError("a path that nobody documented, without the mark of the suite")
        if "executePix" in reached and not self._names_code(request) and MARK not in unquote(path):
            raise ForbiddenError("a transaction code that nobody supplied, without the mark of the suite")

    def _claim(self, request: requests.PreparedRequest) -> None:
        self._budget.take_execution()
        self._journal.claim(self._code(request))
        self.executions += 1
        if self._rate_limit_s:
            time.sleep(self._rate_limit_s)

    def _deliver(self, request: requests.PreparedRequest, intent: Intent) -> tuple[Exchange, requests.Response | None]:
        for attempt in range(_ATTEMPTS):
            exchange, raw = self._attempt(request, intent)
            wait = self._wait_before_repeating(exchange, request, attempt)
            if wait is None:
                break
            self.waited_s += wait
            time.sleep(wait)
        self._notice(exchange)
        if self._suspects_of(exchange) and self._repeatable(request, exchange):
            self._suspects_of(self._attempt(request, intent)[0])
        return exchange, raw

    def _attempt(self, request: requests.PreparedRequest, intent: Intent) -> tuple[Exchange, requests.Response | None]:
        self._budget.take_request()
        number, self._number = self._number, self._number + 1
        started = time.time()
        with self._outcome_unknown_until_answered(request, number), self._connection(request) as wire:
            raw, result = wire.attempt(request)
            exchange = Exchange(
                number,
                intent.operation,
                _sent(request),
                response=result if isinstance(result, Response) else None,
                failure=result if isinstance(result, Failure) else None,
                credential=intent.credential,
                good=intent.good,
                started=started,
                elapsed_s=time.time() - started,
            )
            self.exchanges.append(exchange)
        return exchange, raw

    @contextmanager
    def _connection(self, request: requests.PreparedRequest) -> Iterator[Wire]:
        """The kept connections; a new one for a real code, so that nothing below us sends it twice."""
        if not self._names_code(request):
            yield self._wire
            return
        wire = Wire(self._settings)
        try:
            yield wire
        finally:
            wire.close()

    @contextmanager
    def _outcome_unknown_until_answered(self, request: requests.PreparedRequest, number: int) -> Iterator[None]:
        if not self._names_code(request):
            yield
            return
        self.unknown_outcomes.append(number)
        yield
        exchange = self.exchanges[-1]
        failed, status = exchange.failure, exchange.response.status if exchange.response else 0
        if status in (502, 503, 504) or (failed and failed.kind is not FailureKind.NO_CONNECTION):
            if self._executes(request):
                self._journal.settle(self._code(request), "outcome unknown")
            return
        self.unknown_outcomes.remove(number)
        if self._executes(request):
            self._journal.settle(self._code(request), exchange.summary)

    def _unsent(self, request: requests.PreparedRequest, intent: Intent, why: str) -> Exchange:
        failure = Failure(FailureKind.LIMIT, why)
        return Exchange(0, intent.operation, _sent(request), failure=failure, credential=intent.credential)

    # -- again, or never --------------------------------------------------------------------------------------

    def _wait_before_repeating(
        self, exchange: Exchange, request: requests.PreparedRequest, attempt: int
    ) -> float | None:
        """Seconds until the same request may go again; None where it must not or need not."""
        if attempt == _ATTEMPTS - 1:
            return None
        if exchange.failure and exchange.failure.kind is FailureKind.NO_CONNECTION:
            return 0.3 if attempt < 2 else None
        if exchange.response is None:
            dropped = exchange.failure and exchange.failure.kind is FailureKind.DROPPED
            return 0.0 if dropped and attempt == 0 and self._repeatable(request, exchange) else None
        status = exchange.response.status
        if status != 429 and (status not in (502, 503, 504) or not self._repeatable(request, exchange)):
            return None
        asked = _retry_after(exchange.response)
        wait = asked if asked is not None else 0.1 * 2**attempt * (5 if status == 429 else 1)
        if status == 429:
            self._rate_limit_s = max(self._rate_limit_s, min(wait, _LONGEST_WAIT_S))
        return wait if wait <= _LONGEST_WAIT_S else None

    def _repeatable(self, request: requests.PreparedRequest, exchange: Exchange) -> bool:
        """Whether sending it again cannot move money a second time."""
        if self._names_code(request):
            return False
        return not self._may_move_money(exchange)

    def _may_move_money(self, exchange: Exchange) -> bool:
        operation = operations().get(exchange.operation)
        return bool(exchange.good and operation and operation.permission in _MONEY)

    def _suspects_of(self, exchange: Exchange) -> list[str]:
        """The standing rows that the exchange breaks. Broken twice, or where nothing may be sent again, it is certain."""
        rows = [f"{exchange.operation}.{what}" for what in STANDING] if exchange.operation else []
        broken = [row for row in rows if judge(row, exchange).outcome is Outcome.DEVIATES]
        once_is_enough = exchange.response is not None and self._may_move_money(exchange)
        for row in broken:
            seen = self._suspects.setdefault(row, set())
            seen.add(exchange.number)
            if len(seen) > 1 or once_is_enough:
                self.reproduced |= seen
        return broken

    def _notice(self, exchange: Exchange) -> None:
        """Keep count of silence, so that a dead target ends the run and a dead operation is left alone."""
        if exchange.response is not None:
            self._failed_in_a_row = self._silent[exchange.operation] = 0
            return
        kind, message = (exchange.failure.kind, exchange.failure.message) if exchange.failure else (None, "")
        self._failed_in_a_row += 1
        if kind is FailureKind.TIMEOUT:
            self._silent[exchange.operation] = self._silent.get(exchange.operation, 0) + 1
        if kind in (FailureKind.NO_CONNECTION, FailureKind.TLS) or self._failed_in_a_row >= 5:
            self.unreachable = message

    # -- reading a request ------------------------------------------------------------------------------------

    def _path(self, request: requests.PreparedRequest) -> str:
        path = urlsplit(request.url or "").path
        return path.removeprefix(self._prefix) if self._prefix else path

    def _code(self, request: requests.PreparedRequest) -> str:
        return unquote(self._path(request).rsplit("/", 1)[-1])

    def _names_code(self, request: requests.PreparedRequest) -> bool:
        return any(segment in self.codes for segment in unquote(self._path(request)).split("/"))

    def _executes(self, request: requests.PreparedRequest) -> bool:
        """Whether this is a real code with the valid token, under whatever scheme."""
        sent = str(request.headers.get("Authorization", "")).strip()
        return self._names_code(request) and self._token() in (sent, sent.partition(" ")[2].strip())


def _sent(request: requests.PreparedRequest) -> Request:
    body = request.body or b""
    headers = tuple((str(name), _as_text(value)) for name, value in request.headers.items())
    return Request(
        request.method or "",
        request.url or "",
        headers,
        body.encode() if isinstance(body, str) else bytes(body),
    )


def _as_text(value: object) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


def _retry_after(response: Response) -> float | None:
    """Seconds named by Retry-After, as a number or a date (RFC 9110 section 10.2.3); None without one."""
    value = response.header("Retry-After").strip()
    if value.isdecimal():
        return float(value[:9])
    try:
        return max(0.0, (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return None
