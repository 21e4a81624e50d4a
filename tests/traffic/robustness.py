"""Invalid requests and unreadable ones: what is sent, and which of them tested something.

An unreadable request has a body that nobody can read, so it can do nothing. It goes with the valid token and without
it, to see if an operation needs the token.

A class of invalid requests is the part that is unusual, and how (`invalid.py`). A class tested nothing if its requests
were not sent, or if the service refused them for another reason: off a sandbox they name an account that nobody has.

Self-tests: promises/test_unseen_off_a_sandbox.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from itertools import product
from typing import Any

from environments.door.permission import synthetic
from environments.door.wrong_tokens import ANOTHER, NO_HEADER
from environments.profiles.model import Profile, fill
from reports.result.verdicts import RequirementResult, Verdict
from spec.answers import answer_in_words, is_refusal
from spec.exchange import VALID, Exchange, Purpose
from spec.interface import KEY_TYPES, PREPARING
from spec.json_text import as_bytes, is_number, read_json
from spec.log import Log
from spec.message import Text, joined, say
from spec.observed import indistinguishable
from spec.rules import ROBUSTNESS
from tests.harness.selection import INVALID_BODIES, MAY_BE_OPEN, SURVEYS
from tests.traffic.case import JSON, Case, Members, documented_members, safe_cases
from tests.traffic.invalid import classes_in_words, invalid_requests, unreadable_request, with_transfers_last
from tests.traffic.scenario import Traffic, scenario
from tests.traffic.together import Send


class Unreadable(Purpose):
    """Why a request is sent whose body cannot be read, so that it can do nothing."""

    IS_THE_TOKEN_WANTED = "an unreadable body, to see whether the token makes a difference"


class Invalid(Purpose):
    """Why an invalid request is sent that is not generated."""

    IS_OBSERVED = "an invalid request, to see how it is refused"


class Reference(Purpose):
    """Why a request is sent that others are compared with."""

    UNKNOWN_ACCOUNT = "a request of the documented form, for an account that nobody has"


# -- what is sent -----------------------------------------------------------------------------------------------------

_INVALID_CREDENTIALS = (NO_HEADER, ANOTHER)
"""Credentials that unreadable requests have besides the valid one."""


_SURVEYS_OF_ALL = [f"*.{end_of_id}" for end_of_id in SURVEYS]
_SHOWN_BY_REGISTRATIONS = [f"registerPixKey.{end_of_id}" for end_of_id in INVALID_BODIES]


@scenario(serves=[*_SURVEYS_OF_ALL, *_SHOWN_BY_REGISTRATIONS], needs="fuzz")
def send_invalid(traffic: Traffic) -> None:
    """Send the invalid requests whose answers are observed."""
    cases: list[Case] = []
    for operation in sorted(traffic.reach.subjects):
        cases += invalid_requests(operation, traffic.profile, observed=True)
    _send_cases(traffic, with_transfers_last(cases), Invalid.IS_OBSERVED)


@scenario(serves=["general.otherTokens", "*.refusal"], needs="fuzz")
def send_unreadable_requests(traffic: Traffic) -> None:
    """Send unreadable requests to operations that may be open: without a token, with a wrong one, with the valid one.

    If an operation needs the token, the answers differ.
    """
    operations = list(filter(traffic.permitted, MAY_BE_OPEN))
    if not traffic.reach.wants("general.otherTokens"):
        operations = traffic.subjects_among(*operations)
    cases = []
    for operation in operations:
        for credential in (*_INVALID_CREDENTIALS, VALID):
            cases.append(unreadable_request(operation, credential))
    _send_cases(traffic, cases, Unreadable.IS_THE_TOKEN_WANTED)


_NAME_AN_ACCOUNT = ("registerPixKey", "deletePixKey", *PREPARING)
"""Operations whose malformed requests name an account that nobody has, except on a sandbox."""
_ROBUST_WITH_AN_ACCOUNT = [f"{name}.{end_of_id}" for name, end_of_id in product(_NAME_AN_ACCOUNT, ROBUSTNESS)]
_TIMES_OF_A_REFERENCE = 2
"""Requests for an unknown account to each operation. The words in which their answers differ are not compared."""


@scenario(serves=_ROBUST_WITH_AN_ACCOUNT, needs="fuzz")
def send_for_unknown_accounts(traffic: Traffic) -> None:
    """Send requests of the documented form to each operation, for accounts that nobody has. On a sandbox none are sent.

    A malformed request that is answered like them tested nothing, because the service looked up the account first.
    """
    profile = traffic.profile
    if profile.is_sandbox:
        return
    cases = []
    for operation in traffic.subjects_among(*_NAME_AN_ACCOUNT):
        for _ in range(_TIMES_OF_A_REFERENCE):
            cases.append(_request_for_an_unknown_account(operation, profile))
    _send_cases(traffic, safe_cases(cases, profile), Reference.UNKNOWN_ACCOUNT)


def _send_cases(traffic: Traffic, cases: Iterable[Case], purpose: Purpose) -> None:
    """Send these cases together, with this purpose."""
    client = traffic.client.with_purpose(purpose)
    sends: list[Send] = [partial(case.send, client) for case in cases]
    traffic.send_together(sends)


def _request_for_an_unknown_account(operation: str, profile: Profile) -> Case:
    """A request of the documented form, with a synthetic account and a synthetic key.

    A deletion has the body that the profile names for it; if that names no key, one that names nobody.
    """
    members = documented_members(operation, profile)
    if operation in PREPARING:
        return Case(operation, body=as_bytes(members))
    account = synthetic()
    key = f"{synthetic()}@example.com"
    body: Any = {"account": account, "pixKeyType": "EMAIL", "pixKey": key}
    if operation == "deletePixKey":
        body_in_profile = profile.requests.get(operation)
        template = body_in_profile.json if body_in_profile else {"pixKey": "{key}"}
        names_a_key = "{key}" in str(template)
        body = fill(template, account=account, key=key, type="EMAIL") if names_a_key else members
    return Case(operation, path_parameter=account, body=as_bytes(body))


# -- questions to the log ---------------------------------------------------------------------------------------------


def unreadable_requests(log: Log, operation: str, *credentials: str) -> list[Exchange]:
    """The unreadable requests to an operation with these credentials, in the order of the credentials."""
    by_credential = []
    for credential in credentials or _INVALID_CREDENTIALS:
        for exchange in log.of(operation, Unreadable.IS_THE_TOKEN_WANTED):
            if exchange.credential == credential:
                by_credential.append(exchange)
    return by_credential


def classes_not_sent(log: Log, operation: str) -> Text:
    """Sentence with the classes of invalid requests to an operation that were not sent, and the limit that kept them.

    A class counts if a limit kept each of its requests. All that Schemathesis draws is one class. Empty if there is
    none.
    """
    requests = [exchange for exchange in _requests_of_classes(log, operation) if not exchange.valid]
    classes_sent = {exchange.unusual for exchange in requests if exchange.number}
    limits = {}
    for exchange in requests:
        is_kept_back = exchange.number == 0
        if is_kept_back and exchange.unusual not in classes_sent:
            limits[exchange.unusual] = answer_in_words(exchange)
    if not limits:
        return ""
    return say("not sent, as {limits}: {classes}", limits=joined(limits.values()), classes=classes_in_words(limits))


def _requests_of_classes(log: Log, operation: str) -> list[Exchange]:
    """The requests to an operation of a class of invalid ones, and those that Schemathesis drew."""
    return [*log.of(operation, Invalid.IS_OBSERVED), *log.generated(operation)]


# -- what is not tested outside a sandbox -----------------------------------------------------------------------------


def why_only_on_a_sandbox(log: Log, profile: Profile, operation: str) -> Text:
    """Reason why the robustness of an operation can be tested on a sandbox only.

    It is that each malformed request was answered like a valid one for an unknown account. Empty if one was not.
    """
    references = _refused_references(log, operation)
    members = documented_members(operation, profile)
    if not references or members is None:
        return ""
    answered = [exchange for exchange in log.attempts(operation) if exchange.response]
    malformed = [exchange for exchange in answered if _is_malformed(exchange, members)]
    if not malformed or not all(_tested_nothing(exchange, references, profile) for exchange in malformed):
        return ""
    why = say("only on a sandbox: elsewhere malformed requests name an account that nobody has")
    return joined([why, classes_that_tested_nothing(log, profile, operation)])


def with_untested_out_of_scope(
    results: Iterable[RequirementResult], log: Log, profile: Profile
) -> list[RequirementResult]:
    """The results, in which robustness is out of scope instead of passed if each malformed request tested nothing."""
    results_in_scope = []
    for result in results:
        operation, _, end_of_id = result.id.partition(".")
        is_passed_robustness = end_of_id in ROBUSTNESS and result.verdict == Verdict.PASS
        why = why_only_on_a_sandbox(log, profile, operation) if is_passed_robustness else ""
        results_in_scope.append(RequirementResult(result.id, Verdict.OUT_OF_SCOPE, why) if why else result)
    return results_in_scope


def classes_that_tested_nothing(log: Log, profile: Profile, operation: str) -> Text:
    """Sentence with the classes of malformed requests to an operation that tested nothing; empty if there is none.

    Only classes of an unusual body count. Each of their requests was answered like a valid one for an unknown account.
    """
    references = _refused_references(log, operation)
    if not references:
        return ""
    parts_of_the_body = ("body", "Content-Type", *(documented_members(operation, profile) or {}))
    tested_nothing: dict[tuple[str, str], bool] = {}  # by class, in the order of the requests
    for exchange in _requests_of_classes(log, operation):
        part, _ = exchange.unusual
        if part in parts_of_the_body and exchange.response:
            is_like_references = _tested_nothing(exchange, references, profile)
            tested_nothing[exchange.unusual] = is_like_references and tested_nothing.get(exchange.unusual, True)
    classes = [unusual for unusual, is_untested in tested_nothing.items() if is_untested]
    if not classes:
        return ""
    return say(
        "unseen outside a sandbox, as {unseen} answered as to a valid request for an unknown account: {classes}",
        unseen=operation,
        classes=classes_in_words(classes),
    )


def _refused_references(log: Log, operation: str) -> list[Exchange]:
    """The requests of the documented form for unknown accounts; empty unless all were refused.

    A service that grants them looks up no account first, so it has read the malformed requests, too.
    """
    references = log.of(operation, Reference.UNKNOWN_ACCOUNT)
    are_refused = all(exchange.response and is_refusal(exchange.response) for exchange in references)
    return references if are_refused else []


def _tested_nothing(exchange: Exchange, references: list[Exchange], profile: Profile) -> bool:
    """True if a request for an unknown account was answered like the references: valid requests for such accounts."""
    is_for_own_account = exchange.request.last_segment in profile.accounts
    return not is_for_own_account and indistinguishable(exchange, *references)


def _is_malformed(exchange: Exchange, members: Members) -> bool:
    """True for an invalid request with the valid token whose body is not of the documented form.

    Such a body is no JSON object, lacks one of the members, or has one of another type. What a text holds is not
    documented, except for key types.
    """
    if exchange.valid or exchange.credential != VALID:
        return False
    body = read_json(exchange.request.body).value
    content_type = dict(exchange.request.headers).get("Content-Type")
    if content_type != JSON or not isinstance(body, dict):
        return True
    has_documented_type = body.get("pixKeyType", KEY_TYPES[0]) in KEY_TYPES
    has_members = all(_is_of_the_same_type(body.get(name), value) for name, value in members.items())
    return not (has_documented_type and has_members)


def _is_of_the_same_type(value: Any, documented: Any) -> bool:
    """True for two numbers, and for a value of the same type that is not empty."""
    if is_number(documented):
        return is_number(value)
    return bool(value) and isinstance(value, type(documented))
