"""Transfers that the run prepares for itself, and the transaction code in each answer.

Executions need such a code ("GET /v1/execute/pix/{transactionId}" in the interface document). `execution.py`,
`stateful.py` and `undescribed.py` have transfers prepared. The profile says in `transactions.prepare` which request
prepares one, and where its answer has the code.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import partial
from typing import Any

from environments.door.client import Client
from environments.door.door import NoteAbout
from environments.door.journal import canonical
from environments.door.prepared import code_in
from environments.profiles.model import PixKey, Prepare, Profile, fill
from environments.secret_values import CODE, Secrets
from spec.answers import data_of, is_granted, refused_or_lost
from spec.exchange import Exchange, Purpose
from spec.facts import facts_as_text, facts_of
from spec.json_text import is_number, leaves_of, read_json
from spec.requirements import requirements
from tests.traffic.together import Together

_CODE = re.compile("[!-~]{1,200}")
"""A code that may be sent: printable ASCII without blanks. A text of more than 200 characters is rather a token or a
page."""
_LONGEST_FACTS = 300
"""Characters of a note that say what an answer holds if it has no code: about three lines."""


def prepare(client: Client, profile: Profile, most: int, purpose: Purpose | None = None) -> list[Exchange]:
    """Prepare at most this many transfers, to the keys of the profile in turn, and return the exchanges.

    No further transfer is prepared after one whose code was not found, because it cannot be executed. None is prepared
    if the profile does not say how. On a sandbox the first one is prepared alone, and the others at the same time.
    """
    plan = profile.transactions.prepare
    preparations: list[Exchange] = []
    if plan is None:
        return preparations
    if profile.is_sandbox:
        preparations = _prepare_at_once(client, profile, plan, most, purpose)
    while len(preparations) < most:
        lacks_a_code = client.door.guard.prepared.has("")  # the code of a transfer whose code was not found
        if lacks_a_code:
            break
        preparations.append(prepare_one(client, profile, plan, len(preparations), purpose))
    return preparations


def _prepare_at_once(
    client: Client, profile: Profile, plan: Prepare, most: int, purpose: Purpose | None
) -> list[Exchange]:
    """Prepare the first of these transfers alone, and if that gave a code, the others at the same time.

    Returns the exchanges without those that were refused beside others, because a service may do one at a time.
    """
    preparations = [prepare_one(client, profile, plan, 0, purpose)] if most else []
    if not client.door.guard.prepared.codes_of(preparations):
        return preparations
    sends = [partial(_send_preparation, client, profile, plan, place, purpose) for place in range(1, most)]
    for exchange in Together(client).send_all(sends):
        _learn_code(client, profile, plan, exchange)
        if exchange.was_alone or not refused_or_lost(exchange):
            preparations.append(exchange)
    return preparations


def prepare_one(
    client: Client, profile: Profile, plan: Prepare, place: int = 0, purpose: Purpose | None = None
) -> Exchange:
    """Prepare one transfer, and return the exchange. The door learns the code in its answer.

    `place` says which key of the profile is the payee: its number is counted from 0, and begins again at the end.
    """
    exchange = _send_preparation(client, profile, plan, place, purpose)
    _learn_code(client, profile, plan, exchange)
    return exchange


def _send_preparation(client: Client, profile: Profile, plan: Prepare, place: int, purpose: Purpose | None) -> Exchange:
    """Send the request that prepares a transfer. `place` says which key of the profile is the payee."""
    body = filled(plan.json, profile, place)
    return client.send(plan.operation, json=body, valid=True, purpose=purpose)


def _learn_code(client: Client, profile: Profile, plan: Prepare, preparation: Exchange) -> None:
    """Have the door learn the transaction code in an answer.

    If the answer has no code that may be sent, a note for the report says why. There is no note if the answer is not as
    documented, because that is a fault of the service and not of the profile.
    """
    door = client.door
    if preparation.response is None or not is_granted(preparation):
        return
    code = code_in(preparation.response, plan.code_at)
    trouble = _trouble_with(code, preparation, plan, door.secrets, profile.transactions.codes)
    if trouble:
        door.note(NoteAbout.SET_UP, trouble)
        code = ""  # the door takes the empty code for a transfer that cannot be executed
    door.secrets.learn(CODE, code)
    door.guard.prepared.learn(preparation.number, code)


def amounts_of(preparations: Iterable[Exchange]) -> set[object]:
    """The amounts of transfers: the numbers that these requests have in a member `value`."""
    amounts: set[object] = set()
    for preparation in preparations:
        for path, leaf in leaves_of(read_json(preparation.request.body).value):
            is_in_value = path[-1:] == ("value",)
            if is_in_value and is_number(leaf):
                amounts.add(leaf)
    return amounts


def _trouble_with(code: str, exchange: Exchange, plan: Prepare, secrets: Secrets, supplied: Iterable[str]) -> str:
    """Why the code of a prepared transfer cannot be executed: the answer has none, or it may not be sent.

    Empty if it can. `code` is the text or number at `code_at`; `supplied` are the codes of the profile. Empty, too, for
    an answer without data, because it is not as documented.
    """
    answer_has_data = bool(data_of(exchange.response))
    if exchange.response and answer_has_data and not code:
        facts = facts_as_text(facts_of(exchange.response.json.value))[:_LONGEST_FACTS]
        return (
            f"transactions.prepare.code_at ({plan.code_at}) matches no text and no number in the answer to "
            f"{plan.operation} (exchange {exchange.number}), which holds {facts}: correct code_at; the transfer is not "
            "executed"
        )
    if not code or _code_may_be_sent(code, secrets, supplied):
        return ""
    return (
        f"the code that {plan.operation} gave (exchange {exchange.number}) is not sent: it is not 1 to 200 printable "
        "ASCII characters without blanks, or is dots, a requirement id, a secret of the run or one of "
        "transactions.codes; check transactions.prepare.code_at"
    )


def _code_may_be_sent(code: str, secrets: Secrets, supplied: Iterable[str]) -> bool:
    """True if the text at `code_at` in an answer can be nothing but a transaction code, so that it may be sent.

    A wrong `code_at` may point to anything. So a secret is never sent in a path, and a code of the profile is not
    executed because an answer names it. Dots would change the path, and reports would mistake the id of a requirement.
    """
    folded_code = code.casefold()
    folded_secrets = {value.value.casefold() for value in secrets.known if value.secret}
    is_secret = folded_code in folded_secrets or secrets.token().casefold() in folded_code
    is_supplied = canonical(code) in map(canonical, supplied)
    has_a_meaning = code in (".", "..") or code in requirements() or is_supplied
    has_the_form_of_a_code = _CODE.fullmatch(code) is not None
    return has_the_form_of_a_code and not (is_secret or has_a_meaning)


def filled(body: Any, profile: Profile, place: int = 0) -> Any:
    """A body of the profile, in which its first account and one of its keys are filled in.

    The keys are the first one of each type, in the order of the profile. `place` counts through them, and begins again
    at the end.
    """
    first_of_type: dict[str, PixKey] = {}
    for key in profile.pix_keys:
        if key.key:
            first_of_type.setdefault(key.type, key)
    keys = list(first_of_type.values()) or [PixKey("", "")]
    key_in_turn = keys[place % len(keys)]
    account = next(iter(profile.accounts), "")
    return fill(body, account=account, key=key_in_turn.key, type=key_in_turn.type)
