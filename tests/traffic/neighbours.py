"""Requests that are sent right before a valid one, on the connection that the valid one is going to use.

The answer of a service at fault may depend on what its connection carried before, or on what the service did last. So
a valid request is sent right after each of these, several times: a request without a token, a request that is refused
for its content, and a read. They change nothing.

On a sandbox `RequestsOnSandbox` also sends requests that change something: a key is registered right after an
execution, and a transfer is executed right after a registration and a deletion.

The index of a code is its position among all codes that the run executes, counted from 0.

Self-tests: traffic/test_at_times.py, reports/sentences/test_plan.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial
from itertools import cycle

from environments.door.permission import synthetic
from environments.door.wrong_tokens import NO_HEADER
from environments.profiles.model import PixKey
from spec.answers import registered
from spec.exchange import VALID, Exchange, Purpose
from spec.interface import operations
from tests.traffic.invalid import unreadable_request
from tests.traffic.keys.purposes import Registering, key_sent, registrations_of_free_keys, type_sent
from tests.traffic.keys.registrar import Registrar, keys_with_a_value
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

    The registrations are for the first account. If the profile has two accounts, a read of the second is sent right
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

    The second list has the refused requests again, because the next request may reach another server, and only one of
    several servers may have the fault. Both lists together have `_TIMES` requests without a token, and `_TIMES`
    requests that are refused for their content. The execution is one of these.
    """
    without_a_token = partial(_send_unreadable, traffic, NO_HEADER, RightBefore.REFUSED_CALLER)
    unreadable = partial(_send_unreadable, traffic, VALID, RightBefore.REFUSED_REQUEST)
    unknown_code = partial(traffic.client.send, _EXECUTE, synthetic(), purpose=RightBefore.REFUSED_REQUEST)

    refused_for_content: list[Send] = [unreadable]
    if traffic.may_send_to(_EXECUTE):
        refused_for_content.append(unknown_code)
    one_of_each = [*refused_for_content]
    again: list[Send] = [unreadable] * (_TIMES - len(refused_for_content))
    if traffic.selection.includes_any(f"{_REGISTER}.token.required"):
        one_of_each.append(without_a_token)
        again += [without_a_token] * (_TIMES - 1)
    return [*one_of_each, *_reads_of_last_account(traffic)], again


def requests_before_executions(traffic: Traffic, unknown_code: str) -> Iterator[Send]:
    """Functions that each send one request right before an execution: refused requests and reads, without an end.

    The answer of a service at fault may depend on the request before. `unknown_code` does not exist. It is sent without
    a token, and then with the valid one. The second answer says that the code is unknown, except if the service keeps
    its first refusal for this code.
    """
    reads = cycle(_reads_of_last_account(traffic))
    while True:
        yield from _unknown_code_without_a_token(traffic, unknown_code)
        yield _unknown_code_with_the_token(traffic, unknown_code)
        read = next(reads, None)  # None if the profile permits no read
        if read:
            yield read


def _unknown_code_without_a_token(traffic: Traffic, unknown_code: str) -> list[Send]:
    """A function that sends a code that does not exist, without a token. The service must refuse it.

    The list is empty if no selected requirement is about a missing token.
    """
    if not traffic.selection.includes_any(f"{_EXECUTE}.token.required"):
        return []
    purpose = RightBefore.REFUSED_CALLER
    return [partial(traffic.client.send, _EXECUTE, unknown_code, credential=NO_HEADER, purpose=purpose)]


def _unknown_code_with_the_token(traffic: Traffic, unknown_code: str) -> Send:
    """A function that sends a code that does not exist, with the valid token. The service must refuse it."""
    return partial(traffic.client.send, _EXECUTE, unknown_code, purpose=RightBefore.UNKNOWN_CODE)


def _send_unreadable(traffic: Traffic, credential: str, purpose: Purpose) -> Exchange:
    """Send a registration that is refused and can do nothing, because its body cannot be read: it is no whole JSON."""
    return unreadable_request(_REGISTER, credential).send(traffic.client.with_purpose(purpose))


# -- before executions on a sandbox --------------------------------------------------------------------------------

_CODES_WITH_ANOTHER_USE = 3
"""The first three codes of a run: one is executed before any wrong token, one right after wrong tokens, and one at the
same moment as a read (`execution.py`)."""
_CODES_WITHOUT_WRONG_TOKENS = 3
"""Codes in a row that are sent without wrong tokens. The table in `RequestsOnSandbox` says what each of them is for."""


def first_index_without_wrong_tokens(first_prepared: int, number_of_codes: int) -> int | None:
    """Index of the first of three codes in a row that are not sent with wrong tokens. None if there are too few codes.

    On a sandbox each of the three codes is executed right after a certain request: the first code after its own
    preparation, the second after a registration, the third after another execution. Wrong tokens would come in between.
    A fourth code, the last one of all, is executed right after a deletion.

    `first_prepared` is the index of the first code that the run prepares: only such a code can be executed right after
    its preparation.
    """
    first_index = max(_CODES_WITH_ANOTHER_USE, first_prepared)
    # `<`, because the last code of all must come after these three.
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
        self._three_in_a_row = range(first_index, first_index + _CODES_WITHOUT_WRONG_TOKENS)  # indexes of codes
        self._last_index = number_of_codes - 1  # of all codes before the pair
        self.indexes_without_wrong_tokens = (*self._three_in_a_row, self._last_index)
        self._traffic = traffic
        # One group of requests is sent before each other execution; when all groups were sent, again from the start.
        self._groups = cycle(_groups_of_requests(traffic, unknown_code))
        self._registration: Exchange | None = None  # of the key that is to be deleted before the last execution

    def send_before_execution(self, index: int) -> None:
        """Send the requests that come right before the execution of the code with this index: none, one or two.

        A service at fault may let the request before change its answer, so each sort of request comes before one
        execution. Of the three codes in a row without wrong tokens:

        - Nothing is sent before the first code, because its transfer was just prepared.
        - A registration is sent before the second code.
        - Nothing is sent before the third code, because the second code was just executed.

        Before the last code of all, the registered key is deleted. Before any other code the next group is sent.
        """
        first, second, third = self._three_in_a_row
        if index == second:
            self._registration = register_right_after_transfer(self._traffic)
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


def register_right_after_transfer(traffic: Traffic) -> Exchange | None:
    """Register a key right after an execution or a preparation of a transfer, and return the exchange.

    The answer of a service at fault may depend on the request before, so the caller has just sent that request. Nothing
    is sent, and None is returned, outside a sandbox, or if the run may not register and delete a key.
    """
    profile = traffic.profile
    if not profile.is_sandbox or not profile.accounts or not traffic.may_send_to(_REGISTER):
        return None
    registrar = Registrar(traffic.client, profile)
    if not registrar.may_delete_synthetic_keys:
        return None
    key = _key_of_type_with_fewest_answers(registrar)
    return registrar.register(key, Registering.RIGHT_AFTER_A_TRANSFER)


def _key_of_type_with_fewest_answers(registrar: Registrar) -> PixKey:
    """A key that the service registered before and that is deleted, of the type with the fewest registrations so far.

    The more often each type is registered, the more surely a run finds one server of several that refuses a type. It is
    a synthetic key if there is no other one.
    """
    registrations = registrations_of_free_keys(registrar.log)
    count_by_type = Counter(map(type_sent, registrations))
    accepted_keys = {(type_sent(exchange), key_sent(exchange)) for exchange in filter(registered, registrations)}
    free_keys: list[PixKey] = []
    for key in keys_with_a_value(registrar.profile.pix_keys):
        if (key.type, key.key) in accepted_keys and registrar.keys.seems_free(key.key):
            free_keys.append(key)
    if not free_keys:
        return registrar.synthetic_key()
    return min(free_keys, key=lambda key: count_by_type[key.type])


def _groups_of_requests(traffic: Traffic, unknown_code: str) -> list[list[Send]]:
    """Five groups of requests, as functions that each send one. One group is sent right before each execution.

    A service at fault may answer an execution in another way after such a request. The groups take turns: after the
    fifth group the first one is sent again. A group may be empty, and then nothing is sent before that execution:

    - the first one, if no selected requirement is about a missing token
    - a group with a read, if the profile permits fewer reads
    """
    without_a_token = _unknown_code_without_a_token(traffic, unknown_code)
    refused_requests: list[Send] = [_unknown_code_with_the_token(traffic, unknown_code)]
    if traffic.may_send_to(_REGISTER):
        refused_requests.append(partial(_send_unreadable, traffic, VALID, RightBefore.REFUSED_REQUEST))
    reads = _reads_of_last_account(traffic)
    first_read = reads[:1]  # usually the balance
    second_read = reads[1:2]  # usually the list of keys
    third_read = reads[2:3]  # usually the entries
    return [without_a_token, first_read, refused_requests, second_read, third_read]
