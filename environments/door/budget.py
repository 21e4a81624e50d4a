"""What a run may send and at what rate, and which transfers it prepares and executes."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from environments.door.authorization import VALID
from environments.door.ending import Ending
from environments.door.outgoing import LimitError, NotSentError, Sending
from environments.door.prepared_transfers import may_have_prepared
from environments.door.wrong_tokens import NO_HEADER
from environments.profiles.profile import Limits, Profile
from spec.interface import PREPARING

_LOOK_S = 0.005
"""How often a request looks for the place of a transfer, where others on the wire may give theirs back."""

_LEAST_WITH_A_PAIR = 4
"""Executions: one first, one that is offered with wrong tokens before, and the two."""
_WANT_THE_TOKEN = ("executePix", "registerPixKey")
_CLEANING_UP = 20
"""One request of so many is kept for cleaning up."""


class Budget:
    """Counts requests, transfers and executions."""

    def __init__(
        self,
        *,
        requests: int,
        executions: int,
        transfers: int = Limits.transfers,
        rate: float | None,
        wrong_tokens: int = Limits.wrong_tokens,
    ) -> None:
        self._requests, self._executions, self._transfers, self._rate = requests, executions, transfers, rate
        self._wrong_tokens = wrong_tokens
        self._counts: dict[str, int] = {}
        self._prepared = self._being_prepared = 0
        self._turn, self.ending = 0.0, Ending()
        self._guard = threading.Lock()

    def take_request(self, sending: Sending) -> None:
        """Count one request. Raises LimitError when none is left; the last ones are for cleaning up."""
        reserve = 0 if sending.cleans_up else self._requests // _CLEANING_UP
        self._take("requests", self._requests, reserve=reserve)

    def take_wrong_token(self, sending: Sending) -> None:
        """Count a wrong token for one of the two operations that document the token. Raises NotSentError when none is
        left; no limit is reported, as the verdicts say which forms were tried."""
        operation, credential = sending.intent.operation, sending.intent.credential
        if operation not in _WANT_THE_TOKEN or credential in (VALID, NO_HEADER):
            return
        try:
            self._take("wrong_tokens", self._wrong_tokens, of=operation)
        except LimitError as error:
            raise NotSentError(str(error)) from None

    def wait_for_turn(self, sending: Sending) -> None:
        """Wait until limits.rate permits the next request."""
        if not self._rate:
            return
        with self._guard:
            turn = max(time.monotonic(), self._turn)
            self._turn = turn + 1 / self._rate
        self.ending.sleep(turn - time.monotonic())

    def reserve_execution(self) -> None:
        """Take the room of one execution. Raises LimitError when none is left."""
        self._take("executions", self._executions)

    def release_execution(self) -> None:
        """Give the room of one execution back: nothing was executed."""
        with self._guard:
            self._counts["executions"] -= 1

    def refuse_transfer(self, sending: Sending) -> None:
        """Raises LimitError for a request that may prepare a transfer, where no place is left for one."""
        if sending.intent.operation in PREPARING and self._prepared >= self._transfers:
            raise LimitError(f"limits.transfers ({self._transfers}) is reached")

    @contextmanager
    def transfer(self, sending: Sending) -> Iterator[None]:
        """Keep the place of a transfer while a request is sent that may prepare one; a refusal gives it back. Where
        only requests on the wire have places, waits for what becomes of them. Raises LimitError where none is left."""
        if sending.intent.operation not in PREPARING:
            yield
            return
        while not self._reserve_transfer():
            self.refuse_transfer(sending)
            self.ending.sleep(_LOOK_S)
            self.ending.refuse_after_stop()
        is_prepared = True
        try:
            yield
            is_prepared = may_have_prepared(sending.exchange)
        finally:
            with self._guard:
                self._being_prepared -= 1
                self._prepared += is_prepared

    def _reserve_transfer(self) -> bool:
        with self._guard:
            has_room = self._prepared + self._being_prepared < self._transfers
            self._being_prepared += has_room
            return has_room

    def _take(self, what: str, limit: int, of: str = "", reserve: int = 0) -> None:
        with self._guard:
            taken = self._counts.get(what + of, 0)
            if taken >= limit - reserve:
                raise LimitError(f"limits.{what} ({limit}) is spent")
            self._counts[what + of] = taken + 1

    @property
    def requests_sent(self) -> int:
        """How many requests were counted."""
        return self._counts.get("requests", 0)

    @property
    def executions_left(self) -> int:
        """How many executions there is room for."""
        return max(0, self._executions - self._counts.get("executions", 0))


@dataclass(frozen=True)
class Spending:
    """`codes` are sent, `sent_before` the journal keeps from being sent again, `prepared` transfers are prepared and
    executed, the last `together` of them at the same time. `left_out` says what limits.executions has no room for, if
    anything."""

    codes: tuple[str, ...] = ()
    sent_before: tuple[str, ...] = ()
    prepared: int = 0
    together: int = 0
    left_out: str = ""


def spending(profile: Profile, sent_before: Collection[str] = (), *, pair: bool = False) -> Spending:
    """How limits.executions is shared out: on a sandbox first to two that are executed at the same time, where a `pair`
    is wanted; then to the supplied codes that no earlier run sent, then to transfers that the run prepares."""
    prepare = profile.transactions.prepare
    possible = profile.is_sandbox and prepare and profile.limits.parallel > 1
    together = 2 if pair and possible and profile.limits.executions >= _LEAST_WITH_A_PAIR else 0
    limit = profile.limits.executions - together
    supplied = tuple(dict.fromkeys(profile.transactions.codes))
    usable = tuple(code for code in supplied if code not in sent_before)
    wanted, codes = prepare.count if prepare else 0, usable[:limit]
    prepared = min(wanted, limit - len(codes))
    limit += together
    cut = [
        f"{total - taken} of {total} {what}"
        for total, taken, what in (
            (len(usable), len(codes), "transaction codes"),
            (wanted, prepared, "transfers to prepare"),
        )
        if taken < total
    ]
    left_out = f"limits.executions ({limit}) leaves out {' and '.join(cut)}" if cut else ""
    before = tuple(code for code in supplied if code in sent_before)
    return Spending(codes, before, prepared + together, together, left_out)
