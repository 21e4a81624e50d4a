"""The key registrations of a run: what must be refused, and what must be accepted; and which key types are.

A documented key type is refused wrongly for sure only where the account gets another type before and after it. Where no
registration is understood, one may need more than is documented.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, groupby, islice
from typing import Any
from uuid import uuid4

from environments.door.wrong_tokens import ANOTHER, NO_HEADER, OTHER_SCHEMES, REGISTERED, Row, forms
from environments.profiles.loading import NO_REGISTRATION, NOTHING_TO_REGISTER
from environments.profiles.model import PixKey
from spec.answers import RefusalKind, refusal_kind, registered
from spec.exchange import VALID, Exchange
from spec.facts import is_name
from spec.findings import Judgement, deviates, finding, holds, inconclusive
from spec.interface import MARK
from spec.key_list import UUID
from spec.message import Message, joined, say
from spec.observed import indistinguishable
from spec.rules import ROBUSTNESS
from tests.traffic.case import EXTRA_HEADERS
from tests.traffic.effects import decide_suspicions, look_for_effect, lost
from tests.traffic.refused_credentials import to_try
from tests.traffic.registrar import (
    UNKNOWN_KEY,
    Attempted,
    Registrar,
    Registrations,
    body_sent,
    given,
    is_refused_outright,
    is_understood,
    registration,
    type_sent,
)
from tests.traffic.scenario import Traffic, scenario

_REGISTER = "registerPixKey"
NOTHING_TO_DELETE = (
    "no key was registered whose value is known: supply one in pix_keys that is not RANDOM and not registered yet"
)
UNDOCUMENTED_TYPES = ("IBAN", "PASSPORT", "CELLPHONE", "TAX_ID", f"{MARK}type")
_ROBUST = tuple(f"registerPixKey.{what}" for what in ROBUSTNESS)
SHOWN_BY_WRONG_TOKENS = ("registerPixKey.token.required", "registerPixKey.refusal", *_ROBUST)
"""The requirements that registrations with a wrong token are for."""
_TAKEN, _REGISTERED = Row(VALID), [Row(name, (REGISTERED,)) for name in (NO_HEADER, ANOTHER)]
_BEHIND = 2  # wrong tokens that go right behind each registration
OTHER_NAMES = {
    "pixKey": ("key", "Key", "PixKey", "pix_key", "pixkey", "chave", "chavePix"),
    "pixKeyType": ("type", "Type", "PixKeyType", "pix_key_type", "keyType", "kind", "tipo", "tipoChave"),
    "account": ("accountId", "Account", "AccountId", "account_id", "accountNumber", "conta"),
}
"""Other names that a service might have for the fields of the body."""
REMOVED = ("from", "to", "value", "date", "description")  # as the change history calls them
_WAITS_S = (0.0, 0.2, 0.5)  # before a registration is repeated whose key type is refused: the account may be busy


@scenario(
    shows=["registerPixKey.*", "deletePixKey.*"],
    needs="register-keys",
    alone=True,
    otherwise=Registrations(missing=NO_REGISTRATION),
)
def register(traffic: Traffic) -> Registrations:
    """Register keys and delete them, with the requests that are to be refused."""
    client, profile = traffic.client, traffic.profile
    if not profile.accounts or not profile.pix_keys:
        return Registrations(missing=NOTHING_TO_REGISTER.format("pix_keys" if profile.accounts else "accounts"))
    registrar = Registrar(client, profile)
    registrar.found.key_types = {key.type: inconclusive(say("not reached")) for key in profile.pix_keys}
    _register(registrar, registrar.choose_keys(), traffic)
    explain_refusals(registrar)
    registrar.clean_up()
    return registrar.found


def _register(registrar: Registrar, keys: list[PixKey], traffic: Traffic) -> None:
    """Register each key twice: alone, and beside others. The synthetic one is first: an account may hold one more."""
    wants = traffic.reach.wants
    rows, taken = (to_try(traffic, _REGISTER), _REGISTERED) if wants(*SHOWN_BY_WRONG_TOKENS) else ([], [])
    wrong = iter(rows)
    free = [key for key in registrar.synthetic_keys() if _register_new(registrar, key, iter(()), taken)]
    if wants(*SHOWN_BY_WRONG_TOKENS):
        own = (keys if registrar.profile.is_sandbox else []) or [registrar.key_of_nobody()]
        _send(registrar, Attempted.WITHOUT_A_TOKEN, *((key, Row(NO_HEADER)) for key in own), company=True)
    if registrar.deletes and wants("registerPixKey.token.scheme", *_ROBUST):
        tries = ((registrar.key_of_nobody(), Row(form.name)) for form in forms(registrar.profile, among=OTHER_SCHEMES))
        _send(registrar, Attempted.OTHER_SCHEME, *tries, company=True)
    registrar.clean_up()  # what was refused, and registered all the same, is in the way
    registrar.look()
    registrar.client.send_to_siblings(_REGISTER, registrar.account, body=b"{}")  # what comes next may suffer from it
    free += [key for key in given(keys) if _register_new(registrar, key, wrong)]
    _send_undocumented(registrar, keys if registrar.deletes else [])
    if registrar.deletes and registrar.together.is_possible:
        _register_beside_each_other(registrar, free)
    elif registrar.deletes:
        free = [key for key in free if _register_new(registrar, key, wrong)]
    for unusual, found in groupby(sorted(wrong, key=lambda row: row.written != ()), lambda row: row.written != ()):
        tries = ((registrar.key_of_nobody(), row) for row in found)
        _send(registrar, Attempted.WITHOUT_A_TOKEN, *tries, company=not unusual)
    if registrar.deletes:
        _send_other_spellings(registrar)
    _register_random(registrar, keys)  # last, as a key that the service made may be beyond deletion
    registrar.clean_up()
    decide_suspicions(registrar)
    registrar.clean_up()


# -- what must be refused, or may be ------------------------------------------------------------------------------


def _send(registrar: Registrar, what: Attempted, *tries: tuple[PixKey, Row], company: bool = False) -> None:
    """Send keys, each with a row of the table, at the same time, and delete what is granted at once. With `company`,
    valid requests that do nothing are under way."""
    sends = [partial(registrar.register, key, valid=False, **row._asdict()) for key, row in tries]
    together = registrar.together
    answers = together.send_each_with_a_companion(_REGISTER, *sends) if company else together.send_all(sends)
    sent = [answer for answer in answers if answer.number]  # 0: limits.wrong_tokens is spent
    registrar.found.tried[what] += sent
    registrar.undo_all(sent)


def _send_undocumented(registrar: Registrar, keys: Sequence[PixKey]) -> None:
    """Types that are not documented, and the Central Bank's own name for RANDOM: on a sandbox of these keys, as far as
    there are any."""
    own = keys if registrar.profile.is_sandbox else ()
    sent = chain(given(own), iter(registrar.key_of_nobody, None))
    made = [key for key in own if key.type == "RANDOM"]  # elsewhere a service may make a key that nobody can name
    names = [replace(key, type="EVP") for key in (next(sent), *made)]
    _send(registrar, Attempted.OTHER_NAME, *((key, _TAKEN) for key in names))
    others = [replace(key, type=name) for name, key in zip(UNDOCUMENTED_TYPES, chain(made[:1], sent), strict=False)]
    _send(registrar, Attempted.UNDOCUMENTED_TYPE, *((key, _TAKEN) for key in others))


def _send_other_spellings(registrar: Registrar) -> None:
    """Types in lower case and as digits: the interface document does not say that they are refused, nor accepted."""
    [key, *_] = registrar.that_come_and_go() or [registrar.key_of_nobody()]
    _send(registrar, Attempted.LOWER_CASE, (replace(key, type=key.type.lower()), _TAKEN))
    for number in ("1", "3"):
        _send(registrar, Attempted.NUMERIC, (replace(key, type=number), _TAKEN))


# -- what must be accepted --------------------------------------------------------------------------------------


def _register_new(registrar: Registrar, key: PixKey, wrong: Iterator[Row], taken: Sequence[Row] = ()) -> bool:
    """Register the key as a new one, with wrong tokens right behind it, those for the key itself last, and delete it.
    True where it is free again."""
    before, found = registrar.listing, registrar.found
    seems_free = registrar.keys.seems_free(key.key)
    exchange = registrar.register(key)
    found.fresh += [exchange] if seems_free else []
    if registered(exchange):
        for row in islice(wrong, _BEHIND):
            _send(registrar, Attempted.WITHOUT_A_TOKEN, (registrar.key_of_nobody(), row))
        _send(registrar, Attempted.WITHOUT_A_TOKEN, *((key, row) for row in taken))
        listing = registrar.look()
        if listing is not None and (places := listing.places(key.key, key.type)):
            registrar.references[key.key] = places
        found.repeated.append(registrar.register(key))
    else:
        look_for_effect(registrar, key, exchange, before)
    return registrar.undo(exchange) and registrar.keys.seems_free(key.key)


def _register_beside_each_other(registrar: Registrar, keys: list[PixKey]) -> None:
    """Register keys at the same time that were registered one after the other before, and delete them. The first one
    and a read of the list, where it is permitted, leave at the same moment: that list says nothing of the keys. One
    that the list does not show later, although it showed all of them before, is lost."""
    found, together = registrar.found, registrar.together
    sends: list[Callable[[], Exchange]] = [partial(registrar.register, key) for key in keys]
    if keys and registrar.may_list:
        read = partial(registrar.client.send, "listPixKeys", registrar.account, valid=True)
        sends[:1] = together.meeting(read, sends[0])
    sent, reads = together.send_all(sends), len(sends) - len(keys)
    answers, found.read_beside = sent[reads:], sent[:reads]
    found.lost = lost(registrar, [(seen, key) for seen, key in zip(answers, keys, strict=True) if registered(seen)])
    registrar.undo_all(answers)


def _register_random(registrar: Registrar, keys: list[PixKey]) -> None:
    """Register each RANDOM key of the profile, and delete it; none while one of unknown value is left. How such a key
    is asked for is not shown: as the profile does, with a UUID, or without pixKey."""
    found = registrar.found
    for key in (key for key in keys if key.type == "RANDOM"):
        body = registration(key, registrar.account)
        without = {name: value for name, value in body.items() if name != "pixKey"}
        for sent in (body, {**body, "pixKey": str(uuid4())}, without):
            before = registrar.look()  # first: it may show that one of unknown value is not there
            if registrar.holds_an_unknown_key():
                found.key_types[key.type] = inconclusive(UNKNOWN_KEY)
                return
            exchange = registrar.register(sent)
            found.fresh.append(exchange)
            look_for_effect(registrar, replace(key, key=sent.get("pixKey", "")), exchange, before)
            registrar.undo(exchange)
            if not is_refused_outright(exchange):
                break


# -- which key types are accepted -------------------------------------------------------------------------------------


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
    one of another type."""
    found, refused, name = registrar.found, tried[-1], type_sent(tried[-1])
    if understood := [seen for seen in tried if is_understood(seen) or seen in found.effects]:
        return holds(understood[0])
    kind, answer = refused.response and refusal_kind(refused.response), say(refused.summary)
    remedy = say("where the account may have no such key, set not_for_this_account: [{type}]", type=name)
    is_about_it = kind in (RefusalKind.CONTENT, RefusalKind.MEDIA_TYPE) and not found.broken
    if is_about_it and not (name == "RANDOM" and registrar.holds_an_unknown_key()):
        for again in _send_on_and_on(registrar, refused):
            if is_understood(again):
                registrar.undo(again)
                return holds(again)
        if controls := [] if _is_listed(registrar, refused) else _accept_another(registrar, name):
            other = type_sent(controls[0])
            breach = finding("key-type-refused", name=name, answer=answer, other=other, remedy=remedy)
            return deviates(breach, refused, *controls)
    why = say("no {type} key was registered: {answer}", type=name, answer=answer)
    return inconclusive(joined((why, remedy)), refused)


def _send_on_and_on(registrar: Registrar, refused: Exchange) -> Iterator[Exchange]:
    for wait_s in _WAITS_S:
        time.sleep(wait_s)
        yield registrar.register(body_sent(refused))


def _is_listed(registrar: Registrar, refused: Exchange) -> bool:
    """True if any text of the list may be the key: it is refused because it is there, or waits. An account may have
    only so many keys that a service makes."""
    listing, key = registrar.look(), body_sent(refused).get("pixKey")
    if listing is None or (key and listing.mentions(key)):
        return listing is not None
    return type_sent(refused) == "RANDOM" and any(map(UUID.fullmatch, listing.all_texts - registrar.keys.values))


def _accept_another(registrar: Registrar, name: str) -> list[Exchange]:
    """A registration of another type that was accepted and is undone, and the same one accepted again; else nothing."""
    found = registrar.found
    spelled = (*found.tried[Attempted.LOWER_CASE], *found.tried[Attempted.NUMERIC])
    for accepted in (*found.accepted, *filter(registered, spelled)):
        if type_sent(accepted) != name and registrar.undo(accepted):
            control = registrar.register(body_sent(accepted), valid=accepted.valid)
            registrar.undo(control)
            return [accepted, control] if registered(control) else []
    return []


def _seek_what_is_needed(registrar: Registrar, refused: Exchange) -> None:
    """Send registrations with one difference each, if none is understood. `found.broken` says what the service needs:
    what is accepted, while the documented registration is refused as before."""
    for requirement, what, sent in _differences(refused):
        accepted = registrar.register(body_sent(refused), **sent, valid=False)
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
