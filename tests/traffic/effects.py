"""A refusal that had an effect: a valid registration is refused, and the list shows its key like one that was accepted.
And what is granted and has none: a key that is not listed after it was registered, or still is after it was deleted.

What a list may hold is not shown: keys that wait, attempts that failed, the last key that was named. So a refusal
counts only where its key stands exactly as an accepted key stands, was absent before and is there in two lists after.
It does not count where a registered key gets the same answer: another client may have registered this one in between.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

from environments.profiles.model import PixKey
from spec.answers import RefusalKind, refusal_kind
from spec.exchange import VALID, Exchange
from spec.findings import Judgement, deviates, finding, holds
from spec.key_list import Listing, Place
from spec.message import joined, say
from spec.observed import indistinguishable
from tests.harness.judging import warn
from tests.traffic.registrar import Registrar, Suspicion, type_sent

REFUSALS = (
    RefusalKind.CONTENT,
    RefusalKind.FORBIDDEN,
    RefusalKind.LOCK,
    RefusalKind.MEDIA_TYPE,
    RefusalKind.NOT_FOUND,
)
"""They say that nothing was done; a conflict, a time-out or a gateway's answer leaves that open."""
_MOST_REFERENCES = 20
"""Keys of an earlier day that a key is compared with."""


def look_for_effect(registrar: Registrar, key: PixKey, exchange: Exchange, before: Listing | None) -> None:
    """Read the list twice after a registration that was refused: it may show the key nevertheless."""
    if before is None or exchange.response is None or refusal_kind(exchange.response) not in REFUSALS:
        return
    since = [seen.request.body for seen in registrar.client.door.exchanges if seen.number > before.number]
    if since.count(exchange.request.body) > 1:  # not sent once: the first one may have registered the key
        return
    lists = [registrar.look(), registrar.look()]
    made = registrar.made_since(exchange.number)
    value = key.key or (made[0] if len(made) == 1 else "")
    places = tuple(each.places(value, key.type) for each in lists if each and each.shows(value))
    if value and not before.shows(value) and len(places) == len(lists):
        registrar.suspicions.append(Suspicion(exchange, PixKey(key.type, value), places))


def decide_suspicions(registrar: Registrar) -> None:
    """Decide which refusals had an effect: their keys stand like one that was accepted. Where none was, like all that
    stood there before the run."""
    for one in registrar.suspicions:
        is_a_duplicate = any(indistinguishable(one.exchange, repeated) for repeated in registrar.found.repeated)
        if not is_a_duplicate and all(_stands_like_an_accepted_key(registrar, places) for places in one.places):
            found = registrar.found
            (found.effects if one.exchange.credential == VALID else found.let_in).append(one.exchange)
            if key := registrar.keys.key_of(one.exchange):
                registrar.keys.learn_value(key, one.key.key)


def _stands_like_an_accepted_key(registrar: Registrar, places: frozenset[Place]) -> bool:
    before = registrar.keys.before
    if registrar.references or before is None:
        return places in registrar.references.values()
    return places in islice(before.places_like(places), _MOST_REFERENCES)


def lost(registrar: Registrar, accepted: list[tuple[Exchange, PixKey]]) -> list[Exchange]:
    """Read the list twice after registrations that were granted at the same time: those whose keys it does not show,
    although it showed them when they were registered one after the other."""
    shown = [(exchange, key.key) for exchange, key in accepted if key.key in registrar.references]
    lists = [registrar.look(), registrar.look()] if shown else []
    return [exchange for exchange, key in shown if all(each and not each.shows(key) for each in lists)]


def no_refusal_had_an_effect(effects: list[Exchange]) -> Judgement:
    """Deviates where a refused registration has registered its key."""
    refused = (say("{type}: {answer}", type=type_sent(seen), answer=say(seen.summary)) for seen in effects)
    return deviates(finding("refusal-with-effect", refused=joined(refused, ", ")), *effects) if effects else holds()


def warn_of(code: str, seen: list[Exchange]) -> None:
    """Warn of what is no failure, as no statement says that what is granted is listed or gone, or from when on: keys
    that were registered at the same time and are `lost`, deleted ones that are `kept`, others that are gone
    `besides`."""
    if seen:
        warn(replace(finding(code), alone=code != "lost"), *seen)
