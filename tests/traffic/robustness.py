"""Scenarios that send invalid requests, and functions that say which of these requests tested something.

The kind of an invalid request says which part of it is invalid, and in which way, such as ("pixKey", "missing"). An
exchange keeps its kind as `unusual`. Four modules are about such requests:

- `invalid.py` makes the requests of all kinds, and sends nothing.
- This module sends the kinds whose answers the report lists as observations (how the service refuses a missing body,
  for example). `property.py` sends all other kinds, as generated traffic.
- `spec/rules/robustness.py` has the rules, such as "no server error". tests/conformance/test_robustness.py asks them.

This module also sends unreadable requests, with the valid token and without it, to see if an operation needs the token:
nobody can read their body, so they can do nothing.

Outside a sandbox, invalid requests name an account that nobody has, so that they can harm nobody. But a service that
looks up the account first refuses them for the account, and never looks at their invalid part. To see that, a valid
request for such an account is also sent. A kind of request tested nothing if it is answered like that valid request.

Self-tests: promises/test_unseen_off_a_sandbox.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from itertools import product
from typing import Any

from environments.door.permission import synthetic
from environments.door.wrong_tokens import NO_HEADER, WRONG_TOKEN
from environments.profiles.model import Profile, filled_in
from reports.result.verdicts import RequirementResult, Verdict
from spec.answers import answer_in_words, is_refusal
from spec.exchange import VALID, Exchange, Purpose
from spec.interface import KEY_TYPES, PREPARING_OPERATIONS
from spec.json_text import as_bytes, is_number, read_json
from spec.log import Log
from spec.message import Text, joined, say
from spec.observed import is_answered_like
from spec.rules import ROBUSTNESS
from tests.harness.selection import ABOUT_ALL_REQUESTS, SHOWN_BY_INVALID_REGISTRATIONS, WRITES_PERHAPS_WITHOUT_TOKEN
from tests.traffic.case import (
    JSON,
    Case,
    Members,
    harmless_cases,
    usual_body,
    usual_body_for_an_unknown_payee,
)
from tests.traffic.invalid import kinds_in_words, observed_invalid_requests, unreadable_request, with_transfers_last
from tests.traffic.scenario import Traffic, scenario
from tests.traffic.together import Send


class Unreadable(Purpose):
    """Why a request is sent whose body cannot be read, so that it can do nothing."""

    IS_THE_TOKEN_WANTED = "an unreadable body, to see whether the token makes a difference"


class Invalid(Purpose):
    """Why an invalid request is sent that is not generated."""

    IS_OBSERVED = "an invalid request, to see how it is refused"


class Comparison(Purpose):
    """Why a valid request is sent with which invalid requests are compared."""

    UNKNOWN_ACCOUNT = "a request of the documented form, for an account that nobody has"


# -- what is sent -----------------------------------------------------------------------------------------------------

_INVALID_CREDENTIALS = (NO_HEADER, WRONG_TOKEN)
"""What unreadable requests have instead of the valid token: no token, and a wrong one."""


_SHOWN_BY_ANY_REQUEST = [f"*.{end_of_id}" for end_of_id in ABOUT_ALL_REQUESTS]
"""Requirements of any operation that every invalid request may show, such as "*.serverError"."""
_SHOWN_BY_REGISTRATIONS = [f"registerPixKey.{end_of_id}" for end_of_id in SHOWN_BY_INVALID_REGISTRATIONS]
"""The same for registrations, and what only invalid registrations show, such as which fields of the body are required.
"""


@scenario(serves=[*_SHOWN_BY_ANY_REQUEST, *_SHOWN_BY_REGISTRATIONS], needs="fuzz")
def send_invalid(traffic: Traffic) -> None:
    """Send invalid requests to the operations that the selected requirements are about.

    Their answers become observations in the report: the interface document does not show how a service refuses.
    """
    cases: list[Case] = []
    for operation in sorted(traffic.selection.tested_operations):
        cases += observed_invalid_requests(operation, traffic.profile)
    _send_cases(traffic, with_transfers_last(cases), Invalid.IS_OBSERVED)


@scenario(serves=["general.otherTokens", "*.refusal"], needs="fuzz")
def send_unreadable_requests(traffic: Traffic) -> None:
    """Send requests with an unreadable body to the operations of which it is not known whether they need the token.

    Each of them gets one request without a token, one with a wrong token, and one with the valid token. If the
    operation needs the token, the answers differ. No request can do anything, because nobody can read its body.
    """
    operations = list(filter(traffic.may_send_to, WRITES_PERHAPS_WITHOUT_TOKEN))
    if not traffic.selection.includes_any("general.otherTokens"):  # that requirement is about all of them
        operations = traffic.operations_tested_among(*operations)
    cases = []
    for operation in operations:
        for credential in (*_INVALID_CREDENTIALS, VALID):
            cases.append(unreadable_request(operation, credential))
    _send_cases(traffic, cases, Unreadable.IS_THE_TOKEN_WANTED)


_OPERATIONS_THAT_NAME_AN_ACCOUNT = ("registerPixKey", "deletePixKey", *PREPARING_OPERATIONS)
"""Operations whose malformed requests name an account that nobody has, except on a sandbox."""
_ROBUST_WITH_AN_ACCOUNT = [
    f"{name}.{end_of_id}" for name, end_of_id in product(_OPERATIONS_THAT_NAME_AN_ACCOUNT, ROBUSTNESS)
]
"""The robustness requirements (such as "no server error") of these operations."""
_VALID_REQUESTS_TO_COMPARE_WITH = 2
"""Valid requests for an unknown account to each operation. Two, because the words in which their answers differ, such
as a time, must not be compared."""


@scenario(serves=_ROBUST_WITH_AN_ACCOUNT, needs="fuzz")
def send_for_unknown_accounts(traffic: Traffic) -> None:
    """Send valid requests for made-up accounts, which nobody has, so that other answers can be compared with theirs.

    Outside a sandbox malformed requests also name such an account, so that they can harm nobody. If a malformed request
    gets the same answer as these valid ones, it tested nothing: the service refused the account, and did not look at
    what is malformed. On a sandbox none are sent, because malformed requests name an account of the profile there.
    """
    profile = traffic.profile
    if profile.is_sandbox:
        return
    cases = []
    for operation in traffic.operations_tested_among(*_OPERATIONS_THAT_NAME_AN_ACCOUNT):
        for _ in range(_VALID_REQUESTS_TO_COMPARE_WITH):
            cases.append(_request_for_an_unknown_account(operation, profile))
    _send_cases(traffic, harmless_cases(cases, profile), Comparison.UNKNOWN_ACCOUNT)


def _send_cases(traffic: Traffic, cases: Iterable[Case], purpose: Purpose) -> None:
    """Have the requests of these cases sent at the same time as requests of other scenarios, with this purpose.

    A case is a request that is not sent yet.
    """
    client = traffic.client.with_purpose(purpose)
    sends: list[Send] = [partial(case.send, client) for case in cases]
    traffic.send_together(sends)


def _request_for_an_unknown_account(operation: str, profile: Profile) -> Case:
    """A request that is valid except for its account and key: they are made up (synthetic), and nobody has them.

    The body of a deletion is from the profile. But if that body has no place for a key, a service may understand it as
    a deletion of all keys. Then `usual_body` is sent, which has a made-up key.
    """
    if operation in PREPARING_OPERATIONS:
        return Case(operation, body=as_bytes(usual_body_for_an_unknown_payee(operation, profile)))
    account = synthetic()
    key = f"{synthetic()}@example.com"
    body: Any = {"account": account, "pixKeyType": "EMAIL", "pixKey": key}
    if operation == "deletePixKey":
        body_in_profile = profile.requests.get(operation)
        template = body_in_profile.json if body_in_profile else {"pixKey": "{key}"}
        names_a_key = "{key}" in str(template)
        usual = usual_body(operation, profile)  # its key is made up
        body = filled_in(template, account=account, key=key, type="EMAIL") if names_a_key else usual
    return Case(operation, path_parameter=account, body=as_bytes(body))


# -- questions to the log ---------------------------------------------------------------------------------------------


def unreadable_requests(log: Log, operation: str, *credentials: str) -> list[Exchange]:
    """The requests to an operation whose body nobody can read, with these credentials, in the order of the credentials.

    Without `credentials`: the requests without a token, and with a wrong token. The answers show whether the operation
    needs the token.
    """
    by_credential = []
    for credential in credentials or _INVALID_CREDENTIALS:
        for exchange in log.of(operation, Unreadable.IS_THE_TOKEN_WANTED):
            if exchange.credential == credential:
                by_credential.append(exchange)
    return by_credential


def kinds_of_invalid_requests_not_sent(log: Log, operation: str) -> Text:
    """Sentence for the verdict: which kinds of invalid request an operation did not get, and because of which limit.

    A kind is the part that is invalid, and how, such as ("pixKey", "missing"). All requests that Schemathesis generates
    are one kind here. Empty if at least one request of each kind was sent.
    """
    requests = [exchange for exchange in _requests_of_all_kinds(log, operation) if not exchange.valid]
    kinds_sent = {exchange.unusual for exchange in requests if exchange.number}
    limits_by_kind = {}
    for exchange in requests:
        was_not_sent = exchange.number == 0
        if was_not_sent and exchange.unusual not in kinds_sent:
            # For a request that was not sent, these words are the limit that kept it back.
            limits_by_kind[exchange.unusual] = answer_in_words(exchange)
    if not limits_by_kind:
        return ""
    limits = joined(limits_by_kind.values())
    return say("not sent, as {limits}: {kinds}", limits=limits, kinds=kinds_in_words(limits_by_kind))


def _requests_of_all_kinds(log: Log, operation: str) -> list[Exchange]:
    """The invalid requests to an operation: from the scenario `send_invalid`, and generated by Schemathesis.

    Requests that a limit of the run kept back are among them; they have the number 0.
    """
    return [*log.of(operation, Invalid.IS_OBSERVED), *log.generated(operation)]


# -- what is unseen outside a sandbox -----------------------------------------------------------------------------


def why_invalid_requests_showed_nothing(log: Log, profile: Profile, operation: str) -> Text:
    """Reason why no malformed request of this run showed anything about the robustness of an operation.

    Outside a sandbox malformed requests name an account that nobody has. If each of them is answered like a valid
    request for such an account, the service looked up the account, and never looked at what is malformed. Then only a
    run on a sandbox can test it.

    Empty if it was tested, or if there is nothing to compare.
    """
    valid_for_unknown_account = _refused_for_unknown_account(log, operation)
    members = usual_body(operation, profile)
    if not valid_for_unknown_account or members is None:
        return ""
    answered = [exchange for exchange in log.attempts(operation) if exchange.response]
    malformed = [exchange for exchange in answered if _is_malformed(exchange, members)]
    all_tested_nothing = all(
        _is_answered_like_unknown_account(exchange, valid_for_unknown_account, profile) for exchange in malformed
    )
    if not malformed or not all_tested_nothing:
        return ""
    why = say("only on a sandbox: elsewhere malformed requests name an account that nobody has")
    return joined([why, kinds_of_invalid_requests_that_tested_nothing(log, profile, operation)])


def results_with_untested_out_of_scope(
    results: Iterable[RequirementResult], log: Log, profile: Profile
) -> list[RequirementResult]:
    """The same results, except that a passed requirement on robustness becomes out of scope if nothing tested it.

    Off a sandbox a malformed request names an account that nobody has. A service may look the account up first, and
    answer 404 before it reads what is malformed. Then the requirement would pass although nothing was tested.
    `why_invalid_requests_showed_nothing` finds that out.
    """
    results_in_scope = []
    for result in results:
        operation, _, end_of_id = result.id.partition(".")
        is_passed_robustness = end_of_id in ROBUSTNESS and result.verdict == Verdict.PASS
        why = why_invalid_requests_showed_nothing(log, profile, operation) if is_passed_robustness else ""
        results_in_scope.append(RequirementResult(result.id, Verdict.OUT_OF_SCOPE, why) if why else result)
    return results_in_scope


def kinds_of_invalid_requests_that_tested_nothing(log: Log, profile: Profile, operation: str) -> Text:
    """Sentence for the verdict: which kinds of invalid request to an operation tested nothing; empty if there are none.

    A kind is the part that is invalid, and how, such as ("pixKey", "missing"). It tested nothing if each of its
    requests was answered like a valid one for an account that nobody has: the service looked no further than the
    account. Only kinds with an unusual body or Content-Type count, because the question is whether the body was read.
    """
    valid_for_unknown_account = _refused_for_unknown_account(log, operation)
    if not valid_for_unknown_account:
        return ""
    parts_of_the_body = ("body", "Content-Type", *(usual_body(operation, profile) or {}))
    answered = []
    for exchange in _requests_of_all_kinds(log, operation):
        invalid_part, _ = exchange.unusual
        if exchange.response and invalid_part in parts_of_the_body:
            answered.append(exchange)
    kinds_that_tested_something = {
        exchange.unusual
        for exchange in answered
        if not _is_answered_like_unknown_account(exchange, valid_for_unknown_account, profile)
    }
    kinds = dict.fromkeys(exchange.unusual for exchange in answered)  # each kind once, in the order of sending
    kinds_that_tested_nothing = [kind for kind in kinds if kind not in kinds_that_tested_something]
    if not kinds_that_tested_nothing:
        return ""
    return say(
        "unseen outside a sandbox, because {malformed_operation} answered these requests like a valid request for "
        "an unknown account: {kinds}",
        malformed_operation=operation,
        kinds=kinds_in_words(kinds_that_tested_nothing),
    )


def _refused_for_unknown_account(log: Log, operation: str) -> list[Exchange]:
    """The valid requests for accounts that nobody has, if all of them were refused; otherwise empty.

    Answers to malformed requests are compared with theirs. If one valid request was granted, the service does not look
    up the account first. So it has also read the malformed requests, and these tested something.
    """
    requests = log.of(operation, Comparison.UNKNOWN_ACCOUNT)
    are_refused = all(exchange.response and is_refusal(exchange.response) for exchange in requests)
    return requests if are_refused else []


def _is_answered_like_unknown_account(
    exchange: Exchange, valid_for_unknown_account: list[Exchange], profile: Profile
) -> bool:
    """True if an invalid request got the same answer as the valid requests for accounts that nobody has.

    Then it tested nothing: the service refused the account, and may not have looked at what is invalid in the request.
    False for a request for an account of the profile, because the service knows that account.
    """
    is_for_own_account = exchange.request.last_segment in profile.accounts
    return not is_for_own_account and is_answered_like(exchange, *valid_for_unknown_account)


def _is_malformed(exchange: Exchange, members: Members) -> bool:
    """True for a request with the valid token whose body or Content-Type is not as documented.

    `members` are the names and values of a documented body. A body is malformed if it is no JSON object, if it lacks
    one of the members, if a member has another JSON type, or if its pixKeyType is not documented. Any other text counts
    as documented, because the interface document does not say what it may hold.
    """
    if exchange.valid or exchange.credential != VALID:
        return False
    body = read_json(exchange.request.body).value
    content_type = dict(exchange.request.headers).get("Content-Type")
    if content_type != JSON or not isinstance(body, dict):
        return True
    # A body without the field, such as that of a transfer, has no key type that could be wrong.
    has_documented_type = body.get("pixKeyType", KEY_TYPES[0]) in KEY_TYPES
    has_members = all(_has_the_documented_type(body.get(name), value) for name, value in members.items())
    return not (has_documented_type and has_members)


def _has_the_documented_type(value: Any, documented: Any) -> bool:
    """True if a value in a body has the same JSON type as the documented value, and is not empty (such as "" or {}).

    Any number is right, also 0.
    """
    if is_number(documented):
        return is_number(value)
    return bool(value) and isinstance(value, type(documented))
