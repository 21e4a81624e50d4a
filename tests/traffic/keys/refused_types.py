"""The key types that are refused: what is sent to find out why, and what the log says of each type.

A documented key type is refused wrongly for sure only where the account gets another type before and after it. Where no
registration is understood, one may need more than is documented.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from environments.profiles.model import Profile
from spec.answers import ABOUT_THE_REQUEST, RefusalKind, answer_in_words, refused_or_lost, registered
from spec.exchange import Exchange
from spec.facts import is_name
from spec.findings import Judgement, deviates, finding, holds, inconclusive
from spec.key_list import UUID
from spec.log import Log
from spec.message import Message, Text, joined, say
from spec.observed import indistinguishable
from tests.traffic.case import EXTRA_HEADERS
from tests.traffic.keys.listed import KeyLists, refused_with_effect
from tests.traffic.keys.purposes import (
    REGISTER,
    Registering,
    accepted_registrations,
    body_sent,
    first_registrations,
    is_refused_outright,
    is_understood,
    key_sent,
    registrations_for,
    type_sent,
    understood_registrations,
    valid_registrations,
)
from tests.traffic.keys.registrar import Registrar

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


# -- what is sent ---------------------------------------------------------------------------------------------------


def send_refused_types_again(registrar: Registrar) -> None:
    """Send more registrations to find out for each key type that is refused whether it is accepted."""
    log, profile = registrar.log, registrar.profile
    refused = list(filter(is_refused_outright, first_registrations(log)))
    if refused and not understood_registrations(log) and not refused_with_effect(log, profile):
        _seek_what_is_needed(registrar, refused[0])
    for key_type in dict.fromkeys(key.type for key in profile.pix_keys):
        _send_type_again(registrar, key_type)


def _send_type_again(registrar: Registrar, key_type: str) -> None:
    """Send what is refused for its type again, and then one of another type: if that is refused now, too, or nothing
    else is accepted, the account may be full."""
    log, profile = registrar.log, registrar.profile
    tried = _first_registrations_of(log, key_type)
    if not tried or _understood_or_effective(log, profile, tried) or documented_request_is_not_enough(log):
        return
    refused = tried[-1]
    if refused_or_lost(refused) not in _KINDS_OF_REFUSAL:
        return
    may_be_made = key_type != "RANDOM" or not registrar.holds_an_unknown_key()
    is_about_the_type = may_be_made and refused_or_lost(refused) in (RefusalKind.CONTENT, RefusalKind.MEDIA_TYPE)
    if is_about_the_type:
        for wait_s in _WAITS_S:
            time.sleep(wait_s)
            answer = registrar.register(body_sent(refused), Registering.AFTER_A_REFUSAL)
            if is_understood(answer):
                registrar.undo(answer)
                return
    registrar.look()
    if is_about_the_type and not _is_listed(log, profile, refused):
        _register_another(registrar, key_type)


def _register_another(registrar: Registrar, key_type: str) -> None:
    """Send a registration of another type again that was accepted and is undone."""
    log = registrar.log
    others = registrations_for(log, Registering.LOWER_CASE, Registering.NUMERIC)
    for accepted in filter(registered, accepted_registrations(log) + others):
        if type_sent(accepted) == key_type:
            continue
        if registrar.undo(accepted):
            purpose = Registering.OF_ANOTHER_TYPE
            control = registrar.register(body_sent(accepted), purpose, valid=accepted.valid)
            registrar.undo(control)
            return


def _seek_what_is_needed(registrar: Registrar, refused: Exchange) -> None:
    """Send registrations with one difference each, until one is accepted; then the documented one again."""
    for difference in _differences(refused):
        purpose = Registering.WITH_A_DIFFERENCE
        answer = registrar.register(body_sent(refused), purpose, **difference.sent, valid=False)
        if registered(answer):
            registrar.undo(answer)
            break
    else:
        return
    for wait_s in _WAITS_S:
        time.sleep(wait_s)
        again = registrar.register(body_sent(refused), Registering.WITHOUT_THE_DIFFERENCE)
        if not indistinguishable(again, refused):
            return


# -- what the log says ----------------------------------------------------------------------------------------------

_KINDS_OF_REFUSAL = {*ABOUT_THE_REQUEST, RefusalKind.FORBIDDEN}


def type_is_accepted(log: Log, profile: Profile, key_type: str, why_not_tried: Text) -> Judgement:
    """The judgement of one key type by the registrations of it."""
    tried = _first_registrations_of(log, key_type)
    if not tried:
        return inconclusive(why_not_tried)
    if understood := _understood_or_effective(log, profile, tried):
        return holds(understood[0])
    refused = tried[-1]
    kind, answer = refused_or_lost(refused), answer_in_words(refused)
    why = say("no {type} key was registered: {answer}", type=key_type, answer=answer)
    if documented_request_is_not_enough(log) or kind not in _KINDS_OF_REFUSAL:
        return inconclusive(why, refused)
    sent_again = [seen for seen in log.of(REGISTER, Registering.AFTER_A_REFUSAL) if type_sent(seen) == key_type]
    if understood := list(filter(is_understood, sent_again)):
        return holds(understood[0])
    if _is_listed(log, profile, refused):
        return inconclusive(joined((why, _LISTED)), refused)
    remedy = say("where the account may have no such key, set not_for_this_account: [{type}]", type=key_type)
    controls = _controls_of(log, sent_again)
    if controls and registered(controls[-1]):
        breach = finding("key-type-refused", name=key_type, answer=answer, other=type_sent(controls[0]), remedy=remedy)
        return deviates(breach, refused, *controls)
    of_other_types = [seen for seen in first_registrations(log) if type_sent(seen) != key_type]
    is_refused_alike = any(indistinguishable(seen, refused) for seen in of_other_types)
    is_full = bool(controls) or not understood_registrations(log) or is_refused_alike
    return inconclusive(joined((why, _FULL if is_full else remedy)), refused)


def _first_registrations_of(log: Log, key_type: str) -> list[Exchange]:
    return [seen for seen in first_registrations(log) if type_sent(seen) == key_type]


def _understood_or_effective(log: Log, profile: Profile, tried: list[Exchange]) -> list[Exchange]:
    """The registrations whose type was understood: a refusal that had an effect, too."""
    effective: list[Exchange] = []
    if not all(map(is_understood, tried)):
        effective = refused_with_effect(log, profile)
    return [seen for seen in tried if is_understood(seen) or seen in effective]


def _is_listed(log: Log, profile: Profile, refused: Exchange) -> bool:
    """True if any text of the list that was read next may be the key: it is refused because it is there, or waits. An
    account may have only so many keys that a service makes."""
    again = [
        seen.number for seen in log.of(REGISTER, Registering.AFTER_A_REFUSAL) if type_sent(seen) == type_sent(refused)
    ]
    listing = KeyLists(log, profile).next_list(max([refused.number, *again]))
    if listing is None:
        return False
    key = key_sent(refused)
    if key and listing.may_show(key):
        return True
    sent = {key_sent(seen) for seen in valid_registrations(log)}
    return type_sent(refused) == "RANDOM" and any(map(UUID.fullmatch, listing.all_texts - sent))


def _controls_of(log: Log, sent_again: list[Exchange]) -> list[Exchange]:
    """A registration of another type that was accepted, and the same one sent after these; else nothing."""
    if not sent_again:
        return []
    last = sent_again[-1].number
    later = log.of(REGISTER, Registering.AFTER_A_REFUSAL, Registering.OF_ANOTHER_TYPE)
    next_one = next((seen for seen in later if seen.number > last), None)
    if next_one is None or next_one.purpose is not Registering.OF_ANOTHER_TYPE:
        return []
    others = registrations_for(log, Registering.LOWER_CASE, Registering.NUMERIC)
    for accepted in accepted_registrations(log) + others:
        is_the_same = accepted.request.body == next_one.request.body and accepted.number < next_one.number
        if is_the_same and registered(accepted):
            return [accepted, next_one]
    return []


def documented_request_is_not_enough(log: Log) -> dict[str, Judgement]:
    """What the service needs besides, by the requirement that it breaks: what is accepted, while the documented
    registration is refused as before."""
    with_difference = log.of(REGISTER, Registering.WITH_A_DIFFERENCE)
    if not with_difference or not registered(with_difference[-1]):
        return {}
    refused = next(filter(is_refused_outright, first_registrations(log)))
    again = log.of(REGISTER, Registering.WITHOUT_THE_DIFFERENCE)
    is_refused_as_before = len(again) == len(_WAITS_S) and all(indistinguishable(seen, refused) for seen in again)
    if not is_refused_as_before:
        return {}
    difference = list(_differences(refused))[len(with_difference) - 1]
    breach = finding("key-needs-more", name=type_sent(refused), what=difference.name)
    return {difference.requirement_id: deviates(breach, refused, with_difference[-1])}


# -- registrations with a difference --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Difference:
    """A registration in another form: the requirement that it would break, a name for people, and what is sent."""

    requirement_id: str
    name: Message
    sent: dict[str, Any]


def _differences(refused: Exchange) -> Iterator[Difference]:
    """Each one difference. The first one is more of everything: the fields that were removed, the usual headers, and as
    field, header and query what the refusal may name."""
    text = refused.response.body[:2000].decode("utf-8", "replace") if refused.response else ""
    words = filter(is_name, re.findall(r"[A-Za-z][A-Za-z0-9_-]{2,29}", text))  # no name of somebody
    body, named = body_sent(refused), list(islice(words, 24))  # enough for what it asks for
    more = {
        "json": {**dict.fromkeys((*REMOVED, *named), body["account"]), **body},
        "headers": [*EXTRA_HEADERS, *((name, "pixconf") for name in named if name.lower().startswith("x-"))],
        "query": "?" + "&".join(f"{name}=pixconf" for name in named),
    }
    yield Difference("registerPixKey.body.sufficient", say("further fields, headers and a query"), more)
    everything = dict(body)
    for name, others in OTHER_NAMES.items():
        renamed = {**body, **dict.fromkeys(others, body[name])}
        everything |= renamed
        yield Difference(f"registerPixKey.body.{name}", say("another name for {name}", name=name), {"json": renamed})
    yield Difference("registerPixKey.body.pixKey", say("other names for all fields"), {"json": everything})
