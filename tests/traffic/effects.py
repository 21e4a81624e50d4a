"""A refusal that had an effect: a valid registration is refused, and the list shows its key like one that was accepted.
And what is granted and has none: a key that is not listed after it was registered, or still is after it was deleted.

What a list may hold is not shown: keys that wait, attempts that failed, the last key that was named. So a refusal
counts only where its key stands exactly as an accepted key stands, was absent before and is there in two lists after. It
does not count where a registered key gets the same answer: another client may have registered this one in between.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

from environments.door.request_texts import texts_of
from environments.profiles.model import PixKey
from spec.answers import RefusalKind, is_granted, refusal_kind
from spec.exchange import Exchange
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
_ENOUGH = 2
_MOST_REFERENCES = 20
"""Keys of an earlier day that a key is compared with."""


def look_for_effect(registrar: Registrar, key: PixKey, exchange: Exchange, before: Listing | None) -> None:
    """Read the list twice after a registration that was refused: it may show the key nevertheless."""
    if before is None or not _may_have_an_effect(registrar, exchange, before):
        return
    lists = [registrar.look()]
    made = registrar.made_since(exchange.number)
    value = key.key or (made[0] if len(made) == 1 else "")
    if not value or before.shows(value) or lists[0] is None or not lists[0].shows(value):
        return
    lists.append(registrar.look())
    places = tuple(each.places(value, key.type) for each in lists if each and each.shows(value))
    if len(places) == _ENOUGH:
        registrar.suspicions.append(Suspicion(exchange, PixKey(key.type, value), places))


def _may_have_an_effect(registrar: Registrar, exchange: Exchange, before: Listing) -> bool:
    """True if it was refused, and sent once since the list."""
    if exchange.response is None or refusal_kind(exchange.response) not in REFUSALS:
        return False
    since = (seen for seen in registrar.client.door.exchanges if seen.number > before.number)
    same = (seen for seen in since if seen.operation == "registerPixKey" and seen.request.body == exchange.request.body)
    return len(list(same)) == 1


def decide_suspicions(registrar: Registrar) -> None:
    """Decide which refusals had an effect: their keys stand like one that was accepted. Where none was, like all that
    stood there before the run."""
    found, accepted = registrar.found, set(registrar.references.values())
    for one in registrar.suspicions:
        is_a_duplicate = any(indistinguishable(one.exchange, repeated) for repeated in found.repeated)
        if not is_a_duplicate and all(places in (accepted or _before(registrar, places)) for places in one.places):
            found.effects.append(one.exchange)
            if key := registrar.keys.key_of(one.exchange):
                registrar.keys.learn_value(key, one.key.key)
        else:
            found.suspected.append(one.exchange)


def _before(registrar: Registrar, places: frozenset[Place]) -> set[frozenset[Place]]:
    """How the keys stood that were there before the run."""
    before = registrar.keys.before
    return set(islice(before.places_like(places), _MOST_REFERENCES)) if before else set()


def look_for_lost(registrar: Registrar, accepted: list[tuple[Exchange, PixKey]]) -> None:
    """Read the list twice after registrations that were granted at the same time: it may not show all of the keys,
    although it showed each of them when they were registered one after the other."""
    if not all(key.key in registrar.references for _, key in accepted):
        return
    for _ in range(_ENOUGH if accepted else 0):
        listing = registrar.look()
        accepted = [(exchange, key) for exchange, key in accepted if listing and not listing.shows(key.key)]
    registrar.found.lost = [exchange for exchange, _ in accepted]


def deleted_and_kept(registrar: Registrar) -> list[Exchange]:
    """The granted deletions whose keys the last list still shows."""
    granted = filter(is_granted, registrar.found.deletions)
    last = {text: seen for seen in granted for text in texts_of(seen.request.body)}
    return [seen for text, seen in last.items() if registrar.keys.is_still_listed(text)]


def no_refusal_had_an_effect(effects: list[Exchange]) -> Judgement:
    """Deviates where a refused registration has registered its key."""
    refused = (say("{type}: {answer}", type=type_sent(seen), answer=say(seen.summary)) for seen in effects)
    return deviates(finding("refusal-with-effect", refused=joined(refused, ", ")), *effects) if effects else holds()


def warn_of(code: str, seen: list[Exchange]) -> None:
    """Warn of what is no failure, as no statement says that what is granted is listed or gone, or from when on: keys that
    were registered at the same time and are `lost`, deleted ones that are `kept`, and refused ones that are `suspected`
    to be registered, as the list shows them."""
    if seen:
        warn(replace(finding(code), alone=code != "lost"), *seen)
