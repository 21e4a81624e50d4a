"""The preflight: whether the target can be reached, and whether it accepts the token."""

from __future__ import annotations

from collections.abc import Iterator

from environments.door.client import Client
from environments.door.liveness import NOT_CONNECTED
from environments.door.permission import synthetic
from environments.door.wrong_tokens import ANOTHER, NO_HEADER
from spec.answers import RefusalKind, refusal_of_the_caller, turns_away
from spec.exchange import Exchange, FailureKind, Purpose
from spec.interface import READS


class Preflight(Purpose):
    """Why a request is sent before all others."""

    IS_IT_THERE = "to see whether the service can be reached"
    IS_THE_TOKEN_ACCEPTED = "to see whether the token is accepted"


def preflight(client: Client) -> str:
    """Send reads and the execution of a synthetic code until one is answered, or only connect where no read is
    permitted. Gives the reason why the target cannot be reached, else nothing: no connection can be made, or none
    of these is answered. One operation that does not answer says nothing of the others."""
    if "read" not in client.door.permission.allow:
        return client.door.wire.connect(client.door.permission.base_url)
    first_failure = ""
    for operation, path_parameter in _harmless(client):
        is_valid = operation == "listAccounts"
        exchange = client.send(operation, path_parameter, valid=is_valid, purpose=Preflight.IS_IT_THERE)
        failure = exchange.failure
        if failure is None:
            _look_whether_the_token_is_refused(client, exchange, path_parameter)
            return ""
        if failure.kind is FailureKind.LIMIT:
            return ""
        first_failure = first_failure or str(failure.message)
        if failure.kind in NOT_CONNECTED:
            break
    return first_failure


def _harmless(client: Client) -> Iterator[tuple[str, str]]:
    """Each read, listAccounts first, and the execution of a synthetic code if that is permitted, with its path
    parameter."""
    for operation in sorted(READS, key="listAccounts".__ne__):
        yield operation, client.door.keys.account or synthetic()
    if "execute" in client.door.permission.allow:
        yield "executePix", synthetic()


def _look_whether_the_token_is_refused(client: Client, answered: Exchange, path_parameter: str) -> None:
    """If the first answer turns the token away, ask all, until one answers neither that the token is refused, nor
    with 403, a redirect or a page as a wrong token gets."""
    if answered.response is None or not turns_away(answered.response):
        return
    without = ANOTHER if client.door.budget.limits.wrong_tokens else NO_HEADER
    # The end of the run compares the two answers.
    purpose = Preflight.IS_THE_TOKEN_ACCEPTED
    wrong = client.send(answered.operation, path_parameter, credential=without, purpose=purpose)
    for operation, place in _harmless(client):
        if not _is_refused(client.send(operation, place, purpose=purpose), wrong):
            return
    client.token_is_refused = True


def _is_refused(sent: Exchange, wrong: Exchange) -> bool:
    """True if the answer says that the token is refused, or refuses the caller as one with a wrong token."""
    mine, other = (each.response and refusal_of_the_caller(each.response) for each in (sent, wrong))
    return mine is not None and mine in (RefusalKind.TOKEN, other)
