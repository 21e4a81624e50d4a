"""The key types that are accepted, by the registrations of a run and by more of them.

A documented key type is refused wrongly for sure only where the account gets another type before and after it. Where no
registration is understood, one may need more than is documented.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from itertools import islice
from typing import Any

from spec.answers import ABOUT_THE_REQUEST, RefusalKind, answer_in_words, refused_or_lost, registered
from spec.exchange import Exchange
from spec.facts import is_name
from spec.findings import Judgement, deviates, finding, holds, inconclusive
from spec.key_list import UUID
from spec.message import Message, joined, say
from spec.observed import indistinguishable
from tests.traffic.case import EXTRA_HEADERS
from tests.traffic.registrar import Registering, Registrar, body_sent, is_refused_outright, is_understood, type_sent

OTHER_NAMES = {
    "pixKey": ("key", "PixKey", "pix_key", "chave"),
    "pixKeyType": ("type", "PixKeyType", "pix_key_type", "keyType", "tipo"),
    "account": ("accountId", "Account", "account_id", "conta"),
}
"""Other names that a service might have for the fields of the body."""
REMOVED = ("from", "to", "value", "date", "description")  # as the change history calls them
_FULL = say("the account may hold no more keys: delete some, or name another one")
_LISTED = say(
    "the list shows such a key: perhaps it waits to be confirmed by its owner, or the account may have no other one"
)
_WAITS_S = (0.0, 0.2, 0.5)  # before a registration is repeated whose key type is refused: the account may be busy


def explain_refusals(registrar: Registrar) -> None:
    """Find out for each key type that was tried whether it is accepted."""
    found = registrar.found
    refused = list(filter(is_refused_outright, found.fresh))
    if refused and not found.understood and not found.effects:
        _seek_what_is_needed(registrar, refused[0])
    for name in found.key_types:
        if tried := [seen for seen in found.fresh if type_sent(seen) == name]:
            found.key_types[name] = _explain(registrar, tried)


def _explain(registrar: Registrar, tried: list[Exchange]) -> Judgement:
    """The judgement of one key type by the registrations of it. What is refused for its type is sent again, and then
    one of another type: where that is refused now, too, or nothing else is accepted, the account may be full."""
    found, refused, name = registrar.found, tried[-1], type_sent(tried[-1])
    if understood := [seen for seen in tried if is_understood(seen) or seen in found.effects]:
        return holds(understood[0])
    kind, answer = refused_or_lost(refused), answer_in_words(refused)
    why = say("no {type} key was registered: {answer}", type=name, answer=answer)
    if found.broken or kind not in {*ABOUT_THE_REQUEST, RefusalKind.FORBIDDEN}:
        return inconclusive(why, refused)
    is_about_it = kind in (RefusalKind.CONTENT, RefusalKind.MEDIA_TYPE)
    is_about_it &= not (name == "RANDOM" and registrar.holds_an_unknown_key())
    for again in _send_on_and_on(registrar, refused) if is_about_it else ():
        if is_understood(again):
            registrar.undo(again)
            return holds(again)
    if _look_whether_listed(registrar, refused):
        return inconclusive(joined((why, _LISTED)), refused)
    remedy = say("where the account may have no such key, set not_for_this_account: [{type}]", type=name)
    controls = _accept_another(registrar, name) if is_about_it else []
    if controls and registered(controls[-1]):
        breach = finding("key-type-refused", name=name, answer=answer, other=type_sent(controls[0]), remedy=remedy)
        return deviates(breach, refused, *controls)
    alike = (indistinguishable(seen, refused) for seen in found.fresh if type_sent(seen) != name)
    is_full = controls or not found.understood or any(alike)
    return inconclusive(joined((why, _FULL if is_full else remedy)), refused)


def _send_on_and_on(registrar: Registrar, refused: Exchange) -> Iterator[Exchange]:
    for wait_s in _WAITS_S:
        time.sleep(wait_s)
        yield registrar.register(body_sent(refused), Registering.AFTER_A_REFUSAL)


def _look_whether_listed(registrar: Registrar, refused: Exchange) -> bool:
    """True if any text of the list may be the key: it is refused because it is there, or waits. An account may have
    only so many keys that a service makes."""
    listing, key = registrar.look(), body_sent(refused).get("pixKey")
    if listing is None or (key and listing.may_show(key)):
        return listing is not None
    return type_sent(refused) == "RANDOM" and any(map(UUID.fullmatch, listing.all_texts - registrar.keys.values))


def _accept_another(registrar: Registrar, name: str) -> list[Exchange]:
    """A registration of another type that was accepted and is undone, and the same one sent again; else nothing."""
    found = registrar.found
    otherwise = found.tried(Registering.LOWER_CASE) + found.tried(Registering.NUMERIC)
    for accepted in filter(registered, found.answers + otherwise):
        if type_sent(accepted) != name and registrar.undo(accepted):
            control = registrar.register(body_sent(accepted), Registering.OF_ANOTHER_TYPE, valid=accepted.valid)
            registrar.undo(control)
            return [accepted, control]
    return []


def _seek_what_is_needed(registrar: Registrar, refused: Exchange) -> None:
    """Send registrations with one difference each, if none is understood. `found.broken` says what the service needs:
    what is accepted, while the documented registration is refused as before."""
    for requirement, what, sent in _differences(refused):
        purpose = Registering.WITH_A_DIFFERENCE
        accepted = registrar.register(body_sent(refused), purpose, **sent, valid=False)
        if registered(accepted):
            registrar.undo(accepted)
            if all(indistinguishable(again, refused) for again in _send_on_and_on(registrar, refused)):
                breach = finding("key-needs-more", name=type_sent(refused), what=what)
                registrar.found.broken[requirement] = deviates(breach, refused, accepted)
            return


def _differences(refused: Exchange) -> Iterator[tuple[str, Message, dict[str, Any]]]:
    """Each one difference: the requirement that it would break, a name for people, and what is sent. More is all at
    once: the fields that were removed, the usual headers, and as field, header and query what the refusal may name."""
    text = refused.response.body[:2000].decode("utf-8", "replace") if refused.response else ""
    words = filter(is_name, re.findall(r"[A-Za-z][A-Za-z0-9_-]{2,29}", text))  # no name of somebody
    body, named = body_sent(refused), list(islice(words, 24))  # enough for what it asks for
    more = {
        "json": {**dict.fromkeys((*REMOVED, *named), body["account"]), **body},
        "headers": [*EXTRA_HEADERS, *((name, "pixconf") for name in named if name.lower().startswith("x-"))],
        "query": "?" + "&".join(f"{name}=pixconf" for name in named),
    }
    yield "registerPixKey.body.sufficient", say("further fields, headers and a query"), more
    everything = dict(body)
    for name, others in OTHER_NAMES.items():
        renamed = {**body, **dict.fromkeys(others, body[name])}
        everything |= renamed
        yield f"registerPixKey.body.{name}", say("another name for {name}", name=name), {"json": renamed}
    yield "registerPixKey.body.pixKey", say("other names for all fields"), {"json": everything}
