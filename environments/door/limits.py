"""Limits of a run: its requests, their rate, its wrong tokens, and the transfers that it prepares and executes.

The door counts each request here before it leaves. The numbers are those of `limits` in the profile.

Self-tests: environments/door/test_ending.py.
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
from spec.interface import PREPARING_OPERATIONS, SYNTHETIC_PREFIX
from spec.json_text import read_json
from spec.message import say

_SPENT = say("limits.{setting} ({limit}) is spent")
DOCUMENT_THE_TOKEN = ("executePix", "registerPixKey")
"""The operations that document the access token (interface document, Authentication 1)."""
TIMES_FOR_SYNTHETIC = 2
"""Wrong tokens in requests with synthetic identifiers alone have a limit of their own, this many times
`limits.wrong_tokens`, because they spend no code and lock no account. With the default limit, all words and signed
tokens are tried."""
_CLEANING_UP = 20
"""One request of 20 is kept for cleaning up: a run has few keys, and each costs a deletion and a list."""
_Preparation = tuple[str, bool]
"""What may prepare a transfer: the operation, and true for a valid body. limits.transfers counts by it."""


class Budget:
    """Counts requests, transfers, executions and wrong tokens, up to the limits of the profile.

    `prepares` is the operation whose answers have codes to execute, and the JSON pointer to the code; both are empty if
    the run prepares none. The methods are called under the lock of the door.

    Synthetic identifiers are accounts, keys and codes that the suite made up. They belong to nobody.
    """

    def __init__(self, limits: Limits, prepares: tuple[str, str] = ("", ""), *, is_sandbox: bool = False) -> None:
        self.prepares, self._is_sandbox = prepares, is_sandbox
        self.limits, self.ending = limits, Ending(limits.duration)
        self._counts = Counter[str]()  # of "requests" and "executions", and of wrong tokens by operation
        self._with_synthetic_identifiers = Counter[str]()  # wrong tokens in requests with synthetic identifiers alone
        # By operation, wrong tokens that are kept for the code that is executed first: they are sent with it later.
        self._kept_to_ask_again = Counter[str]()
        # By operation and code or key type, the first request without a token, which does not count as a wrong token.
        self._first_without_token: dict[tuple[str, str], Sending] = {}
        self._prepared = Counter[_Preparation]()  # transfers that may have been prepared
        self._being_prepared = Counter[_Preparation]()  # requests on the wire that may prepare one
        self._sharing = frozenset[str]()  # operations that share limits.transfers
        self._awaiting_valid = set[str]()  # operations among them that got no valid body so far
        self._next_turn_at = 0.0  # by the clock of the run, when limits.rate permits the next request

    def count_request(self, sending: Sending) -> None:
        """Count one request. Raises LimitError if limits.requests is reached; its last ones are for cleaning up."""
        reserve = 0 if sending.cleans_up else self.limits.requests // _CLEANING_UP
        self.take("requests", reserve=reserve)

    def count_wrong_token(self, sending: Sending) -> None:
        """Count a request without the valid token to one of the two operations that document the token.

        With a limit of 0, no wrong token goes to any operation. Raises NotSentError if the limit is reached. It is no
        LimitError, which the report would list, because the verdicts say which wrong tokens were tried.
        """
        if sending.intent.credential == VALID or not self._counts_as_wrong_token(sending):
            return
        operation = sending.intent.operation
        if not _names_somebody(sending):
            if not self.wrong_tokens_left_for_synthetic(operation):
                raise NotSentError(f"limits.wrong_tokens ({self.limits.wrong_tokens}) is spent")
            self._with_synthetic_identifiers[operation] += 1
            return
        kept = 0 if sending.resends_executed_code else self._kept_to_ask_again[operation]
        if self._counts[operation] + kept >= self.limits.wrong_tokens:
            raise NotSentError(f"limits.wrong_tokens ({self.limits.wrong_tokens}) is spent")
        self._counts[operation] += 1
        if sending.resends_executed_code:
            self._kept_to_ask_again[operation] -= 1

    def wrong_tokens_left_for_synthetic(self, operation: str) -> int:
        """Number of wrong tokens that may still be sent to the operation in requests that have only synthetic
        identifiers."""
        return TIMES_FOR_SYNTHETIC * self.limits.wrong_tokens - self._with_synthetic_identifiers[operation]

    def _counts_as_wrong_token(self, sending: Sending) -> bool:
        """True if the request counts against limits.wrong_tokens.

        - A request with a real code, or for an account of the profile, counts. Only the first request without a token
          for each code and each key type does not, if it is written as documented.
        - A request that has only synthetic identifiers counts if it has a wrong token. An empty header is
          no wrong token.
        - Other operations than the two that document the token count only if the limit is 0.
        """
        if sending.resends_executed_code:
            return True
        has_wrong_token = bool(sending.request.headers.get("Authorization"))
        if sending.intent.operation not in DOCUMENT_THE_TOKEN:
            return has_wrong_token and not self.limits.wrong_tokens
        if not _names_somebody(sending):
            return has_wrong_token
        is_without_token_as_documented = sending.intent.credential == NO_HEADER and not sending.intent.spelling
        if not is_without_token_as_documented:
            return True
        code_or_key_type = sending.code or key_and_type_in(sending.plain_request.body)[1]
        first_request = self._first_without_token.setdefault((sending.intent.operation, code_or_key_type), sending)
        return first_request is not sending  # an attempt to send the first one again does not count, either

    def wait_for_rate_limit(self) -> None:
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
        """Take back one counted execution, because nothing was executed."""
        self._counts["executions"] -= 1

    def share_transfers(self, operations: Collection[str], valid: Collection[str]) -> None:
        """Divide limits.transfers among these operations from now on; those in `valid` also get valid bodies."""
        self._sharing, self._awaiting_valid = frozenset(operations), set(valid)

    def refuse_transfer(self, sending: Sending) -> None:
        """Raises LimitError for a request that may prepare a transfer, if limits.transfers is reached."""
        if sending.intent.operation in PREPARING_OPERATIONS and not self._permits_transfer(sending, self._prepared):
            raise LimitError(_SPENT.of(setting="transfers", limit=self.limits.transfers))

    def _permits_transfer(self, sending: Sending, counted: Counter[_Preparation]) -> bool:
        """True if limits.transfers permits the request, which may prepare a transfer, after these transfers.

        - On a sandbox a body that is no transfer is always permitted, so each class of such bodies is sent there.
        - A valid body may always be the next transfer. Only a second one to an operation must leave one transfer for
          the first valid body to each other operation.
        - Invalid bodies share equally the transfers that the valid ones leave, so that no operation uses up all.
        """
        if self._is_sandbox and not sending.intent.valid and _is_no_transfer(sending):
            return True
        operation = sending.intent.operation
        limit = self.limits.transfers
        transfers_left = limit - counted.total()
        if sending.intent.valid:
            is_first_valid_body = operation in self._awaiting_valid
            kept_for_others = 0 if is_first_valid_body else len(self._awaiting_valid)
            return transfers_left > kept_for_others
        by_valid_bodies = sum(number for (_, is_valid), number in counted.items() if is_valid)
        share = (limit - by_valid_bodies) // max(1, len(self._sharing))
        has_share_left = operation not in self._sharing or counted[operation, False] < share
        return transfers_left > 0 and has_share_left

    @contextmanager
    def transfer(self, sending: Sending) -> Iterator[None]:
        """Count a transfer while a request is on the wire that may prepare one. If it is refused, it counts no more.

        If requests on the wire may be the last transfers that the limit permits, it waits for their answers. Raises
        LimitError if limits.transfers is reached then.
        """
        operation = sending.intent.operation
        if operation not in PREPARING_OPERATIONS:
            yield
            return
        preparation = operation, sending.intent.valid
        self.ending.wait_for(lambda: not self._depends_on_requests_on_wire(sending))
        self.refuse_transfer(sending)
        if sending.intent.valid:
            self._awaiting_valid.discard(operation)
        self._being_prepared[preparation] += 1
        may_be_prepared = True  # also if there is no exchange, because the thread was interrupted
        try:
            yield
            may_be_prepared = may_have_prepared(sending.exchange, self.prepares[1])
        finally:
            self._being_prepared[preparation] -= 1
            if may_be_prepared:
                self._prepared[preparation] += 1

    def _depends_on_requests_on_wire(self, sending: Sending) -> bool:
        """True if limits.transfers permits the request only if requests on the wire prepare nothing."""
        is_permitted_now = self._permits_transfer(sending, self._prepared + self._being_prepared)
        is_permitted_if_they_fail = self._permits_transfer(sending, self._prepared)
        return not is_permitted_now and is_permitted_if_they_fail

    def take(self, setting: str, *, reserve: int = 0) -> None:
        """Count one request or execution: `setting` is the name of its limit. Raises LimitError if only `reserve` is
        left."""
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
    return sending.code is not None or (registers and SYNTHETIC_PREFIX not in sending.plain_request.last_segment)


def _is_no_transfer(sending: Sending) -> bool:
    """True for a body that is no JSON object with members, or has a member of a type that no member of a transfer has:
    null, a boolean, an object or an array."""
    body = read_json(sending.plain_request.body).value
    if not isinstance(body, dict) or not body:
        return True
    return any(value is None or isinstance(value, bool | dict | list) for value in body.values())
