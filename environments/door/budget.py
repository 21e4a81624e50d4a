"""Limits of a run: its requests, their rate, its duration, and the transfers that it prepares and executes.

A run ends while requests are on their way: its time is over, or it is stopped. Whatever waits, waits in `Ending`.
"""

from __future__ import annotations

import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager

from filelock import FileLock, Timeout

from environments.door.outgoing import LimitError, NotSentError, Sending
from environments.profiles.model import Limits
from spec.answers import (
    NO_ANSWER_OF_THE_SERVICE,
    RefusalKind,
    execution_results,
    is_refusal,
    refusal_of_the_caller,
    refused_or_lost,
)
from spec.exchange import VALID, Exchange, Failure, FailureKind, Response
from spec.interface import PREPARING
from spec.json_text import leaves_of, pointer
from spec.message import Text, say

STOPPED = "the run was stopped"
CUT = "{}, and no answer came in time"
_SPENT = say("limits.{setting} ({limit}) is spent")
_LAST_ANSWERS_S = 1.0
"""Time for the answers to what is on the wire when the run ends: an execution that is cut has an unknown outcome."""
_RESERVE, _MOST_RESERVED_S = 0.1, 60.0
"""Share of limits.duration that is kept for cleaning up, and the most seconds of it."""
_UNKNOWN = (None, RefusalKind.REDIRECT, RefusalKind.GATEWAY, RefusalKind.SERVER_ERROR)
"""Answers that do not refuse, and those after which a transfer may be there all the same."""
WANT_THE_TOKEN = ("executePix", "registerPixKey")
_CLEANING_UP = 20
"""One request of so many is kept for cleaning up."""


class Ending:
    """Tells whether the run still sends. When limits.duration is over but for a reserve, it cleans up and begins no
    more. When it is stopped, it sends nothing more, who waits wakes up, and what is on the wire has a last second to be
    answered. `lock` is the one that guards the bookkeeping of all policies: who waits gives it away.
    """

    def __init__(self, duration_s: float = math.inf, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.lock, self.is_stopped = threading.Condition(), False
        self._duration_s, self.clock, self._until = duration_s, clock, clock() + duration_s
        self._reserve_s = min(_RESERVE * duration_s, _MOST_RESERVED_S)
        self._cuts_at = math.inf

    @property
    def limit(self) -> Text:
        """The reason why the run has ended before its tests; empty while it sends."""
        if self.is_stopped:
            return STOPPED
        if self._rest_s > self._reserve_s:
            return ""
        return say("limits.{setting} ({limit} s) is over", setting="duration", limit=f"{self._duration_s:g}")

    def stop(self) -> None:
        """Send nothing any more, and wake who waits. Any thread may call it, but no signal handler."""
        self._cuts_at = min(self._cuts_at, self.clock() + _LAST_ANSWERS_S)
        self.is_stopped = True
        self.wake()

    def refuse(self, sending: Sending) -> None:
        """Raises NotSentError where the run begins nothing of that kind any more."""
        cleans_up = sending.cleans_up and self._rest_s > 0 and not self.is_stopped
        if self.limit and not cleans_up:
            raise LimitError(self.limit)

    def explain(self, result: Response | Failure) -> Response | Failure:
        """The same; a request that was cut failed for the end of the run."""
        late = isinstance(result, Failure) and result.kind is FailureKind.TIMEOUT
        return Failure(FailureKind.LIMIT, CUT.format(self.limit)) if late and self.limit else result

    # -- what waits -------------------------------------------------------------------------------------------

    def wake(self) -> None:
        """Have everybody who waits look again."""
        with self.lock:
            self.lock.notify_all()

    def wait_for(self, is_so: Callable[[], bool]) -> None:
        """Wait until something is so. Raises LimitError where the run is stopped meanwhile."""
        with self.lock:
            self.lock.wait_for(lambda: self.is_stopped or is_so())
        if self.is_stopped:
            raise LimitError(STOPPED)

    def sleep(self, seconds: float) -> None:
        """Wait so long, or until the run ends."""
        with self.lock:
            self.lock.wait_for(lambda: self.is_stopped, max(0.0, min(seconds, self._left_s)))

    @contextmanager
    def holding(self, lock: FileLock) -> Iterator[None]:
        """Wait for a lock that processes share, and keep it. Raises LimitError where the run ends meanwhile."""
        try:
            lock.acquire(cancel_check=lambda: bool(self.limit))
        except Timeout:
            raise LimitError(self.limit) from None
        try:
            yield
        finally:
            lock.release()

    @property
    def longest_answer_s(self) -> float:
        """Seconds that an answer may take which is asked for now."""
        return self._left_s + _LAST_ANSWERS_S

    @property
    def cuts(self) -> bool:
        """True where no answer is waited for any more."""
        return self.clock() >= self._cuts_at

    @property
    def _rest_s(self) -> float:
        """Seconds of limits.duration, those for cleaning up included."""
        return self._until - self.clock()

    @property
    def _left_s(self) -> float:
        """Seconds until nothing but cleaning up is sent, then those until its end."""
        rest = self._rest_s
        return rest - self._reserve_s if rest > self._reserve_s else max(0.0, rest)


class Budget:
    """Counts requests, transfers, executions and wrong tokens, up to the limits of the profile. Its methods are called
    under the lock of the door. `kept_to_ask_again`: wrong tokens for the code that was executed first. `prepares`: the
    operation whose answers have codes to execute, and where, as a JSON pointer; empty if the run prepares none."""

    def __init__(self, limits: Limits, prepares: tuple[str, str] = ("", "")) -> None:
        self.prepares = prepares
        self.limits, self.ending = limits, Ending(limits.duration)
        self._counts, self.kept_to_ask_again = Counter[str](), Counter[str]()
        self._prepared, self._being_prepared = Counter[tuple[str, bool]](), Counter[tuple[str, bool]]()
        self._sharing, self._awaiting_valid = frozenset[str](), set[str]()
        self._turn = 0.0

    def take_request(self, sending: Sending) -> None:
        """Count one request. Raises LimitError when none is left; the last ones are for cleaning up."""
        self.take("requests", reserve=0 if sending.cleans_up else self.limits.requests // _CLEANING_UP)

    def take_wrong_token(self, sending: Sending) -> None:
        """Count a wrong token for one of the two operations that document the token; an empty header holds none. With a
        limit of 0 none goes to any operation. Raises NotSentError when none is left; no limit is reported, as the
        verdicts say which forms were tried."""
        operation = sending.intent.operation
        has_one = sending.intent.credential != VALID and sending.request.headers.get("Authorization")
        if sending.asks_again or (has_one and (operation in WANT_THE_TOKEN or not self.limits.wrong_tokens)):
            kept = 0 if sending.asks_again else self.kept_to_ask_again[operation]
            if self._counts[operation] + kept >= self.limits.wrong_tokens:
                raise NotSentError(f"limits.wrong_tokens ({self.limits.wrong_tokens}) is spent")
            self._counts[operation] += 1
            self.kept_to_ask_again[operation] -= sending.asks_again

    def wait_for_turn(self) -> None:
        """Wait until limits.rate permits the next request."""
        if not self.limits.rate:
            return
        now = self.ending.clock()
        turn = max(now, self._turn)
        self._turn = turn + 1 / self.limits.rate
        self.ending.sleep(turn - now)

    def release_execution(self) -> None:
        """Give the room of one execution back: nothing was executed."""
        self._counts["executions"] -= 1

    def share_transfers(self, operations: Collection[str], valid: Collection[str]) -> None:
        """Share limits.transfers among these operations, of which these get valid bodies, too."""
        self._sharing, self._awaiting_valid = frozenset(operations), set(valid)

    def refuse_transfer(self, sending: Sending) -> None:
        """Raises LimitError for a request that may prepare a transfer, where no place is left for one."""
        if sending.intent.operation in PREPARING and not self._has_place(sending, self._prepared):
            raise LimitError(_SPENT.of(setting="transfers", limit=self.limits.transfers))

    def _has_place(self, sending: Sending, places: Counter[tuple[str, bool]]) -> bool:
        """True if these places, taken by operation and by whether the body was valid, leave one. A second valid body to
        an operation leaves a place for the first one to each other. Invalid bodies share equally what the valid ones
        leave."""
        operation, limit = sending.intent.operation, self.limits.transfers
        left = limit - places.total()
        if sending.intent.valid:
            kept = 0 if operation in self._awaiting_valid else len(self._awaiting_valid)
            return left > kept
        taken_by_valid = sum(count for (_, valid), count in places.items() if valid)
        share = (limit - taken_by_valid) // max(1, len(self._sharing))
        return left > 0 and (operation not in self._sharing or places[operation, False] < share)

    @contextmanager
    def transfer(self, sending: Sending) -> Iterator[None]:
        """Keep the place of a transfer while a request is sent that may prepare one; a refusal gives it back. Where
        only requests on the wire have places, waits for what becomes of them. Raises LimitError where none is left."""
        operation = sending.intent.operation
        if operation not in PREPARING:
            yield
            return
        place = operation, sending.intent.valid
        self.ending.wait_for(
            lambda: (
                not self._has_place(sending, self._prepared)
                or self._has_place(sending, self._prepared + self._being_prepared)
            )
        )
        self.refuse_transfer(sending)
        if sending.intent.valid:
            self._awaiting_valid.discard(operation)
        self._being_prepared[place] += 1
        is_prepared = True
        try:
            yield
            is_prepared = may_have_prepared(sending.exchange, self.prepares[1])
        finally:
            self._being_prepared[place] -= 1
            self._prepared[place] += is_prepared

    def take(self, what: str, *, reserve: int = 0) -> None:
        """Count one request or execution. Raises LimitError when no more than the reserve is left."""
        limit: int = getattr(self.limits, what)
        if self._counts[what] >= limit - reserve:
            raise LimitError(_SPENT.of(setting=what, limit=limit))
        self._counts[what] += 1

    @property
    def executions_left(self) -> int:
        """Executions that there is room for."""
        return max(0, self.limits.executions - self._counts["executions"])


def may_have_prepared(exchange: Exchange, code_at: str = "") -> bool:
    """True if a transfer may wait for its execution now: it was granted, the outcome is unknown, or the refusal
    contradicts itself."""
    how = refused_or_lost(exchange)
    if is_refused_with_a_transfer(exchange, code_at):
        return True
    if exchange.response is not None:
        is_let_in = exchange.credential == VALID or not refusal_of_the_caller(exchange.response)
        return is_let_in and (how in _UNKNOWN or exchange.response.status in NO_ANSWER_OF_THE_SERVICE)
    return exchange.number > 0 and how is not FailureKind.NO_CONNECTION


def is_refused_with_a_transfer(exchange: Exchange, code_at: str) -> bool:
    """True if a refusal carries what a refusal has no reason to carry: a result of the transfer, or a code."""
    response = exchange.response
    if response is None or not is_refusal(response):
        return False
    return bool(execution_results(response)) or bool(code_at and code_in(response, code_at))


def code_in(response: Response, code_at: str) -> str:
    """The text or number at this JSON pointer in an answer; empty if there is none."""
    there = [leaf for path, leaf in leaves_of(response.json.value) if pointer(*path) == code_at]
    return next((str(leaf) for leaf in there if not isinstance(leaf, dict | list | bool | None)), "")
