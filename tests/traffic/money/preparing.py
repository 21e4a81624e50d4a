"""Transfers that the run prepares for itself, and the transaction code in each answer.

Executions need such a code ("GET /v1/execute/pix/{transactionId}" in the interface document). `execution.py`,
`stateful.py` and `undescribed.py` have transfers prepared. The profile says in `transactions.prepare` which request
prepares one, and where its answer has the code.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import Enum
from functools import partial
from typing import Any

from environments.door.client import Client
from environments.door.door import NoteSubject
from environments.door.journal import canonical
from environments.door.prepared import code_in
from environments.profiles.model import PixKey, Prepare, Profile, filled_in
from environments.secret_values import CODE, Secrets
from spec.answers import data_of, is_granted, refusal_or_failure
from spec.exchange import Exchange, Purpose
from spec.facts import facts_as_text, facts_of
from spec.json_text import is_number, leaves_of, read_json
from spec.requirements import requirements
from tests.traffic.case import AMOUNT
from tests.traffic.together import Together

_CODE = re.compile("[!-~]{1,200}")
"""A code that may be sent: printable ASCII without blanks. A text of more than 200 characters is rather a token or a
page."""
_LONGEST_FACTS = 300
"""Characters of a note that say what an answer holds if it has no code: about three lines."""
_TEXTS = ("description", "message")
"""Members of a body that have a text for people: the documented name, and that of the execution result."""


class UnusualTransfer(Enum):
    """In which way a transfer differs from the one in the profile. A service at fault answers its execution wrongly."""

    SMALL = "an amount of 0.29"
    WITHOUT_A_TEXT = "no text"
    WITH_SPECIAL_CHARACTERS = "special characters in its text"


_SMALL_AMOUNT = 0.29
"""As a floating-point number, a hundred times this amount is a little less than 29 cents."""
_SPECIAL_CHARACTERS = "a {b} 100% 'c' \"d\" \\ é"
"""A text with characters that mean something in templates, formats, SQL and JSON, and with an accent."""


def prepare_executable_transfers(
    client: Client, profile: Profile, most: int, purpose: Purpose | None = None
) -> list[Exchange]:
    """Prepare at most `most` transfers to execute them, and return the exchanges (requests with their answers).

    The door, through which all requests of a run are sent, keeps the transaction code of each answer. The payees are
    the keys of the profile, one after the other. If the code of a transfer was not found, no further transfer is
    prepared, because it could not be executed either. None is prepared if the profile has no `transactions.prepare`. On
    a sandbox the first one is prepared alone, and the others in parallel.
    """
    plan = profile.transactions.prepare
    preparations: list[Exchange] = []
    if plan is None:
        return preparations
    if profile.is_sandbox:
        preparations = _prepare_in_parallel(client, profile, plan, most, purpose)
    while len(preparations) < most:
        is_a_code_missing = client.door.guard.prepared.has("")  # the door keeps "" if an answer has no usable code
        if is_a_code_missing:
            break
        preparations.append(prepare_one_transfer(client, profile, plan, len(preparations), purpose))
    return preparations


def _prepare_in_parallel(
    client: Client, profile: Profile, plan: Prepare, most: int, purpose: Purpose | None
) -> list[Exchange]:
    """Prepare the first of these transfers alone, and if that gave a code, the others in parallel.

    `most` is the number of transfers. Returns the exchanges (requests with their answers). A preparation that was
    refused while others were under way is left out, because a service may prepare only one transfer at a time; the
    caller prepares another one instead.
    """
    if most == 0:
        return []
    preparations = [prepare_one_transfer(client, profile, plan, 0, purpose)]
    if not client.door.guard.prepared.codes_of(preparations):  # the first preparation gave no code
        return preparations
    sends = [partial(_send_preparation, client, profile, plan, number, purpose) for number in range(1, most)]
    for exchange in Together(client).send_all(sends):
        _learn_code(client, profile, plan, exchange)
        was_refused_beside_others = refusal_or_failure(exchange) is not None and not exchange.was_alone
        if not was_refused_beside_others:
            preparations.append(exchange)
    return preparations


def prepare_one_transfer(
    client: Client, profile: Profile, plan: Prepare, number_of_payee: int = 0, purpose: Purpose | None = None
) -> Exchange:
    """Prepare one transfer, and return the exchange: the request with its answer.

    The door, through which all requests of a run are sent, keeps the transaction code of the answer. `plan` says which
    request prepares a transfer, and where its answer has the code. `number_of_payee` says which key of the profile is
    the payee (see `filled_body`).
    """
    exchange = _send_preparation(client, profile, plan, number_of_payee, purpose)
    _learn_code(client, profile, plan, exchange)
    return exchange


def prepare_unusual_transfer(
    client: Client, profile: Profile, unusual: UnusualTransfer, purpose: Purpose | None = None
) -> Exchange | None:
    """Prepare a transfer that is unusual in one way, and return the exchange. It is for a sandbox only.

    The service may refuse the transfer, because no document says which transfers it must prepare. The door, through
    which all requests of a run are sent, keeps the transaction code of the answer. None if the body in the profile has
    no member that could be unusual in this way, or if there is no such body.
    """
    plan = profile.transactions.prepare  # says which request prepares a transfer, and where its answer has the code
    if plan is None:
        return None
    body = filled_body(plan.json, profile)
    unusual_body = _made_unusual(body, unusual)
    has_no_such_member = unusual_body == body  # for example, no text that could be left out
    if has_no_such_member:
        return None
    exchange = client.send(plan.operation, json=unusual_body, purpose=purpose)
    _learn_code(client, profile, plan, exchange)
    return exchange


def _made_unusual(body: Any, unusual: UnusualTransfer) -> Any:
    """A copy of the body of a transfer with another amount or text, or without the text. The other members are equal.

    A body that is no JSON object, or has no such member, is returned as it is.
    """
    if not isinstance(body, dict):
        return body
    unusual_body: dict[str, Any] = {}
    for name, value in body.items():
        is_text = name in _TEXTS
        if is_text and unusual is UnusualTransfer.WITHOUT_A_TEXT:
            continue
        if is_text and unusual is UnusualTransfer.WITH_SPECIAL_CHARACTERS:
            unusual_body[name] = _SPECIAL_CHARACTERS
        elif name == AMOUNT and unusual is UnusualTransfer.SMALL:
            unusual_body[name] = _SMALL_AMOUNT
        else:
            unusual_body[name] = value
    return unusual_body


def _send_preparation(
    client: Client, profile: Profile, plan: Prepare, number_of_payee: int, purpose: Purpose | None
) -> Exchange:
    """Send the request that prepares a transfer to this payee, and return the exchange."""
    body = filled_body(plan.json, profile, number_of_payee)
    return client.send(plan.operation, json=body, valid=True, purpose=purpose)


def _learn_code(client: Client, profile: Profile, plan: Prepare, preparation: Exchange) -> None:
    """Read the transaction code in the answer to a preparation, and have the door keep it for an execution.

    All requests of a run are sent through the door. It also hides the code in reports.

    If the answer has no code that may be sent, a note for the report says why. There is no note if the answer is not as
    documented, because that is a fault of the service and not of the profile.
    """
    door = client.door
    if preparation.response is None or not is_granted(preparation):
        return
    code = code_in(preparation.response, plan.code_at)
    trouble = _why_not_executable(code, preparation, plan, door.secrets, profile.transactions.codes)
    if trouble:
        door.note(NoteSubject.SET_UP, trouble)
        code = ""  # means: the transfer cannot be executed
    door.secrets.learn(CODE, code)  # so that no report shows the code
    door.guard.prepared.note_code(preparation.number, code)


def amounts_of(preparations: Iterable[Exchange]) -> set[object]:
    """The amounts in the requests that prepared these transfers: the numbers in a JSON member `value`, at any depth.

    A judgement compares them with the amount in the execution result. Equal amounts are in the set once.
    """
    amounts: set[object] = set()
    for preparation in preparations:
        body = read_json(preparation.request.body).value
        for path, leaf in leaves_of(body):  # each number or text in the body, with the names that lead to it
            is_named_value = path[-1:] == (AMOUNT,)  # the last name on the path
            if is_named_value and is_number(leaf):
                amounts.add(leaf)
    return amounts


def _why_not_executable(code: str, exchange: Exchange, plan: Prepare, secrets: Secrets, supplied: Iterable[str]) -> str:
    """Reason why a prepared transfer cannot be executed: its answer has no code, or the code may not be sent.

    `code` is the text or number at `code_at`, the place in the answer that the profile names; empty if nothing is
    there. `supplied` are the codes of the profile.

    Returns an empty text if the transfer can be executed. The text is also empty if there is no answer, or an answer
    without `data`, because then the service is at fault and not `code_at`, and the rules for answers report that.
    """
    if not code:
        if exchange.response is None or not data_of(exchange.response):
            return ""
        # Facts are the names and types of the members in an answer: no values, which may be personal.
        facts = facts_as_text(facts_of(exchange.response.json.value))[:_LONGEST_FACTS]
        return (
            f"transactions.prepare.code_at ({plan.code_at}) matches no text and no number in the answer to "
            f"{plan.operation} (exchange {exchange.number}), which holds {facts}: correct code_at; the transfer is not "
            "executed"
        )
    if _code_may_be_sent(code, secrets, supplied):
        return ""
    return (
        f"the code that {plan.operation} gave (exchange {exchange.number}) is not sent: it is not 1 to 200 printable "
        "ASCII characters without blanks, or is dots, a requirement id, a secret of the run or one of "
        "transactions.codes; check transactions.prepare.code_at"
    )


def _code_may_be_sent(code: str, secrets: Secrets, supplied: Iterable[str]) -> bool:
    """True if a text from an answer can only be a transaction code, so that it may be sent in the path of an execution.

    The text is what the answer has at `code_at`, a place that the profile names. A wrong `code_at` may point to
    anything, so these texts are never sent:

    - A text that is too long for a code, or has blanks.
    - A secret, such as the token: a path may be written to the logs of a server.
    - A code of the profile (`supplied`): it is executed as such, and not because an answer names it.
    - `.` and `..`, because they change the path.
    - The id of a requirement, such as `executePix.id`: reports never hide these ids, so the code would be shown.
    """
    has_the_form_of_a_code = _CODE.fullmatch(code) is not None
    if not has_the_form_of_a_code:
        return False
    code_in_lower_case = code.casefold()
    secrets_in_lower_case = {value.value.casefold() for value in secrets.known if value.secret}
    is_secret = code_in_lower_case in secrets_in_lower_case
    contains_the_token = secrets.token().casefold() in code_in_lower_case  # for example `Bearer` and the token
    # `canonical` gives two spellings of a code the same form, such as `ABC1` and `abc1`: a service may take both.
    supplied_codes = {canonical(code_of_profile) for code_of_profile in supplied}
    is_supplied = canonical(code) in supplied_codes
    if is_secret or contains_the_token or is_supplied:
        return False
    is_dots = code in (".", "..")  # as a segment of a path they lead to another path
    return not is_dots and code not in requirements()


def filled_body(body: Any, profile: Profile, number_of_payee: int = 0) -> Any:
    """A request body of the profile with its placeholders replaced: {account}, {key} and {type}.

    The account is the first one of the profile. The key is the payee. Payees are the first key of each type, in the
    order of the profile. `number_of_payee` counts them from 0, and begins again after the last one: with three payees,
    number 3 is the first one.
    """
    first_of_type: dict[str, PixKey] = {}
    for key in profile.pix_keys:
        if key.key:
            first_of_type.setdefault(key.type, key)
    payees = list(first_of_type.values())
    if not payees:
        payees = [PixKey("", "")]  # {key} and {type} become empty
    payee = payees[number_of_payee % len(payees)]
    account = profile.accounts[0] if profile.accounts else ""
    return filled_in(body, account=account, key=payee.key, type=payee.type)
