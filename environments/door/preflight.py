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
from environments.door.wrong_tokens import NO_HEADER, WRONG_TOKEN
from spec.answers import RefusalKind, may_be_due_to_a_bad_token, refusal_about_the_caller, refusal_or_failure
from spec.exchange import Exchange, FailureKind, Purpose
from spec.interface import READ_OPERATIONS
from spec.observed import is_answered_like


class Preflight(Purpose):
    """Why a request is sent before all others."""

    IS_IT_THERE = "to see whether the service can be reached"
    IS_THE_TOKEN_ACCEPTED = "to see whether the token is accepted"
    IS_A_PATH_KNOWN = "to see whether documented paths are answered otherwise than an undocumented one"


def preflight(client: Client) -> str:
    """Find out if the service (the target) can be reached, before a run sends anything else.

    Sends harmless requests, which change nothing, until one is answered. Returns the reason if the target cannot be
    reached, else an empty text. It cannot be reached if no connection can be made, or if no request is answered: a
    single operation that does not answer says nothing about the others. If the settings of the run do not permit to
    read, only a connection is made.

    If the first answer refuses the token, or is a 404, further requests find out whether all operations answer so.
    Then `client.token_is_refused` or `client.knows_no_path` is set, so that the run can stop and say what to correct.
    """
    if "read" not in client.door.permission.allow:
        return client.door.wire.connect(client.door.permission.base_url)
    first_failure = ""
    for operation, path_parameter in _harmless_requests(client):
        is_valid = operation == "listAccounts"  # the others name an account, which may be synthetic or wrong
        exchange = client.send(operation, path_parameter, valid=is_valid, purpose=Preflight.IS_IT_THERE)
        failure = exchange.failure
        if failure is None:
            _check_if_token_is_refused(client, exchange, path_parameter)
            _check_if_no_path_is_known(client, exchange)
            return ""
        if failure.kind is FailureKind.LIMIT:  # the suite itself did not send it, which says nothing about the target
            return ""
        first_failure = first_failure or str(failure.message)
        if failure.kind in NOT_CONNECTED:
            break
    return first_failure


def _harmless_requests(client: Client) -> Iterator[tuple[str, str]]:
    """Requests that change nothing, each as an operation and its path parameter: `("getBalance", "ac-1")`.

    They are all operations that only read, with listAccounts first, because it needs no account: `Client.send` ignores
    its path parameter. If the settings of the run permit executions, the execution of a made-up transaction code comes
    last; no transfer has such a code.
    """
    other_reads = [operation for operation in READ_OPERATIONS if operation != "listAccounts"]
    for operation in ("listAccounts", *other_reads):
        account = client.door.keys.account or synthetic()  # a made-up one if the settings of the run name no account
        yield operation, account
    if "execute" in client.door.permission.allow:
        yield "executePix", synthetic()


def _check_if_token_is_refused(client: Client, first: Exchange, path_parameter: str) -> None:
    """Set `client.token_is_refused` if no operation that only reads accepts the token.

    `first` is the first request of the run that was answered. If its answer cannot be a refusal of the token, such as a
    success or a 500, nothing is sent. Otherwise the same request is sent with a wrong token, and then all harmless
    requests with the right token. If one of these is not refused as the wrong token was, the token is accepted, and
    the search ends.

    If the run must send no wrong tokens, the request without a token is compared instead.
    """
    # Such as 401, 403, 404, or an HTML page to log in: a service may answer every wrong token so.
    if first.response is None or not may_be_due_to_a_bad_token(first.response):
        return
    invalid_credential = WRONG_TOKEN if client.door.budget.limits.wrong_tokens else NO_HEADER
    # The same purpose for all of them, because the end of the run compares their answers.
    purpose = Preflight.IS_THE_TOKEN_ACCEPTED
    with_wrong_token = client.send(first.operation, path_parameter, credential=invalid_credential, purpose=purpose)
    for operation, its_path_parameter in _harmless_requests(client):
        with_token = client.send(operation, its_path_parameter, purpose=purpose)
        if not _is_refused(with_token, with_wrong_token):
            return
    client.token_is_refused = True


def _check_if_no_path_is_known(client: Client, first: Exchange) -> None:
    """Set `client.knows_no_path` if every harmless operation is answered like a path that does not exist.

    Then base_url is probably wrong. `first` is the first request of the run that was answered. If it is listAccounts,
    and its answer is a 404, further requests are sent to find out. The path of listAccounts has no account in it, so an
    account that the service does not know cannot be the cause.
    """
    if first.operation != "listAccounts" or refusal_or_failure(first) is not RefusalKind.NOT_FOUND:
        return
    purpose = Preflight.IS_A_PATH_KNOWN
    to_undocumented_paths = client.send_to_undocumented_paths(first.operation, None, purpose=purpose)
    for operation, path_parameter in _harmless_requests(client):
        exchange = client.send(operation, path_parameter, purpose=purpose)
        is_answered_otherwise = not is_answered_like(exchange, *to_undocumented_paths)
        if is_answered_otherwise:  # so the service knows this path
            return
    client.knows_no_path = True


def _is_refused(with_token: Exchange, with_wrong_token: Exchange) -> bool:
    """True if the right token was refused: its answer is 401, or it is the same kind of refusal as for a wrong token.

    A service may refuse tokens with another status, such as 403, so the answer to a wrong token is compared.
    """
    refusal = _refusal_of_the_caller(with_token)
    if refusal is None:
        return False
    is_401 = refusal is RefusalKind.TOKEN
    return is_401 or refusal is _refusal_of_the_caller(with_wrong_token)


def _refusal_of_the_caller(exchange: Exchange) -> RefusalKind | None:
    """The kind of refusal if the answer says who must not ask, such as 401 or 403; None for any other answer, or none.

    Other refusals say what is wrong in the request, such as 422.
    """
    if exchange.response is None:
        return None
    return refusal_about_the_caller(exchange.response)
