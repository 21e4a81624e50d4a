"""What a run may send and at what rate, and which transfers it prepares and executes."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from environments.door.ending import Ending
from environments.door.outgoing import LimitError, NotSentError, Sending
from environments.door.prepared_transfers import may_have_prepared
from environments.door.wrong_tokens import NO_HEADER
from environments.profiles.model import Limits
from spec.exchange import VALID
from spec.interface import PREPARING

_WANT_THE_TOKEN = ("executePix", "registerPixKey")
_CLEANING_UP = 20
"""One request of so many is kept for cleaning up."""


class Budget:
    """Counts requests, transfers, executions and wrong tokens, up to the limits of the profile. Its methods are called
    under the lock of the door."""

    def __init__(self, limits: Limits) -> None:
        self._limits, self._counts = limits, Counter[str]()
        self._prepared = self._being_prepared = 0
        self._turn, self.ending = 0.0, Ending()

    def take_request(self, sending: Sending) -> None:
        """Count one request. Raises LimitError when none is left; the last ones are for cleaning up."""
        reserve = 0 if sending.cleans_up else self._limits.requests // _CLEANING_UP
        self._take("requests", self._limits.requests, reserve=reserve)

    def take_wrong_token(self, sending: Sending) -> None:
        """Count a wrong token for one of the two operations that document the token. Raises NotSentError when none is
        left; no limit is reported, as the verdicts say which forms were tried."""
        operation, credential = sending.intent.operation, sending.intent.credential
        if operation in _WANT_THE_TOKEN and credential not in (VALID, NO_HEADER):
            self._take("wrong_tokens", self._limits.wrong_tokens, of=operation, error=NotSentError)

    def wait_for_turn(self, sending: Sending) -> None:
        """Wait until limits.rate permits the next request."""
        if not self._limits.rate:
            return
        turn = max(time.monotonic(), self._turn)
        self._turn = turn + 1 / self._limits.rate
        self.ending.sleep(turn - time.monotonic())

    def reserve_execution(self) -> None:
        """Take the room of one execution. Raises LimitError when none is left."""
        self._take("executions", self._limits.executions)

    def release_execution(self) -> None:
        """Give the room of one execution back: nothing was executed."""
        self._counts["executions"] -= 1

    def refuse_transfer(self, sending: Sending) -> None:
        """Raises LimitError for a request that may prepare a transfer, where no place is left for one."""
        if sending.intent.operation in PREPARING and self._prepared >= self._limits.transfers:
            raise LimitError(f"limits.transfers ({self._limits.transfers}) is reached")

    @contextmanager
    def transfer(self, sending: Sending) -> Iterator[None]:
        """Keep the place of a transfer while a request is sent that may prepare one; a refusal gives it back. Where
        only requests on the wire have places, waits for what becomes of them. Raises LimitError where none is left."""
        if sending.intent.operation not in PREPARING:
            yield
            return
        limit = self._limits.transfers
        self.ending.wait_for(lambda: self._prepared >= limit or self._prepared + self._being_prepared < limit)
        self.refuse_transfer(sending)
        self._being_prepared += 1
        is_prepared = True
        try:
            yield
            is_prepared = may_have_prepared(sending.exchange)
        finally:
            self._being_prepared -= 1
            self._prepared += is_prepared

    def _take(
        self, what: str, limit: int, *, of: str = "", reserve: int = 0, error: type[NotSentError] = LimitError
    ) -> None:
        if self._counts[what + of] >= limit - reserve:
            raise error(f"limits.{what} ({limit}) is spent")
        self._counts[what + of] += 1

    @property
    def requests_sent(self) -> int:
        """Requests counted so far."""
        return self._counts["requests"]

    @property
    def executions_left(self) -> int:
        """Executions that there is room for."""
        return max(0, self._limits.executions - self._counts["executions"])
