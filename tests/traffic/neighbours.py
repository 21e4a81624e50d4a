"""Requests that go right before a valid one, on the connection that the valid one is going to use.

An answer may depend on what its connection carried before, or on what the service did last. So a valid request follows
each sort of neighbour several times: a refusal of the caller, a refusal of the request, and a success for somebody
else. None of them changes anything.

Self-tests: traffic/test_at_times.py, reports/sentences/test_plan.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import cycle

from environments.door.wrong_tokens import NO_HEADER
from spec.exchange import VALID, Exchange, Purpose
from spec.interface import operations
from tests.traffic.invalid import unreadable_request
from tests.traffic.scenario import Traffic
from tests.traffic.together import Send


class Neighbour(Purpose):
    """Why a request is sent right before a valid one."""

    REFUSED_CALLER = "a request without a token, right before a valid one"
    REFUSED_REQUEST = "an unreadable body, right before a valid one"
    UNKNOWN_CODE = "the same code that does not exist, right before a valid one"
    OF_SOMEBODY_ELSE = "a read, right before a valid request to another operation"


_READ_BEFORE = ("getBalance", "listPixKeys", "listEntries", "listAccounts")


def reads_of_others(traffic: Traffic) -> Iterator[Send]:
    """Reads that the profile permits, in turn and without an end, of the last account of the profile."""
    accounts = traffic.profile.accounts
    reads = []
    for operation in filter(traffic.permitted, _READ_BEFORE):
        if accounts or not operations()[operation].path_parameter:
            reads.append(operation)
    for operation in cycle(reads):
        account = accounts[-1] if operations()[operation].path_parameter else None
        purpose = Neighbour.OF_SOMEBODY_ELSE
        yield partial(traffic.client.send, operation, account, valid=True, purpose=purpose)


def neighbours_of_registrations(traffic: Traffic) -> Iterator[Send]:
    """What goes right before registrations, in turn and without an end."""
    read = reads_of_others(traffic)
    while True:
        if traffic.reach.wants("registerPixKey.token.required"):
            yield partial(_send_unreadable, traffic, NO_HEADER, Neighbour.REFUSED_CALLER)
        yield partial(_send_unreadable, traffic, VALID, Neighbour.REFUSED_REQUEST)
        yield from _next_of(read)


def neighbours_of_executions(traffic: Traffic, unknown_code: str) -> Iterator[Send]:
    """What goes right before executions, in turn and without an end. The code does not exist: it is refused without a
    token, and then it is not known, unless the service keeps the refusal for it."""
    read, send = reads_of_others(traffic), partial(traffic.client.send, "executePix", unknown_code)
    while True:
        if traffic.reach.wants("executePix.token.required"):
            yield partial(send, credential=NO_HEADER, purpose=Neighbour.REFUSED_CALLER)
        yield partial(send, purpose=Neighbour.UNKNOWN_CODE)
        yield from _next_of(read)


def _send_unreadable(traffic: Traffic, credential: str, purpose: Purpose) -> Exchange:
    return unreadable_request("registerPixKey", credential).send(traffic.client.with_purpose(purpose))


def _next_of(sends: Iterator[Send]) -> list[Send]:
    """The next of these, or nothing if there is none."""
    following = next(sends, None)
    return [following] if following else []
