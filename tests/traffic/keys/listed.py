"""What the lists of keys in a log show of the registrations: a refusal that had an effect, a success that had none.

What a list may hold is not shown: keys that wait, attempts that failed, the last key that was named. So a refusal fails
only if the profile says with `key_at` where the keys stand; if its key stands there as an accepted key does; if it was
absent before, and is there in two lists after. It does not count if a registered key gets the same answer, because
another client may have registered this one in between. Without `key_at`, what a list shows of a refusal is a warning.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from environments.door.bodies import texts_of
from environments.profiles.model import PixKey, Profile
from spec.answers import RefusalKind, is_granted, refused_or_lost, registered, succeeded
from spec.exchange import VALID, Exchange
from spec.interface import KEY_TYPES, MARK
from spec.key_list import Listing, Marks, may_be_made, plain
from spec.log import Log
from spec.message import Text, say
from spec.observed import indistinguishable
from tests.traffic.keys.purposes import (
    DELETE,
    LIST,
    KeyListing,
    Registering,
    accepted_registrations,
    key_sent,
    registrations_for,
    repeated_registrations,
    type_sent,
    valid_registrations,
)

REFUSALS = (
    RefusalKind.CONTENT,
    RefusalKind.FORBIDDEN,
    RefusalKind.LOCK,
    RefusalKind.MEDIA_TYPE,
    RefusalKind.NOT_FOUND,
)
"""They say that nothing was done; a conflict, a time-out or a gateway's answer leaves that open."""
_LISTS_AFTER = 2
"""Lists that must agree on a key after its registration."""
_MOST_KEPT = 4
"""Lists that are kept after they were read: registrations beside each other are followed by the same ones."""
_MOST_REFERENCES = 20
"""Keys of an earlier day that a key is compared with."""
_MAY_BE_LOST = (
    Registering.UNDOCUMENTED_TYPE,
    Registering.OTHER_NAME,
    Registering.LOWER_CASE,
    Registering.BESIDE_OTHERS,
)
"""Purposes of registrations after which the list is read twice. How a number is understood as a type is not shown, nor
what a list shows of such a key."""
REGISTERED_BEFORE = "registered before; `disposable: true` tests it again"
LISTED_BEFORE = say(
    "a list showed the key before the run, so it is not touched; delete it by hand, and it is tested again"
)


@dataclass(frozen=True)
class Effect:
    """A refused registration, the key that lists show after it, and whether it stands there like an accepted one."""

    exchange: Exchange
    key: str
    is_certain: bool


class KeyLists:
    """The lists of one account that a run read to see which keys are there, in order."""

    def __init__(self, log: Log, profile: Profile) -> None:
        self._log, self._profile, self._key_at = log, profile, profile.key_at
        self._last_read: dict[int, Listing | None] = {}  # by number, a few: a list may be large
        account = next(iter(profile.accounts), "")
        lists = log.sent(LIST, KeyListing.KEYS_OF_NOW)
        self._reads = [exchange for exchange in lists if exchange.request.last_segment == account]

    # -- which lists ------------------------------------------------------------------------------------------------

    def _read(self, exchange: Exchange) -> Listing | None:
        """Contents of a list; None if it could not be read."""
        if exchange.number not in self._last_read:
            while len(self._last_read) >= _MOST_KEPT:
                del self._last_read[next(iter(self._last_read))]
            listing = Listing(exchange, self._key_at) if succeeded(exchange) else None
            self._last_read[exchange.number] = listing if listing and listing.is_readable else None
        return self._last_read[exchange.number]

    def _before(self, number: int) -> Listing | None:
        """The last list before an exchange, if it could be read."""
        earlier = [exchange for exchange in self._reads if exchange.number < number]
        return self._read(earlier[-1]) if earlier else None

    def next_list(self, number: int) -> Listing | None:
        """The first list after an exchange, if it could be read."""
        later = [exchange for exchange in self._reads if exchange.number > number]
        return self._read(later[0]) if later else None

    def _after(self, number: int) -> list[Listing]:
        """The two lists after an exchange; none unless both could be read."""
        later = [exchange for exchange in self._reads if exchange.number > number]
        listings = [self._read(exchange) for exchange in later[:_LISTS_AFTER]]
        readable = [listing for listing in listings if listing is not None]
        return readable if len(readable) == _LISTS_AFTER else []

    # -- how accepted keys stand there ------------------------------------------------------------------------------

    def _first_list_with(self, exchange: Exchange) -> Listing | None:
        """The first list after a registration, unless the key was deleted before it was read."""
        listing = self.next_list(exchange.number)
        if listing is None or self._is_deleted_between(exchange, listing.number):
            return None
        return listing

    def _is_deleted_between(self, exchange: Exchange, number: int) -> bool:
        key = key_sent(exchange)
        for seen in self._log:
            is_between = exchange.number < seen.number < number
            if is_between and seen.operation == DELETE and key in texts_of(seen.request.body):
                return True
        return False

    @cached_property
    def _first_lists(self) -> list[tuple[Exchange, Listing]]:
        """The registrations of keys that were granted, as the keys were named first, each with the first list after
        it."""
        purposes = (Registering.FIRST_TIME, Registering.PERHAPS_REGISTERED)
        first_lists = []
        for exchange in registrations_for(self._log, *purposes):
            listing = self._first_list_with(exchange) if registered(exchange) and key_sent(exchange) else None
            if listing is not None:
                first_lists.append((exchange, listing))
        return first_lists

    @cached_property
    def _listed(self) -> list[tuple[Exchange, Listing]]:
        """Those whose keys the lists show."""
        return [(exchange, listing) for exchange, listing in self._first_lists if _is_in(listing, key_sent(exchange))]

    def have_shown_an_accepted_key(self, before: int) -> bool:
        """True if a list has shown a key that was registered before an exchange."""
        return any(exchange.number < before for exchange, _ in self._listed)

    @cached_property
    def _marks_of_accepted_keys(self) -> set[Marks]:
        """The marks of the keys that were accepted. If none was, those of keys that were there before the run."""
        marks: set[Marks] = set()
        for exchange, listing in self._listed:
            marks |= listing.marks_of(key_sent(exchange))
        first = self._read(self._reads[0]) if self._reads else None
        if self._listed or first is None:
            return marks
        for key in islice(first.values, _MOST_REFERENCES):
            marks |= first.marks_of(key)
        return marks

    def _stands_like_an_accepted_key(self, key: str, listings: Iterable[Listing]) -> bool:
        return all(listing.marks_of(key) & self._marks_of_accepted_keys for listing in listings)

    # -- refused, and listed ----------------------------------------------------------------------------------------

    def effects_of_refusals(self) -> Iterator[Effect]:
        """The valid registrations that were refused, and whose keys two later lists show."""
        for exchange in registrations_for(self._log, Registering.FIRST_TIME, Registering.PERHAPS_REGISTERED):
            before = self._before(exchange.number) if refused_or_lost(exchange) in REFUSALS else None
            if before is None or self._was_sent_since(before, exchange):
                continue
            listings = self._after(exchange.number)
            key = key_sent(exchange) or self._made_since(exchange, listings)
            is_shown = bool(listings) and all(listing.shows(key) for listing in listings)
            is_new = is_shown and not before.shows(key)
            if key and is_new and not self._is_answered_like_a_registered_key(exchange):
                yield Effect(exchange, key, self._stands_like_an_accepted_key(key, listings))

    def effects_without_a_token(self) -> Iterator[Effect]:
        """The registrations without a valid token that were refused, and whose keys a later list shows, although no
        request with the valid token named them."""
        suspects = [
            exchange
            for exchange in registrations_for(self._log, Registering.WITHOUT_A_TOKEN)
            if exchange.response and not registered(exchange) and key_sent(exchange)
        ]
        for read in self._reads:
            candidates = [exchange for exchange in suspects if self._is_only_refused(exchange, read.number)]
            candidates = [exchange for exchange in candidates if _may_have(read, key_sent(exchange))]
            listing = self._read(read) if candidates else None
            for exchange in candidates:
                key = key_sent(exchange)
                if listing is None or not listing.shows(key):
                    continue
                suspects.remove(exchange)
                was_there = self._was_listed_before(key, exchange.number)
                if not was_there and not self._is_answered_like_a_registered_key(exchange):
                    yield Effect(exchange, key, self._stands_like_an_accepted_key(key, [listing]))

    def _is_only_refused(self, exchange: Exchange, number: int) -> bool:
        """True if a key was sent before this number, and not with the valid token."""
        keys = {key for with_token, key in self._sent_with_the_token if with_token < number}
        return exchange.number < number and key_sent(exchange) not in keys

    @cached_property
    def _sent_with_the_token(self) -> list[tuple[int, str]]:
        """The keys that the scenario registered with the valid token, each with the number of the exchange."""
        registrations = registrations_for(self._log, *Registering)
        valid = [exchange for exchange in registrations if exchange.credential == VALID]
        return [(exchange.number, key_sent(exchange)) for exchange in valid]

    def _was_sent_since(self, before: Listing, exchange: Exchange) -> bool:
        """True if the request went to the service more than once: the first one may have registered the key."""
        sent = [seen.request.body for seen in self._log if before.number < seen.number <= exchange.number]
        return sent.count(exchange.request.body) > 1

    def _made_since(self, exchange: Exchange, listings: list[Listing]) -> str:
        """The key at `key_at` that the service made of a registration without a key; empty unless there is one."""
        sent = {key_sent(seen) for seen in valid_registrations(self._log)}
        shown = sorted(listings[-1].keys - sent) if listings else []
        made = [key for key in shown if may_be_made(key) and not self._was_listed_before(key, exchange.number)]
        return made[0] if len(made) == 1 else ""

    def _was_listed_before(self, key: str, number: int) -> bool:
        for read in self._reads:
            listing = self._read(read) if read.number < number else None
            if listing is not None and listing.shows(key):
                return True
        return False

    def _is_answered_like_a_registered_key(self, exchange: Exchange) -> bool:
        return any(indistinguishable(exchange, repeated) for repeated in repeated_registrations(self._log))

    # -- granted, and not listed ------------------------------------------------------------------------------------

    def lost(self) -> list[Exchange]:
        """The registrations that were granted, and whose keys two later lists do not show although lists showed others;
        and those of documented types of which no list showed a key."""
        lost = []
        for exchange in registrations_for(self._log, *_MAY_BE_LOST):
            if registered(exchange) and self.have_shown_an_accepted_key(exchange.number):
                known = self._before(exchange.number)
                texts = known.texts if known else frozenset[str]()
                listings = self._after(exchange.number)
                if listings and not any(_may_be_in(listing, exchange, texts) for listing in listings):
                    lost.append(exchange)
        never_listed = self._never_listed()
        if never_listed:  # lists that lack those prove nothing about keys of other types
            lost = [exchange for exchange in lost if exchange.valid]
        last_list = self._read(self._reads[-1]) if self._reads else None
        return lost + (never_listed if last_list else [])

    def _never_listed(self) -> list[Exchange]:
        """The accepted registrations of documented types of which no list showed a key."""
        listed_types = {"RANDOM", *(type_sent(exchange) for exchange, _ in self._listed)}
        missed = set()
        before = self._read(self._reads[0]) if self._reads else None
        for exchange, listing in self._first_lists:
            key = key_sent(exchange)
            is_own = any(own.key == key for own in self._profile.pix_keys)
            may_be_there = listing.may_hide(key, before) or (is_own and listing.may_show(key))
            if not listing.shows(key) and not may_be_there:
                missed.add(key)
        accepted = accepted_registrations(self._log)
        unlisted = [exchange for exchange in accepted if type_sent(exchange) not in listed_types]
        return [exchange for exchange in unlisted if key_sent(exchange) in missed]


def _may_have(read: Exchange, key: str) -> bool:
    """False if a list surely lacks a synthetic key. It may be large, and it is asked for dozens of keys."""
    name = key.partition("@")[0]
    return MARK not in name or (read.response is not None and name.encode() in read.response.body)


def _is_in(listing: Listing, key: str) -> bool:
    """True if the list shows the key, a synthetic one in any letter case, too."""
    return listing.shows(key) or plain(key) in listing.plain_texts


def _may_be_in(listing: Listing, exchange: Exchange, known: frozenset[str]) -> bool:
    """True if a list may show the key of a registration. A key that the service makes, or that has a type of its own,
    may be any text that is new."""
    key = key_sent(exchange)
    if listing.shows(key) or listing.may_hide(key):
        return True
    is_named = bool(key) and type_sent(exchange) in KEY_TYPES
    return not is_named and not listing.texts <= known


# -- questions to the log -------------------------------------------------------------------------------------------


def refused_with_effect(log: Log, profile: Profile) -> list[Exchange]:
    """The valid registrations that were refused, and that have registered their key."""
    return [effect.exchange for effect in KeyLists(log, profile).effects_of_refusals() if effect.is_certain]


def refused_and_listed(log: Log, profile: Profile) -> list[Exchange]:
    """The valid registrations that were refused, and whose keys are listed; the profile does not say where keys
    stand."""
    if profile.key_at is not None:
        return []
    return [effect.exchange for effect in KeyLists(log, profile).effects_of_refusals()]


def let_in_with_effect(log: Log, profile: Profile) -> list[Exchange]:
    """The registrations without a valid token that were refused, and that have registered their key."""
    return [effect.exchange for effect in KeyLists(log, profile).effects_without_a_token() if effect.is_certain]


def let_in_and_listed(log: Log, profile: Profile) -> list[Exchange]:
    """The same that are listed; the profile does not say where keys stand."""
    if profile.key_at is not None:
        return []
    return [effect.exchange for effect in KeyLists(log, profile).effects_without_a_token()]


def lost_registrations(log: Log, profile: Profile) -> list[Exchange]:
    """The registrations that were granted and whose keys are not listed: of all accepted ones, or of those that went at
    the same time."""
    return KeyLists(log, profile).lost()


# -- keys that a run leaves alone -----------------------------------------------------------------------------------


def types_left_alone(log: Log, profile: Profile) -> dict[str, Text]:
    """Reasons why no key of a type is registered: the account may have none, or a list showed each of them before."""
    left_alone: dict[str, Text] = {}
    keys_left_alone = _keys_left_alone(log, profile)
    for key_type in dict.fromkeys(key.type for key in profile.pix_keys):
        keys = [key for key in profile.pix_keys if key.type == key_type]
        if key_type in profile.not_for_this_account:
            left_alone[key_type] = say("not_for_this_account of the profile names {type}", type=key_type)
        elif keys_left_alone.issuperset(keys):
            left_alone[key_type] = LISTED_BEFORE if any(key.disposable for key in keys) else REGISTERED_BEFORE
    return left_alone


def _keys_left_alone(log: Log, profile: Profile) -> set[PixKey]:
    """The keys of the profile that a list showed before the first registration, and that the run did not register."""
    registered_keys = {"", *map(key_sent, valid_registrations(log))}
    others = [key for key in profile.pix_keys if key.key not in registered_keys]
    numbers = [exchange.number for exchange in registrations_for(log, *Registering)]
    first_registration = min(numbers, default=None)
    left_alone: set[PixKey] = set()
    for read in log.sent(LIST, KeyListing.KEYS_OF_NOW) if others else []:
        if first_registration is not None and read.number > first_registration:
            break
        if is_granted(read):
            listing = Listing(read, profile.key_at)
            left_alone |= {key for key in others if _may_be_shown(listing, key, profile)}
    return left_alone


def _may_be_shown(listing: Listing, key: PixKey, profile: Profile) -> bool:
    """True if a list shows a key of the profile, or, off a sandbox, may show it."""
    return listing.shows(key.key) or (not profile.is_sandbox and listing.may_show(key.key))
