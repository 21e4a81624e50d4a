"""A key that a run registered, or may have: its state, and its name for people."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from environments.profiles.profile import PixKey
from environments.secrets import ordinal
from spec.key_list import Listing

_LONGEST_NAME = 80
"""Characters of a synthetic key that are shown."""


class KeyState(Enum):
    """What became of a key. The text says why one is not cleaned up."""

    GONE = "not registered"
    BEFORE = "there before the run"
    REGISTERED = "registered and not deleted"
    MAYBE = "perhaps registered: refused or not answered, and no list shows that it is not there"


NOT_CLEANED_UP = (KeyState.REGISTERED, KeyState.MAYBE)


@dataclass(eq=False)
class RunKey:
    """One key that the run registers, or may."""

    name: str  # for people
    type: str
    value: str | None  # None where no answer tells what the service made
    account: str
    owned: bool  # it is in the profile
    state: KeyState = KeyState.GONE
    exchanges: list[int] = field(default_factory=list)  # they show its state
    is_sent: bool = False  # the run has named it in a registration, or taken it over from an earlier run
    is_refused: bool = False  # its last registration was
    is_deleted: bool = False  # its last deletion succeeded
    listed_before: Listing | None = None  # the list before it was sent, where its value is unknown
    written: str = ""  # its last event in the key record

    @property
    def why_left(self) -> str:
        """Why the key is not cleaned up, for people."""
        return "deleted, but still listed" if self.is_deleted else self.state.value


def name_of(keys: tuple[PixKey, ...], place: int) -> str:
    """A key of the profile for people, without its value: `EMAIL, the second of pix_keys`."""
    return f"{keys[place].type}, {ordinal(place + 1)} of pix_keys"


def name_by_value(value: str | None, key_type: str) -> str:
    """A key that is not in the profile, for people: a synthetic one by its value, one that the service made without."""
    if value is not None:
        return f"{key_type or 'a key'} {value if value and value.isprintable() else ascii(value)}"[:_LONGEST_NAME]
    return f"{key_type or 'a key'}, made by the service"
