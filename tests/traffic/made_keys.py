"""Which key the service made: what the list of keys shows after a registration, and did not show before it.

Others may use the account at the same time, and lists may hold identifiers that vary by themselves. So a key counts as
made by this run only where all of this holds: the list showed every key that the run registered at once, nothing came
or went in it but those, and two lists show exactly one text more in the form of a UUID, at a place where keys stand, in an
item that is like that of a key that was accepted.
"""

from __future__ import annotations

from collections.abc import Sequence

from environments.door.key_states import Keys
from spec.key_list import MADE_KEY, Listing, alike

_TYPES = ("RANDOM", "EVP")
"""What a list may call the type of a key that the service made."""


def can_show_what_is_made(keys: Keys, before: Listing) -> bool:
    """Whether the list is known to follow registrations at once, and nobody else has changed it so far."""
    if not keys.references or keys.lagging or keys.before is None:
        return False
    return _others(keys, keys.before) == _others(keys, before)


def made_since(keys: Keys, before: Listing, after: Sequence[Listing]) -> str:
    """The key that was made between the lists; empty where that is not sure."""
    if len(after) < 2:
        return ""
    new = frozenset.intersection(*(_others(keys, listing) for listing in after)) - _others(keys, before)
    made = next(iter(new)) if len(new) == 1 else ""
    if not MADE_KEY.fullmatch(made) or any(before.shows(made) for before in (before, keys.before) if before):
        return ""
    references = list(keys.references.values())
    stands = (any(alike(listing.places(made, name), references) for name in _TYPES) for listing in after)
    return made if all(stands) else ""


def _others(keys: Keys, listing: Listing) -> frozenset[str]:
    """What stands where keys stand, without those that the run knows."""
    paths = {place.path for places in keys.references.values() for place in places}
    return frozenset(text for name in _TYPES for text in listing.texts_at(paths, (name,))) - keys.values
