"""What the lists of keys show of registrations: a refused key that is registered, or a granted key that is missing.

The tests of registrations ask for it. An effect is a refused registration whose key is listed after it. The interface
document does not say what a list holds: it may also show keys that wait, attempts that failed, or the last key that was
named. So a refused registration fails only if all of this is true:

- `key_at` of the profile says at which place of the list the keys are, and the key is there with the same values beside
  it, such as its status, as an accepted key.
- The key was absent before, and two lists show it after.
- The second registration of a registered key is answered in another way. If it is answered in the same way, another
  client may have registered the key in between.

Without `key_at`, a refused registration whose key is listed is a warning.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from environments.door.bodies import texts_of
from environments.profiles.model import PixKey, Profile
from spec.answers import RefusalKind, is_granted, refusal_or_failure, registered, succeeded
from spec.exchange import VALID, Exchange
from spec.interface import KEY_TYPES, SYNTHETIC_PREFIX
from spec.key_list import Listing, ValuesBeside, may_be_random_key, plain
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
"""Refusals that say that nothing was done. After a conflict, a time-out or the answer of a gateway, the key may be
registered."""
_LISTS_AFTER = 2
"""Lists that must agree on a key after its registration, because one list may show it for a moment only."""
_MOST_KEPT = 4
"""Lists that are kept in memory after they were read. Registrations next to each other need the same lists, and a list
may be large."""
_MOST_REFERENCES = 20
"""Keys from before the run that a key is compared with: enough to see what stands beside a key of this account."""
_MAY_BE_LOST = (
    Registering.UNDOCUMENTED_TYPE,
    Registering.OTHER_NAME,
    Registering.LOWER_CASE,
    Registering.BESIDE_OTHERS,
)
"""Purposes of registrations after which the list is read twice. A number as type is not among them: the interface
document says neither which type it means, nor what a list shows of such a key."""
REGISTERED_BEFORE = "registered before; `disposable: true` tests it again"
LISTED_BEFORE = say(
    "a list showed the key before the run, so it is not touched; delete it by hand, and it is tested again"
)


@dataclass(frozen=True)
class Effect:
    """A refused registration whose key is listed after it."""

    exchange: Exchange
    key: str
    """The key that the lists show: the key that was sent, or a key that the service made."""
    is_certain: bool
    """True if the lists show the key with the values that an accepted key has beside it, such as its status."""


class KeyLists:
    """The lists of one account that a run read to see which keys are there, in order."""

    def __init__(self, log: Log, profile: Profile) -> None:
        self._log = log
        self._profile = profile
        self._last_listings: dict[int, Listing | None] = {}  # by number of the exchange, at most _MOST_KEPT
        account = next(iter(profile.accounts), "")
        reads = log.sent(LIST, KeyListing.KEYS_OF_NOW)
        # The exchanges that asked for a list of this account. Their answers are parsed only if they are needed.
        self._reads = [read for read in reads if read.request.last_segment == account]

    # -- which lists ------------------------------------------------------------------------------------------------

    def _listing_of(self, exchange: Exchange) -> Listing | None:
        """The list in the answer of this exchange; None if it could not be read. The last few are kept in memory."""
        if exchange.number not in self._last_listings:
            self._forget_the_oldest()
            listing = Listing(exchange, self._profile.key_at) if succeeded(exchange) else None
            self._last_listings[exchange.number] = listing if listing and listing.is_readable else None
        return self._last_listings[exchange.number]

    def _forget_the_oldest(self) -> None:
        """Drop the lists that were read first, until there is place for one more in `_last_listings`."""
        while len(self._last_listings) >= _MOST_KEPT:
            oldest = next(iter(self._last_listings))
            del self._last_listings[oldest]

    def _last_list_before(self, number: int) -> Listing | None:
        """The last list that was read before the exchange with this number; None without a readable one."""
        earlier = [read for read in self._reads if read.number < number]
        return self._listing_of(earlier[-1]) if earlier else None

    def next_list(self, number: int) -> Listing | None:
        """The first list that was read after the exchange with this number; None without a readable one."""
        later = [read for read in self._reads if read.number > number]
        return self._listing_of(later[0]) if later else None

    def _two_lists_after(self, number: int) -> list[Listing]:
        """The two lists after an exchange; empty unless both could be read."""
        later = [read for read in self._reads if read.number > number]
        listings = [self._listing_of(read) for read in later[:_LISTS_AFTER]]
        readable = [listing for listing in listings if listing is not None]
        return readable if len(readable) == _LISTS_AFTER else []

    # -- how lists show accepted keys -------------------------------------------------------------------------------

    @cached_property
    def _granted_with_first_list(self) -> list[tuple[Exchange, Listing]]:
        """The granted registrations that name a key for the first time, each with the first list after it.

        A registration is left out if that list could not be read, or if its key was deleted before the list.
        """
        purposes = (Registering.FIRST_TIME, Registering.PERHAPS_REGISTERED)
        granted = []
        for registration in registrations_for(self._log, *purposes):
            if not registered(registration) or not key_sent(registration):
                continue
            listing = self.next_list(registration.number)
            if listing is not None and not self._is_deleted_between(registration, listing.number):
                granted.append((registration, listing))
        return granted

    def _is_deleted_between(self, registration: Exchange, number_of_list: int) -> bool:
        """True if a deletion of the key was sent after its registration and before the list."""
        key = key_sent(registration)
        for exchange in self._log:
            is_between = registration.number < exchange.number < number_of_list
            is_deletion = exchange.operation == DELETE
            if is_between and is_deletion and key in texts_of(exchange.request.body):
                return True
        return False

    @cached_property
    def _registrations_with_list(self) -> list[tuple[Exchange, Listing]]:
        """The granted registrations whose key the next list shows, each with that list."""
        return [
            (registration, listing)
            for registration, listing in self._granted_with_first_list
            if _shows_in_any_case(listing, key_sent(registration))
        ]

    def have_shown_an_accepted_key(self, before: int) -> bool:
        """True if a list shows a key that was registered before this exchange."""
        return any(registration.number < before for registration, _ in self._registrations_with_list)

    @cached_property
    def _values_beside_accepted_keys(self) -> set[ValuesBeside]:
        """The values that lists show beside accepted keys, such as a status.

        If no list shows an accepted key, the values beside keys that were there before the run.
        """
        values_beside_keys: set[ValuesBeside] = set()
        for registration, listing in self._registrations_with_list:
            values_beside_keys |= listing.values_beside(key_sent(registration))
        first_list = self._first_list()
        if not self._registrations_with_list and first_list is not None:
            for key in islice(first_list.values, _MOST_REFERENCES):
                values_beside_keys |= first_list.values_beside(key)
        return values_beside_keys

    def _first_list(self) -> Listing | None:
        """The first list of the run; None if there is none, or if it could not be read."""
        return self._listing_of(self._reads[0]) if self._reads else None

    def _is_listed_like_an_accepted_key(self, key: str, listings: Iterable[Listing]) -> bool:
        """True if each list shows the key with the values that an accepted key has beside it, such as its status."""
        return all(listing.values_beside(key) & self._values_beside_accepted_keys for listing in listings)

    # -- refused, and listed ----------------------------------------------------------------------------------------

    def effects_of_refusals(self) -> Iterator[Effect]:
        """The valid registrations that were refused, although two later lists show their keys."""
        for registration in registrations_for(self._log, Registering.FIRST_TIME, Registering.PERHAPS_REGISTERED):
            if refusal_or_failure(registration) not in REFUSALS:
                continue
            key = self._key_that_appeared(registration)
            if key and not self._is_answered_like_a_registered_key(registration):
                listings = self._two_lists_after(registration.number)
                yield Effect(registration, key, self._is_listed_like_an_accepted_key(key, listings))

    def _key_that_appeared(self, registration: Exchange) -> str:
        """The key of a refused registration that lists show nevertheless: the list before it does not, two after it do.

        Empty if there is no such key. Empty, too, if the same request was sent twice after the list before, because the
        first one may have registered the key.
        """
        before = self._last_list_before(registration.number)
        if before is None or self._was_sent_twice_since(before, registration):
            return ""
        listings = self._two_lists_after(registration.number)
        if not listings:
            return ""
        key = key_sent(registration) or self._key_made_since(registration, listings)
        is_listed_after = all(listing.shows(key) for listing in listings)
        was_listed_before = before.shows(key)
        return key if is_listed_after and not was_listed_before else ""

    def effects_without_a_token(self) -> Iterator[Effect]:
        """The refused registrations without a valid token whose keys a later list shows.

        A registration does not count if a request with the valid token named its key before that list.
        """
        not_listed_so_far = [
            registration
            for registration in registrations_for(self._log, Registering.WITHOUT_A_TOKEN)
            if registration.response and not registered(registration) and key_sent(registration)
        ]
        for read in self._reads:
            for registration, listing in self._registrations_shown_by(read, not_listed_so_far):
                not_listed_so_far.remove(registration)
                key = key_sent(registration)
                was_there = self._was_listed_before(key, registration.number)
                if not was_there and not self._is_answered_like_a_registered_key(registration):
                    yield Effect(registration, key, self._is_listed_like_an_accepted_key(key, [listing]))

    def _registrations_shown_by(self, read: Exchange, without_token: list[Exchange]) -> list[tuple[Exchange, Listing]]:
        """The registrations, among these without a token, whose key this list shows; each with the list.

        A registration is left out if it was sent after the list was read, or if its key was also sent with the valid
        token before. The answer is parsed only if its bytes may show one of the keys, because a list may be large.
        """
        keys_sent_with_token = {key for number, key in self._sent_with_the_token if number < read.number}
        earlier = [registration for registration in without_token if registration.number < read.number]
        never_sent_with_token = [
            registration for registration in earlier if key_sent(registration) not in keys_sent_with_token
        ]
        candidates = [registration for registration in never_sent_with_token if _can_show(read, key_sent(registration))]
        listing = self._listing_of(read) if candidates else None
        if listing is None:
            return []
        return [(registration, listing) for registration in candidates if listing.shows(key_sent(registration))]

    @cached_property
    def _sent_with_the_token(self) -> list[tuple[int, str]]:
        """The keys that the scenario registered with the valid token, each with the number of the exchange."""
        registrations = registrations_for(self._log, *Registering)
        with_token = [exchange for exchange in registrations if exchange.credential == VALID]
        return [(exchange.number, key_sent(exchange)) for exchange in with_token]

    def _was_sent_twice_since(self, before: Listing, registration: Exchange) -> bool:
        """True if the same request went to the service more than once since a list.

        Then the first one may have registered the key, and the second one may be refused for that.
        """
        bodies = [
            exchange.request.body for exchange in self._log if before.number < exchange.number <= registration.number
        ]
        return bodies.count(registration.request.body) > 1

    def _key_made_since(self, registration: Exchange, listings: list[Listing]) -> str:
        """The value of a RANDOM key that the service may have made for a refused registration.

        It is the one key at `key_at` that no request named and no earlier list shows. Empty if there is none, or if
        there are several: then nobody can tell which of them is the key.
        """
        keys_sent = {key_sent(exchange) for exchange in valid_registrations(self._log)}
        if not listings:
            return ""
        new_keys = []
        for key in listings[-1].keys - keys_sent:
            if may_be_random_key(key) and not self._was_listed_before(key, registration.number):
                new_keys.append(key)
        return new_keys[0] if len(new_keys) == 1 else ""

    def _was_listed_before(self, key: str, number: int) -> bool:
        """True if a list that was read before the exchange with this number shows the key."""
        for read in self._reads:
            listing = self._listing_of(read) if read.number < number else None
            if listing is not None and listing.shows(key):
                return True
        return False

    def _is_answered_like_a_registered_key(self, exchange: Exchange) -> bool:
        """True if the repeated registration of a registered key got the same answer."""
        return any(indistinguishable(exchange, repeated) for repeated in repeated_registrations(self._log))

    # -- granted, and not listed ------------------------------------------------------------------------------------

    def lost_registrations(self) -> list[Exchange]:
        """The granted registrations whose keys are not listed, although they should be. There are two kinds:

        - Two later lists lack the key, although lists showed other accepted keys.
        - It is of a documented type, and no list ever showed a key of this type.
        """
        not_in_later_lists = self._not_in_later_lists()
        never_listed = self._never_listed()
        if never_listed:  # lists that lack a documented type prove nothing about keys of undocumented types
            not_in_later_lists = [registration for registration in not_in_later_lists if registration.valid]
        last_list = self._listing_of(self._reads[-1]) if self._reads else None
        if last_list is None:  # the key may be in the list that could not be read
            return not_in_later_lists
        return not_in_later_lists + never_listed

    def _not_in_later_lists(self) -> list[Exchange]:
        """The granted registrations whose keys two later lists lack, although lists showed other accepted keys."""
        missing = []
        for registration in registrations_for(self._log, *_MAY_BE_LOST):
            if not registered(registration) or not self.have_shown_an_accepted_key(registration.number):
                continue
            before = self._last_list_before(registration.number)
            texts_before = before.texts if before else frozenset[str]()
            listings = self._two_lists_after(registration.number)
            may_be_listed = any(_may_be_in(listing, registration, texts_before) for listing in listings)
            if listings and not may_be_listed:
                missing.append(registration)
        return missing

    def _never_listed(self) -> list[Exchange]:
        """The accepted registrations of documented types of which no list showed a key.

        RANDOM is left out, because no request names such a key.
        """
        listed_types = {"RANDOM", *(type_sent(registration) for registration, _ in self._registrations_with_list)}
        missing_keys = set()
        first_list = self._first_list()
        own_keys = {key.key for key in self._profile.pix_keys}
        for registration, listing in self._granted_with_first_list:
            key = key_sent(registration)
            may_be_masked = listing.may_hide(key, first_list)
            may_have_another_spelling = key in own_keys and listing.may_show(key)  # such as a phone number with spaces
            is_shown = listing.shows(key) or listing.shows_elsewhere(key)  # elsewhere: key_at is at fault
            if not (is_shown or may_be_masked or may_have_another_spelling):
                missing_keys.add(key)
        accepted = accepted_registrations(self._log)
        of_unlisted_types = [registration for registration in accepted if type_sent(registration) not in listed_types]
        return [registration for registration in of_unlisted_types if key_sent(registration) in missing_keys]


def _can_show(read: Exchange, key: str) -> bool:
    """True unless the key is synthetic and the bytes of the list surely lack it.

    A list may be large, and dozens of keys are looked for in it. So its answer is parsed only if this is true.
    """
    name, _, _ = key.partition("@")  # the part of an e-mail address that is synthetic
    is_synthetic = SYNTHETIC_PREFIX in name
    if not is_synthetic:
        return True
    return read.response is not None and name.encode() in read.response.body


def _shows_in_any_case(listing: Listing, key: str) -> bool:
    """True if the list shows the key in any letter case. `Listing.shows` wants a synthetic key exactly as it is."""
    return listing.shows(key) or plain(key) in listing.plain_texts


def _may_be_in(listing: Listing, registration: Exchange, texts_before: frozenset[str]) -> bool:
    """True if a list may show the key of a registration.

    If the service makes the key, or if its type is not documented, any text that an earlier list lacked may be the key.
    """
    key = key_sent(registration)
    if listing.shows(key) or listing.may_hide(key):
        return True
    has_a_documented_type = bool(key) and type_sent(registration) in KEY_TYPES
    if has_a_documented_type:
        return False
    return not listing.texts <= texts_before


# -- questions to the log -------------------------------------------------------------------------------------------


def refused_with_effect(log: Log, profile: Profile) -> list[Exchange]:
    """The valid registrations that were refused, and that surely registered their key."""
    return [effect.exchange for effect in KeyLists(log, profile).effects_of_refusals() if effect.is_certain]


def refused_and_listed(log: Log, profile: Profile) -> list[Exchange]:
    """The valid registrations that were refused, although lists show their keys.

    Empty if the profile has `key_at`, the place of the keys in a list: then `refused_with_effect` has the certain ones.
    """
    if profile.key_at is not None:
        return []
    return [effect.exchange for effect in KeyLists(log, profile).effects_of_refusals()]


def without_token_with_effect(log: Log, profile: Profile) -> list[Exchange]:
    """The registrations without a valid token that were refused, and that surely registered their key."""
    return [effect.exchange for effect in KeyLists(log, profile).effects_without_a_token() if effect.is_certain]


def without_token_and_listed(log: Log, profile: Profile) -> list[Exchange]:
    """The registrations without a valid token that were refused, although lists show their keys.

    Empty if the profile has `key_at`, the place of the keys in a list: then `without_token_with_effect` has the certain
    ones.
    """
    if profile.key_at is not None:
        return []
    return [effect.exchange for effect in KeyLists(log, profile).effects_without_a_token()]


def lost_registrations(log: Log, profile: Profile) -> list[Exchange]:
    """The granted registrations whose keys are not listed, although they should be."""
    return KeyLists(log, profile).lost_registrations()


# -- keys that a run leaves alone -----------------------------------------------------------------------------------


def types_left_alone(log: Log, profile: Profile) -> dict[str, Text]:
    """By key type, the reason why no key of the type is registered.

    The account may have no such key, or a list showed each key of the type before the run.
    """
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
    keys_sent = {"", *map(key_sent, valid_registrations(log))}
    unregistered_keys = [key for key in profile.pix_keys if key.key not in keys_sent]
    left_alone: set[PixKey] = set()
    if not unregistered_keys:  # a list may be large, and need not be parsed then
        return left_alone
    for read in _lists_before_registrations(log):
        if is_granted(read):
            listing = Listing(read, profile.key_at)
            left_alone |= {key for key in unregistered_keys if _list_may_show(listing, key, profile)}
    return left_alone


def _lists_before_registrations(log: Log) -> list[Exchange]:
    """The lists that were read before the first registration; all lists if there is no registration."""
    reads = log.sent(LIST, KeyListing.KEYS_OF_NOW)
    numbers = [exchange.number for exchange in registrations_for(log, *Registering)]
    if not numbers:
        return reads
    return [read for read in reads if read.number < min(numbers)]


def _list_may_show(listing: Listing, key: PixKey, profile: Profile) -> bool:
    """True if a list shows a key of the profile. Outside a sandbox it is enough that it may show the key, because the
    key may be somebody's."""
    return listing.shows(key.key) or (not profile.is_sandbox and listing.may_show(key.key))
