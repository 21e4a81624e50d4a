"""A refusal that had an effect: a valid registration is refused, and the list shows its key like one that was accepted.
And what is granted and has none: a key that is not listed after it was registered, or still is after it was deleted.

What a list may hold is not shown: keys that wait, attempts that failed, the last key that was named. So a refusal
counts only where its key stands exactly as accepted keys stand, was absent before and is there in two lists after. It does
not count where a registered key gets the same answer: another client may have registered this one in between.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial

from environments.door.authorization import VALID
from environments.door.key_states import KeyState
from environments.door.request_texts import texts_of
from environments.profiles.profile import PixKey
from spec.answers import RefusalKind, is_granted, refusal_kind, registered
from spec.exchange import Exchange
from spec.interface import KEY_TYPES
from spec.key_list import Listing, Place, accepted_alike, is_unmarked
from spec.rules import Judgement, deviates, got, holds
from tests.harness.judging import cite, warn
from tests.harness.reproduction import IN_COMPANY
from tests.traffic.existence import indistinguishable
from tests.traffic.made_keys import can_show_what_is_made, made_since
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
_NEVER_GRANTED = (KeyState.REFUSED, KeyState.LISTED)
_AFTER_DELETION = (KeyState.GONE, KeyState.STILL_LISTED)


def look_for_effect(registrar: Registrar, key: PixKey, exchange: Exchange, before: Listing | None) -> None:
    """Read the list twice after a registration that was refused: it may show the key nevertheless."""
    if before is None or not _may_have_an_effect(registrar, exchange, before):
        return
    if not key.key and not can_show_what_is_made(registrar.keys, before):
        return
    if key.key and (before.shows(key.key) or registrar.keys.state(key.key) not in _NEVER_GRANTED):
        return
    first = registrar.look()
    if first is None or (key.key and not first.shows(key.key)):
        return
    after = [listing for listing in (first, registrar.look()) if listing]
    value = key.key or made_since(registrar.keys, before, after)
    if value and len(after) == 2 and all(listing.shows(value) for listing in after):
        places = tuple(listing.places(value, key.type) for listing in after)
        registrar.suspicions.append(Suspicion(exchange, replace(key, key=value), places, made=not key.key))


def look_for_lost(registrar: Registrar, accepted: list[tuple[Exchange, PixKey]]) -> None:
    """Read the list twice after registrations that were granted at the same time: it may not show all of the keys,
    although it showed each of them when they were registered one after the other."""
    keys = registrar.keys
    if keys.lagging or not accepted or any(key.key not in keys.references for _, key in accepted):
        return
    for _ in range(_ENOUGH):
        listing = registrar.look()
        accepted = [(exchange, key) for exchange, key in accepted if listing and not listing.shows(key.key)]
        if not accepted:
            return
    registrar.found.lost = [exchange for exchange, _ in accepted]


def deleted_and_kept(registrar: Registrar) -> list[Exchange]:
    """The granted deletions whose keys the last list shows as before. A service may delete later than it answers: where
    lists show that other keys went, only those count that were deleted before the last of them."""
    last = {
        text: seen for seen in filter(is_granted, registrar.found.deletions) for text in texts_of(seen.request.body)
    }
    by_state = {
        state: [last[text] for text in last if registrar.keys.state(text) is state] for state in _AFTER_DELETION
    }
    gone = [seen.number for seen in by_state[KeyState.GONE]]
    kept = [] if registrar.keys.lagging else by_state[KeyState.STILL_LISTED]
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
    """Decide which refusals had an effect, and delete what they registered."""
    repeated = registrar.found.repeated  # how a key is refused that is there already
    suspected = [
        seen for seen in registrar.suspicions if not any(map(partial(indistinguishable, seen.exchange), repeated))
    ]
    references = list(registrar.keys.references.values())
    if references:
        sure = _like_accepted_keys(suspected, references)
    else:
        sure = _like_keys_of_an_earlier_day(registrar, suspected)
        sure = sure if _delete(registrar, sure) else []
    for seen in sure:
        registrar.found.effects.append(seen.exchange)
        registrar.keys.learn_effect(seen.exchange, seen.key.key)
    registrar.found.suspected = [seen.exchange for seen in registrar.suspicions if seen not in sure]
    _delete(registrar, sure)


def _like_accepted_keys(suspected: list[Suspicion], references: list[frozenset[Place]]) -> list[Suspicion]:
    """Those that stand like keys that were accepted; none where another client may have had all of them made."""
    sure = [seen for seen in suspected if all(accepted_alike(places, references) for places in seen.places)]
    return [] if all(seen.made for seen in sure) else sure


def _like_keys_of_an_earlier_day(registrar: Registrar, suspected: list[Suspicion]) -> list[Suspicion]:
    """Where no key was accepted: those that stand like keys of an earlier day, if all do.

    Where there are no such keys either, nothing around them may say that they wait, or failed.
    """
    before, own = registrar.keys.before, [seen for seen in suspected if not seen.made]
    bodies = [json.loads(seen.request.body) for seen in registrar.found.fresh]
    tried = {str(body.get("pixKey")) for body in bodies if body["pixKeyType"] != "RANDOM"}
    if before is None or not registrar.deletes or len(own) < _ENOUGH or tried - {seen.key.key for seen in own}:
        return []
    paths = {place.path for seen in own for places in seen.places for place in places}
    known = [before.places(text, name) for name in KEY_TYPES for text in before.texts_at(paths, KEY_TYPES)]
    shown = [places for seen in own for places in seen.places]
    stand = [accepted_alike(places, known) if known else is_unmarked(places, registrar.account) for places in shown]
    return own if all(stand) else []


def _delete(registrar: Registrar, suspected: list[Suspicion]) -> bool:
    """Delete the keys, where the profile says how. True where that was granted, and the list shows none of them."""
    if not suspected or not registrar.deletes:
        return False
    granted = [is_granted(registrar.delete(seen.key, valid=False)) for seen in suspected]
    listing = registrar.look()
    return all(granted) and listing is not None and not any(listing.shows(seen.key.key) for seen in suspected)


def no_refusal_had_an_effect(effects: list[Exchange]) -> Judgement:
    """Whether no refused registration has registered its key."""
    refused = ", ".join(dict.fromkeys(f"{type_sent(seen)}: {seen.summary}" for seen in effects))
    message = f"refused, and the list shows the key afterwards like one that was accepted ({refused})"
    told = got(message, instead_of="a refused registration to have no effect")
    return deviates(told, *effects) if effects else holds()


def warn_of_lost(lost: list[Exchange]) -> None:
    """Warn of keys that the list does not show after they were registered at the same time. It is no failure: Message tells
    that the request was received, and no statement says that what is granted is listed, or from when on."""
    if lost:
        cite(*lost)
        warn(f"granted, and the list does not show the key afterwards{IN_COMPANY}")


def warn_of_kept(kept: list[Exchange]) -> None:
    """Warn of keys that the list still shows at the end, although their deletion was granted. It is no failure: no statement
    says from when on a deleted key is not listed."""
    if kept:
        cite(*kept)
        warn("granted, and the list still shows the key at the end")


def warn_of_suspected(suspected: list[Exchange]) -> None:
    """Warn of refusals whose key the list shows, where that may be something else than a registration."""
    if suspected:
        cite(*suspected)
        warn("refused, and the list shows the key afterwards: somebody else may have registered it, or it waits")
