"""Limits of a run: its requests, their rate, its wrong tokens, and the transfers that it prepares and executes.

The door counts each request here before it is sent. The profile has the limits under the key `limits`.

| word | meaning |
|---|---|
| profile | the settings of a run |
| to prepare a transfer | to send a request such as POST /v1/transfer/p2p, whose answer has a transaction code |
| to execute a transfer | to send GET /v1/execute/pix/{transactionId} with that code, which moves the money |
| valid body | a body that should prepare a transfer; an invalid one should be refused, but may prepare one |
| wrong token | what is sent instead of the valid access token |
| synthetic | made up by the suite, such as the code `pixconf-1a2b3c4d`, so it belongs to nobody |
| first executed code | the code of the first transfer that the run executed; it is sent again with wrong tokens |
| to clean up | to delete the PIX keys that the run registered, and to read lists of keys for that |
| sandbox | a test system whose keys and money are worth nothing |

Self-tests: environments/door/test_run_end.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager

from environments.door.bodies import key_and_type_in
from environments.door.outgoing import LimitError, NotSentError, Sending
from environments.door.prepared import may_have_prepared
from environments.door.run_end import RunEnd
from environments.door.wrong_tokens import NO_HEADER
from environments.profiles.model import Limits
from spec.exchange import VALID
from spec.interface import PREPARING_OPERATIONS, SYNTHETIC_PREFIX
from spec.json_text import read_json
from spec.message import say

_LIMIT_IS_REACHED = say("limits.{setting} ({limit}) is spent")
OPERATIONS_WITH_DOCUMENTED_TOKEN = ("executePix", "registerPixKey")
"""The operations that document the access token (interface document, Authentication 1)."""
TIMES_FOR_SYNTHETIC = 2
"""Some requests name only accounts, keys and codes that the suite made up. For wrong tokens in them the limit is this
many times `limits.wrong_tokens`, because they spend no code and lock no account. With the default of
`limits.wrong_tokens` that is enough for all `FORMS_FOR_SYNTHETIC_IDENTIFIERS` (wrong_tokens.py): common words such as
`Bearer test`, and tokens that the suite signs itself."""
_REQUESTS_FOR_EACH_KEPT_ONE = 20
"""One request of 20 is kept for cleaning up: a run has few keys, and each costs a deletion and a list of keys."""
_Preparation = tuple[str, bool]
"""A kind of request that may prepare a transfer: its operation, and true if its body is valid. An example is
`("transferP2p", True)`. limits.transfers counts valid and invalid bodies apart."""


class Budget:
    """Counts requests, transfers, executions and wrong tokens, up to the limits of the profile.

    Only one thread at a time calls the methods.

    Synthetic identifiers are accounts, keys and codes that the suite made up. They belong to nobody.
    """

    def __init__(
        self, limits: Limits, *, preparing_operation: str = "", code_at: str = "", is_sandbox: bool = False
    ) -> None:
        """Begin to count from zero, and begin the time of the run (`limits.duration`)."""
        self.preparing_operation = preparing_operation
        """The operation by which the run prepares transfers to execute, such as "transferP2p"; empty if it prepares
        none. The profile names it, because the interface document does not show which answers have a code."""
        self.code_at = code_at
        """The JSON pointer to the transaction code in its answers, such as "/data/code"."""
        self.limits = limits
        self.run_end = RunEnd(limits.duration)
        """Knows when limits.duration is over, or whether the run was stopped."""
        self._is_sandbox = is_sandbox
        self._counts = Counter[str]()  # of "requests" and "executions", and of wrong tokens by operation
        self._with_synthetic_identifiers = Counter[str]()  # wrong tokens in requests with synthetic identifiers alone
        # After the first code is executed, it is sent again with wrong tokens. That is safe, because nothing is left to
        # execute. So many wrong tokens are reserved for these requests, by operation.
        self._reserved_for_executed_code = Counter[str]()
        # By operation and code or key type, the first request without a token, which does not count as a wrong token.
        self._first_without_token: dict[tuple[str, str], Sending] = {}
        self._prepared = Counter[_Preparation]()  # transfers that may have been prepared
        self._being_prepared = Counter[_Preparation]()  # requests that may prepare one and are not answered so far
        self._operations_with_equal_parts = frozenset[str]()  # operations among which limits.transfers is divided
        # Those of `_operations_with_equal_parts` to which a valid body will be sent, and was not sent so far.
        self._without_valid_body_so_far = set[str]()
        self._next_request_at = 0.0  # by the clock of the run, when limits.rate permits the next request

    def count_request(self, sending: Sending) -> None:
        """Count one request before it is sent. Raises LimitError if limits.requests is reached.

        The last twentieth of the limit is only for requests that clean up (delete the keys that the run registered).
        """
        reserve = 0 if sending.cleans_up else self.limits.requests // _REQUESTS_FOR_EACH_KEPT_ONE
        self.count_or_refuse("requests", reserve=reserve)

    def count_wrong_token(self, sending: Sending) -> None:
        """Count a request with a wrong token against `limits.wrong_tokens`, before it is sent.

        A wrong token is any text that is sent instead of the right access token. The limit exists because a service may
        refuse everything from a caller who sent some wrong tokens. Each of the two operations that document the token
        has this limit. Requests in which all identifiers (account, key, code) are made up by the suite have another
        one.

        A part of the limit is reserved for the first executed code, which is sent with wrong tokens later. Otherwise
        earlier requests would use up the limit, and the most telling test would be left out.

        Raises NotSentError if the limit is reached. It does not raise LimitError: after a LimitError the report says
        that not all requests were sent to the operation. For wrong tokens that is not needed, because each verdict on
        the token lists the wrong tokens that were tried.
        """
        if sending.intent.credential == VALID or not self._counts_as_wrong_token(sending):
            return
        operation = sending.intent.operation
        if not _has_real_code_or_account(sending):
            if self.wrong_tokens_left_for_synthetic(operation) <= 0:
                raise NotSentError(f"limits.wrong_tokens ({self.limits.wrong_tokens}) is spent")
            self._with_synthetic_identifiers[operation] += 1
            return
        reserved_for_others = self._reserved_for_executed_code[operation]
        if sending.resends_executed_code:  # the part is reserved for this request
            reserved_for_others = 0
        if self._counts[operation] + reserved_for_others >= self.limits.wrong_tokens:
            raise NotSentError(f"limits.wrong_tokens ({self.limits.wrong_tokens}) is spent")
        self._counts[operation] += 1
        if sending.resends_executed_code:
            self._reserved_for_executed_code[operation] -= 1

    def wrong_tokens_left_for_synthetic(self, operation: str) -> int:
        """Number of wrong tokens that may still be sent to the operation in requests whose identifiers are all made up.

        For such requests the limit is twice `limits.wrong_tokens`, because they spend no transaction code.
        """
        return TIMES_FOR_SYNTHETIC * self.limits.wrong_tokens - self._with_synthetic_identifiers[operation]

    def _counts_as_wrong_token(self, sending: Sending) -> bool:
        """True if a request without the valid token counts against limits.wrong_tokens.

        The first row that fits counts. A request without an Authorization header, or with an empty one, has no wrong
        token.

        | request | does it count? |
        |---|---|
        | with the code that was executed before | yes |
        | to an operation that does not document the token | if it has a wrong token, and the limit is 0 |
        | all accounts, keys and codes in it are made up by the suite | if it has a wrong token |
        | the first without any token, for a real code or a key type at a real account, written as documented | no |
        | any other with a real code or account | yes |
        """
        if sending.resends_executed_code:
            return True
        has_wrong_token = bool(sending.request.headers.get("Authorization"))
        if sending.intent.operation not in OPERATIONS_WITH_DOCUMENTED_TOKEN:
            # The limit is for the two operations that document the token. But with 0 no operation gets a wrong token
            # (docs/traffic.md, Wrong tokens).
            limit_forbids_wrong_tokens = self.limits.wrong_tokens == 0
            return has_wrong_token and limit_forbids_wrong_tokens
        if not _has_real_code_or_account(sending):
            return has_wrong_token
        # The first request without a token that is written as documented is free, because every run needs it.
        is_without_token_as_documented = sending.intent.credential == NO_HEADER and not sending.intent.spelling
        if not is_without_token_as_documented:
            return True
        _, key_type = key_and_type_in(sending.plain_request.body)  # of a registration
        code_or_key_type = sending.code or key_type
        # The request itself if there was no earlier one. Then another attempt to send it does not count, either.
        first_request = self._first_without_token.setdefault((sending.intent.operation, code_or_key_type), sending)
        return first_request is not sending

    def wait_for_rate_limit(self) -> None:
        """Wait until `limits.rate`, the number of requests a second, permits the next request.

        The requests are spread evenly: with a rate of 4, one is sent each quarter of a second. Without a rate nothing
        waits.
        """
        if not self.limits.rate:
            return
        now = self.run_end.clock()
        this_request_at = max(now, self._next_request_at)
        self._next_request_at = this_request_at + 1 / self.limits.rate
        self.run_end.sleep(this_request_at - now)

    def reserve_for_executed_code(self, operation: str, tokens: int) -> None:
        """Reserve so many wrong tokens of the limit for the first executed code of this operation.

        After its execution the code is sent again with wrong tokens. That is safe, because nothing is left to execute.
        """
        self._reserved_for_executed_code[operation] = tokens

    def release_execution(self) -> None:
        """Count one execution less, because a request that was counted before it was sent has executed nothing."""
        self._counts["executions"] -= 1

    def divide_transfers(self, operations: Collection[str], valid: Collection[str]) -> None:
        """From now on, divide `limits.transfers` among these operations, so that none of them uses it up.

        To the operations in `valid` a valid body is sent as well: one transfer is kept for each of them.
        """
        self._operations_with_equal_parts = frozenset(operations)
        self._without_valid_body_so_far = set(valid)

    def refuse_transfer(self, sending: Sending) -> None:
        """Raises LimitError for a request that may prepare a transfer, if `limits.transfers` is reached.

        Other requests pass.
        """
        may_prepare = sending.intent.operation in PREPARING_OPERATIONS
        if may_prepare and not self._has_room_for_transfer(sending, self._prepared):
            raise LimitError(_LIMIT_IS_REACHED.with_values(setting="transfers", limit=self.limits.transfers))

    def _has_room_for_transfer(self, sending: Sending, counted: Counter[_Preparation]) -> bool:
        """True if `limits.transfers` has room for one more request that may prepare a transfer.

        `counted` are the transfers that count so far, by operation and whether their body was valid.

        | request | there is room if |
        |---|---|
        | on a sandbox (a test system), with a body that is certainly no transfer | always |
        | with a valid body, the first one to its operation | a transfer is left |
        | with a valid body, a later one | a transfer is left beside the kept ones |
        | with an invalid body | a transfer is left, and the equal part of its operation is not used up |

        One transfer is kept (reserved) for each operation that has not had its first valid body so far. The equal part
        of an operation is the limit without the transfers by valid bodies, divided by the number of operations
        (`divide_transfers`). Example: the limit is 10, and 1 transfer was prepared by a valid body. Then each of 3
        operations may prepare (10 - 1) // 3 = 3 transfers by invalid bodies.
        """
        # Only on a sandbox. A real service may read such a body in another way than the suite, and prepare a transfer.
        is_harmless = self._is_sandbox and not sending.intent.valid and _cannot_prepare_transfer(sending)
        if is_harmless:
            return True
        operation = sending.intent.operation
        limit = self.limits.transfers
        transfers_left = limit - counted.total()
        if sending.intent.valid:
            is_first_valid_body = operation in self._without_valid_body_so_far
            kept_for_others = 0 if is_first_valid_body else len(self._without_valid_body_so_far)
            return transfers_left > kept_for_others
        by_valid_bodies = 0
        for (_, body_is_valid), number_of_transfers in counted.items():
            if body_is_valid:
                by_valid_bodies += number_of_transfers
        equal_part = (limit - by_valid_bodies) // max(1, len(self._operations_with_equal_parts))
        # An operation has no part if `divide_transfers` was not called, or did not name it.
        has_equal_part = operation in self._operations_with_equal_parts
        by_invalid_bodies = counted[operation, False]
        equal_part_is_used_up = has_equal_part and by_invalid_bodies >= equal_part
        return transfers_left > 0 and not equal_part_is_used_up

    @contextmanager
    def counting_transfer(self, sending: Sending) -> Iterator[None]:
        """Count a transfer against `limits.transfers` while a request that may prepare it is sent in the `with` block.

        If the answer shows that nothing was prepared, the transfer does not count any more. If other requests that are
        not answered so far may use up the limit, this request waits for their answers. Raises LimitError if the limit
        is reached then. Requests to operations that prepare no transfers just pass.
        """
        operation = sending.intent.operation
        if operation not in PREPARING_OPERATIONS:
            yield
            return
        preparation = operation, sending.intent.valid
        # While others may use up the limit, it is not known whether there is room for this request.
        self.run_end.wait_for(lambda: not self._depends_on_requests_on_wire(sending))
        self.refuse_transfer(sending)
        if sending.intent.valid:
            self._without_valid_body_so_far.discard(operation)
        self._being_prepared[preparation] += 1
        may_be_prepared = True  # also if there is no exchange, because the thread was interrupted
        try:
            yield
            may_be_prepared = may_have_prepared(sending.exchange, self.code_at)
        finally:
            self._being_prepared[preparation] -= 1
            if may_be_prepared:
                self._prepared[preparation] += 1

    def _depends_on_requests_on_wire(self, sending: Sending) -> bool:
        """True if `limits.transfers` has room for the request only if other requests turn out to prepare nothing.

        The others are sent and not answered so far.
        """
        is_permitted_now = self._has_room_for_transfer(sending, self._prepared + self._being_prepared)
        is_permitted_if_they_fail = self._has_room_for_transfer(sending, self._prepared)
        return not is_permitted_now and is_permitted_if_they_fail

    def count_or_refuse(self, setting: str, *, reserve: int = 0) -> None:
        """Count one request or execution. `setting` is the name of its limit: "requests" or "executions".

        Raises LimitError, and counts nothing, if only so many as `reserve` are left.
        """
        limit: int = getattr(self.limits, setting)
        if self._counts[setting] >= limit - reserve:
            raise LimitError(_LIMIT_IS_REACHED.with_values(setting=setting, limit=limit))
        self._counts[setting] += 1

    @property
    def executions_left(self) -> int:
        """Number of transfers that the run may still execute until limits.executions is reached."""
        return max(0, self.limits.executions - self._counts["executions"])


def _has_real_code_or_account(sending: Sending) -> bool:
    """True if the request has a real transaction code, or registers a key at an account that the suite did not make up.

    An account that the suite made up has `pixconf-` (SYNTHETIC_PREFIX) in it. Wrong tokens in such requests may have an
    effect: a code may be spent, and an account may be locked.
    """
    if sending.code is not None:
        return True
    account_is_made_up = SYNTHETIC_PREFIX in sending.plain_request.last_segment
    return sending.intent.operation == "registerPixKey" and not account_is_made_up


def _cannot_prepare_transfer(sending: Sending) -> bool:
    """True if the body is certainly no transfer, so that no service prepares one.

    The body is no transfer in three cases:

    - It is not JSON, or no JSON object.
    - It is an object without members.
    - One of its members has a type that no member of a transfer has: null, a boolean, an object or an array.
    """
    body = read_json(sending.plain_request.body).value
    if not isinstance(body, dict) or not body:
        return True
    return any(isinstance(value, bool | dict | list | None) for value in body.values())
