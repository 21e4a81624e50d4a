"""Transfers that the run prepares for itself, as transactions.prepare says, and the code in each answer."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from environments.door.client import Client
from environments.door.journal import canonical
from environments.profiles.model import PixKey, Prepare, Profile, fill
from environments.secret_values import CODE, Secrets
from spec.answers import is_granted, refuses_the_token
from spec.exchange import Exchange
from spec.facts import facts_of, text_of
from spec.json_text import parts_of_pointer
from spec.requirements import requirements

_LONGEST_CODE = 200
_CODE = re.compile(rf"[!-~]{{1,{_LONGEST_CODE}}}")
_LONGEST_FACTS = 300
"""Characters that say what an answer holds where it has no code."""


def prepare(client: Client, profile: Profile, wanted: int) -> list[Exchange]:
    """Prepare transfers, at most `wanted`; no more where the token is refused, or the code is not at `code_at`."""
    plan, guard = profile.transactions.prepare, client.door.guard
    sent: list[Exchange] = []
    while plan and len(sent) < wanted and not guard.prepared.without_a_code:
        sent.append(prepare_one(client, profile, plan))
        answer = sent[-1].response
        if answer is not None and refuses_the_token(answer):
            break
    return sent


def prepare_one(client: Client, profile: Profile, plan: Prepare) -> Exchange:
    """Prepare one transfer, alone: what is sent meanwhile prepares this one. The guard of the door remembers it, also
    where the run is stopped before the answer."""
    before = len(client.door.exchanges)
    try:
        return client.send(plan.operation, json=filled(plan.json, profile), valid=True)
    finally:
        for exchange in client.door.exchanges[before:]:
            if exchange.operation == plan.operation:
                _remember(client, exchange, plan, profile.transactions.codes)


def _remember(client: Client, exchange: Exchange, plan: Prepare, supplied: Iterable[str]) -> None:
    code, guard = code_in(exchange, plan.code_at), client.door.guard
    if code is not None and (why := _unusable(code, client.door.secrets, supplied)):
        guard.notes.append(
            f"the code that {plan.operation} gave (exchange {exchange.number}) is not sent: it {why}; check "
            "transactions.prepare.code_at"
        )
        code = None
    else:
        guard.notes += _without_a_code(exchange, plan)
    client.door.secrets.learn(CODE, code or "")
    guard.prepared.add(exchange, code)


def _unusable(code: str, secrets: Secrets, supplied: Iterable[str]) -> str:
    """Why a prepared code is never put into an address; empty where it may be."""
    if not _CODE.fullmatch(code):
        return f"is not 1 to {_LONGEST_CODE} printable ASCII characters without blanks"
    if code in (".", "..") or code in requirements():
        return "has a meaning of its own in an address or a report"
    known = {one.value.casefold() for one in secrets.known if one.secret and one.value}
    if code.casefold() in known or secrets.token().casefold() in code.casefold():
        return "holds a secret of the run"
    return "is one of transactions.codes" if canonical(code) in map(canonical, supplied) else ""


def filled(body: Any, profile: Profile) -> Any:
    """A body of the profile with its first account and key."""
    account, key = next(iter(profile.accounts), ""), next(iter(profile.pix_keys), PixKey("", ""))
    return fill(body, account=account, key=key.key, type=key.type)


def code_in(exchange: Exchange, pointer: str) -> str | None:
    """The text or number at a JSON pointer of the answer."""
    value = exchange.response.json.value if exchange.response else None
    for part in parts_of_pointer(pointer):
        if isinstance(value, dict):
            value = value.get(part)
        elif isinstance(value, list) and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
        else:
            return None
    return str(value) if value is not None and not isinstance(value, dict | list | bool) else None


def _without_a_code(exchange: Exchange, plan: Prepare) -> list[str]:
    if exchange.response is None or not is_granted(exchange) or code_in(exchange, plan.code_at):
        return []
    text = exchange.response.json
    facts = text_of(facts_of(text.value))[:_LONGEST_FACTS] if text.readable else "no JSON"
    return [
        f"transactions.prepare.code_at ({plan.code_at}) matches no text and no number in the answer to "
        f"{plan.operation} (exchange {exchange.number}), which holds {facts}: correct code_at; the transfer is not "
        "executed"
    ]
