"""The state of a key that a run registers, and how an answer changes it. Pure: no request, no file.

A key is not registered because a service says so, and not gone because it refuses: each function takes the state and
what was seen, and gives the state that is sure by both.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from environments.door.bodies import names, texts_of
from environments.door.key_record import LATER, MAYBE, REGISTERED
from spec.answers import RefusalKind, is_refusal, may_be_registered, refusal_kind, registered
from spec.exchange import Exchange, FailureKind
from spec.interface import MARK
from spec.key_list import Listing, has_mask, plain
from spec.message import Text

_NOT_TO_BE_NAMED = re.compile(r"\s*|.{201,}|.*[\0-\x1f\x7f-\x9f\ud800-\udfff].*", re.DOTALL)
"""Keys that a service may read as another one: empty, long, or with control characters or halves of surrogate pairs."""
_WHOLE_PIECE = 12
"""Letters and digits of a synthetic key from which it is known where a service cut it: its mark, and five more."""
_NOTHING_WAS_SENT = (FailureKind.NO_CONNECTION, FailureKind.TLS)


class KeyState(Enum):
    """State of a key. The text says why one is not cleaned up."""

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
"""The states of keys that may still be there, with the event that the record holds."""
UNSURE = (KeyState.MAYBE, KeyState.REFUSED)
SENT_FOR_SURE = (KeyState.REGISTERED, KeyState.MAYBE, KeyState.DELETED, KeyState.KEPT, KeyState.LATER)
STATE_IF_LISTED: Mapping[KeyState, KeyState] = {
    KeyState.NOT_SENT: KeyState.BEFORE,
    KeyState.GONE: KeyState.MAYBE,
    KeyState.DELETED: KeyState.KEPT,
    KeyState.REFUSED: KeyState.MAYBE,
    KeyState.LATER: KeyState.REGISTERED,
}
"""The state after a list that shows the key, of one that is not registered by all that the answers say."""
_STATE_IF_NOT_LISTED = {KeyState.REFUSED: KeyState.GONE, KeyState.KEPT: KeyState.DELETED}
"""The state after a list that does not. One that was granted, or is not answered, may be listed later."""


@dataclass(eq=False)
class RunKey:
    """One key that the run registers, or may."""

    name: Text  # for people
    type: str
    value: str | None  # None where no answer tells what the service made
    account: str
    owned: bool = False  # it is in the profile
    disposable: bool = True  # the run may delete it
    state: KeyState = KeyState.NOT_SENT
    exchanges: list[int] = field(default_factory=list)  # they show its state
    was_listed: bool = False  # a list showed it
    was_missed: bool = False  # a list did not show it, although its registration was granted

    @property
    def is_for_nobody(self) -> bool:
        """True if it was sent for a synthetic account."""
        return MARK in self.account

    @property
    def is_left(self) -> bool:
        """True if the run registered it, or may have, and it may still be there."""
        return self.state in EVENT_OF_STATE

    @property
    def was_never_listed(self) -> bool:
        """True if it was granted, and a list that could show it did not."""
        return self.was_missed and not self.was_listed


@dataclass(frozen=True)
class Sight:
    """What a list says of a key. It may say neither that the key is there nor that it is absent."""

    is_shown: bool
    is_absent: bool
    """The list does not show the key, and masks no key that may be this one."""
    may_be_shown: bool
    """Something in the list may be the key; only asked of keys of the profile."""


def sight_of(key: RunKey, value: str, listing: Listing, before: Listing | None) -> Sight:
    """What a list says of a key with this value. `before` is the list of the account before the run."""
    is_shown = listing.shows(value)
    return Sight(
        is_shown,
        is_absent=not is_shown and not listing.may_hide(value, before),
        may_be_shown=is_shown or (key.owned and listing.may_show(value)),
    )


# -- how an answer changes the state ------------------------------------------------------------------------------


def state_after_registration(key: RunKey, exchange: Exchange, state_before: KeyState, *, is_sandbox: bool) -> KeyState:
    """The state after a registration. `state_before` is that before the request was sent.

    A key that is refused may be registered nevertheless. A status from 500 on says nothing of the key. Without a
    connection nothing was sent.
    """
    if registered(exchange):
        return KeyState.REGISTERED
    if key.state not in UNSURE:
        return key.state
    if was_not_sent(exchange):
        return state_before if state_before in EVENT_OF_STATE else KeyState.GONE
    if exchange.response is None or may_be_registered(exchange):
        return key.state
    # No list shows a key that nobody can name for a synthetic account. On a sandbox such a key is looked for only if
    # its request was valid.
    is_for_nobody = key.is_for_nobody or (is_sandbox and not exchange.valid)
    if key.value is None and is_for_nobody and exchange.response.status < 500:
        return KeyState.GONE
    return KeyState.REFUSED


def was_not_sent(exchange: Exchange) -> bool:
    """True if there was no connection."""
    return exchange.failure is not None and exchange.failure.kind in _NOTHING_WAS_SENT


def is_closed_by(key: RunKey, deletion: Exchange) -> bool:
    """True if a deletion says that a key which may be there is not: it names the key at its account, and succeeded. So
    does the answer that there is no such key, if the key was not sure."""
    if deletion.response is None or key.account != deletion.request.last_segment:
        return False
    refusal = refusal_kind(deletion.response)
    is_gone = refusal is None or (refusal is RefusalKind.NOT_FOUND and key.state in UNSURE)
    return is_gone and _is_named(key, texts_of(deletion.request.body))


def _is_named(key: RunKey, texts: list[str]) -> bool:
    if not key.value:
        return key.value in texts
    return any(names(text, key.value) for text in texts)


def state_after_deletion(key: RunKey, deletion: Exchange) -> KeyState:
    """The state after a deletion that closes the key. One that no list has shown may be registered after it."""
    if deletion.response is not None and is_refusal(deletion.response):
        return KeyState.GONE
    may_come_later = key.state is KeyState.LATER or key.was_never_listed
    return KeyState.LATER if may_come_later else KeyState.DELETED


def state_after_list(key: RunKey, sight: Sight, *, is_sandbox: bool) -> KeyState:
    """The state after a list of the account of the key. Before it is sent, a key of the profile was there already if
    anything in the list may be it; a sandbox has nothing to lose."""
    may_be_of_before = key.state is KeyState.NOT_SENT and not is_sandbox and sight.may_be_shown
    if sight.is_shown or may_be_of_before:
        return STATE_IF_LISTED.get(key.state, key.state)
    if sight.is_absent:
        return _STATE_IF_NOT_LISTED.get(key.state, key.state)
    return key.state


def state_at_the_end(key: RunKey, *, was_any_list_read: bool) -> KeyState:
    """The state when nothing more is sent, as far as the lists tell."""
    if key.state is KeyState.REFUSED and key.is_for_nobody and not was_any_list_read:
        return KeyState.GONE
    if key.state is KeyState.REGISTERED and key.was_never_listed:
        return KeyState.LATER
    return key.state


# -- which keys are the run's own ---------------------------------------------------------------------------------


def can_be_named(value: str) -> bool:
    """True if no service may read the key as another one: a deletion of it can take no other."""
    return not _NOT_TO_BE_NAMED.fullmatch(value)


def own_key_may_be_deleted(key: RunKey, before: Listing | None, now: Listing | None, *, is_sandbox: bool) -> bool:
    """True if the run may delete a key of the profile: it is disposable, was not there before, and this run or an
    earlier one registered it.

    Off a sandbox two lists of its account must say so: a whole one of before the run, and that of now. A list that
    masks keys cannot tell, nor can one that does not show the key now.
    """
    if not key.disposable or key.state is KeyState.BEFORE:
        return False
    if is_sandbox:
        return before is not None or key.state not in UNSURE
    if before is None or before.incomplete or before.hides_keys:
        return False
    return now is not None and not now.hides_keys and now.may_show(key.value or "")


def may_have_become(key: RunKey, text: str) -> bool:
    """True if a service may have made this text of a synthetic key: it cut the key, or left signs out. A list that
    masks the key shows no other one."""
    if key.value is None or key.owned or (has_mask(text) and not has_mask(key.value)):
        return False
    if not key.value.strip():
        return key.is_for_nobody and not text.strip()
    sent, shown = plain(key.value), plain(text)
    is_cut = len(shown) >= _WHOLE_PIECE and sent.startswith(shown)
    return MARK in text and MARK in key.value and (sent == shown or is_cut)
