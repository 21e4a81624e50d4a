"""Requests that go right before a valid one, on the connection that the valid one is going to use.

The answer of a service at fault may depend on what its connection carried before, or on what the service did last. A
neighbour is such a request right before a valid one. There are three sorts: a request without a token, a request that
is refused for what it says, and a read of another account. A valid request follows each sort several times.

Neighbours change nothing. On a sandbox the requests of `Events` take their place, which do: a key is registered right
after an execution, and a transfer is executed right after a registration and a deletion.

The place of a code is its index among all codes that the run executes. At a quiet place no wrong token goes between the
neighbour and the execution.

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


class Neighbour(Purpose):
    """Why a request is sent right before a valid one."""

    REFUSED_CALLER = "a request without a token, right before a valid one"
    REFUSED_REQUEST = "a request that is refused for what it says, right before a valid one"
    UNKNOWN_CODE = "the same code that does not exist, right before a valid one"
    OF_SOMEBODY_ELSE = "a read, right before a valid request to another operation"


_READ_BEFORE = ("getBalance", "listPixKeys", "listEntries", "listAccounts")
_TIMES = 3
"""How often a registration follows each sort of refusal: a service of several nodes may be at fault in one of them."""


def _reads_of_others(traffic: Traffic) -> list[Send]:
    """Functions that send the reads that the profile permits, of the last account of the profile."""
    accounts = traffic.profile.accounts
    reads: list[Send] = []
    for operation in filter(traffic.may_send_to, _READ_BEFORE):
        names_an_account = operations()[operation].path_parameter is not None
        if names_an_account and not accounts:
            continue
        account = accounts[-1] if names_an_account else None
        purpose = Neighbour.OF_SOMEBODY_ELSE
        reads.append(partial(traffic.client.send, operation, account, valid=True, purpose=purpose))
    return reads


def neighbours_of_registrations(traffic: Traffic) -> list[Send]:
    """Functions that send what goes right before registrations: each refusal three times, and each read once."""
    refusals: list[Send] = []
    for turn in range(_TIMES):
        if traffic.selection.includes_any(f"{_REGISTER}.token.required"):
            refusals.append(partial(_send_unreadable, traffic, NO_HEADER, Neighbour.REFUSED_CALLER))
        if turn == 1 and traffic.may_send_to(_EXECUTE):
            purpose = Neighbour.REFUSED_REQUEST
            refusals.append(partial(traffic.client.send, _EXECUTE, synthetic(), purpose=purpose))
        else:
            refusals.append(partial(_send_unreadable, traffic, VALID, Neighbour.REFUSED_REQUEST))
    return [*refusals, *_reads_of_others(traffic)]


def neighbours_of_executions(traffic: Traffic, unknown_code: str) -> Iterator[Send]:
    """Functions that send what goes right before executions, in turn and without an end.

    `unknown_code` does not exist. It is sent without a token and refused, and then with the token: unless the service
    keeps the first refusal for this code, it says that the code is unknown.
    """
    reads = cycle(_reads_of_others(traffic))
    while True:
        yield from _refusals_of_code(traffic, unknown_code)
        read = next(reads, None)
        if read:
            yield read


def _refusals_of_code(traffic: Traffic, unknown_code: str) -> list[Send]:
    """Functions that send a code that does not exist: without a token if the selection wants that, then with it."""
    send = partial(traffic.client.send, _EXECUTE, unknown_code)
    refusals: list[Send] = []
    if traffic.selection.includes_any(f"{_EXECUTE}.token.required"):
        refusals.append(partial(send, credential=NO_HEADER, purpose=Neighbour.REFUSED_CALLER))
    refusals.append(partial(send, purpose=Neighbour.UNKNOWN_CODE))
    return refusals


def _send_unreadable(traffic: Traffic, credential: str, purpose: Purpose) -> Exchange:
    """Send a registration that can do nothing, because its body cannot be read."""
    return unreadable_request(_REGISTER, credential).send(traffic.client.with_purpose(purpose))


# -- events on a sandbox ------------------------------------------------------------------------------------------

_BEFORE_QUIET_PLACES = 3
"""Codes that go before the first quiet place: the first one, one that is offered with wrong tokens, and one that goes
beside a read."""
_COUNT_OF_QUIET_PLACES = 3
"""The table in `Events` says what each of them is for."""


def first_quiet_place(first_prepared: int, codes: int) -> int | None:
    """Index of the first code that is sent without wrong tokens before; None if there are too few codes for that.

    `first_prepared` is the index of the first code that the run prepares, and `codes` the number of all codes.
    """
    first = max(_BEFORE_QUIET_PLACES, first_prepared)
    has_room = first + _COUNT_OF_QUIET_PLACES < codes
    return first if has_room else None


class Events:
    """What goes right before the executions of a sandbox, by the place of the code. Each event happens for certain.

    | place | right before the execution |
    |---|---|
    | the first quiet place | the preparation of the same transfer, if the run prepares it then |
    | the second one | a registration, which goes right behind an execution |
    | the third one | an execution |
    | the last place of all | the deletion of the key that was registered |
    | any other, in turn | a refusal of the caller; a balance; a refused registration; the keys; the entries |

    A code at a quiet place is not offered with wrong tokens, because they would come in between. The last one is not,
    because no code follows it that could show whether they spent it.
    """

    def __init__(self, traffic: Traffic, unknown_code: str, first_quiet: int, codes: int) -> None:
        self._quiet_places = range(first_quiet, first_quiet + _COUNT_OF_QUIET_PLACES)
        self.places_without_wrong_tokens = (*self._quiet_places, codes - 1)
        self._traffic = traffic
        self._last_place = codes - 1
        self._in_turn = cycle(_events_in_turn(traffic, unknown_code))
        self._registration: Exchange | None = None

    def send_before(self, place: int) -> None:
        """Send what goes right before the execution of the code with this index. The table of the class has all cases.

        Nothing is sent before the first quiet place, whose transfer was just prepared, nor before the third one, which
        goes right after the execution of the second.
        """
        first, second, third = self._quiet_places
        if place == second:
            self._registration = register_right_behind_money(self._traffic)
        elif place == self._last_place and self._registration:
            self.end()
        elif place not in (first, third):
            for send in next(self._in_turn):
                send()

    def end(self) -> None:
        """Delete the key that was registered, if it is not deleted."""
        if self._registration:
            Registrar(self._traffic.client, self._traffic.profile).delete_key_of(self._registration)
        self._registration = None


def register_right_behind_money(traffic: Traffic) -> Exchange | None:
    """Register a synthetic key right after a request that moves money, on a sandbox.

    None if the run may not register and delete a key.
    """
    profile = traffic.profile
    if not profile.is_sandbox or not profile.accounts or not traffic.may_send_to(_REGISTER):
        return None
    registrar = Registrar(traffic.client, profile)
    if registrar.key_for_deletions() is None:
        return None
    return registrar.register(registrar.synthetic_key(), Registering.RIGHT_BEHIND_MONEY)


def _events_in_turn(traffic: Traffic, unknown_code: str) -> list[list[Send]]:
    """Groups of functions that send what goes before the codes at the other places, one group for each code in turn."""
    *refusals_of_the_caller, with_the_token = _refusals_of_code(traffic, unknown_code)
    refusals_of_a_request: list[Send] = [with_the_token]
    if traffic.may_send_to(_REGISTER):
        refusals_of_a_request.append(partial(_send_unreadable, traffic, VALID, Neighbour.REFUSED_REQUEST))
    reads = _reads_of_others(traffic)
    return [refusals_of_the_caller, reads[:1], refusals_of_a_request, reads[1:2], reads[2:3]]
