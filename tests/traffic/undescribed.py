"""The reads and the orders, whose answers the interface document does not describe."""

from __future__ import annotations

from functools import partial

from environments.door.permission import synthetic
from environments.door.wrong_tokens import NO_HEADER
from environments.profiles.loading import NO_ACCOUNT
from spec.exchange import VALID, Exchange
from spec.interface import PREPARING, READS, operations
from tests.harness.judging import require_supplied
from tests.harness.selection import permits
from tests.traffic.execution import execute
from tests.traffic.invalid import unauthorized
from tests.traffic.money.preparing import filled, prepare_one
from tests.traffic.registration import register
from tests.traffic.scenario import Asking, Traffic, scenario
from tests.traffic.together import Send

CHANGE_ACCOUNTS = frozenset({"registerPixKey", "executePix", *PREPARING})
"""Operations after which each read is repeated, as they may change its answer."""
Visits = dict[str, list[Exchange]]
"""By operation the requests to it, the valid one first."""


@scenario(shows=[f"{operation}.*" for operation in PREPARING], alone=True, otherwise=Visits())
def prepare_transfers(traffic: Traffic) -> Visits:
    """A valid body to each operation that prepares transfers, where none was sent."""
    sent = traffic.result_of(execute).preparations
    return {
        operation: [seen for seen in sent if seen.operation == operation] or [_order(traffic, operation)]
        for operation in traffic.is_about(*PREPARING)
    }


def _order(traffic: Traffic, operation: str) -> Exchange:
    """Send the body of the profile, or that of a transfer which a whole run would prepare and execute."""
    client, profile = traffic.client, traffic.profile
    plan = profile.transactions.prepare
    if body := profile.requests.get(operation):
        return client.send(operation, json=filled(body.json, profile), valid=True)
    if plan and plan.operation == operation and permits(profile, "executePix"):
        return prepare_one(client, profile, plan)  # it is not executed, and listed as that
    return client.send(operation, json={})


@scenario(shows=[*(f"{operation}.*" for operation in READS), "*.exists", "*.token.accepted"], otherwise=Visits())
def read(traffic: Traffic) -> Asking[Visits]:
    """Each read with the token and without, where it needs no account, or has one. Reads show, too, whether an account
    or the token is valid."""
    reads = [
        name
        for name in filter(traffic.permitted, READS)
        if traffic.profile.accounts or not operations()[name].path_parameter
    ]
    sent = iter((yield [partial(_read, traffic, name, each) for name in reads for each in (VALID, NO_HEADER)]))
    return {name: [next(sent), next(sent)] for name in reads}


def _read(traffic: Traffic, operation: str, credential: str = VALID) -> Exchange:
    place = traffic.profile.accounts[0] if operations()[operation].path_parameter else None
    return traffic.client.send(operation, place, credential=credential, valid=credential == VALID)


@scenario(shows=[f"{operation}.shape" for operation in READS], alone=True, otherwise=None)
def read_again(traffic: Traffic) -> None:
    """Each read once more, where what was sent may have changed its answer."""
    for operation in traffic.result_of(read) if traffic.reach.operations & CHANGE_ACCOUNTS else ():
        _read(traffic, operation)


@scenario(shows=["executePix.token.accepted", "registerPixKey.token.accepted"], alone=True, otherwise=None)
def read_beside_refusals(traffic: Traffic) -> None:
    """Each read at the same moment as a request that is to be refused, in one of three ways: of two answers, each may
    be that of the other request."""
    client, sends = traffic.client, list[Send]()
    for operation in traffic.result_of(read) if traffic.together.is_possible else ():
        others = [partial(_read, traffic, operation, NO_HEADER), partial(client.send, "getBalance", synthetic())]
        others += [partial(unauthorized("registerPixKey", VALID).send, client)] * traffic.permitted("registerPixKey")
        for other in others:
            sends += traffic.together.meeting(partial(_read, traffic, operation), other)
    traffic.together.send_all(sends)


def visit(traffic: Traffic, operation: str) -> list[Exchange]:
    """The requests to an operation whose answer the interface document does not describe. Raises NotExercised where no
    account is supplied."""
    found = (traffic.result_of(read) | traffic.result_of(prepare_transfers)).get(operation, [])
    require_supplied(found, NO_ACCOUNT)
    return found


def valid_answers(traffic: Traffic, operation: str) -> list[Exchange]:
    """The visit, and what is read beside registrations that the selection is about."""
    registers = operation == "listPixKeys" and traffic.is_about("registerPixKey")
    return [*visit(traffic, operation), *(traffic.result_of(register).read_beside if registers else ())]
