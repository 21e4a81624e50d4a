"""The states of a key that a run registers, and how an answer changes them. Pure functions: no request, no file.

`Keys` (run_keys.py) asks after every exchange. An answer alone proves little: a service may grant a registration and
forget the key, or refuse it and keep the key. So each function takes the state and the answer or the list, and gives
the state that both of them permit. If in doubt, the key counts as perhaps registered, so that the run tells of it.

    NOT_SENT -> MAYBE (just before it is sent) -> REGISTERED or REFUSED -> DELETED -> KEPT if a list still shows it
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from environments.door.bodies import contains_key, texts_of
from environments.door.key_record import LATER, MAYBE, REGISTERED
from spec.answers import RefusalKind, is_refusal, is_uncertain_registration, refusal_kind, registered
from spec.exchange import Exchange, FailureKind
from spec.interface import SYNTHETIC_PREFIX
from spec.key_list import Listing, has_mask, plain
from spec.message import Text

_NOT_TO_BE_NAMED = re.compile(r"\s*|.{201,}|.*[\0-\x1f\x7f-\x9f\ud800-\udfff].*", re.DOTALL)
"""Keys that a service may read as another key: empty or blank, longer than 200 characters, or with control characters
(C0, DEL, C1) or halves of surrogate pairs. A PIX key has at most 77 characters (an e-mail address)."""
_SHORTEST_CUT_KEY = 12
"""Fewest letters and digits by which the beginning of a synthetic key is recognised: its mark, and five more."""
_NOTHING_WAS_SENT = (FailureKind.NO_CONNECTION, FailureKind.TLS)
"""Failures after which no byte of the request can have reached the service."""


class KeyState(Enum):
    """State of a key. If the key is not cleaned up, the report shows the text as the reason."""

    NOT_SENT = "not sent"
    BEFORE = "there before the run"
    GONE = "not registered"
    DELETED = "deleted"
    REGISTERED = "registered and not deleted"
    MAYBE = "perhaps registered"
    REFUSED = "perhaps registered: refused, and no list shows that it is not there"
    KEPT = "deleted, but still listed"
    LATER = "perhaps registered later: it was granted, and no list has shown it"


EVENT_OF_STATE: Mapping[KeyState, str] = {
    KeyState.REGISTERED: REGISTERED,
    KeyState.KEPT: REGISTERED,
    KeyState.MAYBE: MAYBE,
    KeyState.REFUSED: MAYBE,
    KeyState.LATER: LATER,
}
"""The states of keys that may still be registered, each with its event in the key record."""
REGISTRATION_UNKNOWN = (KeyState.MAYBE, KeyState.REFUSED)
"""States of keys of which no answer says if they are registered."""
PERHAPS_REGISTERED_BY_RUN = (KeyState.REGISTERED, KeyState.MAYBE, KeyState.DELETED, KeyState.KEPT, KeyState.LATER)
"""States of keys that are, or were, perhaps registered by this run."""
_STATE_IF_LISTED: Mapping[KeyState, KeyState] = {
    KeyState.NOT_SENT: KeyState.BEFORE,
    KeyState.GONE: KeyState.MAYBE,
    KeyState.DELETED: KeyState.KEPT,
    KeyState.REFUSED: KeyState.MAYBE,
    KeyState.LATER: KeyState.REGISTERED,
}
"""By the state of a key that seems free, its state after a list that shows it."""
SEEMINGLY_NOT_REGISTERED = frozenset(_STATE_IF_LISTED)
"""States of keys that are not registered, as far as the answers tell. They are those that a list can contradict."""
_STATE_IF_NOT_LISTED = {KeyState.REFUSED: KeyState.GONE, KeyState.KEPT: KeyState.DELETED}
"""By the state of a key, its state after a list that does not show it. The other states stay: a key whose registration
was granted, or was not answered, may be listed later."""


@dataclass(eq=False)
class RunKey:
    """A key that the run registers, or may register."""

    name: Text  # for people; the value of a key of the profile is not in it
    type: str
    value: str | None  # None if the service made the key and no answer tells it
    account: str
    is_of_profile: bool = False  # True for a key of the profile, false for a synthetic one
    disposable: bool = True  # True if the profile lets the run delete it
    state: KeyState = KeyState.NOT_SENT
    exchanges: list[int] = field(default_factory=list)  # numbers of the exchanges that show its state
    was_accepted: bool = False  # True if an answer to its registration was no refusal
    was_listed: bool = False  # True if a list showed it
    was_missed: bool = False  # True if a list did not show it, although its registration was accepted

    @property
    def is_at_synthetic_account(self) -> bool:
        """True if it was sent for a synthetic account."""
        return SYNTHETIC_PREFIX in self.account

    @property
    def may_still_exist(self) -> bool:
        """True if the run registered it, or may have, and it may still be there."""
        return self.state in EVENT_OF_STATE

    @property
    def was_never_listed(self) -> bool:
        """True if its registration was accepted, a list did not show it afterwards, and none has shown it since."""
        return self.was_missed and not self.was_listed


@dataclass(frozen=True)
class Presence:
    """What a list says of a key: it is shown, absent, or neither, because the list may show it masked."""

    is_shown: bool
    is_absent: bool
    """True if the list does not show the key, and masks no key that may be this one."""
    may_be_shown: bool
    """True if a text in the list may be the key, masked or spelled otherwise. For a synthetic key it is `is_shown`."""


def presence_of(key: RunKey, value: str, listing: Listing, before: Listing | None) -> Presence:
    """What a list says of a key with this value. `before` is the list of the account before the run, if it was read."""
    is_shown = listing.shows(value)
    return Presence(
        is_shown,
        is_absent=not is_shown and not listing.may_hide(value, before),
        may_be_shown=is_shown or (key.is_of_profile and listing.may_show(value)),
    )


# -- how an answer changes the state ------------------------------------------------------------------------------


def state_after_registration(key: RunKey, exchange: Exchange, state_before: KeyState, *, is_sandbox: bool) -> KeyState:
    """The state after a registration. `state_before` is the state before the request was sent.

    | answer | state |
    |---|---|
    | success | REGISTERED |
    | anything else, if the key was registered before | unchanged |
    | no connection | that before the request if the key may be there, else GONE, because nothing was sent |
    | none, or one that neither grants nor refuses it | unchanged: MAYBE, as `Keys` set it before the request |
    | a refusal, if an earlier request was accepted and the key may be there | that before the request |
    | another refusal | REFUSED, until a list shows that the key is not there |
    """
    if registered(exchange):
        return KeyState.REGISTERED
    if key.state not in REGISTRATION_UNKNOWN:
        return key.state
    if had_no_connection(exchange):
        return state_before if state_before in EVENT_OF_STATE else KeyState.GONE
    if exchange.response is None or is_uncertain_registration(exchange):
        return key.state
    if key.was_accepted and state_before in EVENT_OF_STATE:
        return state_before
    # A refused key without a known value, for a synthetic account, counts as gone: no list could show it. On a sandbox
    # the same holds for invalid requests. A status from 500 on is no clear refusal.
    is_at_synthetic_account = key.is_at_synthetic_account or (is_sandbox and not exchange.valid)
    no_list_can_show_it = key.value is None and is_at_synthetic_account
    is_clear_refusal = exchange.response.status < 500
    if no_list_can_show_it and is_clear_refusal:
        return KeyState.GONE
    return KeyState.REFUSED


def had_no_connection(exchange: Exchange) -> bool:
    """True if the request never left, because there was no connection."""
    return exchange.failure is not None and exchange.failure.kind in _NOTHING_WAS_SENT


def is_gone_after(key: RunKey, deletion: Exchange) -> bool:
    """True if the answer to a deletion says that the key is not registered any more.

    The deletion names the key at its account, and it succeeded. If the key was only perhaps registered, the answer that
    there is no such key says the same, unless the key may be registered later.
    """
    if deletion.response is None or key.account != deletion.request.last_segment:
        return False
    refusal = refusal_kind(deletion.response)
    was_not_there = refusal is RefusalKind.NOT_FOUND and key.state in REGISTRATION_UNKNOWN and not key.was_never_listed
    is_gone = refusal is None or was_not_there
    return is_gone and _body_names_key(key, texts_of(deletion.request.body))


def _body_names_key(key: RunKey, texts: list[str]) -> bool:
    """True if the texts of a body name the key. An empty key must stand there as an empty text."""
    if not key.value:
        return key.value in texts
    return any(contains_key(text, key.value) for text in texts)


def state_after_deletion(key: RunKey, deletion: Exchange) -> KeyState:
    """The state after a deletion that closes the key, see `is_gone_after`.

    A key whose registration was accepted and that no list has shown may still be registered after its deletion.
    """
    if deletion.response is not None and is_refusal(deletion.response):
        return KeyState.GONE
    may_come_later = key.state is KeyState.LATER or key.was_never_listed
    return KeyState.LATER if may_come_later else KeyState.DELETED


def state_after_list(key: RunKey, presence: Presence, *, is_sandbox: bool) -> KeyState:
    """The state after a list of the account of the key.

    Off a sandbox, a key of the profile that was not sent yet counts as there before the run if a text in the list may
    be the key.
    """
    may_be_there_before_run = key.state is KeyState.NOT_SENT and not is_sandbox and presence.may_be_shown
    if presence.is_shown or may_be_there_before_run:
        return _STATE_IF_LISTED.get(key.state, key.state)
    if presence.is_absent:
        return _STATE_IF_NOT_LISTED.get(key.state, key.state)
    return key.state


def state_at_the_end(key: RunKey, *, was_any_list_read: bool) -> KeyState:
    """The state of a key when nothing more is sent, as far as the lists tell."""
    is_refused_at_synthetic_account = key.state is KeyState.REFUSED and key.is_at_synthetic_account
    if is_refused_at_synthetic_account and not was_any_list_read:
        return KeyState.GONE
    if key.state is KeyState.REGISTERED and key.was_never_listed:
        return KeyState.LATER
    return key.state


# -- which keys are the run's own ---------------------------------------------------------------------------------


def can_be_named(value: str) -> bool:
    """True if no service may read the key as another one, so that a deletion of it can take no other key."""
    return not _NOT_TO_BE_NAMED.fullmatch(value)


def own_key_may_be_deleted(key: RunKey, before: Listing | None, now: Listing | None, *, is_sandbox: bool) -> bool:
    """True if the run may delete a key of the profile: the key is disposable and was not there before the run.

    `before` and `now` are the lists of its account before the run and now. Off a sandbox both must have been read and
    mask no key, the first one must be complete, and the second one must show the key. On a sandbox one list before the
    run, or a granted registration, is enough.
    """
    if not key.disposable or key.state is KeyState.BEFORE:
        return False
    if is_sandbox:
        return before is not None or key.state not in REGISTRATION_UNKNOWN
    if before is None or before.incomplete or before.hides_keys:
        return False
    if now is None or now.hides_keys:
        return False
    return now.may_show(key.value or "")


def may_have_become(key: RunKey, text: str) -> bool:
    """True if a service may have made this text of a synthetic key: it cut the key, or left signs such as dots out.

    A masked text is no other key, unless the key itself has signs that look like a mask.
    """
    if key.value is None or key.is_of_profile:
        return False
    is_only_masked = has_mask(text) and not has_mask(key.value)
    if is_only_masked:
        return False
    key_is_blank = not key.value.strip()
    if key_is_blank:  # only a list of a synthetic account tells something of a blank key
        return key.is_at_synthetic_account and not text.strip()
    both_are_synthetic = SYNTHETIC_PREFIX in text and SYNTHETIC_PREFIX in key.value
    plain_key = plain(key.value)
    plain_text = plain(text)
    is_cut = len(plain_text) >= _SHORTEST_CUT_KEY and plain_key.startswith(plain_text)
    return both_are_synthetic and (plain_key == plain_text or is_cut)
