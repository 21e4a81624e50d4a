"""The preflight: before all else, a run finds out if the target can be reached, if it accepts the token, and if it
knows any documented path.

A run asks it (tests/traffic/phases.py), and so does `environments check`. It sends nothing that changes anything.

Self-tests: promises/test_preflight.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from environments.door.client import Client
from environments.door.liveness import NOT_CONNECTED
from environments.door.permission import synthetic
from environments.door.wrong_tokens import ANOTHER, NO_HEADER
from spec.answers import RefusalKind, may_refuse_any_bad_token, refusal_of_the_caller, refusal_or_failure
from spec.exchange import Exchange, FailureKind, Purpose
from spec.interface import READ_OPERATIONS
from spec.observed import indistinguishable


class Preflight(Purpose):
    """Why a request is sent before all others."""

    IS_IT_THERE = "to see whether the service can be reached"
    IS_THE_TOKEN_ACCEPTED = "to see whether the token is accepted"
    IS_A_PATH_KNOWN = "to see whether documented paths are answered otherwise than an undocumented one"


def preflight(client: Client) -> str:
    """Send harmless requests until one is answered. Returns the reason if the target cannot be reached, else an empty
    text.

    The target cannot be reached if no connection can be made, or if no request is answered: a single operation that
    does not answer says nothing about the others. If the profile permits no read, the suite only connects.

    If the first answer refuses the token, or is a 404, further requests find out whether every operation answers so.
    Then `client.token_is_refused` or `client.knows_no_path` is set.
    """
    if "read" not in client.door.permission.allow:
        return client.door.wire.connect(client.door.permission.base_url)
    first_failure = ""
    for operation, path_parameter in _harmless(client):
        is_valid = operation == "listAccounts"  # the others name an account, which may be synthetic or wrong
        exchange = client.send(operation, path_parameter, valid=is_valid, purpose=Preflight.IS_IT_THERE)
        failure = exchange.failure
        if failure is None:
            _find_out_if_token_is_refused(client, exchange, path_parameter)
            _find_out_if_no_path_is_known(client, exchange)
            return ""
        if failure.kind is FailureKind.LIMIT:  # a limit of the suite says nothing of the target
            return ""
        first_failure = first_failure or str(failure.message)
        if failure.kind in NOT_CONNECTED:
            break
    return first_failure


def _harmless(client: Client) -> Iterator[tuple[str, str]]:
    """Pairs of an operation and a path parameter whose request changes nothing.

    They are the reads, listAccounts first, and the execution of a synthetic code if the profile permits executions.
    """
    for operation in sorted(READ_OPERATIONS, key=lambda name: name != "listAccounts"):  # False is sorted before True
        yield operation, client.door.keys.account or synthetic()
    if "execute" in client.door.permission.allow:
        yield "executePix", synthetic()


def _find_out_if_token_is_refused(client: Client, first: Exchange, path_parameter: str) -> None:
    """Set `client.token_is_refused` if no harmless operation accepts the token.

    Nothing is sent if the first answer does not refuse the token. Otherwise the same request is sent with a wrong
    token, and then all harmless requests with the right token. The search ends when one of these is not refused as the
    wrong token was: then the token is accepted.
    """
    if first.response is None or not may_refuse_any_bad_token(first.response):
        return
    invalid_credential = ANOTHER if client.door.budget.limits.wrong_tokens else NO_HEADER
    # The same purpose for all of them, because the end of the run compares their answers.
    purpose = Preflight.IS_THE_TOKEN_ACCEPTED
    with_wrong_token = client.send(first.operation, path_parameter, credential=invalid_credential, purpose=purpose)
    for operation, its_path_parameter in _harmless(client):
        with_token = client.send(operation, its_path_parameter, purpose=purpose)
        if not _is_refused(with_token, with_wrong_token):
            return
    client.token_is_refused = True


def _find_out_if_no_path_is_known(client: Client, first: Exchange) -> None:
    """Set `client.knows_no_path` if each harmless operation is answered as a path that does not exist.

    Nothing is sent unless the first answer is a 404 to listAccounts. The path of listAccounts has no account in it, so
    an account that the service does not know cannot be the cause.
    """
    if first.operation != "listAccounts" or refusal_or_failure(first) is not RefusalKind.NOT_FOUND:
        return
    purpose = Preflight.IS_A_PATH_KNOWN
    to_undocumented_paths = client.send_to_siblings(first.operation, None, purpose=purpose)
    for operation, path_parameter in _harmless(client):
        exchange = client.send(operation, path_parameter, purpose=purpose)
        if not indistinguishable(exchange, *to_undocumented_paths):
            return
    client.knows_no_path = True


def _is_refused(with_token: Exchange, with_wrong_token: Exchange) -> bool:
    """True if the answer says that the token is refused (401), or is the same refusal as that of a wrong token."""
    refusal = with_token.response and refusal_of_the_caller(with_token.response)
    refusal_of_wrong_token = with_wrong_token.response and refusal_of_the_caller(with_wrong_token.response)
    return refusal is not None and refusal in (RefusalKind.TOKEN, refusal_of_wrong_token)
