"""The states of a key that a run registers, and how an answer changes them. Pure functions: no request, no file.

`Keys` (run_keys.py) asks after every exchange. An answer alone proves little: a service may grant a registration and
forget the key, or refuse it and keep the key. So each function takes the state and an answer or a list, and gives the
new state. If in doubt, the key counts as perhaps registered, so that the report names it.

| from | to | when |
|---|---|---|
| NOT_SENT | BEFORE | a list shows the key before the run has sent it |
| NOT_SENT | MAYBE | just before its registration is sent |
| MAYBE | REGISTERED, REFUSED | the registration is answered |
| MAYBE, REFUSED | GONE | an answer or a list shows that the key is not registered |
| any state in which it may be registered | DELETED | a deletion succeeds, and the next row does not hold |
| the same | LATER | a deletion succeeds, but the registration was accepted and no list has shown the key |
| REGISTERED | LATER | the run ends, but the registration was accepted and no list has shown the key |
| LATER | REGISTERED | a list shows it |
| DELETED | STILL_LISTED | a list shows it although it was deleted |
| GONE, REFUSED | MAYBE | a list shows it although it was refused |
| STILL_LISTED | DELETED | a list does not show it any more |

LATER says that the key may be registered after the run. If a key is sent again, it becomes MAYBE again, unless its
state is REGISTERED or STILL_LISTED.

| word | meaning |
|---|---|
| list | the answer to GET /v1/pix/keys/{accountId}, which has the keys of an account |
| key of the profile | a key in the settings of the run; it belongs to a person who tests |
| synthetic key or account | made up by the suite, such as `pixconf-1a2b3c4d@example.com`; it belongs to nobody |
| sandbox | a test system whose keys and money are worth nothing |
| deletion | a request DELETE /v1/pix/keys/{accountId} |
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

_AMBIGUOUS_KEY = re.compile(r"\s*|.{201,}|.*[\0-\x1f\x7f-\x9f\ud800-\udfff].*", re.DOTALL)
"""Keys that a service may read as another key: empty or blank, longer than 200 characters, or with control characters
(C0, DEL, C1) or halves of surrogate pairs. A PIX key has at most 77 characters (an e-mail address)."""
_SHORTEST_CUT_KEY = 12
"""Fewest letters and digits by which a synthetic key is recognised that a service has cut short, such as
`pixconf-1a2b3`: the seven letters of SYNTHETIC_PREFIX and five characters of the key itself."""
_FAILURES_BEFORE_SENDING = (FailureKind.NO_CONNECTION, FailureKind.TLS)
"""Failures after which no byte of the request can have reached the service."""


class KeyState(Enum):
    """State of a key of the run. If the run does not delete the key, the report shows this text as the reason."""

    NOT_SENT = "not sent"
    BEFORE = "there before the run"
    GONE = "not registered"
    DELETED = "deleted"
    REGISTERED = "registered and not deleted"
    MAYBE = "perhaps registered"
    REFUSED = "perhaps registered: refused, and no list shows that it is not there"
    STILL_LISTED = "deleted, but still listed"
    LATER = "perhaps registered later: it was granted, and no list has shown it"


EVENT_OF_STATE: Mapping[KeyState, str] = {
    KeyState.REGISTERED: REGISTERED,
    KeyState.STILL_LISTED: REGISTERED,
    KeyState.MAYBE: MAYBE,
    KeyState.REFUSED: MAYBE,
    KeyState.LATER: LATER,
}
"""The states of keys that may still be registered, each with the event that is written to the key record (a file)."""
_MAY_STILL_BE_REGISTERED = frozenset(EVENT_OF_STATE)
"""States of keys that may still be registered."""
REGISTRATION_UNKNOWN = (KeyState.MAYBE, KeyState.REFUSED)
"""States of keys of which no answer says for certain whether they are registered."""
PERHAPS_REGISTERED_BY_RUN = (
    KeyState.REGISTERED,
    KeyState.MAYBE,
    KeyState.DELETED,
    KeyState.STILL_LISTED,
    KeyState.LATER,
)
"""States of keys that are, or were, perhaps registered by this run."""
_STATE_IF_LISTED: Mapping[KeyState, KeyState] = {
    KeyState.NOT_SENT: KeyState.BEFORE,
    KeyState.GONE: KeyState.MAYBE,
    KeyState.DELETED: KeyState.STILL_LISTED,
    KeyState.REFUSED: KeyState.MAYBE,
    KeyState.LATER: KeyState.REGISTERED,
}
"""By the state of a key that is not registered as far as the answers tell, its state after a list that shows it."""
SEEMINGLY_NOT_REGISTERED = frozenset(_STATE_IF_LISTED)
"""States of keys that are not registered, as far as the answers show. A later list may show the key nevertheless."""
_STATE_IF_NOT_LISTED = {KeyState.REFUSED: KeyState.GONE, KeyState.STILL_LISTED: KeyState.DELETED}
"""By the state of a key, its state after a list that does not show it. The other states stay: a key whose registration
was granted, or was not answered, may be listed later."""


@dataclass(eq=False)
class RunKey:
    """A key that the run registers, or may register."""

    label: Text  # for people, such as "EMAIL, number 2 of pix_keys"; the value of a key of the profile is not in it
    type: str
    value: str | None  # None if the service made the key and no answer tells it
    account: str  # the account at which it is registered
    is_of_profile: bool = False  # True for a key of the profile (the settings of the run); false for a made-up key
    disposable: bool = True  # True if the profile lets the run delete it
    state: KeyState = KeyState.NOT_SENT
    exchanges: list[int] = field(default_factory=list)  # numbers of the exchanges that show its state
    was_accepted: bool = False  # True if an answer to its registration says `Success`, or is a 200 without that member
    was_listed: bool = False  # True if a list showed it
    was_absent_after_acceptance: bool = False  # True if a list did not show it, although its registration was accepted

    @property
    def is_at_synthetic_account(self) -> bool:
        """True if its registration named an account that the suite made up, which has no list that could show it."""
        return SYNTHETIC_PREFIX in self.account

    @property
    def may_still_exist(self) -> bool:
        """True if the run registered the key, or may have registered it, and it may still be registered.

        Such a key has to be deleted at the end of the run, or is named in the report.
        """
        return self.state in _MAY_STILL_BE_REGISTERED

    @property
    def was_never_listed(self) -> bool:
        """True if the service accepted its registration, but a list did not show it afterwards, and none has since.

        Such a service may register keys late, so the key may appear after the run.
        """
        return self.was_absent_after_acceptance and not self.was_listed


@dataclass(frozen=True)
class Presence:
    """What a list says of a key: it is shown, absent, or neither, because the list may show it masked.

    Masked means that characters are hidden, such as in `+55*******4321`.
    """

    is_shown: bool
    """True if the list has the key, in any letter case and punctuation."""
    is_absent: bool
    """True if the list does not show the key, and masks no key that may be this one."""
    may_be_shown: bool
    """True if a text in the list may be the key, masked or spelled otherwise. For a synthetic key it is `is_shown`."""


def presence_of(value: str, listing: Listing, before: Listing | None, *, is_of_profile: bool) -> Presence:
    """What a list says of a key with this value: it is shown, absent, or neither.

    `before` is the list of the same account before the run, if it was read: a masked text (such as `+55*******4321`)
    that it already had is no key of this run.

    A key of the profile (the settings of a run) belongs to a person. For it the comparison is loose, such as by the
    last eight digits of a phone number, because the run must not delete a key that existed before.
    """
    if listing.shows(value):
        return Presence(is_shown=True, is_absent=False, may_be_shown=True)
    return Presence(
        is_shown=False,
        is_absent=not listing.may_show_masked(value, before),
        may_be_shown=is_of_profile and listing.may_show(value),
    )


# -- how an answer changes the state ------------------------------------------------------------------------------


def state_after_registration(key: RunKey, exchange: Exchange, state_before: KeyState, *, is_sandbox: bool) -> KeyState:
    """The state of a key after the answer to its registration (POST /v1/pix/keys/{accountId}).

    Before the request was sent, the key had the state `state_before`. While it was sent, it has the state MAYBE, unless
    it is registered already. The first row that fits counts:

    | answer | state |
    |---|---|
    | success | REGISTERED |
    | anything else, if the key was registered before | unchanged |
    | no connection | `state_before` if the key may still be registered, else GONE, because nothing was sent |
    | none, or one that neither grants nor refuses the registration | unchanged: MAYBE |
    | a refusal, if an earlier registration of the key was accepted and the key may still exist | `state_before` |
    | another refusal, if no list can ever show the key | GONE |
    | another refusal | REFUSED, until a list shows that the key is not registered |
    """
    if registered(exchange):
        return KeyState.REGISTERED
    # The state is MAYBE or REFUSED if no answer to an earlier registration was a success. Else it is REGISTERED or
    # STILL_LISTED: `Keys` sets MAYBE before each registration of any other key.
    was_registered_already = key.state not in REGISTRATION_UNKNOWN
    if was_registered_already:
        return key.state
    existed_perhaps_before = state_before in _MAY_STILL_BE_REGISTERED
    if not may_have_arrived(exchange):
        return state_before if existed_perhaps_before else KeyState.GONE
    if exchange.response is None or is_uncertain_registration(exchange):
        return key.state
    if key.was_accepted and existed_perhaps_before:  # the refusal says that the key exists already
        return state_before
    # No list can show a key whose text nobody knows if its account is made up. On a sandbox, where keys are worth
    # nothing, an invalid request for such a key is not followed up either. A status from 500 on is no clear refusal:
    # the service may have failed after it registered the key.
    is_invalid_on_sandbox = is_sandbox and not exchange.valid
    is_not_followed_up = key.is_at_synthetic_account or is_invalid_on_sandbox
    is_clear_refusal = exchange.response.status < 500
    if key.value is None and is_not_followed_up and is_clear_refusal:
        return KeyState.GONE
    return KeyState.REFUSED


def may_have_arrived(exchange: Exchange) -> bool:
    """True if the service may have got the request, so that it may have registered or deleted something.

    False if no connection was made, or if its TLS handshake failed.
    """
    nothing_was_sent = exchange.failure is not None and exchange.failure.kind in _FAILURES_BEFORE_SENDING
    return not nothing_was_sent


def is_gone_after(key: RunKey, deletion: Exchange) -> bool:
    """True if the answer to a deletion shows that the key is not registered any more.

    A deletion shows that if it names the key and its account, and succeeds. The answer "not found" shows it, too, if
    the key was only perhaps registered: then it never was. But a service that accepted the registration and never
    listed the key may register it later, so there "not found" proves nothing.
    """
    if deletion.response is None or key.account != deletion.request.last_segment:
        return False
    refusal = refusal_kind(deletion.response)  # None if the deletion succeeded
    was_perhaps_registered = key.state in REGISTRATION_UNKNOWN and not key.was_never_listed
    was_not_there = refusal is RefusalKind.NOT_FOUND and was_perhaps_registered
    is_gone = refusal is None or was_not_there
    return is_gone and _body_names_key(key, texts_of(deletion.request.body))


def _body_names_key(key: RunKey, texts: list[str]) -> bool:
    """True if one of these texts, which come from a request body, has the key in it.

    A key that is an empty text must be equal to one of them, because every text has an empty text in it. A key of
    unknown value (None) is never named.
    """
    if not key.value:
        return key.value in texts
    return any(contains_key(text, key.value) for text in texts)


def state_after_deletion(key: RunKey, deletion: Exchange) -> KeyState:
    """The state of a key after a deletion whose answer shows that the key is not registered any more.

    | deletion | state |
    |---|---|
    | refused as "not found" | GONE: it was never registered |
    | succeeded, but the service accepted the registration and no list has shown the key | LATER |
    | succeeded otherwise | DELETED |

    LATER means that the service may register the key after the deletion, because it registers keys late.
    """
    if deletion.response is not None and is_refusal(deletion.response):
        return KeyState.GONE
    may_come_later = key.state is KeyState.LATER or key.was_never_listed
    return KeyState.LATER if may_come_later else KeyState.DELETED


def state_after_list(key: RunKey, presence: Presence, *, is_sandbox: bool) -> KeyState:
    """The state of a key after a list of its account was read. `presence` says whether the list shows the key.

    If the list neither shows the key nor excludes it, the state is unchanged.

    A key of the profile (the settings of a run) belongs to a person. If it was not sent so far, and some text in the
    list may be the key, it counts as "there before the run", so that the run does not delete it. On a sandbox (a test
    system without anybody's keys) only the key itself counts.
    """
    may_be_there_before_run = key.state is KeyState.NOT_SENT and not is_sandbox and presence.may_be_shown
    if presence.is_shown or may_be_there_before_run:
        return _STATE_IF_LISTED.get(key.state, key.state)
    if presence.is_absent:
        return _STATE_IF_NOT_LISTED.get(key.state, key.state)
    return key.state


def state_at_the_end(key: RunKey, *, was_any_list_read: bool) -> KeyState:
    """The state of a key at the end of the run, when nothing more is sent.

    | key | last state |
    |---|---|
    | refused for a made-up account, and no list was read in the whole run | GONE |
    | registered, but no list has shown it | LATER: it may appear after the run |
    | any other | unchanged |

    A refused key counts as perhaps registered until a list shows that it is absent. In the first row no list can do
    that, and nobody has an account of that name.
    """
    is_refused_at_synthetic_account = key.state is KeyState.REFUSED and key.is_at_synthetic_account
    if is_refused_at_synthetic_account and not was_any_list_read:
        return KeyState.GONE
    if key.state is KeyState.REGISTERED and key.was_never_listed:
        return KeyState.LATER
    return key.state


# -- which keys are the run's own ---------------------------------------------------------------------------------


def is_unambiguous(value: str) -> bool:
    """True if every service reads this key in the same way, so that a deletion of it cannot delete another key.

    False for an empty key, for a key with more than 200 characters (a service may cut it), and for a key with control
    characters (a service may remove them).
    """
    return not _AMBIGUOUS_KEY.fullmatch(value)


def profile_key_may_be_deleted(key: RunKey, before: Listing | None, now: Listing | None, *, is_sandbox: bool) -> bool:
    """True if the run may delete a key of the profile (the settings of the run), which belongs to a person.

    `disposable: true` in the profile permits it, and lists must show that the key was registered by the run and not
    before it. `before` and `now` are the lists of its account before the run and now; None if one was not read.

    | target | what the lists must show |
    |---|---|
    | real | both are read and hide no characters of keys, the first one is complete, the second one shows the key |
    | sandbox (nothing there has a value) | the first one is read, or the state of the key is certain without it |

    If the first list shows the key, the state of the key is BEFORE, so it is not deleted.
    """
    if not key.disposable or key.state is KeyState.BEFORE:
        return False
    if is_sandbox:
        # Not MAYBE or REFUSED: an answer or a list showed for certain whether the run registered the key.
        state_is_certain = key.state not in REGISTRATION_UNKNOWN
        return before is not None or state_is_certain
    if before is None or before.incomplete or before.hides_keys:
        return False
    if now is None or now.hides_keys:
        return False
    return now.may_show(key.value or "")


def may_be_stored_as(key: RunKey, text: str) -> bool:
    """True if the service may have stored this key as another text, and the text in a list is that other text.

    For example the key `pixconf-1a2b3c4d@example.com` may be stored as `pixconf-1a2b3c4d`, cut short, or without its
    punctuation. The run has to delete the stored text as well. Only keys that the suite made up are compared.

    A masked text, such as `pix***@example.com`, does not count: the service shows the key with hidden characters, but
    stores it as it is.
    """
    if key.value is None or key.is_of_profile:
        return False
    is_only_masked = has_mask(text) and not has_mask(key.value)  # the key itself may have a character such as *
    if is_only_masked:
        return False
    key_is_blank = not key.value.strip()
    if key_is_blank:  # in the list of a real account, a blank text may be anything
        return key.is_at_synthetic_account and not text.strip()
    both_are_synthetic = SYNTHETIC_PREFIX in text and SYNTHETIC_PREFIX in key.value
    plain_key = plain(key.value)
    plain_text = plain(text)
    is_long_enough = len(plain_text) >= _SHORTEST_CUT_KEY  # a shorter text may be the beginning of another run's key
    is_cut = is_long_enough and plain_key.startswith(plain_text)
    differs_at_most_in_punctuation = plain_key == plain_text
    return both_are_synthetic and (differs_at_most_in_punctuation or is_cut)
