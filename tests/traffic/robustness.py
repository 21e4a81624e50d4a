"""Invalid requests, and requests without a valid token that can do nothing."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
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
from tests.traffic.case import JSON, Case, Form, bounded, form_of
from tests.traffic.invalid import classes_in_words, in_turns, invalid_requests, unauthorized
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


UNAUTHORIZED = (NO_HEADER, ANOTHER)
"""The credentials of requests that can do nothing even where an operation wants none."""


@scenario(
    serves=[*(f"*.{what}" for what in SURVEYS), *(f"registerPixKey.{what}" for what in INVALID_BODIES)],
    needs="fuzz",
)
def send_invalid(traffic: Traffic) -> None:
    """Send the invalid requests whose answers are observed."""
    sent_to = sorted(traffic.reach.subjects)
    cases = in_turns(case for name in sent_to for case in invalid_requests(name, traffic.profile, observed=True))
    client = traffic.client.with_purpose(Invalid.IS_OBSERVED)
    traffic.send_together([partial(case.send, client) for case in cases])


@scenario(serves=["general.otherTokens", "*.refusal"], needs="fuzz")
def ask_without_the_token(traffic: Traffic) -> None:
    """Send requests that can do nothing to operations that may be open: without a token, with a wrong one, and with the
    valid one, because a token is wanted if it makes a difference."""
    permitted = list(filter(traffic.permitted, MAY_BE_OPEN))
    asked = permitted if traffic.reach.wants("general.otherTokens") else traffic.is_about(*permitted)
    client = traffic.client.with_purpose(Unreadable.IS_THE_TOKEN_WANTED)
    sends: list[Send] = []
    for operation in asked:
        for credential in (*UNAUTHORIZED, VALID):
            sends.append(partial(unauthorized(operation, credential).send, client))
    traffic.send_together(sends)


def without_the_token(log: Log, operation: str, *credentials: str) -> list[Exchange]:
    """The requests that can do nothing to an operation that may be open, with these credentials in their order."""
    asked = log.of(operation, Unreadable.IS_THE_TOKEN_WANTED)
    return [
        exchange
        for credential in credentials or UNAUTHORIZED
        for exchange in asked
        if exchange.credential == credential
    ]


# -- which classes tested something -----------------------------------------------------------------------------------


def classes_not_sent(log: Log, operation: str) -> Text:
    """The classes of invalid requests to an operation of which a limit kept every request, and the limit; else empty.
    What Schemathesis draws is one class."""
    requests = [exchange for exchange in _invalid_requests(log, operation) if not exchange.valid]
    classes_sent = {exchange.unusual for exchange in requests if exchange.number}
    kept = [exchange for exchange in requests if not exchange.number and exchange.unusual not in classes_sent]
    limits = {exchange.unusual: answer_in_words(exchange) for exchange in kept}
    if not limits:
        return ""
    return say("not sent, as {limits}: {classes}", limits=joined(limits.values()), classes=classes_in_words(limits))


def _invalid_requests(log: Log, operation: str) -> list[Exchange]:
    """The requests to an operation of a class of invalid ones, targeted and generated, and what Schemathesis drew."""
    return [*log.of(operation, Invalid.IS_OBSERVED), *log.generated(operation)]


# -- what is not seen outside a sandbox -------------------------------------------------------------------------------

_NAME_AN_ACCOUNT = ("registerPixKey", "deletePixKey", *PREPARING)
"""Operations whose malformed requests name an account that nobody has, but on a sandbox."""


@scenario(serves=[f"{operation}.{what}" for operation in _NAME_AN_ACCOUNT for what in ROBUSTNESS], needs="fuzz")
def ask_for_unknown_accounts(traffic: Traffic) -> None:
    """Send two requests of the documented form to each operation, for accounts that nobody has.

    A malformed request that is answered alike tested nothing, because the account was looked up first. The words in
    which the two answers differ are not compared.
    """
    profile = traffic.profile
    names = [] if profile.is_sandbox else traffic.is_about(*_NAME_AN_ACCOUNT)
    cases = list(bounded((_for_an_unknown_account(name, profile) for name in names for _ in range(2)), profile))
    client = traffic.client.with_purpose(Reference.UNKNOWN_ACCOUNT)
    traffic.send_together([partial(case.send, client) for case in cases])


def _for_an_unknown_account(operation: str, profile: Profile) -> Case:
    """A request of the documented form, with a synthetic account and a synthetic key."""
    form = form_of(operation, profile)
    if operation in PREPARING:
        return Case(operation, body=as_bytes(form))
    account, key = synthetic(), f"{synthetic()}@example.com"
    body: Any = {"account": account, "pixKeyType": "EMAIL", "pixKey": key}
    if operation == "deletePixKey":
        given = profile.requests.get(operation)
        template = given.json if given else {"pixKey": "{key}"}
        body = fill(template, account=account, key=key, type="EMAIL") if "{key}" in str(template) else form
    return Case(operation, path_parameter=account, body=as_bytes(body))


def only_on_a_sandbox(log: Log, profile: Profile, operation: str) -> Text:
    """Reason why the robustness of an operation can be tested on a sandbox only: each malformed request was answered
    like a valid one for an unknown account. Empty if one of them was not."""
    references = _refused_references(log, operation)
    form = form_of(operation, profile)
    if not references or form is None:
        return ""
    answered = [exchange for exchange in log.attempts(operation) if exchange.response]
    malformed = [exchange for exchange in answered if _is_malformed(exchange, form)]
    if not malformed or not all(_tested_nothing(exchange, references, profile) for exchange in malformed):
        return ""
    why = say("only on a sandbox: elsewhere malformed requests name an account that nobody has")
    return joined([why, classes_unseen(log, profile, operation)])


def with_untested_apart(results: Iterable[RequirementResult], log: Log, profile: Profile) -> list[RequirementResult]:
    """The results, those out of scope that passed although each malformed request tested nothing."""
    results_apart = []
    for result in results:
        operation, _, what = result.id.partition(".")
        is_robustness = what in ROBUSTNESS and result.verdict == Verdict.PASS
        why = only_on_a_sandbox(log, profile, operation) if is_robustness else ""
        results_apart.append(RequirementResult(result.id, Verdict.OUT_OF_SCOPE, why) if why else result)
    return results_apart


def classes_unseen(log: Log, profile: Profile, operation: str) -> Text:
    """The classes of malformed requests that tested nothing, because they name an account that nobody has; else
    empty."""
    references = _refused_references(log, operation)
    if not references:
        return ""
    parts_of_the_body = ("body", "Content-Type", *(form_of(operation, profile) or {}))
    tested_nothing: dict[tuple[str, str], bool] = {}
    for exchange in _invalid_requests(log, operation):
        if exchange.unusual[0] in parts_of_the_body and exchange.response:
            is_nothing = _tested_nothing(exchange, references, profile)
            tested_nothing[exchange.unusual] = is_nothing and tested_nothing.get(exchange.unusual, True)
    names = [name for name, is_nothing in tested_nothing.items() if is_nothing]
    if not names:
        return ""
    return say(
        "unseen outside a sandbox, as {unseen} answered as to a valid request for an unknown account: {classes}",
        unseen=operation,
        classes=classes_in_words(names),
    )


def _refused_references(log: Log, operation: str) -> list[Exchange]:
    """The requests of the documented form for unknown accounts, if all were refused: a service that grants them has
    read the malformed ones, too."""
    references = log.of(operation, Reference.UNKNOWN_ACCOUNT)
    are_refused = all(exchange.response and is_refusal(exchange.response) for exchange in references)
    return references if are_refused else []


def _tested_nothing(exchange: Exchange, references: list[Exchange], profile: Profile) -> bool:
    """True for an answer to a request for an unknown account that is like those to valid requests for such."""
    is_for_own_account = exchange.request.last_segment in profile.accounts
    return not is_for_own_account and indistinguishable(exchange, *references)


def _is_malformed(exchange: Exchange, form: Form) -> bool:
    """True for an invalid request with the token whose body is not of the documented form: no JSON object with each of
    the members, or one with another type. What else a text holds is not documented, but for key types."""
    if exchange.valid or exchange.credential != VALID:
        return False
    body, content_type = read_json(exchange.request.body).value, dict(exchange.request.headers).get("Content-Type")
    if content_type != JSON or not isinstance(body, dict):
        return True
    is_of_a_type = body.get("pixKeyType", KEY_TYPES[0]) in KEY_TYPES
    return not is_of_a_type or not all(_is_alike(body.get(name), value) for name, value in form.items())


def _is_alike(value: Any, documented: Any) -> bool:
    if is_number(documented):
        return is_number(value)
    return bool(value) and isinstance(value, type(documented))
