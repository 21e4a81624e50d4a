"""What the lists of keys show of registrations: a refused key that is registered, or a granted key that is missing.

A list is the answer to GET /v1/pix/keys/{accountId}; a key is listed if the list shows it. Some services refuse a
registration and register the key nevertheless. But the interface document does not say what a list holds: it may also
show keys that wait, attempts that failed, or the last key that was named. So a refused registration fails only if all
of this is true:

- `key_at` of the profile says at which place of the list the keys are, and the key is at this place. The other values
  of its item, such as its status, are those of an accepted key.
- The list before the registration lacks the key, and two lists after it show the key.
- The refusal does not mean "this key is registered already". To know how the service says that, the run registers
  another key twice. If the refusal is like the second answer, another client may have registered the key.

Without `key_at`, a refused registration whose key is listed is a warning.

This module judges registrations. spec/key_list.py reads one list (`Listing`), and environments/door/account_lists.py
watches the lists during a run, so that no key of somebody else is lost.
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
from spec.observed import is_answered_like
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

REFUSALS_WITHOUT_EFFECT = (
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
"""Parsed lists that are kept in memory. Registrations next to each other need the same lists, and a list may be large.
"""
_MOST_REFERENCES = 20
"""Keys from before the run with which a key is compared: enough to see which values a key of this account has beside
it, such as its status."""
LISTS_ARE_READ_AFTER = (
    Registering.UNDOCUMENTED_TYPE,
    Registering.OTHER_NAME_OF_RANDOM,
    Registering.LOWER_CASE,
    Registering.SIMULTANEOUS,
)
"""Purposes of registrations after which the list is read twice if a registration is granted: only a list shows whether
the service registered the key. After the other purposes a list would prove nothing. For example, the interface document
does not say which type a number (NUMERIC) means, and a granted request without a token is a deviation in any case."""
REGISTERED_BEFORE_AND_NOT_DISPOSABLE = "registered before; `disposable: true` tests it again"
"""Reason why a key type is not tested: a list showed its keys before the run, and none is disposable. `disposable` at a
key of the profile permits the run to delete the key first, if an earlier run registered it."""
DISPOSABLE_BUT_LISTED_BEFORE = say(
    "a list showed the key before the run, so it is not touched; delete it by hand, and it is tested again"
)
"""The same reason, if a key is disposable. The reader expects that the run deletes such a key first, so this text says
why it did not: no earlier run registered the key, so it belongs to somebody."""


@dataclass(frozen=True)
class RefusedButListed:
    """A registration that was refused although later lists show its key, so that it perhaps was registered."""

    exchange: Exchange
    """The registration."""
    key: str
    """The key that the lists show: the key that was sent, or a key that the service made."""
    is_certain: bool
    """True if the lists show the key with the values that an accepted key has beside it, such as its status."""


class KeyLists:
    """The lists of keys that a run read, in order, of the account at which it registers: the first of the profile.

    They show whether a refused registration registered its key, and whether an accepted one did not.
    """

    def __init__(self, log: Log, profile: Profile) -> None:
        """`log` has all requests of the run with their answers. `profile` says where in a list the keys are."""
        self._log = log
        self._profile = profile
        self._last_listings: dict[int, Listing | None] = {}  # by number of the exchange, at most _MOST_KEPT
        account = next(iter(profile.accounts), "")
        # A list that was read at the same moment as a registration (BESIDE_A_REGISTRATION) is left out, because nobody
        # knows whether the service read the list before or after it registered the key.
        reads = log.sent(LIST, KeyListing.KEYS_OF_NOW)
        # The exchanges that asked for a list of this account. Their answers are parsed only if they are needed.
        self._reads = [read for read in reads if read.request.last_segment == account]

    # -- which lists ------------------------------------------------------------------------------------------------

    def _listing_of(self, exchange: Exchange) -> Listing | None:
        """The list of keys in the answer of this exchange; None if it could not be read.

        The last few lists are kept in memory, because it takes long to parse a large one again.
        """
        if exchange.number not in self._last_listings:
            self._forget_the_oldest()
            listing = Listing(exchange, self._profile.key_at) if succeeded(exchange) else None
            self._last_listings[exchange.number] = listing if listing and listing.is_readable else None
        return self._last_listings[exchange.number]

    def _forget_the_oldest(self) -> None:
        """Drop the oldest lists from memory, so that one more can be kept: at most four, because they may be large."""
        while len(self._last_listings) >= _MOST_KEPT:
            oldest = next(iter(self._last_listings))  # a dictionary keeps the order in which its items were added
            del self._last_listings[oldest]

    def _last_list_before(self, number: int) -> Listing | None:
        """The last list of keys that was read before the exchange with this number.

        None if there is none, or if it could not be read.
        """
        earlier = [read for read in self._reads if read.number < number]
        return self._listing_of(earlier[-1]) if earlier else None

    def next_list(self, number: int) -> Listing | None:
        """The first list of keys that was read after the exchange with this number.

        None if there is none, or if it could not be read.
        """
        later = [read for read in self._reads if read.number > number]
        return self._listing_of(later[0]) if later else None

    def _two_lists_after(self, number: int) -> list[Listing]:
        """The next two lists of keys that were read after the exchange with this number.

        Empty if one of them is missing or could not be read. A key counts as listed only if both show it, because one
        list may show it for a moment only.
        """
        later = [read for read in self._reads if read.number > number]
        listings = [self._listing_of(read) for read in later[:_LISTS_AFTER]]
        readable = [listing for listing in listings if listing is not None]
        return readable if len(readable) == _LISTS_AFTER else []

    # -- how lists show accepted keys -------------------------------------------------------------------------------

    @cached_property
    def _granted_with_next_list(self) -> list[tuple[Exchange, Listing]]:
        """The granted first registrations of keys, each with the next list of keys that was read.

        Of some keys the run did not know whether they were registered already (PERHAPS_REGISTERED). A registration is
        left out if that list could not be read, or if its key was deleted before the list was read.
        """
        purposes = (Registering.FIRST_TIME, Registering.PERHAPS_REGISTERED)
        granted = []
        for registration in registrations_for(self._log, *purposes):
            if not registered(registration) or not key_sent(registration):  # a RANDOM key may be sent without a value
                continue
            listing = self.next_list(registration.number)
            if listing is not None and not self._is_deleted_between(registration, listing.number):
                granted.append((registration, listing))
        return granted

    def _is_deleted_between(self, registration: Exchange, number_of_list: int) -> bool:
        """True if a deletion of the key was sent after its registration and before the list of keys was read.

        Such a list need not show the key. `number_of_list` is the number of the exchange with the list.
        """
        key = key_sent(registration)
        for exchange in self._log:
            is_between = registration.number < exchange.number < number_of_list
            is_deletion = exchange.operation == DELETE
            if is_between and is_deletion and key in texts_of(exchange.request.body):
                return True
        return False

    @cached_property
    def _granted_and_listed(self) -> list[tuple[Exchange, Listing]]:
        """The registrations that were granted and whose key the next list shows, each with that list.

        They show what a list of this service looks like after a registration that succeeded.
        """
        return [
            (registration, listing)
            for registration, listing in self._granted_with_next_list
            if _shows_in_any_case(listing, key_sent(registration))
        ]

    def have_shown_an_accepted_key(self, before: int) -> bool:
        """True if a list showed a key that was registered earlier than the exchange with the number `before`.

        Then lists of this service show keys that are registered, and a key that is missing in them is a fault.
        """
        return any(registration.number < before for registration, _ in self._granted_and_listed)

    @cached_property
    def _values_beside_accepted_keys(self) -> set[ValuesBeside]:
        """The values that lists show beside keys that are registered, such as the status ACTIVE.

        A key with other values beside it, such as the status REFUSED, is listed but not registered. The registered keys
        are those whose registration was granted. If no list shows one of them, they are the keys in the first list,
        which were there before the run.
        """
        values_beside_keys: set[ValuesBeside] = set()
        for registration, listing in self._granted_and_listed:
            values_beside_keys |= listing.values_beside(key_sent(registration))
        first_list = self._first_list()
        if not self._granted_and_listed and first_list is not None:
            for key in islice(first_list.values, _MOST_REFERENCES):  # a few keys are enough to compare with
                values_beside_keys |= first_list.values_beside(key)
        return values_beside_keys

    def _first_list(self) -> Listing | None:
        """The first list of keys that the run read; None if there is none, or if it could not be read."""
        return self._listing_of(self._reads[0]) if self._reads else None

    def _is_listed_like_an_accepted_key(self, key: str, listings: Iterable[Listing]) -> bool:
        """True if each of these lists shows the key with values beside it that a registered key has, such as a status.

        Then the key is certainly registered, and not only listed as an attempt that failed.
        """
        return all(listing.values_beside(key) & self._values_beside_accepted_keys for listing in listings)

    # -- refused, and listed ----------------------------------------------------------------------------------------

    def valid_but_refused_and_listed(self) -> Iterator[RefusedButListed]:
        """The valid registrations that were refused although two later lists show their keys.

        Only refusals count that say that nothing was done, such as a 400. A registration is left out if the second
        registration of a registered key gets the same answer: then another client may have registered the key.
        """
        for registration in registrations_for(self._log, Registering.FIRST_TIME, Registering.PERHAPS_REGISTERED):
            if refusal_or_failure(registration) not in REFUSALS_WITHOUT_EFFECT:
                continue
            key = self._key_that_appeared(registration)
            if key and not self._is_answered_like_a_registered_key(registration):
                listings = self._two_lists_after(registration.number)
                yield RefusedButListed(registration, key, self._is_listed_like_an_accepted_key(key, listings))

    def _key_that_appeared(self, registration: Exchange) -> str:
        """The key of a refused registration, if the list before it does not show the key and two lists after it do.

        Without a key in the request, it is the key that the service may have made (RANDOM). Empty if there is no such
        key. Empty, too, if the same request was sent twice since the list before: the first one may have registered it.
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

    def without_token_and_listed(self) -> Iterator[RefusedButListed]:
        """The registrations without a valid token that were refused although a later list shows their keys.

        A registration is left out in three cases, because something else explains why the key is listed:

        - A request with the valid token named the key before that list was read.
        - An earlier list shows the key.
        - The second registration of a registered key gets the same answer.
        """
        not_listed_so_far = []
        for registration in registrations_for(self._log, Registering.WITHOUT_A_TOKEN):
            is_refused = registration.response is not None and not registered(registration)
            if is_refused and key_sent(registration):  # a request without a key cannot be recognized in a list
                not_listed_so_far.append(registration)
        for read in self._reads:
            for registration, listing in self._registrations_shown_by(read, not_listed_so_far):
                not_listed_so_far.remove(registration)
                key = key_sent(registration)
                was_listed_before = self._was_listed_before(key, registration.number)
                if not was_listed_before and not self._is_answered_like_a_registered_key(registration):
                    yield RefusedButListed(registration, key, self._is_listed_like_an_accepted_key(key, [listing]))

    def _registrations_shown_by(self, read: Exchange, without_token: list[Exchange]) -> list[tuple[Exchange, Listing]]:
        """The registrations, among these without a token, whose key the list in this answer shows; each with the list.

        A registration is left out if it was sent after the list was read, or if its key was also sent with the valid
        token before. The list is parsed only if its bytes may contain one of the keys, because it may be large.
        """
        keys_sent_with_token = {key for number, key in self._sent_with_the_token if number < read.number}
        candidates = []
        for registration in without_token:
            was_sent_before = registration.number < read.number
            key = key_sent(registration)
            if was_sent_before and key not in keys_sent_with_token and _can_show(read, key):
                candidates.append(registration)
        listing = self._listing_of(read) if candidates else None
        if listing is None:
            return []
        return [(registration, listing) for registration in candidates if listing.shows(key_sent(registration))]

    @cached_property
    def _sent_with_the_token(self) -> list[tuple[int, str]]:
        """The keys that the run sent with the valid token to register them, each with the number of the exchange.

        A list may show such a key because this request registered it, and not one without the token.
        """
        registrations = registrations_for(self._log, *Registering)
        with_token = [exchange for exchange in registrations if exchange.credential == VALID]
        return [(exchange.number, key_sent(exchange)) for exchange in with_token]

    def _was_sent_twice_since(self, before: Listing, registration: Exchange) -> bool:
        """True if a registration was sent more than once since the list `before` was read, with the same body.

        Then the first one may have registered the key, and the second one may be refused because the key is registered.
        """
        bodies = [
            exchange.request.body for exchange in self._log if before.number < exchange.number <= registration.number
        ]
        return bodies.count(registration.request.body) > 1

    def _key_made_since(self, registration: Exchange, listings: list[Listing]) -> str:
        """The value of a RANDOM key that the service may have made although it refused the registration.

        `listings` are the two lists after the registration. A key counts if the last of them shows it, if no request
        named it, if no earlier list shows it, and if it has the form of a RANDOM key. Empty if there is no such key;
        empty, too, if there are several, because nobody can tell which of them was made for this registration.
        """
        keys_sent = {key_sent(exchange) for exchange in valid_registrations(self._log)}
        new_keys = []
        for key in listings[-1].keys - keys_sent:
            if may_be_random_key(key) and not self._was_listed_before(key, registration.number):
                new_keys.append(key)
        return new_keys[0] if len(new_keys) == 1 else ""

    def _was_listed_before(self, key: str, number: int) -> bool:
        """True if a list that was read before the exchange with this number shows the key.

        Then that exchange did not register it.
        """
        for read in self._reads:
            listing = self._listing_of(read) if read.number < number else None
            if listing is not None and listing.shows(key):
                return True
        return False

    def _is_answered_like_a_registered_key(self, exchange: Exchange) -> bool:
        """True if a registration got the same answer as the second registration of a key that is registered.

        Then it may have been refused because another client had registered the key.
        """
        return any(is_answered_like(exchange, repeated) for repeated in repeated_registrations(self._log))

    # -- granted, and not listed ------------------------------------------------------------------------------------

    def granted_but_not_listed(self) -> list[Exchange]:
        """The registrations that were granted although no list shows their keys, so that the keys were perhaps lost.

        There are two kinds:

        - Two later lists lack the key, although lists showed other registered keys.
        - The key is of a documented type, and no list ever showed a key of this type.
        """
        not_in_later_lists = self._not_in_later_lists()
        never_listed = self._never_listed()
        if never_listed:
            # The lists perhaps show no keys of some types at all. Then a missing key of an undocumented type proves
            # nothing, so only the valid registrations stay, whose types are documented.
            not_in_later_lists = [registration for registration in not_in_later_lists if registration.valid]
        last_list = self._listing_of(self._reads[-1]) if self._reads else None
        if last_list is None:  # the key may be in the list that could not be read
            return not_in_later_lists
        return not_in_later_lists + never_listed

    def _not_in_later_lists(self) -> list[Exchange]:
        """The registrations that were granted although two later lists lack their keys.

        A registration counts only if an earlier list showed another key that the run had registered: so lists of this
        service show registered keys. Only registrations are looked at after which the run reads two lists, such as
        those with an undocumented type.
        """
        missing = []
        for registration in registrations_for(self._log, *LISTS_ARE_READ_AFTER):
            if not registered(registration) or not self.have_shown_an_accepted_key(registration.number):
                continue
            before = self._last_list_before(registration.number)
            texts_before = before.texts if before else frozenset[str]()  # a new text may be the key in another form
            listings = self._two_lists_after(registration.number)
            may_be_listed = any(_may_show_key_of(registration, listing, texts_before) for listing in listings)
            if listings and not may_be_listed:
                missing.append(registration)
        return missing

    def _never_listed(self) -> list[Exchange]:
        """The granted registrations of a key that no list shows, if no list shows any registered key of the same type.

        All registrations of such a key are returned, also a second one. RANDOM keys are left out, because no request
        names their values.
        """
        listed_types = {type_sent(registration) for registration, _ in self._granted_and_listed}
        missing_keys = set()
        for registration, listing in self._granted_with_next_list:
            key = key_sent(registration)
            if not self._may_be_listed(key, listing):
                missing_keys.add(key)
        never_listed = []
        for registration in accepted_registrations(self._log):
            key_type = type_sent(registration)
            is_type_listed = key_type in listed_types
            if key_type != "RANDOM" and not is_type_listed and key_sent(registration) in missing_keys:
                never_listed.append(registration)
        return never_listed

    def _may_be_listed(self, key: str, listing: Listing) -> bool:
        """True if the list shows a key, or may show it in another way:

        - outside `key_at`, the place that the profile names: then the profile is wrong
        - masked, such as `***.456.789-**`, unless the first list has this text: then it is an older key
        - in another spelling, such as a phone number with spaces, if it is a key of the profile
        """
        may_have_another_spelling = key in {own_key.key for own_key in self._profile.pix_keys}
        return (
            listing.shows(key)
            or listing.shows_outside_key_at(key)
            or listing.may_show_masked(key, before=self._first_list())
            or (may_have_another_spelling and listing.may_show(key))
        )


def _can_show(read: Exchange, key: str) -> bool:
    """True if the list in this answer may show the key, as far as its bytes tell without parsing them.

    A list may be large, and dozens of keys are looked for in it, so it is parsed only if this is true. A synthetic key
    (made up by the suite) is in the list exactly as it was sent, or not at all. For any other key the result is True,
    because the list may have the key in another spelling.
    """
    name, _, _ = key.partition("@")  # the part of an e-mail address that is synthetic
    is_synthetic = SYNTHETIC_PREFIX in name
    if not is_synthetic:
        return True
    return read.response is not None and name.encode() in read.response.body


def _shows_in_any_case(listing: Listing, key: str) -> bool:
    """True if a list shows a key, whatever its letter case and punctuation.

    `Listing.shows` needs the exact letter case of a synthetic key (made up by the suite), but a service may change it.
    """
    return listing.shows(key) or plain(key) in listing.plain_texts


def _may_show_key_of(registration: Exchange, listing: Listing, texts_before: frozenset[str]) -> bool:
    """True if a list may show the key of a registration, also in another form.

    The key may be masked, such as `***.456.789-**`. A service may also replace a key of an undocumented type, and it
    makes a RANDOM key itself. So with such a type, or without a key in the request, any new text in the list may be the
    key. `texts_before` are the texts in the list before the registration.
    """
    key = key_sent(registration)
    if listing.shows(key) or listing.may_show_masked(key):
        return True
    has_a_documented_type = bool(key) and type_sent(registration) in KEY_TYPES
    if has_a_documented_type:
        return False
    return not listing.texts <= texts_before


# -- what the tests ask ---------------------------------------------------------------------------------------------


def refused_but_registered(log: Log, profile: Profile) -> list[Exchange]:
    """The valid registrations that were refused and certainly registered their key, which is a fault of the service.

    Lists show the key, with the same values beside it (such as a status) as other registered keys.
    """
    return _certainly_registered(KeyLists(log, profile).valid_but_refused_and_listed())


def refused_but_perhaps_registered(log: Log, profile: Profile) -> list[Exchange]:
    """The valid registrations that were refused although lists show their keys, for a warning.

    Empty if the profile has `key_at`, the place of the keys in a list: then it is known which keys are registered, and
    `refused_but_registered` has their registrations.
    """
    return _perhaps_registered(KeyLists(log, profile).valid_but_refused_and_listed(), profile)


def without_token_but_registered(log: Log, profile: Profile) -> list[Exchange]:
    """The registrations without a valid token that were refused and certainly registered their key.

    Lists show the key, with the same values beside it (such as a status) as other registered keys.
    """
    return _certainly_registered(KeyLists(log, profile).without_token_and_listed())


def without_token_but_perhaps_registered(log: Log, profile: Profile) -> list[Exchange]:
    """The registrations without a valid token that were refused although lists show their keys, for a warning.

    Empty if the profile has `key_at`, the place of the keys in a list: then it is known which keys are registered, and
    `without_token_but_registered` has their registrations.
    """
    return _perhaps_registered(KeyLists(log, profile).without_token_and_listed(), profile)


def granted_but_not_listed(log: Log, profile: Profile) -> list[Exchange]:
    """The registrations that were granted although no list shows their keys, for a warning: the keys may be lost."""
    return KeyLists(log, profile).granted_but_not_listed()


# -- keys of the profile that a run does not register ---------------------------------------------------------------


def reasons_of_types_left_out(log: Log, profile: Profile) -> dict[str, Text]:
    """By key type, the reason why the run registers no key of this type; the tests of the type are out of scope.

    The profile says that the account may have no such key. Or a list showed each key of this type before the run, so
    that somebody uses the key. A type that the run registers is not in the result.
    """
    reasons: dict[str, Text] = {}
    keys_not_registered = _keys_not_registered(log, profile)
    types_in_order = list(dict.fromkeys(key.type for key in profile.pix_keys))  # each type once
    for key_type in types_in_order:
        keys = [key for key in profile.pix_keys if key.type == key_type]
        was_each_left_out = keys_not_registered.issuperset(keys)
        if key_type in profile.not_for_this_account:
            reasons[key_type] = say("not_for_this_account of the profile names {type}", type=key_type)
        elif was_each_left_out:
            is_disposable = any(key.disposable for key in keys)
            reason = DISPOSABLE_BUT_LISTED_BEFORE if is_disposable else REGISTERED_BEFORE_AND_NOT_DISPOSABLE
            reasons[key_type] = reason
    return reasons


def _keys_not_registered(log: Log, profile: Profile) -> set[PixKey]:
    """The keys of the profile that the run did not register because an earlier list showed them."""
    keys_sent = {"", *map(key_sent, valid_registrations(log))}  # "" because a RANDOM key of a profile has no value
    unregistered_keys = [key for key in profile.pix_keys if key.key not in keys_sent]
    listed_keys: set[PixKey] = set()
    if not unregistered_keys:  # a list may be large, and need not be parsed then
        return listed_keys
    for read in _lists_before_registrations(log):
        if is_granted(read):
            listing = Listing(read, profile.key_at)
            listed_keys |= {key for key in unregistered_keys if _list_may_show(listing, key, profile)}
    return listed_keys


def _lists_before_registrations(log: Log) -> list[Exchange]:
    """The exchanges with the lists of keys that were read before the first registration: they show older keys.

    If there was no registration, these are all lists.
    """
    reads = log.sent(LIST, KeyListing.KEYS_OF_NOW)
    numbers = [exchange.number for exchange in registrations_for(log, *Registering)]
    if not numbers:
        return reads
    return [read for read in reads if read.number < min(numbers)]


def _list_may_show(listing: Listing, key: PixKey, profile: Profile) -> bool:
    """True if a list shows a key of the profile, so that the run must not register or delete it.

    Outside a sandbox it is enough that the list perhaps shows the key, for example masked, because somebody may use it.
    """
    return listing.shows(key.key) or (not profile.is_sandbox and listing.may_show(key.key))


def _certainly_registered(refused_but_listed: Iterable[RefusedButListed]) -> list[Exchange]:
    """The registrations, among these refused ones whose keys are listed, that certainly registered their key."""
    return [refused.exchange for refused in refused_but_listed if refused.is_certain]


def _perhaps_registered(refused_but_listed: Iterable[RefusedButListed], profile: Profile) -> list[Exchange]:
    """All these refused registrations whose keys are listed, for a warning, because they perhaps registered their keys.

    Empty if the profile has `key_at` (the place of the keys in a list), because then it is certain which keys are
    registered.
    """
    if profile.key_at is not None:
        return []
    return [refused.exchange for refused in refused_but_listed]
