"""A refusal that had an effect: a valid registration is refused, and the list shows its key like one that was accepted.
And what is granted and has none: a key that is not listed after it was registered, or still is after it was deleted.

What a list may hold is not shown: keys that wait, attempts that failed, the last key that was named. So a refusal
counts only where its key stands exactly as an accepted key stands, was absent before and is there in two lists after. It
does not count where a registered key gets the same answer: another client may have registered this one in between.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import islice

from environments.door.authorization import VALID
from environments.door.request_texts import texts_of
from environments.profiles.profile import PixKey
from spec.answers import RefusalKind, is_granted, refusal_kind, registered
from spec.exchange import Exchange
from spec.findings import Judgement, deviates, finding, holds
from spec.key_list import Listing, Place
from spec.message import joined, say
from tests.harness.judging import warn
from tests.traffic.endpoint_evidence import indistinguishable
from tests.traffic.refused_key_types import type_sent
from tests.traffic.registrar import Registrar, Suspicion

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
    first = registrar.look()
    value = key.key or (registrar.made_between(before, first, exchange.number) if first else "")
    if first is None or not value or before.shows(value) or not first.shows(value):
        return
    second = registrar.look()
    if second is not None and second.shows(value):
        places = tuple(listing.places(value, key.type) for listing in (first, second))
        registrar.suspicions.append(Suspicion(exchange, PixKey(key.type, value), places))


def look_for_lost(registrar: Registrar, accepted: list[tuple[Exchange, PixKey]]) -> None:
    """Read the list twice after registrations that were granted at the same time: it may not show all of the keys,
    although it showed each of them when they were registered one after the other."""
    if not accepted or any(key.key not in registrar.references for _, key in accepted):
        return
    for _ in range(_ENOUGH):
        listing = registrar.look()
        accepted = [(exchange, key) for exchange, key in accepted if listing and not listing.shows(key.key)]
        if not accepted:
            return
    registrar.found.lost = [exchange for exchange, _ in accepted]


def deleted_and_kept(registrar: Registrar) -> list[Exchange]:
    """The granted deletions whose keys the last list still shows, where it showed them right after their registration. A
    service may delete later than it answers: where other keys went, only those count that were deleted before the last
    of them."""
    last = {
        text: seen for seen in filter(is_granted, registrar.found.deletions) for text in texts_of(seen.request.body)
    }
    last = {text: seen for text, seen in last.items() if text in registrar.references}
    kept = [seen for text, seen in last.items() if registrar.keys.is_still_listed(text)]
    gone = [seen.number for seen in last.values() if seen not in kept]
    return [seen for seen in kept if not gone or seen.number < max(gone)]


def _may_have_an_effect(registrar: Registrar, exchange: Exchange, before: Listing) -> bool:
    """Whether it was refused, and sent once since the list, but for those without the valid token that were refused."""
    if exchange.response is None or refusal_kind(exchange.response) not in REFUSALS:
        return False
    since = [seen for seen in registrar.client.door.exchanges if seen.number > before.number]
    same = [seen for seen in since if seen.operation == "registerPixKey" and seen.request.body == exchange.request.body]
    wrong = [seen for seen in same if seen.credential != VALID]
    return not any(map(registered, wrong)) and len(same) - len(wrong) == 1


def decide_suspicions(registrar: Registrar) -> None:
    """Decide which refusals had an effect: their keys stand like one that was accepted. Where none was, like all that
    stood there before the run."""
    repeated = registrar.found.repeated  # how a key is refused that is there already
    suspected = [
        seen for seen in registrar.suspicions if not any(map(partial(indistinguishable, seen.exchange), repeated))
    ]
    accepted = set(registrar.references.values())
    sure = [
        seen for seen in suspected if all(places in (accepted or _before(registrar, places)) for places in seen.places)
    ]
    for seen in sure:
        registrar.keys.learn_value(seen.exchange, seen.key.key)
    registrar.found.effects = [seen.exchange for seen in sure]
    registrar.found.suspected = [seen.exchange for seen in registrar.suspicions if seen not in sure]


def _before(registrar: Registrar, places: frozenset[Place]) -> set[frozenset[Place]]:
    """How the keys stood that were there before the run."""
    before = registrar.keys.before
    return set(islice(before.places_like(places), _MOST_REFERENCES)) if before else set()


def no_refusal_had_an_effect(effects: list[Exchange]) -> Judgement:
    """Whether no refused registration has registered its key."""
    refused = (say("{type}: {answer}", type=type_sent(seen), answer=say(seen.summary)) for seen in effects)
    return deviates(finding("refusal-with-effect", refused=joined(refused, ", ")), *effects) if effects else holds()


def warn_of_lost(lost: list[Exchange]) -> None:
    """Warn of keys that the list does not show after they were registered at the same time. It is no failure: Message tells
    that the request was received, and no statement says that what is granted is listed, or from when on."""
    if lost:
        warn(replace(finding("lost"), alone=False), *lost)


def warn_of_kept(kept: list[Exchange]) -> None:
    """Warn of keys that the list still shows at the end, although their deletion was granted. It is no failure: no statement
    says from when on a deleted key is not listed."""
    if kept:
        warn(finding("kept"), *kept)


def warn_of_suspected(suspected: list[Exchange]) -> None:
    """Warn of refusals whose key the list shows, where that may be something else than a registration."""
    if suspected:
        warn(finding("suspected"), *suspected)
