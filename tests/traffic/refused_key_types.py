"""Whether a documented key type is refused wrongly. That is certain only where another type is accepted from the same
account before the refusal and after it. Where no registration is understood, one may need more than is documented."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from itertools import islice
from typing import Any

from environments.door.client import NOTHING
from environments.profiles.model import PixKey
from spec.answers import RefusalKind, refusal_kind, registered
from spec.exchange import Exchange
from spec.facts import is_name
from spec.findings import Judgement, deviates, finding, holds, inconclusive
from spec.json_text import read_json
from spec.key_list import UUID
from spec.message import Message, joined, say
from spec.observed import indistinguishable
from tests.traffic.registrar import (
    UNKNOWN_KEY,
    Attempted,
    Registrar,
    is_refused_outright,
    is_understood,
    registration,
)

EXTRA_HEADERS = tuple(
    (name, "pixconf-0001")
    for name in (
        "X-Request-Id", "X-Correlation-Id", "X-Idempotency-Key", "Idempotency-Key", "X-Client-Id", "X-Api-Key",
        "X-Api-Version", "X-Channel", "X-Tenant", "X-Tenant-Id", "X-Trace-Id",
    )
)  # fmt: skip
"""Headers that a service might ask for beyond the interface document."""
OTHER_NAMES = {
    "pixKey": ("key", "Key", "PixKey", "pix_key", "pixkey", "chave", "chavePix"),
    "pixKeyType": ("type", "Type", "PixKeyType", "pix_key_type", "keyType", "kind", "tipo", "tipoChave"),
    "account": ("accountId", "Account", "AccountId", "account_id", "accountNumber", "conta"),
}
"""Other names that a service might have for the fields of the body."""
REMOVED = ("from", "to", "value", "date", "description")
"""Fields that the change history calls removed."""
_WAITS_S = (0.0, 0.2, 0.5)
"""Waits before a registration is repeated whose key type is refused, as the account may be busy."""
_MOST_NAMED = 24
"""Words of a refusal that may name what the service asks for."""


def explain_refusals(registrar: Registrar, keys: list[PixKey]) -> None:
    """Find out for each type of these keys whether it is accepted."""
    found, first = registrar.found, {key.type: key for key in reversed(keys)}
    refused = list(filter(is_refused_outright, found.fresh))
    if refused and not found.understood and not found.effects:
        _seek_what_is_needed(registrar, first[type_sent(refused[0])], refused[0])
    spelled = (*found.tried[Attempted.LOWER_CASE], *found.tried[Attempted.NUMERIC])
    accepted = [*found.accepted, *filter(registered, spelled)]
    for name, key in first.items():
        if tried := [seen for seen in found.fresh if type_sent(seen) == name]:
            others = (seen for seen in accepted if type_sent(seen) != name and _may_be_sent_again(registrar, seen))
            found.key_types[name] = _explain(registrar, key, tried, next(others, None))


def type_sent(exchange: Exchange) -> str:
    """The key type that a registration names."""
    return str(read_json(exchange.request.body).value["pixKeyType"])


def _may_be_sent_again(registrar: Registrar, accepted: Exchange) -> bool:
    """True if the key that it registered was deleted."""
    key = registrar.keys.key_of(accepted)
    return key is not None and key.value is not None and registrar.keys.seems_free(key.value)


# -- one key type -----------------------------------------------------------------------------------------------


def _explain(registrar: Registrar, key: PixKey, tried: list[Exchange], accepted: Exchange | None) -> Judgement:
    """`accepted` is a registration of another type that may be sent again."""
    found, last = registrar.found, tried[-1]
    if understood := [seen for seen in tried if is_understood(seen) or seen in found.effects]:
        return holds(understood[0])
    if not any(map(is_refused_outright, tried)):
        return inconclusive(
            say("no {type} key was registered: {answer}", type=key.type, answer=say(last.summary)), last
        )
    if found.broken:
        return inconclusive(say("refused, which {requirement} answers for", requirement=next(iter(found.broken))), last)
    if key.type == "RANDOM" and registrar.holds_an_unknown_key():
        return inconclusive(UNKNOWN_KEY)
    return _compare(registrar, key, accepted)


def _compare(registrar: Registrar, key: PixKey, accepted: Exchange | None) -> Judgement:
    """Send the registration again, and one of another type after it."""
    for refused in _register_on_and_on(registrar, key):
        if is_understood(refused):
            registrar.undo(refused)
            return holds(refused)
    remedy = say("where the account may have no such key, set not_for_this_account: [{type}]", type=key.type)
    kind, answer = refused.response and refusal_kind(refused.response), say(refused.summary)
    is_about_it = kind in (RefusalKind.CONTENT, RefusalKind.MEDIA_TYPE)
    if accepted is not None and is_about_it and not _is_listed(registrar, key):
        control = registrar.register(key, json=NOTHING, body=accepted.request.body, valid=accepted.valid)
        registrar.undo(control)
        if registered(control):
            other = type_sent(accepted)
            found = finding("key-type-refused", name=key.type, answer=answer, other=other, remedy=remedy)
            return deviates(found, refused, accepted, control)
    why = say("refused ({answer}), which may have another reason", answer=answer)
    return inconclusive(joined((why, remedy)), refused)


def _register_on_and_on(registrar: Registrar, key: PixKey) -> Iterator[Exchange]:
    for wait_s in _WAITS_S:
        time.sleep(wait_s)
        yield registrar.register(key)


def _is_listed(registrar: Registrar, key: PixKey) -> bool:
    """True if any text of the list may be the key: it is refused because it is there, or waits. An account may have only
    so many keys that a service makes."""
    listing = registrar.look()
    if listing is None:
        return False
    if key.key:
        sent = (read_json(seen.request.body).value for seen in registrar.found.fresh)
        return any(listing.mentions(each["pixKey"]) for each in sent if each["pixKeyType"] == key.type)
    made = listing.all_texts - registrar.keys.values
    return any(UUID.fullmatch(text) or text.upper() in ("RANDOM", "EVP") for text in made)


# -- all of them ------------------------------------------------------------------------------------------------


def _seek_what_is_needed(registrar: Registrar, key: PixKey, refused: Exchange) -> None:
    """Where no registration is understood, send one with one difference after the other. `found.broken` says what the
    service needs: what is accepted, while the documented registration is refused as before."""
    for requirement, what, sent in _differences(registration(key, registrar.account), refused):
        accepted = registrar.register(key, **sent, valid=False)
        if registered(accepted):
            registrar.undo(accepted)
            if all(indistinguishable(again, refused) for again in _register_on_and_on(registrar, key)):
                breach = finding("key-needs-more", name=key.type, what=what)
                registrar.found.broken[requirement] = deviates(breach, refused, accepted)
            return


def _differences(body: dict[str, Any], refused: Exchange) -> Iterator[tuple[str, Message, dict[str, Any]]]:
    """Each one difference: the requirement that it would break, a name for people, and what is sent. More is all at once:
    the fields that were removed, the usual headers, and as field, header and query what the refusal may name."""
    text = refused.response.body[:2000].decode("utf-8", "replace") if refused.response else ""
    words = filter(is_name, re.findall(r"[A-Za-z][A-Za-z0-9_-]{2,29}", text))  # no name of somebody
    named = set(islice(words, _MOST_NAMED)) - set(body)
    more = {
        "json": {**dict.fromkeys((*REMOVED, *named), body["account"]), **body},
        "headers": [*EXTRA_HEADERS, *((name, "pixconf") for name in named if name.lower().startswith("x-"))],
        "query": "?" + "&".join(f"{name}=pixconf" for name in named),
    }
    yield "registerPixKey.body.sufficient", say("further fields, headers and a query"), more
    for name, others in OTHER_NAMES.items():
        renamed = {**body, **dict.fromkeys(others, body[name])}
        yield f"registerPixKey.body.{name}", say("another name for {name}", name=name), {"json": renamed}
