"""Limits of a run: its requests, their rate, its wrong tokens, and the transfers that it prepares and executes.

The door counts each request here before it leaves. The numbers are those of `limits` in the profile.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager

from environments.door.bodies import key_and_type_in
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
"""The operations that document the access token (interface document, Authentication 1)."""
_CLEANING_UP = 20
"""One request of 20 is kept for cleaning up: a run has few keys, and each costs a deletion and a list."""
_Place = tuple[str, bool]
"""The place of a transfer: the operation that prepares it, and true for a valid body."""


class Budget:
    """Counts requests, transfers, executions and wrong tokens, up to the limits of the profile.

    `prepares` is the operation whose answers have codes to execute, and the JSON pointer to the code; both are empty if
    the run prepares none. The methods are called under the lock of the door.
    """

    def __init__(self, limits: Limits, prepares: tuple[str, str] = ("", ""), *, is_sandbox: bool = False) -> None:
        self.prepares, self._is_sandbox = prepares, is_sandbox
        self.limits, self.ending = limits, Ending(limits.duration)
        self._counts = Counter[str]()  # of "requests" and "executions", and of wrong tokens by operation
        self._kept_to_ask_again = Counter[str]()  # wrong tokens for the code that was executed first, by operation
        self._plain_ones: dict[tuple[str, str], Sending] = {}  # without a token, by operation and code or key type
        self._prepared = Counter[_Place]()  # transfers that may have been prepared
        self._being_prepared = Counter[_Place]()  # requests on the wire that may prepare one
        self._sharing = frozenset[str]()  # operations that share limits.transfers
        self._awaiting_valid = set[str]()  # operations among them that got no valid body so far
        self._next_turn_at = 0.0  # by the clock of the run, when limits.rate permits the next request

    def take_request(self, sending: Sending) -> None:
        """Count one request. Raises LimitError if none is left; the last ones are for cleaning up."""
        self.take("requests", reserve=0 if sending.cleans_up else self.limits.requests // _CLEANING_UP)

    def take_wrong_token(self, sending: Sending) -> None:
        """Count a request without the valid token to one of the two operations that document the token.

        With a limit of 0, no wrong token goes to any operation. Raises NotSentError if none is left. That is not
        reported as a limit, because the verdicts say which forms were tried.
        """
        if sending.intent.credential == VALID or not self._counts_as_wrong_token(sending):
            return
        operation = sending.intent.operation
        kept = 0 if sending.offers_executed_code else self._kept_to_ask_again[operation]
        count = operation
        if self._is_sandbox and not _names_somebody(sending):
            count = f"{operation} for nobody"  # on a sandbox nothing is worth anything, so there is as much room again
            kept = 0
        if self._counts[count] + kept >= self.limits.wrong_tokens:
            raise NotSentError(f"limits.wrong_tokens ({self.limits.wrong_tokens}) is spent")
        self._counts[count] += 1
        if sending.offers_executed_code:
            self._kept_to_ask_again[operation] -= 1

    def wrong_tokens_left_for_nobody(self, operation: str) -> int:
        """Number of wrong tokens that there is room for in requests which name nobody."""
        used = self._counts[operation] + self._kept_to_ask_again[operation]
        if self._is_sandbox:
            used = self._counts[f"{operation} for nobody"]
        return max(0, self.limits.wrong_tokens - used)

    def _counts_as_wrong_token(self, sending: Sending) -> bool:
        """True if the request counts against limits.wrong_tokens.

        A request with a real code, or for an account of the profile, counts, except the first plain request without a
        token for each code and each key type. A request that names nobody counts if it has a wrong token; an empty
        header has none.
        """
        if sending.offers_executed_code:
            return True
        has_wrong_token = bool(sending.request.headers.get("Authorization"))
        if sending.intent.operation not in WANT_THE_TOKEN:
            return has_wrong_token and not self.limits.wrong_tokens
        if not _names_somebody(sending):
            return has_wrong_token
        is_plain = sending.intent.credential == NO_HEADER and not sending.intent.written
        if not is_plain:
            return True
        code_or_key_type = sending.code or key_and_type_in(sending.sent.body)[1]
        first_one = self._plain_ones.setdefault((sending.intent.operation, code_or_key_type), sending)
        return first_one is not sending

    def wait_for_turn(self) -> None:
        """Wait until limits.rate permits the next request."""
        if not self.limits.rate:
            return
        now = self.ending.clock()
        turn_at = max(now, self._next_turn_at)
        self._next_turn_at = turn_at + 1 / self.limits.rate
        self.ending.sleep(turn_at - now)

    def keep_to_ask_again(self, operation: str, tokens: int) -> None:
        """Keep this number of wrong tokens for the code that is executed first: they are sent with it afterwards."""
        self._kept_to_ask_again[operation] = tokens

    def release_execution(self) -> None:
        """Count one execution less, because nothing was executed."""
        self._counts["executions"] -= 1

    def share_transfers(self, operations: Collection[str], valid: Collection[str]) -> None:
        """Share limits.transfers among these operations; those in `valid` also get valid bodies."""
        self._sharing, self._awaiting_valid = frozenset(operations), set(valid)

    def refuse_transfer(self, sending: Sending) -> None:
        """Raises LimitError for a request that may prepare a transfer, if no place is left for one."""
        if sending.intent.operation in PREPARING and not self._has_place(sending, self._prepared):
            raise LimitError(_SPENT.of(setting="transfers", limit=self.limits.transfers))

    def _has_place(self, sending: Sending, taken: Counter[_Place]) -> bool:
        """True if the request may prepare a transfer when these places are taken.

        - A valid body may take any place, but a second one to an operation leaves a place for the first valid body to
          each of the others.
        - Invalid bodies share equally the places that the valid ones leave.
        """
        operation, limit = sending.intent.operation, self.limits.transfers
        places_left = limit - taken.total()
        if sending.intent.valid:
            kept_for_others = 0 if operation in self._awaiting_valid else len(self._awaiting_valid)
            return places_left > kept_for_others
        taken_by_valid = sum(count for (_, valid), count in taken.items() if valid)
        share = (limit - taken_by_valid) // max(1, len(self._sharing))
        has_share_left = operation not in self._sharing or taken[operation, False] < share
        return places_left > 0 and has_share_left

    @contextmanager
    def transfer(self, sending: Sending) -> Iterator[None]:
        """Keep the place of a transfer while a request is on the wire that may prepare one. A refusal gives it back.

        If only requests on the wire take the last places, it waits for their answers. Raises LimitError if no place is
        left.
        """
        operation = sending.intent.operation
        if operation not in PREPARING:
            yield
            return
        place = operation, sending.intent.valid
        self.ending.wait_for(lambda: not self._waits_for_place(sending))
        self.refuse_transfer(sending)
        if sending.intent.valid:
            self._awaiting_valid.discard(operation)
        self._being_prepared[place] += 1
        may_be_prepared = True  # also if there is no exchange, because the thread was interrupted
        try:
            yield
            may_be_prepared = may_have_prepared(sending.exchange, self.prepares[1])
        finally:
            self._being_prepared[place] -= 1
            if may_be_prepared:
                self._prepared[place] += 1

    def _waits_for_place(self, sending: Sending) -> bool:
        """True if there is no place now, and there will be one if the requests on the wire prepare nothing."""
        has_place_now = self._has_place(sending, self._prepared + self._being_prepared)
        return not has_place_now and self._has_place(sending, self._prepared)

    def take(self, setting: str, *, reserve: int = 0) -> None:
        """Count one request or execution. Raises LimitError if no more than the reserve is left."""
        limit: int = getattr(self.limits, setting)
        if self._counts[setting] >= limit - reserve:
            raise LimitError(_SPENT.of(setting=setting, limit=limit))
        self._counts[setting] += 1

    @property
    def executions_left(self) -> int:
        """Number of executions that limits.executions still permits."""
        return max(0, self.limits.executions - self._counts["executions"])


def _names_somebody(sending: Sending) -> bool:
    """True for a request with a real code, and for a registration at an account of the profile."""
    registers = sending.intent.operation == "registerPixKey"
    return sending.code is not None or (registers and MARK not in sending.sent.last_segment)
