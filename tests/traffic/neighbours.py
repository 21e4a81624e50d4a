"""Requests that are sent right before a valid one, on the connection that the valid one is going to use.

The answer of a service at fault may depend on what its connection carried before, or on what the service did last. So
a valid request is sent right after each of these, several times: a request without a token, a request that is refused
for what it says, and a read. They change nothing.

On a sandbox `RequestsOnSandbox` sends others before the executions, which change something: a key is registered right
after an execution, and a transfer is executed right after a registration and a deletion.

The index of a code is its position among all codes that the run executes, counted from 0.

Self-tests: traffic/test_at_times.py, reports/sentences/test_plan.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import cycle

from environments.door.permission import synthetic
from environments.door.wrong_tokens import NO_HEADER
from spec.exchange import VALID, Exchange, Purpose
from spec.interface import operations
from tests.traffic.invalid import unreadable_request
from tests.traffic.keys.purposes import Registering
from tests.traffic.keys.registrar import Registrar
from tests.traffic.scenario import Traffic
from tests.traffic.together import Send

_EXECUTE, _REGISTER = "executePix", "registerPixKey"


class RightBefore(Purpose):
    """Why a request is sent right before a valid one."""

    REFUSED_CALLER = "a request without a token, right before a valid one"
    REFUSED_REQUEST = "a request that is refused for what it says, right before a valid one"
    UNKNOWN_CODE = "the same code that does not exist, right before a valid one"
    READ = "a read, right before a valid request to another operation"


_READ_BEFORE = ("getBalance", "listPixKeys", "listEntries", "listAccounts")
"""The reads that are sent right before a valid request, in this order."""
_TIMES = 3
"""How often a registration follows each sort of refusal: a service of several nodes may be at fault in one of them."""


def _reads_of_last_account(traffic: Traffic) -> list[Send]:
    """Functions that each send one read that the profile permits, such as the balance, of the last account.

    The registrations are for the first account. If the profile has two accounts, a read of the other one is sent right
    before a registration, because a service at fault may mix up the two accounts.
    """
    accounts = traffic.profile.accounts
    reads: list[Send] = []
    for operation in filter(traffic.may_send_to, _READ_BEFORE):
        names_an_account = operations()[operation].path_parameter is not None
        if names_an_account and not accounts:
            continue
        account = accounts[-1] if names_an_account else None
        purpose = RightBefore.READ
        reads.append(partial(traffic.client.send, operation, account, valid=True, purpose=purpose))
    return reads


def requests_before_registrations(traffic: Traffic) -> tuple[list[Send], list[Send]]:
    """Functions that each send one request right before a registration, in two lists.

    The answer of a service at fault may depend on the request before. The first list has one request of each sort:

    - a registration with the valid token that is refused, because its body cannot be read
    - an execution of a code that does not exist, if executions may be sent
    - a registration without a token, if a selected requirement is about a missing token
    - each read that the profile permits

    The second list has refused requests of these sorts several times more, because only one of several servers may be
    at fault after them.
    """
    without_a_token = partial(_send_unreadable, traffic, NO_HEADER, RightBefore.REFUSED_CALLER)
    unreadable = partial(_send_unreadable, traffic, VALID, RightBefore.REFUSED_REQUEST)
    unknown_code = partial(traffic.client.send, _EXECUTE, synthetic(), purpose=RightBefore.REFUSED_REQUEST)

    first_ones: list[Send] = [unreadable]
    others: list[Send] = [unreadable] * (_TIMES - 1)
    if traffic.may_send_to(_EXECUTE):
        first_ones.append(unknown_code)
        others.pop()  # the execution is refused for what it says, too, so one unreadable registration less is enough
    if traffic.selection.includes_any(f"{_REGISTER}.token.required"):
        first_ones.append(without_a_token)
        others += [without_a_token] * (_TIMES - 1)
    return [*first_ones, *_reads_of_last_account(traffic)], others


def requests_before_executions(traffic: Traffic, unknown_code: str) -> Iterator[Send]:
    """Functions that each send one request right before an execution: refused requests and reads, without an end.

    The answer of a service at fault may depend on the request before. `unknown_code` does not exist. It is sent without
    a token, and then with the valid one. The second answer says that the code is unknown, except if the service keeps
    its first refusal for this code.
    """
    reads = cycle(_reads_of_last_account(traffic))
    while True:
        yield from _refusals_of_code(traffic, unknown_code)
        read = next(reads, None)  # None if the profile permits no read
        if read:
            yield read


def _refusals_of_code(traffic: Traffic, unknown_code: str) -> list[Send]:
    """Functions that send a code that does not exist, which is refused: first without a token, then with the valid one.

    The first one is left out if no selected requirement is about a missing token.
    """
    send = partial(traffic.client.send, _EXECUTE, unknown_code)
    refusals: list[Send] = []
    if traffic.selection.includes_any(f"{_EXECUTE}.token.required"):
        refusals.append(partial(send, credential=NO_HEADER, purpose=RightBefore.REFUSED_CALLER))
    refusals.append(partial(send, purpose=RightBefore.UNKNOWN_CODE))
    return refusals


def _send_unreadable(traffic: Traffic, credential: str, purpose: Purpose) -> Exchange:
    """Send a registration that is refused and can do nothing, because its body cannot be read: it is no whole JSON."""
    return unreadable_request(_REGISTER, credential).send(traffic.client.with_purpose(purpose))


# -- before executions on a sandbox --------------------------------------------------------------------------------

_FIRST_CODES = 3
"""Codes that are sent before the first one without wrong tokens: the first code of all, one with wrong tokens, and one
that is executed at the same moment as a read."""
_CODES_WITHOUT_WRONG_TOKENS = 3
"""The table in `RequestsOnSandbox` says what each of them is for."""


def first_index_without_wrong_tokens(first_prepared: int, number_of_codes: int) -> int | None:
    """Index of the first of three codes in a row that are not sent with wrong tokens. None if there are too few codes.

    Any other code is sent with wrong tokens right before its execution. But on a sandbox each of these three has to be
    executed right after a certain other request (the table in `RequestsOnSandbox` has them), so nothing may come in
    between. The first of them must be a code that the run prepares, because its preparation is that other request.
    `first_prepared` is the index of the first code that the run prepares.
    """
    first_index = max(_FIRST_CODES, first_prepared)  # the codes before have other purposes
    # At least one code must follow: the last one, which is executed right after a deletion.
    are_enough = first_index + _CODES_WITHOUT_WRONG_TOKENS < number_of_codes
    return first_index if are_enough else None


class RequestsOnSandbox:
    """Sends the requests right before the executions of a sandbox, which may change something.

    The request depends on the index of the code that is executed after it:

    | code | what is sent right before its execution |
    |---|---|
    | the first code without wrong tokens | the preparation of its transfer, if the run prepares it then |
    | the second one | a registration, which is sent right after an execution |
    | the third one | an execution |
    | the last code of all | the deletion of the key that was registered |
    | any other, in turn | a request without a token; a balance; a refused registration; the keys; the entries |

    The first three get no wrong tokens, because these would come in between. The last code gets none, because no code
    follows it that could show whether they spent it (so that the service does not execute it any more).
    """

    def __init__(self, traffic: Traffic, unknown_code: str, first_index: int, number_of_codes: int) -> None:
        """`unknown_code` does not exist. `first_index` is the index of the first code without wrong tokens."""
        self._indexes = range(first_index, first_index + _CODES_WITHOUT_WRONG_TOKENS)
        self._last_index = number_of_codes - 1
        self.indexes_without_wrong_tokens = (*self._indexes, self._last_index)
        self._traffic = traffic
        self._groups = cycle(_groups_of_requests(traffic, unknown_code))
        self._registration: Exchange | None = None

    def send_before_execution(self, index: int) -> None:
        """Send the requests that come right before the execution of the code with this index: none, one or two.

        The table of the class has all cases. Nothing is sent before the first and the third code without wrong tokens:
        the transfer of the first one was just prepared, and the third one is executed right after the second one. If no
        key was registered, there is none to delete before the last code, so it is like any other.
        """
        first, second, third = self._indexes
        if index == second:
            self._registration = register_right_after_money_moved(self._traffic)
        elif index == self._last_index and self._registration:
            self.delete_registered_key()
        elif index not in (first, third):
            for send in next(self._groups):
                send()

    def delete_registered_key(self) -> None:
        """Delete the key that was registered before an execution, if it is not deleted yet."""
        if self._registration:
            Registrar(self._traffic.client, self._traffic.profile).delete_key_of(self._registration)
        self._registration = None


def register_right_after_money_moved(traffic: Traffic) -> Exchange | None:
    """Register a synthetic key right after a request that moves money, on a sandbox. Returns the exchange.

    The answer of a service at fault may depend on the request before. None, and nothing is sent, outside a sandbox, or
    if the run may not register and delete a key.
    """
    profile = traffic.profile
    if not profile.is_sandbox or not profile.accounts or not traffic.may_send_to(_REGISTER):
        return None
    registrar = Registrar(traffic.client, profile)
    if registrar.synthetic_key_for_deletions() is None:
        return None
    return registrar.register(registrar.synthetic_key(), Registering.RIGHT_AFTER_MONEY_MOVED)


def _groups_of_requests(traffic: Traffic, unknown_code: str) -> list[list[Send]]:
    """Groups of functions that each send one request. One group is sent right before one execution, in turn.

    A group is empty if the profile does not permit its requests; then nothing is sent before that execution.
    """
    *without_a_token, with_the_token = _refusals_of_code(traffic, unknown_code)  # the last one has the valid token
    refused_requests: list[Send] = [with_the_token]
    if traffic.may_send_to(_REGISTER):
        refused_requests.append(partial(_send_unreadable, traffic, VALID, RightBefore.REFUSED_REQUEST))
    reads = _reads_of_last_account(traffic)
    # If all reads are permitted, each of these groups has one read, else none.
    balance = reads[:1]
    keys = reads[1:2]
    entries = reads[2:3]
    return [without_a_token, balance, refused_requests, keys, entries]
