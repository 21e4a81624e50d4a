"""Reads and preparations: requests whose answers the interface document does not describe.

A read is a GET request that changes nothing, such as GET /v1/accounts. A preparation is a request whose body prepares a
transfer. The document lists both under "Other endpoints". They are sent to observe the answers. Reads also show whether
an account or the token is valid, and whether a service mixes up answers.

Self-tests: traffic/test_observations.py.
"""

from __future__ import annotations

from functools import partial

from environments.door.permission import synthetic
from environments.door.wrong_tokens import NO_HEADER
from environments.profiles.loading import NO_ACCOUNT
from environments.profiles.model import Profile
from spec.answers import (
    RefusalKind,
    answers_in_words,
    is_granted,
    refusal_or_failure,
    target_of_redirect_in_words,
)
from spec.exchange import VALID, Exchange, Purpose
from spec.interface import PREPARING_OPERATIONS, READ_OPERATIONS, operations
from spec.log import Log
from spec.message import Text, say
from spec.observed import is_lasting_answer
from spec.success_codes import line_for_success_code, perhaps_success_codes
from tests.harness.judging import not_exercised_unless
from tests.harness.selection import permits
from tests.traffic.at_times import refusals_of_the_path
from tests.traffic.invalid import unreadable_request
from tests.traffic.keys.registrar import Registrar
from tests.traffic.money.executions import Preparation
from tests.traffic.money.preparing import filled_body, prepare_one_transfer
from tests.traffic.neighbours import register_right_after_transfer
from tests.traffic.scenario import ENOUGH_ANSWERS, Traffic, scenario
from tests.traffic.together import Send

_MORE_READS = {"listAccounts": 4, "getBalance": 4, "listEntries": 8}
"""Times that a read is repeated right away, by its operation, in case one of three nodes of the service lacks its path.

Twelve reads in a run all miss that node once in 130 runs. listEntries is repeated more often than the other operations,
because fewer scenarios read it. listPixKeys is left out: a right service may answer 404 while an account has no keys.
"""
_OPERATIONS_THAT_CHANGE_ACCOUNTS = frozenset({"registerPixKey", "executePix", *PREPARING_OPERATIONS})
"""Operations after which each read is repeated, because they may change its answer."""


class Reading(Purpose):
    """Why a read is sent."""

    WITH_TOKEN = "a read with the token"
    ONCE_MORE = "the same read once more, because one answer of several may differ"
    WITHOUT_TOKEN = "a read without the token"
    AFTER_CHANGES = "a read again, after requests that may have changed the answer"
    BESIDE_A_REFUSAL = "a read at the same moment as a request that is refused"


class Refused(Purpose):
    """Why a request is sent that the service probably refuses, at the same moment as a read."""

    BESIDE_A_READ = "a request that is refused at the same moment as a read"


class PreparationAlone(Purpose):
    """Why a body is sent that prepares a transfer, which is not executed."""

    TO_SEE_THE_ANSWER = "a valid body, to see the answer"
    ONCE_MORE = "the same body once more, because one answer of several may differ"


@scenario(serves=[f"{operation}.*" for operation in PREPARING_OPERATIONS])
def prepare_transfers(traffic: Traffic) -> None:
    """Send a valid body to each operation that prepares transfers, to observe its answer.

    An operation is left out if it has prepared a transfer for an execution, because its answer is known. On a sandbox
    (a service without real money) two things follow:

    1. A registration is sent right after the last preparation, because a service at fault may answer the request after
       a preparation wrongly.
    2. Each body that the service accepted is sent several times more, because one of several servers may be at fault.
    """
    for operation in traffic.operations_tested_among(*PREPARING_OPERATIONS):
        was_prepared_to_execute = traffic.log.of(operation, Preparation.TO_EXECUTE)
        if not was_prepared_to_execute:
            _send_preparation(traffic, operation)
    if traffic.profile.is_sandbox:
        registration = register_right_after_transfer(traffic)  # None if keys may not be registered and deleted
        if registration:
            Registrar(traffic.client, traffic.profile).delete_key_of(registration)
        _send_preparations_again(traffic)


def _send_preparation(traffic: Traffic, operation: str) -> None:
    """Send one body to an operation that prepares transfers, to observe the answer.

    The body is the first of these that exists:

    1. The body that the profile has for the operation in `requests`.
    2. The body of `transactions.prepare` of the profile, if it is for this operation and if executions are permitted.
       The report then lists the transfer as not executed.
    3. An empty object, which is not valid, so that at least a refusal is observed.
    """
    client, profile = traffic.client, traffic.profile
    body = profile.requests.get(operation)
    plan = profile.transactions.prepare
    is_planned = plan is not None and plan.operation == operation and permits(profile, "executePix")
    if body:
        client.send(
            operation, json=filled_body(body.json, profile), valid=True, purpose=PreparationAlone.TO_SEE_THE_ANSWER
        )
    elif plan and is_planned:
        prepare_one_transfer(client, profile, plan, purpose=PreparationAlone.TO_SEE_THE_ANSWER)
    else:
        client.send(operation, json={}, purpose=PreparationAlone.TO_SEE_THE_ANSWER)


def _send_preparations_again(traffic: Traffic) -> None:
    """Send the body of each operation several times more, at the same time: one of several servers may be at fault.

    Each operation that prepares transfers got one body. It is sent again only if it was granted, or if the answer says
    that there is no such path: perhaps only one server does not know the path. Afterwards the body has ENOUGH_ANSWERS
    answers, so that a faulty server is found.
    """
    sends: list[Send] = []
    for operation in traffic.operations_tested_among(*PREPARING_OPERATIONS):
        first_preparation = traffic.log.of(operation, PreparationAlone.TO_SEE_THE_ANSWER)[:1]
        for exchange in first_preparation:  # none if the operation prepared transfers to execute
            is_path_unknown = refusal_or_failure(exchange) in refusals_of_the_path(operation)
            if not exchange.valid or not (is_granted(exchange) or is_path_unknown):
                continue
            body = exchange.request.body
            send = partial(traffic.client.send, operation, body=body, valid=True, purpose=PreparationAlone.ONCE_MORE)
            sends += [send] * (ENOUGH_ANSWERS - 1)
    traffic.together.send_all(sends)


@scenario(serves=[*(f"{operation}.*" for operation in READ_OPERATIONS), "*.exists", "*.token.accepted"])
def send_reads(traffic: Traffic) -> None:
    """Send each operation that only reads, with the token and without it, to see if it needs the token.

    A read is left out if its path names an account and the profile has none. Some reads are sent more often, to see
    whether one of several nodes of the service does not know their path and answers 404.
    """
    sends: list[Send] = []
    for operation in filter(traffic.may_send_to, READ_OPERATIONS):
        needs_account = operations()[operation].path_parameter is not None
        if traffic.profile.accounts or not needs_account:
            sends.append(partial(_send_read, traffic, operation, Reading.WITH_TOKEN))
            sends.append(partial(_send_read, traffic, operation, Reading.WITHOUT_TOKEN, NO_HEADER))
            further_reads = _MORE_READS.get(operation, 0)
            sends += [partial(_send_read, traffic, operation, Reading.ONCE_MORE)] * further_reads
    traffic.send_together(sends)


def _send_read(traffic: Traffic, operation: str, purpose: Purpose, credential: str = VALID) -> Exchange:
    """Send a read, and return its exchange: the request with its answer.

    If its path names an account, it is the first account of the profile. `credential` is the name of the token: the
    request counts as valid if it has the valid token, because nothing else in it can be wrong.
    """
    account = traffic.profile.accounts[0] if operations()[operation].path_parameter else None
    return traffic.client.send(operation, account, credential=credential, valid=credential == VALID, purpose=purpose)


def _operations_that_were_read(traffic: Traffic) -> list[str]:
    """The reading operations to which `send_reads` has sent a read before. Only these can be compared with later."""
    return [operation for operation in READ_OPERATIONS if traffic.log.of(operation, Reading.WITH_TOKEN)]


@scenario(serves=[f"{operation}.shape" for operation in READ_OPERATIONS])
def send_reads_after_changes(traffic: Traffic) -> None:
    """Send each read once more, to see the answer after changes: a list of keys that is no longer empty, for example.

    Nothing is sent if the run sends no request that may change an account, such as a registration.
    """
    if traffic.selection.operations & _OPERATIONS_THAT_CHANGE_ACCOUNTS:
        reads = _operations_that_were_read(traffic)
        purpose = Reading.AFTER_CHANGES
        traffic.together.send_all([partial(_send_read, traffic, operation, purpose) for operation in reads])


@scenario(serves=["executePix.token.accepted", "registerPixKey.token.accepted"])
def send_reads_beside_refusals(traffic: Traffic) -> None:
    """Send each read at the same moment as a request that is probably refused, such as one without the token.

    A service at fault may mix up the answers to two such requests, so that the valid read gets the refusal.
    """
    if not traffic.together.may_send_several:
        return
    sends: list[Send] = []
    for operation in _operations_that_were_read(traffic):
        for send_refused in _requests_probably_refused(traffic, operation):
            send_read = partial(_send_read, traffic, operation, Reading.BESIDE_A_REFUSAL)
            sends += traffic.together.pair_at_same_moment(send_read, send_refused)
    traffic.together.send_all(sends)


def _requests_probably_refused(traffic: Traffic, operation: str) -> list[Send]:
    """Functions that send a request which the service probably refuses, each for another reason.

    Each is sent at the same moment as a valid read, to see whether the read gets the refusal by mistake. `operation` is
    that read. The requests are:

    - the same read without the token
    - the balance of an account that nobody has
    - a registration with a body that cannot be read, if the run may send registrations
    """
    client = traffic.client
    purpose = Refused.BESIDE_A_READ
    requests: list[Send] = [
        partial(_send_read, traffic, operation, purpose, NO_HEADER),
        partial(client.send, "getBalance", synthetic(), purpose=purpose),
    ]
    if traffic.may_send_to("registerPixKey"):
        unreadable_registration = unreadable_request("registerPixKey", VALID)
        requests.append(partial(unreadable_registration.send, client.with_purpose(purpose)))
    return requests


# -- questions to the log -------------------------------------------------------------------------------------------


def requests_of_undescribed_operation(log: Log, operation: str) -> list[Exchange]:
    """The requests to an operation whose answers are not described: its reads, or its preparations of transfers.

    The read with the token comes first. Raises NotExercised, which skips the running test, if there are none: then the
    profile has no account.
    """
    if operation in READ_OPERATIONS:
        exchanges = log.of(operation, Reading.WITH_TOKEN) + log.of(operation, Reading.WITHOUT_TOKEN)
    else:
        exchanges = log.of(operation, Preparation.TO_EXECUTE, PreparationAlone.TO_SEE_THE_ANSWER)
    not_exercised_unless(exchanges, NO_ACCOUNT)
    return exchanges


def valid_answers(traffic: Traffic, operation: str) -> list[Exchange]:
    """All requests to an operation that may succeed. The interface document does not describe the answers.

    They are the valid requests of the scenarios, and the read without the token. Raises NotExercised, which skips the
    running test, if the profile has no account.
    """
    exchanges = requests_of_undescribed_operation(traffic.log, operation)
    answers = exchanges + [exchange for exchange in traffic.log.valid(operation) if exchange not in exchanges]
    # Requests that were not sent (number 0) come last, because a report shows the first answer.
    return sorted(answers, key=lambda exchange: exchange.number == 0)


def why_no_shape(log: Log, profile: Profile, operation: str) -> Text:
    """Reason why no answer shows the shape of a successful answer, and which line of the profile to add or to check.

    The text is shown for a test that is skipped. If each answer is a 200 with the same code other than 0, the line says
    that this code is a success. If all answers were temporary errors, such as a server error, the
    reason has only the answers, because the profile is not the cause.
    """
    valid = [exchange for exchange in log.sent_by_scenarios(operation) if exchange.expects_success]
    answer = answers_in_words(valid) if valid else say("no answer")
    are_all_temporary = not any(map(is_lasting_answer, valid))
    if valid and are_all_temporary:
        return say("no valid request succeeded ({answer})", answer=answer)
    if valid and all(refusal_or_failure(exchange) is RefusalKind.REDIRECT for exchange in valid):
        target = target_of_redirect_in_words(valid[0])
        return say("no valid request succeeded ({answer}): it leads to {target}", answer=answer, target=target)
    success_code = perhaps_success_codes(log.attempts(operation)).get(operation)
    if success_code is not None:
        line = line_for_success_code(success_code)
        return say("no valid request succeeded ({answer}): {line}", answer=answer, line=line)
    if operation in READ_OPERATIONS or not profile.accounts:  # without an account, a body is not needed yet
        line_of_profile = "accounts"
        is_supplied = bool(profile.accounts)
    else:
        line_of_profile = f"requests.{operation}"
        is_supplied = operation in profile.requests
    if is_supplied:
        return say("no valid request succeeded ({answer}): check {what}", answer=answer, what=line_of_profile)
    return say("no valid request succeeded ({answer}): supply {what}", answer=answer, what=line_of_profile)
