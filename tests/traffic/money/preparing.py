"""Transfers that the run prepares for itself, as transactions.prepare says, and the code in each answer."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from environments.door.client import Client
from environments.door.door import NoteAbout
from environments.door.journal import canonical
from environments.door.prepared import code_in
from environments.profiles.model import PixKey, Prepare, Profile, fill
from environments.secret_values import CODE, Secrets
from spec.answers import data_of, is_granted
from spec.exchange import Exchange, Purpose
from spec.facts import facts_of, text_of
from spec.json_text import is_number, leaves_of, read_json
from spec.requirements import requirements

_CODE = re.compile("[!-~]{1,200}")
_LONGEST_FACTS = 300
"""Characters that say what an answer holds where it has no code."""


def prepare(client: Client, profile: Profile, wanted: int, purpose: Purpose | None = None) -> list[Exchange]:
    """Prepare transfers, at most `wanted`, with the keys of the profile in turn; no more where the code is not at
    `code_at`."""
    plan, prepared = profile.transactions.prepare, client.door.guard.prepared
    sent: list[Exchange] = []
    while plan and len(sent) < wanted and not prepared.has(""):
        sent.append(prepare_one(client, profile, plan, len(sent), purpose))
    return sent


def prepare_one(
    client: Client, profile: Profile, plan: Prepare, place: int = 0, purpose: Purpose | None = None
) -> Exchange:
    """Prepare one transfer, with the key at this place. Where its answer has no code that may be sent, a note says
    why; none where the answer is not as documented, which is a fault of the service."""
    door, body = client.door, filled(plan.json, profile, place)
    exchange = client.send(plan.operation, json=body, valid=True, purpose=purpose)
    if exchange.response and is_granted(exchange):
        code = code_in(exchange.response, plan.code_at)
        if trouble := _trouble_with(code, exchange, plan, door.secrets, profile.transactions.codes):
            door.note(NoteAbout.SET_UP, trouble)
            code = ""
        door.secrets.learn(CODE, code)
        door.guard.prepared.learn(exchange.number, code)
    return exchange


def amounts_of(preparations: Iterable[Exchange]) -> set[object]:
    """The numbers that these requests have as value."""
    leaves = (leaf for seen in preparations for leaf in leaves_of(read_json(seen.request.body).value))
    return {amount for path, amount in leaves if path[-1:] == ("value",) and is_number(amount)}


def _trouble_with(code: str, exchange: Exchange, plan: Prepare, secrets: Secrets, supplied: Iterable[str]) -> str:
    """A note about a code that may not be sent; empty for any other."""
    if not code and exchange.response and data_of(exchange.response):
        facts = text_of(facts_of(exchange.response.json.value))[:_LONGEST_FACTS]
        return (
            f"transactions.prepare.code_at ({plan.code_at}) matches no text and no number in the answer to "
            f"{plan.operation} (exchange {exchange.number}), which holds {facts}: correct code_at; the transfer is not "
            "executed"
        )
    folded, known = code.casefold(), {one.value.casefold() for one in secrets.known if one.secret}
    is_secret = folded in known or secrets.token().casefold() in folded
    has_a_meaning = code in (".", "..") or code in requirements() or canonical(code) in map(canonical, supplied)
    if not code or (_CODE.fullmatch(code) and not is_secret and not has_a_meaning):
        return ""
    return (
        f"the code that {plan.operation} gave (exchange {exchange.number}) is not sent: it is not 1 to 200 printable "
        "ASCII characters without blanks, or is dots, a requirement id, a secret of the run or one of "
        "transactions.codes; check transactions.prepare.code_at"
    )


def filled(body: Any, profile: Profile, place: int = 0) -> Any:
    """A body of the profile with its first account, and one of its keys: the first of each type in turn."""
    first = {key.type: key for key in reversed(profile.pix_keys) if key.key}
    keys = [*first.values()] or [PixKey("", "")]
    key = keys[~place % len(keys)]  # from the end: the first type was put in last
    return fill(body, account=next(iter(profile.accounts), ""), key=key.key, type=key.type)
