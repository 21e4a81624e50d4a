"""Limits of a run: its requests, their rate, its wrong tokens, and the transfers that it prepares and executes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager

from environments.door.bodies import key_sent
from environments.door.ending import Ending
from environments.door.outgoing import LimitError, NotSentError, Sending
from environments.door.prepared import may_have_prepared
from environments.door.wrong_tokens import NO_HEADER
from environments.profiles.model import Limits
from spec.exchange import VALID
from spec.interface import MARK, PREPARING
from spec.message import say

_SPENT = say("limits.{setting} ({limit}) is spent")
WANT_THE_TOKEN = ("executePix", "registerPixKey")
_CLEANING_UP = 20
"""One request of so many is kept for cleaning up."""


class Budget:
    """Counts requests, transfers, executions and wrong tokens, up to the limits of the profile. Its methods are called
    under the lock of the door. `prepares`: the
    operation whose answers have codes to execute, and where, as a JSON pointer; empty if the run prepares none."""

    def __init__(self, limits: Limits, prepares: tuple[str, str] = ("", ""), *, is_sandbox: bool = False) -> None:
        self.prepares, self._is_sandbox = prepares, is_sandbox
        self.limits, self.ending = limits, Ending(limits.duration)
        self._counts = Counter[str]()
        self._kept_to_ask_again = Counter[str]()  # wrong tokens for the code that was executed first
        self._plain_ones: dict[tuple[str, str], Sending] = {}  # without a token, by operation and code or key type
        self._prepared, self._being_prepared = Counter[tuple[str, bool]](), Counter[tuple[str, bool]]()
        self._sharing, self._awaiting_valid = frozenset[str](), set[str]()
        self._turn = 0.0

    def take_request(self, sending: Sending) -> None:
        """Count one request. Raises LimitError when none is left; the last ones are for cleaning up."""
        self.take("requests", reserve=0 if sending.cleans_up else self.limits.requests // _CLEANING_UP)

    def take_wrong_token(self, sending: Sending) -> None:
        """Count a request without the valid token to one of the two operations that document it. With a limit of 0 no
        wrong token goes to any operation. Raises NotSentError when none is left; no limit is reported, as the verdicts
        say which forms were tried."""
        if sending.intent.credential == VALID or not self._counts_as_wrong_token(sending):
            return
        operation = sending.intent.operation
        kept = 0 if sending.asks_again else self._kept_to_ask_again[operation]
        count = operation
        if self._is_sandbox and not _names_somebody(sending):
            count, kept = f"{operation} for nobody", 0  # nothing is worth anything there: as many again
        if self._counts[count] + kept >= self.limits.wrong_tokens:
            raise NotSentError(f"limits.wrong_tokens ({self.limits.wrong_tokens}) is spent")
        self._counts[count] += 1
        self._kept_to_ask_again[operation] -= sending.asks_again

    def wrong_tokens_left_for_nobody(self, operation: str) -> int:
        """Wrong tokens that there is room for in requests which name nobody."""
        used, kept = self._counts[operation], self._kept_to_ask_again[operation]
        if self._is_sandbox:
            used, kept = self._counts[f"{operation} for nobody"], 0
        return max(0, self.limits.wrong_tokens - used - kept)

    def _counts_as_wrong_token(self, sending: Sending) -> bool:
        """True for what has a real code, or registers at an account of the profile, but for one plain request without a
        token with each code and each key type. Of what names nobody, for a wrong token; an empty header holds none."""
        if sending.asks_again:
            return True
        has_one = bool(sending.request.headers.get("Authorization"))
        if sending.intent.operation not in WANT_THE_TOKEN:
            return has_one and not self.limits.wrong_tokens
        if not _names_somebody(sending):
            return has_one
        is_plain = sending.intent.credential == NO_HEADER and not sending.intent.written
        if not is_plain:
            return True
        about = sending.code or key_sent(sending.sent.body)[1]
        return self._plain_ones.setdefault((sending.intent.operation, about), sending) is not sending

    def wait_for_turn(self) -> None:
        """Wait until limits.rate permits the next request."""
        if not self.limits.rate:
            return
        now = self.ending.clock()
        turn = max(now, self._turn)
        self._turn = turn + 1 / self.limits.rate
        self.ending.sleep(turn - now)

    def keep_to_ask_again(self, operation: str, tokens: int) -> None:
        """Keep so many wrong tokens for the code that is executed first: they are sent with it afterwards."""
        self._kept_to_ask_again[operation] = tokens

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


def _names_somebody(sending: Sending) -> bool:
    """True for a request with a real code, and for a registration at an account of the profile."""
    registers = sending.intent.operation == "registerPixKey"
    return sending.code is not None or (registers and MARK not in sending.sent.last_segment)
